"""Restoring the context of a session: gathering everything that may be useful for
``core.resume.restoration``.

What cannot be read within its time limit becomes a line in the log, never an error: resuming must not fail
because git is slow or a note or transcript was deleted. Nothing is shown unmasked. What was loaded is
recorded in the session as references and hashes, never as copies.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._checked_calls import checked
from ...core import event_kinds as ev
from ...core.base.same_items import as_item
from ...core.base.token_estimate import Counter, estimate
from ...core.base.values import count as count_of
from ...core.brief.compose import compose
from ...core.brief.facts import BriefFacts, Probe
from ...core.brief.passages import Passage, passages
from ...core.features.events import CheckRan
from ...core.language.sentences import flat
from ...core.resume import restoration as core
from ...core.resume.restoration import Candidate, Restoration
from ...core.runs.model import RunDigest
from ...core.sessions import commands as do
from ...core.sessions.declared_choices import decisions_that_hold
from ...core.sessions.state import OBSERVER, Decision, SessionState
from ...effects.clock import moment
from ...effects.git import repository
from ...effects.git.probe import start_probe
from ...effects.notes import ProjectNote, day_of
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..brief.gather import (
    command_for_more,
    gather,
    summary_of_run,
    summary_of_session,
    world_now,
)
from ..brief.relevant_memories import as_line, memory_service, query_of, relevant_memories
from ..brief.runs_summary import RunsSummary
from ..runs.observed import runs_of
from ..runs.select import newest_run
from ..sessions.repository import stream_of
from ..workspace.open_session import find_session
from ..workspace.own_files import own_files
from ..workspace.workspace import Workspace
from .activity import note_activity
from .restored_notes import candidate, note_candidate, note_candidates
from .scenes import state_of
from .timings import keep_timing

if TYPE_CHECKING:
    from ...effects.git.hunks import Changes, HunkQuery
    from ...effects.notes import Library

BRIEF_BYTES = (600, 1_024, 2_048, 4_096, 8_192)
DECISIONS_MAX, DECISION_DAYS, SISTERS_MAX = 5, 30, 12
MEMORIES_MAX, PLAYBOOKS_MAX, RELATED_MAX = 8, 3, 6
OUTPUT_CHARS = 4_000
GIT_SECONDS = 0.5
MAP_TOKENS, MAP_SECONDS, MAP_LINES_MAX = 1_000, 0.5, 120_000
"""How much of the map is restored, how long it may take to bring it up to date, and from how large a project
on it takes too long to rank."""
NO_TREE = "a server has no working tree"


class RestorationSources:
    """Where the context of a session comes from: its runs, uncommitted changes, notes and facts."""

    def __init__(self, workspace: Workspace, state: SessionState | None, *, quotes: bool = True) -> None:
        self.workspace = workspace
        self.state = state
        self.root: Path = workspace.working_tree.root
        self._own = own_files(workspace.home, self.root)
        self.runs = RunsSummary()
        self.blocks: Sequence[Any] = ()
        self._world: Callable[[], Probe] | None = None
        self._changes: HunkQuery | None = None
        self._read_runs(quotes)

    def _read_runs(self, quotes: bool) -> None:
        """Read the newest runs of the session and, with ``quotes``, the texts of the newest one."""
        if not self.workspace.sees_tree:
            self.runs = summary_of_session(self.workspace, self.state)
            return
        finder = runs_of(self.workspace).finder()
        try:
            found = newest_run(finder, session=self.state.id if self.state else "")
            if found is None:
                return
            self.runs = summary_of_run(self.workspace, finder, found)
            if quotes:
                from ..brief.quoting import blocks_of

                self._start_git()
                self.blocks = blocks_of(finder, found)
        except (SegueError, OSError):
            return

    @property
    def digests(self) -> tuple[RunDigest, ...]:
        """The digests of the runs, the newest first."""
        return self.runs.digests

    def _start_git(self) -> None:
        """Let git work in the background while texts are read."""
        if repository.find(self.root) is None:
            return
        from ...effects.git.hunks import HunkQuery

        since = self.digests[0].last if self.digests else 0.0
        self._world = start_probe(self.root, since, own=self._own)
        self._changes = HunkQuery(self.root, seconds=GIT_SECONDS, own=self._own)

    def changes(self) -> Changes:
        """The uncommitted changes."""
        from ...effects.git.hunks import HunkQuery

        return (self._changes or HunkQuery(self.root, seconds=GIT_SECONDS, own=self._own)).changes()

    def facts(self, memories: Sequence[str]) -> BriefFacts:
        """The facts for the brief."""
        world = self._world() if self._world is not None else world_now(self.workspace, self.runs)
        return gather(self.workspace, self.state, self.runs, world=world, memories=memories)

    @cached_property
    def library(self) -> Library:
        from .notes import library_of

        return library_of(self.workspace, self.state)

    @cached_property
    def query(self) -> str:
        """A query for what the work is about."""
        return query_of(self.state, self.digests)


@checked
def restore(
    workspace: Workspace, session: str = "", *, budget: str | int = "balanced", notes: Iterable[str] = (),
    decisions: int = DECISIONS_MAX, count: Counter | None = None,
    priorities: Mapping[str, float] | None = None, since: str = "", record: bool = False,
) -> Restoration:  # fmt: skip
    """The context of a session, or without one of the work in this project, within a budget of tokens.

    ``notes`` names wanted notes by id, title or path. ``since`` is a report of what changed in the meantime.
    ``record`` notes in the session what was loaded; only ``notes`` that were asked for count as used.
    ``count`` counts tokens as the reading model does."""
    began = time.monotonic()
    level, tokens = core.budget_of(budget)
    wanted = tuple(notes)
    state = state_of(workspace, session or None)
    sources = RestorationSources(workspace, state)
    recalled = _recalled(workspace, sources)
    known = sources.facts([as_line(text) for _, text, _ in recalled[:4]])
    more = command_for_more(sources.runs, state)
    forms = [redact(compose(known, size, more)) for size in BRIEF_BYTES]
    candidates = [
        *_grown(known, forms[-1]),
        *_candidates(workspace, sources, recalled, wanted, decisions, since),
    ]
    quotes: Iterable[Passage] = ()
    if sources.blocks and tokens > estimate(forms[-1]):
        quotes = passages(sources.blocks, sources.digests[0], forms[-1])
    restored = core.restore(
        forms, candidates, quotes, budget=tokens, level=level, count=count, priorities=priorities
    )
    if record and state is not None and not workspace.pause_file.in_force():
        _record(workspace, state, restored, candidates, sources.library, wanted)
    keep_timing(workspace, "restore", time.monotonic() - began, len(restored.text.encode("utf-8", "replace")))
    return restored


def _record(
    workspace: Workspace, state: SessionState, restored: Restoration, candidates: Sequence[Candidate],
    library: Library, asked_for: Sequence[str],
) -> None:  # fmt: skip
    """Note in the session what was loaded. It is Segue's own record, which no undo takes for a command."""
    notes = library.all()
    kinds = {one.id: one.kind for one in candidates}
    chosen = [id for id in restored.notes_restored if kinds.get(f"note/{id}") != "index notes"]
    wanted = {note.id for note in map(library.find, asked_for) if note is not None}
    loaded = {entry.item for entry in restored.log if entry.status != "skipped"}
    values: dict[str, Any] = {
        "decisions_loaded": sum(kinds.get(id) == "decisions" for id in loaded),
        "playbooks_loaded": sum(id.startswith("playbook/") for id in loaded),
        "total_tokens_loaded": restored.tokens_used,
    }
    for note in library.index_notes():
        if note.path.endswith("00-INDEX.md"):
            values["org_index_hash"] = note.hash
        elif note.path.endswith("00-PROJECT-INDEX.md"):
            values["project_index_hash"] = note.hash
    commands: list[Any] = [do.NoteContext(values)]
    for used in (True, False):
        ids = tuple(id for id in chosen if (id in wanted) is used)
        paths = {id: notes[id].path for id in ids if id in notes}
        commands += [do.LoadNotes(ids, 0, paths, used)] if ids else []
    session = find_session(workspace, state.id)
    session.commit_trusted(commands, actor=OBSERVER)
    note_activity(session)


