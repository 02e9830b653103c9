"""What Hypothesis draws from: texts, JSON values, commands, and sessions that grow from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from segue.core import event_kinds as ev
from segue.core.features.checks import Check
from segue.core.features.verdict import DECLARED
from segue.core.ledger import sayings as said
from segue.core.ledger.model import KINDS, Entry, HeardUpTo
from segue.core.sessions import commands as do, feature_commands as fc, ledger_commands as lc
from segue.core.sessions.commands import Command, DecidedBatch, decide_all
from segue.core.sessions.state import AgentState, Context, Metrics, SessionState
from segue.services.sessions.repository import fold_all

ODD = (
    "a", "A ", "b", "c", "é", "🎈 party 👩‍👩‍👧", "שלום עולם", "\x00nul\x07", "\x1b[31mred",
    "line\nbreak\r\n", "x" * 3000, "#1", "#2", "#99", "#", "-", "null", "2026-01-01", "\u2028\u0085", "  ",
    "'\"{}[]:", "ß", "ẞ", "\ufeffbom",
)  # fmt: skip
texts = st.sampled_from(ODD) | st.text(max_size=12)
words = st.sampled_from(ODD[:8]) | st.text(min_size=1, max_size=4)
names = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from([0, 1, 1.0, 0.0, -0.0, True, False])
    | finite
    | texts
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(words, inner, max_size=6),
    max_leaves=20,
)


def _values_for(part: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from([*part.__struct_fields__, "unheard_of"]), scalars, max_size=3)


splices = st.tuples(
    st.integers(-1, 4), st.integers(0, 3), st.lists(st.sampled_from(["aa" * 16, "bb" * 16]), max_size=2)
)
checks: st.SearchStrategy[Check] = st.builds(
    Check, st.tuples(st.sampled_from(["true", "pytest"])), proves=st.sampled_from([(), (1,), (2,), (9,)])
)
messages = st.sampled_from([
    "Add a button.\n1. make it blue\n2. make it big", "Never push to main.", "You may push the docs.",
    "Forget the button.", "thanks, perfect", "go on", "No, that is wrong.", "What is left?", "  ",
])  # fmt: skip
lists = st.lists(
    st.tuples(words, st.sampled_from(["pending", "active", "done", "dropped", "?"])), min_size=1, max_size=3
)
numbers = st.integers(0, 6)
sayings: st.SearchStrategy[said.Saying] = st.one_of(
    st.builds(said.Message, numbers, st.just(1e9), numbers, messages | texts),
    st.builds(said.Listed, numbers, st.just(0.0), numbers, st.sampled_from(["todo", "report"]), words, lists),
    st.builds(said.Chosen, numbers, st.just(1e9), numbers, words),
    st.builds(said.TurnEnded, numbers, st.just(1e9), numbers, messages, words, numbers),
    st.builds(said.TakenBack, numbers, st.just(1e9), numbers, numbers),
)
runs = st.sampled_from(["codex/r1", "claude-code/r2"])
entries: st.SearchStrategy[Entry] = st.builds(
    Entry, st.sampled_from(["aaaa000001", "aaaa000002", "bbbb000001"]), st.sampled_from(KINDS), words,
    at=st.sampled_from(["", "2026-01-01T00:00:00.000000Z", "2026-01-16T00:00:00.000000Z"]),
    since=st.sampled_from(["", "2026-01-17T00:00:00.000000Z"]), corrected=st.sampled_from(["", "user"]),
)  # fmt: skip
heard = st.dictionaries(runs, st.builds(HeardUpTo, numbers), max_size=2)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(do.Add, words),
    st.builds(do.Begin, words, st.booleans()),
    st.builds(do.Done, words),
    st.builds(do.Block, words, texts, st.booleans()),
    st.builds(do.Unblock, words),
    st.builds(do.Drop, words, texts),
    st.builds(do.Note, texts),
    st.builds(do.Decide, words, texts),
    st.builds(do.Ask, words),
    st.builds(do.Answer, words, texts),
    st.builds(do.Learn, texts),
    st.builds(do.Fail, words),
    st.builds(do.Solve, words, texts),
    st.builds(do.Thread, words, st.sampled_from(["in_progress", "paused", ""]), st.tuples(texts)),
    st.builds(do.Focus, texts, texts, texts, texts),
    st.builds(do.LoadNotes, st.tuples(words, words), st.integers(0, 10**9), st.dictionaries(words, texts)),
    st.builds(do.SeeChanges, st.tuples(st.tuples(words, st.sampled_from(["created", "deleted"])))),
    st.builds(do.NoteContext, _values_for(Context)),
    st.builds(do.Count, st.dictionaries(st.sampled_from([*Metrics.__struct_fields__, "x"]), finite)),
    st.builds(do.NoteAgent, names, _values_for(AgentState)),
    st.builds(do.SaveAgent, names, st.integers(0, 10**6), st.tuples(splices)),
    st.builds(do.DropAgent, names),
    st.builds(do.Describe, st.none() | texts, st.none() | texts),
    st.builds(do.Mark, names, texts),
    st.builds(do.Pause, texts),
    st.builds(do.Resume),
    st.builds(do.Complete, texts),
    st.builds(do.Abandon, texts),
    st.builds(do.Hand, words, texts),
    st.builds(fc.AddFeature, names, words, texts, st.tuples(words, words), st.tuples(checks) | st.just(())),
    st.builds(fc.ChangeFeature, names, st.none() | words, steps=st.none() | st.tuples(words)),
    st.builds(fc.RemoveFeature, names, texts),
    st.builds(fc.MoveFeature, names, st.sampled_from([*DECLARED, "passing", "complete"]), texts),
    st.builds(fc.Report, names, words, st.integers(0, 9), st.integers(0, 9), texts),
    st.builds(lc.AddEntry, st.sampled_from(KINDS), words, st.sampled_from(["", "aaaa000001", "zzzz"])),
)
observed: st.SearchStrategy[Command] = st.one_of(
    st.builds(lc.KeepSaid, runs, st.lists(sayings, max_size=3).map(tuple)),
    st.builds(lc.JoinLedger, names, st.lists(entries, max_size=3).map(tuple), heard),
)
"""What only Segue itself says."""


class _Correct(do.Command):
    """Correct one of the entries that are there."""

    nth: int
    state: str
    text: str | None


corrections: st.SearchStrategy[Command] = st.builds(
    _Correct, st.integers(0, 9), st.sampled_from(["", "open", "done", "withdrawn"]), st.none() | words
)


class _Back(do.Command):
    """Go back to an earlier state: how far, and whether the lifecycle goes along."""

    steps: int
    lifecycle: bool


batches = st.lists(
    st.lists(commands.filter(lambda c: not isinstance(c, do.SaveAgent)), min_size=1, max_size=3), max_size=15
)
"""For a real session: agents' states are saved by its own method."""
ops = st.lists(
    st.lists(commands, min_size=1, max_size=3)
    | st.lists(observed | corrections, min_size=1, max_size=2)
    | st.builds(lambda n, life: [_Back(n, life)], st.integers(0, 9), st.booleans()),
    max_size=25,
)
gaps = st.lists(st.sampled_from([0, 1, 600, 1800, 86_400, -5]), min_size=1, max_size=5)


