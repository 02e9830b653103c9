"""Emergency files: what a process that is being ended still knows, when the store may not take it.

``with s.guard():`` watches SIGTERM, SIGINT and SIGHUP, exceptions and the exit of the interpreter. Everything
that was acknowledged is in the journal already, so the file holds the rest: commands that the store did not
take, the present states of agents, and the session's state in case the store is lost. Writing it uses no
store, never hides the signal and never changes the exit code. The next process that opens the session merges
the file and removes it.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Union

import msgspec

from ..._files import read_bytes
from ...core.base import canonical
from ...core.base.values import Value, count
from ...core.journal import pieces
from ...core.sessions import commands as do, snapshot
from ...core.sessions.commands import Command
from ...core.sessions.state import SessionState
from ...effects.clock import now
from ...effects.files.atomic import private_folder, write_whole
from ...effects.processes.identity import start_of
from ...errors import ConflictError, HistoryWentBack, RefusedError, SegueError, UsageError, is_of_store
from ..workspace.data_folder import DataFolder
from ..workspace.open_session import find_session
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace

SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
_COMMANDS: tuple[type[Command], ...] = tuple(
    kind
    for kind in Command.__subclasses__()
    if kind.__module__ == do.__name__ and kind not in (do.Create, do.Rewind, do.SaveAgent)
)
"""The commands that a file may hold; none about features, for which it matters who gives them."""


class Emergency(Value, forbid_unknown_fields=True):
    """The content of an emergency file."""

    session_id: str
    organization: str
    project: str
    time: str
    reason: str
    version: int
    loaded_notes: list[str]
    uncommitted_changes: list[tuple[str, str]]
    open_threads: list[str]
    state: str
    """The whole state as a snapshot, base64."""
    unsaved: list[Any] = []
    agents: dict[str, str] = {}
    """The states of agents: MessagePack, base64."""
    segue_emergency: int = 1
    checksum: str = ""


def _sum(emergency: Emergency) -> str:
    return canonical.digest(canonical.encode(msgspec.structs.replace(emergency, checksum=""))).hex()


def write(home: DataFolder, emergency: Emergency) -> Path:
    """Write an emergency file and return its path: in the data folder or, if that cannot be written, in the
    folder for temporary files. Raises OSError if neither takes it."""
    name = f"{emergency.session_id}-{os.getpid()}-{threading.get_native_id()}.json"
    try:
        write_whole(home.emergency / name, encode(emergency))
        return home.emergency / name
    except OSError:
        folder = home.emergency_elsewhere
        private_folder(folder)
        if not _is_ours(folder):
            raise
        write_whole(folder / name, encode(emergency))
        return folder / name


def _is_ours(folder: Path) -> bool:
    """Whether a folder among the temporary files is one that nobody else could have put anything into."""
    for path in (folder, folder.parent):
        found = os.lstat(path)
        own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if not stat.S_ISDIR(found.st_mode) or not own or (os.name == "posix" and found.st_mode & 0o077):
            return False
    return True


def waiting(home: DataFolder, session: str = "") -> list[Path]:
    """Emergency files that were not merged yet, wherever they had to be written."""
    found, elsewhere = pending(home.emergency, session), home.emergency_elsewhere
    with contextlib.suppress(OSError):
        if _is_ours(elsewhere):
            found += pending(elsewhere, session)
    return found


def read(path: Path) -> Emergency | None:
    """The content of a file; None if it is incomplete or its checksum is wrong."""
    try:
        emergency = msgspec.json.decode(read_bytes(path), type=Emergency)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return emergency if emergency.checksum == _sum(emergency) and emergency.session_id else None


def masked(emergency: Emergency, text: str, replace: Callable[[Any], Any]) -> Emergency:
    """The same content with a text erased: in commands by ``replace``, in states byte by byte."""

    def mask(encoded: str) -> str:
        needle = text.encode(errors="surrogatepass")
        body = base64.b64decode(encoded).replace(needle, b"*" * len(needle))
        return base64.b64encode(body).decode()

    clean: Emergency = msgspec.convert(replace(msgspec.to_builtins(emergency)), Emergency)
    agents = {name: mask(state) for name, state in clean.agents.items()}
    return msgspec.structs.replace(clean, state=mask(clean.state), agents=agents)


def encode(emergency: Emergency) -> bytes:
    """The bytes of a file, including its checksum."""
    return canonical.encode(msgspec.structs.replace(emergency, checksum=_sum(emergency)))


def pending(folder: Path, session: str = "") -> list[Path]:
    """Emergency files that were not merged yet."""
    if not folder.is_dir():
        return []
    paths = folder.glob(f"{session}-*.json*" if session else "*.json*")
    return sorted(path for path in paths if not _being_merged(path))


def _being_merged(path: Path) -> bool:
    pid = path.name.rpartition(".json.")[2]
    return path.suffix != ".json" and pid.isdecimal() and int(pid) != os.getpid() and bool(start_of(int(pid)))


def state_in(emergency: Emergency) -> SessionState | None:
    """The session's state in a file; None if it cannot be decoded."""
    with contextlib.suppress(ValueError, msgspec.MsgspecError):
        return snapshot.decode(base64.b64decode(emergency.state))
    return None


