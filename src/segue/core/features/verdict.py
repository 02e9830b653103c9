"""The verdict on a feature, and the gate that a session must pass to be completed.

A feature passes if every check of it, as it is defined now, has run and passed, every step that no check
proves was attested, and the covered files have not changed since. Callers pass in the current hash of the
covered files; a verdict is computed whenever it is needed and never stored. Changing steps, checks or covered
paths, starting a check, and declaring a failure all invalidate the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..base.values import Value
from .checks import definition
from .model import Feature, FeatureChange, HasFeatures

DECLARED = ("not_started", "in_progress", "testing", "blocked", "failing")
STATUSES = ("not_started", "in_progress", "testing", "passing", "failing", "blocked", "stale")
GATE_BYTES_MAX = 1024
NOT_ATTESTED, NO_ATTESTING = "not attested", "has no check, and attesting is off"
NO_PROOF = "it has no check and no step that could prove it"


def steps_of(feature: Feature) -> tuple[str, ...]:
    """The steps that must be proven. A feature without steps has one: its description."""
    return feature.steps or (feature.description,)


def definition_of(feature: Feature) -> str:
    """The identity of a feature's definition, which evidence must name to count."""
    return definition(feature.steps, feature.checks, feature.covers)


def unchecked_steps(feature: Feature) -> tuple[str, ...]:
    """The steps that no check proves, so that somebody has to attest to them."""
    if any(not check.proves for check in feature.checks):
        return ()
    proven = {number for check in feature.checks for number in check.proves}
    return tuple(step for number, step in enumerate(steps_of(feature), 1) if number not in proven)


# -- verdict -----------------------------------------------------------------------------------


class Verdict(Value):
    """The status of a feature at this moment, and the reason for it."""

    id: str
    description: str
    status: str
    """One of STATUSES."""
    reason: str = ""
    """The most important problem; empty if there is none."""
    category: str = ""
    attested: bool = False
    """Whether any part of the proof is an attestation."""
    checks: int = 0
    proven_at: str = ""
    implemented_by: str = ""
    verified_by: str = ""

    @property
    def passes(self) -> bool:
        return self.status == "passing"


def verdict_of(feature: Feature, covered: str, *, attest: bool = True) -> Verdict:
    """The verdict, given the current hash of the covered files, which is empty if they cannot be seen.

    Without ``attest`` attestations do not count.
    """
    status, reason = _status(feature, covered, attest)
    words = [feature.attested[step] for step in unchecked_steps(feature) if step in feature.attested]
    runs = list(feature.ran.values())
    was_proven = status in ("passing", "stale")
    proven_at = max([*(word.at for word in words), *(run.at for run in runs)], default="")
    verified_by = ", ".join(dict.fromkeys([*(word.name for word in words), *(run.by for run in runs)]))
    return Verdict(
        feature.id, feature.description, status, reason, feature.category, bool(words), len(feature.checks),
        proven_at if was_proven else "", feature.implemented_by, verified_by if was_proven else "",
    )  # fmt: skip


def _status(feature: Feature, covered: str, attest: bool) -> tuple[str, str]:
    failed = next((run for run in feature.ran.values() if not run.ok), None)
    if failed is not None:
        return "failing", failed.first
    if feature.status == "failing":
        return "failing", feature.reason or "declared as failing"
    open_checks = [check for check in feature.checks if check.hash not in feature.ran]
    unchecked = unchecked_steps(feature)
    words = feature.attested if attest else {}
    open_steps = [step for step in unchecked if step not in words]
    if open_checks or open_steps:
        return _unproven_status(feature, [check.text for check in open_checks], open_steps, attest)
    hashes = [run.covered for run in feature.ran.values()] + [words[step].covered for step in unchecked]
    if not hashes:
        return feature.status, NO_PROOF
    if not covered:
        return "stale", "proven; whether covered files changed since then cannot be seen here"
    if any(hash != covered for hash in hashes):
        return "stale", "covered files changed since it was proven"
    return "passing", ""


def _unproven_status(feature: Feature, checks: list[str], steps: list[str], attest: bool) -> tuple[str, str]:
    if feature.status == "blocked":
        return "blocked", feature.reason or "blocked"
    if feature.reported.failed:
        source = feature.reported.source
        return "failing", feature.reported.first or f"{feature.reported.failed} failed in {source}"
    if feature.running:
        return "testing", "a check started but gave no result"
    if checks:
        return feature.status, f"not run: {checks[0]}"
    problem = NOT_ATTESTED if attest else NO_ATTESTING
    return feature.status, f"{problem}: {steps[0]}"


