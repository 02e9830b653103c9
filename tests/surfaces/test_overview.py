"""`segue` alone: where you are, and what fits next."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.chains import Chain
from tests.support.runs import SECRET, place
from tests.surfaces.conftest import Cli

TASK = "Move the shop's login to signed tokens with an expiry"


@pytest.fixture(autouse=True)
def usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents keep their files where they usually do, under the home folder."""
    monkeypatch.delenv("XDG_DATA_HOME")


def commands(cli: Cli) -> list[str]:
    return [one["command"] for one in cli("--json").value["suggestions"]]


def test_in_a_folder_of_which_nothing_is_known_it_says_what_segue_is_and_makes_no_store(
    cli: Cli, project: Path, home: Path
) -> None:
    lines = cli().out.splitlines()
    assert lines[0] == "Segue: the next run of your coding agent knows where the last one stopped"
    assert lines[1] == f"nothing is known about {project} yet"
    assert [line.split("   ")[0].strip() for line in lines[3:]] == [
        "segue init", 'segue start "…"', "segue help --all",
    ]  # fmt: skip
    assert not (home / "segue").exists()


def test_in_a_session_it_says_what_is_under_way_next_and_blocked_and_what_waits_for_you(started: Cli) -> None:
    started("checkpoint", "--ask", "Who owns OAuth?", "--block", "oauth=no credentials")
    lines = started().out.splitlines()
    assert lines[0].startswith("shop  /")
    assert lines[2] == "Refactor authentication to JWT"
    assert lines[3] == "jwt · active · ███░░░░░░░░░░░░░ 20% · 1/5 done · just now"
    rows = {line[:13].strip(): line[13:] for line in lines[5:] if line[:13].strip()}
    assert rows["Under way"] == "▶ #3 auth middleware"
    assert rows["Next"] == "○ #1 analyse codebase"
    assert rows["Blocked"] == "■ #5 oauth: no credentials"
    assert rows["For you"] == "! question #1: Who owns OAuth?"
    assert "Done" not in rows
    assert commands(started)[0] == 'segue answer "#1" …'


def test_every_suggested_command_is_one_that_segue_takes(started: Cli) -> None:
    assert commands(started) == ["segue continue", "segue status"]
    started("answer", "Who?", "me")
    started("ask", "Why?")
    first = commands(started)[0]
    assert first == 'segue answer "#2" …'
    started("answer", "#2", "so")
    started("pause")
    started("status")
    for item in ("auth middleware", "analyse codebase", "token validation"):
        started("done", item)
    assert commands(started)[0] == "segue complete"
    started("complete")
    assert "jwt · completed" in started().out
    assert commands(started)[-1] == "segue help --all"


@pytest.mark.parametrize("agent", ["claude-code", "opencode", "codex"])
def test_the_newest_run_of_any_agent_is_told_before_segue_knows_of_it(
    cli: Cli, home: Path, project: Path, agent: str
) -> None:
    place(home, project, agent, native="5b05c7aa-1", secret=SECRET)
    ran = cli()
    assert f"Last run     {agent} 5b05c7aa" in ran.out and "ago" in ran.out
    assert commands(cli)[:3] == ["segue brief", "segue continue", "segue init"]
    assert not (home / "segue").exists()
    cli("sync")
    told = cli().out
    assert "Make the login use tokens, please" in told and SECRET not in told


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_how_the_last_run_of_a_session_ended_is_said(cli: Cli, home: Path, project: Path, agent: str) -> None:
    chain = Chain(home, project)
    chain.begin(agent).prompt(TASK).edits("a.py").stop()
    [run] = cli("status", "--json").value["runs"]
    told = cli()
    assert TASK in told.out and f"Last run     {agent} {run['id']}, " in told.out
    assert {**cli("--json").value["run"], "goal": ""} == {**run, "goal": ""}
    assert cli("--json").value["session"]["id"] in cli("list", "--ids").out


def test_a_run_that_was_killed_is_told_although_no_hook_told_of_it(
    cli: Cli, home: Path, project: Path
) -> None:
    chain = Chain(home, project)
    chain.begin("claude-code").prompt(TASK).edits("a.py").stop()
    cli("init", "--agent", "claude-code", "--yes")
    place(home, project, "claude-code", native="5b05c7aa-1", old=-60.0)
    assert cli("--json").value["run"]["id"] == "5b05c7aa-1"


def test_a_session_that_is_open_and_not_current_is_offered(started: Cli, cli: Cli) -> None:
    started("start", "Other work", "--id", "other")
    started("complete")
    out = started().out
    assert "jwt" in out and "segue switch jwt" in out
    started("switch", "jwt")
    assert "auth middleware" in started().out


def test_features_that_are_not_proven_and_a_budget_that_is_spent_are_said(started: Cli) -> None:
    started("feature", "add", "login", "signing in works", "--check", "false")
    assert "Features     0 of 1 proven" in started().out
    assert "segue verify" in commands(started)
    started("verify", code=1)
    assert "login failing" in started().out
    started("budget", "--limit", "1")
    started("budget", "--spent", "2", code=1)
    assert "the budget is spent: 2 of 1 USD" in started().out
    assert "segue budget" in commands(started) and "segue continue" not in commands(started)


def test_a_pause_file_and_an_off_switch_are_said(started: Cli, project: Path) -> None:
    started("off")
    assert "Segue is off here: nothing is recorded; `segue on`" in started().out
    (project / "PAUSE").write_text("")
    assert f"{project}/PAUSE exists: nothing is written" in started().out


def test_an_offer_that_nobody_took_is_said(started: Cli) -> None:
    started("handoff", "--to", "codex")
    assert "offered to codex, not taken yet: `segue handoff --list`" in started().out
    started("handoff", "--accept", "--actor", "codex")
    assert "not taken yet" not in started().out


def test_beside_a_damaged_store_it_still_says_what_the_agents_left(
    started: Cli, home: Path, project: Path
) -> None:
    place(home, project, "opencode", native="5b05c7aa-1")
    (home / "segue" / "segue.db").write_bytes(b"this is no database" * 1000)
    ran = started()
    assert "opencode 5b05c7aa" in ran.out and "see `segue doctor`" in ran.err


def test_text_that_would_steer_a_terminal_is_shown_without_its_codes(cli: Cli) -> None:
    cli("start", "g", "--id", "a", "--item", "x\x1b[2Jy")
    cli("ask", "why\x1b]0;title\x07?")
    out = cli().out
    assert "\x1b" not in out and "\x07" not in out


def test_options_of_every_command_may_stand_alone(started: Cli, project: Path, tmp_path: Path) -> None:
    assert started("-C", str(project)).out == started().out
    assert started("--folder", str(tmp_path), "--json").value["session"] is None
    assert "see `segue --help`" in started("--folder", code=64).err
    assert "is not a folder" in started("-C", str(tmp_path / "none"), code=64).err
