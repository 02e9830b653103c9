"""Transcripts that grow, are cut, replaced or rewritten while they are read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from segue.agents import agent
from segue.agents.base import Found
from segue.core.runs.digest import encode, fold
from segue.core.runs.model import RunDigest
from segue.core.runs.steps import Call, Prompt, Result, Say, Start, Step
from segue.effects.deadline import Deadline
from segue.effects.files import growing_file
from segue.effects.files.growing_file import chunks
from segue.effects.redaction import RULES_VERSION
from segue.errors import TranscriptUnreadable, UnknownAgent
from segue.services.runs import cursor, read_transcript
from segue.services.runs.read_transcript import Reading, final, read, read_on, recognised
from segue.testing.stories import story
from segue.testing.transcripts import MAKERS, placed, written

LINES = [name for name in MAKERS if agent(name).form == "lines"]
CLAUDE = agent("claude-code")


def whole(name: str, data: bytes) -> RunDigest:
    reader = agent(name).reader()
    return fold(step for line in data.split(b"\n") if line for step in reader.read(line))


def found(path: Path) -> Found:
    return Found("claude-code", str(path), path.stem, path.stat().st_mtime, path.stat().st_size)


def stored(reading: Reading) -> cursor.StoredReading:
    """The reading, stored and taken out again."""
    path = Path(reading.path)
    kept = cursor.unpacked(cursor.packed(reading, cursor.stamp_of(found(path), CLAUDE), CLAUDE))
    assert kept is not None
    return kept


def is_continued(kept: cursor.StoredReading) -> bool:
    """Whether it is one to go on from."""
    return cursor.is_continued(kept, cursor.stamp_of(found(Path(kept.path)), CLAUDE), CLAUDE)


# Growing


@pytest.mark.parametrize("name", LINES)
def test_reading_on_while_it_grows_gives_what_reading_anew_gives(name, tmp_path):
    random = Random(1)
    data = written(name, story(random, 60))
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"")
    reading = Reading(name, str(path))
    cuts = sorted(random.randrange(len(data)) for _ in range(40))
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        with path.open("ab") as file:
            file.write(data[start:end])
        read_on(reading, agent(name))
        assert encode(final(reading, agent(name))) == encode(whole(name, data[:end])) or reading.torn
    assert (reading.offset, reading.torn) == (len(data), b"")
    assert encode(reading.digest) == encode(whole(name, data))


def test_a_last_line_without_its_newline_is_told_but_not_kept(tmp_path):
    data = written("claude-code", [Prompt(5.0, "Fix the cart"), Say(6.0, "I look at the cart.")])
    path = tmp_path / "t.jsonl"
    path.write_bytes(data.removesuffix(b"\n"))
    reading = read(path, CLAUDE)
    assert not reading.digest.says and [one.text for one in final(reading, CLAUDE).says] == [
        "I look at the cart."
    ]
    assert encode(final(reading, CLAUDE)) == encode(whole("claude-code", data))
    path.write_bytes(data)
    assert encode(read_on(reading, CLAUDE).digest) == encode(whole("claude-code", data)) and not reading.torn


def test_a_last_line_that_is_torn_costs_nothing(tmp_path):
    data = written("claude-code", story(Random(2), 10))
    path = tmp_path / "t.jsonl"
    for end in range(len(data) - 100, len(data)):
        path.write_bytes(data[:end])
        reading = read(path, CLAUDE)
        assert reading.malformed == 0
        final(reading, CLAUDE)


def test_a_writer_beside_the_reader_loses_no_line(tmp_path):
    data = written("codex", story(Random(3), 400))
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"")

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for at in range(0, len(data), 997):
                file.write(data[at : at + 997])

    writer = threading.Thread(target=write)
    reading = Reading("codex", str(path))
    writer.start()
    while writer.is_alive():
        read_on(reading, agent("codex"))
    writer.join()
    read_on(reading, agent("codex"))
    assert encode(reading.digest) == encode(whole("codex", data)) and reading.malformed == 0


# Rewritten


def during(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None], *, after: int = 1) -> None:
    """Let something happen to the file when so many blocks of it were read."""
    before = growing_file.chunks

    def watched(path: Path, start: int = 0, **more: Deadline) -> Iterator[tuple[bytes, int]]:
        for count, block in enumerate(before(path, start, size=500, **more), 1):
            yield block
            if count == after:
                change()

    monkeypatch.setattr("segue.services.runs.read_transcript.chunks", watched)


@pytest.mark.parametrize("after", [1, 4, 9])
@pytest.mark.parametrize("how", ["cut", "emptied", "other", "longer", "replaced", "deleted"])
def test_a_file_that_changes_under_the_reader_is_read_and_read_anew_the_next_time(
    how, after, tmp_path, monkeypatch
):
    path = tmp_path / "t.jsonl"
    path.write_bytes(written("claude-code", story(Random(4), 30)))
    other = written("claude-code", story(Random(5), 30))

    def change() -> None:
        if how == "cut":
            os.truncate(path, 700)
        elif how == "emptied":
            os.truncate(path, 0)
        elif how == "other":
            path.write_bytes(other)
        elif how == "longer":
            path.write_bytes(other * 3)
        elif how == "replaced":
            (tmp_path / "new").write_bytes(other)
            (tmp_path / "new").replace(path)
        else:
            path.unlink()

    with monkeypatch.context() as patch:
        during(patch, change, after=after)
        reading = read(path, CLAUDE)
    if how == "deleted":
        return
    kept = stored(reading)
    anew = read(path, CLAUDE) if not is_continued(kept) else read_on(reading, CLAUDE)
    assert encode(anew.digest) == encode(read(path, CLAUDE).digest)


def test_a_file_that_was_rewritten_is_no_longer_the_one_that_was_read(tmp_path):
    data = written("claude-code", story(Random(6), 30))
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    kept = stored(read(path, CLAUDE))
    assert is_continued(kept)
    with path.open("ab") as file:
        file.write(data)
    assert is_continued(kept)
    for other in (data[:-1], data.replace(b"external", b"internal") * 2, b""):
        path.write_bytes(other)
        assert not is_continued(kept)


@pytest.mark.parametrize("name", [name for name in MAKERS if agent(name).form == "document"])
def test_a_document_that_is_being_written_anew_is_read_as_far_as_it_goes(name, tmp_path):
    steps = story(Random(7), 20)
    path = placed(name, steps, home=tmp_path)
    data = path.read_bytes()
    reading = read(path, agent(name), "run-1")
    assert reading.digest.calls
    for end in (0, 1, len(data) // 3, len(data) - 1, len(data)):
        path.write_bytes(data[:end])
        read_on(reading, agent(name))
    assert encode(reading.digest) == encode(read(path, agent(name), "run-1").digest)


# What cannot be read


def test_what_cannot_be_opened_or_is_nobodys_says_so(tmp_path):
    gone = tmp_path / "gone.jsonl"
    with pytest.raises(TranscriptUnreadable, match=r"gone\.jsonl"):
        recognised(gone)
    with pytest.raises(TranscriptUnreadable):
        read(gone, CLAUDE)
    with pytest.raises(TranscriptUnreadable):
        read(tmp_path, CLAUDE)
    nobodys = tmp_path / "notes.txt"
    nobodys.write_text("nothing to see\n")
    with pytest.raises(TranscriptUnreadable, match="not written by an agent"):
        recognised(nobodys)
    with pytest.raises(UnknownAgent):
        recognised(nobodys, "nobody")
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert read(empty, CLAUDE).digest == RunDigest()


def test_a_reading_of_a_missing_file_is_left_as_it_was(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(written("claude-code", story(Random(8), 10)))
    reading = read(path, CLAUDE)
    before = encode(reading.digest), reading.offset
    path.unlink()
    with pytest.raises(TranscriptUnreadable):
        read_on(reading, CLAUDE)
    assert (encode(reading.digest), reading.offset) == before


# Lines


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 20])
@pytest.mark.parametrize(
    "body", [b"", b"\n", b"a", b"a\n", b"a\nb", b"\n\na\n", b"a\r\nb\r\n", b"x" * 100 + b"\ny\n" + b"z" * 70]
)
def test_blocks_are_whole_lines_and_the_rest_is_torn(body, size, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(body)
    blocks = list(chunks(path, size=size))
    assert b"".join(block for block, _ in blocks) == body
    end = body.rfind(b"\n") + 1
    ended = [(block, offset) for block, offset in blocks if block.endswith(b"\n")]
    assert b"".join(block for block, _ in ended) == body[:end]
    assert [offset for _, offset in ended][-1:] == ([end] if end else [])
    if end < len(body):
        assert blocks[-1] == (body[end:], end)


def test_memory_is_a_block_and_the_longest_line(tmp_path):
    import tracemalloc

    path = tmp_path / "t.jsonl"
    steps: list[Step] = [
        Start(1.0, "start"),
        Call(2.0, "c1", "Bash", "run", "make", "make"),
        Result(3.0, "c1", True),
        Say(4.0, "word " * 400),
    ]
    record = written("claude-code", steps)
    with path.open("wb") as file:
        for _ in range(8_000_000 // len(record)):
            file.write(record)
    tracemalloc.start()
    read(path, CLAUDE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000


# Masking

SECRET = "gh" + "p_" + "Zk3JQ0m9xw1r6TtUu5Zk3JQ0m9xw1r6TtUu5"
ASKED = Prompt(2.0, f"use the key {SECRET} for it")


def with_secret(path: Path) -> Reading:
    path.write_bytes(written("claude-code", [Start(1.0, "start"), ASKED]))
    return read(path, CLAUDE)


def test_a_stored_reading_has_its_digest_masked(tmp_path):
    reading = with_secret(tmp_path / "t.jsonl")
    assert SECRET.encode() in encode(reading.digest)
    assert SECRET.encode() not in stored(reading).digest


def test_a_digest_that_the_same_rules_masked_is_not_masked_again(tmp_path, monkeypatch):
    again = cursor.reading_of(stored(with_secret(tmp_path / "t.jsonl")))
    assert again is not None
    monkeypatch.setattr(read_transcript, "redact_bytes", lambda data: pytest.fail("masked once more"))
    assert read_transcript.masked_reading(again, final(again, CLAUDE)) is again.digest


@pytest.mark.parametrize("version", [0, RULES_VERSION + 1])
def test_a_digest_that_other_rules_masked_is_masked_again(version, tmp_path):
    reading = with_secret(tmp_path / "t.jsonl")
    reading.masked_by = version
    assert SECRET.encode() not in encode(read_transcript.masked_reading(reading, final(reading, CLAUDE)))


def test_what_is_read_on_is_masked_again(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(written("claude-code", [Start(1.0, "start")]))
    again = cursor.reading_of(stored(read(path, CLAUDE)))
    assert again is not None and again.masked_by
    with path.open("ab") as file:
        file.write(written("claude-code", [ASKED]))
    read_on(again, CLAUDE)
    assert SECRET.encode() not in encode(read_transcript.masked_reading(again, final(again, CLAUDE)))


def test_a_torn_last_line_is_masked(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(written("claude-code", [Start(1.0, "start")]))
    again = cursor.reading_of(stored(read(path, CLAUDE)))
    assert again is not None
    again.torn = written("claude-code", [ASKED]).rstrip(b"\n")
    shown = read_transcript.masked_reading(again, final(again, CLAUDE))
    assert shown.prompts and SECRET.encode() not in encode(shown)
