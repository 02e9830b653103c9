"""Finds the tasks of Cline and Roo, and the project of each.

A task is a folder named after its id. Its working folder is in the list of all tasks, with Roo also in the
task's ``history_item.json``, and in the first message to the model. Of a task that died before all of that,
the log of Cline's command line tool names the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..._files import open_file
from ...core.base.lazy import regex
from ..base import HEAD_BYTES, Form, Found, SearchScope, Traits, decode_any, decode_part
from ..transcript_files import FileAgent, bytes_of, document, json_text, listed, stated

if TYPE_CHECKING:
    from . import wire
    from .launch import Launcher

API, UI = "api_conversation_history.json", "ui_messages.json"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server")
_ROO = (
    b"<slug>",
    b"Current time in ISO 8601",
    b"update_todo_list",
    b'apiProtocol\\"',
    b'"isProtected"',
    b'"isSummary"',
    b"Current Workspace Directory (",
)
_ID = regex(rb'\A\s*\{"id":\s*("(?:[^"\\]|\\.)*")')
_CWD = regex(rb"# Current (?:Working|Workspace) Directory \((.+?)\) Files")
_LOG_BYTES = 1 << 20
_LOGGED = regex(rb'"pid":(\d+),.*(?:Single-root mode: ((?:[^"\\]|\\.)+)"|\[Task (\d+)\])')
_TRIES = 3  # a document that is being written is read again


class Cline(FileAgent):
    """Cline, or Roo, which descends from it. ``extension`` is its folder in an editor's storage; the command
    line tool, which only Cline has, has a folder in the home folder."""

    form: Form = "document"

    def __init__(self, name: str, title: str, extension: str, traits: Traits) -> None:
        self.name = name
        self.title = title
        self.traits = traits
        self._extension = extension

    def recognises(self, head: bytes, name: str) -> bool:
        known = Path(name).name in (API, UI)
        return (known or _looks_like_ours(head)) and any(mark in head for mark in _ROO) == (
            self.name == "roo"
        )

    def load(self, path: Path, native: str) -> bytes:
        """A task's folder, or one of its documents, as the document that the reader reads."""
        folder = path if path.is_dir() else path.parent
        if path.is_file() and path.name not in (API, UI):
            return document(path)
        api, ui = _document(folder / API), _document(folder / UI)
        if api is None and ui is None:
            return document(path)  # raises the error of the missing file
        id = native or folder.name
        history = decode_any(bytes_of(folder / "history_item.json"))
        if not isinstance(history, dict):
            history = _history(folder.parents[1]).get(id) if folder.parent.name == "tasks" else None
        task = {
            "id": id,
            "api": (api and api.api) or [],
            "ui": (ui and ui.ui) or [],
            "focus": _focus(folder),
            "history": history,
            "meta": decode_any(bytes_of(folder / "task_metadata.json")),
            "torn": bool(api and api.torn),
            "bad": (api.bad if api else 0) + (ui.bad if ui else 0),
        }
        return msgspec.json.encode(task)

    def size_of(self, path: Path, native: str) -> int:
        """How many bytes ``load`` would have to read."""
        folder = path if path.is_dir() else path.parent
        is_task = path == folder or path.name in (API, UI)
        return sum(stat.st_size for _, stat in (_documents(folder) if is_task else stated((path,))))

    def find(self, where: SearchScope) -> Iterator[Found]:
        bases = list(_bases(self._extension, self.name == "cline", where))
        files = sorted(
            ((path, stat, base) for base in bases for path, stat in _files(base / "tasks")),
            key=lambda file: -file[1].st_mtime,
        )
        listed: dict[Path, dict[str, wire.History]] = {}
        logged: dict[Path, dict[str, str]] = {}
        heads = 0
        for path, stat, base in files:
            native = path.parent.name
            cwd, parent = where.known.get(str(path), ""), ""
            if not cwd:
                if base not in listed:
                    listed[base] = _history(base)
                item = listed[base].get(native)
                cwd, parent = (item.cwd, item.parent_task_id or "") if item else ("", "")
            if not cwd:
                heads += 1
                if where.heads_max and heads > where.heads_max:
                    continue
                cwd, parent = _read_from_task(path)
            if not cwd and path.name == UI:
                if base not in logged:
                    logged[base] = _logged_folders(base)
                cwd = logged[base].get(native, "")
            if where.holds(cwd):
                yield Found(self.name, str(path), native, stat.st_mtime, stat.st_size, cwd, parent)

    def transcripts_at(self, path: Path, where: SearchScope) -> Iterator[Found]:
        """The task that a document or a folder belongs to: its two documents are one run."""
        folder = path if path.is_dir() else path.parent
        is_task = path == folder or path.name in (API, UI)
        documents = _documents(folder) if is_task else stated((path,))
        for path, stat in islice(documents, 1):
            native = folder.name if is_task else json_text(bytes_of(path, HEAD_BYTES), _ID) or path.stem
            item = _history(folder.parents[1]).get(native) if folder.parent.name == "tasks" else None
            cwd, parent = (item.cwd, item.parent_task_id or "") if item else _read_from_task(path)
            if not cwd and is_task:
                cwd = _logged_folders(folder.parents[1]).get(native, "")
            yield Found(self.name, str(path), native, stat.st_mtime, stat.st_size, cwd, parent)


