"""A server of the version before and one of this version, on one database."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres
from tests.support.rest import begun, done
from tests.support.server import SegueServer

pytestmark = [needs_postgres, pytest.mark.timeout(120)]

BEFORE = "137b7850"
"""The last commit before the schema of today."""
TREE = Path(__file__).parents[2]


@pytest.fixture
def old(tmp_path: Path) -> Iterator[list[str]]:
    """What stands before a command so that the version before runs it."""
    packed = subprocess.run(["git", "archive", BEFORE, "src"], cwd=TREE, capture_output=True)
    if packed.returncode:
        pytest.skip(f"NOT TESTED: this checkout has no commit {BEFORE}")
    subprocess.run(["tar", "xf", "-"], cwd=tmp_path, input=packed.stdout, check=True)
    yield ["env", f"PYTHONPATH={tmp_path / 'src'}"]


def test_old_and_new_servers_write_to_one_database_while_one_after_the_other_is_replaced(
    old: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_EMBEDDER", "hash")  # which both versions have
    database = PostgresServer(tcp=True).start()
    before = SegueServer(
        tmp_path / "old", database.url(), options=["--rate", "0"], prefix=old, as_owner=False
    )
    after = SegueServer(tmp_path / "new", database.url(), options=["--rate", "0"])
    try:
        before.start()
        begun(before, "s")
        after.start()  # it upgrades the tables under the old one
        note, saved = {"commands": [{"command": "Note", "text": "noted"}]}, {}
        for server, other in ((before, after), (after, before)) * 3:
            saved = done(server.ask("POST", "/v1/sessions/s/commands", note))
            seen = done(other.ask("GET", "/v1/sessions/s"))
            assert seen["version"] == saved["version"]
        key = done(before.ask("POST", "/v1/keys", {"role": "writer", "project": "web"}), 201)["key"]
        assert after.ask("GET", "/metrics", token=key)[0] == 200
        before.stop()
        before.start()  # by mistake, after the upgrade: it may read
        assert done(before.ask("GET", "/v1/sessions/s"))["version"] == saved["version"]
        status, problem, _ = before.ask("POST", "/v1/sessions/s/commands", note)
        assert status == 503 and problem["code"] == "schema_too_new"
    finally:
        before.stop()
        after.stop()
        database.stop()
