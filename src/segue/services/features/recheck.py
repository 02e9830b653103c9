"""Running checks that had passed to see whether they still do, within a time limit and without recording
evidence.

A verification withdraws a proof before it runs a check, so one that is cut short would leave features
unproven. A recheck changes nothing: it reports what it finds, and `segue verify` records it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from ..._files import read_bytes
from ...core.base.values import Value
from ...core.features.checks import Check
from ...core.features.verdict import had_passed
from ...core.sessions.state import SessionState
from ...effects.processes.checks import CheckOutcome, Runner, compiled, environment_of
from ...effects.redaction.redact import redact_bytes
from .features import Features
from .verify import first_failure

JOBS = 2


class Rechecked(Value):
    """Features by the outcome of their checks."""

    passed: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    """Pairs of a feature and the first line that says why it failed."""
    late: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()


def recheck(features: Features, state: SessionState, until: float, holder: Any = None) -> Rechecked:
    """Run the checks of features that had passed, until a time of the monotonic clock. Meanwhile
    ``holder.runner`` is the runner, so that another thread can stop it."""
    todo: list[tuple[str, Check]] = []
    untrusted = []
    for id, feature in state.features.items():
        if not had_passed(feature):
            continue
        if features.untrusted(feature):
            untrusted.append(id)
        else:
            todo += [(id, check) for check in feature.checks]
    if not todo:
        return Rechecked(untrusted=tuple(untrusted))
    with TemporaryDirectory(prefix="segue-") as scratch, Runner() as runner:
        if holder is not None:
            holder.runner = runner
        reasons = _run(features, runner, todo, until, Path(scratch))
        if holder is not None:
            holder.runner = None
    failed = {todo[index][0]: reason for index, reason in sorted(reasons.items()) if reason}
    late = {todo[index][0] for index in range(len(todo)) if index not in reasons} - failed.keys()
    passed = {id for id, _ in todo} - failed.keys() - late
    order = list(dict.fromkeys(id for id, _ in todo))
    return Rechecked(
        tuple(id for id in order if id in passed), tuple(failed.items()),
        tuple(id for id in order if id in late), tuple(untrusted),
    )  # fmt: skip


def _run(
    features: Features, runner: Runner, todo: list[tuple[str, Check]], until: float, scratch: Path
) -> dict[int, str]:
    """Why checks failed, by index; empty for one that passed, missing for one that did not end in time."""
    workspace = features.workspace
    passed_on = workspace.settings.text("check_environment").replace(",", " ").split()
    pending, limits = list(range(len(todo))), dict[int, float]()
    reasons: dict[int, str] = {}
    while (pending or runner.running) and time.monotonic() < until:
        while pending and runner.running < JOBS:
            index = pending.pop(0)
            check = todo[index][1]
            limits[index] = max(0.1, min(check.limit_seconds, until - time.monotonic()))
            runner.start(
                str(index), replace(check, limit_seconds=limits[index]), root=workspace.working_tree.root,
                environment=environment_of(workspace.environment, passed_on, check.environment),
                out=scratch / str(index), bytes_max=1_000_000,
            )  # fmt: skip
        for outcome in runner.wait(min(0.2, max(0.0, until - time.monotonic()))):
            index = int(outcome.id)
            if outcome.timed_out and limits[index] < todo[index][1].limit_seconds:
                continue  # ended by our limit, not by its own
            reasons[index] = _reason(todo[index][1], outcome, scratch / outcome.id)
    return reasons


def _reason(check: Check, outcome: CheckOutcome, output: Path) -> str:
    text = b""
    with suppress(OSError):
        text = redact_bytes(read_bytes(output))
    if outcome.fault:
        return outcome.fault
    if outcome.timed_out:
        return f"it took more than {check.limit_seconds:g} s"
    if outcome.exit_code != check.exit_code:
        return first_failure(text) or f"exit code {outcome.exit_code}"
    if check.pattern and compiled(check.pattern).search(text) is None:
        return f"its output does not match {check.pattern}"
    return ""
