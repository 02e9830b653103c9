"""Without a synchronous standby a failover may lose commits: clients notice, and copies bring them back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.cluster.clients import tokens_of
from tests.support.cluster.programs import needs_cluster
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
        client.workspace.store.watch.forget([f"session/{session}"])  # type: ignore[union-attr]
        saved = client.session(session).note("and on")
        assert saved.version == told[-1] + 1
        wanted = ("kept", "of another machine", *(f"lost {n}" for n in range(5)), "and on")
        assert tokens_of(other.workspace.store, session)[-8:] == wanted
        looked = {one["name"]: one for one in segue(home, url, "doctor")}
        assert looked["history"]["status"] == "ok" and looked["store"]["status"] == "ok"
    before.start()
