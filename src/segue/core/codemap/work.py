"""What a piece of work is about, for the map: the files that its runs touched, and what its task says."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence

from ..language.sentences import is_assent
from ..runs.model import RunDigest
from ..sessions.state import SessionState

PROMPTS_MAX, PROMPT_CHARS = 3, 4_000
TOUCHED_MAX = 40
EDITED = 1.5
FADES_AFTER = 8.0
"""After so many other files, a file that was touched counts half."""


def touched_files(digest: RunDigest, root: str, known: Collection[str]) -> dict[str, float]:
    """The files of a project that a run read or changed, with weights, the last one first. ``known`` are the
    paths from the root that there are."""
    latest = sorted(digest.files.items(), key=lambda pair: -pair[1].last)
    found: dict[str, float] = {}
    for path, use in latest:
        name = path_from(path, digest.cwd, root, known)
        if name and name not in found:
            weight = (EDITED if use.edits else 1.0) / (1 + len(found) / FADES_AFTER)
            found[name] = weight
        if len(found) >= TOUCHED_MAX:
            break
    return found


def path_from(path: str, cwd: str, root: str, known: Collection[str]) -> str:
    """The path of a file from the root of the project, as it is known there; empty if it is not known."""
    plain = path.replace("\\", "/")
    full = posixpath.normpath(plain if plain.startswith("/") else f"{cwd or root}/{plain}")
    for base in (root, cwd):
        if base and full.startswith(f"{base.rstrip('/')}/"):
            name = full[len(base.rstrip("/")) + 1 :]
            if name in known:
                return name
    return ""


def task_text(state: SessionState | None, digests: Sequence[RunDigest]) -> str:
    """What the work is about, in the words of its session and its last run: goal and items, requests, the
    plan, what failed last."""
    texts: list[str] = []
    if state is not None:
        texts += [state.goal, *(state.items[index].text for index in state.active)]
    for digest in digests[:1]:
        asked = [one.text[:PROMPT_CHARS] for one in digest.prompts if not is_assent(one.text)]
        texts += asked[-PROMPTS_MAX:] or [digest.told or ""]
        texts += [str(row[0]) for row in digest.plan if row[1:2] != ["completed"]]
        texts += [one.why[:400] for one in list(digest.failures.values())[-2:] if not one.solved]
        texts += [one.text[:1_000] for one in digest.says[-2:]]
    return "\n".join(text for text in texts if text)
