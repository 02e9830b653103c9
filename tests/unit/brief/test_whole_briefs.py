"""Whole briefs, as they are written down in ``whole_briefs.txt``: of every example, some of them at several
sizes, and of the guide's runs also as manifests.

The examples say which lines a brief must have. This says that nothing else changes unseen: whoever changes
the words or the shares of a brief reads here what becomes of all of them.
``python -m tests.unit.brief.test_whole_briefs`` writes the file anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.brief_examples import Example, examples

HERE = Path(__file__).parent
WHOLE = HERE / "whole_briefs.txt"
BUDGETS = (256, 420, 700, 1_000, 1_400, 2_048, 4_096)
CASES = [case for path in sorted((HERE / "examples").glob("*.txt")) for case in examples(path)]
_TIME = re.compile(r'"(?:timestamp|created_at|prepared_at)":\s*"[^"]*"')


def told(case: Example) -> Iterator[tuple[str, str]]:
    """A heading and the brief; of a run of the guide, and of a case that says so, for each size that gives
    another brief than the one before; of a run of the guide also its manifest."""
    before = ""
    for budget in BUDGETS if case.agent or case.sized else (case.bytes,):
        text = "\n".join(case.lines(budget))
        if text != before:
            yield f"#### {case.name}, in {budget} bytes", text
        before = text
    if case.agent:
        yield f"#### {case.name}, as a manifest", _TIME.sub('"…"', case.brief(form="json"))


def written() -> str:
    return "\n".join(f"{heading}\n{text}\n" for case in CASES for heading, text in told(case))


@pytest.fixture(scope="module")
def whole() -> dict[str, str]:
    blocks = f"\n{WHOLE.read_text(encoding='utf-8')}".split("\n#### ")[1:]
    return {
        f"#### {heading}": text.strip("\n") for heading, _, text in (one.partition("\n") for one in blocks)
    }


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_brief_is_the_one_that_is_written_down(case: Example, whole: dict[str, str]) -> None:
    for heading, text in told(case):
        assert text.strip("\n") == whole.get(heading, "nothing is written down"), heading


def test_nothing_else_is_written_down(whole: dict[str, str]) -> None:
    assert set(whole) == {heading for case in CASES for heading, _ in told(case)}


if __name__ == "__main__":
    WHOLE.write_text(written(), encoding="utf-8")
    print(f"wrote {WHOLE.name}")
