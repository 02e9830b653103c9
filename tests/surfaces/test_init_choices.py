"""In which agents `segue init` installs, under which names, and what `uninit` and `doctor` say then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import place
from tests.surfaces.conftest import Cli

from segue.agents import agent_name
from segue.agents.cline.install import INSTALLER
from segue.agents.install import InstallTarget

FIVE = ("claude-code", "codex", "opencode", "gemini-cli", "cline")
EACH = tuple(word for agent in FIVE for word in ("--agent", agent))


@pytest.fixture(autouse=True)
def no_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH without programs, to which a test may add some."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_DOCUMENTS_DIR", raising=False)
    return folder


def cline_hooks(home: Path) -> Path:
    where = InstallTarget(
        "user", home, home, dict(os.environ) | {"HOME": str(home)}, "python", home / "hook.py"
    )
    return INSTALLER.edits(where)[0].path.parent


# -- in which agents


def test_an_agent_that_cannot_take_it_is_named_and_the_others_get_it(cli: Cli, home: Path) -> None:
    hooks = cline_hooks(home)
    hooks.mkdir(parents=True)
    (hooks / "TaskStart").write_text("#!/bin/sh\necho mine\n")
    done = cli("init", "--yes", *EACH)
    assert "cline was left out" in done.err and "TaskStart" in done.err
    assert (home / ".codex" / "hooks.json").exists() and (home / ".gemini" / "settings.json").exists()
    assert [path.name for path in hooks.iterdir()] == ["TaskStart"]
    assert "mine" in (hooks / "TaskStart").read_text()
    again = cli("init", "--yes", *EACH, "--json").value
    assert [one["agent"] for one in again["refused"]] == ["cline"]
    assert sorted(again["agents"]) == ["claude-code", "codex", "gemini-cli", "opencode"]


def test_an_agent_can_be_left_out_by_any_of_its_names(cli: Cli, home: Path) -> None:
    done = cli("init", "--yes", *EACH, "--except", "cline", "--except", "gemini", "--json").value
    assert sorted(done["agents"]) == ["claude-code", "codex", "opencode"] and done["refused"] == []
    assert not (home / ".gemini").exists() and not cline_hooks(home).exists()
    assert "nosuch" in cli("init", "--except", "nosuch", code=64).err


# -- under which names


@pytest.mark.parametrize(
    ("word", "name"),
    [("claude", "claude-code"), ("gemini", "gemini-cli"), ("copilot", "copilot-cli"), ("codex", "codex"),
     ("roo", "roo"), ("cline", "cline"), ("opencode", "opencode"), ("something", "something")],
)  # fmt: skip
def test_an_alias_stands_for_an_agent_and_a_name_for_itself(word: str, name: str) -> None:
    assert agent_name(word) == name


def test_every_command_that_takes_an_agent_takes_its_aliases(cli: Cli, home: Path, project: Path) -> None:
    path = place(home, project, "claude-code", native="0a1b2c3d")
    place(home, project, "opencode", native="ses_one")
    assert cli("init", "--yes", "--agent", "claude", "--json").value["agents"] == ["claude-code"]
    assert cli("uninit", "--yes", "--agent", "claude", "--json").value["agents"] == ["claude-code"]
    assert cli("sync", "--agent", "claude", "--json").value["read"] == 1
    assert [run["agent"] for run in cli("runs", "--agent", "claude", "--json").value] == ["claude-code"]
    assert "tokens" in cli("brief", str(path), "--agent", "claude").out
    assert cli("prepare", "--agent", "claude", "--json").value["run"] == "0a1b2c3d"
    assert cli("recall", "*", "--agent", "claude", "--json").value == []


# -- Cline's folder


@pytest.mark.parametrize(
    ("program", "dirs", "variable", "folder"),
    [
        (False, None, "", "Documents"),
        (False, 'XDG_DOCUMENTS_DIR="$HOME/Dokumente"\n', "", "Documents"),
        (True, None, "", "."),
        (True, 'XDG_DESKTOP_DIR="$HOME/Desktop"\n', "", "."),
        (True, '# mine\nXDG_DOCUMENTS_DIR="$HOME/Dokumente"\n', "", "Dokumente"),
        (True, "XDG_DOCUMENTS_DIR=${HOME}/Papers\n", "", "Papers"),
        (True, 'XDG_DOCUMENTS_DIR="$HOME/"\n', "", "."),
        (True, 'XDG_DOCUMENTS_DIR="$HOME/A"\nXDG_DOCUMENTS_DIR="$HOME/B b"\n', "", "B b"),
        (True, None, "From env", "From env"),
    ],
)
def test_clines_hooks_go_where_cline_looks_for_them(
    program: bool, dirs: str | None, variable: str, folder: str, home: Path, no_xdg: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", str(no_xdg))
    if program:
        (no_xdg / "xdg-user-dir").write_text("#!/bin/sh\nexit 1\n")  # it is never run
        (no_xdg / "xdg-user-dir").chmod(0o755)
    if dirs is not None:
        (home / ".config").mkdir(exist_ok=True)
        (home / ".config" / "user-dirs.dirs").write_text(dirs)
    if variable:
        monkeypatch.setenv("XDG_DOCUMENTS_DIR", str(home / variable))
    assert cline_hooks(home) == home / folder / "Cline" / "Hooks"


def test_that_clines_hooks_are_off_is_said_only_where_they_are(cli: Cli, home: Path) -> None:
    assert cli("init", "--yes", "--agent", "cline", "--json").value["notes"] == []
    state = home / ".cline" / "data" / "globalState.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text('{"hooksEnabled": false}')
    [note] = cli("init", "--yes", "--agent", "cline", "--json").value["notes"]
    assert "switched off" in note


# -- what is left


@pytest.mark.parametrize("agent", ["codex", "opencode"])
def test_uninit_names_what_remains_and_the_command_that_removes_it(cli: Cli, home: Path, agent: str) -> None:
    cli("init", "--yes", "--agent", agent, "--user")
    done = cli("uninit", "--yes")
    assert "nothing to do" not in done.out
    assert f"still installed for the user, in {agent}: `segue uninit --user` removes it" in done.out
    removed = cli("uninit", "--yes", "--user")
    assert "still installed" not in removed.out and "cleared of Segue" in removed.out
    assert "nothing to do: nothing is installed" in cli("uninit", "--yes").out


def test_uninit_of_one_agent_names_the_others_and_other_projects(
    cli: Cli, project: Path, tmp_path: Path
) -> None:
    cli("init", "--yes", "--agent", "codex", "--agent", "opencode")
    other = tmp_path / "other shop"
    other.mkdir()
    cli("init", "--yes", "--agent", "claude", "-C", str(other))
    notes = cli("uninit", "--yes", "--agent", "codex", "--json").value["notes"]
    assert any("for this project, in opencode: `segue uninit --agent opencode`" in note for note in notes)
    assert any(f"for {other}, in claude-code: `segue uninit` there" in note for note in notes)


def test_a_dry_run_says_that_codex_would_be_told_to_trust_the_hooks(cli: Cli, home: Path) -> None:
    told = cli("init", "--agent", "codex", "--dry-run", "--trust-hooks").out
    assert "Codex would then be told to trust these hooks" in told
    assert not (home / ".codex" / "config.toml").exists()


def test_the_doctor_says_whether_codex_trusts_the_hooks(cli: Cli, home: Path) -> None:
    def hooks() -> dict[str, str]:
        found = cli("doctor", "--json").value
        return dict(next(one for one in found if one["name"] == "hooks"))

    cli("init", "--yes", "--agent", "codex", "--no-mcp")
    assert hooks()["status"] == "warn" and "trusts none of the hooks" in hooks()["detail"]
    assert "--trust-hooks" in hooks()["hint"]
    file = home / ".codex" / "hooks.json"
    events = ("session_start", "user_prompt_submit", "pre_compact", "stop", "session_end", "interrupt")

    def trust(names: tuple[str, ...]) -> None:
        tables = (f'[hooks.state."{file}:{name}:0:0"]\ntrusted_hash = "sha256:00"\n' for name in names)
        (home / ".codex" / "config.toml").write_text("\n".join(tables))

    trust(events[:2])
    assert "trusts only 2 of 6 hooks" in hooks()["detail"]
    trust(events)
    assert hooks() | {"hint": ""} == {"name": "hooks", "status": "ok", "detail": "in codex", "hint": ""}


def test_the_local_settings_that_init_makes_are_no_work_of_the_user(
    cli: Cli, project: Path, home: Path
) -> None:
    repository = Repository(project)
    exclude = project / ".git" / "info" / "exclude"
    before = exclude.read_bytes() if exclude.exists() else None
    cli("init", "--yes", "--agent", "claude")
    assert (project / ".claude" / "settings.local.json").exists()
    assert repository.git("status", "--porcelain") == ""
    cli("uninit", "--yes")
    assert (exclude.read_bytes() if exclude.exists() else None) == before


def test_hooks_of_tool_calls_are_advised_only_where_they_are_not_installed(cli: Cli) -> None:
    init = ("init", "--yes", "--agent", "gemini-cli")
    assert "with --live" in cli(*init).out
    assert "with --live" in cli(*init).out, "still not installed"
    assert "with --live" not in cli(*init, "--live").out
    again = cli(*init).out
    assert "nothing to do: everything is in place" in again and "with --live" not in again