class ClineWithCommand(Cline):
    """Cline, which also has a command line tool."""

    @property
    def launcher(self) -> Launcher:
        """How it is started; only who starts it loads that."""
        from .launch import Launcher

        return Launcher()


def _looks_like_ours(head: bytes) -> bool:
    start = head[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b'{"id":', b'{"api":')) and b'"api":' in head:
        return True
    if not start.startswith(b"["):
        return False
    shown = b'"ts"' in head and (b'"say"' in head or b'"ask"' in head)
    return shown or (b'"role"' in head and (b"<task>" in head or b"<environment_details>" in head))


# finding tasks


def _bases(extension: str, has_command: bool, where: SearchScope) -> Iterator[Path]:
    """The folders with a folder ``tasks``. Candidates are strings, because there are many and few exist."""
    home = str(where.home)
    config, roaming = where.folder("XDG_CONFIG_HOME", ".config"), where.env.get("APPDATA")
    roots = filter(None, (config, f"{home}/Library/Application Support", roaming))
    users = [f"{root}/{editor}/User" for root in roots for editor in _EDITORS]
    users += [f"{home}/{server}/data/User" for server in _SERVERS]
    bases = [f"{user}/globalStorage/{extension}" for user in users]
    if has_command:
        bases.insert(0, f"{where.folder('CLINE_DIR', '.cline')}/data")
    return (Path(base) for base in bases if os.path.isdir(f"{base}/tasks"))


def _files(tasks: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """One document of each task that has any."""
    for name in listed(tasks):
        yield from islice(_documents(tasks / name), 1)


def _documents(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The documents of a task; the first one stands for both."""
    return stated((folder / API, folder / UI))


def _history(base: Path) -> dict[str, wire.History]:
    """The entries of all lists of tasks, by id."""
    from . import wire

    tasks: dict[str, wire.History] = {}
    for path in (base / "state" / "taskHistory.json", base / "tasks" / "_index.json"):
        value = decode_any(bytes_of(path))
        rows = value.get("entries") if isinstance(value, dict) else value
        for row in rows if isinstance(rows, list) else ():
            item = decode_part(msgspec.json.encode(row), wire.HISTORY, wire.History)
            if item and item.id:
                tasks[item.id] = item
    return tasks


def _read_from_task(path: Path) -> tuple[str, str]:
    """The working folder and the parent of a task, from its own files."""
    from . import wire

    item = decode_part(bytes_of(path.with_name("history_item.json")), wire.HISTORY, wire.History)
    if item and item.cwd:
        return item.cwd, item.parent_task_id or ""
    match = _CWD.search(bytes_of(path, HEAD_BYTES))
    return str(decode_any(b'"' + match[1] + b'"') or "") if match else "", ""


def _logged_folders(base: Path) -> dict[str, str]:
    """The working folders of tasks, by id, as far as the newest log has them: a process names its folder
    and then its task."""
    folders: dict[str, str] = {}
    roots: dict[bytes, str] = {}
    for path in sorted((base / "logs").glob("cline-cli*.log"))[-1:]:
        for process, root, task in _LOGGED.findall(_end_of(path)):
            if root:
                roots[process] = str(decode_any(b'"' + root + b'"') or "")
            elif process in roots:
                folders.setdefault(task.decode(), roots[process])
    return folders


def _end_of(log: Path) -> bytes:
    try:
        with open_file(log) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
            return file.read(_LOG_BYTES)
    except OSError:
        return b""


# loading a task as one document


def _document(path: Path) -> wire.Task | None:
    """One of the two documents; a torn one is read again, because it may just be being written."""
    from .reader import task_of

    torn: list[wire.Task] = []
    for _ in range(_TRIES):
        try:
            task, bad = task_of(document(path))
        except OSError:
            break
        if not bad:
            return task
        task.bad = bad
        torn.append(task)
    return max(torn, key=lambda task: len(task.api or ()) + len(task.ui or ()), default=None)


def _focus(folder: Path) -> str:
    newest = max(folder.glob("focus_chain_taskid_*.md"), default=None, key=lambda path: path.name)
    return bytes_of(newest).decode("utf-8", "replace") if newest else ""
