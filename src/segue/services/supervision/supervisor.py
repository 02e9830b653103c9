"""`segue run`: launches agents and watches them until the work is proven or cannot continue.

What to do is decided in ``core/supervision/decide.py``; here it is done and reported. Everything that the
next supervisor needs is stored before it takes effect, so this one may be killed at any moment. The work is
done when the gate of the features says so and nothing of the plan is left.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from ...agents import agent as agent_of, traits_of
from ...agents.base import AgentOutput
from ...core.base.lazy import regex
from ...core.base.values import Value, count
from ...core.runs import window_pressure
from ...core.sessions import commands as do
from ...core.supervision import decide
from ...core.supervision.retry_after import told_wait
from ...core.supervision.spending import milestones, span, spending
from ...effects.processes import launch as processes
from ...effects.redaction.redact import redact
from ...errors import NotInstalled, SegueError
from ..features.features import Features, complete_session, patterns_of, session_status
from ..features.verify import verify
from ..hooks.handler import ON_SCREEN, SUPERVISED
from ..models.triggers import FULL, LONG, LONG_STEPS, AskedAbout, ask_later
from ..resume.interruptions import interrupt
from ..resume.prepare import prepare
from ..runs.observed import runs_of
from ..runs.sync import sync
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import record
from .begin import take_over_plan
from .follow import Following, Look, known_runs
from .launchers import launcher_of
from .own_lists import left_open, mark_ticked, open_items_refusal
from .prompts import first_prompt, next_prompt, resume_prompt
from .record import Launched, Options, Supervision, new_mark

_TERMINAL = regex(r"\x1b\[[0-9;?]*[A-Za-z]")
TICK_SECONDS = 0.1
TELL_SECONDS = 1.0
HEAR_SECONDS = 0.5
"""How often what an agent prints is looked through."""
_TROUBLES = {
    "unreachable": "its model cannot be reached",
    "auth": "it has no access to its model",
    "rate": "it is at a limit",
    "overflow": "its window overflowed",
}


class Notice(Value):
    """Something that happened, for whoever is watching."""

    kind: str
    """launched, working, step (something the agent did), ticked (an item it did), asks (it waits for the
    user), trouble (with its model), spent, ended, left behind, proving, waiting, stopped."""
    launch: int
    """The number of the launch, from 1."""
    agent: str
    text: str
    seconds: float = 0.0
    share: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    run: str = ""
    """The id of the run, once it is known."""


class Progress(Value):
    """What was said last about a run at work."""

    listed: tuple[int, int] = (0, 0)
    """How many items of its own list are done, and how many there are."""
    trouble: str = ""
    """The kind of trouble with its model; empty if there is none."""
    reached: tuple[int, ...] = (0, 0, 0, 0)
    """The milestones of spending."""
    asks: str = ""
    """What it waits for the user with; empty if it does not wait."""


class RunFinished(Value):
    """How a supervised run ended."""

    session: str
    outcome: str
    why: str
    runs: int
    seconds: float
    tokens: int
    cost: float
    proven: bool


Tell = Callable[[Notice], None]


class Supervisor:
    """One piece of supervised work on a session."""

    def __init__(
        self, workspace: Workspace, session: SessionHandle, policy: decide.Policy,
        options: Options = Options(), tell: Tell = lambda notice: None,  # noqa: B008
    ) -> None:  # fmt: skip
        for name in policy.agents:
            launcher_of(name)
        self.workspace, self.session, self.tell = workspace, session, tell
        kept = record.load(session)
        going_on = kept is not None and not kept.outcome
        before = kept if kept is not None and going_on else Supervision(policy)
        self.kept = replace(before, policy=policy, options=options)
        self._asked_to_stop = False
        self._open_work = 0
        self._files: dict[str, str] = {}
        self._left: list[processes.LeftoverProcess] = []
        self._ticked: tuple[str, ...] = ()
        self._unticked: tuple[str, ...] = ()
        self._before = self.kept.tally
        self._progress = Progress()

    def ask_to_stop(self) -> None:
        """End the agent gently and pause the session; may be called from a signal handler."""
        self._asked_to_stop = True

    def spending(self, share: float = 0.0) -> str:
        """What was spent so far, beside the limits, and the share of the window that is used."""
        return spending(self.policy, self.kept.tally, share)

    @property
    def policy(self) -> decide.Policy:
        return self.kept.policy

    def run(self) -> RunFinished:
        """Supervise until the work is done or cannot continue."""
        with self.session.hold(holder="segue run"):
            self._open_work, self._files = self._unproven_now(), self._files_now()
            action = self._picked_up()
            while isinstance(action, decide.Launch):
                gone = self._one(action)
                action = self._next(gone)
            return self._finish(action)

    def _picked_up(self) -> decide.Launch | decide.Stop:
        """The first action, given what an earlier supervisor left: a living child, a dead one, or nothing."""
        launch = self.kept.under_way
        if launch is None:
            waited = self.kept.waiting
            action = decide.picked_up(self.policy, self.kept.tally, waited, time.time())
            if waited is not None and isinstance(action, decide.Launch) and action.agent != waited.agent:
                self._hand_over(action)
            self._save()
            return action
        child = processes.find_child(launch.pid, launch.started, launch.mark, self._output(launch.mark))
        if child is not None:
            self._say("launched", launch, "still at work: picked up")
        else:
            child = processes.Child(launch.pid, "gone", self._output(launch.mark))
        return self._next(self._watched(launch, child))

    def _one(self, action: decide.Launch) -> decide.Gone:
        self._wait(action)
        if self._asked_to_stop:
            return decide.Gone(action.agent, "paused", detail="you asked to stop")
        began = time.monotonic()
        last = self.kept.launches[-1] if self.kept.launches else None
        resume = last.native if action.how == "resume" and last is not None else ""
        launch = Launched(
            mark=new_mark(), number=self.kept.tally.runs + 1, agent=action.agent, how=action.how,
            why=action.why, began=time.time(), native=resume or str(uuid.uuid4()),
            known=tuple(sorted(known_runs(self.workspace, action.agent)))[-200:],
            calls=last.calls if resume and last is not None else 0,
        )  # fmt: skip
        prompt = self._prompt(action)
        self._keep(launch, runs=1)
        try:
            child = self._spawn(launch, prompt, resume)
        except NotInstalled as fault:
            self._say("ended", launch, fault.message)
            return self._gone(launch, Look(), "auth", fault.message)
        self._before = self.kept.tally
        launch = replace(launch, pid=child.pid, started=child.started)
        self._keep(launch)
        took = time.monotonic() - began
        word = "resumed" if resume else "started"
        self._say("launched", launch, f"{word} in {took:.1f} s", seconds=took)
        return self._watched(launch, child)

    def _spawn(self, launch: Launched, prompt: str, resume: str) -> processes.Child:
        starter, options = launcher_of(launch.agent), self.kept.options
        if options.screen:
            words = starter.interactive(prompt, resume=resume, more=options.more)
        else:
            words = starter.headless(
                prompt, native="" if resume else launch.native, resume=resume,
                full_access=options.full_access, more=options.more,
            )  # fmt: skip
        marks = {"SEGUE_SESSION": self.session.id, SUPERVISED: ON_SCREEN if options.screen else "1"}
        environment = {**self.workspace.environment, **marks}
        return processes.spawn(
            words, folder=self.workspace.working_tree.root, environment=environment, mark=launch.mark,
            output=self._output(launch.mark), screen=options.screen,
        )  # fmt: skip

    def _watched(self, launch: Launched, child: processes.Child) -> decide.Gone:
        """Watch a child until it is gone, and return how it ended."""
        chosen = launch.how == "resume" or traits_of(agent_of(launch.agent)).id_can_be_chosen
        chosen = chosen and not self.kept.options.screen
        native = launch.native if chosen else self._heard(launch, child).native
        following = Following(
            self.workspace, launch.agent, native, began=launch.began, known=frozenset(launch.known),
            fresh=launch.how != "resume",
        )  # fmt: skip
        began, reported, printed, changed = time.monotonic(), 0.0, -1, time.monotonic()
        heard_at = 0.0
        self._before = self.kept.tally
        self._progress = Progress()
        while True:
            code = child.exit_code()
            look = following.look()
            self._tell_progress(launch, following, look)
            if code is not None:
                return self._ended(launch, child, following, code)
            now = time.monotonic()
            if child.printed() != printed and now - heard_at >= HEAR_SECONDS:
                printed, changed, heard_at = child.printed(), now, now
                heard = self._heard(launch, child)
                following.native = following.native or heard.native
                following.hear(heard.retrying)
            self._spend(launch, look)
            self._mark_ticked(launch, look)
            seen = decide.Living(
                silent_seconds=now - max(changed, following.changed), in_call=look.in_call, share=look.share,
                trouble=look.trouble, detail=look.retrying,
                troubled_seconds=now - following.troubled if following.troubled else 0.0,
                asked_to_stop=self._asked_to_stop or bool(self.workspace.pause_file.in_force()),
            )  # fmt: skip
            action = decide.while_living(self.policy, self.kept.tally, seen)
            if isinstance(action, decide.End):
                child.end()
                look = following.look(now=True)
                heard = self._heard(launch, child)
                retry = _asked_to_wait(look.fault, heard) if action.cause == "rate" else 0.0
                return self._gone(launch, look, action.cause, action.why, retry)
            if now - reported > TELL_SECONDS:
                reported = now
                self._say("working", launch, look.doing or look.last_said, now - began, look)
            time.sleep(TICK_SECONDS)

    def _ended(
        self, launch: Launched, child: processes.Child, following: Following, code: int
    ) -> decide.Gone:
        heard = self._heard(launch, child)
        following.native = following.native or heard.native
        look = following.look(now=True)
        self._tell_progress(launch, following, look)
        fault = heard.fault or ("" if code == 0 else look.fault)
        if not fault and 0 < code < processes.UNKNOWN_EXIT:
            fault = _last_words(child.tail())
        trouble = decide.trouble_of(fault, heard.status) if fault else look.trouble
        if heard.cost:
            look = replace(look, cost=heard.cost)
        if trouble:
            retry = _asked_to_wait(fault or look.fault, heard) if trouble == "rate" else 0.0
            return self._gone(launch, look, trouble, fault or look.fault, retry)
        ended_well = code == 0 or (code == processes.UNKNOWN_EXIT and look.ended and not look.in_call)
        if ended_well and not heard.fault:
            return self._gone(launch, look, "done", "")
        how = (
            f"killed by signal {-code}"
            if code < 0
            else f"exit {code}"
            if code < processes.UNKNOWN_EXIT
            else "killed"
        )
        return self._gone(launch, look, "crashed", f"{how}: {fault[:200]}" if fault else how)

    def _gone(
        self, launch: Launched, look: Look, cause: str, detail: str, retry_seconds: float = 0.0
    ) -> decide.Gone:
        heard_native = look.native or (launch.native if launch.how == "resume" else "")
        seconds = time.time() - launch.began
        self._spend(launch, look)
        self._mark_ticked(launch, look)
        self._unticked = look.unticked
        self._take_in(launch, look)
        self._left = self._orphans(launch)
        progressed = look.calls > launch.calls
        tally = self.kept.tally
        waits_out = cause == "unreachable" and tally.tokens > 0  # it was reached before, and may be again
        fruitless = 0 if progressed or cause in ("paused", "rate", "full") else tally.fruitless + 1
        fruitless = tally.fruitless if waits_out else fruitless
        if cause == "done":  # the gate decides whether that is so
            fruitless = tally.fruitless
        waits = tally.waits if cause in ("rate", "unreachable") else 0
        out = (*tally.out, launch.agent) if cause == "auth" else tally.out
        self._count(fruitless=fruitless, waits=waits, out=out)
        ended = replace(
            launch, native=heard_native, ended=cause, seconds=seconds, detail=detail, calls=look.calls,
            tokens=look.tokens, cost=look.cost,
        )  # fmt: skip
        self._keep(ended)
        self._output(launch.mark).unlink(missing_ok=True)
        named = {"done": "says it is done", "full": f"{detail}: handed over"}
        words = named.get(cause, f"{cause} ({detail})")
        self._say("ended", ended, f"{words} after {span(seconds)}", seconds, look)
        self._say("spent", ended, self.spending(look.share), look=look)
        for one in self._left:
            self._say("left behind", ended, f"pid {one.pid} still runs: {one.command[:120]}")
        return decide.Gone(
            launch.agent, cast(decide.Cause, cause), native=heard_native if look.path else "",
            share=look.share, filled=look.filled, progressed=progressed, resumed=launch.how == "resume",
            retry_seconds=retry_seconds, detail=detail,
        )  # fmt: skip

    def _next(self, gone: decide.Gone) -> decide.Launch | decide.Stop:
        action = decide.once_gone(self.policy, self.kept.tally, gone)
        if isinstance(action, decide.Prove):
            proven = self._proven(gone)  # which counts runs without progress
            action = decide.once_gone(self.policy, self.kept.tally, proven)
            assert not isinstance(action, decide.Prove)
        if isinstance(action, decide.Launch) and action.agent != gone.agent:
            self._hand_over(action)
        if isinstance(action, decide.Launch) and action.how == "fresh":
            take_over_plan(self.workspace, self.session)  # the list of the old window ends with it
        return action

    def _proven(self, gone: decide.Gone) -> decide.Gone:
        """Whether a "done" is true: the checks are run and the plan is looked at."""
        features = Features(self.session)
        state = self.session.state
        if state.features:
            checks = f"running the checks of {count(len(state.features), 'feature')}"
            self._say("proving", self.kept.launches[-1], checks)
            with suppress(SegueError):
                verify(features)
        gate, status = features.gate(), session_status(self.session)
        if not gate.ok and state.features:
            found = f"{gate.counts.passing} of {gate.counts.total} proven"
            self._say("proving", self.kept.launches[-1], found)
        left = [*status.active, *status.next]
        own = left_open(self.session, self._unticked)
        if gate.ok and (state.features or not (left or own)):
            proven = f"{gate.counts.passing} of {gate.counts.total} proven"
            checked = bool(state.features)
            return replace(
                gone, proven=True, checked=checked, detail=proven if checked else "nothing to prove"
            )
        open_before, files_before = self._open_work, self._files
        self._open_work, self._files = self._unproven_now(), self._files_now()
        moved = self._open_work < open_before or self._files != files_before
        self._count(fruitless=0 if moved else self.kept.tally.fruitless + 1)
        why = gate.text if not gate.ok else open_items_refusal(left, own, gone.agent)
        return replace(gone, proven=False, why_not=why)

    def _unproven_now(self) -> int:
        """How much there is left to do: features to prove and items to finish."""
        status = session_status(self.session)
        own = left_open(self.session, self._unticked)
        return len(Features(self.session).gate().unproven) + len(status.active) + len(status.next) + len(own)

    def _files_now(self) -> dict[str, str]:
        """The hash of the files that each feature covers; without features, of all files."""
        features = self.session.state.features
        tree = Features(self.session).look()
        patterns = {id: patterns_of(feature) for id, feature in features.items()} or {"": ()}
        return {id: tree.covered(globs)[0] for id, globs in patterns.items()}

    def _hand_over(self, action: decide.Launch) -> None:
        with suppress(SegueError):
            self.session.apply(do.Hand(action.agent, action.why))
        self._count(fruitless=0, waits=0)

    def _wait(self, action: decide.Launch) -> None:
        if not action.wait_seconds:
            return
        launch = self.kept.launches[-1]
        text = f"{action.why}: waiting {span(action.wait_seconds)}"
        until = time.time() + action.wait_seconds  # the limit may outlast this supervisor
        waiting = decide.Waiting(action.agent, action.how, action.why, until)
        self.kept = replace(self.kept, waiting=waiting)
        self._save()
        self._say("waiting", launch, text, action.wait_seconds)
        over = time.monotonic() + action.wait_seconds
        while time.monotonic() < over and not self._asked_to_stop:
            time.sleep(min(TICK_SECONDS, max(0.0, over - time.monotonic())))
        waited, tally = action.wait_seconds - max(0.0, over - time.monotonic()), self.kept.tally
        self._count(seconds=tally.seconds + waited, waits=tally.waits + 1)

    def _finish(self, stop: decide.Stop) -> RunFinished:
        tally = self.kept.tally
        self.kept = replace(self.kept, outcome=stop.outcome if stop.outcome != "paused" else "", why=stop.why)
        with suppress(SegueError):
            self._save()
            if stop.outcome == "done":
                complete_session(self.session, f"segue run: {stop.why}")
            elif self.session.state.status == "active":
                cause = {"budget": "budget", "paused": "user"}.get(stop.outcome, "error")
                interrupt(self.session, cause, f"segue run: {stop.outcome}: {stop.why}")
        proven = bool(self.session.state.features) and stop.outcome == "done"
        if self.kept.launches:
            self._say("stopped", self.kept.launches[-1], f"{stop.outcome}: {stop.why}", tally.seconds)
        return RunFinished(
            self.session.id, stop.outcome, stop.why, tally.runs, round(tally.seconds, 3), tally.tokens,
            tally.cost, proven,
        )  # fmt: skip

    def _prompt(self, action: decide.Launch) -> str:
        if not self.kept.launches:
            return first_prompt(self.workspace, self.session, own_goal=self.kept.options.named)
        if action.how == "resume":
            return resume_prompt(self.session, action.why, self._left)
        return next_prompt(self.workspace, self.session, action.why, self._left)

    def _tell_progress(self, launch: Launched, following: Following, look: Look) -> None:
        """Say what is new: steps, the agent's own list, trouble with its model, and what was spent."""
        before = self._progress
        for line in following.lines():
            self._say("step", launch, line, look=look)
        listed = (len(look.ticked), len(look.ticked) + len(look.unticked))
        if listed != before.listed:
            self._say("step", launch, "its list: {} of {} done".format(*listed), look=look)
        trouble = look.trouble or "failed" if look.retrying else ""
        if trouble != before.trouble:
            what = _TROUBLES.get(look.trouble, "its model failed")
            text = f"{what}: {look.retrying}; it tries again" if look.retrying else "its model answers again"
            self._say("trouble", launch, text, look=look)
        reached = milestones(self.policy, self.kept.tally, look.share)
        if any(now > then for now, then in zip(reached, before.reached, strict=True)):
            self._say("spent", launch, self.spending(look.share), look=look)
        highest = tuple(map(max, reached, before.reached))
        asks = self._asks(look)
        if asks and asks != before.asks:
            self._say("asks", launch, asks, look=look)
        self._progress = Progress(listed, trouble, highest, asks)

    def _asks(self, look: Look) -> str:
        """What the agent waits for the user with: a question or, on its own screen, the end of its turn."""
        is_over = self.kept.options.screen and look.ended and not look.in_call
        return look.asks or (f"its turn ended: {look.last_said}" if is_over else "")

    def _mark_ticked(self, launch: Launched, look: Look) -> None:
        """What the agent ticked off in its own list is done in the session, whatever becomes of the run."""
        if look.ticked == self._ticked:
            return
        self._ticked = look.ticked
        with suppress(SegueError):
            for item in mark_ticked(self.session, look.ticked, launch.agent, look.native):
                self._say("ticked", launch, f"done: {item}", look=look)

    def _take_in(self, launch: Launched, look: Look) -> None:
        """Sync the run and write the manifest; a failure of either must not stop the work."""
        with suppress(SegueError, OSError):
            runs = runs_of(self.workspace).finder().found(launch.agent)
            found = next((one for one in runs if look.path and one.native == look.native), None)
            if found is not None:
                sync(self.workspace, shares=True, found=[found], session=self.session.id)
            prepare(
                self.workspace, self.session, reason=window_pressure.BEFORE_EXIT, agent=launch.agent,
                transcript=look.path or None, run=look.native,
            )  # fmt: skip
            is_full = look.filled >= self.policy.threshold
            trigger = FULL if is_full else LONG if look.steps >= LONG_STEPS else ""
            if trigger:
                about = AskedAbout(look.native, launch.agent, look.steps, look.path, self.session.id)
                ask_later(self.workspace, trigger, about)

    def _orphans(self, launch: Launched) -> list[processes.LeftoverProcess]:
        """What a dead agent left running. The agent's own program is killed, because two would write to one
        conversation."""
        command, left = launcher_of(launch.agent).command, []
        for one in processes.leftover_processes(launch.mark):
            words = one.command.split(" ")[:2]  # the program, or an interpreter and the program
            if command in {word.rpartition("/")[2].removesuffix(".js") for word in words}:
                processes.kill(one.pid)
            else:
                left.append(one)
        if left:
            names = "; ".join(f"pid {one.pid}: {one.command[:100]}" for one in left[:5])
            with suppress(SegueError):
                self.session.apply(do.Note(f"run {launch.number} left processes running: {names}"))
        return left

    def _heard(self, launch: Launched, child: processes.Child) -> AgentOutput:
        return launcher_of(launch.agent).parse_output(child.tail())

    def _output(self, mark: str) -> Path:
        return self.workspace.home.path / "launches" / f"{mark}.out"

    def _spend(self, launch: Launched, look: Look) -> None:
        """Add what this run has cost so far; a conversation that is continued counts once."""
        before = self._before
        earlier = next((one for one in reversed(self.kept.launches[:-1]) if one.native == look.native), None)
        tokens = look.tokens - (earlier.tokens if earlier and look.native else 0)
        cost = look.cost - (earlier.cost if earlier and look.native else 0.0)
        tally = replace(
            before, seconds=before.seconds + time.time() - launch.began,
            tokens=before.tokens + max(0, tokens), cost=before.cost + max(0.0, cost),
        )  # fmt: skip
        self.kept = replace(self.kept, tally=tally)

    def _count(self, **changes: Any) -> None:
        self.kept = replace(self.kept, tally=replace(self.kept.tally, **changes))

    def _keep(self, launch: Launched, *, runs: int = 0) -> None:
        self._count(runs=self.kept.tally.runs + runs)
        self.kept = replace(self.kept.with_launch(launch), waiting=None)
        self._save()

    def _save(self) -> None:
        record.save(self.session, self.kept)

    def _say(
        self, kind: str, launch: Launched, text: str, seconds: float = 0.0, look: Look | None = None
    ) -> None:
        look = look or Look()
        self.tell(
            Notice(
                kind, launch.number, launch.agent, text, round(seconds, 3), round(look.share, 4), look.tokens,
                round(look.cost, 6), look.native or launch.native,
            )
        )  # fmt: skip


def _last_words(output: str) -> str:
    """The last line that an agent printed for people."""
    lines = (_TERMINAL.sub("", line).strip() for line in reversed(output.splitlines()))
    return next((redact(line) for line in lines if line and line[0] not in "{}[]"), "")[:200]


def _asked_to_wait(fault: str, heard: AgentOutput) -> float:
    """How many seconds a rate-limited agent asks to wait, according to its records or its text; 0 if they do
    not say."""
    if heard.resets_at > time.time():
        return heard.resets_at - time.time()
    return heard.retry_seconds or told_wait(fault, datetime.now().astimezone(), _zone)


def _zone(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None  # it is not known here
