"""What came of a call, in the ways that Codex has told it: a JSON text, header lines, or a list of blocks.

A call failed only if an exit status other than 0 or an error is stated; no statement is no verdict.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from ...core.base.lazy import regex
from ...core.base.values import Value
from ..common import plain
from .wire import Item, parsed, rows, table, text
from .words import blocks

_HEADERS = (
    "Chunk ID:",
    "Wall time",
    "Process exited with code",
    "Process running with session ID",
    "Original token count:",
    "Total output lines:",
    "Exit code:",
    "Script completed",
    "Script failed",
    "Script terminated",
    "Script running with cell ID",
)
_HEADERS_MAX = 10
_EXIT = regex(r"^(?:Exit code:|Process exited with code) (-?\d{1,10})\b", re.M)
_USUAL = regex(
    r"(?:Chunk ID: \w+\n)?Wall time: [\d.]+ seconds\nProcess exited with code (-?\d{1,10})\n"
    r"(?:Original token count: \d+\n)?Output:\n"
)
"""How nearly all outputs of commands begin; `_split` reads all others."""
_SESSION = regex(r"^Process running with session ID (\S{1,32})", re.M)
_DENIED = regex(r"exit code: (-?\d{1,10})")
_FAILED = (
    "failed in sandbox",
    "failed to parse function arguments",
    "failed to spawn",
    "exec_command failed",
    "write_stdin failed",
    "apply_patch verification failed",
    "apply_patch failed",
    "patch rejected",
    "rejected by user",
    "execution error",
    "error:",
    "Error:",
    "err:",
    "unsupported call",
    "unsupported custom tool call",
    "unknown tool",
    "tool call error",
    "command timed out",
    "exec command rejected",
    "collab spawn failed",
    "unable to locate image",
)
_DONE = ("Plan updated", "Success. Updated the following files", "attached local image path")
_STATED_CHARS = 400  # where a verdict stands


class CallOutcome(Value, gc=False):
    """A result before it has an id and a time."""

    ok: bool | None = None
    exit: int | None = None
    text: str = ""
    session: str = ""  # the process still runs under this number
    script: Literal["", "running", "ended"] = ""  # it is about a whole script, which …


def of_output(output: Any) -> CallOutcome:
    """What a tool's output says."""
    if isinstance(output, dict):
        said = _of_text(_content(output.get("content")))
        success = output.get("success")
        if said.ok is None and isinstance(success, bool):
            return CallOutcome(ok=success, exit=said.exit, text=said.text)
        return said
    return _of_text(_content(output))


def _content(output: Any) -> str:
    if isinstance(output, list):
        return "".join(one if one.endswith("\n") else f"{one}\n" for one in blocks(output) if one).rstrip(
            "\n"
        )
    return text(output)


def _of_text(said: str) -> CallOutcome:
    if usual := _USUAL.match(said):
        code = int(usual[1])
        return CallOutcome(ok=code == 0, exit=code, text=said[usual.end() :])
    if said.startswith('{"'):
        found, rest = _table(said)
        if "metadata" in found or "exit_code" in found or "chunk_id" in found:
            told = _of_table(found)
            return CallOutcome(told.ok, told.exit, "\n".join(filter(None, (told.text, rest))), told.session)
    headers, body = _split(said)
    if headers:
        return _of_headers(headers, body)
    start = said[:_STATED_CHARS]
    if start.startswith(_FAILED):
        denied = _DENIED.search(start)
        return CallOutcome(ok=False, exit=int(denied[1]) if denied else None, text=said)
    return CallOutcome(ok=True if start.startswith(_DONE) else None, text=said)


def _table(said: str) -> tuple[dict[str, Any], str]:
    """The JSON table that a text begins with, and what is below it: scripts print numbers first."""
    found = parsed(said)
    if isinstance(found, dict):
        return found, ""
    head, _, rest = said.partition("\n")
    return (table(parsed(head)), rest) if head.endswith("}") else ({}, "")


def _of_table(found: dict[str, Any]) -> CallOutcome:
    code = table(found.get("metadata")).get("exit_code", found.get("exit_code"))
    if not isinstance(code, int):
        return CallOutcome(text=text(found.get("output")), session=str(found.get("session_id") or ""))
    return CallOutcome(ok=code == 0, exit=int(code), text=text(found.get("output")))


def _of_headers(headers: str, body: str) -> CallOutcome:
    if code := _EXIT.search(headers):
        return CallOutcome(ok=int(code[1]) == 0, exit=int(code[1]), text=body)
    if session := _SESSION.search(headers):
        return CallOutcome(text=body, session=session[1])
    if headers.startswith("Script running"):
        return CallOutcome(text=body, script="running")
    if headers.startswith("Script completed"):
        inner = _of_text(body)
        return CallOutcome(inner.ok, inner.exit, inner.text, inner.session, "ended")
    is_script = headers.startswith("Script ")
    ok = False if headers.startswith("Script failed") else None
    return CallOutcome(ok=ok, text=body, script="ended" if is_script else "")


def _split(said: str) -> tuple[str, str]:
    """The harness's header lines, and what is below them."""
    at = 0
    for _ in range(_HEADERS_MAX):
        if said.startswith("Output:", at):
            end = said.find("\n", at)
            return said[:at], said[end + 1 :] if end >= 0 else said[at + len("Output:") :].lstrip()
        if not said.startswith(_HEADERS, at):
            break
        end = said.find("\n", at)
        at = end + 1 if end >= 0 else len(said)
    return said[:at], said[at:]


def of_item(item: Item) -> CallOutcome:
    """What a structured record of a command, a patch or an MCP call says."""
    code = item.exit_code if isinstance(item.exit_code, int) else None
    said = text(item.aggregated_output) or "\n".join(filter(None, (text(item.stdout), text(item.stderr))))
    if item.result is not None or item.error is not None:
        return _of_mcp(item)
    if code is not None:
        return CallOutcome(ok=code == 0, exit=int(code), text=said)
    if isinstance(item.success, bool):
        return CallOutcome(ok=item.success, text=said)
    status = text(item.status).lower()
    ok = True if status == "completed" else False if status in ("failed", "declined") else None
    return CallOutcome(ok=ok, text=said)


def _of_mcp(item: Item) -> CallOutcome:
    told = table(item.result)
    problem = item.error if item.error is not None else told.get("Err")
    if problem is not None:
        return CallOutcome(ok=False, text=plain(problem))
    inner = table(told.get("Ok")) or told
    is_error = inner.get("isError", inner.get("is_error"))
    said = "\n".join(filter(None, blocks(rows(inner.get("content"))))) or plain(
        inner.get("structuredContent")
    )
    return CallOutcome(ok=not is_error, text=said or text(item.result))
