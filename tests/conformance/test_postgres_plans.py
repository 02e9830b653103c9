"""How Postgres carries out the statements of a store that has many projects: no large table is read whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.many_projects import SEED, copy_projects, settle, write_seed
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres

from segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.connection import _kind
from segue.testing.memories import HERE, NOW, kept, memory

pytestmark = [needs_postgres, pytest.mark.timeout(180)]

PROJECTS = 60
LARGE = 1_000
"""Of so many rows on, a table is large."""
EXPLAINED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


class Plans:
    """The plans of all statements that were sent, with what is read whole in them."""

    def __init__(self) -> None:
        self.whole: dict[str, str] = {}
        self.count = 0

    def look(self, sql: str, plan: Any) -> None:
        self.count += 1
        for node in _nodes(plan[0]["Plan"]):
            if node["Node Type"] == "Seq Scan" and node.get("Schema", "segue") == "segue":
                self.whole[" ".join(sql.split())[:300]] = node["Relation Name"]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PostgresServer, Path, list[str]]]:
    """A server with many projects, and the home of a client of one."""
    server, home = PostgresServer().start(), tmp_path_factory.mktemp("client")
    url = server.url(namespace=SEED)
    sessions = write_seed(url, home, sessions=30, notes=50, memories=200)
    store = PostgresStore(url)
    copy_projects(store, 1, PROJECTS)
    settle(store)
    store.close()
    yield server, home, sessions
    server.stop()


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Plans:
    """Every statement is explained before it is carried out."""
    found, kind = Plans(), _kind()
    carried_out = kind.execute

    def execute(self: Any, query: Any, params: Any = None, **named: Any) -> Any:
        text = query if isinstance(query, str) else ""
        if text.strip().upper().startswith(EXPLAINED) and "segue." in text:
            rows = carried_out(self, f"EXPLAIN (FORMAT JSON, VERBOSE) {text}", params).fetchone()[0]
            found.look(text, json.loads(rows) if isinstance(rows, str) else rows)
        return carried_out(self, query, params, **named)

    monkeypatch.setattr(kind, "execute", execute)
    return found


def test_no_statement_of_a_store_reads_a_large_table_whole(
    large: tuple[PostgresServer, Path, list[str]], plans: Plans
) -> None:
    server, home, sessions = large
    project = server.url(namespace="p7")
    big = {
        str(name)
        for name, count in server.query(
            "SELECT relname::text, reltuples::bigint FROM pg_class WHERE relnamespace = 'segue'::regnamespace"
            " AND relkind = 'r'"
        )
        if int(str(count)) > LARGE
    }
    assert {"events", "streams", "memories", "memory_words"} <= big
    with Segue(store=project, home=home / "other", folder=home) as segue:
        session = segue.session(sessions[3])
        session.note("one more")
        session.checkpoint(note="two", decide=[("a", "b")])
        assert session.state.version and len(session.log()) > 50
        assert len(segue.list(everywhere=True)) == 30
        with session.hold():
            session.note("held")
        store = segue.workspace.store
        memories = store.memories
        vector = kept(memory("x", "lesson about module 5")).vector
        assert memories.match(HERE, ["module"], MemoryFilter(), 10)
        memories.near(HERE, "test", vector, MemoryFilter(), 10)
        memories.listing(HERE, MemoryFilter(), NOW, 20)
        memories.get(["m1"], HERE)
        memories.trail(HERE, limit=10)
        memories.unembedded("test", 10, within=50)
        store.runs.rows(projects=["x"])
        store.runs.rows(session=sessions[0])
    assert plans.count > 25
    guilty = {sql: table for sql, table in plans.whole.items() if table in big}
    assert not guilty, json.dumps(guilty, indent=1)


def test_a_statement_that_reads_a_large_table_whole_is_noticed(
    large: tuple[PostgresServer, Path, list[str]], plans: Plans
) -> None:
    store = PostgresStore(large[0].url(namespace="p7"))
    store.database.reading(lambda db: db.execute("SELECT count(*) FROM segue.events WHERE body = ''"))
    store.close()
    assert "events" in plans.whole.values()
