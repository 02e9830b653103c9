"""Parses the texts of a Cline or Roo conversation: tools as XML, results, the user's words.

The harness writes the user's turns and puts the user's words into tags. The same tags in the output of a
command or in a file are not the user's, so they count only where the harness puts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.base.lazy import regex
from ...core.runs.steps import Act, Step
from ..base import decode_any
from ..common import injected_briefs, typed_text

ACTS: dict[str, Act] = {
    "execute_command": "run", "read_file": "read", "write_to_file": "create", "new_rule": "create",
    "generate_image": "create", "replace_in_file": "edit", "apply_diff": "edit", "insert_content": "edit",
    "search_and_replace": "edit", "search_replace": "edit", "edit_file": "edit", "edit": "edit",
    "apply_patch": "edit", "delete_file": "delete", "list_files": "search", "search_files": "search",
    "list_code_definition_names": "search", "codebase_search": "search", "browser_action": "web",
    "web_fetch": "web", "web_search": "web", "use_mcp_tool": "other", "access_mcp_resource": "other",
    "ask_followup_question": "ask", "plan_mode_respond": "ask", "act_mode_respond": "other",
    "attempt_completion": "other", "new_task": "agent", "use_subagents": "agent", "update_todo_list": "plan",
    "focus_chain": "plan", "switch_mode": "other", "fetch_instructions": "other", "condense": "other",
    "summarize_task": "other", "report_bug": "other", "load_mcp_documentation": "other",
    "read_command_output": "other", "run_slash_command": "other", "use_skill": "other", "skill": "other",
}  # fmt: skip

_TOOL = regex(rf"<({'|'.join(sorted(ACTS, key=len, reverse=True))})>(?=\s*<)")
_PARAM = regex(r"\s*<(\w+)>")
_AFTER = r"\s*(?:</{tool}>|<(?:line_count|task_progress|path|requires_approval|start_line)>|\Z)"
_INNER_PATH = regex(r"<path>(.*?)</path>", re.S)
_PATHS = ("path", "file_path", "filePath", "absolutePath")
_THINKING = regex(r"<thinking>(.*?)(?:</thinking>|\Z)", re.S)

ENVIRONMENT, _ENVIRONMENT_END = "<environment_details>", "</environment_details>"
_HEADER = regex(r"\A\s*\[(\w+)([^\n]*?)\] Result:[ \t]*\n?", re.S)
_LONG_HEADER = regex(
    r"\A\s*\[(new_task|ask_followup_question|switch_mode|execute_command)\b.*?'?\] Result:[ \t]*\n?", re.S
)
_SUBTASK = regex(r"\A\s*\[new_task completed\] Result:\s*", re.S)
_UNUSED = regex(r"\A\s*Tool \[(\w+)\] was not executed")
_WORDS = regex(r"<(task|feedback|user_message|answer)>(.*?)(?:</\1>|\Z)", re.S)
_EXPANDED = regex(r"\A\s*<(explicit_instructions|mcp_prompt)\b.*?</\1>", re.S)  # what a slash command is for
_COMMAND_BODY = regex(r"Command '(/[\w:-]+)' \(see below for command content\)")
_ATTACHED = regex(  # what the user's words mention is added after them
    r"</?(?:file_content|folder_content|url_content|workspace_diagnostics|git_working_state|git_commit"
    r"|terminal_output|final_file_content)\b|<command name="
)
_SET = regex(
    r"\A\s*(?:<(?:task|user_message|answer|feedback)>|\[TASK RESUMPTION\]"
    r"|New instructions for task continuation:"
    r"|New message to respond to with plan_mode_respond|The user has provided feedback on the results"
    r"|\[plan_mode_respond\] Result:|You seem to be having trouble proceeding"
    r"|The user (?:approved|denied) this operation and provided the following)"
)
_CODE = regex(r"exit code:? (-?\d{1,10})", re.I)
_OUTPUT = regex(
    r"\A(Command (?:executed|failed|completed|exited|cancelled|timed out|is (?:still )?running"
    r"|execution (?:was not|timed out))[^\n]*(?:(?<=adjust as needed\.)\nExit code: [^\n]*)?)\n+"
    r"(?:Log file: [^\n]*\n)?(?:Output:\n?|Here's the output so far:\n|Output so far:\n"
    r"|Output captured before cancellation:\n)?"
)
_GOES_ON = regex(
    r"\s*Command (?:is still running|is running in the background|timed out after|execution timed out after)"
)
_WENT_WRONG = regex(r"was not successful|terminated by signal|\ACommand failed")
_UPDATED_LATER = regex(
    r"\s*(?:You will be updated on the terminal status and new output in the future\.?"
    r"|The user provided the following feedback:\n<feedback>.*|<user_message>\n.*</user_message>)\s*\Z",
    re.S,
)
_APPROVED = regex(r'\A\s*(\{"status":\s*"approved".*\})\s*(?:\n|\Z)')
_FAILED = regex(
    r"\A(?:The tool execution failed|The user denied|Error (?:executing|reading|writing)"
    r"|Missing value for required|Access to [^\n]* is blocked by|Command execution blocked by"
    r"|Failed to (?:write to|edit) '|The command was terminated after exceeding|Working directory '"
    r"|The 'command' parameter was empty"
    r'|Tool \[|Invalid JSON|Tool "|\{"status":\s*"(?:error|denied)")'
)
_WRAPPED = regex(r"\AThe tool execution failed[^\n]*\n<error>\n?(.*?)(?:</error>|\Z)", re.S)
_THROWN = regex(r'\A(Error [\w ]+: )\{"name":.*?"message":"((?:[^"\\]|\\.)*)"', re.S)
_UNMATCHED = regex(r"\AThe SEARCH block:\n.*?\n\.\.\.(does not match anything in the file\.).*", re.S)
DENIED = regex(r'\s*(?:The user denied this operation|\{"status":\s*"denied")')
_SAVED = regex(r"<(final_file_content|file_content)\b|IMPORTANT: For any future changes to this file[^\n]*")
_SAVED_SAID = "Here is the full, updated content of the file that was saved:"
CWD = regex(r"# Current (?:Working|Workspace) Directory \((.+?)\) Files")
MODEL = regex(r"<model>([^<\n]{1,200})</model>")
WINDOW = regex(r"[\d,]+ / ([\d,.]+)([KM]?) tokens used")
INTERRUPTED = regex(r"\[Response interrupted by ([^\]\n]*)\]")


class Tool(NamedTuple):
    """A call of a tool in a text."""

    name: str
    arguments: dict[str, Any]


class Thinking(NamedTuple):
    """What the assistant thought, in a text."""

    text: str


def assistant_parts(text: str) -> Iterator[str | Thinking | Tool]:
    """The parts of an assistant's text in order: what it thinks and says, and the tools that it calls."""
    at = 0
    while match := _TOOL.search(text, at):
        yield from spoken_parts(text[at : match.start()])
        arguments, at = _arguments(text, match[1], match.end())
        yield Tool(match[1], arguments)
    yield from spoken_parts(text[at:])


