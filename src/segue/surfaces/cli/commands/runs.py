"""Runs: what agents left on this machine, and taking it in. Only sync writes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import TranscriptUnreadable
from ....services.runs.observed import runs_of
from ....services.runs.select import newest_other_run
from ...render import Style, ago, bytes_words, count, cut, one_line, table
from ..command import CliCommand
from ..context import CommandContext
from ..progress import ProgressBar

if TYPE_CHECKING:
    from ....api.segue import Segue
    from ....core.runs.steps import Step
    from ....services.runs.run import Run
    from ....services.runs.sync import Synced
    from ..parser import Parser

_COLOURS = {"alive": "green", "crashed": "red", "interrupted": "yellow", "waiting": "cyan"}
_ID_CHARS_MIN = 8
PROCESSES_MAX = 4
"""That share the reading of transcripts: more would wait for the disk, and leave nothing for others."""
_STEP_CHARS = 240


def runs(context: CommandContext) -> int:
    """The runs that agents left in this project, or in all."""
    args = context.args
    found = context.looked(
        lambda segue: segue.runs(agent=args.agent or "", everywhere=args.all, limit=max(0, args.limit)),
        "the agents' files",
    )
    context.emit(found)
    if context.json:
        return 0
    if not found:
        context.say("no agent has left a run here; `segue runs --all` looks in every project")
        return 0
    names = short_ids([run.id for run in found])
    rows = [
        (
            names[run.id] + (" (sub-agent)" if run.side else ""), run.agent, ago(run.last), run.ended,
            run.used, run.goal or "(nothing was asked)",
        )
        for run in found
    ]  # fmt: skip
    head = ("run", "agent", "active", "ended", "window", "prompt")
    lines = table(head, rows, context.style)
    context.say(
        lines[0], *(_painted(line, run, context.style) for line, run in zip(lines[1:], found, strict=True))
    )
    return 0


def _painted(line: str, run: Run, style: Style) -> str:
    colour = _COLOURS.get(run.ended)
    return line.replace(f" {run.ended}", f" {style.paint(run.ended, colour)}", 1) if colour else line


def short_ids(ids: list[str]) -> dict[str, str]:
    """As much of each id as tells it from the others."""
    found = {}
    for id in ids:
        size = _ID_CHARS_MIN
        while size < len(id) and any(other != id and other.startswith(id[:size]) for other in ids):
            size += 4
        found[id] = id[:size]
    return found


def sync(context: CommandContext) -> int:
    """Take in what is new, and keep copies."""
    import os

    from ....services.runs.sync import retention_notice

    args = context.args
    paths = [Path(path).expanduser().absolute() for path in args.path]
    with ProgressBar(context) as progress:
        done = context.segue.sync(
            agent=args.agent or "", paths=paths, session=args.session or "", progress=progress,
            workers=min(PROCESSES_MAX, os.cpu_count() or 1),
        )  # fmt: skip
    context.emit(done)
    context.say(*_summary(done))
    for agent in done.first:  # once is enough; `segue doctor` says it again
        if agent in done.retention and not paths:
            kept = context.segue.workspace.settings["archive_bytes_max"] > 0
            context.warn(retention_notice(agent, done.retention[agent], kept=kept))
    for one in done.unreadable:
        named = "" if one.path and one.path in one.reason else f"{one_line(one.path or one.agent)}: "
        context.warn(f"not read: {named}{one_line(one.reason)}")
    for left in done.unshared:
        named = f"{one_line(left.path)}: " if left.path else ""
        context.warn(f"{named}{one_line(left.reason)}")
    nothing = done.unreadable and not done.read and not done.unchanged
    return TranscriptUnreadable.exit_code if paths and nothing else 0


def _summary(done: Synced) -> list[str]:
    read = f"{count(done.read, 'run')} read ({done.new} new, {bytes_words(done.bytes_read)})"
    lines = [f"{read}, {done.unchanged} unchanged, {len(done.unreadable)} unreadable"]
    if done.sessions:
        lines.append(
            f"{count(len(done.sessions), 'session')} begun for runs that nobody had declared one for"
        )
    if done.dropped:
        lines.append(
            f"{count(done.dropped, 'old copy', 'old copies')} removed: the archive keeps to its limits"
        )
    if done.shared:
        lines.append(f"{count(done.shared, 'transcript')} shared: masked copies in the store")
    return lines


# -- one run -----------------------------------------------------------------------------------


def wanted_run(context: CommandContext) -> Run | None:
    """The run that is meant; None if a session is."""
    id = context.session_id()
    if not id and not context.args.timeline:
        return None
    return context.looked(lambda segue: _run(segue, id), "the agents' files")


def _run(segue: Segue, id: str) -> Run | None:
    from ....errors import BadName, UnknownRun

    if not id:
        with suppress(UnknownRun):  # then it is the session's timeline
            return segue.run(newest_other_run(runs_of(segue.workspace).finder()).native)
        return None
    try:
        if segue.workspace.repository.exists(id):
            return None
    except BadName:  # an id that no session could have
        pass
    try:
        return segue.run(id)
    except UnknownRun:
        return None


def show_run(context: CommandContext, run: Run) -> int:
    """A run's facts, or its steps."""
    if context.args.timeline:
        return _steps(context, run)
    context.emit(run)
    context.say(*run_lines(run, context.style))
    return 0


