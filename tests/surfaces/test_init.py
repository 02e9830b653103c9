"""`segue init` and `uninit`: only what they say, to the byte, and nothing where they do not understand."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.other_user import as_anybody, linux
from tests.surfaces.conftest import Cli

from segue.agents.install import installers
from segue.core.base.json_edit import parse
from segue.services.hooks import hook_file
from segue.services.workspace.data_folder import DataFolder

AGENTS = tuple(installers())
COMMENTED = """{
  // how I like it
  "theme": "dark",
  "hooks": {
    "Stop": [ {"hooks": [{"type": "command", "command": "say done"}]} ], // mine
    "SessionStart": []
  },
}
"""


def snapshot(*folders: Path) -> dict[str, tuple[bytes | str, int]]:
    """Every file, link and folder, with its content and mode."""
    found: dict[str, tuple[bytes | str, int]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if path.is_symlink():
                found[str(path)] = (f"-> {os.readlink(path)}", 0)
            else:
                found[str(path)] = (path.read_bytes() if path.is_file() else "folder", mode)
    return found


def user_files(home: Path, project: Path) -> None:
    """Settings as users have them: with comments, odd layout, tabs, and without."""
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(COMMENTED)
    (home / ".claude.json").write_text('{"numStartups":3,"projects":{"/x":{"mcpServers":{}}}}')
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('model = "gpt-5.5" # mine\n\n[tools]\nx = 1')
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text('{\n\t"ui": {"theme": "x"},\n\t"hooks": {}\n}')
    opencode = home / "config" / "opencode"
    opencode.mkdir(parents=True)
    (opencode / "opencode.jsonc").write_text('{ "model": "a/b", /* nice */ "plugin": ["x"], }\n')
    (home / ".cline" / "data" / "settings").mkdir(parents=True)
    (project / "AGENTS.md").write_text("# Ours\n\nBe kind.")


@pytest.mark.parametrize("scope", [(), ("--user",), ("--shared",)])
def test_installing_touches_only_what_it_says_and_uninit_restores_every_byte(
    cli: Cli, project: Path, home: Path, scope: tuple[str, ...]
) -> None:
    user_files(home, project)
    before = snapshot(home, project)
    names = [word for agent in AGENTS for word in ("--agent", agent)]
    plan = cli("init", *names, *scope, "--dry-run", "--json").value
    assert snapshot(home, project) == before, "a dry run writes nothing"
    done = cli("init", "--yes", *names, *scope, "--json").value
    assert [one["path"] for one in done["changes"]] == [one["path"] for one in plan["changes"]]
    after = snapshot(home, project)
    own = str(home / "segue")
    changed = {path for path in after if after[path] != before.get(path) and path != own}
    files = {path for path in changed if after[path][0] != "folder" and not path.startswith(f"{own}/")}
    said = {one["path"] for one in done["changes"]}
    assert files == {path for path in said if not path.startswith(f"{own}/")}
    assert not set(before) - set(after)
    assert not cli("init", "--yes", *names, *scope, "--json").value["changes"], "twice is once"
    assert snapshot(home, project) == after
    cli("uninit", "--yes", *scope)
    assert snapshot(home, project) == before, "it leaves no trace"


def test_what_others_wrote_and_how_they_wrote_it_stays(cli: Cli, project: Path, home: Path) -> None:
    user_files(home, project)
    cli("init", "--yes", "--user", "--agent", "claude-code", "--agent", "opencode", "--agent", "codex")
    text = (home / ".claude" / "settings.json").read_text()
    assert "// how I like it" in text and "// mine" in text
    value = parse(text).value
    assert value["hooks"]["Stop"][0]["hooks"][0]["command"] == "say done"
    assert len(value["hooks"]["Stop"]) == 2 and list(value)[:2] == ["theme", "hooks"]
    opencode = (home / "config" / "opencode" / "opencode.jsonc").read_text()
    assert "/* nice */" in opencode and parse(opencode).value["plugin"][0] == "x"


def test_after_the_user_changed_a_file_only_what_is_ours_goes(cli: Cli, project: Path, home: Path) -> None:
    user_files(home, project)
    cli("init", "--yes", "--user", "--agent", "claude-code", "--agent", "codex", "--agent", "agents-md")
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace('"dark"', '"light"'))
    config = home / ".codex" / "config.toml"
    config.write_text(config.read_text() + "\n[more]\ny = 2\n")
    notes = project / "AGENTS.md"
    notes.write_text(notes.read_text() + "\nMore.\n")
    cli("uninit", "--yes", "--user")
    left = parse(settings.read_text()).value
    assert left == {**parse(COMMENTED).value, "theme": "light"} or "segue" not in settings.read_text()
    assert "say done" in settings.read_text() and "segue" not in settings.read_text()
    assert "segue" not in config.read_text() and "[more]" in config.read_text()


def test_the_block_for_any_agent_names_no_package_that_somebody_else_could_publish(
    cli: Cli, project: Path
) -> None:
    cli("init", "--yes", "--agent", "agents-md")
    written = (project / "AGENTS.md").read_text()
    assert "segue brief" in written and "http" not in written


def test_uninit_says_that_the_notes_of_handovers_stay(cli: Cli, project: Path) -> None:
    assert "handover" not in cli("uninit", "--yes").out
    cli("start", "work")
    cli("handover", "run", "--note", "n")
    stays = "the notes of handovers in memory/ belong to your repository, and stay\n"
    assert cli("uninit", "--yes").out.endswith(stays) and list(project.glob("memory/layer2/*.md"))


def test_a_data_folder_that_was_lost_does_not_keep_uninit_from_working(
    cli: Cli, project: Path, home: Path
) -> None:
    cli("init", "--yes", "--agent", "claude-code", "--agent", "agents-md")
    shutil.rmtree(home / "segue")
    cli("uninit", "--yes")
    assert not (project / ".claude" / "settings.local.json").exists()
    assert "segue" not in ((project / "AGENTS.md").read_text() if (project / "AGENTS.md").exists() else "")


BROKEN = ["{", "{'a': 1}", "nonsense", '{"hooks": []}', '{"hooks": {"AfterAgent": 3}}', b"\xff\xfe{"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_file_that_cannot_be_understood_stops_it_before_anything_is_written(
    cli: Cli, project: Path, home: Path, text: str | bytes
) -> None:
    user_files(home, project)
    file = home / ".gemini" / "settings.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = snapshot(home, project)
    done = cli("init", "--yes", "--user", "--agent", "gemini-cli", "--json", code=69)
    assert done.value["error"]["code"] == "not_writable" and str(file) in done.value["error"]["message"]
    assert snapshot(home, project) == before
    others = cli("init", "--yes", "--user", "--agent", "claude-code", "--agent", "gemini-cli", "--json").value
    assert others["agents"] == ["claude-code"] and str(file) in others["refused"][0]["reason"]
    assert snapshot(home / ".gemini") == {path: was for path, was in before.items() if "/.gemini/" in path}


@linux
def test_a_file_that_may_not_be_written_stops_it_too(cli: Cli, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{}")
    (home / ".claude").chmod(0o500)
    done = as_anybody("init", "--yes", "--user", "--agent", "claude-code", "--json")
    assert done.returncode == 69 and json.loads(done.stdout)["error"]["code"] == "not_writable"
    assert (home / ".claude" / "settings.json").read_text() == "{}"


def test_a_file_where_a_folder_should_be_stops_it_before_anything_is_written(
    cli: Cli, project: Path, home: Path
) -> None:
    (home / ".claude").write_text("not a folder")
    before = snapshot(home, project)
    done = cli("init", "--yes", "--user", "--agent", "claude-code", "--json", code=69)
    assert done.value["error"]["code"] == "not_writable" and ".claude" in done.value["error"]["message"]
    assert snapshot(home, project) == before


def test_settings_that_are_a_link_are_changed_where_they_are(cli: Cli, project: Path, home: Path) -> None:
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(real)
    before = snapshot(home, project)
    cli("init", "--yes", "--user", "--agent", "claude-code", "--no-mcp")
    assert (home / ".claude" / "settings.json").is_symlink()
    assert "SessionStart" in real.read_text()
    cli("uninit", "--yes", "--user")
    assert snapshot(home, project) == before


def test_a_file_keeps_its_mode(cli: Cli, home: Path) -> None:
    (home / ".gemini").mkdir()
    file = home / ".gemini" / "settings.json"
    file.write_text("{}")
    file.chmod(0o640)
    cli("init", "--yes", "--user", "--agent", "gemini-cli")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_an_entry_of_the_same_name_that_is_not_ours_is_left_alone(cli: Cli, home: Path) -> None:
    (home / ".gemini").mkdir()
    file = home / ".gemini" / "settings.json"
    file.write_text('{"mcpServers": {"segue": {"command": "another"}}}')
    assert "Segue did not write it" in cli("init", "--yes", "--user", "--agent", "gemini-cli", code=69).err
    cli("init", "--yes", "--user", "--agent", "gemini-cli", "--no-mcp")


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "gemini-cli", "cline"])
def test_without_the_server_none_is_said_to_be_written(cli: Cli, agent: str) -> None:
    said = cli("init", "--yes", "--user", "--agent", agent, "--no-mcp")
    assert "MCP" not in said.out and "segue mcp" not in said.out


def test_two_projects_share_what_acts_everywhere_and_the_last_one_takes_it_out(
    cli: Cli, project: Path, home: Path
) -> None:
    other = project.parent / "other"
    other.mkdir()
    (home / ".codex").mkdir()
    hooks = home / ".codex" / "hooks.json"
    cli("init", "--yes", "--agent", "codex")
    cli("-C", str(other), "init", "--yes", "--agent", "codex")
    marks = home / "segue" / "hook" / "roots" / "codex"
    mine, others = (marks / str(one).lstrip("/") / ".on" for one in (project, other))
    assert mine.exists() and others.exists()
    cli("uninit", "--yes")
    assert hooks.exists() and not mine.exists()
    cli("-C", str(other), "uninit", "--yes")
    assert not hooks.exists() and not (home / "segue" / "hook").exists()


def beside(project: Path, home: Path) -> tuple[Path, Path]:
    """A second project, and a file of Claude Code that both write to."""
    other, file = project.parent / "other", home / ".claude.json"
    other.mkdir()
    file.write_text('{"numStartups": 3}\n')
    return other, file


def test_each_project_takes_back_its_own_part_of_a_file_that_another_needs_too(
    cli: Cli, project: Path, home: Path
) -> None:
    other, file = beside(project, home)
    before = snapshot(home, project, other)
    cli("init", "--yes", "--agent", "claude-code")
    alone = file.read_bytes()
    cli("-C", str(other), "init", "--yes", "--agent", "claude-code")
    assert sorted(json.loads(file.read_bytes())["projects"]) == sorted([str(project), str(other)])
    cli("-C", str(other), "uninit", "--yes")
    assert json.loads(file.read_bytes()) == json.loads(alone)
    assert "nothing is installed here" in cli("-C", str(other), "uninit", "--yes").out
    cli("uninit", "--yes")
    assert snapshot(home, project, other) == before


def test_a_project_takes_back_its_own_part_where_the_user_has_it_everywhere(
    cli: Cli, project: Path, home: Path
) -> None:
    file = home / ".claude.json"
    file.write_text("{}\n")
    cli("init", "--yes", "--agent", "claude-code")
    cli("init", "--yes", "--agent", "claude-code", "--user")
    cli("uninit", "--yes")
    assert list(json.loads(file.read_bytes())) == ["mcpServers"]
    cli("uninit", "--yes", "--user")
    assert file.read_text() == "{}\n"


def test_what_an_agent_changed_between_the_inits_of_two_projects_is_kept_by_uninit(
    cli: Cli, project: Path, home: Path
) -> None:
    other, file = beside(project, home)
    cli("init", "--yes", "--agent", "claude-code")
    file.write_text(file.read_text().replace('ups": 3', 'ups": 4'))
    cli("-C", str(other), "init", "--yes", "--agent", "claude-code")
    cli("-C", str(other), "uninit", "--yes")
    cli("uninit", "--yes")
    assert json.loads(file.read_bytes()) == {"numStartups": 4}


def test_what_the_user_changed_between_two_inits_is_kept_by_uninit(cli: Cli, project: Path) -> None:
    file = project / ".claude" / "settings.local.json"
    file.parent.mkdir()
    file.write_text('{"theme": "dark"}')
    cli("init", "--yes", "--agent", "claude-code")
    file.write_text(file.read_text().replace("dark", "light"))
    cli("init", "--yes", "--agent", "claude-code", "--live")
    cli("uninit", "--yes")
    assert json.loads(file.read_bytes()) == {"theme": "light"}


def at_a_terminal(project: Path, answer: bytes, *words: str) -> tuple[int, str]:
    """A command whose three streams are a terminal; its exit code and what stood there."""
    controller, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "segue", *words], stdin=terminal, stdout=terminal, stderr=terminal, cwd=project
    )
    os.close(terminal)
    os.write(controller, answer)
    told = b""
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:  # nobody writes any more
            break
        if not piece:
            break
        told += piece
    os.close(controller)
    return process.wait(60), told.decode("utf-8", "replace")


def test_at_a_terminal_it_shows_what_it_will_do_and_asks(cli: Cli, project: Path, home: Path) -> None:
    file = project / ".claude" / "settings.local.json"
    words = ("init", "--agent", "claude-code")
    code, told = at_a_terminal(project, b"n\n", *words)
    assert code == 64 and "Write this?" in told and "+++" in told and "SessionStart" in told
    assert not file.exists() and not (home / "segue" / "installed.json").exists()
    code, told = at_a_terminal(project, b"y\n", *words)
    assert code == 0 and file.exists() and "written" in told
    code, told = at_a_terminal(project, b"n\n", *words)
    assert code == 0 and "nothing to do" in told, "where nothing is to be done nobody is asked"
    code, told = at_a_terminal(project, b"n\n", "uninit", "--json")
    assert code == 64 and "Remove this?" in told and "---" in told and file.exists()
    code, told = at_a_terminal(project, b"", "uninit", "--yes")
    assert code == 0 and "?" not in told and not file.exists()


def test_where_nobody_can_answer_it_writes_only_what_was_confirmed_and_says_what(
    cli: Cli, project: Path
) -> None:
    refused = cli("init", "--agent", "claude-code", code=64)
    assert "--yes" in refused.err and not (project / ".claude").exists()
    told = cli("init", "--yes", "--agent", "claude-code").out
    assert str(project / ".claude" / "settings.local.json") in told and "+++" not in told


def test_without_an_agent_on_the_machine_it_says_what_to_do(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    told = cli("init", "--yes").out
    assert all(
        name in told for name in ("claude-code", "codex", "opencode", "gemini-cli", "cline", "agents-md")
    )
    assert "known:" in cli("init", "--agent", "emacs", code=64).err


def test_agents_that_are_there_are_found(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".codex").mkdir()
    (home / "bin").mkdir()
    (home / "bin" / "claude").write_text("#!/bin/sh\n")
    (home / "bin" / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert cli("init", "--dry-run", "--json").value["agents"] == ["claude-code", "codex"]


def test_a_pause_file_keeps_init_from_writing(cli: Cli, project: Path, home: Path) -> None:
    (project / "PAUSE").touch()
    cli("init", "--yes", "--agent", "claude-code", code=65)
    assert not (home / "segue" / "hook").exists()


# -- what agents run -------------------------------------------------------------------------------


def commands(home: Path, project: Path, cli: Cli, *words: str) -> dict[str, str]:
    """Event to command, as it was written for Claude Code."""
    cli("init", "--yes", "--agent", "claude-code", *words)
    name = "settings.json" if "--shared" in words else "settings.local.json"
    value = json.loads((project / ".claude" / name).read_text())
    return {event: rows[0]["hooks"][0]["command"] for event, rows in value["hooks"].items()}


def run(command: str, shell: str = "sh", **more: Any) -> subprocess.CompletedProcess[bytes]:
    told = b'{"session_id": "n", "source": "startup"}'
    return subprocess.run([shell, "-c", command], input=told, capture_output=True, timeout=60, **more)


@pytest.mark.parametrize("gone", ["hook", "home", "package", "interpreter", "nothing"])
def test_whatever_is_removed_every_hook_exits_0_and_says_nothing_wrong(
    cli: Cli, project: Path, home: Path, gone: str, tmp_path: Path
) -> None:
    found = commands(home, project, cli)
    data = home / "segue"
    if gone == "hook":
        (data / "hook" / "hook.py").unlink()
    elif gone == "home":
        shutil.rmtree(data)
    elif gone == "package":
        (data / "hook" / "paths").write_bytes(os.fsencode(tmp_path))
    for event, command in found.items():
        if gone == "interpreter":
            command = command.replace(shlex.quote(sys.executable), "/nowhere/python")
        done = run(command, cwd=project)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), (event, done)


def test_a_file_that_is_gone_would_block_prompts_were_it_not_guarded(project: Path) -> None:
    bare = f"{shlex.quote(sys.executable)} -I -S /nowhere/hook.py claude-code Stop speak"
    assert run(bare).returncode == 2


def test_spaces_and_quotes_in_paths_are_no_trouble(
    cli: Cli, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = home / "my data's home"
    monkeypatch.setenv("SEGUE_HOME", str(odd))
    found = commands(home, project, cli)
    done = run(found["SessionEnd"], cwd=project)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (odd / "segue.db").exists(), "it ran"


def test_a_shared_command_is_harmless_where_segue_is_absent(cli: Cli, project: Path, home: Path) -> None:
    found = commands(home, project, cli, "--shared")
    for command in found.values():
        assert str(home) not in command and sys.executable not in command
        assert run(command, env={"PATH": "/usr/bin:/bin"}, cwd=project).returncode == 0
    with_segue = {**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    assert run(found["SessionStart"], env=with_segue, cwd=project).returncode == 0


def test_an_upgrade_leaves_the_command_as_it_is(cli: Cli, project: Path, home: Path) -> None:
    before = commands(home, project, cli)
    (home / "segue" / "hook" / "hook.py").write_text("# of an older version\n")
    (home / "segue" / "hook" / "paths").write_text("/old")
    assert commands(home, project, cli) == before
    assert hook_file.file_of(DataFolder(home / "segue")).read_bytes() == hook_file.built()


@pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED: the plugin of OpenCode needs node")
def test_the_plugin_for_opencode_is_a_module_that_loads_and_answers_without_segue(
    cli: Cli, project: Path, home: Path
) -> None:
    (home / "config" / "opencode").mkdir(parents=True)
    cli("init", "--yes", "--agent", "opencode")
    plugin = home / "segue" / "hook" / "segue.js"
    (home / "segue" / "hook" / "hook.py").unlink()
    script = f"""
    import(process.argv[1]).then(async (module) => {{
      const hooks = await module.SeguePlugin({{ directory: {json.dumps(str(project))} }})
      const output = {{ system: [] }}
      await hooks["chat.message"]({{ sessionID: "s" }}, {{ parts: [] }})
      await hooks["experimental.chat.system.transform"]({{ sessionID: "s" }}, output)
      await hooks.event({{ event: {{ type: "session.idle", properties: {{ sessionID: "s" }} }} }})
      console.log(JSON.stringify(output))
    }})"""
    copy = plugin.with_suffix(".mjs")
    shutil.copy(plugin, copy)
    done = subprocess.run(["node", "-e", script, str(copy)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, '{"system":[]}\n'), done


def test_the_plugin_tree_is_in_the_package_and_is_rendered_for_this_machine(
    cli: Cli, project: Path, home: Path
) -> None:
    folder = home / "market"
    files = cli("init", "--yes", "--plugin", str(folder), "--json").value["files"]
    assert len(files) == 7
    plugin = folder / "plugins" / "segue"
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"]
    for rows in hooks.values():
        command = rows[0]["hooks"][0]["command"]
        assert "@" not in command
        assert run(command, cwd=project).returncode == 0
    for name in (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", ".mcp.json"):
        assert "@" not in json.dumps(json.loads((plugin / name).read_text()))
    names = {path.relative_to(folder).parts[0] for path in map(Path, files)}
    assert names == {".claude-plugin", "plugins"}


# -- doctor ----------------------------------------------------------------------------------------


def finding(cli: Cli, name: str, code: int = 0) -> dict[str, str]:
    found: dict[str, str] = next(
        one for one in cli("doctor", "--json", code=code).value if one["name"] == name
    )
    return found


def test_the_doctor_knows_whether_hooks_are_there_whole_and_ours(cli: Cli, project: Path, home: Path) -> None:
    assert finding(cli, "hooks")["detail"] == "none are installed"
    cli("init", "--yes", "--agent", "claude-code")
    assert finding(cli, "hooks") | {"hint": ""} == {
        "name": "hooks", "status": "ok", "detail": "in claude-code, with a status line", "hint": ""
    }  # fmt: skip
    (home / "segue" / "hook" / "paths").write_text("/elsewhere")
    assert finding(cli, "hooks")["status"] == "warn"
    (home / "segue" / "hook" / "hook.py").unlink()
    broken = finding(cli, "hooks", code=70)
    assert broken["status"] == "bad" and "segue init" in broken["hint"]


def test_without_the_mcp_sdk_no_server_is_installed_and_one_that_is_there_is_named(
    cli: Cli, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / ".claude.json"
    cli("init", "--yes", "--agent", "claude-code")
    assert "mcpServers" in file.read_text()
    monkeypatch.setitem(sys.modules, "mcp", None)  # as if it were not there
    found = finding(cli, "hooks")
    assert found["status"] == "warn" and "[mcp]'" in found["hint"]
    assert "[mcp]'" not in cli("uninit", "--yes").err
    assert not file.exists()
    told = cli("init", "--yes", "--agent", "claude-code")
    assert told.err == "" and not file.exists()
    last = told.out.splitlines()[-1]
    assert last.startswith("the MCP tools are optional; to add them, install Segue with the extra `mcp`: ")
    assert last.endswith("[mcp]', then run init again")
    assert last in cli("init", "--yes", "--agent", "claude-code", "--json").value["notes"]
    assert finding(cli, "hooks")["status"] == "ok"
    assert "MCP tools" not in cli("init", "--yes", "--agent", "claude-code", "--no-mcp").out


def test_the_doctor_counts_what_waits_in_the_spool(cli: Cli, project: Path, home: Path) -> None:
    found = commands(home, project, cli)
    assert finding(cli, "spool")["detail"].startswith("empty (")
    run(found["StopFailure"], cwd=project)
    assert finding(cli, "spool")["detail"].startswith("1 record from agents' hooks not read yet")
    cli("list")
    assert finding(cli, "spool")["detail"].startswith("empty (")
