"""`/v1/sessions/{id}/features`: declare features, show their evidence, report progress, attest.

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
from ....services.features.features import FeatureList, Features
from ....services.sessions.repository import Saved
from ...render import evidence_objects, feature_object
from ..server.parameters import SAVED, Id, Name, Reason, RequestBody, Text, with_more
from ..server.route import Caller, route

PATH = "/v1/sessions/{id}/features"
Many = Annotated[list[Text], Meta(max_length=1_000)]
VERDICT = {
    "id": "jwt", "description": "Users log in with a JWT", "status": "not_started",
    "reason": "not run: pytest tests/test_auth.py -q", "category": "", "attested": False, "checks": 1,
    "proven_at": "", "implemented_by": "", "verified_by": "",
}  # fmt: skip


class NewCheck(RequestBody):
    """A command that proves steps, run by clients and never by the server."""

    command: Annotated[list[Text], Meta(min_length=1, max_length=1_000)]
    """Its arguments; with ``shell``, one text."""
    shell: bool = False
    folder: Text = ""
    environment: dict[Name, Text] = {}
    limit_seconds: Annotated[float, Meta(gt=0, le=86_400)] = SECONDS_DEFAULT
    proves: Annotated[list[Annotated[int, Meta(ge=1, le=1_000)]], Meta(max_length=1_000)] = []
    """The numbers of the steps that it proves, from 1; empty for all."""
    exit_code: Annotated[int, Meta(ge=-1_000, le=1_000)] = 0
    pattern: Text = ""


class NewFeature(RequestBody):
    """A feature to declare; it is not proven yet."""

    id: Id
    description: Text
    category: Name = ""
    steps: Many = []
    checks: Annotated[list[NewCheck], Meta(max_length=100)] = []
    covers: Many = []
    """Globs relative to the top of the working tree; empty for all of it."""


class ChangedFeature(RequestBody):
    """The fields to change; whatever proved the feature before no longer does."""

    description: Text | None = None
    category: Name | None = None
    steps: Many | None = None
    checks: Annotated[list[NewCheck], Meta(max_length=100)] | None = None
    covers: Many | None = None
    reason: Text = ""


class FeatureStart(RequestBody):
    """The start of work on a feature."""

    by: Name = ""
    """Who implements it."""


class Attestation(RequestBody):
    """Somebody's word for what no check proves."""

    note: Text
    by: Name = ""
    """Who examined it; by default the caller."""
    step: Text = ""
    """One of its steps, or `#2`; empty for all that no check proves."""


class FeatureProgress(RequestBody):
    """The progress of a feature, in the words of the recipe. "Passing" is a claim, unless ``verified_by``
    attests what no check proves."""

    status: Name = ""
    passes: bool | None = None
    failure_reason: Text = ""
    implemented_by: Name = ""
    verified_by: Name = ""
    notes: Text = ""


class SavedFeature(Saved, kw_only=True):
    """What was saved, and the feature after that."""

    feature: Verdict


def _checks(new: list[NewCheck]) -> list[Check]:
    if any(not one.command[0] for one in new):
        raise UsageError("a check needs a command", hint='for example ["pytest", "-q"]')
    return [msgspec.convert(msgspec.structs.asdict(one), Check) for one in new]


def _with_feature(features: Features, saved: Saved, id: str) -> SavedFeature:
    return with_more(SavedFeature, saved, feature=features.get(id))


@route("GET", PATH, role="reader")
def list_features(
    caller: Caller, id: str, status: Literal[("", *STATUSES)] = "",  # type: ignore[valid-type]
) -> FeatureList:  # fmt: skip
    """All features with their verdicts, and counts over all of them."""
    return caller.session(id).features.list(status)


@route(
    "POST", PATH, role="writer", status=201, response={**SAVED, "feature": VERDICT},
    body={
        "id": "jwt", "description": "Users log in with a JWT", "covers": ["src/auth/**"],
        "checks": [{"command": ["pytest", "tests/test_auth.py", "-q"]}],
    },
)  # fmt: skip
def add_feature(caller: Caller, id: str, body: NewFeature) -> SavedFeature:
    """Declare a feature. Declaring the same again is not an error; a different one with the same id is
    409."""
    features = caller.session(id).features
    saved = features.add(**{**msgspec.structs.asdict(body), "checks": _checks(body.checks)})
    return _with_feature(features, saved, body.id)


