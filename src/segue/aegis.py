"""The client of Aegis Memory's session-recovery recipe, on a Segue store.

A program written for the recipe only changes its import, to ``from segue.aegis import AegisClient``; Segue
stores its progress, features and memories. Results can be read as attributes and as dicts. "Passing" means
proven here too: ``verified_by`` is an attestation, and ``segue verify`` runs checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ._checked_calls import checked
from .api.segue import Segue
from .errors import UnknownFeature, UnknownSession
from .services.features.features import Features
from .services.memories.service import Recalled
from .services.server.aegis import progress
from .services.server.aegis.progress import Blocked, Items, ProgressUpdate, SessionProgress

_SCOPES = {"private": "agent-private", "shared": "agent-shared"}


class Record(dict[str, Any]):
    """Fields that can be read as ``record.status`` and as ``record["status"]``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@checked
class AegisClient:
    """The recipe's client. By default it uses the store of this machine, which needs no key; it can also use
    a Segue server (``base_url="https://…"`` with an ``api_key``) or any other store.

    >>> aegis = AegisClient()
    >>> aegis.progress.update("auth", summary="JWT", next_items=["model", "middleware"])
    """

    def __init__(
        self, api_key: str = "", base_url: str = "", *, store: Segue | str | None = None,
        home: Path | str | None = None, folder: Path | str | None = None, agent_id: str = "",
        namespace: str = "",
    ) -> None:  # fmt: skip
        if isinstance(store, Segue):
            self.segue = store
        else:
            where = store or base_url or None
            self.segue = Segue(
                where, home=home, folder=folder, actor=agent_id or None, api_key=api_key or None
            )
        self.namespace = namespace
        self.progress = ProgressApi(self.segue)
        self.features = FeaturesApi(self.segue)

    def close(self) -> None:
        """Close the store."""
        self.segue.close()

    def __enter__(self) -> AegisClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self, content: str, agent_id: str = "", scope: str = "", memory_type: str = "standard",
        metadata: Mapping[str, Any] | None = None, shared_with_agents: Sequence[str] = (), *,
        user_id: str = "", namespace: str = "", ttl_seconds: float | None = None, session_id: str = "",
    ) -> Record:  # fmt: skip
        """Store a memory; the same text in the same scope is stored only once."""
        about = dict(metadata or {})
        stored = self.segue.memories.remember(
            content, type=memory_type.replace("_", "-"), scope=_scope(scope, bool(shared_with_agents)),
            agent=agent_id, user=user_id or "", namespace=namespace or self.namespace,
            session=session_id or str(about.get("session_id") or ""), shared_with=list(shared_with_agents),
            metadata=about, ttl_seconds=ttl_seconds,
        )  # fmt: skip
        return Record(
            id=stored.id, deduped_from=stored.id if stored.known else None, content_flags=[*stored.flags]
        )

    def query(
        self, query: str, agent_id: str = "", top_k: int = 10,
        filter_metadata: Mapping[str, Any] | None = None, *, user_id: str = "", namespace: str = "",
        min_score: float = 0.0, memory_type: str = "",
    ) -> list[Record]:  # fmt: skip
        """The memories that answer a query, the best first; the query ``*`` lists all."""
        recalled = self.segue.memories.recall(
            query, top_k=top_k, metadata=dict(filter_metadata or {}), agent=agent_id, user=user_id or "",
            types=memory_type.replace("_", "-") or None, namespace=namespace or self.namespace,
            min_score=min_score if min_score > 0 else None,
        )  # fmt: skip
        return [_memory(memory) for memory in recalled]

    def playbook(self, query: str, agent_id: str = "", top_k: int = 20, *, namespace: str = "") -> Playbook:
        """Strategies and reflections for a task, those that worked first."""
        recalled = self.segue.memories.playbook(
            query, top_k=top_k, agent=agent_id, namespace=namespace or self.namespace
        )
        return Playbook([_memory(memory) for memory in recalled])

    def reflection(
        self, content: str, agent_id: str = "", scope: str = "global", error_pattern: str = "",
        correct_approach: str = "", *, metadata: Mapping[str, Any] | None = None, namespace: str = "",
    ) -> Record:  # fmt: skip
        """Store a reflection: what was learnt from how something went."""
        stored = self.segue.memories.reflect(
            content, error_pattern=error_pattern or "", correct_approach=correct_approach or "",
            agent=agent_id, scope=_scope(scope, False), metadata=dict(metadata or {}),
            namespace=namespace or self.namespace,
        )  # fmt: skip
        return Record(id=stored.id, memory_type="reflection")

    def delta(self, operations: Sequence[Mapping[str, Any]], agent_id: str = "") -> list[Record]:
        """Add, update and deprecate memories, all or none; reasons are stored."""
        ids = self.segue.memories.delta([_operation(operation) for operation in operations], agent=agent_id)
        return [
            Record(operation=str(operation.get("type")), success=True, memory_id=id)
            for operation, id in zip(operations, ids, strict=True)
        ]

    def vote(self, memory_id: str, vote: str, voter_agent_id: str = "", *, context: str = "") -> Record:
        """Vote on whether a memory was helpful."""
        memory = self.segue.memories.vote(
            memory_id, vote, voter=voter_agent_id, context=context, agent=voter_agent_id
        )
        return Record(
            memory_id=memory.id, bullet_helpful=memory.helpful, bullet_harmful=memory.harmful,
            effectiveness_score=memory.effectiveness,
        )  # fmt: skip


