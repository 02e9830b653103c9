"""Behind PgBouncer in transaction mode, as roles with few rights, and with standbys for looking."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from tests.cluster.test_history_went_back import segue
from tests.support.cluster.programs import needs_cluster, until
from tests.support.cluster.rig import OPTIONS, Cluster
from tests.support.server import SegueServer

from segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.errors import AccessError, StoreError
from segue.services.upkeep.postgres_schema import roles_sql
from segue.stores.base import Append
from segue.stores.memory_changes import MemoryChange
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.upkeep import compact
from segue.testing.memories import HERE, NOW, kept, memory
from segue.testing.stores import drafts

pytestmark = [needs_cluster, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def roles(synchronous: Cluster) -> Iterator[str]:
    """A database with an owner, a writer and a reader; its name."""
    synchronous.query("CREATE DATABASE shared")
    for _ in range(2):  # it may be run again
        for statement in roles_sql("shared"):
            synchronous.query(statement, "shared")
    yield "shared"


def test_a_store_behind_the_pooler_prepares_nothing_and_sets_nothing_for_others(
    cluster: Cluster, namespace: str
) -> None:
    """Forty threads share a few sessions of the server; each statement comes often enough to be prepared."""
    store = PostgresStore(cluster.pooled(namespace=namespace, pool="40"))

    def work(number: int) -> None:
        for version in range(20):
            store.append(Append(f"session/s{number}", version, drafts(f"{number} {version}")))
            store.read(f"session/s{number}", after=version)
        store.memories.write(MemoryChange(adds=[kept(memory(f"m{number}", f"learnt {number}"))]))

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(work, range(40)))
    assert len(store.streams("session/")) == 40
    assert len(store.memories.listing(HERE, MemoryFilter(), NOW)) == 40
    store.close()
    with psycopg.connect(cluster.pooled(), autocommit=True, prepare_threshold=None) as other:
        found = {other.execute("SHOW lock_timeout").fetchone() for _ in range(20)}
        prepared = other.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
    assert found == {("0",)} and prepared == (0,)


def test_a_lock_behind_the_pooler_is_not_waited_for_for_ever(cluster: Cluster, namespace: str) -> None:
    store = PostgresStore(cluster.pooled(namespace=namespace), busy_timeout_ms=1_000)
    store.append(Append("session/s", 0, drafts("a")))
    with psycopg.connect(cluster.direct()) as holder:
        holder.execute("SELECT 1 FROM segue.streams WHERE namespace = %s FOR UPDATE", (namespace,))
        with pytest.raises(StoreError):
            store.append(Append("session/s", 1, drafts("b")))
    until("the lock is gone", lambda: store.head("session/s").version >= 1)
    store.close()


def test_a_writer_writes_and_cannot_change_tables_and_a_reader_only_reads(
    cluster: Cluster, roles: str, tmp_path: Path
) -> None:
    with pytest.raises(AccessError, match="this role may not change them"):
        PostgresStore(cluster.direct(roles, user="segue_writer")).streams()
    owner = segue(tmp_path, cluster.direct(roles, user="segue_owner"), "schema", "--upgrade")
    assert owner["schema"] == owner["newest"] and owner["may_change"]
    looked = segue(tmp_path, cluster.pooled(roles, user="segue_writer"), "schema")
    assert looked["role"] == "segue_writer" and not looked["may_change"]
    writer = PostgresStore(cluster.pooled(roles, user="segue_writer"))
    writer.append(Append("session/s", 0, drafts("a")))
    with pytest.raises(AccessError):
        writer.database.fetch("CREATE TABLE segue.mine (x int)")
    with pytest.raises(AccessError):
        compact(writer.database)
    any_host = cluster.direct(roles, user="segue_reader", target_session_attrs="any")
    reader = PostgresStore(any_host, busy_timeout_ms=1_000)
    assert len(reader.read("session/s")) == 1
    with pytest.raises(StoreError):
        reader.append(Append("session/s", 1, drafts("b")))
    for one in (writer, reader):
        one.close()


def test_a_server_runs_as_the_writer_and_says_nothing_is_amiss(
    cluster: Cluster, roles: str, tmp_path: Path
) -> None:
    url = cluster.pooled(roles, user="segue_writer")
    segue(tmp_path, cluster.direct(roles, user="segue_owner"), "schema", "--upgrade")
    with SegueServer(tmp_path / "server", url, options=OPTIONS) as server:
        made = server.ask("POST", "/v1/sessions", {"goal": "as a writer"})
        assert made[0] == 201
    found = {one["name"]: one for one in segue(tmp_path, url, "doctor")}
    assert "but not change tables" in found["role"]["detail"] and found["store"]["status"] == "ok"
    found = {one["name"]: one for one in segue(tmp_path, cluster.direct(roles), "doctor")}
    assert "segue schema --roles" in found["role"]["hint"]


def test_a_statement_that_takes_too_long_is_ended_and_nothing_is_written(
    cluster: Cluster, namespace: str
) -> None:
    url = cluster.direct(namespace=namespace, options="-c%20statement_timeout%3D500")
    store = PostgresStore(url)
    store.append(Append("session/s", 0, drafts("a")))
    with psycopg.connect(cluster.direct()) as holder:
        holder.execute("SELECT 1 FROM segue.streams WHERE namespace = %s FOR UPDATE", (namespace,))
        with pytest.raises(StoreError):
            store.append(Append("session/s", 1, drafts("b")))
    assert store.head("session/s").version == 1
    store.close()


def test_a_commit_that_stops_waiting_for_its_standby_is_not_acknowledged_before_one_has_it(
    cluster: Cluster, namespace: str
) -> None:
    """With a timeout Postgres reports success for a commit that no standby has; that is a doubt here."""
    url = cluster.direct(namespace=namespace, options="-c%20statement_timeout%3D1000")
    store = PostgresStore(url, busy_timeout_ms=20_000)
    store.append(Append("session/s", 0, drafts("a")))
    done = threading.Event()
    primary = cluster.primary()
    receivers = [pid for one in cluster.machines if one is not primary for pid in one.receivers()]

    def write() -> None:
        store.append(Append("session/s", 1, drafts("b")))
        done.set()

    writer = threading.Thread(target=write, daemon=True)
    with cluster.stopped(receivers):
        writer.start()
        assert not done.wait(4.0), "it was acknowledged, and no standby had it"
    assert done.wait(30.0)
    assert len(store.read("session/s")) == 2
    store.close()


def test_commands_that_only_look_ask_a_standby_and_see_what_this_machine_wrote(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    url, away = cluster.direct(namespace=namespace), cluster.standbys(namespace=namespace)
    with Segue(store=url, home=tmp_path, folder=tmp_path) as client:
        session = client.start("looked at from a standby")
        session.note("seen")
    look = {"SEGUE_READ_STORE": away}
    counts = "SELECT sum(xact_commit)::int FROM pg_stat_database WHERE datname = 'team'"
    there = f"SELECT version FROM segue.streams WHERE namespace = '{namespace}' AND version = 3"
    primary = cluster.primary()
    standbys = [one for one in cluster.machines if one is not primary]

    def counted() -> int:
        return sum(cluster.query(counts, machine=one)[0][0] for one in standbys)

    def is_quiet() -> bool:
        first = counted()
        time.sleep(1.0)
        return counted() == first

    until("it is there, too", lambda: all(cluster.query(there, "team", one) for one in standbys))
    until("all is counted", is_quiet)
    before = counted()
    assert [one["id"] for one in segue(tmp_path, url, "list", "--all", more=look)] == [session.id]
    until("a standby counts it", lambda: counted() > before, 20)
    roles = primary.roles()
    [behind] = [one for one in standbys if roles.get(one.name) != "sync_standby"]
    with cluster.stopped(behind.receivers()), Segue(store=url, home=tmp_path, folder=tmp_path) as client:
        client.session(session.id).note("and this at once")
        shown = segue(tmp_path, url, "log", "--session", session.id, more=look)
        assert "and this at once" in str(shown)
