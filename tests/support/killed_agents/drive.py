"""The runs of a chain, their deaths, and what is wrong with what each next run was told.

What was known is judged by what the agents wrote and what the model was asked; what was told by what the
model was really sent. A hop is the way from one run to the next.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tests.support.killed_agents import evidence
from tests.support.killed_agents.plan import Command, PlannedChain, PlannedRun
from tests.support.killed_agents.tally import Tally
from tests.support.rig import Rig, Running
from tests.support.scripted import Request

CONTINUE = "continue"
NO_RESULT = "NO RESULT YET"
BRIEF_BYTES_MAX = 2_048
START_SECONDS = {"claude-code": 1.5, "codex": 1.0, "opencode": 8.0, "gemini-cli": 4.0, "cline": 10.0}
"""About how long an agent takes until it first asks the model."""
TURN_SECONDS = {"claude-code": 0.3, "codex": 0.3, "opencode": 0.8, "gemini-cli": 0.5, "cline": 0.8}
"""About how long it takes from one request to the next."""
HOOK_SECONDS = 0.2
WAIT_SECONDS = 120.0
NOTES_CALLS = {"gemini-cli"}
"""Agents whose live hooks tell Segue of a call before it begins."""


class ChainOfRuns:
    """A chain in a repository of its own, in a home that other chains have used."""

    def __init__(self, rig: Rig, agent: str, plan: PlannedChain, *, live: bool, others: list[str]) -> None:
        self.rig, self.agent, self.plan, self.live, self.others = rig, agent, plan, live, others
        self.tally = Tally()
        self.story: list[str] = []
        self.is_task_known = False
        self.open: Command | None = None
        """The call that the next run must be told of."""

    def go(self) -> Tally:
        """Run all of it."""
        self.rig.move_to(self.rig.folder / f"work-{self.plan.name}")
        init(self.rig, self.agent, live=self.live)
        for number, run in enumerate(self.plan.runs):
            self._run(number, run)
        self._list()
        self.rig.end_all()
        return self.tally

    # -- a run ---------------------------------------------------------------------------------

    def _run(self, number: int, run: PlannedRun) -> None:
        model, before = self.rig.model, len(self.rig.model.requests)
        model.play(run.script)
        known, pending = self.is_task_known, self.open
        prompt = CONTINUE if known else f"{self.plan.task}{self.plan.more}"
        running = self.rig.start(self.agent, prompt)
        killed = run.moment != "never" and Killer(self.rig, self.agent, running, before).kill(run)
        ended = running.wait(WAIT_SECONDS)
        if killed and not run.orphans:
            self.rig.end_all()
        self.tally.kills += killed
        asked = first_request(self.rig, before)
        self._learn(run, asked, killed)
        words = f"run {number} ({prompt[:8]}…), moment {run.moment} {run.turn} {run.delay:.2f}, {ended.seconds:.1f} s"
        outcome = (
            f"{'killed' if killed else f'ended with {ended.code}'}, {'asked' if asked else 'asked nothing'}"
        )
        self.story.append(f"{words}: {outcome}; then the task is {'' if self.is_task_known else 'not '}known,"
                          f" open is {self.open.text if self.open else 'nothing'}")  # fmt: skip
        if not killed and ended.code != 0:
            self._wrong(number, f"the agent ended with {ended.code}", ended.err[-2000:])
        if number and asked is not None:
            self._judge(number, asked, known, pending)

    def _learn(self, run: PlannedRun, asked: Request | None, killed: bool) -> None:
        """What can be known now that this run has ended. Prompts go to a hook before the model is asked."""
        text = evidence.written(self.agent, self.rig.home)
        self.is_task_known = self.is_task_known or asked is not None or self.plan.task in text
        without = evidence.unanswered(run.commands, text)
        if self.live and self.agent in NOTES_CALLS:
            without += [one for one in run.commands if not one.result and self._started(one)]
        did = any(one.sign in text for one in run.commands) or any(path in text for path in run.files)
        if not killed:
            self.open = None
        elif without or did:
            self.open = without[-1] if without else None
        self.answered = evidence.answered([one for each in self.plan.runs for one in each.commands], text)

    def _started(self, command: Command) -> bool:
        return (self.rig.work / command.sign).exists()

    # -- what the next run was told --------------------------------------------------------------

    def _judge(self, number: int, asked: Request, known: bool, pending: Command | None) -> None:
        briefs = [one.text for one in self.rig.model.sent("[segue]", after=asked.number - 1)
                  if one.request == asked.number]  # fmt: skip
        text = "\n".join(whole[whole.index("[segue]") :].partition("[/segue]")[0] for whole in briefs)
        self.tally.hops += 1
        if not known:
            self.tally.unknown += 1
            if text:
                self._wrong(number, "a brief, though nothing was known", text)
            return
        missed = [] if _plain(self.plan.task) in _plain(text) else ["the task"]
        if pending is not None:
            line = next((line for line in text.splitlines() if pending.sign in line), "")
            missed += [] if NO_RESULT in line else [f"the call that was cut off: {pending.text}"]
        if missed:
            self._wrong(number, f"not told: {', '.join(missed)}", text)
        elif (fault := self._false(text, len(briefs))) != "":
            self._wrong(number, fault, text)
        self.tally.with_task += "the task" not in missed
        self.tally.with_call += pending is not None and len(missed) == 0

    def _false(self, text: str, briefs: int) -> str:
        """What a brief says and should not; empty if there is nothing."""
        if briefs != 1 or text.count("[segue]") != 1:
            return "the brief stands there more than once"
        if len(text.encode()) > BRIEF_BYTES_MAX:
            return f"a brief of {len(text.encode())} bytes"
        if strange := [name for name in self.others if name in text]:
            return f"a brief of another chain: {strange}"
        for line in text.splitlines():
            if NO_RESULT in line and any(one.sign in line for one in self.answered):
                return f"a call that was answered is said to be without a result: {line}"
        return ""

    def _list(self) -> None:
        """One chain is one session."""
        done = self.rig.segue("list", "--json")
        cards = json.loads(done.out) if done.code == 0 else []
        goals = [card["goal"] for card in cards]
        if len(goals) != 1 or _plain(self.plan.task) not in _plain(goals[0]):
            self._wrong(len(self.plan.runs), f"`segue list` has {goals}", self.rig.segue("list").out)

    def _wrong(self, number: int, what: str, text: str) -> None:
        log = self.rig.home / ".local" / "share" / "segue" / "segue.log"
        noted = log.read_text(errors="replace")[-2000:] if log.exists() else ""
        half = "live" if self.live else "plain"
        self.tally.wrong.append(
            f"{self.agent} ({half}), seed {self.plan.seed}, at run {number}: {what}\n"
            + "".join(f"    {line}\n" for line in self.story)
            + f"--- told:\n{text}\n--- log:\n{noted}---\n"
        )


class Killer:
    """Kills a run at its moment."""

    def __init__(self, rig: Rig, agent: str, running: Running, before: int) -> None:
        self.rig, self.agent, self.running, self.before = rig, agent, running, before

    def kill(self, run: PlannedRun) -> bool:
        """Wait for the moment, and kill; False if the run had ended before."""
        seconds = TURN_SECONDS[self.agent]
        if run.moment == "start":
            seconds = START_SECONDS[self.agent]
        elif run.moment == "hook":
            seconds = HOOK_SECONDS
            self._wait(HookWatch(self.rig.home, run.turn).seen)
        elif run.moment == "tool":
            self._wait((self.rig.work / run.commands[-1].sign).exists)
        else:
            last = len(run.script.turns) - 1
            turn = {"request": run.turn, "stream": last - 1, "answer": last}[run.moment]
            self._wait(lambda: self._has_asked(run.script.name, turn))
        self._wait(lambda: False, seconds * run.delay)
        if self.running.process.poll() is not None:
            return False
        self.running.kill_group()
        return True

    def _has_asked(self, script: str, turn: int) -> bool:
        asked = self.rig.model.requests[self.before :]
        return any(one.script == script and one.turn >= turn and not one.is_aside for one in asked)

    def _wait(self, happened: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.running.process.poll() is None and not happened():
            time.sleep(0.005)


class HookWatch:
    """Sees the processes of Segue's hooks in a home that begin from now on."""

    def __init__(self, home: Path, skipped: int) -> None:
        self._sign = os.fsencode(home / ".local" / "share" / "segue" / "hook")
        self._skipped, self._before, self._hooks = skipped, set(_processes()), set[str]()

    def seen(self) -> bool:
        """Whether a hook runs, after as many others as are to be skipped."""
        for name in set(_processes()) - self._before - self._hooks:
            with suppress(OSError):
                words = Path("/proc", name, "cmdline").read_bytes()
                if self._sign in words and b"python" in words.partition(b"\0")[0]:
                    self._hooks.add(name)
        return len(self._hooks) > self._skipped


def _processes() -> Iterable[str]:
    return filter(str.isdigit, os.listdir("/proc"))


def init(rig: Rig, agent: str, *, live: bool) -> None:
    """Set up the agent: with live hooks and the MCP server, or with the usual hooks alone."""
    trust = ["--trust-hooks"] if agent == "codex" else []
    done = rig.segue("init", "--agent", agent, "--yes", "--live" if live else "--no-mcp", *trust)
    assert done.code == 0, done


def first_request(rig: Rig, before: int) -> Request | None:
    """What the model was first asked for the work itself; None if it was not."""
    return next((one for one in rig.model.requests[before:] if one.script and not one.is_aside), None)


def _plain(text: str) -> str:
    return " ".join(text.split())