def spoken_parts(text: str) -> Iterator[str | Thinking]:
    """What a text without calls of tools thinks, and what it says."""
    if "<thinking>" in text:
        for thought in _THINKING.findall(text):
            if thought.strip():
                yield Thinking(thought.strip())
        text = _THINKING.sub("", text)
    if text := text.strip():
        yield text


def _arguments(text: str, tool: str, at: int) -> tuple[dict[str, Any], int]:
    """The arguments of a tool, and where it ends; a torn one ends with the text."""
    arguments: dict[str, Any] = {}
    while match := _PARAM.match(text, at):
        name, begin = match[1], match.end()
        end = text.find(f"</{name}>", begin)
        if name in ("content", "diff"):  # may contain its own closing tag
            last = re.compile(f"</{name}>" + _AFTER.replace("{tool}", tool)).search(text, begin)
            end = last.start() if last else end
        if end < 0:
            arguments[name] = text[begin:]
            return arguments, len(text)
        value = text[begin:end]
        arguments[name] = value.strip("\n") if name in ("content", "diff") else value.strip()
        at = end + len(name) + 3
    close = re.compile(rf"\s*</{tool}>").match(text, at)
    return arguments, close.end() if close else at


def paths_of(arguments: dict[str, Any]) -> tuple[str, ...]:
    """The files in a tool's arguments: ``path``, or Roo's ``<args><file><path>`` and ``files``."""
    paths = [arguments[name] for name in _PATHS if isinstance(arguments.get(name), str) and arguments[name]]
    if isinstance(arguments.get("args"), str):
        paths += [path.strip() for path in _INNER_PATH.findall(arguments["args"])]
    files = arguments.get("files")
    for file in files if isinstance(files, list) else ():
        path = file.get("path") if isinstance(file, dict) else file
        if isinstance(path, str):
            paths.append(path)
    return tuple(dict.fromkeys(paths))


def _without_environment(text: str) -> str:
    """A text without the harness's details about the editor; a torn block of them ends with the text."""
    while (start := text.find(ENVIRONMENT)) >= 0:
        end = text.find(_ENVIRONMENT_END, start)
        text = text[:start] + (text[end + len(_ENVIRONMENT_END) :] if end >= 0 else "")
    return text


