"""Rounds of faults that nobody chose: `SEGUE_ROUNDS=20 make soak-cluster`, 60 seconds each."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cluster.conftest import ROUNDS
from tests.support.cluster.load import under_load
from tests.support.cluster.machines import Machine
from tests.support.cluster.programs import needs_cluster
from tests.support.cluster.rig import Cluster

pytestmark = [needs_cluster, pytest.mark.timeout(900)]

SECONDS = 60.0 if ROUNDS > 1 else 15.0
SEED = random.SystemRandom().randrange(10**6) if ROUNDS > 1 else 23


def kill_primary(cluster: Cluster, drawn: random.Random) -> None:
    """Whoever may take over does; if an earlier fault left nobody who has all, it must come back itself."""
    before = cluster.primary()
    before.kill()
    with suppress(TimeoutError):
        cluster.other_primary(before, 20)
    before.start()


def freeze_primary(cluster: Cluster, drawn: random.Random) -> None:
    before = cluster.primary()
    before.freeze()
    time.sleep(drawn.uniform(2, 16))
    before.thaw()


def some_standby(cluster: Cluster, drawn: random.Random) -> Machine:
    primary = cluster.primary()
    return drawn.choice([one for one in cluster.machines if one is not primary])


def kill_standby(cluster: Cluster, drawn: random.Random) -> None:
    standby = some_standby(cluster, drawn)
    standby.kill()
    time.sleep(drawn.uniform(0, 5))
    standby.start()


def kill_postgres_alone(cluster: Cluster, drawn: random.Random) -> None:
    cluster.primary().kill_postgres()


def stop_etcd(cluster: Cluster, drawn: random.Random) -> None:
    members = drawn.sample(cluster.etcd.members, 2)
    for member in members:
        member.kill()
    time.sleep(drawn.uniform(2, 12))
    for member in members:
        member.start()


def restart_pooler(cluster: Cluster, drawn: random.Random) -> None:
    cluster.pooler.restart()


def restart_balancer(cluster: Cluster, drawn: random.Random) -> None:
    cluster.balancer.program.kill()
    time.sleep(drawn.uniform(0, 2))
    cluster.balancer.program.start()


def kill_server(cluster: Cluster, drawn: random.Random) -> None:
    server = drawn.choice(cluster.servers)
    server.kill()
    time.sleep(drawn.uniform(0, 3))
    server.launch()  # its store may be away


def freeze_server(cluster: Cluster, drawn: random.Random) -> None:
    server = drawn.choice(cluster.servers)
    if server.runs:
        with cluster.stopped([server.pid]):
            time.sleep(drawn.uniform(1, 8))


def freeze_standby(cluster: Cluster, drawn: random.Random) -> None:
    standby = some_standby(cluster, drawn)
    standby.freeze()
    time.sleep(drawn.uniform(1, 12))
    standby.thaw()


def fill_disk(cluster: Cluster, drawn: random.Random) -> None:
    if cluster.small_disks:
        cluster.primary().fill_disk()
        time.sleep(drawn.uniform(1, 8))
        for machine in cluster.machines:
            machine.empty_disk()


def switch_over(cluster: Cluster, drawn: random.Random) -> None:
    """As its operator does it before maintenance; Patroni may refuse."""
    cluster.primary().hand_over()


FAULTS = [
    kill_primary, freeze_primary, kill_standby, freeze_standby, kill_postgres_alone, stop_etcd,
    restart_pooler, restart_balancer, kill_server, freeze_server, fill_disk, switch_over,
]  # fmt: skip


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_round_of_random_faults_keeps_every_promise(
    number: int, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    drawn = random.Random(f"{SEED} {number}")
    print(f"seed {SEED}, round {number}")
    with under_load(cluster, namespace, tmp_path, seed=number) as load:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            fault = drawn.choice(FAULTS)
            print(f"  {fault.__name__}")
            fault(cluster, drawn)
            time.sleep(drawn.uniform(0, 4))
        for server in cluster.servers:
            if not server.runs:
                server.launch()
        cluster.until_whole(180)
    assert load.writes(), "the histories of the clients were checked when the load ended"
