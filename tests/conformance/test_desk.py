"""A server's own tables are the same on every store that a server can have."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.postgres_store import journal_for, needs_postgres

from segue.core.server.access import AuditLine, KeptResponse, KeyRecord
from segue.stores.base import Desk
from segue.stores.sqlite import SqliteJournal


class DeskSuite:
    """What every desk keeps to."""

    def make(self, tmp_path: Path) -> Desk:
        raise NotImplementedError

    @pytest.fixture
    def desk(self, tmp_path: Path) -> Desk:
        return self.make(tmp_path)

    def test_a_key_is_found_by_its_id_and_replaced_by_its_like(self, desk: Desk, tmp_path: Path) -> None:
        first = KeyRecord("a" * 12, "h", "writer", "web", "ci", "é \0 name", "2026-01-01", "local", "", "")
        desk.put_key(first)
        found = desk.key("a" * 12)
        assert found is not None and (found.role, found.agent, found.project) == ("writer", "ci", "web")
        desk.put_key(KeyRecord("a" * 12, "h", "writer", "web", revoked="2026-02-01"))
        found = self.make(tmp_path).key("a" * 12)
        assert found is not None and found.revoked == "2026-02-01"
        assert desk.key("b" * 12) is None and desk.key("' OR 1=1 --") is None

    def test_keys_are_listed_in_the_order_in_which_they_were_made(self, desk: Desk) -> None:
        for id, created in (("b", "2"), ("a", "3"), ("c", "1")):
            desk.put_key(KeyRecord(id, "h", "reader", "p", created=created))
        found = desk.keys()
        assert [key.id for key in found] == ["c", "b", "a"]

    def test_the_audit_gives_the_newest_first_page_by_page_and_by_project(self, desk: Desk) -> None:
        desk.note([AuditLine(str(i), "k", "web" if i % 2 else "shop", f"act {i}", 200) for i in range(7)])
        first = desk.audit(limit=3)
        assert [line.act for _, line in first] == ["act 6", "act 5", "act 4"]
        then = desk.audit(before=first[-1][0], limit=10)
        assert [line.act for _, line in then] == ["act 3", "act 2", "act 1", "act 0"]
        assert [line.act for _, line in desk.audit(project="web")] == ["act 5", "act 3", "act 1"]

    def test_the_oldest_lines_of_the_audit_are_cut_some_thousands_at_a_time(self, desk: Desk) -> None:
        desk.note([AuditLine("2026-01-01", "k", "web", f"act {i}", 200) for i in range(5_003)])
        desk.note([AuditLine("2026-01-02", "k", "web", "new", 200)])
        cut = [desk.cut_audit("2026-01-01T12") for _ in range(3)]
        assert sum(cut) == 5_003 and cut[0] < 5_003 and cut[2] == 0
        assert [line.act for _, line in desk.audit()] == ["new"]

    def test_the_first_answer_to_a_request_stays_until_it_is_old(self, desk: Desk) -> None:
        desk.answer(KeptResponse("id", "request", 201, "application/json", b"{}\xff", "2026-01-01"))
        desk.answer(KeptResponse("id", "other", 500, "text/plain", b"", "2026-01-02"))
        found = desk.answered("id")
        assert found is not None and (found.status, found.body) == (201, b"{}\xff")
        desk.forget("2026-01-01")
        assert desk.answered("id") is not None
        desk.forget("2026-01-01T01")
        assert desk.answered("id") is None


class TestSqliteDesk(DeskSuite):
    def make(self, tmp_path: Path) -> Desk:
        return SqliteJournal(tmp_path / "segue.db").desk


@needs_postgres
@pytest.mark.xdist_group("postgres")
class TestPostgresDesk(DeskSuite):
    def make(self, tmp_path: Path) -> Desk:
        return journal_for(tmp_path).desk
