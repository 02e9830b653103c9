"""Clients of every kind at work on a cluster, and whether they kept their promises and went on in time.

``SEGUE_CLIENTS`` is how many: a few by default, fifty for ``make soak-cluster``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from tests.support.cluster.clients import (
    Load,
    begin_sessions,
    by_command,
    by_holding,
    by_hook,
    by_library,
    by_rest,
)
from tests.support.cluster.histories import SAVED, Held, faults, pauses
from tests.support.cluster.machines import Machine
from tests.support.cluster.programs import until
from tests.support.cluster.rig import Cluster

from segue.stores.postgres import PostgresStore

CLIENTS = max(12, int(os.environ.get("SEGUE_CLIENTS", "20")))
IS_FULL = CLIENTS >= 50
QUIET_SECONDS = 4.0 if IS_FULL else 1.5
"""How long clients work before something happens, and after all is well again."""
WRITES_MIN = 100 if IS_FULL else 40
GOES_ON_SECONDS_MAX = 10.0
OVERLOADED_TIMES = 2.5
"""So much longer it may take while others keep the machine busy: five processes and more for each core."""
KINDS = frozenset({"direct", "pooled", "remote", "rest", "command", "hook", "direct-hook"})
_FEW = 6
"""Clients of the kinds of which there are one or two however many there are of the others."""


@contextmanager
def under_load(cluster: Cluster, namespace: str, folder: Path, seed: int = 0) -> Iterator[Load]:
    """Clients on a project of their own; at the end the whole history is checked."""
    direct, pooled = cluster.direct(namespace=namespace), cluster.pooled(namespace=namespace)
    front, key = f"{cluster.front}?project={namespace}&insecure=1", cluster.key
    own_key = project_key(cluster, namespace)
    sessions = begin_sessions(direct, folder, 8)
    load = Load(folder, sessions[:-1], seed=seed)
    many = CLIENTS - _FEW
    counts = [round(many * share) for share in (0.3, 0.25, 0.25)]
    try:
        load.add(counts[0], by_library(direct), "direct")
        load.add(counts[1], by_library(pooled), "pooled")
        load.add(counts[2], by_library(front, api_key=key), "remote")
        load.add(many - sum(counts), by_rest(cluster.front, own_key), "rest")
        load.add(1, by_command(front, key), "command", prompt=False)
        load.add(1, by_hook(front, key), "hook", prompt=False)
        load.add(1, by_hook(direct), "direct-hook", prompt=False)
        load.add(2, by_holding(direct, sessions[-1]), "holder", prompt=False)
        load.add(1, by_holding(pooled, sessions[-1]), "pooled-holder", prompt=False)
        until_all_write(load, KINDS)
        time.sleep(QUIET_SECONDS)
        yield load
        time.sleep(QUIET_SECONDS)
    finally:
        load.finish()
        saved = [one for one in load.writes() if one.outcome == SAVED]
        print(f"{len(saved)} of {len(load.writes())} writes acknowledged; errors:")
        for told, number in load.errors.most_common(12):
            print(f"  {number:5} {told}")
        hooks = [one.ended - one.began for one in saved if one.client.endswith("hook0")]
        print(f"{len(hooks)} hooks, the slowest of {max(hooks, default=0):.1f} s")
    check(load, direct)
    assert len(saved) > WRITES_MIN, "hardly anybody wrote"
    assert any(isinstance(one, Held) for one in load.operations), "nobody held"


WRITE_SECONDS_MAX = 150.0
"""A client that many are faster than loses many races for a version before it wins one."""


def until_all_write(load: Load, kinds: Set[str]) -> None:
    """Wait until clients of each of these kinds have had a write acknowledged."""

    def missing() -> Set[str]:
        saved = [one.client for one in load.writes() if one.outcome == SAVED]
        return kinds - {name.rstrip("0123456789") for name in saved}

    try:
        until("all kinds of clients write", lambda: not missing(), WRITE_SECONDS_MAX)
    except TimeoutError as fault:
        raise TimeoutError(f"{fault}; {sorted(missing())} did not: {load.errors.most_common(8)}") from None


def check(load: Load, url: str) -> None:
    """Fail if what the clients of a load saw cannot have been, given what is stored now."""
    ended = [told for told in load.errors if " ended: " in told]
    assert not ended, ended
    journal = PostgresStore(url)
    found = faults(load.operations, load.stored(journal))
    journal.close()
    assert not found, "\n".join(map(str, found[:20]))


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
    names = load.writers
    while time.monotonic() < since + seconds_max() + 2 and names - pauses(load.writes(), since).keys():
        time.sleep(0.1)
    limit = seconds_max()
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
