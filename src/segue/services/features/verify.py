"""Running the checks of a session's features and recording the outcomes as evidence.

Before the first check of a feature runs, an event withdraws its old proof: a crash at any moment leaves the
feature unproven, never wrongly proven. Evidence is written after the tree was read again; if the covered
files changed during the run, it proves nothing. Checks that end close together share one reading of the tree,
so that reading takes only a fraction of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..._failpoints import trip
from ..._files import read_bytes
from ...core import event_kinds as ev
from ...core.base.lazy import regex
from ...core.base.text import clean_text
from ...core.base.values import Value
from ...core.features.checks import PERSON, Check
from ...core.features.model import Feature
from ...core.features.verdict import Counts, Verdict, counted, definition_of
from ...core.language.sentences import reason
from ...core.sessions import feature_commands as fc
from ...core.sessions.state import SessionState
from ...effects.git.trees import Tree
from ...effects.processes.checks import CheckOutcome, Runner, compiled, environment_of
from ...effects.processes.identity import host_name
from ...effects.redaction.redact import redact_bytes
from .features import Features, patterns_of
from .trust import trust_checks

TAIL_BYTES = 2_000
FIRST_BYTES = 300
LOOK_SECONDS_MIN = 0.25
LOOK_SHARE = 5
"""At most a fifth of the time is spent on reading the tree."""
BEGUN_AT_ONCE = 4
"""How many features lose their proofs in one commit, shortly before their checks run."""
_TICK_SECONDS = 0.1


class Verified(Value):
    """The result of a verification."""

    verdicts: tuple[Verdict, ...]
    counts: Counts
    ran: int
    """How many checks were run."""
    untrusted: tuple[Check, ...] = ()
    """Checks that were not run because nobody has accepted them."""
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every feature that was verified is proven."""
        return all(verdict.passes for verdict in self.verdicts)


class _Job(Value):
    """A check that is to be run."""

    feature: Feature
    check: Check
    first: bool
    due: tuple[str, ...]
    """The hashes of all checks of the feature that are to be run."""


class _FinishedCheck(Value):
    job: _Job
    outcome: CheckOutcome
    before: Tree
    output: str
    text: bytes


