"""A store that an earlier version wrote is read as it was written, and can be worked on.

``tests/fixtures/store-0.1`` was written by version 0.1.0: sessions in every status, features with evidence,
an agent's state in pieces, a rewind, memories and runs of three agents; ``expected.json`` is what it
said of it then. ``tests/fixtures/store-0.1-last`` is a smaller one by the last 0.1.0, the day before 0.2.0.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from segue import Segue
from segue.core.sessions import snapshot
from segue.core.sessions.state import SessionState

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-0.1"
EXPECTED: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text())
SESSIONS = sorted(EXPECTED["sessions"])


@pytest.fixture
def seg(tmp_path: Path) -> Segue:
    home = tmp_path / "data"
    (home / "archive").mkdir(parents=True)
    shutil.copy(FIXTURE / "segue.db", home / "segue.db")
    shutil.copy(FIXTURE / "transcripts.db", home / "archive" / "transcripts.db")
    project = tmp_path / "project"
    project.mkdir()
    key = EXPECTED["sessions"]["calc-1"]["state"]["project"]
    return Segue(home=home, folder=project, actor="ada", project=key)


def plain(state: SessionState) -> Any:
    value = msgspec.msgpack.decode(snapshot.encode(state))
    return json.loads(json.dumps(value, default=bytes.hex))


@pytest.mark.parametrize("session", SESSIONS)
def test_each_session_has_the_state_and_the_log_that_were_written(seg: Segue, session: str) -> None:
    handle, want = seg.session(session), EXPECTED["sessions"][session]
    assert plain(handle.state) == want["state"]
    log = [[one.version, one.kind, one.at, one.actor, one.hash.hex()] for one in handle.log()]
    assert log == want["log"]


@pytest.mark.parametrize("session", SESSIONS)
def test_folding_the_whole_journal_anew_gives_the_same_state(seg: Segue, session: str) -> None:
    version = EXPECTED["sessions"][session]["state"]["version"]
    assert (
        plain(seg.workspace.repository.state_at(session, version)) == EXPECTED["sessions"][session]["state"]
    )


def test_runs_memories_and_the_state_of_an_agent_are_there(seg: Segue) -> None:
    runs = [[run.agent, run.id, run.session, run.began, run.last] for run in seg.runs(everywhere=True)]
    assert sorted(runs) == EXPECTED["runs"]
    assert seg.session("calc-1").load_agent("planner") == EXPECTED["planner"]
    found = seg.memories.recall("check decimals eval operators", top_k=10)
    assert sorted(one.content for one in found) == EXPECTED["memories"]


def test_work_goes_on_in_it(seg: Segue) -> None:
    session = seg.session("calc-1")
    session.resume()
    before = session.state.version
    session.checkpoint("after", done=["evaluator"], note="it goes on")
    assert session.state.version > before and "half" in session.state.marks
    session.rewind("half")
    assert "evaluator" in [item.text for item in session.state.items]


def test_a_store_of_the_last_0_1_is_opened_read_and_worked_on(tmp_path: Path) -> None:
    fixture = FIXTURE.parent / "store-0.1-last"
    expected: dict[str, Any] = json.loads((fixture / "expected.json").read_text())
    (tmp_path / "data").mkdir()
    shutil.copy(fixture / "segue.db", tmp_path / "data" / "segue.db")
    with Segue(home=tmp_path / "data", folder=tmp_path, actor="ada", project="example.org/shop") as seg:
        for id, want in expected["sessions"].items():
            state = seg.session(id).state
            assert (state.goal, state.status, state.version) == (
                want["goal"],
                want["status"],
                want["version"],
            )
            assert [[item.text, item.status] for item in state.items] == want["items"]
            assert [one.text for one in state.decisions] == want["decisions"]
            assert [[one.version, one.kind, one.hash.hex()] for one in seg.session(id).log()] == want["log"]
        session = seg.session("jwt")
        assert session.load_agent("planner") == expected["planner"]
        found = seg.memories.recall("why are sign-ins refused, and who makes small pictures", top_k=5)
        assert sorted(one.content for one in found) == expected["memories"]
        session.done("auth middleware")
        assert seg.session("jwt").status().done == ["user model", "auth middleware"]
