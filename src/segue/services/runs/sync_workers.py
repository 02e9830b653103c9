"""Reading transcripts and writing their copies: the part of a sync that several processes can share.

A transcript is read, masked and cut once; reader and archive are given the same bytes. Where cursor, file
and copy do not agree about how far it was read, it is read from the start.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from ...agents import agent as agent_of
from ...agents.base import Agent, Found
from ...effects.files.archive import FLUSH_BYTES, Archive, Copy, CopyOwner, CopyWriter
from ...effects.redaction.redact import redact_bytes
from ...errors import AgentError, SegueError
from . import cursor
from .cursor import FileStamp
from .read_transcript import Reading, final, read_on
from .run import Run, key_of, run_of

SHARES_MAX = 4096
"""More would not fit into the smallest pipe."""


class Job(msgspec.Struct):
    """A transcript to be read, and what is known of it."""

    found: Found
    stamp: FileStamp
    reading: bytes | None
    size: int


class Taken(msgspec.Struct):
    """What a job gave: a run with its cursor, or why there is none."""

    job: int
    run: Run | None = None
    stamp: FileStamp = FileStamp()
    reading: bytes = b""
    size: int = 0
    """Bytes that were read."""
    fault: str = ""


class Taker:
    """Reads transcripts and writes their copies; the part that other processes can do, too."""

    def __init__(
        self, host: str, archive: Archive | None, about: Callable[[Found, Run], CopyOwner], masks: bool
    ) -> None:
        self._host = host
        self._archive = archive
        self._about = about
        self._masks = masks
        self._copies: list[Copy] = []
        self._chunks: dict[bytes, bytes] = {}

    def take(self, place: int, job: Job) -> Taken:
        """A run as its transcript tells it now; never raises on what a transcript holds."""
        try:
            return self._take(place, job)
        except AgentError as fault:
            return Taken(place, fault=fault.message)
        except SegueError:  # ours, not the transcript's
            raise
        except Exception as fault:  # a third party's reader, or a bug of ours: one transcript
            return Taken(place, fault=f"{type(fault).__name__}: {fault}")

    def _take(self, place: int, job: Job) -> Taken:
        found, agent = job.found, agent_of(job.found.agent)
        reading, before = self._begun(job, agent)
        start = reading.offset
        writer: CopyWriter | None = None
        if self._archive is not None:
            key = key_of(found.agent, found.native, found.path)
            about = CopyOwner(key, found.agent, found.native, found.path)
            writer = CopyWriter(self._archive, about, before, last=found.changed)
        lines = agent.form == "lines"

        def clean(block: bytes) -> bytes:
            masked = redact_bytes(block) if self._masks else block
            if writer is not None and (not lines or masked.endswith(b"\n")):
                writer.add(masked, whole=lines)
            return masked

        read_on(reading, agent, clean)
        run = run_of(found, reading, final(reading, agent), host=self._host, now=time.time())
        if writer is not None:
            self._finish(writer, reading, found, run)
        packed = cursor.packed(reading, job.stamp, agent)
        return Taken(place, run, job.stamp, packed, max(0, reading.offset - start))

    def _begun(self, job: Job, agent: Agent) -> tuple[Reading, Copy | None]:
        """Where to read on: behind the cursor if cursor, file and copy agree, else at the start."""
        found = job.found
        fresh = Reading(agent.name, found.path, found.native)
        kept = cursor.unpacked(job.reading)
        if kept is None or not cursor.goes_on(kept, job.stamp, agent):
            return fresh, None
        reading = cursor.reading_of(kept)
        if reading is None:
            return fresh, None
        if self._archive is None:
            return reading, None
        before = self._archive.find(key_of(found.agent, found.native, found.path))
        if before is None or before.about.offset != kept.offset:
            return fresh, None
        return reading, before

    def _finish(self, writer: CopyWriter, reading: Reading, found: Found, run: Run) -> None:
        copy = writer.finish(reading.offset, reading.torn)
        about = self._about(found, run)
        about = msgspec.structs.replace(
            about, offset=copy.about.offset, size=copy.about.size, torn=copy.about.torn
        )
        self._copies.append(msgspec.structs.replace(copy, about=about))
        self._chunks.update(writer.waiting)
        if sum(map(len, self._chunks.values())) > FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Make the copies so far durable."""
        if self._archive is not None and self._copies:
            self._archive.put(self._copies, self._chunks)
        self._copies, self._chunks = [], {}


class Shares:
    """Places of jobs that processes take from, so that all end at about the same time.

    A pipe holds those that nobody has taken; whoever reads one has it."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._step = count // SHARES_MAX + 1
        self._read, write = os.pipe()
        os.write(write, b"".join(n.to_bytes(2, "big") for n in range(-(-count // self._step))))
        os.close(write)

    def __iter__(self) -> Iterator[int]:
        while number := os.read(self._read, 2):
            at = int.from_bytes(number, "big") * self._step
            yield from range(at, min(at + self._step, self._count))

    def close(self) -> None:
        os.close(self._read)


class Worker:
    """Another process that takes its share of the work, while this one takes its own."""

    def __init__(self, taker: Taker, jobs: list[Job], shares: Shares) -> None:
        self._read, write = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(write)
            return
        code = 1
        try:
            os.close(self._read)
            taken = [taker.take(place, jobs[place]) for place in shares]
            taker.flush()
            with os.fdopen(write, "wb") as pipe:
                pipe.write(msgspec.msgpack.encode(taken))
            code = 0
        finally:
            os._exit(code)

    def results(self) -> list[Taken]:
        """What it took in; nothing if it came to grief."""
        with os.fdopen(self._read, "rb") as pipe:
            body = pipe.read()
        _, status = os.waitpid(self._pid, 0)
        with suppress(msgspec.DecodeError):
            return msgspec.msgpack.decode(body, type=list[Taken]) if status == 0 else []
        return []
