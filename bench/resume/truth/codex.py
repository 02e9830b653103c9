"""Codex's rollouts, read plainly."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from bench.resume.truth.code_mode import script_calls
from bench.resume.truth.events import (
    Call,
    Edit,
    Message,
    Result,
    Transcript,
    decoded,
    patch_edits,
    text_of,
)  # fmt: skip

_EXIT = re.compile(r"(?:^|\n)(?:Exit code: |Process exited with code |exit_code['\"]?[:=] ?)(-?\d+)")
_FAILED = re.compile(
    r"(?:apply_patch verification |exec_command )?failed|(?:execution )?error|aborted"
    r"|unsupported|.{0,40}rejected",
    re.I,
)
_OUTPUT = re.compile(r"(?:^|\n)Output:\n", re.S)
_SESSION = re.compile(r"Process running with session ID (\d+)")
_STATES = {"completed": "done", "in_progress": "now", "pending": "open"}
_REQUEST = re.compile(r"## My request for Codex:\s*", re.S)
_COPY_SECONDS = 2
_CELL = re.compile(r"Script running with cell ID (\S+)")
_NAMED = re.compile(r"(?i)session_?id\W{1,3}(\d+)\W*$")
_EXITED = re.compile(r"(?i)\bexit(?:_?code)?\W{1,3}(\d{1,3})\W*$")
"""How scripts print which process runs on, and how a command ended."""
_SCRIPT = re.compile(r"Script (completed|failed|terminated)\b")
_INSTRUCTIONS = ("<", "# AGENTS.md instructions", "Warning: ")


def read(lines: list[str]) -> Transcript:
    """The transcript that these lines are."""
    records = [(number, record) for number, line in enumerate(lines) for record in decoded(line)]
    reader = _Reader(any(_is_prompt(record) for _, record in records))
    for number, record in records:
        reader.take(number, record)
    reader.transcript.records = len(lines)
    return reader.transcript.finish()


def _payload(record: dict[str, Any]) -> dict[str, Any]:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else record


def _is_later(record: dict[str, Any], forked: str) -> bool:
    """Whether a record was written after the moments in which a fork copies its history."""
    try:
        times = [datetime.fromisoformat(str(one)) for one in (record.get("timestamp"), forked)]
    except ValueError:
        return True
    return (times[0] - times[1]).total_seconds() > _COPY_SECONDS


def _is_prompt(record: dict[str, Any]) -> bool:
    return record.get("type") == "event_msg" and _payload(record).get("type") == "user_message"


def _object(text: Any) -> dict[str, Any]:
    if isinstance(text, dict):
        return text
    try:
        value = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class _Reader:
    def __init__(self, has_prompts: bool) -> None:
        self.transcript = Transcript("codex")
        self.has_prompts = has_prompts
        self.calls: dict[str, Call] = {}
        self.early: set[str] = set()  # calls whose end was told before their output
        self.cells: dict[str, list[Call]] = {}  # by the id of a script, the calls that are known from it
        self.running: dict[str, str] = {}  # by the number of a script that runs on, its id
        self.forked: str | None = None  # when the file was begun as a copy of another one
        self.background: dict[str, Call] = {}  # by its number, the call that started a process that runs on

    def take(self, number: int, record: dict[str, Any]) -> None:
        told, payload = self.transcript, _payload(record)
        kind, inner = record.get("type"), payload.get("type")
        if kind == "session_meta" and not told.folders and payload.get("forked_from_id"):
            self.forked = None if payload.get("history_base") else str(record.get("timestamp") or "")
        if self.forked and number and not _is_later(record, self.forked):
            self._copied(number, inner, payload)
            return
        if isinstance(record.get("timestamp"), str):
            told.times.append((number, record["timestamp"]))
        if kind in ("session_meta", "turn_context"):
            if payload.get("cwd"):
                told.folders.append((number, str(payload["cwd"])))
            git = payload.get("git")
            if isinstance(git, dict) and git.get("branch"):
                told.branches.append((number, str(git["branch"])))
        elif kind == "compacted":
            told.compactions.append(number)
        elif kind == "event_msg":
            self._event(number, payload)
        elif inner == "message":
            self._message(number, payload)
        elif inner == "reasoning":
            text = text_of(payload.get("summary")) or text_of(payload.get("content"))
            if text.strip():
                told.thoughts.append(Message(number, text))
        elif inner == "tool_search_call":
            self._called(number, {"name": "tool_search", **payload})
        elif inner in ("function_call", "custom_tool_call", "local_shell_call"):
            self._called(number, payload)
        elif inner in ("function_call_output", "custom_tool_call_output", "tool_search_output"):
            self._result(number, payload)
        elif inner == "web_search_call":
            call = Call(number, f"web{number}", "web_search", _object(payload.get("action")))
            call.result = Result(number, "", failed=False)
            told.calls.append(call)

    def _copied(self, number: int, inner: Any, payload: dict[str, Any]) -> None:
        """A record of the history that a fork copied into its file, at once: what the user had asked."""
        if inner == "user_message":
            self._event(number, payload)
        elif inner == "message" and payload.get("role") == "user":
            self._message(number, payload)

    def _event(self, number: int, payload: dict[str, Any]) -> None:
        told, kind = self.transcript, payload.get("type")
        if kind == "user_message":
            text = _REQUEST.split(str(payload.get("message") or ""))[-1].strip()
            if text and not text.startswith(
                ("<turn_aborted", "<subagent_notification", "<environment_context")
            ):
                told.users.append(Message(number, text))
        elif kind == "agent_message":
            self._said(number, str(payload.get("message") or ""))
        elif kind == "exec_command_end":
            self._ended(number, payload)
        elif kind == "item_completed":
            self._completed(number, payload.get("item"))
        elif kind == "task_complete":
            told.turn_ends.append(number)
        elif kind == "turn_aborted":
            told.interrupts.append(number)
        elif kind in ("error", "stream_error"):
            told.faults.append(Message(number, str(payload.get("message"))))
        elif kind == "agent_reasoning":
            told.thoughts.append(Message(number, str(payload.get("text") or "")))
        elif kind == "mcp_tool_call_end":
            self._invoked(number, payload)
        elif kind == "patch_apply_end":
            changes = payload.get("changes")
            call = self.calls.get(str(payload.get("call_id"))) or self._patch_in_cell(changes)
            if call is not None and call.edits:
                if call.result is None:
                    good = payload.get("success") is not False
                    call.result = Result(number, str(payload.get("stdout") or ""), failed=not good)
                    self.early.add(call.id)
            elif isinstance(changes, dict):
                hows = {"add": "create", "delete": "delete"}
                edits = [
                    Edit(path, hows.get(str(_object(one).get("type")), "edit"), str(one))  # type: ignore[arg-type]
                    for path, one in changes.items()
                ]
                owner = call or Call(number, str(payload.get("call_id")), "apply_patch")
                owner.edits = edits
                if call is None:
                    text = f"{payload.get('stdout') or ''}{payload.get('stderr') or ''}"
                    owner.result = Result(number, text, failed=payload.get("success") is False)
                    self.calls[owner.id] = owner
                    told.calls.append(owner)

    def _message(self, number: int, payload: dict[str, Any]) -> None:
        told, text = self.transcript, text_of(payload.get("content"))
        if payload.get("role") == "assistant":
            self._said(number, text)
        elif payload.get("role") == "developer":
            told.give(number, text)
        elif payload.get("role") == "user":
            if "<turn_aborted>" in text[:40]:
                told.interrupts.append(number)
            elif text.strip() and not text.lstrip().startswith(_INSTRUCTIONS):
                text = _REQUEST.split(text)[-1].strip()
                told.users.append(Message(number, text, sure=not self.has_prompts, how="copy"))

    def _said(self, number: int, text: str) -> None:
        """A message stands in two records; the first one counts."""
        said = self.transcript.said
        if text.strip() and not (
            said and said[-1].text.strip() == text.strip() and number - said[-1].record < 4
        ):
            said.append(Message(number, text))

    def _completed(self, number: int, item: Any) -> None:
        """What newer versions write instead of an event for each kind of thing."""
        item = item if isinstance(item, dict) else {}
        if item.get("type") == "AgentMessage":
            self._said(number, text_of(item.get("content")))
        elif item.get("type") == "CommandExecution":
            self._ended(number, {**item, "call_id": item.get("id")})
        elif item.get("type") == "FileChange":
            good = item.get("status") == "completed"
            self._event(
                number, {**item, "type": "patch_apply_end", "call_id": item.get("id"), "success": good}
            )

    def _ended(self, number: int, payload: dict[str, Any]) -> None:
        """The end of a command, which is told before its output is given to the model."""
        call = self.calls.get(str(payload.get("call_id")))
        if call is not None and call.result is None and isinstance(payload.get("exit_code"), int):
            code = payload["exit_code"]
            text = str(payload.get("aggregated_output") or payload.get("stdout") or "")
            call.result = Result(number, text, failed=code != 0, exit=code)
            self.early.add(call.id)

    # -- scripts

    def _scripted(self, number: int, id: str, script: str) -> bool:
        """Take the calls that a script makes, if any of them is known from it."""
        found = script_calls(script)
        for at, (name, given) in enumerate(found):
            payload = {"name": name, "call_id": f"{id}#{at}"}
            if isinstance(given, str):
                payload["input"] = given
            else:
                payload["arguments"] = given
            self._called(number, payload)
            self.cells.setdefault(id, []).append(self.calls[f"{id}#{at}"])
        return bool(found)

    def _script_ended(self, number: int, id: str, raw: Any) -> None:
        """The end of a script: what it printed is the output of its calls, and which part is of which call
        is known only if there is one."""
        text = text_of(raw)
        if running := _CELL.match(text):
            self.running[running[1]] = id
            return
        left = [one for one in self.cells.pop(id) if one.result is None or one.id in self.early]
        blocks = raw[1:] if isinstance(raw, list) and len(raw) == len(left) + 1 else []
        each = len(left) > 1 and blocks and all("chunk_id" in _object(text_of(one)) for one in blocks)
        for at, call in enumerate(left):
            own = [raw[0], blocks[at]] if each else raw
            self._result(number, {"call_id": call.id, "output": own})
            if not each and len(left) > 1 and call.result is not None:
                call.result.runs = ""
                result = call.result
                result.exit, result.failed = None, None
                if call is not left[0]:
                    result.answered += "\n(printed together with the first call of its script)"

    def _patch_in_cell(self, changes: Any) -> Call | None:
        """The patch of a running script that a record of changed files is about."""
        files = {re.split(r"[/\\]", path)[-1] for path in changes} if isinstance(changes, dict) else set()
        for cell in self.cells.values():
            for call in cell:
                names = {re.split(r"[/\\]", edit.path)[-1] for edit in call.edits}
                if call.tool == "apply_patch" and call.result is None and names == files:
                    return call
        return None

    def _invoked(self, number: int, payload: dict[str, Any]) -> None:
        """The end of a call of another server's tool."""
        id, invocation = str(payload.get("call_id")), _object(payload.get("invocation"))
        if id in self.calls:
            return
        name = f"mcp__{invocation.get('server')}__{invocation.get('tool')}"
        plain = re.sub(r"\W", "_", name)  # as a script has to write it
        waiting = (one for cell in self.cells.values() for one in cell if one.result is None)
        call = next((one for one in waiting if one.tool == plain), None)
        if call is None:
            call = Call(number, id, name, _object(invocation.get("arguments")))
            self.transcript.calls.append(call)
        self.calls[id] = call
        result = _object(payload.get("result"))
        good = "Ok" in result and not _object(result["Ok"]).get("isError")
        call.result = Result(number, text_of(_object(result.get("Ok")).get("content")), failed=not good)
        call.result.answered = json.dumps(result, ensure_ascii=False)

    # -- calls

    def _called(self, number: int, payload: dict[str, Any]) -> None:
        name, id = str(payload.get("name") or "shell"), str(payload.get("call_id") or payload.get("id"))
        is_script = name == "exec" and isinstance(payload.get("input"), str)
        if is_script and self._scripted(number, id, payload["input"]):
            return
        arguments = _object(payload.get("arguments")) or _object(payload.get("action"))
        if str(payload.get("namespace") or "").startswith("mcp__"):
            name = f"{payload['namespace']}__{name}"
        call = Call(number, id, name, arguments)
        given = arguments.get("command") or arguments.get("cmd")
        if name in ("shell", "shell_command", "exec_command", "container.exec", "local_shell"):
            if isinstance(given, list):
                given = (
                    given[-1] if len(given) >= 3 and given[1] in ("-lc", "-c") else " ".join(map(str, given))
                )
            call.command = str(given or "")
            call.folder = str(arguments.get("workdir") or "")
            if re.search(r"\bapply_patch\b", call.command) and "*** Begin Patch" in call.command:
                call.edits = patch_edits(call.command)
        if name == "apply_patch":
            call.edits = patch_edits(str(payload.get("input") or arguments.get("input") or ""))
        if "input" in payload:
            call.arguments = {**arguments, "input": payload["input"]}
        self.calls[id] = call
        self.transcript.calls.append(call)
        if call.tool == "update_plan":
            steps = [one for one in call.arguments.get("plan") or [] if isinstance(one, dict)]
            plan = [(str(one.get("step")), _STATES.get(str(one.get("status")), "open")) for one in steps]
            self.transcript.plans.append((number, plan))

    def _result(self, number: int, payload: dict[str, Any]) -> None:
        if str(payload.get("call_id")) in self.cells:
            self._script_ended(number, str(payload["call_id"]), payload.get("output"))
            return
        call = self.calls.get(str(payload.get("call_id")))
        if call is None or (call.result is not None and call.id not in self.early):
            return
        first = call.result.record if call.result is not None else number
        self.early.discard(call.id)
        raw = payload.get("output")
        inner = _object(raw)
        text = str(inner["output"]) if "output" in inner else text_of(raw)
        result = Result(first, text)
        script = _SCRIPT.match(text)
        if script and call.tool == "wait":
            cell = self.running.pop(str(call.arguments.get("cell_id")), "")
            if cell in self.cells:
                self._script_ended(number, cell, raw)
        metadata = inner.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("exit_code"), int):
            result.exit = metadata["exit_code"]
        elif match := _EXIT.search(text[:600]):
            result.exit = int(match[1])
        parts = _OUTPUT.split(text, maxsplit=1)
        head, body = (parts[0], parts[1]) if len(parts) == 2 else ("", text)
        result.text = body
        if script:
            printed = _object(body.strip().split("\n")[0])  # what a command gives a script, if it is printed
            result.failed = True if script[1] == "failed" else None
            result.stopped = script[1] == "terminated"
            if "chunk_id" in printed or "exit_code" in printed:
                rest = body.strip().partition("\n")[2]
                result.text, result.answered = str(printed.get("output") or rest), body
                if isinstance(printed.get("exit_code"), int):
                    result.exit = printed["exit_code"]
                elif printed.get("session_id"):
                    head = f"Process running with session ID {printed['session_id']}"
        if result.exit is not None:
            result.failed = result.exit != 0
        elif _FAILED.match(body.strip()):
            result.failed = True
        result.refused = bool(
            re.search(r"rejected by user|denied by (?:the )?user|exec command rejected", text[:300])
        )
        result.stopped = (
            bool(re.match(r"aborted by user|command timed out", body.strip())) or result.exit == 124
        )
        call.result = result
        if script and result.exit is None and (code := _EXITED.search(result.text[-40:])):
            result.exit = int(code[1])
        if script and result.exit is None and (named := _NAMED.search(result.text[-80:])):
            head = f"Process running with session ID {named[1]}"
        asked = str(call.arguments.get("session_id")) if call.tool == "write_stdin" else ""
        if match := _SESSION.search(head or text[:300]):
            result.failed = None
            if not asked and call.tool != "wait":
                self._runs_on(match[1], call, number)
        if asked in self.background:
            self._polled(asked, call, number)
        elif asked and result.exit is not None:
            self.transcript.ended.setdefault(asked, number)
        self._agents(number, call, text)

    def _runs_on(self, name: str, call: Call, number: int) -> None:
        assert call.result is not None
        call.result.runs = name
        self.transcript.started[name] = number
        self.transcript.ended.pop(name, None)
        self.background[name] = call

    def _polled(self, name: str, call: Call, number: int) -> None:
        """What a process gave since is output of the call that started it, and its end is that call's."""
        answer, starter = call.result, self.background[name]
        assert answer is not None and starter.result is not None
        starter.result.text += f"\n{answer.text}"
        gone = answer.failed and re.search(r"[Uu]nknown (?:process|session)", answer.text[:300])
        if answer.exit is None and not gone:
            return
        self.transcript.ended.setdefault(name, number)
        starter.result.runs, starter.result.exit = "", answer.exit
        starter.result.failed = answer.exit != 0 if answer.exit is not None else None
        del self.background[name]

    def _agents(self, number: int, call: Call, text: str) -> None:
        told, given = self.transcript, _object(text)
        if call.tool == "spawn_agent":
            name = str(given.get("agent_id") or given.get("task_name") or "")
            if name:
                told.started.setdefault(name, number)
        elif call.tool in ("wait_agent", "wait", "close_agent"):
            status = given.get("status")
            for name, state in status.items() if isinstance(status, dict) else ():
                if state not in ("running", "pending_init"):
                    told.ended.setdefault(str(name), number)
            if call.tool == "close_agent":
                told.ended.setdefault(str(call.arguments.get("id") or call.arguments.get("target")), number)
