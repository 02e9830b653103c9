"""What a life consists of: runs of acts, and statements that begin and cease to hold with them.

A statement is something that was said and that a later run must know, in the words in which it was said. It
holds until an act ends it. Whether something unclear (a request that the agent calls done, and nobody has
confirmed) is told or not, nobody minds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from segue.core.runs.steps import Typed

Kind = Literal["task", "request", "point", "rule", "permission", "choice", "item", "failing", "attempt"]
KINDS: tuple[Kind, ...] = (
    "task", "request", "point", "rule", "permission", "choice", "item", "failing", "attempt",
)  # fmt: skip
Fate = Literal["gone", "unclear"]

HOOKED = ("claude-code", "codex", "opencode", "gemini-cli", "cline")
"""Agents with hooks."""
UNHOOKED = ("copilot-cli", "roo")
TOLD_AFTER_COMPACTION = ("claude-code", "codex", "opencode")
"""Agents of which a hook is called after a compaction. The others take nothing from a hook at that moment."""


class Abilities(NamedTuple):
    """What can happen in a life. By default everything; of real agents, what they can be made to do."""

    agent: str = ""
    """The agent of every run, with hooks; empty if there are several, with hooks and without."""
    runs_min: int = 5
    runs_max: int = 12
    moves_max: int = 5
    """How much is done in a run."""
    prompts_max: int = 1_000
    """How often the user says something in a run."""
    queues: bool = True
    """Whether the user can say something while the agent works."""
    asks: bool = True
    """Whether the agent can ask by a tool."""
    reviews: bool = True
    """Whether it has sub-agents whose reports it gets."""
    clears: bool = True
    """Whether the user can clear its window."""
    compacts: Literal["at work", "between turns", "never"] = "at work"


EVERYTHING = Abilities()


class Statement(NamedTuple):
    """Something that was said."""

    id: int
    kind: Kind
    words: tuple[str, ...]
    """All of these must be told while it holds."""
    core: str
    """This must not be told as holding once it is gone."""
    about: str = ""
    """How people speak of it later."""
    message: str = ""
    """The whole message in which it stood, if there was more in it."""
    language: str = "en"
    answer: str = ""
    """Of a choice, what the user typed: a number, maybe."""
    rivals: tuple[str, ...] = ()
    """Of a choice, the options that were not taken. Where they are told too, the answer must stand beside
    them."""


class Change(NamedTuple):
    """The end of a statement."""

    statement: Statement
    fate: Fate = "gone"
    by: str = ""
    """The words that took it back; empty if it was finished."""


class Gone(NamedTuple):
    """A statement that holds no more."""

    statement: Statement
    by: str


@dataclass(frozen=True, kw_only=True)
class Act:
    """Something that happens in a run."""

    begins: tuple[Statement, ...] = ()
    ends: tuple[Change, ...] = ()


@dataclass(frozen=True)
class UserSays(Act):
    text: str
    how: Typed = ""


@dataclass(frozen=True)
class AgentSays(Act):
    text: str


@dataclass(frozen=True)
class Lists(Act):
    """The agent's list as it is from now on."""

    items: tuple[tuple[str, str], ...]
    """The text of each and its state."""


@dataclass(frozen=True)
class Edits(Act):
    path: str
    new: str


@dataclass(frozen=True)
class Runs(Act):
    """A command; without a verdict it is still running when the agent dies."""

    command: str
    output: str = ""
    exit: int | None = 0


@dataclass(frozen=True)
class Asks(Act):
    """A question by the agent's tool, and the user's answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class Reports(Act):
    """A sub-agent's report."""

    task: str
    text: str


@dataclass(frozen=True)
class Compacts(Act):
    summary: str


@dataclass(frozen=True)
class Stops(Act):
    """The end of a turn."""

    words: str


@dataclass(frozen=True)
class Ends(Act):
    """The user closes the agent, or clears its window."""

    cleared: bool = False


@dataclass(frozen=True)
class Dies(Act):
    """The process is killed."""


class LifeRun(NamedTuple):
    """One run."""

    agent: str
    acts: tuple[Act, ...]
    hooks: bool = True
    """Whether its hooks are called. Without them nothing is told, and only the transcript is left of it."""
    writes: bool = True
    """Whether the agent lives long enough to write a transcript."""
    source: str = "startup"
    after_seconds: float = 900.0
    """How long after the run before."""
    keyed: bool = False
    """Whether the agent changes items of its list one by one."""


class Life(NamedTuple):
    seed: int
    runs: tuple[LifeRun, ...]


@dataclass
class Standing:
    """What holds, and what holds no more."""

    holds: dict[int, Statement] = field(default_factory=dict)
    unclear: dict[int, Statement] = field(default_factory=dict)
    gone: dict[int, Gone] = field(default_factory=dict)

    def take(self, act: Act) -> None:
        """Follow an act."""
        for statement in act.begins:
            self.holds[statement.id] = statement
        for change in act.ends:
            statement = change.statement
            self.holds.pop(statement.id, None)
            self.unclear.pop(statement.id, None)
            if change.fate == "gone":
                self.gone[statement.id] = Gone(statement, change.by)
            else:
                self.unclear[statement.id] = statement

    def of_kind(self, *kinds: Kind) -> list[Statement]:
        return [statement for statement in self.holds.values() if statement.kind in kinds]


class Moment(NamedTuple):
    """A window is empty again, and what the run should now be told."""

    run: int
    """Its number in the life, from 0 on."""
    agent: str
    what: str
    """How it came to be: a start, or a compaction with its number."""
    holds: tuple[Statement, ...]
    gone: tuple[Gone, ...]
    summary: str = ""
    """What the agent itself kept of a window that was compacted."""


def moments(life: Life) -> Iterator[Moment]:
    """The resets of a life at which something can be told, in order. What the first prompt of a run changes
    is expected neither in the old form nor in the new one: the run reads that prompt itself."""
    standing = Standing()
    for number, run in enumerate(life.runs):
        compactions = 0
        if run.hooks and number:
            yield _at_start(standing, run, number)
        for act in run.acts:
            standing.take(act)
            if isinstance(act, Compacts) and is_told_after_compaction(run):
                compactions += 1
                holds, gone = tuple(standing.holds.values()), tuple(standing.gone.values())
                what = f"compaction {compactions}"
                yield Moment(number, run.agent, what, holds, gone, act.summary)


def _at_start(standing: Standing, run: LifeRun, number: int) -> Moment:
    changed = {change.statement.id for change in run.acts[0].ends} if run.acts else set()
    holds = tuple(one for one in standing.holds.values() if one.id not in changed)
    what = "start" if run.source == "startup" else f"start after /{run.source}"
    return Moment(number, run.agent, what, holds, tuple(standing.gone.values()))


def is_told_after_compaction(run: LifeRun) -> bool:
    """Whether a hook of this run is called after a compaction."""
    return run.hooks and run.agent in TOLD_AFTER_COMPACTION
