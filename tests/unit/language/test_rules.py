"""Which sentences of a message hold beyond it, and which later ones end them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings, strategies as st

from segue.core.language.rules import permissions_in, replaces, rules_in, rules_of, softens, takes_back


@pytest.mark.parametrize(
    "rule",
    [
        "Never touch the generated files.",
        "Use decimal amounts, not floats.",
        "Please don't commit to main.",
        "From now on run the linter first.",
        "Make sure that the old endpoint stays.",
        "You must keep the public names.",
        "Never touch legacy/.",
        "Always use Decimal.",
        "No new dependencies.",
        "Use ROUND_HALF_EVEN everywhere.",
        "Don't modify config.yml.",
        "Never use os.system.",
        "Keep Python 3.8 compatibility.",
        "Only use the standard library.",
    ],
)
def test_a_rule_or_a_correction_stands(rule: str) -> None:
    assert rules_in(f"Rework the parser. {rule} Thanks a lot for it.") == [rule]
    assert rules_in(rule) == [rule]
    assert rules_in(rule.rstrip(".").lower()) == [rule.rstrip(".").lower()]


@pytest.mark.parametrize(
    "prompt",
    ["Rework the parser of invoices.", "Should I never do that?", "yes", "", "x" * 7_000 + " never do it"],
)
def test_a_request_or_a_question_does_not_stand(prompt: str) -> None:
    assert rules_in(prompt) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Have a look at the parser, but don't act yet.",
        "Do not change anything for now, only tell me.",
        "Please don't push yet.",
        "For now, do not push.",
        "do not implement anything, just plan",
        "don't make any changes or do anything besides the review",
        "fix step 8 and don't start on step 9",
        "don't do anything about it now",
    ],
)
def test_a_request_to_wait_is_lifted_by_the_next_one(sentence: str) -> None:
    assert rules_in(sentence) == []


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
        "it hangs and never ends",
        "I don't know, and don't see it either",
        "this message says that you must not be logged in",
        "No errors in the log, no changes needed.",
        "the header is empty - no input field or buttons",
        'the button says "Never touch this again. Or do not use it."',
        "use the cache when the file is not there",
        "this should never happen",
        "the request must have been blocked",
        "Keep going with the next one.",
    ],
)
def test_a_question_a_remark_and_a_wish_for_the_moment_do_not_stand(remark: str) -> None:
    assert rules_in(remark) == []


@pytest.mark.parametrize(
    "rule",
    [
        "use bun not npm",
        "and we don't need backward compatibility this will make things over complicated",
        "Resolver returns nothing: leave it where it is, never drop data.",
        "don't do full auto for codex",
        "When reporting values, always state the unit.",
        "IMPORTANT: do NOT rename existing fields",
        "If a test fails, don't skip it.",
        "Fix the parser without changing the public API.",
        "run ruff before every commit",
        "commit as you go",
        "no mocks in tests/unit please",
        "leave the migrations as they are",
        "touch nothing in legacy/",
        "in violet_tunnel/ bitte nichts umbenennen",
        "I'd rather not have two implementations for the same thing",
    ],
)
def test_a_rule_stands_however_it_is_put(rule: str) -> None:
    assert rules_in(rule) == [rule]


def test_a_rule_is_given_as_it_is_written() -> None:
    message = "1. **Never** touch [the ledger](legacy/ledger.py).\n2. Add a page.\n- Don’t  use   floats"
    assert rules_in(message) == ["**Never** touch [the ledger](legacy/ledger.py).", "Don’t  use   floats"]


def test_sentences_that_begin_in_lower_case_are_told_apart() -> None:
    assert rules_in("rework the parser. never touch legacy/. thanks for it") == ["never touch legacy/."]


def test_of_a_long_sentence_only_the_clause_is_given() -> None:
    long = "the parser of invoices reads the headers of the file and " * 6
    assert rules_in(f"Rework it: {long}so on, never touch legacy/ while you do it, and so forth.") == [
        "never touch legacy/ while you do it"
    ]


def test_a_word_of_another_language_forbids_nothing() -> None:
    assert rules_in("Il y a 4 fichiers changés (dont deux avec des tests).") == []
    assert rules_in("Please dont change the tests there.") == ["Please dont change the tests there."]


@pytest.mark.parametrize(
    "pasted",
    [
        "```\n# never touch this file\n```\n",
        "  at Parser.never (parser.js:10)\n",
        "ValueError: you must not pass None\n",
        "> Never touch legacy/, said the agent.\n",
        "$ git commit -m 'never push to main'\n",
        "| never | always |\n",
        "torch/nn.py:9: FutureWarning: it changes soon. Never rely on it, please always open an issue.\n",
    ],
)
def test_what_was_pasted_is_no_rule(pasted: str) -> None:
    assert rules_in(f"It fails:\n{pasted}") == []


def test_what_a_command_wrote_out_is_no_rule_but_what_was_given_to_it_is() -> None:
    steps = "Never skip a step.\n" * 30
    assert rules_in(f"# Plan\n{steps}\nUser input:\n\nno new dependencies\n") == ["no new dependencies"]
    assert rules_in(f"{steps}<user_input>\nuse tabs\n</user_input>\n{steps}") == ["use tabs"]


def test_the_entries_below_a_title_are_rules_whatever_their_words() -> None:
    message = (
        "Build a page.\n\nConstraints:\n- plain HTML. It loads fast.\n- 200 lines a file\n\nThanks a lot."
    )
    assert rules_in(message) == ["plain HTML.", "200 lines a file"]
    assert rules_in("Rule: one commit for each ticket") == ["Rule: one commit for each ticket"]
    assert rules_in("Ingredients:\n- plain flour\n- 200 grams of sugar") == []


def test_of_a_document_the_strict_orders_stand_and_the_first_paragraph() -> None:
    rows = "The parser reads a header, and it remains as it is.\n\n" * 30
    message = f"Stick to the standard library.\n\n{rows}Do not rename fields.\n\nUse tabs.\n\n{rows}"
    assert rules_in(message) == ["Stick to the standard library.", "Do not rename fields."]


def test_of_a_very_long_message_the_beginning_and_the_end_are_read() -> None:
    log = "12:00 a line of a log that goes on and on\n" * 400
    message = f"Never touch legacy/.\n{log}never use floats in between\n{log}\nDo not push to main."
    assert rules_in(message) == ["Never touch legacy/.", "Do not push to main."]


def test_a_message_gives_at_most_twelve_rules_and_each_once() -> None:
    many = "\n".join(f"- Never touch folder{number}/." for number in range(20))
    assert len(rules_in(many)) == 12
    assert rules_in("Never push.\nNever push.") == ["Never push."]


UNIT = st.sampled_from(
    """never always don't use must only no keep not tabs , . ; : ( ) " ' ** ` [a](b) \n - \n# \n\n ``` ? !
    you we i 不要 。 ください 지 마세요 не nie ne pas nicht kein immer nunca não non niet все \ud83d\ude00 İ ß
    </user_input> <user_input> rules: legacy/ main.py ’ … — | 0 and but""".split(" ")
)


@given(st.lists(UNIT | st.text(max_size=4), max_size=60), st.sampled_from(["", " "]))
@settings(max_examples=400, deadline=None)
def test_whatever_the_message_only_parts_of_it_are_given(units: list[str], between: str) -> None:
    message = between.join(units)
    for found in (*rules_in(message), *permissions_in(message)):
        assert "".join(found.split()) in "".join(message.split())
    takes_back(message, message)
    replaces(message, message)
    softens(message, message)


def _cpu_seconds(message: str) -> float:
    """The least of a few measurements."""
    times = []
    for _ in range(5):
        began = time.process_time()
        rules_in(message)
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize(
    "unit",
    [
        "never ", "do not ", "you must ", "use it, not ", "no new ", "keep ", "a. ", "**", "(", '"',
        "不要", "ない", "\n- rules:\n", "не ", "immer ", "ne pas ", "word ", "make sure that ", "- \n",
        "[a](", "```\n", "x@y ", "because ", "nicht ", "nie ",
    ],
)  # fmt: skip
def test_the_time_grows_with_the_length_and_not_faster(unit: str) -> None:
    half, whole = unit * (2_900 // len(unit)), unit * (5_800 // len(unit))
    rules_in(half)  # compiles the expressions
    attempts = (_cpu_seconds(whole) <= 2.4 * _cpu_seconds(half) + 0.001 for _ in range(4))
    assert any(attempts)  # the machine may be busy


NO_PUSH, LINT, CHOICE = "Never push to main.", "Always run ruff before a commit.", "Round up? Half up."
LEGACY, TABS = "Never touch legacy/.", "Use tabs in new files."


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
        (LEGACY, "you may touch legacy/ again"),
        (LEGACY, "legacy/ is no longer off limits"),
        (TABS, "you can ignore what I said on tabs"),
        ("No new dependencies.", "forget the rule about dependencies"),
        ("Use decimals, not floats.", "forget what I said about decimals"),
        ("Write a changelog entry.", "never mind the changelog"),
        ("Add a PDF export of the invoices.", "scrap the PDF export"),
        ("Write the migration for the orders table.", "we don't need the migration after all"),
        ("Add a dark mode to the settings page.", "undo the dark mode, please"),
        ("Add a dark mode to the settings page.", "cancel dark mode"),
        ("Always run copper-check before a commit.", "The rule about copper_check no longer holds."),
        ("Fix the reminders of mail_queue that come late.", "Drop the time zones of mail_queue altogether."),
    ],
)
def test_a_message_that_names_a_rule_or_a_request_and_ends_it_takes_it_back(said: str, later: str) -> None:
    assert takes_back(said, later)
    assert takes_back(said, f"Thanks, that looks good. {later}")


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
        (LEGACY, "You may touch legacy/ledger.py now."),
        (LEGACY, "You may touch legacy/ledger.py now, but nothing else in legacy/."),
        (LEGACY, "legacy/ no longer builds"),
        (LEGACY, "The legacy/ tests are fine."),
        ("No new dependencies.", "it's fine to add a dependency for this"),
        ("Add a PDF export of the invoices with totals and a cover page.", "drop the cover page"),
        ("Add tests for the parser.", "never mind, go on"),
        (TABS, "add a new file for the tabs"),
        ("Fix the reminders of mail_queue that come late.", "Drop the time zones of mail_queue."),
        ("Always run copper-check before a commit.", "The rule about paddle_cache no longer holds."),
    ],
)
def test_a_message_that_only_speaks_of_the_same_leaves_it_alone(said: str, later: str) -> None:
    assert not takes_back(said, later)


@pytest.mark.parametrize(
    ("permission", "rule"),
    [
        ("You may touch legacy/ledger.py now, but nothing else in legacy/.", LEGACY),
        ("it's fine to add a dependency for this", "No new dependencies."),
        ("You may push now.", NO_PUSH),
        ("feel free to rename the helpers", "Don't rename helpers."),
        ("du darfst jetzt legacy/ledger.py ändern", "Niemals legacy/ anfassen."),
        ("теперь можешь добавить зависимость", "никаких новых зависимостей"),
        ("这次可以加一个依赖", "不要引入新的依赖"),
    ],
)
def test_a_permission_softens_the_rule_about_the_same(permission: str, rule: str) -> None:
    assert softens(permission, rule)
    assert permissions_in(permission) == [permission]


@pytest.mark.parametrize(
    ("permission", "rule"),
    [
        ("it's fine to add a dependency for this", LEGACY),
        ("You may commit the lockfile.", "Never commit secrets."),
        ("feel free to rename the helpers", "Always use Decimal."),
        ("You may push now.", TABS),
    ],
)
def test_a_permission_leaves_rules_about_something_else_alone(permission: str, rule: str) -> None:
    assert not softens(permission, rule)


@pytest.mark.parametrize(
    ("rule", "earlier"),
    [
        ("use spaces instead of tabs", TABS),
        ("tabs are fine, but use 2 spaces from now on", TABS),
        ("Don't use tabs.", "Use tabs."),
        ("Always use floats.", "Never use floats."),
        ("Commit after each step.", "Do not commit."),
        ("Answer in English from now on.", "Answer in German."),
        ("Keep functions under 60 lines.", "Keep functions under 40 lines."),
        ("use uv, not pip", "Use pip for packages."),
        ("Use pip instead of uv.", "use uv, not pip"),
        ("nutze Leerzeichen statt Tabs", "Nutze Tabs in neuen Dateien."),
        ("用 pnpm，不要用 npm", "使用 npm"),
    ],
)
def test_a_rule_that_says_so_replaces_an_earlier_one(rule: str, earlier: str) -> None:
    assert replaces(rule, earlier)


@pytest.mark.parametrize(
    ("rule", "earlier"),
    [
        ("Use spaces.", TABS),
        ("Always push to a branch, not to main.", NO_PUSH),
        ("From now on write tests for new files.", TABS),
        ("Never use os.system.", "Never use eval."),
        ("use spaces instead of tabs", "Never use tabs."),
        (TABS, TABS),
        ("Run ruff before each commit.", "Run mypy before each commit."),
        ("No new dependencies.", "No mocks."),
    ],
)
def test_in_doubt_both_rules_stand(rule: str, earlier: str) -> None:
    assert not replaces(rule, earlier)


def of_request(message: str, *, again: str = "", alone: bool = False) -> list[str]:
    return rules_of(message, alone=alone, is_repeated=lambda rule: rule == again)


@pytest.mark.parametrize(
    "rule",
    [
        "Never touch legacy/.",
        "Always use Decimal.",
        "Don't modify config.yml.",
        "No new dependencies.",
        "Keep `Invoice.total` as it is.",
        "Use ROUND_HALF_EVEN everywhere.",
        "Every function must have a docstring.",
        "Do not push to main.",
        "Ne touche jamais à la base.",
        "Keine neuen Abhängigkeiten.",
        "понижать версии библиотек нельзя !",
        "Das Löschen von Tests ist verboten.",
        "Mocks are strictly forbidden.",
    ],
)
def test_in_a_request_a_rule_that_says_that_it_lasts_stands(rule: str) -> None:
    assert of_request(f"Rework the parser of invoices. {rule} Then write the page.") == [rule]


@pytest.mark.parametrize(
    "order",
    [
        "Don't use red for it.",
        "Keep it small.",
        "Make sure that the footer stays where it was.",
        "For now do not change the header.",
        "I don't want a second button there.",
        "If it fails, do not retry.",
        "Don't wait for the answer.",
        "Also note in the readme that the user will always be asked before a mail is sent.",
        "Begin by reading the tests of each part.",
    ],
)
def test_in_a_request_an_order_about_the_job_at_hand_is_no_rule(order: str) -> None:
    message = f"Rework the header of the page. {order} Then write the footer."
    assert of_request(message) == []


def test_an_order_that_is_said_alone_or_said_again_is_a_rule() -> None:
    order = "Do not use abbreviations."
    assert of_request(f"Rework the header. {order}") == []
    assert of_request(order, alone=True) == [order]
    assert of_request(f"Rework the header. {order}", again=order) == [order]


def test_below_a_title_of_rules_every_order_stands() -> None:
    message = "Rework the header.\n\nImportant working rules for this project:\n- plain HTML\n- two spaces"
    assert of_request(message) == ["plain HTML", "two spaces"]
