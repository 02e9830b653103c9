"""Memories as one actor writes and finds them.

Whatever becomes durable passes the gate: size, control characters, secrets, limits, and flags for what
reads like an instruction and comes from where none should. Every operation is one transaction with a line in
the audit trail. A memory that may not be read is not there: the error for it is that for one that never was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.base.text import Mask, clean_text
from ...core.base.values import Value, texts
from ...core.features.checks import PERSON
from ...core.memories import model as mem
from ...core.memories.dates import days_asked, days_of, moment_of
from ...core.memories.model import Memory, MemoryAudit, MemoryFilter, MemoryReader, Provenance, Vote
from ...core.memories.ranking import (
    LENDERS_MAX,
    LENT,
    ScoredMemory,
    Texts,
    by_session,
    rank,
    with_neighbours,
    with_priors,
)
from ...core.memories.words import exact_words, query_words, words
from ...effects.clock import days_between, moment, now
from ...effects.pause_file import PauseFile
from ...errors import AccessError, RefusedError, StoreError, UnknownMemory, UsageError
from ...stores.base import Memories
from ...stores.memory_changes import MemoryChange, StoredMemory
from ...stores.vectors import packed
from ..features.features import declarer
from ..workspace.workspace import Workspace
from .reader import current_session, reader_of

if TYPE_CHECKING:
    from ...effects.vectors.embedder import Embedder

CANDIDATES = 400
CATCH_UP_MEMORIES = 8
"""So many that have no vector yet get one when a recall has loaded the model anyway."""
CATCH_UP_NEWEST = 256
WORDS_CHARS_MAX = 20_000
EMBED_CHARS_MAX = 4_000
RECALLS_WAITING_MAX = 256
ROOM_LOOK = 256
TTL_SECONDS_MAX = 86_400 * 36_525
EVERYTHING = "*"
Names = Iterable[str] | str | None


class Remembered(Value):
    """A memory that is durable now."""

    id: str
    known: bool = False
    """Whether it was there already."""
    flags: tuple[str, ...] = ()


class Recalled(Value):
    """A memory that answers a query."""

    memory: Memory
    score: float
    quoted: bool = False
    """It reads like an instruction and is data: to be shown in quotes, never to be followed."""

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def content(self) -> str:
        return self.memory.content

    @property
    def metadata(self) -> dict[str, Any]:
        return self.memory.metadata


class MemoryService:
    """Remember, recall and look after memories."""

    def __init__(
        self, store: Memories, *, reader: Callable[[], MemoryReader], embedder: Callable[[], Embedder],
        mask: Mask | None = None, pause_file: PauseFile | None = None, run: str = "",
        session: Callable[[], str] = str, who: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        self.store = store
        self._reader = reader
        self._embedder = embedder
        self._made: Embedder | None = None
        self.mask = mask
        self.pause_file = pause_file or PauseFile([])
        self.run = run
        self._session = session
        self._who = who
        self._recalls: dict[str, tuple[int, str]] = {}
        self._added = 0

    @property
    def embedder(self) -> Embedder:
        """What makes vectors here."""
        if self._made is None:
            self._made = self._embedder()
        return self._made

    def reader(
        self, *, agent: str = "", session: str = "", user: str = "", namespace: str = ""
    ) -> MemoryReader:
        """Who asks: this actor from this place, unless something else is said."""
        base = self._reader()
        sessions = (session, *base.sessions) if session else base.sessions
        return replace(
            base, agent=agent or base.agent, sessions=tuple(dict.fromkeys(filter(None, sessions))),
            user=user or base.user, namespace=namespace or base.namespace,
        )  # fmt: skip

    @property
    def who(self) -> str:
        """Who writes here: the actor, or the agent in whose shell we run."""
        return self._who() if self._who is not None else self._reader().agent

    def trust(self, wanted: str, agent: str = PERSON) -> str:
        """How far what is written now is trusted: only a person can tell something as the user."""
        best = "user" if self.who == agent == PERSON else "agent"
        return best if wanted in ("", "user") else wanted

    # -- remembering ---------------------------------------------------------------------------

    def remember(self, content: str, **about: Any) -> Remembered:
        """Keep one memory; ``about`` takes what ``draft`` takes."""
        return self.remember_many([{"content": content, **about}])[0]

    def remember_many(self, wishes: Sequence[Mapping[str, Any]]) -> list[Remembered]:
        """Keep many, all or none; what is there already stays as it is."""
        self.pause_file.check()
        drafts = [self.draft(**wish) for wish in wishes]
        change = MemoryChange(
            adds=self.kept(drafts), trail=[self.trace(m, "add", m.provenance.source) for m in drafts]
        )
        self._check_room(drafts)
        ids = self.store.write(change)
        return [Remembered(id, id != m.id, m.flags) for id, m in zip(ids, drafts, strict=True)]

    def draft(
        self, content: str, *, type: str = "standard", scope: str = "", agent: str = "", user: str = "",
        namespace: str = "", session: str = "", project: str = "", organization: str = "",
        shared_with: Names = None, metadata: Mapping[str, Any] | None = None,
        ttl_seconds: float | None = None, valid_from: str = "", valid_to: str = "", trust: str = "",
        error_pattern: str = "", correct_approach: str = "", file: str = "", commit: str = "",
        run: str = "", source: str = "", created: str = "",
    ) -> Memory:  # fmt: skip
        """A memory as it will be kept: through the gate, with everything filled in."""
        reader = self.reader(agent=agent, user=user, namespace=namespace)
        begun = moment_of(created, "created") or now()
        if ttl_seconds is not None and not 0 < ttl_seconds < TTL_SECONDS_MAX:
            raise UsageError(f"a time to live of {ttl_seconds:g} s", hint="over 0, and at most a century")
        shared = tuple(self._text(name, "agent", 256) for name in texts(shared_with))
        here = session or (self._session() if (scope or "project") == "session" else "")
        memory = Memory(
            id=f"m{os.urandom(6).hex()}",
            content=self._text(content, "memory", mem.CONTENT_BYTES_MAX).strip(),
            type=type, scope=scope or ("agent-shared" if shared else "project"),
            namespace=self._text(reader.namespace, "namespace", 256),
            user=self._text(reader.user, "user", 256),
            agent=self._text(reader.agent, "agent", 256), session=self._text(here, "session", 256),
            project=project or (reader.projects[-1] if reader.projects else ""),
            organization=organization or reader.organization, shared_with=shared,
            metadata=self._cleaned(mem.metadata_of(metadata)),
            provenance=Provenance(
                self.who, run or self.run,
                *(self._text(text, "source", 4_096) for text in (file, commit, source)),
            ),
            trust=self.trust(trust, reader.agent), created=begun, updated=begun,
            expires=moment(ttl_seconds) if ttl_seconds is not None else "",
            valid_from=moment_of(valid_from, "valid_from"), valid_to=moment_of(valid_to, "valid_to"),
            error_pattern=self._text(error_pattern, "error pattern", 4_096),
            correct_approach=self._text(correct_approach, "approach", 16_384),
        )  # fmt: skip
        return mem.checked(memory)

    def _text(self, text: str, what: str, limit: int) -> str:
        return clean_text(text, what=what, limit=limit, mask=self.mask)

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value, "metadata", mem.METADATA_BYTES_MAX)
        if isinstance(value, dict):
            return {self._cleaned(k): self._cleaned(v) for k, v in value.items()}
        return [self._cleaned(child) for child in value] if isinstance(value, list) else value

    def kept(self, memories: Sequence[Memory], *, embed: bool | None = None) -> list[StoredMemory]:
        """With words, and with vectors if the embedder is at hand."""
        wanted = self.embedder.ready if embed is None else embed
        live = [memory for memory in memories if memory.live]
        vectors: dict[str, bytes] = {}
        if wanted and live:
            made = self.embedder.embed([said(memory)[:EMBED_CHARS_MAX] for memory in live])
            vectors = {memory.id: packed(vector) for memory, vector in zip(live, made, strict=True)}
        name = self.embedder.name if vectors else ""
        return [
            StoredMemory(memory, searched(memory), name, vectors.get(memory.id, b""))
            if memory.live
            else StoredMemory(memory)
            for memory in memories
        ]

    def trace(self, memory: Memory, act: str, reason: str = "") -> MemoryAudit:
        """A line for the audit trail."""
        return MemoryAudit(memory.id, act, now(), self.who, reason)

    def _check_room(self, drafts: Sequence[Memory]) -> None:
        """RefusedError if there are more memories than there may be; looked at now and then."""
        before, self._added = self._added, self._added + len(drafts)
        if before and before // ROOM_LOOK == self._added // ROOM_LOOK:
            return
        for audience, sample in {mem.audience_of(m): m for m in drafts}.items():
            reader = self.reader(
                agent=sample.agent, session=sample.session, user=sample.user, namespace=sample.namespace
            )
            if not mem.may_read(reader, audience):
                continue
            total = self.store.match(reader, ["~"], MemoryFilter(), 1).total
            if total + len(drafts) > mem.AUDIENCE_MEMORIES_MAX:
                raise RefusedError(
                    f"there are {total:,} memories here; {mem.AUDIENCE_MEMORIES_MAX:,} is the limit",
                    hint="`segue memories audit` shows what could go",
                )

    def reflect(
        self, content: str, *, error_pattern: str = "", correct_approach: str = "", **about: Any
    ) -> Remembered:
        """Keep what was learnt from how something went."""
        return self.remember(
            content,
            type="reflection",
            error_pattern=error_pattern,
            correct_approach=correct_approach,
            **about,
        )

    # -- finding -------------------------------------------------------------------------------

    def recall(
        self, query: str, *, top_k: int = 10, types: Names = None, scopes: Names = None, agents: Names = None,
        sessions: Names = None, metadata: Mapping[str, Any] | None = None, since: str = "", until: str = "",
        min_score: float | None = None, agent: str = "", session: str = "", user: str = "",
        namespace: str = "",
    ) -> list[Recalled]:  # fmt: skip
        """What answers a query, the best first; ``*`` lists the newest. ``agent`` and the like say who asks;
        ``agents``, ``sessions``, ``types``, ``scopes`` say of whom and what."""
        found = self.search(
            query, top_k=top_k, types=types, scopes=scopes, agents=agents, sessions=sessions,
            metadata=metadata, since=since, until=until, agent=agent, session=session, user=user,
            namespace=namespace,
        )  # fmt: skip
        if min_score is not None:
            found = [one for one in found if one.score >= min_score]
        self._count(found)
        return found

    def search(
        self, query: str, *, top_k: int = 10, types: Names = None, scopes: Names = None, agents: Names = None,
        sessions: Names = None, metadata: Mapping[str, Any] | None = None, since: str = "", until: str = "",
        agent: str = "", session: str = "", user: str = "", namespace: str = "",
    ) -> list[Recalled]:  # fmt: skip
        """As ``recall``, and not counted as one: nothing is written."""
        if not 1 <= top_k <= mem.TOP_K_MAX:
            raise UsageError(f"top_k is {top_k}", hint=f"between 1 and {mem.TOP_K_MAX:,}")
        reader = self.reader(agent=agent, session=session, user=user, namespace=namespace)
        where = MemoryFilter(
            texts(types),
            texts(scopes),
            texts(agents),
            texts(sessions),
            mem.metadata_of(metadata),
            moment_of(since, "since"),
            moment_of(until, "until", late=True),
        )
        if query.strip() in ("", EVERYTHING):
            listed = self.store.listing(reader, where, now(), top_k)
            return [Recalled(memory, 0.0, not mem.may_restore(memory)) for memory in listed]
        return self._search(reader, query, where, top_k)

    def _search(self, reader: MemoryReader, query: str, where: MemoryFilter, top_k: int) -> list[Recalled]:
        ranked, _ = self._ranked(reader, query, where, max(CANDIDATES, 2 * top_k))
        at, found = now(), []
        narrow = bool(where.metadata or where.scopes or where.since or where.until)
        step = len(ranked) if narrow else top_k + 24
        for start in range(0, len(ranked), max(step, 1)):
            part = ranked[start : start + step]
            there = self.store.take([one.no for one in part], reader)
            for one in part:
                memory = there.get(one.no)
                if memory is not None and mem.fits(where, memory, at):
                    score = with_priors(one.score, memory, days_between(memory.created, at))
                    found.append(Recalled(memory, round(score, 6), not mem.may_restore(memory)))
            if len(found) >= top_k:
                break
        found.sort(key=lambda one: -one.score)
        return found[:top_k]

    def _ranked(
        self, reader: MemoryReader, query: str, where: MemoryFilter, most: int
    ) -> tuple[list[ScoredMemory], Texts]:
        told = clean_text(query[:WORDS_CHARS_MAX], what="query")
        wanted = [*days_asked(told, now()), *query_words(told)]
        found = self.store.match(reader, wanted, where, most)
        near: dict[int, float] = {}
        maker = self.embedder
        if found.total and maker.name:
            vector = packed(maker.embed([told[:EMBED_CHARS_MAX]])[0])
            self._catch_up()
            near = dict(self.store.near(reader, maker.name, vector, where, most))
        ranked = rank(wanted, found, near, semantic=maker.semantic, embedded=bool(near))
        if exact_words(told):  # who asks for a name wants what holds it, not what stands beside it
            return ranked, found
        best = [one.no for one in ranked[:LENDERS_MAX] if one.score > 0]
        least = min(near.values()) if maker.semantic and len(near) >= most else 0.0
        return with_neighbours(ranked, self.store.places(best, reader, len(LENT)), least), found

    def _catch_up(self) -> None:
        """Give vectors to a few that have none, now that the model is loaded; if the store takes them."""
        if self.pause_file.in_force() or self.embedder.name.startswith("endpoint:"):
            return
        try:
            self.embed_some(CATCH_UP_MEMORIES, CATCH_UP_NEWEST)
        except (StoreError, AccessError, OSError):
            pass

    def embed_some(self, most: int, within: int = 0) -> list[Memory]:
        """Give vectors of this embedder to so many that have none, the newest first."""
        lacking = [memory for _, memory in self.store.unembedded(self.embedder.name, most, within)]
        if lacking:
            self.store.write(MemoryChange(vectors=self.kept(lacking, embed=True)))
        return lacking

    def sessions_about(self, query: str, *, top_k: int = 10, **asks: str) -> list[tuple[str, float]]:
        """Sessions whose memories answer a query, the best first."""
        reader = self.reader(**asks)
        ranked, found = self._ranked(reader, query, MemoryFilter(), mem.TOP_K_MAX)
        numbers = list(dict.fromkeys([one.no for one in ranked] + [hit.no for hit in found.hits]))
        sessions = {no: place.session for no, place in self.store.places(numbers, reader).items()}
        return by_session(ranked, sessions, found, top_k)

    def playbook(
        self,
        query: str,
        *,
        top_k: int = 10,
        types: Names = None,
        min_effectiveness: float = -1.0,
        **asks: Any,
    ) -> list[Recalled]:
        """Strategies and reflections that bear on a task, those that worked first."""
        found = self.recall(
            query, top_k=min(mem.TOP_K_MAX, max(50, 4 * top_k)), types=types or mem.PLAYBOOK_TYPES, **asks
        )
        best = [one for one in found if one.memory.effectiveness >= min_effectiveness and not one.quoted]
        best.sort(key=lambda one: -(one.score * (1 + 0.5 * one.memory.effectiveness)))
        return best[:top_k]

    def _count(self, found: Sequence[Recalled]) -> None:
        at = now()
        for one in found:
            self._recalls[one.id] = (self._recalls.get(one.id, (0, ""))[0] + 1, at)
        if len(self._recalls) >= RECALLS_WAITING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write down what was recalled how often; of no use enough to fail for."""
        waiting, self._recalls = self._recalls, {}
        if waiting and not self.pause_file.in_force():
            try:
                told = list(waiting.items())  # at once: another thread may still be adding
                self.store.write(MemoryChange(recalls=[(id, n, at) for id, (n, at) in told]))
            except (StoreError, AccessError, OSError):
                pass

    # -- one memory ----------------------------------------------------------------------------

    def get(self, id: str, **asks: str) -> Memory:
        """A memory by its id, or the beginning of it; UnknownMemory if there is none to be seen."""
        reader = self.reader(**asks)
        there = self.store.get([id], reader)
        if not there and len(id) >= 3:
            there = self.store.listing(reader, MemoryFilter(prefix=id, dead=True), now(), 2)
        if len(there) > 1:
            raise UsageError(f"several memories begin with {id[:60]!r}", hint="give more of the id")
        if not there:
            raise UnknownMemory(f"there is no memory {id[:60]!r}", hint="`segue memories list` shows them")
        return there[0]

    def vote(self, id: str, vote: str, *, voter: str = "", context: str = "", **asks: str) -> Memory:
        """Say whether a memory was of help; one vote a voter, a later one counts instead."""
        if vote not in mem.VOTES:
            raise UsageError(f"unknown vote: {vote[:40]}", hint="helpful or harmful")
        self.pause_file.check()
        memory = self.get(id, **asks)
        who = self._text(voter or self._reader().agent, "voter", 256)
        cast = Vote(memory.id, who, vote, now(), self._text(context, "context", 4_096))
        self.store.write(MemoryChange(votes=[cast], trail=[self.trace(memory, "vote", f"{vote} by {who}")]))
        return self.get(memory.id, **asks)


