"""The runs of a chain, their deaths, and what is wrong with what each next run was told.

What was known is judged by what the agents wrote and what the model was asked; what was told by what the
model was really sent. A hop is the way from one run to the next. A run that goes on, adds or comes back from
other work must be told of the task, of what was added to it, of the call that was cut off and of what lies
uncommitted; one that does other work of the rules, of what lies uncommitted, and in a line of the task if
that was cut off in a call.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.killed_agents import evidence
from tests.support.killed_agents.plan import RULE, Command, PlannedChain, PlannedRun
from tests.support.killed_agents.prompts import FirstPrompt
from tests.support.killed_agents.tally import Tally
from tests.support.rig import Rig, Running
from tests.support.scripted import Request

from segue.agents import agent as named
from segue.agents.base import SearchScope
from segue.core.base.values import Value

NO_RESULT = "NO RESULT YET"
BRIEF_BYTES_MAX = 8_192
GIT_SECONDS = 0.05
"""If git answers within this, Segue gets its answer in time as well."""
GIT_IS_SLOW = "git did not answer in time"
TURN_SECONDS = {"claude-code": 0.3, "codex": 0.3, "opencode": 0.8, "gemini-cli": 0.5, "cline": 0.8}
"""About how long an agent takes from one request to the next."""
START_SECONDS = 2.0
"""About how long it takes until it first asks the model; each run that asks tells it better."""
HOOK_SECONDS = 0.2
WAIT_SECONDS = 120.0
HANGS_AT_RESUME = {"cline"}
"""Agents that now and then ask on a loaded machine whether to go on when they are resumed, and wait for ever,
without Segue as well."""
CANNOT_RESUME = "Error resuming session"
"""What Gemini CLI says of a conversation to which the model has not answered yet; it deletes such a one."""
NOTES_CALLS = {"gemini-cli"}
"""Agents whose live hooks tell Segue of a call before it begins."""


class KilledAgent:
    """An agent in a home in which chains follow one another, each in a repository of its own."""

    def __init__(self, rig: Rig, agent: str, *, live: bool) -> None:
        self.rig, self.agent, self.live = rig, agent, live
        self.start_seconds = START_SECONDS
        self.names: list[str] = []
        """Of the chains that are over."""

    def init(self, folder: Path) -> None:
        """Set up the agent for a project: with live hooks and the MCP server, or with the usual hooks
        alone."""
        self.rig.move_to(folder)
        trust = ["--trust-hooks"] if self.agent == "codex" else []
        how = "--live" if self.live else "--no-mcp"
        done = self.rig.segue("init", "--agent", self.agent, "--yes", how, *trust)
        assert done.code == 0, done

    def conversation(self) -> str:
        """The id of the newest conversation in the project."""
        where = SearchScope(self.rig.environment(), self.rig.home, (self.rig.work,))
        return next((found.native for found in named(self.agent).find(where)), "")


class Known(Value):
    """What can be known when a run begins, and so must be told."""

    is_task_known: bool
    pending: Command | None
    """The call that was cut off."""
    answered: Sequence[Command]
    """Calls whose results the agent had written."""
    additions: Sequence[FirstPrompt]
    uncommitted: Sequence[str]
    """Files of which git says so in time."""


class ChainOfRuns:
    """A chain, and what was wrong with it."""

    def __init__(self, killed: KilledAgent, plan: PlannedChain) -> None:
        self.killed, self.rig, self.agent, self.plan = killed, killed.rig, killed.agent, plan
        self.tally = Tally()
        self.story: list[str] = []
        self.is_task_known = False
        self.has_asked = False
        """Whether the run before has asked the model."""
        self.open: Command | None = None
        """The call that the next run must be told of."""
        self.answered: list[Command] = []
        """Calls whose results the agent had written when the run before had ended."""
        self.additions: list[FirstPrompt] = []
        self.other_work: FirstPrompt | None = None
        """What was asked for besides the task."""
        self.is_away = False
        """Whether the last run that asked the model did other work."""

    def go(self) -> Tally:
        """Run all of it."""
        self.killed.init(self.rig.folder / f"work-{self.plan.name}")
        for number, run in enumerate(self.plan.runs):
            self._run(number, run)
        self._list()
        self.rig.end_all()
        self.killed.names.append(self.plan.name)
        return self.tally

    # -- a run ---------------------------------------------------------------------------------

    def _run(self, number: int, run: PlannedRun) -> None:
        model, before = self.rig.model, len(self.rig.model.requests)
        model.play(run.script)
        prompt, known = self._prompt(run), self._known()
        may_resume = run.resumes and self.has_asked and prompt.kind not in ("other work", "comes back")
        resume = self.killed.conversation() if may_resume else ""
        began = time.time()
        running = self.rig.start(self.agent, prompt.text, resume=resume)
        is_killed = run.moment != "never" and Killer(self.killed, running, before).kill(run)
        ended = running.wait(WAIT_SECONDS)
        asked = first_request(self.rig, before)
        if resume and not asked and CANNOT_RESUME in ended.err:
            self.story.append(f"run {number}: {self.agent} cannot resume {resume}, and has asked nothing")
            return
        if resume and not asked and ended.code < 0 and self.agent in HANGS_AT_RESUME:
            is_killed = is_killed or not list(hooks_running(self.rig.home, _processes()))
        if is_killed and not run.orphans:
            self.rig.end_all()
        self.tally.kills += is_killed
        if asked is not None:
            self.killed.start_seconds = asked.at - began
        self.has_asked = asked is not None
        self._learn(run, prompt, asked, is_killed, is_resumed=bool(resume))
        self.story.append(
            f"run {number} ({prompt.kind}: {prompt.text!r}{' in ' if resume else ''}{resume}), "
            f"moment {run.moment} {run.turn} {run.delay:.2f}: "
            f"{'killed' if is_killed else f'ended with {ended.code}'} after {ended.seconds:.1f} s, "
            f"{'asked' if asked else 'asked nothing'}; then the task is "
            f"{'known' if self.is_task_known else 'not known'}, "
            f"open is {self.open.text if self.open else 'nothing'}"
        )
        if not is_killed and ended.code != 0:
            self._wrong(number, f"the agent ended with {ended.code}", ended.err[-2000:])
        if number and asked is not None:
            self._judge(number, prompt, asked, known, is_resumed=bool(resume))

    def _prompt(self, run: PlannedRun) -> FirstPrompt:
        if not self.is_task_known:
            return FirstPrompt("task", f"{self.plan.task}{self.plan.more}")
        return self.plan.back if self.is_away else run.prompt

    def _known(self) -> Known:
        additions, uncommitted = tuple(self.additions), self._uncommitted()
        return Known(self.is_task_known, self.open, self.answered, additions, uncommitted)

    def _uncommitted(self) -> list[str]:
        began = time.monotonic()
        done = subprocess.run(
            ["git", "status", "--porcelain"], cwd=self.rig.work, env=self.rig.environment(), check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        is_quick = time.monotonic() - began < GIT_SECONDS
        files = [path for run in self.plan.runs for path in run.files]
        return [path for path in files if is_quick and path in done.stdout]

    def _learn(
        self, run: PlannedRun, prompt: FirstPrompt, asked: Request | None, is_killed: bool,
        *, is_resumed: bool,
    ) -> None:  # fmt: skip
        """What can be known now that this run has ended. Prompts go to a hook before the model is asked, and
        a call that was seen by one takes the place of the call that a resumed run was killed in before."""
        text = evidence.written(self.agent, self.rig.home)
        self.is_task_known = self.is_task_known or asked is not None or self.plan.task in text
        is_heard = asked is not None or (prompt.sign and prompt.sign in text)
        if prompt.kind == "adds" and is_heard:
            self.additions.append(prompt)
        if asked is not None:
            self.is_away = prompt.kind == "other work"
        if prompt.kind == "other work":
            self.other_work = prompt
            return
        without = evidence.unanswered(run.commands, text)
        did = any(one.sign in text for one in run.commands) or any(path in text for path in run.files)
        if self.killed.live and self.agent in NOTES_CALLS:
            without += [one for one in run.commands if not one.result and self._started(one)]
            did = did or (is_resumed and asked is not None)
        if not is_killed:
            self.open = None
        elif without or did:
            self.open = without[-1] if without else None
        self.answered = evidence.answered([one for each in self.plan.runs for one in each.commands], text)

    def _started(self, command: Command) -> bool:
        return (self.rig.work / command.sign).exists()

    # -- what the next run was told --------------------------------------------------------------

    def _judge(
        self, number: int, prompt: FirstPrompt, asked: Request, known: Known, *, is_resumed: bool
    ) -> None:
        briefs = [one.text for one in self.rig.model.sent("[segue]", after=asked.number - 1)
                  if one.request == asked.number]  # fmt: skip
        text = "\n".join(whole[whole.index("[segue]") :].partition("[/segue]")[0] for whole in briefs)
        self.tally.hops += 1
        if not known.is_task_known:
            self.tally.unknown += 1
            if text and _plain(self.plan.task) not in _plain(text):  # a hook may have got it unseen
                self._wrong(number, "a brief of something else, though nothing was known", text)
            return
        if prompt.kind == "other work":
            missed = self._missed_for_other_work(text, known)
        elif is_resumed:  # its history is there, and its agent knows what was cut off
            missed = self._missed_words(asked.text(), known)
        else:
            missed = [*self._missed_words(text, known), *self._missed_work(text, known)]
        if missed:
            self._wrong(number, f"not told: {', '.join(missed)}", text)
        elif not is_resumed and (fault := self._false(text, len(briefs), known.answered)):
            self._wrong(number, fault, text)
        if prompt.kind == "other work":
            self.tally.others += not missed
            return
        self.tally.with_task += "the task" not in missed
        self.tally.with_call += known.pending is not None and not is_resumed and not missed
        self.tally.with_additions += bool(known.additions) and not missed
        self.tally.back += prompt.kind == "comes back" and not missed

    def _missed_words(self, text: str, known: Known) -> list[str]:
        missed = [] if _plain(self.plan.task) in _plain(text) else ["the task"]
        return missed + [f"the addition {one.text!r}" for one in known.additions if one.sign not in text]

    def _missed_work(self, text: str, known: Known) -> list[str]:
        missed, pending = [], known.pending
        if pending is not None:
            line = next((line for line in text.splitlines() if pending.sign in line), "")
            missed += [] if NO_RESULT in line else [f"the call that was cut off: {pending.text}"]
        return missed + self._missed_files(text, known)

    def _missed_files(self, text: str, known: Known) -> list[str]:
        """Nothing if git has become slow meanwhile: then a brief says so, or says nothing of the tree."""
        tree = text.partition("TREE:")[2]
        is_named = not known.uncommitted or any(path in tree for path in known.uncommitted)
        if is_named or GIT_IS_SLOW in tree or not self._uncommitted():
            return []
        return [f"what lies uncommitted: {known.uncommitted}"]

    def _missed_for_other_work(self, text: str, known: Known) -> list[str]:
        missed = [] if RULE not in self.plan.more or RULE in text else ["the rule"]
        before = next((line for line in text.splitlines() if line.startswith("BEFORE:")), "")
        is_cut_off = known.pending is not None  # else its turn may have been over
        missed += [] if self.plan.name in before or not is_cut_off else ["a line of the task"]
        missed += ["nothing but a line of the task"] if "TRAIL" in text else []
        return missed + self._missed_files(text, known)

    def _false(self, text: str, briefs: int, answered: Sequence[Command]) -> str:
        """What a brief says and should not; empty if there is nothing."""
        if briefs != 1 or text.count("[segue]") != 1:
            return "the brief stands there more than once"
        if len(text.encode()) > BRIEF_BYTES_MAX:
            return f"a brief of {len(text.encode())} bytes"
        if strange := [name for name in self.killed.names if name in text]:
            return f"a brief of another chain: {strange}"
        for line in text.splitlines():
            if NO_RESULT in line and any(one.sign in line for one in answered):
                return f"a call that was answered is said to be without a result: {line}"
        return ""

    def _list(self) -> None:
        """One chain is one session, and other work is another."""
        done = self.rig.segue("list", "--json")
        cards = json.loads(done.out) if done.code == 0 else []
        goals = [card["goal"] for card in cards]
        if self.other_work is not None:
            goals = [goal for goal in goals if self.other_work.sign not in goal]
        if len(goals) != 1 or _plain(self.plan.task) not in _plain(goals[0]):
            self._wrong(len(self.plan.runs), f"`segue list` has {goals}", self.rig.segue("list").out)

    def _wrong(self, number: int, what: str, text: str) -> None:
        log = self.rig.home / ".local" / "share" / "segue" / "segue.log"
        noted = log.read_text(errors="replace")[-2000:] if log.exists() else ""
        half = "live" if self.killed.live else "plain"
        self.tally.wrong.append(
            f"{self.agent} ({half}), seed {self.plan.seed}, at run {number}: {what}\n"
            + "".join(f"    {line}\n" for line in self.story)
            + f"--- told:\n{text}\n--- log:\n{noted}---\n"
        )


class Killer:
    """Kills a run at its moment."""

    def __init__(self, killed: KilledAgent, running: Running, before: int) -> None:
        self.killed, self.rig, self.running, self.before = killed, killed.rig, running, before

    def kill(self, run: PlannedRun) -> bool:
        """Wait for the moment, and kill; False if the run had ended before."""
        seconds = TURN_SECONDS[self.killed.agent]
        if run.moment == "start":
            seconds = self.killed.start_seconds
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
        self._home, self._skipped, self._before, self._hooks = home, skipped, set(_processes()), set[str]()

    def seen(self) -> bool:
        """Whether a hook runs, after as many others as are to be skipped."""
        new = set(_processes()) - self._before - self._hooks
        self._hooks.update(hooks_running(self._home, new))
        return len(self._hooks) > self._skipped


def hooks_running(home: Path, processes: Iterable[str]) -> Iterator[str]:
    """Those of some processes that are Segue's hooks in a home."""
    sign = os.fsencode(home / ".local" / "share" / "segue" / "hook")
    for name in processes:
        with suppress(OSError):
            words = Path("/proc", name, "cmdline").read_bytes()
            if sign in words and b"python" in words.partition(b"\0")[0]:
                yield name


def _processes() -> Iterable[str]:
    return filter(str.isdigit, os.listdir("/proc"))


def first_request(rig: Rig, before: int) -> Request | None:
    """What the model was first asked for the work itself; None if it was not."""
    return next((one for one in rig.model.requests[before:] if one.script and not one.is_aside), None)


def _plain(text: str) -> str:
    return " ".join(text.split())
