"""The features of a session: declaring, listing and attesting them, and the gate that every surface asks.

A feature passes only by a check that was run (``verify.py``) or by an attestation of a step that has no
check. Verdicts are never stored: each call computes them from the journal and the present working tree.
Whoever declares something is the actor or, if the actor is the user, the agent in whose shell Segue runs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from ...core import event_kinds as ev
from ...core.base.text import clean_name, clean_text, slug
from ...core.base.values import Texts, Value, texts
from ...core.features.checks import PERSON, Check, covered_patterns
from ...core.features.model import Feature
from ...core.features.verdict import Gate, Verdict, counted, gate, unchecked_steps, verdict_of
from ...core.journal.chain import faults
from ...core.sessions import commands as do, feature_commands as fc
from ...core.sessions.state import SessionState
from ...core.sessions.status import SessionStatus, status_of
from ...effects.files.check_outputs import Outputs
from ...effects.git.trees import Tree, look
from ...errors import RefusedError, UnknownFeature, UnverifiedFeatures, UsageError
from ..sessions.offers import with_offers_settled
from ..sessions.repository import Saved, stream_of
from ..workspace.session_handle import SessionHandle
from ..workspace.working_tree import tree_stream
from .trust import trusted_checks


class FeatureList(Value):
    """The features of a session with their verdicts, and counts over all of them."""

    total: int
    passing: int
    failing: int
    in_progress: int
    stale: int
    features: tuple[Verdict, ...]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Audit(Value):
    """Whether the journal of a session is intact up to its head."""

    session: str
    version: int
    head: str
    """The hash of the last event, which covers all events before it."""
    evidence: int
    faults: list[str]
    outputs: dict[str, int]
    """How many outputs of checks are kept, gone, scrubbed or changed."""

    @property
    def ok(self) -> bool:
        return not self.faults


class Features:
    """The features of one session."""

    def __init__(self, session: SessionHandle) -> None:
        self.session = session
        self.workspace = session.workspace

    @cached_property
    def who(self) -> str:
        """Who declares something here."""
        return self.workspace.declarer

    @cached_property
    def outputs(self) -> Outputs:
        return Outputs(self.workspace.home.evidence)

    @property
    def attest_allowed(self) -> bool:
        return bool(self.workspace.settings["attest"])

    def look(self) -> Tree:
        """The files of the working tree with their hashes, as of now; on a server a tree without files."""
        root = self.workspace.working_tree.root
        if not self.workspace.sees_tree:
            return Tree(root, [])
        name = stream_of_tree(root) + ".tree"
        home = self.workspace.home
        return look(root, cache=home.evidence / "trees" / name, skip=(home.path,))

    def covered(self, state: SessionState | None = None, tree: Tree | None = None) -> dict[str, str]:
        """For each feature the hash of its covered files; empty if nothing is proven that could be stale."""
        features = (state or self.session.state).features
        if not any(feature.ran or feature.attested for feature in features.values()):
            return {}
        tree = tree or self.look()
        hashes = {id: tree.covered(patterns_of(feature))[0] for id, feature in features.items()}
        if not self.workspace.sees_tree:  # without the files, what was proven there cannot be called stale
            return {id: hash_ for id, hash_ in hashes.items() if _proven_hashes(features[id]) <= {hash_}}
        return hashes

    def verdicts(self, state: SessionState | None = None, tree: Tree | None = None) -> list[Verdict]:
        """The verdict of every feature as of now."""
        state = state or self.session.state
        covered, attest = self.covered(state, tree), self.attest_allowed
        return [verdict_of(one, covered.get(id, ""), attest=attest) for id, one in state.features.items()]

    def list(self, status: str = "") -> FeatureList:
        """The features with this status (empty: all of them), with counts over all. "failed" stands for
        "failing", "complete" for "passing"."""
        wanted = {"failed": "failing", "complete": "passing"}.get(status, status)
        verdicts = self.verdicts()
        listed = tuple(verdict for verdict in verdicts if not wanted or verdict.status == wanted)
        return FeatureList(**asdict(counted(verdicts)), features=listed)

    def get(self, id: str) -> Verdict:
        """The verdict of a feature as of now. Raises UnknownFeature."""
        self.feature(id)
        return next(verdict for verdict in self.verdicts() if verdict.id == id)

    def feature(self, id: str) -> Feature:
        """The definition of a feature and its evidence. Raises UnknownFeature."""
        found = self.session.state.features.get(id)
        if found is None:
            raise UnknownFeature(
                f"there is no feature {id!r}", hint="`segue feature list` shows all features"
            )
        return found

    def history(self, id: str) -> Sequence[tuple[ev.Event, ev.Body]]:
        """Every event about a feature, in order; also about one that was removed."""
        about = (ev.FeatureAdded, ev.FeatureChanged, ev.FeatureRemoved, ev.FeatureMoved)
        history = []
        for event in self.session.log():
            body = ev.read_body(event)
            own = body.id if isinstance(body, about) else getattr(body, "feature", "")
            if id and own == id and body is not None:
                history.append((event, body))
        return history

    def gate(self) -> Gate:
        """Whether the session may be completed: the one decision that CLI, library, hooks and tools share."""
        state = self.session.state
        return gate(state, self.covered(state), attest=self.attest_allowed)

    def complete(self, summary: str = "", *, force: str = "") -> Saved:
        """Complete the session. Raises UnverifiedFeatures unless every feature is proven, or ``force`` gives
        a reason for completing it nonetheless."""
        state = self.session.state
        covered, attest = self.covered(state), self.attest_allowed
        decision = gate(state, covered, attest=attest)
        if not decision.ok and not force.strip() and state.status not in ("completed", "abandoned"):
            raise unverified(decision)
        return self._apply(do.Complete(summary, force, covered, attest))

    def _apply(self, *commands: do.Command) -> Saved:
        return self.session.commit_trusted(
            commands, actor=self.who if self.who != self.workspace.repository.actor else ""
        )

    def add(
        self, id: str, description: str, *, category: str = "", steps: Texts = (),
        checks: Iterable[Check | str] = (), covers: Texts = (), source: str = "", claim: str = "",
    ) -> Saved:  # fmt: skip
        """Declare a feature, which is unproven at first. Raises UsageError for a check that could not run."""
        return self._apply(
            fc.AddFeature(
                clean_name(id, what="feature's id"), description, category, texts(steps),
                tuple(map(as_check, checks)), _covers(covers), source, claim,
            )
        )  # fmt: skip

    def change(
        self, id: str, *, description: str | None = None, category: str | None = None,
        steps: Texts | None = None, checks: Iterable[Check | str] | None = None, covers: Texts | None = None,
        reason: str = "",
    ) -> Saved:  # fmt: skip
        """Change the fields that are not None. Whatever proved the feature before no longer does."""
        self.feature(id)
        return self._apply(
            fc.ChangeFeature(
                id, description, category, None if steps is None else texts(steps),
                None if checks is None else tuple(map(as_check, checks)),
                None if covers is None else _covers(covers), reason,
            )
        )  # fmt: skip

    def remove(self, id: str, reason: str = "") -> Saved:
        """Drop a feature. The completion of the session mentions it."""
        return self._apply(fc.RemoveFeature(id, reason))

    def begin(self, id: str, *, implemented_by: str = "") -> Saved:
        """Declare that work on a feature is under way."""
        return self._apply(fc.MoveFeature(id, "in_progress", implemented_by=implemented_by))

    def block(self, id: str, reason: str) -> Saved:
        """Declare that a feature is blocked, and why."""
        return self._apply(fc.MoveFeature(id, "blocked", reason))

    def mark_failed(self, id: str, reason: str = "") -> Saved:
        """Declare that a feature fails. Only a later proof makes it pass."""
        return self._apply(fc.MoveFeature(id, "failing", reason))

    def attest(self, id: str, note: str, *, who: str = "", step: str = "") -> Saved:
        """Attest a step that no check proves, with a name and a note; without ``step``, all such steps.
        Raises RefusedError if attesting is switched off or checks prove every step."""
        if not self.attest_allowed:
            raise RefusedError(
                "attesting is switched off here, so only checks can prove a feature",
                hint="give the step a check",
            )
        feature = self.feature(id)
        name = (who or self.who).strip()
        if not name or not note.strip():
            raise UsageError("an attestation needs a name and a note", hint="say who examined what")
        steps = (step,) if step else unchecked_steps(feature)
        if not steps:
            raise RefusedError(
                f"every step of {id} has a check, so there is nothing to attest", hint="run `segue verify`"
            )
        tree = self.look()
        hash_, _ = tree.covered(patterns_of(feature))
        return self._apply(*(fc.AttestStep(id, text, name, note, hash_, tree.head) for text in steps))

    # -- methods of Aegis Memory's recipe ------------------------------------------------------

    def create(
        self, feature_id: str, description: str, test_steps: Texts = (), status: str = "", category: str = ""
    ) -> Verdict:
        """``add`` as in Aegis Memory's recipe. A status that says more than is proven becomes a claim."""
        self.add(feature_id, description, category=category, steps=test_steps)
        if status and _declared(status) != "not_started":
            self.update(feature_id, status=status)
        return self.get(feature_id)

    def update(
        self, id: str, *, status: str = "", passes: bool | None = None, failure_reason: str = "",
        implemented_by: str = "", verified_by: str = "", notes: str = "",
    ) -> Verdict:  # fmt: skip
        """Declare the progress of a feature. "Passing" is only a claim, unless ``verified_by`` attests the
        steps that no check proves."""
        feature = self.feature(id)
        wanted = "passing" if passes else "failing" if passes is False and not status else _declared(status)
        if wanted == "passing":
            if verified_by:
                return self.mark_complete(id, verified_by, notes)
            claim = f"{self.who} says that it passes"
            self._apply(fc.MoveFeature(id, "testing", "", implemented_by, notes, claim))
        else:
            reason = failure_reason if wanted in ("failing", "blocked") else ""
            self._apply(
                fc.MoveFeature(id, wanted or feature.status, reason or feature.reason, implemented_by, notes)
            )
        return self.get(id)

    def mark_complete(self, id: str, verified_by: str, notes: str = "") -> Verdict:
        """Attest every step without a check. Raises UnverifiedFeatures while checks have not passed."""
        feature = self.feature(id)
        if not verified_by.strip():
            raise UsageError("a verification needs a name", hint="say who verified it: verified_by=…")
        if unchecked_steps(feature):
            self.attest(id, notes or f"marked complete by {verified_by}", who=verified_by)
        verdict = self.get(id)
        if not verdict.passes:
            raise UnverifiedFeatures(
                f"{id} is {verdict.status}: {verdict.reason}", hint="prove it with `segue verify`"
            )
        return verdict

    def untrusted(self, feature: Feature) -> tuple[Check, ...]:
        """Checks of a feature that came from a file or an agent and were not trusted yet."""
        foreign = [check for check in feature.checks if check.by != PERSON or check.source]
        trusted = trusted_checks(self.workspace.store, person=feature.by == PERSON) if foreign else set()
        return tuple(check for check in foreign if check.hash not in trusted)

    def audit(self, head: str = "") -> Audit:
        """Check the hash chain of the session's events, and kept outputs against the hashes in the evidence.

        ``head`` is a hash that was noted earlier: it must be part of the chain, else the history was
        replaced."""
        stream = stream_of(self.session.id)
        events = self.session.log()
        problems = [f"version {fault.version}: {fault.reason}" for fault in faults(stream, events)]
        last = self.workspace.store.head(stream)
        if (last.version, last.hash) != (len(events), events[-1].hash):
            problems.append(f"the stream ends at version {last.version}, not {len(events)}")
        if head and head.lower() not in {event.hash.hex() for event in events}:
            problems.append(f"no event has the hash {head[:64]}: this is a different history")
        outputs: dict[str, int] = {}
        evidence = 0
        for event in events:
            body = ev.read_body(event)
            if isinstance(body, ev.CheckRan):
                evidence += 1
                if body.output:
                    condition = self.outputs.condition(body.output)
                    outputs[condition] = outputs.get(condition, 0) + 1
                    if condition == "changed":
                        problems.append(f"version {event.version}: its output was changed")
            elif isinstance(body, ev.StepAttested):
                evidence += 1
        return Audit(self.session.id, last.version, last.hash.hex(), evidence, problems, outputs)


