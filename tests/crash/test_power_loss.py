"""The power goes at any moment, and the disk keeps of unsynced writes what it likes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.support.crash.disk import Op, Recorder, image
from tests.support.crash.work import agent_value

from segue.api.segue import Segue
from segue.errors import SegueError
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import integrity
from segue.testing.stores import verify_chain

SEED = 20260103
Acknowledged = list[dict[str, int]]


@pytest.fixture
def recorder(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    recorder = Recorder(f"recorder-{request.node.name[:40]}")
    yield recorder
    recorder.unregister()


def work(recorder: Recorder, home: Path, *, synchronous: str = "") -> Acknowledged:
    """Sessions, agents and snapshots, with many checkpoints of the log; the heads at every mark."""
    home.mkdir()
    journal = SqliteStore(home / "segue.db", vfs=recorder.vfs_name)
    db = journal.database.connection()
    db.wal_autocheckpoint(25)
    if synchronous:
        db.pragma("synchronous", synchronous)
    heads: Acknowledged = []

    def mark() -> None:
        recorder.mark()
        heads.append(dict(journal.streams()))

    seg = Segue(journal, home=home, folder=home)
    for round in range(4):
        session = seg.start(f"power {round}", items=["a", "b", "c"])
        mark()
        for step in range(25):
            if step % 5 == 0:
                session.save_agent("agent", agent_value(round, step))
            elif step % 5 == 1:
                session.checkpoint(
                    done=f"d{step}", begin=f"b{step}", decide=f"because {step}", learn="x" * 3000
                )
            elif step % 5 == 2:
                session.undo()
            else:
                session.note(f"note {step} " + "y" * 500)
            mark()
        seg.workspace.repository._snap(session.id, session.state)
    journal.close()
    return heads


def survivors(ops: list[Op], rng: random.Random, folder: Path) -> dict[str, int]:
    """The heads of all streams of a disk after a cut; every one of them is proven."""
    folder.mkdir()
    for name, body in image(ops, rng).items():
        (folder / name).write_bytes(body)
    journal = SqliteStore(folder / "segue.db")
    assert integrity(journal.database) == []
    heads = dict(journal.streams())
    for stream in heads:
        verify_chain(journal.read(stream))
    with Segue(journal, home=folder, folder=folder) as seg:
        for card in seg.list(everywhere=True):
            session = seg.session(card.id)
            if "agent" in session.state.agents:
                value = session.load_agent("agent")
                assert value == agent_value(value["seed"], value["step"])
            session.note("gone on")
    return heads


def lost(heads: dict[str, int], acknowledged: dict[str, int]) -> dict[str, int]:
    return {s: v for s, v in acknowledged.items() if heads.get(s, 0) < v}


def test_whatever_the_disk_kept_all_that_was_acknowledged_before_the_cut_is_there(
    recorder: Recorder, tmp_path: Path, kill_count: int
) -> None:
    cut_points = max(100, 5 * kill_count)
    print(f"seed {SEED}, {cut_points} cut points")
    acknowledged = work(recorder, tmp_path / "home")
    ops, rng = recorder.ops, random.Random(SEED)
    syncs = sum(op.what == "sync" for op in ops)
    assert syncs > 100 and sum(op.what == "mark" for op in ops) == len(acknowledged) == 104
    for number in range(cut_points):
        cut = rng.randrange(1, len(ops) + 1)
        marks = sum(op.what == "mark" for op in ops[:cut])
        folder = tmp_path / f"cut{number}"
        heads = survivors(ops[:cut], rng, folder)
        assert not (gone := lost(heads, acknowledged[marks - 1] if marks else {})), f"cut at {cut}: {gone}"
        for file in folder.iterdir():
            file.unlink() if file.is_file() else None


def test_a_store_that_does_not_sync_is_caught_by_this_test(recorder: Recorder, tmp_path: Path) -> None:
    acknowledged = work(recorder, tmp_path / "home", synchronous="OFF")
    ops, rng = recorder.ops, random.Random(SEED)
    caught = 0
    for number in range(20):
        cut = rng.randrange(len(ops) // 2, len(ops))
        marks = sum(op.what == "mark" for op in ops[:cut])
        try:
            heads = survivors(ops[:cut], rng, tmp_path / f"cut{number}")
            caught += bool(lost(heads, acknowledged[marks - 1]))
        except (AssertionError, SegueError, apsw.Error):
            caught += 1
    assert caught > 10
