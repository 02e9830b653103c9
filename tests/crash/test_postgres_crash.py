"""Postgres is killed, the wire is cut, processes die: what was acknowledged is there, nothing is twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from tests.support.crash.cut_wire import Starting, Wire
from tests.support.crash.proof import WORK, Proof, child, finish, killed_while_three_write, open_segue
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres, shared, url_for

from segue.core.memories.model import MemoryAudit, MemoryFilter
from segue.errors import SchemaTooNew, StaleVersion, StoreUnavailable
from segue.stores.base import Append, Rewrite
from segue.stores.memory_changes import MemoryChange
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.schema import SCHEMA
from segue.testing import spawn
from segue.testing.memories import HERE, NOW, THEN, kept, memory
from segue.testing.stores import drafts, verify_chain

pytestmark = [needs_postgres, pytest.mark.xdist_group("postgres")]

DEATHS = [
    *(("postgres.append.before_commit", n, "plan") for n in (1, 2, 9)),
    *(("postgres.append.between", n, "plan") for n in (1, 2)),
    *(("postgres.append.after_commit", n, "plan") for n in (1, 2, 9)),
    ("postgres.snapshot.after_commit", 1, "snapshots"),
    ("postgres.erase.before_commit", 1, "erase"),
    ("postgres.erase.after_commit", 1, "erase"),
    ("postgres.drop.before_commit", 1, "drop"),
    ("postgres.runs.before_commit", 1, "syncing"),
    ("postgres.runs.after_commit", 1, "syncing"),
    ("postgres.facts.before_commit", 1, "syncing"),
    ("postgres.facts.after_commit", 1, "syncing"),
    ("search.postgres.before_commit", 2, "searching"),
    ("postgres.memories.before_commit", 2, "remembering"),
    ("postgres.memories.after_commit", 2, "remembering"),
]
MIGRATING = (
    "postgres.copy.before_commit", "postgres.copy.after_commit", "store.copy.before_commit",
    "store.copy.after_commit", "migrate.after_batch", "migrate.after_memories",
)  # fmt: skip
"""These are died at in tests/crash/test_migrate_crash.py."""
DIED_AT = {name for name, _, _ in DEATHS} | {*MIGRATING}


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A home whose store is on the shared server."""
    (tmp_path / "store").write_text(url_for(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("failpoint", "passing", "task"), DEATHS, ids=lambda v: str(v))
def test_a_process_that_dies_at_a_write_leaves_a_whole_store(
    failpoint: str, passing: int, task: str, team: Path
) -> None:
    process = spawn(failpoint, WORK, task, str(team), "child", count=passing)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, f"did not die: {err}"
    proof = Proof(team)
    proof()
    with open_segue(team) as seg:
        told = team / "child.told"
        if told.exists():
            learnt = {one.content for one in seg.memories.store.listing(HERE, MemoryFilter(), NOW)}
            assert set(told.read_text().splitlines()) <= learnt
        for card in seg.list(everywhere=True):
            session = seg.session(card.id)
            session.resume()
            session.note("gone on")
        seg.start("and a new one")
    proof()


def test_four_processes_finish_a_hundred_items_each_and_four_hundred_are_kept(team: Path) -> None:
    with open_segue(team) as seg:
        session = seg.start("many hands")
    children = [child("done", team, session.id, f"w{n}", 100, team / "go") for n in range(4)]
    (team / "go").touch()
    finish(*children, within_seconds=100)
    with open_segue(team) as seg:
        state = seg.session(session.id).state
    wanted = sorted(f"w{n}-{place}" for n in range(4) for place in range(100))
    assert sorted(state.items[place].text for place in state.done) == wanted
    assert state.version == 402
    Proof(team)()


def test_postgres_killed_while_three_write_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, kill_count: int
) -> None:
    server = PostgresServer(tcp=True).start()
    try:
        (tmp_path / "store").write_text(server.url(namespace="web"))

        def again() -> None:
            server.kill()
            server.start()

        assert killed_while_three_write(tmp_path, max(3, kill_count // 2), again) > 30
    finally:
        server.stop()


# -- the wire --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def remote() -> Iterator[PostgresServer]:
    server = PostgresServer(tcp=True).start()
    yield server
    server.stop()


@pytest.fixture
def wire(remote: PostgresServer) -> Iterator[Wire]:
    one = Wire(remote.port)
    yield one
    one.close()


def through(wire: Wire, remote: PostgresServer) -> tuple[PostgresStore, PostgresStore]:
    """A journal through the wire, and one that is not in danger, on the same namespace."""
    direct = remote.url(namespace=uuid4().hex, sslmode="disable")
    cut = direct.replace(f":{remote.port}/", f":{wire.port}/")
    return PostgresStore(cut), PostgresStore(direct)


CUTS = pytest.mark.parametrize("how", ["lose_answer", "lose_request", "delay_request"])


@CUTS
def test_an_append_whose_connection_is_cut_happens_once(how: str, wire: Wire, remote: PostgresServer) -> None:
    journal, safe = through(wire, remote)
    journal.append(Append("s", 0, drafts("a")))
    wire.cut(how)
    [event] = journal.append(Append("s", 1, drafts("b")))
    _settled(how, wire)
    assert wire.cuts == 1 and event.version == 2
    assert safe.read("s")[1:] == [event]
    journal.append(Append("s", 2, drafts("c")))
    verify_chain(safe.read("s"))


@CUTS
def test_a_commit_over_streams_and_memories_whose_connection_is_cut_happens_once(
    how: str, wire: Wire, remote: PostgresServer
) -> None:
    journal, safe = through(wire, remote)
    journal.memories.write(MemoryChange(adds=[kept(memory("m1", "first"))]))
    wire.cut(how, b"COMMIT")
    change = MemoryChange(adds=[kept(memory("m2", "second"))], recalls=[("m1", 1, NOW)])
    events = journal.append(Append("a", 0, drafts("1")), Append("b", 0, drafts("2", "3")), memories=change)
    _settled(how, wire)
    assert wire.cuts == 1 and safe.streams() == [("a", 1), ("b", 2)]
    assert [*safe.read("a"), *safe.read("b")] == events
    assert {one.id: one.recalled for one in safe.memories.listing(HERE, MemoryFilter(), NOW)} == {
        "m1": 1,
        "m2": 0,
    }


@CUTS
def test_a_count_and_a_trail_are_not_doubled_by_a_cut(how: str, wire: Wire, remote: PostgresServer) -> None:
    journal, safe = through(wire, remote)
    journal.memories.write(MemoryChange(adds=[kept(memory("m1"))]))
    wire.cut(how, b"COMMIT")
    change = MemoryChange(recalls=[("m1", 1, NOW)], trail=[MemoryAudit("m1", "vote", THEN, "user")])
    assert journal.memories.write(change) == []
    _settled(how, wire)
    [one] = safe.memories.get(["m1"], HERE)
    assert wire.cuts == 1 and one.recalled == 1 and len(safe.memories.trail(HERE)) == 1


@CUTS
def test_an_erasure_and_a_drop_are_acknowledged_once(how: str, wire: Wire, remote: PostgresServer) -> None:
    journal, safe = through(wire, remote)
    journal.append(Append("s", 0, drafts("secret", "b")))
    wire.cut(how, b"COMMIT")
    journal.erase([Rewrite("s", 1, b"{}")], {}, Append("s", 2, drafts("erased")))
    _settled(how, wire)
    assert [event.erased for event in safe.read("s")] == [True, False, False]
    wire.late.clear()
    wire.cut(how, b"COMMIT")
    journal.drop(Append("s", 3))
    _settled(how, wire)
    assert wire.cuts == 2 and safe.streams() == []


def test_somebody_who_was_faster_during_a_doubt_is_not_run_over(wire: Wire, remote: PostgresServer) -> None:
    journal, safe = through(wire, remote)
    journal.append(Append("s", 0, drafts("a")))
    wire.cut("lose_request")
    rival = threading.Timer(0.0, lambda: safe.append(Append("s", 1, drafts("theirs"))))
    safe.head("s")
    rival.start()
    rival.join()
    with pytest.raises(StaleVersion):
        journal.append(Append("s", 1, drafts("ours")))
    assert len(safe.read("s")) == 2


def _settled(how: str, wire: Wire) -> None:
    if how == "delay_request":
        assert wire.late.wait(10)


# -- opening ---------------------------------------------------------------------------------------

OPEN = """
import sys
from pathlib import Path
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.schema import SCHEMA
from segue.stores.base import Append
from segue.testing.stores import drafts
Path(sys.argv[3] + ".here").touch()
while not Path(sys.argv[2]).exists():
    pass
PostgresStore(sys.argv[1]).append(Append(sys.argv[3].rpartition("/")[2], 0, drafts("x")))
"""


def test_processes_that_migrate_an_empty_database_at_once_all_find_it_ready(tmp_path: Path) -> None:
    url = shared().database(f"fresh{uuid4().hex}")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, url, str(tmp_path / "go"), str(tmp_path / f"p{n}")],
            stderr=subprocess.PIPE, text=True,
        )
        for n in range(4)
    ]  # fmt: skip
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("*.here"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    (tmp_path / "go").touch()
    for process in children:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    journal = PostgresStore(url)
    assert journal.streams() == [(f"p{n}", 1) for n in range(4)]
    [(schema,)] = journal.database.fetch("SELECT value FROM segue.meta WHERE key = 'schema'")
    assert schema == str(SCHEMA)


def test_a_store_of_a_newer_schema_is_read_if_it_says_so_and_never_written(tmp_path: Path) -> None:
    url = shared().database(f"newer{uuid4().hex}")
    PostgresStore(url).append(Append("s", 0, drafts("a")))
    name = url.rpartition("/")[2]
    newest = "UPDATE segue.meta SET value = '99' WHERE key IN ('schema', 'writable_from')"
    shared().query(newest, name)
    newer = PostgresStore(url)
    assert len(newer.read("s")) == 1
    with pytest.raises(SchemaTooNew):
        newer.append(Append("s", 1, drafts("b")))
    shared().query("UPDATE segue.meta SET value = '99' WHERE key = 'readable_from'", name)
    with pytest.raises(SchemaTooNew):
        PostgresStore(url).read("s")


def test_a_database_that_gets_pgvector_later_uses_it_and_finds_what_was_there() -> None:
    server = shared()
    name = f"later{uuid4().hex}"
    url = server.database(name)
    server.query(f"CREATE ROLE {name} LOGIN PASSWORD 'other'")
    server.query(f"GRANT CREATE ON DATABASE {name} TO {name}")
    weak = server.url(name, user=name, password="other")
    plain = PostgresStore(weak).memories
    plain.write(MemoryChange(adds=[kept(memory("m1"))]))
    assert not plain._database.vector
    before = plain.near(HERE, "test", kept(memory("m1")).vector, MemoryFilter(), 5)
    later = PostgresStore(url)
    assert later.memories.near(HERE, "test", kept(memory("m1")).vector, MemoryFilter(), 5) == before
    assert later.database.vector
    late = kept(memory("m2", "written by one who does not know of it"))
    plain.write(MemoryChange(adds=[late, *(kept(memory(f"x{n}", f"zzz {n}")) for n in range(60))]))
    assert later.memories.near(HERE, "test", late.vector, MemoryFilter(), 1)[0][1] > 0.999


def test_a_forked_child_and_its_parent_both_write(tmp_path: Path) -> None:
    journal = PostgresStore(url_for(tmp_path))
    journal.append(Append("parent", 0, drafts("a")))
    pid = os.fork()
    if not pid:
        try:
            journal.append(Append("child", 0, drafts("b")))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    journal.append(Append("parent", 1, drafts("c")))
    assert journal.streams() == [("child", 1), ("parent", 2)]


def test_a_commit_in_doubt_is_settled_though_the_server_is_away_for_longer_than_it_may_be_busy(
    tmp_path: Path,
) -> None:
    server = PostgresServer(tcp=True).start()
    try:
        journal = PostgresStore(server.url(), busy_timeout_ms=2500)
        journal.append(Append("s", 0, drafts("a")))
        with suppress(psycopg.OperationalError), psycopg.connect(server.url()) as holder:
            holder.execute("LOCK TABLE segue.streams IN ACCESS EXCLUSIVE MODE")
            writer = threading.Thread(target=lambda: journal.append(Append("s", 1, drafts("b"))))
            writer.start()
            time.sleep(0.5)
            server.kill()
        time.sleep(2.5)
        server.start()
        writer.join(30)
        assert [event.version for event in journal.read("s")] == [1, 2]
        journal.close()
    finally:
        server.stop()


def test_a_newcomer_waits_for_a_server_that_is_starting(tmp_path: Path) -> None:
    """It answers, though it takes nobody in yet: for longer than a server that does not answer is given."""
    server = PostgresServer(tcp=True).start()
    try:
        with closing(PostgresStore(server.url())) as first:
            first.append(Append("s", 0, drafts("a")))
        server.kill()
        with Starting(server.port, seconds=4.5) as starting:
            began = time.monotonic()
            newcomer = PostgresStore(server.url(), busy_timeout_ms=30_000)
            with ThreadPoolExecutor() as pool:
                back = pool.submit(starting.wait)
                back.add_done_callback(lambda _: server.start() and None)
                assert newcomer.head("s").version == 1
            assert time.monotonic() - began > 4.0 and starting.asked > 1
            newcomer.close()
    finally:
        server.stop()


def test_a_pool_of_one_serves_many_threads(tmp_path: Path) -> None:
    journal = PostgresStore(url_for(tmp_path) + "&pool=1")
    threads = [
        threading.Thread(target=lambda n=n: journal.append(Append(f"s{n}", 0, drafts("a")))) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal.streams()) == 8


def test_a_server_that_is_gone_is_said_so_soon_and_found_again(tmp_path: Path) -> None:
    server = PostgresServer(tcp=True).start()
    try:
        journal = PostgresStore(server.url(), busy_timeout_ms=1500)
        journal.append(Append("s", 0, drafts("a")))
        server.kill()
        with pytest.raises(StoreUnavailable) as caught:
            journal.read("s")
        assert server.password not in str(caught.value) + caught.value.hint
        with pytest.raises(StoreUnavailable):
            PostgresStore(server.url(), busy_timeout_ms=500).streams()
        server.start()
        journal.append(Append("s", 1, drafts("b")))
        verify_chain(journal.read("s"))
    finally:
        server.stop()


def test_a_server_that_freezes_is_not_waited_for_for_ever_and_is_used_again() -> None:
    server = PostgresServer(tcp=True).start()
    try:
        journal = PostgresStore(server.url(), busy_timeout_ms=1_000)
        journal.append(Append("s", 0, drafts("a")))
        with server.frozen():
            began = time.monotonic()
            with pytest.raises(StoreUnavailable) as caught:
                journal.append(Append("s", 1, drafts("b")))
            assert 2.5 < time.monotonic() - began < 15
            assert caught.value.doubt, "it may have been written"
            with pytest.raises(StoreUnavailable):
                journal.read("s")
        assert journal.head("s").version in (1, 2)
        journal.close()
    finally:
        server.stop()
