"""A separate process that runs checks and leaves none of them behind. Run as a script; imports nothing of
ours.

One ``CheckServer`` serves a whole ``segue verify``. It runs as many checks at once as it has slots; the next
one is forked in advance and waits for its turn, so that no time is lost. Each check has a ``CheckWatcher``, a
forked process that becomes the parent of every orphan below it (``PR_SET_CHILD_SUBREAPER``): a descendant
that forks twice and starts a session of its own is still found and ended before the check counts as over. If
Segue dies, the server's standard input ends and it ends everything; if the server dies, the kernel signals
its watchers.

Input: one JSON object per line, ``{id, argv, cwd, env, out, bytes_max, limit_seconds, grace_seconds, slots}``
or ``{stop: id}``. Output: one JSON object per line with the outcome of a check, written by its watcher.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any

CHUNK_BYTES = 1 << 20
SWEEP_SECONDS = 20.0
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_prctl: Any = None


def prepare() -> None:
    """Find the system call that Python does not offer; other platforms than Linux do without it."""
    global _prctl
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            _prctl = ctypes.CDLL(None, use_errno=True).prctl


def adopt() -> None:
    """Become the parent of all orphaned descendants."""
    if _prctl is not None:
        _prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number: int) -> None:
    """Have the kernel send this process a signal when its parent dies."""
    if _prctl is not None:
        _prctl(_SET_PDEATHSIG, number, 0, 0, 0)


def descendants(of: int) -> list[int]:
    """The pids of all processes below one."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    pids, todo = [], [of]
    while todo:
        below = children.get(todo.pop(), [])
        pids += below
        todo += below
    return pids


def _parents() -> list[tuple[int, int]]:
    """The pid of every process, and that of its parent."""
    pairs = []
    if os.path.isdir("/proc/self"):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                    pairs.append((int(name), int(file.read().rpartition(b")")[2].split()[1])))
        return pairs
    with suppress(OSError, ValueError), os.popen("ps -Ao pid=,ppid=") as listing:
        pairs = [(int(pid), int(parent)) for pid, parent in (line.split() for line in listing)]
    return pairs


