"""The embedded store's own ways: modes, forks of its file, errors, backups."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import apsw
import pytest

from segue.errors import (
    AccessError,
    DamagedError,
    SegueError,
    StaleVersion,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from segue.stores.base import Append
from segue.stores.sqlite import Database, SqliteStore
from segue.stores.sqlite.file_system import is_network, wal_is_safe
from segue.stores.sqlite.upkeep import abandoned, back_up, compact, integrity
from segue.testing import armed, spawn
from segue.testing.stores import drafts, verify_chain


@pytest.fixture
def journal(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "store" / "segue.db")


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ("3.37.2", False), ("3.44.5", False), ("3.44.6", True), ("3.45.0", False), ("3.50.6", False),
        ("3.50.7", True), ("3.51.0", False), ("3.51.2", False), ("3.51.3", True), ("3.54.1", True),
        ("4.0.0", True),
    ],
)  # fmt: skip
def test_wal_is_used_only_with_the_fix_of_its_reset(version: str, safe: bool) -> None:
    assert wal_is_safe(version) is safe


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
//server/share /mnt/my\\040share cifs rw 0 0
/dev/vdb /home/local ext4 rw 0 0
me@host: /mnt/ssh fuse.sshfs rw 0 0
"""
MACOS = """\
/dev/disk3s1 on / (apfs, local, journaled)
//me@server/share on /Volumes/my share (smbfs, nodev, nosuid)
"""


@pytest.mark.parametrize(
    ("path", "mounts", "network"),
    [
        ("/var/x", MOUNTS, False),
        ("/home/me", MOUNTS, True),
        ("/home/local/me", MOUNTS, False),
        ("/homely", MOUNTS, False),
        ("/mnt/my share/x", MOUNTS, True),
        ("/mnt/ssh/x", MOUNTS, True),
        ("/Volumes/my share/x", MACOS, True),
        ("/Users/me", MACOS, False),
        ("/x", "", False),
    ],
)
def test_a_network_file_system_is_known_by_its_mount(path: str, mounts: str, network: bool) -> None:
    assert is_network(Path(path), mounts) is network


def test_a_store_is_private_synced_fully_and_in_wal_mode(journal: SqliteStore) -> None:
    db = journal.database.connection()
    assert (db.pragma("journal_mode"), db.pragma("synchronous")) == ("wal", 2)
    assert journal.database.path.stat().st_mode & 0o777 == 0o600
    assert journal.database.path.parent.stat().st_mode & 0o777 == 0o700


def test_on_a_network_file_system_a_store_leaves_wal_mode(
    journal: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(Append("s", 0, drafts("a")))
    journal.close()
    monkeypatch.setattr("segue.stores.sqlite.database.is_network", lambda path, mounts: True)
    assert journal.head("s").version == 1
    assert journal.database.journal_mode == journal.database.connection().pragma("journal_mode") == "delete"
    journal.append(Append("s", 1, drafts("b")))
    verify_chain(journal.read("s"))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (apsw.BusyError, StoreBusy),
        (apsw.LockedError, StoreBusy),
        (apsw.FullError, StoreFull),
        (apsw.CorruptError, DamagedError),
        (apsw.NotADBError, DamagedError),
        (apsw.ReadOnlyError, AccessError),
        (apsw.PermissionsError, AccessError),
        (apsw.CantOpenError, StoreUnavailable),
        (apsw.IOError, StoreUnavailable),
        (apsw.SQLError, StoreError),
    ],
)
def test_each_fault_of_sqlite_is_one_of_ours_with_a_hint(
    tmp_path: Path, fault: type[apsw.Error], error: type[SegueError]
) -> None:
    translated = Database(tmp_path / "segue.db").translate(fault("words"))
    assert type(translated) is error and translated.hint


def test_a_store_that_others_lock_is_busy_after_the_timeout(tmp_path: Path) -> None:
    slow = SqliteStore(tmp_path / "segue.db", busy_timeout_ms=50)
    slow.append(Append("s", 0, drafts("a")))
    other = apsw.Connection(str(tmp_path / "segue.db"))
    other.execute("BEGIN IMMEDIATE")
    for texts in (["b"], ["b", "c"]):
        with pytest.raises(StoreBusy, match=r"0\.05 s"):
            slow.append(Append("s", 1, drafts(*texts)))
    assert slow.head("s").version == 1
    other.execute("ROLLBACK")
    slow.append(Append("s", 1, drafts("b")))


