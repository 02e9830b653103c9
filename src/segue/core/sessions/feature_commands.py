"""Commands about features.

The actor matters here: an agent may add to what a person set, but may not remove or weaken it. No command
makes a feature pass. ``RecordRun`` and ``BeginChecks`` record what Segue itself did, so only the service that
runs checks may issue them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from ..base.values import count, parse_digits
from ..features import events as feature_events
from ..features.checks import PERSON, Check
from ..features.model import DEFINED, Feature
from ..features.verdict import DECLARED, definition_of, steps_of, unchecked_steps
from .command import Bodies, Command, Refusal
from .state import SessionState

_ONLY_ADD = "you may add steps, checks and covered paths, but not change or remove them"


class _Signed(Command):
    SIGNED: ClassVar[bool] = True


def _unknown_feature(id: str) -> Refusal:
    return Refusal("unknown_feature", f"there is no feature {id!r}", "`segue feature list` shows them")


def _signed_checks(checks: Sequence[Check], steps: int, by: str, source: str) -> tuple[Check, ...] | Refusal:
    """The checks without duplicates, with their author set; a refusal if one of them is not valid."""
    signed: dict[str, Check] = {}
    for check in checks:
        if not check.command or not all(check.command[:1]):
            return Refusal("usage", "a check needs a command", "for example: --check 'pytest -q'")
        wrong = next((number for number in check.proves if not 1 <= number <= max(1, steps)), None)
        if wrong is not None:
            message = f"there is no step {wrong}; the feature has {count(steps, 'step')}"
            return Refusal("usage", message, "steps are numbered from 1")
        signed.setdefault(check.hash, replace(check, by=by, source=source))
    return tuple(signed.values())


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
        checks = _signed_checks(self.checks, len(self.steps), self.by, self.source)
        if isinstance(checks, Refusal):
            return checks
        steps = tuple(dict.fromkeys(self.steps))
        old = state.features.get(self.id)
        if old is not None:
            before = (old.description, old.steps, [c.hash for c in old.checks], old.covers)
            if before == (self.description, steps, [c.hash for c in checks], self.covers):
                return []
            hint = "change it with `segue feature change`"
            return Refusal("feature_exists", f"feature {self.id!r} exists already", hint)
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
            return _unknown_feature(self.id)
        steps = old.steps if self.steps is None else tuple(dict.fromkeys(self.steps))
        checks = self._checks(old, len(steps))
        if isinstance(checks, Refusal):
            return checks
        given = {name: value for name in DEFINED if (value := getattr(self, name)) is not None}
        new = replace(old, **{**given, "steps": steps, "checks": checks})
        if new == old:
            return []
        if self.by != PERSON and old.by == PERSON and (weaker := _weaker(old, new)):
            return Refusal("refused", f"{self.id} was set by a person: {weaker}", _ONLY_ADD)
        changed = {name: value for name in DEFINED if (value := getattr(new, name)) != getattr(old, name)}
        lists: dict[str, Any] = {
            name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()
        }
        return [feature_events.FeatureChanged(self.id, **lists, reason=self.reason, source=self.source)]

    def _checks(self, old: Feature, steps: int) -> tuple[Check, ...] | Refusal:
        """The checks after the change. Those that were there before keep their author."""
        if self.checks is None:
            return old.checks
        checks = _signed_checks(self.checks, steps, self.by, self.source)
        if isinstance(checks, Refusal):
            return checks
        known = {check.hash: check for check in old.checks}
        return tuple(
            replace(check, by=known[check.hash].by, source=known[check.hash].source)
            if check.hash in known
            else check
            for check in checks
        )


def _weaker(old: Feature, new: Feature) -> str:
    """Why a change would make a feature easier to prove; empty if it would not."""
    if old.description != new.description:
        return "an agent may not change its description"
    if new.steps[: len(old.steps)] != old.steps or (not old.steps and new.steps):
        return "an agent may not remove or change its steps"
    proves = {check.hash: check.proves for check in new.checks}
    if any(proves.get(check.hash) != check.proves for check in old.checks):
        return "an agent may not remove or change its checks"
    if old.covers != new.covers and (not old.covers or not set(old.covers) <= set(new.covers)):
        return "an agent may not reduce what it covers"
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
            return _unknown_feature(self.id)
        if self.by != PERSON and old.by == PERSON:
            message = f"{self.id} was set by a person: an agent may not remove it"
            return Refusal("refused", message, _ONLY_ADD)
        return [feature_events.FeatureRemoved(self.id, self.reason)]


class MoveFeature(Command):
    """Set the declared status of a feature. ``passing`` cannot be declared."""

    id: str
    status: str
    reason: str = ""
    implemented_by: str = ""
    notes: str = ""
    claim: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.id)
        if old is None:
            return _unknown_feature(self.id)
        if self.status not in DECLARED:
            return Refusal("usage", f"unknown status: {self.status}", "use one of " + ", ".join(DECLARED))
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
    """Attest, with a name and a note, to a step that no check proves. The service fills in ``covered``."""

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
            return _unknown_feature(self.feature)
        step = self.step
        if step[:1] == "#" and 0 < parse_digits(step[1:]) <= len(steps_of(old)):
            step = steps_of(old)[parse_digits(step[1:]) - 1]
        if step not in steps_of(old):
            return Refusal("usage", f"{self.feature} has no step {step!r}", "see `segue feature show`")
        if step not in unchecked_steps(old):
            return Refusal(
                "refused",
                f"a check proves {step!r}, so it cannot be attested",
                "run the check with `segue verify`",
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
    WITNESSED: ClassVar[bool] = True
    feature: str
    definition: str
    checks: tuple[str, ...]

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        old = state.features.get(self.feature)
        if old is None:
            return _unknown_feature(self.feature)
        if definition_of(old) != self.definition:
            message = f"{self.feature} was changed in the meantime"
            return Refusal("conflict", message, "run `segue verify` again")
        return [feature_events.ChecksBegun(self.feature, self.definition, list(self.checks))]


class RecordRun(Command):
    """Record what Segue observed when it ran a check."""

    WITNESSED: ClassVar[bool] = True
    ran: feature_events.CheckRan

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        return [self.ran] if self.ran.feature in state.features else _unknown_feature(self.ran.feature)


class Report(Command):
    """Record what somebody else's test report says. It is shown, but proves nothing."""

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
            return _unknown_feature(self.feature)
        known = old.reported
        if (known.source, known.passed, known.failed, known.first) == (
            self.source, self.passed, self.failed, self.first,
        ):  # fmt: skip
            return []
        return [
            feature_events.CheckReported(
                self.feature, self.source, self.passed, self.failed, self.first, self.digest, self.head
            )
        ]  # fmt: skip
