"""Bytes that are not what was written are an error with a hint, never a wrong state."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.crash.proof import open_segue
from tests.support.crash.work import agent_value

from segue.core.sessions.state import SessionState
from segue.errors import DamagedError, SegueError
from segue.services.sessions.repository import fold_all, snapshot_of
from segue.stores.sqlite import SqliteStore

SEED = 20260104


def filled(home: Path) -> tuple[str, list[SessionState]]:
    """A store with one session and all its parts, in one file; the id, and the state at every version."""
    with open_segue(home) as seg:
        session = seg.start("to be damaged", items=["one", "two", "three"])
        session.decide("one issuer only")
        for step in range(60):
            session.checkpoint(done=f"item {step}", learn="long text " * 40, note=f"note {step}")
        session.save_agent("agent", agent_value(1, 3))
        session.undo()
        session.save_agent("agent", agent_value(1, 4))
        events = session.log()
        return session.id, [fold_all(events[:n]) for n in range(len(events) + 1)]


def flip(path: Path, place: int, bit: int = 0) -> None:
    body = bytearray(path.read_bytes())
    body[place] ^= 1 << bit
    path.write_bytes(body)


@pytest.mark.parametrize("part", ["kind", "at", "actor", "body"])
def test_a_changed_byte_of_an_event_is_named_with_stream_and_version(tmp_path: Path, part: str) -> None:
    session, _ = filled(tmp_path)
    with open_segue(tmp_path) as seg:
        event = seg.session(session).log()[20]
    row = event.header() + event.body
    said = {"kind": event.kind, "at": event.at, "actor": event.actor, "body": event.body.decode()}[part]
    offset = row.index(said.encode()) + 3
    path = tmp_path / "segue.db"
    body, place = path.read_bytes(), -1
    while (place := body.find(row, place + 1)) >= 0:  # old copies on its page too
        flip(path, place + offset)
    with open_segue(tmp_path) as seg, pytest.raises(DamagedError) as raised:
        seg.session(session).log()
    assert raised.value.where == f"session/{session} version 21"
    assert "segue recover" in raised.value.hint and "keeps" in raised.value.hint


def test_a_changed_byte_of_a_snapshot_is_not_believed(tmp_path: Path) -> None:
    session, states = filled(tmp_path)
    journal = SqliteStore(tmp_path / "segue.db")
    stream = f"session/{session}"
    journal.keep(snapshot_of(session, states[-1]))
    [kept] = journal.snapshots([stream]).values()
    wrong = kept.state.replace(b"one issuer only", b"two issuer only")
    sql = "UPDATE snapshots SET state = ?"
    journal.database.writing(lambda db: db.execute(sql, (wrong,)))
    journal.close()
    with open_segue(tmp_path) as seg:
        assert seg.session(session).state == states[-1]


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.99])
def test_a_truncated_store_is_an_error_with_a_hint(tmp_path: Path, kept: float) -> None:
    session, _ = filled(tmp_path)
    path = tmp_path / "segue.db"
    body = path.read_bytes()
    path.write_bytes(body[: int(len(body) * kept)])
    with pytest.raises(DamagedError) as raised, open_segue(tmp_path) as seg:
        handle = seg.session(session)
        handle.log()
        handle.load_agent("agent")
    assert "segue recover" in raised.value.hint


@pytest.mark.parametrize("body", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "segue.db"
    path.write_bytes(body)
    with pytest.raises(DamagedError) as raised:
        open_segue(tmp_path).list(everywhere=True)
    assert raised.value.hint
    assert path.read_bytes() == body


def test_a_store_with_any_byte_flipped_gives_an_error_or_a_state_that_once_was(
    tmp_path: Path, kill_count: int
) -> None:
    flips = max(150, 5 * kill_count)
    print(f"seed {SEED}, {flips} flips")
    session, states = filled(tmp_path / "whole")
    whole = (tmp_path / "whole" / "segue.db").read_bytes()
    rng = random.Random(SEED)
    home = tmp_path / "flipped"
    home.mkdir()
    told = 0
    for number in range(flips):
        for file in home.glob("segue.db*"):
            file.unlink()
        (home / "segue.db").write_bytes(whole)
        place, bit = rng.randrange(len(whole)), rng.randrange(8)
        flip(home / "segue.db", place, bit)
        try:
            seg = open_segue(home)
            handle = seg.session(session)
            folded = fold_all(handle.log())
            assert folded == states[folded.version], f"flip {number}: bit {bit} at {place}: a wrong state"
            if folded.version == len(states) - 1:
                assert handle.load_agent("agent") == agent_value(1, 4), f"flip {number}"
        except SegueError as fault:
            assert fault.hint, f"flip {number}: {fault!r} has no hint"
            told += 1
    print(f"{told} of {flips} were told, the others changed nothing that was read")
    assert told > flips // 10
