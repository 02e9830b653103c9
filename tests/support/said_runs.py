"""Runs in which users say things: requests with points, rules, permissions; for tests of the ledger."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from segue.core.runs.steps import Call, End, Model, Plan, PlanItem, Prompt, Result, Say, Start, Step
from segue.testing.transcripts import placed

REQUEST = (
    "Move the login of the shop from cookies to signed tokens, please. Do these:\n"
    "1. write the token signer\n2. write the middleware\n3. document it in docs/auth.md\n\n"
    "Never push to main."
)
RULE, PERMISSION = "Never push to main.", "You may push the docs to main."
MORE = "And the signed tokens of the shop must be refused after the login of the account was revoked."
LATER = "Also add a button that revokes all tokens of an account at once, with a confirmation."


def first_run(at: float, native: str, cwd: str) -> list[Step]:
    """A request with points and a rule, a list, a choice, something tried, a failing check."""
    return [
        Start(at, "start", native=native, cwd=cwd, branch="main"), Model(at, "m"),
        Prompt(at, REQUEST),
        Say(at + 1, "I decided to use HS256 because there is one issuer only."),
        Plan(at + 2, (PlanItem("write the token signer", "active"), PlanItem("rotate the keys of the shop"))),
        Call(at + 3, "a", "Bash", "run", text="pytest -q tests/auth", command="pytest -q tests/auth"),
        Result(at + 4, "a", ok=False, exit=1, text="FAILED tests/auth/test_late.py::test_late - 3 != 5"),
        Plan(at + 5, (PlanItem("write the token signer", "done"), PlanItem("rotate the keys of the shop"))),
        Say(at + 6, "The signer is written. I tried PyJWT but it did not work here, so I went back."),
        End(at + 6),
        Prompt(at + 60, PERMISSION), Say(at + 61, "Good to know."), End(at + 62),
    ]  # fmt: skip


def said_run(at: float, native: str, cwd: str, *prompts: str, branch: str = "main") -> list[Step]:
    """A run that is told these, one after the other, and says nothing of note."""
    steps: list[Step] = [Start(at, "start", native=native, cwd=cwd, branch=branch), Model(at, "m")]
    for number, prompt in enumerate(prompts):
        asked = at + 60 * number
        steps += [Prompt(asked, prompt), Say(asked + 1, "I begin."), End(asked + 2)]
    return steps


def place_steps(
    home: Path,
    project: Path,
    steps: Sequence[Step],
    native: str,
    agent: str = "claude-code",
    old: float = 3600.0,
) -> Path:
    """Write a transcript to its place, last changed so many seconds ago."""
    path = placed(agent, list(steps), home=home, native=native, cwd=str(project))
    if path.suffix != ".db":
        os.utime(path, (time.time() - old,) * 2)
    return path


def place_first(home: Path, project: Path, native: str = "run-1", agent: str = "claude-code") -> Path:
    """The first run, an hour ago."""
    return place_steps(home, project, first_run(time.time() - 3600, native, str(project)), native, agent)


def place_split(home: Path, project: Path) -> None:
    """The first run, and two that go on with its work on other branches: each begins a session of its own."""
    place_first(home, project)
    at = time.time() - 3000
    for native, prompts in (("run-2", (LATER, "Always answer in French.")), ("run-3", (MORE,))):
        steps = said_run(at, native, str(project), *prompts, branch=f"of-{native}")
        place_steps(home, project, steps, native, old=time.time() - at - 100)
        at += 1000
