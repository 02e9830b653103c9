"""Cleanup: a session that is over moves to the archive and back, and is never in neither."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segue import _failpoints
from segue.api.segue import Segue
from segue.core import event_kinds as ev
from segue.effects.clock import moment
from segue.errors import (
    AccessError,
    BadName,
    ConflictError,
    DamagedError,
    Paused,
    SessionHeld,
    StoreError,
    StoreFull,
    UnknownSession,
    UsageError,
)
from segue.services.handoff.export import export_session, unpack
from segue.services.sessions.repository import stream_of
from segue.services.upkeep import archive_sessions
from segue.services.upkeep.archive_sessions import Cleanup
from segue.stores.base import Append, Head, Journal
from segue.stores.memory.store import VolatileStore
from segue.stores.sqlite import SqliteStore

STATE = {"plan": [f"step {i}" for i in range(300)]}


@pytest.fixture(params=["volatile", "sqlite"])
def seg(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Segue]:
    journal: Journal = VolatileStore()
    if request.param == "sqlite":
        journal = SqliteStore(tmp_path / "segue.db")
    with Segue(journal, home=tmp_path / "home", folder=tmp_path) as segue:
        yield segue


@pytest.fixture(autouse=True)
def _no_failpoints() -> Iterator[None]:
    yield
    _failpoints.install(None)


class Died(BaseException):
    """What a failpoint of these tests raises."""


def die_at(name: str) -> None:
    def hook(here: str) -> None:
        if here == name:
            raise Died(name)

    _failpoints.install(hook)


def ended(seg: Segue, id: str = "old", *, value: object = STATE) -> Head:
    """A session that was completed just now, with an agent's state; its head."""
    s = seg.start(f"Goal of {id}", items=["one", "two"], id=id)
    s.done("one")
    s.save_agent("coder", value)
    s.complete("all well")
    return seg.workspace.store.head(stream_of(id))


def old_events(seg: Segue, id: str) -> None:
    """A session that was completed in 2020."""
    at = "2020-01-0{}T00:00:00.000000Z"
    bodies = [ev.Created(id, "Old goal", "o", "p", "coding"), ev.Started(), ev.Completed()]
    drafts = [ev.draft(body, at=at.format(day), actor="u") for day, body in enumerate(bodies, 1)]
    seg.workspace.store.append(Append(stream_of(id), 0, drafts))


def test_only_sessions_that_ended_long_enough_ago_are_candidates(seg: Segue) -> None:
    ended(seg, "fresh")
    seg.start("still open", id="open")
    old_events(seg, "old")
    assert [card.id for card in Cleanup(seg.workspace).candidates()] == ["old"]
    assert {card.id for card in Cleanup(seg.workspace).candidates(days=0)} == {"old", "fresh"}
    assert Cleanup(seg.workspace).candidates(days=10_000) == []
    with pytest.raises(UsageError):
        Cleanup(seg.workspace).candidates(days=-1)


def test_an_abandoned_session_is_a_candidate(seg: Segue) -> None:
    seg.start("given up", id="a").abandon("no use")
    assert [card.id for card in Cleanup(seg.workspace).candidates(days=0)] == ["a"]


def test_a_session_goes_to_the_archive_and_comes_back_with_the_same_head(seg: Segue) -> None:
    head = ended(seg)
    state = seg.session("old").state
    seen: list[tuple[int, int, str]] = []
    [archived] = Cleanup(seg.workspace).run(days=0, progress=lambda *step: seen.append(step))
    assert seen == [(0, 1, "old"), (1, 1, "")]
    assert (archived.id, archived.goal, archived.events) == ("old", "Goal of old", head.version)
    assert seg.workspace.store.streams("session/") == []
    with pytest.raises(UnknownSession) as caught:
        seg.session("old")
    assert "archived" in caught.value.hint
    assert Cleanup(seg.workspace).list() == [archived]
    session = Cleanup(seg.workspace).restore("old")
    assert seg.workspace.store.head(stream_of("old")) == head
    assert session.state == state
    assert session.load_agent("coder") == STATE
    assert Cleanup(seg.workspace).list() == []


