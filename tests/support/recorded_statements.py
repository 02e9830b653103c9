"""A plugin of pytest that writes down what a Postgres store sends: each statement once, and who sent it.

``pytest -p tests.support.recorded_statements`` with the name of a file in ``RECORD``. A statement is taken
down as the server gets it, with the types of its values, if code of a store sent it, and not a test.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import psycopg

import segue

RECORD = "RECORDED_STATEMENTS"
"""The variable with the name of the file."""
PACKAGE = Path(segue.__file__).parent
_SENDERS = ("stores/postgres/database.py", "stores/postgres/sql.py")
"""They send what others give them."""


class Statement(msgspec.Struct, frozen=True):
    """A statement, and the types of its values by their numbers in the server."""

    sql: str
    types: tuple[int, ...]


class Recorded(msgspec.Struct):
    """All statements, and the lines of code from which they were sent."""

    statements: dict[str, Statement] = {}
    lines: set[tuple[str, int]] = set()


def read(path: Path) -> Recorded:
    """What was written down."""
    return msgspec.json.decode(path.read_bytes(), type=Recorded)


def pytest_configure() -> None:
    recorded = Recorded()
    for name in ("execute", "executemany"):
        _record(name, recorded)
    import atexit

    atexit.register(lambda: Path(os.environ[RECORD]).write_bytes(msgspec.json.encode(recorded)))


def _record(name: str, recorded: Recorded) -> None:
    carried_out = getattr(psycopg.Cursor, name)

    def recording(cursor: Any, query: Any, *values: Any, **more: Any) -> Any:
        done = carried_out(cursor, query, *values, **more)
        lines = _ours(sys._getframe(1))
        if lines:
            recorded.lines.update(lines)
            text = query if isinstance(query, str) else ""
            sent = cursor._query
            if sent is not None and text not in recorded.statements:
                sql = sent.query if isinstance(sent.query, str) else sent.query.decode()
                recorded.statements[text] = Statement(sql, tuple(sent.types or ()))
        return done

    setattr(psycopg.Cursor, name, recording)


def _ours(frame: FrameType | None) -> list[tuple[str, int]]:
    """The lines of stores that are at work; none if a test sends a statement of its own."""
    lines = [(path, line) for path, line in _stack(frame) if path is None or path.startswith("stores/")]
    own = [path for path, _ in lines if path not in _SENDERS]
    return [(path, line) for path, line in lines if path] if own and own[0] is not None else []


def _stack(frame: FrameType | None) -> Iterator[tuple[str | None, int]]:
    """Files of the package, and nothing in the place of a test, from the one that sends."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            yield path.relative_to(PACKAGE).as_posix(), frame.f_lineno
        elif "tests" in path.parts:
            yield None, 0
        frame = frame.f_back
