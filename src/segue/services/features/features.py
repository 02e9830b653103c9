"""Features of a session: declared, looked at, attested; and the gate that every surface asks.

Nothing here can make a feature pass but an executed check (``verifying.py``) or somebody's word for a step
that has none. Verdicts are computed at each look, from the journal and the working tree of now. Who
declares something is the actor, or the agent in whose shell we run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core import event_kinds as ev
from ...core.base.text import clean_name, clean_text, slug
from ...core.base.values import Texts, Value, texts
from ...core.features.checks import PERSON, Check, covered_patterns
from ...core.features.model import Feature
from ...core.features.verdict import Gate, Verdict, counted, gate, steps_of, unchecked_steps, verdict_of
from ...core.journal.chain import faults
from ...core.sessions import commands as do
from ...core.sessions import feature_commands as fc
from ...core.sessions.state import SessionState
from ...core.sessions.status import SessionStatus, status_of
from ...effects.files.check_outputs import Outputs
from ...effects.git.trees import Tree, look, no_tree
from ...errors import RefusedError, UnknownFeature, UnverifiedFeatures, UsageError
from ..sessions.repository import Saved, stream_of
from .trust import trusted_checks

if TYPE_CHECKING:
    from ..workspace.session_handle import SessionHandle


def declarer(actor: str, environment: Mapping[str, str]) -> str:
    """Who declares: a person only if no agent says that it runs us."""
    if actor != PERSON:
        return actor
    from ...agents import agent_variables

    return next((name for mark, name in agent_variables().items() if environment.get(mark)), PERSON)


class FeatureList(Value):
    """All features of a session with their verdicts, and counts of them."""

    total: int
    passing: int
    failing: int
    in_progress: int
    stale: int
    features: tuple[Verdict, ...]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Audit(Value):
    """Whether the journal of a session is what was written, up to its head."""

    session: str
    version: int
    head: str
    """The hash of the last event: it stands for all of them."""
    evidence: int
    faults: list[str]
    outputs: dict[str, int]
    """How many outputs are kept, gone, scrubbed or changed."""

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
        """Who declares."""
        return declarer(self.workspace.repository.actor, self.workspace.environment)

    @cached_property
    def outputs(self) -> Outputs:
        return Outputs(self.workspace.home.evidence)

    @property
    def attest_allowed(self) -> bool:
        return bool(self.workspace.settings["attest"])

    # -- looking -------------------------------------------------------------------------------

    def look(self) -> Tree:
        """The working tree, now; on a server, one of no files."""
        root = self.workspace.working_tree.root
        if not self.workspace.sees_tree:
            return no_tree(root)
        name = stream_of_tree(root) + ".tree"
        return look(
            root, cache=self.workspace.home.evidence / "trees" / name, skip=(self.workspace.home.path,)
        )

    def covered(self, state: SessionState | None = None, tree: Tree | None = None) -> dict[str, str]:
        """Of each feature, the hash over its covered files; one look for all."""
        features = (state or self.session.state).features
        if not any(one.ran or one.attested for one in features.values()):
            return {}  # nothing is proven that could be stale
        tree = tree or self.look()
        found = {id: tree.covered(patterns_of(one))[0] for id, one in features.items()}
        if not self.workspace.sees_tree:  # what was proven in a working tree cannot be held against one here
            return {id: hash_ for id, hash_ in found.items() if _blind(features[id]) <= {hash_}}
        return found

    def verdicts(self, state: SessionState | None = None, tree: Tree | None = None) -> list[Verdict]:
        """Every feature, as it is now."""
        state = state or self.session.state
        covered, attest = self.covered(state, tree), self.attest_allowed
        return [verdict_of(one, covered.get(id, ""), attest=attest) for id, one in state.features.items()]

    def list(self, status: str = "") -> FeatureList:
        """Features with their verdicts, and counts over all of them; "failed" means failing."""
        wanted = {"failed": "failing", "complete": "passing"}.get(status, status)
        found = self.verdicts()
        counts = counted(found)
        return FeatureList(
            counts.total, counts.passing, counts.failing, counts.in_progress, counts.stale,
            tuple(one for one in found if not wanted or one.status == wanted),
        )  # fmt: skip

    def get(self, id: str) -> Verdict:
        """One feature, as it is now."""
        self.feature(id)
        return next(one for one in self.verdicts() if one.id == id)

    def feature(self, id: str) -> Feature:
        """Its definition and what is known of it; UnknownFeature."""
        found = self.session.state.features.get(id)
        if found is None:
            raise UnknownFeature(f"there is no feature {id!r}", hint="`segue feature list` names them")
        return found

    def history(self, id: str) -> Sequence[tuple[ev.Event, ev.Body]]:
        """All that was written about a feature, in order; also of one that was removed."""
        found = []
        for event in self.session.log():
            body = ev.read_body(event)
            if id and id in (getattr(body, "feature", ""), _id_of(body)):
                assert body is not None
                found.append((event, body))
        return found

    def gate(self) -> Gate:
        """May the session be completed? The one decision of CLI, library, hooks and tools."""
        state = self.session.state
        return gate(state, self.covered(state), attest=self.attest_allowed)

    def complete(self, summary: str = "", *, force: str = "") -> Saved:
        """Complete the session if all is proven, or with a reason why it is completed all the same."""
        state = self.session.state
        covered, attest = self.covered(state), self.attest_allowed
        found = gate(state, covered, attest=attest)
        if not found.ok and not force.strip() and state.status not in ("completed", "abandoned"):
            raise unverified(found)
        return self._apply(do.Complete(summary, force, covered, attest))

    # -- declaring -----------------------------------------------------------------------------

    def _apply(self, *commands: do.Command) -> Saved:
        return self.session.commit_trusted(
            commands, actor=self.who if self.who != self.workspace.repository.actor else ""
        )

    def add(
        self, id: str, description: str, *, category: str = "", steps: Texts = (),
        checks: Iterable[Check | str] = (), covers: Texts = (), source: str = "", claim: str = "",
    ) -> Saved:  # fmt: skip
        """Declare a feature; it is not proven."""
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
        """Change what is given; whatever proved the feature before no longer does."""
        self.feature(id)
        return self._apply(
            fc.ChangeFeature(
                id, description, category, None if steps is None else texts(steps),
                None if checks is None else tuple(map(as_check, checks)),
                None if covers is None else _covers(covers), reason,
            )
        )  # fmt: skip

    def remove(self, id: str, reason: str = "") -> Saved:
        """Drop a feature; the completion tells of it."""
        return self._apply(fc.RemoveFeature(id, reason))

    def begin(self, id: str, *, implemented_by: str = "") -> Saved:
        """Work on it is under way."""
        return self._apply(fc.MoveFeature(id, "in_progress", implemented_by=implemented_by))

    def block(self, id: str, reason: str) -> Saved:
        """It waits for something."""
        return self._apply(fc.MoveFeature(id, "blocked", reason))

    def mark_failed(self, id: str, reason: str = "") -> Saved:
        """It fails; only a later proof says otherwise."""
        return self._apply(fc.MoveFeature(id, "failing", reason))

    def attest(self, id: str, note: str, *, who: str = "", step: str = "") -> Saved:
        """Give a name and a note for a step that no check proves; without a step, for all of them."""
        if not self.attest_allowed:
            raise RefusedError(
                "attesting is off here: only checks prove something", hint="give the step a check"
            )
        feature = self.feature(id)
        name = (who or self.who).strip()
        if not name or not note.strip():
            raise UsageError("an attestation needs a name and a note", hint="say who looked, and at what")
        steps = (step,) if step else unchecked_steps(feature)
        if not steps:
            raise RefusedError(
                f"checks prove every step of {id}: nobody's word counts there", hint="see `segue verify`"
            )
        tree = self.look()
        hash_, _ = tree.covered(patterns_of(feature))
        return self._apply(*(fc.AttestStep(id, one, name, note, hash_, tree.head) for one in steps))

    # -- the recipe's words --------------------------------------------------------------------

    def create(
        self, feature_id: str, description: str, test_steps: Texts = (), status: str = "", category: str = ""
    ) -> Verdict:
        """``add`` in the recipe's words; a status that says more than is proven is a claim."""
        self.add(feature_id, description, category=category, steps=test_steps)
        if status and _declared(status) != "not_started":
            self.update(feature_id, status=status)
        return self.get(feature_id)

    def update(
        self, id: str, *, status: str = "", passes: bool | None = None, failure_reason: str = "",
        implemented_by: str = "", verified_by: str = "", notes: str = "",
    ) -> Verdict:  # fmt: skip
        """Say how far it is. "Passing" is a claim, unless ``verified_by`` attests what no check proves."""
        feature = self.feature(id)
        wanted = "passing" if passes else "failing" if passes is False and not status else _declared(status)
        if wanted == "passing":
            if verified_by:
                return self.mark_complete(id, verified_by, notes)
            claim = f"said to be passing by {self.who}"
            self._apply(fc.MoveFeature(id, "testing", "", implemented_by, notes, claim))
        else:
            reason = failure_reason if wanted in ("failing", "blocked") else ""
            self._apply(
                fc.MoveFeature(id, wanted or feature.status, reason or feature.reason, implemented_by, notes)
            )
        return self.get(id)

    def mark_complete(self, id: str, verified_by: str, notes: str = "") -> Verdict:
        """Attest what no check proves; refused while a check has not proven the rest."""
        feature = self.feature(id)
        if not verified_by.strip():
            raise UsageError("who verified it?", hint="give a name: verified_by=…")
        if unchecked_steps(feature):
            self.attest(id, notes or f"marked complete by {verified_by}", who=verified_by)
        verdict = self.get(id)
        if not verdict.passes:
            raise UnverifiedFeatures(
                f"{id} is {verdict.status}: {verdict.reason}", hint="prove it with `segue verify`"
            )
        return verdict

    # -- proving -------------------------------------------------------------------------------

    def untrusted(self, feature: Feature) -> tuple[Check, ...]:
        """Checks of a feature that came from a file or an agent and that nobody accepted yet."""
        foreign = [check for check in feature.checks if check.by != PERSON or check.source]
        known = trusted_checks(self.workspace.store, person=feature.by == PERSON) if foreign else set()
        return tuple(check for check in foreign if check.hash not in known)

    def audit(self, head: str = "") -> Audit:
        """Prove the chain of events up to its head, and outputs by the hashes in the evidence.

        With ``head``, a hash that was noted elsewhere: it must be in the chain."""
        stream = stream_of(self.session.id)
        events = self.session.log()
        found = [f"version {one.version}: {one.reason}" for one in faults(stream, events)]
        last = self.workspace.store.head(stream)
        if (last.version, last.hash) != (len(events), events[-1].hash):
            found.append(f"the stream ends at version {last.version}, not {len(events)}")
        if head and head.lower() not in {event.hash.hex() for event in events}:
            found.append(f"no event has the hash {head[:64]}: this is another history")
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
                        found.append(f"version {event.version}: its output was changed")
            elif isinstance(body, ev.StepAttested):
                evidence += 1
        return Audit(self.session.id, last.version, last.hash.hex(), evidence, found, outputs)


