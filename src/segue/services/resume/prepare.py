"""Preparing for the next run: the manifest and the scene, written now.

Hooks, supervisors and pauses call it at any moment that may be the last one, so it is cheap, needs no
agent, no model and no session, and leaves the old file or the new one, never a part. Why it was done
stands in it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..._failpoints import trip
from ...core.base.values import Value
from ...core.brief.compose import BYTES_DEFAULT
from ...core.brief.facts import Probe
from ...core.brief.manifest import TOKEN_BYTES, Preparation, prepared
from ...core.features.verdict import had_passed
from ...core.resume.scene import Scene
from ...core.sessions.state import SessionState
from ...effects import surroundings
from ...effects.files.atomic import check_writable, write_whole
from ...effects.redaction.redact import redact_bytes
from ..brief.gather import RunsSummary, command_for_more, gather, summary_of_session
from . import scenes
from .scenes import state_of

if TYPE_CHECKING:
    from ...core.runs.model import RunDigest
    from ...effects.git.scene import SceneQuery
    from ..workspace.session_handle import SessionHandle
    from ..workspace.workspace import Workspace

LATEST = "latest.json"
HERE = "session_recovery_latest.json"
SCENE_SECONDS = 2.0
TOOLS_MAX = 8
CHECKS_MAX = 6


class Prepared(Value):
    """A manifest that is in place."""

    path: str
    reason: str
    session: str
    """Empty if no session is current here."""
    run: str
    """The run that it tells of; empty if there is none."""
    bytes: int
    tokens: int
    """Estimated."""
    seconds: float
    scene: Scene
    """What `segue since` will compare with."""


def prepare(
    workspace: Workspace, session: SessionHandle | str | None = None, *, reason: str,
    transcript: Path | str | None = None,
    agent: str = "", run: str = "", here: bool = False, budget: int = BYTES_DEFAULT, seconds: float = SCENE_SECONDS,
    seen: Scene | None = None, begun: SceneQuery | None = None,
) -> Prepared:  # fmt: skip
    """Write the manifest of where the work stands, and keep the scene.

    ``session`` defaults to the current one, ``transcript`` to that of its newest run, also if that is the one
    that asks; ``run`` is its id, where several conversations share a file. ``here`` writes into the project
    instead of the data folder. Git gets ``seconds``, unless the world was ``seen`` just now."""
    start = time.monotonic()
    workspace.pause_file.check()
    if here:
        check_writable(workspace.working_tree.root / HERE)
    state = state_of(workspace, session)
    path = Path(transcript) if transcript else None
    told = summary_of_session(workspace, state, transcript=path, agent=agent, run=run)
    scene = scenes.take(
        workspace, state, reason=reason, digests=told.digests, seconds=seconds, seen=seen, begun=begun
    )
    body = composed(workspace, state, told, scene, reason, budget)
    path = workspace.working_tree.root / HERE if here else scenes.own_folder(workspace) / LATEST
    trip("prepare.before_manifest")
    write_whole(path, body)
    trip("prepare.after_manifest")
    scenes.keep(workspace, scene)
    took = time.monotonic() - start
    tokens = -(-len(body) // TOKEN_BYTES)
    return Prepared(str(path), reason, scene.session, told.run, len(body), tokens, round(took, 4), scene)


def composed(
    workspace: Workspace, state: SessionState | None, told: RunsSummary, scene: Scene, reason: str,
    budget: int = BYTES_DEFAULT,
) -> bytes:  # fmt: skip
    """The manifest of where the work stands."""
    probe = Probe(
        scene.at, scene.branch, scene.head, tuple(one.path for one in scene.dirty[:40]), (), scene.cut
    )
    shown = gather(workspace, state, told, world=probe, covers=False)
    shown.when = shown.when or scene.at
    shown.project = shown.project or workspace.working_tree.project_name(
        workspace.working_tree.project_key(workspace.settings)[0]
    )
    about = _about(workspace, state, told.digests, scene, reason)
    more = command_for_more(told, state)
    room = budget
    while True:
        body = redact_bytes(prepared(shown, about, room, more))
        if len(body) <= budget or room < 512:
            return body
        room -= len(body) - budget


def _about(
    workspace: Workspace, state: SessionState | None, digests: Sequence[RunDigest], scene: Scene, reason: str
) -> Preparation:
    key, _ = workspace.working_tree.project_key(workspace.settings)
    checks = [id for id, one in state.features.items() if had_passed(one)] if state else []
    names = [word for digest in digests for word in programs(digest)]
    if state is not None:
        names += [
            check.command[0] for one in state.features.values() for check in one.checks if check.command
        ]
    root = workspace.working_tree.root
    return Preparation(
        reason=reason, session=scene.session, key=key, host=scene.host, folder=scene.folder,
        head=scene.head[:12],
        tools=surroundings.tools(names, workspace.environment.get("PATH"))[:TOOLS_MAX],
        interpreter=surroundings.interpreter(root, workspace.environment),
        locks=surroundings.locks(root), checks=checks[:CHECKS_MAX],
    )  # fmt: skip


def programs(digest: RunDigest) -> list[str]:
    """The programs that a run worked with, those used most first."""
    used = [(use.runs, short.split(" ")[0]) for short, use in digest.commands.items() if use.kind != "look"]
    return [name for _, name in sorted(used, key=lambda pair: -pair[0]) if name.replace("-", "").isalnum()]
