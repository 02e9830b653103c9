"""A store that was there and is empty, gone or older is damage: it is said, nothing is lost over it, and a
recovery brings it back."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec
import pytest

from segue import Segue
from segue.errors import DamagedError, RefusedError
from segue.services.resume import emergency
from segue.services.upkeep.doctor.checkup import examine
from segue.services.upkeep.doctor.finding import Diagnosis
from segue.services.upkeep.recover.aside import begin_anew
from segue.services.upkeep.recover.ladder import recover
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.open_store import open_store
from segue.services.workspace.store_note import read_note
from segue.settings import resolve
from segue.stores.sqlite import SqliteStore

SETTINGS = resolve(flags={})


@pytest.fixture
def home(tmp_path: Path) -> DataFolder:
    """A store with a session, a memory and a backup."""
    made = DataFolder(tmp_path / "home")
    with opened(made) as seg:
        seg.start("the goal", id="one", items=["a", "b"]).note("the first note")
        seg.remember("the pool has ten connections")
        seg.workspace.backups.make()
    return made


def opened(home: DataFolder) -> Segue:
    return Segue(home=home, folder=home.path.parent)


def looked(home: DataFolder) -> list[Diagnosis]:
    environment = {"SEGUE_HOME": str(home.path), "HOME": str(home.path.parent)}
    return [
        found for found in examine(home, SETTINGS, environment, home.path.parent) if found.status == "bad"
    ]


def without_log(home: DataFolder) -> None:
    for suffix in ("-wal", "-shm"):
        home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)


def emptied(home: DataFolder) -> None:
    home.database.write_bytes(b"")


def one_byte(home: DataFolder) -> None:
    home.database.write_bytes(b"S")


def a_few_bytes(home: DataFolder) -> None:
    home.database.write_bytes(b"SQLite format 3\0" + bytes(60))


def gone(home: DataFolder) -> None:
    home.database.unlink()


def begun_anew(home: DataFolder) -> None:
    """A store with the right tables and nothing in it, as an older Segue would have begun it."""
    home.database.unlink()
    store = SqliteStore(home.database)
    store.streams()
    store.close()


LOSSES = [emptied, one_byte, a_few_bytes, gone, begun_anew]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("backups", [True, False], ids=["backups", "no_backups"])
def test_a_store_that_was_lost_is_never_taken_for_a_new_one(
    home: DataFolder, lose: Callable[[DataFolder], None], backups: bool
) -> None:
    without_log(home)
    if not backups:
        shutil.rmtree(home.backups)
    lose(home)
    before = home.database.read_bytes() if home.database.exists() else None
    for _ in range(2):
        with pytest.raises(DamagedError) as caught, opened(home) as seg:
            seg.list(everywhere=True)
        assert "recover" in caught.value.hint
        assert [found.name for found in looked(home)] == ["store"]
    assert (home.database.read_bytes() if home.database.exists() else None) == before
    recover(home, SETTINGS)
    assert looked(home) == []
    with opened(home) as seg:
        assert [card.id for card in seg.list(everywhere=True)] == (["one"] if backups else [])
        assert len(seg.recall("pool connections")) == backups


def test_a_store_that_was_never_backed_up_is_missed_as_soon_as_one_command_wrote_to_it(
    tmp_path: Path,
) -> None:
    home = DataFolder(tmp_path / "home")
    with opened(home) as seg:
        seg.remember("kept")
        note = read_note(home.store_note)
        assert note is not None and note.memories == 1
    home.database.unlink()
    without_log(home)
    shutil.rmtree(home.backups, ignore_errors=True)
    with pytest.raises(DamagedError, match="says there was a store here"), opened(home) as seg:
        seg.recall("kept")


def test_a_first_start_in_a_fresh_folder_is_silent(tmp_path: Path) -> None:
    home = DataFolder(tmp_path / "fresh")
    assert home.damage() == ""
    home.path.mkdir(mode=0o700)
    home.database.touch(0o600)  # another process is just making it
    assert home.damage() == ""
    with opened(home) as seg:
        assert seg.list(everywhere=True) == []
        seg.start("new")
    assert looked(home) == []


def test_opening_a_store_reads_one_more_small_file_and_no_more(
    home: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("stat", "lstat", "open", "scandir", "listdir"):
        true = getattr(os, name)

        def counting(
            path: object, *rest: object, true: Callable[..., object] = true, **more: object
        ) -> object:
            asked.append(str(path))
            return true(path, *rest, **more)

        monkeypatch.setattr(os, name, counting)
    store = open_store(home, "")
    store.streams()
    ours = [path for path in asked if path.startswith(str(home.path))]
    store.close()
    assert ours.count(str(home.store_note)) == 1
    assert not any("backups" in path or "damaged" in path for path in ours)
    assert len(ours) <= 20, ours


def test_backups_of_what_is_left_never_push_out_those_of_what_was_there(home: DataFolder) -> None:
    [good] = home.backups.iterdir()
    without_log(home)
    begin_over(home)
    with opened(home) as seg:
        session = seg.start("another", id="two")
        for number in range(9):
            session.note(f"note {number}")
            seg.workspace.backups.make()
        assert good.exists() and len(list(home.backups.iterdir())) == 6
    assert any("session/one" in found.detail or "older state" in found.detail for found in looked(home))
    recover(home, SETTINGS)
    with opened(home) as seg:
        assert {card.id for card in seg.list(everywhere=True)} == {"one", "two"}
        for number in range(7):
            seg.session("two").note(f"later {number}")
            seg.workspace.backups.make()
        assert not good.exists() and len(list(home.backups.iterdir())) == 5
    assert looked(home) == []


def begin_over(home: DataFolder) -> None:
    """A new store in place of the old one, as a Segue before this one would have begun it."""
    home.store_note.unlink()
    home.database.unlink()
    SqliteStore(home.database).streams()


def test_a_backup_with_a_memory_that_the_store_does_not_have_stays(home: DataFolder) -> None:
    [good] = home.backups.iterdir()
    db = apsw.Connection(str(home.database))
    db.execute("DELETE FROM memories")
    db.close()
    with pytest.raises(DamagedError, match="1 memory"), opened(home) as seg:
        seg.list()
    home.store_note.unlink()  # as before there were notes
    with opened(home) as seg:
        for number in range(8):
            seg.session("one").note(f"note {number}")
            seg.workspace.backups.make()
    assert good.exists()


def test_archived_sessions_are_not_missed(home: DataFolder) -> None:
    [good] = home.backups.iterdir()
    with opened(home) as seg:
        seg.session("one").abandon("over")
        seg.workspace.backups.make()
        assert [kept.id for kept in seg.cleanup().run(0)] == ["one"]
        other = seg.start("another", id="two")
        for number in range(7):
            other.note(f"note {number}")
            seg.workspace.backups.make()
    assert not good.exists()
    assert looked(home) == []


def older_copy(home: DataFolder, *, with_backup: bool) -> None:
    """Write on, then put the file of before back."""
    without_log(home)
    copy = home.database.read_bytes()
    time.sleep(1.1)  # the name of a backup tells seconds
    with opened(home) as seg:
        for number in range(10):
            seg.session("one").note(f"note {number}")
        if with_backup:
            seg.workspace.backups.make()
    without_log(home)
    home.database.write_bytes(copy)


@pytest.mark.parametrize("with_backup", [True, False])
def test_the_doctor_sees_an_older_copy_in_place_of_the_store(home: DataFolder, with_backup: bool) -> None:
    older_copy(home, with_backup=with_backup)
    [found] = looked(home)
    assert found.name == "store" and "older state" in found.detail and "recover" in found.hint
    outcome = recover(home, SETTINGS)
    assert looked(home) == []
    with opened(home) as seg:
        assert ("note 9" in str([event.body for event in seg.session("one").log()])) == with_backup
    assert outcome.doubt


def test_the_doctor_sees_a_lost_write_ahead_log(home: DataFolder) -> None:
    seg = opened(home)
    for number in range(10):
        seg.session("one").note(f"note {number}")
    seg.workspace.backups.if_due()
    copy = DataFolder(home.path.parent / "copy")
    shutil.copytree(home.path, copy.path, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    seg.close()
    assert "older state" in looked(copy)[0].detail
    recover(copy, SETTINGS)
    assert looked(copy) == []


@pytest.mark.parametrize("body", [b"garbage", b"\xff\xfe", b"", b"/etc/passwd", b"x" * 100_000])
def test_a_leftover_of_a_swap_is_told_by_doctor_and_commands_and_settled_by_a_recovery(
    home: DataFolder, body: bytes
) -> None:
    home.swap_note.write_bytes(body)
    assert [found.name for found in looked(home)] == ["store"]
    with pytest.raises(DamagedError):
        opened(home)
    recover(home, SETTINGS)
    assert looked(home) == [] and not home.swap_note.exists()
    with opened(home) as seg:
        assert seg.session("one").state.goal == "the goal"


def as_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def as_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("make", [as_folder, as_pipe])
@pytest.mark.parametrize("suffix", ["", "-wal", ".swapping", ".note"])
def test_a_folder_or_a_pipe_where_a_file_of_the_store_should_be_is_told_and_put_aside(
    home: DataFolder, make: Callable[[Path], None], suffix: str
) -> None:
    without_log(home)
    make(home.database.with_name(home.database.name + suffix))
    assert any(found.name == "data folder" for found in looked(home))
    recover(home, SETTINGS)
    assert looked(home) == []
    with opened(home) as seg:
        assert seg.session("one").state.goal == "the goal"


@pytest.mark.parametrize("name", ["backups", "emergency", "spool", "evidence", "archive"])
def test_a_file_where_a_folder_should_be_is_told(home: DataFolder, name: str) -> None:
    place = home.path / name
    shutil.rmtree(place, ignore_errors=True)
    place.write_bytes(b"")
    place.chmod(0o600)
    assert any(name in found.detail and "should be a folder" in found.detail for found in looked(home))


@pytest.mark.parametrize("body", [b"", b"{", b'{"session_id": "one"}', b"\xff" * 100])
def test_doctor_and_recovery_do_not_point_at_each_other_over_a_damaged_emergency_file(
    home: DataFolder, body: bytes
) -> None:
    home.emergency.mkdir(mode=0o700)
    for name in ("one-1-1.json", "two-1-1.json"):
        (home.emergency / name).write_bytes(body)
        (home.emergency / name).chmod(0o600)
    [found] = looked(home)
    assert found.name == "emergency files" and "recover" in found.hint
    outcome = recover(home, SETTINGS)
    assert any("moved aside to" in rung.detail for rung in outcome.rungs if rung.name == "emergency")
    assert looked(home) == []
    kept = [path.read_bytes() for path in home.damaged.rglob("*.json")]
    assert kept == [body, body]


def test_an_emergency_file_of_a_session_that_is_nowhere_is_put_aside(home: DataFolder) -> None:
    with opened(home) as seg:
        try:
            with seg.session("one").guard():
                raise RuntimeError("died")
        except RuntimeError:
            pass
    [file] = home.emergency.iterdir()
    left = emergency.read(file)
    assert left is not None
    changed = msgspec.structs.replace(left, session_id="nowhere", state="")
    file.write_bytes(emergency.encode(changed))
    recover(home, SETTINGS)
    assert list(home.emergency.iterdir()) == []
    assert len(list(home.damaged.rglob("*.json*"))) == 1


def test_a_backup_that_cannot_be_read_is_told_and_put_aside(home: DataFolder) -> None:
    [good] = home.backups.iterdir()
    bad = good.with_name("segue-20200101T000000Z-000000009.db")
    bad.write_bytes(b"no database at all" * 100)
    bad.chmod(0o600)
    environment = {"SEGUE_HOME": str(home.path)}
    [found] = [one for one in examine(home, SETTINGS, environment) if one.name == "backups"]
    assert found.status == "warn" and bad.name in found.detail
    recover(home, SETTINGS)
    assert not bad.exists() and good.exists() and any(home.damaged.rglob(bad.name))
    [found] = [one for one in examine(home, SETTINGS, environment) if one.name == "backups"]
    assert found.status == "ok"


def test_whoever_wants_a_new_store_gets_one_and_keeps_what_was_left(home: DataFolder) -> None:
    with pytest.raises(RefusedError):
        begin_anew(home)
    without_log(home)
    emptied(home)
    kept = begin_anew(home)
    assert looked(home) == []
    with opened(home) as seg:
        assert seg.list(everywhere=True) == []
        seg.start("another", id="two")
    assert len(list(kept.rglob("segue-*.db"))) == 1
    recover(home, SETTINGS)
    with opened(home) as seg:
        assert [card.id for card in seg.list(everywhere=True)] == ["two"]


def test_looking_at_a_backup_does_not_change_it(home: DataFolder) -> None:
    [backup] = home.backups.iterdir()
    before = backup.read_bytes()
    looked(home)
    recover(home, SETTINGS)
    assert backup.read_bytes() == before and list(home.backups.iterdir()) == [backup]
