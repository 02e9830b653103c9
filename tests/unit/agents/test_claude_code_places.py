"""Where in a file Claude Code changed something, from the copy that it keeps of what was there before."""

from __future__ import annotations

import pytest
from tests.unit.agents.test_claude_code_background import result, told

from segue.core.runs.steps import Result


@pytest.mark.parametrize(
    ("after", "place"),
    [
        ("def a():\n    return 1\n\ndef b():\n    return 3\n", "def b():"),
        ("def a():\n    return 1\n\ndef b():\n    return 2\n", ""),
    ],
)
def test_a_file_that_was_written_over_is_placed_by_what_changed(after: str, place: str) -> None:
    before = "def a():\n    return 1\n\ndef b():\n    return 2\n"
    raw = {"type": "update", "filePath": "/x/a.py", "content": after, "originalFile": before}
    said = "The file /x/a.py has been updated successfully."
    [step] = [step for step in told(result(said, raw=raw)) if isinstance(step, Result)]
    assert step.overwrote and step.place == place
