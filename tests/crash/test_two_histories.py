"""An older copy or another store in place of the store, and work that goes on: it is told, nothing of either
history is rotated away, and a recovery keeps both and mixes neither."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from segue import Segue
from segue.core.base import canonical
from segue.errors import DamagedError
from segue.services.upkeep.doctor.checkup import examine
from segue.services.upkeep.recover.ladder import recover
from segue.services.upkeep.scrub import scrub
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.store_note import read_note
from segue.settings import resolve

SETTINGS = resolve(flags={})


def opened(home: DataFolder) -> Segue:
    return Segue(home=home, folder=home.path.parent)


def looked(home: DataFolder) -> list[str]:
    environment = {"SEGUE_HOME": str(home.path), "HOME": str(home.path.parent)}
    found = examine(home, SETTINGS, environment, home.path.parent)
    return [f"{one.name}: {one.detail}" for one in found if one.status == "bad"]


def noted(seg: Segue, id: str) -> list[str]:
    log = seg.session(id).log()
    return [str(canonical.decode(event.body)["text"]) for event in log if event.kind == "note.taken"]


def put_back(home: DataFolder, copy: bytes, *, note: bool = False) -> None:
    """Put an older copy in place of the store, with or without the note beside it."""
    for suffix in ("-wal", "-shm"):
        home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)
    home.database.write_bytes(copy)
    if not note:
        home.store_note.unlink(missing_ok=True)


@pytest.fixture
def home(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "home")


def forked(home: DataFolder, lost: int, new: int) -> None:
    """A session with two histories: notes A in a backup alone, and notes B in the store."""
    with opened(home) as seg:
        seg.start("the goal", id="one", items=["a", "b", "c"])
    copy = home.database.read_bytes()
    with opened(home) as seg:
        session = seg.session("one")
        session.done("a")
        for number in range(lost):
            session.note(f"A{number}")
        seg.workspace.backups.make()
    put_back(home, copy)
    with opened(home) as seg:
        for number in range(new):
            seg.session("one").note(f"B{number}")


@pytest.mark.parametrize("note", [True, False], ids=["note", "no_note"])
def test_an_older_copy_in_place_of_the_store_is_told_by_every_command(home: DataFolder, note: bool) -> None:
    with opened(home) as seg:
        seg.start("the goal", id="one")
    copy = home.database.read_bytes()
    with opened(home) as seg:
        seg.session("one").note("A")
        seg.workspace.backups.make()
    put_back(home, copy, note=note)
    assert any("store" in told for told in looked(home))
    if note:
        before = home.store_note.read_bytes()
        for _ in range(2):
            with pytest.raises(DamagedError, match="older state"), opened(home) as seg:
                seg.session("one").note("B")
        assert home.store_note.read_bytes() == before
    recover(home, SETTINGS)
    assert looked(home) == []
    with opened(home) as seg:
        assert noted(seg, "one") == ["A"]


@pytest.mark.parametrize(("lost", "new"), [(5, 6), (8, 3), (1, 1), (1, 40)])
def test_a_fork_is_told_and_its_backup_stays_however_far_the_new_history_goes(
    home: DataFolder, lost: int, new: int
) -> None:
    forked(home, lost, new)
    good = max(home.backups.iterdir())
    assert any("another history" in told or "is at version" in told for told in looked(home))
    with opened(home) as seg:
        for number in range(8):
            seg.session("one").note(f"more {number}")
            seg.workspace.backups.make()
    assert good.exists() and len(list(home.backups.iterdir())) == 6
    assert looked(home), "and it is told as long as it is so"


@pytest.mark.parametrize(("lost", "new"), [(5, 6), (8, 3), (1, 1), (3, 40)])
def test_a_recovery_keeps_both_histories_and_mixes_neither(home: DataFolder, lost: int, new: int) -> None:
    forked(home, lost, new)
    outcome = recover(home, SETTINGS)
    assert outcome.missing == []
    [kept] = outcome.histories
    assert kept.of == "one" and kept.version == 6 and "backup" in kept.source
    with opened(home) as seg:
        assert noted(seg, "one") == [f"B{number}" for number in range(new)]
        assert list(seg.session("one").status().done) == []
        other = seg.session(kept.session)
        assert noted(seg, kept.session)[:-1] == [f"A{number}" for number in range(lost)]
        assert list(other.status().done) == ["a"] and other.state.goal == "the goal"
        assert "another history of one" in noted(seg, kept.session)[-1]
        assert {card.id for card in seg.list(everywhere=True)} == {"one", kept.session}
    assert looked(home) == []
    again = recover(home, SETTINGS)
    assert not again.changed and again.histories == []
    with opened(home) as seg:  # and the backup that had it goes, now that the store holds it
        for number in range(6):
            seg.session("one").note(f"more {number}")
            seg.workspace.backups.make()
    assert len(list(home.backups.iterdir())) == 5 and looked(home) == []


def test_what_was_kept_apart_is_not_made_twice_when_the_store_is_lost_again(home: DataFolder) -> None:
    forked(home, 4, 4)
    [kept] = recover(home, SETTINGS).histories
    with opened(home) as seg:
        seg.session(kept.session).note("went on")
    home.database.write_bytes(b"garbage" * 1000)
    outcome = recover(home, SETTINGS)
    assert outcome.histories == []
    with opened(home) as seg:
        assert {card.id for card in seg.list(everywhere=True)} == {"one", kept.session}


def test_two_stores_with_a_session_of_the_same_id_are_both_kept(home: DataFolder) -> None:
    other = DataFolder(home.path.parent / "other")
    for place, word in ((home, "mine"), (other, "theirs")):
        with opened(place) as seg:
            session = seg.start(f"the goal, {word}", id="same")
            for number in range(40):
                session.note(f"{word} {number}")
            seg.workspace.backups.make()
    put_back(home, other.database.read_bytes(), note=True)
    with pytest.raises(DamagedError, match="another history"), opened(home) as seg:
        seg.list()
    [kept] = recover(home, SETTINGS).histories
    with opened(home) as seg:
        told = {card.id: card.goal for card in seg.list(everywhere=True)}
        assert told == {"same": "the goal, theirs", kept.session: "the goal, mine"}
        assert noted(seg, kept.session)[:-1] == [f"mine {number}" for number in range(40)]
    assert looked(home) == []


def test_the_note_never_forgets_what_the_store_does_not_hold(home: DataFolder) -> None:
    forked(home, 5, 0)
    with opened(home) as seg:
        seg.session("one").note("B")
        live = seg.workspace.backups
        old = read_note(home.store_note)
        assert old is not None
        heads = [["session/one", 12, "00" * 8]]
        home.store_note.write_text(
            f'{{"store": "{old.store}", "schema": 4, "events": 12, "memories": 0, "at": "{old.at}",'
            f' "heads": {str(heads).replace(chr(39), chr(34))}}}'
        )
        before = home.store_note.read_bytes()
        seg.session("one").note("B2")
        live.if_due()
        assert home.store_note.read_bytes() == before


def test_a_note_of_an_older_segue_is_read_and_gets_what_it_lacks(home: DataFolder) -> None:
    with opened(home) as seg:
        seg.start("the goal", id="one")
    note = read_note(home.store_note)
    assert note is not None and [head.stream for head in note.heads] == ["session/one"]
    home.store_note.write_text(
        f'{{"store": "{note.store}", "schema": 4, "events": 2, "memories": 0, "at": "{note.at}"}}'
    )
    with opened(home) as seg:
        seg.session("one").note("A")
    note = read_note(home.store_note)
    assert note is not None and [head.version for head in note.heads] == [3]


def test_a_session_that_was_archived_is_not_missed_by_the_note(home: DataFolder) -> None:
    with opened(home) as seg:
        seg.start("the goal", id="one").abandon("over")
        seg.start("another", id="two")
    with opened(home) as seg:
        assert [kept.id for kept in seg.cleanup().run(0)] == ["one"]
    note = read_note(home.store_note)
    assert note is not None and [head.stream for head in note.heads] == ["session/two"]
    with opened(home) as seg:
        seg.cleanup().restore("one")
    with opened(home) as seg:
        assert {card.id for card in seg.list(everywhere=True)} == {"one", "two"}
    assert looked(home) == []


def test_a_scrub_of_the_backups_is_no_other_history(home: DataFolder) -> None:
    with opened(home) as seg:
        session = seg.start("the goal", id="one")
        session.note("the secret is here")
        seg.workspace.backups.make()
        session.note("later")
        assert scrub(seg.workspace, "the secret").events == 1
    assert looked(home) == []
    [good] = home.backups.iterdir()
    home.database.write_bytes(b"garbage" * 1000)
    outcome = recover(home, SETTINGS)
    assert outcome.histories == [] and outcome.kept
    with opened(home) as seg:
        assert "the secret" not in str(noted(seg, "one"))
        for number in range(6):
            seg.session("one").note(f"more {number}")
            seg.workspace.backups.make()
    assert not good.exists() and looked(home) == []


def copied_by_a_sync_tool(home: DataFolder) -> Path:
    copy = home.path / "segue (conflicted copy 2026-11-17).db"
    shutil.copyfile(home.database, copy)
    return copy


def test_a_copy_that_a_sync_tool_left_beside_the_store_brings_it_back(home: DataFolder) -> None:
    with opened(home) as seg:
        seg.start("the goal", id="one").note("A")
    copied_by_a_sync_tool(home)
    other = DataFolder(home.path.parent / "other")
    with opened(other) as seg:
        seg.start("of another store", id="two")
    shutil.copyfile(other.database, home.path / "another.db")
    (home.path / "no.db").write_bytes(b"SQLite format 3\0" + bytes(1000))
    shutil.rmtree(home.backups, ignore_errors=True)
    home.database.unlink()
    outcome = recover(home, SETTINGS)
    [rung] = [one for one in outcome.rungs if one.name == "copy"]
    assert rung.status == "used" and "conflicted copy" in rung.detail
    with opened(home) as seg:
        assert [card.id for card in seg.list(everywhere=True)] == ["one"] and noted(seg, "one") == ["A"]


def bytes_of(folder: Path) -> dict[str, str]:
    """By path; the log's index in shared memory aside, in which every reader marks where it reads."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith("-shm")
    }  # fmt: skip


