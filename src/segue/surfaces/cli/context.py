"""What a command is given: its arguments, a Segue that is opened when it is needed, and ways to report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import msgspec

from ..._files import open_given_file
from ...errors import UsageError, of_os
from ...settings import Settings, environment_now
from ..render import Style, as_json, count, fitted, is_terminal, safe, saved_object, style_for, table

if TYPE_CHECKING:
    from ...api.segue import Segue
    from ...api.session import Session
    from ...services.sessions.repository import Saved
    from ...services.workspace.data_folder import DataFolder
    from ...services.workspace.workspace import Workspace

T = TypeVar("T")
UNTRUSTED = "segue.toml in this project is not trusted and was ignored: review it, then run `segue trust`"


MAY_MAKE_A_STORE = ("start", "run", "import", "remember", "sync", "mcp")
"""The commands that put something into a store which may not be there yet."""


class CommandContext:
    """What one run of a command works with."""

    def __init__(self, command: str, args: Any, behind: list[str]) -> None:
        self.command = command
        self.args = args
        self.behind = behind
        """The words after ``--``."""
        self.json: bool = args.json
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        self.environment = environment_now()
        if args.home:
            self.environment["SEGUE_HOME"] = args.home
        if args.store:
            self.environment["SEGUE_STORE"] = args.store
        self.style: Style = style_for(self.out, self.environment, no_color=args.no_color)
        self._segue: Segue | None = None

    def __enter__(self) -> CommandContext:
        return self

    def __exit__(self, *_: object) -> None:
        if self._segue is not None:
            self._segue.close()

    # -- sessions ------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The folder that the command works in."""
        try:
            folder = Path(self.args.folder).expanduser() if self.args.folder else Path.cwd()
        except FileNotFoundError as fault:
            hint = "change to a folder that exists, or name one with -C"
            raise UsageError("the current folder no longer exists", hint=hint) from fault
        if not folder.is_dir():
            raise UsageError(f"{self.args.folder} is not a folder", hint="name an existing folder with -C")
        return folder.resolve()

    @property
    def segue(self) -> Segue:
        """Segue, opened when it is first needed."""
        if self._segue is None:
            self._segue = self.open()
        return self._segue

    def open(self) -> Segue:
        """Open the store as the options say."""
        from ...api.for_command import segue_for_command

        self.check_store()
        opened = segue_for_command(self.folder, self.environment, self.args.actor or "")
        self._report_brought(opened.workspace)
        tree = opened.workspace.working_tree
        if self.command != "trust" and tree.project_file.is_file() and not tree.trusted():
            self.warn(UNTRUSTED)
        return opened

    def check_store(self) -> None:
        """Raise UsageError for the address of a file that is not there, unless the command may make a store:
        a mistyped address is not the place for a new one."""
        where = self.environment.get("SEGUE_STORE", "")
        if not where.startswith("sqlite:///"):
            return
        home = self.data_folder().for_store(where)
        if home.has_store() or home.damage():
            return
        check = "check the address after --store, or SEGUE_STORE"
        folder = home.database.parent
        if not folder.is_dir():
            from shlex import quote

            hint = f"{check}; or make the folder first: mkdir -p {quote(str(folder))}"
            raise UsageError(f"there is no folder {folder} for a store", hint=hint)
        if self.args.store and self.command not in MAY_MAKE_A_STORE:
            hint = f"{check}; `segue start` and `segue import` make a store"
            raise UsageError(f"there is no store at {home.database}", hint=hint)

    def _report_brought(self, workspace: Workspace) -> None:
        """Report what had waited for the server, and what became of it."""
        brought = workspace.brought
        if brought is None:
            return
        if brought.saved:
            self.warn(f"saved {count(brought.saved, 'pending change')}")
        for text in brought.refused:
            self.warn(f"a pending change was refused, and is recorded in the session as an error: {text}")

    def look(self) -> Segue:
        """The same for a command that only reads: where nothing is stored yet, no store is created."""
        if self._segue is None:
            from ...api.for_command import segue_for_looking

            self.check_store()
            self._segue = segue_for_looking(self.folder, self.environment) or self.open()
        return self._segue

    def look_at_standby(self) -> Segue:
        """Segue on the standby that the settings name for looking, if it has what this machine wrote; else on
        the store itself."""
        if self._segue is None:
            from ...api.for_command import segue_on_standby

            self._segue = segue_on_standby(self.folder, self.environment)
        return self.segue

    def looked(self, ask: Callable[[Segue], T], instead: str) -> T:
        """The result of ``ask`` for a command that only reads. If the store cannot be read, which may show
        only while it is used, ``ask`` is called again without it, and a warning says what is used
        ``instead``; if that gives None, the error is raised."""
        from ...errors import AccessError, DamagedError, StoreError

        try:
            return ask(self.look())
        except (AccessError, DamagedError, StoreError) as fault:
            from ...api.segue import Segue
            from ...services.workspace.open_workspace import without_store

            if self._segue is not None:
                self._segue.close()
            self._segue = Segue.of(without_store(self.folder, self.environment))
            found = ask(self._segue)
            if found is None:
                raise
            self.warn(
                f"the store cannot be read ({fault.message}); using {instead} instead; see `segue doctor`"
            )
            return found

    def session(self) -> Session:
        """The session that the command is about."""
        return self.segue.session(self.session_id())

    def session_id(self) -> str:
        """The id of the session that was named; empty if none was."""
        given, flag = getattr(self.args, "id", None) or "", getattr(self.args, "session", None) or ""
        if given and flag and given != flag:
            raise UsageError(f"two different sessions are named: {given} and {flag}", hint="name only one")
        if given == "" and getattr(self.args, "id", None) is not None:
            raise UsageError("the session's id is empty", hint="`segue list` shows ids")
        return str(given or flag)

    def needed(self, name: str, what: str) -> str:
        """An argument that this action needs. Raises UsageError if it is missing."""
        given = getattr(self.args, name)
        if not given:
            hint = f"segue {self.command} {self.args.action} {name.upper()}"
            raise UsageError(f"which {what}?", hint=hint)
        return str(given)

    # -- without a store ---------------------------------------------------------------------

    def data_folder(self) -> DataFolder:
        """The data folder, which may hold no store, or a damaged one."""
        from ...services.workspace.data_folder import DataFolder
        from ...settings import data_folder

        return DataFolder(data_folder(self.environment))

    def own_settings(self) -> Settings:
        """The settings without the project's file, because only the store knows whether that is trusted."""
        from ...settings import resolve, user_file

        return resolve(
            flags={"actor": self.args.actor or None}, environment=self.environment,
            user_config=user_file(self.environment),
        )  # fmt: skip

    def check_paused(self) -> None:
        """Raise Paused if there is a PAUSE file in the data folder or in the project; the store is not
        asked."""
        from ...services.workspace.working_tree import check_pause

        check_pause(self.folder, self.data_folder().path, self.own_settings().text("pause_file"))

    def write_file(self, name: str, body: bytes) -> None:
        """Write a file that the user named; a new one is readable by its owner only. Raises Paused."""
        import os

        self.segue.workspace.pause_file.check()
        try:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
        except OSError as fault:
            raise of_os(fault, name) from fault

    # -- saying --------------------------------------------------------------------------------

    def say(self, *lines: str) -> None:
        """Print lines for people; nothing if JSON was asked for."""
        if not self.json:
            for line in lines:
                for part in fitted(line, self.style):
                    write(self.out, part)

    def emit(self, value: Any) -> None:
        """Print a value as JSON, if JSON was asked for."""
        if self.json:
            write(self.out, as_json(value))

    def report(self, value: Any, *lines: str, code: int = 0) -> int:
        """Print a value for programs or lines for people, and return the exit code of the command."""
        self.say(*lines)
        self.emit(value)
        return code

    def listed(
        self, value: Any, head: Sequence[str], rows: Iterable[Sequence[str]], empty: str, *, stretch: int = -1
    ) -> int:
        """Print a value for programs or, for people, a table of it, or a sentence if it is empty."""
        if self.json or not value:
            return self.report(value, empty)
        self.say(*table(head, rows, self.style, stretch=stretch))
        return 0

    def warn_all(self, texts: Iterable[str]) -> None:
        """Print several warnings."""
        for text in texts:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a warning to standard error."""
        style = style_for(self.err, self.environment, no_color=self.args.no_color)
        for part in fitted(f"segue: {style.paint('warning:', 'yellow')} {safe(text)}", style):
            write(self.err, part)

    def pending(self, saved: Saved, what: str, **more: Any) -> int:
        """Report that a change waits until the server takes it: it is kept here, not saved there."""
        why = getattr(saved, "why", "")
        away = "the server cannot be reached; the next command that reaches it will save what is pending"
        full = f"{why}. It waits on this machine; the next command after there is room will save it"
        return self.report(saved_object(saved, **more), f"pending: {what}", full if why else away)

    def saved(self, saved: Saved, *lines: str, **more: Any) -> int:
        """Report that a change is durable, with its warnings."""
        self.warn_all(saved.warnings)
        return self.report(saved_object(saved, **more), *lines)


def write(stream: TextIO, text: str) -> None:
    """Print a line; characters that the stream cannot encode are replaced."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if not text.isascii():
        text = text.encode(encoding, "replace").decode(encoding)
    try:
        print(text, file=stream)
    except BrokenPipeError:
        raise
    except OSError as fault:
        from .faults import OutputFailed

        raise OutputFailed(fault) from fault


