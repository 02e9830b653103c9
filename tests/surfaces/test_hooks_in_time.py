"""Hooks end in time whatever lies there, and what they had no time for is read by the next command."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.hooks import Agent
from tests.support.runs import work

from segue.agents import agent as agent_of
from segue.core.journal.event import read_body
from segue.core.runs.digest import encode
from segue.core.runs.events import RunHooked
from segue.core.runs.steps import Prompt, Result, Say, Step
from segue.effects.deadline import OutOfTime
from segue.effects.files.spool import SpoolRecord
from segue.effects.processes.identity import own_age_seconds
from segue.services.brief.project_brief import brief_here
from segue.services.hooks import spool_drain, time_limits
from segue.services.hooks.spool_drain import drain, spool_of
from segue.services.runs import cursor, read_transcript
from segue.services.runs.cursor import reading_of, unpacked
from segue.services.runs.observed import runs_of
from segue.services.runs.read_transcript import Reading, read
from segue.services.runs.sync import sync
from segue.stores.base import RunRow
from segue.surfaces.hook import entry
from segue.testing.transcripts import placed

LAST = "And write the findings into notes.md, please"
FORMS = ["claude-code", "codex", "gemini-cli", "cline", "opencode"]
STOPS = {"gemini-cli": "AfterAgent", "opencode": "idle"}


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    return Agent(home, tmp_path / "shop")


def long_run(agent: Agent, *, native: str = "now-1", name: str = "", calls: int = 1_200) -> Path:
    """The transcript of a run with many calls, whose last words are a request."""
    steps: list[Step] = []
    at, cwd = time.time() - 4_000, str(agent.project)
    for number, step in enumerate(
        work(at=at, native=native, cwd=str(agent.project), calls=calls, ends=False)
    ):
        steps.append(step)
        if isinstance(step, Result):
            steps.append(Say(step.at, f"That was number {number}. " + "It says much about it. " * 20))
    steps.append(Prompt(at + calls + 10, LAST))
    name = name or agent.agent
    return placed(name, steps, home=agent.home, native=native, cwd=cwd)


def stop(agent: Agent, path: Path, said: str = "Looked at it.", native: str = "now-1") -> float:
    """The end of a turn; how long the agent waited."""
    event = STOPS.get(agent.agent, "Stop")
    began = time.monotonic()
    agent.call(event, native, transcript_path=str(path), last_assistant_message=said, prompt_response=said)
    return time.monotonic() - began


def row_of_run(agent: Agent, native: str = "now-1") -> RunRow | None:
    with agent.open() as segue:
        runs = runs_of(segue.workspace).runs
        return next((runs.get(row.key) for row in runs.rows() if row.native == native), None)


def reading(agent: Agent, native: str = "now-1") -> Reading | None:
    row = row_of_run(agent, native)
    return reading_of(unpacked(row.reading)) if row is not None else None


def test_a_stop_hook_keeps_what_it_had_time_for_and_the_next_goes_on_there(agent: Agent) -> None:
    agent.seconds = 0.0
    path = long_run(agent)
    offsets = []
    for number in range(3):
        stop(agent, path, f"Part {number}.")
        kept = reading(agent)
        assert kept is not None
        offsets.append(kept.offset)
    assert 0 < offsets[0] < offsets[1] < offsets[2] < path.stat().st_size
    assert path.read_bytes()[: offsets[2]].endswith(b"\n")
    assert not agent.spooled(), agent.log()


@pytest.mark.parametrize("name", FORMS)
def test_what_a_stop_hook_had_no_time_for_is_read_by_the_next_sync(
    home: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_transcript, "DOCUMENT_BYTES_MAX", 50_000)
    agent = Agent(home, tmp_path / "shop", name)
    agent.seconds = 0.0
    path = long_run(agent, calls=400)
    if agent_of(name).form == "lines":
        stop(agent, path)
        kept = reading(agent)
        assert kept is not None and kept.offset < path.stat().st_size
    else:
        stop(agent, path)
        assert row_of_run(agent) is None, "a document counts whole or not at all"
    with agent.open() as segue:
        result = sync(segue.workspace)
        assert not result.unreadable
        [row] = [row for row in runs_of(segue.workspace).runs.rows() if row.native == "now-1"]
        state = segue.session(row.session).state
        said = [entry.text for entry in state.said if entry.kind == "request"]
    kept = reading(agent)
    whole = read(path, agent_of(name), "now-1").digest
    assert kept is not None
    assert [one.text for one in kept.digest.prompts] == [one.text for one in whole.prompts]
    assert (kept.digest.steps, kept.digest.calls) == (whole.steps, whole.calls)
    if agent_of(name).form == "lines":
        assert encode(kept.digest) == encode(whole)
    assert any(LAST in text for text in said), said


def test_a_sync_after_it_reads_only_what_is_left_and_a_second_one_nothing(agent: Agent) -> None:
    agent.seconds = 0.0
    path = long_run(agent)
    stop(agent, path)
    kept = reading(agent)
    assert kept is not None
    with agent.open() as segue:
        first, second = sync(segue.workspace), sync(segue.workspace)
    assert first.bytes_read == path.stat().st_size - kept.offset
    assert (second.read, second.unchanged) == (0, 1)


@pytest.mark.parametrize("is_stopped", [True, False], ids=["after a stop hook", "cold"])
def test_the_next_run_is_told_the_last_request_and_what_of_the_record_is_missing(
    agent: Agent, is_stopped: bool
) -> None:
    agent.seconds = 0.0
    path = long_run(agent, native="before-1")
    if is_stopped:
        stop(agent, path, native="before-1")
    told = agent.start(native="next-1")
    assert LAST in told
    assert "no time to read the whole transcript of run before-1 (claude-code)" in told
    assert "`segue brief before-1` reads all of it" in told
    with agent.open() as segue:
        whole = brief_here(segue.workspace)
    assert LAST in whole and "no time to read" not in whole


def test_with_time_enough_nothing_is_said_to_be_missing(agent: Agent) -> None:
    path = long_run(agent, native="before-1")
    stop(agent, path, native="before-1")
    told = agent.start(native="next-1")
    assert LAST in told and "no time to read" not in told
    kept = reading(agent, "before-1")
    assert kept is not None and kept.offset == path.stat().st_size


@pytest.mark.parametrize("name", ["cline", "opencode"])
def test_that_a_document_was_too_large_is_said_to_the_next_run(
    home: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_transcript, "DOCUMENT_BYTES_MAX", 50_000)
    agent = Agent(home, tmp_path / "shop")
    long_run(agent, native="before-1", name=name, calls=400)
    told = agent.start(native="next-1")
    assert f"no time to read the transcript of run before-1 ({name}, " in told
    with agent.open() as segue:
        sync(segue.workspace)
    assert LAST in agent.start(native="next-2")


def test_of_a_large_document_in_lines_the_next_run_is_told_the_end(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_transcript, "DOCUMENT_BYTES_MAX", 50_000)
    monkeypatch.setattr(read_transcript, "DOCUMENT_END_BYTES", 20_000)
    agent = Agent(home, tmp_path / "shop", "gemini-cli")
    path = long_run(agent, native="before-1", calls=400)
    told = agent.raw(
        "BeforeAgent",
        json.dumps({"session_id": "next-1", "cwd": str(agent.project), "prompt": "go on",
                    "transcript_path": str(path.with_name("session-2.jsonl"))}).encode(),
    ).decode()  # fmt: skip
    assert LAST in told and "no time to read" in told


def test_a_text_that_is_slow_to_read_costs_the_agent_little(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.call("SessionEnd", "warm", reason="other")
    path = long_run(agent)
    reader = type(agent_of("claude-code").reader())
    before = reader.read_view  # type: ignore[attr-defined]

    def slowly(self: Any, line: memoryview) -> Any:
        time.sleep(0.002)
        return before(self, line)

    monkeypatch.setattr(reader, "read_view", slowly)
    agent.seconds = 0.3
    lines = path.read_bytes().count(b"\n")
    took = stop(agent, path)
    assert took < 0.002 * lines / 2, f"{took:.1f} s for {lines} lines"
    kept = reading(agent)
    assert kept is not None and 0 < kept.offset < path.stat().st_size


def test_a_long_spool_is_stored_in_parts_and_nothing_of_it_is_lost(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_drain, "BATCH", 10)
    with agent.open() as segue:
        spool = spool_of(segue.workspace.home.path)
        for number in range(35):
            payload = json.dumps({"session_id": "other-1", "prompt": f"do {number}", "cwd": "/"}).encode()
            assert spool.append(SpoolRecord("claude-code", "UserPromptSubmit", payload))
    agent.seconds = 0.0
    left = [35]
    for number in range(4):
        agent.call("SessionStart", f"now-{number}", source="startup")
        with agent.open() as segue:
            left.append(spool_of(segue.workspace.home.path).count()[0])
    assert left == [35, 25, 15, 5, 0]
    with agent.open() as segue:
        assert drain(segue.workspace) == 0
        bodies = [read_body(event) for event in segue.workspace.store.read("run/claude-code/other-1")]
    assert [body.text for body in bodies if isinstance(body, RunHooked)] == [f"do {n}" for n in range(35)]


def test_a_hook_that_is_ended_wherever_it_is_leaves_its_event_in_the_spool(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where faults of a reader are survived: the end of a hook's time is none of them."""
    path = long_run(agent, calls=4)
    reader = type(agent_of("claude-code").reader())

    def ended(self: Any, line: memoryview) -> Any:
        raise OutOfTime("the time limit of the hook is over")

    with monkeypatch.context() as alarm:
        alarm.setattr(reader, "read_view", ended)
        assert agent.call("Stop", transcript_path=str(path), last_assistant_message="ok") == {}
    assert agent.spooled() == ["Stop"]
    assert "OutOfTime" in agent.log()
    stop(agent, path)
    with agent.open() as segue:
        drain(segue.workspace)
    kept = reading(agent)
    assert kept is not None and kept.offset == path.stat().st_size


