"""Every way to install that is documented works, and the doctor says what comes next."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.install.conftest import done

from segue import __version__

pytestmark = pytest.mark.timeout(900)
WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "uv tool": (("uv", "tool", "install", "segue"), ("segue",)),
    "uvx": ((), ("uvx", "segue")),
    "pipx": (("pipx", "install", "segue"), ("segue",)),
    "pip": (("venv/bin/pip", "install", "segue"), ("venv/bin/segue",)),
}
"""How it is installed, and how it is called then."""


@pytest.mark.parametrize("way", WAYS)
def test_an_installation_works_and_the_doctor_says_what_to_do_first(
    way: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    install, call = WAYS[way]
    project = tmp_path / "project"
    project.mkdir()
    if way == "pip":
        done(sys.executable, "-m", "venv", "venv", cwd=project, env=environment)
    if install:
        done("env", *install, cwd=project, env=environment)
    assert (
        done("env", *call, "--version", cwd=project, env=environment).strip().endswith(f"segue {__version__}")
    )
    told = done("env", *call, "doctor", cwd=project, env=environment)
    assert "next: no agent that Segue knows was found" in told and "`segue init`" in told
    (Path(environment["HOME"]) / ".claude").mkdir()
    assert "next: claude-code found; run `segue init`" in done(
        "env", *call, "doctor", cwd=project, env=environment
    )
    done("env", *call, "start", "Ship it", cwd=project, env=environment)
    assert "Ship it" in done("env", *call, "status", cwd=project, env=environment)
    assert "next:" not in done("env", *call, "doctor", cwd=project, env=environment)
