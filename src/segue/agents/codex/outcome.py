"""The outcome of a call, in all forms that Codex has written it: a JSON text, header lines, a list of blocks.

A call failed only if an exit status other than 0 or an error is stated; without a statement it is unknown.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from ...core.base.lazy import regex
from ...core.base.values import Value
from ..common import plain_text
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
    r"(?:(?:Chunk ID: \w+\n)?Wall time: [\d.]+ seconds\nProcess exited with code (-?\d{1,10})\n"
    r"(?:Original token count: \d+\n)?|Exit code: (-?\d{1,10})\nWall time: [\d.]+ seconds\n"
    r"(?:Total output lines: \d+\n)?)Output:\n"
)
"""How nearly all outputs of commands begin; `_split` handles the others."""
_COMMAND = regex(r"Command: .*?\n(?=Chunk ID: \w+\nWall time: )", re.S)
"""What some versions repeat before the headers: the command, which may have several lines."""
_SESSION = regex(r"^Process running with session ID (\S{1,32})", re.M)
_CELL = regex(r"^Script running with cell ID (\S{1,32})")
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
_REFUSED = (
    "rejected by user",
    "exec command rejected by user",
    "patch rejected by user",
    "user rejected MCP tool call",
    "user cancelled MCP tool call",
)
_DONE = ("Plan updated", "Success. Updated the following files", "attached local image path")
_STATED_CHARS = 400  # a statement of success or failure is within so many characters


class CallOutcome(Value, gc=False):
    """A result before it has an id and a time."""

    ok: bool | None = None
    exit: int | None = None
    text: str = ""
    session: str = ""  # the process, or the whole script, still runs, under this number
    script: Literal["", "running", "ended"] = ""  # set if it is the outcome of a whole script
    refused: bool = False  # the user rejected the call


def of_output(output: Any) -> CallOutcome:
    """The outcome that a tool's output states."""
    if isinstance(output, dict):
        outcome = _of_text(_content(output.get("content")))
        success = output.get("success")
        if outcome.ok is None and isinstance(success, bool):
            return CallOutcome(ok=success, exit=outcome.exit, text=outcome.text)
        return outcome
    return _of_text(_content(output))


def of_blocks(output: Any, count: int) -> list[CallOutcome]:
    """The outcomes of so many calls of a script that printed each of them by itself; else nothing."""
    texts = [block for block in blocks(rows(output)) if block]
    if len(texts) != count + 1 or not texts[0].startswith("Script completed"):
        return []
    return [_of_text(text) for text in texts[1:]]


def with_printed(outcome: CallOutcome, before_process: str, before_exit: str) -> CallOutcome:
    """An outcome with the process or the exit status that a script prints behind words of its own."""
    if outcome.exit is not None or outcome.session:
        return outcome
    if process := _printed(before_process, outcome.text):
        return CallOutcome(text=outcome.text, session=process, script=outcome.script)
    if code := _printed(before_exit, outcome.text):
        return CallOutcome(int(code) == 0, int(code), outcome.text, script=outcome.script)
    return outcome


def _printed(words: str, output: str) -> str:
    """The number behind words at the beginning of a line; of several the last."""
    found = re.findall(rf"^{re.escape(words)}(\d{{1,10}})\b", output, re.M) if words else []
    return found[-1] if found else ""


def _content(output: Any) -> str:
    if isinstance(output, list):
        return "".join(
            block if block.endswith("\n") else f"{block}\n" for block in blocks(output) if block
        ).rstrip("\n")
    return text(output)


