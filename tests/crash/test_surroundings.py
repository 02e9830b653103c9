"""Full disks, read-only folders and newer stores: a clear error with a hint, and nothing broken."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from tests.support.crash.proof import WORK, Proof, child, finish, open_segue
from tests.support.mounts import mounting, read_only
from tests.support.other_user import linux, run_as_anybody
from tests.support.server import SegueServer

from segue import Segue
from segue.errors import RefusedError, SchemaTooNew
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.schema import SCHEMA

FULL = ("StoreFull", "StoreUnavailable")


def test_a_file_that_may_not_grow_is_told_and_goes_on_when_it_may(tmp_path: Path) -> None:
    home = tmp_path / "home"
    [said] = finish(child("fill", home, "child", 300_000))
    assert said["error"] in FULL and said["hint"]
    assert said["after"] == said["before"] > 5
    (tmp_path / "lines").rename(home / "lines")
    Proof(home)()


def test_a_full_disk_is_told_keeps_nothing_half_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    prefix = mounting(f'mount -t tmpfs -o size=2m tmpfs "{tmp_path}/disk"')
    [said] = finish(child("full", tmp_path, "child", prefix=prefix))
    assert said["error"] in FULL and said["hint"]
    assert said["after"] == said["before"] > 5


def test_a_server_on_a_full_disk_says_so_as_problem_details_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    (tmp_path / "disk").mkdir()
    prefix = mounting(f'mount -t tmpfs -o size=4m tmpfs "{tmp_path}/disk"')
    server = SegueServer(tmp_path / "disk", options=["--rate", "0"], prefix=prefix).start()
    try:
        assert server.ask("POST", "/v1/sessions", {"goal": "g", "id": "s"})[0] == 201
        ballast = Path(f"/proc/{server.pid}/root{tmp_path}/disk/ballast")
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(1024)):
                pass
        note = {"commands": [{"command": "Note", "text": "n" * 20_000}]}
        for path, more in (("/v1/sessions/s/commands", {}), ("/v1/sessions", {"Segue_Project": "new"})):
            body = note if path.endswith("commands") else {"goal": "g", "id": "t"}
            status, told, _ = server.ask("POST", path, body, **more)
            assert status == told["status"] == 503 and told["code"] in ("store_full", "store_unavailable")
            assert told["detail"] and told["hint"]
        assert server.ask("GET", "/v1/sessions/s")[0] == 200
        ballast.unlink()
        assert server.ask("POST", "/v1/sessions/s/commands", note)[0] == 200
    finally:
        server.stop()


def filled(home: Path) -> None:
    with open_segue(home) as seg:
        seg.start("kept").note("as it was")
        seg.workspace.store.close()


@pytest.mark.parametrize("write", [0, 1])
def test_a_read_only_folder_can_be_read_and_writing_is_an_access_error_with_a_hint(
    tmp_path: Path, write: int
) -> None:
    home = tmp_path / "home"
    filled(home)
    before = (home / "segue.db").read_bytes()
    [said] = finish(child("look", home, write, prefix=read_only(home)))
    assert said["goals"] == ["kept"]
    if write:
        assert (said["error"], said["exit"]) == ("AccessError", 77)
        assert "SEGUE_HOME" in said["hint"]
    else:
        assert said["error"] == ""
    assert (home / "segue.db").read_bytes() == before


def test_a_read_only_folder_that_others_have_open_can_be_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    seg = open_segue(home)
    seg.start("kept")
    read, written = finish(*(child("look", home, write, prefix=read_only(home)) for write in (0, 1)))
    assert (read["goals"], read["error"]) == (["kept"], "")
    assert (written["goals"], written["error"]) == (["kept"], "AccessError")
    seg.close()


def test_a_folder_that_cannot_be_made_is_an_access_error(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir()
    prefix = read_only(tmp_path / "locked")
    [said] = finish(child("look", tmp_path / "locked" / "home", 0, prefix=prefix))
    assert (said["error"], said["exit"]) == ("AccessError", 77) and said["hint"]


@linux
def test_a_folder_without_permission_is_an_access_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    filled(home)
    home.chmod(0o500)
    (home / "segue.db").chmod(0o400)
    ran = run_as_anybody(WORK, "look", str(home), "1")
    home.chmod(0o700)
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said["error"] == "AccessError" and said["hint"]


# -- stores of another time --------------------------------------------------------------------


def alter(home: Path, *statements: str) -> bytes:
    db = apsw.Connection(str(home / "segue.db"))
    for statement in statements:
        db.execute(statement)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    return (home / "segue.db").read_bytes()


@pytest.mark.parametrize(
    "statements",
    [
        ["PRAGMA user_version = 999"],
        ["PRAGMA user_version = 999", "DELETE FROM meta"],
        ["PRAGMA user_version = 999", "UPDATE meta SET value = '999:998'"],
        ["PRAGMA user_version = 999", "UPDATE meta SET value = '998:1'"],
        ["PRAGMA user_version = 999", "UPDATE meta SET value = 'nonsense'"],
        ["PRAGMA user_version = 999", "DROP TABLE meta"],
        ["PRAGMA journal_mode = delete", "PRAGMA user_version = 999"],
    ],
)
def test_a_store_of_a_newer_schema_is_refused_on_every_call_and_not_touched(
    tmp_path: Path, statements: list[str]
) -> None:
    filled(tmp_path)
    before = alter(tmp_path, *statements)
    journal = SqliteStore(tmp_path / "segue.db")
    for call in (journal.streams, journal.streams, lambda: journal.read("s"), lambda: journal.head("s")):
        with pytest.raises(SchemaTooNew) as raised:
            call()
        assert "999" in raised.value.message and "upgrade" in raised.value.hint
    with pytest.raises(SchemaTooNew):
        open_segue(tmp_path)
    journal.close()
    assert (tmp_path / "segue.db").read_bytes() == before


def test_a_newer_store_that_says_that_we_can_read_it_is_read_and_never_written(tmp_path: Path) -> None:
    filled(tmp_path)
    newer = SCHEMA + 1
    before = alter(
        tmp_path,
        "CREATE TABLE future (x)",
        "ALTER TABLE events ADD COLUMN future TEXT",
        f"UPDATE meta SET value = '{newer}:1'",
        f"PRAGMA user_version = {newer}",
    )
    with open_segue(tmp_path) as seg:
        [card] = seg.list(everywhere=True)
        session = seg.session(card.id)
        assert session.state.last_action == "as it was"
        for call in (
            lambda: session.note("more"),
            lambda: session.checkpoint(done="a", begin="b"),
            lambda: session.save_agent("agent", {"x": 1}),
            lambda: seg.start("another"),
            lambda: seg.workspace.store.erase([], {}),
            lambda: seg.workspace.store.drop(),
        ):
            with pytest.raises(SchemaTooNew):
                call()
    assert (tmp_path / "segue.db").read_bytes() == before


EXHAUSTED = """
import os, sys
from pathlib import Path
from segue import Segue, SegueError
from segue.aegis import AegisClient
seg = Segue(home=Path(sys.argv[1]), folder=Path(sys.argv[2]))
session = seg.start("goal", id="one", items=["a"])
client = AegisClient(store=seg)
open_files = []
try:
    while True:
        open_files.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
