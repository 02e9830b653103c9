"""Interruptions: saved first, with the reason, and with the way on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import opened

from segue import Segue, UsageError
from segue.api.session import Session
from segue.core.brief.manifest import read
from segue.core.sessions.budget import Standing
from segue.errors import StoreUnavailable
from segue.services.resume import interruptions
from segue.services.resume.interruptions import (
    Interruption,
    SystemInterrupt,
    cause_of,
    interrupt,
    pause_if_idle,
)
from segue.services.resume.scenes import stored_scene


@pytest.fixture
def session(seg: Segue) -> Session:
    one = seg.start("Use tokens", id="jwt", items=["model", "routes", "docs"])
    one.checkpoint(done=["model"], begin=["routes"], thread=["which algorithm"], decide=["HS256"])
    return one


def test_a_pause_gives_status_summary_and_the_exact_command_to_go_on(
    session: Session, repo: Repository
) -> None:
    repo.write({"a.py": "b\n"})
    done = session.pause("lunch")
    assert (done.status, done.session_id, done.cause, done.reason) == ("paused", "jwt", "user", "lunch")
    assert done.resume_command == "segue resume jwt"
    assert done.summary.under_way == ("routes", "which algorithm")
    assert done.summary.made == {"items done": 1, "decisions": 1, "uncommitted changes": 1}
    assert done.summary.next_actions[0] == "Continue: routes"
    assert session.state.pause_reason == "lunch" and session.state.changes == (("a.py", "modified"),)


def test_a_pause_leaves_a_manifest_and_a_scene(seg: Segue, session: Session) -> None:
    done = session.pause("lunch")
    manifest = read(Path(done.manifest).read_bytes())
    assert manifest is not None and manifest.active_state.current_work == "routes"
    scene = stored_scene(seg.workspace, "jwt")
    assert scene is not None and (scene.reason, scene.version) == ("lunch", session.state.version)


def test_a_pause_can_be_taken_back_by_one_undo(session: Session, repo: Repository) -> None:
    repo.write({"a.py": "b\n"})
    session.pause()
    session.undo()
    assert (session.state.status, session.state.changes) == ("active", ())


def test_an_undo_takes_the_pause_back_and_not_that_an_agents_process_was_stopped(session: Session) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        session.note_agent("worker", pid=process.pid, active=True)
        assert session.pause().agents == {"worker": "stopped"}
    session.undo()
    assert session.state.status == "active"
    assert not session.state.agents["worker"].active and not session.state.agents["worker"].pid


def test_pausing_twice_is_pausing_once(session: Session) -> None:
    session.pause("lunch")
    again = session.pause("later")
    assert (again.events, again.status, session.state.pause_reason) == (0, "paused", "lunch")


def test_the_library_leaves_nothing_on_the_disk_where_its_store_is_not(tmp_path: Path) -> None:
    from segue.stores.memory.store import VolatileStore

    with Segue(VolatileStore(), home=tmp_path / "home", folder=tmp_path) as seg:
        seg.start("Use tokens").pause()
    assert not (tmp_path / "home").exists()


def test_the_pause_is_durable_before_anything_else_is_tried(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        assert session.state.status == "paused"
        raise OSError("no room")

    monkeypatch.setattr("segue.services.resume.prepare.prepare", fail)
    assert session.pause().manifest == "" and session.state.status == "paused"


def test_a_store_that_takes_nothing_leads_to_an_emergency_file_that_is_merged_later(
    seg: Segue, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(seg.workspace.store, "append", fail)
        done = interrupt(session, "error", "it broke")
    assert done.status == "emergency" and Path(done.manifest).is_file() and "gone" in done.error
    again = seg.session("jwt")
    assert (again.state.status, again.state.pause_cause) == ("paused", "error")


def test_an_unknown_cause_is_refused(session: Session) -> None:
    with pytest.raises(UsageError):
        interrupt(session, "boredom")


# -- errors and signals


@pytest.mark.parametrize(
    ("fault", "cause", "reason"),
    [
        (ValueError("bad"), "error", "ValueError: bad"),
        (KeyboardInterrupt(), "system", "SIGINT"),
        (SystemInterrupt(128 + signal.SIGTERM), "system", "SIGTERM"),
        (SystemExit(3), "unknown", "SystemExit: 3"),
        (GeneratorExit(), "unknown", "GeneratorExit: "),
    ],
)
def test_what_ends_a_block_has_a_cause(fault: BaseException, cause: str, reason: str) -> None:
    assert cause_of(fault) == (cause, reason)


def test_an_error_in_the_block_saves_and_is_raised_again(session: Session) -> None:
    with pytest.raises(ZeroDivisionError), session.interruptible() as watch:
        _ = 1 // 0
    assert watch.interruption is not None and watch.interruption.cause == "error"
    assert watch.interruption.error.startswith("ZeroDivisionError")
    assert (session.state.status, session.state.pause_cause) == ("paused", "error")


def test_a_block_that_ends_well_pauses_nothing(session: Session) -> None:
    with session.interruptible() as watch:
        session.note("x")
    with pytest.raises(SystemExit), session.interruptible():
        sys.exit(0)
    assert watch.interruption is None and session.state.status == "active"


def test_a_signal_saves_and_ends_the_process_as_signals_do(home: Path, repo: Repository) -> None:
    script = (
        "import time\nfrom segue import Segue\n"
        "with Segue() as seg, seg.start('Use tokens', id='jwt').interruptible():\n"
        "    print('ready', flush=True)\n    time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=repo.folder, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    child.terminate()
    child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGTERM
    with opened(home, repo.folder) as seg:
        state = seg.session("jwt").state
    assert (state.status, state.pause_cause, state.pause_reason) == ("paused", "system", "SIGTERM")


# -- budget


def test_spending_is_counted_against_limits_and_the_limit_pauses_with_three_ways_on(
    session: Session,
) -> None:
    session.budget(cost=1.0, tokens=1000)
    first = session.spend(0.4, 300)
    assert isinstance(first, Standing) and not first.exceeded and first.share == pytest.approx(0.4)
    done = session.spend(0.6, 100)
    assert isinstance(done, Interruption)
    assert (done.cause, done.current_spend, done.limit) == ("budget", 1.0, 1.0)
    assert (done.tokens_used, done.tokens_limit) == (400, 1000)
    assert [one.name for one in done.options] == ["continue_limited", "pause", "increase_budget"]
    assert done.options[2].command == "segue budget jwt --limit 2 --limit-tokens 2000 && segue resume jwt"
    assert (session.state.status, session.state.pause_cause) == ("paused", "budget")
    assert session.state.metrics.estimated_cost == 1.0


def test_tokens_alone_reach_a_limit_too(session: Session) -> None:
    session.budget(tokens=10)
    done = session.spend(tokens=10)
    assert isinstance(done, Interruption) and done.reason == "10 of 10 tokens used"


def test_going_on_limited_is_not_paused_again_until_a_new_limit_is_set(session: Session) -> None:
    session.budget(cost=1.0)
    assert isinstance(session.spend(2.0), Interruption)
    session.budget(limited=True)
    session.resume()
    again = session.spend(1.0)
    assert isinstance(again, Standing) and again.exceeded and again.limited
    session.budget(cost=5.0)
    assert not session.budget().limited
    assert isinstance(session.spend(9.0), Interruption)


def test_a_limit_of_the_settings_holds_where_the_session_has_none(home: Path, repo: Repository) -> None:
    with opened(home, repo.folder, SEGUE_BUDGET_USD="0.5") as seg:
        assert isinstance(seg.start("Use tokens").spend(0.5), Interruption)


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_amounts_that_are_none_are_refused(amount: float, session: Session) -> None:
    with pytest.raises(UsageError):
        session.spend(amount)
    with pytest.raises(UsageError):
        session.budget(cost=amount)


def test_without_limits_nothing_is_ever_exceeded(session: Session) -> None:
    standing = session.spend(1e6, 10**9)
    assert isinstance(standing, Standing) and not standing.exceeded and standing.share == 0.0


# -- timeout


def silent_for(session: Session, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.time() + seconds
    monkeypatch.setattr("segue.services.resume.interruptions.time.time", lambda: now)


def test_a_timeout_is_noticed_at_the_next_contact_with_how_long_and_since_when(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = session.state.updated
    silent_for(session, monkeypatch, 3 * 3600)
    found = pause_if_idle(session)
    assert found is not None and found.cause == "timeout" and found.status == "paused"
    assert found.inactive_seconds == pytest.approx(3 * 3600, abs=60)
    assert found.last_activity[:19] == last[:19]
    assert session.state.pause_cause == "timeout"
    assert pause_if_idle(session) is None


def test_resuming_after_a_long_silence_records_it_first(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent_for(session, monkeypatch, 3 * 3600)
    session.resume()
    kinds = [event.kind for event in session.log()][-2:]
    assert kinds == ["session.paused", "session.resumed"] and session.state.status == "active"


def test_a_session_that_is_held_paused_or_recent_has_no_timeout(
    session: Session, monkeypatch: pytest.MonkeyPatch, seg: Segue
) -> None:
    assert pause_if_idle(session) is None
    silent_for(session, monkeypatch, 3 * 3600)
    with session.hold(run="r1"):
        assert pause_if_idle(seg.session("jwt")) is None
    session.pause()
    assert pause_if_idle(session) is None


def test_no_timeout_is_noticed_where_it_is_switched_off(
    home: Path, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home, repo.folder, SEGUE_IDLE_MINUTES="0") as seg:
        session = seg.start("Use tokens")
        silent_for(session, monkeypatch, 10**6)
        assert pause_if_idle(session) is None


# -- processes of agents


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_the_process_of_an_agent_is_stopped_if_it_is_the_one_that_was_recorded(session: Session) -> None:
    child = sleeper()
    session.note_agent("planner", active=True, mode="deep", pid=child.pid)
    done = session.pause()
    assert done.agents == {"planner": "stopped"}
    assert child.wait(10) == -signal.SIGTERM
    agent = session.state.agents["planner"]
    assert (agent.active, agent.pid, agent.mode) == (False, 0, "deep")


def test_a_process_that_is_not_certainly_ours_is_left_alone(session: Session) -> None:
    child = sleeper()
    try:
        session.note_agent(
            "reused", active=True, pid=child.pid, pid_start="another start", host=os.uname().nodename
        )
        session.note_agent("elsewhere", active=True, pid=child.pid)
        session.note_agent("elsewhere", host="some.other.machine")
        session.note_agent("unknown", active=True, pid=child.pid, pid_start="")
        session.note_agent("myself", active=True, pid=os.getpid())
        session.note_agent("parent", active=True, pid=os.getppid())
        session.note_agent("idle", active=False, pid=child.pid)
        done = session.pause()
        assert done.agents == {
            "reused": "gone", "elsewhere": "left running: the process cannot be identified",
            "unknown": "left running: the process cannot be identified",
            "myself": "left running: it ran this command",
            "parent": "left running: it ran this command",
        }  # fmt: skip
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_process_that_does_not_listen_is_said_to_run_still(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruptions, "STOP_SECONDS", 0.3)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    code += "print(1, flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline()
        session.note_agent("deaf", active=True, pid=child.pid)
        assert session.pause().agents == {"deaf": "still running"}
        assert session.state.agents["deaf"].active
    finally:
        child.kill()
        child.communicate()