def _grown(known: BriefFacts, brief: str) -> Iterator[Candidate]:
    """Parts of the brief for which it has no room, whole: the open items, the rules of the user."""
    shown = flat(brief)
    items = [line for line in known.plan if as_item(line.text) not in shown]
    if items:
        marks = {"active": "now ", "blocked": "blocked: "}
        rows = [
            f"- {marks.get(line.state, '')}{line.text}" + (f" ({line.reason})" if line.reason else "")
            for line in known.plan
        ]
        title = f"all {len(rows)} open items, in their order"
        yield candidate("plan", "the list", "essential", title, "\n".join(rows), "agent")
    if any(rule not in shown for rule in known.rules):
        rows = [f"- {rule}" for rule in known.rules]
        title = "rules and corrections that still apply"
        yield candidate("rules", "rules", "essential", title, "\n".join(rows), "yours")


def _candidates(
    workspace: Workspace, sources: RestorationSources, recalled: list[tuple[str, str, str]],
    notes: tuple[str, ...], decisions: int, since: str,
) -> Iterator[Candidate]:  # fmt: skip
    if since:
        yield candidate(
            "since", "since you left", "essential", "what changed in the meantime", since, "seen",
            source="`segue since`",
        )  # fmt: skip
    has_tree = workspace.sees_tree
    yield from _changes(sources) if has_tree else _without_tree(notes)
    if sources.state is not None:
        yield from _failing(workspace, sources.state)
        yield from _decided(sources.state, decisions)
    decided = list(_decided_elsewhere(sources, decisions))
    yield from decided
    if has_tree:
        known = {one.note for one in decided if one.note}
        by_meaning = workspace.settings.text("embedder") != "hash"
        yield from note_candidates(
            sources.library, sources.state, sources.query, notes, known, by_meaning=by_meaning
        )
    for id, text, trust in recalled:
        yield candidate(f"memory/{id}", "memories", "recommended", f"memory {id}", text, trust, 0.9)
    yield from _strategies(workspace, sources, {id for id, _, _ in recalled})
    if has_tree:
        yield from _code_map(workspace, sources)
        yield from _related(sources)


