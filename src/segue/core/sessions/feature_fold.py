"""The fold of feature events into the state of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ..features import events as ev
from ..features.checks import PERSON
from ..features.evidence import passed, why_not
from ..features.model import DEFINED, Attested, Feature, FeatureChange, Ran, Reported
from ..features.verdict import DECLARED, definition_of, steps_of, unchecked_steps
from ..journal.event import Body
from .state import SessionState

Changes = dict[str, Any]


def _put(state: SessionState, feature: Feature) -> Changes:
    return {"features": {**state.features, feature.id: feature}}


def _unproven(feature: Feature, **changes: Any) -> Feature:
    return replace(feature, ran={}, attested={}, running=(), **changes)


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
    given = {name: value for name in DEFINED if (value := getattr(body, name)) is not None}
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    new = replace(old, **changes, by=PERSON if stamp.actor == PERSON else old.by)
    if definition_of(new) != definition_of(old) or steps_of(new) != steps_of(old):
        new = _unproven(new, reported=Reported())
    change = FeatureChange(body.id, "; ".join(differences(old, new)), stamp.actor, stamp.at, body.reason)
    return _put(state, new) | ({"feature_changes": (*state.feature_changes, change)} if change.what else {})


def differences(old: Feature, new: Feature) -> list[str]:
    """What changed in a feature, in words. A change of its category does not count."""
    changes = ["description changed"] if old.description != new.description else []
    for name, before, after in (
        ("step", old.steps, new.steps),
        ("check", [c.text for c in old.checks], [c.text for c in new.checks]),
        ("covered path", old.covers, new.covers),
    ):
        changes += [f"{name} removed: {text}" for text in before if text not in after]
        changes += [f"{name} added: {text}" for text in after if text not in before]
    if not changes and definition_of(old) != definition_of(new):
        changes.append("how its checks are run or what they prove")
    return changes


def _removed(state: SessionState, body: ev.FeatureRemoved, stamp: Any) -> Changes:
    if body.id not in state.features:
        return {}
    change = FeatureChange(body.id, "removed", stamp.actor, stamp.at, body.reason)
    rest = {id: feature for id, feature in state.features.items() if id != body.id}
    return {"features": rest, "feature_changes": (*state.feature_changes, change)}


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
    """The feature, no longer declared as failing, because it is being looked at anew."""
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
    check = next((check for check in old.checks if check.hash == body.check), None) if old else None
    if old is None or check is None or body.definition != definition_of(old):
        return {}
    ok = passed(check, body)
    run = Ran(
        ok, stamp.at, stamp.version, body.covered, body.files, body.head, "" if ok else why_not(check, body),
        stamp.actor,
    )  # fmt: skip
    running = tuple(hash for hash in old.running if hash != body.check)
    return _put(state, replace(old, ran={**old.ran, body.check: run}, running=running))


def _reported(state: SessionState, body: ev.CheckReported, stamp: Any) -> Changes:
    old = state.features.get(body.feature)
    if old is None:
        return {}
    reported = Reported(body.source, body.passed, body.failed, body.first, stamp.at)
    return _put(state, replace(old, reported=reported))


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