@route("GET", PATH + "/{feature}", role="reader")
def show_feature(caller: Caller, id: str, feature: Name) -> dict[str, Any]:
    """A feature with its verdict and all evidence: runs of checks, attestations, reports, changes."""
    return feature_object(caller.session(id).features, feature)


class EvidenceList(msgspec.Struct):
    evidence: list[dict[str, Any]]


@route("GET", PATH + "/{feature}/evidence", role="reader")
def list_evidence(
    caller: Caller, id: str, feature: Name, trust: Literal["", "run", "attested", "reported"] = ""
) -> EvidenceList:
    """The evidence for a feature, oldest first; also for one that was removed."""
    features = caller.session(id).features
    found = evidence_objects(features.history(feature))
    if not found:
        features.feature(feature)
    kinds = {body.KIND for body in TRUSTS} | {ev.ChecksBegun.KIND}
    return EvidenceList(
        [one for one in found if one["kind"] in kinds and (not trust or one["trust"] == trust)]
    )


@route(
    "PATCH", PATH + "/{feature}", role="writer", body={"steps": ["log in", "log out"]},
    response={**SAVED, "feature": VERDICT},
)  # fmt: skip
def change_feature(caller: Caller, id: str, feature: Name, body: ChangedFeature) -> SavedFeature:
    """Change the fields that are given. An agent cannot remove or weaken what a person set: 409."""
    features = caller.session(id).features
    checks = None if body.checks is None else _checks(body.checks)
    saved = features.change(feature, **{**msgspec.structs.asdict(body), "checks": checks})
    return _with_feature(features, saved, feature)


@route("DELETE", PATH + "/{feature}", role="writer")
def remove_feature(caller: Caller, id: str, feature: Name, reason: Name = "") -> Saved:
    """Remove a feature; the completion of the session mentions it. An agent cannot remove what a person set:
    409."""
    return caller.session(id).features.remove(feature, reason)


@route("POST", PATH + "/{feature}/begin", role="writer", body={"by": "codex"})
def begin_feature(caller: Caller, id: str, feature: Name, body: FeatureStart) -> Saved:
    """Declare that work on a feature is under way."""
    return caller.session(id).features.begin(feature, implemented_by=body.by)


@route("POST", PATH + "/{feature}/block", role="writer", body={"reason": "no credentials"})
def block_feature(caller: Caller, id: str, feature: Name, body: Reason) -> Saved:
    """Declare that a feature is blocked."""
    return caller.session(id).features.block(feature, body.reason)


@route("POST", PATH + "/{feature}/fail", role="writer", body={"reason": "seen to fail"})
def fail_feature(caller: Caller, id: str, feature: Name, body: Reason) -> Saved:
    """Declare that a feature fails; only a later proof makes it pass."""
    return caller.session(id).features.mark_failed(feature, body.reason)


@route(
    "POST", PATH + "/{feature}/attest", role="writer",
    body={"note": "looked at every screen", "by": "ana"}, response={**SAVED, "feature": VERDICT},
)  # fmt: skip
def attest_feature(caller: Caller, id: str, feature: Name, body: Attestation) -> SavedFeature:
    """Attest steps that no check proves, with a name and a note. It is shown as somebody's word and, because
    a server has no working tree, counts as stale in one."""
    features = caller.session(id).features
    saved = features.attest(feature, body.note, who=caller.access.act_as(body.by), step=body.step)
    return _with_feature(features, saved, feature)


@route(
    "POST", PATH + "/{feature}/update", role="writer",
    body={"status": "in_progress", "implemented_by": "codex"}, response=VERDICT,
)  # fmt: skip
def update_feature(caller: Caller, id: str, feature: Name, body: FeatureProgress) -> Verdict:
    """Declare the progress of a feature. That it passes is recorded as a claim, and proves nothing."""
    caller.access.act_as(body.verified_by)
    return caller.session(id).features.update(feature, **msgspec.structs.asdict(body))
