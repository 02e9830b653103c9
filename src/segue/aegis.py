"""The client of Aegis Memory's session-recovery recipe, on a Segue store.

A program written for the recipe only changes its import, to ``from segue.aegis import AegisClient``; Segue
stores its progress, features and memories. Results can be read as attributes and as dicts. "Passing" means
proven here too: ``verified_by`` is an attestation, and ``segue verify`` runs checks. What the recipe's tips
call and leave to the reader is here too: ``CorruptedStateError`` and ``reconstruct_state_from_memories``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from warnings import warn

import msgspec

from ._checked_calls import checked
from .api.segue import Segue
from .core.server.access import is_key
from .errors import BadName, BadValue, DamagedError, RefusedError, UnknownFeature, UnknownSession
from .services.features.features import Features
from .services.memories.service import Recalled
from .services.server.aegis import progress
from .services.server.aegis.progress import Blocked, Items, ProgressUpdate, SessionProgress
from .services.server.aegis.salvaged import KEEPER, reconstructed, salvaged_memories
from .services.server.session_index import only_session
from .services.workspace.open_store import listens_here, shown

_TIMEOUT_SECONDS_MAX = 86_400.0
_SCOPES = {"private": "agent-private", "shared": "agent-shared"}


class Record(dict[str, Any]):
    """Fields that can be read as ``record.status`` and as ``record["status"]``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


Records = list[Record]


@checked
class AegisClient:
    """The recipe's client. By default it uses the store of this machine, which needs no key; it can also use
    a Segue server (``base_url="https://…"`` with an ``api_key``) or any other store.

    ``timeout`` is how many seconds a call waits for a store or a server that does not answer.

    An ``api_key`` that no Segue server made, as the recipe's own, is not sent to a server on this machine. If
    nothing answers at that address, this machine's store is used, with a warning.

    >>> aegis = AegisClient()
    >>> aegis.progress.update("auth", summary="JWT", next_items=["model", "middleware"])
    """

    def __init__(
        self, api_key: str = "", base_url: str = "", timeout: float | None = None, *,
        store: Segue | str | None = None, home: Path | str | None = None, folder: Path | str | None = None,
        agent_id: str = "", namespace: str = "",
    ) -> None:  # fmt: skip
        self._where: dict[str, Any] = {"home": home, "folder": folder}
        if timeout is not None:
            self._where["busy_timeout_ms"] = _milliseconds(timeout)
        if isinstance(store, Segue):
            self.segue = store
        else:
            address, key = (store, api_key) if store else _server(base_url, api_key)
            self._where |= {"store": address or None, "api_key": key or None}
            self.segue = Segue(**self._where, actor=agent_id or None)
        self.agent_id = agent_id
        self.namespace = namespace
        self._readers: dict[str, str] = {}
        """By memory id, the agent as which that memory was read."""
        named: dict[str, None] = {}
        self.progress = ProgressApi(self.segue, named)
        self.features = FeaturesApi(self.segue, named)

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
        session = session_id or str(about.get("session_id") or "")
        [stored] = self.segue.memories.remember_many([{
            "content": content, "type": memory_type.replace("_", "-"), "agent": agent_id,
            "scope": _scope(scope, bool(shared_with_agents)), "user": user_id or "",
            "namespace": namespace or self.namespace, "session": session,
            "shared_with": list(shared_with_agents), "metadata": about, "ttl_seconds": ttl_seconds,
        }])  # fmt: skip
        self._note_agent(session, agent_id)
        return Record(
            id=stored.id, deduped_from=stored.id if stored.known else None, content_flags=[*stored.flags]
        )

    def query(
        self, query: str, agent_id: str = "", top_k: int = 10,
        filter_metadata: Mapping[str, Any] | None = None, *, user_id: str = "", namespace: str = "",
        min_score: float = 0.0, memory_type: str = "",
    ) -> list[Record]:  # fmt: skip
        """The memories that answer a query, the best first; the query ``*`` lists all.

        Without an ``agent_id`` a query for a session's memories is asked as the agent that works on the
        session, if there is only one. If the store is damaged, such a query gets what can still be read."""
        wanted = dict(filter_metadata or {})
        session = str(wanted.get("session_id") or "")
        try:
            agent = agent_id or self._agent_in(session)
            recalled = self.segue.memories.recall(
                query, top_k=top_k, metadata=wanted, agent=agent, user=user_id or "",
                types=memory_type.replace("_", "-") or None, namespace=namespace or self.namespace,
                min_score=min_score if min_score > 0 else None,
            )  # fmt: skip
        except DamagedError:
            home = self.segue.workspace.home
            if not session or home.shared_store:
                raise
            found = salvaged_memories(home, query, session, agent_id or self.agent_id, wanted, top_k)
            return [_memory(Recalled(memory, 0.0)) for memory in found]
        self._readers |= dict.fromkeys((one.id for one in recalled), agent)
        return [_memory(memory) for memory in recalled]

    def recover(self, session_id: str = "", *, dry_run: bool = False) -> Record:
        """Recover what is still readable in a damaged store on this machine, as `segue recover` does.

        ``missing`` lists what is not, ``progress`` is that of the session as it is then."""
        where = {name: value for name, value in self._where.items() if name != "folder"}
        if "store" not in where:  # the caller's own Segue
            where = {"home": self.segue.workspace.home}
        self.segue.workspace.store.close()
        done = Segue.recover(**where, folder=self.segue.workspace.folder, dry_run=dry_run)
        self.segue.forget()
        return Record(
            msgspec.to_builtins(done),
            progress=self.progress.get(session_id) if session_id and not dry_run else None,
        )

    def _agent_in(self, session: str) -> str:
        """As whom a query is asked that names no agent: as the client's agent, else as the session's."""
        if self.agent_id or not session:
            return ""
        try:
            agents = self.segue.attach(session).state.agents
        except UnknownSession:
            return ""
        names = [name for name in agents if name not in (progress.LABEL, KEEPER)]
        return names[0] if len(names) == 1 else ""

    def _note_agent(self, session: str, agent: str) -> None:
        """Have the session know which agent works on it."""
        with suppress(UnknownSession, RefusedError, BadName):
            if session and agent and agent not in self.segue.attach(session).state.agents:
                self.segue.attach(session).note_agent(agent, active=True)

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
        [stored] = self.segue.memories.remember_many([{
            "content": content, "type": "reflection", "error_pattern": error_pattern or "",
            "correct_approach": correct_approach or "", "agent": agent_id, "scope": _scope(scope, False),
            "metadata": dict(metadata or {}), "namespace": namespace or self.namespace,
        }])  # fmt: skip
        return Record(id=stored.id, memory_type="reflection")

    def delta(self, operations: Sequence[Mapping[str, Any]], agent_id: str = "") -> list[Record]:
        """Add, update and deprecate memories, all or none; reasons are stored. Without an ``agent_id`` they
        are changed as the agent that this client read them as."""
        if not agent_id:
            read = {self._readers.get(str(one.get("memory_id") or ""), "") for one in operations}
            agent_id = read.pop() if len(read) == 1 else ""
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

    def __init__(self, segue: Segue, named: dict[str, None]) -> None:
        self._segue = segue
        self._named = named
        """The sessions that this client has named, for features that are named without theirs."""

    def get(self, session_id: str) -> Record | None:
        """The progress of a session; None if there is no such session."""
        try:
            self._segue.session(session_id)
            found = progress.get(self._segue.workspace, session_id)
        except UnknownSession:
            return None
        self._named[session_id] = None
        return _progress(found)

    def list(self, status: str = "") -> Records:
        """The progress of this project's sessions, or of those with a status, the most recently active
        first."""
        progress.known_status(status or None)
        shown = [progress.get(self._segue.workspace, card.id) for card in self._segue.list()]
        wanted = progress.STATUSES.get(status, "")
        return [
            _progress(one) for one in shown if wanted in ("", progress.STATUSES.get(one.status, one.status))
        ]

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
        found = progress.create(self._segue.workspace, session_id, update=update)
        self._named[session_id] = None
        return _progress(found)

    def mark_complete(self, session_id: str, item: str) -> Record:
        """Record that an item is done."""
        found = progress.change(self._segue.workspace, session_id, ProgressUpdate(completed=[item]))
        self._named[session_id] = None
        return _progress(found)


