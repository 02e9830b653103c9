"""Machines of a cluster fail while clients write: nothing acknowledged is lost, nothing is there twice.

Clients come by the library on Postgres and through the pooler, by the library on a server, by REST and by
commands, and some hold a session in turn. Every history is checked against what is stored at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from tests.support.cluster.clients import Load, begin_sessions, by_command, by_holding, by_library, by_rest
from tests.support.cluster.histories import SAVED, faults, pauses
from tests.support.cluster.machines import Machine
from tests.support.cluster.programs import needs_cluster, until
from tests.support.cluster.rig import OPTIONS, Cluster
from tests.support.network import Network
from tests.support.server import SegueServer

from segue.stores.base import Append
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.schema import SCHEMA
from segue.testing.stores import drafts

pytestmark = [needs_cluster, pytest.mark.timeout(300)]

QUIET_SECONDS = 4.0
"""How long clients work before something happens, and after all is well again."""
GOES_ON_SECONDS_MAX = 10.0
OVERLOADED_TIMES = 2.5
"""So much longer it may take while others keep the machine busy: five processes and more for each core."""


@contextmanager
def under_load(cluster: Cluster, namespace: str, folder: Path, seed: int = 0) -> Iterator[Load]:
    """Fifty clients on a project of their own; at the end the whole history is checked."""
    direct, pooled = cluster.direct(namespace=namespace), cluster.pooled(namespace=namespace)
    front, key = f"{cluster.front}?project={namespace}&insecure=1", cluster.key
    own_key = project_key(cluster, namespace)
    sessions = begin_sessions(direct, folder, 8)
    load = Load(folder, sessions[:-1], seed=seed)
    try:
        load.add(14, by_library(direct), "direct")
        load.add(12, by_library(pooled), "pooled")
        load.add(12, by_library(front, api_key=key), "remote")
        load.add(8, by_rest(cluster.front, own_key), "rest")
        load.add(1, by_command(front, key), "command", prompt=False)
        load.add(2, by_holding(direct, sessions[-1]), "holder", prompt=False)
        load.add(1, by_holding(pooled, sessions[-1]), "pooled-holder", prompt=False)
        time.sleep(QUIET_SECONDS)
        yield load
        time.sleep(QUIET_SECONDS)
    finally:
        load.finish()
        saved = [one for one in load.writes() if one.outcome == SAVED]
        print(f"{len(saved)} of {len(load.writes())} writes acknowledged; errors:")
        for told, number in load.errors.most_common(12):
            print(f"  {number:5} {told}")
    journal = PostgresStore(direct)
    found = faults(load.operations, load.stored(journal))
    journal.close()
    assert not found, "\n".join(map(str, found[:20]))
    assert len(saved) > 100, "hardly anybody wrote"
    assert any(hasattr(one, "fence") for one in load.operations), "nobody held"


def project_key(cluster: Cluster, project: str) -> str:
    """A key of one project."""
    return cluster.servers[0].key(role="writer", project=project)


def seconds_max() -> float:
    """How long clients may take to go on, here and now."""
    is_overloaded = os.getloadavg()[0] > 5 * (os.cpu_count() or 1)
    return GOES_ON_SECONDS_MAX * (OVERLOADED_TIMES if is_overloaded else 1)


def late(load: Load, since: float) -> dict[str, float]:
    """The clients that have no write acknowledged soon after a moment, and how long each took; infinite if it
    did not go on."""
    limit = seconds_max()
    deadline = since + limit + 2
    names = load.writers
    while time.monotonic() < deadline and names - pauses(load.writes(), since).keys():
        time.sleep(0.1)
    took = pauses(load.writes(), since)
    kinds = {name.rstrip("0123456789"): 0.0 for name in took}
    for name, seconds in took.items():
        kinds[name.rstrip("0123456789")] = max(seconds, kinds[name.rstrip("0123456789")])
    print(
        f"went on (limit {limit:g} s) within",
        ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in kinds.items()),
    )
    waited = {name: took.get(name, float("inf")) for name in names}
    return {name: round(seconds, 1) for name, seconds in waited.items() if seconds > limit}


def late_after_failover(cluster: Cluster, load: Load, before: Machine) -> dict[str, float]:
    """Wait for another primary, and return the clients that do not soon go on with it."""
    began = time.monotonic()
    cluster.other_primary(before)
    now = time.monotonic()
    print(f"a new primary after {now - began:.1f} s")
    return late(load, now)


def test_a_primary_that_is_killed_costs_time_and_nothing_else(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    with under_load(cluster, namespace, tmp_path) as load:
        before = cluster.primary()
        before.kill()
        assert late_after_failover(cluster, load, before) == {}
        before.start()


def test_a_primary_that_freezes_and_comes_back_does_not_go_on_as_one(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    with under_load(cluster, namespace, tmp_path) as load:
        before = cluster.primary()
        before.freeze()
        try:
            assert late_after_failover(cluster, load, before) == {}
        finally:
            before.thaw()
        cluster.until_whole()


def test_a_standby_that_is_lost_stops_nobody_for_long(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    with under_load(cluster, namespace, tmp_path) as load:
        standby = next(one for one in cluster.machines if one is not cluster.primary())
        standby.kill()
        assert late(load, time.monotonic() + 5.0) == {}
        standby.start()


def test_without_a_majority_of_etcd_nobody_writes_and_afterwards_everybody_does(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    with under_load(cluster, namespace, tmp_path) as load:
        for member in cluster.etcd.members[:2]:
            member.kill()
        time.sleep(15.0)
        for member in cluster.etcd.members[:2]:
            member.start()
        cluster.primary()
        assert late(load, time.monotonic()) == {}


def test_a_pooler_that_is_restarted_loses_nothing(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    with under_load(cluster, namespace, tmp_path) as load:
        for _ in range(3):
            cluster.pooler.restart()
            time.sleep(1.0)
        assert late(load, time.monotonic()) == {}


def test_a_server_that_is_killed_loses_nothing(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    with under_load(cluster, namespace, tmp_path) as load:
        cluster.servers[0].kill()
        assert late(load, time.monotonic()) == {}
        cluster.servers[0].start()
        time.sleep(2.0)
        cluster.servers[1].kill()
        assert late(load, time.monotonic()) == {}
        cluster.servers[1].start()


def test_a_server_that_is_cut_off_from_the_database_says_so_and_goes_on_afterwards(
    cluster: Cluster, namespace: str, tmp_path: Path, network: Network
) -> None:
    direct = cluster.direct(namespace=namespace)
    away = cluster.direct(host=network.database.host)
    options = [*OPTIONS, "--host", network.address]
    server = SegueServer(tmp_path / "there", away, options=options, prefix=network.prefix)
    sessions = begin_sessions(direct, tmp_path, 3)
    server.start()
    try:
        load = Load(tmp_path, sessions)
        front = f"{server.url}?project={namespace}&insecure=1"
        load.add(10, by_library(front, api_key=cluster.key), "remote")
        load.add(4, by_library(direct), "direct")
        time.sleep(QUIET_SECONDS)
        network.database.cut()
        time.sleep(3.0)
        began = time.monotonic()
        assert server.ask("GET", "/health")[0] == 200
        assert server.ask("GET", "/ready")[0] == 503
        assert time.monotonic() - began < 5.0
        time.sleep(15.0)
        network.database.mend()
        assert late(load, time.monotonic() + 5.0) == {}
        load.finish()
        found = faults(load.operations, load.stored(PostgresStore(direct)))
        assert not found, "\n".join(map(str, found[:20]))
    finally:
        server.stop()


def test_a_primary_whose_disk_is_full_loses_nothing_and_goes_on_when_there_is_room(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    if not cluster.small_disks:
        pytest.skip("NOT TESTED: small disks need root, and mounts")
    with under_load(cluster, namespace, tmp_path) as load:
        primary = cluster.primary()
        ballast = primary.fill_disk()
        time.sleep(10.0)
        ballast.unlink()
        cluster.primary()
        assert late(load, time.monotonic() + 5.0) == {}
    assert any("StoreFull" in told or "out of space" in told for told in load.errors), dict(load.errors)


def test_a_failover_in_the_middle_of_a_migration_leaves_it_to_the_next_one(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Tables were made already, and all but one who migrates wait, when the primary is killed."""
    database = f"m{namespace}"
    cluster.query(f"CREATE DATABASE {database}")
    old = PostgresStore(cluster.direct(database))
    old.append(Append("session/s", 0, drafts("a")))
    old.close()
    script = (
        "DROP TABLE segue.search_texts, segue.search_sources, segue.project_facts;"
        "UPDATE segue.meta SET value = '2' WHERE key = 'schema'"
    )
    cluster.query(script, database)
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'segue.meta'::regclass"
    stores = [PostgresStore(cluster.direct(database), busy_timeout_ms=30_000) for _ in range(4)]
    before = cluster.primary()
    with suppress(psycopg.OperationalError), psycopg.connect(cluster.direct(database)) as holder:
        holder.execute("LOCK TABLE segue.meta IN SHARE MODE")  # what a migration writes last
        with ThreadPoolExecutor(4) as pool:
            reads = [pool.submit(one.read, "session/s") for one in stores]
            until("one of them is in the middle", lambda: bool(cluster.query(waiting, database)))
            before.kill()
            assert [len(one.result(90)) for one in reads] == [1] * 4
    before.start()
    assert cluster.query("SELECT value FROM segue.meta WHERE key = 'schema'", database) == [(str(SCHEMA),)]
    stores[0].append(Append("session/s", 1, drafts("b")))
    for one in stores:
        one.close()


