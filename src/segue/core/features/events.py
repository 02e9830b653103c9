"""What stands in the journal about features: declared by people and agents, observed by Segue alone.

No body here has a field that says \"passing\".
"""

from __future__ import annotations

from ..journal.event import Body
from .checks import Check, Large, Seconds, Small


class FeatureAdded(Body):
    KIND = "feature.added"
    id: str
    description: str
    category: str = ""
    steps: list[str] = []
    checks: list[Check] = []
    covers: list[str] = []
    """Globs; empty: the whole working tree."""
    source: str = ""
    """The file that it was imported from."""
    claim: str = ""
    """What that file, or whoever declared it, said of it without proof."""


class FeatureChanged(Body):
    KIND = "feature.changed"
    id: str
    description: str | None = None
    category: str | None = None
    steps: list[str] | None = None
    checks: list[Check] | None = None
    covers: list[str] | None = None
    reason: str = ""
    source: str = ""


class FeatureRemoved(Body):
    KIND = "feature.removed"
    id: str
    reason: str = ""


class FeatureMoved(Body):
    KIND = "feature.moved"
    id: str
    status: str
    """not_started, in_progress, testing, blocked or failing: never passing."""
    reason: str = ""
    implemented_by: str = ""
    notes: str = ""
    claim: str = ""


class StepAttested(Body):
    KIND = "step.attested"
    feature: str
    step: str
    who: str
    note: str
    definition: str = ""
    covered: str = ""
    """The hash over the covered files at that moment."""
    head: str = ""


class ChecksBegun(Body):
    KIND = "checks.begun"
    feature: str
    definition: str
    checks: list[str]
    """The hashes of those that run now: what was known of them no longer counts."""


class CheckRan(Body):
    KIND = "check.ran"
    feature: str
    definition: str
    check: str
    command: str
    exit_code: Small | None = None
    """None if it did not come to an end by itself."""
    signal: Small = 0
    timed_out: bool = False
    found: bool = False
    """Whether the pattern was found, if there is one."""
    fault: str = ""
    """Why it could not be run."""
    duration_seconds: Seconds = 0.0
    host: str = ""
    head: str = ""
    """The commit that was checked out."""
    covered: str = ""
    """The hash over the covered files before it ran."""
    after: str = ""
    """The same hash when it had ended."""
    files: Large = 0
    output: str = ""
    """The hash of the whole output, masked, as it is kept."""
    output_bytes: Large = 0
    """How much it wrote, also what was left out."""
    cut: bool = False
    tail: str = ""
    """The last lines, masked."""
    first: str = ""
    """The line that tells most of a failure."""


class CheckReported(Body):
    KIND = "check.reported"
    feature: str
    source: str
    """The file: somebody else ran this."""
    passed: Small = 0
    failed: Small = 0
    first: str = ""
    digest: str = ""
    """The hash of the file."""
    head: str = ""
    """The commit that was checked out when it was taken in."""


class EvidenceVoided(Body):
    KIND = "evidence.voided"
    reason: str
    feature: str = ""
    """Empty: of all features."""


class CheckTrusted(Body):
    KIND = "check.trusted"
    check: str
    command: str
