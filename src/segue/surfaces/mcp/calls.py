"""A call of a tool: the command that it is, run here, and its JSON.

Calls of one agent run one after the other; what a command says goes to a writer of its own, and what it would
read from standard input is empty. Who asks is found out once, as soon as it can be told. Where Segue is off,
tools that look tell nothing of the work, and the others store nothing and say so.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.base.values import Value
from ...errors import RefusedError, SegueError, UnknownSession, of_os
from ...settings import data_folder
from ..cli.command import find
from ..cli.context import CommandContext
from ..cli.parser import Parser
from ..cli.run_in_process import run
from ..cli.table import TABLE
from .tools import BY_NAME, Arguments, Tool, checked, new_session

ACTOR = "agent"
BRIEF_URI = "segue://brief"
LOOKING = ("resume", "brief", "status", "recall", "since")
"""Commands that store nothing; of `feature` it is two of its actions."""


class ToolOutcome(Value):
    """What a call gave: the text of the command's JSON, and whether it is an error."""

    text: str
    failed: bool = False

    @property
    def value(self) -> Any:
        return json.loads(self.text)


class Calls:
    """The tools, for one agent. ``options`` go before each command: folder, data folder, session."""

    def __init__(self, options: Sequence[str] = (), session: str = "") -> None:
        self._options = list(options)
        self._session = session
        self._agent = ""
        self._lock = threading.Lock()

    def call(self, name: str, arguments: Arguments) -> ToolOutcome:
        """Run a tool; what goes wrong is an outcome too."""
        tool = BY_NAME.get(name)
        if tool is None:
            return _failed("usage", f"there is no tool {name}", f"there are {', '.join(BY_NAME)}")
        with self._lock:
            try:
                return self._call(tool, checked(tool, arguments))
            except SegueError as fault:
                return failed(fault)

    def _call(self, tool: Tool, given: Arguments) -> ToolOutcome:
        words = tool.words(given)
        off = self._off()
        if not off:
            self._ask()
            off = self._off(asked=True)
        if off and (words[0] in LOOKING or given.get("action") in ("list", "show")):
            return ToolOutcome(json.dumps({"off": True, "message": f"Segue is off {off}: it tells nothing"}))
        if off:
            raise RefusedError(
                f"Segue is off {off}: nothing was stored",
                hint="go on without it; whether it is on is for the user to say",
            )
        outcome = self._run(words, tool)
        if not outcome.failed or _code(outcome) != UnknownSession.code:
            return outcome
        if tool.name == "resume":  # nothing was declared; an agent may have left a run all the same
            return self._run(["brief"], tool)
        if tool.name == "plan" and "goal" in given:
            outcome = self._run(new_session(given), tool)
            self._session = "" if outcome.failed else str(outcome.value["id"])
        return outcome

    def brief(self) -> str:
        """The brief as text, for prompts and resources."""
        with self._lock:
            off = self._off() or self._off(asked=True)
            if off:
                return f"Segue is off {off}: it tells nothing."
            out = io.StringIO()
            try:
                run([*self._options, "brief"], out=out, err=io.StringIO())
            except (SegueError, OSError):
                return "Nothing is known of earlier work here."
        return out.getvalue()

    def _ask(self) -> None:
        """Find out which session is meant, unless it was said."""
        if self._session and self._agent:
            return
        from ...services.runs.caller import find_caller

        with self._context() as context:
            who = find_caller(context.look().workspace)
        self._agent = self._agent or who.agent
        self._session = self._session or who.session

    def _off(self, *, asked: bool = False) -> str:
        """Where Segue is off; empty where it is on. Only once it is known who asks, for a session, too."""
        from ...services.workspace.data_folder import DataFolder
        from ...services.workspace.on_off import is_off

        with self._context() as context:
            home, folder = DataFolder(data_folder(context.environment)), context.folder
            if is_off(home, folder):
                return f"in {folder}"
            if not asked or not (home.path / "off" / "session").exists():
                return ""
            try:
                session = context.look().session(self._session).id
            except UnknownSession:
                return ""
            return f"for session {session}" if is_off(home, folder, session) else ""

    def _context(self) -> CommandContext:
        status = find("status")
        return CommandContext(status, Parser(status).read(self._options), [])

    def _run(self, words: list[str], tool: Tool) -> ToolOutcome:
        meant = self._session if tool.session and words[0] in TABLE and find(words[0]).session else ""
        session = [f"--session={meant}"] if meant else []
        options = [*self._options, "--json", f"--actor={self._agent or ACTOR}"]
        out = io.StringIO()
        try:
            run([*options, words[0], *session, *words[1:]], out=out, err=io.StringIO())
        except SegueError as fault:
            return failed(fault)
        except OSError as fault:
            return failed(of_os(fault))
        except Exception as fault:
            return unforeseen(fault)
        return ToolOutcome(out.getvalue().rstrip("\n"))


def _code(outcome: ToolOutcome) -> str:
    value = outcome.value
    return str(value["error"]["code"]) if isinstance(value, Mapping) and "error" in value else ""


def failed(fault: SegueError) -> ToolOutcome:
    """One of our errors as an outcome."""
    return _failed(fault.code, fault.message, fault.hint, retryable=fault.retryable, **fault.facts())


def unforeseen(fault: Exception) -> ToolOutcome:
    """A fault of ours as an outcome."""
    told = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    return _failed("unforeseen", f"this should not have happened: {told}", "see `segue doctor`")


def _failed(code: str, message: str, hint: str, **facts: Any) -> ToolOutcome:
    error = {"code": code, "message": message, "hint": hint, **facts}
    return ToolOutcome(json.dumps({"error": error}, indent=2, default=str), failed=True)
