"""A process of its own that runs checks, and outlives none of them. Run as a script; imports nothing of ours.

One nanny serves a whole ``segue verify``. It runs so many checks at once as it has slots; the next one stands
ready, forked and waiting for its turn, so that nobody waits for it. For each check it forks a warden, which
becomes the parent of every orphan below it (``PR_SET_CHILD_SUBREAPER``): a descendant that forks twice and
starts a session of its own is still found, and ended, before the check counts as over. If Segue dies the
nanny's standard input ends, and it ends everything; if the nanny dies its wardens are told by the kernel.

In: a JSON object a line, ``{id, argv, cwd, env, out, bytes_max, limit_seconds, grace_seconds, slots}`` or
``{stop: id}``. Out: a JSON object a line, with what happened, written by the warden.
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
    """Find the system call that Python does not have; elsewhere than on Linux do without."""
    global _prctl
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            _prctl = ctypes.CDLL(None, use_errno=True).prctl


def adopt() -> None:
    """Become the parent of all orphans below."""
    if _prctl is not None:
        _prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number: int) -> None:
    """Be sent a signal when the parent dies."""
    if _prctl is not None:
        _prctl(_SET_PDEATHSIG, number, 0, 0, 0)


def descendants(of: int) -> list[int]:
    """Every process below one, as the system tells it now."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [of]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _parents() -> list[tuple[int, int]]:
    found = []
    if os.path.isdir("/proc/self"):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                    found.append((int(name), int(file.read().rpartition(b")")[2].split()[1])))
        return found
    with suppress(OSError, ValueError), os.popen("ps -Ao pid=,ppid=") as told:
        found = [(int(pid), int(parent)) for pid, parent in (line.split() for line in told)]
    return found


