"""Copies of what a shared store acknowledged: who is ahead of the store notices, and brings it back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.postgres_store import namespace_of, needs_postgres, shared, url_for

from segue import Segue
from segue.core import event_kinds as ev
from segue.errors import HistoryWentBack
from segue.services.sessions import local_copies
from segue.services.sessions.local_copies import LocalCopies
from segue.services.upkeep.recover.from_copies import bring_back_copies

pytestmark = needs_postgres


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_copies, "OLD_PRIMARY_SECONDS_MAX", 0.3)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Segue]:
    with Segue(store=url_for(tmp_path), home=tmp_path / "home", folder=tmp_path) as opened:
        yield opened


def copies_of(team: Segue) -> LocalCopies:
    return LocalCopies(team.workspace.home.copies)


def go_back(tmp_path: Path, session: str, version: int) -> None:
    """What a failover to a standby that was behind does to a session."""
    where = f"namespace = '{namespace_of(tmp_path)}' AND"
    name = f"'session/{session}'"
    shared().query(f"DELETE FROM segue.events WHERE {where} stream = {name} AND version > {version}")
    shared().query(f"DELETE FROM segue.snapshots WHERE {where} stream = {name}")
    shared().query(
        f"UPDATE segue.streams SET version = {version}, hash = (SELECT hash FROM segue.events WHERE {where}"
        f" stream = {name} AND version = {version}) WHERE {where} name = {name}"
    )


def notes(team: Segue, session: str) -> list[str]:
    events = team.workspace.store.read(f"session/{session}")
    return [body.text for event in events if isinstance(body := ev.read_body(event), ev.Noted)]


def test_a_store_that_has_everything_has_nothing_to_bring_back(team: Segue) -> None:
    session = team.start("a goal")
    session.note("one")
    assert copies_of(team).lost(team.workspace.store) == []
    assert copies_of(team).last(f"session/{session.id}") == 3


def test_a_process_that_is_ahead_of_the_store_does_not_write_over_what_is_lost(
    team: Segue, tmp_path: Path
) -> None:
    session = team.start("a goal")
    for text in ("one", "two", "three"):
        session.note(text)
    go_back(tmp_path, session.id, 3)
    with pytest.raises(HistoryWentBack) as caught:
        session.note("four")
    assert (caught.value.seen, caught.value.actual) == (5, 3)
    later = Segue(store=url_for(tmp_path), home=tmp_path / "home", folder=tmp_path)
    with later, pytest.raises(HistoryWentBack):
        later.session(session.id).note("four")
    assert notes(team, session.id) == ["one"]


def test_what_fits_comes_back_as_it_was_with_its_hashes(team: Segue, tmp_path: Path) -> None:
    session, store = team.start("a goal"), team.workspace.store
    session.checkpoint(note="one", add=["item"], done=["item"])
    session.note("two")
    before = store.read(f"session/{session.id}")
    go_back(tmp_path, session.id, 2)
    store.watch = None
    assert bring_back_copies(copies_of(team), store, dry_run=True).status == "ok"
    assert len(store.read(f"session/{session.id}")) == 2
    assert bring_back_copies(copies_of(team), store, dry_run=False).status == "used"
    assert store.read(f"session/{session.id}") == before
    assert bring_back_copies(copies_of(team), store, dry_run=False).status == "none"


def test_what_others_have_written_meanwhile_stays_and_the_lost_comes_behind_it(
    team: Segue, tmp_path: Path
) -> None:
    session, store = team.start("a goal"), team.workspace.store
    for text in ("one", "two"):
        session.note(text)
    go_back(tmp_path, session.id, 3)
    with Segue(store=url_for(tmp_path), home=tmp_path / "elsewhere", folder=tmp_path) as other:
        other.session(session.id).note("of another machine")
        other.session(session.id).note("and one more")
        with pytest.raises(HistoryWentBack, match="a different history"):
            assert session.state.version
        store.watch = None
        bring_back_copies(copies_of(team), store, dry_run=False)
        assert notes(other, session.id) == ["one", "of another machine", "and one more", "two"]


def test_copies_go_when_a_text_is_erased(team: Segue) -> None:
    session = team.start("a goal")
    session.note("a text")
    team.workspace.forget_last_seen()
    assert list(team.workspace.home.copies.iterdir()) == []


def test_copies_are_for_their_owner_alone_and_do_not_grow_without_end(
    team: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_copies, "COPY_BYTES_MAX", 2_000)
    monkeypatch.setattr(local_copies, "SESSIONS_MAX", 3)
    for number in range(5):
        session = team.start(f"goal {number}")
        for _ in range(20):
            session.note("some words of a note")
    files = sorted(team.workspace.home.copies.iterdir())
    assert len([one for one in files if one.suffix == ".jsonl"]) == 3
    assert all(one.stat().st_size < 4_000 and one.stat().st_mode & 0o077 == 0 for one in files)


def test_a_line_that_is_torn_or_changed_is_not_brought_back(team: Segue, tmp_path: Path) -> None:
    session = team.start("a goal")
    session.note("one")
    session.note("two")
    [file] = team.workspace.home.copies.glob("*.jsonl")
    lines = file.read_bytes().splitlines()
    changed = lines[2].replace(b'"version":3', b'"version":4')
    file.write_bytes(b"\n".join([*lines[:2], changed, lines[3][:40]]))
    go_back(tmp_path, session.id, 2)
    assert copies_of(team).lost(team.workspace.store) == []


def recover_elsewhere(team: Segue, tmp_path: Path) -> str:
    """What `segue recover` in another process of this machine does; its words."""
    with Segue(store=url_for(tmp_path), home=team.workspace.home.path, folder=tmp_path) as other:
        other.workspace.store.watch = None
        copies = LocalCopies(other.workspace.home.copies)
        return bring_back_copies(copies, other.workspace.store, dry_run=False).status


@pytest.mark.parametrize("is_told", [True, False])
def test_a_process_that_runs_on_writes_again_after_another_one_has_recovered(
    team: Segue, tmp_path: Path, is_told: bool
) -> None:
    """What another machine wrote is lost, too: the session does not come back to the version of before."""
    session = team.start("a goal")
    session.note("one")
    with Segue(store=url_for(tmp_path), home=tmp_path / "elsewhere", folder=tmp_path) as other:
        for number in range(4):
            other.session(session.id).note(f"elsewhere {number}")
    session.note("two")
    go_back(tmp_path, session.id, 3)
    if is_told:
        with pytest.raises(HistoryWentBack):
            session.note("three")
    assert recover_elsewhere(team, tmp_path) == "used"
    assert session.note("three").version == 5
    assert notes(team, session.id) == ["one", "two", "three"]
    go_back(tmp_path, session.id, 4)
    with pytest.raises(HistoryWentBack):
        session.note("four")


def test_a_process_that_runs_on_writes_again_behind_what_others_wrote_meanwhile(
    team: Segue, tmp_path: Path
) -> None:
    session = team.start("a goal")
    for text in ("one", "two"):
        session.note(text)
    go_back(tmp_path, session.id, 3)
    with Segue(store=url_for(tmp_path), home=tmp_path / "elsewhere", folder=tmp_path) as other:
        other.session(session.id).note("of another machine")
    assert recover_elsewhere(team, tmp_path) == "used"
    session.note("three")
    assert notes(team, session.id) == ["one", "of another machine", "two", "three"]


def test_a_copy_that_could_not_be_written_does_not_count_as_brought_back(
    team: Segue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = team.start("a goal")
    session.note("one")

    def no_room(*_: object) -> None:
        raise OSError(28, "no room")

    monkeypatch.setattr(LocalCopies, "_append", no_room)
    session.note("two")
    go_back(tmp_path, session.id, 3)
    with pytest.raises(HistoryWentBack):
        session.note("three")
