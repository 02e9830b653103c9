"""The recovery ladder: each rung with all rungs above it broken."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from segue import DamagedError, Segue, SessionState, StoreBusy, _failpoints
from segue.services.upkeep.doctor.checkup import examine, prove
from segue.services.upkeep.rebuild import rebuild
from segue.services.upkeep.recover.ladder import inspect, recover
from segue.services.upkeep.recover.result import OF_A_STATE, Recovery
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.schema import SCHEMA

SETTINGS = resolve(flags={})


def populate(home: Path, project: Path) -> dict[str, SessionState]:
    """Three sessions, a backup in the middle, more work behind it; the log is folded in."""
    project.mkdir(exist_ok=True)
    with Segue(home=home, folder=project) as seg:
        for name in ("alpha", "beta", "gamma"):
            s = seg.start(f"goal of {name}", id=name, items=[f"{name} {i}" for i in range(12)])
            for i in range(12):
                s.checkpoint(
                    done=f"{name} {i}", begin=f"{name} {i + 1}", note=f"{name} step {i} " + "x" * 300
                )
            s.save_agent("planner", {"messages": [{"text": f"{name} {i} " + "y" * 700} for i in range(30)]})
        seg.workspace.backups.make()
        for name in ("alpha", "gamma"):
            s = seg.session(name)
            for i in range(20):
                s.learn(f"{name} learnt {i} " + "z" * (5000 if i % 5 == 0 else 50))
        return {name: seg.session(name).state for name in ("alpha", "beta", "gamma")}


@pytest.fixture
def store(tmp_path: Path) -> tuple[DataFolder, dict[str, SessionState]]:
    states = populate(tmp_path / "home", tmp_path / "project")
    return DataFolder(tmp_path / "home"), states


def states_in(home: DataFolder) -> dict[str, SessionState]:
    with Segue(home=home.path, folder=home.path) as seg:
        return {
            name: seg.session(name).state
            for name in ("alpha", "beta", "gamma")
            if seg.workspace.repository.exists(name)
        }


def damage(path: Path, change: Callable[[bytearray], bytes | bytearray | None]) -> None:
    body = bytearray(path.read_bytes())
    changed = change(body)
    path.write_bytes(bytes(body if changed is None else changed))


class Died(Exception):
    """Stands for a process that ended here."""


@contextmanager
def dying_at(failpoint: str) -> Iterator[None]:
    def hook(name: str) -> None:
        if name == failpoint:
            raise Died(name)

    _failpoints.install(hook)
    try:
        yield
    finally:
        _failpoints.install(None)


def zero_header(body: bytearray) -> None:
    body[:100] = bytes(100)


def no_backups(home: DataFolder) -> None:
    shutil.rmtree(home.backups, ignore_errors=True)


def names(outcome: Recovery) -> dict[str, str]:
    return {rung.name: rung.status for rung in outcome.rungs}


def test_a_healthy_store_is_only_looked_at(store: tuple[DataFolder, dict[str, SessionState]]) -> None:
    home, states = store
    before = home.database.read_bytes()
    outcome = recover(home, SETTINGS)
    assert names(outcome)["store"] == "ok"
    assert not outcome.changed and outcome.missing == []
    assert home.database.read_bytes() == before
    assert states_in(home) == states


def test_wrong_snapshots_are_made_anew_from_the_journal(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, states = store
    with Segue(home=home.path, folder=home.path) as seg:
        rebuild(seg.workspace)
    db = apsw.Connection(str(home.database))
    db.execute("UPDATE snapshots SET state = x'80'")
    db.close()
    outcome = recover(home, SETTINGS)
    assert names(outcome)["refold"] == "used"
    assert states_in(home) == states
    with Segue(home=home.path, folder=home.path) as seg:
        assert rebuild(seg.workspace, check=True).different == []


@pytest.mark.parametrize("backups", [True, False])
def test_a_lost_header_loses_nothing(
    store: tuple[DataFolder, dict[str, SessionState]], backups: bool
) -> None:
    home, states = store
    if not backups:
        no_backups(home)
    damage(home.database, zero_header)
    damaged = home.database.read_bytes()
    outcome = recover(home, SETTINGS)
    assert outcome.missing == [] and outcome.changed
    assert states_in(home) == states
    assert (Path(outcome.kept) / "segue.db").read_bytes() == damaged
    assert inspect(home.database) == []


def test_a_store_that_is_gone_comes_back_from_the_newest_backup(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, states = store
    for path in home.path.glob("segue.db*"):
        path.unlink()
    outcome = recover(home, SETTINGS)
    found = states_in(home)
    assert names(outcome)["backup"] == "used"
    assert found["beta"] == states["beta"]
    assert len(found["alpha"].findings) == 0 and len(found["alpha"].done) == 12


def test_a_lost_store_is_not_begun_anew_behind_the_users_back(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, _ = store
    for path in home.path.glob("segue.db*"):
        path.unlink()
    with pytest.raises(DamagedError, match="there are backups"):
        Segue(home=home.path, folder=home.path)
    assert not home.database.exists()


def test_a_store_that_was_begun_anew_gets_back_what_the_backup_knows(
    store: tuple[DataFolder, dict[str, SessionState]], tmp_path: Path
) -> None:
    home, states = store
    for path in home.path.glob("segue.db*"):
        path.unlink()
    with Segue(SqliteStore(home.database), home=home.path, folder=tmp_path / "project") as seg:
        seg.start("new work", id="delta")
    outcome = recover(home, SETTINGS)
    assert outcome.changed and outcome.sessions == 4
    assert states_in(home)["beta"] == states["beta"]
    assert recover(home, SETTINGS).changed is False


def test_sessions_in_the_archive_are_not_missed(tmp_path: Path) -> None:
    populate(tmp_path / "home", tmp_path / "project")
    home = DataFolder(tmp_path / "home")
    with Segue(home=home.path, folder=tmp_path / "project") as seg:
        seg.session("beta").complete()
        seg.cleanup().run(days=0)
    assert recover(home, SETTINGS).changed is False


def test_backups_of_two_stores_never_mix(
    store: tuple[DataFolder, dict[str, SessionState]], tmp_path: Path
) -> None:
    home, _ = store
    other = tmp_path / "elsewhere" / "other.db"
    with Segue(f"sqlite://{other}", home=home.path, folder=tmp_path) as seg:
        seg.start("of another store", id="other")
        made = seg.workspace.backups.make()
        assert made.path.parent == tmp_path / "elsewhere" / "other.db-backups"
    other.unlink()
    settings = resolve(flags={"store": f"sqlite://{other}"})
    assert recover(home, settings).sessions == 1
    assert recover(home, SETTINGS).changed is False
    assert [finding.status for finding in prove(home, settings=settings)] == ["ok"] * 4


def test_a_dry_run_tells_what_would_come_back(store: tuple[DataFolder, dict[str, SessionState]]) -> None:
    home, _ = store
    damage(home.database, zero_header)
    assert recover(home, SETTINGS, dry_run=True).sessions == 3


def test_backup_and_later_events_of_the_damaged_file_are_merged(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, states = store
    at = home.database.read_bytes().find(b'{"text":"beta step 3')
    assert at > 0

    def wipe(body: bytearray) -> None:
        zero_header(body)
        page = at // 4096 * 4096
        body[page : page + 4096] = bytes(4096)

    damage(home.database, wipe)
    outcome = recover(home, SETTINGS)
    assert outcome.missing == []
    assert states_in(home) == states


def test_what_no_source_has_is_named_by_session_and_version_and_the_rest_is_kept(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, states = store
    no_backups(home)
    at = home.database.read_bytes().find(b'{"text":"alpha step 5')
    page = at // 4096 * 4096
    damage(home.database, lambda body: body.__setitem__(slice(page, page + 4096), bytes(4096)))
    outcome = recover(home, SETTINGS)
    assert {missing.stream for missing in outcome.missing} == {"session/alpha"}
    lost = sum(m.last - m.first + 1 for m in outcome.missing if m.first)
    found = states_in(home)
    assert lost > 0
    assert found["beta"] == states["beta"] and found["gamma"] == states["gamma"]
    assert found["alpha"].gaps == tuple((m.first, m.last) for m in outcome.missing if m.first)
    assert [f.text for f in found["alpha"].findings] == [f.text for f in states["alpha"].findings]
    assert inspect(home.database) == []
    with Segue(home=home.path, folder=home.path) as seg:
        seg.session("alpha").done("work goes on")


def test_events_that_are_only_in_the_log_are_found(tmp_path: Path) -> None:
    home = DataFolder(tmp_path / "home")
    (tmp_path / "project").mkdir()
    seg = Segue(home=home.path, folder=tmp_path / "project")
    s = seg.start("in the log", id="alpha")
    for i in range(30):
        s.done(f"item {i}")
    copy = DataFolder(tmp_path / "copy")
    shutil.copytree(home.path, copy.path)
    (copy.path / "segue.db-shm").unlink()
    damage(copy.database, zero_header)
    if copy.database.stat().st_size == 0:
        copy.database.write_bytes(bytes(4096))
    outcome = recover(copy, SETTINGS)
    assert outcome.missing == []
    assert states_in(copy)["alpha"] == s.state
    seg.close()


def test_a_session_that_only_an_emergency_file_knows_comes_back(tmp_path: Path) -> None:
    home = DataFolder(tmp_path / "home")
    (tmp_path / "project").mkdir()
    with Segue(home=home.path, folder=tmp_path / "project") as seg:
        s = seg.start("remember me", id="alpha", items=["one", "two"])
        s.done("one")
        with pytest.raises(RuntimeError), s.guard(planner=lambda: {"at": "two"}):
            s.begin("two")
            raise RuntimeError("power went")
        state = s.state
    for path in home.path.glob("segue.db*"):
        path.unlink()
    no_backups(home)
    outcome = recover(home, SETTINGS)
    assert names(outcome)["emergency"] == "used"
    found = states_in(home)["alpha"]
    assert (found.goal, found.items, found.done, found.active) == (
        state.goal, state.items, state.done, state.active,
    )  # fmt: skip
    assert found.gaps == ((1, state.version),)
    with Segue(home=home.path, folder=home.path) as seg:
        assert seg.session("alpha").load_agent("planner") == {"at": "two"}
    assert list(home.emergency.glob("*")) == []
    assert recover(home, SETTINGS).changed is False


def test_an_emergency_file_replaces_a_state_whose_pieces_are_gone(tmp_path: Path) -> None:
    home = DataFolder(tmp_path / "home")
    (tmp_path / "project").mkdir()
    with Segue(home=home.path, folder=tmp_path / "project") as seg:
        s = seg.start("remember me", id="alpha")
        s.save_agent("planner", {"at": "one"})
        with pytest.raises(RuntimeError), s.guard(planner=lambda: {"at": "two"}):
            raise RuntimeError("power went")
    for path in home.path.glob("segue.db*"):
        path.unlink()
    no_backups(home)
    recover(home, SETTINGS)
    with Segue(home=home.path, folder=home.path) as seg:
        assert seg.session("alpha").load_agent("planner") == {"at": "two"}
        assert len(seg.session("alpha").state.gaps) == 1


def test_a_dry_run_changes_nothing(store: tuple[DataFolder, dict[str, SessionState]]) -> None:
    home, _ = store
    damage(home.database, zero_header)
    before = {p: p.read_bytes() for p in home.path.rglob("*") if p.is_file()}
    outcome = recover(home, SETTINGS, dry_run=True)
    assert names(outcome)["damaged file"] == "used" and not outcome.changed
    assert {p: p.read_bytes() for p in home.path.rglob("*") if p.is_file()} == before


def test_a_writer_that_had_the_old_file_open_writes_into_the_recovered_one(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, _ = store
    seg = Segue(home=home.path, folder=home.path)
    s = seg.session("alpha")
    s.done("before")
    seg.workspace.store.close()
    seg.workspace.store.streams()
    damage(home.database, zero_header)
    recover(home, SETTINGS)
    s.done("after")
    assert {"before", "after"} <= set(seg.session("alpha").status().done)
    assert {"before", "after"} <= {
        states_in(home)["alpha"].items[i].text for i in states_in(home)["alpha"].done
    }


def test_any_random_damage_gives_a_proven_store_that_holds_only_what_was_written(
    tmp_path: Path, kill_count: int
) -> None:
    states = populate(tmp_path / "home", tmp_path / "project")
    for seed in range(kill_count):
        home = DataFolder(tmp_path / f"damaged-{seed}")
        shutil.copytree(tmp_path / "home", home.path)
        rng = random.Random(seed)
        if rng.random() < 0.5:
            no_backups(home)

        def wreck(body: bytearray, rng: random.Random = rng) -> bytearray:
            for _ in range(rng.choice([1, 10, 100])):
                at, length = rng.randrange(len(body)), rng.choice([1, 16, 512, 4096])
                body[at : at + length] = rng.randbytes(min(length, len(body) - at))
            return body[: rng.randrange(len(body) // 3, len(body))] if rng.random() < 0.3 else body

        damage(home.database, wreck)
        recover(home, SETTINGS)
        assert inspect(home.database) in ([], inspect_pieces_only(home)), f"seed {seed}"
        for name, state in states_in(home).items():
            known = {item.text for item in states[name].items}
            assert {item.text for item in state.items} <= known, f"seed {seed}"
            learnt = {finding.text for finding in states[name].findings}
            assert {finding.text for finding in state.findings} <= learnt, f"seed {seed}"
        shutil.rmtree(home.path)


def inspect_pieces_only(home: DataFolder) -> list[str]:
    """Pieces and halves of commits that no source had are named, and are no reason to refuse the rest."""
    return [found for found in inspect(home.database) if OF_A_STATE in found or "rest of its commit" in found]


def test_the_doctor_finds_what_is_wrong_and_says_what_to_do(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, _ = store
    well = {finding.name: finding for finding in examine(home, SETTINGS, {})}
    assert {finding.status for finding in well.values()} == {"ok"}
    home.path.chmod(0o755)
    (home.path / "PAUSE").touch()
    damage(home.database, zero_header)
    ill = {finding.name: finding for finding in examine(home, SETTINGS, {})}
    assert ill["permissions"].status == "bad" and "chmod" in ill["permissions"].hint
    assert ill["store"].status == "bad" and "recover" in ill["store"].hint
    assert ill["PAUSE"].status == "warn"


def test_the_doctor_breaks_copies_and_brings_them_back(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, states = store
    findings = prove(home)
    assert [finding.status for finding in findings] == ["ok"] * 4
    assert states_in(home) == states


def test_a_recovered_store_is_private(store: tuple[DataFolder, dict[str, SessionState]]) -> None:
    home, _ = store
    damage(home.database, zero_header)
    outcome = recover(home, SETTINGS)
    wide = [p for p in (home.path, home.database, *Path(outcome.kept).iterdir()) if p.stat().st_mode & 0o077]
    assert wide == []
    journal = SqliteStore(home.database)
    assert journal.database.connection().pragma("user_version") == SCHEMA
    journal.close()


def test_a_recovery_that_died_while_swapping_is_told_and_begun_again(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, states = store
    damage(home.database, zero_header)
    with pytest.raises(Died), dying_at("recover.before_swap"):
        recover(home, SETTINGS)
    with pytest.raises(DamagedError, match="interrupted"):
        Segue(home=home.path, folder=home.path)
    (home.path / "PAUSE").touch()
    assert recover(home, SETTINGS, dry_run=True).sessions == 3
    (home.path / "PAUSE").unlink()
    outcome = recover(home, SETTINGS)
    assert outcome.missing == [] and states_in(home) == states


def test_a_store_that_others_have_open_is_not_replaced_under_them(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, states = store
    code = (
        "import sys; from segue import Segue; s = Segue(home=sys.argv[1], folder=sys.argv[1]).session('beta')"
    )
    code += "; s.note('mine'); print('open', flush=True); sys.stdin.readline(); s.note('still here')"
    command = [sys.executable, "-c", code, str(home.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        damage(home.database, zero_header)
        with pytest.raises(StoreBusy, match="other processes"):
            recover(home, SETTINGS)
        other.communicate("\n", timeout=20)
    recover(home, SETTINGS)
    assert states_in(home)["alpha"] == states["alpha"]


def test_a_store_that_is_only_busy_is_not_taken_for_damaged(
    store: tuple[DataFolder, dict[str, SessionState]],
) -> None:
    home, _ = store
    db = apsw.Connection(str(home.database))
    db.pragma("locking_mode", "exclusive")
    db.execute("BEGIN IMMEDIATE; UPDATE meta SET value = value; COMMIT").fetchall()
    before = home.database.stat().st_ino
    with pytest.raises(StoreBusy):
        inspect_quickly(home)
    db.close()
    assert home.database.stat().st_ino == before and recover(home, SETTINGS).changed is False


def inspect_quickly(home: DataFolder) -> None:
    code = "import sys; from pathlib import Path;"
    code += "from segue.services.upkeep.recover import ladder as r; from segue.errors import StoreBusy\n"
    code += "r.SqliteStore.__init__.__kwdefaults__['busy_timeout_ms'] = 100\n"
    code += "try:\n    r.inspect(Path(sys.argv[1]))\nexcept StoreBusy:\n    sys.exit(3)"
    done = subprocess.run([sys.executable, "-c", code, str(home.database)], capture_output=True, check=False)
    if done.returncode == 3:
        raise StoreBusy("busy")


def test_a_store_of_which_only_the_log_is_left_comes_back(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    code = "import os, sys; from segue import Segue; s = Segue(home=sys.argv[1], folder=sys.argv[1])"
    code += ".start('killed', id='alpha'); s.done('one'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "home")], check=False)
    home = DataFolder(tmp_path / "home")
    home.database.unlink()
    with pytest.raises(DamagedError, match="log"):
        Segue(home=home.path, folder=home.path)
    assert recover(home, SETTINGS).sessions == 1
    assert [states_in(home)["alpha"].items[i].text for i in states_in(home)["alpha"].done] == ["one"]
