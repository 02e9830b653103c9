"""The verdict on a feature, and the gate that a session must pass. Nothing but evidence makes one pass.

A feature passes if every check of it ran and passed as it is defined now, every step that no check
proves was attested, and the covered files are what they were then. The last is handed in, as a hash
of now for each feature: a verdict is computed at reading and never remembered. Changing steps, checks or
covered paths, beginning a check, a declared failure: each takes the proof away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.values import Value
from .checks import definition
from .model import Feature, FeatureChange, HasFeatures

DECLARED = ("not_started", "in_progress", "testing", "blocked", "failing")
STATUSES = ("not_started", "in_progress", "testing", "passing", "failing", "blocked", "stale")
GATE_BYTES_MAX = 1024
NOT_ATTESTED, NO_ATTESTING = "not attested", "has no check, and attesting is off"
NO_PROOF = "it has nothing that could prove it"

Changes = dict[str, Any]


def steps_of(feature: Feature) -> tuple[str, ...]:
    """What must be proven; without steps the feature itself."""
    return feature.steps or (feature.description,)


def definition_of(feature: Feature) -> str:
    """What evidence must be about."""
    return definition(feature.steps, feature.checks, feature.covers)


def unchecked_steps(feature: Feature) -> tuple[str, ...]:
    """Steps that no check proves: they need somebody's word."""
    if any(not check.proves for check in feature.checks):
        return ()
    proven = {number for check in feature.checks for number in check.proves}
    return tuple(step for number, step in enumerate(steps_of(feature), 1) if number not in proven)


# -- verdict -----------------------------------------------------------------------------------


class Verdict(Value):
    """What a feature is now, and why."""

    id: str
    description: str
    status: str
    """One of STATUSES."""
    reason: str = ""
    """What is wrong first; empty if nothing is."""
    category: str = ""
    attested: bool = False
    """Passing, in part or wholly, on somebody's word."""
    checks: int = 0
    proven_at: str = ""
    implemented_by: str = ""
    verified_by: str = ""

    @property
    def passes(self) -> bool:
        """Proven, and the covered files are what they were."""
        return self.status == "passing"


def verdict_of(feature: Feature, covered: str, *, attest: bool = True) -> Verdict:
    """The verdict, given the hash over the covered files of now; empty: it is not known."""
    status, reason = _judged(feature, covered, attest)
    words = [feature.attested[step] for step in unchecked_steps(feature) if step in feature.attested]
    runs = list(feature.ran.values())
    times, who = [*(one.at for one in words), *(one.at for one in runs)], [one.name for one in words]
    once = status in ("passing", "stale")
    return Verdict(
        feature.id, feature.description, status, reason, feature.category, bool(words), len(feature.checks),
        max(times, default="") if once else "", feature.implemented_by,
        ", ".join(dict.fromkeys([*who, *(one.by for one in runs)])) if once else "",
    )  # fmt: skip


def _judged(feature: Feature, covered: str, attest: bool) -> tuple[str, str]:
    failed = next((run for run in feature.ran.values() if not run.ok), None)
    if failed is not None:
        return "failing", failed.first
    if feature.status == "failing":
        return "failing", feature.reason or "declared as failing"
    open_checks = [check for check in feature.checks if check.hash not in feature.ran]
    wanted = unchecked_steps(feature)
    words = feature.attested if attest else {}
    open_steps = [step for step in wanted if step not in words]
    if open_checks or open_steps:
        return _open(feature, [check.text for check in open_checks], open_steps, attest)
    then = [run.covered for run in feature.ran.values()] + [words[step].covered for step in wanted]
    if not then:
        return feature.status, NO_PROOF
    if not covered:
        return "stale", "proven, and whether covered files changed since cannot be seen here"
    if any(one != covered for one in then):
        return "stale", "covered files changed since it was proven"
    return "passing", ""


def _open(feature: Feature, checks: list[str], steps: list[str], attest: bool) -> tuple[str, str]:
    if feature.status == "blocked":
        return "blocked", feature.reason or "blocked"
    if feature.reported.failed:
        source = feature.reported.source
        return "failing", feature.reported.first or f"{feature.reported.failed} failed in {source}"
    if feature.running:
        return "testing", "a check was begun and no result came"
    if checks:
        return feature.status, f"not run: {checks[0]}"
    need = NOT_ATTESTED if attest else NO_ATTESTING
    return feature.status, f"{need}: {steps[0]}"


