"""Reading transcripts and writing their copies: the part of a sync that several processes share.

A transcript is read, masked and split once, and reader and archive get the same bytes. If cursor, file and
copy disagree on how far it was read, it is read from the start.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO

import msgspec

from ...agents import agent as agent_of
from ...agents.base import Agent, Found
from ...core.search.index import NewTexts
from ...core.search.texts import StepTexts
from ...effects.deadline import NEVER, Deadline
from ...effects.files.archive import FLUSH_BYTES, Archive, Copy, CopyOwner, CopyWriter
from ...effects.files.search_index import SearchFile, new_texts
from ...effects.redaction.redact import redact_bytes
from ...errors import AgentError, SegueError
from . import cursor
from .cursor import FileStamp
from .read_transcript import Reading, final, read_on, sayings_of
from .run import Run, key_of, run_of, stored_usage
from .said import encode_sayings

QUEUED_MAX = 4096
"""More numbers would not fit into the smallest pipe."""
NO_JOB = -1
"""For a run that was not read from a transcript."""
SEND_SECONDS = 1.0
"""How often another process hands over what it has done."""
LINES_SHARE, DOCUMENT_SHARE = 1 / 3, 2 / 3
"""How much of the time until a deadline reading may take, where it can be stopped and where it would be in
vain: what was read is still to be written."""
INDEX_CHARS = 24 << 20
"""How much text goes into the index at once: in small parts it would be merged many times."""


class Job(msgspec.Struct):
    """A transcript to be read, with its stored reading and its run as it was stored, if there are any."""

    found: Found
    stamp: FileStamp
    reading: bytes | None
    before: Run | None = None


class ImportedTranscript(msgspec.Struct):
    """The result of a job: a run with its cursor, or why there is none."""

    job: int
    run: Run | None = None
    stamp: FileStamp = FileStamp()
    reading: bytes = b""
    usage: bytes = b""
    """What the run used, as its row has it."""
    size: int = 0
    """How many bytes were read."""
    said: bytes = b""
    """What the run said that is not in the ledger of its session; empty for a sub-agent's."""
    fault: str = ""


class TranscriptImporter:
    """Reads transcripts and writes their copies."""

    def __init__(
        self, host: str, archive: Archive | None, index: SearchFile | None,
        about: Callable[[CopyOwner, Run], CopyOwner], masks: bool, until: Deadline = NEVER,
    ) -> None:  # fmt: skip
        self._host = host
        self._until = until
        self._archive = archive
        self._index = index
        self._about = about
        self._masks = masks
        self._copies: list[Copy] = []
        self._chunks: dict[bytes, bytes] = {}
        self._texts: list[NewTexts] = []

    def read(self, index: int, job: Job) -> ImportedTranscript:
        """The run that a transcript describes. The content of a transcript never makes this raise."""
        try:
            return self._read(index, job)
        except AgentError as fault:
            return ImportedTranscript(index, fault=fault.message)
        except SegueError:  # of the store or the archive, not of the transcript
            raise
        except Exception as fault:  # a bug of a reader costs one transcript only
            return ImportedTranscript(index, fault=f"{type(fault).__name__}: {fault}")

    def _read(self, index: int, job: Job) -> ImportedTranscript:
        found, agent = job.found, agent_of(job.found.agent)
        key = key_of(found.agent, found.native, found.path)
        reading, before = self._starting_point(job, key, agent)
        start = reading.offset
        writer: CopyWriter | None = None
        if self._archive is not None:
            about = CopyOwner(key, found.agent, found.native, found.path)
            writer = CopyWriter(self._archive, about, before, last=found.changed)
        lines = agent.form == "lines"

        def clean(block: bytes) -> bytes:
            masked = redact_bytes(block) if self._masks else block
            if writer is not None and (not lines or masked.endswith(b"\n")):
                writer.add(masked, whole=lines)
            return masked

        texts = StepTexts(reading.digest.steps if lines else 0)
        heard = texts.add if self._index is not None else None
        until = self._until.part(LINES_SHARE if lines else DOCUMENT_SHARE)
        read_on(reading, agent, clean, heard, until=until)
        stamp = cursor.stamp_of_part(job.stamp, reading.offset) if reading.unread else job.stamp
        digest = final(reading, agent)
        run = run_of(found, reading, digest, host=self._host, now=time.time(), before=job.before)
        if writer is not None:
            copied = self._finished(writer, reading, run)
            if self._index is not None:
                self._texts += new_texts(
                    self._index, copied, texts, found.changed, is_whole=not (lines and start)
                )
            if sum(map(len, self._chunks.values())) > FLUSH_BYTES:
                self.flush()
        if run.side:
            reading.hearing.waiting = []  # its prompts are the words of the agent that sent it
        said = encode_sayings(sayings_of(reading, agent)) if not run.side else b""
        packed = cursor.packed(reading, stamp, agent)
        usage, size = stored_usage(digest.usage), max(0, reading.offset - start)
        return ImportedTranscript(index, run, stamp, packed, usage, size, said=said)

    def _starting_point(self, job: Job, key: str, agent: Agent) -> tuple[Reading, Copy | None]:
        """Where to continue reading: at the cursor if cursor, file and copy agree, else at the start."""
        fresh = Reading(agent.name, job.found.path, job.found.native)
        stored = cursor.unpacked(job.reading)
        reading = cursor.reading_of(stored)
        if stored is None or reading is None or not cursor.is_continued(stored, job.stamp, agent):
            return fresh, None
        if self._archive is None:
            return reading, None
        before = self._archive.find(key)
        if before is None or before.about.offset != stored.offset:
            return fresh, None
        return reading, before

    def _finished(self, writer: CopyWriter, reading: Reading, run: Run) -> CopyOwner:
        copy = writer.finish(reading.offset, reading.torn)
        about = self._about(copy.about, run)
        self._copies.append(msgspec.structs.replace(copy, about=about))
        self._chunks.update(writer.waiting)
        return about

    def flush(self) -> None:
        """Write the copies that were collected so far to the archive, and their texts to the index if they
        are many: what the index lacks after a crash is made up for later."""
        if self._archive is not None and self._copies:
            self._archive.put(self._copies, self._chunks)
        self._copies, self._chunks = [], {}
        if sum(len(one.text) for new in self._texts for one in new.texts) > INDEX_CHARS:
            self._put_texts()

    def finish(self) -> None:
        """Write all that was collected."""
        self.flush()
        self._put_texts()

    def _put_texts(self) -> None:
        if self._index is not None and self._texts:
            with suppress(SegueError):
                self._index.put(self._texts)
        self._texts = []


