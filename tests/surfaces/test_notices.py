"""Notices of a supervised run: by the terminal on the desktop, by a command of the user's, or not at all."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Cli
from tests.surfaces.test_run import CHECK, GOOD, ROOT, STANDIN, World, world

from segue.services.supervision import notify
from segue.services.supervision.notify import osc9, run_notify_command

__all__ = ["world"]
AGENTS = ("claude", "opencode")
OSC = re.compile(rb"\x1b\]9;([^\x07\x1b]*)\x07")


@pytest.fixture(autouse=True)
def usual_places(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Agents keep their files where they usually do; the terminal is one that knows notices."""
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    yield


@pytest.fixture
def opencode(world: World) -> World:
    """The same world with a stand-in that leaves transcripts of OpenCode."""
    program = world.folder / "bin" / "opencode"
    program.write_text(f'#!/bin/sh\nSTANDIN_AGENT=opencode exec "{sys.executable}" "{STANDIN}" "$@"\n')
    program.chmod(0o755)
    return world


@pytest.fixture
def heard(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a command of the user's own writes down what it is told."""
    file = world.folder / "heard.jsonl"
    script = world.folder / "tell me"
    script.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"line = json.dumps({{'words': sys.argv[1:], 'json': json.load(sys.stdin)}})\n"
        f"open({str(file)!r}, 'a').write(line + '\\n')\nprint('noise', file=sys.stderr)\nprint('noise')\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SEGUE_NOTIFY_COMMAND", f"'{script}' --loud")
    return file


def told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def on_terminal(world: World, *words: str, to: str = "both") -> tuple[int, bytes, bytes]:
    """(exit code, what the terminal got, what a pipe in the place of standard output got)."""
    ours, theirs = os.openpty()
    out = theirs if to == "both" else subprocess.PIPE
    running = subprocess.Popen(
        [sys.executable, "-m", "segue", "run", *words], cwd=world.project, stdin=theirs, stdout=out,
        stderr=theirs, start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    piped = running.communicate(timeout=60)[0] if to != "both" else b""
    return running.wait(60), shown, piped


# -- on the terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_terminal_is_told_when_a_run_ends_and_when_its_window_is_full(opencode: World, agent: str) -> None:
    opencode.lives({"tokens": 170_000, "silent": 3}, GOOD)
    code, shown, _ = on_terminal(opencode, "Make good.txt", *CHECK, "--agent", agent)
    assert code == 0, shown
    full, ended = OSC.findall(shown)
    assert b"its window is 85 % full" in full and agent.encode() in full
    assert ended == b"segue: done: 1 of 1 proven"


def test_nothing_goes_into_a_pipe_and_the_terminal_beside_it_is_told(world: World) -> None:
    world.lives(GOOD)
    code, shown, piped = on_terminal(world, "Make good.txt", *CHECK, "--agent", "claude", "--json", to="pipe")
    assert code == 0 and OSC.findall(shown) == [b"segue: done: 1 of 1 proven"]
    assert b"\x1b" not in piped and all(json.loads(line) for line in piped.splitlines())


def test_without_a_terminal_nothing_is_written(world: World, cli: Cli) -> None:
    world.lives(GOOD)
    ran = cli("run", "Make good.txt", *CHECK, "--agent", "claude")
    assert "\x1b" not in ran.out + ran.err


def test_an_agents_own_screen_is_not_disturbed_while_it_draws(world: World) -> None:
    world.lives({"tokens": 170_000, "silent": 3}, GOOD)
    code, shown, _ = on_terminal(world, "Make good.txt", *CHECK, "--agent", "claude", "--interactive")
    assert code == 0, shown
    assert OSC.findall(shown) == [b"segue: done: 1 of 1 proven"], "only what comes after it has ended"


@pytest.mark.parametrize(("name", "value"), [("SEGUE_NOTIFY", "off"), ("TERM", "dumb"), ("TERM", "linux")])
def test_it_can_be_off_and_is_where_the_terminal_does_not_know_it(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    world.lives(GOOD)
    code, shown, _ = on_terminal(world, "Make good.txt", *CHECK, "--agent", "claude")
    assert code == 0 and b"\x1b]9" not in shown


def test_no_text_ends_the_sequence_early_and_tmux_passes_it_on() -> None:
    assert osc9("a\x07b\x1b]0;c\nd", {"TERM": "xterm"}) == "\x1b]9;ab]0;cd\x07"
    inside = osc9("a", {"TERM": "tmux-256color", "TMUX": "/tmp/x"})
    assert inside == "\x1bPtmux;\x1b\x1b]9;a\x07\x1b\\"


# -- by a command ----------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_command_gets_the_words_and_all_of_it_as_json(
    opencode: World, cli: Cli, heard: Path, agent: str
) -> None:
    opencode.lives({"tokens": 170_000, "silent": 3}, GOOD)
    ran = cli("run", "Make good.txt", *CHECK, "--agent", agent)
    assert "noise" not in ran.out + ran.err and ran.err == ""
    full, ended = told(heard)
    assert full["words"] == ["--loud", full["json"]["text"]]
    assert full["json"]["kind"] == "window" and full["json"]["share"] >= 0.8
    assert ended["words"] == ["--loud", "segue: done: 1 of 1 proven"]
    assert ended["json"] == {
        **ended["json"], "kind": "ended", "outcome": "done", "folder": str(opencode.project), "launch": 2,
        "session": cli("list", "--ids").out.strip(),
    }  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS)
