"""`/memories/ace/feature` and `…/features`: features in Aegis Memory's terms. A feature passes only if it is
proven or somebody attests it by name; a claim without a name does not make it pass.
"""

from __future__ import annotations

import msgspec

from ....api.session import Session
from ....core.features.verdict import Verdict, counted
from ....core.sessions.state import SessionState
from ....errors import UnknownFeature, UsageError
from ....services.server.aegis import progress
from ....services.server.aegis.progress import Label, ProgressUpdate
from ....services.server.session_index import only_session, shared_session
from ..server.route import Caller
from .base import DEFAULT, Name, Text, aegis_route, namespace_label

STATUSES = ("not_started", "in_progress", "blocked", "testing", "complete", "failed")
_OURS = {"complete": "passing", "completed": "passing", "failed": "failing", "stale": "testing"}
_THEIRS = {"passing": "complete", "failing": "failed", "stale": "testing"}


class FeatureIn(msgspec.Struct):
    """A feature to declare; if it exists already it stays as it is."""

    feature_id: Name
    description: Text
    session_id: Name | None = None
    namespace: str = DEFAULT
    category: str | None = None
    test_steps: list[str] | None = None


class FeatureChangeIn(msgspec.Struct):
    """The progress of a feature. That it passes is only a claim, unless ``verified_by`` attests it."""

    status: str | None = None
    passes: bool | None = None
    implemented_by: str | None = None
    verified_by: str | None = None
    implementation_notes: str | None = None
    failure_reason: str | None = None


class FeatureOut(msgspec.Struct):
    """A feature as clients of Aegis Memory read it."""

    id: str
    feature_id: str
    description: str
    status: str
    passes: bool
    updated_at: str
    category: str | None
    test_steps: list[str]
    implemented_by: str | None
    verified_by: str | None
    failure_reason: str | None
    session_id: str
    verdict: str
    """Segue's own status: ``passing`` means proven, ``stale`` means that it was proven."""


class FeatureListOut(msgspec.Struct):
    """Features, and counts of all of them by status."""

    features: list[FeatureOut]
    total: int
    passing: int
    failing: int
    in_progress: int


@aegis_route("POST", "/memories/ace/feature", role="writer")
def create_feature(caller: Caller, body: FeatureIn) -> FeatureOut:
    """Declare a feature; if the id exists already, that feature is returned unchanged."""
    workspace, label = caller.segue.workspace, namespace_label(body.namespace)
    id = body.session_id or ""
    if not id:
        found = caller.index.sessions_with(workspace, body.feature_id, label, strict=True)
        id = only_session(body.feature_id, found) if found else shared_session(label)
    if not workspace.repository.exists(id):
        goal = ProgressUpdate(summary=None if body.session_id else "Features that name no session")
        progress.create(workspace, id, Label(namespace=label), goal)
    session = Session(workspace, id)
    if body.feature_id not in session.state.features:
        session.features.create(
            body.feature_id, body.description, body.test_steps or (), "", body.category or ""
        )
    return _feature(session, body.feature_id)


@aegis_route("GET", "/memories/ace/feature/{id}", role="reader")
def get_feature(caller: Caller, id: str, namespace: str = DEFAULT, session_id: str = "") -> FeatureOut:
    """A feature as it is now. If several sessions have one of this id, ``session_id`` says which."""
    return _feature(_session_with(caller, id, namespace, session_id), id)


@aegis_route("PATCH", "/memories/ace/feature/{id}", role="writer", errors=(404, 409))
def update_feature(
    caller: Caller, id: str, body: FeatureChangeIn, namespace: str = DEFAULT, session_id: str = ""
) -> FeatureOut:
    """Declare the progress of a feature. ``verified_by`` attests it; a claim without a name does not make it
    pass. If several sessions have a feature of this id, ``session_id`` says which."""
    status = _our_status(body.status)
    if (body.passes is True and status == "failing") or (body.passes is False and status == "passing"):
        raise UsageError("it cannot both pass and fail", hint="give either status or passes")
    session = _session_with(caller, id, namespace, session_id)
    features, named = session.features, (body.verified_by or "").strip()
    caller.access.act_as(named)
    passes = body.passes is True or status == "passing" or bool(named and body.passes is None and not status)
    if passes and named:
        if body.implemented_by:
            features.update(id, implemented_by=body.implemented_by)
        features.mark_complete(id, named, body.implementation_notes or "")
    else:
        features.update(
            id, status=status, passes=True if passes else body.passes, notes=body.implementation_notes or "",
            failure_reason=body.failure_reason or "", implemented_by=body.implemented_by or "",
        )  # fmt: skip
    return _feature(session, id)


def list_features(
    caller: Caller, namespace: str = DEFAULT, session_id: str = "", status: str = ""
) -> FeatureListOut:
    """The features of a session or of a whole namespace, and counts of all of them by status."""
    wanted = _our_status(status or None)
    segue = caller.segue
    sessions = [segue.attach(session_id).id] if session_id else _sessions_with_features(caller, namespace)
    shown: list[FeatureOut] = []
    verdicts: list[Verdict] = []
    for id in sessions:
        session = Session(segue.workspace, id)
        state = session.state
        found = session.features.verdicts(state)
        verdicts += found
        shown += [_shown(state, one) for one in found]
    counts = counted(verdicts)
    theirs = _THEIRS.get(wanted, wanted)
    return FeatureListOut(
        [one for one in shown if theirs in ("", one.status)],
        counts.total, counts.passing, counts.failing, counts.in_progress,
    )  # fmt: skip


LIST_FEATURES = aegis_route("GET", "/memories/ace/features", role="reader")(list_features)


def _our_status(status: str | None) -> str:
    """Segue's status for one of Aegis Memory's. Raises UsageError for an unknown one."""
    if status is not None and status not in (*STATUSES, *_OURS, "passing", "failing"):
        raise UsageError(f"unknown status: {status[:40]!r}", hint="one of " + ", ".join(STATUSES))
    return _OURS.get(status or "", status or "")


def _session_with(caller: Caller, feature: str, namespace: str, session: str) -> Session:
    """The session that a feature belongs to. Raises UnknownFeature."""
    if session:
        return caller.segue.attach(session)
    found = caller.index.sessions_with(caller.segue.workspace, feature, namespace_label(namespace))
    return Session(caller.segue.workspace, only_session(feature, found))


def _sessions_with_features(caller: Caller, namespace: str) -> list[str]:
    """The sessions of a namespace that have features, ordered by id."""
    wanted, entries = namespace_label(namespace), caller.index.sessions(caller.segue.workspace)
    return sorted(name for name, one in entries.items() if one.features and one.label.namespace == wanted)


def _feature(session: Session, id: str) -> FeatureOut:
    state = session.state
    verdict = next((one for one in session.features.verdicts(state) if one.id == id), None)
    if verdict is None:
        raise UnknownFeature(f"there is no feature {id[:60]!r}", hint="list the features to see their ids")
    return _shown(state, verdict)


def _shown(state: SessionState, verdict: Verdict) -> FeatureOut:
    return FeatureOut(
        id=verdict.id, feature_id=verdict.id, description=verdict.description, passes=verdict.passes,
        status=_THEIRS.get(verdict.status, verdict.status), category=verdict.category or None,
        updated_at=verdict.proven_at or state.updated, test_steps=list(state.features[verdict.id].steps),
        implemented_by=verdict.implemented_by or None, verified_by=verdict.verified_by or None,
        failure_reason=verdict.reason or None, session_id=state.id, verdict=verdict.status,
    )  # fmt: skip