def write_bytes(stream: TextIO, body: bytes) -> None:
    """Print bytes as they are, or as text if the stream accepts only that."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(body.decode())
        return
    stream.flush()
    buffer.write(body)
    buffer.flush()


def stdin_text() -> str:
    """All of standard input, as text."""
    return _input().decode("utf-8", "replace")


def _input() -> bytes:
    if sys.stdin is None:  # the parent process closed it
        raise UsageError("there is no standard input to read", hint="give the text itself, or a file")
    buffer = getattr(sys.stdin, "buffer", None)
    return bytes(buffer.read()) if buffer is not None else sys.stdin.read().encode()


def text_or_stdin(text: str) -> str:
    """The text, or standard input for ``-``."""
    return stdin_text() if text == "-" else text


def read_file(name: str) -> bytes:
    """A file's bytes, or standard input for ``-``."""
    if name == "-":
        return _input()
    try:
        with open_given_file(name) as file:
            return file.read()
    except OSError as fault:
        raise of_os(fault, name) from fault


def facts(pairs: list[str]) -> dict[str, Any]:
    """The facts in ``--meta KEY=VALUE``; a value that is JSON is parsed, any other is text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{pair[:60]!r} is not KEY=VALUE", hint="for example --meta area=auth")
        try:
            found[key] = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found[key] = text
    return found


def can_ask() -> bool:
    """Whether somebody sits at a terminal and can be asked."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(question: str) -> bool:
    """Ask for confirmation on a terminal; False if there is none."""
    if not can_ask():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
