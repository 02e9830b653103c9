"""A supervisor launches, watches, proves, goes on, and keeps what the next one needs. Agents are scripted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.scripted_agents import BOTH, CLAUDE, FALSE, GOOD, Child, Scripted, World, prove

from segue.core.runs.steps import Planning
from segue.core.sessions import commands as do
from segue.core.sessions.state import SUPERVISOR
from segue.core.supervision.decide import Policy, Waiting
from segue.effects.processes import launch as processes
from segue.effects.processes.launch import UNKNOWN_EXIT, LeftoverProcess
from segue.errors import NotInstalled, Paused, UsageError
from segue.services.supervision import record
from segue.services.supervision.launchers import launcher_of
from segue.services.supervision.record import Launched, Supervision
from segue.services.supervision.supervisor import Supervisor

# -- how it ends ------------------------------------------------------------------------------------


def test_work_whose_checks_pass_is_done_and_completed(world: World) -> None:
    prove(world)
    finished = world.run(GOOD)
    assert (finished.outcome, finished.runs, finished.proven) == ("done", 1, True)
    assert finished.why == "1 of 1 proven"
    assert world.seg.session("work").state.status == "completed"
    assert world.kept.outcome == "done" and world.kept.launches[0].ended == "done"


def test_without_anything_to_prove_the_word_of_an_agent_with_room_is_believed(world: World) -> None:
    finished = world.run(Scripted())
    assert (finished.outcome, finished.why, finished.proven) == ("done", "nothing to prove", False)
    assert not world.texts("proving")


def test_what_is_left_of_the_plan_is_not_done(world: World) -> None:
    world.seg.session("work").add("first", "second")
    policy = Policy(("claude-code",), runs_max=2)
    finished = world.run(Scripted(), policy=policy)
    assert finished.outcome == "budget" and len(world.launched) == 2
    assert "2 items of the plan not done\n- first\n- second" in world.prompt(1)


NAMES = ("First item", "Second item")
TICKED: tuple[tuple[str, Planning], ...] = (("first  item.", "done"), ("SECOND ITEM", "done"))


def test_what_an_agent_ticks_off_in_its_own_list_is_done_and_says_by_whom(world: World) -> None:
    session = world.seg.session("work")
    session.add(*NAMES)
    finished = world.run(Scripted(plan=TICKED))
    assert (finished.outcome, finished.runs) == ("done", 1)
    assert [session.state.items[at].text for at in session.state.done] == list(NAMES)
    done = [event for event in session.log() if event.kind == "item.done"]
    assert {event.actor for event in done} == {"claude-code"}
    assert any(b"ticked off 2 items in its own list, in run " in event.body for event in session.log())
    assert world.texts("ticked") == ["done: First item", "done: Second item"]


def test_an_item_of_another_name_is_not_done_by_a_tick(world: World) -> None:
    world.seg.session("work").add(*NAMES)
    other: tuple[tuple[str, Planning], ...] = (("First item of all", "done"), ("Second item", "done"))
    finished = world.run(Scripted(plan=other), policy=Policy(("claude-code",), runs_max=1))
    assert finished.outcome == "budget"
    assert world.seg.session("work").status().next == ["First item"]


def test_work_with_an_open_list_of_the_agent_is_not_done(world: World) -> None:
    open_ = Scripted(plan=(("look", "done"), ("write it", "active")))
    finished = world.run(open_, Scripted(plan=(("look", "done"), ("write it", "done"))))
    assert (finished.outcome, finished.runs) == ("done", 2)
    assert "1 item of claude-code's own list not done\n- write it" in world.prompt(1)


def test_the_prompt_says_how_an_item_is_marked(world: World) -> None:
    world.seg.session("work").add(*NAMES)
    world.run(Scripted(plan=TICKED))
    assert 'segue done "<item>"' in world.prompt(0) and "your own list" in world.prompt(0)


def test_a_false_done_goes_on_in_the_same_conversation_and_says_what_fails(world: World) -> None:
    prove(world)
    finished = world.run(FALSE, GOOD)
    assert (finished.outcome, finished.runs) == ("done", 2)
    first, second = (words for words, _ in world.launched)
    assert second[second.index("--resume") + 1] == first[first.index("--session-id") + 1]
    assert "You stopped, but it is not proven" in world.prompt(1) and "test -f good.txt" in world.prompt(1)
    running = "running the checks of 1 feature"
    assert world.texts("proving") == [running, "0 of 1 proven", running]


def test_an_agent_that_says_done_again_and_again_is_given_up(world: World) -> None:
    prove(world)
    finished = world.run(FALSE)
    assert finished.outcome == "gave up" and "without progress" in finished.why
    assert len(world.launched) == CLAUDE.fruitless_max, "after exactly as many runs as it says"
    assert finished.why.startswith(f"{CLAUDE.fruitless_max} runs of claude-code without progress")
    assert world.seg.session("work").state.status == "paused"


def test_a_done_that_came_with_other_files_counts_as_progress(world: World) -> None:
    prove(world)
    world.clock.on_sleep = lambda: (world.folder / "good.txt.new").write_text(str(world.clock.now))
    world.seg.session("work").features.add("more", "m", checks=["test -f more.txt"], covers=["good.txt.new"])
    finished = world.run(FALSE, policy=Policy(("claude-code",), runs_max=7))
    assert finished.outcome == "budget" and finished.runs == 7


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (Policy(("claude-code",), runs_max=2), "the limit of 2 runs is reached"),
        (Policy(("claude-code",), seconds_max=5), "5 s are over"),
        (Policy(("claude-code",), tokens_max=1_500), "the limit of 1500 tokens is reached"),
        (Policy(("claude-code",), cost_max=0.6), "the limit of 0.6 dollars is reached"),
    ],
)
def test_a_budget_over_all_runs_stops_the_work_and_pauses_the_session(
    world: World, policy: Policy, why: str
) -> None:
    prove(world)
    lives = [
        Scripted(
            exit=1, seconds=3, tokens=1_000 * n, calls=n, prints={"type": "result", "total_cost_usd": 0.4 * n}
        )
        for n in range(1, 5)
    ]
    finished = world.run(*lives, policy=policy)
    assert (finished.outcome, finished.why, finished.runs) == ("budget", why, 2)
    state = world.seg.session("work").state
    assert (state.status, state.pause_cause) == ("paused", "budget")


def test_what_was_spent_is_summed_over_runs_and_a_conversation_that_goes_on_counts_once(world: World) -> None:
    prove(world)
    finished = world.run(
        Scripted(exit=9, tokens=1_000, seconds=2), Scripted(tokens=3_000, seconds=2, write="good.txt")
    )
    assert finished.tokens == 3_010
    assert finished.seconds == pytest.approx(4.0, abs=0.5)
    assert [launch.tokens for launch in world.kept.launches] == [1_010, 3_010]


def test_two_conversations_are_added(world: World) -> None:
    prove(world)
    hung = Scripted(exit=None, tokens=1_000)
    finished = world.run(hung, GOOD, policy=Policy(("claude-code",), silent_seconds=5))
    assert finished.tokens == 2_020


# -- ends of agents ---------------------------------------------------------------------------------


def test_a_crash_goes_on_in_the_same_conversation(world: World) -> None:
    prove(world)
    world.run(Scripted(exit=-9), GOOD)
    assert world.texts("ended")[0] == "crashed (killed by signal 9) after 1 s"
    assert "your process was started again (crashed (killed by signal 9))" in world.prompt(1)
    assert [launch.how for launch in world.kept.launches] == ["fresh", "resume"]
    assert world.texts("launched") == ["started in 0.0 s", "resumed in 0.0 s"]


def test_an_exit_code_is_told_and_words_of_an_agent_that_ended_badly_too(world: World) -> None:
    prove(world)
    world.run(Scripted(exit=3), Scripted(exit=3, refused="the network is gone", calls=2), GOOD)
    assert [launch.detail for launch in world.kept.launches] == ["exit 3", "exit 3: the network is gone", ""]


def test_the_last_line_that_an_agent_printed_for_people_says_why_it_ended(world: World) -> None:
    prove(world)
    words = "\x1b[91mError:\x1b[0m it is not a function\n\n"
    world.run(Scripted(exit=1, prints={"type": "x"}, printed=words), GOOD)
    assert world.kept.launches[0].detail == "exit 1: Error: it is not a function"


def test_a_fault_in_the_middle_of_what_ended_well_is_none(world: World) -> None:
    finished = world.run(Scripted(refused="", prints={"type": "result", "is_error": False}))
    assert finished.outcome == "done"


def test_a_silent_agent_is_ended_and_begins_afresh(world: World) -> None:
    prove(world)
    world.run(Scripted(exit=None), GOOD, policy=Policy(("claude-code",), silent_seconds=30))
    assert world.children[0].was_ended
    assert world.kept.launches[0].ended == "hung" and world.kept.launches[0].seconds == pytest.approx(
        30, abs=1.5
    )
    assert "--session-id" in world.launched[1][0]


def test_a_command_that_runs_is_waited_for_longer(world: World) -> None:
    prove(world)
    policy = Policy(("claude-code",), silent_seconds=5, call_seconds=20)
    world.run(Scripted(exit=None, open_call=True), GOOD, policy=policy)
    assert world.kept.launches[0].seconds == pytest.approx(20, abs=1.5)


def test_a_full_window_is_handed_over_with_the_brief(world: World) -> None:
    prove(world)
    world.seg.session("work").decide("use HS256")
    world.run(Scripted(exit=None, tokens=170_000), GOOD)
    assert world.texts("ended")[0].startswith("window 85 %: handed over after ")
    assert "--session-id" in world.launched[1][0] and "use HS256" in world.prompt(1)
    assert "Why there is a new run: handed over (window 85 %)." in world.prompt(1)


def test_the_done_of_a_full_window_is_not_believed_without_checks(world: World) -> None:
    finished = world.run(Scripted(tokens=170_000, seconds=0), Scripted())
    assert (finished.outcome, finished.runs) == ("done", 2)
    assert "it stopped with its window 85 % full" in world.prompt(1)


LIMITED = Scripted(exit=1, refused="rate limited", status=429)


def test_a_rate_limit_is_waited_for_longer_each_time(world: World) -> None:
    prove(world)
    began = world.clock.now
    world.run(LIMITED, LIMITED, LIMITED, GOOD)
    assert world.texts("waiting") == [f"rate limited: waiting {span}" for span in ("30 s", "60 s", "2 min")]
    assert world.clock.now - began == pytest.approx(210 + 4, abs=2)
    assert world.kept.tally.seconds == pytest.approx(210 + 4, abs=2), "a wait is time that is spent"
    assert world.kept.tally.waits == 0 and world.kept.waiting is None


def test_it_waits_as_long_as_the_agent_says(world: World) -> None:
    prove(world)
    told = Scripted(exit=1, refused="rate limit: try again in 7 seconds", status=429)
    at: dict[str, Any] = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected"}}
    world.run(told, GOOD)
    assert [notice.seconds for notice in world.notices if notice.kind == "waiting"] == [7]
    at["rate_limit_info"]["resetsAt"] = world.clock.now + 12
    world.launched.clear()
    world.notices.clear()
    (world.folder / "good.txt").unlink()
    world.seg.start("again", id="work2").features.add(
        "g", "g", checks=["test -f good.txt"], covers=["good.txt"]
    )
    world.lives = [Scripted(exit=1, refused="rate limited", status=429, prints=at), GOOD]
    Supervisor(world.seg.workspace, world.seg.session("work2"), CLAUDE, tell=world.notices.append).run()
    [waited] = [notice.seconds for notice in world.notices if notice.kind == "waiting"]
    assert waited == pytest.approx(11, abs=1.5), "from now until then"


def test_another_agent_does_not_wait_and_the_session_says_who_goes_on(world: World) -> None:
    prove(world)
    world.run(LIMITED, GOOD, policy=BOTH)
    assert not world.texts("waiting")
    assert [launch.agent for launch in world.kept.launches] == ["claude-code", "codex"]
    assert [handing.to for handing in world.seg.session("work").state.handed] == ["codex"]


def test_an_agent_without_access_is_not_asked_again(world: World) -> None:
    prove(world)
    finished = world.run(Scripted(exit=1, refused="401 unauthorized", status=401), policy=CLAUDE)
    assert finished.outcome == "auth" and finished.runs == 1
    assert world.kept.tally.out == ("claude-code",)


def test_one_that_cannot_be_started_is_one_without_access(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> Child:
        raise NotInstalled("claude cannot be started")

    monkeypatch.setattr(processes, "spawn", missing)
    finished = world.run(Scripted())
    assert finished.outcome == "auth" and "claude cannot be started" in finished.why
    assert world.texts("ended")[0] == "claude cannot be started"


def test_an_agent_that_tries_in_vain_is_ended_and_waited_for(world: World) -> None:
    prove(world)
    policy = Policy(("claude-code",), silent_seconds=100, wait_seconds=30)
    world.run(Scripted(exit=None, refused="overloaded", status=529), GOOD, policy=policy)
    assert world.kept.launches[0].ended == "rate"
    assert world.kept.launches[0].seconds == pytest.approx(10, abs=2), "a tenth of the patience with silence"


REFUSED = Scripted(exit=None, refused="connect ECONNREFUSED 127.0.0.1:443", calls=0, tokens=0)


def test_a_model_that_cannot_be_reached_is_said_at_once_and_given_up_after_three_tries(world: World) -> None:
    prove(world)
    began = world.clock.now
    world.clock.on_sleep = lambda: seen.append(world.clock.now) if world.texts("trouble") else None
    seen: list[float] = []
    finished = world.run(REFUSED, policy=Policy(("claude-code",), silent_seconds=100, wait_seconds=30))
    assert seen[0] - began < 2, "within seconds"
    assert world.texts("trouble")[0].startswith("its model cannot be reached: connect ECONNREFUSED")
    assert (finished.outcome, finished.runs) == ("gave up", 3)
    assert "ECONNREFUSED" in finished.why
    assert [notice.seconds for notice in world.notices if notice.kind == "waiting"] == [30, 60]


def test_a_network_that_fails_in_the_middle_of_the_work_is_waited_for(world: World) -> None:
    prove(world)
    dropped = Scripted(exit=1, refused="getaddrinfo ENOTFOUND api.example.org")
    finished = world.run(*[dropped] * 5, GOOD, policy=Policy(("claude-code",), runs_max=9))
    assert (finished.outcome, finished.runs) == ("done", 6)


def test_what_was_spent_is_said_beside_its_limits_at_each_quarter_and_at_the_end_of_a_run(
    world: World,
) -> None:
    prove(world)
    policy = Policy(("claude-code",), runs_max=9, tokens_max=4_000, cost_max=2)
    world.run(Scripted(tokens=2_100, write="good.txt"), policy=policy)
    first, last = world.texts("spent")
    assert first == "window 1 %, 1 run of 9, 2,110 tokens of 4,000, $0.00 of $2"
    assert last == "window 1 %, 1 run of 9, 1 s, 2,110 tokens of 4,000, $0.00 of $2"


def test_each_step_is_told_as_it_ends_and_none_of_an_earlier_launch(world: World) -> None:
    prove(world)
    world.run(Scripted(exit=-9), Scripted(calls=2, write="good.txt"))
    first = [notice.text for notice in world.notices if notice.kind == "step" and notice.launch == 1]
    second = [notice.text for notice in world.notices if notice.kind == "step" and notice.launch == 2]
    assert len([text for text in first if text.startswith("ls")]) == 1
    assert not [text for text in second if text.startswith("ls")], "its first look saw both"


def test_an_overflow_begins_a_fresh_window(world: World) -> None:
    prove(world)
    world.run(Scripted(exit=1, refused="prompt is too long"), GOOD)
    assert world.kept.launches[0].ended == "overflow" and world.kept.launches[1].how == "fresh"


def test_runs_that_do_nothing_are_given_up(world: World) -> None:
    prove(world)
    finished = world.run(Scripted(exit=1, calls=0))
    assert finished.outcome == "gave up" and finished.runs == CLAUDE.fruitless_max
    assert finished.why == "3 runs of claude-code without progress: exit 1"


def test_a_resumed_run_progressed_if_it_called_more_than_before(world: World) -> None:
    prove(world)
    lives = [Scripted(exit=1, calls=n) for n in (1, 1, 2, 2, 3, 3, 4, 4)]
    finished = world.run(*lives, policy=Policy(("claude-code",), runs_max=8, fruitless_max=2))
    assert finished.outcome == "budget", "every second one did more"


# -- stopping ---------------------------------------------------------------------------------------


def test_whoever_asks_it_to_stop_finds_the_session_paused_and_the_work_goes_on_later(world: World) -> None:
    prove(world)
    world.lives = [Scripted(exit=None), GOOD]
    first = world.supervisor()
    world.clock.on_sleep = first.ask_to_stop
    finished = first.run()
    assert (finished.outcome, finished.why) == ("paused", "you asked to stop")
    assert world.seg.session("work").state.status == "paused" and world.kept.outcome == ""
    assert world.children[0].was_ended
    world.clock.on_sleep = lambda: None
    world.seg.session("work").resume()
    assert world.supervisor().run().runs == 2, "runs are counted over both"


def test_a_pause_file_ends_the_agent_and_nothing_more_is_written(world: World) -> None:
    prove(world)
    world.clock.on_sleep = (world.seg.workspace.home.path / "PAUSE").touch
    world.lives = [Scripted(exit=None)]
    with pytest.raises(Paused):
        world.supervisor().run()
    assert world.children[0].was_ended and world.clock.now - world.kept.launches[0].began < 2


def test_a_stop_while_it_waits_launches_nobody(world: World) -> None:
    prove(world)
    world.lives = [LIMITED, GOOD]
    first = world.supervisor()

    def stop_when_waiting() -> None:
        if world.texts("waiting"):
            first.ask_to_stop()

    world.clock.on_sleep = stop_when_waiting
    assert first.run().outcome == "paused" and len(world.launched) == 1
    kept = world.kept
    assert kept.waiting is not None and kept.waiting.agent == "claude-code"


# -- a supervisor after another ---------------------------------------------------------------------


def test_the_next_one_waits_for_the_rest_of_a_limit(world: World) -> None:
    prove(world)
    until = world.clock.now + 40
    launch = Launched("m", 1, "claude-code", "fresh", "", world.clock.now - 9, native="n", ended="rate")
    kept = Supervision(
        CLAUDE, launches=(launch,), waiting=Waiting("claude-code", "resume", "rate limited", until)
    )
    record.save(world.seg.session("work"), kept)
    world.run(GOOD)
    assert [notice.seconds for notice in world.notices if notice.kind == "waiting"] == [40]
    assert "--resume" in world.launched[0][0]


def test_a_child_of_a_killed_supervisor_is_found_and_watched_to_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(world)
    first = world.supervisor()
    launch = Launched(
        "mark", 1, "claude-code", "fresh", "", world.clock.now, native="n1", pid=77, started="t"
    )
    record.save(world.seg.session("work"), Supervision(CLAUDE, launches=(launch,), tally=first.kept.tally))
    world.transcript(GOOD, "n1")
    (world.folder / "good.txt").write_text("x")
    found = Child(world, GOOD, 77, world.folder / "out")
    monkeypatch.setattr(processes, "find_child", lambda pid, *_: found if pid == 77 else None)
    finished = world.supervisor().run()
    assert finished.outcome == "done" and not world.launched
    assert world.texts("launched") == ["still at work: picked up"]


@pytest.mark.parametrize(
    ("life", "ended"),
    [(Scripted(), "done"), (Scripted(open_call=True), "crashed")],
)
def test_of_a_child_that_is_gone_its_transcript_says_how_it_ended(
    world: World, monkeypatch: pytest.MonkeyPatch, life: Scripted, ended: str
) -> None:
    prove(world)
    launch = Launched(
        "mark", 1, "claude-code", "fresh", "", world.clock.now, native="n1", pid=77, started="t"
    )
    record.save(world.seg.session("work"), Supervision(CLAUDE, launches=(launch,)))
    world.transcript(life, "n1")
    monkeypatch.setattr(processes, "find_child", lambda *_: None)
    monkeypatch.setattr(processes.Child, "exit_code", lambda self: UNKNOWN_EXIT)
    world.run(GOOD)
    assert world.kept.launches[0].ended == ended
    assert "killed" in world.kept.launches[0].detail or ended == "done"


def test_a_policy_of_today_is_in_force_for_work_of_yesterday(world: World) -> None:
    record.save(world.seg.session("work"), Supervision(Policy(("codex",), runs_max=1)))
    assert world.supervisor().policy == CLAUDE


def test_work_that_ended_begins_anew(world: World) -> None:
    prove(world)
    world.run(GOOD, policy=Policy(("claude-code",), runs_max=1))
    world.seg.start("more", id="work2")
    record.save(world.seg.session("work2"), world.kept)
    assert Supervisor(world.seg.workspace, world.seg.session("work2"), CLAUDE).kept.launches == ()


# -- what agents are started with -------------------------------------------------------------------


def test_an_agent_knows_its_session_and_that_it_is_supervised(world: World) -> None:
    world.run(Scripted())
    words, more = world.launched[0]
    assert more["environment"]["SEGUE_SESSION"] == "work" and more["environment"]["SEGUE_SUPERVISED"] == "1"
    assert more["folder"] == world.folder and not more["screen"]
    assert "--dangerously-skip-permissions" not in words and "-p" in words


def test_full_access_and_words_of_the_users_own_are_handed_on(world: World) -> None:
    world.run(Scripted(), full_access=True, more=("--model", "opus"))
    words, _ = world.launched[0]
    assert "--dangerously-skip-permissions" in words and words[words.index("--model") + 1] == "opus"


def test_with_a_screen_it_is_started_as_a_user_would(world: World) -> None:
    world.run(Scripted(), screen=True)
    words, more = world.launched[0]
    assert more["screen"] and "-p" not in words and "--session-id" not in words


def test_an_agent_that_cannot_be_launched_is_named_before_anything_is_done(world: World) -> None:
    with pytest.raises(UsageError, match="roo cannot be launched"):
        world.supervisor(Policy(("claude-code", "roo")))
    assert launcher_of("codex").command == "codex"


# -- what is left -----------------------------------------------------------------------------------


def test_processes_that_it_left_are_told_to_the_next_and_its_own_program_is_ended(world: World) -> None:
    prove(world)
    world.left = [
        LeftoverProcess(41, "npm run dev"), LeftoverProcess(42, "/usr/bin/claude --resume x"),
        LeftoverProcess(43, "node /opt/claude.js -p"), LeftoverProcess(44, "sh -c /x/claude.js"),
    ]  # fmt: skip
    world.run(Scripted(exit=1), GOOD)
    assert set(world.killed) == {42, 43}
    assert "pid 41: npm run dev" in world.prompt(1) and "pid 42" not in world.prompt(1)
    assert world.texts("left behind")[0] == "pid 41 still runs: npm run dev"
    assert any("left processes running: pid 41" in note for note in notes(world))


def notes(world: World) -> list[str]:
    log = world.seg.session("work").log()
    return [event.body.decode() for event in log if event.kind == "note.taken"]


def test_what_an_agent_printed_is_gone_when_it_is(world: World) -> None:
    world.run(Scripted())
    assert not world.launched[0][1]["output"].exists()


def test_whoever_looks_on_is_told_now_and_then_what_the_agent_says(world: World) -> None:
    prove(world)
    world.run(Scripted(seconds=5, says="Writing the parser.", write="good.txt", tokens=50_000))
    working = [notice for notice in world.notices if notice.kind == "working"]
    assert 4 <= len(working) <= 6, "about once a second"
    assert working[-1].text == "Writing the parser." and working[-1].share == 0.25
    assert working[-1].tokens == 50_010 and working[-1].launch == 1
    assert working[-1].seconds == pytest.approx(4, abs=1)
    assert world.notices[-1].kind == "stopped" and world.notices[-1].text == "done: 1 of 1 proven"


def test_only_so_many_launches_are_kept() -> None:
    kept = Supervision(CLAUDE)
    for number in range(60):
        kept = kept.with_launch(Launched(f"m{number}", number, "claude-code", "fresh", "", 0.0, ended="done"))
    assert len(kept.launches) == record.LAUNCHES_MAX and kept.launches[-1].number == 59
    assert kept.under_way is None
    begun = kept.with_launch(Launched("new", 60, "claude-code", "fresh", "", 0.0))
    assert begun.under_way is not None and begun.under_way.number == 60
    changed = begun.with_launch(Launched("new", 60, "claude-code", "fresh", "", 0.0, pid=7))
    assert [one.pid for one in changed.launches if one.mark == "new"] == [7]


def test_what_another_version_kept_is_no_supervision(world: World) -> None:
    session = world.seg.session("work")
    assert record.load(session) is None
    session.save_agent(SUPERVISOR, {"policy": "another shape"})
    assert record.load(session) is None


def test_a_session_with_a_decision_gives_the_first_agent_a_brief(world: World) -> None:
    world.seg.session("work").apply(do.Decide("use HS256"))
    world.run(Scripted())
    assert "use HS256" in world.prompt(0) and "Make good.txt" in world.prompt(0)
