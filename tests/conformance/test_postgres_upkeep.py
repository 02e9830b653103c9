"""Care of a Postgres store: moving in, looking after it, erasing, and finding a write that was in doubt."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.postgres_store import journal_for, namespace_of, needs_postgres, shared, url_for

from segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.core.server.access import AuditLine
from segue.core.server.quota import Quota
from segue.services.upkeep.migrate import migrate
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.base import Append
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.upkeep import facts, owner_role, vacuum_state
from segue.testing.memories import HERE, NOW, add, memory
from segue.testing.stores import drafts

pytestmark = [needs_postgres, pytest.mark.xdist_group("postgres")]


def test_a_store_moves_in_with_sessions_states_and_memories_that_were_voted_on(tmp_path: Path) -> None:
    source = f"sqlite://{tmp_path / 'segue.db'}"
    with Segue(store=source, home=tmp_path / "home", folder=tmp_path) as segue:
        session = segue.start("moves", id="moves")
        session.save_agent("coder", {"plan": list(range(500))})
        kept = segue.remember("the pool has ten connections")
        segue.memories.vote(kept.id, "helpful", context="it did")
    moved = migrate(source, url_for(tmp_path), DataFolder(tmp_path / "home"), resolve(flags={}))
    assert (moved.sessions, moved.memories, moved.conflicts) == (1, 1, [])
    with Segue(store=url_for(tmp_path), home=tmp_path / "other", folder=tmp_path) as segue:
        assert segue.session("moves").load_agent("coder") == {"plan": list(range(500))}
        [found] = segue.recall("pool connections")
        assert found.memory.helpful == 1
        assert len(segue.workspace.store.memories.everything()) == 1


def test_a_server_tells_of_itself_and_of_every_table(tmp_path: Path) -> None:
    with closing(journal_for(tmp_path)) as store:
        store.append(Append("s", 0, drafts("a")))
        found = facts(store.database)
        assert owner_role(store.database) == found.role
        assert found.schema and found.owns and not found.standby and found.size_bytes
        tables = {table.name for table in vacuum_state(store.database).tables}
        assert {"events", "streams", "memories", "search_texts"} <= tables


def test_a_text_is_erased_from_events_memories_and_what_was_said_of_them(tmp_path: Path) -> None:
    where = shared().database(f"erase{namespace_of(tmp_path)[:12]}")
    with Segue(store=where, home=tmp_path / "home", folder=tmp_path) as segue:
        session = segue.start("erases", id="erases")
        session.note("the word is hunter2hunter2")
        kept = segue.remember("never hunter2hunter2 aloud")
        segue.memories.vote(kept.id, "harmful", context="says hunter2hunter2")
        assert segue.scrub("hunter2hunter2").memories == 1
        assert "hunter2" not in str(session.log()) + segue.recall("never aloud")[0].memory.content
    name = where.rpartition("/")[2]
    assert shared().query("SELECT count(*) FROM segue.memory_votes WHERE context ~ 'hunter2'", name) == [(0,)]


def test_the_newest_memories_are_listed_page_by_page_and_damaged_ones_can_be_left_out(tmp_path: Path) -> None:
    with closing(journal_for(tmp_path)) as store:
        add(store.memories, *(memory(f"m{n}", f"lesson {n} of many", type="fact") for n in range(450)))
        listed = store.memories.listing(HERE, MemoryFilter(metadata={"no": "such"}), NOW, 10)
        assert listed == []
        assert len(store.memories.listing(HERE, MemoryFilter(), NOW, 300)) == 300
        assert len(store.memories.intact()) == len(store.memories.everything()) == 450


def test_an_event_is_known_by_the_attempt_that_wrote_it_and_by_no_other(tmp_path: Path) -> None:
    with closing(journal_for(tmp_path)) as store:
        [event] = store.append(Append("s", 0, drafts("a")))
        sql = "SELECT attempt FROM segue.events WHERE namespace = %s"
        [(attempt,)] = store.database.fetch(sql, (store.namespace,))
        assert store.database.reading(lambda db: store.is_there(db, event, attempt))
        assert not store.database.reading(lambda db: store.is_there(db, event, uuid4()))


def test_old_lines_of_the_audit_are_cut(tmp_path: Path) -> None:
    with closing(PostgresStore(url_for(tmp_path))) as store:
        days = [f"2026-01-0{day}T00:00:00.000000Z" for day in (1, 2, 3)]
        store.server_tables.note([AuditLine(at, "k", "web", "GET /") for at in days])
        assert store.server_tables.cut_audit(days[2]) == 2
        assert [line.at for _, line in store.server_tables.audit()] == [days[2]]


def test_a_quota_is_kept_replaced_and_taken_away(tmp_path: Path) -> None:
    with closing(PostgresStore(url_for(tmp_path))) as store:
        tables = store.server_tables
        tables.put_quota(Quota("web", events=5))
        tables.put_quota(Quota("web", events=7))
        assert [quota.events for quota in tables.quotas()] == [7]
        tables.put_quota(Quota("web"))
        assert list(tables.quotas()) == []
