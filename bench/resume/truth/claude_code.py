"""Claude Code's transcripts, read plainly."""

from __future__ import annotations

import re
from typing import Any

from bench.resume.truth.events import Call, Edit, Message, Result, Transcript, decoded, text_of

_REFUSED = re.compile(
    r"The user doesn't want to (?:proceed|take this action)|tool use was rejected"
    r"|^User chose to stay in plan mode|^User rejected",
    re.I,
)
_EXIT = re.compile(r"^(?:Error: )?Exit code (\d+)")
_STARTED = re.compile(
    r"running in (?:the )?background with ID: ([\w-]+)|^agentId: ([\w-]+)|backgrounded.*?with ID: ([\w-]+)"
    r"|^agent_id: ([\w@.-]+)"
    r"|^Monitor started \(task ([\w-]+)",
    re.M,
)
_NOTICE = re.compile(r"<task-notification>(.*?)</task-notification>", re.S)
_NOTICE_ID = re.compile(r"<task-id>([\w-]+)</task-id>")
_STATUS = re.compile(r"<status>(\w+)</status>")
_OVER = frozenset({"completed", "failed", "killed", "stopped"})
_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.S)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.S)
_TAGGED = re.compile(r"^\s*<(?!!)[a-zA-Z_][\w-]*[ >]")
_TASK = re.compile(r"#(\d+)")
_TEAM = re.compile(r"<teammate-message teammate_id=\"([^\"]+)\"[^>]*>(.*?)</teammate-message>", re.S)
_SHUT_DOWN = re.compile(r"(\S+) has shut down")
_INTERRUPTED = "[Request interrupted by user"
_ASIDE = re.compile(r"<(ide_[a-z_]+|system-reminder)>.*?</\1>", re.S)


def read(lines: list[str]) -> Transcript:
    """The transcript that these lines are."""
    reader = _Reader()
    for number, line in enumerate(lines):
        for record in decoded(line):
            reader.take(number, record)
    reader.transcript.records = len(lines)
    return reader.transcript.finish()


