"""Threads of one process while the file of their store is closed or replaced under some of them: a write is
there afterwards, or it ended in an error of ours."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from segue.core.journal.event import Draft
from segue.errors import DamagedError, SegueError, StoreUnavailable
from segue.stores.base import Append
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import restore


def wish(stream: str, expect: int) -> Append:
    return Append(stream, expect, [Draft("note.added", b'{"text":"x"}', "2026-01-01T00:00:00Z", "user")])


class Place:
    """Writes down what is asked of the place of a store."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def before_opening(self) -> None:
        self.asked.append("before")

    def after_opening(self, db: apsw.Connection) -> None:
        self.asked.append("after")

    def file_replaced(self) -> None:
        self.asked.append("replaced")


class Store:
    """A store with two streams, which can be replaced by one that has them under other numbers."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.db"
        self.place = Place()
        self.it = SqliteStore(self.path, place=self.place)
        for stream in ("session/b", "session/a"):
            self.it.append(wish(stream, 0))

    def replace(self) -> None:
        other = self.path.with_name("other.db")
        with SqliteStoreClosing(self.path) as store:
            streams = [(name, store.read(name)) for name in ("session/a", "session/b")]
        restore(other, streams, {}, frozenset())
        for name in ("store.db-wal", "store.db-shm"):
            self.path.with_name(name).unlink(missing_ok=True)
        other.replace(self.path)

    def others_see(self) -> dict[str, int]:
        with SqliteStoreClosing(self.path) as store:
            return dict(store.streams())


class SqliteStoreClosing(SqliteStore):
    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    yield made
    made.it.close()


def in_thread(work: Callable[[], Any]) -> list[Any]:
    """What work gave, or the fault it ended in; the thread has ended."""
    ended: list[Any] = []
    thread = begun(work, ended)
    thread.join(30)
    assert not thread.is_alive()
    return ended


def begun(work: Callable[[], Any], ended: list[Any]) -> threading.Thread:
    def run() -> None:
        try:
            ended.append(work())
        except BaseException as fault:
            ended.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


class Pause:
    """Where a thread stops until it may go on."""

    def __init__(self) -> None:
        self.reached, self.over = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self.over.wait(30)

    def at_begin(self, store: SqliteStore) -> None:
        """Stop this thread's next transaction at its beginning."""

        def trace(cursor: object, sql: str, values: object) -> bool:
            if sql == "BEGIN IMMEDIATE":
                self()
            return True

        store.database.connection().exec_trace = trace


@contextmanager
def write_under_way(store: Store) -> Iterator[list[Any]]:
    """A thread that stands at the beginning of a transaction while the block runs; then, how it ended."""
    pause, ended = Pause(), list[Any]()

    def write() -> Any:
        pause.at_begin(store.it)
        return store.it.append(wish("session/b", 1))

    writing = begun(write, ended)
    assert pause.reached.wait(30)
    try:
        yield ended
    finally:
        pause.over.set()
        writing.join(30)
    assert not writing.is_alive()


def test_a_number_of_a_commit_that_failed_is_taken_by_nobody_else(store: Store) -> None:
    pause, database = Pause(), store.it.database
    turn = database.free_turn

    class Turn:
        def acquire(self, *args: Any, **named: Any) -> bool:
            return turn.acquire(*args, **named)

        def release(self) -> None:
            turn.release()
            if is_failing:
                pause()

    database.free_turn = Turn()  # type: ignore[assignment]
    is_failing = False

    def fail() -> None:
        nonlocal is_failing
        with store.it.together():
            store.it.append(wish("new", 0))
            is_failing = True
            raise KeyError

    ended: list[Any] = []
    failing = begun(fail, ended)
    assert pause.reached.wait(30)
    is_failing = False
    store.it.append(wish("new", 0))
    pause.over.set()
    failing.join(30)
    assert isinstance(ended[0], KeyError) and store.others_see()["new"] == 1


