"""Every decision of a supervisor, one sentence each."""

from __future__ import annotations

import pytest

from segue.core.supervision.decide import (
    Cause,
    End,
    Gone,
    Launch,
    Living,
    Policy,
    Prove,
    Stop,
    Tally,
    Waiting,
    Watch,
    backoff,
    once_gone,
    over_budget,
    picked_up,
    trouble_of,
    while_living,
)

ONE = Policy(("claude-code",), runs_max=10)
TWO = Policy(("claude-code", "codex"), runs_max=10)
RAN = Tally(runs=1)


@pytest.mark.parametrize(
    ("sentence", "tally", "seen", "action"),
    [
        ("An agent at work is watched.", RAN, Living(), Watch()),
        ("Ctrl-C ends it.", RAN, Living(asked_to_stop=True), End("paused", "you asked to stop")),
        ("A full window ends it.", RAN, Living(share=0.81), End("full", "window 81 %")),
        ("A command is waited for.", RAN, Living(share=0.85, in_call=True), Watch()),
        ("Not in an emergency.", RAN, Living(share=0.93, in_call=True), End("full", "window 93 %")),
        ("Silence ends it.", RAN, Living(silent_seconds=601), End("hung", "silent for 601 s")),
        ("A command may take long.", RAN, Living(silent_seconds=601, in_call=True), Watch()),
        ("Not for ever.", RAN, Living(silent_seconds=1801, in_call=True), End("hung", "silent for 1801 s")),
        ("A retry may help.", RAN, Living(trouble="rate", troubled_seconds=10), Watch()),
        ("Not for ever.", RAN, Living(trouble="rate", troubled_seconds=61),
         End("rate", "it keeps retrying without success")),
        ("At the threshold already.", RAN, Living(share=0.8), End("full", "window 80 %")),
        ("Below it there is room.", RAN, Living(share=0.79), Watch()),
        ("From nine tenths on a command is not waited for.", RAN, Living(share=0.9, in_call=True),
         End("full", "window 90 %")),
        ("As long as it may be silent it is watched.", RAN, Living(silent_seconds=600), Watch()),
        ("A command too.", RAN, Living(silent_seconds=1800, in_call=True), Watch()),
        ("So it is while it keeps retrying in vain for a tenth of that.", RAN,
         Living(trouble="rate", troubled_seconds=60), Watch()),
        ("What a fresh window mends is not waited for here.", RAN,
         Living(trouble="overflow", troubled_seconds=61), Watch()),
        ("A network may come back.", RAN, Living(trouble="unreachable", troubled_seconds=60), Watch()),
        ("Not for ever, and it is said what it says.", RAN,
         Living(trouble="unreachable", troubled_seconds=61, detail="ECONNREFUSED"),
         End("unreachable", "ECONNREFUSED")),
        ("No login: ended.", RAN, Living(trouble="auth", troubled_seconds=61),
         End("auth", "it keeps retrying without success")),
    ],
)  # fmt: skip
def test_a_living_agent_is_watched_or_ended(
    sentence: str, tally: Tally, seen: Living, action: object
) -> None:
    assert while_living(ONE, tally, seen) == action, sentence


