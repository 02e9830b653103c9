"""Cleanup: a session that is over moves to the archive and back, and is never in neither."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.postgres_store import needs_postgres, url_for

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
from segue.services.sessions.local_copies import LocalCopies
from segue.services.sessions.repository import stream_of
from segue.services.upkeep import archive_places, archive_sessions
from segue.services.upkeep.archive_sessions import Cleanup
from segue.stores.base import Append, Head, Journal, RunRow
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


@pytest.fixture(
    params=[
        "volatile",
        "sqlite",
        pytest.param("postgres", marks=[needs_postgres, pytest.mark.xdist_group("postgres")]),
    ]
)
def any_seg(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Segue]:
    """Where archives are files, and where they are in the store."""
    store: Journal | str = VolatileStore() if request.param == "volatile" else url_for(tmp_path)
    if request.param == "sqlite":
        store = SqliteStore(tmp_path / "segue.db")
    with Segue(store, home=tmp_path / "home", folder=tmp_path) as segue:
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


def observed(seg: Segue, id: str, *, path: str = "/gone", last: float = 1_000.0) -> None:
    """A run of a session, with what was read of it."""
    row = RunRow(f"run-of-{id}", "codex", "n", "p", id, path, "/gone", last, b"facts", b"what was read")
    seg.workspace.store.runs.put([row])


def old_events(seg: Segue, id: str) -> None:
    """A session that was completed in 2020."""
    at = "2020-01-0{}T00:00:00.000000Z"
    bodies = [ev.Created(id, "Old goal", "o", "p", "coding"), ev.Started(), ev.Completed()]
    drafts = [ev.draft(body, at=at.format(day), actor="u") for day, body in enumerate(bodies, 1)]
    seg.workspace.store.append(Append(stream_of(id), 0, drafts))


def test_only_sessions_that_ended_long_enough_ago_are_candidates(any_seg: Segue) -> None:
    ended(any_seg, "fresh")
    any_seg.start("still open", id="open")
    old_events(any_seg, "old")
    assert [card.id for card in Cleanup(any_seg.workspace).candidates()] == ["old"]
    assert {card.id for card in Cleanup(any_seg.workspace).candidates(days=0)} == {"old", "fresh"}
    assert Cleanup(any_seg.workspace).candidates(days=10_000) == []
    with pytest.raises(UsageError):
        Cleanup(any_seg.workspace).candidates(days=-1)


def test_an_abandoned_session_is_a_candidate(any_seg: Segue) -> None:
    any_seg.start("given up", id="a").abandon("no use")
    assert [card.id for card in Cleanup(any_seg.workspace).candidates(days=0)] == ["a"]


def test_a_session_goes_to_the_archive_and_comes_back_with_the_same_head(any_seg: Segue) -> None:
    head = ended(any_seg)
    state = any_seg.session("old").state
    seen: list[tuple[int, int, str]] = []
    [archived] = Cleanup(any_seg.workspace).run(days=0, progress=lambda *step: seen.append(step))
    assert seen == [(0, 1, "old"), (1, 1, "")]
    assert (archived.id, archived.goal, archived.events) == ("old", "Goal of old", head.version)
    assert any_seg.workspace.store.streams("session/") == []
    with pytest.raises(UnknownSession) as caught:
        any_seg.session("old")
    assert "archived" in caught.value.hint
    assert Cleanup(any_seg.workspace).list() == [archived]
    session = Cleanup(any_seg.workspace).restore("old")
    assert any_seg.workspace.store.head(stream_of("old")) == head
    assert session.state == state
    assert session.load_agent("coder") == STATE
    assert Cleanup(any_seg.workspace).list() == []


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
        patch.setattr(archive_places, "now", lambda: moment(86_400 * 31))
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


def test_pieces_that_another_session_names_stay_in_the_store(any_seg: Segue) -> None:
    ended(any_seg)
    other = any_seg.start("goes on", id="other")
    other.save_agent("coder", STATE)
    other.save_agent("coder", {"now": "something else"})
    other.save_agent("coder", STATE)
    old = any_seg.session("old").state.agents["coder"].pieces
    Cleanup(any_seg.workspace).run(days=0)
    any_seg.workspace.forget()
    assert other.load_agent("coder") == STATE
    assert len(any_seg.workspace.store.pieces(old)) == len(set(old))


def test_pieces_of_nobody_else_leave_the_store(any_seg: Segue) -> None:
    ended(any_seg)
    pieces = any_seg.session("old").state.agents["coder"].pieces
    Cleanup(any_seg.workspace).run(days=0)
    assert any_seg.workspace.store.pieces(pieces) == {}


def test_a_piece_that_somebody_names_while_it_is_dropped_stays(
    any_seg: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(any_seg)
    other = any_seg.start("goes on", id="other")
    drop = any_seg.workspace.store.drop

    def save_then_drop(*streams: Append, **rest: Any) -> None:
        other.save_agent("coder", STATE)
        drop(*streams, **rest)

    monkeypatch.setattr(any_seg.workspace.store, "drop", save_then_drop)
    Cleanup(any_seg.workspace).run(days=0)
    any_seg.workspace.forget()
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


@pytest.mark.parametrize("name", ["cleanup.after_archive", "cleanup.after_drop"])
def test_whoever_dies_while_archiving_leaves_all_of_it_and_the_next_one_goes_on(
    any_seg: Segue, name: str
) -> None:
    head = ended(any_seg)
    observed(any_seg, "old")
    die_at(name)
    with pytest.raises(Died):
        Cleanup(any_seg.workspace).run(days=0)
    _failpoints.install(None)
    any_seg.workspace.forget()
    in_store = any_seg.workspace.store.head(stream_of("old")) == head
    assert in_store == (name == "cleanup.after_archive")
    assert [a.events for a in Cleanup(any_seg.workspace).list()] == [head.version]
    assert [row.key for row in any_seg.workspace.store.runs.rows()] == ["run-of-old"]
    Cleanup(any_seg.workspace).run(days=0)
    assert any_seg.workspace.store.runs.rows() == []
    Cleanup(any_seg.workspace).restore("old")
    assert any_seg.workspace.store.head(stream_of("old")) == head
    assert any_seg.session("old").load_agent("coder") == STATE
    assert [row.key for row in any_seg.workspace.store.runs.rows()] == ["run-of-old"]


def test_runs_go_with_their_session_and_come_back_with_it(any_seg: Segue) -> None:
    ended(any_seg)
    ended(any_seg, "other")
    observed(any_seg, "old")
    observed(any_seg, "other")
    runs = any_seg.workspace.store.runs
    before = runs.get("run-of-old")
    Cleanup(any_seg.workspace).run(days=0)
    assert runs.rows() == []
    Cleanup(any_seg.workspace).restore("old")
    assert [row.key for row in runs.rows()] == ["run-of-old"]
    assert runs.get("run-of-old") == before


def test_a_run_whose_transcript_is_still_here_stays_where_it_is(any_seg: Segue, tmp_path: Path) -> None:
    ended(any_seg)
    transcript = tmp_path / "transcript.jsonl"
    transcript.touch()
    observed(any_seg, "old", path=str(transcript))
    Cleanup(any_seg.workspace).run(days=0)
    assert [row.key for row in any_seg.workspace.store.runs.rows()] == ["run-of-old"]


def test_a_run_that_went_on_elsewhere_is_not_dropped_with_the_archived_one(any_seg: Segue) -> None:
    ended(any_seg)
    observed(any_seg, "old")
    Cleanup(any_seg.workspace).run(days=0)
    observed(any_seg, "old", last=2_000.0)
    Cleanup(any_seg.workspace).run(days=0)
    assert [row.last for row in any_seg.workspace.store.runs.rows()] == [2_000.0]


def test_the_id_of_an_archived_session_is_not_given_to_another_one(any_seg: Segue) -> None:
    ended(any_seg)
    numbered = any_seg.start("one more").id
    any_seg.session(numbered).complete("done")
    Cleanup(any_seg.workspace).run(days=0)
    with pytest.raises(ConflictError, match="archived"):
        any_seg.start("another goal", id="old")
    assert any_seg.start("one more").id != numbered


def test_a_text_is_scrubbed_from_archives_too(any_seg: Segue) -> None:
    s = any_seg.start("Goal with hunter2hunter2", id="old")
    s.note("the password is hunter2hunter2")
    s.complete("done")
    row = RunRow("k", "codex", "n", "p", "old", "/gone", "/gone", 1.0, reading=None)
    any_seg.workspace.store.runs.put([row])
    Cleanup(any_seg.workspace).run(days=0)
    scrubbed = any_seg.scrub("hunter2hunter2")
    assert scrubbed.files or scrubbed.events
    session = Cleanup(any_seg.workspace).restore("old")
    assert "hunter2" not in str(session.log()) + session.state.goal
    assert session.state.notes or session.state.version >= 3


def test_another_machine_does_not_take_what_was_archived_for_lost(tmp_path: Path) -> None:
    url = url_for(tmp_path)
    with Segue(url, home=tmp_path / "writer", folder=tmp_path) as writer:
        ended(writer)
        with Segue(url, home=tmp_path / "cleaner", folder=tmp_path) as cleaner:
            assert len(Cleanup(cleaner.workspace).run(days=0)) == 1
        copies = LocalCopies(writer.workspace.home.copies)
        assert copies.last(stream_of("old")) and copies.lost(writer.workspace.store) == []
        with pytest.raises(UnknownSession, match="old"):
            writer.session("old")
        Cleanup(writer.workspace).restore("old")
        assert writer.session("old").state.status == "completed"


def test_a_death_while_restoring_loses_nothing(any_seg: Segue) -> None:
    head = ended(any_seg)
    Cleanup(any_seg.workspace).run(days=0)
    die_at("cleanup.after_restore")
    with pytest.raises(Died):
        Cleanup(any_seg.workspace).restore("old")
    _failpoints.install(None)
    assert any_seg.workspace.store.head(stream_of("old")) == head
    assert len(Cleanup(any_seg.workspace).list()) == 1
    Cleanup(any_seg.workspace).restore("old")
    assert any_seg.workspace.store.head(stream_of("old")) == head
    assert Cleanup(any_seg.workspace).list() == []


def test_an_archive_that_was_damaged_on_its_way_to_the_disk_drops_nothing(
    seg: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ended(seg)

    def torn(path: Path, body: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body[: len(body) // 2])

    monkeypatch.setattr("segue.services.upkeep.archive_places.write_whole", torn)
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


def test_a_session_that_is_written_to_meanwhile_stays_in_the_store(any_seg: Segue) -> None:
    ended(any_seg)

    def write(name: str) -> None:
        if name == "cleanup.after_archive":
            _failpoints.install(None)
            any_seg.session("old").describe(summary="wait")

    _failpoints.install(write)
    assert Cleanup(any_seg.workspace).run(days=0) == []
    assert any_seg.session("old").state.summary == "wait"


def test_a_session_that_a_living_run_holds_is_left_alone(any_seg: Segue) -> None:
    ended(any_seg)
    with any_seg.session("old").hold(run="r-1"):
        assert Cleanup(any_seg.workspace).run(days=0) == []
    assert len(Cleanup(any_seg.workspace).run(days=0)) == 1


def test_a_session_that_is_being_archived_elsewhere_cannot_be_restored_yet(any_seg: Segue) -> None:
    ended(any_seg)
    Cleanup(any_seg.workspace).run(days=0)
    hold = any_seg.workspace.holds.take("old", holder="segue cleanup", run="another-process")
    with pytest.raises(SessionHeld):
        Cleanup(any_seg.workspace).restore("old")
    assert len(Cleanup(any_seg.workspace).list()) == 1
    hold.release()
    assert Cleanup(any_seg.workspace).restore("old").state.status == "completed"


def test_nothing_is_left_of_the_hold_under_which_a_session_was_archived(any_seg: Segue) -> None:
    ended(any_seg)
    Cleanup(any_seg.workspace).run(days=0)
    assert any_seg.workspace.store.streams("hold/") == []


def test_a_restore_over_another_session_of_that_id_is_refused_and_keeps_both(any_seg: Segue) -> None:
    ended(any_seg)
    Cleanup(any_seg.workspace).run(days=0)
    old_events(any_seg, "old")
    with pytest.raises(ConflictError):
        Cleanup(any_seg.workspace).restore("old")
    assert len(Cleanup(any_seg.workspace).list()) == 1
    assert any_seg.session("old").state.goal == "Old goal"


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


def test_a_pause_file_stops_cleanup_and_restore(any_seg: Segue) -> None:
    ended(any_seg)
    Cleanup(any_seg.workspace).run(days=0)
    ended(any_seg, "b")
    (any_seg.workspace.home.path / "PAUSE").touch()
    with pytest.raises(Paused):
        Cleanup(any_seg.workspace).run(days=0)
    with pytest.raises(Paused):
        Cleanup(any_seg.workspace).restore("old")
    assert len(Cleanup(any_seg.workspace).list()) == 1


def test_restoring_what_is_not_archived_says_so(any_seg: Segue) -> None:
    with pytest.raises(UnknownSession):
        Cleanup(any_seg.workspace).restore("nobody")
    with pytest.raises(BadName):
        Cleanup(any_seg.workspace).restore("../../etc/passwd")
    assert any_seg.workspace.store.streams("hold/") == []


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

    monkeypatch.setattr("segue.services.upkeep.archive_places.write_whole", refuse)
    with pytest.raises(error):
        Cleanup(seg.workspace).run(days=0)
    assert seg.workspace.store.head(stream_of("old")) == head
