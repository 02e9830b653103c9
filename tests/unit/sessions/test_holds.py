"""Holds: who may write, until when, and what the others are told."""

from __future__ import annotations

import os
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from segue.api.segue import Segue
from segue.api.session import Session
from segue.core import event_kinds as ev
from segue.core.sessions import holds as core
from segue.core.sessions.holds import Holder, HoldState
from segue.effects.clock import moment
from segue.effects.processes.identity import host_name, start_of
from segue.errors import Paused, SessionHeld, UsageError
from segue.services.sessions.holds import Hold, hold_stream
from segue.stores.base import Append
from segue.stores.memory.store import VolatileStore

NOW = "2026-01-01T12:00:00.000000Z"
LATER = "2026-01-01T13:00:00.000000Z"


@pytest.fixture
def seg(tmp_path: Path) -> Segue:
    return Segue(VolatileStore(), home=tmp_path / "home", folder=tmp_path)


@pytest.fixture
def session(seg: Segue) -> Session:
    return seg.start("held")


def holder(run: str, *, until: str = LATER, fence: int = 1, share: bool = False) -> Holder:
    return Holder("claude", run, "host", 1, "start", fence, NOW, until, share)


@pytest.mark.parametrize(
    ("holders", "dead", "share", "given"),
    [
        ((), frozenset(), False, True),
        ((holder("a"),), frozenset(), False, False),
        ((holder("a", until=NOW),), frozenset(), False, True),
        ((holder("a"),), frozenset({"a"}), False, True),
        ((holder("a"),), frozenset(), True, True),
        ((holder("mine"),), frozenset(), False, True),
        ((holder("a"), holder("b")), frozenset({"a"}), False, False),
    ],
    ids=["nobody", "living", "expired", "dead", "shared", "the same run again", "one of two dead"],
)
def test_a_hold_is_given_unless_a_living_run_has_it(
    holders: tuple[Holder, ...], dead: frozenset[str], share: bool, given: bool
) -> None:
    state = HoldState(3, 7, holders)
    taken = core.take(state, holder("mine", share=share), now=NOW, dead=dead)
    if given:
        assert isinstance(taken, ev.HoldTaken) and taken.fence == 8
    else:
        assert not isinstance(taken, ev.HoldTaken) and all(h.run != "mine" for h in taken)


def test_the_second_run_is_told_who_holds_and_since_when(session: Session) -> None:
    session.hold(holder="claude", run="run-1")
    with pytest.raises(SessionHeld) as raised:
        session.hold(run="run-2")
    assert raised.value.by == f"claude (run-1 on {host_name()})"
    assert raised.value.since and raised.value.until > raised.value.since
    assert raised.value.facts()["session"] == session.id


def test_the_fence_rises_with_every_hold(session: Session) -> None:
    fences = []
    for _ in range(3):
        with session.hold() as hold:
            fences.append(hold.fence)
    assert fences == [1, 2, 3]


def test_a_dead_holder_is_taken_over_and_its_late_write_is_not_stored(seg: Segue, session: Session) -> None:
    old = seg.session(session.id)
    held = old.hold(run="run-old", lease_seconds=0)
    new = seg.session(session.id)
    assert new.hold(run="run-new").fence > held.fence
    version = new.state.version
    with pytest.raises(SessionHeld) as raised:
        old.note("too late")
    assert "run-new" in raised.value.by
    assert new.state.version == version
    held.release()
    assert [h.run for h in seg.workspace.holds.living(session.id)] == ["run-new"]


def test_a_holder_whose_lease_ended_and_that_nobody_replaced_may_still_write(session: Session) -> None:
    session.hold(lease_seconds=0)
    assert session.note("still mine").events == 1


def test_a_pid_that_belongs_to_another_process_by_now_is_a_dead_holder(seg: Segue, session: Session) -> None:
    body = ev.HoldTaken("claude", "run-gone", host_name(), os.getpid(), "another start", 1, "9999")
    seg.workspace.store.append(Append(hold_stream(session.id), 0, [ev.draft(body, at=NOW, actor="claude")]))
    assert seg.workspace.holds.living(session.id) == ()
    assert [h.run for h in seg.workspace.holds.crashed(session.id)] == ["run-gone"]
    assert session.hold(run="run-mine").fence == 2


def test_a_holder_on_another_host_lives_as_long_as_its_lease(seg: Segue, session: Session) -> None:
    body = ev.HoldTaken("claude", "run-far", "another-host", 1, "x", 1, "9999")
    seg.workspace.store.append(Append(hold_stream(session.id), 0, [ev.draft(body, at=NOW, actor="claude")]))
    with pytest.raises(SessionHeld, match="another-host"):
        session.hold()