def healthy(home: DataFolder) -> None:
    pass


def in_the_log(home: DataFolder) -> None:
    """A store whose last writes are in the log alone, as after a kill."""
    seg = opened(home)
    seg.session("one").note("in the log")
    shutil.copytree(home.path, home.path.with_name("copy"))
    seg.close()
    shutil.rmtree(home.path)
    home.path.with_name("copy").rename(home.path)


def no_database(home: DataFolder) -> None:
    home.database.write_bytes(b"garbage" * 1000)


def lost(home: DataFolder) -> None:
    home.database.unlink()


@pytest.mark.parametrize("damage", [healthy, in_the_log, no_database, lost])
def test_a_dry_run_changes_no_byte(home: DataFolder, damage: Callable[[DataFolder], None]) -> None:
    forked(home, 3, 3)
    with opened(home) as seg:
        seg.remember("the pool has ten connections", session="one")
    if damage is healthy:
        recover(home, SETTINGS)
    damage(home)
    before = bytes_of(home.path)
    for _ in range(2):
        outcome = recover(home, SETTINGS, dry_run=True)
        assert not outcome.changed and outcome.events
        assert bytes_of(home.path) == before
    outcome = recover(home, SETTINGS)
    assert outcome.changed == (damage is not healthy)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".note", ".swapping", " (conflicted copy).db"])
def test_a_dry_run_waits_for_no_pipe(home: DataFolder, suffix: str) -> None:
    forked(home, 1, 1)
    for left in (suffix, "-wal", "-shm"):
        home.database.with_name(home.database.name + left).unlink(missing_ok=True)
    os.mkfifo(home.database.with_name(home.database.name + suffix))
    assert recover(home, SETTINGS, dry_run=True).events
