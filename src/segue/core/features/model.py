"""A feature as part of a session's state, with the evidence for it.

Whether it passes is not stored: ``verdict.verdict_of`` computes that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ..base.values import Part
from .checks import PERSON, Check


class Ran(Part):
    """The last run of a check, for the feature as it is defined now."""

    ok: bool
    at: str = ""
    version: int = 0
    """The version of the event that is the evidence."""
    covered: str = ""
    """The hash of the covered files."""
    files: int = 0
    head: str = ""
    first: str = ""
    """The line that says most about a failure."""
    by: str = ""


class Attested(Part):
    """Somebody's word that a step holds which no check proves."""

    who: str
    note: str
    at: str = ""
    covered: str = ""
    told_by: str = ""
    """The agent that attested in somebody else's name; empty if ``who`` attested, or a person recorded it."""

    @property
    def name(self) -> str:
        """Whose word it is, and which agent passed it on."""
        return f"{self.who}, reported by {self.told_by}" if self.told_by else self.who


class Reported(Part):
    """What somebody else's test report says. It is shown, but proves nothing."""

    source: str = ""
    passed: int = 0
    failed: int = 0
    first: str = ""
    at: str = ""


class FeatureChange(Part):
    """A removal or a change of a feature that weakens what was to be proven."""

    feature: str
    what: str
    by: str = ""
    at: str = ""
    reason: str = ""


class Feature(Part):
    """A criterion of success."""

    id: str
    description: str
    category: str = ""
    steps: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    covers: tuple[str, ...] = ()
    """Globs. Empty means the whole working tree."""
    status: str = "not_started"
    """The declared status: not_started, in_progress, testing, blocked or failing."""
    reason: str = ""
    implemented_by: str = ""
    notes: str = ""
    claim: str = ""
    source: str = ""
    by: str = PERSON
    """``user`` if a person ever set any part of it."""
    at: str = ""
    running: tuple[str, ...] = ()
    """Checks that were started and have no result yet."""
    ran: dict[str, Ran] = {}
    attested: dict[str, Attested] = {}
    reported: Reported = Reported()


DEFINED = ("description", "category", "steps", "checks", "covers")
"""The fields that define a feature and that a change may set."""


class HasFeatures(Protocol):
    """What the gate needs of a session's state."""

    @property
    def features(self) -> Mapping[str, Feature]: ...
    @property
    def feature_changes(self) -> Iterable[FeatureChange]: ...