class TurnPart(NamedTuple):
    """A part of a user's turn; its kind is result, more, report, words or resume."""

    kind: str
    text: str
    tool: str = ""


def answered(text: str) -> TurnPart:
    """The part of the turn that a text block of the user's role is."""
    text = _EXPANDED.sub("", _without_environment(text))
    if match := _SUBTASK.match(text):
        return TurnPart("report", text[match.end() :].strip(), "new_task")
    if (match := _HEADER.match(text) or _LONG_HEADER.match(text)) and match[1] in ACTS:
        return TurnPart("result", text[match.end() :], match[1])
    if match := _UNUSED.match(text):
        return TurnPart("result", text.strip(), match[1])
    if text.lstrip().startswith("[TASK RESUMPTION]"):
        return TurnPart("resume", text)
    if _SET.match(text):
        return TurnPart("words", text)
    return TurnPart("more", text)


def words_of(text: str) -> Iterator[str]:
    """What the user typed, in a text that the harness wrote."""
    for words in _tagged_words(text):
        if own := typed_text(words):
            yield _COMMAND_BODY.sub(r"\1", own)


def briefs_of(at: float, text: str) -> Iterator[Step]:
    """The briefs of ours in a text that the harness wrote."""
    for words in _tagged_words(text):
        yield from injected_briefs(at, words)


def _tagged_words(text: str) -> list[str]:
    own = _ATTACHED.split(_without_environment(text), maxsplit=1)[0]
    return [words for _, words in _WORDS.findall(own)]


def refusal_words(text: str) -> str | None:
    """The user's words in the answer to a call that was denied; None if it was not denied."""
    if not DENIED.match(text):
        return None
    if text.lstrip().startswith("{"):
        return typed_text(_field(text.strip(), "feedback"))
    return "\n".join(words_of(text))


def approved(text: str) -> tuple[str, str]:
    """The user's words with which a call was approved, if any, and the answer to it without them."""
    match = _APPROVED.match(text) if '"approved"' in text[:40] else None
    return (typed_text(_field(match[1], "feedback")), text[match.end() :]) if match else ("", text)


def _field(text: str, *names: str) -> str:
    """The first text in one of these fields of a JSON object; empty if there is none."""
    value = decode_any(text)
    fields = [value.get(name) for name in names] if isinstance(value, dict) else []
    return next((field for field in fields if isinstance(field, str)), "")


def goes_on(tool: str, text: str) -> bool:
    """Whether the answer to a command says that it still runs."""
    return tool == "execute_command" and bool(_GOES_ON.match(text))


def is_set(text: str) -> bool:
    """Whether the harness wrote a text around the user's words."""
    return bool(_SET.match(text))


def outcome(tool: str, text: str, error: bool | None = None) -> tuple[bool | None, int | None, str]:
    """Whether a call succeeded, its exit status, and its output without the lines of the harness."""
    text = approved(text)[1].strip()
    ok: bool | None = None if error is None else not error
    code = None
    head = _OUTPUT.match(text + "\n") if tool == "execute_command" else None
    if head:
        if status := _CODE.search(head[1]):
            code = int(status[1])
            ok = code == 0
        elif _WENT_WRONG.search(head[1]):
            ok = False
        elif _GOES_ON.match(text) or text.startswith("Command cancelled"):
            ok = None
        text = text[head.end() :]
        if ok is None:
            text = _UPDATED_LATER.sub("", text)
    elif _FAILED.match(text):
        ok, text = False, _why(text)
    elif ok is None and text:
        ok = True
    if "file_content" in text or "IMPORTANT: For any future" in text:
        text = _without_saved(text)
    return ok, code, text.strip()


def _why(text: str) -> str:
    """The reason in the harness's message about a failure."""
    if match := _WRAPPED.match(text):
        text = match[1].strip() or text
    if text.startswith("{"):
        return _field(text, "error", "reason", "message") or text
    if match := _THROWN.match(text):
        return match[1] + match[2].replace("\\\\", "\\")
    return _UNMATCHED.sub(r"The SEARCH block \1", text)


def _without_saved(text: str) -> str:
    """A text without the whole file that the harness shows after a change."""
    parts, at = [], 0
    while match := _SAVED.search(text, at):
        before, end = text[at : match.start()], match.end()
        if match[1]:
            closing = f"</{match[1]}>"
            close = text.find(closing, end)
            end = close + len(closing) if close >= 0 else len(text)
            stripped = before.rstrip()
            before = stripped.removesuffix(_SAVED_SAID) if stripped.endswith(_SAVED_SAID) else before
        parts.append(before)
        at = end
    return "".join((*parts, text[at:]))