def test_what_was_brought_back_stays_for_as_many_days_again(
    seg: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(seg)
    cleanup = Cleanup(seg.workspace)

    def candidates(days_later: float) -> list[str]:
        with monkeypatch.context() as patch:
            patch.setattr(archive_sessions, "moment", lambda seconds: moment(seconds + 86_400 * days_later))
            return [card.id for card in cleanup.candidates()]

    assert candidates(29) == [] and candidates(31) == ["old"]
    with monkeypatch.context() as patch:
        patch.setattr(archive_sessions, "moment", lambda seconds: moment(seconds + 86_400 * 31))
        assert [one.id for one in cleanup.run()] == ["old"]
    with monkeypatch.context() as patch:
        patch.setattr(archive_sessions, "now", lambda: moment(86_400 * 31))
        cleanup.restore("old")
    assert candidates(32) == [], "the next cleanup does not undo it"
    assert candidates(60) == [] and candidates(62) == ["old"]


def test_an_archive_is_private_and_a_gzip_of_the_json_export(seg: Segue) -> None:
    ended(seg)
    export = export_session(seg.workspace, "old")
    [archived] = Cleanup(seg.workspace).run(days=0)
    assert archived.path.stat().st_mode & 0o777 == 0o600
    assert archived.bytes == archived.path.stat().st_size
    assert gzip.decompress(archived.path.read_bytes()) == export
    assert archived.archived_at > "2026"


def test_pieces_that_another_session_names_stay_in_the_store(seg: Segue) -> None:
    ended(seg)
    other = seg.start("goes on", id="other")
    other.save_agent("coder", STATE)
    other.save_agent("coder", {"now": "something else"})
    other.save_agent("coder", STATE)
    old = seg.session("old").state.agents["coder"].pieces
    Cleanup(seg.workspace).run(days=0)
    seg.workspace.forget()
    assert other.load_agent("coder") == STATE
    assert len(seg.workspace.store.pieces(old)) == len(set(old))


def test_pieces_of_nobody_else_leave_the_store(seg: Segue) -> None:
    ended(seg)
    pieces = seg.session("old").state.agents["coder"].pieces
    Cleanup(seg.workspace).run(days=0)
    assert seg.workspace.store.pieces(pieces) == {}


def test_a_piece_that_somebody_names_while_it_is_dropped_stays(
    seg: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(seg)
    other = seg.start("goes on", id="other")
    drop = seg.workspace.store.drop

    def save_then_drop(*streams: Append, **rest: Any) -> None:
        other.save_agent("coder", STATE)
        drop(*streams, **rest)

    monkeypatch.setattr(seg.workspace.store, "drop", save_then_drop)
    Cleanup(seg.workspace).run(days=0)
    seg.workspace.forget()
    assert other.load_agent("coder") == STATE


@pytest.mark.parametrize("name", ["files.write.before_rename", "cleanup.after_archive", "cleanup.after_drop"])
def test_a_death_while_archiving_loses_nothing(seg: Segue, name: str) -> None:
    head = ended(seg)
    die_at(name)
    with pytest.raises(Died):
        Cleanup(seg.workspace).run(days=0)
    _failpoints.install(None)
    seg.workspace.forget()
    in_store = seg.workspace.store.head(stream_of("old")) == head
    archived = [a for a in Cleanup(seg.workspace).list() if a.events == head.version]
    assert in_store == (name != "cleanup.after_drop")
    assert bool(archived) == (name != "files.write.before_rename")
    Cleanup(seg.workspace).run(days=0)
    Cleanup(seg.workspace).restore("old")
    assert seg.workspace.store.head(stream_of("old")) == head
    assert seg.session("old").load_agent("coder") == STATE


def test_a_death_while_restoring_loses_nothing(seg: Segue) -> None:
    head = ended(seg)
    Cleanup(seg.workspace).run(days=0)
    die_at("cleanup.after_restore")
    with pytest.raises(Died):
        Cleanup(seg.workspace).restore("old")
    _failpoints.install(None)
    assert seg.workspace.store.head(stream_of("old")) == head
    assert len(Cleanup(seg.workspace).list()) == 1
    Cleanup(seg.workspace).restore("old")
    assert seg.workspace.store.head(stream_of("old")) == head
    assert Cleanup(seg.workspace).list() == []


def test_an_archive_that_was_damaged_on_its_way_to_the_disk_drops_nothing(
    seg: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ended(seg)

    def torn(path: Path, body: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body[: len(body) // 2])

    monkeypatch.setattr("segue.services.upkeep.archive_sessions.write_whole", torn)
    with pytest.raises(DamagedError):
        Cleanup(seg.workspace).run(days=0)
    assert seg.workspace.store.head(stream_of("old")) == head


def test_an_archive_with_other_content_is_not_overwritten_and_the_rest_goes_on(seg: Segue) -> None:
    ended(seg, "a")
    Cleanup(seg.workspace).run(days=0)
    path = seg.workspace.home.archived("a")
    before = path.read_bytes()
    old_events(seg, "a")
    ended(seg, "b")
    with pytest.raises(ConflictError, match="nothing was overwritten"):
        Cleanup(seg.workspace).run(days=0)
    assert path.read_bytes() == before
    assert [name for name, _ in seg.workspace.store.streams("session/")] == [stream_of("a")]
    assert seg.workspace.home.archived("b").is_file()


def test_an_older_archive_of_the_same_session_is_replaced(seg: Segue) -> None:
    ended(seg)
    Cleanup(seg.workspace).run(days=0)
    path = seg.workspace.home.archived("old")
    older = path.read_bytes()
    Cleanup(seg.workspace).restore("old")
    seg.session("old").describe(summary="more to say")
    path.write_bytes(older)
    head = seg.workspace.store.head(stream_of("old"))
    Cleanup(seg.workspace).run(days=0)
    assert unpack(gzip.decompress(path.read_bytes())).head == head.hash


def test_a_session_that_is_written_to_meanwhile_stays_in_the_store(seg: Segue) -> None:
    ended(seg)

    def write(name: str) -> None:
        if name == "cleanup.after_archive":
            _failpoints.install(None)
            seg.session("old").describe(summary="wait")

    _failpoints.install(write)
    assert Cleanup(seg.workspace).run(days=0) == []
    assert seg.session("old").state.summary == "wait"


def test_a_session_that_a_living_run_holds_is_left_alone(seg: Segue) -> None:
    ended(seg)
    with seg.session("old").hold(run="r-1"):
        assert Cleanup(seg.workspace).run(days=0) == []
    assert len(Cleanup(seg.workspace).run(days=0)) == 1


def test_a_session_that_is_being_archived_elsewhere_cannot_be_restored_yet(seg: Segue) -> None:
    ended(seg)
    Cleanup(seg.workspace).run(days=0)
    hold = seg.workspace.holds.take("old", holder="segue cleanup", run="another-process")
    with pytest.raises(SessionHeld):
        Cleanup(seg.workspace).restore("old")
    assert len(Cleanup(seg.workspace).list()) == 1
    hold.release()
    assert Cleanup(seg.workspace).restore("old").state.status == "completed"


def test_nothing_is_left_of_the_hold_under_which_a_session_was_archived(seg: Segue) -> None:
    ended(seg)
    Cleanup(seg.workspace).run(days=0)
    assert seg.workspace.store.streams("hold/") == []


def test_a_restore_over_another_session_of_that_id_is_refused_and_keeps_both(seg: Segue) -> None:
    ended(seg)
    Cleanup(seg.workspace).run(days=0)
    old_events(seg, "old")
    with pytest.raises(ConflictError):
        Cleanup(seg.workspace).restore("old")
    assert len(Cleanup(seg.workspace).list()) == 1
    assert seg.session("old").state.goal == "Old goal"


def test_a_damaged_archive_is_listed_as_damaged_and_not_restored(seg: Segue) -> None:
    ended(seg)
    [archived] = Cleanup(seg.workspace).run(days=0)
    body = bytearray(archived.path.read_bytes())
    body[len(body) // 2] ^= 1
    archived.path.write_bytes(body)
    assert Cleanup(seg.workspace).list()[0].damage
    with pytest.raises(DamagedError):
        Cleanup(seg.workspace).restore("old")
    assert archived.path.read_bytes() == body


def test_a_pause_file_stops_cleanup_and_restore(seg: Segue) -> None:
    ended(seg)
    Cleanup(seg.workspace).run(days=0)
    ended(seg, "b")
    (seg.workspace.home.path / "PAUSE").touch()
    with pytest.raises(Paused):
        Cleanup(seg.workspace).run(days=0)
    with pytest.raises(Paused):
        Cleanup(seg.workspace).restore("old")
    assert len(Cleanup(seg.workspace).list()) == 1


def test_restoring_what_is_not_archived_says_so(seg: Segue) -> None:
    with pytest.raises(UnknownSession):
        Cleanup(seg.workspace).restore("nobody")
    with pytest.raises(BadName):
        Cleanup(seg.workspace).restore("../../etc/passwd")
    assert seg.workspace.store.streams("hold/") == []


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.EACCES, AccessError),
        (errno.EROFS, AccessError),
        (errno.ENOSPC, StoreFull),
        (errno.EIO, StoreError),
    ],
)
def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_dropped(
    seg: Segue, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    head = ended(seg)

    def refuse(path: Path, body: bytes) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("segue.services.upkeep.archive_sessions.write_whole", refuse)
    with pytest.raises(error):
        Cleanup(seg.workspace).run(days=0)
    assert seg.workspace.store.head(stream_of("old")) == head
