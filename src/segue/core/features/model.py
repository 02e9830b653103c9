"""Features: criteria of success, with what is known of their proof. Whether one passes is the verdict's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ..base.values import Part
from .checks import PERSON, Check


class Ran(Part):
    """The last run of a check of a feature as it is defined now."""

    ok: bool
    at: str = ""
    version: int = 0
    """The event that is the evidence."""
    covered: str = ""
    """The hash over the covered files."""
    files: int = 0
    head: str = ""
    first: str = ""
    """What a failure says first."""
    by: str = ""


class Attested(Part):
    """Somebody's word for a step that no check proves."""

    who: str
    note: str
    at: str = ""
    covered: str = ""
    told_by: str = ""
    """The agent that gave another's name; empty: whoever is named, or a person, said it."""

    @property
    def name(self) -> str:
        """Whose word it is, and through whom it came."""
        return f"{self.who}, told by {self.told_by}" if self.told_by else self.who


class Reported(Part):
    """What a report says that somebody else made: shown, and never a proof."""

    source: str = ""
    passed: int = 0
    failed: int = 0
    first: str = ""
    at: str = ""


class FeatureChange(Part):
    """Something of a feature was removed or changed on the way."""

    feature: str
    what: str
    by: str = ""
    at: str = ""
    reason: str = ""


class Feature(Part):
    """A criterion of success. Whether it passes is not in it: ``verdict.verdict_of`` says that."""

    id: str
    description: str
    category: str = ""
    steps: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    covers: tuple[str, ...] = ()
    """Globs; empty: the whole working tree."""
    status: str = "not_started"
    """As declared: not_started, in_progress, testing, blocked or failing."""
    reason: str = ""
    implemented_by: str = ""
    notes: str = ""
    claim: str = ""
    source: str = ""
    by: str = PERSON
    """``user`` if a person ever set any of it."""
    at: str = ""
    running: tuple[str, ...] = ()
    """Checks that were begun and of which nothing was heard since."""
    ran: dict[str, Ran] = {}
    attested: dict[str, Attested] = {}
    reported: Reported = Reported()


class HasFeatures(Protocol):
    """The state of a session, as far as its features go."""

    @property
    def features(self) -> Mapping[str, Feature]: ...
    @property
    def feature_changes(self) -> Iterable[FeatureChange]: ...
