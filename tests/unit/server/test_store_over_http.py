"""What a server lets its clients do with its store: by role, by agent, and by bytes that can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.remote import KEY, Access, Portal

from segue.core.journal.event import Draft
from segue.core.memories.model import MemoryAudit, MemoryFilter, Vote
from segue.errors import AccessError, NotAllowed, UsageError
from segue.stores.base import Append
from segue.stores.memory_changes import MemoryChange
from segue.stores.sqlite import SqliteStore
from segue.testing.memories import HERE, NOW, kept, memory
from segue.testing.stores import AT


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Portal]:
    made = Portal(tmp_path)
    yield made
    made.stop()


def test_a_reader_reads_and_recalls_and_writes_nothing(server: Portal, tmp_path: Path) -> None:
    from segue import Segue

    server.keys["reads"] = Access("r", role="reader")
    with Segue(server.url, home=tmp_path / "a", folder=tmp_path, api_key=KEY) as segue:
        session = segue.start("Refactor auth", items=["a"])
        session.learn("tokens last 15 minutes")
    with Segue(server.url, home=tmp_path / "b", folder=tmp_path, api_key="reads") as segue:
        there = segue.session(session.id)
        assert there.status().goal == "Refactor auth"
        assert [one.memory.content for one in segue.recall("tokens")] == ["tokens last 15 minutes"]
        with pytest.raises(AccessError, match="role reader"):
            there.note("not mine to say")


def test_a_key_of_one_agent_acts_as_that_agent_only(server: Portal) -> None:
    server.keys["ci"] = Access("c", role="writer", agent="ci")
    admin, bound = server.store(), server.store("ci")
    own = memory("own", "a secret of bob", scope="agent-private", agent="bob")
    admin.memories.write(MemoryChange([kept(own)]))
    bob = replace(HERE, agent="bob")
    assert admin.memories.get(["own"], bob) and not bound.memories.get(["own"], bob)
    assert not bound.memories.listing(bob, MemoryFilter(), NOW) and not bound.memories.unembedded("other", 10)
    assert admin.memories.unembedded("other", 10)
    with pytest.raises(NotAllowed):
        bound.append(Append("session/a", 0, [Draft("note.taken", b"{}", AT, "bob")]))
    bound.append(Append("session/a", 0, [Draft("note.taken", b"{}", AT, "ci")]))
    bound.append(Append("hold/a", 0, [Draft("hold.taken", b"{}", AT, "run-1")]))
    for change in (
        MemoryChange([kept(memory("m1", agent="bob"))]),
        MemoryChange(votes=[Vote("own", "bob", "helpful", NOW)]),
        MemoryChange(votes=[Vote("own", "ci", "harmful", NOW)]),
        MemoryChange(trail=[MemoryAudit("own", "update", NOW, "bob")]),
        MemoryChange(puts=[kept(replace(own, content="mine now", revision=2))]),
        MemoryChange(puts=[kept(replace(own, content="mine now", scope="global", revision=2))]),
    ):
        with pytest.raises(NotAllowed):
            bound.memories.write(change)
    assert bound.memories.write(MemoryChange([kept(memory("m2", "ours", agent="ci"))])) == ["m2"]
    assert admin.memories.get(["own"], bob) == [own]


def test_every_method_of_the_ports_has_a_role() -> None:
    from segue.services.server import store_over_http
    from segue.stores import base

    ports = {"journal": base.Journal, "runs": base.Runs, "memories": base.Memories}
    for port, kind in ports.items():
        names = {name for name, value in vars(kind).items() if callable(value) and name[0] != "_"}
        assert names - {"close"} == {m for p, m in store_over_http.METHODS if p == port} - {"about"}
    assert {store_over_http.need(*one) for one in store_over_http.METHODS} == {"reader", "writer", "admin"}
    assert (
        store_over_http.need("journal", "erase") == "admin"
        and store_over_http.need("memories", "unembedded") == "writer"
    )
    for wrong in (("journal", "close"), ("journal", "__class__"), ("desk", "keys")):
        with pytest.raises(UsageError):
            store_over_http.need(*wrong)


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x80", b"\x81\xa1x", b"\x1f\x8b\x00", b"[]" * 1000])
def test_bytes_that_are_no_request_are_refused(body: bytes, tmp_path: Path) -> None:
    from segue.services.server import store_over_http

    journal = SqliteStore(tmp_path / "segue.db")
    for port, method in (("journal", "append"), ("memories", "write"), ("runs", "put")):
        with pytest.raises(UsageError):
            store_over_http.call(journal, Access("a"), port, method, body)
    assert journal.streams() == []
    journal.close()


def test_a_packed_body_is_unpacked_by_the_gate_alone(tmp_path: Path) -> None:
    import gzip

    from segue.services.server import store_over_http

    journal = SqliteStore(tmp_path / "segue.db")
    with pytest.raises(UsageError, match="cannot be read"):
        store_over_http.call(journal, Access("a"), "journal", "append", gzip.compress(bytes(4 << 20)))
    journal.close()
