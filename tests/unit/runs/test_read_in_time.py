"""Reading while somebody waits: it ends in time, where it can go on, and says what is missing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import work

from segue.agents import agent as agent_of
from segue.agents.base import Agent
from segue.core.runs.digest import encode
from segue.core.runs.steps import Call, End, Plan, PlanItem, Prompt, Result, Say, Step
from segue.effects.deadline import NEVER, Deadline
from segue.effects.files.growing_file import CHUNK_BYTES, chunks
from segue.errors import TranscriptUnreadable
from segue.services.runs import read_transcript as module
from segue.services.runs.read_transcript import Reading, read, read_in_time, read_on, sayings_of
from segue.testing.transcripts import placed

LINES = ["claude-code", "codex", "copilot-cli"]
LAST = "And write down what you found, please"


def long_work(calls: int, *, last: bool = True) -> list[Step]:
    """A run with many calls, an open one at its beginning, and a last request after all others."""
    steps = work(calls=calls, ends=False)
    opening = [Call(steps[0].at, "lost", "Bash", "run", text="make slow", command="make slow")]
    told: list[Step] = []
    for number, step in enumerate(steps):
        told += [step, *(opening if number == 4 else [])]
        if isinstance(step, Result):
            told.append(Say(step.at, f"That was number {number}. " + "It says much about it. " * 20))
    return [*told, *([Prompt(told[-1].at + 1, LAST)] if last else [])]


def written(home: Path, agent: str, steps: list[Step]) -> Path:
    return placed(agent, steps, home=home, native="run-1", cwd="/src/shop")


@pytest.mark.parametrize("name", LINES)
def test_reading_that_ran_out_of_time_goes_on_there_and_comes_to_the_same(home: Path, name: str) -> None:
    path, agent = written(home, name, long_work(400)), agent_of(name)
    whole, reading = read(path, agent, "run-1"), Reading(name, str(path), "run-1")
    parts = 0
    while not parts or reading.unread:
        read_on(reading, agent, until=Deadline(0.0))
        parts += 1
        assert reading.unread == path.stat().st_size - reading.offset
        assert path.read_bytes()[: reading.offset].endswith(b"\n"), "what counts as read is whole"
    assert parts > 3
    assert encode(reading.digest) == encode(whole.digest)
    assert sayings_of(reading, agent) == sayings_of(whole, agent)


def test_without_anybody_who_waits_everything_is_read_at_once(home: Path) -> None:
    path = written(home, "claude-code", long_work(400))
    blocks = list(chunks(path))
    assert len(blocks) == -(-path.stat().st_size // CHUNK_BYTES)
    assert not read_on(Reading("claude-code", str(path)), agent_of("claude-code"), until=NEVER).unread


class Slow:
    """An agent whose reader takes long for each line, as for a hostile text."""

    name, title, form = "claude-code", "Slow", "lines"

    def __init__(self, seconds: float) -> None:
        self.seconds, self.lines = seconds, 0

    def reader(self, kept: Any = None) -> Any:
        agent, reader = self, agent_of("claude-code").reader(kept)

        class Reader:
            skipped = malformed = 0

            def read(self, record: bytes) -> Iterable[Step]:
                time.sleep(agent.seconds)
                agent.lines += 1
                return reader.read(record)

            def keep(self) -> Any:
                return reader.keep()

        return Reader()


@pytest.mark.parametrize("how", [read_on, read_in_time])
def test_a_text_that_takes_long_is_read_in_small_parts_and_left_in_time(home: Path, how: Any) -> None:
    path = written(home, "claude-code", long_work(2_000))
    slow: Any = Slow(0.001)
    reading = Reading("claude-code", str(path), "run-1")
    began = time.monotonic()
    if how is read_on:
        read_on(reading, slow, until=Deadline(0.1))
    else:
        read_in_time(reading, slow, Deadline(0.1))
    assert time.monotonic() - began < 1.5
    assert reading.unread or reading.missing
    assert 0 < slow.lines < 1_000


def test_a_line_without_an_end_is_left_where_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"type":"user"}\n{"type":"' + b"x" * (1 << 22))
    reading = read_on(Reading("claude-code", str(path)), agent_of("claude-code"), until=Deadline(0.0))
    assert (reading.offset, reading.torn) == (16, b"")
    again = read_on(reading, agent_of("claude-code"), until=Deadline(0.0))
    assert (again.offset, again.torn) == (16, b""), "nothing of it counts"
    assert len(read_on(again, agent_of("claude-code")).torn) > 1 << 22


@pytest.mark.parametrize("name", LINES)
def test_where_there_is_no_time_for_all_the_beginning_and_the_end_are_read(home: Path, name: str) -> None:
    path, agent = written(home, name, long_work(1_500)), agent_of(name)
    reading = read_in_time(Reading(name, str(path), "run-1"), agent, Deadline(0.0))
    size = path.stat().st_size
    assert 0 < size - 4 * module.END_BYTES_MIN < reading.missing < size
    assert not reading.unread
    assert [one.text for one in reading.digest.prompts] == ["Make the login use tokens, please", LAST]
    assert [call.line for call in reading.digest.pending.values()] == ["make deploy"]
    whole = read(path, agent, "run-1").digest
    assert {call.line for call in whole.pending.values()} >= {"make deploy", "make slow"}
    assert [one.text for one in reading.digest.says[-3:]] == [one.text for one in whole.says[-3:]]
    assert not reading.digest.plan, "what stood before the gap may be over"


def test_what_was_read_before_is_known_and_only_the_rest_is_passed_over(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, agent = written(home, "claude-code", long_work(1_500)), agent_of("claude-code")
    monkeypatch.setattr(module, "AHEAD_BYTES_MAX", 0)
    monkeypatch.setattr(module, "BEGINNING_BYTES", 1)
    reading = Reading("claude-code", str(path), "run-1")
    while reading.offset < path.stat().st_size // 2:
        read_on(reading, agent, until=Deadline(0.0))
    half = reading.offset
    module.END_BYTES_MAX, before = module.END_BYTES_MIN, module.END_BYTES_MAX
    try:
        read_in_time(reading, agent, Deadline(30.0))
    finally:
        module.END_BYTES_MAX = before
    assert 0 < reading.missing < path.stat().st_size - half
    assert reading.digest.prompts[-1].text == LAST


def test_with_time_for_all_of_it_nothing_is_missing(home: Path) -> None:
    path, agent = written(home, "claude-code", long_work(300)), agent_of("claude-code")
    reading = read_in_time(Reading("claude-code", str(path), "run-1"), agent, Deadline(60.0))
    assert (reading.missing, reading.unread) == (0, 0)
    assert encode(reading.digest) == encode(read(path, agent, "run-1").digest)


def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DOCUMENT_BYTES_MAX", 100_000)
    monkeypatch.setattr(module, "DOCUMENT_END_BYTES", 40_000)


@pytest.mark.parametrize("name", ["gemini-cli", "cline", "roo", "opencode"])
def test_a_document_that_is_too_large_is_not_read_while_somebody_waits(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, agent = written(home, name, long_work(400)), agent_of(name)
    reading = Reading(name, str(path), "run-1")
    assert read_on(reading, agent, until=Deadline(60.0)).digest.steps > 400, "it is small enough"
    large(monkeypatch)
    loads = loaded(agent, monkeypatch)
    anew = Reading(name, str(path), "run-1")
    with pytest.raises(TranscriptUnreadable, match="no time to read"):
        read_on(anew, agent, until=Deadline(60.0))
    assert not loads, "it was not even opened"
    assert anew.unread > 100_000 and not anew.digest.steps
    assert read_on(anew, agent).digest.steps > 400, "and a command reads it"


def loaded(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The documents that an agent was asked for."""
    loads: list[Path] = []
    before = agent.load

    def load(path: Path, native: str) -> bytes:
        loads.append(path)
        return before(path, native)

    monkeypatch.setattr(agent, "load", load)
    return loads


def test_a_document_that_takes_too_long_is_left(home: Path) -> None:
    path, agent = written(home, "cline", long_work(400)), agent_of("cline")
    reading = Reading("cline", str(path), "run-1")
    with pytest.raises(TranscriptUnreadable, match="no time to read"):
        read_on(reading, agent, until=Deadline(0.0))
    assert reading.unread


def test_of_a_large_document_in_lines_the_ends_are_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large(monkeypatch)
    steps = [*long_work(400), Plan(time.time(), (PlanItem("look", "done"),)), End(time.time())]
    path, agent = written(home, "gemini-cli", steps), agent_of("gemini-cli")
    reading = read_in_time(Reading("gemini-cli", str(path), "run-1"), agent, Deadline(60.0))
    assert reading.missing > 0 and not reading.unread
    assert reading.digest.prompts[-1].text == LAST
    assert reading.digest.first_prompt and "tokens" in reading.digest.first_prompt.text
