"""Runs for tests, told step by step: prompts, edits, commands with their outcome."""

from __future__ import annotations

import os
import time
from pathlib import Path

from segue.core.runs.steps import Call, Change, End, Model, Prompt, Result, Say, Start, Step
from segue.testing.transcripts import placed


class ToldRun:
    """Steps of a run, in the order of the calls; each method gives the run, so that they can be chained."""

    def __init__(self, cwd: str = "/src/shop", *, native: str = "run-1", at: float | None = None) -> None:
        self.native, self.cwd = native, cwd
        self.at = time.time() - 3_600 if at is None else at
        self.steps: list[Step] = [Start(self.at, "start", native=native, cwd=cwd), Model(self.at, "model-1")]
        self._calls = 0

    def asked(self, text: str) -> ToldRun:
        self.steps.append(Prompt(self._tick(), text))
        return self

    def edited(self, path: str, old: str = "a = 1", new: str = "a = 2") -> ToldRun:
        changes = (Change(f"{self.cwd}/{path}", "edit", old, new),)
        text = f"{self.cwd}/{path}\n{old}\n{new}"
        call = Call(
            self._tick(), self._id(), "Edit", "edit", text, paths=(f"{self.cwd}/{path}",), changes=changes
        )
        self.steps += [call, Result(self._tick(), call.id, ok=True, text="edited")]
        return self

    def ran(self, command: str, failure: str = "", *, seconds: float = 1.0, output: str = "") -> ToldRun:
        call = Call(self._tick(), self._id(), "Bash", "run", command, command)
        text = failure or output or "3 passed in 0.10s"
        self.at += seconds - 1.0
        self.steps += [call, Result(self._tick(), call.id, not failure, 1 if failure else 0, text)]
        return self

    def over(self) -> ToldRun:
        self.steps += [Say(self._tick(), "That is done."), End(self._tick())]
        return self

    def placed(self, home: Path, agent: str = "codex") -> Path:
        """Write it where the agent would."""
        path = placed(agent, self.steps, home=home, native=self.native, cwd=self.cwd)
        os.utime(path, (self.at, self.at))
        return path

    def _tick(self) -> float:
        self.at += 1.0
        return self.at

    def _id(self) -> str:
        self._calls += 1
        return f"c{self._calls}"
