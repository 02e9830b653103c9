"""Completion as somebody at a terminal meets it: real shells complete what was typed, and run it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli
from tests.tidy.docs_completion import LISTS, generated

from segue.surfaces.cli.commands.completion import FOLDER, SHELLS

WAIT_SECONDS = 30.0
QUIET_SECONDS = 0.1
PROGRAM = """\
#!/bin/sh
# Stands for segue: answers what the scripts ask, and notes with which words it is called otherwise.
case "$*" in
  "list --all --ids") printf '%s\\n' jwt leak-hunt ;;
  "completion --words items") printf '%s\\n' "user model" "fix: the parser" "it's done" "a=b" ;;
  "completion --words features") echo login ;;
  "completion --words checkpoints") echo before-refactor ;;
  *) for word; do printf '%s\\n' "$word"; done > "$CALLED.new"; mv "$CALLED.new" "$CALLED" ;;
esac
"""
TYPED = [
    ("segue statu\t", ["status"]),
    ("segue --home x statu\t", ["--home", "x", "status"]),
    ("segue list --stat\tpa\t", ["list", "--status", "paused"]),
    ("segue status jw\t", ["status", "jwt"]),
    ("segue note -s jw\tx", ["note", "-s", "jwt", "x"]),
    ("segue switch leak\t", ["switch", "leak-hunt"]),
    ("segue help unb\t", ["help", "unblock"]),
    ("segue done us\t", ["done", "user model"]),
    ("segue done us\tfix\t", ["done", "user model", "fix: the parser"]),
    ('segue done "us\t', ["done", "user model"]),
    ("segue checkpoint --done it\t", ["checkpoint", "--done", "it's done"]),
    ("segue block us\t--reason x", ["block", "user model", "--reason", "x"]),
    ("segue unblock a\t", ["unblock", "a=b"]),
    ("segue verify --feature lo\t", ["verify", "--feature", "login"]),
    ("segue feature show lo\t", ["feature", "show", "login"]),
    ("segue rewind be\t", ["rewind", "before-refactor"]),
]
STARTS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "--interactive"],
}
LOADS = {
    "bash": "eval \"$(cat '{script}')\"; PS1='READY>'",
    "zsh": "fpath=('{folder}' $fpath); autoload -Uz compinit; compinit -u -D; PS1='READY>'",
    "fish": "source '{script}'; function fish_prompt; echo -n 'READY>'; end",
}


class Terminal:
    """A shell in a terminal of its own, with completion loaded."""

    def __init__(self, shell: str, folder: Path) -> None:
        program = folder / "bin" / "segue"
        program.parent.mkdir()
        program.write_text(PROGRAM)
        program.chmod(0o755)
        self.called = folder / "called"
        self._seen = ""
        loaded = folder / "functions" / "_segue"
        loaded.parent.mkdir()
        loaded.write_text((FOLDER / f"segue.{shell}").read_text())
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            environment = {
                **os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "CALLED": str(self.called),
                "HOME": str(folder), "TERM": "xterm", "COLUMNS": "200", "INPUTRC": "/dev/null",
            }  # fmt: skip
            os.chdir(folder)
            os.execvpe(shell, [shell, *STARTS[shell]], environment)
        self._settle()
        self._type(LOADS[shell].format(script=loaded, folder=loaded.parent) + "\r")
        self._wait_for("READY>")

    def run(self, line: str) -> list[str]:
        """The words with which segue was called after a line was typed, tabs and all."""
        self.called.unlink(missing_ok=True)
        for part in re.split("(\t)", line):
            if part:
                self._type(part)
                self._settle()
        self._type("\r")
        until = time.monotonic() + WAIT_SECONDS
        while not self.called.exists() and time.monotonic() < until:
            self._read(0.02)
        assert self.called.exists(), self._seen[-2000:]
        return self.called.read_text().splitlines()

    def _type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        self._seen += os.read(self._master, 65_536).decode(errors="replace")
        return True

    def _settle(self, seconds: float = 3.0) -> None:
        """Until the shell answered what was typed, and says no more: zsh takes a tab for a tab otherwise."""
        self._read(seconds)
        while self._read(QUIET_SECONDS):
            pass

    def _wait_for(self, text: str) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while text not in self._seen.replace(f"'{text}'", "") and time.monotonic() < until:
            self._read(0.02)
        assert text in self._seen, self._seen[-2000:]
        self._settle(QUIET_SECONDS)

    def close(self) -> None:
        os.close(self._master)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module", params=SHELLS)
def terminal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    if shutil.which(request.param) is None:
        pytest.skip(f"NOT TESTED: needs {request.param}")
    made = Terminal(request.param, tmp_path_factory.mktemp(request.param))
    yield made
    made.close()


@pytest.mark.parametrize(("line", "words"), TYPED)
def test_a_shell_completes_what_was_typed_and_runs_it(
    terminal: Terminal, line: str, words: list[str]
) -> None:
    assert terminal.run(line) == words


def test_the_words_that_the_scripts_ask_for_come_from_the_store(started: Cli) -> None:
    started("feature", "add", "login", "Users log in", "--check", "true")
    started("checkpoint", "--name", "before-refactor")
    started("block", "token validation")
    asked = {kind: started(*line.split()[1:]).out.splitlines() for kind, line in LISTS.items()}
    assert asked == {
        "sessions": ["jwt"], "features": ["login"], "checkpoints": ["before-refactor"],
        "items": ["auth middleware", "analyse codebase", "token validation"],
        "entries": ["done", "drop", "reopen", "edit", "add"],
    }  # fmt: skip
    assert started("completion", "--words", "items", "--json").value == asked["items"]


def test_where_nothing_is_stored_no_words_are_found_and_no_store_is_made(cli: Cli, home: Path) -> None:
    for kind in ("items", "features", "checkpoints", "entries"):
        assert cli("completion", "--words", kind, code=64).out == ""
    assert not (home / "segue").exists()


def test_without_a_shell_it_asks_which(cli: Cli) -> None:
    assert "which shell?" in cli("completion", code=64).err


@pytest.mark.parametrize("shell", SHELLS)
def test_the_committed_scripts_are_what_the_parsers_say(shell: str) -> None:
    assert (FOLDER / f"segue.{shell}").read_text() == generated(shell), "run `make docs`"


def test_printing_a_script_needs_no_shtab(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli("completion", "bash").out == (FOLDER / "segue.bash").read_text()
