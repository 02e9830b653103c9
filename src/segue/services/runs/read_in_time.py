"""Reading a run while somebody waits: all that is new if there is time for it, else its beginning and end.

What was done last counts most for who goes on. The part between is passed over; the digest says only what
holds without it (``core/runs/unread_middle.py``), is never stored, and whoever shows it says how much is
missing. Of a document in lines, the ends are read as if it had no more. Other documents count whole or not at
all.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ..._files import open_file
from ...agents.base import Agent
from ...core.runs.unread_middle import digest_behind, hearing_behind
from ...effects.deadline import Deadline
from ...errors import TranscriptUnreadable
from .read_transcript import Clean, Reading, read_on

AHEAD_BYTES_MAX = 32 << 20
"""More than this behind the last place is not read at all before the end is."""
BEGINNING_BYTES = 1 << 20
END_BYTES_MAX, END_BYTES_MIN = 2 << 20, 1 << 16
DOCUMENT_END_BYTES = 1 << 18
SHARE = 1 / 3
"""Of the time that is left, for each part: others have to be read too, and told."""


def read_in_time(reading: Reading, agent: Agent, until: Deadline, clean: Clean | None = None) -> Reading:
    """Read what was added to a transcript since, or its beginning and its end. The reading is changed in
    place and returned. Raises TranscriptUnreadable."""
    if agent.form != "lines":
        return _document(reading, agent, until, clean)
    size = os.path.getsize(reading.path)
    wanted = END_BYTES_MAX
    if size - reading.offset <= AHEAD_BYTES_MAX or reading.offset < BEGINNING_BYTES:
        began, start = time.monotonic(), reading.offset
        read_on(reading, agent, clean, until=until.part(SHARE))
        if not reading.unread:
            return reading
        bytes_per_second = (reading.offset - start) / max(1e-6, time.monotonic() - began)
        wanted = int(bytes_per_second * until.seconds_left * SHARE)
    for end_bytes in (max(END_BYTES_MIN, min(END_BYTES_MAX, wanted)), END_BYTES_MIN):
        _pass_over(reading, size - end_bytes)
        read_on(reading, agent, clean, until=until.part(SHARE))
        if not reading.unread:
            break
    return reading


def _pass_over(reading: Reading, end: int) -> None:
    """Go on with the first line behind a place, as if nothing was between."""
    place = _line_behind(Path(reading.path), end) if end > reading.offset else reading.offset
    if place > reading.offset:
        reading.missing += place - reading.offset
        reading.digest, reading.hearing = digest_behind(reading.digest), hearing_behind(reading.hearing)
        reading.offset, reading.seen = place, {}


def _line_behind(path: Path, start: int) -> int:
    """Where the first line begins behind a place; the end of the file if none does."""
    with open_file(path) as file:
        file.seek(start - 1)
        while block := file.read(END_BYTES_MIN):
            found = block.find(b"\n")
            if found >= 0:
                return file.tell() - len(block) + found + 1
        return file.tell()


def _document(reading: Reading, agent: Agent, until: Deadline, clean: Clean | None) -> Reading:
    try:
        return read_on(reading, agent, clean, until=until.part(SHARE))
    except TranscriptUnreadable:
        path = Path(reading.path)
        if not reading.unread or path.suffix != ".jsonl":
            raise
    body = _ends(path)
    reading.missing, reading.unread = max(1, reading.unread - len(body)), 0
    reading.start_over(agent.reader(reading.kept).read(clean(body) if clean is not None else body))
    return reading


def _ends(path: Path) -> bytes:
    """The first and the last lines of a file, whole."""
    with open_file(path) as file:
        head = file.read(DOCUMENT_END_BYTES)
        end = max(len(head), os.path.getsize(path) - DOCUMENT_END_BYTES)
        file.seek(_line_behind(path, end))
        return head[: head.rfind(b"\n") + 1] + file.read(DOCUMENT_END_BYTES)
