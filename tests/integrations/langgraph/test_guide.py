"""The guide is true: it runs from its first line, and names the versions that it was tested with."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integrations.guides import BLOCK, guide, release, run_guide


def test_the_python_of_the_guide_runs_from_its_first_line(tmp_path: Path) -> None:
    assert len(BLOCK.findall(guide("langgraph"))) == 4
    assert run_guide("langgraph", tmp_path) == ""


def test_the_installed_versions_are_not_older_than_those_that_the_guide_names_as_tested() -> None:
    told = re.search(r"langgraph ([\d.]+\d) and langgraph-checkpoint ([\d.]+\d)", guide("langgraph"))
    assert told is not None
    for name, number in zip(("langgraph", "langgraph-checkpoint"), told.groups(), strict=True):
        assert release(name) >= tuple(map(int, number.split(".")))
