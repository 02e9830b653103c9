"""The interpreter of a project is asked for its version, unless it may have come with the project."""

from __future__ import annotations

import sys
from pathlib import Path

from segue.effects.surroundings import asked_version, python_of


def environment(root: Path, *, version: str = "3.9.1") -> Path:
    folder = root / ".venv"
    python_of(folder).parent.mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"version = {version}\n")
    return folder


def program(path: Path, canary: Path) -> None:
    path.write_text(f"#!/bin/sh\ntouch '{canary}'\necho 3.9.1\n")
    path.chmod(0o755)


def test_a_linked_interpreter_says_its_version_itself(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    python_of(folder).symlink_to(sys.executable)
    assert asked_version(tmp_path, folder, 10) == ".".join(map(str, sys.version_info[:3]))


def test_an_interpreter_inside_the_project_is_not_run(tmp_path: Path) -> None:
    root, canary = tmp_path / "project", tmp_path / "canary"
    folder = environment(root)
    program(root / "python3", canary)
    python_of(folder).symlink_to("../../python3")
    assert asked_version(root, folder, 10) == "3.9.1" and not canary.exists()
    python_of(folder).unlink()
    program(python_of(folder), canary)
    assert asked_version(root, folder, 10) == "3.9.1" and not canary.exists()


def test_an_interpreter_that_is_gone_does_not_run(tmp_path: Path) -> None:
    folder = environment(tmp_path / "project")
    python_of(folder).symlink_to(tmp_path / "removed" / "python3")
    assert asked_version(tmp_path / "project", folder, 10) == ""