class Counts(Value):
    """How many features there are, and how they stand."""

    total: int = 0
    passing: int = 0
    failing: int = 0
    in_progress: int = 0
    stale: int = 0


def counted(verdicts: Iterable[Verdict]) -> Counts:
    """The counts of verdicts; what is tested now is in progress."""
    found = [verdict.status for verdict in verdicts]
    busy = found.count("in_progress") + found.count("testing")
    return Counts(len(found), found.count("passing"), found.count("failing"), busy, found.count("stale"))


# -- the gate ----------------------------------------------------------------------------------


class Gate(Value):
    """Whether a session may be completed: the one decision of every surface."""

    ok: bool
    text: str
    """For people and agents: at most GATE_BYTES_MAX bytes."""
    counts: Counts
    unproven: tuple[Verdict, ...] = ()
    changes: tuple[str, ...] = ()
    hint: str = ""
    """What to do about it."""


def gate(state: HasFeatures, covered: Mapping[str, str], *, attest: bool = True) -> Gate:
    """All proven, or a refusal that says of each feature what is wrong first."""
    verdicts = [verdict_of(one, covered.get(id, ""), attest=attest) for id, one in state.features.items()]
    counts = counted(verdicts)
    order = {"failing": 0, "stale": 1}
    unproven = sorted((v for v in verdicts if not v.passes), key=lambda v: order.get(v.status, 2))
    changes = tuple(change_words(change) for change in state.feature_changes)
    if not verdicts:
        return Gate(True, "No features: nothing was proven.", counts, changes=changes)
    if not unproven:
        words = sum(verdict.attested for verdict in verdicts)
        told = f"all {counts.total} features are proven" if counts.total > 1 else "the feature is proven"
        told += f", {words} of them on somebody's word" if words else ""
        return Gate(True, told, counts, changes=changes)
    hint = "; ".join(dict.fromkeys(_way_on(verdict) for verdict in unproven))
    return Gate(False, _refusal(unproven, counts), counts, tuple(unproven), changes, hint)


def _way_on(verdict: Verdict) -> str:
    """What would prove it."""
    if verdict.reason.startswith(NOT_ATTESTED):
        return "attest what no check proves: `segue feature attest NAME --note TEXT`"
    if verdict.reason.startswith((NO_PROOF, NO_ATTESTING)):
        return "give it a check: `segue feature change NAME --check COMMAND`"
    return "prove them with `segue verify`"


def change_words(change: FeatureChange) -> str:
    """A change of a feature in a line."""
    why = f" ({change.reason})" if change.reason else ""
    return f"{change.feature}: {change.what}, by {change.by}{why}"


def _refusal(unproven: list[Verdict], counts: Counts) -> str:
    kinds: dict[str, int] = {}
    for verdict in unproven:
        kind = verdict.status if verdict.status in ("failing", "stale", "blocked") else "not proven"
        kinds[kind] = kinds.get(kind, 0) + 1
    parts = [f"{number} {kind}" for kind, number in kinds.items()]
    parts[0] = parts[0].replace(" ", " feature " if parts[0][:2] == "1 " else " features ", 1)
    text = f"{', '.join(parts)}; {counts.passing} of {counts.total} proven"
    for place, verdict in enumerate(unproven):
        reason = " ".join(verdict.reason.split())
        line = f"\n- {_cut(verdict.id, 80)} {verdict.status}: {_cut(reason, 160)}"
        left = len(unproven) - place - 1
        more = f"\n… and {left} more" if left else ""
        if len((text + line + more).encode()) > GATE_BYTES_MAX:
            return text + f"\n… and {left + 1} more"
        text += line
    return text


def _cut(text: str, size: int) -> str:
    """At most so many bytes of UTF-8, the end marked."""
    body = text.encode()
    return text if len(body) <= size else body[: size - 3].decode(errors="ignore") + "…"


def had_passed(feature: Feature) -> bool:
    """Whether every check of a feature had passed when it ran last."""
    return bool(feature.checks) and all(
        check.hash in feature.ran and feature.ran[check.hash].ok for check in feature.checks
    )
