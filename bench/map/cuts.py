"""Moments in real runs: what a run had touched, what its task said, and which files it touched next."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from segue.core.codemap.work import task_text
from segue.core.runs.digest import fold
from segue.core.runs.model import RunDigest
from segue.core.runs.shell_commands import parse_shell
from segue.core.runs.steps import Call, Start, Step
from segue.errors import SegueError
from segue.services.runs.read_transcript import read, recognised

HORIZON_CALLS, CALLS_MIN = 40, 20
ENDINGS = (".jsonl", ".json")


@dataclass(slots=True)
class Cut:
    """A moment in a run, in a checkout of the time."""

    transcript: str
    commit: str
    touched: list[str]  # the last one first
    task: str
    next_files: set[str]
    digest: RunDigest
    cwd: str


def transcripts(folder: Path) -> list[Path]:
    """Every file in a folder that may be a transcript."""
    found = [Path(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(ENDINGS)]
    return sorted(found)


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def cuts(repository: Path, paths: Iterable[Path], count: int) -> Iterator[Cut]:
    """Moments of the runs in these transcripts, in a repository that has the history of their time."""
    for path in paths:
        steps: list[Step] = []
        try:
            read(path, recognised(path), also=steps.append)
        except (SegueError, ValueError):
            continue
        yield from _of_run(repository, path, steps, count)


def _of_run(repository: Path, path: Path, steps: Sequence[Step], count: int) -> Iterator[Cut]:
    calls = [at for at, step in enumerate(steps) if isinstance(step, Call)]
    if len(calls) < CALLS_MIN:
        return
    began = next((step.at for step in steps if getattr(step, "at", 0)), 0.0)
    commit = git(repository, "rev-list", "-1", f"--before={int(began)}", "HEAD") if began else ""
    if not commit:
        return
    tree = set(git(repository, "ls-tree", "-r", "--name-only", commit).split("\n"))
    cwd = next((step.cwd for step in steps if isinstance(step, Start) and step.cwd), "")
    for number in range(count):
        at = calls[len(calls) * (number + 1) // (count + 1)]
        touched = _files(steps[:at], cwd, tree)
        ahead = [step for step in steps[at:] if isinstance(step, Call)][:HORIZON_CALLS]
        wanted = set(_files(ahead, cwd, tree))
        if touched and wanted:
            digest = fold(steps[:at])
            yield Cut(
                str(path), commit, list(reversed(touched)), task_text(None, [digest]), wanted, digest, cwd
            )


def _files(steps: Iterable[Step], cwd: str, tree: set[str]) -> list[str]:
    """The files of the tree that calls concern, in the order of their last call."""
    found: dict[str, None] = {}
    for step in steps:
        if not isinstance(step, Call):
            continue
        command = parse_shell(step.command) if step.command else None
        named = [*step.paths, *((*command.reads, *command.writes) if command else ())]
        for name in named:
            known = in_tree(name, cwd, tree)
            if known:
                found.pop(known, None)
                found[known] = None
    return list(found)


def in_tree(name: str, cwd: str, tree: set[str]) -> str:
    """A path of the transcript's machine as a path of the tree; empty if it is none."""
    full = os.path.normpath(name if name.startswith("/") else f"{cwd or '/'}/{name}")
    parts = full.strip("/").split("/")
    base = len(cwd.strip("/").split("/")) if cwd and full.startswith(f"{cwd.rstrip('/')}/") else 0
    for first in (base, *range(1, len(parts))):
        path = "/".join(parts[first:])
        if path in tree and (first <= base or "/" in path):
            return path
    return ""
