"""Preparing for the next run: writing the manifest and the scene.

Hooks, the supervisor and pauses call this whenever the present moment may be the last one. So it is cheap,
needs neither agent nor model nor session, and after a crash leaves the old file or the new one, never a part.
The manifest says why it was written.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._failpoints import trip
from ...core.base.values import Value
from ...core.brief.compose import BYTES_DEFAULT
from ...core.brief.facts import Probe
from ...core.brief.manifest import TOKEN_BYTES, Preparation, prepared
from ...core.features.verdict import had_passed
from ...core.resume.scene import Scene
from ...core.runs.model import RunDigest
from ...core.sessions.state import SessionState
from ...effects import surroundings
from ...effects.files.atomic import check_writable, write_whole
from ...effects.git.scene import SceneQuery
from ...effects.redaction.redact import redact_bytes
from ...errors import UsageError
from ..brief.gather import command_for_more, gather, summary_of_session
from ..brief.runs_summary import RunsSummary, summary_of_messages
from ..brief.workplace import workplace_of
from ..workspace.own_files import MANIFEST_HERE
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import scenes
from .scenes import state_of

LATEST = "latest.json"
SCENE_SECONDS = 2.0
TOOLS_MAX = 8
CHECKS_MAX = 6


class Prepared(Value):
    """A manifest that was written."""

    path: str
    reason: str
    session: str
    """Empty if no session is current here."""
    run: str
    """The run that it describes; empty if there is none."""
    bytes: int
    tokens: int
    """Estimated."""
    seconds: float
    scene: Scene
    """The scene that `segue since` will compare with."""


def prepare(
    workspace: Workspace, session: SessionHandle | str | None = None, *, reason: str,
    transcript: Path | str | None = None, agent: str = "", run: str = "",
    messages: Sequence[Mapping[str, Any]] | None = None, here: bool = False, budget: int = BYTES_DEFAULT,
    seconds: float = SCENE_SECONDS, seen: Scene | None = None, begun: SceneQuery | None = None,
) -> Prepared:  # fmt: skip
    """Write the manifest of the present state of work, and store the scene.

    ``session`` defaults to the current one, ``transcript`` to that of its newest run, even if that is the
    caller's own; ``run`` is its id where several conversations share a file. ``agent`` is the agent that
    wrote the transcript or, without one, whose newest run is meant; ``messages`` and ``log`` are the formats
    of other programs. ``messages`` is the conversation of a program, instead of a file. ``here`` writes into
    the project instead of the data folder. Git gets ``seconds``, unless a scene was ``seen`` just now.

    If what was named cannot be read, TranscriptUnreadable, UnknownAgent or UnknownRun is raised, and the
    manifest that was there stays as it was."""
    start = time.monotonic()
    workspace.pause_file.check()
    if here:
        check_writable(workspace.working_tree.root / MANIFEST_HERE)
    state = state_of(workspace, session)
    runs = runs_named(workspace, state, transcript, agent, run, messages)
    scene = scenes.take_scene(
        workspace, state, reason=reason, digests=runs.digests, seconds=seconds, seen=seen, begun=begun
    )
    body = compose_manifest(workspace, state, runs, scene, reason, budget, transcript=str(transcript or ""))
    path = workspace.working_tree.root / MANIFEST_HERE if here else scenes.own_folder(workspace) / LATEST
    trip("prepare.before_manifest")
    write_whole(path, body)
    trip("prepare.after_manifest")
    scenes.store_scene(workspace, scene)
    took = time.monotonic() - start
    tokens = -(-len(body) // TOKEN_BYTES)
    return Prepared(str(path), reason, scene.session, runs.run, len(body), tokens, round(took, 4), scene)


def runs_named(
    workspace: Workspace, state: SessionState | None, transcript: Path | str | None, agent: str = "",
    run: str = "", messages: Sequence[Mapping[str, Any]] | None = None,
) -> RunsSummary:  # fmt: skip
    """The runs that a caller means. Raises UsageError if both a file and messages are given."""
    if messages is None:
        path = Path(transcript) if transcript else None
        return summary_of_session(workspace, state, transcript=path, agent=agent, run=run)
    if transcript or run or agent not in ("", "messages"):
        raise UsageError("messages and another run are given", hint="give one of them")
    return summary_of_messages(messages)


def compose_manifest(
    workspace: Workspace, state: SessionState | None, runs: RunsSummary, scene: Scene, reason: str,
    budget: int = BYTES_DEFAULT, *, transcript: str = "",
) -> bytes:  # fmt: skip
    """The manifest of the present state of work, masked, and within the budget if that is possible at all."""
    changed = tuple(change.path for change in scene.dirty[:40])
    probe = Probe(scene.at, scene.branch, scene.head, changed, (), scene.cut)
    known = gather(workspace, state, runs, world=probe, covers=False)
    known.when = known.when or scene.at
    known.project = known.project or workspace.working_tree.project_name(
        workspace.working_tree.project_key(workspace.settings)[0]
    )
    preparation = _preparation(workspace, state, runs.digests, scene, reason)
    more, place = command_for_more(runs, state), workplace_of(workspace, runs, transcript=transcript)
    room = budget
    while True:
        body = redact_bytes(prepared(known, preparation, room, more, place))
        if len(body) <= budget or room < 512:
            return body
        room -= len(body) - budget


def _preparation(
    workspace: Workspace, state: SessionState | None, digests: Sequence[RunDigest], scene: Scene, reason: str
) -> Preparation:
    key, _ = workspace.working_tree.project_key(workspace.settings)
    checks = [id for id, feature in state.features.items() if had_passed(feature)] if state else []
    names = [word for digest in digests for word in programs(digest)]
    if state is not None:
        declared = [check for feature in state.features.values() for check in feature.checks]
        names += [check.command[0] for check in declared if check.command]
    root = workspace.working_tree.root
    return Preparation(
        reason=reason, session=scene.session, key=key, host=scene.host, folder=scene.folder,
        head=scene.head[:12],
        tools=surroundings.tools(names, workspace.environment.get("PATH"))[:TOOLS_MAX],
        interpreter=surroundings.interpreter(root, workspace.environment),
        locks=surroundings.locks(root), checks=checks[:CHECKS_MAX],
    )  # fmt: skip


def programs(digest: RunDigest) -> list[str]:
    """The programs that a run used, the most used first."""
    used = [(use.runs, short.split(" ")[0]) for short, use in digest.commands.items() if use.kind != "look"]
    return [name for _, name in sorted(used, key=lambda pair: -pair[0]) if name.replace("-", "").isalnum()]
