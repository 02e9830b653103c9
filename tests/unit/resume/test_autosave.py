"""The checkpointer: when it saves, what, and that it never breaks the program."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.git import Repository

from segue import Segue, UsageError
from segue.api.session import Session
from segue.core.brief.manifest import Preparation, read
from segue.core.journal.event import read_body
from segue.core.sessions.events import Noted
from segue.services.resume.autosave import TRIGGERS, Checkpointed, Checkpointer


@pytest.fixture
def session(seg: Segue) -> Session:
    return seg.start("Use tokens", id="jwt")


def eventually(check: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not check():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def test_force_saves_now_and_gives_status_number_and_time(session: Session, home: Path) -> None:
    thoughts = {"step": 1}
    keeper = session.checkpointer(planner=lambda: thoughts)
    keeper.change("looked at the routes")
    keeper.change()
    done = keeper.force()
    assert (done.status, done.number, done.changes) == ("saved", 1, 2)
    assert done.at.endswith("Z") and keeper.pending == 0
    assert session.load_agent("planner") == {"step": 1}
    assert session.state.last_action == "looked at the routes"
    manifest = read((home / "segue" / "manifests" / "shop" / "latest.json").read_bytes())
    assert manifest is not None and isinstance(manifest.prepared, Preparation)
    assert manifest.prepared.reason == "user request"
    assert keeper.force().number == 2


def test_fifty_changes_are_saved_at_once(session: Session) -> None:
    with session.checkpointer() as keeper:
        for n in range(50):
            keeper.change(f"change {n}")
        eventually(lambda: keeper.number == 1)
        assert keeper.last is not None and keeper.last.reason == "50 changes"
    assert session.state.last_action == "change 49"
    assert sum(event.kind == "note.taken" for event in session.log()) == 50


def test_fewer_changes_wait_for_the_time(session: Session) -> None:
    with session.checkpointer(every_seconds=0.2, look_seconds=0.05) as keeper:
        keeper.change()
        eventually(lambda: keeper.number == 1)
        time.sleep(0.5)
        assert keeper.number == 1  # nothing changed since


def test_stop_saves_once_more_and_ends_the_thread(session: Session) -> None:
    before = threading.active_count()
    keeper = session.checkpointer().start()
    keeper.change("the last one")
    done = keeper.stop()
    assert done is not None and (done.status, done.reason) == ("saved", "before exit")
    assert threading.active_count() == before
    assert session.state.last_action == "the last one"
    assert keeper.stop() == done


def test_a_failure_is_logged_and_told_and_never_raised(
    session: Session, repo: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Checkpointed] = []

    def broken() -> object:
        raise RuntimeError("no thoughts today")

    keeper = session.checkpointer(notice=told.append, planner=broken)
    keeper.change("kept for later")
    done = keeper.force()
    assert (done.status, done.number, done.error) == ("failed", 0, "no thoughts today")
    assert keeper.pending == 1 and told == [done]
    assert "no thoughts today" in caplog.text


def test_what_failed_is_tried_again(session: Session, repo: Repository) -> None:
    keeper = session.checkpointer()
    keeper.change("kept for later")
    (repo.folder / "PAUSE").touch()
    assert keeper.force().status == "failed"
    (repo.folder / "PAUSE").unlink()
    assert keeper.force().status == "saved" and session.state.last_action == "kept for later"


def test_there_is_one_notice_an_hour_at_most(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Checkpointed] = []
    keeper = session.checkpointer(notice=told.append)
    for _ in range(3):
        keeper.force()
    assert len(told) == 1
    later = time.monotonic() + 3601
    monkeypatch.setattr("segue.services.resume.autosave.time.monotonic", lambda: later)
    keeper.force()
    assert len(told) == 2


def test_a_notice_that_fails_harms_nobody(session: Session) -> None:
    def broken(_: Checkpointed) -> None:
        raise RuntimeError

    assert session.checkpointer(notice=broken).force().status == "saved"


@pytest.mark.parametrize("name", TRIGGERS)
def test_every_named_trigger_makes_it_save_when_it_is_told(name: str, session: Session) -> None:
    with session.checkpointer() as keeper:
        keeper.change()
        keeper.trigger(name)
        eventually(lambda: keeper.number == 1)
        assert keeper.last is not None and keeper.last.reason == name


def test_the_recipes_names_of_triggers_mean_ours(session: Session) -> None:
    names = ["file_modified", "test_passed", "feature_complete", "error_recovered", "5_minutes_elapsed"]
    keeper = session.checkpointer(triggers=names)
    assert keeper.triggers == TRIGGERS.keys()
    with keeper:
        keeper.change()
        keeper.trigger("error_recovered")
        eventually(lambda: keeper.number == 1)
        assert keeper.last is not None and keeper.last.reason == "error recovered"


def test_what_a_failed_checkpoint_has_saved_is_not_saved_again(session: Session) -> None:
    fails = True

    def state() -> dict[str, int]:
        if fails:
            raise RuntimeError("no state")
        return {"step": 1}

    keeper = session.checkpointer(planner=state)
    keeper.change("edited a.py")
    assert [keeper.force().status for _ in range(4)] == ["failed"] * 4
    assert keeper.pending == 1, "it is not part of a checkpoint yet"
    keeper.change("edited b.py")
    fails = False
    done = keeper.force()
    assert (done.status, done.changes, keeper.pending) == ("saved", 2, 0)
    notes = [body.text for body in map(read_body, session.log()) if isinstance(body, Noted)]
    assert notes == ["edited a.py", "edited b.py"]


def test_triggers_that_were_chosen_are_noticed_by_looking(session: Session, repo: Repository) -> None:
    reasons: list[str] = []
    session.features.add("f", "f", checks=["true"])
    keeper = session.checkpointer(
        look_seconds=0.05, triggers=[name for name in TRIGGERS if name != "5 minutes"]
    )

    def saved(reason: str) -> Callable[[], bool]:
        def look() -> bool:
            if keeper.last is not None:
                reasons.append(keeper.last.reason)
            return reason in reasons

        return look

    with keeper:
        repo.write({"a.py": "b\n"})
        eventually(saved("file modified"))
        session.error("it fails")
        session.solved("it fails", "mended")
        eventually(saved("error recovered"))
        session.features.verify()
        eventually(saved("feature complete"))


def test_five_minutes_is_a_trigger_that_must_be_chosen(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, chosen = session.checkpointer(), session.checkpointer(triggers=["5 minutes"])
    for keeper in (plain, chosen):
        keeper.change()
    later = time.monotonic() + 301
    monkeypatch.setattr("segue.services.resume.autosave.time.monotonic", lambda: later)
    assert (plain._due(), chosen._due()) == ("", "5 minutes")
    later += 900
    assert plain._due() == "15 minutes"


def test_unknown_triggers_and_times_that_are_none_are_refused(session: Session) -> None:
    with pytest.raises(UsageError):
        Checkpointer(session, triggers=["full moon"])
    with pytest.raises(UsageError):
        session.checkpointer().trigger("full moon")
    for wrong in ({"every_seconds": 0}, {"look_seconds": -1}, {"changes_max": 0}):
        with pytest.raises(UsageError):
            Checkpointer(session, **wrong)  # type: ignore[arg-type]


def changes(keeper: Checkpointer, name: str) -> None:
    for n in range(30):
        keeper.change(f"{name} {n}")


def test_two_threads_that_change_lose_nothing(session: Session) -> None:
    with session.checkpointer(changes_max=7) as keeper:
        threads = [threading.Thread(target=changes, args=(keeper, name)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    notes = [event for event in session.log() if event.kind == "note.taken"]
    assert len(notes) == 60


def test_the_interval_may_be_given_in_minutes_and_what_is_no_function_is_refused(session: Session) -> None:
    with session.checkpointer(interval_minutes=1) as saver:
        saver.change("x")
        assert saver.force().status == "saved"
    with pytest.raises(UsageError, match="`minutes` of checkpointer is of the wrong kind"):
        session.checkpointer(minutes=15)  # type: ignore[arg-type]
