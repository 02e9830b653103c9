"""Restoring: everything that may be of use is gathered, within time limits, and handed to ``core.restore``.

Whatever cannot be read in time is a line in the log, never a fault: a resumption must not fail because git is
slow, a note is gone or a transcript was deleted. Nothing is shown that was not masked. What was loaded is
noted with the session as references and hashes, never as copies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.base.token_estimate import Counter, estimate
from ...core.brief.compose import compose
from ...core.brief.facts import BriefFacts, Probe
from ...core.brief.passages import Passage, passages
from ...core.brief.relevance import words
from ...core.resume import restoration as core
from ...core.resume.restoration import Candidate, Restoration, pieces_of
from ...core.runs.model import RunDigest
from ...core.sessions.state import SessionState
from ...effects.git import repository
from ...effects.git.probe import start_probe
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..brief.gather import (
    RunsSummary,
    command_for_more,
    gather,
    summary_of_run,
    summary_of_session,
    world_now,
)
from ..brief.relevant_memories import (
    memory_service,
    query_of,
    relevant_memories,
)
from ..runs.observed import runs_of
from ..runs.select import newest_run
from ..workspace.open_session import find_session

if TYPE_CHECKING:
    from ...effects.git.hunks import Changes, HunkQuery
    from ...effects.notes import Library, ProjectNote
    from ..workspace.workspace import Workspace

BRIEF_BYTES = (600, 1_024, 2_048)
DECISIONS_MAX, DECISION_DAYS = 5, 30
MEMORIES_MAX, PLAYBOOKS_MAX, NOTES_MAX, RELATED_MAX = 8, 3, 5, 6
OUTPUT_CHARS, WORDS_MAX = 4_000, 8
GIT_SECONDS = 0.5
NO_TREE = "a server sees no working tree"


class Gathered:
    """What there is to tell of a session here."""

    def __init__(self, workspace: Workspace, state: SessionState | None, *, quotes: bool = True) -> None:
        self.workspace = workspace
        self.state = state
        self.root: Path = workspace.working_tree.root
        self.runs = RunsSummary()
        self.blocks: Sequence[Any] = ()
        self._world: Callable[[], Probe] | None = None
        self._changes: HunkQuery | None = None
        self._look(quotes)

    def _look(self, quotes: bool) -> None:
        """The newest runs of the session, and the texts in the newest."""
        if not self.workspace.sees_tree:
            self.runs = summary_of_session(self.workspace, self.state)
            return
        finder = runs_of(self.workspace).capture()
        try:
            found = newest_run(finder, session=self.state.id if self.state else "")
            if found is None:
                return
            self.runs = summary_of_run(self.workspace, finder, found)
            if quotes:
                from ..runs.quoting import blocks_of

                self._ask()
                self.blocks = blocks_of(finder, found)
        except (SegueError, OSError):
            return

    @property
    def digests(self) -> tuple[RunDigest, ...]:
        """What the runs say, the newest first."""
        return self.runs.digests

    def _ask(self) -> None:
        """Git is asked while texts are read."""
        if repository.find(self.root) is None:
            return
        from ...effects.git.hunks import HunkQuery

        self._world = start_probe(self.root, self.digests[0].last if self.digests else 0.0)
        self._changes = HunkQuery(self.root, seconds=GIT_SECONDS)

    def changes(self) -> Changes:
        """What is uncommitted."""
        from ...effects.git.hunks import HunkQuery

        return (self._changes or HunkQuery(self.root, seconds=GIT_SECONDS)).changes()

    def facts(self, memories: Sequence[str]) -> BriefFacts:
        """What a brief says."""
        world = self._world() if self._world is not None else world_now(self.workspace, self.runs)
        return gather(self.workspace, self.state, self.runs, world=world, memories=memories)

    @cached_property
    def library(self) -> Library:
        """The notes of the place."""
        from .notes import library_of

        return library_of(self.workspace)

    @cached_property
    def query(self) -> str:
        """What the work is about, in words."""
        return query_of(self.state, self.digests)


def restore(
    workspace: Workspace, session: str = "", *, budget: str | int = "balanced", notes: Iterable[str] = (),
    decisions: int = DECISIONS_MAX, count: Counter | None = None,
    priorities: Mapping[str, float] | None = None, since: str = "", record: bool = False,
) -> Restoration:  # fmt: skip
    """The context of a session, or of where the work here stands, within a budget of tokens.

    ``notes`` are asked for by id, title or path; ``since`` is a report of what changed meanwhile;
    ``record`` notes with the session what was loaded. ``count`` counts as the reading model does."""
    level, tokens = core.budget_of(budget)
    state = _state(workspace, session)
    known = Gathered(workspace, state)
    recalled = _recalled(workspace, known)
    shown = known.facts([" ".join(text.split())[:240] for _, text, _ in recalled[:4]])
    more = command_for_more(known.runs, state)
    forms = [redact(compose(shown, size, more)) for size in BRIEF_BYTES]
    found = list(_candidates(workspace, known, recalled, tuple(notes), decisions, since))
    quotes: Iterable[Passage] = ()
    if known.blocks and tokens > estimate(forms[-1]):
        quotes = passages(known.blocks, known.digests[0], forms[-1])
    restored = core.restore(
        forms, found, quotes, budget=tokens, level=level, count=count, priorities=priorities
    )
    if record and state is not None and not workspace.pause_file.in_force():
        _record(workspace, state, restored, found, known.library)
    return restored


def brief_of(workspace: Workspace, session: str = "", *, budget: int = BRIEF_BYTES[-1]) -> str:
    """The brief of a session, or of where the work here stands."""
    known = Gathered(workspace, _state(workspace, session), quotes=False)
    memories = [" ".join(text.split())[:240] for _, text, _ in _recalled(workspace, known)[:4]]
    return redact(compose(known.facts(memories), budget, command_for_more(known.runs, known.state)))


def _record(
    workspace: Workspace,
    state: SessionState,
    restored: Restoration,
    found: Sequence[Candidate],
    library: Library,
) -> None:
    """Note with the session what was loaded: ids, paths and hashes."""
    from ...core.sessions import commands as do

    notes = library.all()
    about = {one.note: one.kind for one in found if one.note}
    used = [id for id in restored.notes_restored if about.get(id) != "index notes"]
    loaded = {entry.item for entry in restored.log if entry.status != "skipped"}
    values: dict[str, Any] = {
        "decisions_loaded": sum(id.startswith("decision/") for id in loaded),
        "playbooks_loaded": sum(id.startswith("playbook/") for id in loaded),
        "total_tokens_loaded": restored.tokens_used,
    }
    for note in library.index_notes():
        if note.path.endswith("00-INDEX.md"):
            values["org_index_hash"] = note.hash
        elif note.path.endswith("00-PROJECT-INDEX.md"):
            values["project_index_hash"] = note.hash
    wishes: list[Any] = [do.NoteContext(values)]
    if used:
        paths = {id: notes[id].path for id in used if id in notes}
        wishes.append(do.LoadNotes(tuple(used), 0, paths))
    find_session(workspace, state.id).apply(*wishes)


def _state(workspace: Workspace, session: str) -> SessionState | None:
    from .scenes import state_of

    return state_of(workspace, session or None)


def _candidates(
    workspace: Workspace, known: Gathered, recalled: list[tuple[str, str, str]], wanted: tuple[str, ...],
    decisions: int, since: str,
) -> Iterator[Candidate]:  # fmt: skip
    if since:
        yield _candidate("since", "since you left", "essential", "what changed meanwhile", since, "agent")
    bare = not workspace.sees_tree
    if bare:
        yield from _nowhere(wanted)
    else:
        yield from _changes(known)
    if known.state is not None:
        yield from _failing(workspace, known.state)
        yield from _decided(known.state, decisions)
    if not bare:
        yield from _notes(workspace, known, wanted)
    for id, text, trust in recalled:
        yield _candidate(f"memory/{id}", "memories", "recommended", f"memory {id}", text, trust, 0.9)
    yield from _strategies(workspace, known, {id for id, _, _ in recalled})
    if not bare:
        yield from _related(known)


def _nowhere(wanted: tuple[str, ...]) -> Iterator[Candidate]:
    """What a server cannot tell, for the log."""
    for id, kind, priority in (
        ("changes", "work under way", "essential"), ("notes", "related notes", "recommended"),
        ("files", "related files", "expanded"),
    ):  # fmt: skip
        yield Candidate(id, kind, priority, missing=NO_TREE)
    for id in wanted:
        yield Candidate(
            f"note/{id}", "requested notes", "recommended", note=id, missing=f"missing: {NO_TREE}"
        )


def _candidate(
    id: str, kind: str, priority: str, title: str, text: str, trust: str = "data", value: float = 1.0,
    note: str = "",
) -> Candidate:  # fmt: skip
    return Candidate(id, kind, priority, title, pieces_of(redact(text)), trust, value, note)


# -- the work under way


def _changes(known: Gathered) -> Iterator[Candidate]:
    """What is uncommitted, what this work touched first."""
    if repository.find(known.root) is None:
        return
    found = known.changes()
    mine = _edited(known)
    for at, one in enumerate(sorted(found.files, key=lambda one: (mine.get(one.path, 10**6), one.path))):
        priority = "essential" if one.path in mine else "recent"
        title = f"{one.path}{', a new file' if one.new else ', changed and not committed'}"
        yield _candidate(
            f"change/{one.path}", "work under way", priority, title, one.text, "data", 1 / (1 + at / 20)
        )
    if found.cut:
        yield Candidate("changes", "work under way", "essential", missing="git did not tell all in time")


def _edited(known: Gathered) -> dict[str, int]:
    """Files that the last run edited, and the focus: path to rank."""
    found: dict[str, None] = {}
    if known.state is not None and known.state.focus.file:
        found[known.state.focus.file] = None
    for digest in known.digests[:1]:
        for path, use in sorted(digest.files.items(), key=lambda pair: -pair[1].edited):
            if use.edits:
                found[_within(path, digest.cwd, known.root)] = None
    return {path: at for at, path in enumerate(found)}


def _within(path: str, cwd: str, root: Path) -> str:
    full = Path(path) if path.startswith("/") else Path(cwd or root) / path
    try:
        return full.relative_to(root).as_posix()
    except ValueError:
        return path


def _failing(workspace: Workspace, state: SessionState) -> Iterator[Candidate]:
    """Checks that fail, with what they said."""
    from ...core import event_kinds as ev
    from ...core.features.events import CheckRan
    from ...effects.files.check_outputs import Outputs
    from ..sessions.repository import stream_of

    outputs = Outputs(workspace.home.evidence)
    for id, feature in state.features.items():
        for check in feature.checks:
            ran = feature.ran.get(check.hash)
            if ran is None or ran.ok:
                continue
            text = ran.first
            events = workspace.store.read(stream_of(state.id), after=ran.version - 1, limit=1)
            body = ev.read_body(events[0]) if events else None
            if isinstance(body, CheckRan) and body.output and workspace.sees_tree:
                kept = outputs.read(body.output)
                text = (
                    _end(kept.decode("utf-8", "replace"))
                    if kept is not None
                    else f"{text}\n(the output is gone)"
                )
            name = f"check/{id}/{check.hash[:8]}"
            yield _candidate(name, "failing checks", "essential", f"feature {id}: {ran.first}", text)


def _end(text: str) -> str:
    """The end of an output: there it says what failed."""
    return text if len(text) <= OUTPUT_CHARS else text[-OUTPUT_CHARS:].partition("\n")[2]


def _decided(state: SessionState, most: int) -> Iterator[Candidate]:
    """The newest decisions, of the last days."""
    since = (datetime.now(UTC) - timedelta(days=DECISION_DAYS)).isoformat().replace("+00:00", "Z")
    recent = [one for one in reversed(list(state.decisions)) if not one.at or one.at >= since][:most]
    for at, one in enumerate(recent):
        text = f"{one.text} (because {one.why})" if one.why else one.text
        trust = "yours" if one.actor in ("", "user") else "agent"
        title = f"decided {one.at[:10]} by {one.actor or 'user'}"
        id = f"decision/{hashlib.sha256(one.text.encode()).hexdigest()[:8]}"
        yield _candidate(id, "decisions", "essential", title, text, trust, 1 / (1 + at / 20))


# -- notes


def _notes(workspace: Workspace, known: Gathered, wanted: tuple[str, ...]) -> Iterator[Candidate]:
    library = known.library
    seen: set[str] = set()
    for note in library.index_notes():
        seen.add(note.id)
        yield _note(library, note, "index notes", "essential", 0.95)
    for id in wanted:
        yield from _asked(library, id, "requested notes", "recommended", 1.0, seen)
    for id, value in _recommended(known.state):
        yield from _asked(library, id, "recommended notes", "recommended", value, seen)
    said = sorted(words(known.query), key=lambda word: (-len(word), word))[:WORDS_MAX]
    for at, note in enumerate(library.matching(said, NOTES_MAX) if said else []):
        if note.id not in seen:
            seen.add(note.id)
            kind = "playbooks" if "playbook" in note.path.lower() else "related notes"
            yield _note(library, note, kind, "recommended", 0.8 / (1 + at / 10))
    for id in _loaded_before(known.state):
        yield from _asked(library, id, "notes loaded before", "expanded", 1.0, seen)


def _recommended(state: SessionState | None) -> list[tuple[str, float]]:
    """The note in focus, those of open threads, and the five used most."""
    if state is None:
        return []
    found: dict[str, float] = {}
    if state.focus.note_id:
        found[state.focus.note_id] = 1.0
    for thread in state.threads.values():
        if thread.status == "in_progress":
            found.update((id, 0.95) for id in thread.notes)
    used = sorted(state.notes.items(), key=lambda pair: (-pair[1].count, pair[0]))[:NOTES_MAX]
    for at, (id, _) in enumerate(used):
        found.setdefault(id, 0.9 / (1 + at / 20))
    return list(found.items())


def _loaded_before(state: SessionState | None) -> list[str]:
    return sorted(state.notes, key=lambda id: (-state.notes[id].count, id)) if state else []


def _asked(
    library: Library, id: str, kind: str, priority: str, value: float, seen: set[str]
) -> Iterator[Candidate]:
    """A note by its id; a line in the log if there is none."""
    if id in seen:
        return
    seen.add(id)
    note = library.find(id)
    if note is None:
        yield Candidate(f"note/{id}", kind, priority, note=id, missing="missing: no such note")
    elif note.id == id or note.id not in seen:
        seen.add(note.id)
        yield _note(library, note, kind, priority, value)


def _note(library: Library, note: ProjectNote, kind: str, priority: str, value: float) -> Candidate:
    from ...effects.notes import body_of

    text = library.text(note)
    if text is None:
        return Candidate(
            f"note/{note.id}", kind, priority, note=note.id, missing="missing: it cannot be read"
        )
    return _candidate(
        f"note/{note.id}",
        kind,
        priority,
        f"{note.title} ({note.path})",
        body_of(text),
        "data",
        value,
        note.id,
    )


# -- memories


def _recalled(workspace: Workspace, known: Gathered) -> list[tuple[str, str, str]]:
    """(id, text, trust) of the memories that bear on the work; by full text unless a model is set."""
    try:
        found = relevant_memories(workspace, known.state, known.digests, most=MEMORIES_MAX, with_model=True)
    except (SegueError, OSError):
        return []
    return [(one.id, one.content, _trust(one.memory.trust)) for one in found]


def _trust(trust: str) -> str:
    return {"user": "yours", "agent": "agent"}.get(trust, "data")


def _strategies(workspace: Workspace, known: Gathered, seen: set[str]) -> Iterator[Candidate]:
    query = known.query
    if not query:
        return
    try:
        found = memory_service(workspace, with_model=True).playbook(query, top_k=PLAYBOOKS_MAX)
    except (SegueError, OSError):
        return
    for one in found:
        if one.id not in seen and not one.quoted:
            title = f"playbook {one.id}"
            yield _candidate(
                f"playbook/{one.id}",
                "playbooks",
                "recommended",
                title,
                one.content,
                _trust(one.memory.trust),
                0.85,
            )


# -- the code around


def _related(known: Gathered) -> Iterator[Candidate]:
    """Files that the edited ones refer to: what they declare."""
    from ...effects.related import outline, references

    edited = list(_edited(known))[:RELATED_MAX]
    told: dict[str, str] = {}
    for path in edited:
        for other in references(known.root, path):
            if other not in edited:
                told.setdefault(other, path)
        if len(told) >= RELATED_MAX:
            break
    for at, (path, by) in enumerate(list(told.items())[:RELATED_MAX]):
        text = outline(known.root, path)
        if text:
            title = f"{path}, which {by} refers to: what it declares"
            yield _candidate(
                f"file/{path}", "related files", "expanded", title, text, "data", 1 / (1 + at / 10)
            )
