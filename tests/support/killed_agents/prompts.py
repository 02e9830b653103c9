"""With what people begin a run: they go on, name the earlier work, add to it, do other work, or come back.

``{name}`` stands in all that is about the work of a chain, ``{sign}`` only in one prompt.
"""

from __future__ import annotations

import random
from typing import Literal

from segue.core.base.values import Value

Kind = Literal["task", "goes on", "adds", "other work", "comes back"]
GOES_ON = (
    "continue", "weiter mit dem Rest", "go on where you stopped", "Please go on.", "mach weiter", "继续",
    "carry on with what is left", "where were we?",
)  # fmt: skip
NAMES = (
    "What is the state of the {name} {thing}? Go on with it then.",
    "yesterday's change of the {name} {thing} is not finished, take it up again",
    "{name}.log has an error of the {thing}: find it and go on",
    "Finish src/{name}.py first, then the rest of the {name} {thing}.",
)
ADDS = (
    "Also log how long the {name} {thing} takes, in {sign}.",
    "One more thing: describe it in docs/{sign}.md.",
    "And please add {sign} to the release notes when all of it is finished.",
    "Oh, and cover {sign} with a test.",
    "Außerdem bitte einen Test für {sign} schreiben.",
)
OTHER_WORK = (
    "Write a script tools/{sign}.sh that resizes pictures of the gallery and uploads them there.",
    "Add a dark theme to the settings page with a switch in the header bar; remember the choice in {sign}.",
    "Schreib ein Skript {sign}.py, das die Bilder der Galerie verkleinert, komprimiert und dann hochlädt.",
)
COMES_BACK = (
    "Now go on with the {name} {thing}, please.",
    "Back to the {name} {thing}: what is left of it?",
    "Take up the {name} {thing} where it was left.",
)


class FirstPrompt(Value):
    """With what a run begins."""

    kind: Kind
    text: str
    sign: str = ""
    """What stands in this prompt and in no other."""


def later_prompt(rng: random.Random, name: str, thing: str, sign: str) -> FirstPrompt:
    """How somebody goes on with the work; often with an addition."""
    forms = rng.choices((GOES_ON, NAMES, ADDS), (5, 2, 3))[0]
    text = rng.choice(forms).format(name=name, thing=thing, sign=sign)
    return FirstPrompt("adds", text, sign) if forms is ADDS else FirstPrompt("goes on", text)


def other_work(rng: random.Random, sign: str) -> FirstPrompt:
    return FirstPrompt("other work", rng.choice(OTHER_WORK).format(sign=sign), sign)


def coming_back(rng: random.Random, name: str, thing: str) -> FirstPrompt:
    return FirstPrompt("comes back", rng.choice(COMES_BACK).format(name=name, thing=thing))
