"""What a scripted model can do in a turn, in no agent's dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from segue.core.base.values import Value


class Step(Value):
    """One step of a turn."""


class Say(Step):
    """A text to the user. A turn of texts alone ends the agent's turn."""

    text: str


class Think(Step):
    """A thought, where the protocol has them."""

    text: str


class Todos(Step):
    """The agent's own list of things to do: (text, ``pending``, ``in_progress`` or ``completed``)."""

    items: tuple[tuple[str, str], ...]


class Write(Step):
    """A new file, by its path in the working folder."""

    path: str
    content: str


class Edit(Step):
    """Whole lines of a file become others."""

    path: str
    old: str
    new: str


class Read(Step):
    """Look at a file."""

    path: str


class Run(Step):
    """A command in a shell; ``wait_seconds``: how long the agent waits for it, where it can be told."""

    command: str
    wait_seconds: float = 60.0


class Mcp(Step):
    """A tool of an MCP server."""

    tool: str
    arguments: Mapping[str, Any] = {}
    server: str = "segue"


class Delegate(Step):
    """Hand a prompt to a sub-agent; name a script in it."""

    prompt: str


class Raw(Step):
    """A tool by the name that the agent gives it."""

    tool: str
    arguments: Mapping[str, Any] = {}


class Fault(Step):
    """An HTTP error instead of an answer, the first ``times`` times that this turn is asked for; 0: each."""

    status: int
    message: str
    kind: str = ""  # the protocol's word for it; "" the usual one of this status
    code: str = ""
    times: int = 0
    retry_after_seconds: int = 0


class Stall(Step):
    """Send nothing for so long in the middle of the answer."""

    seconds: float = 600.0


class Used(Step):
    """How much of the window this turn is said to have used."""

    tokens: int


Turns = Sequence[Sequence[Step]]


class Script(Value):
    """Turns under a name of letters, digits, ``-`` and ``_``. After the last one the model says so."""

    name: str
    turns: Turns

    def turn(self, number: int) -> Sequence[Step]:
        return self.turns[number] if number < len(self.turns) else (Say("The script is over."),)


OVERFLOW = "prompt is too long: 210000 tokens > 200000 maximum"

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def overflow() -> Fault:
    """The conversation no longer fits the window."""
    return Fault(400, OVERFLOW, code="context_length_exceeded")


def kind_of(fault: Fault) -> str:
    return fault.kind or KINDS.get(fault.status, "api_error")
