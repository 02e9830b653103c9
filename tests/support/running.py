"""A pytest plugin: whatever ends a test process, the test that it was running is named.

Each process writes the name of its test into a file of its own (a note) and empties it when the test is over.
Whoever outlives it reads the notes that are left: the controller at the end of its run, or
``tests.support.run_tests`` when the controller has died too, which also ends a process that no exception can
stop: its note says until when the test may run, and the stacks of all threads are kept.

Time limits are those of pytest-timeout (``timeout`` in pyproject.toml, ``@pytest.mark.timeout``), but its
alarm rings only while a fixture or a test runs: an exception in code of the runner between them would end the
run with an internal error and without a name.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_timeout  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

VARIABLE = "SEGUE_TESTS_NOTES"
"""The folder of the notes; the plugin makes one where it is not set."""
AGAIN_SECONDS = 10.0
"""The alarm is repeated, because an exception may be swallowed where it is raised."""
TEARDOWN_SECONDS = 30.0
"""The time for a teardown after a test has used up its own."""
END_SECONDS = 60.0
"""How long after its limit a test that is still running is ended with its process."""
TELL_STACKS = signal.SIGUSR2
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)


class Note(NamedTuple):
    """What a process of the tests was doing when it ended."""

    process: str
    pid: int
    test: str
    phase: str
    began: float
    until: float
    """Both are seconds since 1970; 0 if there is no limit."""
    stacks: str = ""

    def __str__(self) -> str:
        where = f"  {self.process}: {self.test} ({self.phase}, after {time.time() - self.began:.1f} s)"
        return "\n".join([where, *(f"    {line}" for line in self.stacks.splitlines())])


def notes_in(folder: Path) -> list[Note]:
    """Which process runs which test."""
    found = []
    for path in sorted(folder.glob("*.running")):
        try:
            pid, test, phase, began, until = path.read_text().split("\t")
        except (OSError, ValueError):
            continue  # it runs no test, or is writing its note right now
        found.append(Note(path.stem, int(pid), test, phase, float(began), float(until)))
    return found


def left_behind(folder: Path) -> list[Note]:
    """The notes of processes that ended while they ran a test; each is reported once."""
    found = []
    for note in notes_in(folder):
        stacks = folder / f"{note.process}.stacks"
        told = stacks.read_text(errors="replace") if stacks.exists() else ""
        found.append(note._replace(stacks=told))
        (folder / f"{note.process}.running").unlink()
    return found


def text_of(notes: list[Note]) -> str:
    """The notes as text for a report."""
    return "\n".join(["running when their process ended:", *map(str, notes)])


class Running:
    """Notes which test is running, and raises an alarm when it takes too long."""

    def __init__(self, folder: Path, process: str) -> None:
        self._note = os.open(folder / f"{process}.running", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._stacks = (folder / f"{process}.stacks").open("w")
        faulthandler.register(TELL_STACKS, self._stacks)
        self._deadline = 0.0
        self._began = 0.0
        self._timeout: pytest_timeout.Settings | None = None

    def close(self) -> None:
        faulthandler.unregister(TELL_STACKS)
        os.close(self._note)
        self._stacks.close()

    def _write(self, test: str, phase: str) -> None:
        until = self._began + self._timeout.timeout + END_SECONDS if self._timeout else 0.0
        line = f"{os.getpid()}\t{test}\t{phase}\t{self._began:.3f}\t{until:.3f}".encode()
        os.pwrite(self._note, line, 0)
        os.ftruncate(self._note, len(line))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self._timeout, self._began = None, time.time()
        done = yield
        os.ftruncate(self._note, 0)  # but not if the runner itself failed: the note then names the test
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
        self._timeout, self._deadline = settings, time.monotonic() + settings.timeout
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_cancel_timer(self, item: pytest.Item) -> bool:
        if item.config.getoption("usepdb"):  # a debugger may be open; else the limit holds for the teardown
            self._timeout = None
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[Any]:
        return (yield from self._limited(item, "setup"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[Any]:
        return (yield from self._limited(item, "call"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[Any]:
        return (yield from self._limited(item, "teardown", at_least=TEARDOWN_SECONDS))

    def _limited(self, item: pytest.Item, phase: str, at_least: float = 0.001) -> Iterator[Any]:
        self._write(item.nodeid, phase)
        settings = self._timeout
        if settings is None:
            return (yield)

        def ring(*_: object) -> None:
            pytest_timeout.timeout_sigalrm(item, settings)

        before = signal.signal(signal.SIGALRM, ring)
        try:
            left = max(self._deadline - time.monotonic(), at_least)
            signal.setitimer(signal.ITIMER_REAL, left, AGAIN_SECONDS)
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


class Controller:
    """Passes the folder to its workers, and reports at the end what was left."""

    def __init__(self, folder: Path, *, own: bool) -> None:
        self._folder = folder
        self._own = own

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput[VARIABLE] = str(self._folder)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        if notes := left_behind(self._folder):
            print(f"\n{text_of(notes)}", file=sys.stderr, flush=True)
        if self._own:
            for path in self._folder.iterdir():
                path.unlink()
            self._folder.rmdir()


def pytest_configure(config: pytest.Config) -> None:
    """Start taking notes in every process and, in the controller, reading those of the others."""
    heed_signals()
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        own = VARIABLE not in os.environ
        folder = Path(tempfile.mkdtemp(prefix="segue-notes-") if own else os.environ[VARIABLE])
        config.pluginmanager.register(Controller(folder, own=own), "segue-controller")
        _survive_dead_workers()
    else:
        folder = Path(worker[VARIABLE])
    running = Running(folder, worker["workerid"] if worker else "tests")
    config.pluginmanager.register(running, "segue-running")
    config.add_cleanup(running.close)


def heed_signals() -> None:
    """Let children of tests get the signals that whoever started us ignores, as a shell does for what runs in
    the background, or ``nohup``: what is ignored stays so in a new program, what has a handler does not."""
    for number in IGNORED:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _not_for_us)


def _not_for_us(number: int, frame: object) -> None:
    """Does nothing, as before."""


def _survive_dead_workers() -> None:
    """Work that is sent to a worker which has just died is given to another one when its death is noticed."""
    send = WorkerController.sendcommand

    def sendcommand(self: WorkerController, name: str, **more: object) -> None:
        try:
            send(self, name, **more)
        except OSError:
            pass

    WorkerController.sendcommand = sendcommand