def _proven_hashes(feature: Feature) -> set[str]:
    """The hashes of covered files for which there is evidence."""
    ran = {check.covered for check in feature.ran.values()}
    return ran | {step.covered for step in feature.attested.values()}


def patterns_of(feature: Feature) -> tuple[str, ...]:
    """The glob patterns of the files that a feature covers."""
    return covered_patterns(feature.covers, feature.checks)


def unverified(decision: Gate) -> UnverifiedFeatures:
    """The error for a session that may not be completed."""
    error = UnverifiedFeatures(decision.text, hint=decision.hint)
    error.counts = asdict(decision.counts)
    error.features = tuple(
        {"id": verdict.id, "status": verdict.status, "reason": verdict.reason}
        for verdict in decision.unproven
    )
    return error


def as_check(check: Check | str) -> Check:
    """A check, possibly given as a command line. Raises UsageError if it could not run as it is meant."""
    if isinstance(check, str):
        check = parsed(check)
    folder = posixpath.normpath(check.folder) if check.folder else ""
    if folder.startswith(("/", "..")):
        raise UsageError(f"{check.folder} is outside the working tree", hint="give a folder inside it")
    if check.pattern:
        from ...effects.processes.checks import compiled

        compiled(check.pattern)
    if not 0 < check.limit_seconds <= 86_400:
        raise UsageError("a time limit must be above 0 and at most 86400 seconds", hint="for example 600")
    return replace(check, folder="" if folder == "." else folder)


