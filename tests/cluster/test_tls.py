"""TLS to the database with certificates on both sides: whoever has none, or another's, is not let in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.cluster.test_restore import Archiving
from tests.support.certificates import signed, signing
from tests.support.cluster.programs import needs_cluster, own

from segue.errors import SegueError
from segue.stores.base import Append
from segue.stores.postgres import PostgresStore
from segue.testing.stores import drafts

pytestmark = [needs_cluster, pytest.mark.timeout(60)]


@pytest.fixture
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Archiving, Path]]:
    """A server that lets in whoever has a certificate of its role, and the folder of certificates."""
    folder = tmp_path_factory.mktemp("guarded")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    server = Archiving(folder)
    server.create()
    server.start()
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute("CREATE ROLE segue LOGIN")
        db.execute("GRANT CREATE ON DATABASE postgres TO segue")
    server.program.kill()
    keys = folder / "keys"
    keys.mkdir()
    keys.chmod(0o755)
    authority = signing(keys, "authority")
    signed(keys, "server", authority, "localhost")
    signed(keys, "segue", authority, "segue")
    signed(keys, "stranger", signing(keys, "other"), "segue")
    for path in keys.iterdir():
        path.chmod(0o600)
    own(keys / "server.key")
    for name in ("server.pem", "authority.pem"):
        (keys / name).chmod(0o644)
    data = folder / "data"
    with (data / "postgresql.conf").open("a") as file:
        file.write(
            f"ssl = on\nssl_cert_file = '{keys}/server.pem'\nssl_key_file = '{keys}/server.key'\n"
            f"ssl_ca_file = '{keys}/authority.pem'\n"
        )
    rules = "hostssl all segue 127.0.0.1/32 cert\nhost all postgres 127.0.0.1/32 trust\n"
    (data / "pg_hba.conf").write_text(rules)
    server.start()
    yield server, keys
    server.program.kill()


def address(server: Archiving, keys: Path, name: str, authority: str = "authority") -> str:
    return (
        f"postgresql://segue@localhost:{server.port}/postgres?sslmode=verify-full&hostaddr=127.0.0.1"
        f"&sslrootcert={keys}/{authority}.pem&sslcert={keys}/{name}.pem&sslkey={keys}/{name}.key"
    )


def test_a_client_with_a_certificate_of_its_role_writes_over_tls(guarded: tuple[Archiving, Path]) -> None:
    server, keys = guarded
    store = PostgresStore(address(server, keys, "segue"))
    store.append(Append("session/s", 0, drafts("a")))
    [(is_tls,)] = store.database.fetch("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    assert is_tls and len(store.read("session/s")) == 1
    store.close()


@pytest.mark.parametrize(("name", "authority"), [("stranger", "authority"), ("segue", "other")])
def test_a_certificate_of_another_authority_is_refused_on_either_side(
    guarded: tuple[Archiving, Path], name: str, authority: str
) -> None:
    server, keys = guarded
    store = PostgresStore(address(server, keys, name, authority), busy_timeout_ms=1_000)
    with pytest.raises(SegueError) as caught:
        store.streams()
    assert "PRIVATE KEY" not in str(caught.value)


def test_a_client_without_a_certificate_is_refused(guarded: tuple[Archiving, Path]) -> None:
    server, _ = guarded
    url = f"postgresql://segue@127.0.0.1:{server.port}/postgres?sslmode=require"
    with pytest.raises(SegueError):
        PostgresStore(url, busy_timeout_ms=1_000).streams()