def test_the_alarm_ends_a_hook_that_survives_every_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def stubborn(*_: Any, **__: Any) -> bytes:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                time.sleep(0.01)
            except Exception:
                continue
        return b"it never ended"

    before = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr("segue.services.hooks.handler.answered", stubborn)
    monkeypatch.setitem(time_limits.ALARM_SECONDS, "Stop", 0.1)
    try:
        with pytest.raises(OutOfTime):
            entry.answered("/nowhere", "claude-code", "Stop", b"{}")
    finally:
        signal.signal(signal.SIGALRM, before)


def test_hooks_work_far_shorter_than_agents_wait() -> None:
    assert max(time_limits.SECONDS.values()) <= 1.3
    assert all(time_limits.SECONDS[kind] < 1.0 for kind in ("stop", "end", "failure"))
    assert time_limits.ALARM_SECONDS_DEFAULT <= 5.0, "Claude Code, Codex and Gemini CLI wait for ten"
    assert time_limits.ALARM_SECONDS["SessionEnd"] < 3.0, "Codex waits for three at the end"


def test_what_the_start_of_a_hook_took_is_taken_from_its_time() -> None:
    assert 0.5 < time_limits.deadline_of("stop").seconds_left <= 0.7
    assert time_limits.deadline_of("stop", 0.4).seconds_left < 0.31
    least = time_limits.deadline_of("stop", 30.0).seconds_left
    assert 0.1 < least <= time_limits.SECONDS_MIN, "a busy machine gets on, too"
    assert 0.0 <= own_age_seconds() < 86_400


