"""The public runs of a corpus: when each began, where, with which first prompt, and which repeat another.

A corpus has folders ``AGENT/OWNER__REPO`` with transcripts below them; those of Claude Code and Codex are
read, by the readers of ``bench.blind``, which know nothing of Segue's. A run begins with its first prompt: a
window may stay open for hours before. It is *asked* something only if a user typed that: no slash command, no
text of the harness, no summary that a conversation goes on from, and no history that was copied from another
transcript.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.blind.formats import files, read
from bench.blind.transcript import Event, Lines, mapping, text_of

AGENTS = ("claude-code", "codex")
WORDS_MIN = 3
HEAD_RECORDS = 40  # among so many, what a transcript says of itself is looked for
GOES_ON = frozenset({"continue", "proceed", "resume", "go on", "keep going", "go ahead", "carry on"})
Records = list[tuple[int, dict[str, Any]]]

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_COMMAND = re.compile(r"/[\w:.-]+(?:\s|\Z)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONTINUED = (b"This session is being continued from", b"Another language model started to solve this")
_HARNESS = ("[Request interrupted", "[Image: source", "Base directory for this skill:", "# AGENTS.md", "<")
_PROGRAMS = ("sdk-", "exec")  # a script gave the prompt, and no user at a terminal
_HOME = re.compile(r"(?:[A-Za-z]:)?/?(?:(?:home|Users)(?:/[^/]+)?|root|tmp|private/tmp)?")
_WORKTREE = re.compile(r".*/\.?worktrees?/[^/]+")


@dataclass(slots=True)
class PublicRun:
    """A run as its transcript tells it; times are in seconds since the epoch."""

    repository: str
    agent: str
    native: str
    path: Path
    folder: str
    """Where it worked when it began."""
    branch: str
    began: float
    """When the first record of its own was written; infinite if it has none."""
    marks: tuple[float, ...]
    """When its messages were written, in order."""
    calls: tuple[float, ...]
    prompt: str = ""
    """What a user asked first; empty if it is not known to begin so."""
    asked: float = 0.0
    root: str = ""
    """The outermost folder of the repository that holds ``folder``."""
    is_copy: bool = False
    """Whether its history begins with that of another run."""

    def last_before(self, moment: float) -> float:
        """When its last message before a moment was written; 0 without any."""
        return max((mark for mark in self.marks if mark < moment), default=0.0)

    def first_after(self, moment: float) -> float:
        """When its first message from a moment on was written; infinite without any."""
        return min((mark for mark in self.marks if mark >= moment), default=math.inf)

    def calls_before(self, moment: float) -> int:
        return sum(call < moment for call in self.calls)


@dataclass(slots=True)
class Head:
    """What the first records say of a run."""

    native: str
    folder: str
    branch: str
    is_fork: bool = False
    is_typed: bool = True


def runs_of(corpus: Path) -> list[PublicRun]:
    """The main runs of a corpus, in order of their repositories and of when they began."""
    newest: dict[tuple[str, str, str], PublicRun] = {}
    for name, path in files([corpus]):
        repository = repository_of(name)
        run = surveyed(path, repository) if repository else None
        if run is not None:
            key = (run.repository, run.agent, run.native)
            newest[key] = max(newest.get(key, run), run, key=lambda one: len(one.marks))
    for _, runs in by_repository(newest.values()):
        _find_copies(runs)
        folders = {run.folder for run in runs}
        for run in runs:
            run.root = root_among(run.folder, folders)
    return sorted(newest.values(), key=lambda run: (run.repository, run.began, run.native))


def repository_of(name: str) -> str:
    """The repository that a transcript comes from, by its name in the corpus; empty without one."""
    parts = name.split("/")
    at = next((at for at, part in enumerate(parts) if part in AGENTS), len(parts))
    return parts[at + 1] if at + 2 < len(parts) else ""


def opened(path: Path) -> Lines | None:
    """A transcript of an agent that is known here; None for any other file."""
    transcript = read(path) if path.suffix == ".jsonl" else None
    if not isinstance(transcript, Lines) or transcript.agent not in AGENTS:
        return None
    return transcript


def surveyed(path: Path, repository: str) -> PublicRun | None:
    """A main run with messages; None for a sub-agent's, for an empty one, and for other files."""
    transcript = opened(path)
    if transcript is None:
        return None
    records = list(transcript.records())
    head = _claude_head(records, path) if transcript.agent == "claude-code" else _codex_head(records, path)
    moments = moments_of(records, len(transcript.lines))
    marks = sorted({moments[number] for number, record in records if _is_message(record)} - {0.0})
    if head is None or not head.folder or not marks:
        return None
    own = [
        moments[number]
        for number, record in records
        if number >= transcript.copied and _is_message(record) and not record.get("forkedFrom")
    ]
    calls = tuple(moments[event.record] for event in transcript.events if event.kind == "call")
    run = PublicRun(
        repository, transcript.agent, head.native, path, head.folder, head.branch,
        min(own, default=math.inf), tuple(marks), calls, is_copy=head.is_fork or transcript.copied > 0,
    )  # fmt: skip
    first = first_prompt(transcript, records) if head.is_typed else None
    if first is not None:
        run.prompt, run.asked = first.text, moments[first.record]
    return run


# -- moments


