"""The API of Aegis Memory 2.7.0, on Segue: its unmodified SDK works, and nothing is lost.

The shapes are theirs, and so are the meanings, where they are sane. Where they are not: what is completed is
kept in order whoever writes; a create that comes twice gives the same answer; a status is one that there is;
that a feature passes is somebody's word with a name, or proven. Ids are a project's own. What is not what a
route takes is 422 here.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from ....api.segue import Segue
from ....api.session import Session
from ....core.features.verdict import Verdict, counted
from ....core.sessions.state import SessionState
from ....errors import UnknownFeature, UsageError
from ....services.server.aegis import progress
from ....services.server.aegis.progress import Label, ProgressUpdate, SessionProgress
from ....services.server.session_index import home_for
from ...render import compact
from ..server.route import Visit, route
from . import forms

TAGS = ("aegis",)


def whole(value: Any) -> bytes:
    """JSON of values that name every field as they are; a lone surrogate becomes a marked hole."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return compact(value)


aegis_route = partial(route, tags=TAGS, invalid=422, encode=whole)
STATUSES = ("not_started", "in_progress", "blocked", "testing", "complete", "failed")
_OURS = {"complete": "passing", "completed": "passing", "failed": "failing", "stale": "testing"}
_THEIRS = {"passing": "complete", "failing": "failed", "stale": "testing"}


def acting(visit: Visit, agent: str | None) -> str:
    """The agent that a request names, or that its key is bound to; NotAllowed if it is another's key."""
    return visit.access.act_as(agent or "")


# -- sessions --------------------------------------------------------------------------------------


@aegis_route("POST", "/memories/ace/session", need="writer", together=True)
def create_session(visit: Visit, data: forms.NewSession) -> SessionProgress:
    """A session; if there is one of this id already, that one as it is."""
    agent = acting(visit, data.agent_id)
    label = Label(namespace=own(data.namespace), agent=agent, user=data.user_id or "")
    return progress.create(visit.as_actor(agent).workspace, data.session_id, label)


@aegis_route("GET", "/memories/ace/session/{id}", need="reader")
def get_session(visit: Visit, id: str) -> SessionProgress:
    """How far a session is."""
    return progress.get(visit.segue.workspace, id)


@aegis_route("PATCH", "/memories/ace/session/{id}", need="writer", together=True)
def update_session(visit: Visit, id: str, data: forms.SessionChange) -> SessionProgress:
    """Say how far a session is; nobody else's word is lost by it."""
    blocked = data.blocked_items
    update = ProgressUpdate(
        data.completed_items, data.in_progress_item, data.next_items,
        None if blocked is None else [{"item": one.item, "reason": one.reason or ""} for one in blocked],
        data.summary, data.last_action, data.status, data.total_items,
    )  # fmt: skip
    return progress.change(visit.segue.workspace, id, update)


# -- features --------------------------------------------------------------------------------------


def own(namespace: str) -> str:
    """A namespace as labels say it."""
    return "" if namespace == forms.DEFAULT else namespace


@aegis_route("POST", "/memories/ace/feature", need="writer")
def create_feature(visit: Visit, data: forms.NewFeature) -> forms.FeatureOut:
    """Declare a feature; if there is one of this id already, that one as it is."""
    segue = visit.segue
    namespace = own(data.namespace)
    home = data.session_id or visit.index.home_of(segue.workspace, data.feature_id, namespace, strict=True)
    home = home or home_for(namespace)
    if not segue.workspace.repository.exists(home):
        goal = ProgressUpdate(summary=None if data.session_id else "Features that name no session")
        progress.create(segue.workspace, home, Label(namespace=namespace), goal)
    session = Session(segue.workspace, home)
    if data.feature_id not in session.state.features:
        session.features.create(
            data.feature_id, data.description, data.test_steps or (), "", data.category or ""
        )
    return _feature(session, data.feature_id)


@aegis_route("GET", "/memories/ace/feature/{id}", need="reader")
def get_feature(visit: Visit, id: str, namespace: str = forms.DEFAULT) -> forms.FeatureOut:
    """A feature as it is now."""
    return _feature(_home(visit, id, namespace), id)


