"""Every command works against a Postgres store, or says in a sentence why not; no password is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres, shared, url_for
from tests.surfaces.conftest import Cli, a_day_of_work

pytestmark = [needs_postgres, pytest.mark.xdist_group("postgres")]


@pytest.fixture
def team(project: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store on the shared server, in the environment."""
    where = url_for(project)
    monkeypatch.setenv("SEGUE_STORE", where)
    return where


def test_a_day_of_work_leaves_nothing_in_the_data_folder(team: str, started: Cli) -> None:
    a_day_of_work(started)
    home = Path(os.environ["SEGUE_HOME"])
    assert not list(home.rglob("segue.db*")) and not list(home.rglob("backups"))


def test_a_store_can_be_named_on_the_command_line(project: Path, cli: Cli) -> None:
    where = url_for(project)
    cli("--store", where, "start", "by flag", "--id", "flagged")
    assert cli("status", "--json", "--store", where).value["id"] == "flagged"
    assert cli("list", "--all", "--json").value == []


def test_what_a_file_could_do_is_refused_in_a_sentence(team: str, started: Cli) -> None:
    for words, said in (
        (("backup",), "so Segue does not back it up"),
        (("doctor", "--prove"), "not a file"),
    ):
        ran = started(*words, code=65)
        assert said in ran.err and "hint:" in ran.err


def test_what_one_machine_archives_another_lists_and_brings_back(
    team: str, started: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    id = started("status", "--json").value["id"]
    started("note", "to be kept")
    started("complete", "--force", "enough")
    assert [card["id"] for card in started("cleanup", "--days", "0", "--dry-run", "--json").value] == [id]
    [archived] = started("cleanup", "--days", "0", "--json").value
    assert (archived["id"], archived["path"]) == (id, f"archive/{id}")
    assert started("list", "--all", "--json").value == []
    assert f"segue cleanup --restore {id}" in started("show", id, code=64).err
    monkeypatch.setenv("SEGUE_HOME", str(tmp_path / "another machine"))
    assert [one["id"] for one in started("cleanup", "--list", "--json").value] == [id]
    assert started("cleanup", "--restore", id, "--json").value["status"] == "completed"
    assert "to be kept" in started("log", id).out
    assert started("cleanup", "--list", "--json").value == []


def test_recover_looks_and_mends_what_is_ours(team: str, started: Cli) -> None:
    rungs = {rung["name"]: rung["status"] for rung in started("recover", "--json").value["rungs"]}
    assert rungs["store"] == rungs["refold"] == "ok"


def test_a_damaged_row_is_named_by_doctor_and_recover(
    project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = shared().database("damage")
    monkeypatch.setenv("SEGUE_STORE", where)
    cli("start", "to be damaged", "--id", "broken")
    sql = "UPDATE segue.events SET body = '\\x00' WHERE stream = 'session/broken' AND version = 1"
    shared().query(sql, "damage")
    assert "session/broken version 1" in cli("doctor", code=70).out
    assert "restore the database from its backup" in cli("recover").out


def test_the_doctor_says_what_the_server_is_like(team: str, started: Cli) -> None:
    found = {one["name"]: one for one in started("doctor", "--json").value}
    assert "Postgres 18" in found["server"]["detail"] and "pgvector" in found["vectors"]["detail"]
    assert found["durability"]["status"] == found["store"]["status"] == "ok"


def test_without_pgvector_everything_works_and_the_doctor_says_so(
    project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_STORE", url_for(project, plain=True))
    cli("start", "without pgvector")
    cli("remember", "the staging database is slow on Mondays")
    assert "Mondays" in cli("recall", "slow staging database").out
    found = {one["name"]: one["detail"] for one in cli("doctor", "--json").value}
    assert found["vectors"] == "without pgvector: search is exact, in this process"


def test_a_text_is_scrubbed_from_every_table_and_from_the_files_of_the_server(
    project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = PostgresServer(tcp=True).start()
    try:
        monkeypatch.setenv("SEGUE_STORE", server.url())
        cli("start", "launch", "--id", "launch")
        cli("learn", "the code is wombat4711")
        cli("note", "typed wombat4711")
        cli("remember", "never say wombat4711 aloud", "--scope", "global")
        ran = cli("scrub", "wombat4711", "--yes", "--json").value
        assert ran["events"] == 2 and ran["memories"] == 2 and "write-ahead log" in ran["beyond"][0]
        assert "wombat4711" not in cli("log").out + cli("memories", "list").out
        server.query("CHECKPOINT")
        heaps = (server.folder / "data" / "base").rglob("*")
        assert not [path for path in heaps if path.is_file() and b"wombat4711" in path.read_bytes()]
        cli("remember", "never say kangaroo42 aloud", "--scope", "global")
        assert cli("scrub", "kangaroo42", "--yes", "--json").value["memories"] == 1  # they say the same now
        cli("doctor")
    finally:
        server.stop()


def test_a_server_that_is_down_is_said_with_a_hint_and_without_the_password(
    project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_STORE", "postgresql://ann:s3cr3tpw@127.0.0.1:1/team?namespace=web")
    ran = cli("done", "x", "--json", code=74)
    error = ran.value["error"]
    assert error["code"] == "store_unavailable" and error["retryable"] and error["hint"]
    said = ran.out + ran.err
    for words, code in ((("status",), 74), (("doctor",), 70), (("config",), 0), (("config", "store"), 0)):
        ran = cli(*words, code=code)
        said += ran.out + ran.err
    assert "s3cr3tpw" not in said and "postgresql://ann@127.0.0.1:1/team?namespace=web" in said
    log = Path(os.environ["SEGUE_HOME"]) / "segue.log"
    assert not log.exists() or "s3cr3tpw" not in log.read_text()


def test_migrate_moves_a_project_to_the_team_and_back(project: Path, started: Cli, tmp_path: Path) -> None:
    where = url_for(project)
    assert "would copy" in started("migrate", "--to", where, "--dry-run").out
    ran = started("migrate", "--to", where)
    assert "1 of 1 session verified" in ran.out and shared().password not in ran.out + ran.err
    assert started("status", "--store", where, "--json").value["id"] == "jwt"
    copy = f"sqlite://{tmp_path / 'copy.db'}"
    value = started("migrate", "--from", where, "--to", copy, "--json").value
    assert value["verified"] == 1 and value["events"] and "password" not in str(value)
    assert started("status", "--store", copy, "--json").value["id"] == "jwt"


def test_migrate_refuses_what_makes_no_sense(project: Path, started: Cli, tmp_path: Path) -> None:
    store = f"sqlite://{Path(os.environ['SEGUE_HOME']) / 'segue.db'}"
    assert "the same store" in started("migrate", "--to", store, code=64).err
    missing = f"sqlite://{tmp_path / 'none.db'}"
    assert "there is no store" in started("migrate", "--from", missing, "--to", store, code=64).err
    assert not (tmp_path / "none.db").exists()
    assert "unknown kind of store" in started("migrate", "--to", "mysql://u:pw@h/x", code=64).err
    (project / "PAUSE").touch()
    started("migrate", "--to", url_for(project), code=65)
