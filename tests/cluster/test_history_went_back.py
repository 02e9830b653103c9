"""Without a synchronous standby a failover may lose commits: clients notice, and copies bring them back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.cluster.clients import Load, begin_sessions, by_library, tokens_of
from tests.support.cluster.histories import SAVED, Write, pauses
from tests.support.cluster.programs import needs_cluster, until
from tests.support.cluster.rig import Cluster

from segue import Segue
from segue.errors import HistoryWentBack

pytestmark = [needs_cluster, pytest.mark.timeout(200)]


@pytest.fixture(scope="module")
def loose() -> Iterator[Cluster]:
    """A cluster whose commits wait for nobody."""
    with Cluster(synchronous=False, servers=0) as made:
        yield made


def segue(home: Path, store: str, *words: str, more: Mapping[str, str] | None = None) -> Any:
    """What a command prints as JSON, as another process on the machine of a client."""
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "HOME": str(home),
        "SEGUE_HOME": str(home), "SEGUE_STORE": store, "SEGUE_EMBEDDER": "static", **(more or {}),
    }  # fmt: skip
    command = [sys.executable, "-m", "segue", "--json", *words]
    ran = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=120)
    return json.loads(ran.stdout)


def test_a_client_that_is_ahead_of_the_store_says_so_and_brings_back_what_it_has(
    loose: Cluster, tmp_path: Path
) -> None:
    url, home = loose.direct(), tmp_path / "client"
    home.mkdir()
    with (
        Segue(store=url, home=home, folder=home) as client,
        Segue(store=url, home=tmp_path / "other", folder=home) as other,
    ):
        session = client.start("work that must not be lost").id
        client.session(session).note("kept")
        other.session(session).note("of another machine")
        loose.until_whole()
        with loose.standbys_behind():
            told = [client.session(session).note(f"lost {n}").version for n in range(5)]
            before = loose.primary()
            before.kill()
        loose.other_primary(before)
        with pytest.raises(HistoryWentBack) as caught:
            client.session(session).note("and on")
        assert caught.value.seen == told[-1] and caught.value.actual < told[0]
        assert tokens_of(other.workspace.store, session)[-1] == "of another machine"

        looked = {one["name"]: one for one in segue(home, url, "doctor")}
        assert looked["history"]["status"] == "bad" and "segue recover" in looked["history"]["hint"]
        dry = segue(home, url, "recover", "--dry-run")
        assert not dry["changed"] and "5 events" in str(dry["rungs"])
        assert segue(home, url, "recover")["changed"]
        saved = client.session(session).note("and on")
        assert saved.version == told[-1] + 1
        wanted = ("kept", "of another machine", *(f"lost {n}" for n in range(5)), "and on")
        assert tokens_of(other.workspace.store, session)[-8:] == wanted
        looked = {one["name"]: one for one in segue(home, url, "doctor")}
        assert looked["history"]["status"] == "ok" and looked["store"]["status"] == "ok"
    before.start()


def test_what_many_clients_lost_with_a_primary_comes_back_from_their_machines_while_they_run(
    loose: Cluster, tmp_path: Path
) -> None:
    """Each client has a machine of its own, with copies; each is recovered by another process there."""
    url, count = loose.direct(namespace="many"), 6
    load = Load(tmp_path, begin_sessions(url, tmp_path / "first", 3))
    loose.until_whole()
    load.add(count, by_library(url), "client")
    try:
        until("everybody writes", lambda: len(pauses(load.writes(), 0.0)) == count)
        with loose.standbys_behind():
            time.sleep(1.5)
            before = loose.primary()
            before.kill()
        loose.other_primary(before)
        until("somebody notices", lambda: any("went back" in told for told in list(load.errors)))
        recovering = time.monotonic()
        changed = [segue(load.home(f"client{n}"), url, "recover")["changed"] for n in range(count)]
        assert any(changed)
        again = time.monotonic()
        until("everybody goes on", lambda: len(pauses(load.writes(), again)) == count)
    finally:
        load.finish()
    before.start()
    assert not [told for told in load.errors if " ended: " in told], dict(load.errors)
    with Segue(store=url, home=tmp_path / "first", folder=tmp_path) as one:
        stored = load.stored(one.workspace.store)
    saved = {(write.session, write.token) for write in load.writes() if write.outcome == SAVED}
    there = Counter((session, token) for session, tokens in stored.items() for token in tokens if token)
    print(
        f"{len(saved)} acknowledged, {sum(there.values())} there; recovered: {changed}; {dict(load.errors)}"
    )
    assert saved <= there.keys(), f"lost: {sorted(saved - there.keys())[:10]}"
    assert max(there.values()) == 1, there.most_common(3)
    _said_so_when_it_went_back([write for write in load.writes() if write.ended < recovering])


def _said_so_when_it_went_back(writes: Sequence[Write]) -> None:
    """No client was acknowledged a version that it had been acknowledged before, without being told that the
    history went back."""
    last: dict[tuple[str, str], int] = {}
    for write in writes:
        place = (write.client, write.session)
        if write.outcome != SAVED:
            last.pop(place, None)
        else:
            assert write.version > last.get(place, 0), f"{write} behind {last[place]}"
            last[place] = write.version
