"""How Postgres carries out the statements of a store that has many projects: no large table is read whole.

The statements are those that the store sends while its other tests run, all of them: each place in the code
that sends one must have been seen to do so.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.many_projects import SEED, copy_projects, settle, write_seed
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres
from tests.support.recorded_statements import PACKAGE, RECORD, Recorded, Statement, read

from segue import Segue
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.connection import _kind

pytestmark = [needs_postgres, pytest.mark.timeout(600), pytest.mark.xdist_group("postgres plans")]

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/conformance/test_postgres.py", "tests/conformance/test_server_tables.py",
    "tests/conformance/test_search_index.py", "tests/conformance/test_postgres_upkeep.py",
    "tests/unit/stores/test_postgres.py", "tests/unit/stores/test_usage.py",
)  # fmt: skip
PROJECTS = 150
LARGE = 1_000
"""Of so many rows on, a table is large."""
SMALL = {"namespaces", "meta", "audiences", "attempts", "server_quotas", "server_usage"}
"""Tables with a row for each project, or with nothing of before yesterday."""
EXPLAINED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "(")
SENDERS = {"rows", "_rows", "changed", "many", "change", "fetch", "execute", "fetch_as_is"}
NOT_LOOKED_AT = {"stores/postgres/schema.py", "stores/postgres/connection.py", "stores/postgres/database.py"}
"""They make tables and connections, or send what others give them."""
OF_ONE_PROJECT, MARKS = "namespace", "w.words"
"""What a condition names that leaves other projects out; words of memories hold marks of their project."""


class Plan:
    """What is read whole, or of all projects at once, by a statement."""

    def __init__(self, plan: Any) -> None:
        self.nodes = list(_nodes(plan[0]["Plan"]))

    def faults(self, large: set[str]) -> list[str]:
        """What is wrong with it; empty if nothing."""
        found = []
        for node in self.nodes:
            table, kind = node.get("Relation Name", ""), node["Node Type"]
            if kind == "Seq Scan" and table in large:
                found.append(f"{table} is read whole")
            condition = node.get("Index Cond", "") + node.get("Recheck Cond", "")
            by_index = table in large and kind in ("Index Scan", "Index Only Scan", "Bitmap Heap Scan")
            if by_index and OF_ONE_PROJECT not in condition and MARKS not in condition:
                found.append(f"{table} is read for all projects: {condition}")
        return found


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _decoded(found: Any) -> Plan:
    return Plan(json.loads(found) if isinstance(found, str) else found)


class LargeStore:
    """A server with many projects, and a client of one."""

    def __init__(self, home: Path) -> None:
        self.server, self.home = PostgresServer().start(), home
        url = self.server.url(namespace=SEED)
        self.sessions = write_seed(url, home, sessions=20, notes=30, memories=100)
        store = PostgresStore(url)
        copy_projects(store, 1, PROJECTS)
        settle(store)
        store.close()
        counts = self.server.query(
            "SELECT relname::text, reltuples::bigint FROM pg_class WHERE relnamespace = 'segue'::regnamespace"
            " AND relkind = 'r'"
        )
        self.small = {str(name) for name, count in counts if int(str(count)) <= LARGE}
        self.large = {str(name) for name, count in counts} - self.small

    def plan(self, statement: Statement) -> Plan:
        """How the server would carry out a statement for values that it does not know."""
        import psycopg

        with psycopg.connect(self.server.url(), autocommit=True) as db:
            db.execute("SET plan_cache_mode = force_generic_plan")
            sql = "SELECT coalesce(nullif(%s::oid::regtype::text, '-'), 'unknown')"
            types = ", ".join(str(*(db.execute(sql, (one,)).fetchone() or ())) for one in statement.types)
            db.execute(f"PREPARE one {f'({types})' if types else ''} AS {statement.sql}".encode())
            nothing = ", ".join(["NULL"] * len(statement.types))
            call = f"one ({nothing})" if nothing else "one"
            found = db.execute(f"EXPLAIN (FORMAT JSON, VERBOSE) EXECUTE {call}".encode()).fetchone()
        return _decoded(found[0] if found else None)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LargeStore]:
    made = LargeStore(tmp_path_factory.mktemp("client"))
    yield made
    made.server.stop()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """What the store sends while its other tests run."""
    path = tmp_path_factory.mktemp("recorded") / "statements.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.recorded_statements"]
    some = ("-m", "not hypothesis", "-k", "not thousands")  # what they send, others send too
    done = subprocess.run(
        [*command, "-n0", "-p", "no:cacheprovider", *some, *TESTS], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, RECORD: str(path)}, timeout=540, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3_000:]
    return read(path)


def _places() -> Iterator[tuple[str, int, int]]:
    """Every place in the code of a Postgres store that sends a statement: file, first and last line."""
    files = [*(PACKAGE / "stores" / "postgres").glob("*.py"), *(PACKAGE / "stores").glob("sql_*.py")]
    for path in files:
        name = path.relative_to(PACKAGE).as_posix()
        if name in NOT_LOOKED_AT:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = node.func
                word = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if word in SENDERS and node.args:
                    yield name, node.lineno, node.end_lineno or node.lineno


def test_every_table_but_a_few_is_large_in_the_trial(large: LargeStore) -> None:
    assert large.small <= SMALL


def test_every_place_in_the_store_that_sends_a_statement_was_seen(recorded: Recorded) -> None:
    unseen = [
        f"{file}:{first}"
        for file, first, last in _places()
        if not any((file, line) in recorded.lines for line in range(first, last + 1))
    ]
    assert not unseen, unseen
    assert len(recorded.statements) > 100


def test_no_statement_of_the_store_reads_a_large_table_whole(large: LargeStore, recorded: Recorded) -> None:
    guilty, looked_at = {}, 0
    for text, statement in recorded.statements.items():
        if text.strip().upper().startswith(EXPLAINED) and "segue." in text:
            looked_at += 1
            if found := large.plan(statement).faults(large.large):
                guilty[" ".join(text.split())[:300]] = found
    assert looked_at > 80
    assert not guilty, json.dumps(guilty, indent=1)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> dict[str, Plan]:
    """Every statement is explained with its values before it is carried out."""
    found: dict[str, Plan] = {}
    kind = _kind()
    carried_out = kind.execute

    def execute(self: Any, query: Any, params: Any = None, **named: Any) -> Any:
        text = query if isinstance(query, str) else ""
        if text.strip().upper().startswith(EXPLAINED) and "segue." in text:
            told = carried_out(self, f"EXPLAIN (FORMAT JSON, VERBOSE) {text}", params).fetchone()[0]
            found[text] = _decoded(told)
        return carried_out(self, query, params, **named)

    monkeypatch.setattr(kind, "execute", execute)
    return found


def test_no_large_table_is_read_whole_while_somebody_works(large: LargeStore, plans: dict[str, Plan]) -> None:
    home = large.home / "other"
    with Segue(store=large.server.url(namespace="p7"), home=home, folder=large.home) as segue:
        session = segue.session(large.sessions[2])
        session.note("one more")
        session.checkpoint(note="two", decide=[("a", "b")])
        assert session.state.version and len(session.log()) > 30
        assert len(segue.list(everywhere=True)) == 20
        with session.hold():
            session.note("held")
        segue.remember("a lesson of this test")
        assert segue.recall("a lesson of this test")
        assert segue.search("lesson").hits
    assert len(plans) > 25
    guilty = {text: faults for text, plan in plans.items() if (faults := plan.faults(large.large))}
    assert not guilty, json.dumps(guilty, indent=1)


BAD = {
    "SELECT count(*) FROM segue.events WHERE body = $1": "events is read whole",
    "SELECT 1 FROM segue.search_texts WHERE lower(body) = $1": "search_texts is read whole",
    "DELETE FROM segue.memories WHERE namespace = $1 OR type = $2": "memories is read whole",
}


@pytest.mark.parametrize("sql", BAD)
def test_a_statement_that_reads_a_large_table_whole_is_noticed(large: LargeStore, sql: str) -> None:
    statement = Statement(sql, (0,) * sql.count("$"))
    assert BAD[sql] in large.plan(statement).faults(large.large)