def moments_of(records: Iterable[tuple[int, dict[str, Any]]], lines: int) -> list[float]:
    """When each line of a transcript was written; that of a line that does not say it is the line's before,
    and 0 if none said it yet."""
    said = [0.0] * lines
    for number, record in records:
        said[number] = max(said[number], moment_of(record))
    for number in range(1, lines):
        said[number] = said[number] or said[number - 1]
    return said


def moment_of(record: dict[str, Any]) -> float:
    """When a record was written; 0 if it does not say so."""
    for holder in (record, mapping(record.get("snapshot"))):
        try:
            moment = datetime.fromisoformat(text_of(holder.get("timestamp")))
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return 0.0


def _is_message(record: dict[str, Any]) -> bool:
    return record.get("type") in ("user", "assistant", "response_item") and not record.get("isSidechain")


# -- what a transcript says of itself


def _claude_head(records: Records, path: Path) -> Head | None:
    if path.stem.startswith("agent-") or "subagents" in path.parts:
        return None
    placed = next((record for _, record in records if text_of(record.get("cwd"))), {})
    member = text_of(placed.get("teamName")) and text_of(placed.get("agentName")) not in ("", "team-lead")
    if placed.get("isSidechain") or member:
        return None
    named = _UUID.search(path.stem)
    branch = text_of(placed.get("gitBranch"))
    return Head(
        named[0] if named else text_of(placed.get("sessionId")) or path.stem,
        text_of(placed.get("cwd")),
        "" if branch == "HEAD" else branch,
        any(record.get("forkedFrom") for _, record in records[:HEAD_RECORDS]),
        not text_of(placed.get("entrypoint")).startswith(_PROGRAMS),
    )


def _codex_head(records: Records, path: Path) -> Head | None:
    metas = [mapping(record.get("payload")) for _, record in records if record.get("type") == "session_meta"]
    meta = metas[0] if metas else {}
    is_side = "subagent" in mapping(meta.get("source")) or meta.get("thread_source") == "subagent"
    if not meta or is_side or meta.get("parent_thread_id"):
        return None
    is_typed = not text_of(meta.get("source")).startswith(_PROGRAMS)
    named = text_of(meta.get("id")) or path.stem
    branch = text_of(mapping(meta.get("git")).get("branch"))
    return Head(named, text_of(meta.get("cwd")), branch, bool(meta.get("forked_from_id")), is_typed)


# -- the first prompt


def first_prompt(transcript: Lines, records: Records) -> Event | None:
    """What a user asked before anything else happened; None if the run began otherwise, or nothing came of
    it."""
    first = transcript.events[0] if transcript.events else None
    if first is None or first.kind != "user" or _goes_on_elsewhere(transcript, records, first.record):
        return None
    if not any(event.kind in ("call", "said") for event in transcript.events):
        return None
    together = [
        event.text for event in transcript.events if event.kind == "user" and event.record == first.record
    ]
    text = "\n".join(together).strip()
    return Event(first.record, "user", text) if is_typed(text) else None


def is_typed(text: str) -> bool:
    """Whether a text is a prompt of some words that a user typed."""
    if _COMMAND.match(text) or text.startswith(_HARNESS):
        return False
    return len(_WORD.findall(text)) >= WORDS_MIN or text.lower().strip(" .!") in GOES_ON


def _goes_on_elsewhere(transcript: Lines, records: Records, line: int) -> bool:
    """Whether a first prompt follows something that is not in the transcript, or a summary of it."""
    if any(mark in one for one in transcript.lines[:line] for mark in _CONTINUED):
        return True
    known = {record.get("uuid") for number, record in records if number < line}
    own = next((record for number, record in records if number == line), {})
    origin = mapping(own.get("origin")).get("kind")
    is_foreign = bool(own.get("isMeta")) or origin not in (None, "human")
    return is_foreign or (bool(own.get("parentUuid")) and own["parentUuid"] not in known)


# -- runs among one another


def _find_copies(runs: list[PublicRun]) -> None:
    """Mark the runs whose history begins with that of a run that was over before them: they began with what
    is not in that."""
    known: set[float] = set()
    for run in sorted(runs, key=lambda one: (one.marks[-1], one.native)):
        own = [mark for mark in run.marks if mark not in known]
        if all(mark in known for mark in run.marks[:2]):
            run.is_copy, run.began = True, own[0] if own else math.inf
        known.update(run.marks)


def root_among(folder: str, folders: Iterable[str]) -> str:
    """The outermost of some folders that holds a folder: not somebody's home, and of a worktree nothing
    outside of it."""
    own = posix(folder)
    tree = _WORKTREE.match(own)
    holding = [one for one in folders if _holds(posix(one), own, tree[0] if tree else "")]
    return min(holding, key=lambda one: len(posix(one)), default=folder)


def _holds(outer: str, inner: str, tree: str) -> bool:
    is_above = inner.startswith(f"{outer}/") and not _HOME.fullmatch(outer) and outer.startswith(tree)
    return inner == outer or is_above


def posix(folder: str) -> str:
    """A folder with slashes, and none at its end."""
    return folder.replace("\\", "/").rstrip("/")


def by_repository(runs: Iterable[PublicRun]) -> Iterator[tuple[str, list[PublicRun]]]:
    found: dict[str, list[PublicRun]] = {}
    for run in runs:
        found.setdefault(run.repository, []).append(run)
    yield from sorted(found.items())