def test_a_file_that_was_replaced_is_opened_anew(journal: SqliteStore, tmp_path: Path) -> None:
    journal.append(Append("s", 0, drafts("old")))
    other = SqliteStore(tmp_path / "other.db")
    other.append(Append("t", 0, drafts("new", "new")))
    other.close()
    os.replace(tmp_path / "other.db", journal.database.path)
    for suffix in ("-wal", "-shm"):
        journal.database.path.with_name("segue.db" + suffix).unlink(missing_ok=True)
    assert journal.streams() == [("t", 2)]
    journal.append(Append("t", 2, drafts("more")))
    with pytest.raises(StaleVersion):
        journal.append(Append("s", 1, drafts("late")))


def test_whoever_came_too_late_sees_what_others_write_from_then_on(journal: SqliteStore) -> None:
    other = SqliteStore(journal.database.path)
    journal.append(Append("s", 0, drafts("a", "b")))
    for version in range(2, 6):
        other.append(Append("s", version, drafts("theirs")))
        with pytest.raises(StaleVersion), journal.together() if version % 2 else nullcontext():
            journal.append(Append("s", version, drafts("late")), Append("t", 0))
        other.append(Append(f"t{version}", 0, drafts("theirs")))
        assert journal.head("s").version == version + 1 and journal.head(f"t{version}").version == 1


def test_a_fault_in_the_middle_of_an_append_keeps_nothing(journal: SqliteStore) -> None:
    journal.append(Append("s", 0, drafts("a")))
    with armed("store.append.between", RuntimeError("planted"), count=2), pytest.raises(RuntimeError):
        journal.append(Append("s", 1, drafts("b", "c", "d")), Append("new", 0, drafts("e")))
    assert journal.streams() == [("s", 1)]
    journal.append(Append("s", 1, drafts("b")))
    verify_chain(journal.read("s"))


def test_every_thread_has_a_connection_of_its_own(journal: SqliteStore) -> None:
    seen = [journal.database.connection(), journal.database.connection()]
    thread = threading.Thread(target=lambda: seen.append(journal.database.connection()))
    thread.start()
    thread.join()
    assert seen[0] is seen[1] and seen[2] is not seen[0]


