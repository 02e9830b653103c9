"""Finding what was said, done and decided, in whichever run of whichever agent.

The index gives candidates, best by its own ranking; those are ranked again by what the texts themselves show.
Of one run no more than a few texts are shown, so that one run does not hide the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...agents import agent as agent_of, agent_name
from ...core.base.values import Progress, Value, iso, seconds_of
from ...core.memories.model import MemoryFilter
from ...core.search.index import Match, SearchIndex, SearchSource, TextId, Wanted, sources_of
from ...core.search.kinds import GROUPS, Kind
from ...core.search.query import SearchQuery, SearchTerm, parsed, since_of
from ...core.search.ranking import Snippet, Span, snippet, spans, worth
from ...errors import AccessError, DamagedError, StoreError, UsageError
from ..memories.reader import reader_of
from ..runs.observed import runs_of
from ..workspace.on_off import is_off
from ..workspace.workspace import Workspace
from .catch_up import catch_up
from .indexes import SESSION, indexes_of, is_ours
from .sent_texts import catch_up_sent_runs
from .session_texts import catch_up_sessions

if TYPE_CHECKING:
    from .by_meaning import Meaning

CANDIDATES = 240
LOOKED_INTO = 80
"""How many of the candidates are looked into."""
HITS_OF_A_RUN = 2
COMMON_SHARE, COMMON_TEXTS = 0.05, 5_000
"""A word that is in more of the texts tells little; it is left out where rarer ones are asked for."""
HERE = 1.25
"""How much more a text of this project is worth."""
CATCH_UP_SECONDS = 1.0
LIMIT_MAX = 200
MEMORIES_MAX = 20


class SearchFilter(Value):
    """What is searched."""

    agent: str = ""
    project: str = ""
    """The name of a project or its key; ``.`` is the one here."""
    since: str = ""
    within: Sequence[str] = ()
    """Names of groups of texts, such as ``prompts``."""
    failed: bool = False
    by_meaning: bool = False
    """Whether texts are found that say it in other words; needs an embedder that knows meanings."""


class SearchHit(Value):
    """A text that was found."""

    handle: str
    """``RUN#STEP``, for `segue show`; the id of a session or a memory for texts of these. RUN is the key of a
    run where others have the same id."""
    kind: Kind
    agent: str
    run: str
    session: str
    project: str
    project_name: str
    at: str
    failed: bool
    text: str
    """The part of the text that answers best."""
    marks: tuple[tuple[int, int], ...]
    """Where the words that were asked for stand in it."""
    score: float
    step: int = 0
    more: int = 0
    """How many more texts of the same run answer."""
    key: str = ""
    """The key of the run."""


class SearchResult(Value):
    """What a search found."""

    hits: list[SearchHit]
    not_indexed: int = 0
    """How many runs could not be looked into yet: `segue sync` indexes them."""


class _Candidate(Value):
    match: Match
    source: SearchSource
    name: str
    """What its source is called in a handle."""
    text: str
    found: list[Span]
    score: float


def search(
    workspace: Workspace, question: str, where: SearchFilter | None = None, *, limit: int = 10,
    seconds: float = CATCH_UP_SECONDS, progress: Progress | None = None,
) -> SearchResult:  # fmt: skip
    """What answers a question, the best first; it waits for so many seconds while the index is brought up to
    date. Raises UsageError if there is no word in the question."""
    query = parsed(question)
    if not 1 <= limit <= LIMIT_MAX:
        raise UsageError(f"a limit of {limit} is not between 1 and {LIMIT_MAX}")
    where = where or SearchFilter()
    if where.agent:
        where = replace(where, agent=agent_of(agent_name(where.agent)).name)
    now = time.time()
    search = _Search(
        workspace, query, where, kinds_of(where.within), since_of(where.since, now=now),
        _keys_here(workspace), limit, now,
    )  # fmt: skip
    try:
        left = _brought_up(workspace, seconds, progress)
        return SearchResult(_found(search, question), left)
    except DamagedError as fault:
        damaged = [index for index in indexes_of(workspace) if index.what == fault.source]
        if not damaged or workspace.pause_file.in_force():
            raise
        for index in damaged:
            index.delete()  # it is made anew of what it was made of
        left = _brought_up(workspace, seconds, progress)
        return SearchResult(_found(search, question), left)


def _brought_up(workspace: Workspace, seconds: float, progress: Progress | None) -> int:
    """Bring the index up to date as far as a search waits for it. One that cannot be written is searched as
    it is."""
    try:
        left = catch_up_sessions(workspace, seconds=seconds)
        if not workspace.sees_tree:
            catch_up_sent_runs(workspace)
            return left
        return left + catch_up(workspace, seconds=seconds, progress=progress)
    except (AccessError, StoreError):
        return 0


class _Search(Value):
    """A search that is under way."""

    workspace: Workspace
    query: SearchQuery
    where: SearchFilter
    kinds: tuple[Kind, ...]
    since: float
    here: frozenset[str]
    """The keys of the project here."""
    limit: int
    now: float


def _found(search: _Search, question: str) -> list[SearchHit]:
    best: list[_Candidate] = []
    for index in indexes_of(search.workspace):
        best += _levelled(_candidates(search, index), best)
    where, kinds = search.where, search.kinds
    if not (where.agent or where.failed) and (not kinds or "memory" in kinds):
        best += _memories(search, question, best)
    if where.by_meaning:
        best = _by_meaning(search, question, best)
    return _hits(search, sorted(best, key=lambda one: -one.score))


def _by_meaning(search: _Search, question: str, best: list[_Candidate]) -> list[_Candidate]:
    """What was found by words, and what was said, by words and meaning together; by words alone if the
    embedding is damaged."""
    from ...effects.vectors.weights_file import WHAT as EMBEDDING
    from ..memories.service import memories_of
    from .by_meaning import Meaning  # a search by words loads none of it

    memories, is_paused = memories_of(search.workspace), bool(search.workspace.pause_file.in_force())
    try:
        return _fused(search, best, Meaning(memories.embedder, question, keeps=not is_paused))
    except DamagedError as fault:
        if fault.source != EMBEDDING:
            raise
        memories.without_embedder(fault)
        return best


def _fused(search: _Search, best: list[_Candidate], meaning: Meaning) -> list[_Candidate]:
    from .by_meaning import ALIKE_MIN, BEST_MAX, fused

    by_words = sorted(best, key=lambda one: -one.score)
    found = {(one.source.key, one.match.id): one for one in by_words}
    alike: dict[tuple[str, TextId], float] = {}
    for index in indexes_of(search.workspace):
        wanted, known = _wanted(search, index)
        texts = {one.match.id: one.text for one in by_words if one.source.key in known}
        likeness = meaning.alike(index, wanted, texts)
        others = [id for id, share in likeness.items() if share >= ALIKE_MIN and id not in texts]
        said = index.having(sorted(others, key=lambda id: -likeness[id]))
        for one in _looked_into(search, index, said, known, most=BEST_MAX):
            found.setdefault((one.source.key, one.match.id), one)
        alike |= {place: likeness[place[1]] for place in found if place[1] in likeness}
    rank_by_words = {(one.source.key, one.match.id): at for at, one in enumerate(by_words)}
    scores = fused(rank_by_words, alike)
    return [replace(found[place], score=score) for place, score in scores.items()]


def _levelled(found: list[_Candidate], others: list[_Candidate]) -> list[_Candidate]:
    """Candidates of another index, so that its best counts as much as the best of the first one."""
    if not (found and others):
        return found
    share = max(one.score for one in others) / max(one.score for one in found)
    return [replace(one, score=one.score * share) for one in found]


def _keys_here(workspace: Workspace) -> frozenset[str]:
    if not workspace.sees_tree:
        return frozenset()
    tree = workspace.working_tree
    return frozenset({*tree.project_keys(workspace.settings), str(tree.root)})


def kinds_of(groups: Iterable[str]) -> tuple[Kind, ...]:
    """The kinds of texts that these names stand for. Raises UsageError."""
    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        raise UsageError(
            f"there is nothing called {unknown[0]} to search in", hint=f"one of {', '.join(GROUPS)}"
        )
    return tuple(dict.fromkeys(kind for name in groups for kind in GROUPS[name]))


def _candidates(search: _Search, index: SearchIndex) -> list[_Candidate]:
    """What an index has for the question, the best first."""
    wanted, known = _wanted(search, index)
    return _looked_into(search, index, _matches(index, wanted, search.limit), known)


def _wanted(search: _Search, index: SearchIndex) -> tuple[Wanted, dict[str, SearchSource]]:
    """Which texts of an index are asked for, and the sources that it has."""
    where = search.where
    known = {key: one for key, one in index.sources().items() if is_ours(search.workspace, key)}
    projects = search.here if where.project == "." else {where.project} - {""}
    wanted = Wanted(
        search.query.terms, excluded=search.query.excluded, kinds=search.kinds, failed=where.failed,
        since=search.since,
        sources=sources_of(known, where.agent, projects) if where.agent or where.project else None,
    )  # fmt: skip
    return wanted, known


def _matches(index: SearchIndex, wanted: Wanted, limit: int) -> list[Match]:
    """Texts with all terms first, and then those with some of the telling ones."""
    found = index.matches(wanted, CANDIDATES)
    if len(wanted.terms) > 1 and len({one.source for one in found}) < limit:
        have = {one.id for one in found}
        some = replace(wanted, terms=_telling(index, wanted.terms), every=False)
        found += [one for one in index.matches(some, CANDIDATES) if one.id not in have]
    return found


def _telling(index: SearchIndex, terms: tuple[SearchTerm, ...]) -> tuple[SearchTerm, ...]:
    """The terms that are not in many texts, if there are any."""
    most = int(min(COMMON_TEXTS, max(50.0, COMMON_SHARE * index.size_in_texts())))
    return tuple(term for term in terms if index.how_many(term, most + 1) <= most) or terms


def _looked_into(
    search: _Search, index: SearchIndex, matches: list[Match], known: dict[str, SearchSource],
    most: int = LOOKED_INTO,
) -> list[_Candidate]:  # fmt: skip
    query, now, half = search.query, search.now, most // 2
    rough = sorted(matches[half:], key=lambda one: -worth(one.rank, one.kind, one.at, (), query, now=now))
    chosen = matches[:half] + rough[:half]
    texts = index.texts([one.id for one in chosen])
    natives = Counter(one.native for one in known.values() if one.agent)
    found = []
    for match in chosen:
        source = known.get(match.source)
        if source is None or match.id not in texts:
            continue
        places = spans(texts[match.id], query)
        score = worth(match.rank, match.kind, match.at, places, query, now=now)
        score *= HERE if source.project in search.here else 1.0
        name = source.native if natives[source.native] < 2 else source.key
        found.append(_Candidate(match, source, name, texts[match.id], places, score))
    return sorted(found, key=lambda one: -one.score)


def _memories(search: _Search, question: str, others: list[_Candidate]) -> list[_Candidate]:
    """Memories that have words of the question. The index does not rank them: one that has all the words
    counts as much as the best text with all of them."""
    store, moment = search.workspace.store, iso(search.now)
    if not store.memories.listing(reader_of(search.workspace), MemoryFilter(), moment, 1):
        return []  # without loading any ranking code
    from ..memories.service import memories_of

    rank = min((one.match.rank for one in others), default=-5.0)
    found = []
    project, memories = search.where.project, memories_of(search.workspace)
    for memory in memories.with_words(question, top_k=min(search.limit, MEMORIES_MAX)):
        at, key = seconds_of(memory.created), f"memory/{memory.id}"
        places = spans(memory.content, search.query)
        if not places or at < search.since or project not in ("", ".", memory.project):
            continue
        match = Match(key, key, 0, "memory", at, False, rank)
        source = SearchSource(key, native=memory.id, project=memory.project)
        score = worth(rank, "memory", at, places, search.query, now=search.now)
        found.append(_Candidate(match, source, memory.id, memory.content, places, score))
    return found


def _hits(search: _Search, best: list[_Candidate]) -> list[SearchHit]:
    by_source: dict[str, list[_Candidate]] = {}
    for candidate in best:
        by_source.setdefault(candidate.source.key, []).append(candidate)
    shown = sorted(
        (one for many in by_source.values() for one in many[:HITS_OF_A_RUN]), key=lambda one: -one.score
    )
    hits: list[SearchHit] = []
    seen: set[tuple[str, str]] = set()
    for candidate in shown:
        said = (candidate.match.kind, candidate.text.strip())
        if said in seen:  # resumed and forked runs repeat what was said before
            continue
        seen.add(said)
        hit = _hit(search.workspace, candidate, len(by_source[candidate.source.key]) - 1)
        if hit is not None:
            hits.append(hit)
        if len(hits) == search.limit:
            break
    return hits


def _hit(workspace: Workspace, candidate: _Candidate, more: int) -> SearchHit | None:
    """None where Segue is off by now."""
    source, match = candidate.source, candidate.match
    session = source.native if source.key.startswith(SESSION) else ""
    if source.agent:
        row = runs_of(workspace).runs.get(source.key)
        session = row.session if row is not None else ""
    if is_off(workspace.home, Path(source.cwd or "/"), session):
        return None
    part: Snippet = snippet(candidate.text, candidate.found)
    return SearchHit(
        handle=f"{candidate.name}#{match.step}" if source.agent else source.native,
        kind=match.kind, agent=source.agent, run=source.native if source.agent else "", session=session,
        project=source.project, project_name=source.project_name, at=iso(match.at) if match.at else "",
        failed=match.failed, text=part.text, marks=part.marks, score=round(candidate.score, 3),
        step=match.step, more=more, key=source.key if source.agent else "",
    )  # fmt: skip
