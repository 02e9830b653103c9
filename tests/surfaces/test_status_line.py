"""The status line of Claude Code: quick, never in the way, and put into settings files with care."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import SECRET
from tests.surfaces.conftest import Cli

from segue.surfaces.hook import status_line
from segue.surfaces.hook.status_line import composed, number_in, object_in, text_in, window_words

WINDOW = {"context_window_size": 200_000, "used_percentage": 42, "current_usage": {"input_tokens": 84_000}}
OWN = {"type": "command", "command": "~/.claude/mine.sh", "padding": 0}


def told(project: Path, **more: Any) -> bytes:
    """What Claude Code says, with rate limits whose percentages are not those of the window."""
    value = {
        "session_id": "abc-1", "transcript_path": str(project / "none.jsonl"), "cwd": str(project),
        "model": {"id": "claude-opus-5-5", "display_name": "Opus"},
        "workspace": {"current_dir": str(project)},
        "rate_limits": {"five_hour": {"used_percentage": 99}}, "cost": {"total_cost_usd": 1.2345},
        "context_window": WINDOW, **more,
    }  # fmt: skip
    return json.dumps(value).encode()


def line(cli: Cli, project: Path, **more: Any) -> str:
    return cli("statusline", stdin=told(project, **more)).out


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)


# -- what it says ----------------------------------------------------------------------------------


def test_it_says_window_item_checks_and_cost(started: Cli, project: Path) -> None:
    started("feature", "add", "login", "signing in works", "--check", "true")
    started("feature", "add", "logout", "signing out works", "--check", "false")
    assert line(started, project) == "segue 42 % of 200k · ▶ auth middleware · checks 0/2 · $1.23\n"
    started("verify", code=1)
    assert "checks 1/2, 1 failing" in line(started, project)
    started("done", "auth middleware")
    assert "○ next: analyse codebase" in line(started, project)


def test_a_covered_file_that_changed_makes_a_check_stale_after_a_while(
    started: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").write_text("a = 1")
    started("feature", "add", "login", "signing in works", "--check", "true", "--covers", "a.py")
    started("verify")
    assert "checks 1/1 ·" in line(started, project)
    (project / "a.py").write_text("a = 2")
    now = time.time()
    monkeypatch.setattr("segue.services.hooks.kept_line.time.time", lambda: now + 20)
    assert "checks 0/1, 1 stale" in line(started, project)


def test_where_nothing_is_known_of_a_session_it_says_what_the_agent_says(cli: Cli, project: Path) -> None:
    assert line(cli, project) == "segue 42 % of 200k · $1.23\n"
    assert line(cli, project, context_window=None, cost={}) == ""


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"nonsense", b'{"session_id": 3}', b"\xff\xfe\x00", b"{}"]
)
def test_whatever_it_is_given_it_exits_with_0_and_says_nothing(cli: Cli, payload: bytes, home: Path) -> None:
    ran = cli("statusline", stdin=payload)
    assert (ran.out, ran.err) == ("", "")
    assert not (home / "segue" / "spool" / "hooks").exists()


def test_beside_a_damaged_store_it_says_what_the_agent_says(started: Cli, project: Path, home: Path) -> None:
    (home / "segue" / "segue.db").write_bytes(b"this is no database" * 1000)
    assert line(started, project) == "segue 42 % of 200k · $1.23\n"
    assert not (home / "segue" / "spool" / "hooks").exists(), "a status line is nothing to be kept"


def test_a_paused_project_is_told_of_and_nothing_is_written(started: Cli, project: Path, home: Path) -> None:
    (project / "PAUSE").write_text("")
    assert "▶ auth middleware" in line(started, project)
    assert not (home / "segue" / "hook" / "lines").exists()


def test_text_is_masked_and_steers_no_terminal(cli: Cli, project: Path, home: Path) -> None:
    cli("start", "g", "--id", "a", "--item", f"use {SECRET} \x1b[2J now")
    cli("begin", "#1")
    said = line(cli, project)
    assert "▶ use " in said and SECRET not in said and "\x1b" not in said
    assert SECRET not in next((home / "segue" / "hook" / "lines").iterdir()).read_text()


def test_it_fits_the_width_and_leaves_out_the_least_important(
    started: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started("feature", "add", "login", "signing in works", "--check", "true")
    started("begin", "a very long item that has many more words than any terminal has columns", "--new")
    for columns in (200, 120, 80, 60, 40, 25, 20):
        monkeypatch.setenv("COLUMNS", str(columns))
        said = line(started, project).rstrip("\n")
        assert 0 < len(said) <= columns and said.startswith("segue 42 %")
    monkeypatch.setenv("COLUMNS", "60")
    assert "checks 0/1" in line(started, project) and "…" in line(started, project)


def test_wide_letters_take_two_columns_and_colours_none() -> None:
    payload = told(Path("/x"))
    said = composed(payload, ["▶ " + "漢字" * 40, ""], 60, colour=False)
    assert len(said) + sum(said.count(char) for char in "漢字") <= 60 and "…" in said
    full = json.dumps(
        {"context_window": {"used_percentage": 85.4, "context_window_size": 1_000_000}}
    ).encode()
    assert composed(full, [], 60, colour=True) == "segue \x1b[31m85 % of 1,000k CRITICAL\x1b[0m"


def test_figures_are_found_where_they_belong() -> None:
    payload = json.dumps({
        "note": 'a "context_window" in a text {', "rate_limits": {"used_percentage": 99},
        "context_window": {"inner": {"deep": "}"}, "used_percentage": None, "context_window_size": 1000,
                           "current_usage": {"input_tokens": 400, "output_tokens": 100}},
        "after": {"used_percentage": 98},
    }).encode()  # fmt: skip
    window = object_in(payload, b"context_window")
    assert json.loads(window)["context_window_size"] == 1000
    assert number_in(window, b"used_percentage") == -1 and window_words(window) == ("50 % of 1k", "")
    assert text_in(b'{"session_id" : "x-1"}', b"session_id") == "x-1"
    assert text_in(b'{"session_id": "a\\"b"}', b"session_id") == ""


# -- how quick it is -------------------------------------------------------------------------------


def test_segue_is_loaded_only_when_the_store_has_changed(
    started: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = status_line._asked

    def counted(home: str, agent: str, payload: bytes) -> list[str]:
        asked.append(agent)
        return real(home, agent, payload)

    monkeypatch.setattr(status_line, "_asked", counted)
    for _ in range(5):
        assert "▶ auth middleware" in line(started, project)
    assert len(asked) == 1
    started("begin", "token validation")
    assert "(+1)" in line(started, project) and len(asked) == 2


def test_the_quick_way_loads_neither_the_store_nor_msgspec(started: Cli, project: Path, home: Path) -> None:
    line(started, project)
    program = (
        "import sys; from segue.surfaces.hook import answered;"
        f"out = answered({str(home / 'segue')!r}, 'claude-code', 'StatusLine', sys.stdin.buffer.read());"
        "print(out.decode(), sorted({'msgspec', 'apsw', 'json', 'segue.settings'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], input=told(project), capture_output=True, check=True, cwd=project
    )
    assert "▶ auth middleware" in ran.stdout.decode() and ran.stdout.decode().endswith("[]\n")


def test_the_installed_command_shows_the_line_and_survives_the_loss_of_segue(
    started: Cli, project: Path, home: Path
) -> None:
    started("init", "--yes", "--agent", "claude", "--no-mcp")
    settings = json.loads((project / ".claude" / "settings.local.json").read_text())
    command = settings["statusLine"]["command"]

    def run() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command, shell=True, input=told(project), capture_output=True, env=dict(os.environ), cwd=project
        )

    assert run().stdout.decode() == "segue 42 % of 200k · ▶ auth middleware · $1.23\n"
    (home / "segue" / "hook" / "paths").write_text("/nowhere")
    assert (run().returncode, run().stdout, run().stderr) == (0, b"", b"")


# -- in settings files -----------------------------------------------------------------------------


def settings_file(home: Path) -> Path:
    return home / ".claude" / "settings.json"


def with_own_line(home: Path) -> bytes:
    line = b'{"type": "command", "command": "~/.claude/mine.sh", "padding": 0}'
    body = b'{\n    // mine\n    "statusLine": %s,\n    "theme": "dark"\n}\n' % line
    settings_file(home).parent.mkdir(parents=True, exist_ok=True)
    settings_file(home).write_bytes(body)
    return body


def installed(path: Path) -> Any:
    from segue.core.base.json_edit import decoded

    return decoded(path.read_text()).get("statusLine") if path.exists() else None


def test_init_gives_a_line_to_those_who_have_none_and_uninit_takes_it_back(
    cli: Cli, project: Path, home: Path
) -> None:
    settings_file(home).parent.mkdir(parents=True)
    settings_file(home).write_bytes(b'{"theme": "dark"}')
    cli("init", "--yes", "--agent", "claude", "--user", "--no-mcp")
    assert "StatusLine" in installed(settings_file(home))["command"]
    cli("uninit", "--yes", "--user")
    assert settings_file(home).read_bytes() == b'{"theme": "dark"}'
    cli("init", "--yes", "--agent", "claude", "--user", "--no-mcp", "--no-status-line")
    assert installed(settings_file(home)) is None
    assert "exclude each other" in cli("init", "--status-line", "--no-status-line", code=64).err


@pytest.mark.parametrize("scope", [(), ("--user",)])
def test_a_line_of_ones_own_stays_in_whichever_file_it_is(
    cli: Cli, project: Path, home: Path, scope: tuple[str, ...]
) -> None:
    body = with_own_line(home)
    cli("init", "--yes", "--agent", "claude", "--no-mcp", *scope)
    assert installed(settings_file(home)) == OWN
    assert installed(project / ".claude" / "settings.local.json") is None
    cli("uninit", "--yes", *scope)
    assert settings_file(home).read_bytes() == body


def test_the_option_puts_ours_in_its_place_and_uninit_gives_it_back_to_the_byte(
    cli: Cli, project: Path, home: Path
) -> None:
    body = with_own_line(home)
    cli("init", "--yes", "--agent", "claude", "--user", "--status-line", "--no-mcp")
    assert "StatusLine" in installed(settings_file(home))["command"]
    assert not cli(
        "init", "--yes", "--agent", "claude", "--user", "--status-line", "--no-mcp", "--json"
    ).value["changes"]
    cli("uninit", "--yes", "--user")
    assert settings_file(home).read_bytes() == body


def test_a_file_that_was_edited_since_gets_its_own_line_back_too(cli: Cli, project: Path, home: Path) -> None:
    with_own_line(home)
    cli("init", "--yes", "--agent", "claude", "--user", "--status-line", "--no-mcp")
    text = settings_file(home).read_text()
    settings_file(home).write_text(text.replace('"dark"', '"light"'))
    cli("uninit", "--yes", "--user")
    assert installed(settings_file(home)) == OWN
    assert '"light"' in settings_file(home).read_text() and "segue" not in settings_file(home).read_text()


def test_colleagues_get_no_line_unless_it_is_asked_for(cli: Cli, project: Path) -> None:
    cli("init", "--yes", "--agent", "claude", "--shared", "--no-mcp")
    shared = project / ".claude" / "settings.json"
    assert installed(shared) is None
    cli("init", "--yes", "--agent", "claude", "--shared", "--no-mcp", "--status-line")
    assert "segue hook claude-code StatusLine" in installed(shared)["command"]


def test_the_doctor_says_whether_there_is_a_line(cli: Cli, project: Path, home: Path) -> None:
    with_own_line(home)
    cli("init", "--yes", "--agent", "claude", "--no-mcp")
    assert "hooks: in claude-code\n" in cli("doctor").out
    cli("init", "--yes", "--agent", "claude", "--no-mcp", "--status-line")
    assert "in claude-code, with a status line" in cli("doctor").out