class Playbook(list[Record]):
    """A list of memories, also available as ``entries``, as in the original client."""

    @property
    def entries(self) -> list[Record]:
        return list(self)


@checked
class ProgressApi:
    """The progress of sessions."""

    def __init__(self, segue: Segue) -> None:
        self._segue = segue

    def get(self, session_id: str) -> Record | None:
        """The progress of a session; None if there is no such session."""
        try:
            self._segue.session(session_id)
            return _progress(progress.get(self._segue.workspace, session_id))
        except UnknownSession:
            return None

    def create(self, session_id: str, agent_id: str = "", **fields: Any) -> Record:
        """Create a session, or update it if it exists."""
        return self.update(session_id, **fields)

    def update(
        self, session_id: str, summary: str | None = None, status: str | None = None, completed: Items = None,
        in_progress: str | None = None, next_items: Items = None, blocked: Blocked = None,
        last_action: str | None = None,
    ) -> Record:  # fmt: skip
        """Record the progress of a session, which is created if it is new. ``completed`` adds to what is
        done, ``next_items`` and ``blocked`` replace what was there, and what is not given stays."""
        update = ProgressUpdate(completed, in_progress, next_items, blocked, summary, last_action, status)
        return _progress(progress.create(self._segue.workspace, session_id, update=update))

    def mark_complete(self, session_id: str, item: str) -> Record:
        """Record that an item is done."""
        return _progress(progress.change(self._segue.workspace, session_id, ProgressUpdate(completed=[item])))


def _progress(session: SessionProgress) -> Record:
    blocked = [Record(item=blocked.item, reason=blocked.reason) for blocked in session.blocked_items]
    return Record({**msgspec.structs.asdict(session), "blocked_items": blocked})


