"""Conversations of OpenCode, written from steps: the output of ``opencode export``, and the database.

A response of the model is one message. What the format lacks (a recap, a branch) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw

from ...agents.opencode.tools import ACTS
from ...core.runs import steps as s
from .records import first_path, other_arguments, sent_tokens

VERSION = "1.18.18"
TOOLS: dict[s.Act, str] = {
    "run": "bash", "read": "read", "edit": "edit", "create": "write", "delete": "apply_patch",
    "search": "grep", "plan": "todowrite", "agent": "task", "ask": "question", "web": "webfetch",
}  # fmt: skip
STATUS = {"pending": "pending", "active": "in_progress", "done": "completed", "dropped": "cancelled"}
SCHEMA = """
CREATE TABLE IF NOT EXISTS project (id text PRIMARY KEY, worktree text NOT NULL, vcs text);
CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text,
    time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS message (id text PRIMARY KEY, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL,
    priority text NOT NULL, position integer NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, PRIMARY KEY (session_id, position));
CREATE INDEX IF NOT EXISTS message_session ON message (session_id, time_created, id);
CREATE INDEX IF NOT EXISTS part_session ON part (session_id);
"""


def written(steps: Iterable[s.Step], *, native: str, cwd: str) -> bytes:
    """The transcript that this agent would have written; what its format lacks is left out."""
    conversation = _Conversation(native, cwd, steps)
    return json.dumps(
        {"info": conversation.info, "messages": conversation.messages}, indent=2, ensure_ascii=False
    ).encode()


def placed(steps: Iterable[s.Step], *, native: str, cwd: str, home: Path) -> Path:
    """Write the conversation into the database under this home folder, which others may share."""
    conversation = _Conversation(native, cwd, steps)
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute(SCHEMA)
    with connection:
        _insert(connection, conversation)
    connection.close()
    return path


def _insert(connection: apsw.Connection, conversation: _Conversation) -> None:
    info, times = conversation.info, conversation.info["time"]
    put = "INSERT OR REPLACE INTO"
    connection.execute(f"{put} project VALUES (?, ?, 'git')", (info["projectID"], info["directory"]))
    connection.execute(
        f"{put} session VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?)",
        (info["id"], info["projectID"], info.get("parentID"), info["directory"], info["title"],
         info["version"], times["created"], times["updated"]),
    )  # fmt: skip
    for message in conversation.messages:
        about = message["info"]
        at = about["time"]["created"]
        connection.execute(
            f"{put} message VALUES (?, ?, ?, ?, ?)", (about["id"], info["id"], at, at, _data(about))
        )
        for part in message["parts"]:
            connection.execute(
                f"{put} part VALUES (?, ?, ?, ?, ?, ?)",
                (part["id"], about["id"], info["id"], at, at, _data(part)),
            )
    connection.execute("DELETE FROM todo WHERE session_id = ?", (info["id"],))  # a list may get shorter
    for position, (content, status) in enumerate(conversation.todos):
        at = conversation.todos_at
        connection.execute(
            f"{put} todo VALUES (?, ?, ?, 'high', ?, ?, ?)", (info["id"], content, status, position, at, at)
        )


def _data(record: dict[str, Any]) -> str:
    """The ``data`` of a row: the record without its ids, which are columns."""
    return json.dumps(
        {key: value for key, value in record.items() if key not in ("id", "sessionID", "messageID")}
    )


class _Conversation:
    """The document written so far."""

    def __init__(self, native: str, cwd: str, steps: Iterable[s.Step]) -> None:
        self.info: dict[str, Any] = {
            "id": native, "projectID": f"project-of-{cwd}", "directory": cwd,
            "title": "New session - 2026-01-01T00:00:00.000Z", "version": VERSION,
            "time": {"created": 0, "updated": 0},
        }  # fmt: skip
        self.messages: list[dict[str, Any]] = []
        self.todos: list[tuple[str, str]] = []
        self.todos_at = 0  # when the list was last written
        self._count = 0
        self._open: dict[str, Any] | None = None  # the unfinished response
        self._cwd = cwd
        self._model = ("example", "model-1")
        self._calls: dict[str, dict[str, Any]] = {}  # parts of tools
        self._planning: dict[str, Any] | None = None
        for step in steps:
            self.add(step)

    def add(self, step: s.Step) -> None:
        at = round(step.at * 1000)
        self.info["time"]["created"] = self.info["time"]["created"] or at
        self.info["time"]["updated"] = max(at, self.info["time"]["updated"])
        match step:
            case s.Start():
                self._start(step)
            case s.Title(text=text):
                self.info["title"] = text
            case s.Model(name=name):
                provider, _, model = name.rpartition("/")
                self._model, self._open = (provider, model), None
            case s.Prompt():
                self._prompt(step, at)
            case s.Given(text=text):
                self._message("user", at)["parts"].append(self._part("text", text=text, synthetic=True))
                self._open = None
            case s.Compact():
                self._compact(step, at)
            case s.Settled():
                self._settled(step, at)
            case s.Interrupt(call=call) if call in self._calls:
                self._refused(self._calls[call], step.reason, at)
            case s.Say() | s.Thought() | s.Call() | s.Result() | s.Plan() | s.Report():
                self._work(step, at)
            case s.Usage() | s.End() | s.Interrupt() | s.Fault():
                self._outcome(step, at)

    def _start(self, step: s.Start) -> None:
        if step.cwd:
            self._cwd, self._open = step.cwd, None
            if step.how:
                self.info["directory"] = step.cwd
        self.info["version"] = step.version or self.info["version"]
        if step.parent:
            self.info["parentID"] = step.parent

    def _prompt(self, step: s.Prompt, at: int) -> None:
        if step.how == "refusal":
            return  # the rejected call has the words
        if step.how == "queued" and self._open is not None:
            self._open["info"]["time"]["completed"] = at + 1
        part = self._part("text", text=step.text)
        if step.how == "command":
            command = step.text.removeprefix("/")
            part = self._part("subtask", prompt="Do as told.", command=command, agent="general")
        self._message("user", at)["parts"].append(part)
        self._open = None

    def _settled(self, step: s.Settled, at: int) -> None:
        """The harness tells the model of a task in the background by a message of the user's."""
        text = _task(step.process, "error" if step.ok is False else "completed", step.text)
        self._message("user", at)["parts"].append(self._part("text", text=text, synthetic=True))
        self._open = None

    def _refused(self, part: dict[str, Any], words: str, at: int) -> None:
        feedback = f" with the following feedback: {words}" if words else "."
        error = f"The user rejected permission to use this specific tool call{feedback}"
        part["state"] |= {"status": "error", "error": error}
        part["state"]["time"]["end"] = at

    def _work(self, step: s.Say | s.Thought | s.Call | s.Result | s.Plan | s.Report, at: int) -> None:
        match step:
            case s.Say(text=text) | s.Thought(text=text):
                kind = "text" if isinstance(step, s.Say) else "reasoning"
                self._open_response(at)["parts"].append(
                    self._part(kind, text=text, time={"start": at, "end": at})
                )
            case s.Call():
                self._call(step, at)
            case s.Plan():
                self._plan(step, at)
            case s.Report(text=text):
                if step.call in self._calls:
                    self._calls[step.call]["state"]["input"]["subagent_type"] = step.name or "general"
            case s.Result():
                self._result(step, at)

    def _outcome(self, step: s.Usage | s.End | s.Interrupt | s.Fault, at: int) -> None:
        message = self._response(at)
        if isinstance(step, s.Fault) and step.retrying:
            error = {"name": "APIError", "data": {"message": step.text, "statusCode": step.status}}
            message["parts"].append(self._part("retry", attempt=1, error=error, time={"created": at}))
            return
        message["info"]["time"]["completed"] = at
        match step:
            case s.Usage():
                tokens = _tokens(*sent_tokens(step), step.output)
                message["parts"].append(
                    self._part("step-finish", reason="tool-calls", tokens=tokens, cost=step.cost)
                )
            case s.End():
                message["info"]["finish"] = "stop"
            case s.Interrupt(reason=reason):
                message["info"]["error"] = {"name": "MessageAbortedError", "data": {"message": reason}}
            case s.Fault(text=text, status=status):
                data = {"message": text, "statusCode": status or None, "isRetryable": False}
                message["info"]["error"] = {"name": "APIError", "data": data}
        if not isinstance(step, s.Usage):
            self._open = None

    def _compact(self, step: s.Compact, at: int) -> None:
        self._message("user", at)["parts"].append(
            self._part("compaction", auto=step.trigger != "manual", overflow=False)
        )
        self._open = None
        message = self._response(at)
        message["info"] |= {"summary": True, "mode": "compaction", "finish": "stop"}
        message["info"]["time"]["completed"] = at
        message["parts"].append(self._part("text", text=step.summary))
        self._open = None

    def _call(self, step: s.Call, at: int) -> None:
        tool = step.tool if step.tool in ACTS else TOOLS.get(step.act, step.tool or "other")
        state = {"status": "running", "input": _arguments(tool, step), "metadata": {}, "time": {"start": at}}
        part = self._part("tool", tool=tool, callID=step.id, state=state)
        self._calls[step.id] = part
        self._planning = part if tool == "todowrite" else None
        self._open_response(at)["parts"].append(part)

    def _plan(self, step: s.Plan, at: int) -> None:
        if self._planning is None:
            self._call(s.Call(step.at, f"plan-{self._count}", "todowrite", "plan"), at)
            assert self._planning is not None
            self._planning["state"] |= {"status": "completed", "output": "", "title": "todos"}
        self.todos = [(item.text, STATUS.get(item.state, "pending")) for item in step.items]
        self.todos_at = at
        self._planning["state"]["input"] = {
            "todos": [{"content": text, "status": status, "priority": "high"} for text, status in self.todos]
        }
        self._planning = None

    def _result(self, step: s.Result, at: int) -> None:
        part = self._calls.get(step.id)
        if part is None or part["state"]["status"] == "error":
            return
        state = part["state"]
        state["time"]["end"] = at
        if step.exit is not None:
            state["metadata"]["exit"] = step.exit
        if step.process:
            output = _task(step.process, "running", step.text)
            state |= {"status": "completed", "output": output, "title": part["tool"]}
        elif step.ok is False and step.exit is None:
            state |= {"status": "error", "error": step.text}
        else:
            state |= {"status": "completed", "output": step.text, "title": part["tool"]}

    def _open_response(self, at: int) -> dict[str, Any]:
        """The unfinished response, or a new one if that has its tokens already."""
        message = self._response(at)
        if any(part["type"] == "step-finish" for part in message["parts"]):
            self._open = None
        return self._response(at)

    def _response(self, at: int) -> dict[str, Any]:
        if self._open is None:
            self._open = self._message("assistant", at)
            provider, model = self._model
            self._open["info"] |= {
                "path": {"cwd": self._cwd, "root": self._cwd}, "providerID": provider, "modelID": model,
                "cost": 0, "tokens": _tokens(0, 0, 0, 0),
            }  # fmt: skip
        return self._open

    def _message(self, role: str, at: int) -> dict[str, Any]:
        self._count += 1
        about = {"id": f"msg_{self.info['id']}_{self._count:06}", "sessionID": self.info["id"]}
        message: dict[str, Any] = {"info": {**about, "role": role, "time": {"created": at}}, "parts": []}
        self.messages.append(message)
        return message

    def _part(self, type: str, **fields: Any) -> dict[str, Any]:
        self._count += 1
        return {"id": f"prt_{self.info['id']}_{self._count:06}", "type": type, **fields}


