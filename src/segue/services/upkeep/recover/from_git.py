"""The rung of git: sessions as the state of a handover tells them, from the file or from its history.

The file is looked at first; where it is damaged, and for sessions that it does not tell of, every version
of it that git has, the newest first. What it says was written by whoever can write to the repository: it
becomes a plan with its texts cleaned, never a feature, a check or an instruction, and where it came from
is noted. So it is taken in only for a session that this store is known to have had, or if the caller says
so: a stranger's repository may tell of anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ...._files import read_bytes
from ....core.base.text import clean_name
from ....core.handover.markdown_layers import FrontMatter, read_front_matter
from ....core.sessions import commands as do
from ....core.sessions.command import Command
from ....effects.git import repository as git
from ....effects.git.queries import output_of
from ....errors import BadName
from ...workspace.data_folder import DataFolder
from .lost_state import LostSession, SourceWords
from .result import Rung

STATE = Path("layer2") / "current-state.md"
VERSIONS_MAX = 200
FILE_BYTES_MAX = 2_000_000
_SECONDS = 20.0
WORDS = SourceWords(
    "git", Rung("git", "none", "no session is known from a handover's state alone"),
    "what is there is not a session:", "recovered from git",
)  # fmt: skip


def lost_sessions(
    home: DataFolder, folder: Path, memory_dir: str, there: Collection[str]
) -> list[LostSession]:
    """Sessions that the state file or its history tells of and that are nowhere else, each at its newest."""
    found: dict[str, tuple[FrontMatter, str]] = {}
    for told, where in _versions(folder, memory_dir):
        known = found.get(told.session)
        if told.session in there or (known and known[0].version >= told.version):
            continue
        try:
            if not home.archived(clean_name(told.session)).is_file():
                found[told.session] = told, where
        except BadName:
            continue
    return [
        LostSession(
            told.session, _commands(told, where),
            f"what was declared after version {told.version}, and features; the rest is from {where}", where,
        )
        for told, where in found.values()
    ]  # fmt: skip


def strangers(lost: Sequence[LostSession]) -> Rung:
    """What is said of sessions that a repository tells of and that were never known here."""
    names = ", ".join(one.name for one in lost)
    how = "if you trust this repository, `segue recover --from-git` imports it"
    return Rung("git", "none", f"not imported, because nothing else here knows it: {names}; {how}")


def _versions(folder: Path, memory_dir: str) -> Iterator[tuple[FrontMatter, str]]:
    repository = git.find(folder)
    root = repository.root if repository is not None else folder
    path = root / memory_dir / STATE
    with suppress(OSError):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= FILE_BYTES_MAX:
            told = read_front_matter(read_bytes(path).decode("utf-8", "replace"))
            if told is not None:
                yield told, path.relative_to(root).as_posix()
    if repository is None:
        return
    name = path.relative_to(root).as_posix()
    for commit in _git(root, "log", f"-{VERSIONS_MAX}", "--all", "--format=%H", "--", name).split():
        told = read_front_matter(_git(root, "show", f"{commit}:{name}"))
        if told is not None:
            yield told, f"{name} of commit {commit[:12]}"


def _git(root: Path, *words: str) -> str:
    return (output_of(root, *words, seconds=_SECONDS) or b"").decode("utf-8", "replace")


def _commands(told: FrontMatter, where: str) -> list[Command]:
    wishes: list[Command] = [
        do.Create(
            told.session, told.goal or f"session {told.session}", told.organization or "personal",
            told.project or "unknown", told.type or "coding", told.project_name,
        )
    ]  # fmt: skip
    for status, text, reason in told.items:
        if not text.strip():
            continue
        wishes.append(do.Add(text))
        if status in ("done", "active"):
            wishes.append(do.Done(text) if status == "done" else do.Begin(text))
        elif status in ("blocked", "dropped"):
            wishes.append(do.Block(text, reason, True) if status == "blocked" else do.Drop(text, reason))
    wishes += [do.Decide(text, why) for text, why in told.decisions if text.strip()]
    wishes += [do.Ask(text) for text in told.questions if text.strip()]
    wishes += [do.Learn(text) for text in told.findings if text.strip()]
    wishes += [do.Fail(text) for text in told.errors if text.strip()]
    if told.summary.strip():
        wishes.append(do.Describe(summary=told.summary))
    source = f"recovered from {where}, written {told.written[:16]} at version {told.version}"
    wishes.append(do.Note(f"{source}; what was declared since is lost"))
    return wishes
