"""Commands that keep a store in order wait for each other, and call nothing damaged that is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segue import DamagedError, Segue, StoreBusy, UnknownSession, _failpoints
from segue.effects.files import maintenance
from segue.effects.files.maintenance import maintaining
from segue.services.sessions.repository import snapshot_of
from segue.services.upkeep.archive_sessions import Cleanup
from segue.services.upkeep.rebuild import rebuild, stale_snapshots
from segue.services.upkeep.recover import ladder
from segue.services.upkeep.scrub import scrub, scrub_journal
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.sqlite import SqliteStore

SECRET = "a text that must go"
WAITS_SECONDS = 1.0
"""So long a command that waits is watched not to end."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder with six sessions, of which four are over."""
    folder = tmp_path / "home"
    with opened(folder) as seg:
        for number in range(6):
            session = seg.start(f"goal {number}", id=f"c{number}", items=["one"])
            session.note(f"{SECRET}, {number}")
            session.save_agent("agent", {"words": [f"state {number}"] * 40})
            if number < 4:
                session.abandon("not needed")
    return folder


def opened(home: Path) -> Segue:
    return Segue(home=home, folder=home)


def command(home: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "SEGUE_HOME": str(home), "HOME": str(home)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "segue", *arguments], env=environment, cwd=home, **pipes)


@pytest.fixture
def at_failpoint() -> Iterator[Callable[[str, Callable[[], None]], None]]:
    """Does something once when a failpoint is passed."""

    def install(name: str, act: Callable[[], None]) -> None:
        def hook(at: str) -> None:
            if at == name:
                _failpoints.install(None)
                act()

        _failpoints.install(hook)

    yield install
    _failpoints.install(None)


At = Callable[[str, Callable[[], None]], None]
COMMANDS = [
    ["cleanup", "--days", "0"],
    ["rebuild"],
    ["scrub", SECRET, "--yes"],
    ["backup"],
    ["recover"],
    ["migrate", "--to", "sqlite:///{home}/copy/segue.db"],
]


