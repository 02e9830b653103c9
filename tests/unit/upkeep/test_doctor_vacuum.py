"""The doctor on a Postgres that does not clean up behind itself: dead rows, and what keeps them there."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres

from segue.services.upkeep.doctor import postgres as doctor
from segue.services.upkeep.doctor.finding import Diagnosis
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.upkeep import vacuum_state

pytestmark = [needs_postgres, pytest.mark.timeout(180), pytest.mark.xdist_group("doctor of postgres")]
SETTINGS = "autovacuum_naptime = 1h\nmax_prepared_transactions = 2\n"
MANY = 120_000


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(settings=SETTINGS) as server:
        yield server


@pytest.fixture
def store(server: PostgresServer) -> Iterator[PostgresStore]:
    store = PostgresStore(server.url(namespace="vacuum"))
    store.streams()
    yield store
    store.close()


def told(store: PostgresStore) -> Diagnosis:
    return doctor.vacuum(vacuum_state(store.database))


def waited_for(store: PostgresStore, status: str, words: str = "") -> Diagnosis:
    """What is told once it is this, or what is told instead: statistics and settings take a moment."""
    deadline = time.monotonic() + 30
    while (found := told(store)).status != status or words not in found.detail:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return found


def bloat(server: PostgresServer) -> None:
    """Rows that came and went, as many as a doctor minds."""
    server.query(
        "INSERT INTO segue.attempts (namespace, attempt)"
        f" SELECT 'vacuum', gen_random_uuid() FROM generate_series(1, {MANY})"
    )
    server.query("DELETE FROM segue.attempts")
    seen = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'attempts'"
    deadline = time.monotonic() + 30
    while int(str(server.query(seen)[0][0])) < MANY and time.monotonic() < deadline:
        time.sleep(0.1)


@pytest.fixture
def bloated(server: PostgresServer, store: PostgresStore) -> Iterator[None]:
    bloat(server)
    yield
    server.query("VACUUM FULL segue.attempts")
    waited_for(store, "ok")


def test_a_store_that_is_in_order_is_told_so_with_its_largest_table(store: PostgresStore) -> None:
    found = told(store)
    assert found.status == "ok" and "the largest is" in found.detail and "indexes" in found.detail


@pytest.mark.usefixtures("bloated")
def test_a_table_that_is_half_dead_is_named_with_what_to_do(store: PostgresStore) -> None:
    found = told(store)
    assert (found.name, found.status) == ("vacuum", "warn")
    assert f"attempts has {MANY:,} dead rows" in found.detail and "never vacuumed" in found.detail
    assert "VACUUM (ANALYZE) segue.attempts" in found.hint


def test_what_the_hint_says_mends_it(server: PostgresServer, store: PostgresStore) -> None:
    bloat(server)
    assert told(store).status == "warn"
    server.query("VACUUM (ANALYZE) segue.attempts")
    assert waited_for(store, "ok").status == "ok"
    server.query("REINDEX TABLE segue.attempts")


def test_autovacuum_that_is_off_is_named(server: PostgresServer, store: PostgresStore) -> None:
    server.query("ALTER SYSTEM SET autovacuum = off")
    try:
        server.query("SELECT pg_reload_conf()")
        assert "autovacuum is off" in waited_for(store, "warn").detail
    finally:
        server.query("ALTER SYSTEM RESET autovacuum")
        server.query("SELECT pg_reload_conf()")
    assert waited_for(store, "ok").status == "ok"


def test_autovacuum_that_is_off_for_one_table_is_named(server: PostgresServer, store: PostgresStore) -> None:
    server.query("ALTER TABLE segue.events SET (autovacuum_enabled = off)")
    found = told(store)
    assert found.status == "warn" and "autovacuum is off for events" in found.detail
    assert "segue.events" in found.hint
    server.query("ALTER TABLE segue.events RESET (autovacuum_enabled)")
    assert told(store).status == "ok"


@pytest.mark.usefixtures("bloated")
def test_a_transaction_that_stays_open_is_named_as_the_reason(
    server: PostgresServer, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "OPEN_SECONDS_MAX", 0.3)
    with psycopg.connect(server.url(), application_name="a forgotten shell") as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM segue.events")
        time.sleep(0.5)
        found = told(store)
    assert found.status == "warn" and "a forgotten shell" in found.detail
    assert "dead rows beside" in found.detail, "what it costs is told with it"


def test_a_prepared_transaction_that_nobody_ends_is_named(
    server: PostgresServer, store: PostgresStore
) -> None:
    with psycopg.connect(server.url(), autocommit=True) as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO segue.attempts VALUES ('x', gen_random_uuid())")
        other.execute("PREPARE TRANSACTION 'left behind'")
    found = told(store)
    server.query("ROLLBACK PREPARED 'left behind'")
    assert found.status == "warn" and "prepared transaction left behind" in found.detail


def test_an_index_that_has_grown_hollow_is_named(
    server: PostgresServer, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "INDEX_BYTES_MIN", 1 << 20)
    bloat(server)
    server.query("VACUUM (ANALYZE) segue.attempts")  # gives the rows' room back, not that of the index
    found = waited_for(store, "warn", "indexes of attempts")
    assert found.status == "warn" and "indexes of attempts" in found.detail
    server.query(found.hint.replace("`", ""))
    assert told(store).status == "ok"


def test_a_table_that_is_not_frozen_for_long_is_bad(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "TRANSACTIONS_MAX", -1)
    found = told(store)
    assert found.status == "bad" and "not been frozen" in found.detail and "VACUUM (FREEZE)" in found.hint
