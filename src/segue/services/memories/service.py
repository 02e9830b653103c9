"""Memories as one actor writes and reads them.

Everything that becomes durable is cleaned and checked first: size, control characters, secrets and limits,
and a flag on what reads like an instruction but comes from where none should. Every operation is one
transaction with a line in the audit trail. A memory that the reader may not see is treated as if it did not
exist, down to the error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.base.text import Mask, clean_text
from ...core.base.values import Value, texts
from ...core.features.checks import PERSON
from ...core.memories import model as mem, ranking
from ...core.memories.dates import days_asked, days_of, moment_of
from ...core.memories.model import Memory, MemoryAudit, MemoryFilter, MemoryReader, Provenance, Vote
from ...core.memories.words import exact_words, query_words, words
from ...effects.clock import days_between, moment, now
from ...effects.pause_file import PauseFile
from ...errors import (
    AccessError,
    DamagedError,
    RefusedError,
    SegueError,
    StaleVersion,
    StoreError,
    UnknownMemory,
    UsageError,
)
from ...stores.base import Memories
from ...stores.memory_changes import MemoryChange, StoredMemory
from ...stores.vectors import packed
from ..workspace.workspace import Workspace
from .reader import current_session, reader_of

if TYPE_CHECKING:
    from ...effects.vectors.embedder import Embedder

CANDIDATES = 400
CATCH_UP_MEMORIES = 8
"""How many memories without a vector get one when a recall has loaded the model anyway."""
CATCH_UP_NEWEST = 256
SYNC_SECONDS = 2.0
"""How long a sync gives vectors to memories that have none."""
SYNC_BATCH = 64
WORDS_CHARS_MAX = 20_000
EMBED_CHARS_MAX = 4_000
RECALLS_WAITING_MAX = 256
ROOM_CHECK_EVERY = 256
TTL_SECONDS_MAX = 86_400 * 36_525
EVERYTHING = "*"
_RETRIES = 8
Names = Iterable[str] | str | None


class Remembered(Value):
    """The result of remembering."""

    id: str
    known: bool = False
    """Whether a memory with this content existed already; ``id`` is then that one's."""
    flags: tuple[str, ...] = ()