class Counts(Value):
    """How many features a session has, and how many of them have which status."""

    total: int = 0
    passing: int = 0
    failing: int = 0
    in_progress: int = 0
    stale: int = 0


def counted(verdicts: Iterable[Verdict]) -> Counts:
    """The counts of some verdicts. A feature that is being tested counts as in progress."""
    statuses = [verdict.status for verdict in verdicts]
    number = statuses.count
    in_progress = number("in_progress") + number("testing")
    return Counts(len(statuses), number("passing"), number("failing"), in_progress, number("stale"))


# -- the gate ----------------------------------------------------------------------------------


class Gate(Value):
    """The decision whether a session may be completed, the same for every surface."""

    ok: bool
    text: str
    """The decision in words, in at most GATE_BYTES_MAX bytes."""
    counts: Counts
    unproven: tuple[Verdict, ...] = ()
    changes: tuple[str, ...] = ()
    hint: str = ""
    """What would prove the unproven features."""


def gate(state: HasFeatures, covered: Mapping[str, str], *, attest: bool = True) -> Gate:
    """Whether all features are proven; if not, what is wrong with each.

    ``covered`` has the current hash of the covered files for each feature id.
    """
    features = state.features.items()
    verdicts = [verdict_of(feature, covered.get(id, ""), attest=attest) for id, feature in features]
    counts = counted(verdicts)
    order = {"failing": 0, "stale": 1}
    unproven = sorted((v for v in verdicts if not v.passes), key=lambda v: order.get(v.status, 2))
    changes = tuple(change_words(change) for change in state.feature_changes)
    if not verdicts:
        return Gate(True, "No features: nothing was proven.", counts, changes=changes)
    if not unproven:
        attested = sum(verdict.attested for verdict in verdicts)
        text = f"all {counts.total} features are proven" if counts.total > 1 else "the feature is proven"
        text += f", {attested} of them by attestation" if attested else ""
        return Gate(True, text, counts, changes=changes)
    hint = "; ".join(dict.fromkeys(_hint(verdict) for verdict in unproven))
    return Gate(False, _refusal(unproven, counts), counts, tuple(unproven), changes, hint)


def _hint(verdict: Verdict) -> str:
    if verdict.reason.startswith(NOT_ATTESTED):
        return "confirm what no check proves: `segue feature attest NAME --note TEXT`"
    if verdict.reason.startswith((NO_PROOF, NO_ATTESTING)):
        return "give it a check: `segue feature change NAME --check COMMAND`"
    return "prove them with `segue verify`"


def change_words(change: FeatureChange) -> str:
    """A change of a feature, in one line."""
    why = f" ({change.reason})" if change.reason else ""
    return f"{change.feature}: {change.what}, by {change.by}{why}"


def _refusal(unproven: list[Verdict], counts: Counts) -> str:
    kinds: dict[str, int] = {}
    for verdict in unproven:
        kind = verdict.status if verdict.status in ("failing", "stale", "blocked") else "not proven"
        kinds[kind] = kinds.get(kind, 0) + 1
    parts = [f"{number} {kind}" for kind, number in kinds.items()]
    parts[0] = parts[0].replace(" ", " feature " if parts[0][:2] == "1 " else " features ", 1)
    lines = (
        f"{_cut(verdict.id, 80)} {verdict.status}: {_cut(' '.join(verdict.reason.split()), 160)}"
        for verdict in unproven
    )
    return refusal(f"{', '.join(parts)}; {counts.passing} of {counts.total} proven", list(lines))


def refusal(text: str, lines: Sequence[str]) -> str:
    """Why work is not done: a summary, and a line for everything that is missing, in at most GATE_BYTES_MAX
    bytes."""
    for number, line in enumerate(lines, 1):
        left = len(lines) - number
        more = f"\n… and {left} more" if left else ""
        if len(f"{text}\n- {line}{more}".encode()) > GATE_BYTES_MAX:
            return f"{text}\n… and {left + 1} more"
        text += f"\n- {line}"
    return text


def _cut(text: str, size: int) -> str:
    """The text, shortened to ``size`` bytes of UTF-8 with an ellipsis if it is longer."""
    body = text.encode()
    return text if len(body) <= size else body[: size - 3].decode(errors="ignore") + "…"


def had_passed(feature: Feature) -> bool:
    """Whether the feature has checks and each of them passed when it last ran."""
    return bool(feature.checks) and all(
        check.hash in feature.ran and feature.ran[check.hash].ok for check in feature.checks
    )
