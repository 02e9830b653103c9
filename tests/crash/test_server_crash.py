"""The real server and what is behind it die, the network is cut, two servers share a database: what was
acknowledged is there, nothing is twice, and clients go on by themselves."""

from __future__ import annotations

import time
from pathlib import Path

from tests.support.crash.proof import Proof, writing
from tests.support.network import Network, network as network
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres
from tests.support.server import SegueServer

OPTIONS = ["--rate", "0", "--log", "none"]


def client(tmp_path: Path, server: SegueServer, name: str = "home", *, url: str = "") -> Path:
    """A home whose store is this server."""
    home = tmp_path / name
    home.mkdir()
    (home / "store").write_text(url or server.url)
    (home / "key").write_text(server.token)
    return home


def proven(*homes: Path) -> int:
    """How many commits were acknowledged; all are there, once."""
    acknowledged = 0
    for home in homes:
        proof = Proof(home)
        proof()
        acknowledged += len(proof.lines.acknowledged)
    return acknowledged


@needs_postgres
def test_a_database_that_is_killed_behind_two_servers_loses_nothing(tmp_path: Path, kill_count: int) -> None:
    database = PostgresServer(tcp=True).start()
    servers = [SegueServer(tmp_path / f"there{n}", database.url(), options=OPTIONS).start() for n in range(2)]
    homes = [client(tmp_path, one, f"home{n}") for n, one in enumerate(servers)]
    try:
        with writing(homes[0], homes[1], homes[1]) as more:
            for number in range(max(2, kill_count // 6)):
                more(1200)
                database.kill()
                database.start()
                if number % 2:
                    more(1200)
                    servers[0].kill()
                    servers[0].start()
            more(1200)
        assert proven(*homes) > 20
        for one in servers:
            one.until_ready()
    finally:
        for one in servers:
            one.stop()
        database.stop()


@needs_postgres
def test_servers_that_start_at_once_on_an_empty_database_share_it(tmp_path: Path) -> None:
    database = PostgresServer(tcp=True).start()
    servers = [SegueServer(tmp_path / f"there{n}", database.url(), options=OPTIONS) for n in range(2)]
    try:
        for one in servers:
            one.launch()
        for one in servers:
            one.listening()
        key = servers[0].key(role="writer", project="web")
        assert [one.ask("GET", "/metrics", token=key)[0] for one in servers] == [200, 200]
        id = key.split("_")[1]
        assert servers[1].ask("DELETE", f"/v1/keys/{id}")[0] == 200
        assert [one.ask("GET", "/metrics", token=key)[0] for one in servers] == [401, 401]
    finally:
        for one in servers:
            one.stop()
        database.stop()


# -- the network -----------------------------------------------------------------------------------


def test_a_network_that_is_cut_costs_time_and_nothing_else(
    network: Network, tmp_path: Path, kill_count: int
) -> None:
    there = tmp_path / "there"
    prefix = network.prefix
    server = SegueServer(there, options=[*OPTIONS, "--host", network.address], prefix=prefix)
    server.token = server.first_key()
    server.start()
    home = client(tmp_path, server, url=f"{server.url}?insecure=1")
    try:
        with writing(*[home] * 2) as more:
            for _ in range(max(2, kill_count // 10)):
                more(1000)
                network.cut()
                time.sleep(1.5)
                network.mend()
            more(1000)
        assert proven(home) > 10
    finally:
        server.stop()
