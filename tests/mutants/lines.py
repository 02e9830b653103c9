"""A plugin of pytest that records which lines of the chosen modules each test executes, and for how long.

``MUTANTS_MODULES`` are their paths, separated by colons; ``MUTANTS_LINES`` is where it writes, a line of JSON
for each test, in a file for each process of the tests.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

_FILES = frozenset(os.environ.get("MUTANTS_MODULES", "").split(":"))
_seen: dict[str, set[int]] = defaultdict(set)
_failed: set[str] = set()


def _line(frame: FrameType, event: str, _: Any) -> Any:
    if event == "line":
        _seen[frame.f_code.co_filename].add(frame.f_lineno)
    return _line


def _call(frame: FrameType, event: str, _: Any) -> Any:
    if frame.f_code.co_filename not in _FILES:
        return None
    _seen[frame.f_code.co_filename].add(frame.f_lineno)
    return _line


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    _seen.clear()
    began = time.monotonic()
    threading.settrace(_call)
    sys.settrace(_call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        record = {
            "test": item.nodeid,
            "seconds": round(time.monotonic() - began, 3),
            "failed": item.nodeid in _failed,
            "lines": {path: sorted(lines) for path, lines in _seen.items()},
        }
        with open(f"{os.environ['MUTANTS_LINES']}.{os.getpid()}", "a") as file:
            file.write(json.dumps(record) + "\n")
