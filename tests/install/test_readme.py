"""What the README shows runs as it is written, in a clone, with an empty home."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest
from tests.install.conftest import ROOT, SECONDS, done

pytestmark = pytest.mark.timeout(900)
README = (ROOT / "README.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
BY_CI = {"make demo", "make test"}
"""What `.ci/run` runs: the tests themselves, which hold this one."""


def block(words: str, kind: str = "") -> str:
    [found] = [text for name, text in BLOCKS if name == kind and words in text]
    return found


def answered(script: str, cwd: Path, env: dict[str, str]) -> str:
    """What a script prints on a terminal on which every question is answered with yes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-e", "-c", script], cwd=cwd, env={**env, "TERM": "xterm"}, stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    told, ends = b"", time.monotonic() + SECONDS
    try:
        while time.monotonic() < ends:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # the terminal is closed
                break
            told += piece
            if not piece:
                break
            if re.search(rb"\[y/N\] ?$", told):
                os.write(ours, b"y\n")
                told += b"\n"
        code = process.wait(timeout=10)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    text = told.decode("utf-8", "replace")
    assert code == 0, f"exit code {code}:\n{text}"
    return text


@pytest.fixture
def installed(clone: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment of somebody who has done what the block about installing says."""
    home = Path(environment["HOME"])
    (home / ".claude").mkdir()  # Claude Code is what this user has
    project = home / "your-project"
    done("git", "init", "-q", project, cwd=home, env=environment)
    told = answered(block("pipx install ."), clone, environment)
    assert "next: claude-code found" in told and "Write this?" in told
    assert "segue" in (project / ".claude" / "settings.local.json").read_text()
    return environment


def test_no_block_of_the_readme_is_left_out() -> None:
    assert sorted(kind for kind, _ in BLOCKS) == ["", "", "console", "console", "python"]
    lines = [line.partition("#")[0].strip() for line in block("make demo").splitlines()]
    assert set(lines) == BY_CI and "make lint test test-all" in (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^test-install: demo ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_what_is_installed_as_the_readme_says_does_what_it_shows(
    installed: dict[str, str], clone: Path
) -> None:
    empty = clone / "empty"
    empty.mkdir(exist_ok=True)
    python = Path(installed["HOME"]) / ".local/share/pipx/venvs/segue/bin/python"
    env = {**installed, "PATH": f"{python.parent}:{installed['PATH']}"}
    shown = block("next_run_knows.py", "console")
    commands = [line[2:] for line in shown.splitlines() if line.startswith("$ ")]
    told = done("bash", "-e", "-c", "\n".join(commands), cwd=empty, env=env)
    expected = [line for line in shown.splitlines() if not line.startswith("$ ")]
    assert [line for line in told.splitlines()[1:] if line] == expected[1:]
    assert told.splitlines()[0].startswith("[segue] Where the last run stopped (codex, ")
    ledger = [line[2:] for line in block("segue ledger", "console").splitlines() if line.startswith("$ ")]
    told = done("bash", "-e", "-c", "\n".join(ledger), cwd=empty, env=env)
    assert "Never touch the legacy login in src/old. (user" in told and "withdrawn: " in told
    (empty / "library.py").write_text(block("from segue import Segue", "python"))
    done(python, "library.py", cwd=empty, env=env)
    assert "Refactor authentication to JWT" in done("segue", "status", cwd=empty, env=env)
