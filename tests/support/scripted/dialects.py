"""A step as the tool calls of the agent that asks, by the names of the tools that it offered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.support.scripted.steps import Delegate, Edit, Mcp, Raw, Read, Run, Say, Step, Think, Todos, Write

from segue.core.base.values import Value


class Part(Value):
    """A piece of an answer: ``text``, ``thought``, ``tool`` (arguments) or ``custom`` (one text)."""

    kind: str
    text: str = ""
    name: str = ""
    space: str = ""  # the namespace of a tool, where there are namespaces
    arguments: dict[str, Any] = {}


def rendered(dialect: str, steps: Iterable[Step], tools: Sequence[str], folder: str) -> list[Part]:
    """A turn in a dialect: ``claude-code``, ``codex``, ``opencode``, ``gemini-cli`` or ``cline``."""
    parts: list[Part] = []
    for step in steps:
        if isinstance(step, Say):
            parts.append(Part("text", step.text))
        elif isinstance(step, Think):
            parts.append(Part("thought", step.text))
        elif isinstance(step, Raw):
            parts.append(_tool(step.tool, **step.arguments))
        else:
            parts += DIALECTS[dialect](step, tools, folder)
    return parts


def _tool(tool: str, /, **arguments: Any) -> Part:
    return Part("tool", name=tool, arguments=arguments)


def _offered(tools: Sequence[str], *names: str) -> str:
    return next((name for name in names if name in tools), names[0])


def _claude(step: Step, tools: Sequence[str], folder: str) -> list[Part]:
    match step:
        case Todos(items) if "TodoWrite" in tools:
            todos = [{"content": t, "status": s, "activeForm": f"Doing: {t}"} for t, s in items]
            return [_tool("TodoWrite", todos=todos)]
        case Todos(items) if any(status != "pending" for _, status in items):
            return [
                _tool("TaskUpdate", taskId=str(n), status=s)
                for n, (_, s) in enumerate(items, 1)
                if s != "pending"
            ]
        case Todos(items):
            return [_tool("TaskCreate", subject=t, description=t, activeForm=f"Doing: {t}") for t, _ in items]
        case Write(path, content):
            return [_tool("Write", file_path=f"{folder}/{path}", content=content)]
        case Edit(path, old, new):
            return [_tool("Edit", file_path=f"{folder}/{path}", old_string=old, new_string=new)]
        case Read(path):
            return [_tool("Read", file_path=f"{folder}/{path}")]
        case Run(command, seconds):
            timeout = int(seconds * 1000)
            return [_tool("Bash", command=command, description=f"Run {command[:30]}", timeout=timeout)]
        case Mcp(tool, arguments, server):
            return [_tool(f"mcp__{server}__{tool}", **arguments)]
        case Delegate(prompt):
            name = _offered(tools, "Agent", "Task")
            return [_tool(name, description="a part", prompt=prompt, subagent_type="general-purpose")]
    return []


def _lines(text: str, sign: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.splitlines())


def _codex(step: Step, tools: Sequence[str], folder: str) -> list[Part]:
    if "functions.exec" in tools and not isinstance(step, Delegate):
        return [_in_code(part) for part in _codex(step, ("exec_command",), folder)]
    match step:
        case Todos(items):
            return [_tool("update_plan", plan=[{"step": t, "status": s} for t, s in items])]
        case Write(path, content):
            return [_patch(f"*** Add File: {path}\n{_lines(content, '+')}")]
        case Edit(path, old, new):
            return [_patch(f"*** Update File: {path}\n@@\n{_lines(old, '-')}{_lines(new, '+')}")]
        case Read(path):
            return _codex(Run(f"cat {path}"), tools, folder)
        case Run(command, seconds):
            name = _offered(tools, "exec_command", "shell_command")
            if name == "exec_command":
                return [_tool(name, cmd=command, yield_time_ms=int(seconds * 1000))]
            return [_tool(name, command=command)]
        case Mcp(tool, arguments, server):
            full = f"mcp__{server}__{tool}"
            if full in tools:
                return [_tool(full, **arguments)]
            return [Part("tool", name=tool, space=f"mcp__{server}", arguments=dict(arguments))]
        case Delegate(prompt):
            full = next((t for t in tools if t.endswith("spawn_agent")), "spawn_agent")
            space, _, name = full.rpartition(".")
            more = {"task_name": "a_part"} if space == "collaboration" else {}
            return [Part("tool", name=name, space=space, arguments={"message": prompt, **more})]
    return []


def _patch(body: str) -> Part:
    return Part("custom", f"*** Begin Patch\n{body}*** End Patch\n", "apply_patch")


def _in_code(part: Part) -> Part:
    """Models of code mode have one tool and write JavaScript that calls the others."""
    name = f"{part.space}__{part.name}" if part.space else part.name
    given = json.dumps(part.text if part.kind == "custom" else part.arguments)
    return Part("custom", f"const r = await tools.{name}({given}); text(r);", "exec", "functions")


def _opencode(step: Step, tools: Sequence[str], folder: str) -> list[Part]:
    match step:
        case Todos(items):
            todos = [
                {"content": t, "status": s, "priority": "high", "id": str(n)}
                for n, (t, s) in enumerate(items, 1)
            ]
            return [_tool("todowrite", todos=todos)]
        case Write(path, content):
            return [_tool("write", filePath=f"{folder}/{path}", content=content)]
        case Edit(path, old, new):
            return [_tool("edit", filePath=f"{folder}/{path}", oldString=old, newString=new)]
        case Read(path):
            return [_tool("read", filePath=f"{folder}/{path}")]
        case Run(command, seconds):
            timeout = int(seconds * 1000)
            return [_tool("bash", command=command, description=f"Run {command[:30]}", timeout=timeout)]
        case Mcp(tool, arguments, server):
            return [_tool(f"{server}_{tool}", **arguments)]
        case Delegate(prompt):
            return [_tool("task", description="a part", prompt=prompt, subagent_type="general")]
    return []


def _gemini(step: Step, tools: Sequence[str], folder: str) -> list[Part]:
    match step:
        case Todos(items):
            return [_tool("write_todos", todos=[{"description": t, "status": s} for t, s in items])]
        case Write(path, content):
            return [_tool("write_file", file_path=f"{folder}/{path}", content=content)]
        case Edit(path, old, new):
            whole = f"{folder}/{path}"
            return [_tool("replace", file_path=whole, instruction="change", old_string=old, new_string=new)]
        case Read(path):
            return [_tool("read_file", file_path=f"{folder}/{path}")]
        case Run(command):
            return [_tool("run_shell_command", command=command, description=f"Run {command[:30]}")]
        case Mcp(tool, arguments, server):
            return [_tool(_offered(tools, f"mcp_{server}_{tool}", f"{server}__{tool}", tool), **arguments)]
        case Delegate(prompt):
            name = _offered(tools, "invoke_agent", "generalist", "codebase_investigator")
            return [_tool(name, objective=prompt, agent_name="generalist", prompt=prompt)]
    return []


PROGRESS = "task_progress"


def _cline(step: Step, tools: Sequence[str], folder: str) -> list[Part]:
    match step:
        case Todos(items):
            lines = [f"- [{'x' if status == 'completed' else ' '}] {text}" for text, status in items]
            return [_tool(PROGRESS, **{PROGRESS: "\n".join(lines)})]
        case Write(path, content):
            return [_tool("write_to_file", path=path, content=content)]
        case Edit(path, old, new):
            diff = f"------- SEARCH\n{old}\n=======\n{new}\n+++++++ REPLACE"
            return [_tool("replace_in_file", path=path, diff=diff)]
        case Read(path):
            return [_tool("read_file", path=path)]
        case Run(command, seconds):
            asks = {"requires_approval": "false", "timeout": str(int(seconds))}
            return [_tool("execute_command", command=command, **asks)]
        case Mcp(tool, arguments, server):
            return [
                _tool("use_mcp_tool", server_name=server, tool_name=tool, arguments=json.dumps(arguments))
            ]
        case Delegate(prompt):
            return [_tool("use_subagents", prompt_1=prompt)]
    return []


def in_tags(parts: Sequence[Part]) -> list[Part]:
    """A turn for an agent that reads calls from the text, one in a message. Its list of things to do is a
    field of any call, and a turn without a call must be one that ends the task."""
    said = "\n".join(part.text for part in parts if part.kind == "text")
    listed = next((part for part in parts if part.name == PROGRESS), None)
    call = next((part for part in parts if part.kind == "tool" and part.name != PROGRESS), None)
    if call is None and listed is not None:
        call = _tool("list_files", path=".")
    if call is None:
        call, said = _tool("attempt_completion", result=said), ""
    fields = {**call.arguments, **(listed.arguments if listed is not None else {})}
    inner = "".join(f"<{name}>\n{value}\n</{name}>\n" for name, value in fields.items())
    return [Part("text", f"{said}\n<{call.name}>\n{inner}</{call.name}>")]


DIALECTS: dict[str, Callable[[Step, Sequence[str], str], list[Part]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini-cli": _gemini,
    "cline": _cline,
}