class JobQueue:
    """Indices of jobs that several processes take from, so that all end at about the same time.

    They wait in a pipe: the process that reads an index does that job."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._step = count // QUEUED_MAX + 1
        self._read, write = os.pipe()
        os.write(write, b"".join(n.to_bytes(2, "big") for n in range(-(-count // self._step))))
        os.close(write)

    def __iter__(self) -> Iterator[int]:
        while number := os.read(self._read, 2):
            first = int.from_bytes(number, "big") * self._step
            yield from range(first, min(first + self._step, self._count))

    def close(self) -> None:
        os.close(self._read)


class Worker:
    """A forked process that does jobs from the queue beside this one.

    It writes its results into a pipe, a length and a message each, after the copies that they rest on were
    stored."""

    def __init__(self, importer: TranscriptImporter, jobs: list[Job], queue: JobQueue) -> None:
        self._arrived: deque[bytes] = deque()
        self._read, write = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(write)
            return
        code = 1
        try:
            os.close(self._read)
            with os.fdopen(write, "wb") as pipe:
                self._work(importer, jobs, queue, pipe)
            code = 0
        finally:
            os._exit(code)

    def _work(self, importer: TranscriptImporter, jobs: list[Job], queue: JobQueue, pipe: BinaryIO) -> None:
        results: list[ImportedTranscript] = []
        due = time.monotonic() + SEND_SECONDS
        for index in queue:
            results.append(importer.read(index, jobs[index]))
            if time.monotonic() > due:
                self._send(importer, results, pipe)
                results, due = [], time.monotonic() + SEND_SECONDS
        self._send(importer, results, pipe)
        importer.finish()

    def _send(self, importer: TranscriptImporter, results: list[ImportedTranscript], pipe: BinaryIO) -> None:
        importer.flush()
        body = msgspec.msgpack.encode(results)
        pipe.write(len(body).to_bytes(8, "big") + body)
        pipe.flush()

    def listen(self) -> None:
        """Read from the pipe in a thread, so that the process never waits for this one. Threads are started
        when all processes are forked."""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        with os.fdopen(self._read, "rb") as pipe:
            while len(size := pipe.read(8)) == 8:
                body = pipe.read(length := int.from_bytes(size, "big"))
                if len(body) == length:
                    self._arrived.append(body)

    def ready(self) -> list[ImportedTranscript]:
        """The results that have arrived so far and were not returned before."""
        results: list[ImportedTranscript] = []
        while self._arrived:
            results += msgspec.msgpack.decode(self._arrived.popleft(), type=list[ImportedTranscript])
        return results

    def rest(self) -> list[ImportedTranscript]:
        """The results that were not returned before, once the process has ended; if it died, those that it
        had sent."""
        self._listener.join()
        os.waitpid(self._pid, 0)
        return self.ready()
