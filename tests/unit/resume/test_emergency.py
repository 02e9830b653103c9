"""Emergency files: what a dying process still knew, and how the next one gets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from segue import Segue, StoreBusy
from segue.api.session import Session
from segue.core.sessions import commands as do
from segue.services.resume import emergency
from segue.stores.sqlite import SqliteStore

CHILD = """
import os, signal, sys, time
from segue import Segue
seg = Segue(home=sys.argv[1], folder=sys.argv[2])
s = seg.session("work")
memory = {"thoughts": ["a", "b"]}
def pending():
    return memory
HANDLER
with s.guard(planner=pending):
    s.begin("item")
    memory["thoughts"].append("c")
    print("ready", flush=True)
    ACTION
    time.sleep(30)
"""


@pytest.fixture
def seg(tmp_path: Path) -> Segue:
    (tmp_path / "project").mkdir()
    return Segue(home=tmp_path / "home", folder=tmp_path / "project")


@pytest.fixture
def session(seg: Segue) -> Session:
    return seg.start("survive", id="work")


def run(tmp_path: Path, *, action: str = "pass", handler: str = "") -> subprocess.Popen[str]:
    code = textwrap.dedent(CHILD).replace("ACTION", action).replace("HANDLER", handler)
    command = [sys.executable, "-c", code, str(tmp_path / "home"), str(tmp_path / "project")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def files(seg: Segue) -> list[Path]:
    return emergency.pending(seg.workspace.home.emergency)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_a_file_and_still_ends_the_process(
    seg: Segue, session: Session, tmp_path: Path, number: signal.Signals
) -> None:
    child = run(tmp_path)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(number)
    child.communicate(timeout=20)
    assert child.returncode == -number
    (path,) = files(seg)
    found = emergency.read(path)
    assert found is not None
    assert (found.session_id, found.reason.split(":")[0]) in {
        ("work", number.name),
        ("work", "KeyboardInterrupt"),
    }
    assert path.stat().st_mode & 0o077 == 0


def test_the_next_process_gets_the_agents_state_of_that_moment_and_the_file_goes(
    seg: Segue, session: Session, tmp_path: Path
) -> None:
    child = run(tmp_path)
    assert child.stdout is not None
    child.stdout.readline()
    child.terminate()
    child.communicate(timeout=20)
    again = seg.session("work")
    assert again.load_agent("planner") == {"thoughts": ["a", "b", "c"]}
    assert again.status().active == ["item"]
    assert files(seg) == []


def test_a_handler_of_the_users_own_is_called_and_its_exit_code_stays(
    seg: Segue, session: Session, tmp_path: Path
) -> None:
    handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    child = run(tmp_path, handler=handler)
    assert child.stdout is not None
    child.stdout.readline()
    child.terminate()
    child.communicate(timeout=20)
    assert child.returncode == 7
    assert len(files(seg)) == 1


def test_an_exception_leaves_a_file_and_is_raised_as_it_was(seg: Segue, session: Session) -> None:
    with pytest.raises(ZeroDivisionError), session.guard(planner=lambda: [1, 2]):
        session.note("about to fail")
        _ = 1 / 0
    found = emergency.read(files(seg)[0])
    assert found is not None
    assert found.reason.startswith("ZeroDivisionError")


def test_an_exit_code_is_never_changed(seg: Segue, session: Session, tmp_path: Path) -> None:
    child = run(tmp_path, action="sys.exit(3)")
    child.communicate(timeout=20)
    assert child.returncode == 3


def test_a_guard_that_ends_well_leaves_nothing(seg: Segue, session: Session) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with session.guard(planner=lambda: [1]):
        session.note("fine")
    assert files(seg) == []
    assert signal.getsignal(signal.SIGTERM) == before


def test_commands_that_the_store_did_not_take_come_back(seg: Segue, session: Session) -> None:
    assert isinstance(seg.workspace.store, SqliteStore)
    locked = SqliteStore(seg.workspace.home.database)
    other = locked.database.connection()
    other.execute("BEGIN IMMEDIATE")
    seg.workspace.store.database.connection().set_busy_timeout(10)
    with pytest.raises(StoreBusy), session.guard():
        session.done("the last item")
    other.execute("ROLLBACK")
    assert session.status().done == []
    assert seg.session("work").status().done == ["the last item"]
    assert files(seg) == []


def test_the_file_has_the_fields_of_an_emergency(seg: Segue, session: Session) -> None:
    session.thread("auth flow")
    session.see_changes([("a.py", "modified")])
    session.load_notes("n1", paths={"n1": "notes/n1.md"})
    with pytest.raises(RuntimeError), session.guard():
        raise RuntimeError("stop")
    content = json.loads(files(seg)[0].read_bytes())
    assert content["session_id"] == "work"
    assert content["organization"] == "personal"
    assert content["open_threads"] == ["auth flow"]
    assert content["uncommitted_changes"] == [["a.py", "modified"]]
    assert content["loaded_notes"] == ["notes/n1.md"]
    assert content["time"] and content["project"] and content["checksum"]


@pytest.mark.parametrize("damage", ["flip", "cut", "field"])
def test_a_file_that_is_not_whole_is_left_alone(seg: Segue, session: Session, damage: str) -> None:
    with pytest.raises(RuntimeError), session.guard(planner=lambda: "x"):
        raise RuntimeError("stop")
    (path,) = files(seg)
    body = path.read_bytes()
    if damage == "flip":
        path.write_bytes(body.replace(b"RuntimeError", b"runtimeError"))
    elif damage == "cut":
        path.write_bytes(body[: len(body) // 2])
    else:
        content = json.loads(body)
        del content["organization"]
        path.write_text(json.dumps(content))
    assert emergency.read(path) is None
    seg.session("work")
    assert files(seg) == [path]


def test_a_forked_child_writes_no_file_for_its_parent(seg: Segue, session: Session) -> None:
    with session.guard():
        pid = os.fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGTERM
    assert files(seg) == []


def test_a_command_that_was_tried_again_with_success_is_not_done_twice(seg: Segue, session: Session) -> None:
    assert isinstance(seg.workspace.store, SqliteStore)
    other = SqliteStore(seg.workspace.home.database).database.connection()
    seg.workspace.store.database.connection().set_busy_timeout(10)
    with session.guard():
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            session.learn("once")
        other.execute("ROLLBACK")
        session.learn("once")
    assert files(seg) == []
    assert [f.text for f in seg.session("work").state.findings] == ["once"]


def test_a_newer_state_of_an_agent_is_not_run_over(seg: Segue, session: Session) -> None:
    with pytest.raises(RuntimeError), session.guard(planner=lambda: {"step": 1}):
        raise RuntimeError("stop")
    session.save_agent("planner", {"step": 50})
    assert seg.session("work").load_agent("planner") == {"step": 50}


def test_a_file_that_a_living_process_is_merging_is_left_to_it(seg: Segue, session: Session) -> None:
    with pytest.raises(RuntimeError), session.guard(planner=lambda: 1):
        raise RuntimeError("stop")
    (path,) = files(seg)
    path.rename(path.with_name(f"{path.name}.{os.getppid()}"))
    assert files(seg) == []
    for left in seg.workspace.home.emergency.iterdir():
        left.rename(left.with_name(f"{path.name}.999999999"))
    assert len(files(seg)) == 1


def test_what_waits_or_was_put_aside_is_said_of_its_session_and_of_no_other(
    seg: Segue, session: Session
) -> None:
    home = seg.workspace.home
    other = seg.start("another", id="work-2")
    assert isinstance(seg.workspace.store, SqliteStore)
    locked = SqliteStore(home.database)
    held = locked.database.connection()
    held.execute("BEGIN IMMEDIATE")
    seg.workspace.store.database.connection().set_busy_timeout(10)
    with pytest.raises(StoreBusy), session.guard():
        session.apply(do.Note("the last words"), do.Pause("lunch"))
    held.execute("ROLLBACK")
    [said] = emergency.notices(home, "work")
    assert said.startswith("a pause and 1 change of ") and "will be merged" in said
    assert emergency.notices(home, other.id) == []
    [path] = files(seg)
    path.write_bytes(path.read_bytes()[:-20])
    [said] = emergency.notices(home, "work")
    assert "is damaged" in said and "segue recover" in said
    seg.close()
    Segue.recover(home=home.path)
    [said] = emergency.notices(home, "work")
    assert "moved it aside" in said and path.name in said
    assert emergency.notices(home, other.id) == []
