"""Runs for tests: steps of a small piece of work, and the transcripts that agents write of it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from segue import Segue
from segue.core.runs.steps import Call, End, Model, Plan, PlanItem, Prompt, Result, Say, Start, Step, Usage
from segue.testing.transcripts import placed

SECRET = "ghp_wJk3Zt9QmX5rVb2LcN8sYd4FhG7aPeT1uKo0"
HOUR = 3600.0
DAY = 24 * HOUR


def work(
    prompt: str = "Make the login use tokens, please", *, at: float | None = None, branch: str = "main",
    native: str = "run-1", cwd: str = "/src/shop", ends: bool = True, secret: str = "", parent: str = "",
    calls: int = 2,
) -> list[Step]:  # fmt: skip
    """A run: a prompt, a plan, and some calls, one of which failed; with ``ends``, the turn is over."""
    t = time.time() - HOUR if at is None else at
    steps: list[Step] = [
        Start(t, "start", native=native, cwd=cwd, branch=branch, parent=parent),
        Model(t, "model-1"),
        Prompt(t, prompt),
        Say(t + 1, "I decided to use HS256 because there is one issuer."),
        Plan(t + 1, (PlanItem("look", "done"), PlanItem("write it", "active"), PlanItem("test it"))),
    ]
    for n in range(calls):
        text = f"AssertionError: {n} != 2 {secret}"
        steps += [
            Call(t + 2 + n, f"c{n}", "Bash", "run", text=f"pytest -q t{n}.py", command=f"pytest -q t{n}.py"),
            Result(t + 2 + n, f"c{n}", ok=n > 0, exit=0 if n else 1, text=text),
        ]
    steps.append(Usage(t + 3 + calls, "u1", context=50_000, output=10, window=200_000))
    if ends:
        steps += [Say(t + 4 + calls, "All of it is written."), End(t + 4 + calls)]
    else:
        steps.append(Call(t + 4 + calls, "cx", "Bash", "run", text="make deploy", command="make deploy"))
    return steps


def place(
    home: Path, project: Path, agent: str = "codex", *, native: str = "run-1", old: float = HOUR, **more: Any
) -> Path:
    """Write a transcript to its place, last changed so many seconds ago."""
    at = time.time() - old
    steps = work(at=at, native=native, cwd=str(project), **more)
    path = placed(agent, steps, home=home, native=native, cwd=str(project))
    if path.suffix != ".db":
        os.utime(path, (at, at))
    return path


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment for Segue, with a home of the test's own."""
    return {"HOME": str(home), "SEGUE_HOME": str(home / "segue"), "SEGUE_EMBEDDER": "static", **more}


def opened(home: Path, project: Path, **more: str) -> Segue:
    """Segue in a project, with agents that keep their files under this home."""
    project.mkdir(parents=True, exist_ok=True)
    return Segue(folder=project, environment=environment(home, **more))