def grow(batches: list[list[Command]], seconds: list[int], *, goal: str = "goal") -> list[ev.Event]:
    """The journal of a session that was given these commands; what decide refuses adds nothing."""
    moment = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    create = do.Create("s", goal, "o", "p", items=("a", "b", "c"))
    state, states, events = SessionState(), [SessionState()], list[ev.Event]()
    all_batches: list[list[Command]] = [[create], *batches]
    for number, batch in enumerate(all_batches):
        moment += timedelta(seconds=seconds[number % len(seconds)], microseconds=number)
        wishes = [_resolved(command, states) for command in batch]
        at = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
        outcome = decide_all(state, wishes, at=at, actor="user", run="")
        if isinstance(outcome, DecidedBatch) and outcome.drafts:
            prev = events[-1].hash if events else bytes(32)
            events += ev.seal("session/s", len(events), prev, outcome.drafts)
            state = outcome.state
            states.append(state)
    assert fold_all(events) == state, "what a writer remembers is what a reader folds"
    return events


def _resolved(command: Command, states: list[SessionState]) -> Command:
    if isinstance(command, _Correct):
        there = states[-1].said
        id = there[command.nth % len(there)].id if there else "none"
        state: Any = command.state or None
        return lc.CorrectEntry(id, state, command.text)
    if not isinstance(command, _Back):
        return command
    then = states[max(1, len(states) - 1 - command.steps)] if len(states) > 1 else states[0]
    return do.Rewind(max(1, then.version), then, "" if command.lifecycle else "m", command.lifecycle)


journals = st.builds(grow, ops, gaps)
