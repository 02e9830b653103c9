"""Commands about features, and what they come to.

Who declares something counts here: an agent may add to what a person set, and may not drop or weaken it.
There is no command that makes a feature pass. ``RecordRun`` and ``BeginChecks`` say what Segue itself
did, and are taken from the service that runs checks, from nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..base.values import parse_digits
from ..features import events as feature_events
from ..features.checks import PERSON, Check
from ..features.model import Feature
from ..features.verdict import DECLARED, definition_of, steps_of, unchecked_steps
from .command import Bodies, Command, Refusal
from .state import SessionState

_WHOLE = "its own steps, checks and covered paths stay; new ones may be added"


class _Signed(Command):
    SIGNED: ClassVar[bool] = True


def _unknown(id: str) -> Refusal:
    return Refusal("unknown_feature", f"there is no feature {id!r}", "`segue feature list` names them")


def _checks(checks: Sequence[Check], steps: int, by: str, source: str) -> tuple[Check, ...] | Refusal:
    """The checks, signed, each once; a refusal if one proves a step that is not there."""
    found: dict[str, Check] = {}
    for check in checks:
        if not check.command or not all(check.command[:1]):
            return Refusal("usage", "a check without a command", "for example: --check 'pytest -q'")
        wrong = next((number for number in check.proves if not 1 <= number <= max(1, steps)), None)
        if wrong is not None:
            return Refusal("usage", f"there is no step {wrong}: the feature has {steps}", "count from 1")
        found.setdefault(check.hash, replace(check, by=by, source=source))
    return tuple(found.values())


class AddFeature(_Signed):
    id: str
    description: str
    category: str = ""
    steps: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    covers: tuple[str, ...] = ()
    source: str = ""
    claim: str = ""
    by: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        checks = _checks(self.checks, len(self.steps), self.by, self.source)
        if isinstance(checks, Refusal):
            return checks
        steps = tuple(dict.fromkeys(self.steps))
        old = state.features.get(self.id)
        if old is not None:
            same = (old.description, old.steps, [c.hash for c in old.checks], old.covers)
            if same == (self.description, steps, [c.hash for c in checks], self.covers):
                return []
            return Refusal(
                "feature_exists", f"there is a feature {self.id!r} already", "see `segue feature change`"
            )
        return [
            feature_events.FeatureAdded(
                self.id, self.description, self.category, list(steps), list(checks), list(self.covers),
                self.source, self.claim,
            )
        ]  # fmt: skip


class ChangeFeature(_Signed):
    CLASHES = ("feature.changed", "feature.removed")
    LOOKS = True
    id: str
    description: str | None = None
    category: str | None = None
    steps: tuple[str, ...] | None = None
    checks: tuple[Check, ...] | None = None
    covers: tuple[str, ...] | None = None
    reason: str = ""
    source: str = ""
    by: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.id)
        if old is None:
            return _unknown(self.id)
        steps = old.steps if self.steps is None else tuple(dict.fromkeys(self.steps))
        checks = self._checks(old, len(steps))
        if isinstance(checks, Refusal):
            return checks
        new = replace(
            old, steps=steps, checks=checks, covers=old.covers if self.covers is None else self.covers,
            description=old.description if self.description is None else self.description,
            category=old.category if self.category is None else self.category,
        )  # fmt: skip
        if new == old:
            return []
        if self.by != PERSON and old.by == PERSON and (weaker := _weaker(old, new)):
            return Refusal("refused", f"{self.id} was set by a person, and {weaker}", _WHOLE)
        return [
            feature_events.FeatureChanged(
                self.id,
                new.description if new.description != old.description else None,
                new.category if new.category != old.category else None,
                list(steps) if steps != old.steps else None,
                list(checks) if checks != old.checks else None,
                list(new.covers) if new.covers != old.covers else None,
                self.reason,
                self.source,
            )
        ]

    def _checks(self, old: Feature, steps: int) -> tuple[Check, ...] | Refusal:
        """Old ones stay whose they were."""
        if self.checks is None:
            return old.checks
        mine = _checks(self.checks, steps, self.by, self.source)
        if isinstance(mine, Refusal):
            return mine
        known = {check.hash: check for check in old.checks}
        return tuple(
            replace(check, by=known[check.hash].by, source=known[check.hash].source)
            if check.hash in known
            else check
            for check in mine
        )


def _weaker(old: Feature, new: Feature) -> str:
    """How a feature would be easier to prove than before; empty if it would not."""
    if old.description != new.description:
        return "an agent may not say otherwise what it is"
    if new.steps[: len(old.steps)] != old.steps or (not old.steps and new.steps):
        return "an agent may not drop or change its steps"
    kept = {check.hash: check.proves for check in new.checks}
    if any(kept.get(check.hash) != check.proves for check in old.checks):
        return "an agent may not drop or change its checks"
    if old.covers != new.covers and (not old.covers or not set(old.covers) <= set(new.covers)):
        return "an agent may not cover less"
    return ""


class RemoveFeature(_Signed):
    CLASHES = ("feature.changed",)
    LOOKS = True
    id: str
    reason: str = ""
    by: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.id)
        if old is None:
            return _unknown(self.id)
        if self.by != PERSON and old.by == PERSON:
            return Refusal("refused", f"{self.id} was set by a person: an agent may not drop it", _WHOLE)
        return [feature_events.FeatureRemoved(self.id, self.reason)]


class MoveFeature(Command):
    """Say how far it is. Nobody can say that it passes."""

    id: str
    status: str
    reason: str = ""
    implemented_by: str = ""
    notes: str = ""
    claim: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.id)
        if old is None:
            return _unknown(self.id)
        if self.status not in DECLARED:
            return Refusal("usage", f"unknown status: {self.status}", "one of " + ", ".join(DECLARED))
        now = (old.status, old.reason, old.implemented_by, old.notes, old.claim)
        new = (
            self.status, self.reason, self.implemented_by or old.implemented_by, self.notes or old.notes,
            self.claim or old.claim,
        )  # fmt: skip
        if now == new and not (self.status == "failing" and (old.ran or old.attested)):
            return []
        return [
            feature_events.FeatureMoved(
                self.id, self.status, self.reason, self.implemented_by, self.notes, self.claim
            )
        ]  # fmt: skip


class AttestStep(Command):
    """Give a name and a note for a step that no check proves. The service adds what is covered."""

    LOOKS = True
    WITNESSED: ClassVar[bool] = True
    feature: str
    step: str
    who: str
    note: str
    covered: str = ""
    head: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.feature)
        if old is None:
            return _unknown(self.feature)
        step = self.step
        if step[:1] == "#" and 0 < parse_digits(step[1:]) <= len(steps_of(old)):
            step = steps_of(old)[parse_digits(step[1:]) - 1]
        if step not in steps_of(old):
            return Refusal("usage", f"{self.feature} has no step {step!r}", "see `segue feature show`")
        if step not in unchecked_steps(old):
            return Refusal(
                "refused",
                f"a check proves {step!r}: nobody's word counts there",
                "run it with `segue verify`",
            )
        word = old.attested.get(step)
        if word and (word.who, word.note, word.covered) == (self.who, self.note, self.covered):
            return []
        return [
            feature_events.StepAttested(
                self.feature, step, self.who, self.note, definition_of(old), self.covered, self.head
            )
        ]  # fmt: skip


class BeginChecks(Command):
    LOOKS = True
    WITNESSED: ClassVar[bool] = True
    feature: str
    definition: str
    checks: tuple[str, ...]

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.feature)
        if old is None:
            return _unknown(self.feature)
        if definition_of(old) != self.definition:
            return Refusal("conflict", f"{self.feature} was changed meanwhile", "run `segue verify` again")
        return [feature_events.ChecksBegun(self.feature, self.definition, list(self.checks))]


class RecordRun(Command):
    """What Segue saw when it ran a check."""

    WITNESSED: ClassVar[bool] = True
    ran: feature_events.CheckRan

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        return [self.ran] if self.ran.feature in state.features else _unknown(self.ran.feature)


class Report(Command):
    """What a report of somebody else says: shown, never a proof."""

    feature: str
    source: str
    passed: int = 0
    failed: int = 0
    first: str = ""
    digest: str = ""
    head: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.feature)
        if old is None:
            return _unknown(self.feature)
        told = old.reported
        if (told.source, told.passed, told.failed, told.first) == (
            self.source, self.passed, self.failed, self.first,
        ):  # fmt: skip
            return []
        return [
            feature_events.CheckReported(
                self.feature, self.source, self.passed, self.failed, self.first, self.digest, self.head
            )
        ]  # fmt: skip
