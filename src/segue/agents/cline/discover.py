"""Finds the tasks of Cline and Roo, and the project of each.

A task is a folder named after its id. Its working folder is in the list of all tasks, with Roo also in the
task's ``history_item.json``, and in the first message to the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...core.base.lazy import regex
from ...core.base.values import Value
from ..base import HEAD_BYTES, Form, Found, SearchScope, Traits, decode_part
from ..transcript_files import FileAgent, listed

if TYPE_CHECKING:
    from . import wire

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
_CWD = regex(rb"# Current (?:Working|Workspace) Directory \((.+?)\) Files")
_TRIES = 3  # a document that is being written is read again


class Flavour(Value):
    """The differences between Cline and Roo."""

    name: str
    title: str
    extension: str  # its folder in an editor's storage
    cli: bool = False  # whether it has a command line tool, with a folder in the home folder
    traits: Traits = Traits()


class Cline(FileAgent):
    """See ``agents.base.Agent``."""

    form: Form = "document"

    def __init__(self, flavour: Flavour) -> None:
        self.name = flavour.name
        self.title = flavour.title
        self.traits = flavour.traits
        self._flavour = flavour

    def recognises(self, head: bytes, name: str) -> bool:
        known = Path(name).name in (API, UI)
        return (known or _looks_like_ours(head)) and any(mark in head for mark in _ROO) == (
            self.name == "roo"
        )

    def load(self, path: Path, native: str) -> bytes:
        return loaded(path, native)

    def find(self, where: SearchScope) -> Iterator[Found]:
        bases = list(_bases(self._flavour, where))
        files = sorted(
            ((path, stat, base) for base in bases for path, stat in _files(base / "tasks")),
            key=lambda file: -file[1].st_mtime,
        )
        listed: dict[Path, dict[str, wire.History]] = {}
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
            if where.holds(cwd) if cwd else not where.roots:
                yield Found(self.name, str(path), native, stat.st_mtime, stat.st_size, cwd, parent)


def _looks_like_ours(head: bytes) -> bool:
    start = head[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b'{"id":', b'{"api":')) and b'"api":' in head:
        return True
    if not start.startswith(b"["):
        return False
    shown = b'"ts"' in head and (b'"say"' in head or b'"ask"' in head)
    return shown or (b'"role"' in head and (b"<task>" in head or b"<environment_details>" in head))


# finding tasks


def _bases(flavour: Flavour, where: SearchScope) -> Iterator[Path]:
    """The folders with a folder ``tasks``. Candidates are strings, because there are many and few exist."""
    home = str(where.home)
    config = where.env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    users = [
        f"{root}/{editor}/User"
        for root in (config, f"{home}/Library/Application Support")
        for editor in _EDITORS
    ]
    users += [f"{home}/{server}/data/User" for server in _SERVERS]
    if appdata := where.env.get("APPDATA"):
        users += [f"{appdata}/{editor}/User" for editor in _EDITORS]
    bases = [f"{user}/globalStorage/{flavour.extension}" for user in users]
    if flavour.cli:
        bases.insert(0, f"{where.env.get('CLINE_DIR') or f'{home}/.cline'}/data")
    return (Path(base) for base in bases if os.path.isdir(f"{base}/tasks"))


def _files(tasks: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for name in listed(tasks):
        for file in (API, UI):
            try:
                yield tasks / name / file, (tasks / name / file).stat()
                break
            except OSError:
                continue  # not written yet, or deleted meanwhile


def _history(base: Path) -> dict[str, wire.History]:
    """The entries of all lists of tasks, by id."""
    from . import wire

    tasks: dict[str, wire.History] = {}
    for path in (base / "state" / "taskHistory.json", base / "tasks" / "_index.json"):
        value = _json(path)
        rows = value.get("entries") if isinstance(value, dict) else value
        for row in rows if isinstance(rows, list) else ():
            item = decode_part(msgspec.json.encode(row), wire.HISTORY, wire.History)
            if item and item.id:
                tasks[item.id] = item
    return tasks


def _read_from_task(path: Path) -> tuple[str, str]:
    """The working folder and the parent of a task, from its own files."""
    from . import wire

    item = decode_part(_bytes(path.with_name("history_item.json")), wire.HISTORY, wire.History)
    if item and item.cwd:
        return item.cwd, item.parent_task_id or ""
    try:
        with path.open("rb") as file:
            match = _CWD.search(file.read(HEAD_BYTES))
        return (str(msgspec.json.decode(b'"' + match[1] + b'"')) if match else ""), ""
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return "", ""


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(_bytes(path) or b"null")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


# loading a task as one document


def loaded(path: Path, native: str) -> bytes:
    """A task's folder, or one of its documents, as the document that the reader reads."""
    folder = path if path.is_dir() else path.parent
    if path.is_file() and path.name not in (API, UI):
        return path.read_bytes()
    api, ui = _document(folder / API), _document(folder / UI)
    if api is None and ui is None:
        return path.read_bytes()  # raises the error of the missing file
    id = native or folder.name
    history = _json(folder / "history_item.json")
    if not isinstance(history, dict):
        history = _history(folder.parents[1]).get(id) if folder.parent.name == "tasks" else None
    task = {
        "id": id,
        "api": (api and api.api) or [],
        "ui": (ui and ui.ui) or [],
        "focus": _focus(folder),
        "history": history,
        "meta": _json(folder / "task_metadata.json"),
        "torn": bool(api and api.torn),
        "bad": (api.bad if api else 0) + (ui.bad if ui else 0),
    }
    return msgspec.json.encode(task)


def _document(path: Path) -> wire.Task | None:
    """One of the two documents; a torn one is read again, because it may just be being written."""
    best: wire.Task | None = None
    for _ in range(_TRIES):
        try:
            from .reader import task_of

            task, bad = task_of(path.read_bytes())
        except OSError:
            break
        if not bad:
            return task
        task.bad = bad
        if best is None or _rows(task) > _rows(best):
            best = task
    return best


def _rows(task: wire.Task) -> int:
    return len(task.api or ()) + len(task.ui or ())


def _focus(folder: Path) -> str:
    newest = max(folder.glob("focus_chain_taskid_*.md"), default=None, key=lambda path: path.name)
    return _bytes(newest).decode("utf-8", "replace") if newest else ""