def parsed(command: str, **fields: Any) -> Check:
    """The check that a command line stands for. Raises UsageError for one that needs a shell."""
    import shlex

    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        operators = [word for word in lexer if word and set(word) <= set("|&;<>()")]
        words = shlex.split(command)
    except ValueError as fault:
        raise UsageError(f"cannot parse the command: {fault}", hint="check its quotes") from fault
    if operators:
        raise UsageError(f"{operators[0]} needs a shell", hint="add --shell, or give a single command")
    return Check(tuple(words), **fields)


def _declared(status: str) -> str:
    return {"failed": "failing", "complete": "passing", "completed": "passing", "stale": "testing"}.get(
        status, status
    )


def _covers(value: Texts) -> tuple[str, ...]:
    patterns = []
    for pattern in texts(value):
        path = posixpath.normpath(pattern.strip()) if pattern.strip() else ""
        if path.startswith(("/", "..")):
            raise UsageError(
                f"{pattern} is outside the working tree", hint="give a pattern relative to its root"
            )
        patterns += [path] if path else []
    return tuple(dict.fromkeys(patterns))


def stream_of_tree(root: Path) -> str:
    """A file name for what is cached about a working tree."""
    return tree_stream(str(root)).rpartition("/")[2]


def feature_id(description: str, taken: Iterable[str]) -> str:
    """An id made of a description, different from those that are taken."""
    base = slug(clean_text(description, limit=1 << 20), limit=48)
    used, name, number = set(taken), base, 1
    while name in used:
        number += 1
        name = f"{base}-{number}"
    return name


def session_status(session: SessionHandle) -> SessionStatus:
    """The status of a session: items by state, verdicts of its features, and which runs hold it."""
    living, state = session.workspace.holds.living(session.id), session.state
    verdicts = Features(session).verdicts(state) if state.features else []
    held_by = ", ".join(f"{hold.holder} ({hold.run})" for hold in living)
    budget = session.workspace.standing(state)
    known = with_offers_settled(session.workspace.store, state)
    return status_of(known, held_by=held_by, features=verdicts, budget=budget)


def complete_session(session: SessionHandle, summary: str = "", *, force: str = "") -> Saved:
    """Complete a session. Raises UnverifiedFeatures unless every feature is proven, or ``force`` gives a
    reason for completing it nonetheless."""
    if session.state.features:
        return Features(session).complete(summary, force=force)
    return session.commit_trusted((do.Complete(summary),))
