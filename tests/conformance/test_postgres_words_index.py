"""The index of words in Postgres: it is built beside those who write, and again if its builder died."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.conformance.test_search_index import found, put
from tests.support.postgres_store import needs_postgres, shared

from segue.core.search.query import parsed
from segue.services.upkeep.doctor import postgres as doctor
from segue.services.workspace.data_folder import DataFolder
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.schema import SCHEMA
from segue.stores.postgres.upkeep import facts

pytestmark = [needs_postgres, pytest.mark.xdist_group("postgres")]

INDEXES = """
    SELECT indexrelid::regclass::text, indisvalid FROM pg_index
    WHERE indrelid = 'segue.search_texts'::regclass AND NOT indisprimary
"""
BUILDERS = "SELECT pid FROM pg_stat_progress_create_index"
WHOLE = [("segue.search_texts_by_word", True)]


@pytest.fixture
def of_before() -> str:
    """A database of schema 6, with the index that it had, and with texts."""
    url = shared().database(f"words{uuid4().hex}")
    with closing(PostgresStore(url)) as store:
        put(store.search_index, "a", "the expired token", "a redis that was restarted")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DROP INDEX segue.search_texts_by_word")
        db.execute("CREATE INDEX search_texts_held_by_project ON segue.search_texts USING gin (words)")
        db.execute("UPDATE segue.meta SET value = '6' WHERE key = 'schema'")
    return url


def asked(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        done = db.execute(sql)
        return done.fetchall() if done.description else []


def until(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def upgrading(url: str) -> Iterator[Future[list[tuple[Any, ...]]]]:
    """An upgrade that waits for somebody who has written, and has not committed yet."""
    with psycopg.connect(url) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("UPDATE segue.search_texts SET failed = failed")
        with closing(PostgresStore(url)) as store:
            upgrade = pool.submit(lambda: store.database.fetch("SELECT 1"))
            until(lambda: asked(url, BUILDERS))
            yield upgrade
            writer.commit()
            upgrade.result(30)


def test_an_upgrade_lets_others_write_while_it_builds_the_index(of_before: str) -> None:
    with upgrading(of_before) as upgrade, closing(PostgresStore(of_before)) as store:
        put(store.search_index, "b", "another token")
        assert found(store.search_index, "token") == [("b", 1), ("a", 1)]
        assert not upgrade.done()
    assert asked(of_before, INDEXES) == WHOLE
    assert asked(of_before, "SELECT value FROM segue.meta WHERE key = 'schema'") == [(str(SCHEMA),)]
    with closing(PostgresStore(of_before)) as store:
        assert found(store.search_index, "token") == [("b", 1), ("a", 1)]


def test_an_index_whose_builder_died_is_built_anew(of_before: str) -> None:
    with closing(PostgresStore(of_before)) as store:
        store.search_index.size_in_texts()
    asked(of_before, "DROP INDEX segue.search_texts_by_word")
    with psycopg.connect(of_before) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("UPDATE segue.search_texts SET failed = failed")
        sql = "CREATE INDEX CONCURRENTLY search_texts_by_word ON segue.search_texts USING gin (words)"
        build = pool.submit(asked, of_before, sql)
        until(lambda: asked(of_before, BUILDERS))
        asked(of_before, f"SELECT pg_terminate_backend(pid) FROM ({BUILDERS}) builders")
        with pytest.raises(psycopg.OperationalError):
            build.result(30)
    assert asked(of_before, INDEXES) == [("segue.search_texts_by_word", False)]
    with closing(PostgresStore(of_before)) as store:
        assert found(store.search_index, "token") == [("a", 1)]
        store.database.index_words()
        assert found(store.search_index, "token") == [("a", 1)]
    assert asked(of_before, INDEXES) == WHOLE


def test_an_owner_who_cannot_build_it_now_works_without_and_builds_it_on_purpose(of_before: str) -> None:
    database = of_before.partition("?")[0].rpartition("/")[2]
    asked(of_before, f"ALTER DATABASE {database} SET statement_timeout = '300ms'")
    with closing(PostgresStore(of_before)) as store, ThreadPoolExecutor(1) as pool:
        with psycopg.connect(of_before) as writer:
            writer.execute("UPDATE segue.search_texts SET failed = failed")
            assert found(store.search_index, "token") == [("a", 1)]
            assert ("segue.search_texts_by_word", True) not in asked(of_before, INDEXES)
            build = pool.submit(store.database.index_words)
            time.sleep(1)
            assert not build.done()
        build.result(30)
    assert asked(of_before, INDEXES) == WHOLE


def test_an_index_of_before_that_was_left_is_dropped_by_the_next_upgrade(of_before: str) -> None:
    with closing(PostgresStore(of_before)) as store:
        store.search_index.size_in_texts()
        asked(of_before, "CREATE INDEX search_texts_held ON segue.search_texts USING gin (words)")
        store.database.index_words()
    assert asked(of_before, INDEXES) == WHOLE


def test_tables_of_before_are_searched_by_one_who_may_only_read_them(of_before: str) -> None:
    database = of_before.partition("?")[0].rpartition("/")[2]
    asked(of_before, "DROP FUNCTION segue.words_of")
    asked(of_before, f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    with closing(PostgresStore(of_before)) as store:
        assert found(store.search_index, '"expired token"') == [("a", 1)]
        assert store.search_index.how_many(parsed("token").terms[0], 9) == 1


def test_roles_may_use_the_function_where_functions_are_nobodys_by_default() -> None:
    url = shared().database(f"words{uuid4().hex}")
    asked(url, "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
    with closing(PostgresStore(url)) as store:
        store.search_index.size_in_texts()
    sql = "SELECT has_function_privilege('pg_monitor', 'segue.words_of(text, tsvector)', 'EXECUTE')"
    assert asked(url, sql) == [(True,)]


def test_the_doctor_tells_of_an_index_that_is_not_finished(of_before: str, tmp_path: Path) -> None:
    with closing(PostgresStore(of_before)) as store:
        assert facts(store.database).words_indexed
        asked(of_before, "DROP INDEX segue.search_texts_by_word")
        told = {one.name: one for one in doctor._server(DataFolder(tmp_path), store)}
    assert told["search"].status == "warn" and "schema --upgrade" in told["search"].hint
