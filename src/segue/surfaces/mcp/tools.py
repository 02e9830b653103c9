"""The eight tools: what a model is told of them, and the command that each one is.

The list is sent with every conversation, so it is kept small; a test measures it. Texts are given to
commands as ``--option=text`` or behind ``--``, so that none of them is taken for an option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...core.base.values import Value
from ...errors import UsageError

Arguments = Mapping[str, Any]
Words = list[str]


class Tool(Value):
    """A tool and its command."""

    name: str
    about: str
    takes: dict[str, Any]  # properties of the schema
    words: Callable[[Arguments], Words]
    needs: tuple[str, ...] = ()
    session: bool = True  # whether the command takes --session

    @property
    def schema(self) -> dict[str, Any]:
        needed = {"required": list(self.needs)} if self.needs else {}
        return {"type": "object", "properties": self.takes, **needed}


TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
PAIRS = {"type": "object", "additionalProperties": TEXT}


def _one_of(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def _options(given: Arguments, *names: str) -> Words:
    """``--name=text`` for each text; what is a list is repeated."""
    words: Words = []
    for name in names:
        value = given.get(name)
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            words.append(f"--{name.replace('_', '-')}={one}")
    return words


def _reasons(given: Arguments, name: str, more: str) -> Words:
    """``--block=item --reason=why`` for each pair."""
    words: Words = []
    for item, why in (given.get(name) or {}).items():
        words += [f"--{name}={item}", *([f"--{more}={why}"] if why or name == "block" else [])]
    return words


def _checkpoint(given: Arguments) -> Words:
    plain = ("done", "begin", "note", "ask", "learn", "error", "focus", "summary", "name")
    return ["checkpoint", *_options(given, *plain), *_reasons(given, "decide", "why")]


def _plan(given: Arguments) -> Words:
    changes = [
        *_options(given, "goal", "add", "done", "begin", "unblock"),
        *_reasons(given, "block", "reason"),
        *_reasons(given, "drop", "reason"),
    ]
    return ["checkpoint", *changes] if changes else ["status"]


def new_session(given: Arguments) -> Words:
    """The command of a plan with a goal where there is no session yet."""
    items = [f"--item={one}" for one in given.get("add") or ()]
    return ["start", *items, "--", str(given["goal"])]


def _feature(given: Arguments) -> Words:
    action, name = str(given["action"]), given.get("name")
    if action == "verify":
        return ["verify", *([f"--feature={name}"] if name else [])]
    repeated = {"step": given.get("steps"), "check": given.get("checks"), "covers": given.get("covers")}
    positional = [str(one) for one in (name, given.get("text")) if one]
    return ["feature", *_options(repeated, *repeated), "--", action, *positional]


def _recall(given: Arguments) -> Words:
    return ["recall", *_options(given, "type", "limit"), "--", str(given["query"])]


TOOLS = (
    Tool(
        "resume",
        "Where the work stands and what changed since. Call it first. budget (tokens) loads more context.",
        {"budget": TEXT},
        lambda given: ["resume", *_options(given, "budget")],
    ),
    Tool(
        "checkpoint",
        "Save progress durably after each step. decide: choice to reason; name: a point to rewind to.",
        {"done": TEXTS, "begin": TEXTS, "note": TEXT, "decide": PAIRS, "ask": TEXTS, "learn": TEXTS,
         "error": TEXTS, "focus": TEXT, "summary": TEXT, "name": TEXT},
        _checkpoint,
    ),
    Tool(
        "plan",
        "Show (no arguments) or change the plan. goal begins a session if none; block, drop: item to reason.",
        {"goal": TEXT, "add": TEXTS, "begin": TEXTS, "done": TEXTS, "block": PAIRS, "unblock": TEXTS,
         "drop": PAIRS},
        _plan,
    ),
    Tool(
        "feature",
        "Success criteria. add: name, text, checks (commands). verify runs them: only that proves passing.",
        {"action": _one_of("list", "show", "add", "begin", "block", "fail", "verify"), "name": TEXT,
         "text": TEXT, "steps": TEXTS, "checks": TEXTS, "covers": TEXTS},
        _feature, ("action",),
    ),
    Tool(
        "remember",
        "Keep a lesson for later sessions.",
        {"text": TEXT, "type": TEXT, "scope": TEXT},
        lambda given: ["remember", *_options(given, "type", "scope"), "--", str(given["text"])], ("text",),
    ),
    Tool(
        "recall",
        "Search lessons of earlier sessions.",
        {"query": TEXT, "type": TEXT, "limit": {"type": "integer"}},
        _recall, ("query",), session=False,
    ),
    Tool(
        "since",
        "What changed in the project since this session was last worked on.",
        {"from": TEXT},
        lambda given: ["since", *_options(given, "from")],
    ),
    Tool(
        "handoff",
        "Pass this session to another agent.",
        {"to": TEXT, "note": TEXT},
        lambda given: ["handoff", *_options(given, "to", "note")], ("to",),
    ),
)  # fmt: skip
BY_NAME = {tool.name: tool for tool in TOOLS}

INSTRUCTIONS = (
    "Segue keeps this work across crashes, full windows and other agents. Call resume at the start, "
    "checkpoint after each finished step, and feature verify before saying that something is done."
)


def listed() -> list[dict[str, Any]]:
    """The tools as the protocol lists them."""
    return [{"name": one.name, "description": one.about, "inputSchema": one.schema} for one in TOOLS]


def checked(tool: Tool, given: Arguments) -> Arguments:
    """The arguments, if they are what the schema says; UsageError otherwise."""
    for name in tool.needs:
        if given.get(name) in (None, ""):
            raise UsageError(f"{tool.name} needs {name}", hint=f"it takes {', '.join(tool.takes)}")
    for name, value in given.items():
        if name not in tool.takes:
            known = ", ".join(tool.takes) or "nothing"
            raise UsageError(f"{tool.name} takes no {name}", hint=f"it takes {known}")
        if value is not None and not _fits(value, tool.takes[name]):
            wanted = tool.takes[name]
            one_of = f"one of {', '.join(wanted['enum'])}" if "enum" in wanted else str(wanted["type"])
            raise UsageError(f"{name} of {tool.name} is of a wrong kind", hint=f"it is {one_of}")
    return {name: value for name, value in given.items() if value is not None}


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    match schema["type"]:
        case "string":
            return isinstance(value, str) and value in schema.get("enum", (value,))
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
