"""What a recovery cannot bring back is told, and what it brought back is not lost again."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from segue import Segue
from segue.services.upkeep.recover.ladder import inspect, recover
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve

SETTINGS = resolve(flags={})
PAGE = 4096


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with a backup, and notes and memories behind it."""
    folder = tmp_path_factory.mktemp("written")
    made = DataFolder(folder / "home")
    with Segue(home=made, folder=folder) as seg:
        s = seg.start("the goal", id="one", items=["a", "b"])
        seg.workspace.backups.make()
        time.sleep(1.1)  # the name of a backup tells seconds
        seg.remember("the first thing")
        seg.remember("the second thing")
        for number in range(20):
            s.note(f"note {number}")
    return made.path


@pytest.fixture
def home(written: Path, tmp_path: Path) -> DataFolder:
    """A copy of it for a test."""
    shutil.copytree(written, tmp_path / "home")
    return DataFolder(tmp_path / "home")


def spoil(path: Path, start: int, end: int) -> None:
    body = bytearray(path.read_bytes())
    body[start:end] = bytes(b % 251 + 3 for b in range(len(body[start:end])))
    path.write_bytes(body)


def remove(home: DataFolder) -> None:
    for path in home.path.glob("segue.db*"):
        path.unlink()


def events_in(home: DataFolder, folder: Path) -> int:
    with Segue(home=home, folder=folder) as seg:
        return len(seg.session("one").log())


def test_a_recovery_from_a_backup_alone_says_that_what_came_later_is_lost(home: DataFolder) -> None:
    spoil(home.database, 2 * PAGE, home.database.stat().st_size)
    looked = recover(home, SETTINGS, dry_run=True)
    outcome = recover(home, SETTINGS)
    assert looked.doubt == outcome.doubt and looked.memories == outcome.memories == 0
    assert outcome.doubt.startswith("nothing after the backup of 20")
    assert outcome.doubt.endswith("anything written later is lost, memories too")
    assert (looked.backup, bool(outcome.backup)) == ("", True)


def test_a_recovery_says_how_many_memories_came_back_and_of_when_the_newest_is(home: DataFolder) -> None:
    spoil(home.database, 0, 64)
    outcome = recover(home, SETTINGS)
    assert outcome.memories == 2
    assert outcome.doubt.startswith("the newest recovered event is from 20")
    assert recover(home, SETTINGS).doubt == ""


def test_what_was_recovered_is_not_lost_with_the_file(home: DataFolder, tmp_path: Path) -> None:
    before = events_in(home, tmp_path)
    spoil(home.database, 0, 64)
    assert recover(home, SETTINGS).backup in {path.name for path in home.backups.iterdir()}
    remove(home)
    recover(home, SETTINGS)
    assert events_in(home, tmp_path) == before


def test_an_original_that_was_kept_is_read_where_no_backup_is_newer(home: DataFolder, tmp_path: Path) -> None:
    before = events_in(home, tmp_path)
    spoil(home.database, 0, 64)
    recover(home, SETTINGS)
    remove(home)
    shutil.rmtree(home.backups)
    assert "an original that a recovery kept" in home.damage()
    outcome = recover(home, SETTINGS)
    assert any("the original kept in" in rung.detail and rung.status == "used" for rung in outcome.rungs)
    assert events_in(home, tmp_path) == before


def test_originals_of_another_store_are_not_read(home: DataFolder, tmp_path: Path) -> None:
    spoil(home.database, 0, 64)
    recover(home, SETTINGS)
    assert len(home.originals()) == 1
    assert home.for_store(f"sqlite://{tmp_path / 'other' / 'segue.db'}").originals() == []


def test_what_was_forgotten_since_does_not_come_back_from_an_original(
    home: DataFolder, written: Path
) -> None:
    spoil(home.database, 0, 64)
    recover(home, SETTINGS)
    with Segue(home=home, folder=written.parent) as seg:
        id = seg.recall("the first thing")[0].id
        seg.memories.forget(id, reason="wrong")
        shutil.rmtree(home.backups)
        time.sleep(1.1)
        seg.workspace.backups.make()
    remove(home)
    outcome = recover(home, SETTINGS)
    assert not any("the original kept in" in rung.detail for rung in outcome.rungs)
    with Segue(home=home, folder=written.parent) as seg:
        assert seg.memories.get(id).forgotten


def test_nothing_is_said_to_be_kept_of_a_file_that_was_gone(home: DataFolder) -> None:
    remove(home)
    outcome = recover(home, SETTINGS)
    assert outcome.changed and outcome.kept == ""
    assert not home.damaged.exists()


def test_a_damage_is_told_in_a_short_line(home: DataFolder) -> None:
    spoil(home.database, 2 * PAGE, home.database.stat().st_size)
    assert all("\n" not in line for line in inspect(home.database))
    assert len(recover(home, SETTINGS, dry_run=True).rungs[0].detail) < 300
