"""A store that is lost under a process that has it open: the process says so, begins nothing anew, and leaves
the log, so that a recovery brings everything back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.server import SegueServer

from segue import Segue
from segue.errors import DamagedError, SegueError
from segue.services.upkeep.recover.ladder import recover
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.sqlite import SqliteStore
from segue.surfaces.mcp.calls import Calls

SETTINGS = resolve(flags={})
NOTES = 12


def removed(home: DataFolder) -> None:
    home.database.unlink()


def emptied(home: DataFolder) -> None:
    home.database.write_bytes(b"")


def replaced_by_an_empty_file(home: DataFolder) -> None:
    other = home.path / "other"
    other.touch(0o600)
    other.replace(home.database)


def replaced_by_a_new_store(home: DataFolder) -> None:
    other = SqliteStore(home.path / "other.db")
    other.streams()
    other.close()
    (home.path / "other.db").replace(home.database)


def replaced_by_a_copy(home: DataFolder) -> None:
    shutil.copyfile(home.database, home.path / "other")
    (home.path / "other").replace(home.database)


def folder_removed(home: DataFolder) -> None:
    """With everything in it that told of the store: only the process knows."""
    shutil.rmtree(home.path)


LOSSES = [removed, emptied, replaced_by_an_empty_file, replaced_by_a_new_store, replaced_by_a_copy]


def opened(home: DataFolder) -> Segue:
    return Segue(home=home, folder=home.path.parent)


@pytest.fixture
def home(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "home")


def at_work(home: DataFolder) -> Segue:
    seg = opened(home)
    session = seg.start("the goal", id="one", items=["a"])
    for number in range(NOTES):
        session.note(f"note {number}")
    return seg


def notes(seg: Segue) -> int:
    return sum(f"note {number}" in str(seg.session("one").log()) for number in range(NOTES))


CALLS: dict[str, Callable[[Segue], object]] = {
    "a note": lambda seg: seg.session("one").note("after"),
    "a new session": lambda seg: seg.start("second", id="two"),
    "a look": lambda seg: seg.list(everywhere=True),
    "a memory": lambda seg: seg.remember("kept"),
    "a backup": lambda seg: seg.workspace.backups.make(),
}


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("call", CALLS)
def test_the_call_that_notices_raises_and_a_recovery_brings_everything_back(
    home: DataFolder, lose: Callable[[DataFolder], None], call: str
) -> None:
    seg = at_work(home)
    log = home.database.with_name("segue.db-wal").read_bytes()
    assert log
    lose(home)
    for _ in range(3):
        with pytest.raises(DamagedError) as caught:
            CALLS[call](seg)
        assert "recover" in caught.value.hint
        with pytest.raises(DamagedError), opened(home) as other:  # as a new process says, too
            other.list(everywhere=True)
    assert home.database.with_name("segue.db-wal").read_bytes() == log
    outcome = recover(home, SETTINGS)
    assert outcome.missing == [] and outcome.histories == []
    assert notes(seg) == NOTES, "the process goes on with the store that was recovered"
    seg.start("second", id="two")
    seg.close()
    with opened(home) as again:
        assert notes(again) == NOTES and again.session("two").state.goal == "second"


@pytest.mark.parametrize("words", [["doctor"], ["recover", "--dry-run"]], ids=" ".join)
def test_a_look_at_a_store_that_was_emptied_leaves_its_log(home: DataFolder, words: list[str]) -> None:
    seg = at_work(home)
    killed = DataFolder(home.path.parent / "killed")
    shutil.copytree(home.path, killed.path)
    seg.close()
    emptied(killed)
    log = killed.database.with_name("segue.db-wal")
    before = log.read_bytes()
    environment = {**os.environ, "SEGUE_HOME": str(killed.path), "HOME": str(home.path.parent)}
    command = [sys.executable, "-m", "segue", *words]
    subprocess.run(command, env=environment, cwd=home.path.parent, capture_output=True, check=False)
    assert before and log.read_bytes() == before
    recover(killed, SETTINGS)
    with opened(killed) as again:
        assert notes(again) == NOTES


def test_a_process_that_ends_after_the_loss_leaves_the_log(home: DataFolder) -> None:
    seg = at_work(home)
    removed(home)
    seg.close()
    recover(home, SETTINGS)
    with opened(home) as again:
        assert notes(again) == NOTES


def test_only_the_process_knows_of_a_folder_that_was_removed_and_it_says_so(home: DataFolder) -> None:
    seg = at_work(home)
    folder_removed(home)
    for _ in range(2):
        with pytest.raises(DamagedError, match="gone"):
            seg.start("second", id="two")
    assert not home.path.exists()


def test_a_store_that_was_lost_before_it_was_first_asked_is_not_begun_anew(home: DataFolder) -> None:
    at_work(home).close()
    seg = opened(home)
    seg.close()  # it is opened again by the next call
    removed(home)
    with pytest.raises(DamagedError):
        seg.list(everywhere=True)
    assert not home.database.exists()


def test_a_file_that_comes_back_is_taken_up_again(home: DataFolder) -> None:
    seg = at_work(home)
    home.database.rename(home.path / "away")
    with pytest.raises(DamagedError):
        seg.session("one").note("refused")
    (home.path / "away").rename(home.database)
    seg.session("one").note("taken")
    assert notes(seg) == NOTES and "refused" not in str(seg.session("one").log())


def test_threads_that_work_while_the_file_goes_lose_nothing_that_was_acknowledged(home: DataFolder) -> None:
    seg = at_work(home)
    acknowledged: list[str] = []
    faults: list[BaseException] = []
    under_way = threading.Barrier(5)

    def work(name: str) -> None:
        session = seg.start(name, id=name)
        number = 0
        try:
            while True:
                session.note(f"{name}.{number}.")
                acknowledged.append(f"{name}.{number}.")
                number += 1
                if number == 5:
                    under_way.wait(60)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(f"thread{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    under_way.wait(60)
    removed(home)
    for thread in threads:
        thread.join(30)
    assert len(faults) == 4 and all(isinstance(fault, SegueError) for fault in faults), faults
    assert any(isinstance(fault, DamagedError) for fault in faults)
    recover(home, SETTINGS)
    told = "".join(str(seg.session(f"thread{number}").log()) for number in range(4))
    assert [text for text in acknowledged if text not in told] == []
    seg.close()


def test_a_tool_says_that_the_store_is_lost(home: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.path.parent / "project").mkdir()
    monkeypatch.chdir(home.path.parent / "project")
    monkeypatch.setenv("SEGUE_HOME", str(home.path))
    calls = Calls()
    calls.call("plan", {"goal": "the goal"})
    calls.call("checkpoint", {"note": "kept"})
    held = opened(home)  # so that the log stays
    held.list(everywhere=True)
    removed(home)
    for tool, given in (("checkpoint", {"note": "x"}), ("resume", {}), ("remember", {"text": "x"})):
        assert calls.call(tool, given).value["error"]["code"] == "damaged"
    assert not home.database.exists()
    held.close()


def test_a_server_says_which_project_is_lost_and_serves_the_others(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--rate", "0"]) as server:
        for project in ("u1", "u2"):
            for number in range(3):
                body = {"goal": "g", "id": f"s{number}"}
                assert server.ask("POST", "/v1/sessions", body, Segue_Project=project)[0] == 201
        assert server.ask("GET", "/ready")[0] == 200
        folder = next(tmp_path.rglob("projects/u1"))
        (folder / "segue.db").unlink()
        log = (folder / "segue.db-wal").read_bytes()
        after = {"goal": "g", "id": "after"}
        for method, path, given in (
            ("POST", "/v1/sessions", after), ("GET", "/v1/sessions", None), ("GET", "/v1/sessions/s0", None),
        ):  # fmt: skip
            status, answer, *_ = server.ask(method, path, given, Segue_Project="u1")
            assert (status, answer["code"]) == (500, "damaged"), (method, path, answer)
        status, answer, *_ = server.ask("GET", "/ready")
        assert status == 503 and "u1" not in str(answer)
        assert server.ask("GET", "/health")[0] == 200
        assert server.ask("POST", "/v1/sessions", {"goal": "g", "id": "more"}, Segue_Project="u2")[0] == 201
        assert (folder / "segue.db-wal").read_bytes() == log and not (folder / "segue.db").exists()
        recover(DataFolder(folder), SETTINGS)
        assert server.ask("GET", "/ready")[0] == 200
        listed = server.ask("GET", "/v1/sessions", Segue_Project="u1")[1]["sessions"]
        assert {one["id"] for one in listed} == {"s0", "s1", "s2"}


def test_a_server_whose_own_store_is_lost_is_not_ready(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--rate", "0"]) as server:
        assert server.ask("POST", "/v1/sessions", {"goal": "g", "id": "s"})[0] == 201
        [store] = [path for path in tmp_path.rglob("segue.db") if "projects" not in path.parts]
        store.unlink()
        assert server.ask("GET", "/ready")[0] == 503
        assert server.ask("POST", "/v1/sessions", {"goal": "g", "id": "t"})[0] == 500
        assert not store.exists()
        recover(DataFolder(store.parent), SETTINGS)
        with opened(DataFolder(store.parent)) as seg:
            assert seg.session("s").state.goal == "g"


def test_a_call_costs_one_look_at_the_file(home: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    seg = at_work(home)
    store = seg.workspace.store
    asked: list[str] = []
    true = os.stat

    def counting(path: object, *rest: object, **more: object) -> object:
        asked.append(str(path))
        return true(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", counting)
    store.head("session/one")
    assert asked == [str(home.database)]
