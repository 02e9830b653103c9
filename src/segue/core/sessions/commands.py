"""Commands, and what they come to: ``decide(state, command) -> events or a Refusal``.

Pure. A command that finds its wish fulfilled gives no events: finishing an item twice is
finishing it once. (What only adds, a note or a finding, adds again.) ``merges`` says whether a
command may be decided again after somebody else's event came first: finishing an item, yes;
pausing the session, no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from ..base.values import Value, parse_digits
from ..features.verdict import gate
from ..journal.event import Draft, Event, draft, read_body
from . import events as ev
from .command import Bodies as Bodies
from .command import Command as Command
from .command import Decides
from .command import Refusal as Refusal
from .fold import fold_body
from .rewind import difference
from .state import OPEN, AgentState, SessionState, find_item, find_question, find_trouble, key, key_of


class Create(Command):
    MERGES = False
    id: str
    goal: str
    organization: str
    project: str
    type: str = "coding"
    project_name: str = ""
    items: tuple[str, ...] = ()


class Add(Command):
    item: str


class Begin(Command):
    item: str
    quiet: bool = False


class Done(Command):
    item: str


class Block(Command):
    item: str
    reason: str = ""
    stay: bool = False


class Unblock(Command):
    item: str


class Drop(Command):
    item: str
    reason: str = ""


class Note(Command):
    text: str


class Decide(Command):
    text: str
    why: str = ""


class Ask(Command):
    text: str


class Answer(Command):
    question: str
    answer: str


class Learn(Command):
    text: str


class Fail(Command):
    """An error was seen."""

    error: str


class Solve(Command):
    """An error was solved."""

    error: str
    solution: str


class Thread(Command):
    topic: str
    status: str = "in_progress"
    notes: tuple[str, ...] = ()


class Focus(Command):
    CLASHES = ("focus.set",)
    LOOKS = True
    note_id: str = ""
    note_title: str = ""
    file: str = ""
    position: str = ""


class LoadNotes(Command):
    ids: tuple[str, ...]
    tokens: int = 0
    paths: dict[str, str] = {}


class SeeChanges(Command):
    CLASHES = ("changes.seen",)
    LOOKS = True
    changes: tuple[tuple[str, str], ...]


class NoteContext(Command):
    CLASHES = ("context.noted",)
    LOOKS = True
    values: dict[str, Any]


class Count(Command):
    ANYTIME = True
    counts: dict[str, float]


class NoteAgent(Command):
    LOOKS = True
    agent: str
    values: dict[str, Any]


class SaveAgent(Command):
    agent: str
    size: int
    splices: tuple[tuple[int, int, list[str]], ...]


class DropAgent(Command):
    LOOKS = True
    agent: str


class Describe(Command):
    CLASHES = ("session.described",)
    LOOKS = True
    ANYTIME = True
    goal: str | None = None
    summary: str | None = None


class Mark(Command):
    LOOKS = True
    name: str
    note: str = ""


class Rewind(Command):
    """Back to the state of a version; that state comes with the command."""

    MERGES = False
    ANYTIME = True
    to: int
    then: SessionState
    name: str = ""
    lifecycle: bool = False


class Pause(Command):
    MERGES = False
    reason: str = ""
    cause: str = "user"


class Resume(Command):
    MERGES = False
    ANYTIME = True


class Complete(Command):
    MERGES = False
    ANYTIME = True
    summary: str = ""
    force: str = ""
    """Why it is completed although not everything is proven."""
    covered: dict[str, str] = {}
    """Of each feature, the hash over its covered files of now; without it nothing is proven."""
    attest: bool = True
    """Whether somebody's word counts where there is no check."""


class Abandon(Command):
    MERGES = False
    ANYTIME = True
    reason: str = ""


class Hand(Command):
    to: str
    note: str = ""


PAUSE_CAUSES = ("user", "budget", "timeout", "error", "system", "unknown")


def decide(state: SessionState, command: Command) -> Bodies | Refusal:
    """What a command comes to in a state."""
    if not state.version and not isinstance(command, Create):
        return Refusal(
            "unknown_session", "there is no such session", "`segue list --all` names those that exist"
        )
    if state.version and state.status not in OPEN and not command.ANYTIME and not isinstance(command, Create):
        return Refusal(
            "session_over",
            f"session {state.id} is {state.status} since {state.ended[:16]}",
            "start a new one with `segue start`, or take the last command back with `segue undo`",
        )
    decider = _DECIDERS.get(type(command))
    found: Bodies | Refusal = decider(state, command) if decider else cast(Decides, command).outcome(state)
    return found


