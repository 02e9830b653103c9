"""Features and their evidence over HTTP: declare, look, say how far one is, attest what no check proves.

Nothing here makes a feature pass. Checks are never run on the server: a client runs them where the code is
(`segue verify` with this server as its store) and the evidence comes with the events. A verdict here says
what the journal proves; whether covered files changed since cannot be seen from here, and what was proven in
a working tree is shown as stale.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ....core import event_kinds as ev
from ....core.features.checks import SECONDS_DEFAULT, Check
from ....core.features.evidence import TRUSTS
from ....core.features.verdict import STATUSES, Verdict
from ....errors import UsageError
from ....services.features.features import Audit, FeatureList, Features
from ....services.sessions.repository import Saved
from ...render import plain
from ..server.parameters import SAVED, Id, Name, Reason, Text, Wish, Word, session_of, with_more
from ..server.route import Visit, route

TAGS = ("features",)
PATH = "/v1/sessions/{id}/features"
Many = Annotated[list[Text], Meta(max_length=1_000)]
VERDICT = {
    "id": "jwt", "description": "Users log in with a JWT", "status": "not_started",
    "reason": "not run: pytest tests/test_auth.py -q", "category": "", "attested": False, "checks": 1,
    "proven_at": "", "implemented_by": "", "verified_by": "",
}  # fmt: skip


class CheckWish(Wish):
    """A command that proves steps, run by clients and never by the server."""

    command: Annotated[list[Text], Meta(min_length=1, max_length=1_000)]
    """Its words; with ``shell`` one text."""
    shell: bool = False
    folder: Text = ""
    environment: dict[Name, Text] = {}
    limit_seconds: Annotated[float, Meta(gt=0, le=86_400)] = SECONDS_DEFAULT
    proves: Annotated[list[Annotated[int, Meta(ge=1, le=1_000)]], Meta(max_length=1_000)] = []
    """Numbers of the steps, from 1; empty: all."""
    exit_code: Annotated[int, Meta(ge=-1_000, le=1_000)] = 0
    pattern: Text = ""


class NewFeature(Wish):
    """A feature to be declared; it is not proven."""

    id: Id
    description: Text
    category: Name = ""
    steps: Many = []
    checks: Annotated[list[CheckWish], Meta(max_length=100)] = []
    covers: Many = []
    """Globs from the top of the working tree; empty: all of it."""


class ChangedFeature(Wish):
    """What is to be changed of it; whatever proved it before no longer does."""

    description: Text | None = None
    category: Name | None = None
    steps: Many | None = None
    checks: Annotated[list[CheckWish], Meta(max_length=100)] | None = None
    covers: Many | None = None
    reason: Text = ""


class Begin(Wish):
    by: Name = ""
    """Who implements it."""


class Attestation(Wish):
    """Somebody's word for what no check proves."""

    note: Text
    by: Name = ""
    """Who looked; else who asks."""
    step: Text = ""
    """One of its steps, or `#2`; empty: all that no check proves."""


class Update(Wish):
    """How far it is, in the words of the recipe. "Passing" is a claim, unless ``verified_by`` attests what no
    check proves."""

    status: Name = ""
    passes: bool | None = None
    failure_reason: Text = ""
    implemented_by: Name = ""
    verified_by: Name = ""
    notes: Text = ""


class SavedFeature(Saved, kw_only=True):
    """What was saved, and the feature as it is then."""

    feature: Verdict


def features_of(visit: Visit, id: str) -> Features:
    """The features of a session."""
    return session_of(visit, id).features


def _checks(wishes: list[CheckWish]) -> list[Check]:
    if any(not one.command[0] for one in wishes):
        raise UsageError("a check without a command", hint='for example ["pytest", "-q"]')
    return [
        Check(
            tuple(one.command), one.shell, one.folder, one.environment, one.limit_seconds, tuple(one.proves),
            one.exit_code, one.pattern,
        )
        for one in wishes
    ]  # fmt: skip


def _told(features: Features, saved: Saved, id: str) -> Any:
    return with_more(saved, feature=features.get(id))


@route("GET", PATH, need="reader", tags=TAGS)
def list_features(
    visit: Visit, id: str, status: Literal[("", *STATUSES)] = "",  # type: ignore[valid-type]
) -> FeatureList:  # fmt: skip
    """All features with their verdicts, and counts over all of them."""
    return features_of(visit, id).list(status)


@route(
    "POST", PATH, need="writer", status=201, tags=TAGS, answer={**SAVED, "feature": VERDICT},
    body={
        "id": "jwt", "description": "Users log in with a JWT", "covers": ["src/auth/**"],
        "checks": [{"command": ["pytest", "tests/test_auth.py", "-q"]}],
    },
)  # fmt: skip
def add_feature(visit: Visit, id: str, data: NewFeature) -> SavedFeature:
    """Declare a feature. The same again is no fault; another one under the same id is 409."""
    features = features_of(visit, id)
    saved = features.add(
        data.id, data.description, category=data.category, steps=data.steps, checks=_checks(data.checks),
        covers=data.covers,
    )  # fmt: skip
    return _told(features, saved, data.id)  # type: ignore[no-any-return]


@route("GET", PATH + "/{feature}", need="reader", tags=TAGS)
def show_feature(visit: Visit, id: str, feature: Word) -> dict[str, Any]:
    """A feature with its verdict and all evidence: runs of checks, attestations, reports, changes."""
    features = features_of(visit, id)
    found = features.feature(feature)
    return {**plain(found), "verdict": features.get(feature), "evidence": evidence_of(features, feature)}


