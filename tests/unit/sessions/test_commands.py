"""decide: what a command comes to in a state, and what merges with what."""

from __future__ import annotations

import pytest

from segue.core import event_kinds as ev
from segue.core.sessions import commands as do
from segue.core.sessions.commands import Refusal, decide, decide_all, merges
from segue.core.sessions.state import SessionState

AT = "2026-01-01T00:00:00.000000Z"
CREATE = do.Create("id", "goal", "org", "project", items=("one", "two", "three"))


def after(*commands: do.Command, state: SessionState | None = None) -> SessionState:
    decided = decide_all(state or SessionState(), commands, at=AT, actor="user", run="")
    assert not isinstance(decided, Refusal), decided
    return decided.state


def kinds(state: SessionState, command: do.Command) -> list[str]:
    outcome = decide(state, command)
    assert not isinstance(outcome, Refusal), outcome
    return [body.KIND for body in outcome]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (do.Add("four"), ["item.added"]),
        (do.Add("ONE "), []),
        (do.Begin("one"), ["item.begun"]),
        (do.Begin("new"), ["item.begun"]),
        (do.Done("#2"), ["item.done"]),
        (do.Block("one", "why"), ["item.blocked"]),
        (do.Unblock("one"), []),
        (do.Unblock("new"), ["item.unblocked"]),
        (do.Drop("one"), ["item.dropped"]),
        (do.Describe(goal="goal"), []),
        (do.Describe(goal="other"), ["session.described"]),
        (do.DropAgent("nobody"), []),
        (do.Resume(), []),
        (do.Pause(), ["session.paused"]),
        (do.SeeChanges(()), []),
    ],
)
def test_a_command_gives_events_unless_its_wish_is_fulfilled(
    command: do.Command, expected: list[str]
) -> None:
    assert kinds(after(CREATE), command) == expected


@pytest.mark.parametrize(
    "command",
    [do.Done("one"), do.Begin("one"), do.Block("one", "r"), do.Drop("one"), do.Ask("q?"),
     do.Answer("q?", "a"), do.Decide("d", "w"), do.Fail("e"), do.Pause("r"), do.Complete("s"),
     do.Abandon("r"), do.Add("x")],
    ids=lambda c: type(c).__name__,
)  # fmt: skip
def test_a_command_that_is_sent_twice_happens_once(command: do.Command) -> None:
    assert kinds(after(CREATE, command), command) == []


def test_blocking_the_active_item_begins_the_next_unless_told_to_stay() -> None:
    state = after(CREATE, do.Begin("one"))
    assert kinds(state, do.Block("one", "why")) == ["item.blocked", "item.begun"]
    assert kinds(state, do.Block("one", "why", stay=True)) == ["item.blocked"]
    assert kinds(state, do.Block("two", "why")) == ["item.blocked"]
    both = after(do.Begin("two"), state=state)
    assert kinds(both, do.Block("one", "why")) == ["item.blocked"]


@pytest.mark.parametrize("number", ["#0", "#4", "#99"])
def test_a_number_outside_of_the_plan_is_refused(number: str) -> None:
    outcome = decide(after(CREATE), do.Done(number))
    assert isinstance(outcome, Refusal) and "3" in outcome.message


@pytest.mark.parametrize("end", [do.Complete(), do.Abandon()], ids=["completed", "abandoned"])
def test_a_session_that_is_over_takes_no_more_work(end: do.Command) -> None:
    state = after(CREATE, end)
    for command in (do.Done("one"), do.Note("x"), do.Pause(), do.Mark("m")):
        outcome = decide(state, command)
        assert isinstance(outcome, Refusal) and outcome.code == "session_over"
    for allowed in (do.Count({"searches_performed": 1}), do.Describe(summary="s"), do.Resume()):
        assert not isinstance(decide(state, allowed), Refusal)
    other = do.Abandon() if isinstance(end, do.Complete) else do.Complete()
    assert isinstance(decide(state, other), Refusal)


def test_nothing_can_be_done_in_a_session_that_is_not_there() -> None:
    outcome = decide(SessionState(), do.Note("x"))
    assert isinstance(outcome, Refusal) and outcome.code == "unknown_session"


def test_all_commands_are_refused_if_one_is() -> None:
    outcome = decide_all(after(CREATE), [do.Done("one"), do.Done("#9")], at=AT, actor="user", run="")
    assert isinstance(outcome, Refusal)


def event(body: ev.Body) -> ev.Event:
    [sealed] = ev.seal("s", 0, bytes(32), [ev.draft(body, at=AT, actor="user")])
    return sealed


@pytest.mark.parametrize(
    ("command", "theirs", "merged"),
    [
        (do.Done("a"), ev.ItemDone("b"), True),
        (do.Done("a"), ev.SessionPaused(), True),
        (do.Decide("a"), ev.Decided("b"), True),
        (do.Pause(), ev.Noted("x"), False),
        (do.Complete(), ev.Noted("x"), False),
        (do.Describe(goal="a"), ev.Described("b"), False),
        (do.Describe(goal="a"), ev.Noted("x"), True),
        (do.Mark("m"), ev.Marked("m"), False),
        (do.Mark("m"), ev.Marked("another"), True),
        (do.Focus(file="a"), ev.FocusSet(file="b"), False),
        (do.SaveAgent("a", 1, ()), ev.AgentSaved("b", 1, []), True),
        (do.SaveAgent("a", 1, ()), ev.AgentSaved("a", 1, []), False),
        (do.SaveAgent("a", 1, ()), ev.AgentDropped("a"), False),
        (do.SaveAgent("a", 1, ()), ev.Rewound(1, {}), False),
    ],
)
def test_a_command_merges_with_what_commutes(command: do.Command, theirs: ev.Body, merged: bool) -> None:
    assert merges(command, event(theirs)) is merged


def test_every_command_has_a_decider_and_every_kind_of_event_is_its_own() -> None:
    own = {c for c in do.Command.__subclasses__() if c.__module__ == do.__name__}
    assert set(do._DECIDERS) == own
    assert len(ev.BODIES) == len(ev.Body.__subclasses__())


def leaves(kind: type) -> list[type]:
    below: list[type] = kind.__subclasses__()
    return [leaf for one in below for leaf in leaves(one)] if below else [kind]


def test_every_command_has_exactly_one_decision():
    import segue.core.sessions.feature_commands  # noqa: F401  (its commands count too)

    ways = {
        kind: (kind in do._DECIDERS) + hasattr(kind, "outcome")
        for kind in leaves(do.Command)
        if kind.__module__.startswith("segue.")
    }
    assert len(ways) > 20 and set(ways.values()) == {1}, ways