def send(pids: list[int], number: int) -> None:
    """A signal to each, as far as they are there."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


class Warden:
    """Runs one command, in a process of its own, and ends all that it left."""

    def __init__(self, job: dict[str, Any], turn: int) -> None:
        self.job = job
        self.turn = turn
        """A pipe: a byte for the warden and one for the command, when it is their turn."""
        self.status: int | None = None
        self.child = 0
        self.stopped = False
        self.size = self.kept = 0
        self.tail = b""

    def run(self) -> dict[str, Any]:
        """What happened."""
        adopt()
        die_with_parent(signal.SIGTERM)
        woken, waker = os.pipe()
        for end in (woken, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        self.file = os.open(self.job["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        told = self._ready()
        if not self._wait(woken):
            return self._said(0.0, "", False, 0)
        start = time.monotonic()
        fault = os.read(told, 4096).decode(errors="replace")
        timed_out = not fault and self._watch(start + self.job["limit_seconds"], woken)
        seconds = time.monotonic() - start
        left = self._sweep() if not fault else 0
        self._drain()
        self._finish()
        return self._said(seconds, fault, timed_out, left)

    def _said(self, seconds: float, fault: str, timed_out: bool, left: int) -> dict[str, Any]:
        code = os.waitstatus_to_exitcode(self.status) if self.status is not None else None
        return {
            "id": self.job["id"], "exit": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else 0, "timed_out": timed_out,
            "stopped": self.stopped, "fault": fault, "seconds": seconds, "bytes": self.size,
            "cut": self.size > self.kept, "left": left,
        }  # fmt: skip

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def _ready(self) -> int:
        """A child that will be the command; the end where it tells why it could not, or nothing."""
        self.out, theirs = os.pipe()
        told, tell = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            _become(self.job, theirs, tell, self.turn)
        os.close(theirs)
        os.close(tell)
        os.set_blocking(self.out, False)
        return told

    def _wait(self, woken: int) -> bool:
        """Until it is our turn; False if it will never be."""
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
        """Take in output until the command is over; whether time ran out."""
        ends = [self.out, woken]
        self._reap()  # it may have begun, and ended, while we waited for our own turn
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
        """A part of the output; False when no more will come."""
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
        """What is still in the pipe; everybody who could write to it is gone."""
        ready = True
        while ready and self._take():
            ready = bool(select.select([self.out], [], [], 0)[0])

    def _finish(self) -> None:
        gone = self.size - self.kept - len(self.tail)
        if gone:
            self._write(f"\n[... {gone} bytes left out ...]\n".encode())
        self.kept += self._write(self.tail)
        os.close(self.file)

    def _write(self, body: bytes) -> int:
        """To the file; how much of it the disk took."""
        done = 0
        with suppress(OSError):
            while done < len(body):
                done += os.write(self.file, body[done:])
        return done

    def _reap(self) -> bool:
        """Take in who ended; whether anybody is left."""
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
        """End everything below; how many there were. TERM first, then KILL until nobody is left."""
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


def _become(job: dict[str, Any], out: int, tell: int, turn: int) -> None:
    """In the child: wait for the turn, and be the command, or say why not."""
    try:
        os.setsid()
        die_with_parent(signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.set_inheritable(tell, False)
        if not os.read(turn, 1):
            os._exit(127)
        os.closerange(3, tell)
        os.closerange(tell + 1, 1024)
        os.chdir(job["cwd"])
        os.execvpe(job["argv"][0], job["argv"], job["env"])
    except OSError as fault:
        where = job["cwd"] if fault.filename == job["cwd"] else job["argv"][0]
        with suppress(OSError):
            os.write(tell, f"{where}: {fault.strerror}"[:4000].encode(errors="replace"))
    finally:
        os._exit(127)


class Nanny:
    """Reads jobs, forks wardens, tells what happened."""

    def __init__(self) -> None:
        self.wardens: dict[int, tuple[int, Any]] = {}
        """The end that a warden tells through: its pid, and the id of its job."""
        self.waiting: list[dict[str, Any]] = []
        self.next: tuple[int, int] | None = None
        """Who stands ready: the end that it tells through, and the one for its turn."""
        self.running: set[int] = set()
        self.slots = 1
        self.rest = b""
        self.open = True

    def run(self) -> None:
        """Until the input ended and the last warden is done."""
        adopt()
        while self.open or self.wardens:
            ends = [*self.wardens, *([0] if self.open else [])]
            for end in select.select(ends, [], [])[0]:
                if end == 0:
                    self._hear()
                else:
                    self._hear_warden(end)
        while self._reap():  # nobody is left, as a rule, and nobody is looked for
            send(descendants(os.getpid()), signal.SIGKILL)
            time.sleep(0.005)

    def _reap(self) -> bool:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    def _hear(self) -> None:
        chunk = os.read(0, 1 << 16)
        self.open = bool(chunk)
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            job = json.loads(line)
            if "stop" in job:
                send([pid for pid, id in self.wardens.values() if id == job["stop"]], signal.SIGTERM)
                for one in [one for one in self.waiting if one["id"] == job["stop"]]:
                    self.waiting.remove(one)
                    self._tell({"id": one["id"], "stopped": True})
            else:
                self.slots = job.get("slots") or 1 << 30
                self.waiting.append(job)
        if not self.open:
            self.waiting.clear()
            send([pid for pid, _ in self.wardens.values()], signal.SIGTERM)
        self._advance()

    def _advance(self) -> None:
        """Give free slots to who stands ready, and get the next one ready."""
        while self.next or self.waiting:
            if self.next is None:
                self.next = self._start(self.waiting.pop(0))
            if len(self.running) >= self.slots or not self.open:
                return
            told, turn = self.next
            self.next = None
            self.running.add(told)
            with suppress(OSError):  # its warden was killed: it is told of elsewhere
                os.write(turn, b"!!")
            os.close(turn)

    def _tell(self, said: dict[str, Any]) -> None:
        with suppress(OSError):  # nobody listens any more; the others are still to be ended
            os.write(1, json.dumps(said).encode() + b"\n")

    def _start(self, job: dict[str, Any]) -> tuple[int, int]:
        told, tell = os.pipe()
        turn, give = os.pipe()
        pid = os.fork()
        if pid:
            os.close(tell)
            os.close(turn)
            self.wardens[told] = (pid, job["id"])
            return told, give
        try:
            os.setsid()
            for end in (told, give, *self.wardens):
                os.close(end)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            said = json.dumps(Warden(job, turn).run()).encode() + b"\n"
            with suppress(BrokenPipeError):
                os.write(1, said)  # to Segue itself: a line that short is written whole
            os.write(tell, b"!")
        finally:
            os._exit(0)

    def _hear_warden(self, end: int) -> None:
        said = b""
        while chunk := os.read(end, 1 << 16):
            said += chunk
        os.close(end)
        pid, id = self.wardens.pop(end)
        self.running.discard(end)
        if self.next is not None and self.next[0] == end:
            os.close(self.next[1])
            self.next = None
        self._advance()  # the next one first: what follows is for nobody who waits
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
        if not said:  # it was killed itself: what was below it is below us now
            own = [pid for pid, _ in self.wardens.values()]
            kept = {below for pid in own for below in (pid, *descendants(pid))}
            send([pid for pid in descendants(os.getpid()) if pid not in kept], signal.SIGKILL)
            self._tell({"id": id, "fault": "the process that ran it was killed"})


if __name__ == "__main__":
    prepare()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    Nanny().run()
