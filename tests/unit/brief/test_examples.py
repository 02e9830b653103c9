"""The rules of the brief, each by a case that a person can read: see ``examples/`` and add yours there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.brief_examples import Example, examples

CASES = [
    case for path in sorted((Path(__file__).parent / "examples").glob("*.txt")) for case in examples(path)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_brief_says_what_the_example_says(case: Example) -> None:
    lines = case.lines()
    brief = "\n".join(lines)
    for wanted in case.expected:
        assert any(wanted in line for line in lines), f"not there: {wanted}\n\n{brief}"
    for words in case.absent:
        assert words not in brief, f"should not be there: {words}\n\n{brief}"
    assert len(case.brief().encode()) <= case.bytes


def test_no_two_examples_have_one_name() -> None:
    names = [case.name for case in CASES]
    assert len(names) > 40 and len(set(names)) == len(names)
