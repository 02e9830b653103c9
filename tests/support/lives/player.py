"""Plays runs as agents would, in this process: transcripts where agents keep them, and their hooks.

Hooks get payloads in each agent's own form, and only those that are installed are called. Time is made up:
it passes between acts and between runs, for Segue as well, and is ahead of the machine's, so that files which
Segue writes are never newer than it believes. An agent without hooks calls none.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self
from unittest.mock import patch

from msgspec.structs import replace
from tests.support.chains import mode_of
from tests.support.runs import environment, opened

from segue import Segue
from segue.agents.install import installer
from segue.core.runs import steps as s
from segue.effects.files.spool import SpoolRecord
from segue.services.hooks.handler import answered
from segue.services.hooks.spool_drain import spool_of
from segue.services.workspace.data_folder import DataFolder
from segue.surfaces.hook import installed_file
from segue.testing.transcripts import placed

from . import model as m
from .payloads import HOOKS, Sender

AHEAD_SECONDS = 3_600.0
STEP_SECONDS = 7.0
FILES = {
    "src/main.py": "def main():\n    return 0\n", "tests/test_main.py": "def test_main():\n    pass\n",
    "README.md": "# Shop\n", "legacy/ledger.py": "LEDGER = 1\n",
}  # fmt: skip


class Told(NamedTuple):
    """What a run was told when its window was empty."""

    run: int
    text: str


def played(life: m.Life, folder: Path) -> list[Told]:
    """What each run of a life was told, in the order of ``model.moments``. Nothing may be in the log."""
    with Player(folder, seed=life.seed) as player:
        told = [
            Told(number, text)
            for number, run in enumerate(life.runs)
            for text in player.play(run)[0 if number else 1 :]
        ]
        assert player.log() == "", player.log()
    return told


class Clock:
    """The time that everybody sees while a life is played."""

    def __init__(self) -> None:
        self.now = time.time() + AHEAD_SECONDS

    @contextmanager
    def in_force(self) -> Iterator[None]:
        with patch("time.time", lambda: self.now), patch("time.time_ns", lambda: int(self.now * 1e9)):
            yield


class Player:
    """A home, a project with a git repository, and the runs in it."""

    def __init__(self, folder: Path, *, seed: int = 0) -> None:
        self.home, self.project = folder / "home", folder / "shop"
        self.home.mkdir(parents=True)
        shutil.copytree(_prepared_repository(), self.project)
        self.data = self.home / "segue"
        DataFolder(self.data).make()
        self.env = environment(self.home)
        self.clock = Clock()
        self.rng = random.Random(seed)
        self.actors: list[Actor] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.clock.in_force())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def play(self, run: m.LifeRun) -> list[str]:
        """Play a run. What it was told at its start comes first, then what after each compaction; without
        hooks that is nothing at all."""
        self.clock.now += run.after_seconds
        actor = Actor(self, run)
        self.actors.append(actor)
        actor.start(run.source)
        for act in run.acts:
            actor.act(act)
        return actor.told if run.hooks else []

    def answered(self, agent: str, event: str, payload: dict[str, Any]) -> bytes:
        """What the installed file does for an event, in this process."""
        if not is_installed(agent, event):
            return b""
        home, mode, data = str(self.data), mode_of(agent, event), json.dumps(payload).encode()
        if mode == "record" or (mode == "look" and not installed_file.due(home, data)):
            record = SpoolRecord(agent, event, data, os.urandom(8).hex(), time.time_ns(), os.getppid())
            spool_of(self.data).append(record)
            return b""
        return answered(home, agent, event, data, self.env, seconds=60.0)

    def open(self) -> Segue:
        return opened(self.home, self.project)

    def log(self) -> str:
        path = self.data / "segue.log"
        return path.read_text() if path.exists() else ""


def is_installed(agent: str, event: str) -> bool:
    """Whether ``segue init`` installs a hook for an event. OpenCode's plugin has all of its own."""
    if agent == "opencode":
        return True
    if agent == "cline":
        from segue.agents.cline.install import EVENTS

        return event in EVENTS
    return event in installer(agent).events


@cache
def _prepared_repository() -> Path:
    """A repository with one commit, made once."""
    folder = Path(tempfile.mkdtemp(prefix="segue-lives-")) / "shop"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgSign=false")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-q", "-m", "Start")):
        subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
    return folder