def said(memory: Memory) -> str:
    """What of a memory is searched."""
    parts = (memory.content, memory.error_pattern, memory.correct_approach)
    return "\n".join(part for part in parts if part)


def searched(memory: Memory) -> str:
    """The words of a memory for full text: of what it says, and the day that it is of."""
    days = days_of(memory.valid_from or memory.created)
    return " ".join([*words(said(memory)[:WORDS_CHARS_MAX]), *days])


class PlaceMemories(MemoryService):
    """The memories of a workspace, as its actor sees them."""

    def __init__(self, workspace: Workspace, embedder: Embedder | None = None) -> None:
        settings, chosen = workspace.settings, embedder or workspace.embedder

        def choose() -> Embedder:
            from ...effects.vectors.embedder import choose

            return chosen or choose(
                settings.text("embedder"), url=settings.text("embedder_url"),
                model=settings.text("embedder_model"), key=settings.text("embedder_key"),
            )  # fmt: skip

        super().__init__(
            workspace.store.memories, reader=lambda: reader_of(workspace), embedder=choose,
            mask=workspace.repository.mask, pause_file=workspace.pause_file, run=workspace.repository.run,
            session=lambda: current_session(workspace),
            who=lambda: declarer(workspace.repository.actor, workspace.environment),
        )  # fmt: skip
        workspace.at_close.append(self.flush)

    def learnt(self, session: str, texts: Sequence[str]) -> MemoryChange:
        """What a session learnt, for the commit in which it says so."""
        drafts = [
            self.draft(text, type="learnt", session=session, source=f"learnt in session {session}")
            for text in texts
        ]
        trail = [self.trace(memory, "add", memory.provenance.source) for memory in drafts]
        return MemoryChange(adds=self.kept(drafts), trail=trail)


def memories_of(workspace: Workspace) -> PlaceMemories:
    """The memories of a workspace."""
    return workspace.part(PlaceMemories)


def keep_what_is_learnt(workspace: Workspace) -> None:
    """From now on what a session learns is also a memory, in the same commit."""
    workspace.repository.learnt = lambda session, texts: memories_of(workspace).learnt(session, texts)