def test_a_thread_whose_first_connection_waits_while_the_file_is_replaced_leads_nobody_astray(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause, database = Pause(), store.it.database
    opening = database._beside_openers
    waits = [True]

    def slow() -> Any:
        if waits.pop() if waits else False:
            pause()
        return opening()

    monkeypatch.setattr(database, "_beside_openers", slow)
    ended: list[Any] = []
    waiting = begun(lambda: store.it.read("session/b"), ended)
    assert pause.reached.wait(30)
    store.replace()
    pause.over.set()
    waiting.join(30)
    assert [event.stream for event in ended[0]] == ["session/b"]
    store.it.append(wish("session/b", 1))
    assert store.others_see() == {"session/a": 1, "session/b": 2}


def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.it.close()
    database = store.it.database
    taken, once = database._taken, [store.replace]

    def slow(*args: Any) -> bool:
        if once:
            once.pop()()
        return taken(*args)

    monkeypatch.setattr(database, "_taken", slow)
    store.it.append(wish("session/b", 1))
    assert store.others_see() == {"session/a": 1, "session/b": 2}


def test_every_file_is_proven_by_whoever_opens_it_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause, database = Pause(), store.it.database
    taken, waits = database._taken, [True]

    def slow(*args: Any) -> bool:
        if waits.pop() if waits else False:
            pause()
        return taken(*args)

    monkeypatch.setattr(database, "_taken", slow)
    ended: list[Any] = []
    waiting = begun(store.it.streams, ended)
    assert pause.reached.wait(30)
    store.replace()
    store.place.asked.clear()
    pause.over.set()
    assert len(store.it.streams()) == 2
    waiting.join(30)
    assert len(ended[0]) == 2 and "after" in store.place.asked


def test_a_file_with_the_number_of_the_one_before_is_proven_too(tmp_path: Path) -> None:
    with SqliteStoreClosing(tmp_path / "backup.db") as backup:
        for stream in ("x", "y"):
            backup.append(wish(stream, 0))
    place, path = Place(), tmp_path / "store.db"
    store = SqliteStore(path, place=place)
    for stream in ("a", "b", "c"):
        in_thread(partial(store.append, wish(stream, 0)))
    gc.collect()
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "backup.db", path)  # mostly gets the inode that has become free
    place.asked.clear()
    in_thread(lambda: store.append(wish("c", 0)))
    assert place.asked == ["before", "after"]
    store.close()
    with SqliteStoreClosing(path) as again:
        assert dict(again.streams()) == {"c": 1, "x": 1, "y": 1}


def test_what_a_write_to_a_file_that_was_replaced_knew_counts_no_more(store: Store) -> None:
    with write_under_way(store) as ended:
        store.replace()
        assert len(store.it.streams()) == 2
    assert isinstance(ended[0], StoreUnavailable)
    assert [event.stream for event in store.it.read("session/b")] == ["session/b"]
    store.it.append(wish("session/b", 1))
    assert store.others_see() == {"session/a": 1, "session/b": 2}


def test_a_thread_that_waited_for_its_turn_while_the_file_was_replaced_writes_to_the_new_one(
    store: Store,
) -> None:
    opened, ended = threading.Event(), list[Any]()

    def work() -> Any:
        store.it.streams()
        opened.set()
        return store.it.append(wish("session/a", 1))

    turn = store.it.database.turn()
    waiting = begun(work, ended)
    assert opened.wait(30)
    time.sleep(0.1)
    store.replace()
    store.it.streams()
    turn.release()
    waiting.join(30)
    assert not waiting.is_alive() and ended[0][0].version == 2
    assert store.others_see() == {"session/a": 2, "session/b": 1}


def test_writes_that_share_a_commit_are_all_lost_if_the_file_is_replaced_between_them(store: Store) -> None:
    with pytest.raises(StoreUnavailable), store.it.together():
        store.it.append(wish("session/a", 1))
        store.replace()
        in_thread(store.it.streams)
        store.it.append(wish("session/b", 1))
    assert store.others_see() == {"session/a": 1, "session/b": 1}


def test_a_write_to_a_file_that_was_replaced_twice_since_is_not_acknowledged(store: Store) -> None:
    with write_under_way(store) as ended:
        for _ in range(2):
            store.replace()
            assert len(store.it.streams()) == 2
    assert isinstance(ended[0], StoreUnavailable)
    assert store.others_see() == {"session/a": 1, "session/b": 1}


def test_a_write_to_a_file_that_nobody_has_found_replaced_yet_is_not_acknowledged(store: Store) -> None:
    with write_under_way(store) as ended:
        store.replace()
    assert isinstance(ended[0], StoreUnavailable)
    store.it.append(wish("session/b", 1))
    assert store.others_see() == {"session/a": 1, "session/b": 2}


def test_whoever_finds_a_file_replaced_after_another_does_not_take_the_new_log_for_the_old_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = store.it.database
    gone, first = database._gone, [True]
    store.replace()
    stay, ended = Pause(), list[Any]()

    def append() -> None:
        store.it.append(wish("session/a", 1))
        stay()

    def slow(opening: Any) -> bool:
        found = gone(opening)
        if first and threading.current_thread() is threading.main_thread():
            first.clear()
            begun(append, ended)
            assert stay.reached.wait(30)
        return found

    monkeypatch.setattr(database, "_gone", slow)
    store.place.asked.clear()
    assert dict(store.it.streams()) == {"session/a": 2, "session/b": 1}
    stay.over.set()
    assert "replaced" not in store.place.asked


def test_closing_beside_a_thread_that_is_reading_harms_nobody(store: Store) -> None:
    pause = Pause()

    def wait(*_: object) -> int:
        pause()
        return 1

    def read() -> Any:
        def look(db: apsw.Connection) -> Any:
            db.create_scalar_function("wait", wait)
            return db.execute("SELECT wait()").fetchall()

        return store.it.database.reading(look)

    ended: list[Any] = []
    reading = begun(read, ended)
    assert pause.reached.wait(30)
    store.it.close()
    assert len(store.it.streams()) == 2
    pause.over.set()
    reading.join(30)
    assert ended == [[(1,)]] and len(store.it.streams()) == 2