@aegis_route("PATCH", "/memories/ace/feature/{id}", need="writer", errors=(404, 409))
def update_feature(
    visit: Visit, id: str, data: forms.FeatureChange, namespace: str = forms.DEFAULT
) -> forms.FeatureOut:
    """Say how far a feature is. ``verified_by`` attests; a claim without a name does not make it pass."""
    status = _known(data.status)
    if (data.passes is True and status == "failing") or (data.passes is False and status == "passing"):
        raise UsageError("it cannot pass and be failed", hint="give one of status and passes")
    session = _home(visit, id, namespace)
    features, named = session.features, (data.verified_by or "").strip()
    visit.access.act_as(named)
    passes = data.passes is True or status == "passing" or bool(named and data.passes is None and not status)
    if passes and named:
        if data.implemented_by:
            features.update(id, implemented_by=data.implemented_by)
        features.mark_complete(id, named, data.implementation_notes or "")
    else:
        features.update(
            id, status=status, passes=True if passes else data.passes, notes=data.implementation_notes or "",
            failure_reason=data.failure_reason or "", implemented_by=data.implemented_by or "",
        )  # fmt: skip
    return _feature(session, id)


@aegis_route("GET", "/memories/ace/features", need="reader")
def list_features(
    visit: Visit, namespace: str = forms.DEFAULT, session_id: str = "", status: str = ""
) -> forms.FeaturesOut:
    """Features of a session, or of all of a namespace, and how many of them are what."""
    return list_features_of(visit, namespace, session_id, status)


def list_features_of(
    visit: Visit, namespace: str, session_id: str = "", status: str = ""
) -> forms.FeaturesOut:
    """Features and their counts."""
    wanted = _known(status or None)
    segue = visit.segue
    homes = [segue.attach(session_id).id] if session_id else _homes(visit, namespace)
    shown: list[forms.FeatureOut] = []
    verdicts: list[Verdict] = []
    for home in homes:
        session = Session(segue.workspace, home)
        state = session.state
        found = session.features.verdicts(state)
        verdicts += found
        shown += [_shown(state, one) for one in found]
    counts = counted(verdicts)
    theirs = _THEIRS.get(wanted, wanted)
    return forms.FeaturesOut(
        [one for one in shown if theirs in ("", one.status)],
        counts.total, counts.passing, counts.failing, counts.in_progress,
    )  # fmt: skip


def _known(status: str | None) -> str:
    """A status in Segue's words; UsageError if there is none of that name."""
    if status is not None and status not in (*STATUSES, *_OURS, "passing", "failing"):
        raise UsageError(f"unknown status: {status[:40]!r}", hint="one of " + ", ".join(STATUSES))
    return _OURS.get(status or "", status or "")


def _home(visit: Visit, feature: str, namespace: str) -> Session:
    home = visit.index.home_of(visit.segue.workspace, feature, own(namespace))
    if not home:
        raise UnknownFeature(f"there is no feature {feature[:60]!r}", hint="list them, and see their ids")
    return Session(visit.segue.workspace, home)


def _homes(visit: Visit, namespace: str) -> list[str]:
    """The sessions with features of a namespace, in the order of their ids."""
    wanted, entries = own(namespace), visit.index.sessions(visit.segue.workspace)
    return sorted(name for name, one in entries.items() if one.features and one.label.namespace == wanted)


def _feature(session: Session, id: str) -> forms.FeatureOut:
    state = session.state
    verdict = next((one for one in session.features.verdicts(state) if one.id == id), None)
    if verdict is None:
        raise UnknownFeature(f"there is no feature {id[:60]!r}", hint="list them, and see their ids")
    return _shown(state, verdict)


def _shown(state: SessionState, verdict: Verdict) -> forms.FeatureOut:
    return forms.FeatureOut(
        id=verdict.id, feature_id=verdict.id, description=verdict.description, passes=verdict.passes,
        status=_THEIRS.get(verdict.status, verdict.status), category=verdict.category or None,
        updated_at=verdict.proven_at or state.updated, test_steps=list(state.features[verdict.id].steps),
        implemented_by=verdict.implemented_by or None, verified_by=verdict.verified_by or None,
        failure_reason=verdict.reason or None, session_id=state.id, verdict=verdict.status,
    )  # fmt: skip


def sessions_of(segue: Segue, visit: Visit, agent: str) -> list[str]:
    """The open sessions of an agent, the one that was worked on last first."""
    entries = visit.index.sessions(segue.workspace)
    found = [
        (entry.updated, name)
        for name, entry in entries.items()
        if entry.label.agent == agent and entry.status in ("created", "active", "paused")
    ]
    return [name for _, name in sorted(found, reverse=True)]


ROUTES = [
    create_session,
    get_session,
    update_session,
    create_feature,
    get_feature,
    update_feature,
    list_features,
]
