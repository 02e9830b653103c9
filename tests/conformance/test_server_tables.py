"""A server's own tables are the same on every store that a server can have."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.postgres_store import journal_for, needs_postgres

from segue.core.server.access import AuditLine, KeptResponse, KeyRecord
from segue.stores.base import ServerTables
from segue.stores.sqlite import SqliteStore


class ServerTablesSuite:
    """What every tables keeps to."""

    def make(self, tmp_path: Path) -> ServerTables:
        raise NotImplementedError

    @pytest.fixture
    def tables(self, tmp_path: Path) -> ServerTables:
        return self.make(tmp_path)

    def test_a_key_is_found_by_its_id_and_replaced_by_its_like(
        self, tables: ServerTables, tmp_path: Path
    ) -> None:
        first = KeyRecord("a" * 12, "h", "writer", "web", "ci", "é \0 name", "2026-01-01", "local", "", "")
        tables.put_key(first)
        found = tables.key("a" * 12)
        assert found is not None and (found.role, found.agent, found.project) == ("writer", "ci", "web")
        tables.put_key(KeyRecord("a" * 12, "h", "writer", "web", revoked="2026-02-01"))
        found = self.make(tmp_path).key("a" * 12)
        assert found is not None and found.revoked == "2026-02-01"
        assert tables.key("b" * 12) is None and tables.key("' OR 1=1 --") is None

    def test_keys_are_listed_in_the_order_in_which_they_were_made(self, tables: ServerTables) -> None:
        for id, created in (("b", "2"), ("a", "3"), ("c", "1")):
            tables.put_key(KeyRecord(id, "h", "reader", "p", created=created))
        found = tables.keys()
        assert [key.id for key in found] == ["c", "b", "a"]

    def test_the_audit_gives_the_newest_first_page_by_page_and_by_project(self, tables: ServerTables) -> None:
        tables.note([AuditLine(str(i), "k", "web" if i % 2 else "shop", f"act {i}", 200) for i in range(7)])
        first = tables.audit(limit=3)
        assert [line.act for _, line in first] == ["act 6", "act 5", "act 4"]
        then = tables.audit(before=first[-1][0], limit=10)
        assert [line.act for _, line in then] == ["act 3", "act 2", "act 1", "act 0"]
        assert [line.act for _, line in tables.audit(project="web")] == ["act 5", "act 3", "act 1"]

    def test_the_oldest_lines_of_the_audit_are_cut_some_thousands_at_a_time(
        self, tables: ServerTables
    ) -> None:
        tables.note([AuditLine("2026-01-01", "k", "web", f"act {i}", 200) for i in range(5_003)])
        tables.note([AuditLine("2026-01-02", "k", "web", "new", 200)])
        cut = [tables.cut_audit("2026-01-01T12") for _ in range(3)]
        assert sum(cut) == 5_003 and cut[0] < 5_003 and cut[2] == 0
        assert [line.act for _, line in tables.audit()] == ["new"]

    def test_the_first_answer_to_a_request_stays_until_it_is_old(self, tables: ServerTables) -> None:
        tables.answer(KeptResponse("id", "request", 201, "application/json", b"{}\xff", "2026-01-01"))
        tables.answer(KeptResponse("id", "other", 500, "text/plain", b"", "2026-01-02"))
        found = tables.answered("id")
        assert found is not None and (found.status, found.body) == (201, b"{}\xff")
        tables.forget("2026-01-01")
        assert tables.answered("id") is not None
        tables.forget("2026-01-01T01")
        assert tables.answered("id") is None


class TestSqliteServerTables(ServerTablesSuite):
    def make(self, tmp_path: Path) -> ServerTables:
        return SqliteStore(tmp_path / "segue.db").server_tables


@needs_postgres
@pytest.mark.xdist_group("postgres")
class TestPostgresServerTables(ServerTablesSuite):
    def make(self, tmp_path: Path) -> ServerTables:
        return journal_for(tmp_path).server_tables
