"""The author of a life: what it knows while it writes, and how it writes one act after another."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from . import speech
from .model import (
    EVERYTHING,
    Abilities,
    Act,
    AgentSays,
    Change,
    Dies,
    Edits,
    Kind,
    Lists,
    Standing,
    Statement,
    Stops,
    UserSays,
)
from .names import Names, is_clear
from .rules import LANGUAGES
from .tasks import TASKS

MOST: dict[Kind, int] = {
    "request": 4, "point": 5, "rule": 7, "permission": 2, "choice": 6, "item": 9, "failing": 2, "attempt": 2,
}  # fmt: skip
"""How much of each kind may hold at a time. All of it fits into what hooks may tell."""


@dataclass
class Question:
    """A question that an agent asked in words, and that waits for an answer."""

    text: str
    options: tuple[str, ...] = ()


@dataclass
class Planned:
    """What an agent will put on its list when it hears of the task."""

    text: str
    about: str
    name: str


@dataclass
class Scene:
    """The run that is being written."""

    agent: str
    hooks: bool
    acts: list[Act] = field(default_factory=list)
    is_open: bool = False
    """Whether the agent is at work."""
    is_mute: bool = False
    """Whether the agent is killed before it can say or do anything."""
    own: set[int] = field(default_factory=set)
    """What was said in this run."""
    ticked: list[str] = field(default_factory=list)
    """What the list of this run shows as done."""
    under_way: int = 0
    """The statement that is being worked on."""
    has_list: bool = False


class Author:
    """Writes acts. Every act says what begins and what ends with it, so the author knows what holds."""

    def __init__(self, seed: int, able: Abilities = EVERYTHING) -> None:
        self.able = able
        rng = self.rng = random.Random(seed)
        self.names = Names(rng)
        self.standing = Standing()
        self.scene = Scene("", False)
        self.language = rng.choice([*LANGUAGES, "en", "en", "en", "de"])
        self.tasks = rng.sample(TASKS, 2)
        self.may_replace_task = rng.random() < 0.08
        self.actions = rng.sample(speech.ACTIONS, len(speech.ACTIONS))
        self.choices = rng.sample(speech.CHOICES, len(speech.CHOICES))
        self.questions = rng.sample(speech.QUESTIONS, len(speech.QUESTIONS))
        self.attempts = rng.sample(speech.ATTEMPTS, len(speech.ATTEMPTS))
        self.findings = rng.sample(speech.FINDINGS, len(speech.FINDINGS))
        self.planned: list[Planned] = []
        self.name_of: dict[int, str] = {}
        self.corrections: dict[int, str] = {}
        """What the user would say instead of a choice or a rule."""
        self.soft: dict[int, str] = {}
        """Rules that a permission can soften, with the name in them."""
        self.softened: dict[int, Statement] = {}
        """Permissions by the rule that they belong to."""
        self.checks: dict[int, tuple[str, str]] = {}
        """The command of a failing check, and what it prints when it passes."""
        self.question: Question | None = None
        self.reported: dict[int, Statement] = {}
        """Requests that an agent has called done."""
        self.of_task: set[int] = set()
        """The items of the task itself."""
        self.unlisted: set[int] = set()
        """Findings of a review that stand only in its report."""
        self._ids = count(1)

    def do(self, act: Act) -> None:
        if self.scene.is_mute and not isinstance(act, UserSays | Dies):
            return
        self.scene.acts.append(act)
        self.standing.take(act)
        self.scene.own.update(one.id for one in act.begins)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, forms: Sequence[str]) -> str:
        return self.rng.choice(forms)

    def statement(
        self, kind: Kind, *words: str, core: str = "", about: str = "", name: str = "", language: str = "en"
    ) -> Statement:
        number = next(self._ids)
        self.name_of[number] = name
        return Statement(number, kind, words, core or words[0], about, language=language)

    def has_room(self, kind: Kind, more: int = 1) -> bool:
        return len(self.standing.of_kind(kind)) + more <= MOST[kind]

    def user(self, text: str, begins: Iterable[Statement] = (), ends: Iterable[Change] = ()) -> None:
        """The user types, while the agent works or after its turn."""
        is_queued = self.able.queues and self.scene.is_open and self.chance(0.35)
        if self.scene.is_open and not is_queued:
            self.stop()
        statements = tuple(one if text == one.words[0] else one._replace(message=text) for one in begins)
        self.do(UserSays(text, "queued" if is_queued else "", begins=statements, ends=tuple(ends)))
        self.scene.is_open = True
        self.question = None

    def stop(self, words: str = "") -> None:
        """The turn ends; without words of its own it claims nothing."""
        usual = speech.NOTED if self.has_only_heard() else speech.LAST_WORDS
        self.do(Stops(words or self.pick(usual)))
        self.scene.is_open = False

    def may_prompt(self) -> bool:
        """Whether the user may say more in this run."""
        said = sum(isinstance(act, UserSays) for act in self.scene.acts)
        return said < self.able.prompts_max

    def has_only_heard(self) -> bool:
        """Whether the agent has done nothing since the user spoke."""
        acts = [act for act in self.scene.acts if not isinstance(act, AgentSays)]
        return bool(acts) and isinstance(acts[-1], UserSays)

    def is_last_of_task(self, statement: Statement) -> bool:
        """Whether this is the last open item of the task. It stays open, as without it the task might be
        done."""
        left = [one for one in self.standing.of_kind("item") if one.id in self.of_task]
        return left == [statement]

    def be_at_work(self) -> None:
        if not self.scene.is_open:
            self.user(self.pick(speech.GO_ON))

    def work_on(self, statement: Statement) -> str:
        """The path of a file that was edited for a statement."""
        path = f"src/{self.name_of[statement.id]}.py"
        self.do(Edits(path, f"VALUE = {self.rng.randint(1, 99_999)}"))
        return path

    def knows_task(self) -> bool:
        """Whether the agent of this run can know what the task is."""
        return self.scene.hooks or any(one.id in self.scene.own for one in self.standing.of_kind("task"))

    def known(self, *kinds: Kind) -> list[Statement]:
        """What holds of these kinds, as far as the agent of this run can know it."""
        statements = self.standing.of_kind(*kinds)
        return [one for one in statements if self.scene.hooks or one.id in self.scene.own]

    def listed(self) -> list[Statement]:
        """What is open on the agent's list."""
        return [one for one in self.known("item", "point") if one.id not in self.unlisted]

    def write_list(self, begins: Sequence[Statement] = (), ends: Sequence[Change] = ()) -> None:
        """The agent writes its list: all that is open as far as it knows, and what it did in this run."""
        ended = {change.statement.id for change in ends}
        self.scene.ticked += [item_text(change.statement) for change in ends]
        under_way = self.standing.holds.get(self.scene.under_way)
        asked = [under_way] if under_way is not None and under_way.kind == "request" else []
        items = [(text, "done") for text in self.scene.ticked]
        items += [
            (item_text(one), "active" if one.id == self.scene.under_way else "pending")
            for one in (*self.listed(), *begins, *asked)
            if one.id not in ended
        ]
        self.do(Lists(tuple(items), begins=tuple(begins), ends=tuple(ends)))
        self.scene.has_list = True

    def spoken_of(self, statement: Statement) -> str:
        """How somebody speaks of a statement: shortly, if that points to no other one, or with its name."""
        around = (*self.standing.holds.values(), *self.standing.unclear.values())
        others = [one.core for one in around if one.id != statement.id]
        if is_clear(statement.about, statement.core, others) and self.chance(0.5):
            return statement.about
        return f"{statement.about} ({self.name_of[statement.id]})"


def item_text(statement: Statement) -> str:
    """How a statement stands in the agent's list."""
    if statement.kind != "request":
        return statement.words[0]
    return capitalised(statement.core)


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