def send(pids: list[int], number: int) -> None:
    """Send a signal to each process that still exists."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


class CheckWatcher:
    """Runs one command in a process of its own, and ends everything that it leaves behind."""

    def __init__(self, job: dict[str, Any], turn: int) -> None:
        self.job = job
        self.turn = turn
        """A pipe that gets a byte for the watcher and one for the command when it is their turn."""
        self.status: int | None = None
        self.child = 0
        self.stopped = False
        self.size = self.kept = 0
        self.tail = b""

    def run(self) -> dict[str, Any]:
        """Run the command and return its outcome."""
        adopt()
        die_with_parent(signal.SIGTERM)
        woken, waker = os.pipe()
        for end in (woken, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        self.file = os.open(self.job["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        faults = self._fork_command()
        if not self._wait_for_turn(woken):
            return self._outcome(0.0, "", False, 0)
        start = time.monotonic()
        fault = os.read(faults, 4096).decode(errors="replace")
        timed_out = not fault and self._watch(start + self.job["limit_seconds"], woken)
        seconds = time.monotonic() - start
        left = self._sweep() if not fault else 0
        self._drain()
        self._finish()
        return self._outcome(seconds, fault, timed_out, left)

    def _outcome(self, seconds: float, fault: str, timed_out: bool, left: int) -> dict[str, Any]:
        code = os.waitstatus_to_exitcode(self.status) if self.status is not None else None
        return {
            "id": self.job["id"], "exit": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else 0, "timed_out": timed_out,
            "stopped": self.stopped, "fault": fault, "seconds": seconds, "bytes": self.size,
            "cut": self.size > self.kept, "left": left,
        }  # fmt: skip

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def _fork_command(self) -> int:
        """Fork a child that will become the command; returns a pipe that says why it could not, or ends."""
        self.out, theirs = os.pipe()
        faults, report = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            _become_command(self.job, theirs, report, self.turn)
        os.close(theirs)
        os.close(report)
        os.set_blocking(self.out, False)
        return faults

    def _wait_for_turn(self, woken: int) -> bool:
        """Wait until it is our turn; False if we are stopped before."""
        while not self.stopped:
            ready, _, _ = select.select([self.turn, woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
            if self.turn in ready and not self.stopped:
                if os.read(self.turn, 1):
                    return True
                self.stopped = True
        send([self.child], signal.SIGKILL)
        return False

    def _watch(self, deadline: float, woken: int) -> bool:
        """Read output until the command is over; returns whether time ran out."""
        ends = [self.out, woken]
        self._reap()  # it may have started and ended while we waited for our own turn
        while self.status is None and not self.stopped:
            left = deadline - time.monotonic()
            if left <= 0:
                return True
            ready, _, _ = select.select(ends, [], [], left)
            if woken in ready:
                os.read(woken, 4096)
                self._reap()
            if self.out in ready and not self._take():
                ends.remove(self.out)
        return False

    def _take(self) -> bool:
        """Read a part of the output; False when no more will come."""
        try:
            chunk = os.read(self.out, CHUNK_BYTES)
        except BlockingIOError:
            return True
        self.size += len(chunk)
        head = self.job["bytes_max"] * 3 // 4
        if self.kept < head:
            part = chunk[: head - self.kept]
            self.kept += self._write(part)
            if len(part) == len(chunk):
                return bool(chunk)
            chunk = chunk[len(part) :]
        most = self.job["bytes_max"] - head
        self.tail = chunk[-most:] if len(chunk) >= most else (self.tail + chunk)[-most:]
        return bool(chunk)

    def _drain(self) -> None:
        """Read what is still in the pipe; every process that could write to it is gone."""
        ready = True
        while ready and self._take():
            ready = bool(select.select([self.out], [], [], 0)[0])

    def _finish(self) -> None:
        left_out = self.size - self.kept - len(self.tail)
        if left_out:
            self._write(f"\n[... {left_out} bytes left out ...]\n".encode())
        self.kept += self._write(self.tail)
        os.close(self.file)

    def _write(self, body: bytes) -> int:
        """Write to the file; returns how many bytes were written."""
        done = 0
        with suppress(OSError):
            while done < len(body):
                done += os.write(self.file, body[done:])
        return done

    def _reap(self) -> bool:
        """Collect the exit status of children that ended; returns whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.status = status

    def _sweep(self) -> int:
        """End all descendants, by TERM and then by KILL until none is left; returns how many there were."""
        if not self._reap():
            return 0
        below = descendants(os.getpid())
        send(below, signal.SIGTERM)
        until = time.monotonic() + self.job["grace_seconds"]
        while self._reap() and time.monotonic() < until:
            self._drain()
            time.sleep(0.005)
        until = time.monotonic() + SWEEP_SECONDS
        while self._reap() and time.monotonic() < until:
            send(descendants(os.getpid()), signal.SIGKILL)
            time.sleep(0.005)
        return len(below)


