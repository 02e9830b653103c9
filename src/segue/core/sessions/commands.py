"""Commands, and how they are decided: ``decide(state, command)`` returns event bodies or a Refusal.

A command whose result is already there gives no events, so finishing an item twice is the same as finishing
it once. (What only adds, such as a note or a finding, adds again.) ``merges`` says whether a command may be
decided again after somebody else's event came first: finishing an item may, pausing the session may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import to_builtins
from msgspec.structs import replace

from ..base.values import Value, count, parse_digits
from ..features.verdict import gate
from ..journal.event import Draft, Event, draft, read_body
from ..ledger.events import EntryCorrected
from ..ledger.model import HOLDING, Change
from . import events as ev
from .command import Bodies as Bodies, Command as Command, Decides, Refusal as Refusal
from .declared_choices import corrected_entry
from .fold import fold_body
from .near_miss import candidates
from .rewind import difference
from .state import (
    OPEN,
    AgentState,
    Decision,
    SessionState,
    find_item,
    find_question,
    find_trouble,
    key,
    key_of,
)


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
    new: bool = False
    """Whether a name that is near to a planned one is meant as a new item."""


class Done(Command):
    item: str
    new: bool = False


class Block(Command):
    item: str
    reason: str = ""
    stay: bool = False
    new: bool = False


class Unblock(Command):
    item: str


class Drop(Command):
    item: str
    reason: str = ""
    new: bool = False


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
    """Record an error."""

    error: str


class Solve(Command):
    """Record how an error was solved."""

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
    used: bool = True
    """Whether somebody asked for them; what a restoration chose by itself is loaded, and not used."""


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
    """Go back to the state of an earlier version, which the caller has to provide."""

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
    again: bool = False
    """Whether to record it even if the session is active: all of its runs have ended."""


class Complete(Command):
    MERGES = False
    ANYTIME = True
    summary: str = ""
    force: str = ""
    """The reason to complete it although not everything is proven."""
    covered: dict[str, str] = {}
    """The current hash of the covered files for each feature id; a feature without one is not proven."""
    attest: bool = True
    """Whether attestations count for steps without a check."""


class Abandon(Command):
    MERGES = False
    ANYTIME = True
    reason: str = ""


class Hand(Command):
    to: str
    note: str = ""


CANDIDATE_CHARS = 80
PAUSE_CAUSES = ("user", "budget", "timeout", "error", "system", "unknown")


def decide(state: SessionState, command: Command) -> Bodies | Refusal:
    """The bodies of the events that a command leads to in a state, or a refusal."""
    if not state.version and not isinstance(command, Create):
        return Refusal(
            "unknown_session", "there is no such session", "`segue list --all` shows the ones that exist"
        )
    if state.version and state.status not in OPEN and not command.ANYTIME and not isinstance(command, Create):
        return Refusal(
            "session_over",
            f"session {state.id} was {state.status} at {state.ended[:16]}",
            "start a new one with `segue start`, or undo the last command with `segue undo`",
        )
    decider = _DECIDERS.get(type(command))
    outcome: Bodies | Refusal = decider(state, command) if decider else cast(Decides, command).outcome(state)
    return outcome


def merges(command: Command, event: Event) -> bool:
    """Whether the command may be decided again after this event of somebody else."""
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
    """The text of the item that ``#3`` or a text refers to; a text that is not in the plan is returned as
    is."""
    if text.startswith("#") and text[1:].isdecimal():
        index = parse_digits(text[1:]) - 1
        if not 0 <= index < len(state.items):
            return Refusal(
                "usage",
                f"there is no item {text[:99]}; the plan has {count(len(state.items), 'item')}",
                "see `segue status`",
            )
        return state.items[index].text
    index = find_item(state, text)
    return state.items[index].text if index >= 0 else text


def _status(state: SessionState, text: str) -> str:
    index = find_item(state, text)
    return state.items[index].status if index >= 0 else ""


def _planned(state: SessionState, command: Begin | Done | Block | Drop) -> str | Refusal:
    """The text of the item that a command names; one that is not in the plan is new, unless its name is near
    to a planned one and the command does not say that it is new."""
    text = resolve_item(state, command.item)
    if isinstance(text, Refusal) or command.new or not state.items or find_item(state, text) >= 0:
        return text
    return misspelt(state, text) or text


def misspelt(state: SessionState, name: str) -> Refusal | None:
    """The refusal of a name that is not in the plan and near to items that are; None if nothing is near."""
    meant = candidates(state, name)
    if not meant:
        return None
    several = ", ".join(f"#{one.number} {one.item[:CANDIDATE_CHARS]!r}" for one in meant)
    return Refusal(
        "misspelt_item",
        f"there is no item {name[:CANDIDATE_CHARS]!r}; the plan has {several}",
        f"use the number, as in `#{meant[0].number}`; for a new item say --new (in JSON: new=true)",
        {"item": name, "candidates": [to_builtins(one) for one in meant]},
    )


def _move(
    state: SessionState, command: Begin | Done | Drop, status: str, body: Any, *details: Any
) -> Bodies | Refusal:
    name = command.item
    index = state.items.find(key(name), key_of) if name[:1] != "#" else -1
    if index >= 0:
        item = state.items[index]
        return [] if item.status == status else [body(item.text, *details)]
    text = _planned(state, command)
    if isinstance(text, Refusal):
        return text
    return [] if text != name and _status(state, text) == status else [body(text, *details)]


def _changed(state: SessionState, name: str, body: Any, *statuses: str) -> Bodies | Refusal:
    """The event about an item, if that has one of these statuses; that of an unknown item is empty."""
    text = resolve_item(state, name)
    if isinstance(text, Refusal):
        return text
    return [body(text)] if _status(state, text) in statuses else []


def _block(state: SessionState, c: Block) -> Bodies | Refusal:
    text = _planned(state, c)
    if isinstance(text, Refusal):
        return text
    index = find_item(state, text)
    if index >= 0 and state.items[index].status == "blocked" and state.items[index].reason == c.reason:
        return []
    bodies: Bodies = [ev.ItemBlocked(text, c.reason)]
    if state.active == (index,) and state.next and not c.stay:
        bodies.append(ev.ItemBegun(state.items[state.next[0]].text, quiet=True))
    return bodies


def _answer(state: SessionState, c: Answer) -> Bodies | Refusal:
    text = c.question
    if text.startswith("#") and text[1:].isdecimal():
        if not 0 < parse_digits(text[1:]) <= len(state.questions):
            message = f"there is no question {text[:99]}; {len(state.questions)} were asked"
            return Refusal("usage", message, "see `segue status`")
        text = state.questions[parse_digits(text[1:]) - 1].text
    index = find_question(state, text)
    if index >= 0 and state.questions[index].answer == c.answer:
        return []
    return [ev.Answered(text, c.answer)]


def _fail(state: SessionState, c: Fail) -> Bodies:
    index = find_trouble(state, c.error)
    return [] if index >= 0 and not state.troubles[index].solution else [ev.ErrorSeen(c.error)]


def _decide(state: SessionState, c: Decide) -> Bodies:
    last = state.decisions[-1] if state.decisions else None
    is_new = last is None or (last.text, last.why) != (c.text, c.why)
    bodies: Bodies = [ev.Decided(c.text, c.why)] if is_new else []
    entry = corrected_entry(state, Decision(c.text, c.why))
    if entry is not None and entry.state not in HOLDING:  # decided after all
        bodies.append(EntryCorrected(Change(entry.id, "open")))
    return bodies


def _describe(state: SessionState, c: Describe) -> Bodies:
    goal = c.goal if c.goal != state.goal else None
    summary = c.summary if c.summary != state.summary else None
    return [] if goal is None and summary is None else [ev.Described(goal, summary)]


def _rewind(state: SessionState, c: Rewind) -> Bodies | Refusal:
    if c.name and state.status not in OPEN:
        return Refusal("session_over", f"session {state.id} is {state.status}", "`segue undo` reopens it")
    patch = difference(state, c.then, lifecycle=c.lifecycle)
    if not patch and not c.lifecycle:  # an undo is recorded even if it changes nothing, or it would recur
        return []
    return [ev.Rewound(c.to, patch, c.name)]


def _pause(state: SessionState, c: Pause) -> Bodies | Refusal:
    if c.cause not in PAUSE_CAUSES:
        return Refusal("usage", f"unknown pause cause: {c.cause}", "use one of " + ", ".join(PAUSE_CAUSES))
    return [] if state.status == "paused" else [ev.SessionPaused(c.reason, c.cause)]


def _resume(state: SessionState, c: Resume) -> Bodies:
    resumes = state.status in ("paused", "created") or (c.again and state.status == "active")
    return [ev.Resumed()] if resumes else []


def _complete(state: SessionState, c: Complete) -> Bodies | Refusal:
    if state.status == "abandoned":
        return Refusal("session_over", f"session {state.id} was abandoned", "`segue undo` reopens it")
    if state.status == "completed":
        return []
    verdict = gate(state, c.covered, attest=c.attest)
    if not verdict.ok and not c.force:
        return Refusal("unverified_features", verdict.text, verdict.hint)
    unproven = [f"{feature.id} {feature.status}: {feature.reason}" for feature in verdict.unproven]
    forced = c.force if unproven else ""
    return [ev.Completed(c.summary, verdict.counts.passing, unproven, forced, list(verdict.changes))]


def _abandon(state: SessionState, c: Abandon) -> Bodies | Refusal:
    if state.status == "completed":
        return Refusal("session_over", f"session {state.id} is completed", "`segue undo` reopens it")
    return [] if state.status == "abandoned" else [ev.Abandoned(c.reason)]


def _wrong_field(values: Mapping[str, Any], part: Any) -> Refusal | None:
    """Why values cannot be those of a part of the state: one is unknown, or a number below 0."""
    fields = [f for f in part.__struct_fields__ if f not in ("pieces", "size", "saved_at")]
    for name, value in values.items():
        if name not in fields:
            return Refusal("usage", f"unknown field `{name}`", "use one of " + ", ".join(fields))
        if isinstance(value, int | float) and value < 0:
            return Refusal("usage", f"`{name}` would be {value:g}", "it cannot be less than 0")
    return None


def _count(state: SessionState, c: Count) -> Bodies | Refusal:
    sums = {name: getattr(state.metrics, name, 0) + number for name, number in c.counts.items()}
    return _wrong_field(sums, state.metrics) or [ev.Counted(c.counts)]


_DECIDERS: dict[type[Command], Any] = {
    Create: _create,
    Add: lambda s, c: _changed(s, c.item, ev.ItemAdded, "", "dropped"),
    Begin: lambda s, c: _move(s, c, "active", ev.ItemBegun, c.quiet),
    Done: lambda s, c: _move(s, c, "done", ev.ItemDone),
    Block: _block,
    Unblock: lambda s, c: _changed(s, c.item, ev.ItemUnblocked, "", "blocked"),
    Drop: lambda s, c: _move(s, c, "dropped", ev.ItemDropped, c.reason),
    Note: lambda s, c: [ev.Noted(c.text)],
    Decide: _decide,
    Ask: lambda s, c: [] if find_question(s, c.text) >= 0 else [ev.Asked(c.text)],
    Answer: _answer,
    Learn: lambda s, c: [ev.Learnt(c.text)],
    Fail: _fail,
    Solve: lambda s, c: [ev.ErrorSolved(c.error, c.solution)],
    Thread: lambda s, c: [ev.ThreadMoved(c.topic, c.status, list(c.notes))],
    Focus: lambda s, c: [ev.FocusSet(c.note_id, c.note_title, c.file, c.position)],
    LoadNotes: lambda s, c: [ev.NotesLoaded(list(c.ids), c.tokens, c.paths, c.used)],
    SeeChanges: lambda s, c: [] if s.changes == c.changes else [ev.ChangesSeen(list(c.changes))],
    NoteContext: lambda s, c: _wrong_field(c.values, s.context) or [ev.ContextNoted(c.values)],
    Count: _count,
    NoteAgent: lambda s, c: _wrong_field(c.values, AgentState()) or [ev.AgentNoted(c.agent, c.values)],
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
    """The outcome of several commands: the drafts of their events, and the state after them."""

    drafts: list[Draft]
    state: SessionState
    new: tuple[str, ...] = ()
    """Items that were not in the plan before and that no command added to it."""
    replaced_goal: str = ""
    """The goal as it was before it was replaced."""


def decide_all(
    state: SessionState, commands: Sequence[Command], *, at: str, actor: str, run: str
) -> DecidedBatch | Refusal:
    """Decide several commands, each in the state that those before it lead to; one refusal refuses all."""
    drafts: list[Draft] = []
    new: list[str] = []
    goal = ""
    for command in commands:
        outcome = decide(state, replace(command, by=actor) if command.SIGNED else command)
        if isinstance(outcome, Refusal):
            return outcome
        for body in outcome:
            if type(body) in _NAMING and find_item(state, body.text) < 0:  # type: ignore[attr-defined]
                new.append(body.text)  # type: ignore[attr-defined]
            elif type(body) is ev.Described and body.goal is not None:
                goal = goal or state.goal
            drafts.append(draft(body, at=at, actor=actor, run=run))
            state = fold_body(state, body, version=state.version + 1, at=at, actor=actor)
    return DecidedBatch(drafts, state, tuple(new), goal)


_NAMING = (ev.ItemBegun, ev.ItemDone, ev.ItemBlocked, ev.ItemDropped)
"""Events that add the item which they name, if it is not there."""
