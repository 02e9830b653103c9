"""What of a run can be found."""

from __future__ import annotations

from segue.core.runs.steps import Call, Change, Plan, PlanItem, Prompt, Result, Say, Step, Usage
from segue.core.search.texts import TEXT_CHARS_MAX, SearchText, StepTexts, index_words, words_to_index


def texts(*steps: Step) -> list[SearchText]:
    found = StepTexts()
    for step in steps:
        found.add(step)
    return found.texts


def test_each_text_has_the_number_of_its_step_and_says_what_it_is() -> None:
    change = Change("/p/a.py", "edit", "old", "new = 1")
    found = texts(
        Prompt(1, "fix the leak"), Usage(1, "u"), Say(2, "I look"),
        Call(3, "c", "Bash", "run", "ls", "ls -la"),
        Result(3, "c", True, 0, "a.py"), Call(4, "e", "Edit", "edit", "a.py", changes=(change,)),
    )  # fmt: skip
    assert [(one.step, one.kind, one.text) for one in found] == [
        (1, "prompt", "fix the leak"), (3, "answer", "I look"), (4, "command", "ls -la"),
        (5, "output", "a.py"), (6, "file", "/p/a.py\nnew = 1"),
    ]  # fmt: skip


def test_a_tool_is_named_and_a_plan_stands_for_the_arguments_that_say_it() -> None:
    found = texts(
        Call(1, "a", "Grep", "search", "Cookie(\nauth.py"),
        Call(2, "b", "TodoWrite", "plan", "sign tokens\nin_progress\nsign tokens"),
        Plan(2, (PlanItem("look", "done"), PlanItem("sign tokens", "active"), PlanItem("test"))),
        Call(3, "c", "ExitPlanMode", "plan", "first this, then that"),
        Call(4, "d", "Bash", "run", "ls", "ls"), Plan(5, (PlanItem("later"),)),
    )  # fmt: skip
    assert [(one.step, one.kind, one.text) for one in found] == [
        (1, "command", "Grep: Cookie(\nauth.py"), (2, "item", "✓ look\n▸ sign tokens\n○ test"),
        (4, "command", "ExitPlanMode: first this, then that"), (5, "command", "ls"),
    ]  # fmt: skip


def test_a_command_that_failed_is_marked_with_its_output() -> None:
    found = texts(
        Call(1, "a", "Bash", "run", "make", "make"), Result(1, "a", False, 2, "error"),
        Call(2, "b", "Bash", "run", "ls", "ls"), Result(2, "b", True, 0, "fine"),
    )  # fmt: skip
    assert [(one.kind, one.failed) for one in found] == [
        ("command", True), ("output", True), ("command", False), ("output", False),
    ]  # fmt: skip


def test_of_a_very_long_text_the_beginning_and_the_end_can_be_found() -> None:
    [found] = texts(Say(1, f"begin {'x ' * TEXT_CHARS_MAX} end"))
    assert len(found.text) <= TEXT_CHARS_MAX + 3
    assert found.text.startswith("begin") and found.text.endswith("end")


def test_names_in_code_are_followed_by_their_parts() -> None:
    assert words_to_index("see parseUserId") == "see parseUserId\nparse User Id"
    assert index_words("see parseUserId") == ["see", "parseuserid", "pars", "user", "id"]