def _become_command(job: dict[str, Any], out: int, report: int, turn: int) -> None:
    """In the child: wait for our turn and execute the command, or report why that failed."""
    try:
        os.setsid()
        die_with_parent(signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.set_inheritable(report, False)
        if not os.read(turn, 1):
            os._exit(127)
        os.closerange(3, report)
        os.closerange(report + 1, 1024)
        os.chdir(job["cwd"])
        os.execvpe(job["argv"][0], job["argv"], job["env"])
    except OSError as fault:
        where = job["cwd"] if fault.filename == job["cwd"] else job["argv"][0]
        with suppress(OSError):
            os.write(report, f"{where}: {fault.strerror}"[:4000].encode(errors="replace"))
    finally:
        os._exit(127)


class CheckServer:
    """Reads jobs from standard input, and forks a watcher for each."""

    def __init__(self) -> None:
        self.watchers: dict[int, tuple[int, Any]] = {}
        """By the pipe that a watcher reports through: its pid, and the id of its job."""
        self.waiting: list[dict[str, Any]] = []
        self.next: tuple[int, int] | None = None
        """The watcher that was forked in advance: the pipe it reports through, and the one for its turn."""
        self.running: set[int] = set()
        self.slots = 1
        self.rest = b""
        self.open = True

    def run(self) -> None:
        """Serve until the input has ended and the last watcher is done."""
        adopt()
        while self.open or self.watchers:
            ends = [*self.watchers, *([0] if self.open else [])]
            for end in select.select(ends, [], [])[0]:
                if end == 0:
                    self._read_jobs()
                else:
                    self._watcher_ended(end)
        while self._reap():  # as a rule nothing is left
            send(descendants(os.getpid()), signal.SIGKILL)
            time.sleep(0.005)

    def _reap(self) -> bool:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    def _read_jobs(self) -> None:
        chunk = os.read(0, 1 << 16)
        self.open = bool(chunk)
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            job = json.loads(line)
            if "stop" in job:
                send([pid for pid, id in self.watchers.values() if id == job["stop"]], signal.SIGTERM)
                for stopped in [waiting for waiting in self.waiting if waiting["id"] == job["stop"]]:
                    self.waiting.remove(stopped)
                    self._report({"id": stopped["id"], "stopped": True})
            else:
                self.slots = job.get("slots") or 1 << 30
                self.waiting.append(job)
        if not self.open:
            self.waiting.clear()
            send([pid for pid, _ in self.watchers.values()], signal.SIGTERM)
        self._advance()

    def _advance(self) -> None:
        """Give a free slot to the watcher that is ready, and fork the next one in advance."""
        while self.next or self.waiting:
            if self.next is None:
                self.next = self._start(self.waiting.pop(0))
            if len(self.running) >= self.slots or not self.open:
                return
            ended, turn = self.next
            self.next = None
            self.running.add(ended)
            with suppress(OSError):  # the watcher was killed, which is noticed elsewhere
                os.write(turn, b"!!")
            os.close(turn)

    def _report(self, outcome: dict[str, Any]) -> None:
        with suppress(OSError):  # Segue is gone, but the other checks must still be ended
            os.write(1, json.dumps(outcome).encode() + b"\n")

    def _start(self, job: dict[str, Any]) -> tuple[int, int]:
        ended, end_mark = os.pipe()
        turn, give_turn = os.pipe()
        pid = os.fork()
        if pid:
            os.close(end_mark)
            os.close(turn)
            self.watchers[ended] = (pid, job["id"])
            return ended, give_turn
        try:
            os.setsid()
            for end in (ended, give_turn, *self.watchers):
                os.close(end)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            line = json.dumps(CheckWatcher(job, turn).run()).encode() + b"\n"
            with suppress(BrokenPipeError):
                os.write(1, line)  # directly to Segue: so short a line is written atomically
            os.write(end_mark, b"!")
        finally:
            os._exit(0)

    def _watcher_ended(self, end: int) -> None:
        end_mark = b""
        while chunk := os.read(end, 1 << 16):
            end_mark += chunk
        os.close(end)
        pid, id = self.watchers.pop(end)
        self.running.discard(end)
        if self.next is not None and self.next[0] == end:
            os.close(self.next[1])
            self.next = None
        self._advance()  # start the next check first: nobody waits for what follows
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
        if not end_mark:  # the watcher itself was killed, so its descendants are ours now
            own = [pid for pid, _ in self.watchers.values()]
            spared = {below for pid in own for below in (pid, *descendants(pid))}
            send([pid for pid in descendants(os.getpid()) if pid not in spared], signal.SIGKILL)
            self._report({"id": id, "fault": "the process that ran it was killed"})


if __name__ == "__main__":
    prepare()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    CheckServer().run()
