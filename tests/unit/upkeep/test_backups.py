"""Backups come by writes and by time, and the oldest go."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from segue.api.segue import Segue
from segue.effects.clock import moment
from segue.errors import StoreUnavailable
from segue.services.upkeep.doctor import embedded
from segue.stores.memory.store import VolatileStore
from segue.stores.sqlite import SqliteStore


def at(tmp_path: Path, **options: Any) -> Segue:
    return Segue(home=tmp_path / "home", folder=tmp_path, **options)


def test_five_backups_are_kept_and_they_are_the_newest(tmp_path: Path) -> None:
    with at(tmp_path) as seg:
        session = seg.start("backed up")
        made = []
        for place in range(8):
            session.note(f"note {place}")
            made.append(seg.workspace.backups.make())
        kept = seg.workspace.backups.list()
    assert [b.path.name for b in kept] == [b.path.name for b in reversed(made[3:])]
    assert len(list((tmp_path / "home" / "backups").iterdir())) == 5


def test_a_backup_holds_what_its_name_says(tmp_path: Path) -> None:
    with at(tmp_path) as seg:
        session = seg.start("backed up", items=["a"])
        backup = seg.workspace.backups.make()
        session.done("a")
    copy = SqliteStore(backup.path)
    assert sum(version for _, version in copy.streams()) == backup.events == 5
    assert backup.bytes == backup.path.stat().st_size
    copy.close()


def test_a_backup_is_due_after_so_many_writes(tmp_path: Path) -> None:
    with at(tmp_path, backup_events=100) as seg:
        session = seg.start("backed up")
        for place in range(64):
            session.note(f"note {place}")
        assert len(seg.workspace.backups.list()) == 1
        for place in range(64):
            session.note(f"note {place}")
        assert len(seg.workspace.backups.list()) == 1
        for place in range(64):
            session.note(f"note {place}")
        assert len(seg.workspace.backups.list()) == 2


def test_a_backup_is_due_when_the_last_is_old_and_something_was_written(tmp_path: Path) -> None:
    with at(tmp_path) as seg:
        session = seg.start("backed up")
        old = seg.workspace.backups.make()
        seg.workspace.backups.if_due()
        os.utime(old.path, (time.time() - 25 * 3600,) * 2)
        assert seg.workspace.backups.if_due() is None
        session.note("written")
        made = seg.workspace.backups.if_due()
        assert made is not None and made.events == old.events + 1
        session.note("written, and the last is young")
        assert seg.workspace.backups.if_due() is None


def test_foreign_files_among_the_backups_are_left_alone(tmp_path: Path) -> None:
    with at(tmp_path, backup_keep=1) as seg:
        seg.start("backed up")
        seg.workspace.backups.make()
        for name in ("segue-mine.db", "segue-2020-x.db", "notes.txt", "segue-a-b-3.db"):
            (seg.workspace.home.backups / name).write_text("mine")
        seg.session().note("more")
        seg.workspace.backups.make()
        assert len(seg.workspace.backups.list()) == 1
        assert len(list(seg.workspace.home.backups.iterdir())) == 5


def test_a_store_without_a_file_has_no_backups(tmp_path: Path) -> None:
    seg = Segue(VolatileStore(), home=tmp_path, folder=tmp_path)
    seg.start("in memory")
    with pytest.raises(StoreUnavailable):
        seg.workspace.backups.make()
    assert seg.workspace.backups.if_due() is None


def test_many_backups_in_a_second_are_all_made_and_the_last_ones_stay(seg: Segue) -> None:
    session = seg.start("goal", id="one")
    made = []
    for number in range(12):
        session.note(str(number))
        made.append(seg.workspace.backups.make())
        assert seg.workspace.backups.list()[0] == made[-1]
    assert seg.workspace.backups.list() == made[: -len(seg.workspace.backups.list()) - 1 : -1]


def test_a_backup_from_a_time_when_the_clock_was_wrong_does_not_push_out_the_one_of_now(seg: Segue) -> None:
    seg.start("goal", id="one")
    for year in range(5):
        made = seg.workspace.backups.make()
        made.path.rename(made.path.with_name(f"segue-{9000 + year}0101T000000Z-000000003.db"))
    made = seg.workspace.backups.make()
    assert made.path.exists()


def backup_ahead(seg: Segue, days: float = 400) -> Path:
    """A backup of a time when the clock was ahead."""
    made = seg.workspace.backups.make()
    ahead = moment(days * 86_400).replace("-", "").replace(":", "").partition(".")[0]
    path = made.path.with_name(f"segue-{ahead}Z-{made.events:09d}.db")
    made.path.rename(path)
    os.utime(path, (time.time() + days * 86_400,) * 2)
    return path


def test_a_backup_that_is_dated_in_the_future_does_not_make_every_write_a_backup(tmp_path: Path) -> None:
    with at(tmp_path, backup_events=5) as seg:
        session = seg.start("goal", id="one")
        backup_ahead(seg)
        for number in range(8):
            session.note(str(number))
        assert seg.workspace.backups.if_due() is not None
        for number in range(4):
            session.note(str(number))
            assert seg.workspace.backups.if_due() is None
        assert len(seg.workspace.backups.list()) == 2


def test_backups_that_are_dated_in_the_future_go_first(tmp_path: Path) -> None:
    with at(tmp_path) as seg:
        session = seg.start("goal", id="one")
        ahead = [backup_ahead(seg, days=400 + number) for number in range(5)]
        made = []
        for number in range(5):
            session.note(str(number))
            made.append(seg.workspace.backups.make().path)
        assert [backup.path for backup in seg.workspace.backups.list()] == made[::-1]
        assert not any(path.exists() for path in ahead)


def test_the_doctor_says_what_is_known_of_the_age_of_backups(tmp_path: Path) -> None:
    with at(tmp_path) as seg:
        seg.start("goal", id="one")
        backup_ahead(seg)
        [found] = embedded.backups(seg.workspace.home)
        assert found.status == "warn" and "the clock was ahead" in found.detail and found.hint
        seg.workspace.backups.make()
        [found] = embedded.backups(seg.workspace.home)
        assert found.status == "ok" and "2, the newest 0.0 days old; 1 dated in the future" in found.detail


def test_the_doctor_counts_backups_that_a_kill_interrupted(tmp_path: Path) -> None:
    with at(tmp_path) as seg:
        seg.start("backed up")
        backup = seg.workspace.backups.make()
        left = backup.path.with_name(f".{backup.path.name}.1.partial")
        left.write_bytes(bytes(3_000_000))
        left.with_name(f"{left.name}.lock").touch()
        found, *_ = embedded.backups(seg.workspace.home)
        assert (found.status, found.detail) == ("warn", "1 backup that a kill interrupted, 3.0 MB")
        seg.workspace.backups.make()
        assert not left.exists() and [one.status for one in embedded.backups(seg.workspace.home)] == ["ok"]