@pytest.mark.parametrize(
    ("sentence", "policy", "tally", "gone", "action"),
    [
        ("A pause is a stop.", ONE, RAN, Gone("claude-code", "paused"), Stop("paused", "you asked to stop")),
        ("Done is proven first.", ONE, RAN, Gone("claude-code", "done"), Prove()),
        ("Proven is done.", ONE, RAN, Gone("claude-code", "done", proven=True, detail="2 of 2 proven"),
         Stop("done", "2 of 2 proven")),
        ("Nothing against it is done too.", ONE, RAN,
         Gone("claude-code", "done", "n", filled=0.79, proven=True, detail="nothing to prove"),
         Stop("done", "nothing to prove")),
        ("Not of one whose window was full.", ONE, RAN,
         Gone("claude-code", "done", "n", filled=0.83, proven=True, detail="nothing to prove"),
         Launch("claude-code", "fresh", "handed over (it stopped with its window 83 % full)")),
        ("Checks are believed also then.", ONE, RAN,
         Gone("claude-code", "done", "n", filled=0.83, proven=True, checked=True, detail="1 of 1 proven"),
         Stop("done", "1 of 1 proven")),
        ("A window at the threshold was full.", ONE, RAN,
         Gone("claude-code", "done", "n", filled=0.8, proven=True),
         Launch("claude-code", "fresh", "handed over (it stopped with its window 80 % full)")),
        ("One whose window was nearly full is asked again.", ONE, RAN,
         Gone("claude-code", "done", "n", filled=0.79, proven=False),
         Launch("claude-code", "fresh", "not done yet")),
        ("Why it paused is told, if it is known.", ONE, RAN, Gone("claude-code", "paused", detail="a signal"),
         Stop("paused", "a signal")),
        ("What they do not prove goes on afresh.", ONE, RAN,
         Gone("claude-code", "done", "n", share=0.1, filled=0.83, proven=False, why_not="x fails"),
         Launch("claude-code", "fresh", "not proven: x fails")),
        ("A false done goes on in the same conversation.", ONE, RAN,
         Gone("claude-code", "done", "n", proven=False, why_not="x fails"),
         Launch("claude-code", "resume", "not proven: x fails")),
        ("In a full one it goes on afresh.", ONE, RAN,
         Gone("claude-code", "done", "n", share=0.6, proven=False, why_not="x fails"),
         Launch("claude-code", "fresh", "not proven: x fails")),
        ("A crash is resumed natively.", ONE, RAN, Gone("claude-code", "crashed", "n", detail="killed"),
         Launch("claude-code", "resume", "crashed (killed)")),
        ("Up to half of its window.", ONE, RAN, Gone("claude-code", "crashed", "n", share=0.49, filled=0.49),
         Launch("claude-code", "resume", "crashed")),
        ("From there on afresh.", ONE, RAN, Gone("claude-code", "crashed", "n", share=0.5),
         Launch("claude-code", "fresh", "crashed")),
        ("Also if the window was compacted since.", ONE, RAN, Gone("claude-code", "crashed", "n", filled=0.5),
         Launch("claude-code", "fresh", "crashed")),
        ("A resumption that got on is resumed again.", ONE, Tally(runs=2),
         Gone("claude-code", "crashed", "n", resumed=True), Launch("claude-code", "resume", "crashed")),
        ("A first run that did nothing may be resumed.", ONE, RAN,
         Gone("claude-code", "crashed", "n", progressed=False), Launch("claude-code", "resume", "crashed")),
        ("Without a conversation it cannot be.", ONE, RAN, Gone("claude-code", "crashed"),
         Launch("claude-code", "fresh", "crashed")),
        ("A resumption that did nothing is not tried again.", ONE, Tally(runs=2, fruitless=1),
         Gone("claude-code", "crashed", "n", resumed=True, progressed=False),
         Launch("claude-code", "fresh", "crashed")),
        ("A full window: a fresh one.", ONE, RAN,
         Gone("claude-code", "full", "n", share=0.2, detail="window 81 %"),
         Launch("claude-code", "fresh", "handed over (window 81 %)")),
        ("An overflow: a fresh one.", ONE, RAN, Gone("claude-code", "overflow", "n"),
         Launch("claude-code", "fresh", "window overflowed")),
        ("A hang: a fresh one.", ONE, RAN, Gone("claude-code", "hung", "n"),
         Launch("claude-code", "fresh", "hung")),
        ("Hanging again: another agent.", TWO, Tally(runs=2, fruitless=1), Gone("claude-code", "hung", "n"),
         Launch("codex", "fresh", "claude-code hangs")),
        ("Once is no reason to change the agent.", TWO, RAN, Gone("claude-code", "hung", "n"),
         Launch("claude-code", "fresh", "hung")),
        ("Hanging again alone: a fresh one.", ONE, Tally(runs=2, fruitless=1),
         Gone("claude-code", "hung", "n"), Launch("claude-code", "fresh", "hung")),
        ("A crash is no hang.", TWO, Tally(runs=2, fruitless=1), Gone("claude-code", "crashed", "n"),
         Launch("claude-code", "resume", "crashed")),
        ("A rate limit is waited for.", ONE, RAN, Gone("claude-code", "rate", "n"),
         Launch("claude-code", "resume", "rate limited", 30.0)),
        ("Longer each time.", ONE, Tally(runs=3, waits=2), Gone("claude-code", "rate", "n"),
         Launch("claude-code", "resume", "rate limited", 120.0)),
        ("Or as long as it says.", ONE, RAN, Gone("claude-code", "rate", "n", retry_seconds=7),
         Launch("claude-code", "resume", "rate limited", 7)),
        ("Also for hours.", ONE, RAN, Gone("claude-code", "rate", "n", retry_seconds=15_000),
         Launch("claude-code", "resume", "rate limited", 15_000)),
        ("Not for days.", ONE, RAN, Gone("claude-code", "rate", "n", retry_seconds=200_000),
         Launch("claude-code", "resume", "rate limited", 21_600)),
        ("A word that did not hold is doubted.", ONE, Tally(runs=3, waits=2),
         Gone("claude-code", "rate", "n", retry_seconds=7),
         Launch("claude-code", "resume", "rate limited", 60)),
        ("A word that did not hold once is doubted too.", ONE, Tally(runs=2, waits=1),
         Gone("claude-code", "rate", "n", retry_seconds=7),
         Launch("claude-code", "resume", "rate limited", 30)),
        ("A wait that ends within the budget is begun.", Policy(("claude-code",), seconds_max=3_600),
         Tally(runs=1, seconds=599), Gone("claude-code", "rate", "n", retry_seconds=3_000),
         Launch("claude-code", "resume", "rate limited", 3_000)),
        ("A wait beyond the budget is not begun.", Policy(("claude-code",), seconds_max=3_600),
         Tally(runs=1, seconds=600), Gone("claude-code", "rate", "n", retry_seconds=3_000),
         Stop("budget", "claude-code is rate limited for longer than the time left")),
        ("Another agent does not wait.", TWO, RAN, Gone("claude-code", "rate", "n"),
         Launch("codex", "fresh", "claude-code is rate limited")),
        ("A model that cannot be reached is waited for.", ONE, RAN, Gone("claude-code", "unreachable", "n"),
         Launch("claude-code", "resume", "claude-code cannot reach its model", 30)),
        ("Longer each time.", ONE, Tally(runs=3, waits=2), Gone("claude-code", "unreachable", "n"),
         Launch("claude-code", "resume", "claude-code cannot reach its model", 120)),
        ("Another agent may reach its own.", TWO, RAN, Gone("claude-code", "unreachable", "n"),
         Launch("codex", "fresh", "claude-code cannot reach its model")),
        ("Where it never answered, that is given up.", ONE, Tally(runs=3, fruitless=3),
         Gone("claude-code", "unreachable", detail="ECONNREFUSED"),
         Stop("gave up", "3 runs of claude-code without progress: ECONNREFUSED")),
        ("A wait for a network beyond the budget is not begun.", Policy(("claude-code",), seconds_max=60),
         Tally(runs=1, seconds=40), Gone("claude-code", "unreachable", "n"),
         Stop("budget", "claude-code cannot reach its model, and the time is up")),
        ("No access: another agent.", TWO, Tally(runs=1, out=("claude-code",)), Gone("claude-code", "auth"),
         Launch("codex", "fresh", "claude-code has no access")),
        ("Nobody has: stop.", TWO, Tally(runs=2, out=("claude-code", "codex")),
         Gone("codex", "auth", detail="401"),
         Stop("auth", "codex has no access: 401")),
        ("A user without a login is told so.", ONE, Tally(runs=1, out=("claude-code",)),
         Gone("claude-code", "auth"), Stop("auth", "claude-code has no access: log in to it")),
        ("An agent without access is not asked again.", TWO, Tally(runs=2, out=("codex",)),
         Gone("claude-code", "rate", "n"), Launch("claude-code", "resume", "rate limited", 30.0)),
        ("Three runs without progress: give up.", ONE, Tally(runs=3, fruitless=3),
         Gone("claude-code", "crashed", detail="exit 2", progressed=False),
         Stop("gave up", "3 runs of claude-code without progress: exit 2")),
        ("Two runs without progress: go on.", ONE, Tally(runs=2, fruitless=2),
         Gone("claude-code", "crashed", "n"), Launch("claude-code", "resume", "crashed")),
        ("A false done says what it lacked.", ONE, Tally(runs=3, fruitless=3),
         Gone("claude-code", "done", "n", proven=False, why_not="x fails"),
         Stop("gave up", "3 runs of claude-code without progress: x fails")),
        ("Without words the cause is told.", ONE, Tally(runs=3, fruitless=3),
         Gone("claude-code", "hung", "n"),
         Stop("gave up", "3 runs of claude-code without progress: hung")),
        ("Or let another try.", TWO, Tally(runs=3, fruitless=3), Gone("claude-code", "crashed"),
         Launch("codex", "fresh", "3 runs of claude-code without progress")),
        ("Enough runs: stop.", ONE, Tally(runs=10), Gone("claude-code", "crashed", "n"),
         Stop("budget", "the limit of 10 runs is reached")),
        ("A proven work is done, whatever it cost.", ONE, Tally(runs=10),
         Gone("claude-code", "done", proven=True),
         Stop("done", "")),
    ],
)  # fmt: skip
def test_what_comes_after_an_agents_end(
    sentence: str, policy: Policy, tally: Tally, gone: Gone, action: object
) -> None:
    assert once_gone(policy, tally, gone) == action, sentence


