"""The table of vendors' keys is data: every row says what it is, where that is documented, and as of when."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from segue.effects.redaction.rules import RULES
from segue.effects.redaction.vendors import DATED, VENDORS


def test_the_table_has_a_day():
    assert datetime.date.fromisoformat(DATED) <= datetime.date(2100, 1, 1)


def test_every_row_names_the_public_page_that_it_was_taken_from():
    for kind, pages, *_ in VENDORS:
        for page in pages.split():
            assert re.fullmatch(r"[a-z0-9.-]+\.[a-z]{2,}/[^\s]*|docs/[a-z/]+\.md", page), (kind, page)


def test_the_limits_say_when_the_table_was_last_gone_through():
    limits = (Path(__file__).parents[3] / "docs" / "limits.md").read_text(encoding="utf-8")
    assert f"last gone through on {DATED}" in limits


def test_every_row_is_a_rule():
    rules = {(rule.kind, rule.literals) for rule in RULES}
    assert {(kind, literals) for kind, _, literals, *_ in VENDORS} <= rules


def test_no_literal_is_in_two_rows_that_could_be_one():
    rows = [tuple(row[2:3]) + tuple(row[4:]) for row in VENDORS if len(row) == 4]
    assert len(rows) == len(set(rows))
