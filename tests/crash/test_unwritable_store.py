"""A store that can be read and not written can be looked at; writes say why not, and what a process still
knew goes where something can be written."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from tests.support.mounts import mounting, read_only
from tests.support.other_user import like_anybody, linux

from segue import Segue
from segue.services.workspace.data_folder import DataFolder

LOOKS = ("status", "brief", "list", "show", "log", "runs", "recall pool", "since", "export one")
WRITES = ("note more", "done a", "start another", "learn something", "remember something")


class Situation(NamedTuple):
    """A store that can only be read, and how commands are run there."""

    home: Path
    prefix: list[str]
    exits: tuple[int, ...]
    """What a write may exit with."""
    before: Callable[[], None] | None = None

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SEGUE_HOME": str(self.home)}
        words = [*self.prefix, sys.executable, "-m", "segue", *command.split()]
        return subprocess.run(
            words, env=environment, cwd=self.home.parent, capture_output=True, text=True, timeout=60,
            preexec_fn=self.before,
        )  # fmt: skip


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a session, closed; temporary files go elsewhere."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    home = tmp_path / "data"
    with Segue(home=home, folder=tmp_path) as seg:
        seg.start("the goal", id="one", items=["a"]).note("kept")
        seg.remember("the pool has ten connections")
    return home


def on_a_read_only_disk(home: Path) -> Situation:
    return Situation(home, read_only(home), (77,))


def on_a_read_only_disk_with_a_log(home: Path) -> Situation:
    """As after a crash: what was written last is in the log only."""
    store = apsw.Connection(str(home / "segue.db"))
    store.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    seg = Segue(home=home, folder=home.parent)
    seg.session("one").note("in the log only")
    copy = home.with_name("copy")
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("*-shm"))
    seg.close()
    store.close()
    assert (copy / "segue.db-wal").stat().st_size
    return Situation(copy, read_only(copy), (77,))


def on_a_full_disk(home: Path) -> Situation:
    disk = home.with_name("disk")
    disk.mkdir()
    fill = f"head -c 9000000 /dev/zero > '{disk}/ballast' 2>/dev/null || true"
    script = f"mount -t tmpfs -o size=1m tmpfs '{disk}'; cp -r '{home}' '{disk}/data'; {fill}"
    return Situation(disk / "data", mounting(script), (74,))


def without_permission(home: Path) -> Situation:
    (home / "segue.db").chmod(0o400)
    (home / "segue.db.lock").chmod(0o400)
    home.chmod(0o500)
    return Situation(home, [], (77,), like_anybody)


def where_files_may_not_grow(home: Path) -> Situation:
    def limit() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    return Situation(home, [], (74,), limit)


SITUATIONS = [
    on_a_read_only_disk, on_a_read_only_disk_with_a_log, on_a_full_disk, without_permission,
    where_files_may_not_grow,
]  # fmt: skip


@linux
@pytest.mark.parametrize("make", SITUATIONS)
def test_a_search_finds_what_was_indexed_before(written: Path, make: Callable[[Path], Situation]) -> None:
    assert "kept" in Situation(written, [], (0,)).run("search kept").stdout
    place = make(written)
    ran = place.run("search kept")
    assert ran.returncode == 0, ran.stderr
    assert "kept" in ran.stdout or place.home != written  # the index of a copy is of the original


@linux
@pytest.mark.parametrize("make", SITUATIONS)
def test_what_is_stored_can_be_looked_at_and_writes_say_why_not(
    written: Path, make: Callable[[Path], Situation]
) -> None:
    place = make(written)
    for command in LOOKS:
        ran = place.run(command)
        assert ran.returncode == 0, f"{command}: {ran.stderr}"
        assert "Traceback" not in ran.stderr
    assert "kept" in place.run("log").stdout
    assert "the goal" in place.run("status").stdout
    if make is on_a_read_only_disk_with_a_log:
        assert "in the log only" in place.run("log").stdout
    for command in WRITES:
        ran = place.run(f"--json {command}")
        assert ran.returncode in place.exits, f"{command}: {ran.returncode} {ran.stdout} {ran.stderr}"
        said = json.loads(ran.stdout)["error"]
        assert said["message"] and said["hint"], command
    seen = place.run("doctor")
    assert seen.returncode == 70 and "bad " in seen.stdout, seen.stdout
    written.chmod(0o700)


@linux
@pytest.mark.parametrize("make", [on_a_read_only_disk, without_permission])
def test_a_pause_that_the_store_does_not_take_is_kept_elsewhere_and_merged_when_it_can_be_written(
    written: Path, make: Callable[[Path], Situation]
) -> None:
    place = make(written)
    ran = place.run("pause --reason lunch")
    assert ran.returncode == 0 and "emergency file" in ran.stdout, ran.stderr
    [left] = DataFolder(written).emergency_elsewhere.iterdir()
    assert left.stat().st_mode & 0o077 == 0
    written.chmod(0o700)
    for path in written.glob("segue.db*"):
        path.chmod(0o600)
    with Segue(home=written, folder=written.parent) as seg:
        assert seg.session("one").state.status == "paused"
    assert not left.exists()


@linux
def test_what_a_dying_process_knew_is_kept_where_something_can_be_written(written: Path) -> None:
    place = on_a_read_only_disk(written)
    script = (
        "import os, signal, segue\n"
        f"seg = segue.Segue(home={str(written)!r}, folder={str(written.parent)!r})\n"
        "s = seg.session('one')\n"
        "with s.guard(porter=lambda: {'step': 42}):\n"
        "    try: s.note('never stored')\n"
        "    except segue.errors.AccessError: pass\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    ended = subprocess.run([*place.prefix, sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == -15, ended.stderr
    with Segue(home=written, folder=written.parent) as seg:
        session = seg.session("one")
        assert session.load_agent("porter") == {"step": 42}
        assert "never stored" in str([event.body for event in session.log()])


@linux
def test_a_folder_of_another_user_among_the_temporary_files_is_not_trusted(written: Path) -> None:
    elsewhere = DataFolder(written).emergency_elsewhere
    elsewhere.mkdir(parents=True, mode=0o777)
    elsewhere.chmod(0o777)
    place = on_a_read_only_disk(written)
    ran = place.run("pause --reason lunch")
    assert "emergency file" not in ran.stdout and list(elsewhere.iterdir()) == []


@linux
def test_a_process_that_could_only_read_writes_again_when_it_may(written: Path) -> None:
    script = (
        "import os, segue\n"
        f"home = {str(written)!r}\n"
        "os.chmod(home + '/segue.db', 0o400)\n"
        f"seg = segue.Segue(home=home, folder={str(written.parent)!r})\n"
        "try: seg.session('one').note('refused')\n"
        "except segue.errors.AccessError: print('refused')\n"
        "os.chmod(home + '/segue.db', 0o600)\n"
        "seg.session('one').note('taken')\n"
    )
    words = [sys.executable, "-c", script]
    ran = subprocess.run(words, capture_output=True, text=True, preexec_fn=like_anybody)
    assert (ran.returncode, ran.stdout) == (0, "refused\n"), ran.stderr
    with Segue(home=written, folder=written.parent) as seg:
        log = str([event.body for event in seg.session("one").log()])
        assert "taken" in log and "refused" not in log