for left in range(4):
    for call in (
        lambda: seg.remember("the pool has ten connections"), lambda: seg.recall("pool"), lambda: seg.list(),
        lambda: session.note("x"), lambda: seg.runs(), lambda: seg.sync(), lambda: seg.prepare(),
        lambda: seg.since(), lambda: session.status(), lambda: session.restore("minimal"),
        lambda: seg.export("one"), lambda: seg.bootstrap(), lambda: session.pause("x"),
        lambda: client.add("y"), lambda: client.progress.update("two", summary="z"),
        lambda: Segue(home=Path(sys.argv[1])).list(),
    ):
        try:
            call()
        except SegueError as fault:
            assert type(fault).__name__ != "UnexpectedError", repr(fault.__cause__)
    os.close(open_files.pop())
for one in open_files:
    os.close(one)
session.note("goes on")
assert session.status().last_action == "goes on"
"""


def test_with_all_file_descriptors_used_up_only_our_errors_are_raised_and_work_goes_on_after(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EXHAUSTED, str(tmp_path / "home"), str(tmp_path)],
        capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("most", range(6, 18, 2))
def test_a_command_with_few_file_descriptors_fails_in_words(tmp_path: Path, most: int) -> None:
    environment = {**os.environ, "SEGUE_HOME": str(tmp_path / "home")}
    for command in ("note x", "status", "brief", "recall pool"):
        done = subprocess.run(
            [sys.executable, "-m", "segue", *command.split()], env=environment, cwd=tmp_path,
            capture_output=True, text=True, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
        )  # fmt: skip
        if "Fatal Python error" in done.stderr:
            continue  # Python itself could not start
        assert "Traceback" not in done.stderr and "unexpected error" not in done.stderr, done.stderr


def test_a_clock_beyond_what_can_be_told_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def far() -> int:
        raise OverflowError("timestamp out of range for platform time_t")

    with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
        session = seg.start("goal", id="one")
        monkeypatch.setattr("segue.effects.clock.time.time_ns", far)
        with pytest.raises(RefusedError, match="clock"):
            session.note("x")
        monkeypatch.undo()
        session.note("y")


@pytest.mark.parametrize("days", ["99999999999", "1e300", "0"])
def test_any_number_of_days_is_an_age(tmp_path: Path, days: str) -> None:
    with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
        seg.start("goal", id="one").complete()
        assert len(seg.cleanup().candidates(float(days))) == (days == "0")
