"""decide: what a command comes to in a state, and what merges with what."""

from __future__ import annotations

import pytest

from segue.core import event_kinds as ev
from segue.core.sessions import commands as do, feature_commands as fc
from segue.core.sessions.budget import SetBudget, Spend
from segue.core.sessions.commands import Refusal, decide, decide_all, merges
from segue.core.sessions.fold import fold
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


def outcome_of(state: SessionState, command: do.Command) -> list[ev.Body]:
    outcome = decide(state, command)
    assert not isinstance(outcome, Refusal), outcome
    return outcome


# -- items, by their texts and numbers --------------------------------------------------------------


def test_the_first_and_the_last_item_are_named_by_their_numbers() -> None:
    state = after(CREATE, do.Done("#1"), do.Begin("#3"))
    assert [item.status for item in state.items] == ["done", "next", "active"]
    assert kinds(state, do.Done("#1")) == kinds(state, do.Begin("#3")) == kinds(state, do.Add("#2")) == []


@pytest.mark.parametrize("command", [do.Done, do.Begin, do.Drop, do.Add, do.Block, do.Unblock])
def test_no_command_takes_the_number_of_an_item_that_is_not_there(command: type[do.Command]) -> None:
    assert isinstance(decide(after(CREATE), command("#4")), Refusal)


def test_a_text_that_only_begins_like_a_number_is_a_text() -> None:
    state = after(CREATE, do.Add("#1 priority"), do.Done("#x"))
    assert [item.text for item in state.items][3:] == ["#1 priority", "#x"]


def test_an_item_keeps_the_spelling_that_it_was_planned_with() -> None:
    assert [item.text for item in after(CREATE, do.Done("  ONE ")).items] == ["one", "two", "three"]


def test_items_that_a_plan_names_twice_are_planned_once() -> None:
    state = after(do.Create("i", "g", "o", "p", items=("a", "b", "a")))
    assert [item.text for item in state.items] == ["a", "b"]


def test_what_was_dropped_can_be_planned_again_and_what_is_done_or_blocked_is_planned_already() -> None:
    state = after(CREATE, do.Drop("one"), do.Done("two"), do.Block("three"))
    assert kinds(state, do.Add("one")) == ["item.added"]
    assert kinds(state, do.Add("two")) == kinds(state, do.Add("three")) == []


def test_blocking_again_tells_only_another_reason() -> None:
    state = after(CREATE, do.Block("one", "no key"))
    assert kinds(state, do.Block("one", "no key")) == []
    assert kinds(state, do.Block("one", "no disk")) == ["item.blocked"]


def test_a_blocked_item_can_be_unblocked_once() -> None:
    state = after(CREATE, do.Block("one"))
    assert kinds(state, do.Unblock("one")) == ["item.unblocked"]
    assert kinds(after(do.Unblock("one"), state=state), do.Unblock("one")) == []


def test_blocking_the_only_item_begins_nothing() -> None:
    state = after(do.Create("i", "g", "o", "p", items=("only",)), do.Begin("only"))
    assert kinds(state, do.Block("only")) == ["item.blocked"]


def test_the_next_item_that_a_block_begins_is_not_the_last_action() -> None:
    state = after(CREATE, do.Begin("one"), do.Note("the key is missing"), do.Block("one"))
    assert [state.items[i].text for i in state.active] == ["two"]
    assert state.last_action == "the key is missing"


def test_beginning_an_item_is_the_last_action_unless_it_was_quiet() -> None:
    assert after(CREATE, do.Note("n"), do.Begin("one")).last_action == "one"
    assert after(CREATE, do.Note("n"), do.Begin("one", quiet=True)).last_action == "n"


# -- questions, errors, decisions -------------------------------------------------------------------


def test_questions_are_answered_by_number_and_an_answer_can_be_changed() -> None:
    state = after(CREATE, do.Ask("first?"), do.Ask("last?"), do.Answer("#1", "a"), do.Answer("#2", "b"))
    assert [question.answer for question in state.questions] == ["a", "b"]
    assert kinds(state, do.Answer("#2", "b")) == [] and kinds(state, do.Ask("FIRST?")) == []
    assert kinds(state, do.Answer("#2", "c")) == ["question.answered"]
    assert kinds(state, do.Answer("#1 or #2?", "both")) == ["question.answered"]


@pytest.mark.parametrize("number", ["#0", "#3"])
def test_a_number_that_no_question_has_is_refused(number: str) -> None:
    outcome = decide(after(CREATE, do.Ask("first?"), do.Ask("last?")), do.Answer(number, "x"))
    assert isinstance(outcome, Refusal) and outcome.message.endswith("2 were asked")


def test_an_error_that_was_solved_can_be_seen_again() -> None:
    state = after(CREATE, do.Fail("boom"), do.Solve("boom", "so"))
    assert kinds(state, do.Fail("boom")) == ["error.seen"]


def test_a_decision_is_repeated_only_if_something_else_was_decided_in_between() -> None:
    state = after(CREATE, do.Decide("a", "w"))
    assert kinds(state, do.Decide("a", "w")) == [] and kinds(state, do.Decide("a")) == ["decision.made"]
    assert kinds(after(do.Decide("b"), state=state), do.Decide("a", "w")) == ["decision.made"]


def test_of_a_description_only_what_is_new_is_recorded() -> None:
    [body] = outcome_of(after(CREATE), do.Describe(goal="goal", summary="s"))
    assert (body.goal, body.summary) == (None, "s")  # type: ignore[attr-defined]
    state = after(CREATE, do.Describe(summary="s"))
    [body] = outcome_of(state, do.Describe(goal="new", summary="s"))
    assert (body.goal, body.summary) == ("new", None)  # type: ignore[attr-defined]