def evidence_of(features: Features, id: str) -> list[dict[str, Any]]:
    """All that was written about a feature, as `segue feature show --json` prints it."""
    return [
        {
            "version": event.version, "at": event.at, "kind": event.kind, "by": event.actor,
            "trust": TRUSTS.get(type(body), ""), **plain(body),
        }
        for event, body in features.history(id)
    ]  # fmt: skip


class EvidenceList(msgspec.Struct):
    evidence: list[dict[str, Any]]


@route("GET", PATH + "/{feature}/evidence", need="reader", tags=TAGS)
def list_evidence(
    visit: Visit, id: str, feature: Word, trust: Literal["", "run", "attested", "reported"] = ""
) -> EvidenceList:
    """The evidence records of a feature, the oldest first; also of one that was removed."""
    features = features_of(visit, id)
    found = evidence_of(features, feature)
    if not found:
        features.feature(feature)
    kinds = {body.KIND for body in TRUSTS} | {ev.ChecksBegun.KIND}
    return EvidenceList(
        [one for one in found if one["kind"] in kinds and (not trust or one["trust"] == trust)]
    )


@route(
    "PATCH", PATH + "/{feature}", need="writer", tags=TAGS, body={"steps": ["log in", "log out"]},
    answer={**SAVED, "feature": VERDICT},
)  # fmt: skip
def change_feature(visit: Visit, id: str, feature: Word, data: ChangedFeature) -> SavedFeature:
    """Change what is given. An agent cannot drop or weaken what a person set: 409."""
    features = features_of(visit, id)
    saved = features.change(
        feature, description=data.description, category=data.category, steps=data.steps,
        checks=None if data.checks is None else _checks(data.checks), covers=data.covers, reason=data.reason,
    )  # fmt: skip
    return _told(features, saved, feature)  # type: ignore[no-any-return]


@route("DELETE", PATH + "/{feature}", need="writer", tags=TAGS, answer=SAVED)
def remove_feature(visit: Visit, id: str, feature: Word, reason: Word = "") -> Saved:
    """Drop a feature; the completion tells of it. An agent cannot drop what a person set: 409."""
    return features_of(visit, id).remove(feature, reason)


@route("POST", PATH + "/{feature}/begin", need="writer", tags=TAGS, body={"by": "codex"}, answer=SAVED)
def begin_feature(visit: Visit, id: str, feature: Word, data: Begin) -> Saved:
    """Work on it is under way."""
    return features_of(visit, id).begin(feature, implemented_by=data.by)


@route(
    "POST", PATH + "/{feature}/block", need="writer", tags=TAGS, body={"reason": "no credentials"},
    answer=SAVED,
)  # fmt: skip
def block_feature(visit: Visit, id: str, feature: Word, data: Reason) -> Saved:
    """It waits for something."""
    return features_of(visit, id).block(feature, data.reason)


@route(
    "POST", PATH + "/{feature}/fail", need="writer", tags=TAGS, body={"reason": "seen to fail"},
    answer=SAVED,
)  # fmt: skip
def fail_feature(visit: Visit, id: str, feature: Word, data: Reason) -> Saved:
    """It fails; only a later proof says otherwise."""
    return features_of(visit, id).mark_failed(feature, data.reason)


@route(
    "POST", PATH + "/{feature}/attest", need="writer", tags=TAGS,
    body={"note": "looked at every screen", "by": "ana"}, answer={**SAVED, "feature": VERDICT},
)  # fmt: skip
def attest_feature(visit: Visit, id: str, feature: Word, data: Attestation) -> SavedFeature:
    """Give a name and a note for steps that no check proves. It is somebody's word, shown as such, given
    without a working tree: in one it counts as stale."""
    features = features_of(visit, id)
    saved = features.attest(feature, data.note, who=visit.access.act_as(data.by), step=data.step)
    return _told(features, saved, feature)  # type: ignore[no-any-return]


@route(
    "POST", PATH + "/{feature}/update", need="writer", tags=TAGS,
    body={"status": "in_progress", "implemented_by": "codex"}, answer=VERDICT,
)  # fmt: skip
def update_feature(visit: Visit, id: str, feature: Word, data: Update) -> Verdict:
    """Say how far it is. What claims that it passes is kept as a claim, and proves nothing."""
    visit.access.act_as(data.verified_by)
    return features_of(visit, id).update(
        feature, status=data.status, passes=data.passes, failure_reason=data.failure_reason,
        implemented_by=data.implemented_by, verified_by=data.verified_by, notes=data.notes,
    )  # fmt: skip


class Audited(Audit, kw_only=True):
    """Whether the chain of events is what was written."""

    ok: bool


@route("GET", "/v1/sessions/{id}/audit", need="reader", tags=TAGS)
def audit_session(visit: Visit, id: str, head: Word = "") -> Audited:
    """Prove the chain of events up to its head. With ``head``, a hash that was noted elsewhere: it must be in
    the chain. Outputs of checks are kept by the client that ran them."""
    found = features_of(visit, id).audit(head)
    told: Any = {**plain(found), "outputs": {}, "ok": found.ok}
    return told  # type: ignore[no-any-return]


ROUTES = [
    list_features, add_feature, show_feature, list_evidence, change_feature, remove_feature, begin_feature,
    block_feature, fail_feature, attest_feature, update_feature, audit_session,
]  # fmt: skip
