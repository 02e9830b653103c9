"""Which sentences of a prompt hold beyond it."""

from __future__ import annotations

import pytest

from segue.core.runs.standing_rules import standing_rules, takes_back


@pytest.mark.parametrize(
    "rule",
    [
        "Never touch the generated files.",
        "Use decimal amounts, not floats.",
        "Please don't commit to main.",
        "From now on run the linter first.",
        "Make sure that the old endpoint stays.",
        "You must keep the public names.",
    ],
)
def test_a_rule_or_a_correction_stands(rule: str) -> None:
    assert standing_rules(f"Rework the parser. {rule} Thanks a lot for it.") == [rule]


@pytest.mark.parametrize(
    "prompt",
    ["Rework the parser of invoices.", "Should I never do that?", "yes", "", "x" * 7_000 + " never do it"],
)
def test_a_request_or_a_question_does_not_stand(prompt: str) -> None:
    assert standing_rules(prompt) == []


@pytest.mark.parametrize(
    "sentence",
    ["Have a look at the parser, but don't act yet.", "Do not change anything for now, only tell me."],
)
def test_a_request_to_wait_is_lifted_by_the_next_one(sentence: str) -> None:
    assert standing_rules(sentence) == []
    assert standing_rules("Please don't push yet.") == ["Please don't push yet."]


@pytest.mark.parametrize(
    "remark",
    [
        "is it possible to set up not a local database but a connection string",
        "It will also never be set when rendering on another machine.",
        "can we use the short name instead of the long one in this file",
        "Not a memory problem, but it suggests that shells are started again.",
        "i dont like the idea of using a second file",
        "add a comment there so we don't forget",
        "Stop hook says that it reviews the changes",
        "// fall back if the lookup fails (shouldn't happen in normal operation)",
        "i thought we don't need that because of the settings",
        "what are your ideas..dont implement anything",
    ],
)
def test_a_question_a_remark_and_a_wish_for_the_moment_do_not_stand(remark: str) -> None:
    assert standing_rules(remark) == []


@pytest.mark.parametrize(
    "rule",
    [
        "use bun not npm",
        "and we don't need backward compatibility this will make things over complicated",
        "Resolver returns nothing: leave it where it is, never drop data.",
        "don't do full auto for codex",
        "When reporting values, always state the unit.",
    ],
)
def test_a_rule_stands_however_it_is_put(rule: str) -> None:
    assert standing_rules(rule) == [rule]


def test_a_word_of_another_language_forbids_nothing() -> None:
    assert standing_rules("Il y a 4 fichiers changés (dont deux avec des tests).") == []
    assert standing_rules("Please dont change the tests there.") == ["Please dont change the tests there."]


NO_PUSH, LINT, CHOICE = "Never push to main.", "Always run ruff before a commit.", "Round up? Half up."


@pytest.mark.parametrize(
    ("said", "later"),
    [
        (NO_PUSH, "You may push to main now."),
        (NO_PUSH, "Pushing to main is fine from now on."),
        (NO_PUSH, "Forget the rule about main, and push it."),
        ("Niemals auf main pushen.", "Du darfst jetzt auf main pushen."),
        (LINT, "Drop the ruff rule."),
        (LINT, "You no longer need to run ruff before commits."),
        (CHOICE, "Round half up no longer: we truncate."),
    ],
)
def test_a_message_that_names_a_rule_and_ends_it_takes_it_back(said: str, later: str) -> None:
    assert takes_back(said, later)


@pytest.mark.parametrize(
    ("said", "later"),
    [
        (NO_PUSH, "go on"),
        (NO_PUSH, "You can use decimals but never push to main."),
        (NO_PUSH, "Push the branch to origin instead."),
        (NO_PUSH, "The tests no longer fail on main."),
        (LINT, "You may want to run ruff before a commit."),
        (LINT, "We can run ruff before a commit."),
        ("Never drop tables in production.", "Drop the users table."),
        ("Never touch the generated files.", "Ignore the generated files."),
        ("Never touch the generated files.", "Forget it, do the tests."),
    ],
)
def test_a_message_that_only_speaks_of_the_same_leaves_a_rule_alone(said: str, later: str) -> None:
    assert not takes_back(said, later)
