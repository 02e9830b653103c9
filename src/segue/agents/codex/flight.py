"""Pending calls: each is reported once when it starts and once when it ends, from whichever record comes
first.

Codex records the end of a call as a structured record, as an output, or both. In code mode the model's only
call is a script: the calls that can be read from it are reported at once, so that a crash leaves them
pending, and structured records that follow are matched to them. Other calls are known from those records
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import Call, Interrupt, Report, Result, Settled, Step
from .calls import CLOSES, SCRIPT, WAITS, call_of, call_of_changes, command_of, plan_of
from .kept import RolloutMemory
from .outcome import CallOutcome, of_blocks, of_item, of_output, with_printed
from .script import prints_each, readable_calls, words_before_numbers
from .wire import Item, parsed, rows, table, text

_COMMANDS = frozenset({"CommandExecution", "exec_command_end"})
_PATCHES = frozenset({"FileChange", "patch_apply_end"})
_TOOLS = frozenset({"McpToolCall", "mcp_tool_call_end", "DynamicToolCall"})
_AGENTS = frozenset({"CollabAgentToolCall", "collab_waiting_end"})
_SPAWNS = frozenset({"spawn_agent", "resume_agent"})
_AGENT_ENDS: dict[str, bool | None] = {
    "completed": True,
    "errored": False,
    "interrupted": None,
    "shutdown": None,
    "not_found": None,
}
_GONE_CHARS = 200
_EACH = "each"
"""The mark of a script that prints the outcomes of its calls one by one."""
TOGETHER = "(printed together with the first call of its script)"
_MARKS = regex(r"\W")
ITEMS = _COMMANDS | _PATCHES | _TOOLS | _AGENTS


class Flight:
    """The calls of one transcript."""

    def __init__(self, kept: RolloutMemory) -> None:
        self.kept = kept

    def begin(self, at: float, id: str, tool: str, arguments: Any) -> list[Step]:
        """The steps of a call that starts."""
        inner = readable_calls(arguments) if tool == SCRIPT and isinstance(arguments, str) else []
        if not inner:
            return self._begin(at, id, tool, arguments)
        steps: list[Step] = []
        cell: list[list[str]] = []
        for index, (name, argument) in enumerate(inner):
            own = f"{id}#{index + 1}" if index else id
            for step in self._begin(at, own, name, argument):
                if isinstance(step, Call):
                    cell.append([own, name, step.command])
                steps.append(step)
        each = _EACH if len(cell) > 1 and prints_each(arguments) else ""
        self.kept.celled(id, cell, [*words_before_numbers(arguments), each])
        return steps

    def _begin(self, at: float, id: str, tool: str, arguments: Any) -> list[Step]:
        call = call_of(at, id, tool, arguments, self.kept.running)
        self.kept.opened(id, tool, call.command, call.process)
        if call.act == "plan" and (plan := plan_of(at, arguments)):
            return [call, plan]
        return [call]

    def output(self, at: float, id: str, output: Any) -> list[Step]:
        """The steps of a tool's output."""
        kept = self.kept
        if id in kept.done and id not in kept.cells:
            return []
        outcome = of_output(output)
        if id in kept.cells:
            return list(self._cell(at, id, outcome, output))
        steps: list[Step] = []
        tool, command, process = kept.open.get(id, ["", "", ""])
        if outcome.script == "ended" and tool == "wait":
            for cell in kept.waited_for(process):
                steps += self._cell(at, cell, outcome, output)
            steps += self._end(at, id, outcome)
        elif tool == "write_stdin":
            steps += self._carried(at, id, process, outcome)
        elif outcome.session and outcome.script != "running":
            steps += self._runs_on(at, id, command, outcome)
        elif tool in _SPAWNS:
            steps += self._end(at, id, outcome, self._spawned(id, process, output))
        else:
            steps += self._end(at, id, outcome)
            if tool in WAITS:
                steps += self.reports(at, table(parsed(output)).get("status"))
            elif tool == CLOSES and outcome.ok is not False:
                steps.append(Settled(at, process))
        return steps

    def _runs_on(self, at: float, id: str, command: str, outcome: CallOutcome) -> list[Step]:
        """The result of a call whose process goes on in the background."""
        self.kept.runs_on(outcome.session, id, command)
        return [Result(at, id, text=outcome.text, process=outcome.session)]

    def _carried(self, at: float, id: str, process: str, outcome: CallOutcome) -> list[Step]:
        """The result of a call about a process that an earlier call started; its exit is reported once."""
        is_gone = outcome.ok is False and "nknown" in outcome.text[:_GONE_CHARS]
        running = self.kept.running.get(process)
        if running is None or (outcome.exit is None and not is_gone):
            return [*self._end(at, id, CallOutcome(ok=False if is_gone else None, text=outcome.text))]
        del self.kept.running[process]
        self.kept.closed(running[0])
        ended = Settled(at, process, None if is_gone else outcome.ok, outcome.text)
        return [*self._end(at, id, outcome), ended]

    def _cell(self, at: float, id: str, outcome: CallOutcome, output: Any) -> Iterator[Step]:
        """The results of a script's calls that no structured record has ended yet."""
        kept = self.kept
        if outcome.script == "running":
            kept.waits_for(outcome.session, id)
            return
        calls = kept.cells.pop(id)
        left = [own for own, _, _ in calls if own in kept.open]
        before_process, before_exit, each = kept.printed.pop(id, ["", "", ""])
        outcomes = of_blocks(output, len(calls)) if each else []
        if len(left) == 1 and not outcomes:
            yield from self._of_script(at, left[0], with_printed(outcome, before_process, before_exit))
        elif outcomes:
            for (own, _, _), alone in zip(calls, outcomes, strict=True):
                if own in left:
                    yield from self._of_script(at, own, with_printed(alone, before_process, before_exit))
        else:  # which words are of which call, and which of them failed, is not known
            for index, own in enumerate(left):
                yield from self._end(at, own, CallOutcome(text=TOGETHER if index else outcome.text))
        if not left and id not in kept.done:
            kept.closed(id)

    def _of_script(self, at: float, own: str, outcome: CallOutcome) -> Iterable[Step]:
        """The result of a script's call whose own outcome is known."""
        tool, command, process = self.kept.open[own]
        if tool == "write_stdin":
            return self._carried(at, own, process, outcome)
        if outcome.session:
            return self._runs_on(at, own, command, outcome)
        return self._end(at, own, outcome)

    def _end(self, at: float, id: str, outcome: CallOutcome, process: str = "") -> tuple[Step, ...]:
        if id in self.kept.done:
            return ()
        self.kept.closed(id)
        if outcome.refused:
            return Interrupt(at, "", id), Result(at, id)
        return (Result(at, id, outcome.ok, outcome.exit, outcome.text, process=process),)

    def item(self, at: float, item: Item) -> Iterable[Step]:
        """The steps of a structured record of a finished action."""
        kind, id = text(item.type), text(item.id) or text(item.call_id)
        if kind in _AGENTS:
            return self._collaborated(at, id, item)
        if not id or id in self.kept.done or text(item.status) in ("in_progress", "inProgress"):
            return ()
        if process := self._process_of(id, kind, item):
            own, outcome = self.kept.running.pop(process)[0], of_item(item)
            self.kept.closed(own)
            return (Settled(at, process, outcome.ok, outcome.text),)
        known = self._known(id, kind, item)
        if known is None:
            return ()
        if known:
            return self._end(at, known, of_item(item))
        call = self._call_of_item(at, id, kind, item)
        self.kept.opened(id, call.tool, call.command)
        return (call, *self._end(at, id, of_item(item)))

    def _known(self, id: str, kind: str, item: Item) -> str | None:
        """The id under which the call was reported; empty if it was not; None if its output will say more."""
        kept = self.kept
        if id in kept.open:
            return None if kept.open[id][0] == "write_stdin" else id
        return self._in_cell(kind, item)

    def _process_of(self, id: str, kind: str, item: Item) -> str:
        """The process in the background whose end a record tells; else empty."""
        if id in self.kept.open:
            return ""
        for process, (own, _) in self.kept.running.items():
            if own == id or (kind in _COMMANDS and process == str(item.process_id)):
                return process
        return ""

    def _in_cell(self, kind: str, item: Item) -> str:
        wanted = _MARKS.sub("_", _tool(item)) if kind in _TOOLS else "apply_patch"  # as a script writes it
        command = command_of(item.command)
        for cell in self.kept.cells.values():
            for own, tool, written in cell:
                same_tool = _MARKS.sub("_", tool) == wanted
                is_it = written == command and written != "" if kind in _COMMANDS else same_tool
                if is_it and own in self.kept.open:
                    return own
        return ""

    def _call_of_item(self, at: float, id: str, kind: str, item: Item) -> Call:
        if kind in _COMMANDS:
            return call_of(at, id, "exec_command", {"cmd": command_of(item.command)})
        if kind in _PATCHES:
            return call_of_changes(at, id, item.changes)
        arguments = item.arguments if item.arguments is not None else table(item.invocation).get("arguments")
        return call_of(at, id, _tool(item), arguments)

    # Sub-agents

    def _spawned(self, id: str, resumed: str, output: Any) -> str:
        """The id of the agent that a call has started, as its output says, or of the one it has resumed."""
        answer = table(parsed(output))
        agent = text(answer.get("agent_id")) or text(answer.get("task_name"))
        if agent:
            self.kept.knows_agent(agent, id, text(answer.get("nickname")) or agent)
        return agent or (resumed if answer else "")

    def _collaborated(self, at: float, id: str, item: Item) -> Iterator[Step]:
        for agent in map(table, rows(item.receiver_agents)):
            if item.tool == "spawn_agent" and text(agent.get("thread_id")):
                self.kept.knows_agent(agent["thread_id"], id, text(agent.get("agent_nickname")))
        yield from self.reports(at, item.statuses if item.statuses is not None else item.agents_states)

    def reports(self, at: float, statuses: Any) -> Iterator[Step]:
        """The reports and ends of sub-agents, from their states."""
        for agent, status in table(statuses).items():
            state = next(iter(status), "") if isinstance(status, dict) else text(status)
            report = text(table(status).get(state))
            if state not in _AGENT_ENDS:
                continue
            if report:
                yield from self.report(at, agent, report)
            if self.kept.is_new_report(agent, f"{state}: {report}"):
                yield Settled(at, agent, _AGENT_ENDS[state], report)

    def report(self, at: float, agent: str, report: str) -> Iterator[Step]:
        """What a sub-agent says, which may be in several records."""
        if self.kept.is_new_report(agent, report):
            call, name = self.kept.agents.get(agent, ["", ""])
            yield Report(at, report, name or agent, call)


def _tool(item: Item) -> str:
    """The full name of an MCP tool."""
    invoked = table(item.invocation)
    server, tool = (
        text(item.server) or text(invoked.get("server")),
        text(item.tool) or text(invoked.get("tool")),
    )
    return f"mcp__{server}__{tool}" if server else tool
