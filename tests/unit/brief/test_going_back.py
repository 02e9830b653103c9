"""After other work, a first prompt that names the work before it is told of that work."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.lives.model import AgentSays, Edits, Ends, LifeRun, Stops, UserSays
from tests.support.lives.player import Player

EXPORT = "Port the badofegi invoice export to the new schema, with a converter for the old files."
GALLERY = "Write a script tools/kalumo.sh that resizes pictures of the gallery and uploads them there."


def run(prompt: str, path: str = "") -> LifeRun:
    work = (AgentSays("On it."), Edits(path, "X = 1")) if path else ()
    return LifeRun("claude-code", (UserSays(prompt), *work, Stops("Half of this step is there."), Ends()))


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