def _without_tree(notes: tuple[str, ...]) -> Iterator[Candidate]:
    """What a server cannot restore, for the log."""
    for id, kind, priority in (
        ("changes", "work under way", "essential"), ("notes", "related notes", "recommended"),
        ("files", "related files", "expanded"),
    ):  # fmt: skip
        yield Candidate(id, kind, priority, missing=NO_TREE)
    for id in notes:
        yield Candidate(
            f"note/{id}", "requested notes", "recommended", note=id, missing=f"missing: {NO_TREE}"
        )


def _changes(sources: RestorationSources) -> Iterator[Candidate]:
    if repository.find(sources.root) is None:
        return
    changes = sources.changes()
    ranks = _edited(sources)
    ranked = sorted(changes.files, key=lambda file: (ranks.get(file.path, 10**6), file.path))
    for index, file in enumerate(ranked):
        priority = "essential" if file.path in ranks else "recent"
        title = f"{file.path}{', a new file' if file.new else ', changed and not committed'}"
        excerpt = f"its first {len(file.text.encode()):,} bytes" if file.cut else ""
        yield candidate(
            f"change/{file.path}", "work under way", priority, title, file.text, "data", 1 / (1 + index / 20),
            source=file.path if file.new else "`git diff HEAD` has it", excerpt=excerpt,
        )  # fmt: skip
    if changes.cut:
        reason = "some of it: git did not finish in time, or there is too much"
        yield Candidate("changes", "work under way", "essential", missing=reason)
    if changes.unread:
        reason = f"{count_of(changes.unread, 'more new file')}: `git status` names them"
        yield Candidate("changes/new", "work under way", "recent", missing=reason)