@checked
class FeaturesApi:
    """The features of all sessions, found by their ids."""

    def __init__(self, segue: Segue) -> None:
        self._segue = segue
        self._homes: dict[str, str] = {}
        """The session of each feature that has been looked up."""

    def create(
        self, feature_id: str, session_id: str = "", description: str = "", test_steps: Sequence[str] = (),
        status: str = "", *, category: str = "",
    ) -> Record:  # fmt: skip
        """Declare a feature; one that exists stays as it is."""
        session = self._segue.session(session_id)
        self._homes[feature_id] = session.id
        features = session.features
        if feature_id not in session.state.features:
            features.create(feature_id, description or feature_id, list(test_steps), status, category)
        return _feature(features, feature_id)

    def get(self, feature_id: str, session_id: str = "") -> Record | None:
        """A feature; None if there is no such feature."""
        try:
            return _feature(self._of(feature_id, session_id), feature_id)
        except (UnknownFeature, UnknownSession):
            return None

    def list(self, session_id: str = "", status: str = "") -> Record:
        """The features of a session, or those with a status, and the counts of all; "failing" counts
        failures."""
        features = self._segue.session(session_id).features
        records = [_feature(features, verdict.id) for verdict in features.verdicts()]
        counts = features.list()
        return Record(
            features=[record for record in records if not status or record.status == status],
            total=counts["total"], passing=counts["passing"], failing=counts["failing"],
            in_progress=counts["in_progress"],
        )  # fmt: skip

    def update(
        self, feature_id: str, status: str = "", passes: bool | None = None, failure_reason: str = "", *,
        implemented_by: str = "", verified_by: str = "", implementation_notes: str = "", session_id: str = "",
    ) -> Record:  # fmt: skip
        """Record the status of a feature. "Passes" is a claim until somebody attests it or its checks have
        run."""
        features = self._of(feature_id, session_id)
        features.update(
            feature_id, status=status, passes=passes, failure_reason=failure_reason or "",
            implemented_by=implemented_by, verified_by=verified_by, notes=implementation_notes,
        )  # fmt: skip
        return _feature(features, feature_id)

    def mark_complete(
        self, feature_id: str, verified_by: str, notes: str = "", session_id: str = ""
    ) -> Record:
        """Attest a feature; the name is stored with it."""
        features = self._of(feature_id, session_id)
        features.mark_complete(feature_id, verified_by, notes)
        return _feature(features, feature_id)

    def mark_failed(self, feature_id: str, reason: str = "", session_id: str = "") -> Record:
        """Record that a feature fails, and why."""
        features = self._of(feature_id, session_id)
        features.mark_failed(feature_id, reason)
        return _feature(features, feature_id)

    def _of(self, feature_id: str, session_id: str) -> Features:
        home = session_id or self._homes.get(feature_id) or self._find(feature_id)
        self._homes[feature_id] = home
        features = self._segue.session(home).features
        features.feature(feature_id)
        return features

    def _find(self, feature_id: str) -> str:
        for card in self._segue.list(everywhere=True):
            if feature_id in self._segue.session(card.id).state.features:
                return card.id
        raise UnknownFeature(f"there is no feature {feature_id!r}", hint="name its session: session_id=…")


def _feature(features: Features, id: str) -> Record:
    feature, verdict = features.feature(id), features.get(id)
    return Record(
        id=id, feature_id=id, description=feature.description, category=feature.category or None,
        test_steps=list(feature.steps), status=verdict.status, passes=verdict.passes,
        implemented_by=verdict.implemented_by or None, verified_by=verdict.verified_by or None,
        failure_reason=verdict.reason or None, updated_at=verdict.proven_at or features.session.state.updated,
    )  # fmt: skip


def _scope(scope: str, shared: bool) -> str:
    return _SCOPES.get(scope, scope) or ("agent-shared" if shared else "project")


def _memory(recalled: Recalled) -> Record:
    memory = recalled.memory
    return Record(
        id=memory.id, content=memory.content, namespace=memory.namespace, created_at=memory.created,
        scope=memory.scope, user_id=memory.user or None, agent_id=memory.agent or None,
        metadata=memory.metadata, shared_with_agents=list(memory.shared_with), score=recalled.score,
        memory_type=memory.type.replace("-", "_"), bullet_helpful=memory.helpful,
        bullet_harmful=memory.harmful, effectiveness_score=memory.effectiveness,
        content_flags=list(memory.flags), trust_level=memory.trust,
        error_pattern=memory.error_pattern or None, session_id=memory.session or None,
    )  # fmt: skip


def _operation(operation: Mapping[str, Any]) -> dict[str, Any]:
    names = {"agent_id": "agent", "user_id": "user", "shared_with_agents": "shared_with"}
    fields = {names.get(name, name): value for name, value in operation.items() if value is not None}
    if "memory_type" in fields:
        fields["memory_type"] = str(fields["memory_type"]).replace("_", "-")
    if "scope" in fields:
        fields["scope"] = _scope(str(fields["scope"]), False)
    return fields
