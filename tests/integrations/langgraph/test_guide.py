"""The guide is true: it runs from its first line, and names the versions that it was tested with."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "langgraph.md"


def test_the_python_of_the_guide_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, len(blocks)) == (0, 4), done.stderr


def test_the_guide_names_versions_that_are_not_newer_than_these() -> None:
    told = re.search(r"langgraph ([\d.]+\d), langgraph-checkpoint ([\d.]+\d)", GUIDE.read_text())
    assert told is not None
    for name, number in zip(("langgraph", "langgraph-checkpoint"), told.groups(), strict=True):
        here = tuple(int(part) for part in version(name).split(".")[:2])
        assert here >= tuple(int(part) for part in number.split(".")[:2])
