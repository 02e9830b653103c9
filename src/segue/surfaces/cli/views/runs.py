"""Runs as text: one run's facts, its steps, and ids as short as they can be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from ....core.runs.steps import Call, Step
from ....services.brief.delivered import DeliveredBrief
from ....services.runs.run import Run
from ...render import Style, ago, count, cut, moment, one_line, safe

_STEP_CHARS = 240
_ID_CHARS_MIN = 8
_ID_CHARS_STEP = 4


def run_lines(run: Run, style: Style) -> list[str]:
    """Everything that is known about a run."""
    copies = ["a copy is in the archive"] if run.archived else []
    copies += ["a copy is in the store"] if run.shared else []
    kept = ", ".join(copies) or "no copy was kept"
    where = one_line(run.path) + ("" if run.present else " (gone)")
    transcript = f"{where}; {kept}" if run.written else "never written; a hook saw the prompt"
    facts = {
        "Run": f"{one_line(run.id)} of {run.agent}",
        "Ended": ended_words(run) if run.ended == "recent" else f"{run.ended}, {ago(run.last)}",
        "Began": f"{ago(run.began)}" + (f" on {one_line(run.branch)}" if run.branch else ""),
        "Session": one_line(run.session) or "none; `segue sync` assigns runs to sessions",
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
        "Transcript": transcript,
    }  # fmt: skip
    lines = [style.paint(one_line(run.goal) or "(no prompt)", "bold"), ""]
    return lines + [f"{name:12} {text}" for name, text in facts.items() if text]


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The beginning of each id that distinguishes it from the others."""
    ordered = sorted(set(ids))
    sizes = dict.fromkeys(ordered, _ID_CHARS_MIN)
    for one, other in pairwise(ordered):  # those that begin alike stand together
        size = _ID_CHARS_MIN
        while one[:size] == other[:size]:
            size += _ID_CHARS_STEP
        sizes[one], sizes[other] = max(sizes[one], size), size
    return {id: id[:size] for id, size in sizes.items()}


def ended_words(run: Run) -> str:
    """How a run ended; of one whose process is not known, only when it was last seen."""
    return f"seen {ago(run.last)}" if run.ended == "recent" else run.ended


def _window(run: Run) -> str:
    full = f" of {run.window:,}" if run.window else ""
    return f"{run.context:,} tokens{full}" if run.context else ""


def step_lines(steps: Sequence[tuple[int, Step]], style: Style) -> list[str]:
    """Steps of a run with their numbers, under the days on which they happened."""
    lines: list[str] = []
    day = ""
    digits = len(str(steps[-1][0])) if steps else 1
    for number, step in steps:
        today, clock = _clock(step.at)
        if today and today != day:
            lines += [*([""] if day else []), style.paint(today, "bold")]
            day = today
        kind, text = step_words(step)
        room = max(20, style.width - 24 - digits) if style.width else _STEP_CHARS
        head = style.paint(f"{f'#{number}':>{digits + 1}}  {clock:8}", "dim")
        lines.append(f"{head}  {kind:9} {cut(one_line(text), room, style)}")
    return lines


def told_lines(told: DeliveredBrief, style: Style) -> list[str]:
    """A text that a run was given, whole."""
    at = moment(told.at)
    head = f"{told.kind}, {at.astimezone():%Y-%m-%d %H:%M:%S}" if at else told.kind
    return [style.paint(head, "bold"), *(f"  {safe(line)}" for line in told.text.split("\n")), ""]


STEP_LINES_MAX, STEP_LINES_BESIDE = 30, 8


def whole_step_lines(
    number: int, step: Step, is_meant: bool, style: Style, *, full: bool = False
) -> list[str]:
    """A step with its text: whole with ``full``, else its first lines, more of the one that is meant."""
    today, clock = _clock(step.at)
    kind, text = step_words(step)
    mark = ">" if is_meant else " "
    head = f"{mark} #{number}  {kind}  {today} {clock}".rstrip()
    if isinstance(step, Call) and step.note and step.command:
        text = f"{text}\n$ {step.command}"
    body = [safe(line) for line in text.strip().split("\n")]
    most = STEP_LINES_MAX if is_meant else STEP_LINES_BESIDE
    if len(body) > most + 1 and not full:
        body = [*body[:most], style.paint(f"… {len(body) - most:,} more lines (--full)", "dim")]
    return [style.paint(head, "bold" if is_meant else "dim"), *(f"    {line}" for line in body), ""]


def _clock(at: float) -> tuple[str, str]:
    """The day and the time of a step; both empty if they are not known."""
    if not 0 < at < 1e11:
        return "", ""
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
