"""Earlier runs where their agents would have written them on another machine, cut and moved in time.

Of a transcript the records are kept that were written before a moment. The working folder is replaced
wherever it is named, because paths in calls say what belongs to the project. The times of the records are
moved so that the moment is now: what is told depends on how old runs are. Dates inside of texts stay.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.blind.transcript import Event
from bench.told.runs import PublicRun, moment_of, moments_of, opened, posix

_TIMESTAMP = re.compile(r'("timestamp":\s?")(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)"')
_NAME = r"[\w.@+-]+"
_NOT_LONGER = r"(?![\w-]|\.\w)"


@dataclass(slots=True)
class KnownRun:
    """What was written of a run before a moment."""

    run: PublicRun
    lines: list[bytes]
    events: list[Event]
    last: float
    """When the last of it was written."""


def known_before(run: PublicRun, moment: float) -> KnownRun:
    """A run up to a moment. Of the records without a time, those are left out that may be of later."""
    transcript = opened(run.path)
    assert transcript is not None, run.path
    records = list(transcript.records())
    moments = moments_of(records, len(transcript.lines))
    end = next((line for line, at in enumerate(moments) if at >= moment), len(moments))
    if end < len(moments):
        end = max((number + 1 for number, record in records if number < end and moment_of(record)), default=0)
    events = [event for event in transcript.events if event.record < end]
    return KnownRun(run, transcript.lines[:end], events, max(moments[:end], default=0.0))


class Relocation:
    """Replaces a folder by another one wherever it is named, and puts the name back. Both have the same last
    name, so that a path that was shortened behind it is recognised."""

    def __init__(self, root: str, place: Path) -> None:
        self.root = root.rstrip("/\\")
        name = re.sub(r"[^\w.-]", "-", posix(root).rpartition("/")[2]) or "project"
        self.project = str(place / name)
        self._place, self._above = str(place), posix(self.root).rpartition("/")[0]
        self._in_text = _pattern(self.root, r"(?:\\|/)")
        self._in_json = _pattern(self.root, r"(?:(?:\\\\)+|/)")

    def in_text(self, text: str) -> str:
        """A text with the new folder."""
        return self._in_text.sub(self._new, text)

    def in_json(self, text: str) -> str:
        """A line of JSON with the new folder; in it a backslash is written twice, or more often."""
        return self._in_json.sub(self._new, text)

    def _new(self, match: re.Match[str]) -> str:
        return self.project + re.sub(r"[\\/]+", "/", match["below"])

    def back(self, text: str) -> str:
        """A text with the old folder."""
        return text.replace(self.project, self.root).replace(self._place, self._above)


def _pattern(root: str, between: str) -> re.Pattern[str]:
    parts = posix(root).split("/")
    is_windows = parts[0].endswith(":")
    if is_windows:
        drive = re.escape(parts[0][0])
        parts[0] = rf"(?i:{drive}:|/mnt/{drive}|/{drive})"
        folder = between.join([parts[0], *map(re.escape, parts[1:])])
    else:
        folder = re.escape(root)
    below = rf"(?:{between}{_NAME})*" if is_windows else ""
    return re.compile(rf"{folder}{_NOT_LONGER}(?P<below>{below})")


def moved(line: str, seconds: float) -> str:
    """A line of JSON with its times so many seconds later."""

    def later(match: re.Match[str]) -> str:
        try:
            moment = datetime.fromisoformat(match[2])
        except ValueError:
            return match[0]
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return f'{match[1]}{stamp(moment.timestamp() + seconds)}"'

    return _TIMESTAMP.sub(later, line)


def stamp(moment: float) -> str:
    """A moment as agents write it."""
    whole = datetime.fromtimestamp(moment, UTC)
    return whole.strftime("%Y-%m-%dT%H:%M:%S.") + f"{whole.microsecond // 1_000:03}Z"


def place(known: KnownRun, home: Path, relocation: Relocation, seconds: float) -> Path:
    """Write what is known of a run under a home, so many seconds later than it was written."""
    began = known.run.marks[0] + seconds
    path = home / transcript_name(known.run.agent, known.run.native, began, relocation.project)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = b"".join(known.lines).decode("utf-8", "surrogateescape")
    text = moved(relocation.in_json(text), seconds)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    at = known.last + seconds
    os.utime(path, (at, at))
    return path


def transcript_name(agent: str, native: str, began: float, folder: str) -> str:
    """Where an agent writes the transcript of a run, below the home."""
    if agent == "claude-code":
        return f".claude/projects/{re.sub(r'[^A-Za-z0-9]', '-', folder)}/{native}.jsonl"
    at = datetime.fromtimestamp(began, UTC)
    return f".codex/sessions/{at:%Y/%m/%d}/rollout-{at:%Y-%m-%dT%H-%M-%S}-{native}.jsonl"