def test_sharing_on_purpose_lets_both_write(seg: Segue, session: Session) -> None:
    one, two = seg.session(session.id), seg.session(session.id)
    one.hold(run="run-1")
    shared = two.hold(run="run-2", share=True)
    assert one.note("first").events == two.note("second").events == 1
    assert {h.run for h in seg.workspace.holds.living(session.id)} == {"run-1", "run-2"}
    shared.release()
    assert one.note("third").events == 1


def test_a_command_without_a_hold_writes_and_is_warned(seg: Segue, session: Session) -> None:
    session.hold(holder="claude", run="run-1")
    saved = seg.session(session.id).note("beside")
    assert saved.events == 1 and "claude (run-1" in saved.warnings[0]


def test_letting_go_twice_or_of_what_was_lost_is_no_fault(session: Session) -> None:
    held = session.hold(lease_seconds=0)
    taken = session.hold(run="run-2")
    held.release()
    held.release()
    taken.release()
    taken.release()
    assert session.hold().fence == 3


def test_a_lease_is_prolonged_by_writing_once_a_third_of_it_is_gone(seg: Segue, session: Session) -> None:
    session.hold(run="run-1", lease_seconds=900)
    for _ in range(3):
        session.note("early")
    assert seg.workspace.store.head(hold_stream(session.id)).version == 1
    assert session.held is not None
    session.held.until = NOW
    session.note("late")
    assert seg.workspace.store.head(hold_stream(session.id)).version == 2


def test_a_held_session_is_renewed_while_the_block_lasts(seg: Segue, session: Session) -> None:
    with session.hold(lease_seconds=0.06):
        renewed = threading.Event()
        for _ in range(200):
            if seg.workspace.store.head(hold_stream(session.id)).version > 2:
                renewed.set()
                break
            threading.Event().wait(0.01)
        assert renewed.is_set()
        assert len(seg.workspace.holds.living(session.id)) == 1
    assert seg.workspace.holds.living(session.id) == ()


def test_a_renewal_between_the_demand_and_the_write_does_not_refuse_the_write(session: Session) -> None:
    session.hold(run="run-1")
    hold = session.held
    assert hold is not None
    ask, renewals = hold.guard, iter([hold.renew])

    def guard() -> list[Append]:
        demand = ask()
        for renew in renewals:
            hold.guard = ask  # type: ignore[method-assign]
            renew()
        return demand

    hold.guard = guard  # type: ignore[method-assign]
    assert session.note("beside the renewing thread").events == 1


def test_no_hold_is_taken_while_a_pause_file_is_there(seg: Segue, session: Session) -> None:
    seg.workspace.home.path.mkdir(parents=True, exist_ok=True)
    (seg.workspace.home.path / "PAUSE").touch()
    with pytest.raises(Paused):
        session.hold()


def moved(session: Session, seconds: float) -> None:
    assert session.held is not None
    session.held.until = moment(seconds)


@pytest.mark.parametrize(("left", "renewals"), [(630, 0), (570, 1)])
def test_a_write_prolongs_a_lease_of_which_less_than_two_thirds_are_left(
    seg: Segue, session: Session, left: float, renewals: int
) -> None:
    session.hold(run="run-1", lease_seconds=900)
    moved(session, left)
    session.note("x")
    assert seg.workspace.store.head(hold_stream(session.id)).version == 1 + renewals


def test_a_hold_lasts_a_quarter_of_an_hour_unless_it_is_told_how_long(seg: Segue, session: Session) -> None:
    session.hold(run="run-1")
    [held] = seg.workspace.holds.living(session.id)
    began, until = (datetime.fromisoformat(text) for text in (held.since, held.until))
    assert (until - began).total_seconds() == pytest.approx(15 * 60, abs=5)


@pytest.mark.parametrize("seconds", [-0.1, 1e9 + 1, float("nan")])
def test_a_lease_that_is_no_time_is_refused(session: Session, seconds: float) -> None:
    with pytest.raises(UsageError, match="a lease cannot last"):
        session.hold(lease_seconds=seconds)
    assert session.hold(lease_seconds=1e9).fence == 1


def hold_of(seg: Segue, session: Session, run: str, **more: Any) -> Hold:
    return seg.workspace.holds.take(session.id, holder=f"holder of {run}", run=run, **more)


