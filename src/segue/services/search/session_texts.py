"""The texts of sessions and handovers for the search: brought up to date when somebody searches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..._files import read_text
from ...core import event_kinds as ev
from ...core.base.values import seconds_of
from ...core.event_words import WORDS
from ...core.journal.event import Event, read_body
from ...core.search.index import IndexedSource, NewTexts, SearchSource
from ...core.search.kinds import Kind
from ...core.search.texts import SearchText, shortened
from ...core.sessions.state import OBSERVER
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..runs.observed import runs_of
from ..workspace.workspace import Workspace
from .indexes import SESSION, session_prefix, sessions_index

LAYER = "handover/"
_LAYER_FOLDERS = ("memory/layer1", "memory/layer2", "memory/layer3", "layer1", "layer2", "layer3")
KIND_OF_EVENT: dict[type[ev.Body], Kind] = {
    ev.Created: "goal", ev.Described: "goal", ev.Completed: "goal", ev.ItemAdded: "item",
    ev.ItemBlocked: "item", ev.ItemDropped: "item", ev.Decided: "decision", ev.Noted: "note",
    ev.Asked: "note", ev.Answered: "note", ev.Learnt: "note", ev.ErrorSeen: "note", ev.ErrorSolved: "note",
    ev.SessionPaused: "note", ev.Abandoned: "note", ev.Handed: "handover", ev.SaidKept: "note",
}  # fmt: skip
BATCH_SESSIONS = 200
LAYER_FILES_MAX = 2_000
LAYER_BYTES_MAX = 1 << 20


def catch_up_sessions(workspace: Workspace, *, seconds: float = 0.0) -> int:
    """Index what is new in sessions and in the handovers of this project, for so many seconds at most where
    any are given. Returns how many sessions are left."""
    index, due = sessions_index(workspace), time.monotonic() + seconds
    prefix, known = session_prefix(workspace), index.indexed()
    heads = {prefix + name.removeprefix(SESSION): at for name, at in workspace.store.streams(SESSION)}
    changed = [key for key, at in heads.items() if key not in known or known[key].version != at]
    if workspace.pause_file.in_force():  # nothing is written
        return len(changed)
    gone = [key for key in known if key.startswith(prefix) and key not in heads]
    if gone:
        index.drop(gone)
    batch: list[NewTexts] = []
    for number, key in enumerate(changed):
        with suppress(SegueError):  # one that cannot be read is reported by `segue doctor`
            batch.append(_new_texts(workspace, key, key.removeprefix(prefix), heads[key], known.get(key)))
        if seconds and time.monotonic() > due:
            index.put(batch)
            return len(changed) - number - 1
        if len(batch) == BATCH_SESSIONS:
            index.put(batch)
            batch = []
    index.put(batch)
    _catch_up_layers(workspace)
    return 0


def _new_texts(
    workspace: Workspace, key: str, session: str, version: int, before: IndexedSource | None
) -> NewTexts:
    """The events that a session has had since; of a journal that was written anew all of them."""
    goes_on = before is not None and before.version < version
    first = before.version if before is not None and goes_on else 0
    events = workspace.store.read(SESSION + session, after=first)
    source = before.source if before is not None and goes_on else _source(key, session, events)
    last = seconds_of(events[-1].at) if events else 0.0
    return NewTexts(source, list(texts_of_events(events)), version, version, last, not goes_on)


def _source(key: str, session: str, events: Sequence[Event]) -> SearchSource:
    created = read_body(events[0]) if events else None
    if not isinstance(created, ev.Created):
        return SearchSource(key, native=session)
    return SearchSource(key, native=session, project=created.project, project_name=created.project_name)


def texts_of_events(events: Iterable[Event]) -> Iterator[SearchText]:
    """What people and programs wrote into a session; what Segue noted itself says nothing new."""
    for event in events:
        body = read_body(event) if event.actor != OBSERVER else None
        kind = KIND_OF_EVENT.get(type(body)) if body is not None else None
        words = WORDS.get(type(body)) if body is not None else None
        if kind is not None and words is not None:
            yield SearchText(event.version, kind, shortened(words(body)), seconds_of(event.at))


def _catch_up_layers(workspace: Workspace) -> None:
    if workspace.sees_tree:
        index = runs_of(workspace).search_index
        index.put(_new_layers(workspace, index.indexed()))


def _new_layers(workspace: Workspace, known: dict[str, IndexedSource]) -> Iterator[NewTexts]:
    """The Markdown layers of handovers in this project that have changed."""
    root = workspace.working_tree.root
    project = workspace.working_tree.project_key(workspace.settings)[0]
    name = workspace.working_tree.project_name(project)
    for path in _layer_files(root):
        with suppress(OSError):
            stat = path.stat()
            key, version = f"{LAYER}{path}", stat.st_mtime_ns
            before = known.get(key)
            if (before is not None and before.version == version) or stat.st_size > LAYER_BYTES_MAX:
                continue
            text = redact(read_text(path, errors="replace"))
            source = SearchSource(
                key,
                native=str(path.relative_to(root)),
                path=str(path),
                cwd=str(root),
                project=project,
                project_name=name,
            )
            texts = [SearchText(1, "handover", shortened(text), stat.st_mtime)] if text.strip() else []
            yield NewTexts(source, texts, 1, version, stat.st_mtime, True)


def _layer_files(root: Path) -> list[Path]:
    found: list[Path] = []
    for name in _LAYER_FOLDERS:
        if (root / name).is_dir():
            found += [path for path in sorted((root / name).rglob("*.md")) if path.is_file()]
    return found[:LAYER_FILES_MAX]
