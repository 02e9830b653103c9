"""Export then import is the identity, on every store."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.strategies import ODD, batches, journals, json_values, names, texts
from tests.support.examples import examples

from segue.api.segue import Segue
from segue.api.session import Session
from segue.core import event_kinds as ev
from segue.core.base.text import clean_text
from segue.core.sessions.commands import Command
from segue.core.sessions.state import TYPES
from segue.effects.files.safe_yaml import read_yaml
from segue.errors import BadImport, RefusedError, UsageError
from segue.services.handoff.export import export_session, import_session, pack, unpack
from segue.stores.base import Append, Journal
from segue.stores.memory.store import VolatileStore
from segue.stores.sqlite import SqliteStore

kinds = pytest.mark.parametrize("kind", ["volatile", "sqlite"])


class Stores:
    """Two stores that are gone afterwards."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __enter__(self) -> tuple[Segue, Segue]:
        self._folder = tempfile.TemporaryDirectory()
        root = Path(self._folder.name)
        self._open = [Segue(self._journal(root / f"{n}.db"), home=root / n, folder=root) for n in "ab"]
        return self._open[0], self._open[1]

    def _journal(self, path: Path) -> Journal:
        return SqliteStore(path) if self._kind == "sqlite" else VolatileStore()

    def __exit__(self, *_: object) -> None:
        for seg in self._open:
            seg.workspace.store.close()
        self._folder.cleanup()


def plant(journal: Journal, events: list[ev.Event]) -> None:
    """Append a journal as it is, commit by commit."""
    commit: list[ev.Draft] = []
    for event in events:
        commit.append(ev.Draft(event.kind, event.body, event.at, event.actor, event.run, event.format))
        if not event.left:
            journal.append(Append("session/s", event.version - len(commit), commit))
            commit = []


def worked(seg: Segue, work: list[list[Command]]) -> Session:
    """A session with this work in it; what is refused adds nothing."""
    s = seg.start("goal", items=["a", "b"], id="s")
    for batch in work:
        with suppress(UsageError, RefusedError):
            s.apply(*batch)
    return s


@examples(60)
@given(journals)
def test_a_packed_journal_is_unpacked_as_it_was(events: list[ev.Event]) -> None:
    journal = VolatileStore()
    plant(journal, events)
    data = pack("s", events, journal)
    parcel = unpack(data)
    assert parcel.events == events == journal.read("session/s")


@kinds
@examples(15)
@given(work=batches, state=json_values)
def test_json_out_and_in_gives_the_same_head_and_state(
    kind: str, work: list[list[Command]], state: Any
) -> None:
    with Stores(kind) as (here, there):
        s = worked(here, work)
        if s.state.status in ("active", "paused"):
            s.save_agent("coder", state)
        again = import_session(there.workspace, export_session(here.workspace, "s"))
        assert there.workspace.store.read("session/s") == here.workspace.store.read("session/s")
        assert again.state == s.state
        assert export_session(there.workspace, "s") == export_session(here.workspace, "s")
        if "coder" in s.state.agents and s.state.agents["coder"].pieces:
            assert again.load_agent("coder") == s.load_agent("coder")


clean = texts.map(clean_text)
times = (
    st.datetimes().map(lambda t: t.isoformat() + "Z")
    | st.datetimes().map(str)
    | st.dates().map(str)
    | st.sampled_from(["2026-01-15T10:30:00+02:00", ""])
)
counts = st.integers(0, 2**40)