class _Reader:
    def __init__(self) -> None:
        self.transcript = Transcript("claude-code")
        self.calls: dict[str, Call] = {}
        self.tasks: dict[str, list[str]] = {}
        self.todos: list[tuple[str, str]] = []
        self.queue: list[str] = []
        self.roots: dict[Any, Any] = {}  # by the id of a record, that of the one it goes back to
        self.typed: dict[tuple[Any, str], Any] = {}  # by time and text, the root of what was typed
        self.own_branch: bool | None = None  # whether the whole file is a side branch: a sub-agent's

    def take(self, number: int, record: dict[str, Any]) -> None:
        told = self.transcript
        kind = record.get("type")
        message = record.get("message")
        side = bool(record.get("isSidechain"))
        if kind in ("user", "assistant"):
            if self.own_branch is None:
                self.own_branch = side
            if side and not self.own_branch:
                return
        at = record.get("timestamp")
        if isinstance(at, str) and kind == "user":
            told.written[number] = at
        if isinstance(at, str) and (not told.times or at >= told.times[-1][1]):
            told.times.append((number, at))  # else it was copied from an earlier file
        id = record.get("uuid")
        if id and id in self.roots:
            return  # of the history of a session that was resumed, copied into its file
        if id:
            self.roots[id] = self.roots.get(record.get("parentUuid"), id)
        if kind in ("user", "assistant", "system", "attachment"):
            for key, values in (("cwd", told.folders), ("gitBranch", told.branches)):
                if isinstance(record.get(key), str) and record[key]:
                    values.append((number, record[key]))
        if kind == "queue-operation":
            self._queued(number, record)
        elif kind == "system":
            self._system(number, record)
        elif kind == "progress":
            if isinstance(record.get("data"), dict) and record["data"].get("hookEvent") == "Stop":
                told.turn_ends.append(number)
        elif kind == "attachment":
            self._attached(number, record)
        elif kind == "user" and isinstance(message, dict):
            self._user(number, record, message.get("content"))
        elif kind == "assistant" and isinstance(message, dict):
            self._assistant(number, record, message)

    def _system(self, number: int, record: dict[str, Any]) -> None:
        subtype = record.get("subtype")
        if subtype in ("turn_duration", "stop_hook_summary"):
            if not (subtype == "stop_hook_summary" and record.get("preventedContinuation")):
                self.transcript.turn_ends.append(number)
        elif subtype == "compact_boundary":
            self.transcript.compactions.append(number)
        elif subtype == "api_error":
            self.transcript.faults.append(Message(number, str(record.get("error") or record.get("content"))))
        elif subtype == "away_summary":
            self.transcript.notices.append(Message(number, text_of(record.get("content"))))

    def _attached(self, number: int, record: dict[str, Any]) -> None:
        attachment = record.get("attachment")
        self.transcript.give(number, attachment)
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            text = _ASIDE.sub("", text_of(attachment.get("prompt"))).strip()
            if not self._noticed(number, text) and text and not _TAGGED.match(text):
                self.transcript.users.append(Message(number, text, how="queued"))

    def _queued(self, number: int, record: dict[str, Any]) -> None:
        text = _ASIDE.sub("", text_of(record.get("content"))).strip()
        operation = record.get("operation")
        told = self.transcript
        if operation == "enqueue":
            if self._noticed(number, text) or text.startswith("{") or _TAGGED.match(text) or not text:
                self.queue.append("")
            else:
                self.queue.append(text)
                told.users.append(Message(number, text, sure=False, how="queued"))
        elif operation == "popAll":
            taken_back = {text} if text else set(self.queue)
            told.users = [
                one
                for one in told.users
                if not (one.how == "queued" and not one.sure and one.text in taken_back)
            ]
            self.queue = [one for one in self.queue if one not in taken_back]
        elif operation in ("dequeue", "remove") and self.queue:
            taken = self.queue.pop(0)
            for one in reversed(told.users):
                if one.how == "queued" and one.text == taken:
                    one.sure = operation == "remove"  # else it comes again, as a message
                    break

    def _noticed(self, number: int, text: str) -> bool:
        notices = _NOTICE.findall(text)
        for notice in notices:
            self.transcript.notices.append(Message(number, notice))
            name, status = _NOTICE_ID.search(notice), _STATUS.search(notice)
            if name and status and status[1] in _OVER:
                self.transcript.ended.setdefault(name[1], number)
        return bool(notices)

    def _user(self, number: int, record: dict[str, Any], content: Any) -> None:
        told = self.transcript
        if record.get("isCompactSummary"):
            told.compactions.append(number) if not told.compactions else None
            return
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_result":
                self._result(number, record, block)
            elif block.get("type") == "text":
                self._typed(number, record, str(block.get("text") or ""))

    def _typed(self, number: int, record: dict[str, Any], text: str) -> None:
        told = self.transcript
        if self._noticed(number, text):
            return
        if text.startswith(_INTERRUPTED):
            told.interrupts.append(number)
            return
        bare = _ASIDE.sub("", text).strip()
        if team := _TEAM.findall(bare):
            self._teamed(number, team, is_member=bool(record.get("agentName")))
            return
        root = self.roots.get(record.get("uuid"))
        is_copy = self.typed.setdefault((record.get("timestamp"), bare), root) != root
        if record.get("isMeta") or not bare or is_copy:
            return
        if bare.startswith(("Caveat: The messages below", "This session is being continued")):
            return
        if name := _COMMAND.search(bare):
            arguments = _ARGUMENTS.search(bare)
            typed = f"/{name[1].lstrip('/')} {arguments[1] if arguments else ''}".strip()
            told.users.append(Message(number, typed, sure=False, how="command"))
            return
        if _TAGGED.match(bare):
            sure = not re.match(
                r"\s*<(?:bash-|local-command|command-|user-memory|teammate-message|task-|system-|new-diag)",
                bare,
            )
            told.users.append(Message(number, bare, sure=False, how="tagged" if sure else "notice"))
            return
        recent = told.users[-8:]
        waited = [at for at, one in enumerate(recent) if one.how == "queued" and one.text.strip() == bare]
        overtaken = bool(waited) and any(one.sure for one in recent[waited[-1] + 1 :])
        told.users.append(Message(number, bare, sure=not overtaken))

    def _teamed(self, number: int, messages: list[tuple[str, str]], *, is_member: bool) -> None:
        """What others of a team say: to a member its lead is the user, and a notice tells who has left."""
        told = self.transcript
        for sender, body in messages:
            given = next(iter(decoded(body)), {}) if body.strip().startswith("{") else {}
            told.notices.append(Message(number, body))
            gone = _SHUT_DOWN.search(str(given.get("message") or ""))
            if given.get("type") == "teammate_terminated" and gone:
                self._left(number, gone[1])
            elif given.get("type") == "shutdown_approved":
                self._left(number, str(given.get("from")))
            if is_member and sender == "team-lead":
                task = [str(given[key]) for key in ("subject", "description") if given.get(key)]
                if task or not given:
                    told.users.append(Message(number, "\n".join(task) if given else body.strip()))

    def _left(self, number: int, name: str) -> None:
        for member in self.transcript.started:
            if member.partition("@")[0] == name:
                self.transcript.ended.setdefault(member, number)

    def _result(self, number: int, record: dict[str, Any], block: dict[str, Any]) -> None:
        told = self.transcript
        call = self.calls.get(str(block.get("tool_use_id")))
        text = text_of(block.get("content"))
        if call is None or call.result is not None:
            return
        result = Result(number, text, failed=bool(block.get("is_error")))
        if match := _EXIT.match(text):
            result.exit = int(match[1])
        result.refused = bool(_REFUSED.search(text[:400])) or (
            bool(block.get("is_error")) and text.startswith(_INTERRUPTED)
        )
        structured = record.get("toolUseResult")
        if isinstance(structured, dict):
            result.stopped = bool(structured.get("interrupted"))
            result.answered = "\n".join(
                text_of(structured.get(key)) for key in ("stdout", "stderr", "content", "error")
            )
        elif isinstance(structured, str):
            result.answered = structured
        call.result = result
        if not result.failed and call.tool in ("Bash", "Task", "Agent", "Monitor", "PowerShell"):
            for found in _STARTED.findall(text):
                told.started["".join(found)] = number
                told.ended.pop("".join(found), None)
        if call.tool in ("KillShell", "TaskStop", "KillBash") and not result.failed:
            name = str(call.arguments.get("shell_id") or call.arguments.get("task_id") or "")
            told.ended.setdefault(name, number)
        if call.tool in ("KillShell", "TaskStop") and re.search(r"is not running|No task found", text):
            name = str(call.arguments.get("shell_id") or call.arguments.get("task_id") or "")
            told.ended.setdefault(name, number)
        if call.tool in ("BashOutput", "TaskOutput", "AgentOutputTool"):
            name = str(
                call.arguments.get("bash_id")
                or call.arguments.get("task_id")
                or call.arguments.get("agentId")
            )
            status = _STATUS.search(text)
            if status and status[1] in _OVER:
                told.ended.setdefault(name, number)
        self._planned(number, call, text)

    def _assistant(self, number: int, record: dict[str, Any], message: dict[str, Any]) -> None:
        told = self.transcript
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if record.get("isApiErrorMessage"):
            told.faults.append(Message(number, text_of(content)))
        if record.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
            return
        for block in blocks if isinstance(blocks, list) else []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text" and str(block.get("text") or "").strip():
                told.said.append(Message(number, str(block["text"])))
            elif block.get("type") == "thinking" and str(block.get("thinking") or "").strip():
                told.thoughts.append(Message(number, str(block["thinking"])))
            elif block.get("type") == "tool_use":
                self._called(number, record, block)
        if message.get("stop_reason") in ("end_turn", "stop_sequence"):
            told.turn_ends.append(number)

    def _called(self, number: int, record: dict[str, Any], block: dict[str, Any]) -> None:
        name, id = str(block.get("name")), str(block.get("id"))
        if id in self.calls:
            return
        arguments = block.get("input")
        arguments = arguments if isinstance(arguments, dict) else {}
        call = Call(number, id, name, arguments, folder=str(record.get("cwd") or ""))
        if name in ("Bash", "PowerShell"):
            call.command = str(arguments.get("command") or "")
        path = str(arguments.get("file_path") or arguments.get("notebook_path") or "")
        if name in ("Edit", "NotebookEdit") and path:
            added = str(arguments.get("new_string") or arguments.get("new_source") or "")
            call.edits = [Edit(path, "edit", added, str(arguments.get("old_string") or ""))]
        elif name == "MultiEdit" and path:
            edits = [one for one in arguments.get("edits") or [] if isinstance(one, dict)]
            call.edits = [
                Edit(path, "edit", str(one.get("new_string") or ""), str(one.get("old_string") or ""))
                for one in edits
            ]
        elif name == "Write" and path:
            call.edits = [Edit(path, "create", str(arguments.get("content") or ""))]
        self.calls[id] = call
        self.transcript.calls.append(call)
        self._listed(number, call)

    def _planned(self, number: int, call: Call, text: str) -> None:
        arguments, result = call.arguments, call.result
        if result is None or result.failed:
            return
        if call.tool == "TaskCreate" and (match := _TASK.search(text)):
            self.tasks[match[1]] = [str(arguments.get("subject") or ""), "open"]
            self._tasks(number)

    def _listed(self, number: int, call: Call) -> None:
        """A list that is written anew as a whole."""
        if call.tool == "TodoWrite":
            states = {"completed": "done", "in_progress": "now", "pending": "open"}
            todos = [one for one in call.arguments.get("todos") or [] if isinstance(one, dict)]
            plan = [(str(one.get("content")), states.get(str(one.get("status")), "open")) for one in todos]
            self.transcript.plans.append((number, plan))
        elif call.tool == "TaskUpdate":
            states = {"completed": "done", "in_progress": "now", "pending": "open", "deleted": "dropped"}
            task = self.tasks.get(str(call.arguments.get("taskId")))
            if task is not None:
                if call.arguments.get("subject"):
                    task[0] = str(call.arguments["subject"])
                if call.arguments.get("status"):
                    task[1] = states.get(str(call.arguments["status"]), "open")
                self._tasks(number)

    def _tasks(self, number: int) -> None:
        self.transcript.plans.append((number, [(text, state) for text, state in self.tasks.values()]))
