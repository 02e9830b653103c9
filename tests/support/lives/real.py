"""Plays runs through a real agent: its own program with the hooks that ``segue init`` installs, in a rig with
a scripted model.

A prompt is a process, and later prompts of a run resume the conversation of the first. The model says and
does what the agent of the life does. Programs that a life runs (pytest, make) are stand-ins, which print what
the life says; git is the real one. Deaths are kills: in a command that does not end, or as soon as the model
is asked.

What the rig cannot make an agent do is left out of its lives (``ABILITIES``): nobody types while the agent
works, clears its window, or answers its question tool, and no sub-agent reports. Only Claude Code, by
``/compact``, and Codex, by a window that is said to be full, are compacted, each between two turns. A run of
Cline has one prompt, because a task that it resumes now and then waits for ever, and one of OpenCode, because
it takes so long to start.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tests.support.rig import Finished, Rig, Running
from tests.support.scripted import Edit, Raw, Read, Request, Run, Say, Script, Stall, Step, Todos, Used, Write

from . import model as m
from .player import Told

_REAL = m.Abilities(
    runs_max=6, moves_max=4, prompts_max=2, queues=False, asks=False, reviews=False, clears=False,
    compacts="never",
)  # fmt: skip
ABILITIES = {
    "claude-code": _REAL._replace(agent="claude-code", compacts="between turns"),
    "codex": _REAL._replace(agent="codex", compacts="between turns"),
    "opencode": _REAL._replace(agent="opencode", runs_max=5, prompts_max=1),
    "gemini-cli": _REAL._replace(agent="gemini-cli"),
    "cline": _REAL._replace(agent="cline", runs_max=5, prompts_max=1),
}
WINDOW_TOKENS, FULL_TOKENS = 200_000, 230_000
WAIT_SECONDS = 240.0
WRITES_SECONDS = 1.5
"""Agents write a call to their transcript a moment after they have begun it."""
STATES = {"pending": "pending", "active": "in_progress", "done": "completed"}
_BRIEF = re.compile(r"\[segue\].*?\[/segue\]", re.DOTALL)
_TAKEN_BACK = re.compile(r"git checkout -- (\S+)")
_STAND_IN = """#!/bin/sh
cd "{folder}/$(printf %s "${{0##*/}}${{*:+ $*}}" | cksum | tr " " -)" || exit 127
answer=$(ls | head -n 1)
if [ -z "$answer" ]; then
    touch started
    exec sleep 97
fi
mv "$answer" ../taken
cat ../taken
exit "${{answer##*-}}"
"""


def played(life: m.Life, rig: Rig) -> list[Told]:
    """What each run of a life was told, in the order of ``model.moments``."""
    player = RealPlayer(life, rig)
    return [
        Told(number, text)
        for number, run in enumerate(life.runs)
        for text in player.play(number, run)[0 if number else 1 :]
    ]


class RealPlayer:
    """A project in a rig, and the runs of a life in it."""

    def __init__(self, life: m.Life, rig: Rig) -> None:
        self.rig, self.seed, self.agent = rig, life.seed, life.runs[0].agent
        self.programs = Programs(rig)
        commands = [act.command for run in life.runs for act in run.acts if isinstance(act, m.Runs)]
        self.programs.install(commands)
        rig.move_to(rig.folder / f"work-{life.seed}")
        _commit(rig, (found[1] for command in commands for found in _TAKEN_BACK.finditer(command)))
        if self.agent == "codex":
            _limit_window(rig)
        trust = ["--trust-hooks"] if self.agent == "codex" else []
        done = rig.segue("init", "--agent", self.agent, "--yes", "--no-mcp", *trust)
        assert done.code == 0, done

    def play(self, number: int, run: m.LifeRun) -> list[str]:
        """What a run was told at its start, and then after each compaction."""
        before = len(self.rig.model.requests)
        told, native, tasks = [""], "", Tasks()
        for at, turn in enumerate(turns_of(run.acts)):
            if turn.is_compacted:
                self._compact(turn.summary, native)
            first = len(self.rig.model.requests)
            native = self._turn(f"life-{self.seed}-{number}-{at}", turn, native, tasks)
            asked = next(one for one in self.rig.model.requests[first:] if one.script and not one.is_aside)
            text = _told(self.rig.model.requests[before:], asked)
            if at == 0:
                told[0] = text
            elif turn.is_compacted:
                told.append(text)
        return told

    def _turn(self, name: str, turn: Turn, native: str, tasks: Tasks) -> str:
        """Let the agent take a turn; its conversation."""
        steps = list(self._steps(turn, tasks))
        self.rig.model.play(Script(name, steps))
        running = self.rig.start(self.agent, turn.prompt, resume=native)
        if turn.dies:
            self._kill(running, name, turn)
            return native
        ended = running.wait(WAIT_SECONDS)
        asked = self.rig.model.turns(name)
        assert ended.code == 0, (turn, ended)
        assert asked and asked[-1].turn == len(steps) - 1, (turn, self.rig.model.told(), ended)
        return native or ended.native

    def _kill(self, running: Running, name: str, turn: Turn) -> None:
        command = turn.open_command
        if command:
            happened: Callable[[], bool] = self.programs.started(command).exists
        else:
            happened = lambda: bool(self.rig.model.turns(name))  # noqa: E731
        until = time.monotonic() + WAIT_SECONDS
        while not happened():
            assert running.process.poll() is None and time.monotonic() < until, (turn, running.wait(1))
            time.sleep(0.02)
        time.sleep(WRITES_SECONDS if command else 0)
        running.kill_group()
        self.rig.end_all()

    def _compact(self, summary: str, native: str) -> None:
        """Codex compacts by itself when it is resumed, as its window is full."""
        self.rig.model.summary = summary
        if self.agent == "claude-code":
            done: Finished = self.rig.run(self.agent, "/compact", resume=native, seconds=WAIT_SECONDS)
            assert done.code == 0, done

    # What the model says

    def _steps(self, turn: Turn, tasks: Tasks) -> Iterator[Sequence[Step]]:
        """The turns of the model in a turn of the agent."""
        said: list[str] = []
        for act in turn.acts:
            if isinstance(act, m.AgentSays):
                said.append(act.text)
                continue
            if isinstance(act, m.Stops):
                words = Say("\n\n".join((*said, act.words)))
                yield [words, Used(FULL_TOKENS)] if turn.is_followed_by_compaction else [words]
                return
            first, *more = self._calls(act, tasks)
            yield [Say("\n\n".join(said)), *first] if said else first
            yield from more
            said = []
        yield [Stall()]

    def _calls(self, act: m.Act, tasks: Tasks) -> Sequence[Sequence[Step]]:
        """Calls of tools, those that go out together in one list."""
        match act:
            case m.Lists(items) if self.agent == "claude-code":
                return tasks.calls(items)
            case m.Lists(items):
                return [[Todos(tuple((text, STATES[state]) for text, state in items))]]
            case m.Edits(path, new):
                file = self.rig.work / path
                if not file.exists() and path not in tasks.written:
                    tasks.written[path] = new
                    return [[Write(path, f"{new}\n")]]
                old = tasks.written.get(path) or file.read_text().strip()
                tasks.written[path] = new
                return [[Read(path)], [Edit(path, old, new)]]
            case m.Runs(command, output, exit):
                for found in _TAKEN_BACK.finditer(command):
                    tasks.written.pop(found[1], None)
                if not command.startswith("git "):
                    self.programs.answer(command, output, exit)
                return [[Run(command, 100)]]
        raise AssertionError(act)


class Turn:
    """What the user says, and what the agent does then."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.acts: list[m.Act] = []
        self.dies = False
        self.is_compacted = False
        """Whether the window is compacted before it."""
        self.summary = ""
        self.is_followed_by_compaction = False

    def __repr__(self) -> str:
        return f"Turn({self.prompt!r}, {self.acts})"

    @property
    def open_command(self) -> str:
        """The command in which the agent is killed; empty if it is killed before it does anything."""
        last = self.acts[-1] if self.acts else None
        return last.command if isinstance(last, m.Runs) and last.exit is None else ""


def turns_of(acts: Iterable[m.Act]) -> list[Turn]:
    """The turns of a run."""
    turns: list[Turn] = []
    compaction: m.Compacts | None = None
    for act in acts:
        match act:
            case m.UserSays(text):
                turns.append(Turn(text))
                if compaction is not None:
                    turns[-1].is_compacted, turns[-1].summary = True, compaction.summary
                compaction = None
            case m.Compacts():
                compaction, turns[-1].is_followed_by_compaction = act, True
            case m.Dies():
                turns[-1].dies = True
            case m.Ends():
                pass
            case _:
                turns[-1].acts.append(act)
    return turns


class Tasks:
    """What a conversation has: the files that it wrote, and the list of Claude Code, whose items have numbers
    and are changed one by one."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._states: dict[str, str] = {}

    def calls(self, items: Sequence[tuple[str, str]]) -> list[list[Step]]:
        """The calls that make the list what it should be."""
        created: list[Step] = []
        for text, _ in items:
            if text not in self._numbers:
                self._numbers[text] = str(len(self._numbers) + 1)
                self._states[text] = "pending"
                arguments = {"subject": text, "description": text, "activeForm": f"Doing: {text}"}
                created.append(Raw("TaskCreate", arguments))
        wanted = dict.fromkeys(self._states, "deleted") | {text: STATES[state] for text, state in items}
        changed: list[Step] = [
            Raw("TaskUpdate", {"taskId": self._numbers[text], "status": state})
            for text, state in wanted.items()
            if self._states.get(text) != state
        ]
        self._states |= wanted
        return [calls for calls in (created, changed) if calls] or [[Raw("TaskList")]]


class Programs:
    """Programs of the rig that print what a life says, and those that do not end."""

    def __init__(self, rig: Rig) -> None:
        self.folder, self.bin, self._count = rig.folder / "answers", rig.folder / "programs", 0
        for one in (self.folder, self.bin):
            one.mkdir(exist_ok=True)
        if self.bin not in rig.bins:
            rig.bins.insert(0, self.bin)
            (rig.home / ".profile").write_text(f'PATH="{self.bin}:$PATH"\n')  # shells at a login forget it

    def install(self, commands: Iterable[str]) -> None:
        for name in {shlex.split(command)[0] for command in commands} - {"git"}:
            (self.bin / name).write_text(_STAND_IN.format(folder=self.folder))
            (self.bin / name).chmod(0o755)

    def answer(self, command: str, output: str, exit: int | None) -> None:
        """Let a command print this when it is run the next time; without an exit code it does not end."""
        folder = self._of(command)
        folder.mkdir(exist_ok=True)
        self.started(command).unlink(missing_ok=True)
        if exit is not None:
            self._count += 1
            (folder / f"{self._count:04d}-{exit}").write_text(f"{output}\n")

    def started(self, command: str) -> Path:
        """The file that is there when a command has begun that does not end."""
        return self._of(command) / "started"

    def _of(self, command: str) -> Path:
        done = subprocess.run(["cksum"], input=command.encode(), capture_output=True, check=True)
        return self.folder / done.stdout.decode().strip().replace(" ", "-")


def _commit(rig: Rig, paths: Iterable[str]) -> None:
    """Files that an agent will change and take back are in the repository."""
    for path in paths:
        file = rig.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("TRIED = False\n")
    for words in ("add .", "commit -q --allow-empty -m parts"):
        subprocess.run(["git", *words.split()], cwd=rig.work, env=rig.environment(), check=True)


def _limit_window(rig: Rig) -> None:
    config = rig.home / ".codex" / "config.toml"
    line = f"model_auto_compact_token_limit = {WINDOW_TOKENS}\n"
    if line not in config.read_text():
        config.write_text(line + config.read_text())


def _told(requests: Sequence[Request], asked: Request) -> str:
    """What a request has of Segue that those of the work before it had not."""
    earlier = [one for one in requests if one.number < asked.number and not one.is_aside]
    before = {text for one in earlier for text in _briefs(one.body)}
    return "\n".join(text for text in dict.fromkeys(_briefs(asked.body)) if text not in before)


def _briefs(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from _BRIEF.findall(value)
        return
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _briefs(one)
