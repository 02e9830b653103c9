"""A program that can be killed often: its imports are made once, and each run is a fork.

    python -m tests.integrations.forked_program tests.integrations.openai_agents.program FOLDER URL

It prints ``ready``; for each line on its input it forks, prints the child's pid, and when that is over the
status. The child calls ``main(folder, url, line)`` of the module.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path


class ForkedProgram:
    """The other side: starts runs, and kills them."""

    def __init__(self, module: str, folder: Path, url: str, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", __spec__.name, module, str(folder), url]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **environment}, cwd=Path(__file__).parents[2], start_new_session=True,
        )  # fmt: skip
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the program has ended"
        return line

    def run(self, argument: str, kill_after_seconds: float | None = None) -> int:
        """One run; its exit status, -9 if it was killed."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{argument}\n")
        self._process.stdin.flush()
        pid = int(self._line())
        if kill_after_seconds is not None:
            time.sleep(kill_after_seconds)
            kill_with_children(pid)  # nobody has waited for it yet, so that its pid is still its own
        self._process.stdin.write("wait\n")
        self._process.stdin.flush()
        return int(self._line())

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def kill_with_children(pid: int) -> None:
    """kill -9 a run, and the processes that it started."""
    with suppress(ProcessLookupError):  # it has no group of its own yet, and so no children
        os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)


def serve(module: str, folder: str, url: str) -> None:
    program = importlib.import_module(module)
    print("ready", flush=True)
    while line := sys.stdin.readline().strip():
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.setsid()
                program.main(Path(folder), url, line)
                status = 0
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        print(pid, flush=True)
        sys.stdin.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