class Recalled(Value):
    """A memory that matches a query."""

    memory: Memory
    score: float
    quoted: bool = False
    """Whether it is data that reads like an instruction: to be shown in quotes, never to be followed."""

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
    """Remembers, recalls and votes on memories for one actor."""

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
        self.after_write: Callable[[int], None] = lambda count: None
        """Is told how many memories were made."""
        self.damage = ""
        """Why memories are found by their words alone; empty unless the embedder turned out to be damaged."""
        self._recalls: dict[str, tuple[int, str]] = {}
        self._added = 0

    @property
    def embedder(self) -> Embedder:
        """The embedder in use, loaded when it is first needed."""
        if self._made is None:
            self._made = self._embedder()
        return self._made

    def _vectors(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts as they are stored; empty ones if the embedder is damaged, which is then no longer
        used."""
        try:
            made = self.embedder.embed([text[:EMBED_CHARS_MAX] for text in texts])
        except DamagedError as fault:
            made = self.without_embedder(fault).embed(texts)
        return [packed(vector) for vector in made]

    def without_embedder(self, fault: DamagedError) -> Embedder:
        """Go on by words alone, because the embedder is damaged."""
        from ...effects.vectors.embedder import TextOnly

        self.damage = f"{fault}; until Segue is reinstalled, memories are searched by words alone"
        self._made = TextOnly()
        return self._made

    def reader(
        self, *, agent: str = "", session: str = "", user: str = "", namespace: str = ""
    ) -> MemoryReader:
        """Who reads: this service's actor in its session, user and namespace, unless others are named."""
        base = self._reader()
        sessions = (session, *base.sessions) if session else base.sessions
        return replace(
            base, agent=agent or base.agent, sessions=tuple(dict.fromkeys(filter(None, sessions))),
            user=user or base.user, namespace=namespace or base.namespace,
        )  # fmt: skip

    @property
    def who(self) -> str:
        """Who writes: the actor or, if that is the user, the agent in whose shell Segue runs."""
        return self._who() if self._who is not None else self._reader().agent

    def trust(self, wanted: str, agent: str = PERSON) -> str:
        """The trust of what is written now: only a person can declare something as the user."""
        best = "user" if self.who == agent == PERSON else "agent"
        return best if wanted in ("", "user") else wanted

    def remember_many(self, memories: Sequence[Mapping[str, Any]]) -> list[Remembered]:
        """Keep several memories, all or none; each mapping has the arguments of ``draft``. One that exists
        already stays as it is, and gets the metadata that is new. They are not compared with others; one that
        ``curation.remember`` keeps is. Raises RefusedError if there would be too many."""
        self.pause_file.check()
        drafts = [self.draft(**fields) for fields in memories]
        change = MemoryChange(
            adds=self.stored(drafts), trail=[self.trace(m, "add", m.provenance.source) for m in drafts]
        )
        self._check_room(drafts)
        ids = self.store.write(change)
        for id, memory in zip(ids, drafts, strict=True):
            if id != memory.id and memory.metadata:
                self._add_metadata(id, memory)
        self.after_write(len(ids))
        return [Remembered(id, id != m.id, m.flags) for id, m in zip(ids, drafts, strict=True)]

    def _add_metadata(self, id: str, again: Memory) -> None:
        """Add the metadata with which a known memory was said again; the session that it was learnt in
        stays."""
        asks = {"agent": again.agent, "session": again.session, "user": again.user}
        asks["namespace"] = again.namespace
        new = {name: value for name, value in again.metadata.items() if name != "session_id"}
        for attempt in range(_RETRIES):
            known = self.get(id, **asks)
            if {**known.metadata, **new} == known.metadata:
                return
            more = {"metadata": {**known.metadata, **new}, "updated": now(), "revision": known.revision + 1}
            changed = mem.checked(replace(known, **more))
            trail = [self.trace(changed, "update", "said again")]
            try:
                self.store.write(MemoryChange(puts=self.stored([changed]), trail=trail))
                return
            except StaleVersion:  # somebody else changed it
                if attempt == _RETRIES - 1:
                    raise

    def draft(
        self, content: str, *, type: str = "standard", scope: str = "", agent: str = "", user: str = "",
        namespace: str = "", session: str = "", project: str = "", organization: str = "",
        shared_with: Names = None, metadata: Mapping[str, Any] | None = None,
        ttl_seconds: float | None = None, valid_from: str = "", valid_to: str = "", trust: str = "",
        error_pattern: str = "", correct_approach: str = "", file: str = "", commit: str = "",
        run: str = "", source: str = "", created: str = "",
    ) -> Memory:  # fmt: skip
        """A memory as it would be stored: cleaned, checked, every default filled in. Raises UsageError."""
        reader = self.reader(agent=agent, user=user, namespace=namespace)
        begun = moment_of(created, "created") or now()
        if ttl_seconds is not None and not 0 < ttl_seconds < TTL_SECONDS_MAX:
            raise UsageError(
                f"a time to live of {ttl_seconds:g} seconds is out of range",
                hint="it must be above 0 and at most a century",
            )
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

    def stored(self, memories: Sequence[Memory], *, embed: bool | None = None) -> list[StoredMemory]:
        """Memories in the form that a store takes, with the words for full-text search. Vectors are added if
        the embedder is ready, or as ``embed`` says."""
        wanted = self.embedder.ready if embed is None else embed
        live = [memory for memory in memories if memory.live]
        vectors: dict[str, bytes] = {}
        if wanted and live:
            made = self._vectors([searched_text(memory) for memory in live])
            vectors = {memory.id: vector for memory, vector in zip(live, made, strict=True) if vector}
        name = self.embedder.name if vectors else ""
        return [
            StoredMemory(memory, search_words(memory), name, vectors.get(memory.id, b""))
            if memory.live
            else StoredMemory(memory)
            for memory in memories
        ]

    def trace(self, memory: Memory, act: str, reason: str = "") -> MemoryAudit:
        """A line for the audit trail."""
        return MemoryAudit(memory.id, act, now(), self.who, reason)

    def deprecation(self, memories: Sequence[Memory], reason: str) -> MemoryChange:
        """The change that deprecates memories, for a commit to include."""
        at = now()
        puts = [
            replace(m, deprecated=at, reason=reason, updated=at, revision=m.revision + 1) for m in memories
        ]
        return MemoryChange(
            puts=[StoredMemory(one) for one in puts],
            trail=[self.trace(one, "deprecate", reason) for one in puts],
        )

    def _check_room(self, drafts: Sequence[Memory]) -> None:
        """Raise RefusedError if an audience has too many memories; checked once in ``ROOM_CHECK_EVERY``."""
        before, self._added = self._added, self._added + len(drafts)
        if before and before // ROOM_CHECK_EVERY == self._added // ROOM_CHECK_EVERY:
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
                    f"there are {total:,} memories already, and the limit is {mem.AUDIENCE_MEMORIES_MAX:,}",
                    hint="`segue memories audit` shows which ones you could drop",
                )

    def recall(
        self, query: str, *, top_k: int = 10, types: Names = None, scopes: Names = None, agents: Names = None,
        sessions: Names = None, metadata: Mapping[str, Any] | None = None, since: str = "", until: str = "",
        min_score: float | None = None, agent: str = "", session: str = "", user: str = "",
        namespace: str = "",
    ) -> list[Recalled]:  # fmt: skip
        """The memories that match a query, the best first; ``*`` lists the newest. ``agent``, ``session``,
        ``user`` and ``namespace`` say who asks; ``agents``, ``sessions``, ``types`` and ``scopes`` filter.
        The recall is counted with each memory."""
        recalled = self.search(
            query, top_k=top_k, types=types, scopes=scopes, agents=agents, sessions=sessions,
            metadata=metadata, since=since, until=until, agent=agent, session=session, user=user,
            namespace=namespace,
        )  # fmt: skip
        if min_score is not None:
            recalled = [result for result in recalled if result.score >= min_score]
        self._count(recalled)
        return recalled

    def search(
        self, query: str, *, top_k: int = 10, types: Names = None, scopes: Names = None, agents: Names = None,
        sessions: Names = None, metadata: Mapping[str, Any] | None = None, since: str = "", until: str = "",
        agent: str = "", session: str = "", user: str = "", namespace: str = "",
    ) -> list[Recalled]:  # fmt: skip
        """Like ``recall``, but not counted: nothing is written."""
        if not 1 <= top_k <= mem.TOP_K_MAX:
            raise UsageError(
                f"top_k is {top_k}, which is out of range",
                hint=f"it must be between 1 and {mem.TOP_K_MAX:,}",
            )
        reader = self.reader(agent=agent, session=session, user=user, namespace=namespace)
        begin, end = moment_of(since, "since"), moment_of(until, "until", late=True)
        where = MemoryFilter(
            texts(types),
            texts(scopes),
            _with_aliases(texts(agents)),
            texts(sessions),
            mem.metadata_of(metadata),
            begin,
            end,
        )
        if query.strip() in ("", EVERYTHING):
            listed = self.store.listing(reader, where, now(), top_k)
            return [Recalled(memory, 0.0, not mem.may_restore(memory)) for memory in listed]
        return self._search(reader, query, where, top_k)

    def _search(self, reader: MemoryReader, query: str, where: MemoryFilter, top_k: int) -> list[Recalled]:
        ranked, _ = self._ranked(reader, query, where, max(CANDIDATES, 2 * top_k))
        at, results = now(), []
        narrow = bool(where.metadata or where.scopes or where.since or where.until)
        step = len(ranked) if narrow else top_k + 24
        for start in range(0, len(ranked), max(step, 1)):
            part = ranked[start : start + step]
            memories = self.store.take([scored.no for scored in part], reader)
            for scored in part:
                memory = memories.get(scored.no)
                if memory is not None and mem.fits(where, memory, at):
                    score = ranking.with_priors(scored.score, memory, days_between(memory.created, at))
                    results.append(Recalled(memory, round(score, 6), not mem.may_restore(memory)))
            if len(results) >= top_k:
                break
        results.sort(key=lambda result: -result.score)
        return results[:top_k]

    def _ranked(
        self, reader: MemoryReader, query: str, where: MemoryFilter, limit: int
    ) -> tuple[list[ranking.ScoredMemory], ranking.Texts]:
        text = clean_text(query[:WORDS_CHARS_MAX], what="query")
        wanted = [*days_asked(text, now()), *query_words(text)]
        matches = self.store.match(reader, wanted, where, limit)
        near: dict[int, float] = {}
        vector = self._vectors([text])[0] if matches.total and self.embedder.name else b""
        embedder = self.embedder
        if any(vector):
            self._catch_up()
            near = dict(self.store.near(reader, embedder.name, vector, where, limit))
        ranked = ranking.rank(wanted, matches, near, semantic=embedder.semantic, embedded=bool(near))
        if exact_words(text):  # a query for a name wants memories with that name, not their neighbours
            return ranked, matches
        best = [scored.no for scored in ranked[: ranking.LENDERS_MAX] if scored.score > 0]
        least = min(near.values()) if embedder.semantic and len(near) >= limit else 0.0
        places = self.store.places(best, reader, len(ranking.LENT))
        return ranking.with_neighbours(ranked, places, least), matches

    def with_words(self, query: str, *, top_k: int, reader: MemoryReader | None = None) -> list[Memory]:
        """The memories that have words of a query, the best first, found by their words alone."""
        reader = reader or self.reader()
        wanted = query_words(clean_text(query[:WORDS_CHARS_MAX], what="query"))
        matches = self.store.match(reader, wanted, MemoryFilter(), CANDIDATES)
        ranked = ranking.rank(wanted, matches, {}, semantic=False, embedded=False)[:top_k]
        found = self.store.take([scored.no for scored in ranked], reader)
        return [found[scored.no] for scored in ranked if scored.no in found]

    def nearest(
        self, texts: Sequence[str], reader: MemoryReader, limit: int
    ) -> list[list[tuple[Memory, float]]]:
        """For each text the memories nearest to it in meaning, with their cosines; none if the embedder is
        not ready or knows no meanings."""
        if not (texts and self.embedder.ready and self.embedder.semantic):
            return [[] for _ in texts]
        vectors, model, where = self._vectors(texts), self.embedder.name, MemoryFilter()
        near = [self.store.near(reader, model, one, where, limit) if any(one) else [] for one in vectors]
        memories = self.store.take(list({no for row in near for no, _ in row}), reader)
        return [[(memories[no], cosine) for no, cosine in row if no in memories] for row in near]

    def _catch_up(self) -> None:
        """Give vectors to a few memories that have none, now that the model is loaded. Never raises."""
        if self.pause_file.in_force() or self.embedder.name.startswith("endpoint:"):
            return
        with suppress(StoreError, AccessError, OSError):
            self.embed_some(CATCH_UP_MEMORIES, CATCH_UP_NEWEST)

    def embed_some(self, limit: int, within: int = 0) -> list[Memory]:
        """Give vectors of this embedder to at most ``limit`` memories that have none, the newest first, and
        return those memories. ``within`` looks at so many of the newest only."""
        if not self.embedder.name:
            return []
        missing = [memory for _, memory in self.store.unembedded(self.embedder.name, limit, within)]
        made = [one for one in self.stored(missing, embed=True) if one.vector]
        if made:
            self.store.write(MemoryChange(vectors=made))
        return [one.memory for one in made]

    def embed_for(self, seconds: float) -> None:
        """Give vectors to memories that have none, for so long; not with an embedder that is slow to start
        or asks a server."""
        due = time.monotonic() + seconds
        while self.embedder.ready and time.monotonic() < due and self.embed_some(SYNC_BATCH):
            pass

    def sessions_about(self, query: str, *, top_k: int = 10, **identity: str) -> list[tuple[str, float]]:
        """Sessions whose memories match a query, with their scores, the best first."""
        reader = self.reader(**identity)
        ranked, matches = self._ranked(reader, query, MemoryFilter(), mem.TOP_K_MAX)
        numbers = list(dict.fromkeys([scored.no for scored in ranked] + [hit.no for hit in matches.hits]))
        sessions = {no: place.session for no, place in self.store.places(numbers, reader).items()}
        return ranking.by_session(ranked, sessions, matches, top_k)

    def playbook(
        self,
        query: str,
        *,
        top_k: int = 10,
        types: Names = None,
        min_effectiveness: float = -1.0,
        **identity: Any,
    ) -> list[Recalled]:
        """Strategies and reflections about a task, those that proved helpful first."""
        recalled = self.recall(
            query, top_k=min(mem.TOP_K_MAX, max(50, 4 * top_k)), types=types or mem.PLAYBOOK_TYPES, **identity
        )
        best = [one for one in recalled if one.memory.effectiveness >= min_effectiveness and not one.quoted]
        best.sort(key=lambda result: -(result.score * (1 + 0.5 * result.memory.effectiveness)))
        return best[:top_k]

    def _count(self, recalled: Sequence[Recalled]) -> None:
        at = now()
        for result in recalled:
            self._recalls[result.id] = (self._recalls.get(result.id, (0, ""))[0] + 1, at)
        if len(self._recalls) >= RECALLS_WAITING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write down how often memories were recalled; a failure is ignored, it is not worth an error."""
        waiting, self._recalls = self._recalls, {}
        if waiting and not self.pause_file.in_force():
            with suppress(StoreError, AccessError, OSError):
                recalls = list(waiting.items())  # copied, because another thread may still be adding
                self.store.write(MemoryChange(recalls=[(id, n, at) for id, (n, at) in recalls]))

    def get(self, id: str, **identity: str) -> Memory:
        """A memory by its id or the beginning of it. Raises UnknownMemory if the reader can see none, and
        UsageError if there are several."""
        reader = self.reader(**identity)
        memories = self.store.get([id], reader)
        if not memories and len(id) >= 3:
            memories = self.store.listing(reader, MemoryFilter(prefix=id, dead=True), now(), 2)
        if len(memories) > 1:
            raise UsageError(f"several memories begin with {id[:60]!r}", hint="give more of the id")
        if not memories:
            raise UnknownMemory(
                f"there is no memory {id[:60]!r}", hint="`segue memories list` shows all memories"
            )
        return memories[0]

    def vote(self, id: str, vote: str, *, voter: str = "", context: str = "", **identity: str) -> Memory:
        """Vote on whether a memory was helpful. Each voter has one vote: a later one replaces it."""
        if vote not in mem.VOTES:
            raise UsageError(f"unknown vote: {vote[:40]}", hint="helpful or harmful")
        self.pause_file.check()
        memory = self.get(id, **identity)
        who = self._text(voter or self._reader().agent, "voter", 256)
        cast = Vote(memory.id, who, vote, now(), self._text(context, "context", 4_096))
        self.store.write(MemoryChange(votes=[cast], trail=[self.trace(memory, "vote", f"{vote} by {who}")]))
        return self.get(memory.id, **identity)


def searched_text(memory: Memory) -> str:
    """The text of a memory that searches look at."""
    parts = (memory.content, memory.error_pattern, memory.correct_approach)
    return "\n".join(part for part in parts if part)


def search_words(memory: Memory) -> str:
    """The words of a memory for full-text search: those of its text, and its date."""
    days = days_of(memory.valid_from or memory.created)
    return " ".join([*words(searched_text(memory)[:WORDS_CHARS_MAX]), *days])


class WorkspaceMemories(MemoryService):
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
            who=lambda: workspace.declarer,
        )  # fmt: skip
        self.after_write = workspace.backups.written
        workspace.at_close.append(self.flush)

    def learnt(self, session: str, texts: Sequence[str]) -> MemoryChange:
        """The change that remembers what a session has learnt, to be written in the session's own commit."""
        drafts = [
            self.draft(text, type="learnt", session=session, source=f"learnt in session {session}")
            for text in texts
        ]
        trail = [self.trace(memory, "add", memory.provenance.source) for memory in drafts]
        return MemoryChange(adds=self.stored(drafts), trail=trail)


def memories_of(workspace: Workspace) -> WorkspaceMemories:
    """The memories of a workspace, opened once."""
    return workspace.part(WorkspaceMemories)


def embed_in_passing(workspace: Workspace) -> None:
    """Give vectors to memories that have none, as a sync does in passing: for a short time, and whatever
    stands in the way stays for the next one."""
    with suppress(SegueError, OSError):
        if not workspace.pause_file.in_force():
            memories_of(workspace).embed_for(SYNC_SECONDS)


def keep_what_is_learnt(workspace: Workspace) -> None:
    """Have everything that a session learns from now on remembered as well, in the same commit."""
    workspace.repository.learnt = lambda session, texts: memories_of(workspace).learnt(session, texts)


def _with_aliases(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of agents, and those that they are aliases of."""
    if not names:
        return names
    from ...agents import agent_name

    return tuple(dict.fromkeys((*names, *map(agent_name, names))))
