"""segue runs, sync and show of a run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.runs import DAY, SECRET, place
from tests.surfaces.conftest import Cli

AGENTS = ("claude-code", "codex", "copilot-cli")


@pytest.fixture
def agents(home: Path, project: Path) -> list[Path]:
    """A run of each of three agents, the last one the newest and cut off in the middle."""
    return [
        place(
            home, project, agent, native=f"{n}a1b2c3d-{agent}", old=(3 - n) * DAY, ends=n < 2, secret=SECRET
        )
        for n, agent in enumerate(AGENTS)
    ]


def test_runs_lists_every_run_of_the_project_and_makes_no_store(
    cli: Cli, agents: list[Path], home: Path
) -> None:
    lines = cli("runs").out.splitlines()
    assert lines[0].split() == ["run", "agent", "active", "ended", "window", "prompt"]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["2a1b2c3d", "copilot-cli"], ["1a1b2c3d", "codex"], ["0a1b2c3d", "claude-code"],
    ]  # fmt: skip
    assert "crashed" in lines[1] and "ago" in lines[1]
    assert all(line.endswith("Make the login use tokens, please") for line in lines[1:])
    assert not (home / "segue").exists()


def test_runs_are_listed_and_shown_beside_a_damaged_store(cli: Cli, agents: list[Path], home: Path) -> None:
    cli("start", "work", "--id", "work")
    (home / "segue" / "segue.db").write_bytes(b"this is no database" * 1000)
    assert "copilot-cli" in cli("runs").out
    ran = cli("show", "1a1b2c3d")
    assert "of codex" in ran.out and "using the agents' files instead" in ran.err
    assert cli("show", "1a1b2c3d", "--timeline").out
    assert "the store is damaged" in cli("show", "work", code=70).err


def test_runs_are_chosen_by_agent_and_number(cli: Cli, agents: list[Path]) -> None:
    assert [run["agent"] for run in cli("runs", "--agent", "codex", "--json").value] == ["codex"]
    assert [run["agent"] for run in cli("runs", "--limit", "1", "--json").value] == ["copilot-cli"]
    assert len(cli("runs", "--limit", "0", "--json").value) == 3
    cli("runs", "--agent", "nobody", code=64)


def test_where_no_agent_worked_that_is_said(cli: Cli, tmp_path: Path, home: Path) -> None:
    assert "no runs here" in cli("runs").out
    assert cli("runs", "--json").value == []
    place(home, tmp_path / "elsewhere", native="far")
    assert "no runs here" in cli("runs").out and "far" in cli("runs", "--all").out


def test_sync_says_what_it_did_and_what_agents_will_delete(cli: Cli, agents: list[Path]) -> None:
    ran = cli("sync")
    assert ran.out.startswith("3 runs read (3 new, ") and "0 unchanged, 0 unreadable" in ran.out
    assert "claude-code deletes its transcripts after 30 days; Segue has copies" in ran.err
    again = cli("sync", "--json")
    value = again.value
    assert "deletes" not in again.err and value["first"] == []
    assert (value["read"], value["new"], value["unchanged"], value["unreadable"]) == (0, 0, 3, [])
    assert value["retention"] == {"claude-code": 30} and value["archive_bytes"] > 0


def test_the_doctor_says_every_time_what_agents_will_delete(
    cli: Cli, agents: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("sync")
    assert "ok       transcripts: claude-code deletes its transcripts after 30 days" in cli("doctor").out
    monkeypatch.setenv("SEGUE_ARCHIVE_BYTES_MAX", "0")
    assert "warn     transcripts: claude-code" in cli("doctor").out


def test_sync_takes_a_path_and_names_what_it_cannot_read(
    cli: Cli, agents: list[Path], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nothing of the kind")
    ran = cli("sync", str(agents[1]), str(bad))
    assert "1 run read (1 new" in ran.out and "1 unreadable" in ran.out
    assert "no agent that Segue knows wrote it" in ran.err
    cli("sync", "--agent", "nobody", code=64)


def test_show_tells_a_run_from_a_session(cli: Cli, agents: list[Path]) -> None:
    cli("start", "Rewrite the login", "--id", "login")
    assert cli("show", "login").out.startswith("Rewrite the login")
    out = cli("show", "1a1b").out
    assert out.startswith("Make the login use tokens, please\n")
    assert "1a1b2c3d-codex of codex" in out and "none; `segue sync` assigns runs to sessions" in out
    cli("sync")
    assert "a copy is in the archive" in cli("show", "1a1b").out
    value = cli("show", "codex/1a1b", "--json").value
    assert (value["id"], value["ended"], value["context"]) == ("1a1b2c3d-codex", "ended", 50_000)
    ran = cli("show", "nothing-of-this-name", code=64)
    assert "there is no session" in ran.err


def test_show_of_an_ambiguous_beginning_names_the_runs(cli: Cli, home: Path, project: Path) -> None:
    for n in range(2):
        place(home, project, native=f"same-{n}")
    ran = cli("show", "same", code=64)
    assert "codex/same-0" in ran.err and "codex/same-1" in ran.err


def test_a_timeline_shows_the_steps_masked_from_transcript_or_copy(cli: Cli, agents: list[Path]) -> None:
    lines = cli("show", "1a1b", "--timeline").out.splitlines()
    assert any(line.split()[1:3] == ["prompt", "Make"] for line in lines if len(line.split()) > 2)
    assert any("failed" in line and "AssertionError" in line for line in lines)
    assert SECRET not in "\n".join(lines)
    cli("sync")
    for path in agents:
        shutil.rmtree(path.parent) if path.parent.name.startswith("2a1b") else path.unlink()
    assert cli("show", "1a1b", "--timeline").out.splitlines() == lines
    newest = cli("show", "1a1b", "--timeline", "--limit", "1", "--json").value
    assert [step["kind"] for step in newest] == ["end"]
    assert "(gone)" in cli("show", "2a1b").out
    assert len(cli("runs", "--json").value) == 3


def test_a_timeline_without_an_id_is_of_the_newest_run(cli: Cli, agents: list[Path]) -> None:
    last = cli("show", "--timeline").out.splitlines()[-1]
    assert last.endswith("make deploy")


def test_a_timeline_of_a_session_is_its_journal(started: Cli) -> None:
    assert started("show", "jwt", "--timeline").out == started("log", "jwt").out
    assert started("show", "--timeline").out == started("log", "jwt").out, "no runs here"


def test_doctor_tells_the_size_of_the_archive_and_what_is_wrong_with_it(
    cli: Cli, agents: list[Path], home: Path
) -> None:
    assert "archive: no transcripts are kept yet" in cli("doctor").out
    cli("sync")
    assert "archive: 3 transcripts in 0.0 MB, of at most 1,000 MB" in cli("doctor").out
    (home / "segue" / "archive" / "transcripts.db").write_bytes(b"broken" * 1000)
    ran = cli("doctor", code=70)
    assert "archive" in ran.out and "segue sync" in ran.out


def test_doctor_tells_of_runs_that_nothing_is_left_of(
    cli: Cli, agents: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("sync")
    agents[1].unlink()
    assert "only the digest is left" not in cli("doctor").out
    monkeypatch.setenv("SEGUE_ARCHIVE_BYTES_MAX", "1")
    for card in cli("list", "--json").value:
        cli("complete", card["id"])
    cli("sync")
    assert "of 1 run only the digest is left" in cli("doctor").out
    assert cli("show", "1a1b", "--json").value["present"] is False


def test_scrub_erases_from_runs_and_names_the_agents_own_files(cli: Cli, agents: list[Path]) -> None:
    cli("sync")
    ran = cli("scrub", "use tokens", "--yes")
    assert "3 runs" in ran.out and f"it remains in {agents[1]}, which belongs to an agent" in ran.out
    assert "use tokens" not in cli("show", "1a1b").out


def test_a_sync_of_a_path_that_cannot_be_read_exits_69_and_names_it(cli: Cli, project: Path) -> None:
    assert "gone.jsonl" in cli("sync", "gone.jsonl", code=69).err