def merge(workspace: Workspace, path: Path) -> list[str]:
    """Merge a file's content into the store, then remove the file. Returns what was done, as texts."""
    emergency = read(path)
    if emergency is None:
        return [f"{path.name} is damaged and was left alone"]
    claimed = path.with_name(path.name.partition(".json")[0] + f".json.{os.getpid()}")
    try:
        os.rename(path, claimed)
    except FileNotFoundError:
        return []
    session = find_session(workspace, emergency.session_id)
    did = _replay(session, emergency.unsaved)
    states = session.state.agents
    for name, value in emergency.agents.items():
        if name in states and states[name].saved_at > emergency.time:
            continue  # a newer one was saved in the meantime
        with contextlib.suppress(ValueError, msgspec.MsgspecError, UsageError, ConflictError, RefusedError):
            if session.save_agent(name, pieces.decode(base64.b64decode(value))).events:
                did.append(f"the state of agent {name}")
    claimed.unlink(missing_ok=True)
    return did


def _commands_in(unsaved: list[Any]) -> list[Command]:
    commands: list[Command] = []
    for raw in unsaved:
        with contextlib.suppress(msgspec.ValidationError):
            commands.append(msgspec.convert(raw, Union[_COMMANDS]))  # noqa: UP007
    return commands


def notices(home: DataFolder, session: str) -> list[str]:
    """What is still to be said of a session's emergency files: what waits to be merged, and what never can
    be. Nothing is changed."""
    said = []
    for path in _of_session(waiting(home, session), session):
        found = read(path)
        if found is None:
            said.append(f"an emergency file is damaged: {path}; `segue recover` moves it aside")
            continue
        commands = _commands_in(found.unsaved)
        pauses = [one for one in commands if isinstance(one, do.Pause)]
        what = ["a pause"] if pauses else []
        what += [count(len(commands) - len(pauses), "change")] if len(commands) > len(pauses) else []
        if what:
            said.append(f"{' and '.join(what)} of {found.time} will be merged once the store can be written")
    aside = home.damaged.glob("*-emergency/*.json*") if home.damaged.is_dir() else ()
    return said + [
        f"an emergency file could not be merged; `segue recover` moved it aside: {path}"
        for path in sorted(_of_session(aside, session))
    ]


def _of_session(paths: Iterable[Path], session: str) -> list[Path]:
    """Of several files those of a session, whose id may be the beginning of another's."""
    return [path for path in paths if path.name.partition(".json")[0].rsplit("-", 2)[0] == session]


