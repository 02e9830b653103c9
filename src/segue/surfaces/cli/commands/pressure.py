"""`segue pressure`: how full the context window of a run is."""

from __future__ import annotations

from ....core.runs.window_pressure import Pressure
from ....errors import UsageError
from ...render import one_line
from ..command import argument, command, optional
from ..context import CommandContext

_COLOURS = {"NORMAL": "green", "ELEVATED": "yellow", "CRITICAL": "red", "EMERGENCY": "red"}
_SOURCES = {
    "agent": "its size comes from the agent",
    "setting": "its size comes from the settings",
    "table": "its size comes from a table of models",
    "usage": "its size is an estimate from what it holds",
    "default": "its size is the default",
    "given": "its size comes from --window",
}


@command(
    "pressure",
    optional("run", "RUN", "the id of a run; by default the newest run here"),
    argument("--tokens", "N", "assume that this many tokens are used", type=int),
    argument("--window", "N", "the size of the window; by default what is known about the model", type=int),
    argument("--threshold", "SHARE", "how full the window must be to prepare; by default 0.8", type=float),
    json="`{tokens_used, tokens_available, usage_percentage, pressure_level, should_prepare, …}`",
    shape="Pressure",
    examples=("segue pressure", "segue pressure --json", "segue pressure --tokens 165000"),
)  # fmt: skip
def pressure(context: CommandContext) -> int:
    """Show how full the window is."""
    args = context.args
    if args.window is not None and args.window < 1:
        raise UsageError("a window has at least one token", hint="for example: --window 200000")
    found = context.look().pressure(
        args.run or "", tokens_used=args.tokens, window=args.window or 0, threshold=args.threshold or 0.0
    )
    return context.report(found, *_lines(found, context))


def _percent(found: Pressure) -> float:
    """How full the window is, rounded down: a level that is not reached is not shown as reached."""
    return 1000 * found.tokens_used // found.window / 10


def _lines(found: Pressure, context: CommandContext) -> list[str]:
    if not found.run and found.source == "default" and not found.tokens_used:
        return ["no runs here; `segue runs --all` lists those of every project"]
    level = context.style.paint(found.pressure_level, _COLOURS[found.pressure_level])
    lines = [
        f"{level}: {found.tokens_used:,} of {found.window:,} tokens ({_percent(found):g} %),"
        f" {found.tokens_available:,} left"
    ]
    if found.run:
        whose = f"{found.agent} run {one_line(found.run)}"
        model = f", {one_line(found.model)}" if found.model else ""
        lines.append(f"{whose}{model}; {_SOURCES[found.source]}")
    if found.should_prepare:
        lines.append("it is time to prepare: the next run starts from `segue brief`")
    return lines
