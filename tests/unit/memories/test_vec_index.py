"""sqlite-vec, where it loads, finds what the scan finds, and keeps to who may read."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from segue.api.segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.effects.vectors.embedder import HashEmbedder
from segue.stores.sqlite import SqliteStore, memories as ours
from segue.stores.sqlite.vec_index import SqliteVecIndex, extension, loaded
from segue.stores.vectors import packed

pytest.importorskip("sqlite_vec", reason="NOT TESTED: the extra `vec` is not installed")
WORDS = "widget gear bolt spring lever crank valve piston shaft cog".split()


@pytest.fixture
def seg(tmp_path: Path):
    with Segue(home=tmp_path / "home", folder=tmp_path, embedder=HashEmbedder()) as opened:
        chance = random.Random(7)
        opened.memories.remember_many(
            [
                {
                    "content": f"fact {no}: " + " ".join(chance.sample(WORDS, 4)),
                    "scope": "agent-private" if no % 3 == 0 else "project",
                    "agent": f"agent-{no % 2}",
                    "type": "strategy" if no % 5 == 0 else "standard",
                }
                for no in range(300)
            ]
        )
        yield opened


def fresh(
    seg: Segue, monkeypatch: pytest.MonkeyPatch, *, vec: bool
) -> Callable[[str, str, MemoryFilter], list[int]]:
    """What a process that asks for the first time finds: by the extension, or by the scan."""
    monkeypatch.setattr(ours, "PLAIN_ROWS_MAX", 20)
    monkeypatch.setattr(ours, "asks_once", lambda asked: vec)
    store = SqliteStore(seg.workspace.home.database).memories

    def near(text: str, agent: str, where: MemoryFilter) -> list[int]:
        vector = packed(HashEmbedder().embed([text])[0])
        found = store.near(seg.memories.reader(agent=agent), HashEmbedder().name, vector, where, 10)
        made = store._indexes[HashEmbedder().name][2]
        assert isinstance(made, SqliteVecIndex) == vec
        return [no for no, _ in found]

    return near


@pytest.mark.parametrize(
    "where", [MemoryFilter(), MemoryFilter(types=("strategy",))], ids=["all", "strategies"]
)
@pytest.mark.parametrize("agent", ["agent-0", "agent-1", "stranger"])
def test_the_extension_finds_what_the_scan_finds(
    seg: Segue, monkeypatch: pytest.MonkeyPatch, agent: str, where: MemoryFilter
):
    asked = [f"{one} {other}" for one in WORDS[:4] for other in WORDS[4:7]]
    quick = fresh(seg, monkeypatch, vec=True)
    found = [quick(text, agent, where) for text in asked]
    slow = fresh(seg, monkeypatch, vec=False)
    assert found == [slow(text, agent, where) for text in asked]
    assert any(found)


def test_an_extension_that_does_not_load_is_done_without(
    seg: Segue, monkeypatch: pytest.MonkeyPatch, tmp_path
):
    broken = tmp_path / "vec0.so"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr("segue.stores.sqlite.vec_index.extension", lambda: str(broken))
    connection = SqliteStore(seg.workspace.home.database).database.connection()
    assert not loaded(connection)
    assert seg.recall("widget gear")


def test_nothing_else_can_be_loaded_into_a_connection_afterwards(seg: Segue):
    import apsw

    connection = SqliteStore(seg.workspace.home.database).database.connection()
    assert loaded(connection) and extension()
    with pytest.raises(apsw.SQLError):
        connection.execute("SELECT load_extension(?)", (extension(),)).fetchall()
