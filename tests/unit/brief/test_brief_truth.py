"""What a brief must not claim: that something is broken, planned, done or running that is not."""

from __future__ import annotations

import pytest
from tests.support.briefs import brief_with_goal as brief, line

from segue.core.brief.facts import facts
from segue.core.brief.relevance import worth
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, End, Plan, PlanItem, Prompt, Result, Say, Step
from segue.core.runs.written_plans import numbered_plan


def run(command: str, text: str = "", exit: int = 0) -> list[Step]:
    return [Call(1, "t", "Bash", "run", command, command), Result(2, "t", exit == 0, exit, text)]


def look(path: str, text: str) -> list[Step]:
    return [Call(1, "r", "Read", "read", path, paths=(path,)), Result(2, "r", False, None, text)]


LATER = [Say(3, f"Row {n} of the invoices is next.") for n in range(16)]
COMMIT = run("git commit -m 'Keep cents'")


def test_a_file_that_was_not_there_is_broken_for_a_few_steps_only() -> None:
    missing = look("/p/dialog.py", "File does not exist.")
    assert "dialog.py" in line(brief(*missing), "BROKEN")
    assert line(brief(*missing, *LATER), "BROKEN") == ""


def test_a_call_that_was_put_wrongly_is_not_broken_for_long() -> None:
    wrong = run("shop list --json", "Error: unknown flag: --json", 2)
    assert "unknown flag" in line(brief(*wrong), "BROKEN")
    assert line(brief(*wrong, *LATER), "BROKEN") == ""


def test_a_commit_leaves_behind_what_failed_before_it_but_not_a_check() -> None:
    module = run("git submodule update", "fatal: unable to find revision", 1)
    assert "revision" in line(brief(*module, *LATER), "BROKEN")
    assert line(brief(*module, *COMMIT), "BROKEN") == ""
    assert "expected 3" in line(brief(*run("pytest -q", "E  expected 3 rows", 1), *COMMIT), "BROKEN")


@pytest.mark.parametrize(
    "text",
    [
        "6 tasks, 25 steps in all:\n\n| a | b |\n| c | d |\n| e | f |\n| g | h |\n\n1. Here\n2. There",
        "Plan is approved. Two options:\n1. Here\n2. There",
    ],
)
def test_a_list_far_from_its_announcement_or_of_options_is_no_plan(text: str) -> None:
    assert numbered_plan(text) == []
    assert numbered_plan("The plan:\n\n1. Here\n2. There") == ["Here", "There"]


def test_what_was_not_done_is_not_told_as_done() -> None:
    text = brief(Say(2, "The duplicate line was not actually added to the parser."), *LATER[:3])
    assert "duplicate line" in text and "duplicate line" not in line(text, "DONE")


def test_a_call_that_waits_or_looks_is_not_pending_and_another_is_named_by_its_tool() -> None:
    for tool in ("wait_agent", "web__run", "TaskList"):
        assert line(brief(Call(2, "t", tool, "other", "x")), "PENDING") == ""
    assert line(brief(Call(2, "t", "SendMessage", "other", "x")), "PENDING").startswith("`SendMessage` may")
    found = "find out -type f | sort | sed -n '1,9p'"
    assert line(brief(Call(2, "t", "shell", "run", found, found)), "PENDING") == ""


def test_how_the_last_message_begins_is_told_even_where_names_say_more() -> None:
    names = " ".join(f"invoice_row_{n}_amount_cents" for n in range(60))
    work = [Call(2, f"c{n}", "Edit", "edit", names, paths=(f"/p/rows{n}.py",)) for n in range(12)]
    done = Say(
        3, "It is all in place.\n" + "\n".join(f"- `invoice_row_{n}_amount_cents` kept" for n in range(9))
    )
    text = brief(*work, done, End(4, "turn"))
    assert "It is all in place." in text


def test_ids_places_colours_and_fields_of_answers_are_no_names() -> None:
    answer = '{"headRefOid": "x", "received_events_url": "y"} \x1b[37mFailed rows.py:12 D_kwDO1vx6M4An0Jt'
    digest = fold(
        [*run("gh pr view", answer), Say(3, "The keep_cents function reads 9b2f-4c1d-aaaa-bbbb.jsonl")]
    )
    names = worth(digest).names
    assert "keep_cents" in names
    assert not {"headRefOid", "received_events_url", "mFailed", "rows.py:12", "D_kwDO1vx6M4An0Jt"} & set(
        names
    )


def test_a_field_that_the_agent_speaks_of_is_a_name() -> None:
    digest = fold(
        [*run("gh pr view", '{"headRefOid": "x"}'), Say(3, "The headRefOid tells which commit it is.")]
    )
    assert "headRefOid" in worth(digest).names


def test_what_was_finished_in_the_kept_plan_is_not_open_because_it_was_also_written_down() -> None:
    kept = ["Create the scaffold (plugin.json)", "Implement the hook (hooks.json)", "Write the readme"]
    written = (
        "Here is the plan:\n\n1. Create the scaffold\n2. Implement the hook\n3. Implement the share script\n"
    )
    steps: list[Step] = [
        Prompt(1, "Build the plugin that shares sessions with the team"),
        Plan(2, tuple(PlanItem(one, "done") for one in kept)),
        Say(3, written),
    ]
    assert facts([fold(steps)]).plan == []


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo started > started.txt; sleep 60", True),
        ("rm -rf build", True),
        ("grep -rn total src 2>/dev/null", False),
    ],
)
def test_a_call_is_pending_if_it_may_have_changed_something(command: str, told: bool) -> None:
    assert bool(line(brief(Call(1, "c", "Bash", "run", command, command)), "PENDING")) == told