def test_what_there_was_no_time_to_prepare_is_prepared_at_the_end_of_the_next_turn(agent: Agent) -> None:
    manifests = agent.data / "manifests"
    path = long_run(agent, calls=4)
    agent.seconds = 0.0
    stop(agent, path)
    assert not list(manifests.rglob("*.json"))
    agent.seconds = 60.0
    stop(agent, path, "Looked at it again.")
    assert list(manifests.rglob("*.json"))


def test_before_a_compaction_the_recovery_is_prepared_however_late_it_is(agent: Agent) -> None:
    path = long_run(agent, calls=4)
    agent.seconds = 0.0
    agent.call("PreCompact", transcript_path=str(path), trigger="auto")
    assert list((agent.data / "manifests").rglob("*.json"))


def test_a_part_that_was_read_is_never_taken_for_the_whole(agent: Agent) -> None:
    agent.seconds = 0.0
    path = long_run(agent)
    stop(agent, path)
    row = row_of_run(agent)
    assert row is not None
    stored = unpacked(row.reading)
    assert stored is not None
    about = agent_of("claude-code")
    [found] = [one for one in about.find(_scope(agent)) if one.native == "now-1"]
    now = cursor.stamp_of(found, about)
    assert not cursor.is_unchanged(stored.stamp, now, about)
    assert cursor.is_continued(stored, now, about)


def _scope(agent: Agent) -> Any:
    with agent.open() as segue:
        return runs_of(segue.workspace).finder().scope