def test_servers_whose_clocks_are_an_hour_apart_agree_on_who_holds_a_session(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        pytest.skip("NOT TESTED: apt-get install libfaketime")
    [session] = begin_sessions(cluster.direct(namespace=namespace), tmp_path, 1)
    prefix = ["env", f"LD_PRELOAD={library}", "FAKETIME=+1h", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
    ahead = SegueServer(tmp_path / "ahead", cluster.pooled(), options=OPTIONS, prefix=prefix)
    ahead.start()
    ahead.token = cluster.key
    try:
        path, project = f"/v1/sessions/{session}/hold", {"Segue_Project": namespace}
        ours = cluster.servers[0]
        status, first, _ = ours.ask("POST", path, {"run": "a", "lease_seconds": 600}, **project)
        assert status == 201
        status, _, headers = ahead.ask("POST", path, {"run": "b", "lease_seconds": 600}, **project)
        assert status == 409
        assert abs(float(headers["segue-time"]) - time.time()) < 10, "it says the time of the database"
        assert ours.ask("POST", f"{path}/release", {"run": "a", "fence": first["fence"]}, **project)[0] == 200
        status, second, _ = ahead.ask("POST", path, {"run": "b", "lease_seconds": 600}, **project)
        assert status == 201 and second["fence"] > first["fence"]
        assert ours.ask("POST", path, {"run": "a", "lease_seconds": 600}, **project)[0] == 409
    finally:
        ahead.stop()
