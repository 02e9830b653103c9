"""``python -m tests.support.run_tests ARGUMENTS…``: runs pytest and leaves nothing behind.

However it ends (a worker is killed, the runner fails, Ctrl-C, a kill of the whole run), the tests that were
running are named, and every process that they started is ended, servers and agents in sessions of their own
too. Two processes see to it: the outer one is what the shell knows; the inner one, in a session of its own,
runs pytest. On Linux both inherit the orphans below them, and each does the work if the other is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.running import TELL_STACKS, VARIABLE, heed_signals, left_behind, notes_in, text_of

PREFIX = "tests-of-the-house-"  # without the name that tests look for in what agents keep
LOOK_SECONDS = 0.2
INTERRUPT_SECONDS = 30.0
"""How long pytest may take to end after a signal before it is killed."""
IDLE_SECONDS_MAX = 300.0
"""How long no test may be running before the run counts as stuck."""
STACKS_SECONDS = 1.0
"""How long a process may take to write the stacks of its threads before it is killed."""
MEMORY_FOLDER = Path("/dev/shm")
MEMORY_BYTES_MIN = 8 << 30
"""The tests write to memory if this much is free: they check what a kill leaves, not what a power cut
does."""
LEAVE_SECONDS, TERM_SECONDS, KILL_SECONDS = 3.0, 3.0, 30.0
"""Processes that tests left behind may end by themselves, then are asked to, then are killed."""
PR_SET_CHILD_SUBREAPER = 36
STUCK = 3
"""The exit code of a run that is stuck: pytest's own for an internal error."""


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments, and return its exit code, or 128 plus the signal that ended it."""
    scratch = _scratch()
    notes = scratch / "notes"
    _adopt_orphans()
    alive, ours = os.pipe()
    inner = os.fork()
    if not inner:
        os.close(ours)
        os.setsid()
        code = STUCK
        try:
            code = _keep(arguments, scratch, alive)
        finally:
            os._exit(code)
    os.close(alive)
    with _handing_on(inner):
        _, status = os.waitpid(inner, 0)
    _clear(notes, 0.0)
    if code := _code(status):
        print(f"what failed has left its files in {scratch}, until the next run", file=sys.stderr)
    else:
        shutil.rmtree(scratch, ignore_errors=True)
    return code


def _scratch() -> Path:
    """A folder for everything that the tests write: in memory, if there is room and no other folder was
    named."""
    place = Path(tempfile.gettempdir())
    if "TMPDIR" not in os.environ and MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK):
        place = MEMORY_FOLDER if shutil.disk_usage(MEMORY_FOLDER).free > MEMORY_BYTES_MIN else place
    for old in place.glob(f"{PREFIX}*"):
        owner = old.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not _lives(int(owner)):
            shutil.rmtree(old, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place))
    for folder in (made, made / "notes", made / "tmp"):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)  # Postgres runs as another user
    return made


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _keep(arguments: list[str], scratch: Path, alive: int) -> int:
    """Run pytest until it ends, is stuck, or the outer process is gone."""
    _adopt_orphans()
    heed_signals()
    notes = scratch / "notes"
    environment = {**os.environ, VARIABLE: str(notes), "TMPDIR": str(scratch / "tmp")}
    command = [sys.executable, "-m", "pytest", *arguments]
    tests = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
    try:
        with _handing_on(tests.pid) as interrupted:
            return _watch(tests, notes, alive, interrupted)
    finally:
        _clear(notes, 0.0 if tests.poll() is None else LEAVE_SECONDS)


def _watch(tests: subprocess.Popen[bytes], notes: Path, alive: int, interrupted: list[float]) -> int:
    busy = time.monotonic()
    ended: set[int] = set()
    while True:
        if (status := tests.poll()) is not None:
            return status if status >= 0 else 128 - status
        gone, _, _ = select.select([alive], [], [], LOOK_SECONDS)
        now = time.monotonic()
        if gone:
            return 128 + signal.SIGKILL
        if interrupted and now > interrupted[0] + INTERRUPT_SECONDS:
            print(f"pytest did not end within {INTERRUPT_SECONDS:g} seconds", file=sys.stderr)
            return 128 + signal.SIGINT
        if running := notes_in(notes):
            busy = now
            for note in running:
                if note.until and time.time() > note.until and note.pid not in ended:
                    ended.add(note.pid)
                    _end_hanging(note.pid)
        elif now > busy + IDLE_SECONDS_MAX:
            print(f"no test has been running for {IDLE_SECONDS_MAX:g} seconds", file=sys.stderr)
            return STUCK


def _end_hanging(pid: int) -> None:
    """Make a process write its stacks, and kill it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, TELL_STACKS)
        time.sleep(STACKS_SECONDS)
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def _handing_on(to: int) -> Iterator[list[float]]:
    """Within the block, pass signals on to a process; the list has the times at which they came."""
    came: list[float] = []

    def hand_on(number: int, _: object) -> None:
        came.append(time.monotonic())
        with contextlib.suppress(ProcessLookupError):
            os.kill(to, number)

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, hand_on)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _adopt_orphans() -> None:
    """Become the parent of every process below us whose own parent ends. Other systems than Linux cannot."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _clear(notes: Path, patience_seconds: float) -> None:
    """End what the tests left behind, and say which tests were running."""
    deadline = time.monotonic() + patience_seconds
    while (left := _below()) and time.monotonic() < deadline:
        time.sleep(0.02)
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        _end_all(number, seconds)
    if left:
        print("\nleft behind by the tests, and ended:", file=sys.stderr)
        print(*(f"  {pid} {command[:200]}" for pid, command in left.items()), sep="\n", file=sys.stderr)
    if found := left_behind(notes):
        print(f"\n{text_of(found)}", file=sys.stderr)
    sys.stderr.flush()


def _end_all(number: signal.Signals, seconds: float) -> None:
    """Send a signal to each process below us, also to those that begin meanwhile, until none is left."""
    deadline = time.monotonic() + seconds
    asked: set[int] = set()
    while (left := set(_below())) and time.monotonic() < deadline:
        for pid in left - asked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        asked |= left
        time.sleep(0.02)


def _below() -> dict[int, str]:
    """The commands of all living processes below us; our own children that have ended are reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    with subprocess.Popen(
        ["ps", "-A", "-o", "pid=,ppid=,stat=,args="], stdout=subprocess.PIPE, text=True
    ) as ps:
        rows = [line.split(None, 3) for line in ps.communicate()[0].splitlines()]
    children: dict[int, list[int]] = {}
    commands: dict[int, str] = {}
    for pid, parent, state, command in (row for row in rows if len(row) == 4):
        if not state.startswith("Z") and int(pid) != ps.pid:
            children.setdefault(int(parent), []).append(int(pid))
            commands[int(pid)] = command
    found: dict[int, str] = {}
    waiting = children.get(os.getpid(), [])
    while waiting:
        pid_below = waiting.pop()
        found[pid_below] = commands[pid_below]
        waiting += children.get(pid_below, [])
    return found


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
