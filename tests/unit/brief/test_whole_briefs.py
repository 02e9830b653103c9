"""The briefs of the guide's ten runs at several budgets, whole, as they are written down in
``whole_briefs.txt``.

The examples say which lines a brief must have. This says that nothing else changes unseen: whoever changes
the words or the shares of a brief reads here what becomes of ten runs, from 256 bytes to 4,096.
``python -m tests.unit.brief.test_whole_briefs`` writes the file anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.brief_examples import Example, examples

HERE = Path(__file__).parent
WHOLE = HERE / "whole_briefs.txt"
BUDGETS = (256, 420, 700, 1_000, 1_400, 2_048, 4_096)
CASES = list(examples(HERE / "examples" / "guide.txt"))


def told(case: Example) -> Iterator[tuple[str, str]]:
    """A heading and the brief, for each budget that gives another brief than the one before."""
    before = ""
    for budget in BUDGETS:
        text = case.brief(budget)
        if text != before:
            yield f"#### {case.name}, in {budget} bytes", text
        before = text


def written() -> str:
    return "\n".join(f"{heading}\n{text}\n" for case in CASES for heading, text in told(case))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_brief_is_the_one_that_is_written_down(case: Example) -> None:
    blocks = WHOLE.read_text(encoding="utf-8").split("#### ")[1:]
    expected = {
        f"#### {heading}": text.strip("\n")
        for heading, _, text in (block.partition("\n") for block in blocks)
    }
    mine = {
        heading: text for heading, text in expected.items() if heading.startswith(f"#### {case.name}, in ")
    }
    assert dict(told(case)) == mine


if __name__ == "__main__":
    WHOLE.write_text(written(), encoding="utf-8")
    print(f"wrote {WHOLE.name}")