def _tokens(fresh: int, read: int, written: int, output: int) -> dict[str, Any]:
    return {"input": fresh, "output": output, "reasoning": 0, "cache": {"read": read, "write": written}}


def _task(id: str, state: str, text: str) -> str:
    tag = "task_error" if state == "error" else "task_result"
    return f'<task id="{id}" state="{state}">\n<{tag}>\n{text}\n</{tag}>\n</task>'


def _arguments(tool: str, step: s.Call) -> dict[str, Any]:
    path = first_path(step)
    change = step.changes[0] if step.changes else s.Change(path, new=step.text)
    match tool:
        case "bash":
            return {"command": step.command, "description": step.note}
        case "read":
            return {"filePath": path}
        case "edit":
            return {"filePath": path, "oldString": change.old, "newString": change.new}
        case "multiedit":
            return {"filePath": path, "edits": [{"oldString": change.old, "newString": change.new}]}
        case "write":
            return {"filePath": path, "content": change.new}
        case "apply_patch" | "patch":
            verb = {"delete": "Delete", "create": "Add"}.get(step.act, "Update")
            files = "\n".join(f"*** {verb} File: {file}" for file in step.paths)
            return {"patchText": f"*** Begin Patch\n{files}\n*** End Patch"}
        case "task":
            arguments = {"description": step.note, "prompt": step.text, "subagent_type": "general"}
            return arguments | ({"task_id": step.process} if step.process else {})
        case "question":
            return {"questions": [{"question": step.note, "options": []}]}
        case "todowrite":
            return {"todos": []}
        case _:
            return other_arguments(step)
