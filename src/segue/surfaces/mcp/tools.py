"""The twelve tools as a model sees them: names, descriptions and arguments.

The list is sent with every conversation, so it is kept small; a test measures it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.base.values import Value
from ...core.search.kinds import GROUPS
from ...errors import UsageError

Arguments = Mapping[str, Any]
BRIEF_URI = "segue://brief"


class Tool(Value):
    """A tool: what it is called, what it is for, and what it takes."""

    name: str
    about: str
    takes: dict[str, Any]
    """Its arguments, as properties of a JSON schema."""
    needs: tuple[str, ...] = ()
    """Arguments that must be given."""

    @property
    def schema(self) -> dict[str, Any]:
        needed = {"required": list(self.needs)} if self.needs else {}
        return {"type": "object", "properties": self.takes, **needed}


TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
PAIRS = {"type": "object"}
"""A text for each name; the descriptions say which."""
FLAG = {"type": "boolean"}


ACTIONS = {"type": "string", "enum": ["list", "show", "add", "begin", "block", "fail", "verify"]}
CORRECTIONS = {"type": "string", "enum": ["list", "done", "drop", "reopen", "edit", "add"]}
RECOVERY = {"type": "string", "enum": ["prepare", "bootstrap", "pressure", "check", "habits", "stats"]}
QUESTIONS = {"type": "string", "enum": ["central", "users", "uses", "affected", "tests"]}
TOOLS = (
    Tool(
        "resume",
        "Where the work stands; call it first. budget: tokens.",
        {"budget": TEXT},
    ),
    Tool(
        "checkpoint",
        "Save progress after each step. decide: choice to reason; answer: question to text; "
        "solved: error to fix; thread: name to state; name: a rewind point.",
        {"done": TEXTS, "begin": TEXTS, "note": TEXT, "decide": PAIRS, "ask": TEXTS, "answer": PAIRS,
         "learn": TEXTS, "error": TEXTS, "solved": PAIRS, "thread": PAIRS, "focus": TEXT, "summary": TEXT,
         "name": TEXT, "new": FLAG},
    ),
    Tool(
        "plan",
        "Show or change the plan. goal begins a session; block, drop: item to reason.",
        {"goal": TEXT, "add": TEXTS, "begin": TEXTS, "done": TEXTS, "block": PAIRS, "unblock": TEXTS,
         "drop": PAIRS, "stay": FLAG, "new": FLAG},
    ),
    Tool(
        "feature",
        "Success criteria. add takes checks (commands); only verify, which runs them, proves.",
        {"action": ACTIONS, "name": TEXT, "text": TEXT, "steps": TEXTS, "checks": TEXTS, "covers": TEXTS},
        ("action",),
    ),
    Tool(
        "ledger",
        "What the user asked, ruled, chose and holds. Correct only on the user's word. kind: rule, item …",
        {"action": CORRECTIONS, "ids": TEXTS, "kind": TEXT, "text": TEXT, "all": FLAG},
        ("action",),
    ),
    Tool(
        "remember",
        "Keep a lesson for later sessions.",
        {"text": TEXT, "type": TEXT, "scope": TEXT},
        ("text",),
    ),
    Tool(
        "recall",
        "Find lessons of earlier sessions.",
        {"query": TEXT, "type": TEXT, "limit": {"type": "integer"}},
        ("query",),
    ),
    Tool(
        "search",
        f"What earlier runs said, did, decided. in: {' '.join(GROUPS)}. step: show a handle.",
        {"query": TEXT, "in": TEXT, "failed": FLAG, "step": TEXT},
    ),
    Tool(
        "map",
        "Code: central for a task or this work; users, uses, affected, tests of a name or of changes.",
        {"question": QUESTIONS, "name": TEXT, "task": TEXT, "tokens": {"type": "integer"}},
    ),
    Tool(
        "since",
        "What changed here since the last work.",
        {"from": TEXT},
    ),
    Tool(
        "handoff",
        "Pass this session to another agent.",
        {"to": TEXT, "note": TEXT},
        ("to",),
    ),
    Tool(
        "recovery",
        "prepare a manifest of the work; bootstrap from one; pressure: how full the window is; "
        "check for a broken handover; habits: what comes next.",
        {"action": RECOVERY, "reason": TEXT, "transcript": TEXT, "agent": TEXT, "manifest": TEXT,
         "checks": FLAG, "tokens": {"type": "integer"}},
        ("action",),
    ),
)  # fmt: skip
BY_NAME = {tool.name: tool for tool in TOOLS}

INSTRUCTIONS = (
    "Segue keeps this work across crashes, full windows and other agents. Call resume first, "
    "checkpoint after each step, feature verify before saying it is done."
)


def listed() -> list[dict[str, Any]]:
    """The tools as the protocol lists them."""
    return [{"name": one.name, "description": one.about, "inputSchema": one.schema} for one in TOOLS]


def tool_of(name: str) -> Tool:
    """A tool by its name. Raises UsageError if there is none."""
    found = BY_NAME.get(name)
    if found is None:
        raise UsageError(f"there is no tool {name}", hint=f"the tools are {', '.join(BY_NAME)}")
    return found


def checked(tool: Tool, given: Arguments) -> Arguments:
    """The arguments, if they fit the schema. Raises UsageError otherwise."""
    for name in tool.needs:
        if given.get(name) in (None, ""):
            raise UsageError(f"{tool.name} needs {name}", hint=f"it takes {', '.join(tool.takes)}")
    for name, value in given.items():
        if name not in tool.takes:
            known = ", ".join(tool.takes) or "nothing"
            raise UsageError(f"{tool.name} takes no {name}", hint=f"it takes {known}")
        if value is not None and not _fits(value, tool.takes[name]):
            wanted = tool.takes[name]
            raise UsageError(f"{name} of {tool.name} has the wrong type", hint=f"it is {_wanted(wanted)}")
    return {name: value for name, value in given.items() if value is not None}


def _wanted(schema: Mapping[str, Any]) -> str:
    """What a value should be, in words, with an example where a shape is meant."""
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    shapes = {
        "array": 'a list of texts, as in ["user model"]',
        "object": 'an object of texts, as in {"HS256": "one issuer only"}',
    }
    return shapes.get(schema["type"], f"of type {schema['type']}")


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    match schema["type"]:
        case "string":
            return isinstance(value, str) and value in schema.get("enum", (value,))
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
