"""export, import, backup, cleanup, rebuild, recover, scrub, doctor, config, trust."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.support.other_user import as_anybody, linux
from tests.surfaces.conftest import Cli

from segue import Segue

SECRET = "swordfish-4711"


@pytest.mark.parametrize("format", ["json", "yaml"])
def test_an_exported_session_can_be_imported_elsewhere(started: Cli, tmp_path: Path, format: str) -> None:
    file = tmp_path / f"session.{format}"
    value = started("export", "jwt", "-o", str(file), "--json").value
    assert (value["session"], value["format"], value["bytes"]) == ("jwt", format, file.stat().st_size)
    assert file.stat().st_mode & 0o077 == 0
    home = str(tmp_path / "home-2")
    imported = started("import", str(file), "--home", home, "--json").value
    assert (imported["session"], imported["status"]) == ("jwt", "active")
    assert "imported: copy" in started("import", str(file), "--home", home, "--as", "copy").out


def test_an_export_as_yaml_says_what_it_cannot_carry(started: Cli, tmp_path: Path) -> None:
    started("checkpoint", "--decide", "Three tiers", "--learn", "x", "--name", "before")
    ran = started("export", "-o", str(tmp_path / "jwt.yaml"))
    for what in ("the goal", "3 items", "1 decision", "1 finding", "1 checkpoint"):
        assert what in ran.err and what in (tmp_path / "jwt.yaml").read_text().splitlines()[0]
    assert "`--format json` keeps everything" in ran.err
    value = started("export", "-o", str(tmp_path / "jwt.yaml"), "--json").value
    assert value["left_out"] == ["the goal", "3 items", "1 decision", "1 finding", "1 checkpoint"]
    assert started("export", "-o", str(tmp_path / "jwt.json")).err == ""
    home = ("--home", str(tmp_path / "home-2"))
    started("import", str(tmp_path / "jwt.yaml"), *home)
    again = started("export", "jwt", "-o", str(tmp_path / "again.yaml"), *home)
    assert again.err == "", "what came in as YAML goes out as YAML"
    assert not (tmp_path / "again.yaml").read_text().startswith("#")


def test_export_goes_to_stdout_and_import_comes_from_stdin(started: Cli, tmp_path: Path) -> None:
    body = started("export").out
    assert json.loads(body)
    started("import", "-", "--home", str(tmp_path / "h"), stdin=body.encode())


def test_import_of_something_else_is_a_usage_error(started: Cli, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"not": "a session"}')
    assert started("import", str(file), code=64).err.startswith("segue: ")
    assert "missing.json" in started("import", str(tmp_path / "missing.json"), code=64).err
    assert len(started("list", "--json").value) == 1


def test_backups_are_made_and_listed(started: Cli) -> None:
    made = started("backup", "--json").value
    assert Path(made["path"]).is_file()
    assert made["path"] in [b["path"] for b in started("backup", "list", "--json").value]
    assert "backed up" in started("backup", "now").out
    assert "events" in started("backup", "list").out


def test_cleanup_archives_what_ended_and_brings_it_back(started: Cli) -> None:
    started("complete")
    assert "nothing to archive" in started("cleanup", "--dry-run").out
    assert "would archive jwt" in started("cleanup", "--dry-run", "--days", "0").out
    assert started("list", "--ids").out == "jwt\n"
    [archived] = started("cleanup", "--days", "0", "--json").value
    assert (archived["id"], archived["goal"]) == ("jwt", "Refactor authentication to JWT")
    assert "jwt" in started("cleanup", "--list").out
    assert "segue cleanup --restore jwt" in started("status", "jwt", code=64).err
    assert "restored: jwt" in started("cleanup", "--restore", "jwt").out
    assert started("status", "jwt", "--json").value["status"] == "completed"


def test_rebuild_proves_snapshots_and_exits_70_on_a_difference(started: Cli) -> None:
    assert "rebuilt 1 session" in started("rebuild").out
    assert started("rebuild", "--check", "--json").value["same"] == 1
    with Segue() as segue:
        kept = segue.workspace.store.snapshots(["session/jwt"])["session/jwt"]
        segue.workspace.store.keep(msgspec.structs.replace(kept, state=kept.state.replace(b"JWT", b"XYZ")))
    ran = started("rebuild", "--check", code=70)
    assert "different: jwt" in ran.out
    started("rebuild")
    started("rebuild", "--check")


def test_recover_of_a_healthy_store_changes_nothing(started: Cli) -> None:
    assert "nothing had to be changed" in started("recover").out
    assert started("recover", "--dry-run", "--json").value["changed"] is False


def test_recover_works_when_the_store_cannot_be_opened(started: Cli, home: Path) -> None:
    started("backup")
    (home / "segue" / "segue.db").write_bytes(b"this is no database" * 1000)
    ran = started("status", code=70)
    assert "segue recover" in ran.err
    assert started("doctor", code=70).out
    value = started("recover", "--json").value
    assert (value["changed"], value["sessions"]) == (True, 1)
    assert Path(value["kept"]).exists()
    assert started("status", "--json").value["active"] == ["auth middleware"]


def test_scrub_asks_and_without_a_yes_erases_nothing(started: Cli) -> None:
    started("note", f"the password is {SECRET}")
    ran = started("scrub", SECRET, code=64)
    assert "this was not confirmed" in ran.err
    assert "--yes" not in ran.err
    started("scrub", "-", "--json", code=64, stdin=SECRET.encode())
    assert "would erase it from 1 event" in started("scrub", SECRET, "--dry-run").out
    assert SECRET in started("log").out


def test_scrub_asks_about_memories_too(started: Cli) -> None:
    started("remember", "quite another sentence: timbuktu-11111")
    assert "would erase it from 1 memory" in started("scrub", "timbuktu-11111", "--dry-run").out
    assert "it is in 1 memory, and this was not confirmed" in started("scrub", "timbuktu-11111", code=64).err
    assert "timbuktu-11111" in started("memories", "list").out
    assert "erased it from 1 memory" in started("scrub", "timbuktu-11111", "--yes").out
    started("remember", "quite another sentence: samarkand-2222")
    assert "erased it from 1 memory" in started("scrub", "samarkand-2222", "--yes").out
    assert "this text was not found" in started("scrub", "samarkand-2222", "--yes").out


def test_scrub_reads_the_text_from_stdin_and_erases_it_everywhere(started: Cli, home: Path) -> None:
    started("note", f"the password is {SECRET}")
    started("backup")
    value = started("scrub", "-", "--yes", "--json", stdin=f"{SECRET}\n".encode()).value
    assert value["events"] >= 1
    assert value["sessions"] == ["jwt"]
    assert value["files"]
    assert set(value) == {
        "events",
        "pieces",
        "files",
        "sessions",
        "stays",
        "runs",
        "originals",
        "memories",
        "beyond",
    }
    for file in (home / "segue").rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
    assert "this text was not found" in started("scrub", SECRET).out


@pytest.mark.parametrize("where", ["project", "data", "both"])
def test_a_pause_file_anywhere_stops_keys_and_the_doctor_tells_of_it(
    started: Cli, project: Path, home: Path, where: str
) -> None:
    places = {"project": [project], "data": [home / "segue"], "both": [project, home / "segue"]}[where]
    for place in places:
        (place / "PAUSE").touch()
    assert "nothing is written until it is gone" in started("key", "create", code=65).err
    told = next(one for one in started("doctor", "--json").value if one["name"] == "PAUSE")
    assert told["status"] == "warn" and all(str(place / "PAUSE") in told["detail"] for place in places)
    for place in places:
        (place / "PAUSE").unlink()
    assert "this project" in started("doctor").out


@linux
def test_doctor_says_that_the_data_folder_cannot_be_written(started: Cli, home: Path) -> None:
    (home / "segue").chmod(0o500)
    try:
        told = as_anybody("doctor")
        assert told.returncode == 70 and "cannot be written" in told.stdout
    finally:
        (home / "segue").chmod(0o700)


def test_doctor_says_that_all_is_well(started: Cli) -> None:
    assert "everything is in order" in started("doctor").out or "warning" in started("doctor").out
    findings = started("doctor", "--json").value
    assert {f["status"] for f in findings} <= {"ok", "warn"}
    assert all(set(f) == {"name", "status", "detail", "hint"} for f in findings)


def test_doctor_proves_recovery_on_a_copy(started: Cli) -> None:
    assert all(f["status"] == "ok" for f in started("doctor", "--prove", "--json").value)
    assert "events back" in started("doctor", "--prove").out


def test_config_shows_value_and_origin_and_never_a_key(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGUE_CLEANUP_DAYS", "90")
    monkeypatch.setenv("SEGUE_API_KEY", "very-secret-key")
    ran = cli("config")
    assert "very-secret-key" not in ran.out
    [line] = [line for line in ran.out.splitlines() if line.startswith("cleanup_days")]
    assert line.split()[1:3] == ["90", "SEGUE_CLEANUP_DAYS"]
    by_name = {s["name"]: s for s in cli("config", "--json").value}
    assert by_name["cleanup_days"]["value"] == 90
    assert by_name["api_key"]["value"] == "(set)"
    assert cli("config", "cleanup_days").out == "90\n"
    assert "did you mean `cleanup_days`?" in cli("config", "cleanup_day", code=64).err


def test_config_works_without_a_store(started: Cli, home: Path) -> None:
    (home / "segue" / "segue.db").write_bytes(b"this is no database" * 1000)
    assert "cleanup_days" in started("config").out


def test_a_project_file_counts_once_it_is_trusted_and_until_it_changes(cli: Cli, project: Path) -> None:
    file = project / "segue.toml"
    file.write_text('type = "research"\n')
    ignored = "segue.toml in this project is not trusted and was ignored: review it, then run `segue trust`"
    warning = f"segue: warning: {ignored}\n"
    assert cli("config", "type").out == "coding\n"
    assert cli("list").err == warning
    ran = cli("trust", code=64)
    assert 'type = "research"' in ran.out
    assert "--yes" not in ran.err
    assert cli("config", "type").out == "coding\n"
    assert cli("trust", "--yes", "--json").value["trusted"] is True
    assert cli("config", "type").out == "research\n"
    assert cli("list").err == ""
    assert "already trusted" in cli("trust").out
    file.write_text('type = "review"\n')
    assert cli("config", "type").err == warning


def test_trust_refuses_a_file_that_may_not_say_what_it_says(cli: Cli, project: Path) -> None:
    cli("trust", code=64)
    (project / "segue.toml").write_text('store = "sqlite:///elsewhere.db"\n')
    assert "may not be set by a project" in cli("trust", "--yes", code=64).err
    (project / "segue.toml").write_text('typ = "review"\n')
    assert "did you mean `type`?" in cli("trust", "--yes", code=64).err
    cli("list")


def test_trust_shows_a_file_without_its_control_characters(cli: Cli, project: Path) -> None:
    (project / "segue.toml").write_text('# \x1b[2Jgone \u202e\ntype = "review"\n')
    out = cli("trust", code=64).out
    assert "\x1b" not in out and "\u202e" not in out