@pytest.mark.parametrize(
    ("policy", "tally", "says"),
    [
        (Policy(("a",), seconds_max=60), Tally(seconds=61), "60 s are over"),
        (Policy(("a",), seconds_max=60), Tally(seconds=60), "60 s are over"),
        (Policy(("a",), seconds_max=60), Tally(seconds=59), ""),
        (Policy(("a",), runs_max=1), Tally(runs=1), ""),
        (Policy(("a",), tokens_max=1000), Tally(tokens=1000), "the limit of 1000 tokens is reached"),
        (Policy(("a",), cost_max=5), Tally(cost=5.01), "the limit of 5 dollars is reached"),
        (Policy(("a",)), Tally(seconds=1e9, tokens=10**9, cost=1e9), ""),
    ],
)
def test_a_budget_ends_the_agent_and_the_work(policy: Policy, tally: Tally, says: str) -> None:
    assert over_budget(policy, tally) == says
    living = while_living(policy, tally, Living())
    assert living == (End("budget", says) if says else Watch())
    if says:
        assert once_gone(policy, tally, Gone("a", "budget", "n")) == Stop("budget", says)


def test_the_last_run_is_not_ended_because_it_is_the_last_and_no_other_follows_it() -> None:
    policy, last = Policy(("a",), runs_max=5), Tally(runs=5)
    assert while_living(policy, last, Living()) == Watch()
    gone = Gone("a", "crashed", "n")
    assert once_gone(policy, last, gone) == Stop("budget", "the limit of 5 runs is reached")
    assert once_gone(policy, Tally(runs=4), gone) == Launch("a", "resume", "crashed")