def _blind(feature: Feature) -> set[str]:
    """The hashes over covered files that its evidence names."""
    return {one.covered for one in feature.ran.values()} | {one.covered for one in feature.attested.values()}


def patterns_of(feature: Feature) -> tuple[str, ...]:
    """What a feature covers."""
    return covered_patterns(feature.covers, feature.checks)


def unverified(found: Gate) -> UnverifiedFeatures:
    """The refusal of the gate as an error."""
    error = UnverifiedFeatures(found.text, hint=found.hint)
    error.counts = {name: getattr(found.counts, name) for name in found.counts.__struct_fields__}
    error.features = tuple(
        {"id": one.id, "status": one.status, "reason": one.reason} for one in found.unproven
    )
    return error


def as_check(check: Check | str) -> Check:
    """A check of a command line; UsageError if it could not run as it is meant."""
    if isinstance(check, str):
        check = parsed(check)
    folder = posixpath.normpath(check.folder) if check.folder else ""
    if folder.startswith(("/", "..")):
        raise UsageError(f"{check.folder} is not in the working tree", hint="give a folder below its top")
    if check.pattern:
        from ...effects.processes.checks import compiled

        compiled(check.pattern)
    if not 0 < check.limit_seconds <= 86_400:
        raise UsageError("a time limit is over 0 and at most 86400 seconds", hint="for example 600")
    return replace(check, folder="" if folder == "." else folder)


