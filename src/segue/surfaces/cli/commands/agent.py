"""`segue agent`: the states of named agents."""

from __future__ import annotations

from typing import Any

import msgspec

from ....errors import UnknownAgent, UsageError
from ...render import ago, one_line
from ..command import argument, command, flag, optional
from ..context import CommandContext, read_file

_FACTS = ("mode", "pid", "pid_start", "working_memory_path", "suggestions_pending", "last_run", "last_topic")


def _list(context: CommandContext) -> int:
    agents = context.session().state.agents
    rows = (
        (name, a.mode or "-", str(a.pid or "-"), f"{a.size:,}", ago(a.saved_at) if a.saved_at else "-")
        for name, a in agents.items()
    )
    head = ("agent", "mode", "pid", "bytes", "saved")
    return context.listed(agents, head, rows, "no agents yet; `segue agent save NAME FILE` saves a state")


def _save(context: CommandContext) -> int:
    name = context.needed("name", "agent")
    body = read_file(context.args.file or "-")
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise UsageError(f"the state is not valid JSON: {fault}", hint="give one JSON value") from fault
    saved = context.session().save_agent(name, value)
    line = f"saved the state of {one_line(name)}: {len(body):,} bytes" if saved.events else "nothing changed"
    return context.saved(saved, line)


def _load(context: CommandContext) -> int:
    """The value as JSON, with and without ``--json``: it is a value for programs."""
    value = context.session().load_agent(context.needed("name", "agent"))
    context.json = True
    return context.report(value)


def _note(context: CommandContext) -> int:
    name, args = context.needed("name", "agent"), context.args
    values: dict[str, Any] = {fact: getattr(args, fact) for fact in _FACTS if getattr(args, fact) is not None}
    if args.active or args.inactive:
        values["active"] = bool(args.active)
    if not values:
        raise UsageError("there is nothing to note", hint="for example: segue agent note NAME --mode review")
    saved = context.session().note_agent(name, **values)
    return context.saved(saved, f"noted about {one_line(name)}: {', '.join(values)}")


def _drop(context: CommandContext) -> int:
    name, session = context.needed("name", "agent"), context.session()
    if name not in session.state.agents:
        raise UnknownAgent(
            f"there is no agent {one_line(name)} in {session.id}", hint="see `segue agent list`"
        )
    return context.saved(session.drop_agent(name), f"dropped {one_line(name)}; `segue undo` brings it back")


command(
    "agent",
    optional("name", "NAME", "the agent's name"),
    optional("file", "FILE", "with save: a file with one JSON value; `-`: stdin"),
    argument("--mode", "TEXT", "with note: what it is doing"),
    argument("--pid", "N", "with note: the id of its process", type=int),
    argument("--pid-start", "TEXT", "with note: when its process started"),
    argument("--working-memory-path", "PATH", "with note: where it keeps its own notes"),
    argument("--suggestions-pending", "N", "with note: how many suggestions are pending", type=int),
    argument("--last-run", "ID", "with note: its last run"),
    argument("--last-topic", "TEXT", "with note: what it last worked on"),
    flag("--active", "with note: it is working"),
    flag("--inactive", "with note: it is not working"),
    session="flag",
    json="save, note, drop: Saved; list: an object of AgentStates by name; load: the value itself",
    shape={"list": "dict[str, AgentState]", "save": "Saved", "load": "Any", "note": "Saved", "drop": "Saved"},
    examples=(
        "segue agent save planner state.json", "segue agent load planner > state.json",
        "segue agent list", "segue agent note planner --mode review --pid 4242",
    ),
    actions={"list": _list, "save": _save, "load": _load, "note": _note, "drop": _drop},
)  # fmt: skip