def test_an_agent_whose_silence_is_not_limited_is_never_ended_for_it() -> None:
    policy = Policy(("a",), silent_seconds=0, call_seconds=0)
    assert while_living(policy, RAN, Living(silent_seconds=1e6)) == Watch()
    assert while_living(policy, RAN, Living(silent_seconds=1e6, in_call=True)) == Watch()


@pytest.mark.parametrize(
    ("text", "status", "trouble"),
    [
        ("API Error: 429 rate_limit_error", 0, "rate"),
        ("slow down", 429, "rate"),
        ("You've hit your usage limit", 0, "rate"),
        ("Overloaded", 529, "rate"),
        ("Resource has been exhausted (e.g. check quota).", 429, "rate"),
        ("Invalid API key · Please run /login", 401, "auth"),
        ("unexpected status 401 Unauthorized: invalid x-api-key", 0, "auth"),
        ("API key not valid. Please pass a valid API key.", 400, "auth"),
        ("forbidden", 403, "auth"),
        ("denied", 401, "auth"),
        ("the quota service says no", 401, "auth"),
        ("the quota service says no", 403, "auth"),
        ("not logged in", 429, "rate"),
        ("not logged in", 529, "rate"),
        ("the context window overflowed", 429, "overflow"),
        ("prompt is too long: 210000 tokens > 200000 maximum", 400, "overflow"),
        ("Your input exceeds the context window of this model", 0, "overflow"),
        ("Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)", 0, "unreachable"),
        ("getaddrinfo ENOTFOUND api.example.org", 0, "unreachable"),
        ("Reconnecting... waiting for network (Connection failed: error sending request)", 0, "unreachable"),
        ("AI_APICallError: Cannot connect to API: Unable to connect.", 0, "unreachable"),
        ("exception TypeError: fetch failed sending request", 0, "unreachable"),
        ("Connection error.", 0, "unreachable"),
        ("could not resolve the import", 400, ""),
        ("Internal server error", 500, ""),
        ("", 0, ""),
    ],
)
def test_faults_are_told_apart(text: str, status: int, trouble: str) -> None:
    assert trouble_of(text, status) == trouble