def test_a_backup_is_a_whole_private_store_and_tells_its_progress(
    journal: SqliteStore, tmp_path: Path
) -> None:
    journal.append(Append("s", 0, drafts("a", "b")))
    told: list[tuple[int, int]] = []
    back_up(journal.database, tmp_path / "copy.db", lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["copy.db"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    copy = SqliteStore(tmp_path / "copy.db")
    assert copy.read("s") == journal.read("s")


def test_a_backup_ends_although_others_write_between_all_of_its_steps(
    journal: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.stores.sqlite.upkeep.PAGES_A_STEP", 1)
    journal.append(Append("s", 0, drafts(*("x" * 3000 for _ in range(20)))))
    other = SqliteStore(journal.database.path)
    steps = []

    def write(done: int, total: int) -> None:
        steps.append(done)
        assert len(steps) <= total, "the backup began anew"
        other.append(Append("s", other.head("s").version, drafts("more")))

    back_up(journal.database, tmp_path / "copy.db", write)
    assert len(SqliteStore(tmp_path / "copy.db").read("s")) == 20
    assert journal.head("s").version == 20 + len(steps)


def test_what_a_killed_backup_left_behind_is_removed_by_a_later_one(
    journal: SqliteStore, tmp_path: Path
) -> None:
    journal.append(Append("s", 0, drafts("a")))
    old, young = tmp_path / ".copy.db.1.partial", tmp_path / ".copy.db.2.partial"
    for left in (old, young):
        left.write_bytes(b"half a backup")
    os.utime(old, (1, 1))
    back_up(journal.database, tmp_path / "copy.db")
    assert not old.exists() and young.exists()


def test_what_a_killed_backup_left_behind_goes_at_once_unless_a_process_is_at_work_on_it(
    journal: SqliteStore, tmp_path: Path
) -> None:
    journal.append(Append("s", 0, drafts("a")))
    folder = tmp_path / "backups"
    folder.mkdir()
    program = tmp_path / "program.py"
    program.write_text(
        "import sys; from pathlib import Path; from segue.stores.sqlite import SqliteStore\n"
        "from segue.stores.sqlite.upkeep import back_up\n"
        "back_up(SqliteStore(sys.argv[1]).database, Path(sys.argv[2]))\n"
    )
    store, target = str(journal.database.path), str(folder / "a.db")
    spawn("backup.before_rename", str(program), store, target).communicate(timeout=30)
    [left] = abandoned(folder)
    assert left.name.startswith(".a.db.")

    def look(done: int, total: int) -> None:
        assert not left.exists() and abandoned(folder) == []  # ours is not abandoned
        assert len(list(folder.glob(".b.db.*.partial"))) == 1

    back_up(journal.database, folder / "b.db", look)
    assert [path.name for path in folder.iterdir()] == ["b.db"]


def test_what_was_erased_is_not_in_the_file_after_compacting(journal: SqliteStore) -> None:
    from segue.stores.base import Rewrite

    journal.append(Append("s", 0, drafts("hunter2 is the secret")))
    journal.erase([Rewrite("s", 1, b"{}")], {}, Append("s", 1, drafts("erased")))
    compact(journal.database)
    journal.close()
    for file in journal.database.path.parent.iterdir():
        assert b"hunter2" not in file.read_bytes()
    assert integrity(journal.database) == []


def test_a_broken_tree_is_found(journal: SqliteStore) -> None:
    journal.append(Append("s", 0, drafts(*("x" * 3000 for _ in range(20)))))
    journal.close()
    body = bytearray(journal.database.path.read_bytes())
    body[4096 * 3 : 4096 * 3 + 200] = bytes(200)
    journal.database.path.write_bytes(body)
    assert integrity(journal.database) != []


def test_a_thread_that_ends_leaves_no_connection_behind(tmp_path: Path) -> None:
    journal = SqliteStore(tmp_path / "segue.db")
    journal.append(Append("session/a", 0, drafts("x")))
    for _ in range(20):
        thread = threading.Thread(target=journal.head, args=("session/a",))
        thread.start()
        thread.join()
    assert len(journal.database._opening.connections) == 1
    assert journal.head("session/a").version == 1


FORKS_BESIDE_A_THREAD = """
import gc, os, sys, threading
from pathlib import Path
from segue.stores.base import Append
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import integrity
from segue.testing.stores import drafts

journal = SqliteStore(Path(sys.argv[1]))
journal.append(Append("session/a", 0, drafts("x")))
here, done, found = threading.Event(), threading.Event(), []

def other():
    journal.head("session/a")
    here.set()
    done.wait(30)
    journal.append(Append("session/a", 1, drafts("y")))
    found.append(journal.head("session/a").version)

thread = threading.Thread(target=other)
thread.start()
here.wait(30)
child = os.fork()
if not child:
    gc.collect()
    os._exit(0 if journal.head("session/a").version == 1 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
done.set()
thread.join()
assert found == [2] and integrity(journal.database) == []
"""


def test_a_child_that_is_forked_beside_a_thread_leaves_the_parents_connections_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKS_BESIDE_A_THREAD, str(tmp_path / "segue.db")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


def test_what_is_remembered_of_streams_has_a_bound_and_none_is_taken_for_another(
    journal: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.stores.sqlite.journal._SEEN_MAX", 5)
    for round in range(3):
        for number in range(20):
            journal.append(Append(f"s{number}", round, drafts(f"{number} in {round}")))
            assert len(journal._known.heads) <= 5 and len(journal._known.numbers) <= 6
    for number in range(20):
        events = journal.read(f"s{number}")
        assert [event.version for event in events] == [1, 2, 3]
        verify_chain(events)