def merges(command: Command, event: Event) -> bool:
    """Whether the command may be decided again behind this event of somebody else."""
    if isinstance(command, SaveAgent | NoteAgent | DropAgent):
        body = read_body(event)
        theirs = isinstance(body, ev.AgentSaved | ev.AgentDropped) and body.agent == command.agent
        return not theirs and event.kind != ev.Rewound.KIND
    if isinstance(command, Mark) and event.kind == ev.Marked.KIND:
        mark = read_body(event)
        return not (isinstance(mark, ev.Marked) and mark.name == command.name)
    return command.MERGES and event.kind not in command.CLASHES


def _create(state: SessionState, c: Create) -> Bodies | Refusal:
    if state.version:
        return []
    created = ev.Created(c.id, c.goal, c.organization, c.project, c.type, c.project_name)
    items = dict.fromkeys(c.items)
    return [created, ev.Started(), *(ev.ItemAdded(text) for text in items)]


def resolve_item(state: SessionState, text: str) -> str | Refusal:
    """The item that ``#3`` or a text means; a text that is not in the plan means itself."""
    if text.startswith("#") and text[1:].isdecimal():
        place = parse_digits(text[1:]) - 1
        if not 0 <= place < len(state.items):
            return Refusal(
                "usage",
                f"there is no item {text[:99]}: the plan has {len(state.items)}",
                "see `segue status`",
            )
        return state.items[place].text
    place = find_item(state, text)
    return state.items[place].text if place >= 0 else text


def _status(state: SessionState, text: str) -> str:
    place = find_item(state, text)
    return state.items[place].status if place >= 0 else ""


def _move(state: SessionState, wish: str, status: str, body: Any, *more: Any) -> Bodies | Refusal:
    place = state.items.find(key(wish), key_of) if wish[:1] != "#" else -1
    if place >= 0:
        item = state.items[place]
        return [] if item.status == status else [body(item.text, *more)]
    text = resolve_item(state, wish) if wish[:1] == "#" else wish
    if isinstance(text, Refusal):
        return text
    return [] if text != wish and _status(state, text) == status else [body(text, *more)]


def _add(state: SessionState, c: Add) -> Bodies | Refusal:
    text = resolve_item(state, c.item)
    if isinstance(text, Refusal):
        return text
    return [ev.ItemAdded(text)] if _status(state, text) in ("", "dropped") else []


def _block(state: SessionState, c: Block) -> Bodies | Refusal:
    text = resolve_item(state, c.item)
    if isinstance(text, Refusal):
        return text
    place = find_item(state, text)
    if place >= 0 and state.items[place].status == "blocked" and state.items[place].reason == c.reason:
        return []
    bodies: Bodies = [ev.ItemBlocked(text, c.reason)]
    if state.active == (place,) and state.next and not c.stay:
        bodies.append(ev.ItemBegun(state.items[state.next[0]].text, quiet=True))
    return bodies


def _unblock(state: SessionState, c: Unblock) -> Bodies | Refusal:
    text = resolve_item(state, c.item)
    if isinstance(text, Refusal):
        return text
    return [ev.ItemUnblocked(text)] if _status(state, text) in ("blocked", "") else []


def _answer(state: SessionState, c: Answer) -> Bodies | Refusal:
    text = c.question
    if text.startswith("#") and text[1:].isdecimal():
        if not 0 < parse_digits(text[1:]) <= len(state.questions):
            told = f"there is no question {text[:99]}: those asked are {len(state.questions)}"
            return Refusal("usage", told, "see `segue status`")
        text = state.questions[parse_digits(text[1:]) - 1].text
    place = find_question(state, text)
    if place >= 0 and state.questions[place].answer == c.answer:
        return []
    return [ev.Answered(text, c.answer)]


def _ask(state: SessionState, c: Ask) -> Bodies:
    return [] if find_question(state, c.text) >= 0 else [ev.Asked(c.text)]


def _fail(state: SessionState, c: Fail) -> Bodies:
    place = find_trouble(state, c.error)
    return [] if place >= 0 and not state.troubles[place].solution else [ev.ErrorSeen(c.error)]


def _decide(state: SessionState, c: Decide) -> Bodies:
    last = state.decisions[-1] if state.decisions else None
    return [] if last and (last.text, last.why) == (c.text, c.why) else [ev.Decided(c.text, c.why)]


def _describe(state: SessionState, c: Describe) -> Bodies:
    goal = c.goal if c.goal != state.goal else None
    summary = c.summary if c.summary != state.summary else None
    return [] if goal is None and summary is None else [ev.Described(goal, summary)]


def _rewind(state: SessionState, c: Rewind) -> Bodies | Refusal:
    if c.name and state.status not in OPEN:
        return Refusal(
            "session_over", f"session {state.id} is {state.status}", "take that back with `segue undo`"
        )
    patch = difference(state, c.then, lifecycle=c.lifecycle)
    return (
        [ev.Rewound(c.to, patch, c.name)] if patch or c.lifecycle else []
    )  # an undo counts, or is done again