@pytest.mark.parametrize("second", COMMANDS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize(
    ("place", "first"),
    [
        ("cleanup.after_archive", lambda seg: Cleanup(seg.workspace).run(0)),
        ("store.snapshot.after_commit", lambda seg: rebuild(seg.workspace)),
        ("store.erase.after_commit", lambda seg: scrub(seg.workspace, SECRET)),
        ("backup.before_rename", lambda seg: seg.workspace.backups.make()),
    ],
    ids=["cleanup", "rebuild", "scrub", "backup"],
)
def test_two_commands_at_once_do_their_work_one_after_the_other(
    home: Path, at_failpoint: At, place: str, first: Callable[[Segue], object], second: list[str]
) -> None:
    started: list[subprocess.Popen[str]] = []

    def start_the_other() -> None:
        started.append(command(home, *(one.format(home=home) for one in second)))
        with pytest.raises(subprocess.TimeoutExpired):
            started[0].wait(WAITS_SECONDS)

    with opened(home) as seg:
        at_failpoint(place, start_the_other)
        first(seg)
    out, err = started[0].communicate(timeout=60)
    assert started[0].returncode == 0, out + err
    with opened(home) as seg:
        assert not rebuild(seg.workspace, check=True).different
        assert ladder.inspect(home / "segue.db") == []


def test_who_waits_too_long_is_told_who_is_at_work(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from segue.effects.files.maintenance import maintaining\n"
        "from segue.services.workspace.data_folder import DataFolder\n"
        "with maintaining(DataFolder(Path(sys.argv[1])).database, 'segue scrub'):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(home)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        monkeypatch.setattr(maintenance, "WAIT_SECONDS", 0.2)
        with opened(home) as seg, pytest.raises(StoreBusy) as raised:
            Cleanup(seg.workspace).run(0)
        assert f"`segue scrub` (process {holder.pid}, since " in raised.value.message
    finally:
        holder.kill()
        holder.communicate()
    with opened(home) as seg:  # the lock ended with its process
        assert len(Cleanup(seg.workspace).run(0)) == 4


def test_a_backup_that_is_due_does_not_wait_for_maintenance(home: Path) -> None:
    before = sorted((home / "backups").iterdir())
    task = "from tests.crash.test_maintenance import write_with_a_backup_due as write; write(sys.argv[1])"
    with maintaining(DataFolder(home).database, "segue scrub"):
        subprocess.run([sys.executable, "-c", f"import sys; {task}", str(home)], check=True, timeout=30)
    assert before and sorted((home / "backups").iterdir()) == before
    write_with_a_backup_due(str(home))
    assert sorted((home / "backups").iterdir()) != before


def write_with_a_backup_due(home: str) -> None:
    with Segue(home=Path(home), folder=Path(home), backup_events=1) as seg:
        seg.session("c5").note("written while somebody else may maintain the store")


def test_a_rebuild_beside_a_writer_keeps_what_is_newer(tmp_path: Path, at_failpoint: At) -> None:
    with opened(tmp_path) as seg:
        seg.start("goal", id="one").note("first")

    def write_on() -> None:
        with opened(tmp_path) as other:
            session = other.session("one")
            session.note("second")
            other.workspace.store.keep(snapshot_of("one", session.state))

    with opened(tmp_path) as seg:
        at_failpoint("store.snapshot.after_commit", write_on)
        rebuild(seg.workspace)
        assert not rebuild(seg.workspace, check=True).different
        [kept] = seg.workspace.store.snapshots(["session/one"]).values()
        assert kept == snapshot_of("one", seg.session("one").state)


class Beside(SqliteStore):
    """A store in which somebody else does something when a method is first called, before or after it."""

    act: Callable[[], None] | None = None
    before, after = "", ""

    def _once(self, name: str, when: str) -> None:
        act = Beside.act
        if act is not None and getattr(Beside, when) == name:
            Beside.act = None
            act()

    def snapshots(self, *arguments: Any, **options: Any) -> Any:
        found = super().snapshots(*arguments, **options)
        self._once("snapshots", "after")
        return found

    def pieces(self, *arguments: Any, **options: Any) -> Any:
        self._once("pieces", "before")
        return super().pieces(*arguments, **options)


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def plan(act: Callable[[], None], *, before: str = "", after: str = "") -> None:
        monkeypatch.setattr(Beside, "act", act)
        monkeypatch.setattr(Beside, "before", before)
        monkeypatch.setattr(Beside, "after", after)

    return plan


def archive_elsewhere(home: Path) -> None:
    with opened(home) as other:
        Cleanup(other.workspace).run(0)


def test_a_scrub_between_two_reads_makes_no_snapshot_different(
    home: Path, beside: Callable[..., None]
) -> None:
    with opened(home) as seg:
        rebuild(seg.workspace)
        journal = seg.workspace.store

        def scrub_it() -> None:
            scrub_journal(journal, SECRET, "user", False)

        beside(scrub_it, after="snapshots")
        assert stale_snapshots(Beside(home / "segue.db")) == []


def test_a_session_that_is_archived_during_a_look_is_not_called_damaged(
    home: Path, beside: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladder, "SqliteStore", Beside)
    beside(lambda: archive_elsewhere(home), before="pieces")
    assert ladder.inspect(home / "segue.db") == []


def test_a_state_that_is_archived_while_it_is_read_is_not_called_damaged(
    home: Path, beside: Callable[..., None]
) -> None:
    with Segue(store=Beside(home / "segue.db"), home=home, folder=home) as seg:
        session = seg.session("c0")
        beside(lambda: archive_elsewhere(home), before="pieces")
        with pytest.raises(UnknownSession):
            session.load_agent("agent")


def test_a_session_that_another_machine_archived_first_is_left_to_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home) as seg:
        cleanup = Cleanup(seg.workspace)
        cards = cleanup.candidates(0)
        archive_elsewhere(home)
        monkeypatch.setattr(Cleanup, "candidates", lambda self, days=None: cards)
        assert cleanup.run(0) == []
        assert len(Cleanup(seg.workspace).list()) == 4


def test_a_command_beside_a_recovery_waits_until_the_store_is_in_place(home: Path, at_failpoint: At) -> None:
    started: list[subprocess.Popen[str]] = []

    def start_the_other() -> None:
        started.append(command(home, "list", "--all"))
        with pytest.raises(subprocess.TimeoutExpired):
            started[0].wait(WAITS_SECONDS)

    (home / "segue.db").write_bytes(bytes(64) + (home / "segue.db").read_bytes()[64:])
    at_failpoint("recover.before_swap", start_the_other)
    assert ladder.recover(DataFolder(home), resolve(flags={})).changed
    out, err = started[0].communicate(timeout=60)
    assert started[0].returncode == 0 and "c5" in out, err


def test_damage_is_still_called_so(home: Path) -> None:
    journal = SqliteStore(home / "segue.db")
    journal.writing(lambda db: db.execute("DELETE FROM pieces"))
    journal.close()
    assert len(ladder.inspect(home / "segue.db")) == 6
    with opened(home) as seg, pytest.raises(DamagedError):
        seg.session("c5").load_agent("agent")