def test_a_question_of_the_agent_and_one_in_the_session_reach_the_user(
    opencode: World, cli: Cli, heard: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "QUESTIONS_SECONDS", 0.2)
    port, key = "Which port should it use?", "Who owns the key?"
    opencode.lives({"ask": port, "until": (str(heard), port, key), **GOOD})
    lives = opencode.folder / "prompts.jsonl"
    script = f"until [ -s {lives} ]; do sleep .1; done; {sys.executable} -m segue ask '{key}'"
    asked = subprocess.Popen(["sh", "-c", script], cwd=opencode.project, stdout=subprocess.DEVNULL)
    cli("start", "Make good.txt", "--id", "good")
    ran = cli("run", "-s", "good", *CHECK, "--agent", agent)
    asked.wait(60)
    texts = [one["json"]["text"] for one in told(heard) if one["json"]["kind"] == "question"]
    assert any(f"needs you: {port}" in text for text in texts), (texts, ran.out)
    assert f"segue: a question for you: {key}" in texts
    assert f"asks: {port}" in ran.out


def test_work_that_only_the_user_can_go_on_with_needs_an_answer(world: World, cli: Cli, heard: Path) -> None:
    world.lives({"fault": "Invalid API key", "status": 401})
    cli("run", "Make good.txt", *CHECK, "--agent", "claude", code=69)
    [last] = told(heard)
    assert last["json"]["kind"] == "question" and last["json"]["outcome"] == "auth"
    assert last["words"][-1].startswith("segue: needs you: claude-code has no access")


@pytest.mark.parametrize(
    ("command", "why"),
    [("/nowhere/tell", "/nowhere/tell cannot be run"), ("false", "false exited with 1")],
)
def test_a_command_that_fails_is_named_once_and_harms_nothing(
    world: World, cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, why: str
) -> None:
    monkeypatch.setenv("SEGUE_NOTIFY_COMMAND", command)
    world.lives({"tokens": 170_000, "silent": 2}, GOOD)
    ran = cli("run", "Make good.txt", *CHECK, "--agent", "claude")
    assert ran.err.count("a notice could not be sent") == 1 and why in ran.err
    assert "done: 1 of 1 proven" in ran.out


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    began = time.monotonic()
    words = ["sh", "-c", f"sleep 61 & echo $! > {tmp_path}/pid; wait"]
    assert (
        run_notify_command(words, b"{}", tmp_path, dict(os.environ), 0.5) == "sh took longer than 0.5 seconds"
    )
    assert time.monotonic() - began < 10
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and _state(pid) != "Z" and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists() or _state(pid) == "Z"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_setting_that_cannot_be_understood_is_refused_before_an_agent_starts(
    world: World, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.lives(GOOD)
    monkeypatch.setenv("SEGUE_NOTIFY", "loudly")
    assert "notify: 'loudly' is not a way" in cli("run", "x", "--agent", "claude", code=64).err
    monkeypatch.setenv("SEGUE_NOTIFY", "terminal")
    monkeypatch.setenv("SEGUE_NOTIFY_COMMAND", "tell 'me")
    assert "notify_command cannot be parsed" in cli("run", "x", "--agent", "claude", code=64).err
    assert not world.prompts


def test_a_project_cannot_name_the_command(world: World, cli: Cli, project: Path) -> None:
    (project / "segue.toml").write_text('notify_command = "touch owned"\n')
    assert "may not be set by a project" in cli("trust", "--yes", code=64).err + cli("status").err


def test_the_words_are_masked_safe_and_few(world: World, cli: Cli, heard: Path) -> None:
    secret = "ghp_wJk3Zt9QmX5rVb2LcN8sYd4FhG7aPeT1uKo0"
    question = f"Use {secret} \x1b[31mhere? " + "long " * 100
    world.lives({"ask": question, "silent": 2, **GOOD})
    cli("run", "Make good.txt", *CHECK, "--agent", "claude")
    words = next(one["words"][-1] for one in told(heard) if one["json"]["kind"] == "question")
    assert secret not in words and "\x1b" not in words and len(words) <= 200
