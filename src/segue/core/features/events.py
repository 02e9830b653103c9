"""Events about features. People and agents declare them; only Segue records that a check ran.

No body here has a field that says "passing": whether a feature passes is computed from the evidence.
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
    """Globs. Empty means the whole working tree."""
    source: str = ""
    """The file that it was imported from."""
    claim: str = ""
    """What that file, or whoever declared the feature, says about it without proof."""


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
    """not_started, in_progress, testing, blocked or failing, but never passing."""
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
    """The hash of the covered files at that time."""
    head: str = ""


class ChecksBegun(Body):
    KIND = "checks.begun"
    feature: str
    definition: str
    checks: list[str]
    """The hashes of the checks that are about to run. Their earlier evidence no longer counts."""


class CheckRan(Body):
    KIND = "check.ran"
    feature: str
    definition: str
    check: str
    command: str
    exit_code: Small | None = None
    """None if the command did not exit by itself."""
    signal: Small = 0
    timed_out: bool = False
    found: bool = False
    """Whether the check's pattern was found in the output."""
    fault: str = ""
    """Why the command could not be run."""
    duration_seconds: Seconds = 0.0
    host: str = ""
    head: str = ""
    """The commit that was checked out."""
    covered: str = ""
    """The hash of the covered files before the run."""
    after: str = ""
    """The hash of the covered files after the run."""
    files: Large = 0
    output: str = ""
    """The hash of the masked output, under which it is stored."""
    output_bytes: Large = 0
    """How much was written, including what was not stored."""
    cut: bool = False
    tail: str = ""
    """The last lines, masked."""
    first: str = ""
    """The line that says most about a failure."""


class CheckReported(Body):
    KIND = "check.reported"
    feature: str
    source: str
    """The report file. Somebody else ran these tests."""
    passed: Small = 0
    failed: Small = 0
    first: str = ""
    digest: str = ""
    """The hash of the file."""
    head: str = ""
    """The commit that was checked out when the report was imported."""


class EvidenceVoided(Body):
    KIND = "evidence.voided"
    reason: str
    feature: str = ""
    """Empty means all features."""


class CheckTrusted(Body):
    KIND = "check.trusted"
    check: str
    command: str
