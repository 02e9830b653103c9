"""Kills a process, or raises, at a named failpoint.

The package marks every durable write with ``trip("room.action.when")``. A test chooses one of those names and
a count; when the failpoint is passed for the count-th time, the process gets SIGKILL, as from ``kill -9``, or
an exception is raised. Only one hook is active at a time, in this process only: threads share it, and a
forked child inherits it.

From a shell or a test, in a separate process:

    python -m segue.testing.failpoints store.append.after_commit:3 -- script.py arguments…
    python -m segue.testing.failpoints files.write.before_rename -- -m package.module arguments…
"""

from __future__ import annotations

import ast
import os
import runpy
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .. import _failpoints

Passed = Counter[str]
"""How often each failpoint was passed."""

_PACKAGE = Path(__file__).parents[1]


def _hook(passed: Passed, name: str, count: int, act: Callable[[], None]) -> Callable[[str], None]:
    def hook(at: str) -> None:
        passed[at] += 1
        if at == name and passed[at] == count:
            act()

    return hook


def kill_at(name: str, count: int = 1) -> Passed:
    """Kill this process when it passes ``name`` for the ``count``-th time."""
    passed = Passed()
    _failpoints.install(_hook(passed, name, count, lambda: os.kill(os.getpid(), signal.SIGKILL)))
    return passed


@contextmanager
def armed(name: str, fault: BaseException, *, count: int = 1) -> Iterator[Passed]:
    """Within the block: raise ``fault`` when ``name`` is passed for the ``count``-th time."""

    def raise_it() -> None:
        raise fault

    passed = Passed()
    _failpoints.install(_hook(passed, name, count, raise_it))
    try:
        yield passed
    finally:
        _failpoints.install(None)


@contextmanager
def recording() -> Iterator[Passed]:
    """Within the block: only count the failpoints that are passed."""
    passed = Passed()
    _failpoints.install(_hook(passed, "", 0, lambda: None))
    try:
        yield passed
    finally:
        _failpoints.install(None)


def all_failpoints(package: Path = _PACKAGE) -> frozenset[str]:
    """The names of all failpoints in the source of the package; a test exercises each of them."""
    names: set[str] = set()
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "trip(" in source else ():
            match node:
                case ast.Call(func=ast.Name(id="trip"), args=[ast.Constant(value=str(name))]):
                    names.add(name)
                case ast.Call(func=ast.Name(id="trip")):
                    raise ValueError(f"{path}:{node.lineno}: the name of a failpoint is not a literal")
    return frozenset(names)


def is_failpoint(name: str, package: Path = _PACKAGE) -> bool:
    """Whether the source of the package trips over this name: looked up without taking it apart."""
    call = f'trip("{name}")'
    return any(call in path.read_text(encoding="utf-8") for path in package.rglob("*.py"))


def spawn(name: str, *script: str, count: int = 1) -> subprocess.Popen[str]:
    """Start a child process that runs ``script.py arguments…`` and dies at the failpoint; its output is
    piped."""
    command = [sys.executable, "-m", __name__, f"{name}:{count}", "--", *script]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main(arguments: Sequence[str]) -> None:
    """``NAME[:COUNT] -- script.py arguments…``: run the script as if it had been started directly."""
    if len(arguments) < 3 or arguments[1] != "--":
        raise SystemExit("usage: python -m segue.testing.failpoints NAME[:COUNT] -- SCRIPT [ARGUMENT…]")
    name, _, count = arguments[0].partition(":")
    if not is_failpoint(name):
        raise SystemExit(f"no failpoint is called {name!r}; known: {', '.join(sorted(all_failpoints()))}")
    kill_at(name, int(count or 1))
    if arguments[2] == "-m":
        sys.argv = list(arguments[3:])
        runpy.run_module(arguments[3], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments[2:])
        sys.path.insert(0, str(Path(arguments[2]).resolve().parent))
        runpy.run_path(arguments[2], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