def _of_text(output: str) -> CallOutcome:
    if output.startswith("Command: ") and (command := _COMMAND.match(output)):
        output = output[command.end() :]
    if usual := _USUAL.match(output):
        code = int(usual[1] or usual[2])
        return CallOutcome(ok=code == 0, exit=code, text=output[usual.end() :])
    if output.startswith('{"'):
        fields, rest = _table(output)
        if "metadata" in fields or "exit_code" in fields or "chunk_id" in fields:
            outcome = _of_table(fields)
            return CallOutcome(
                outcome.ok, outcome.exit, "\n".join(filter(None, (outcome.text, rest))), outcome.session
            )
    headers, body = _split(output)
    if headers:
        return _of_headers(headers, body)
    start = output[:_STATED_CHARS]
    if start.startswith(_REFUSED):
        return CallOutcome(refused=True)
    if start.startswith(_FAILED):
        denied = _DENIED.search(start)
        return CallOutcome(ok=False, exit=int(denied[1]) if denied else None, text=output)
    return CallOutcome(ok=True if start.startswith(_DONE) else None, text=output)


def _table(output: str) -> tuple[dict[str, Any], str]:
    """The JSON object at the beginning of an output, and the text after it."""
    fields = parsed(output)
    if isinstance(fields, dict):
        return fields, ""
    head, _, rest = output.partition("\n")
    return (table(parsed(head)), rest) if head.endswith("}") else ({}, "")


def _of_table(fields: dict[str, Any]) -> CallOutcome:
    code = table(fields.get("metadata")).get("exit_code", fields.get("exit_code"))
    if not isinstance(code, int):
        return CallOutcome(text=text(fields.get("output")), session=str(fields.get("session_id") or ""))
    return CallOutcome(ok=code == 0, exit=int(code), text=text(fields.get("output")))


def _of_headers(headers: str, body: str) -> CallOutcome:
    if code := _EXIT.search(headers):
        return CallOutcome(ok=int(code[1]) == 0, exit=int(code[1]), text=body)
    if session := _SESSION.search(headers):
        return CallOutcome(text=body, session=session[1])
    if cell := _CELL.match(headers):
        return CallOutcome(text=body, session=cell[1], script="running")
    if headers.startswith("Script completed"):
        inner = _of_text(body)
        if inner.refused:  # words of a program in the script
            inner = CallOutcome(text=body)
        return CallOutcome(inner.ok, inner.exit, inner.text, inner.session, "ended")
    is_script = headers.startswith("Script ")
    ok = False if headers.startswith("Script failed") else None
    return CallOutcome(ok=ok, text=body, script="ended" if is_script else "")


def _split(output: str) -> tuple[str, str]:
    """The header lines of the harness, and the text after them."""
    at = 0
    for _ in range(_HEADERS_MAX):
        if output.startswith("Output:", at):
            end = output.find("\n", at)
            return output[:at], output[end + 1 :] if end >= 0 else output[at + len("Output:") :].lstrip()
        if not output.startswith(_HEADERS, at):
            break
        end = output.find("\n", at)
        at = end + 1 if end >= 0 else len(output)
    return output[:at], output[at:]


def of_item(item: Item) -> CallOutcome:
    """The outcome in a structured record of a command, a patch or an MCP call."""
    code = item.exit_code if isinstance(item.exit_code, int) else None
    output = text(item.aggregated_output) or "\n".join(filter(None, (text(item.stdout), text(item.stderr))))
    if item.result is not None or item.error is not None:
        return _of_mcp(item)
    if code is not None:
        return CallOutcome(ok=code == 0, exit=int(code), text=output)
    if isinstance(item.success, bool):
        return CallOutcome(ok=item.success, text=output)
    status = text(item.status).lower()
    if status == "declined":
        return CallOutcome(refused=True)
    ok = True if status == "completed" else False if status == "failed" else None
    return CallOutcome(ok=ok, text=output)


def _of_mcp(item: Item) -> CallOutcome:
    result = table(item.result)
    problem = item.error if item.error is not None else result.get("Err")
    if problem is not None:
        return CallOutcome(ok=False, text=plain_text(problem))
    inner = table(result.get("Ok")) or result
    is_error = inner.get("isError", inner.get("is_error"))
    output = "\n".join(filter(None, blocks(rows(inner.get("content"))))) or plain_text(
        inner.get("structuredContent")
    )
    return CallOutcome(ok=not is_error, text=output or text(item.result))
