"""A backup that is made while others write is whole, and holds all that was acknowledged before."""

from __future__ import annotations

from pathlib import Path

from tests.support.crash.proof import Lines, child, open_segue, wait_until_longer

from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import integrity
from segue.testing.stores import verify_chain


def test_a_backup_made_while_two_processes_write_holds_all_that_was_acknowledged(tmp_path: Path) -> None:
    writers = [child("forever", tmp_path, f"writer{n}", n) for n in range(2)]
    try:
        wait_until_longer(tmp_path / "lines", 2000)
        with open_segue(tmp_path, backup_hours=1e9) as seg:
            for _ in range(5):
                before = (tmp_path / "lines").read_bytes()
                backup = seg.workspace.backups.make()
                seen = tmp_path / "seen"
                seen.write_bytes(before[: before.rfind(b"\n") + 1])
                holds(backup.path, Lines(seen))
                assert backup.path.stat().st_mode & 0o077 == 0
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def holds(path: Path, lines: Lines) -> None:
    """Assert that a backup is whole and holds what these lines acknowledge."""
    lines.more()
    assert len(lines.acknowledged) > 2
    copy = SqliteStore(path)
    assert integrity(copy.database) == []
    streams = {name: copy.read(name) for name, _ in copy.streams()}
    copy.close()
    for events in streams.values():
        verify_chain(events)
    for ack in lines.acknowledged:
        assert streams[f"session/{ack['session']}"][ack["version"] - 1].hash.hex() == ack["hash"]
