"""Addresses without secrets, faults in our words, and a driver that is loaded only when it is needed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.postgres_store import needs_postgres, shared, url_for

from segue.errors import AccessError, BadSettings, StoreUnavailable
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.open_store import open_store, shown
from segue.stores.base import Append
from segue.stores.postgres import Address, PostgresStore
from segue.testing.stores import drafts

SECRET = "s3cr3t%2Fpw"
PLAIN = "s3cr3t/pw"


def test_an_address_is_taken_apart_and_shown_without_its_secrets() -> None:
    address = Address(f"postgresql://ann:{SECRET}@db1,db2:5433/team?namespace=web&pool=3&sslmode=require")
    assert (address.namespace, address.pool_max) == ("web", 3)
    assert address.libpq == f"postgresql://ann:{SECRET}@db1,db2:5433/team?sslmode=require"
    assert address.shown == "postgresql://ann@db1,db2:5433/team?sslmode=require&namespace=web"
    for text in (address.shown, repr(address), address.masked(f"bad {PLAIN} and {SECRET}")):
        assert "s3cr3t" not in text
    hidden = Address(f"postgres://db/team?password={SECRET}")
    assert "s3cr3t" not in hidden.shown + hidden.masked(PLAIN) and hidden.namespace == "default"


@pytest.mark.parametrize(
    "where",
    ["postgresql://db/x?namespace=", "postgresql://db/x?pool=0", "postgresql://db/x?pool=many", "mysql://db/x",
     f"postgresql://db/x?namespace={'n' * 200}", "postgresql://db/x?namespace=a%00b"],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused_without_repeating_it(where: str) -> None:
    with pytest.raises(BadSettings) as caught:
        Address(where)
    assert where not in str(caught.value)


def test_addresses_of_any_kind_are_shown_without_a_password() -> None:
    assert shown(f"postgresql://ann:{SECRET}@db/x") == "postgresql://ann@db/x"
    assert shown(f"https://ann:{SECRET}@host/x") == "https://ann:***@host/x"
    assert shown("sqlite:///tmp/x.db") == "sqlite:///tmp/x.db"
    assert shown(f"postgresql://ann:{SECRET}@db/x?pool=none") == "postgresql://"


def test_a_home_with_a_store_elsewhere_never_takes_a_local_file_for_it(tmp_path: Path) -> None:
    (tmp_path / "segue.db").write_bytes(b"another store")
    home = DataFolder(tmp_path).for_store(f"postgresql://ann:{SECRET}@db/x")
    assert home.shared_store == "postgresql://ann@db/x" and home.has_store()
    assert not home.database.exists() and home.backups != tmp_path / "backups"
    assert home.damage() == ""


def test_without_a_postgres_store_the_driver_is_not_loaded() -> None:
    code = (
        "import sys, segue, segue.api.segue, segue.stores.postgres, segue.stores.sqlite;"
        "sys.exit('psycopg' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_driver_is_said_with_what_to_install() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from segue.stores.postgres import PostgresStore\n"
        "from segue.errors import NotInstalled\n"
        "try:\n    PostgresStore('postgresql://db/x').streams()\n"
        "except NotInstalled as fault:\n    sys.exit('[postgres]' not in fault.hint)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@needs_postgres
class TestFaults:
    """What a real server says, in our words, and never with the password."""

    def fault(self, where: str) -> tuple[type[Exception], str]:
        with pytest.raises((AccessError, StoreUnavailable, BadSettings)) as caught:
            PostgresStore(where, busy_timeout_ms=500).streams()
        return caught.type, f"{caught.value} {caught.value.hint} {caught.value!r} {caught.value.__cause__}"

    def test_a_wrong_password_is_an_access_error(self) -> None:
        kind, text = self.fault(shared().url(password="wr0ng-one"))
        assert kind is AccessError and "wr0ng" not in text and ".pgpass" in text

    def test_a_database_that_is_not_there_is_named(self) -> None:
        kind, text = self.fault(shared().url("nothere"))
        assert kind is StoreUnavailable and "nothere" in text and "createdb" in text
        assert shared().password not in text

    def test_a_host_that_is_not_there_is_unavailable(self) -> None:
        kind, text = self.fault(f"postgresql://ann:{SECRET}@127.0.0.1:1/x")
        assert kind is StoreUnavailable and "s3cr3t" not in text

    def test_an_address_that_libpq_does_not_know_is_masked(self) -> None:
        kind, text = self.fault(f"postgresql://ann:{SECRET}@db/x?nonsense={SECRET}")
        assert kind is BadSettings and "s3cr3t" not in text

    def test_a_role_that_may_do_nothing_is_an_access_error(self) -> None:
        shared().query("CREATE ROLE visitor LOGIN PASSWORD 'v1s1t'")
        kind, text = self.fault(shared().url(shared().database("closed").rpartition("/")[2], user="visitor",
                                             password="v1s1t"))  # fmt: skip
        assert kind is AccessError and "v1s1t" not in text


@needs_postgres
def test_commits_are_durable_also_where_the_server_is_set_otherwise() -> None:
    server = shared()
    url = server.database("hasty")
    server.query("ALTER DATABASE hasty SET synchronous_commit = off")
    journal = PostgresStore(url)
    assert journal.database.fetch("SHOW synchronous_commit") == [("on",)]


@needs_postgres
def test_two_machines_share_sessions_and_not_what_is_current_or_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from segue import Segue
    from segue.services.workspace import open_store as stores

    (tmp_path / "segue.toml").write_text('type = "research"\n')
    where = url_for(tmp_path)
    with Segue(where, home=tmp_path / "one", folder=tmp_path) as seg:
        session = seg.start("shared work")
        seg.workspace.working_tree.trust(
            seg.workspace.pause_file, at="2026-01-01T00:00:00.000000Z", actor="user"
        )
        assert seg.workspace.working_tree.trusted() and seg.session().id == session.id
    monkeypatch.setattr(stores, "host_name", lambda: "another")
    with Segue(where, home=tmp_path / "two", folder=tmp_path) as seg:
        assert [card.id for card in seg.list(everywhere=True)] == [session.id]
        assert not seg.workspace.working_tree.tree().current and not seg.workspace.working_tree.trusted()


@needs_postgres
def test_a_store_opens_nothing_before_it_is_used(tmp_path: Path) -> None:
    where = "postgresql://nobody@127.0.0.1:1/x"
    journal = open_store(DataFolder(tmp_path).for_store(where), where)
    assert isinstance(journal, PostgresStore)
    with pytest.raises(StoreUnavailable):
        PostgresStore(where, busy_timeout_ms=200).append(Append("s", 0, drafts("a")))


@needs_postgres
def test_whoever_only_looks_is_refused_a_write_at_once(tmp_path: Path) -> None:
    PostgresStore(url_for(tmp_path)).append(Append("session/s", 0, drafts("a")))
    store = PostgresStore(url_for(tmp_path))
    store.database.only_reads = True
    assert len(store.read("session/s")) == 1
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="takes no writes"):
        store.append(Append("session/s", 1, drafts("b")))
    assert time.monotonic() - began < 1.0
