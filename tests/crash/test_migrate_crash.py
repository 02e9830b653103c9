"""A migration that dies anywhere goes on where it stopped, and what it made is the same as the source."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from tests.support.crash import work
from tests.support.postgres_store import needs_postgres, url_for

from segue import Segue
from segue.core.memories.model import Vote
from segue.effects.clock import now
from segue.effects.vectors.embedder import HashEmbedder
from segue.services.runs.observed import runs_of
from segue.services.upkeep.migrate import Migrated, migrate
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.base import Journal
from segue.stores.memory_changes import MemoryChange
from segue.stores.postgres import PostgresStore
from segue.stores.sqlite import SqliteStore
from segue.testing import spawn
from segue.testing.runs import row
from segue.testing.stores import verify_chain

pytestmark = [needs_postgres, pytest.mark.xdist_group("postgres")]


def fill(home: Path, store: str, seed: int = 7) -> None:
    """Two sessions with agents' states, a scrub, memories with votes, a run."""
    rng = random.Random(seed)
    home.mkdir(exist_ok=True)
    pen = work.Pen(home, "w")
    with Segue(store, home=home, folder=home, embedder=HashEmbedder()) as seg:
        for _ in range(2):
            session = work.begin(pen, seg)
            for _ in range(25):
                work.step(pen, rng, seg, session)
            session.learn(f"the launch code of {session.id} is 4711")
            session.done(*(f"item {place}" for place in range(450)))
        seg.scrub("4711")
        ids = [seg.remember(f"fact number {place} about pools", scope="global").id for place in range(5)]
        votes = [Vote(ids[0], "ann", "helpful", now()), Vote(ids[0], "bob", "harmful", now())]
        seg.memories.store.write(MemoryChange(votes=votes, recalls=[(ids[1], 3, now())]))
        runs = runs_of(seg.workspace).runs
        runs.put([row("k1"), row("k2")])


def opened(where: str) -> Journal:
    return (
        SqliteStore(where.removeprefix("sqlite://")) if where.startswith("sqlite") else PostgresStore(where)
    )


def same(source: str, target: str) -> None:
    """Assert that two stores hold the same."""
    one, other = opened(source), opened(target)
    heads = dict(one.streams("session/"))
    assert heads and dict(other.streams("session/")) == heads
    for stream in heads:
        events = other.read(stream)
        assert events == one.read(stream)
        verify_chain(events)
        assert other.snapshots([stream])[stream].version == len(events)
    ours, theirs = one.memories, other.memories  # type: ignore[attr-defined]
    carried = [(r.kept.memory, r.kept.vector, list(r.votes), list(r.trail)) for r in ours.carried()]
    assert carried == [(r.kept.memory, r.kept.vector, list(r.votes), list(r.trail)) for r in theirs.carried()]
    assert one.runs.rows() == other.runs.rows()  # type: ignore[attr-defined]
    assert one.runs.get("k1") == other.runs.get("k1")  # type: ignore[attr-defined]
    one.close()
    other.close()


def move(home: Path, source: str, target: str) -> Migrated:
    return migrate(source, target, DataFolder(home), resolve())


@pytest.fixture(params=["to postgres", "to sqlite"])
def way(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, str]:
    """(home, source, target), the source filled."""
    here = [f"sqlite://{tmp_path / 'home' / 'segue.db'}", url_for(tmp_path)]
    source, target = here if request.param == "to postgres" else (here[1], f"sqlite://{tmp_path / 'copy.db'}")
    fill(tmp_path / "home", source)
    return tmp_path / "home", source, target


def test_a_store_is_copied_whole_and_proven_and_twice_is_once(way: tuple[Path, str, str]) -> None:
    home, source, target = way
    first = move(home, source, target)
    assert (first.sessions, first.verified, first.conflicts, first.behind) == (2, 2, [], [])
    assert first.events > 900 and first.pieces and first.memories == 8 and first.runs == 2
    same(source, target)
    again = move(home, source, target)
    assert (again.events, again.pieces, again.runs, again.memories) == (0, 0, 0, 0)
    assert again.events_there == first.events and again.verified == 2


def test_what_was_written_since_is_taken_by_the_next(way: tuple[Path, str, str]) -> None:
    home, source, target = way
    move(home, source, target)
    with Segue(source, home=home, folder=home) as seg:
        seg.session().note("written later")
        seg.remember("learnt later", scope="global")
    found = move(home, source, target)
    assert (found.events, found.memories, found.verified) == (1, 1, 2)
    same(source, target)


def test_the_current_session_of_a_working_tree_comes_with_it(way: tuple[Path, str, str]) -> None:
    home, source, target = way
    with Segue(source, home=home, folder=home) as seg:
        current = seg.session().id
    move(home, source, target)
    with Segue(target, home=home, folder=home) as seg:
        assert seg.session().id == current


def test_a_session_of_another_history_is_left_alone_and_named(way: tuple[Path, str, str]) -> None:
    home, source, target = way
    with Segue(source, home=home, folder=home) as seg:
        mine = seg.session().id
    with Segue(target, home=home / "other", folder=home.parent) as seg:
        seg.start("somebody else's work", id=mine)
    found = move(home, source, target)
    assert found.conflicts == [mine] and found.verified == 1
    with Segue(target, home=home, folder=home) as seg:
        assert seg.attach(mine).state.goal == "somebody else's work"


DEATHS = [
    ("to postgres", "postgres.copy.before_commit", 2),
    ("to postgres", "postgres.copy.after_commit", 3),
    ("to postgres", "migrate.after_batch", 1),
    ("to postgres", "migrate.after_memories", 1),
    ("to sqlite", "store.copy.before_commit", 2),
    ("to sqlite", "store.copy.after_commit", 1),
]


@pytest.mark.parametrize(("way", "failpoint", "count"), DEATHS, indirect=["way"])
def test_a_migration_that_is_killed_goes_on(way: tuple[Path, str, str], failpoint: str, count: int) -> None:
    home, source, target = way
    words = ["-m", "segue", "migrate", "--home", str(home), "--from", source, "--to", target]
    process = spawn(failpoint, *words, count=count)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    found = move(home, source, target)
    assert (found.verified, found.conflicts) == (2, [])
    same(source, target)