def test_a_connection_that_was_closed_by_another_thread_is_an_error_of_ours(store: Store) -> None:
    def write(db: apsw.Cursor) -> None:
        db.execute("INSERT INTO meta VALUES ('q', 'q')")
        in_thread(store.it.close)
        db.execute("INSERT INTO meta VALUES ('r', 'r')")

    with pytest.raises(StoreUnavailable, match="another thread"):
        store.it.writing(write)
    store.it.append(wish("session/a", 1))
    assert store.others_see()["session/a"] == 2


def test_a_file_that_was_replaced_is_let_go_by_the_thread_that_wrote_to_it(store: Store) -> None:
    pause, stay = Pause(), Pause()

    def write() -> None:
        pause.at_begin(store.it)
        with pytest.raises(SegueError):
            store.it.append(wish("session/b", 1))
        stay()

    ended: list[Any] = []
    writing = begun(write, ended)
    assert pause.reached.wait(30)
    store.replace()
    store.it.streams()
    pause.over.set()
    assert stay.reached.wait(30)
    here = "/proc/self/fd"
    links = [os.readlink(f"{here}/{fd}") for fd in os.listdir(here) if os.path.lexists(f"{here}/{fd}")]
    left = [link for link in links if str(store.path) in link and "deleted" in link]
    stay.over.set()
    writing.join(30)
    assert ended == [None] and left == []


def test_an_erasure_overwrites_though_the_store_was_just_opened_anew(store: Store) -> None:
    writing, seen = store.it.writing, list[int]()

    def closed_before(work: Callable[[apsw.Cursor], Any]) -> Any:
        in_thread(store.it.close)
        done = writing(work)
        seen.append(store.it.database.connection().pragma("secure_delete"))
        return done

    store.it.writing = closed_before  # type: ignore[method-assign]
    store.it.erase([], {})
    assert seen == [1]


def test_a_child_that_is_forked_beside_a_search_of_memories_can_search(store: Store) -> None:
    memories, pause = store.it.memories, Pause()

    def hold() -> None:
        with memories._lock:
            pause()

    holding = begun(hold, [])
    assert pause.reached.wait(30)
    pid = os.fork()
    if not pid:
        signal.alarm(20)
        memories.everything()
        from segue.core.memories.model import MemoryReader

        memories.trail(MemoryReader())
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    pause.over.set()
    holding.join(30)
    assert status == 0


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_is_emptied_while_a_thread_opens_it_keeps_its_log(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_replaced: bool
) -> None:
    pause, database = Pause(), store.it.database
    opening = database._beside_openers

    def slow() -> Any:
        if threading.current_thread() is not threading.main_thread():
            pause()
        return opening()

    monkeypatch.setattr(database, "_beside_openers", slow)
    ended: list[Any] = []
    opens = begun(lambda: store.it.append(wish("session/new", 0)), ended)
    assert pause.reached.wait(30)
    log = store.path.with_name("store.db-wal").read_bytes()
    if is_replaced:
        other = store.path.with_name("empty")
        other.touch()
        other.replace(store.path)
    else:
        store.path.write_bytes(b"")
    pause.over.set()
    opens.join(30)
    assert isinstance(ended[0], DamagedError)
    assert log and store.path.with_name("store.db-wal").read_bytes() == log


def test_a_write_that_was_not_acknowledged_because_its_file_had_moved_is_in_doubt(store: Store) -> None:
    away = store.path.with_name("away.db")
    with write_under_way(store) as ended:
        store.path.rename(away)
    assert isinstance(ended[0], StoreUnavailable) and ended[0].doubt
    away.rename(store.path)
    assert dict(store.it.streams())["session/b"] == 2, "it may be there"


def test_closing_notes_that_a_log_is_left_beside_another_file(store: Store) -> None:
    shutil.copyfile(store.path, store.path.with_name("copy"))
    store.path.with_name("copy").replace(store.path)
    store.place.asked.clear()
    store.it.close()
    assert store.place.asked == ["replaced"]


def test_a_folder_that_became_a_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    store = Store(tmp_path / "folder")
    (tmp_path / "folder").rename(tmp_path / "moved")
    (tmp_path / "folder").write_text("")
    with pytest.raises(SegueError):
        store.it.streams()


def test_a_thread_of_a_forked_child_never_gets_a_connection_of_the_parent(store: Store) -> None:
    inherited, stat = store.it.database.connection(), os.stat
    pid = os.fork()
    if not pid:
        signal.alarm(20)
        others = [True]

        def slow(*args: Any, **named: Any) -> os.stat_result:
            found = stat(*args, **named)
            if others:
                others.pop()
                in_thread(store.it.streams)
            return found

        os.stat = slow
        os._exit(7 if store.it.database.connection() is inherited else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