def _replay(session: SessionHandle, unsaved: list[Any]) -> list[str]:
    """Commit all commands at once or, if that is refused, each one that is accepted."""
    commands = _commands_in(unsaved)
    if not commands:
        return []
    try:
        done = session.apply(*commands).events
    except HistoryWentBack:
        raise  # the file keeps waiting, until what the store lost is back
    except (UsageError, ConflictError, RefusedError):
        done = 0
        for command in commands:
            with contextlib.suppress(UsageError, ConflictError, RefusedError):
                done += session.apply(command).events
    return [count(done, "unsaved change")] if done else []


Handler = Callable[[int, FrameType | None], None]


def watch_signals(names: Iterable[str], handler: Handler) -> dict[int, Any]:
    """Install a handler for these signals, if called in the main thread. Returns the previous handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return {number: signal.signal(number, handler) for number in numbers}


def unwatch_signals(before: Mapping[int, Any], handler: Handler) -> None:
    """Restore the previous handlers, unless other code has taken over the signals."""
    for number, other in before.items():
        if signal.getsignal(number) == handler:
            signal.signal(number, other)


class Guard:
    """Writes an emergency file for a session when the program is ended; see the module."""

    def __init__(self, session: SessionHandle, agents: dict[str, Callable[[], Any]]) -> None:
        self._session = session
        self._agents = agents
        self._unsaved: list[Command] = []
        self._before: dict[int, Any] = {}
        self._path: Path | None = None
        self._active = False
        self._pid = os.getpid()

    def __enter__(self) -> Guard:
        self._active = True
        self._session.keeper = self
        self._before = watch_signals(SIGNALS, self._on_signal)
        atexit.register(self._at_exit)
        return self

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if fault is not None:
            self.save(f"{type(fault).__name__}: {fault}"[:500])
        elif self._unsaved:
            self.save("commands that could not be stored")
        elif self._path is not None:
            self._path.unlink(missing_ok=True)
        self._stop()

    def _stop(self) -> None:
        self._active = False
        self._session.keeper = None
        atexit.unregister(self._at_exit)
        unwatch_signals(self._before, self._on_signal)
        self._before = {}

    def keep_unsaved(self, commands: Sequence[Command], fault: BaseException) -> None:
        """Keep the commands of a failed write for the file, if the store was at fault."""
        if is_of_store(fault):
            self._unsaved += [c for c in commands if isinstance(c, _COMMANDS)]

    def now_saved(self, commands: Sequence[Command]) -> None:
        """Drop commands that were committed after all."""
        if self._unsaved:
            self._unsaved = [c for c in self._unsaved if c not in commands]

    def save(self, reason: str) -> Path | None:
        """Write the emergency file and return its path; None if that fails."""
        try:
            self._path = write(self._session.workspace.home, self._content(reason))
        except (OSError, SegueError, TypeError, ValueError):
            return None
        return self._path

    def _content(self, reason: str) -> Emergency:
        id = self._session.id
        state = self._session.workspace.repository.cached(id) or SessionState(id=id)
        agents: dict[str, str] = {}
        for name, state_of in self._agents.items():
            with contextlib.suppress(Exception):
                agents[name] = base64.b64encode(pieces.encode(state_of())).decode()
        return Emergency(
            session_id=id,
            organization=state.organization,
            project=state.project,
            time=now(),
            reason=reason,
            version=state.version,
            loaded_notes=[use.path or note for note, use in sorted(state.notes.items())],
            uncommitted_changes=list(state.changes),
            open_threads=[t.topic for t in state.threads.values() if t.status == "in_progress"],
            state=base64.b64encode(snapshot.encode(state)).decode(),
            unsaved=[msgspec.to_builtins(command) for command in self._unsaved],
            agents=agents,
        )

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        handler = self._before.get(number, signal.SIG_DFL)
        if os.getpid() == self._pid:
            self.save(signal.Signals(number).name)
        if callable(handler):
            handler(number, frame)
        elif handler == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _at_exit(self) -> None:
        if self._active and os.getpid() == self._pid:
            self.save("the interpreter ended")
