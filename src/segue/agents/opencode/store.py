"""Reads OpenCode's database, without ever writing a byte or leaving a file behind.

While the agent runs, or after it was killed, there is a write-ahead log next to the database; then we read
through it like any other reader, in one transaction. Without a log the file is read as it is, without locks
or files of SQLite's own; if a log appears meanwhile, everything is read again. A conversation is returned in
the form of ``opencode export``. Columns and tables that a version lacks are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from ...errors import TranscriptUnreadable
from ..common import seconds
from ..foreign_database import opened, rows
from ..transcript_files import document, listed, stated

T = TypeVar("T")
Row = dict[str, Any]
_BUSY_MS = 2_000
_COLUMNS = {"id", "parent_id", "directory", "title", "version", "time_created", "time_updated", "revert"}
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def reading(path: Path, what: Callable[[apsw.Connection], T]) -> T:
    """The result of a function in one consistent view of the database; TranscriptUnreadable if it fails."""
    try:
        unchanged_stamp = None if _wal(path) else _stamp(path)
        if unchanged_stamp is not None:
            try:
                result = _within(path, "immutable=1", what)
                if not _wal(path) and _stamp(path) == unchanged_stamp:
                    return result
            except apsw.Error:
                pass  # it changed meanwhile, or needs its log
        return _within(path, "mode=ro", what)
    except (apsw.Error, OSError) as error:
        raise TranscriptUnreadable(
            f"{path} cannot be read: {error}", hint="is it OpenCode's database?"
        ) from error


def _within(path: Path, mode: str, what: Callable[[apsw.Connection], T]) -> T:
    connection = opened(path, mode, busy_ms=_BUSY_MS)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("BEGIN")
        return what(connection)
    finally:
        connection.close(True)


def _wal(path: Path) -> bool:
    return path.with_name(path.name + "-wal").exists()


def _stamp(path: Path) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_mtime_ns, stat.st_size


def sessions(connection: apsw.Connection) -> list[Row]:
    """All conversations, newest first, each with the worktree of its project."""
    trees = {row["id"]: row.get("worktree") for row in rows(connection, "project", {"id", "worktree"}, "")}
    wanted = {"id", "project_id", "parent_id", "directory", "time_updated"}
    found_sessions = rows(connection, "session", wanted, "")
    for row in found_sessions:
        row["worktree"] = trees.get(row.get("project_id"))
    return sorted(found_sessions, key=lambda row: -seconds(row.get("time_updated")))


def under_way(connection: apsw.Connection, native: str) -> bool:
    """Whether the conversation is in the middle of a turn."""
    newest = "WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 1"
    last = rows(connection, "message", {"data"}, newest, native)
    message = _object(last[0]["data"]) if last else None
    if message is None:
        return False
    times = message.get("time")
    return message.get("role") == "user" or not (isinstance(times, dict) and times.get("completed"))


def conversation(connection: apsw.Connection, native: str) -> bytes:
    """A conversation in the form of ``opencode export``."""
    session_rows = rows(connection, "session", _COLUMNS, "WHERE id = ?", native)
    if not session_rows:
        raise TranscriptUnreadable(f"the database has no session {native!r}", hint="was it deleted?")
    of = "WHERE session_id = ? ORDER BY"
    parts: dict[str, list[Any]] = {}
    for row in rows(connection, "part", {"id", "message_id", "data"}, f"{of} message_id, id", native):
        named = {"id": row["id"], "sessionID": native, "messageID": row["message_id"]}
        parts.setdefault(row["message_id"], []).append(_merged(row["data"], named))
    messages = [
        {
            "info": _merged(row["data"], {"id": row["id"], "sessionID": native}),
            "parts": parts.get(row["id"], []),
        }
        for row in rows(
            connection, "message", {"id", "data", "time_created"}, f"{of} time_created, id", native
        )
    ]
    wanted = {"content", "status", "priority", "time_updated"}
    todos = rows(connection, "todo", wanted, f"{of} position", native)
    return msgspec.json.encode({"info": _info(session_rows[0]), "messages": messages, "todos": todos})


def size(connection: apsw.Connection, native: str) -> int:
    """How many bytes the messages and parts of a conversation have, without reading them."""
    total = 0
    for table in ("message", "part"):
        sql = f"SELECT coalesce(sum(octet_length(data)), 0) FROM {table} WHERE session_id = ?"
        with suppress(apsw.SQLError):  # this version has no such table
            total += int(next(connection.execute(sql, (native,)))[0])
    return total


def _info(row: Row) -> Row:
    info = {
        "id": row.get("id"), "parentID": row.get("parent_id"), "directory": row.get("directory"),
        "title": row.get("title"), "version": row.get("version"), "revert": _object(row.get("revert")),
        "time": {"created": row.get("time_created"), "updated": row.get("time_updated")},
    }  # fmt: skip
    return {name: value for name, value in info.items() if value is not None}


def _merged(data: Any, named: Row) -> Any:
    """A row's object with its ids, which are in columns; None if it is no object, for the reader to count."""
    try:
        return {**_FIELDS.decode(data), **named}
    except (msgspec.DecodeError, TypeError, RecursionError):
        return None


def _object(data: Any) -> Row | None:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def from_files(path: Path) -> bytes:
    """A conversation of the versions that had a JSON file per session, message and part."""
    storage, native = path.parents[2], path.stem
    messages = [
        {"info": _raw(message), "parts": [_raw(part) for part in _files(storage / "part" / message.stem)]}
        for message in _files(storage / "message" / native)
    ]
    todos = _raw(storage / "todo" / f"{native}.json")
    return msgspec.json.encode({"info": _raw(path), "messages": messages, "todos": todos})


def size_of_files(path: Path) -> int:
    """How many bytes the files of such a conversation have."""
    storage, native = path.parents[2], path.stem
    messages = _files(storage / "message" / native)
    parts = (part for message in messages for part in _files(storage / "part" / message.stem))
    return sum(stat.st_size for _, stat in stated((path, *messages, *parts)))


def _files(folder: Path) -> list[Path]:
    return [folder / name for name in listed(folder) if name.endswith(".json")]


def _raw(path: Path) -> msgspec.Raw | None:
    try:
        data = document(path)
        msgspec.json.decode(data, type=msgspec.Raw)
    except (OSError, msgspec.DecodeError):
        return None  # torn, or deleted meanwhile
    return msgspec.Raw(data)
