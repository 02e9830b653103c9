"""Features: the fold of their events, and the verdict. Nothing but evidence makes a feature pass.

A feature passes if every check of it ran and passed as it is defined now, every step that no check
proves was attested, and the covered files are what they were then. The last is handed in, as a hash
of now for each feature: a verdict is computed at reading and never remembered. Changing steps, checks or
covered paths, beginning a check, a declared failure: each takes the proof away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ..base.values import Value
from ..journal.body import Body
from ..sessions.state import Attested, Feature, FeatureChange, Ran, Reported, SessionState
from . import evidence as ev
from .evidence import PERSON, definition, passed, why_not

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


# -- fold --------------------------------------------------------------------------------------


def _put(state: SessionState, feature: Feature) -> Changes:
    return {"features": {**state.features, feature.id: feature}}


def _unproven(feature: Feature, **more: Any) -> Feature:
    return replace(feature, ran={}, attested={}, running=(), **more)


def _added(state: SessionState, body: ev.FeatureAdded, stamp: Any) -> Changes:
    if body.id in state.features:
        return {}
    feature = Feature(
        body.id, body.description, body.category, tuple(body.steps), tuple(body.checks), tuple(body.covers),
        claim=body.claim, source=body.source, by=stamp.actor, at=stamp.at,
    )  # fmt: skip
    return _put(state, feature)


def _changed(state: SessionState, body: ev.FeatureChanged, stamp: Any) -> Changes:
    old = state.features.get(body.id)
    if old is None:
        return {}
    new = replace(
        old,
        description=old.description if body.description is None else body.description,
        category=old.category if body.category is None else body.category,
        steps=old.steps if body.steps is None else tuple(body.steps),
        checks=old.checks if body.checks is None else tuple(body.checks),
        covers=old.covers if body.covers is None else tuple(body.covers),
        by=PERSON if stamp.actor == PERSON else old.by,
    )
    if definition_of(new) != definition_of(old) or steps_of(new) != steps_of(old):
        new = _unproven(new, reported=Reported())
    told = FeatureChange(body.id, "; ".join(differences(old, new)), stamp.actor, stamp.at, body.reason)
    return _put(state, new) | ({"feature_changes": (*state.feature_changes, told)} if told.what else {})


def differences(old: Feature, new: Feature) -> list[str]:
    """What a change did to a feature, in words; a category is nobody's concern."""
    found = ["description changed"] if old.description != new.description else []
    for name, before, after in (
        ("step", old.steps, new.steps),
        ("check", [c.text for c in old.checks], [c.text for c in new.checks]),
        ("covered path", old.covers, new.covers),
    ):
        gone = [one for one in before if one not in after]
        come = [one for one in after if one not in before]
        found += [f"{name} removed: {one}" for one in gone] + [f"{name} added: {one}" for one in come]
    if not found and definition_of(old) != definition_of(new):
        found.append("how its checks are run or what they prove")
    return found


def _removed(state: SessionState, body: ev.FeatureRemoved, stamp: Any) -> Changes:
    if body.id not in state.features:
        return {}
    told = FeatureChange(body.id, "removed", stamp.actor, stamp.at, body.reason)
    rest = {id: feature for id, feature in state.features.items() if id != body.id}
    return {"features": rest, "feature_changes": (*state.feature_changes, told)}


def _moved(state: SessionState, body: ev.FeatureMoved, stamp: Any) -> Changes:
    old = state.features.get(body.id)
    if old is None or body.status not in DECLARED:
        return {}
    new = replace(
        old, status=body.status, reason=body.reason, implemented_by=body.implemented_by or old.implemented_by,
        notes=body.notes or old.notes, claim=body.claim or old.claim,
    )  # fmt: skip
    return _put(state, _unproven(new) if body.status == "failing" else new)


def _attested(state: SessionState, body: ev.StepAttested, stamp: Any) -> Changes:
    old = state.features.get(body.feature)
    known = old is not None and body.definition == definition_of(old)
    if old is None or not known or body.step not in unchecked_steps(old) or not (body.who and body.note):
        return {}
    told_by = "" if stamp.actor in (PERSON, body.who) else stamp.actor
    word = Attested(body.who, body.note, stamp.at, body.covered, told_by)
    return _put(state, _reopened(replace(old, attested={**old.attested, body.step: word})))


def _reopened(feature: Feature) -> Feature:
    """A failure that was declared gives way to a newer look."""
    return replace(feature, status="in_progress", reason="") if feature.status == "failing" else feature


def _begun(state: SessionState, body: ev.ChecksBegun, stamp: Any) -> Changes:
    old = state.features.get(body.feature)
    if old is None or body.definition != definition_of(old):
        return {}
    ran = {check: run for check, run in old.ran.items() if check not in body.checks}
    known = {check.hash for check in old.checks}
    running = dict.fromkeys([*old.running, *(check for check in body.checks if check in known)])
    return _put(state, _reopened(replace(old, ran=ran, running=tuple(running))))


def _ran(state: SessionState, body: ev.CheckRan, stamp: Any) -> Changes:
    old = state.features.get(body.feature)
    check = next((one for one in old.checks if one.hash == body.check), None) if old else None
    if old is None or check is None or body.definition != definition_of(old):
        return {}
    ok = passed(check, body)
    run = Ran(
        ok, stamp.at, stamp.version, body.covered, body.files, body.head, "" if ok else why_not(check, body),
        stamp.actor,
    )  # fmt: skip
    running = tuple(one for one in old.running if one != body.check)
    return _put(state, replace(old, ran={**old.ran, body.check: run}, running=running))


def _reported(state: SessionState, body: ev.CheckReported, stamp: Any) -> Changes:
    old = state.features.get(body.feature)
    if old is None:
        return {}
    told = Reported(body.source, body.passed, body.failed, body.first, stamp.at)
    return _put(state, replace(old, reported=told))


def _voided(state: SessionState, body: ev.EvidenceVoided, stamp: Any) -> Changes:
    return {
        "features": {
            id: _unproven(feature, claim=feature.claim or body.reason)
            if not body.feature or body.feature == id
            else feature
            for id, feature in state.features.items()
        }
    }


HANDLERS: dict[type[Body], Callable[[SessionState, Any, Any], Changes]] = {
    ev.FeatureAdded: _added,
    ev.FeatureChanged: _changed,
    ev.FeatureRemoved: _removed,
    ev.FeatureMoved: _moved,
    ev.StepAttested: _attested,
    ev.ChecksBegun: _begun,
    ev.CheckRan: _ran,
    ev.CheckReported: _reported,
    ev.EvidenceVoided: _voided,
}


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


def gate(state: SessionState, covered: Mapping[str, str], *, attest: bool = True) -> Gate:
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