def _edited(sources: RestorationSources) -> dict[str, int]:
    """The file in focus and those that the last run edited, with their ranks."""
    paths: dict[str, None] = {}
    if sources.state is not None and sources.state.focus.file:
        paths[sources.state.focus.file] = None
    for digest in sources.digests[:1]:
        for path, use in sorted(digest.files.items(), key=lambda pair: -pair[1].edited):
            if use.edits:
                paths[_relative(path, digest.cwd, sources.root)] = None
    return {path: rank for rank, path in enumerate(paths)}


def _relative(path: str, cwd: str, root: Path) -> str:
    full = Path(path) if path.startswith("/") else Path(cwd or root) / path
    with suppress(ValueError):
        return full.relative_to(root).as_posix()
    return path


def _failing(workspace: Workspace, state: SessionState) -> Iterator[Candidate]:
    from ...effects.files.check_outputs import Outputs

    outputs = Outputs(workspace.home.evidence)
    for id, feature in state.features.items():
        for check in feature.checks:
            ran = feature.ran.get(check.hash)
            if ran is None or ran.ok:
                continue
            text, excerpt = ran.first, ""
            events = workspace.store.read(stream_of(state.id), after=ran.version - 1, limit=1)
            body = ev.read_body(events[0]) if events else None
            if isinstance(body, CheckRan) and body.output and workspace.sees_tree:
                output = outputs.read(body.output)
                text, excerpt = f"{text}\n(the output is gone)", ""
                if output is not None:
                    whole = output.decode("utf-8", "replace")
                    text = _end(whole)
                    excerpt = f"the last {len(text):,} of {len(whole):,} characters" if text != whole else ""
            yield candidate(
                f"check/{id}/{check.hash[:8]}", "failing checks", "essential", f"feature {id}: {ran.first}",
                text, source=f"`segue verify --feature {id}` runs it again", excerpt=excerpt,
            )  # fmt: skip


def _end(text: str) -> str:
    """The last lines of an output."""
    if len(text) <= OUTPUT_CHARS:
        return text
    end = text[-OUTPUT_CHARS:]
    return end.partition("\n")[2] or end


def _decided(state: SessionState, limit: int) -> Iterator[Candidate]:
    for index, decision in enumerate(_recent_decisions(state)[:limit]):
        yield _decision(decision, 1 / (1 + index / 20))


def _recent_decisions(state: SessionState) -> list[Decision]:
    since = moment(-86_400 * DECISION_DAYS)
    return [one for one in reversed(decisions_that_hold(state)) if not one.at or one.at >= since]


def _decision(decision: Decision, value: float, session: str = "") -> Candidate:
    text = f"{decision.text} (because {decision.why})" if decision.why else decision.text
    trust = "yours" if decision.actor in ("", "user") else "agent"
    where = f" in session {session}" if session else ""
    title = f"decided {decision.at[:10]} by {decision.actor or 'user'}{where}"
    id = f"decision/{hashlib.sha256(decision.text.encode()).hexdigest()[:8]}"
    return candidate(id, "decisions", "essential", title, text, trust, value)


def _decided_elsewhere(sources: RestorationSources, limit: int) -> Iterator[Candidate]:
    """The newest decisions that other sessions of the project made and that notes of its library tell."""
    own = {one.text for one in sources.state.decisions} if sources.state is not None else set()
    found: dict[str, tuple[str, Decision | ProjectNote, str]] = {}
    for session, decision in _decisions_of_sisters(sources):
        if decision.text not in own:
            found.setdefault(decision.text, (decision.at[:10], decision, session))
    if sources.workspace.sees_tree:
        found.update((note.path, (day_of(note), note, "")) for note in sources.library.decisions()[:limit])
    newest = sorted(found.values(), key=lambda one: one[0], reverse=True)[:limit]
    for index, (_, decided, session) in enumerate(newest):
        value = 0.9 / (1 + index / 20)
        if isinstance(decided, Decision):
            yield _decision(decided, value, session)
        else:
            yield note_candidate(sources.library, decided, "decisions", "essential", value)


