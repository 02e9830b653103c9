"""Runs the Python of a guide to an integration, from its first line on, as one program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def guide(name: str) -> str:
    """The text of a guide."""
    return (ROOT / "docs" / "guides" / f"{name}.md").read_text(encoding="utf-8")


def release(package: str) -> tuple[int, ...]:
    """The installed version of a package, as numbers."""
    return tuple(int(part) for part in version(package).split(".")[:3] if part.isdecimal())


def run_guide(name: str, folder: Path, **environment: str) -> str:
    """What its program prints, in a project of its own."""
    project = folder / "shop"
    project.mkdir()
    script = folder / "page.py"
    script.write_text("\n".join(BLOCK.findall(guide(name))), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=project, capture_output=True, text=True, timeout=110, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
