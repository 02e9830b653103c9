"""A chain as its seed has it: the task, and what each run does until it is killed or has finished."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from tests.support.killed_agents.prompts import FirstPrompt, coming_back, later_prompt, other_work
from tests.support.scripted import Run, Say, Script, Stall, Step, Todos, Write

from segue.core.base.values import Value

Moment = Literal["start", "hook", "request", "stream", "tool", "answer", "never"]
MOMENTS: tuple[Moment, ...] = (
    "start",  # any time from the launch on
    "hook",  # while one of Segue's hooks runs
    "request",  # between two calls: a moment after the model was asked
    "stream",  # in the middle of an answer that does not come to its end
    "tool", "tool",  # in a command that does not end
    "answer",  # right after the last answer
)  # fmt: skip

RESTARTS = (3, 4, 5, 5)
RESUMES = 0.15
"""How often a conversation is resumed."""
OTHER_WORK = 0.4
"""How many chains have a run in between that does other work."""
LONG_SECONDS = 97
RULE = "Never touch the payments module."
_SYLLABLES = ("ba", "do", "fe", "gi", "ka", "lu", "mo", "ne", "pi", "ru", "sa", "te", "vo", "zi")
_VERBS = ("Move", "Port", "Convert", "Extend", "Rework", "Split")
_THINGS = ("login", "invoice export", "search index", "price list", "stock count", "mail queue")
_AIMS = (
    "to signed tokens with an expiry",
    "so that it survives a restart",
    "to the new schema, and keep the old one readable",
    "so that amounts are kept in cents",
    "into a module of its own with tests",
)
_MORE = (
    "",
    "",
    f" {RULE}",
    "\n\nIt has to work on Python 3.11 and newer, without further packages. Write the tests first.",
)


class Command(Value):
    """A command that a run gives. ``sign`` stands in it and nowhere else, ``result`` only in its output;
    one without a result does not end."""

    text: str
    sign: str
    result: str = ""


class PlannedRun(Value):
    """What a run does, and when it is killed."""

    script: Script
    commands: Sequence[Command]
    files: Sequence[str]
    moment: Moment
    turn: int
    """For "request": the turn that is asked for. For "hook": which of the hooks."""
    delay: float
    """How late after that, as a part of the agent's usual time."""
    orphans: bool
    """Whether what has a process group of its own lives on."""
    resumes: bool
    """Whether it takes up the conversation before it, if there is one, and does not begin a new one."""
    prompt: FirstPrompt
    """With what it begins, if the task is known and the run before did no other work."""


class PlannedChain(Value):
    """A chain: runs get the task until it is known, and then prompts of their own."""

    seed: int
    name: str
    task: str
    more: str
    back: FirstPrompt
    """With what the first work is taken up again after other work."""
    runs: Sequence[PlannedRun]

    @property
    def kills(self) -> int:
        return sum(run.moment != "never" for run in self.runs)


def planned(seed: int) -> PlannedChain:
    """The chain of a seed: up to five restarts; one run finishes its turn, one may do other work, one comes
    last, and the others are killed."""
    rng = random.Random(seed)
    name = "".join(rng.choices(_SYLLABLES, k=4))
    thing = rng.choice(_THINGS)
    task = f"{rng.choice(_VERBS)} the {name} {thing} {rng.choice(_AIMS)}."
    restarts = rng.choice(RESTARTS)
    finishes = rng.randrange(restarts)
    moments = [rng.choice(MOMENTS) if at != finishes else "never" for at in range(restarts)]
    prompts = [later_prompt(rng, name, thing, _sign(rng)) for _ in range(restarts + 1)]
    if rng.random() < OTHER_WORK:
        between = rng.randrange(1, restarts)
        prompts[between], moments[between] = other_work(rng, _sign(rng)), "never"
    runs = [
        _run(rng, f"{name}-{at}", moment, prompt)
        for at, (moment, prompt) in enumerate(zip(moments, prompts, strict=False))
    ]
    said = Script(f"{name}-last", [[Say("I see.")]])
    last = PlannedRun(said, (), (), "never", 0, 0.0, False, False, prompts[-1])
    more, back = rng.choice(_MORE), coming_back(rng, name, thing)
    return PlannedChain(seed, name, task, more, back, [*runs, last])


def _sign(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=5))


def _run(rng: random.Random, name: str, moment: Moment, prompt: FirstPrompt) -> PlannedRun:
    turns: list[list[Step]] = []
    commands: list[Command] = []
    files: list[str] = []
    for at in range(rng.randrange(1, 4)):
        if rng.random() < 0.3:
            files.append(f"{name}-{at}.py")
            turns.append([Say(f"Now the part {at}."), Write(files[-1], f"PART = {at}\n")])
        else:
            commands.append(_short(rng))
            turns.append([Run(commands[-1].text)])
    if rng.random() < 0.3:
        items = (("write it", "in_progress"), ("try it", "pending"))
        turns.insert(0, [Todos(tuple((item, "pending") for item, _ in items))])
    if moment == "stream":
        commands.append(_short(rng))
        turns.append(
            [Say("This needs some more thought than the rest of it."), Run(commands[-1].text), Stall(60)]
        )
    elif moment == "tool":
        sign = f"{name}-{rng.randrange(100, 1000)}.started"
        commands.append(Command(f"echo $$ > {sign}; sleep {LONG_SECONDS}", sign))
        turns.append([Run(commands[-1].text, LONG_SECONDS + 3)])
    turn = rng.randrange(len(turns)) if moment == "request" else rng.randrange(4)
    turns.append([Say("That much is done, and the rest is left for later.")])
    delay, orphans, resumes = rng.random(), rng.random() < 0.5, rng.random() < RESUMES
    return PlannedRun(Script(name, turns), commands, files, moment, turn, delay, orphans, resumes, prompt)


def _short(rng: random.Random) -> Command:
    one, other = rng.randrange(10_000, 99_999), rng.randrange(10**11, 10**12)
    return Command(f"expr {one} + {other}", f"{one} + {other}", str(one + other))