def _progress(session: SessionProgress) -> Record:
    blocked = [Record(item=blocked.item, reason=blocked.reason) for blocked in session.blocked_items]
    return Record({**msgspec.structs.asdict(session), "blocked_items": blocked})


@checked
class FeaturesApi:
    """The features of sessions.

    The recipe names a feature without its session. It is then looked up in the sessions that this client has
    named before, and if it has named none in those of this project. Where that does not tell which session is
    meant, UsageError is raised, and ``session_id`` says it.
    """

    def __init__(self, segue: Segue, named: dict[str, None]) -> None:
        self._segue = segue
        self._named = named

    def create(
        self, feature_id: str, session_id: str = "", description: str = "", test_steps: Sequence[str] = (),
        status: str = "", *, category: str = "",
    ) -> Record:  # fmt: skip
        """Declare a feature; one that exists stays as it is."""
        session = self._segue.session(session_id)
        self._named[session.id] = None
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
        session = self._segue.session(session_id)
        self._named[session.id] = None
        features = session.features
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
        session = self._segue.session(session_id or self._find(feature_id))
        self._named[session.id] = None
        session.features.feature(feature_id)
        return session.features

    def _find(self, feature_id: str) -> str:
        here = list(self._named) or [card.id for card in self._segue.list()]
        found = [id for id in here if self._has(id, feature_id)]
        if not found and self._named:
            raise UnknownFeature(
                f"there is no feature {feature_id!r} in {', '.join(list(self._named)[-5:])}",
                hint="name its session: session_id=…",
            )
        return only_session(feature_id, found)

    def _has(self, id: str, feature_id: str) -> bool:
        try:
            return feature_id in self._segue.attach(id).state.features
        except UnknownSession:
            return False


CorruptedStateError = DamagedError
"""What the recipe catches before it falls back to the memories of a session."""


def reconstruct_state_from_memories(memories: Sequence[Mapping[str, Any]]) -> Record:
    """The state of a session as its memories tell it: the goal, what is done, next and failed, decisions."""
    ordered = sorted(memories, key=lambda one: str(one.get("created_at") or ""))
    told = [
        (str(one.get("memory_type") or "standard").replace("_", "-"), str(one.get("content") or ""),
         one.get("metadata") or {})
        for one in ordered
    ]  # fmt: skip
    return Record(msgspec.structs.asdict(reconstructed(told)))


def _milliseconds(timeout: float) -> int:
    if not 0 < timeout <= _TIMEOUT_SECONDS_MAX:
        raise BadValue(f"a timeout of {timeout:g} seconds is not possible", hint="give more than 0 seconds")
    return max(1, int(timeout * 1000))


def _server(base_url: str, api_key: str) -> tuple[str, str]:
    """The address of the server to use and the key for it; both are empty for the store of this machine."""
    if not base_url or is_key(api_key):
        return base_url, api_key
    listens = listens_here(base_url)
    if listens is None:
        return base_url, api_key
    if not listens:
        warn(
            f"nothing answers at {shown(base_url)}, so this machine's store is used. Leave out base_url"
            " and api_key to use it without this warning, or give the key of a Segue server",
            stacklevel=3,
        )
        return "", ""
    return base_url, ""


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