class Actor:
    """An agent that plays one run."""

    def __init__(self, player: Player, run: m.LifeRun) -> None:
        self.player, self.run, self.agent = player, run, run.agent
        self.hooks = HOOKS[run.agent]
        bits = uuid.UUID(int=player.rng.getrandbits(128), version=4)
        stamped = str(int(player.clock.now * 1000))
        self.native = {"opencode": f"ses_{bits.hex[:24]}", "cline": stamped, "roo": stamped}.get(
            run.agent, str(bits)
        )
        self.cwd = str(player.project)
        self.steps: list[s.Step] = []
        self.path: Path | None = None
        self.told: list[str] = []
        self._is_written = True
        self._is_asked = False
        """Whether the user has typed something, so that there is a transcript."""
        self._keys: dict[str, str] = {}
        self._states: dict[str, str] = {}

    def act(self, act: m.Act) -> None:
        match act:
            case m.UserSays(text, how):
                self._prompt(text, how)
            case m.AgentSays(text):
                self._add(s.Say(0, text))
            case m.Lists(items):
                self._list(items)
            case m.Edits(path, new):
                self._edit(path, new)
            case m.Runs(command, output, exit):
                self._call(s.Call(0, "", "Bash", "run", command, command), output, exit)
            case m.Asks(question, answer):
                self._call(s.Call(0, "", "Ask", "ask", question, note=question), answer)
            case m.Reports(task, text):
                self._report(task, text)
            case m.Compacts(summary):
                self._compact(summary)
            case m.Stops(words):
                self._add(s.Say(0, words), s.End(0, "turn", words))
                self._hook(self.hooks.stop, words)
            case m.Ends(cleared):
                self._hook(self.hooks.end, "clear" if cleared else "exit")
            case m.Dies():
                self._write()

    # The window is empty

    def start(self, source: str) -> None:
        """Newer versions of Cline tell a hook nothing before the first prompt."""
        is_silent = self.agent == "cline" and self.player.rng.random() < 0.5
        text = "" if is_silent else self._hook(self.hooks.start, source)
        self.told.append(text)
        if source != "compact":
            self._add(s.Start(0, "start", self.native, self.cwd, "main"), s.Model(0, "model-1"))
        self._give(text)

    def _give(self, text: str) -> None:
        if text and self.hooks.writes_brief:
            self._add(s.Given(0, text))

    def _prompt(self, text: str, how: s.Typed) -> None:
        """What hooks tell with the first prompt counts as told at the start."""
        if how:
            self._add(s.Prompt(0, text, how))
        context = self._hook(self.hooks.prompt, text)
        if not self._is_asked:
            self._is_asked = True
            self.told[0] = "\n".join(filter(None, (self.told[0], context)))
            self._give(context)
        if not how:
            self._add(s.Prompt(0, text))

    def _compact(self, summary: str) -> None:
        self._hook(self.hooks.compact, "auto")
        if self.hooks.summary:
            self._hook(self.hooks.summary, summary)
            self.start("compact")
            self._add(s.Compact(0, summary, "auto", 150_000))
            return
        self._add(s.Compact(0, summary, "auto", 150_000))
        if m.is_told_after_compaction(self.run):
            self.start("compact")

    # Work

    def _add(self, *steps: s.Step) -> None:
        """Note steps, each some seconds after the one before; they are written when somebody looks."""
        for step in steps:
            self.player.clock.now += STEP_SECONDS
            self.steps.append(replace(step, at=self.player.clock.now))
        self._is_written = False

    def _call(self, call: s.Call, output: str, exit: int | None = 0) -> str:
        id = f"c{len(self.steps)}"
        self._add(replace(call, id=id))
        if exit is not None:
            code = exit if call.act == "run" else None
            self._add(s.Result(0, id, exit == 0, code, output))
        return id

    def _edit(self, path: str, new: str) -> None:
        file = self.player.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        how: s.Act = "edit" if file.exists() else "create"
        old = file.read_text().strip() if file.exists() else ""
        file.write_text(f"{new}\n")
        change = s.Change(str(file), how, old, new)  # type: ignore[arg-type]
        text = f"{file}\n{old}\n{new}" if old else f"{file}\n{new}"
        call = s.Call(0, "", "Edit" if old else "Write", how, text, paths=(str(file),), changes=(change,))
        self._call(call, "done")

    def _report(self, task: str, text: str) -> None:
        id = f"c{len(self.steps)}"
        self._add(
            s.Call(0, id, "Agent", "agent", task, note=task), s.Report(0, text, "reviewer", id),
            s.Result(0, id, True, None, text),
        )  # fmt: skip

    def _list(self, items: tuple[tuple[str, str], ...]) -> None:
        if not self.run.keyed:
            self._add(s.Plan(0, tuple(s.PlanItem(*item) for item in items)))  # type: ignore[arg-type]
            return
        states = dict(items)
        changed = [
            s.PlanItem("" if text in self._keys else text, state, self._key(text))  # type: ignore[arg-type]
            for text, state in items
            if self._states.get(text) != state
        ]
        dropped = [s.PlanItem("", "dropped", self._keys[text]) for text in self._states if text not in states]
        self._states = states
        if changed or dropped:
            self._add(s.Plan(0, (*changed, *dropped), whole=False))

    def _key(self, text: str) -> str:
        return self._keys.setdefault(text, str(len(self._keys) + 1))

    # Files and hooks

    def _write(self) -> None:
        if self._is_written or not self.run.writes:
            return
        home, now = self.player.home, self.player.clock.now
        self.path = placed(self.agent, self.steps, home=home, native=self.native, cwd=self.cwd)
        if self.path.suffix != ".db":
            for file in self.path.parent.iterdir() if self.agent in ("cline", "roo") else (self.path,):
                os.utime(file, (now, now))
        self._is_written = True

    def _transcript(self) -> str:
        """Where the transcript is or will be."""
        if self.path is None:
            start = [s.Start(self.player.clock.now, "start", self.native, self.cwd)]
            path = placed(self.agent, start, home=self.player.home, native=self.native, cwd=self.cwd)
            path.unlink()
            self.path = path
        return str(self.path)

    def _hook(self, event: str, words: str) -> str:
        """The context in the reply to an event; nothing without hooks, or if the agent has no such event."""
        if self._is_asked:
            self._write()
        if not self.run.hooks or not event:
            return ""
        transcript = self._transcript() if self.hooks.knows_transcript else ""
        brief = self.told[0] if self.told and not self._is_asked else ""
        sender = Sender(self.native, self.cwd, transcript, self.player.clock.now, brief)
        reply = self.player.answered(self.agent, event, self.hooks.payload(sender, event, words))
        if not reply.startswith(b"{"):
            return reply.decode()
        value = json.loads(reply)
        for key in self.hooks.context:
            value = value.get(key, {}) if isinstance(value, dict) else value
        return value if isinstance(value, str) else ""
