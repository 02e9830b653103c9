"""A run that ended before it changed anything is told together with the run before it."""

from __future__ import annotations

import pytest
from tests.support.briefs import known

from segue.core.brief.compose import compose
from segue.core.brief.empty_runs import did_nothing, joined_with_empty
from segue.core.brief.facts import facts
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, End, Fault, Given, Plan, PlanItem, Prompt, Result, Say, Start, Step

WORK: list[Step] = [
    Prompt(1, "Rework the invoice parser so that amounts are kept in cents"),
    Plan(2, (PlanItem("Round the totals", "active"), PlanItem("Describe the parser"))),
    Call(3, "c", "Bash", "run", "pytest -q", "pytest -q"),
    Result(4, "c", ok=False, exit=1, text="E AssertionError: 12.5\n1 failed"),
    Say(5, "One test fails. Shall I change the rounding?"),
    End(6),
]
LOOK = Call(2, "s", "Bash", "run", "segue brief", "segue brief")


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [Given(1, "[segue] Where the last run stopped.\nGOAL: x\n[/segue]")],
        [Prompt(1, "go on")],
        [Prompt(1, "go on"), Say(2, "Sure, I look at it.")],
        [Prompt(1, "go on"), Fault(2, "overloaded", 529)],
        [Prompt(1, "go on"), LOOK],
        [Prompt(1, "go on"), Call(2, "m", "mcp__segue__resume", "other")],
        [Prompt(1, "go on"), Plan(2, (PlanItem("Round the totals"),))],
        [Prompt(1, "go on"), Call(2, "c", "Bash", "run", "ls", "ls")],
        [Prompt(1, "go on"), Call(2, "c", "Read", "read", paths=("a.py",)), Result(3, "c", text="x = 1")],
    ],
    ids=[
        "nothing",
        "a brief",
        "a prompt",
        "a word",
        "a fault",
        "our command",
        "our tool",
        "a plan",
        "a look",
        "a read",
    ],
)
def test_a_run_that_did_nothing_hides_nothing(steps: list[Step]) -> None:
    empty = fold([Start(0, "start", "r2"), *steps])
    assert did_nothing(empty)
    text = compose(known(WORK, [Start(0, "start", "r2"), *steps], joins=True))
    for fact in ("invoice parser", "$ pytest -q → FAILED", "FAILING: `pytest -q`", "Describe the parser"):
        assert fact in text, (fact, text)
    assert "Shall I change the rounding?" in text


@pytest.mark.parametrize(
    "steps",
    [
        [Prompt(1, "Look at it"), Call(2, "c", "Bash", "run", "ls", "ls")],
        [Prompt(1, "go on"), Call(2, "c", "Bash", "run", "ls", "ls"), Result(3, "c", text="a"), End(4)],
        [Prompt(1, "go on"), *(Call(2 + n, f"c{n}", "Bash", "run", "ls", "ls") for n in range(4))],
        [Prompt(1, "What does it do?"), Say(2, "It parses invoices."), End(3)],
        [Prompt(1, "What does it do?"), Say(2, "It parses invoices, row by row. " * 20)],
        [Prompt(1, "go on"), LOOK, Call(3, "e", "Edit", "edit", paths=("a.py",))],
        [Prompt(1, "go on"), Call(2, "c", "Bash", "run", "make docs", "make docs")],
    ],
)
def test_a_run_that_called_or_answered_something_stands_for_itself(steps: list[Step]) -> None:
    assert not did_nothing(fold(steps))


def test_a_run_that_was_told_to_go_on_and_only_said_something_hides_nothing() -> None:
    killed = [*WORK[:4], Call(5, "s", "Bash", "run", "make soak", "make soak")]
    only_words = fold([Prompt(1, "go on"), Say(2, "I go on with the rounding."), End(3)])
    assert did_nothing(only_words)
    [joined] = joined_with_empty([only_words, fold(killed)])
    text = compose(facts([joined]))
    for fact in ("$ pytest -q → FAILED", "make soak", "NO RESULT YET", "I go on with the rounding."):
        assert fact in text, (fact, text)
    assert "nothing came after it" not in text


