"""What was used is found in the store, in transcripts that changed since, and in those that nobody synced."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.support.runs import DAY, HOUR, SECRET

from segue import Segue
from segue.core.runs.steps import End, Model, Prompt, Say, Start, Step, Usage
from segue.services.runs import listing, remembered_runs
from segue.services.runs.discovery import RunFinder
from segue.services.usage import used_runs
from segue.testing.transcripts import placed

AGENTS = ("claude-code", "opencode")


def tell(
    home: Path, project: Path, agent: str, native: str, *used: Usage, old: float = HOUR, parent: str = "",
    prompt: str = "Make the login use tokens",
) -> Path:  # fmt: skip
    """Write a transcript with these responses to its place."""
    at = time.time() - old
    steps: list[Step] = [Start(at, "start", native, str(project), parent=parent), Model(at, "model-1")]
    for one in used:
        steps += [Prompt(one.at - 2, prompt), Say(one.at - 1, "Done."), one, End(one.at)]
    path = placed(agent, steps, home=home, native=native, cwd=str(project))
    if path.suffix != ".db":
        os.utime(path, (at, at))
    return path


def response(key: str, tokens: int = 100, old: float = HOUR - 30) -> Usage:
    return Usage(time.time() - old, key, tokens + 50, 7, input=tokens, cache_read=50)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_run_is_counted_before_and_after_it_is_synced(seg: Segue, home: Path, agent: str) -> None:
    tell(home, seg.workspace.folder, agent, "run-1", response("a"), response("b", 30))
    before = seg.usage(by="agent")
    assert [(row.name, row.input, row.cache_read, row.output) for row in before.rows] == [
        (agent, 130, 100, 14)
    ]
    seg.sync()
    assert seg.usage(by="agent") == before


def test_what_is_synced_is_not_read_again(
    seg: Segue, home: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(home, seg.workspace.folder, agent, "run-1", response("a"))
    before = seg.usage(by="run")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it is known already")

    monkeypatch.setattr(used_runs, "sync", never)
    monkeypatch.setattr(RunFinder, "reading", never)
    assert seg.usage(by="run") == before


def test_another_project_is_read_where_it_is_once_and_its_prompt_is_remembered_masked(
    seg: Segue, home: Path, tmp_path: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(home, tmp_path / "bakery", agent, "run-2", response("a"), prompt=f"Send the bread with {SECRET}")
    assert seg.usage(by="project").rows == []
    before = seg.usage(by="project", everywhere=True)
    assert [row.about for row in before.rows] == ["bakery"] and before.total.responses == 1
    kept = (home / "segue" / remembered_runs.FILE).read_bytes()
    assert b"Send the bread" in kept and SECRET.encode() not in kept
    [row] = seg.usage(by="run", everywhere=True).rows
    assert row.about.startswith("Send the bread")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it is known already")

    monkeypatch.setattr(RunFinder, "reading", never)
    assert seg.usage(by="project", everywhere=True) == before


def test_where_nothing_can_be_written_everything_is_counted_all_the_same(
    seg: Segue, home: Path, agent: str
) -> None:
    (seg.workspace.folder / "PAUSE").write_text("stop")
    tell(home, seg.workspace.folder, agent, "run-1", response("a"))
    assert seg.usage().total.responses == 1
    assert not seg.workspace.store.runs.rows()


def test_a_run_whose_transcript_is_gone_still_counts(seg: Segue, home: Path) -> None:
    path = tell(home, seg.workspace.folder, "claude-code", "run-1", response("a"))
    before = seg.usage()
    path.unlink()
    assert seg.usage() == before


def test_a_row_of_a_version_that_did_not_count_is_read_from_its_copy(seg: Segue, home: Path) -> None:
    from segue.services.runs.run import facts_of, row_of

    path = tell(home, seg.workspace.folder, "claude-code", "run-1", response("a"))
    before = seg.usage(by="agent")
    path.unlink()
    runs = seg.workspace.store.runs
    [row] = runs.rows()
    facts = facts_of(row)
    assert facts is not None and facts.usage
    runs.put([row_of(facts.run, facts.stamp, b"")])
    assert seg.usage(by="agent") == before
    assert seg.usage(by="agent") == before, "and from what is remembered of it"


def test_a_fork_counts_only_what_it_did_itself(seg: Segue, home: Path) -> None:
    history = [response("a"), response("b"), response("c")]
    tell(home, seg.workspace.folder, "claude-code", "run-1", *history, old=2 * HOUR)
    tell(home, seg.workspace.folder, "claude-code", "run-2", *history, response("d", 1, HOUR / 2))
    found = seg.usage(by="run")
    assert {row.name: row.responses for row in found.rows} == {"run-1": 3, "run-2": 1}
    assert found.total.responses == 4


def test_only_runs_of_the_agent_that_is_asked_for_count(seg: Segue, home: Path) -> None:
    for name in AGENTS:
        tell(home, seg.workspace.folder, name, f"run-{name}", response(name))
    assert [row.name for row in seg.usage(by="agent", agent="opencode").rows] == ["opencode"]
    assert {row.name for row in seg.usage(by="agent").rows} == {*AGENTS}


def test_sub_agents_count_for_themselves_in_the_session_of_their_lead(seg: Segue, home: Path) -> None:
    project = seg.workspace.folder
    tell(home, project, "opencode", "ses_lead", response("a"))
    tell(home, project, "opencode", "ses_side", response("b", 40), parent="ses_lead")
    by_run = {row.name: row.input for row in seg.usage(by="run").rows}
    assert by_run == {"ses_lead": 100, "ses_side": 40}
    [session] = seg.usage(by="session").rows
    assert session.name and (session.input, session.runs) == (140, 2)


def test_a_run_that_cannot_be_read_is_said_to_be_left_out(
    seg: Segue, home: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from segue.errors import TranscriptUnreadable

    tell(home, seg.workspace.folder, agent, "run-1", response("a"))

    def broken(*_: object, **__: object) -> None:
        raise TranscriptUnreadable("no", hint="")

    monkeypatch.setattr(used_runs, "sync", broken)
    monkeypatch.setattr(RunFinder, "reading", broken)
    found = seg.usage()
    assert (found.total.responses, found.not_read) == (0, 1)


def test_the_period_leaves_out_other_days(seg: Segue, home: Path, agent: str) -> None:
    tell(
        home, seg.workspace.folder, agent, "run-1", response("a", 5, 40 * DAY), response("b", 6), old=41 * DAY
    )
    assert seg.usage().total.input == 6
    assert seg.usage(since="all").total.input == 11
    assert seg.usage(since="all", until="30d").total.input == 5


def test_listing_runs_is_not_changed_by_it(seg: Segue, home: Path, agent: str) -> None:
    tell(home, seg.workspace.folder, agent, "run-1", response("a"))
    seg.usage()
    assert [run.id for run in listing.list_runs(seg.workspace)] == ["run-1"]