def test_changes_of_files_are_recorded_when_they_differ() -> None:
    changes = (("f.py", "modified"),)
    state = after(CREATE, do.SeeChanges(changes))
    assert kinds(state, do.SeeChanges(changes)) == [] and kinds(state, do.SeeChanges(())) == ["changes.seen"]


# -- the life of a session --------------------------------------------------------------------------


def test_creating_a_session_again_changes_nothing_even_when_it_is_over() -> None:
    assert kinds(after(CREATE), CREATE) == kinds(after(CREATE, do.Complete()), CREATE) == []


def test_a_paused_session_can_be_worked_on_and_resumed_once() -> None:
    state = after(CREATE, do.Pause("lunch", "user"))
    assert kinds(state, do.Note("x")) == ["note.taken"] and kinds(state, do.Resume()) == ["session.resumed"]
    assert kinds(after(do.Resume(), state=state), do.Resume()) == []
    assert kinds(after(CREATE, do.Complete()), do.Resume()) == []


def test_a_session_that_was_never_started_can_be_resumed() -> None:
    created = ev.Created("i", "g", "o", "p", "coding")
    [sealed] = ev.seal("s", 0, bytes(32), [ev.draft(created, at=AT, actor="user")])
    assert kinds(fold(SessionState(), sealed), do.Resume()) == ["session.resumed"]


def test_a_reason_for_completing_is_kept_only_where_something_is_not_proven() -> None:
    [body] = outcome_of(after(CREATE), do.Complete(force="demo at noon"))
    assert body.forced == "" and body.unproven == []  # type: ignore[attr-defined]


def test_a_checkpoint_brings_back_no_session_that_is_over_and_an_undo_does() -> None:
    before = after(CREATE)
    over = after(do.Complete(), state=before)
    outcome = decide(over, do.Rewind(before.version, before, "m"))
    assert isinstance(outcome, Refusal) and outcome.code == "session_over"
    undone = after(do.Rewind(before.version, before, lifecycle=True), state=over)
    assert (undone.status, undone.ended) == ("active", "")


def test_going_back_to_a_checkpoint_leaves_the_session_paused_and_its_checkpoints_alone() -> None:
    before = after(CREATE, do.Mark("first"))
    now = after(do.Done("one"), do.Mark("second"), do.Pause("lunch"), state=before)
    back = after(do.Rewind(before.version, before, "first"), state=now)
    assert back.items == before.items and back.status == "paused" and set(back.marks) == {"first", "second"}


def test_going_back_to_where_one_is_is_no_event_and_an_undo_is_always_one() -> None:
    state = after(CREATE)
    assert kinds(state, do.Rewind(state.version, state, "m")) == []
    assert kinds(state, do.Rewind(state.version, state, lifecycle=True)) == ["session.rewound"]


@pytest.mark.parametrize(
    "command",
    [do.Count({"bogus": 1}), do.NoteContext({"bogus": 1}), do.NoteAgent("a", {"pieces": []}),
     do.NoteAgent("a", {"size": 1}), do.NoteAgent("a", {"saved_at": "x"})],
)  # fmt: skip
def test_a_field_that_does_not_exist_or_is_not_the_users_is_refused(command: do.Command) -> None:
    outcome = decide(after(CREATE), command)
    assert isinstance(outcome, Refusal) and "unknown field" in outcome.message and "bogus" not in outcome.hint


def test_an_agent_that_has_a_state_can_be_dropped_once() -> None:
    state = after(CREATE, do.NoteAgent("a", {"mode": "plan"}), do.NoteAgent("b", {"mode": "plan"}))
    assert kinds(state, do.DropAgent("a")) == ["agent.dropped"]
    assert list(after(do.DropAgent("a"), state=state).agents) == ["b"]


def test_every_event_of_a_batch_has_the_next_version_and_the_name_of_who_declared_it() -> None:
    batch = decide_all(after(CREATE), [do.Decide("a"), do.Decide("b")], at=AT, actor="codex", run="run-1")
    assert not isinstance(batch, Refusal)
    assert batch.state.version == after(CREATE).version + 2 == 7
    assert [decision.actor for decision in batch.state.decisions] == ["codex", "codex"]
    assert {(draft.actor, draft.run, draft.at) for draft in batch.drafts} == {("codex", "run-1", AT)}


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
        (do.SaveAgent("a", 1, ()), ev.AgentNoted("a", {}), True),
        (do.NoteAgent("a", {}), ev.AgentSaved("a", 1, []), False),
        (do.DropAgent("a"), ev.AgentSaved("a", 1, []), False),
        (do.DropAgent("a"), ev.Noted("x"), True),
        (do.Mark("m"), ev.Noted("x"), True),
        (do.SeeChanges(()), ev.ChangesSeen([]), False),
        (do.NoteContext({}), ev.ContextNoted({}), False),
        (SetBudget(), ev.BudgetSet(), False),
        (Spend(), ev.BudgetSet(), True),
        (CREATE, ev.Noted("x"), False),
        (do.Resume(), ev.Noted("x"), False),
        (do.Abandon(), ev.Noted("x"), False),
        (do.Rewind(1, SessionState()), ev.Noted("x"), False),
        (fc.ChangeFeature("f"), ev.FeatureRemoved("f"), False),
        (fc.RemoveFeature("f"), ev.FeatureChanged("f"), False),
        (fc.RemoveFeature("f"), ev.FeatureMoved("f", "failing"), True),
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
