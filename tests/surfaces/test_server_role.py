"""As whom a server runs on Postgres: as a role that writes, and as the owner only if it is told so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from tests.support.postgres_store import needs_postgres, shared
from tests.support.server import SegueServer
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.errors import AccessError
from segue.services.upkeep.postgres_schema import roles_sql
from segue.stores.postgres import PostgresStore

pytestmark = needs_postgres


class Database:
    """A database of its own, with the three roles; each test process has one server, so names are shared."""

    def __init__(self) -> None:
        self.name = f"d{uuid4().hex[:12]}"
        self.url = shared().database(self.name)
        with psycopg.connect(self.url, autocommit=True) as db:
            for statement in roles_sql(self.name):
                db.execute(statement.encode())
            for role in ("owner", "writer", "reader"):
                db.execute(f"ALTER ROLE segue_{role} PASSWORD '{shared().password}'".encode())

    def of(self, role: str) -> str:
        return shared().url(self.name, user=f"segue_{role}")

    def has_tables(self) -> bool:
        return shared().query("SELECT to_regclass('segue.events')", self.name) != [(None,)]


@pytest.fixture
def database() -> Database:
    return Database()


def served(home: Path, store: str, *words: str) -> subprocess.CompletedProcess[str]:
    """What `segue serve` says that ends by itself."""
    environment = {**os.environ, "SEGUE_HOME": str(home), "SEGUE_STORE": store}
    return subprocess.run(
        [sys.executable, "-m", "segue", "--json", "serve", "--port", "0", *words],
        env=environment, capture_output=True, text=True, timeout=30,
    )  # fmt: skip


@pytest.mark.parametrize("role", ["owner", ""])
def test_a_server_refuses_to_run_as_who_would_own_the_tables_and_makes_none(
    database: Database, tmp_path: Path, role: str
) -> None:
    done = served(tmp_path, database.of(role) if role else database.url)
    assert done.returncode == 65
    error = json.loads(done.stdout)["error"]
    assert "may change and drop the tables" in error["message"]
    assert "segue schema --roles" in error["hint"] and "--as-owner" in error["hint"]
    assert shared().password not in done.stdout + done.stderr
    assert not database.has_tables()


def test_a_server_that_is_told_so_runs_as_the_owner_and_says_it(database: Database, tmp_path: Path) -> None:
    with SegueServer(tmp_path / "there", database.url) as server:
        assert server.ask("POST", "/v1/sessions", {"goal": "one role for all"})[0] == 201
    assert "owns the tables" in server.log.read_text()


def test_a_server_runs_as_the_writer_once_the_owner_made_the_tables(
    database: Database, cli: Cli, tmp_path: Path
) -> None:
    done = served(tmp_path / "there", database.of("writer"))
    assert done.returncode == 77 and "schema --upgrade" in json.loads(done.stdout)["error"]["hint"]
    cli("--store", database.of("owner"), "schema", "--upgrade")
    with SegueServer(tmp_path / "there", database.of("writer"), as_owner=False) as server:
        assert server.ask("POST", "/v1/sessions", {"goal": "as the writer"})[0] == 201
    assert "owns the tables" not in server.log.read_text()


def test_commands_and_the_library_need_no_more_than_one_role(
    database: Database, cli: Cli, tmp_path: Path
) -> None:
    cli("--store", database.url, "start", "one person, one address", "--id", "mine")
    cli("--store", database.url, "key", "create", "--role", "writer")
    assert len(cli("--store", database.url, "key", "list", "--json").value) == 1
    with Segue(store=database.url, home=tmp_path / "home", folder=tmp_path) as segue:
        segue.session("mine").note("by the library")
    assert "by the library" in cli("--store", database.url, "log", "mine").out


def test_what_roles_may_do_and_how_long_is_set_for_the_roles_themselves(database: Database) -> None:
    PostgresStore(database.of("owner")).streams()
    shown = {}
    for role in ("owner", "writer", "reader"):
        with psycopg.connect(database.of(role), autocommit=True) as db:
            names = ("statement_timeout", "lock_timeout", "default_transaction_read_only")
            shown[role] = [(db.execute(f"SHOW {name}".encode()).fetchone() or ("",))[0] for name in names]
    assert shown == {
        "owner": ["0", "0", "off"], "writer": ["1min", "10s", "off"], "reader": ["1min", "0", "on"],
    }  # fmt: skip
    with pytest.raises(AccessError):
        PostgresStore(database.of("writer")).database.fetch("DROP TABLE segue.events")