def _pause(state: SessionState, c: Pause) -> Bodies | Refusal:
    if c.cause not in PAUSE_CAUSES:
        return Refusal("usage", f"unknown cause of a pause: {c.cause}", "one of " + ", ".join(PAUSE_CAUSES))
    return [] if state.status == "paused" else [ev.SessionPaused(c.reason, c.cause)]


def _resume(state: SessionState, c: Resume) -> Bodies | Refusal:
    return [ev.Resumed()] if state.status in ("paused", "created") else []


def _complete(state: SessionState, c: Complete) -> Bodies | Refusal:
    if state.status == "abandoned":
        return Refusal(
            "session_over", f"session {state.id} was abandoned", "take that back with `segue undo`"
        )
    if state.status == "completed":
        return []
    look = gate(state, c.covered, attest=c.attest)
    if not look.ok and not c.force:
        return Refusal("unverified_features", look.text, look.hint)
    unproven = [f"{one.id} {one.status}: {one.reason}" for one in look.unproven]
    forced = c.force if unproven else ""
    return [ev.Completed(c.summary, look.counts.passing, unproven, forced, list(look.changes))]


def _abandon(state: SessionState, c: Abandon) -> Bodies | Refusal:
    if state.status == "completed":
        return Refusal("session_over", f"session {state.id} is completed", "take that back with `segue undo`")
    return [] if state.status == "abandoned" else [ev.Abandoned(c.reason)]


def _unknown(values: Mapping[str, Any], part: Any) -> Refusal | None:
    """A refusal if any of these values is of no field of this part."""
    fields = [f for f in part.__struct_fields__ if f not in ("pieces", "size", "saved_at")]
    wrong = next((name for name in values if name not in fields), None)
    return Refusal("usage", f"unknown field `{wrong}`", "one of " + ", ".join(fields)) if wrong else None


_DECIDERS: dict[type[Command], Any] = {
    Create: _create,
    Add: _add,
    Begin: lambda s, c: _move(s, c.item, "active", ev.ItemBegun, c.quiet),
    Done: lambda s, c: _move(s, c.item, "done", ev.ItemDone),
    Block: _block,
    Unblock: _unblock,
    Drop: lambda s, c: _move(s, c.item, "dropped", ev.ItemDropped, c.reason),
    Note: lambda s, c: [ev.Noted(c.text)],
    Decide: _decide,
    Ask: _ask,
    Answer: _answer,
    Learn: lambda s, c: [ev.Learnt(c.text)],
    Fail: _fail,
    Solve: lambda s, c: [ev.ErrorSolved(c.error, c.solution)],
    Thread: lambda s, c: [ev.ThreadMoved(c.topic, c.status, list(c.notes))],
    Focus: lambda s, c: [ev.FocusSet(c.note_id, c.note_title, c.file, c.position)],
    LoadNotes: lambda s, c: [ev.NotesLoaded(list(c.ids), c.tokens, c.paths)],
    SeeChanges: lambda s, c: [] if s.changes == c.changes else [ev.ChangesSeen(list(c.changes))],
    NoteContext: lambda s, c: _unknown(c.values, s.context) or [ev.ContextNoted(c.values)],
    Count: lambda s, c: _unknown(c.counts, s.metrics) or [ev.Counted(c.counts)],
    NoteAgent: lambda s, c: _unknown(c.values, AgentState()) or [ev.AgentNoted(c.agent, c.values)],
    SaveAgent: lambda s, c: [ev.AgentSaved(c.agent, c.size, list(c.splices))],
    DropAgent: lambda s, c: [ev.AgentDropped(c.agent)] if c.agent in s.agents else [],
    Describe: _describe,
    Mark: lambda s, c: [ev.Marked(c.name, c.note)],
    Rewind: _rewind,
    Pause: _pause,
    Resume: _resume,
    Complete: _complete,
    Abandon: _abandon,
    Hand: lambda s, c: [ev.Handed(c.to, c.note)],
}


class DecidedBatch(Value):
    """Several commands decided one behind the other: what they come to, and the state then."""

    drafts: list[Draft]
    state: SessionState


def decide_all(
    state: SessionState, commands: Sequence[Command], *, at: str, actor: str, run: str
) -> DecidedBatch | Refusal:
    """All commands or none: each is decided in the state that those before it lead to."""
    drafts: list[Draft] = []
    for command in commands:
        outcome = decide(state, replace(command, by=actor) if command.SIGNED else command)
        if isinstance(outcome, Refusal):
            return outcome
        for body in outcome:
            drafts.append(draft(body, at=at, actor=actor, run=run))
            state = fold_body(state, body, version=state.version + 1, at=at, actor=actor)
    return DecidedBatch(drafts, state)
