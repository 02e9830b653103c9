"""The truth check on what a brief tells of the ledger: no lie in a true brief, and each planted one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.resume.truth.sources import Source
from tests.support.judged_briefs import judged, made

from segue.services.brief.brief import brief_of_transcript

SAID = r"""
folder /home/ann/shop
branch main
clock 2026-03-03 09:00
user Move the shop to cents:\n1. parse the amounts as cents\n2. round the rates half even\n3. write the totals\nNever push to the release branch. Prices of old invoices must stay as they are, to the last digit.
say I start with the parser, then the rates, then the totals. The parser gets a function of its own so that the importer can use it, and the rates come from strings because floats lose the last digit.
plan [>] parse the amounts as cents; [ ] round the rates half even; [ ] compare old invoices
edit /home/ann/shop/src/parser.py | a = float(x) | amount = round(float(x) * 100)
ok The file has been updated
ask How should a tie be rounded?
ok User has answered your questions: "How should a tie be rounded?"="Half even". You can now continue.
say I decided to keep the rates as strings instead of floats. I tried Decimal.quantize first, but it did not work with negative rates.
plan [x] parse the amounts as cents; [>] round the rates half even; [ ] compare old invoices
run pytest -q
ok 12 passed
clock 2026-03-04 09:00
user Also add a column for the currency to the export of the cart.
run ls
ok src
user You may push to the release branch of the fork. Then look at the labels of the menu.
run cat menu.txt
ok labels of drinks
"""  # noqa: E501


@pytest.fixture
def said(tmp_path: Path) -> Source:
    return made(SAID, tmp_path)


@pytest.mark.parametrize("size", [1_000, 2_048, 8_192, 12_288])
def test_what_was_said_and_holds_is_checked_in_every_size(size: int, said: Source) -> None:
    found = judged(brief_of_transcript(said.path, said.agent, budget=size), said)
    assert [one for one in found if one.verdict != "true"] == []
    kinds = {one.kind for one in found}
    assert kinds >= {"request", "rule", "choice", "open item"}
    assert size < 2_048 or kinds >= {"plan", "attempt"}
    assert ("passage" in kinds) == (size >= 8_192)


LIES_ABOUT_WORDS = [
    ("request", r"parse|1\. \[done\]", "1. parse the amounts as euros"),
    ("request", r"2\. round the rates half even", "2. [done]"),
    ("request", r"REQUEST \(2026-03-03\)", "REQUEST"),
    ("request", r"REQUEST \(2026-03-03\)", "REQUEST (2026-03-02)"),
    ("request", r"a column for the currency", "a column for the customer"),
    ("request", r"(REQUEST \(.*)\n(REQUEST: .*)", r"\2\n\1"),
    ("rule", r"RULES: (.*?)Never push", r"RULES: \1Never merge"),
    ("rule", r"\(but: You may push", "(but: You may not push"),
    ("rule", r"(RULES: .*)", r"\1 | Always answer in French."),
    ("choice", r"DECIDED: Half even", "DECIDED: Half up"),
    ("choice", r"\(asked: How should a tie be rounded", "(asked: How should a rate be rounded"),
    ("choice", r"the agent: I decided to keep the rates as strings", "the agent: I decided to keep floats"),
    ("attempt", r"TRIED: I tried Decimal.quantize", "TRIED: I tried Decimal.round"),
    ("plan", r"PLAN: \"I start with the parser", 'PLAN: "I start with the menu'),
    ("plan", r"PLAN: \".*\"", 'PLAN: "I decided to keep the rates as strings instead of floats."'),
    ("open item", r"1 of 3 done", "2 of 3 done"),
    ("open item", r"from before: .*", "nothing"),
    ("open item", r"compare old invoices", "parse the amounts as cents"),
    ("passage", r"\| labels of drinks", "| labels of meals"),
    ("passage", r"  user: Move the shop to cents", "  user: Move the shop to euros"),
    ("passage", r"\| \+amount = ", "| +totals = "),
]


@pytest.mark.parametrize(
    ("kind", "true", "false"), LIES_ABOUT_WORDS, ids=lambda text: re.sub(r"\W+", " ", text)
)
def test_a_lie_about_what_was_said_is_reported(kind: str, true: str, false: str, said: Source) -> None:
    brief = brief_of_transcript(said.path, said.agent, budget=12_288)
    lie = re.sub(true, false, brief, count=1)
    assert lie != brief, brief
    assert kind in {one.kind for one in judged(lie, said) if one.verdict == "false"}, lie


NO_LONGER_SAID = [
    (
        "a rule that was taken back",
        "user Never push to the release branch.\nsay Noted.\nuser Forget that, pushing to the release branch "
        "is allowed, you no longer need to avoid the release branch push.",
        "RULES: Never push to the release branch.",
    ),
    (
        "a request that was taken back",
        "user Also add a column for the currency\nsay Yes.\nuser Never mind the column for the currency.",
        'REQUEST: "Also add a column for the currency"',
    ),
    (
        "the answer to a question that was asked again",
        'ask Tabs or spaces?\nok "Tabs or spaces?"="Tabs"\n'
        'ask Tabs or spaces?\nok "Tabs or spaces?"="Spaces"',
        "DECIDED: Tabs (asked: Tabs or spaces?)",
    ),
    (
        "an item that the agent took out of its list",
        "plan [ ] parse the cents; [ ] round the rates\nplan [ ] parse the cents",
        "OPEN (0 of 2 done): parse the cents; round the rates",
    ),
    (
        "an item that the agent said is done",
        "plan [ ] parse the cents; [ ] round the rates\nsay ✅ Round the rates",
        "OPEN (0 of 2 done): parse the cents; round the rates",
    ),
    (
        "points that are left, though the list has one as done",
        "user Please:\\n1. parse the cents\\n2. round the rates\n"
        "plan [x] parse the cents; [ ] round the rates",
        'REQUEST: "Please: 1. parse the cents 2. round the rates"\n'
        "  POINTS (0 of 2 done): 1. parse the cents; 2. round the rates",
    ),
    (
        "more points than there are",
        "user Please:\\n1. parse the cents\\n2. round the rates",
        'REQUEST: "Please: 1. parse the cents 2. round the rates"\n'
        "  POINTS (1 of 2 done): 1. parse the cents; 2. round the rates",
    ),
    (
        "an answer to what was not asked",
        "say Shall I round the rates?\nuser yes",
        'USER (nothing came after it): "yes"\n  IN REPLY TO: "Shall I drop the rates?"',
    ),
    (
        "a plan that answers another message",
        "user Move the totals\nsay I look at it.\nuser Why are there two exporters in this shop?\n"
        "say There are two because the old one writes a file for each customer and the new one a single file "
        "for the whole day, and nobody has moved the customers of the first shop to the second one yet.",
        'REQUEST: "Move the totals"\nAGENT\'S PLAN: "There are two because the old one writes a file for '
        'each customer and the new one"',
    ),
    (
        "a request that nobody has answered",
        "user Move the totals",
        'ANSWERED (before, the last first): "Move the totals"',
    ),
    (
        "too few messages that are cut",
        "user Move the totals of the shop to the exporter and the rates to the parser",
        'REQUEST: "Keep…"\nUSER (nothing came after it): "Move the totals…"\n'
        "  (1 of 2 messages are cut here: `segue ledger` has all of it)",
    ),
    (
        "messages that are said to be left out",
        "user Move the totals",
        'REQUEST: "Keep cents"\nUSER (nothing came after it): "Move the totals"\n'
        "  (of 4 messages 3 are left out here: `segue ledger` has all of it)",
    ),
    (
        "a check that was called again and has a result",
        "run pytest -q\nexit 1 1 failed\nrun pytest -q\nexit 1 1 failed",
        'TREE: FAILING, called again without a result: `pytest -q`: "1 failed"',
    ),
    (
        "a failure of an earlier run that nobody told of",
        "run ls\nok a",
        'TREE: FAILING: `pytest -q`: "1 failed" (in an earlier run, not run since)',
    ),
]


@pytest.mark.parametrize(
    ("steps", "lines"), [case[1:] for case in NO_LONGER_SAID], ids=[case[0] for case in NO_LONGER_SAID]
)
def test_what_holds_no_more_or_was_never_said_is_false(steps: str, lines: str, tmp_path: Path) -> None:
    source = made(f"user Keep cents\n{steps}", tmp_path)
    assert [one for one in judged(lines, source) if one.verdict == "false"]


OURS = [case for case in NO_LONGER_SAID if "said is done" not in case[0]]
"""An agent's word alone closes no item: see docs/guides/ledger.md."""


@pytest.mark.parametrize("steps", [case[1] for case in OURS], ids=[case[0] for case in OURS])
def test_what_our_brief_says_of_those_words_is_true(steps: str, tmp_path: Path) -> None:
    source = made(f"user Keep cents\n{steps}", tmp_path)
    brief = brief_of_transcript(source.path, source.agent)
    assert [one for one in judged(brief, source) if one.verdict == "false"] == [], brief