def run_lines(run: Run, style: Style) -> list[str]:
    """What is known of a run."""
    copies = ["kept in the archive"] if run.archived else []
    copies += ["a copy is in the store"] if run.shared else []
    kept = ", ".join(copies) or "no copy is kept"
    where = one_line(run.path) + ("" if run.present else " (gone)")
    facts = {
        "Run": f"{one_line(run.id)} of {run.agent}",
        "Ended": f"{run.ended}, {ago(run.last)}",
        "Began": f"{ago(run.began)}" + (f" on {one_line(run.branch)}" if run.branch else ""),
        "Session": one_line(run.session) or "none; `segue sync` attaches runs",
        "Folder": one_line(run.cwd),
        "Model": one_line(run.model),
        "Window": _window(run),
        "Work": ", ".join(
            [count(run.steps, "step"), count(run.calls, "call")]
            + ([count(run.compactions, "compaction")] if run.compactions else [])
            + ([f"{run.stretches} stretches"] if run.stretches > 1 else [])
        ),
        "Parent": one_line(run.parent),
        "Damage": f"{count(run.malformed, 'record')} could not be read" if run.malformed else "",
        "Transcript": f"{where}; {kept}",
    }  # fmt: skip
    lines = [style.paint(one_line(run.goal) or "(nothing was asked)", "bold"), ""]
    return lines + [f"{name:12} {text}" for name, text in facts.items() if text]


def _window(run: Run) -> str:
    full = f" of {run.window:,}" if run.window else ""
    return f"{run.context:,} tokens{full}" if run.context else ""


def _steps(context: CommandContext, run: Run) -> int:
    from ....services.runs.listing import steps_of

    steps = steps_of(context.segue.workspace, run)
    if context.args.limit > 0:
        steps = steps[-context.args.limit :]
    if context.json:
        context.emit([step_object(step) for step in steps])
        return 0
    day = ""
    for step in steps:
        today, clock = _clock(step.at)
        if today != day:
            context.say(*([""] if day else []), context.style.paint(today, "bold"))
            day = today
        kind, text = step_words(step)
        room = max(20, context.style.width - 21) if context.style.width else _STEP_CHARS
        context.say(
            f"{context.style.paint(clock, 'dim')}  {kind:9} {cut(one_line(text), room, context.style)}"
        )
    return 0


def _clock(at: float) -> tuple[str, str]:
    from datetime import datetime

    if not 0 < at < 1e11:
        return "at an unknown time", "??:??:??"
    local = datetime.fromtimestamp(at).astimezone()
    return local.date().isoformat(), f"{local:%H:%M:%S}"


def step_words(step: Step) -> tuple[str, str]:
    """(kind, what it says) of a step, for a line."""
    kind = type(step).__name__.lower()
    fields = {name: getattr(step, name) for name in step.__struct_fields__}
    match kind:
        case "call":
            what = fields["command"] or ", ".join(fields["paths"]) or fields["text"]
            return kind, f"{fields['tool']}: {fields['note'] or what}"
        case "result":
            failed = fields["ok"] is False or bool(fields["exit"])
            state = (
                f"failed ({fields['exit']}): " if failed and fields["exit"] else "failed: " if failed else ""
            )
            return kind, state + fields["text"]
        case "plan":
            return kind, "; ".join(f"{item.text} ({item.state})" for item in fields["items"])
        case "usage":
            return kind, f"{fields['context']:,} tokens in the window"
        case "start":
            named = (fields[name] for name in ("how", "cwd", "branch", "version"))
            return kind, " ".join(filter(None, named))
        case "compact":
            return kind, fields["summary"]
        case "model":
            return kind, fields["name"]
        case "interrupt":
            return kind, fields["reason"]
        case "end":
            return kind, f"{fields['how']} {fields['text']}"
        case _:
            return kind, str(fields.get("text", ""))


def step_object(step: Step) -> dict[str, Any]:
    """A step for programs."""
    from ...render import plain

    fields: dict[str, Any] = plain(step)
    return {"kind": type(step).__name__.lower(), **fields}


# -- arguments ---------------------------------------------------------------------------------


def _runs_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--all", action="store_true", help="of all projects")
    add("--agent", metavar="NAME", help="of this agent only")
    add("--limit", type=int, default=20, metavar="N", help="the newest N, 20 if not given; 0: all")


def _sync_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("path", nargs="*", metavar="PATH", help="transcripts, or folders of them, instead of the project's")
    add("--agent", metavar="NAME", help="of this agent only; for a PATH, the agent that wrote it")


COMMANDS = (
    CliCommand(
        "runs", runs, _runs_arguments, json="an array of Runs",
        examples=("segue runs", "segue runs --all --agent codex", "segue runs --limit 0 --json"),
    ),
    CliCommand(
        "sync", sync, _sync_arguments, session="flag",
        json="`{read, new, unchanged, unreadable, bytes_read, sessions, dropped, archive_bytes, retention, "
        "shared, unshared, first}`",
        examples=("segue sync", "segue sync --json", "segue sync old-logs/rollout.jsonl"),
    ),
)  # fmt: skip