@pytest.mark.parametrize(
    ("says", "policy", "waiting", "action"),
    [
        ("Nothing waited.", ONE, None, Launch("claude-code", "fresh", "")),
        ("The rest is waited for.", ONE, Waiting("claude-code", "resume", "rate limited", 130.0),
         Launch("claude-code", "resume", "rate limited", 30.0)),
        ("It is over.", ONE, Waiting("claude-code", "resume", "rate limited", 90.0),
         Launch("claude-code", "resume", "rate limited")),
        ("It ends just now.", ONE, Waiting("claude-code", "fresh", "rate limited", 100.0),
         Launch("claude-code", "fresh", "rate limited")),
        ("A clock that was set back is not waited for.", ONE,
         Waiting("claude-code", "fresh", "rate limited", 1e9),
         Launch("claude-code", "fresh", "rate limited", 21_600)),
        ("Another agent does not wait.", TWO, Waiting("claude-code", "resume", "rate limited", 130.0),
         Launch("codex", "fresh", "claude-code is rate limited")),
        ("Another agent was chosen.", Policy(("codex",)), Waiting("claude-code", "resume", "x", 130.0),
         Launch("codex", "fresh", "")),
        ("There is no time for it.", Policy(("claude-code",), seconds_max=20),
         Waiting("claude-code", "resume", "rate limited", 130.0),
         Stop("budget", "claude-code is rate limited for longer than the time left")),
    ],
)  # fmt: skip
def test_a_supervisor_goes_on_with_what_the_one_before_it_waited_for(
    says: str, policy: Policy, waiting: Waiting | None, action: Launch | Stop
) -> None:
    assert picked_up(policy, Tally(runs=1), waiting, 100.0) == action, says


def test_what_an_agent_without_access_waited_for_is_begun_by_the_first() -> None:
    waiting = Waiting("codex", "resume", "rate limited", 130.0)
    assert picked_up(TWO, Tally(runs=1, out=("codex",)), waiting, 100.0) == Launch("claude-code", "fresh", "")


def test_waits_double_up_to_a_limit() -> None:
    assert [backoff(ONE, n) for n in range(8)] == [30, 60, 120, 240, 480, 960, 1800, 1800]
    assert backoff(ONE, 10_000) == 1800


def test_no_sequence_of_ends_goes_on_for_ever() -> None:
    """Whatever happens again and again, in at most so many runs it stops."""
    causes: tuple[Cause, ...] = ("crashed", "hung", "full", "rate", "auth", "overflow", "done")
    for cause in causes:
        tally, agent = Tally(runs=1), "claude-code"
        for _ in range(100):
            gone = Gone(agent, cause, "n", proven=False if cause == "done" else None)
            out = (*tally.out, agent) if cause == "auth" else tally.out
            tally = Tally(runs=tally.runs, out=out, waits=tally.waits + 1)
            action = once_gone(TWO, tally, gone)
            if isinstance(action, Stop):
                break
            assert isinstance(action, Launch)
            agent, tally = action.agent, Tally(runs=tally.runs + 1, out=tally.out, waits=tally.waits)
        assert tally.runs <= 10, cause