def test_a_block_renews_its_hold_three_times_in_a_lease_and_never_all_the_time(
    seg: Segue, session: Session
) -> None:
    waits: list[float] = []

    class Done:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return True

    for lease in (900, 0):
        hold = hold_of(seg, session, "run-1", lease_seconds=lease)
        hold._done = Done()  # type: ignore[assignment]
        hold._keep_renewing()
    assert waits == [300, 0.01]


def test_whoever_writes_under_a_hold_that_was_let_go_is_told_that_nobody_has_it(
    seg: Segue, session: Session
) -> None:
    held = hold_of(seg, session, "run-1")
    held.release()
    session.held = held
    with pytest.raises(SessionHeld, match="nobody") as raised:
        session.note("x")
    assert (raised.value.since, raised.value.until) == ("", "")


def test_whoever_lost_a_hold_is_told_who_has_it_now_and_until_when(seg: Segue, session: Session) -> None:
    held = hold_of(seg, session, "run-1", lease_seconds=0)
    other = hold_of(seg, session, "run-2")
    with pytest.raises(SessionHeld) as raised:
        held.renew()
    assert (
        raised.value.by == f"holder of run-2 (run-2 on {host_name()})" and raised.value.until == other.until
    )


def test_a_run_that_takes_its_hold_again_does_not_lose_it_by_letting_go_of_the_first(
    seg: Segue, session: Session
) -> None:
    first = hold_of(seg, session, "run-1")
    second = hold_of(seg, session, "run-1")
    first.release()
    assert [h.fence for h in seg.workspace.holds.living(session.id)] == [second.fence]
    with pytest.raises(SessionHeld):
        first.guard()


def test_a_hold_for_another_host_is_of_that_host_and_of_no_process_here(seg: Segue, session: Session) -> None:
    seg.workspace.holds.take(session.id, holder="ci", run="run-1", host="far", pid=1)
    seg.workspace.holds.take(session.id, holder="us", run="run-2", share=True, pid=os.getpid())
    far, here = seg.workspace.holds.living(session.id)
    assert (far.host, far.pid, far.pid_start) == ("far", 1, "")
    assert (here.host, here.pid_start) == (host_name(), start_of(os.getpid()))


def test_a_hold_is_taken_although_somebody_wrote_to_the_ledger_meanwhile(
    seg: Segue, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = seg.workspace.store.append
    faster = iter([Append(hold_stream(session.id), 0, [ev.draft(ev.HoldReleased("x"), at=NOW, actor="x")])])

    def late(*wishes: Append, **more: Any) -> Any:
        for wish in faster:
            append(wish)
        return append(*wishes, **more)

    monkeypatch.setattr(seg.workspace.store, "append", late)
    assert session.hold(run="run-1").fence == 1
    assert [h.run for h in seg.workspace.holds.living(session.id)] == ["run-1"]


def folded(*bodies: ev.Body) -> HoldState:
    state = HoldState()
    for event in ev.seal("hold/s", 0, bytes(32), [ev.draft(body, at=NOW, actor="a") for body in bodies]):
        state = core.fold(state, event)
    return state


def taken(run: str, fence: int, *, share: bool = False) -> ev.HoldTaken:
    return ev.HoldTaken("claude", run, "host", 1, "start", fence, LATER, share)


def test_a_ledger_says_who_holds_until_when_and_its_fence_never_falls() -> None:
    both = folded(taken("a", 1), taken("b", 2, share=True), ev.HoldRenewed("a", "9999"))
    assert [(h.run, h.until, h.since) for h in both.holders] == [("a", "9999", NOW), ("b", LATER, NOW)]
    assert (both.fence, both.version) == (2, 3)
    assert [h.run for h in folded(taken("a", 1), taken("b", 2)).holders] == ["b"]
    again = folded(taken("a", 1), taken("b", 2, share=True), taken("a", 3, share=True))
    assert [(h.run, h.fence) for h in again.holders] == [("b", 2), ("a", 3)]
    late = folded(taken("b", 5), taken("a", 1, share=True), ev.HoldReleased("b"))
    assert [h.run for h in late.holders] == ["a"] and late.fence == 5


def test_a_hold_is_shared_only_with_those_who_live() -> None:
    state = HoldState(3, 7, (holder("a"), holder("b", until=NOW)))
    shared = core.take(state, holder("mine", share=True), now=NOW)
    alone = core.take(state, holder("mine", share=True), now=NOW, dead=frozenset({"a"}))
    assert isinstance(shared, ev.HoldTaken) and shared.share
    assert isinstance(alone, ev.HoldTaken) and not alone.share


def test_this_process_has_a_start_and_no_process_has_none() -> None:
    assert start_of(os.getpid()) == start_of(os.getpid()) != ""
    assert start_of(2**22 + 12345) == ""