def _decisions_of_sisters(sources: RestorationSources) -> Iterator[tuple[str, Decision]]:
    """The recent decisions of the sessions of the same project that were active last."""
    workspace, state = sources.workspace, sources.state
    if state is not None:
        mine = {(state.organization, state.project)}
    else:
        organization = workspace.settings.text("organization")
        mine = {(organization, key) for key in workspace.working_tree.project_keys(workspace.settings)}
    cards = [card for card in workspace.repository.cards() if (card.organization, card.project) in mine]
    cards.sort(key=lambda card: (card.last_active, card.id), reverse=True)
    for card in [card for card in cards if state is None or card.id != state.id][:SISTERS_MAX]:
        with suppress(SegueError):
            for decision in _recent_decisions(workspace.repository.state(card.id)):
                yield card.id, decision


def _recalled(workspace: Workspace, sources: RestorationSources) -> list[tuple[str, str, str]]:
    """Id, text and trust of the memories about the work; by full-text search unless an embedder is set."""
    state, digests = sources.state, sources.digests
    try:
        recalled = relevant_memories(workspace, state, digests, limit=MEMORIES_MAX, with_model=True)
    except (SegueError, OSError):
        return []
    return [(result.id, result.content, _trust(result.memory.trust)) for result in recalled]


def _trust(trust: str) -> str:
    return {"user": "yours", "agent": "agent"}.get(trust, "data")


def _strategies(workspace: Workspace, sources: RestorationSources, seen: set[str]) -> Iterator[Candidate]:
    if not sources.query:
        return
    try:
        strategies = memory_service(workspace, with_model=True).playbook(sources.query, top_k=PLAYBOOKS_MAX)
    except (SegueError, OSError):
        return
    for strategy in strategies:
        if strategy.id not in seen and not strategy.quoted:
            id, title, trust = strategy.id, f"playbook {strategy.id}", _trust(strategy.memory.trust)
            text = strategy.content
            yield candidate(f"playbook/{id}", "playbooks", "recommended", title, text, trust, 0.85)


def _code_map(workspace: Workspace, sources: RestorationSources) -> Iterator[Candidate]:
    """The files and symbols that matter most for the work, if the map of the code was made before."""
    if not workspace.home.map_of(sources.root).exists():
        return
    from ..codemap.ask import map_for_restoration

    session = sources.state.id if sources.state is not None else ""
    found = map_for_restoration(workspace, session, MAP_TOKENS, MAP_SECONDS, MAP_LINES_MAX)
    if found is None:
        reason = "out of date, and there was no time to update it: run `segue map`"
        yield Candidate("map", "map of the code", "expanded", missing=reason)
    elif found.text:
        title = "the files that matter most for this work, with symbols and their lines"
        yield candidate("map", "map of the code", "expanded", title, found.text, source="`segue map`")


def _related(sources: RestorationSources) -> Iterator[Candidate]:
    """Outlines of the files that the edited ones refer to."""
    from ...effects.related import outline, references

    edited = list(_edited(sources))[:RELATED_MAX]
    referrers: dict[str, str] = {}
    for path in edited:
        for other in references(sources.root, path):
            if other not in edited:
                referrers.setdefault(other, path)
        if len(referrers) >= RELATED_MAX:
            break
    for index, (path, referrer) in enumerate(list(referrers.items())[:RELATED_MAX]):
        text = outline(sources.root, path)
        if text:
            title = f"{path}, which {referrer} refers to: what it declares"
            value = 1 / (1 + index / 10)
            yield candidate(
                f"file/{path}", "related files", "expanded", title, text, "data", value, source=path
            )