def verify(
    features: Features, ids: Iterable[str] = (), *, all: bool = False, jobs: int = 0, trust: bool = False,
    ask: Callable[[Sequence[Check]], bool] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Verified:  # fmt: skip
    """Run the checks that are unproven or stale, or with ``all`` every check, of these features (none: of
    all).

    Checks that nobody accepted run only if ``trust`` is set or ``ask`` returns True. ``progress`` is called
    with the number of finished checks, the total, and the names of the running ones. Raises
    UnknownFeature."""
    workspace = features.workspace
    workspace.pause_file.check()
    wanted = tuple(dict.fromkeys(ids))
    state = features.session.state
    for id in wanted:
        features.feature(id)
    with ExitStack() as stack:
        runner = stack.enter_context(Runner()) if _will_run(state, wanted, all) else None
        tree = features.look()  # while the runner starts
        todo = _jobs(state, tree, wanted, all)
        refused = _accept(features, todo, trust, ask)
        todo = [job for job in todo if job.feature.id not in refused]
        untrusted = tuple({check.hash: check for checks in refused.values() for check in checks}.values())
        warnings: list[str] = []
        if todo:
            count = jobs if jobs > 0 else max(1, int(workspace.settings.number("check_jobs")))
            runner = runner or stack.enter_context(Runner())
            tree, warnings = _Verification(features, tree, progress).run(runner, todo, count)
            features.outputs.prune(int(workspace.settings.number("evidence_bytes_max")))
    verdicts = features.verdicts(features.session.state, tree)
    verdicts = [verdict for verdict in verdicts if not wanted or verdict.id in wanted]
    return Verified(tuple(verdicts), counted(verdicts), len(todo), untrusted, tuple(warnings))


def _will_run(state: SessionState, wanted: tuple[str, ...], all: bool) -> bool:
    """Whether some check will be run, as far as can be told without reading the tree."""
    chosen = [feature for id, feature in state.features.items() if not wanted or id in wanted]
    checks = [(check.hash, feature.ran) for feature in chosen for check in feature.checks]
    return any(all or hash not in ran or not ran[hash].ok for hash, ran in checks)


def _jobs(state: SessionState, tree: Tree, wanted: tuple[str, ...], all: bool) -> list[_Job]:
    """Every check that is not proven for the files as they are now."""
    jobs = []
    for id, feature in state.features.items():
        if wanted and id not in wanted:
            continue
        covered, _ = tree.covered(patterns_of(feature))
        proven = {hash for hash, ran in feature.ran.items() if ran.ok and ran.covered == covered}
        every = all or feature.status == "failing"
        due = [check for check in feature.checks if every or check.hash not in proven]
        hashes = tuple(check.hash for check in due)
        jobs += [_Job(feature, check, index == 0, hashes) for index, check in enumerate(due)]
    return jobs


def _accept(
    features: Features, jobs: list[_Job], trust: bool, ask: Callable[[Sequence[Check]], bool] | None
) -> dict[str, tuple[Check, ...]]:
    """Accept checks if the caller trusts them. Returns what is still untrusted: features that may not be run,
    with the checks that nobody accepted.

    An agent can accept checks only for features that agents declared."""
    by_id = {job.feature.id: job.feature for job in jobs if job.first}
    untrusted = {id: features.untrusted(feature) for id, feature in by_id.items()}
    person = features.who == PERSON
    ours = [id for id in untrusted if person or by_id[id].by != PERSON]
    acceptable = {check.hash: check for id in ours for check in untrusted[id]}
    if acceptable and (trust or (ask is not None and person and ask(tuple(acceptable.values())))):
        workspace = features.workspace
        trust_checks(workspace.store, acceptable.values(), workspace.pause_file, actor=features.who)
        untrusted = {id: features.untrusted(by_id[id]) if checks else () for id, checks in untrusted.items()}
    return {id: checks for id, checks in untrusted.items() if checks}


class _Verification:
    """Runs many checks, several at a time, and records their outcomes."""

    def __init__(
        self, features: Features, tree: Tree, progress: Callable[[int, int, str], None] | None
    ) -> None:
        self.features = features
        self.workspace = features.workspace
        self.tree = tree
        self.looked = time.monotonic()
        self.progress = progress
        self.bytes_max = max(1000, int(self.workspace.settings.number("check_output_bytes_max")))
        self.passed_on = self.workspace.settings.text("check_environment").replace(",", " ").split()
        self.done: list[_FinishedCheck] = []
        self.running: dict[str, tuple[_Job, Tree, Path]] = {}
        self.warnings: list[str] = []
        self.begun: set[str] = set()
        self.count = 0
        self.jobs = 1

    def run(self, runner: Runner, todo: list[_Job], jobs: int) -> tuple[Tree, list[str]]:
        """Run every check. Returns the tree as it was last read, and warnings."""
        self.features.outputs.sweep()
        total, waiting, self.jobs = len(todo), list(reversed(todo)), jobs
        try:
            while waiting or self.running or self.done:
                self._fill(runner, waiting, jobs)
                if waiting and waiting[-1].feature.id not in self.begun:  # while the present ones run
                    self._begin(waiting[-max(jobs, BEGUN_AT_ONCE) :])
                self._report_progress(total)
                outcomes = runner.wait(_TICK_SECONDS if not self.done else self._seconds_to_look())
                ended = [(outcome, *self.running.pop(outcome.id)) for outcome in outcomes]
                self._fill(runner, waiting, jobs)  # the next ones run while these are recorded
                for check in ended:
                    self._ended(*check)
                if self.done and (not self.running or not self._seconds_to_look()):
                    self._record()
        finally:
            if self.running:
                runner.close()
            for _, _, path in self.running.values():
                path.unlink(missing_ok=True)
        return self.tree, self.warnings

    def _fill(self, runner: Runner, waiting: list[_Job], jobs: int) -> None:
        """Give the runner as many checks as may run at once, and as many again to have ready."""
        while waiting and len(self.running) < 2 * jobs:
            self._start(runner, waiting.pop(), jobs)

    def _seconds_to_look(self) -> float:
        apart = max(LOOK_SECONDS_MIN, LOOK_SHARE * self.tree.took_seconds)
        return max(0.0, self.looked + apart - time.monotonic())

    def _report_progress(self, total: int) -> None:
        if self.progress is not None:
            names = ", ".join(job.feature.id for job, _, _ in list(self.running.values())[: self.jobs])
            self.progress(self.count - len(self.running), total, names)

    def _start(self, runner: Runner, job: _Job, jobs: int) -> None:
        self._begin([job])
        self.count += 1
        path = self.features.outputs.running(self.count)
        environment = environment_of(self.workspace.environment, self.passed_on, job.check.environment)
        id = str(self.count)
        self.running[id] = (job, self.tree, path)
        runner.start(
            id, job.check, root=self.workspace.working_tree.root, environment=environment, out=path,
            bytes_max=self.bytes_max, slots=jobs,
        )  # fmt: skip

    def _begin(self, jobs: list[_Job]) -> None:
        """Withdraw the proofs of these features, before any of their checks runs."""
        fresh = {job.feature.id: job for job in jobs if job.feature.id not in self.begun}
        if fresh:
            self.features._apply(
                *(fc.BeginChecks(id, definition_of(job.feature), job.due) for id, job in fresh.items())
            )
            self.begun.update(fresh)
            trip("verify.after_begin")

    def _ended(self, outcome: CheckOutcome, job: _Job, before: Tree, path: Path) -> None:
        raw = read_bytes(path) if path.is_file() else b""
        text = redact_bytes(raw) if raw and self.workspace.settings["redact"] else raw
        output = self.features.outputs.keep(text)
        path.unlink(missing_ok=True)
        if outcome.left:
            left = "a process, which was" if outcome.left == 1 else f"{outcome.left} processes, which were"
            self.warnings.append(f"{job.feature.id}: {job.check.text} left behind {left} ended")
        self.done.append(_FinishedCheck(job, outcome, before, output, text))

    def _record(self) -> None:
        """Read the tree, and commit the evidence of all finished checks at once."""
        self.tree = self.features.look()
        self.looked = time.monotonic()
        records = [fc.RecordRun(self._evidence(finished)) for finished in self.done]
        trip("verify.before_record")
        self.features._apply(*records)
        trip("verify.after_record")
        self.done.clear()

    def _evidence(self, done: _FinishedCheck) -> ev.CheckRan:
        job, outcome = done.job, done.outcome
        patterns = patterns_of(job.feature)
        covered, files = done.before.covered(patterns)
        after, _ = self.tree.covered(patterns)
        pattern = job.check.pattern
        tail = _clean(done.text[-TAIL_BYTES:], TAIL_BYTES)
        failed = outcome.exit_code != job.check.exit_code
        return ev.CheckRan(
            job.feature.id, definition_of(job.feature), job.check.hash, job.check.text,
            exit_code=outcome.exit_code, signal=outcome.signal, timed_out=outcome.timed_out,
            found=bool(pattern) and compiled(pattern).search(done.text) is not None,
            fault="stopped" if outcome.stopped and not outcome.fault else outcome.fault,
            duration_seconds=round(outcome.seconds, 4), host=host_name(), head=self.tree.head,
            covered=covered, after=after, files=files, output=done.output, output_bytes=outcome.bytes,
            cut=outcome.cut, tail=tail, first=first_failure(done.text) if failed else "",
        )  # fmt: skip


def _clean(body: bytes, bytes_max: int) -> str:
    text = clean_text(body.decode("utf-8", "replace"), limit=1 << 40)
    cut = text.encode()[-bytes_max:].decode("utf-8", "ignore")
    return "\n".join(cut.rstrip().splitlines()[-20:])


_SUMMARY = regex(rb"\s*(?:FAILED |ERROR |--- FAIL: |not ok |FAIL )")
_RAISED = regex(rb"[\w.]*(?:Error|Exception|Failure|Exit|Interrupt)\b(?:: .+)?$")


def first_failure(output: bytes) -> str:
    """The line of a check's output that says most about why it failed."""
    lines = output[-200_000:].splitlines()
    line = next((each for each in lines if _SUMMARY.match(each)), None)
    if line is None:  # a Python program prints the exception that ended it last
        line = next((each for each in reversed(lines[-100:]) if _RAISED.match(each)), None)
    if line is None:
        line = reason(b"\n".join(lines[-400:]).decode("utf-8", "replace")).partition("\n")[0].encode()
    clean = " ".join(clean_text(line.decode("utf-8", "replace"), limit=1 << 40).split())
    return clean.encode()[:FIRST_BYTES].decode("utf-8", "ignore")
