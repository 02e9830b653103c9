"""However a run of the tests ends, it names the test that was running and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CONFTEST = """
import pathlib, subprocess, sys, time
import pytest
import xdist.workermanage
from tests.support import running

pytest_plugins = ["tests.support.running"]
running.END_SECONDS = 1.0
xdist.workermanage.NodeManager.EXIT_TIMEOUT = 0.5
HERE = pathlib.Path(__file__).parent


def tell(name, pid):
    (HERE / f"{name}.new").write_text(str(pid))
    (HERE / f"{name}.new").rename(HERE / name)


@pytest.fixture
def server():
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    tell("server.pid", process.pid)
    yield process
    process.kill()
    process.wait()
"""

SUITE = """
import os, signal, time
from pathlib import Path
from conftest import tell


def test_before(): pass


def test_that_was_running(server):
    tell("worker.pid", os.getpid())
    {body}


def test_after(): pass
"""


QUICKLY = """
import sys
from tests.support import run_tests
run_tests.LEAVE_SECONDS = run_tests.TERM_SECONDS = 0.2
sys.exit(run_tests.main(sys.argv[1:]))
"""


PLUGINS = "-p xdist -p pytest_timeout -p no:cacheprovider"


class Run:
    """A run of a small suite whose second test does what it is told, with a server of its own."""

    def __init__(self, folder: Path, body: str, *options: str, hook: str = "") -> None:
        self.folder = folder
        (folder / "pytest.ini").write_text(f"[pytest]\naddopts = -q -rfE {PLUGINS}\n")
        (folder / "conftest.py").write_text(CONFTEST + hook)
        (folder / "test_suite.py").write_text(SUITE.replace("{body}", body))
        command = [sys.executable, "-c", QUICKLY, "-c", str(folder / "pytest.ini"), "-n", "1", *options]
        own = {"PYTHONPATH": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        with (folder / "out").open("w") as out:
            self.process = subprocess.Popen(
                [*command, str(folder)], cwd=ROOT, stdout=out, stderr=out, env={**os.environ, **own},
                start_new_session=True,
            )  # fmt: skip

    def pid_of(self, name: str) -> int:
        """The process that told its number, once it did."""
        return int(until(lambda: _text(self.folder / f"{name}.pid")))

    def end(self, seconds: float = 40) -> str:
        """What it said until it and all that it started are gone."""
        self.process.wait(seconds)
        until(lambda: not alive(self.pid_of("server")))
        return (self.folder / "out").read_text()


def until(ready: Callable[[], object], seconds: float = 30) -> str:
    deadline = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return str(found)


def line_with(word: str, said: str) -> str:
    return next(line for line in said.splitlines() if word in line)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def alive(pid: int) -> bool:
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(told.stdout.strip()) and not told.stdout.startswith("Z")


def parent_of(pid: int) -> int:
    return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(pid)], text=True))


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def begin(body: str, *options: str, hook: str = "") -> Run:
        runs.append(Run(tmp_path, body, *options, hook=hook))
        return runs[-1]

    yield begin
    for run in runs:
        run.process.terminate()
        run.process.wait(40)


NAME = "test_suite.py::test_that_was_running"
SLEEPS = "time.sleep(120)"


def test_a_worker_that_is_killed_fails_its_test_and_the_others_run(begun: Callable[..., Run]) -> None:
    run = begun("os.kill(os.getpid(), signal.SIGKILL)")
    said = run.end()
    assert run.process.returncode == 1 and "1 failed, 2 passed" in said
    assert f"{NAME}'" in line_with("crashed while running", said)
    assert "left behind by the tests" in said


def test_a_test_that_takes_too_long_fails_by_its_name(begun: Callable[..., Run]) -> None:
    run = begun(SLEEPS, "--timeout", "1")
    said = run.end()
    assert "1 failed, 2 passed" in said and "Timeout" in said
    assert NAME in line_with("FAILED", said) and "left behind" not in said


def test_a_test_that_no_exception_can_stop_is_ended_with_its_stack(begun: Callable[..., Run]) -> None:
    run = begun("sum(iter(int, 1))", "--timeout", "1")
    said = run.end()
    assert "1 failed, 2 passed" in said and NAME in line_with("FAILED", said)
    assert "most recent call first" in said and 'test_suite.py", line' in said


HOOK = """

def pytest_runtest_makereport(item, call):
    time.sleep(0.8 if "running" in item.name and call.when == "call" else 0)
"""


def test_time_that_the_runner_takes_itself_is_no_failure_of_a_test(begun: Callable[..., Run]) -> None:
    run = begun("time.sleep(0.5)", "--timeout", "1", hook=HOOK)
    assert "3 passed" in run.end()


def test_ctrl_c_names_the_test_that_was_running(begun: Callable[..., Run]) -> None:
    run = begun(SLEEPS)
    run.pid_of("worker")
    run.process.send_signal(signal.SIGINT)
    said = run.end()
    assert run.process.returncode == 2
    assert "KeyboardInterrupt" in said and f"{NAME} (call, after " in said


@pytest.mark.parametrize("whom", ["the controller", "who keeps it", "the whole group"])
def test_a_kill_from_outside_names_the_test_and_leaves_nothing(begun: Callable[..., Run], whom: str) -> None:
    run = begun(SLEEPS)
    worker = run.pid_of("worker")
    controller = parent_of(worker)
    if whom == "the whole group":
        os.killpg(run.process.pid, signal.SIGKILL)
    else:
        os.kill(controller if whom == "the controller" else parent_of(controller), signal.SIGKILL)
    run.process.wait(40)
    until(lambda: not alive(worker) and not alive(controller))
    said = until(lambda: f"{NAME} (call, after " in _text(run.folder / "out") and run.end())
    assert run.process.returncode in (128 + signal.SIGKILL, -signal.SIGKILL)
    assert "running when their process ended" in said


CHILD = """
import signal, subprocess, sys


def test_children():
    code = "import signal; print(*(signal.getsignal(number) == signal.SIG_IGN for number in (1, 2, 3)))"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"False False False\\n"
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_signals_that_a_shell_ignores_in_the_background_reach_the_children_of_tests(
    tmp_path: Path, workers: str
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = -q {PLUGINS} -n {workers}\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.support.running"]\n')
    (tmp_path / "test_suite.py").write_text(CHILD)
    ignoring = ["sh", "-c", "trap '' INT HUP QUIT; exec \"$@\"", "sh"]
    done = subprocess.run(
        [*ignoring, sys.executable, "-m", "pytest", "-c", str(tmp_path / "pytest.ini"), str(tmp_path)],
        cwd=ROOT, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