def test_the_prompt_of_a_run_that_did_nothing_is_the_last_message_and_answers_the_run_before() -> None:
    [joined] = joined_with_empty([fold([Prompt(1, "yes")]), fold(WORK)])
    text = compose(facts([joined]))
    assert 'USER (nothing came after it): "yes"' in text
    assert 'IN REPLY TO: "One test fails. Shall I change the rounding?"' in text
    assert "its turn was over" not in text, "the user has answered"


def test_the_rules_and_the_fault_of_a_run_that_did_nothing_are_told() -> None:
    later: list[Step] = [Prompt(1, "go on. Never push to main."), Fault(2, "overloaded", 529)]
    text = compose(known(WORK, later, joins=True))
    assert "the model could not be reached" in text and '"overloaded"' in text
    assert "Never push to main." in text


def test_runs_that_all_did_nothing_are_one() -> None:
    runs = [fold([Prompt(1, text)]) for text in ("go on", "continue", "Rework the invoice parser for cents")]
    [joined] = joined_with_empty(runs)
    assert [message.text for message in joined.prompts] == [
        "Rework the invoice parser for cents", "continue", "go on",
    ]  # fmt: skip
    assert facts([joined]).goal == "Rework the invoice parser for cents"


def test_runs_that_did_something_stay_apart_and_in_their_order() -> None:
    second = fold([Prompt(1, "Write the guide"), Call(2, "c", "Bash", "run", "ls", "ls")])
    joined = joined_with_empty([fold([Prompt(1, "go on")]), second, fold(WORK)])
    assert [run.prompts[0].text for run in joined] == ["Write the guide", WORK[0].text]  # type: ignore[union-attr]
    assert [message.text for message in joined[0].prompts] == ["Write the guide", "go on"]


def test_what_a_run_that_did_nothing_said_stands_behind_the_steps_before_it() -> None:
    before, later = (
        fold(WORK),
        fold([Prompt(1, "go on. Never push to main."), Say(2, "I look at it."), Fault(3, "x", 529)]),
    )
    [joined] = joined_with_empty([later, before])
    assert joined.steps == before.steps + later.steps
    assert [step.at for step in joined.trail] == [1, 3, 5, 7, 8]
    assert (joined.prompts[-1].at, joined.prompts[-1].calls) == (7, 1)
    assert joined.fault is not None and joined.fault.at == 9
    assert joined.first_prompt == before.prompts[0]


def test_the_plan_of_a_run_that_did_nothing_else_is_the_newer_one() -> None:
    later: list[Step] = [Prompt(1, "go on"), Plan(2, (PlanItem("Describe the parser", "active"),))]
    [joined] = joined_with_empty([fold(later), fold(WORK)])
    assert joined.planned == 8 and [row[0] for row in joined.plan] == ["Describe the parser"]
    text = compose(known(WORK, later, joins=True))
    assert "OPEN (0 of 2 done): now Describe the parser; from before: Round the totals" in text


def test_a_run_that_ended_with_few_words_has_answered_and_one_that_did_not_end_has_not() -> None:
    short, long = "x" * 300, "x" * 301
    assert did_nothing(fold([Prompt(1, "go on"), Say(2, short)]))
    assert not did_nothing(fold([Prompt(1, "go on"), Say(2, long)]))
    assert not did_nothing(fold([Prompt(1, "What does it do?"), Say(2, "Done."), End(3)]))
    assert did_nothing(fold([Prompt(1, "go on"), End(3)]))


def test_a_run_before_that_was_over_is_over_until_the_user_writes() -> None:
    [joined] = joined_with_empty([fold([Start(1, "start", "r2")]), fold(WORK)])
    assert joined.ended is not None and joined.ended.at == joined.steps
