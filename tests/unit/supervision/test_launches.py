"""What a supervisor makes of one launch after the other: counts, costs, ends, and what it tells of them."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tests.support.scripted_agents import BOTH, CLAUDE, FALSE, GOOD, Scripted, World, prove

from segue.core.features.verdict import GATE_BYTES_MAX
from segue.core.supervision.decide import Policy, Waiting
from segue.core.supervision.spending import span
from segue.effects.processes import launch as processes
from segue.effects.processes.launch import LeftoverProcess
from segue.services.runs.observed import runs_of
from segue.services.supervision import record
from segue.services.supervision.record import Launched, Supervision

LIMITED = Scripted(exit=1, refused="rate limited", status=429)
CRASHED = Scripted(exit=1)
IDLE = Scripted(exit=1, calls=0)


def result(**facts: Any) -> dict[str, Any]:
    """What Claude Code prints at its end."""
    return {"type": "result", **facts}


def agents(world: World) -> list[str]:
    return [launch.agent for launch in world.kept.launches]


def test_work_that_has_just_begun_has_spent_nothing_and_a_launch_has_no_process_yet() -> None:
    assert not any(msgspec.structs.astuple(Supervision(CLAUDE).tally))
    launch = Launched("m", 1, "claude-code", "fresh", "", 5.0)
    assert not any(msgspec.structs.astuple(launch)[6:]) and Supervision(CLAUDE).under_way is None


# -- counting runs ----------------------------------------------------------------------------------


def test_launches_are_numbered_from_one_and_told_under_their_numbers(world: World) -> None:
    prove(world)
    world.run(CRASHED, GOOD)
    assert [launch.number for launch in world.kept.launches] == [1, 2]
    assert [notice.launch for notice in world.notices if notice.kind in ("launched", "ended")] == [1, 1, 2, 2]


def test_a_crash_is_gone_on_with_at_once(world: World) -> None:
    prove(world)
    world.run(CRASHED, GOOD)
    assert not world.texts("waiting") and world.kept.tally.waits == 0


def test_neither_a_full_window_nor_a_limit_is_a_run_without_progress(world: World) -> None:
    prove(world)
    full = Scripted(exit=None, calls=0, tokens=170_000)
    nothing = Scripted(exit=1, calls=0, refused="rate limited", status=429)
    assert world.run(*[full] * 4, *[nothing] * 4, GOOD).outcome == "done"


def test_progress_forgives_the_runs_without_it(world: World) -> None:
    prove(world)
    lives = [IDLE, IDLE, Scripted(exit=1, calls=3), Scripted(exit=1, calls=3), IDLE]
    finished = world.run(*lives, policy=Policy(("claude-code",), fruitless_max=3))
    assert (finished.outcome, finished.runs) == ("gave up", 6)


def test_a_limit_after_something_else_is_waited_for_as_if_it_were_the_first(world: World) -> None:
    prove(world)
    world.run(LIMITED, LIMITED, Scripted(exit=1, calls=5), LIMITED, GOOD)
    waits = [notice.seconds for notice in world.notices if notice.kind == "waiting"]
    assert waits == [30, 60, 30]


def test_an_agent_that_takes_over_has_tries_of_its_own(world: World) -> None:
    prove(world)
    finished = world.run(IDLE, policy=BOTH)
    assert finished.outcome == "budget"
    assert agents(world) == ["claude-code"] * 3 + ["codex"] * 3 + ["claude-code"] * 3 + ["codex"]
    assert [handing.to for handing in world.seg.session("work").state.handed] == [
        "codex", "claude-code", "codex",
    ]  # fmt: skip


def test_an_agent_that_has_no_access_is_left_out_and_the_others_go_on(world: World) -> None:
    prove(world)
    denied = Scripted(exit=1, refused="401 unauthorized", status=401)
    finished = world.run(denied, LIMITED, GOOD, policy=BOTH)
    assert finished.outcome == "done" and agents(world)[:2] == ["claude-code", "codex"]
    assert world.kept.tally.out == ("claude-code",)


# -- what it costs ----------------------------------------------------------------------------------


def test_a_conversation_that_goes_on_costs_what_it_says_last(world: World) -> None:
    prove(world)
    finished = world.run(
        Scripted(exit=1, prints=result(total_cost_usd=0.4)),
        Scripted(prints=result(total_cost_usd=1.0), write="good.txt"),
    )
    assert finished.cost == pytest.approx(1.0)
    assert [launch.cost for launch in world.kept.launches] == [0.4, 1.0]


def test_the_costs_of_two_conversations_are_added(world: World) -> None:
    prove(world)
    finished = world.run(
        Scripted(exit=1, prints=result(total_cost_usd=0.4), refused="prompt is too long"),
        Scripted(prints=result(total_cost_usd=0.5), write="good.txt"),
    )
    assert finished.cost == pytest.approx(0.9)


def test_a_conversation_that_became_smaller_gives_nothing_back(world: World) -> None:
    prove(world)
    finished = world.run(
        Scripted(exit=1, tokens=3_000, prints=result(total_cost_usd=0.4)),
        Scripted(tokens=1_000, prints=result(total_cost_usd=0.1), write="good.txt"),
    )
    assert finished.tokens == 3_010 and finished.cost == pytest.approx(0.4)


def test_a_third_run_of_a_conversation_adds_only_what_the_second_did_not_have(world: World) -> None:
    prove(world)
    finished = world.run(*(Scripted(exit=1, tokens=1_000 * n, calls=n) for n in (1, 2)), GOOD)
    assert [launch.tokens for launch in world.kept.launches] == [1_010, 2_010, 1_010]
    assert finished.tokens == 2_010


def test_of_a_wait_that_somebody_ends_only_what_was_waited_is_spent(world: World) -> None:
    prove(world)
    world.lives = [LIMITED]
    first = world.supervisor()
    world.clock.on_sleep = lambda: first.ask_to_stop() if world.texts("waiting") else None
    finished = first.run()
    assert finished.outcome == "paused" and finished.seconds == pytest.approx(1.1, abs=0.2)
    assert world.kept.tally.waits == 1


# -- how it ended -----------------------------------------------------------------------------------


def test_an_agent_that_exits_well_and_says_that_it_failed_has_crashed(world: World) -> None:
    prove(world)
    failed = Scripted(prints=result(is_error=True, result="the disk is full" + "!" * 300))
    world.run(failed, GOOD)
    [first, _] = world.kept.launches
    assert first.ended == "crashed" and first.detail == ("exit 0: the disk is full" + "!" * 184)


def test_a_limit_that_an_agent_only_prints_is_one(world: World) -> None:
    prove(world)
    told = result(is_error=True, result="Please try again in 7s", api_error_status=429)
    world.run(Scripted(exit=1, prints=told), GOOD)
    assert world.kept.launches[0].ended == "rate"
    assert [notice.seconds for notice in world.notices if notice.kind == "waiting"] == [7]


def test_a_limit_of_which_only_the_transcript_tells_is_one_although_it_exited_well(world: World) -> None:
    prove(world)
    world.run(Scripted(exit=0, refused="Rate limited. Try again in 9s", status=429), GOOD)
    assert (world.kept.launches[0].ended, world.kept.launches[0].detail) == (
        "rate", "Rate limited. Try again in 9s",
    )  # fmt: skip
    assert [notice.seconds for notice in world.notices if notice.kind == "waiting"] == [9]


def test_an_agent_that_tries_in_vain_is_waited_for_as_long_as_it_was_told(world: World) -> None:
    prove(world)
    vain = Scripted(exit=None, refused="overloaded, try again in 5 minutes", status=529)
    world.run(vain, GOOD, policy=Policy(("claude-code",), silent_seconds=100))
    assert [notice.seconds for notice in world.notices if notice.kind == "waiting"] == [300]


def test_a_moment_at_which_a_limit_ended_already_is_not_waited_for(world: World) -> None:
    prove(world)
    over = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": world.clock.now - 60},
    }
    world.run(Scripted(exit=1, refused="rate limited, try again in 8s", status=429, prints=over), GOOD)
    assert [notice.seconds for notice in world.notices if notice.kind == "waiting"] == [8]


def test_an_agent_without_a_transcript_has_no_conversation_to_go_on_with(world: World) -> None:
    prove(world)
    world.run(Scripted(exit=1, silent=True), GOOD)
    assert "--session-id" in world.launched[1][0] and world.kept.launches[1].how == "fresh"


@pytest.mark.parametrize("screen", [False, True])
def test_a_conversation_that_was_resumed_keeps_its_id_also_without_a_transcript(
    world: World, screen: bool
) -> None:
    prove(world)
    launch = Launched("m", 1, "claude-code", "fresh", "", world.clock.now - 9, native="n", ended="rate")
    waiting = Waiting("claude-code", "resume", "rate limited", world.clock.now - 1)
    record.save(world.seg.session("work"), Supervision(CLAUDE, launches=(launch,), waiting=waiting))
    world.run(Scripted(exit=1, silent=True), GOOD, screen=screen)
    assert world.launched[0][0][world.launched[0][0].index("--resume") + 1] == "n"
    assert [launch.native for launch in world.kept.launches][:2] == ["n", "n"]
    assert world.kept.launches[2].how == "fresh", "there is nothing to go on with"


def test_with_a_screen_the_run_is_the_new_one_in_the_project(world: World) -> None:
    world.clock.now = time.time()
    world.run(Scripted(), screen=True)
    assert world.kept.launches[0].native == "x", "nobody told the agent which id to use"


def test_an_agent_that_prints_is_not_silent(world: World) -> None:
    prove(world)

    class Chatty(Scripted):
        @property
        def prints(self) -> dict[str, Any]:
            return {"dots": "." * min(int(world.clock.now - began), 20)}

        @prints.setter
        def prints(self, value: object) -> None: ...

    began = world.clock.now
    world.run(Chatty(exit=None), GOOD, policy=Policy(("claude-code",), silent_seconds=5))
    assert world.kept.launches[0].seconds == pytest.approx(25, abs=1.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5_399, "90 min"), (5_400, "1.5 h"), (36_000, "10.0 h")],
)
def test_times_are_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert span(seconds) == text


# -- what is proven ---------------------------------------------------------------------------------


def test_where_checks_prove_it_the_plan_may_have_items_left(world: World) -> None:
    prove(world)
    world.seg.session("work").add("polish")
    assert world.run(GOOD).outcome == "done"


def test_of_many_items_that_are_left_the_first_are_named_and_how_many_more(world: World) -> None:
    world.seg.session("work").add(*(f"item {number} {'x' * 150}" for number in range(1, 30)))
    finished = world.run(Scripted(), policy=Policy(("claude-code",), runs_max=9, fruitless_max=2))
    head, *lines, more = finished.why.split("\n")
    assert head.endswith("29 items of the plan not done") and len(finished.why) < GATE_BYTES_MAX + 60
    assert lines[0].startswith("- item 1 ") and more == f"… and {29 - len(lines)} more"


def test_a_done_with_fewer_items_left_is_progress(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    session = world.seg.session("work")
    session.add(*(f"item {number}" for number in range(1, 7)))
    spawn = world.spawn

    def working(*words: Any, **more: Any) -> Any:
        session.done(f"item {len(world.launched) + 1}")
        return spawn(*words, **more)

    monkeypatch.setattr(processes, "spawn", working)
    finished = world.run(Scripted(), policy=Policy(("claude-code",), runs_max=9, fruitless_max=1))
    assert (finished.outcome, finished.runs) == ("done", 6)


def test_the_same_items_left_again_are_no_progress(world: World) -> None:
    world.seg.session("work").add("one", "two")
    finished = world.run(Scripted(), policy=Policy(("claude-code",), runs_max=9, fruitless_max=2))
    assert (finished.outcome, finished.runs) == ("gave up", 2)
    assert finished.why.endswith("2 items of the plan not done\n- one\n- two")


def test_features_and_items_that_are_left_are_counted_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(world)
    session = world.seg.session("work")
    session.add(*(f"item {number}" for number in range(6)))
    spawn = world.spawn

    def working(*words: Any, **more: Any) -> Any:
        session.done(f"item {len(world.launched)}")
        return spawn(*words, **more)

    monkeypatch.setattr(processes, "spawn", working)
    finished = world.run(FALSE, policy=Policy(("claude-code",), runs_max=6, fruitless_max=1))
    assert finished.outcome == "budget", "something was done each time"


def test_an_agent_that_only_makes_its_list_longer_does_not_progress(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = world.seg.session("work")
    spawn = world.spawn

    def working(*words: Any, **more: Any) -> Any:
        session.add(f"another item {len(world.launched)}")
        return spawn(*words, **more)

    monkeypatch.setattr(processes, "spawn", working)
    finished = world.run(Scripted(), policy=Policy(("claude-code",), runs_max=9, fruitless_max=3))
    assert (finished.outcome, finished.runs) == ("gave up", 3)


def test_a_fresh_window_has_the_list_that_the_old_one_left_open(world: World) -> None:
    left = Scripted(plan=(("look", "done"), ("write it", "active")), exit=1)
    fresh = Scripted(exit=0)
    finished = world.run(left, left, fresh, policy=Policy(("claude-code",), runs_max=4))
    assert finished.outcome == "budget", "nobody has done it"
    assert any("Plan:\n- write it" in world.prompt(number) for number in range(1, len(world.launched)))
    assert world.seg.session("work").status().active == ["write it"]


# -- how it stops -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("life", "cause"), [(IDLE, "error"), (Scripted(exit=1, refused="401", status=401), "error")]
)
def test_a_session_whose_work_cannot_go_on_is_paused_for_an_error(
    world: World, life: Scripted, cause: str
) -> None:
    prove(world)
    finished = world.run(life)
    state = world.seg.session("work").state
    assert (state.status, state.pause_cause) == ("paused", cause) and not finished.proven
    assert state.pause_reason == f"segue run: {finished.outcome}: {finished.why}"
    assert world.kept.outcome == finished.outcome and world.kept.why == finished.why


def test_a_session_that_a_user_stopped_is_paused_by_the_user(world: World) -> None:
    prove(world)
    world.lives = [Scripted(exit=None)]
    first = world.supervisor()
    world.clock.on_sleep = first.ask_to_stop
    first.run()
    assert world.seg.session("work").state.pause_cause == "user"


def test_a_session_that_somebody_paused_meanwhile_keeps_their_reason(world: World) -> None:
    def pause() -> None:
        if world.seg.session("work").state.status == "active":
            world.seg.session("work").pause("lunch")

    world.clock.on_sleep = pause
    world.run(IDLE, policy=Policy(("claude-code",), runs_max=1))
    assert world.seg.session("work").state.pause_reason == "lunch"


# -- a supervisor after another ---------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "handed"), [(BOTH, ["codex"]), (CLAUDE, [])])
def test_the_next_one_hands_over_what_was_waited_for_only_to_another_agent(
    world: World, policy: Policy, handed: list[str]
) -> None:
    prove(world)
    launch = Launched("m", 1, "claude-code", "fresh", "", world.clock.now - 9, native="n", ended="rate")
    waiting = Waiting("claude-code", "resume", "rate limited", world.clock.now + 5)
    record.save(world.seg.session("work"), Supervision(policy, launches=(launch,), waiting=waiting))
    world.run(GOOD, policy=policy)
    assert [handing.to for handing in world.seg.session("work").state.handed] == handed


# -- what is told -----------------------------------------------------------------------------------


def test_the_first_word_about_an_agent_comes_at_once_and_then_one_a_second(world: World) -> None:
    prove(world)
    world.run(Scripted(seconds=3, write="good.txt"))
    told = [round(notice.seconds, 1) for notice in world.notices if notice.kind == "working"]
    assert told[0] == 0.0 and all(0.9 < b - a < 1.3 for a, b in pairwise(told))


def test_every_notice_names_the_conversation_that_it_is_about(world: World) -> None:
    prove(world)
    world.run(GOOD)
    native = world.kept.launches[0].native
    assert native and {notice.run for notice in world.notices} == {native}


def test_at_most_five_processes_that_were_left_are_noted_and_their_words_are_cut(world: World) -> None:
    prove(world)
    world.left = [LeftoverProcess(40 + number, f"npm {'x' * 300}") for number in range(1, 7)]
    world.run(CRASHED, GOOD)
    [note] = [
        event.body.decode()
        for event in world.seg.session("work").log()
        if event.kind == "note.taken" and b"run 1 left" in event.body
    ]
    assert "pid 45: " in note and "pid 46: " not in note and "x" * 96 in note and "x" * 97 not in note
    assert len(world.texts("left behind")) == 12, "each is told, after either run"
    assert all(len(text) < 150 for text in world.texts("left behind"))


def test_a_run_that_left_nothing_is_not_noted(world: World) -> None:
    prove(world)
    world.run(CRASHED, GOOD)
    assert all(event.kind != "note.taken" for event in world.seg.session("work").log())


def test_what_an_agent_left_is_digested_and_belongs_to_the_session(world: World) -> None:
    prove(world)
    world.run(GOOD)
    [row] = runs_of(world.seg.workspace).runs.rows()
    assert (row.agent, row.session, row.native) == ("claude-code", "work", world.kept.launches[0].native)