def maybe(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A mapping with some of these keys, each maybe null."""
    return st.fixed_dictionaries({}, optional={name: st.none() | value for name, value in fields.items()})


def all_of(value: st.SearchStrategy[Any], *fields: str) -> st.SearchStrategy[Any]:
    return maybe(**dict.fromkeys(fields, value))


def merged(*parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(*parts).map(lambda found: {k: v for part in found for k, v in part.items()})


agent = merged(
    maybe(active=st.booleans()),
    all_of(counts, "pid", "suggestions_pending"),
    all_of(clean, "mode", "working_memory_path", "last_run", "last_topic"),
)
statuses = st.sampled_from(["in_progress", "paused"]) | clean
thread = maybe(topic=clean, status=statuses, last_activity=times, notes=st.lists(clean, max_size=3))
change = st.fixed_dictionaries({"file": clean, "type": st.sampled_from(["created", "modified", "deleted"])})
context = maybe(
    essential=merged(
        all_of(clean, "org_index_hash", "project_index_hash"),
        all_of(counts, "decisions_loaded", "playbooks_loaded"),
    ),
    recent=merged(
        all_of(counts, "notes_created_count", "notes_updated_count", "conversations_count", "commits_count"),
        maybe(cutoff_date=times),
    ),
    expanded=maybe(loaded_note_ids=st.lists(clean | counts, max_size=4), total_tokens_loaded=counts),
    cache=all_of(counts, "search_cache_size", "embedding_cache_size"),
)
metrics = merged(
    all_of(
        counts, "notes_created", "notes_updated", "decisions_made", "questions_asked", "searches_performed",
        "suggestions_accepted",
    ),
    maybe(estimated_cost=st.floats(0, 1e9)),
)  # fmt: skip
actions = (
    st.sampled_from(["Commit uncommitted changes", "Continue: a", "Begin: b", "Continue: ", "c"]) | clean
)
sessions = st.fixed_dictionaries(
    {
        "id": names,
        "organization": clean.filter(bool),
        "type": st.sampled_from(TYPES),
        "lifecycle": merged(
            st.just({"created": "2026-01-15T10:30:00Z"}),
            all_of(times, "created", "started", "paused", "resumed", "ended"),
            maybe(pause_reason=clean, duration_active_minutes=st.integers(0, 10**6) | st.floats(0, 1e9)),
        ),
    },
    optional={
        "version": st.sampled_from(["1.0", 1.0, None]),
        "project": st.none() | clean,
        "context": st.none() | context,
        "working_state": st.none()
        | maybe(
            current_focus=maybe(note_id=clean | counts, note_title=clean, position=clean | counts),
            open_threads=st.lists(thread, max_size=4),
            uncommitted_changes=st.lists(change, max_size=3),
        ),
        "agents": st.none() | st.dictionaries(names, st.none() | agent, max_size=3),
        "metrics": st.none() | metrics,
        "resumption": st.none()
        | maybe(
            recommended_context=st.lists(clean, max_size=7),
            open_questions=st.lists(clean, max_size=7),
            next_actions=st.lists(actions, max_size=4),
        ),
        "unheard_of": json_values.filter(lambda v: "\\x" not in repr(v)),
    },
)


@examples(120)
@given(sessions)
def test_any_session_yaml_comes_back_as_the_same_document(session: dict[str, Any]) -> None:
    import yaml

    with Stores("volatile") as (seg, _):
        text = yaml.safe_dump({"session": session}, allow_unicode=True).encode()
        document = _through_the_door(read_yaml(text))
        import_session(seg.workspace, text, "yaml")
        assert read_yaml(export_session(seg.workspace, session["id"], "yaml")) == document
        assert seg.workspace.repository.state(session["id"]).id == session["id"]


def _through_the_door(value: Any) -> Any:
    if isinstance(value, dict):
        return {clean_text(k): _through_the_door(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_through_the_door(v) for v in value]
    return clean_text(value) if isinstance(value, str) else value


@kinds
@examples(15)
@given(work=batches)
def test_any_session_of_ours_comes_back_through_yaml_as_the_same_document(
    kind: str, work: list[list[Command]]
) -> None:
    with Stores(kind) as (here, there):
        worked(here, work)
        text = export_session(here.workspace, "s", "yaml")
        import_session(there.workspace, text)
        assert read_yaml(export_session(there.workspace, "s", "yaml")) == read_yaml(text)


@examples(150)
@given(
    st.binary(max_size=60)
    | texts.map(str.encode)
    | st.sampled_from(ODD).map(lambda t: f"session: {t}".encode())
)
def test_any_other_bytes_are_refused_with_a_sentence(data: bytes) -> None:
    with Stores("volatile") as (seg, _), pytest.raises(BadImport):
        import_session(seg.workspace, data)
