"""A project in which a supervisor launches agents that live by a script, and time passes only in sleep."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from segue import Segue
from segue.core.runs.steps import (
    Call,
    End,
    Fault as Refused,
    Model,
    Plan,
    PlanItem,
    Planning,
    Prompt,
    Result,
    Say,
    Start,
    Step,
    Usage,
)
from segue.core.supervision.decide import Policy
from segue.effects.processes.launch import LeftoverProcess
from segue.services.supervision import record
from segue.services.supervision.record import Options, Supervision
from segue.services.supervision.supervisor import Notice, RunFinished, Supervisor
from segue.testing.transcripts import placed

CLAUDE = Policy(("claude-code",), runs_max=10)
BOTH = Policy(("claude-code", "codex"), runs_max=10)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_795_000_000.0
        self.on_sleep: Callable[[], object] = lambda: None

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now - 1_794_000_000

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.on_sleep()


class Scripted:
    """What a launched agent does: a transcript of so many calls, words that it prints, and its end."""

    def __init__(
        self, *, calls: int = 1, tokens: int = 1_000, says: str = "It is done.", exit: int | None = 0,
        seconds: float = 1.0, prints: dict[str, Any] | None = None, open_call: bool = False, write: str = "",
        refused: str = "", status: int = 0, silent: bool = False, plan: Sequence[tuple[str, Planning]] = (),
        printed: str = "",
    ) -> None:  # fmt: skip
        self.calls, self.tokens, self.says, self.exit, self.seconds = calls, tokens, says, exit, seconds
        self.prints, self.open_call, self.write = prints, open_call, write
        self.refused, self.status, self.silent, self.plan = refused, status, silent, plan
        self.printed = printed

    def steps(self, at: float, native: str, cwd: str, prompt: str) -> list[Step]:
        steps: list[Step] = [
            Start(at, "start", native=native, cwd=cwd),
            Model(at, "claude-opus-4-7"),
            Prompt(at, prompt),
        ]
        for number in range(self.calls):
            steps += [
                Call(at, f"c{number}", "Bash", "run", text="ls", command="ls"),
                Result(at, f"c{number}", ok=True, text="a"),
            ]
        if self.plan:
            steps.append(Plan(at, tuple(PlanItem(text, state) for text, state in self.plan)))
        if self.tokens:
            steps.append(Usage(at, "u", context=self.tokens, output=10))
        steps += [Say(at, self.says)] if self.says else []
        if self.open_call:
            steps.append(Call(at, "open", "Bash", "run", text="make", command="make"))
        elif self.refused:
            steps.append(Refused(at, self.refused, self.status))
        elif self.exit == 0:
            steps.append(End(at))
        return steps


class Child:
    """A process that lives its script, and ends when it is told to."""

    def __init__(self, world: World, life: Scripted, pid: int, output: Path) -> None:
        self.pid, self.started, self.output = pid, f"start of {pid}", output
        self._world, self._life, self._began = world, life, world.clock.now
        self.was_ended = False

    def exit_code(self) -> int | None:
        if self.was_ended:
            return -2
        over = self._life.exit is not None and self._world.clock.now - self._began >= self._life.seconds
        return self._life.exit if over else None

    def end(self) -> None:
        self.was_ended = True

    def tail(self) -> str:
        objects = "" if self._life.prints is None else json.dumps(self._life.prints) + "\n"
        return objects + self._life.printed

    def printed(self) -> int:
        return len(self.tail())


class World:
    """A project with a session, in which agents are scripted and time is ours."""

    def __init__(self, seg: Segue, home: Path, folder: Path, clock: Clock) -> None:
        self.seg, self.home, self.folder, self.clock = seg, home, folder, clock
        self.lives: list[Scripted] = []
        self.launched: list[tuple[list[str], dict[str, Any]]] = []
        self.children: list[Child] = []
        self.notices: list[Notice] = []
        self.left: list[LeftoverProcess] = []
        self.killed: list[int] = []

    def transcript(self, life: Scripted, native: str, prompt: str = "p") -> None:
        steps = life.steps(self.clock.now, native, str(self.folder), prompt)
        placed("claude-code", steps, home=self.home, native=native, cwd=str(self.folder))

    def spawn(self, words: Sequence[str], **more: Any) -> Child:
        life = self.lives[min(len(self.launched), len(self.lives) - 1)]
        self.launched.append((list(words), more))
        native = next(
            (words[words.index(one) + 1] for one in ("--session-id", "--resume") if one in words), "x"
        )
        if not life.silent:
            self.transcript(life, native, words[-1])
        if life.write:
            (self.folder / life.write).write_text("x\n")
        self.children.append(Child(self, life, 100 + len(self.launched), more["output"]))
        return self.children[-1]

    def supervisor(self, policy: Policy = CLAUDE, **options: Any) -> Supervisor:
        return Supervisor(
            self.seg.workspace, self.seg.session("work"), policy, Options(**options), self.notices.append
        )

    def run(self, *lives: Scripted, policy: Policy = CLAUDE, **options: Any) -> RunFinished:
        self.lives = list(lives)
        return self.supervisor(policy, **options).run()

    @property
    def kept(self) -> Supervision:
        found = record.load(self.seg.session("work"))
        assert found is not None
        return found

    def prompt(self, number: int) -> str:
        return self.launched[number][0][-1]

    def texts(self, kind: str) -> list[str]:
        return [notice.text for notice in self.notices if notice.kind == kind]


def prove(world: World) -> None:
    """The work is done when good.txt is there."""
    world.seg.session("work").features.add(
        "good", "good.txt is there", checks=["test -f good.txt"], covers=["good.txt"]
    )


GOOD = Scripted(write="good.txt")
FALSE = Scripted(says="All done.")
