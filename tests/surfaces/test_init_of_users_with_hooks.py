"""`segue init` and `uninit` beside hooks, servers and files of the user that look like Segue's."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Cli
from tests.surfaces.test_init import snapshot

from segue.agents.own_entries import is_own_command
from segue.core.base.json_edit import parse, removal

MINE = (
    "python3 ~/.claude/hook/hook.py --mine",
    "segue hook x; echo mine",
    "segue hook claude-code Stop && make test",
    "segue hook claude-code Stop",
    "echo 'python -I -S /home/me/.segue/hook/hook.py claude-code Stop speak'",
    "command -v segue >/dev/null 2>&1 && segue hook claude-code Stop; make || exit 0",
    "command -v segue >/dev/null 2>&1 && segue hook claude-code $(make) || exit 0",
    "python -I -S /s/hook/hook.py claude-code Stop speak; make 2>/dev/null || exit 0",
    "python -I -S /s/hook/hook.py claude-code Stop `make` 2>/dev/null || exit 0",
    "python -I -S relative/hook/hook.py claude-code Stop speak 2>/dev/null || exit 0",
)
FILES = (
    ("claude-code", "project/.claude/settings.local.json", "Stop"),
    ("gemini-cli", "home/.gemini/settings.json", "AfterAgent"),
    ("codex", "home/.codex/hooks.json", "Stop"),
)


def groups(event: str, *commands: str) -> dict[str, Any]:
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": one}]} for one in commands]}}


def place(path: str, home: Path, project: Path) -> Path:
    top, _, rest = path.partition("/")
    file = (home if top == "home" else project) / rest
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


@pytest.mark.parametrize("command", MINE)
def test_a_command_that_only_mentions_segue_is_the_users(command: str) -> None:
    assert not is_own_command(command)


@pytest.mark.parametrize(
    "command",
    [
        "command -v segue >/dev/null 2>&1 && segue hook codex Stop || exit 0",
        "/usr/bin/python3 -I -S /gone/segue/hook/hook.py codex Stop speak 2>/dev/null || exit 0",
        "'/my python' -I -S '/gone a/hook/hook.py' cline TaskStart look 2>/dev/null || exit 0",
    ],
)
def test_what_the_first_version_wrote_is_known(command: str) -> None:
    assert is_own_command(command)


def test_a_hook_file_of_the_user_is_the_users_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "hook" / "hook.py"
    command = f"/usr/bin/python3 -I -S {shlex.quote(str(file))} codex Stop speak 2>/dev/null || exit 0"
    file.parent.mkdir()
    file.write_text("print('mine')\n")
    assert not is_own_command(command) and is_own_command(command, file)
    file.write_text("# Written by `segue init` from Segue's installed_file.py; do not edit.\n")
    assert is_own_command(command)


@pytest.mark.parametrize("agent, path, event", FILES)
def test_init_leaves_the_users_hooks_beside_its_own_and_uninit_every_byte(
    cli: Cli, home: Path, project: Path, agent: str, path: str, event: str
) -> None:
    file = place(path, home, project)
    file.write_text(json.dumps(groups(event, *MINE)))
    before = snapshot(home, project)
    cli("uninit", "--yes")
    assert snapshot(home, project) == before, "nothing of the user's goes where nothing was installed"
    cli("init", "--agent", agent, "--yes")
    present = [group["hooks"][0]["command"] for group in parse(file.read_text()).value["hooks"][event]]
    assert present[: len(MINE)] == list(MINE) and len(present) == len(MINE) + 1
    written = file.read_bytes()
    cli("init", "--agent", agent, "--yes")
    assert file.read_bytes() == written
    cli("uninit", "--yes")
    assert snapshot(home, project) == before


@pytest.mark.parametrize("agent, path, event", FILES)
def test_a_hook_that_the_user_added_to_segues_group_stays(
    cli: Cli, home: Path, project: Path, agent: str, path: str, event: str
) -> None:
    file = place(path, home, project)
    cli("init", "--agent", agent, "--yes")
    value = json.loads(file.read_text())
    value["hooks"][event][0]["hooks"].append({"type": "command", "command": "make test"})
    file.write_text(json.dumps(value))
    cli("uninit", "--yes")
    left = json.loads(file.read_text())
    assert left == groups(event, "make test")


@pytest.mark.parametrize("agent, path, event", FILES)
def test_hooks_of_the_first_version_are_replaced_and_removed(
    cli: Cli, home: Path, project: Path, agent: str, path: str, event: str
) -> None:
    file = place(path, home, project)
    hook = home / "segue" / "hook" / "hook.py"
    old = f"/old/python -I -S {hook} {agent} {event} speak 2>/dev/null || exit 0"
    file.write_text(json.dumps(groups(event, "mine", old)))
    cli("init", "--agent", agent, "--yes")
    commands = [group["hooks"][0]["command"] for group in parse(file.read_text()).value["hooks"][event]]
    assert commands[0] == "mine" and old not in commands and len(commands) == 2
    file.write_text(json.dumps(groups(event, "mine", old)))
    cli("uninit", "--yes")
    assert json.loads(file.read_text()) == groups(event, "mine")


SERVERS: tuple[dict[str, Any], ...] = (
    {"command": "mine"},
    {"command": "segue", "args": ["mcp"]},
    {"command": "/usr/bin/python3", "args": ["-m", "segue", "mcp"], "env": {"SEGUE_HOME": "/elsewhere"}},
    {"command": "sh", "args": ["-c", "log", "segue", "mcp"]},
)


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_of_the_user_is_left_alone(cli: Cli, home: Path, project: Path, server: Any) -> None:
    files = [
        (home / ".gemini" / "settings.json", {"mcpServers": {"segue": server}}),
        (home / "config" / "opencode" / "opencode.json", {"mcp": {"segue": server}}),
    ]
    for file, value in files:
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(value))
    before = snapshot(home, project)
    cli("uninit", "--yes")
    assert snapshot(home, project) == before
    refused = "segue" not in (server["command"], *server.get("args", ())) or server["command"] == "sh"
    for agent in ("gemini-cli", "opencode"):
        cli("init", "--agent", agent, "--yes", code=69 if refused else 0)
    if not refused:
        for file, value in files:  # somebody changes the file meanwhile
            name = next(iter(value))
            now = parse(file.read_text()).value
            assert now[name] != value[name] or now[name]["segue"] == server
            file.write_text(json.dumps(now | {"more": 1}))
    cli("uninit", "--yes")
    for file, value in files:
        left = json.loads(file.read_text())
        assert left == value | ({} if refused else {"more": 1})


def test_settings_that_an_agent_adds_to_our_server_survive_an_upgrade_and_go_with_it(
    cli: Cli, home: Path
) -> None:
    file = home / ".gemini" / "settings.json"
    file.parent.mkdir()
    cli("init", "--user", "--agent", "gemini-cli", "--yes")
    value = json.loads(file.read_text())
    value["mcpServers"]["segue"] |= {"trust": True, "command": "/old/python"}
    file.write_text(json.dumps(value | {"theme": "x"}))
    cli("init", "--user", "--agent", "gemini-cli", "--yes")
    server = parse(file.read_text()).value["mcpServers"]["segue"]
    assert server["trust"] is True and server["command"] != "/old/python"
    cli("uninit", "--user", "--yes")
    assert json.loads(file.read_text()) == {"theme": "x"}


def test_a_file_of_the_user_that_mentions_init_is_neither_written_nor_deleted(
    cli: Cli, home: Path, project: Path
) -> None:
    cli("init", "--agent", "cline", "--agent", "opencode", "--yes")
    scripts = [path for path in home.rglob("TaskStart") if path.is_file()]
    assert len(scripts) == 1
    scripts[0].write_text(scripts[0].read_text() + "make test\n")
    cli("uninit", "--yes")
    assert "make test" in scripts[0].read_text()
    before = snapshot(home)
    said = cli("init", "--agent", "cline", "--yes", code=69).err
    assert "Segue did not write it" in said and snapshot(home) == before


def test_uninit_keeps_what_codex_noted_about_the_users_hooks(cli: Cli, home: Path) -> None:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "hooks.json").write_text(json.dumps(groups("Stop", "mine")))
    trusted = f'[hooks.state."{folder / "hooks.json"}:stop:0:0"]\ntrusted_hash = "sha256:00"\n'
    (folder / "config.toml").write_text(trusted)
    cli("uninit", "--yes")
    assert (folder / "config.toml").read_text() == trusted
    cli("init", "--agent", "codex", "--no-mcp", "--yes")
    ours = f'[hooks.state."{folder / "hooks.json"}:stop:1:0"]\ntrusted_hash = "sha256:11"\n'
    (folder / "config.toml").write_text(trusted + ours)
    cli("uninit", "--yes")
    assert (folder / "config.toml").read_text() == trusted


def test_uninit_leaves_no_empty_table_of_what_codex_noted_about_our_hooks(cli: Cli, home: Path) -> None:
    folder = home / ".codex"
    folder.mkdir()
    mine = 'model = "m"\n\n'
    (folder / "config.toml").write_text(mine)
    cli("init", "--agent", "codex", "--no-mcp", "--yes")
    ours = f'[hooks.state."{folder / "hooks.json"}:stop:0:0"]\ntrusted_hash = "sha256:11"\n'
    (folder / "config.toml").write_text(f"{mine}[hooks.state]\n\n{ours}")
    cli("uninit", "--yes")
    assert (folder / "config.toml").read_text().rstrip() == mine.rstrip()


def test_a_marker_that_is_quoted_in_a_line_is_no_marker(cli: Cli, project: Path) -> None:
    cli("init", "--agent", "agents-md", "--yes")
    file = project / "AGENTS.md"
    first, *_, last = file.read_text().splitlines()
    mine = f"Segue writes `{first}` and then `{last}` here.\nKeep me.\n"
    file.write_text(mine)
    cli("uninit", "--yes")
    assert file.read_text() == mine


def test_an_element_inside_an_element_is_removed_with_its_comma() -> None:
    text = '{"a": [{"x": 1}, {"b": [1, 2, 3]}] /* c */}'
    assert removal(text, ("a", 1, "b"), 1) == '{"a": [{"x": 1}, {"b": [1, 3]}] /* c */}'
