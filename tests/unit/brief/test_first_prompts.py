"""What a first prompt is told of the work that it names: unfinished work at length, finished work shortly."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.lives.model import Act, AgentSays, Asks, Dies, Edits, Ends, LifeRun, Lists, Stops, UserSays
from tests.support.lives.player import Player

from segue.core.runs.steps import Call, Prompt, Result, Start, Step
from segue.testing.transcripts import placed

EXPORT = "Port the badofegi invoice export to the new schema, with a converter for the old files."
GALLERY = "Write a script tools/kalumo.sh that resizes pictures of the gallery and uploads them there."


LAST_WORDS = "The converter reads the old files, and all tests pass."


def run(prompt: str, path: str = "", last: str = "Half of this step is there.", *said: Act) -> LifeRun:
    work = (AgentSays("On it."), *said, Edits(path, "X = 1")) if path else ()
    return LifeRun("claude-code", (UserSays(prompt), *work, Stops(last), Ends()))


@pytest.mark.parametrize(
    "prompt",
    [
        "Now go on with the badofegi invoice export, please.",
        "Take up the badofegi export where it was left.",
        "Back to the badofegi invoice export: port it to the new schema.",
        "continue with the badofegi invoice export and its converter",
        "The badofegi invoice export again: what does the converter lack?",
    ],
)
def test_a_prompt_that_names_the_work_before_other_work_is_told_of_it(tmp_path: Path, prompt: str) -> None:
    with Player(tmp_path) as player:
        player.play(run(EXPORT, "src/export.py"))
        [told] = player.play(run(GALLERY, "tools/kalumo.sh"))
        assert told.startswith("[segue] For any work in this project")
        [told] = player.play(run(prompt))
        assert EXPORT in told and "a later run here did other work" in told and GALLERY not in told
        [told] = player.play(run("continue"))
        assert EXPORT in told and GALLERY not in told


def test_a_prompt_that_only_goes_on_after_other_work_goes_on_with_that(tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        player.play(run(EXPORT, "src/export.py"))
        player.play(run(GALLERY, "tools/kalumo.sh"))
        [told] = player.play(run("continue"))
        assert GALLERY in told and EXPORT not in told


ABOUT_EXPORT = "Write the badofegi invoice export of a customer into a table of the converter page."


def test_a_prompt_about_finished_work_is_told_shortly_what_was_done(tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        player.play(run(EXPORT, "src/export.py", LAST_WORDS))
        [told] = player.play(run(ABOUT_EXPORT))
    assert told.startswith("[segue] What you are asked for touches what the last run here did (claude-code ")
    assert f'ANSWERED: "{EXPORT}"' in told
    assert f'LAST WORDS: "{LAST_WORDS}"' in told
    assert "TREE: Uncommitted now: src/export.py." in told
    assert "[/segue] more: segue brief " in told
    assert len(told.encode()) < 700


def test_of_finished_work_what_was_chosen_about_the_same_is_told_and_the_rules(
    tmp_path: Path,
) -> None:
    asks = Asks("Which format should the invoice export write?", "JSON lines")
    other = Asks("Which colour should the menu have?", "Green")
    rule = UserSays("Never touch legacy/.")
    with Player(tmp_path) as player:
        player.play(run(EXPORT, "src/export.py", LAST_WORDS, asks, other, rule))
        [told] = player.play(run(ABOUT_EXPORT))
    assert "RULES: Never touch legacy/." in told
    assert "DECIDED: JSON lines (asked: Which format should the invoice export write?)" in told
    assert "Green" not in told


def test_a_prompt_about_work_that_was_cut_off_is_told_at_length(tmp_path: Path) -> None:
    killed = LifeRun("claude-code", (UserSays(EXPORT), Edits("src/export.py", "X = 1"), Dies()))
    with Player(tmp_path) as player:
        player.play(killed)
        [told] = player.play(run(ABOUT_EXPORT))
    assert told.startswith("[segue] Where the last run stopped") and EXPORT in told


def test_a_request_that_was_taken_back_is_not_told_as_answered(tmp_path: Path) -> None:
    taken_back = UserSays("Also mail the badofegi invoices."), UserSays("Forget about mailing the invoices.")
    with Player(tmp_path) as player:
        player.play(run(EXPORT, "src/export.py", LAST_WORDS, *taken_back))
        [told] = player.play(run(ABOUT_EXPORT))
    assert "touches what the last run here did" in told and "mail the badofegi" not in told, told


def test_a_prompt_about_an_earlier_run_that_was_cut_off_is_told_at_length(tmp_path: Path) -> None:
    killed = LifeRun("claude-code", (UserSays(EXPORT), Edits("src/export.py", "X = 1"), Dies()))
    with Player(tmp_path) as player:
        player.play(killed)
        player.play(run(GALLERY, "tools/kalumo.sh", LAST_WORDS))
        [told] = player.play(run(ABOUT_EXPORT))
    assert told.startswith("[segue] Where the last run stopped") and EXPORT in told, told


def test_a_prompt_about_finished_work_of_an_earlier_run_is_told_shortly_of_that_run(
    tmp_path: Path,
) -> None:
    with Player(tmp_path) as player:
        player.play(run(EXPORT, "src/export.py", LAST_WORDS))
        player.play(run(GALLERY, "tools/kalumo.sh"))
        [told] = player.play(run(ABOUT_EXPORT))
    assert told.startswith(
        "[segue] What you are asked for touches what an earlier run here did, before other work"
    )
    assert f'ANSWERED: "{EXPORT}"' in told and GALLERY not in told


# A plan of an earlier run

PLAN = (
    "# Round prices of the shop by cents\n\n## Context\n\n"
    + "The basket adds floats, so totals are off. " * 12
)
OTHER_PLAN = (
    "# Draw the menu anew\n\n## Context\n\n" + "The menu has four levels, and nobody finds the cart. " * 10
)
TO_IMPLEMENT = "Implement the following plan:\n\n{}"
CHOICE = "half to even", "How should a tie be rounded?"


def planned(player: Player, plan: str, number: int = 1) -> None:
    """A run in which a plan was made and shown, and a question answered that the plan says nothing of."""
    at, native = player.clock.now - 3_600 * (5 - number), f"{number}" * 8 + "-2222-4222-8222-222222222222"
    steps: list[Step] = [
        Start(at, "start", native=native, cwd=str(player.project)),
        Prompt(at + 1, "Prices of the shop are off by a cent, make a plan."),
        Call(at + 2, "a", "AskUserQuestion", "ask", CHOICE[1]),
        Result(at + 3, "a", ok=True, text=f'User has answered your questions: "{CHOICE[1]}"="{CHOICE[0]}"'),
        Prompt(at + 4, "No, leave the old invoices of the archive as they are."),
        Call(at + 5, "b", "ExitPlanMode", "plan", plan),
        Result(at + 6, "b", ok=True, text="User has approved your plan."),
    ]  # fmt: skip
    placed("claude-code", steps, home=player.home, native=native, cwd=str(player.project))


def test_a_plan_is_told_what_was_said_in_the_run_that_made_it(tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        planned(player, PLAN)
        [told] = player.play(run(TO_IMPLEMENT.format(PLAN)))
    assert told.startswith("[segue] Said while this plan was made (claude-code 11111111, ")
    assert "DECIDED: half to even (asked: How should a tie be rounded?)" in told
    assert "USER: No, leave the old invoices of the archive as they are." in told


def test_a_plan_is_told_nothing_that_was_said_for_another_plan(tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        planned(player, OTHER_PLAN)
        player.play(run(TO_IMPLEMENT.format(OTHER_PLAN), "src/menu.py", LAST_WORDS))
        [told] = player.play(run(TO_IMPLEMENT.format(PLAN)))
    assert "Said while" not in told and "menu" not in told.partition("TREE")[0] and "half to even" not in told


def test_a_plan_is_found_though_another_run_came_after_it(tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        planned(player, PLAN, 1)
        planned(player, OTHER_PLAN, 2)
        [told] = player.play(run(TO_IMPLEMENT.format(PLAN)))
    assert "(claude-code 11111111, " in told


# What other work is told


SCRIPT = "Write a script that prints the labels of all drawers in the workshop."
TWO = Lists((("sort the pictures", "done"), ("upload them to the bucket", "pending")))


HALF, KILLED = "Half of this step is there.", (UserSays(GALLERY), Edits("tools/kalumo.sh", "exit"), Dies())


@pytest.mark.parametrize(
    ("last", "left"),
    [
        (run(GALLERY, "tools/kalumo.sh", LAST_WORDS), ""),
        (run(GALLERY, "tools/kalumo.sh", HALF), "Write a script"),
        (run(GALLERY, "tools/kalumo.sh", LAST_WORDS, TWO), ""),
        (run(GALLERY, "tools/kalumo.sh", HALF, TWO), "upload them to the bucket"),
        (LifeRun("claude-code", KILLED), "Write a script"),
    ],
    ids=["finished", "called half", "list of finished work", "open list", "killed"],
)  # fmt: skip
def test_other_work_is_told_what_was_surely_left_open(tmp_path: Path, last: LifeRun, left: str) -> None:
    with Player(tmp_path) as player:
        player.play(last)
        [told] = player.play(run(SCRIPT))
    before = [line for line in told.splitlines() if line.startswith("BEFORE: ")]
    assert len(before) == bool(left) and left in "".join(before), told
    assert len(told.encode()) < 400


def test_an_order_of_how_one_piece_of_work_is_delivered_is_no_rule_for_other_work(tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        said = UserSays("don't create a pr, just a commit"), UserSays("Never push to main.")
        player.play(run(EXPORT, "src/export.py", LAST_WORDS, *said))
        [told] = player.play(run(SCRIPT))
    assert "Never push to main." in told and "don't create a pr" not in told
