"""The tools for an agent on this machine.

Calls of one agent run one after the other. Which agent calls is determined once, as soon as that is possible.
Where Segue is off, tools that only read show nothing, and the others store nothing and say so.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.base.values import Value
from ...errors import RefusedError, SegueError, UnknownSession, of_os, unwrapped
from ...settings import data_folder, environment_now
from ..render import as_json
from .operations import ToolCall, begin, perform, stores_nothing
from .tools import Arguments, Tool, checked, tool_of

if TYPE_CHECKING:
    from ...api.segue import Segue
    from ...services.workspace.data_folder import DataFolder

ACTOR = "agent"
"""The actor if it is not known which agent calls."""
NOTHING_KNOWN = "Nothing is known about earlier work here."


class ToolOutcome(Value):
    """The outcome of a call: an object as JSON text, and whether it is an error."""

    text: str
    failed: bool = False

    @property
    def value(self) -> Any:
        return json.loads(self.text)


class Calls:
    """The tools, for one agent on this machine."""

    def __init__(
        self, folder: Path | None = None, environment: Mapping[str, str] | None = None, session: str = ""
    ) -> None:
        """By default each call uses the folder and the environment that this process has then."""
        self._folder_given = folder
        self._environment_given = environment
        self._session = session
        self._agent = ""
        self._lock = threading.Lock()

    @property
    def _folder(self) -> Path:
        return self._folder_given or Path.cwd()

    @property
    def _environment(self) -> dict[str, str]:
        return dict(self._environment_given) if self._environment_given is not None else environment_now()

    def call(self, name: str, arguments: Arguments) -> ToolOutcome:
        """Run a tool; an error is an outcome, too."""
        with self._lock:
            return outcome_of(self._call, name, arguments)

    def _call(self, tool: Tool, given: Arguments) -> ToolOutcome:
        looks = stores_nothing(tool, given)
        off = self._off()
        if off:
            return _answer_when_off(off, looks or tool.name == "resume")
        with self._opened(self._agent or ACTOR, looks=looks) as segue:
            call = ToolCall(segue, self._session, given)
            try:
                return ToolOutcome(as_json(perform(tool, call)))
            except UnknownSession:
                if tool.name == "plan" and "goal" in given:
                    begun = begin(call)
                    self._session = str(begun["session"])
                    return ToolOutcome(as_json(begun))
                if tool.name != "resume":
                    raise
        return ToolOutcome(as_json({"brief": self._brief()}))  # no session is known, but perhaps a run

    def brief(self) -> str:
        """The brief as text, for prompts and resources."""
        with self._lock:
            off = self._off()
            if off:
                return f"Segue is off {off}: nothing is shown."
            try:
                return self._brief() + "\n"
            except (SegueError, OSError):
                return NOTHING_KNOWN

    def _brief(self) -> str:
        from ...services.brief.project_brief import brief_here, told_bytes, workspace_to_look

        with workspace_to_look(self._folder, self._environment) as workspace:
            return brief_here(workspace, budget=told_bytes(workspace))

    def _opened(self, actor: str = "", *, looks: bool) -> Segue:
        """Segue for the caller; where nothing is stored yet, a call that only reads creates no store."""
        from ...api.for_command import segue_for_command, segue_for_looking

        folder, environment = self._folder, self._environment
        found = segue_for_looking(folder, environment) if looks else None
        return found or segue_for_command(folder, environment, actor)

    def _off(self) -> str:
        """Where Segue is off, in words; empty if it is on. Who calls, which needs a store, is determined only
        if Segue is not off for the whole folder."""
        from ...services.workspace.data_folder import DataFolder
        from ...services.workspace.on_off import is_off

        home, folder = DataFolder(data_folder(self._environment)), self._folder
        if is_off(home, folder):
            return f"in {folder}"
        is_known = self._session and self._agent
        if is_known and not _sessions_off(home):
            return ""
        with self._opened(looks=True) as segue:
            if not is_known:
                self._find_caller(segue)
            if not _sessions_off(home):
                return ""
            try:
                session = segue.session(self._session).id
            except UnknownSession:
                return ""
        return f"for session {session}" if is_off(home, folder, session) else ""

    def _find_caller(self, segue: Segue) -> None:
        """Determine which agent calls, and for which session, unless that was given."""
        from ...services.runs.caller import find_caller

        who = find_caller(segue.workspace)
        self._agent = self._agent or who.agent
        self._session = self._session or who.session


def _sessions_off(home: DataFolder) -> bool:
    return (home.path / "off" / "session").exists()


def _answer_when_off(off: str, looks: bool) -> ToolOutcome:
    if looks:
        return ToolOutcome(json.dumps({"off": True, "message": f"Segue is off {off}: nothing is shown"}))
    raise RefusedError(
        f"Segue is off {off}: nothing was stored",
        hint="continue without it; only the user decides whether it is on",
    )


def outcome_of(
    call: Callable[[Tool, Arguments], ToolOutcome], name: str, arguments: Arguments
) -> ToolOutcome:
    """The outcome of a tool call; an error is an outcome, too."""
    try:
        tool = tool_of(name)
        return call(tool, checked(tool, arguments))
    except Exception as fault:
        fault = unwrapped(fault)
        known = of_os(fault) if isinstance(fault, OSError) else fault
        if isinstance(known, SegueError):
            return _failed(known.code, known.message, known.hint, retryable=known.retryable, **known.facts())
        what = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
        return _failed("unforeseen", f"unexpected error: {what}", "see `segue doctor`")


def _failed(code: str, message: str, hint: str, **facts: Any) -> ToolOutcome:
    error = {"code": code, "message": message, "hint": hint, **facts}
    return ToolOutcome(as_json({"error": error}), failed=True)
