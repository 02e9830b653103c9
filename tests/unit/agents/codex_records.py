"""Records as Codex has written them, for its tests; made by hand."""

from __future__ import annotations

import json
from typing import Any

from segue.agents import agent
from segue.core.runs.steps import (
    Call,
    Change,
    Compact,
    End,
    Fault,
    Interrupt,
    Model,
    Plan,
    PlanItem,
    Prompt,
    Report,
    Result,
    Say,
    Settled,
    Start,
    Step,
    Thought,
    Usage,
)

CODEX = agent("codex")
AT = 1_700_000_000.0
STAMP = "2023-11-14T22:13:20.000Z"
NATIVE = "018bcfe5-6800-7000-8000-000000000001"  # a UUID v7 of that moment
EARLIER = "018bcfe5-0000-7000-8000-000000000002"
LATER = "018bcfe5-6900-7000-8000-000000000003"
PATCH = (
    "*** Begin Patch\n*** Update File: shop/cart.py\n@@\n-a\n+b\n"
    "*** Add File: shop/tax.py\n+c\n*** End Patch\n"
)
CHANGES = (Change("shop/cart.py", "edit", "a", "b"), Change("shop/tax.py", "create", "", "c"))


def line(kind: str, payload: Any, stamp: str = STAMP, **more: Any) -> bytes:
    return json.dumps({"timestamp": stamp, **more, "type": kind, "payload": payload}).encode()


def item(kind: str, /, **fields: Any) -> bytes:
    return line("response_item", {"type": kind, **fields})


def event(kind: str, /, **fields: Any) -> bytes:
    return line("event_msg", {"type": kind, **fields})


def done(kind: str, /, **fields: Any) -> bytes:
    return event("item_completed", turn_id="t", item={"type": kind, **fields})


def user(*texts: str, kinds: list[str] | None = None) -> bytes:
    about = {"content_item_kinds": kinds} if kinds else None
    content = [{"type": "input_text", "text": said} for said in texts]
    return item("message", role="user", content=content, internal_chat_message_metadata_passthrough=about)


def assistant(said: str) -> bytes:
    return item("message", role="assistant", content=[{"type": "output_text", "text": said}])


def function(name: str, arguments: Any, id: str = "c1", **more: Any) -> bytes:
    return item("function_call", name=name, arguments=json.dumps(arguments), call_id=id, **more)


def output(said: Any, id: str = "c1") -> bytes:
    return item("function_call_output", call_id=id, output=said)


def script(source: str, id: str = "c1") -> bytes:
    return item("custom_tool_call", name="exec", namespace="functions", input=source, call_id=id)


def meta(**fields: Any) -> bytes:
    return line("session_meta", {"id": NATIVE, "cwd": "/src/shop", "cli_version": "0.166.0", **fields})


def steps(*records: bytes) -> list[Step]:
    reader = CODEX.reader()
    return [step for record in records for step in reader.read(record)]


def texts(found: list[Step], kind: type) -> list[str]:
    return [step.text for step in found if isinstance(step, kind) and hasattr(step, "text")]


STORY: list[Step] = [
    Start(AT, "start", NATIVE, "/src/shop", "tax", "abc123", "0.166.0"),
    Model(AT + 1, "gpt-5.5"),
    Prompt(AT + 2, "Add a tax to the cart, 19 % “by default”"),
    Usage(AT + 3, "9000/9000", 9000, 120, 258_400, input=1000, cache_read=8000),
    Say(AT + 4, "I will begin with the test."),
    Call(AT + 5, "c1", "update_plan", "plan", text="Test\nin_progress\nCode\npending"),
    Plan(AT + 5, (PlanItem("Test", "active"), PlanItem("Code"))),
    Result(AT + 6, "c1", True, None, "Plan updated"),
    Thought(AT + 6, "**Writing the patch**"),
    Call(AT + 7, "c2", "apply_patch", "edit", PATCH, paths=("shop/cart.py", "shop/tax.py"), changes=CHANGES),
    Result(AT + 8, "c2", True, None, "Success."),
    Call(AT + 9, "c3", "exec_command", "run", text="pytest -q", command="pytest -q"),
    Result(AT + 10, "c3", False, 1, "1 failed\n"),
    Usage(AT + 11, "19500/10500", 10500, 80, 258_400, input=10500),
    Compact(AT + 12, "The test is red.", tokens=10500),
    Report(AT + 13, "Nothing else uses it.", "Kepler"),
    Settled(AT + 13, "Kepler", True, "Nothing else uses it."),
    End(AT + 14, "turn", "The test is red, as it should be."),
    Prompt(AT + 15, "go on"),
    Interrupt(AT + 16, "interrupted"),
    Prompt(AT + 17, "go on, please"),
    Fault(AT + 18, "status 401", 401),
    End(AT + 18, "error", "status 401"),
    Prompt(AT + 19, "again"),
    Call(AT + 20, "c4", "exec_command", "run", text="make", command="make"),
]
