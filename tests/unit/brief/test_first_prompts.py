"""What a first prompt is told of the work that it names: unfinished work at length, finished work shortly."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.lives.model import Act, AgentSays, Asks, Dies, Edits, Ends, LifeRun, Stops, UserSays
from tests.support.lives.player import Player

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
