"""Machines of a cluster fail while clients write: nothing acknowledged is lost, nothing is there twice.

Clients come by the library on Postgres and through the pooler, by the library on a server, by REST, by
commands and by hooks, and some hold a session in turn. Every history is checked against what is stored at the
end.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from tests.support.cluster.clients import Load, begin_sessions, by_holding_over_rest, by_library, by_rest
from tests.support.cluster.histories import Held
from tests.support.cluster.load import (
    CLIENTS,
    IS_FULL,
    QUIET_SECONDS,
    check,
    late,
    late_after_failover,
    project_key,
    under_load,
    until_all_write,
)
from tests.support.cluster.machines import Machine
from tests.support.cluster.programs import needs_cluster, until
from tests.support.cluster.rig import OPTIONS, Cluster
from tests.support.network import Network
from tests.support.server import SegueServer

from segue.services.sessions.repository import stream_of
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.schema import MIGRATIONS, SCHEMA

pytestmark = [needs_cluster, pytest.mark.timeout(300)]

TABLES = re.compile(r"CREATE TABLE segue\.(\w+)")


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
        until("nobody takes writes", lambda: not any(map(cluster.takes_writes, cluster.machines)))
        since = time.monotonic()
        time.sleep(QUIET_SECONDS)
        told = [one for one in load.writes() if one.began > since and one.version]
        assert not told, "a primary that may not be one acknowledged these"
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
        until("it notices", lambda: server.ask("GET", "/ready")[0] == 503)
        began = time.monotonic()
        assert server.ask("GET", "/health")[0] == 200
        assert server.ask("GET", "/ready")[0] == 503
        assert time.monotonic() - began < 5.0
        time.sleep(15.0 if IS_FULL else 4.0)
        network.database.mend()
        assert late(load, time.monotonic() + 5.0) == {}
        load.finish()
        check(load, direct)
    finally:
        server.stop()


def test_a_primary_whose_disk_is_full_loses_nothing_and_goes_on_when_there_is_room(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    if not cluster.small_disks:
        pytest.skip("NOT TESTED: small disks need root, and mounts")
    with under_load(cluster, namespace, tmp_path) as load:
        primary = cluster.primary()
        primary.fill_disk()
        try:
            until("somebody is told", lambda: any("out of space" in told for told in list(load.errors)))
            time.sleep(2 * QUIET_SECONDS)
        finally:
            primary.empty_disk()
        cluster.primary()
        assert late(load, time.monotonic() + 5.0) == {}


def test_a_failover_in_the_middle_of_a_migration_leaves_it_to_the_next_one_while_clients_write(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Tables were made already, and all but one who migrates wait, when the primary is killed."""
    database = f"m{namespace}"
    cluster.query(f"CREATE DATABASE {database}")
    direct = cluster.direct(database)
    load = Load(tmp_path, begin_sessions(direct, tmp_path, 4))
    try:
        load.add(CLIENTS // 2, by_library(direct), "direct")
        load.add(CLIENTS // 2, by_library(cluster.pooled(database)), "pooled")
        until_all_write(load, {"direct", "pooled"})
        later = [f"segue.{name}" for script in MIGRATIONS[2:] for name in TABLES.findall(script)]
        cluster.query(f"DROP TABLE {', '.join(later)}", database)
        cluster.query("UPDATE segue.meta SET value = '2' WHERE key = 'schema'", database)
        before = fail_over_in_migration(cluster, database, load.sessions[0])
        assert late(load, time.monotonic()) == {}
        before.start()
    finally:
        load.finish()
    assert cluster.query("SELECT value FROM segue.meta WHERE key = 'schema'", database) == [(str(SCHEMA),)]
    check(load, direct)


def fail_over_in_migration(cluster: Cluster, database: str, session: str) -> Machine:
    """Let some stores migrate, and kill the primary while one of them does: in the end all are ready. Gives
    the machine that was killed."""
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'segue.meta'::regclass"
    stores = [PostgresStore(cluster.direct(database), busy_timeout_ms=30_000) for _ in range(4)]
    before = cluster.primary()
    with suppress(psycopg.OperationalError), psycopg.connect(cluster.direct(database)) as holder:
        holder.execute("LOCK TABLE segue.meta IN SHARE MODE")  # what a migration writes last
        with ThreadPoolExecutor(4) as pool:
            reads = [pool.submit(one.head, stream_of(session)) for one in stores]
            until("one of them is in the middle", lambda: bool(cluster.query(waiting, database)))
            before.kill()
            assert all(one.result(90).version for one in reads)
    for one in stores:
        one.close()
    return before


def test_servers_whose_clocks_are_an_hour_apart_agree_on_who_holds_a_session(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    [session] = begin_sessions(cluster.direct(namespace=namespace), tmp_path, 1)
    with server_at("+1h", cluster, tmp_path / "ahead") as ahead:
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


def test_clients_of_servers_whose_clocks_are_two_hours_apart_write_in_one_order_and_hold_in_turn(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    direct, key = cluster.direct(namespace=namespace), project_key(cluster, namespace)
    sessions = begin_sessions(direct, tmp_path, 3)
    load = Load(tmp_path, sessions[:-1])
    with (
        server_at("+1h", cluster, tmp_path / "ahead") as ahead,
        server_at("-1h", cluster, tmp_path / "behind") as behind,
    ):
        for name, server in (("ahead", ahead), ("behind", behind)):
            load.add(3, by_rest(server.url, key), f"rest-{name}")
            url = f"{server.url}?project={namespace}&insecure=1"
            load.add(2, by_library(url, api_key=cluster.key), f"remote-{name}")
            load.add(2, by_holding_over_rest(server.url, key, sessions[-1]), f"holder-{name}", prompt=False)
        load.add(2, by_library(direct), "direct")
        try:
            until_all_write(load, {"rest-ahead", "rest-behind", "remote-ahead", "remote-behind", "direct"})
            time.sleep(2 * QUIET_SECONDS)
        finally:
            load.finish()
    check(load, direct)
    holders = {one.client for one in load.operations if isinstance(one, Held)}
    assert {name[:9] for name in holders} == {"holder-ah", "holder-be"}, holders


@contextmanager
def server_at(clock: str, cluster: Cluster, folder: Path) -> Iterator[SegueServer]:
    """A server on a machine whose clock is so far off."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        pytest.skip("NOT TESTED: apt-get install libfaketime")
    prefix = ["env", f"LD_PRELOAD={library}", f"FAKETIME={clock}", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
    server = SegueServer(folder, cluster.pooled(), options=OPTIONS, prefix=prefix)
    server.start()
    server.token = cluster.key
    made_by_it = [f"{name}_{server.pid}" for name in ("faketime_shm", "sem.faketime_sem")]
    try:
        yield server
    finally:
        server.stop()
        for name in made_by_it:
            (Path("/dev/shm") / name).unlink(missing_ok=True)
