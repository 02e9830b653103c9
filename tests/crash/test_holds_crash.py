"""Holds between real processes: the living are named, the dead are taken over, races have one winner."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.crash.proof import child, finish, open_segue, wait_for

from segue.errors import SessionHeld


def test_a_living_holder_is_named_and_a_killed_one_is_taken_over_at_once(tmp_path: Path) -> None:
    with open_segue(tmp_path) as seg:
        session = seg.start("held")
        process = child("hold", tmp_path, session.id, "run-child", 900, tmp_path / "said")
        assert wait_for(tmp_path / "said") == "1\n"
        with pytest.raises(SessionHeld) as raised:
            session.hold(run="run-mine")
        assert "claude" in raised.value.by and "run-child" in raised.value.by
        assert raised.value.since and raised.value.until > raised.value.since
        assert "--share" in raised.value.hint
        assert "run-child" in session.note("a single command may still write").warnings[0]
        process.kill()
        process.communicate()
        before = time.monotonic()
        held = session.hold(run="run-mine")
        assert time.monotonic() - before < 1
        assert held.fence == 2
        assert session.note("mine").warnings == ()
        held.release()


def test_a_zombie_does_not_hold(tmp_path: Path) -> None:
    with open_segue(tmp_path) as seg:
        session = seg.start("held")
        process = child("hold", tmp_path, session.id, "run-child", 900, tmp_path / "said")
        wait_for(tmp_path / "said")
        process.kill()
        deadline = time.monotonic() + 10
        while seg.workspace.holds.living(session.id):
            assert time.monotonic() < deadline, "a process that was killed and not waited for still holds"
            time.sleep(0.01)
        assert session.hold(run="run-mine").fence == 2
        process.communicate()


def test_eight_processes_race_for_a_hold_and_exactly_one_gets_it(tmp_path: Path) -> None:
    with open_segue(tmp_path) as seg:
        session = seg.start("raced for")
    go, over = tmp_path / "go", tmp_path / "over"
    children = [child("race", tmp_path, session.id, f"run-{n}", go, over) for n in range(8)]
    go.touch()
    deadline = time.monotonic() + 30
    while sum(process.poll() is not None for process in children) < 7:
        assert time.monotonic() < deadline, "more than one process still holds"
        time.sleep(0.01)
    over.touch()
    said = finish(*children)
    [winner] = [one for one in said if one["fence"]]
    assert winner["fence"] == 1
    assert all(winner["by"] in one["by"] for one in said)


def test_the_session_of_a_killed_run_is_offered_to_be_resumed(tmp_path: Path) -> None:
    with open_segue(tmp_path) as seg:
        session = seg.start("left in the middle")
        process = child("hold", tmp_path, session.id, "run-child", 900, tmp_path / "said")
        wait_for(tmp_path / "said")
        assert seg.resumable() == []
        process.kill()
        process.communicate()
        assert [card.id for card in seg.resumable()] == [session.id]
        assert [holder.run for holder in seg.workspace.holds.crashed(session.id)] == ["run-child"]