def parsed(command: str, **more: Any) -> Check:
    """A command line as words; what needs a shell is refused."""
    import shlex

    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        signs = [word for word in lexer if word and set(word) <= set("|&;<>()")]
        words = shlex.split(command)
    except ValueError as fault:
        raise UsageError(f"cannot read the command: {fault}", hint="check its quotes") from fault
    if signs:
        raise UsageError(f"{signs[0]} needs a shell", hint="give --shell, or one command only")
    return Check(tuple(words), **more)


def _declared(status: str) -> str:
    return {"failed": "failing", "complete": "passing", "completed": "passing", "stale": "testing"}.get(
        status, status
    )


def _covers(value: Texts) -> tuple[str, ...]:
    found = []
    for one in texts(value):
        path = posixpath.normpath(one.strip()) if one.strip() else ""
        if path.startswith(("/", "..")):
            raise UsageError(f"{one} is not in the working tree", hint="give a glob from its top")
        found += [path] if path else []
    return tuple(dict.fromkeys(found))


def _id_of(body: ev.Body | None) -> str:
    about = (ev.FeatureAdded, ev.FeatureChanged, ev.FeatureRemoved, ev.FeatureMoved)
    return body.id if isinstance(body, about) else ""


def stream_of_tree(root: Path) -> str:
    """A name for what is remembered of a tree."""
    from ..workspace.working_tree import tree_stream

    return tree_stream(str(root)).rpartition("/")[2]


def feature_id(description: str, taken: Iterable[str]) -> str:
    """An id made of a description, unlike those that are taken."""
    base = slug(clean_text(description, limit=1 << 20), limit=48)
    used, name, number = set(taken), base, 1
    while name in used:
        number += 1
        name = f"{base}-{number}"
    return name


__all__ = ["Audit", "FeatureList", "Features", "declarer", "feature_id", "parsed", "steps_of", "unverified"]


def session_status(session: SessionHandle) -> SessionStatus:
    """What is done, under way, next and blocked in a session, and all the rest worth showing."""
    living, state = session.workspace.holds.living(session.id), session.state
    verdicts = Features(session).verdicts(state) if state.features else []
    held_by = ", ".join(f"{one.holder} ({one.run})" for one in living)
    return status_of(state, held_by=held_by, features=verdicts)


def complete_session(session: SessionHandle, summary: str = "", *, force: str = "") -> Saved:
    """The goal is reached. UnverifiedFeatures unless every feature is proven, or a reason is given."""
    if session.state.features:
        return Features(session).complete(summary, force=force)
    return session.commit_trusted((do.Complete(summary),))
