"""Writes that share a commit: each is decided by itself, all are durable at the end, or none is there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import apsw
import pytest
from starlette.testclient import TestClient

from segue.core.server.access import Access
from segue.errors import SegueError, StaleVersion, StoreBusy, StoreFull
from segue.services.server.aegis import progress
from segue.services.server.idempotency import IdempotentSqlite
from segue.services.server.projects import Projects
from segue.stores.base import Append
from segue.stores.sqlite import SqliteStore
from segue.surfaces.http.app import application
from segue.surfaces.http.server.commit_queue import TOGETHER_MAX, CommitQueue
from segue.surfaces.http.server.context import ServerContext, ServerOptions
from segue.testing import armed
from segue.testing.stores import drafts, verify_chain

T = TypeVar("T")


@pytest.fixture
def journal(tmp_path: Path) -> SqliteStore:
    made = SqliteStore(tmp_path / "segue.db")
    made.append(Append("a", 0, drafts("first")))
    return made


def beside(journal: SqliteStore) -> dict[str, int]:
    """The streams as another connection sees them."""
    return dict(SqliteStore(journal.database.path).streams())


def test_nothing_is_seen_by_others_before_the_end_and_then_all_is(journal: SqliteStore) -> None:
    with journal.together():
        journal.append(Append("a", 1, drafts("x", "y")))
        journal.append(Append("b", 0, drafts("z")))
        journal.append(Append("b", 1, drafts("z")), pieces={"ab" * 32: b"piece"})
        assert journal.head("b").version == 2 and beside(journal) == {"a": 1}
    assert beside(journal) == {"a": 3, "b": 2}
    verify_chain(journal.read("a"))
    verify_chain(journal.read("b"))


def test_what_is_stale_takes_nothing_from_the_others(journal: SqliteStore) -> None:
    other = SqliteStore(journal.database.path)
    other.append(Append("a", 1, drafts("theirs")))
    with journal.together():
        journal.append(Append("b", 0, drafts("mine")))
        with pytest.raises(StaleVersion):
            journal.append(Append("a", 1, drafts("late", "late")))
        with pytest.raises(StaleVersion):
            journal.append(Append("c", 0, drafts("new")), Append("a", 1, drafts("late")))
        journal.append(Append("b", 1, drafts("mine")))
        journal.append(Append("a", 2, drafts("in time")))
    assert beside(journal) == {"a": 3, "b": 2}


@pytest.mark.parametrize("again", [False, True])
def test_a_fault_of_the_disk_ends_it_for_all(journal: SqliteStore, again: bool) -> None:
    db = journal.database.connection()
    most = db.pragma("max_page_count", db.pragma("page_count") + 4)
    with pytest.raises(StoreFull), journal.together():
        journal.append(Append("b", 0, drafts("small")))
        journal.append(Append("a", 1, drafts("small")))
        with pytest.raises(StoreFull):
            journal.append(Append("a", 2, drafts("x" * 100_000)))
        if again:  # nobody's write may become a commit that has lost those before it
            with pytest.raises(StoreFull):
                journal.append(Append("c", 0, drafts("small")))
    assert beside(journal) == {"a": 1}
    db.pragma("max_page_count", most * 100)
    journal.append(Append("d", 0, drafts("later")))  # it has the place in the file that b was to have
    journal.append(Append("b", 0, drafts("b")))
    journal.append(Append("a", 1, drafts("a")))
    assert beside(journal) == {"a": 2, "b": 1, "d": 1}
    for stream in ("a", "b", "d"):
        verify_chain(journal.read(stream))


def test_a_store_that_others_hold_is_waited_for_once(tmp_path: Path) -> None:
    journal = SqliteStore(tmp_path / "segue.db", busy_timeout_ms=300)
    journal.append(Append("a", 0, drafts("first")))
    other = apsw.Connection(str(tmp_path / "segue.db"))
    other.execute("BEGIN IMMEDIATE")
    waits = []
    with pytest.raises(StoreBusy), journal.together():
        for _ in range(20):
            with pytest.raises(StoreBusy):
                begun = time.monotonic()
                journal.append(Append("a", 1, drafts("x")))
            waits.append(time.monotonic() - begun)
    assert len([one for one in waits if one > 0.1]) <= 1
    other.execute("ROLLBACK")
    journal.append(Append("a", 1, drafts("x")))


def test_an_append_dies_after_the_commit_that_it_shares_and_not_before(journal: SqliteStore) -> None:
    with pytest.raises(KeyboardInterrupt), armed("store.append.after_commit", KeyboardInterrupt(), count=2):
        with journal.together():
            journal.append(Append("a", 1, drafts("x")))
            journal.append(Append("a", 2, drafts("y")))
        raise AssertionError("it should have died")
    assert beside(journal) == {"a": 3}


# -- the queue -------------------------------------------------------------------------------------


class Counted(IdempotentSqlite):
    """A store that counts its shared commits."""

    shared = 0

    def together(self) -> Any:
        type(self).shared += 1
        return super().together()


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Projects:
    monkeypatch.setattr("segue.services.server.projects.IdempotentSqlite", Counted)
    Counted.shared = 0
    return Projects(tmp_path)


def test_requests_that_wait_together_share_a_commit_and_each_is_told_its_own(projects: Projects) -> None:
    segue = projects.workspace(Access("k", "writer", "default"))
    progress.create(segue, "s")

    def change(number: int) -> object:
        if number % 10 == 7:
            return progress.get(segue, "there-is-none")
        return progress.change(segue, "s", progress.ProgressUpdate([f"step {number}"]))

    async def ask() -> list[object]:
        queue = CommitQueue(projects, "default")
        calls = (queue.run(lambda number=number: change(number)) for number in range(200))  # type: ignore[misc]
        return await asyncio.gather(*calls, return_exceptions=True)

    told = asyncio.run(ask())
    assert [n for n, one in enumerate(told) if isinstance(one, SegueError)] == list(range(7, 200, 10))
    assert len(progress.get(segue, "s").completed_items) == 180
    assert 200 / TOGETHER_MAX - 1 <= Counted.shared <= 20


def test_if_a_shared_commit_fails_all_of_its_requests_are_told(projects: Projects) -> None:
    store = projects.store("default")
    assert isinstance(store, IdempotentSqlite)

    def write(number: int) -> int:
        if number == 3:
            store.database.connection().execute("ROLLBACK")  # as SQLite itself does when the disk is full
        store.append(Append(f"s{number}", 0, drafts("x")))
        return number

    async def ask() -> list[object]:
        queue = CommitQueue(projects, "default")
        calls = (queue.run(lambda number=number: write(number)) for number in range(6))  # type: ignore[misc]
        told = await asyncio.gather(*calls, return_exceptions=True)
        return [*told, await queue.run(lambda: write(9))]

    told = asyncio.run(ask())
    there = dict(store.streams())
    acknowledged = {f"s{one}" for one in told if isinstance(one, int)}
    assert acknowledged == set(there) and "s9" in acknowledged and len(told) == 7


class Noted(ServerContext):
    """A server that counts what may be committed with what others write."""

    shared = 0

    async def write(self, project: str, call: Callable[[], T]) -> T:
        type(self).shared += 1
        return await super().write(project, call)


@pytest.mark.parametrize(
    ("method", "path", "body", "shared"),
    [
        ("PATCH", "/memories/ace/session/s", {"completed_items": ["a"]}, 1),
        ("POST", "/v1/sessions/s/commands", {"commands": [{"command": "Note", "text": "n"}]}, 1),
        ("POST", "/v1/sessions/s/commands", {"commands": [{"command": "Learn", "text": "n"}]}, 0),
        ("POST", "/v1/sessions/s/events", {"events": [{"kind": "note.taken", "body": {"text": "n"}}]}, 1),
        ("POST", "/v1/sessions/s/events", {"events": [{"kind": "finding.learnt", "body": {"text": "n"}}]}, 0),
        ("GET", "/v1/sessions/s", None, 0),
    ],
)
def test_what_may_take_long_does_not_hold_up_a_shared_commit(
    method: str, path: str, body: Any, shared: int, tmp_path: Path
) -> None:
    projects = Projects(tmp_path)
    segue = projects.workspace(Access("none", "admin", "default"))
    version = progress.create(segue, "s") and segue.repository.state("s").version
    app = application(Noted(projects, ServerOptions(auth=False, logs=False)))
    Noted.shared = 0
    if body and "events" in body:
        body = {**body, "expect": version}
    with TestClient(app) as client:
        answer = client.request(method, path, json=body)
    assert answer.status_code == 200, answer.text
    assert Noted.shared == shared
