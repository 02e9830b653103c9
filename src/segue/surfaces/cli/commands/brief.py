"""The brief: what the next run is told first. Nothing but the brief goes to standard output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..command import argument, command, flag, optional
from ..context import CommandContext, read_file, write_bytes

if TYPE_CHECKING:
    from ....services.brief.brief import Format


@command(
    "brief",
    optional(
        "what", "FILE|RUN",
        "a transcript, `-` for standard input, or the id of a run; by default the newest run here",
    ),
    argument("--max-bytes", "N", "its maximum size in bytes; at least 256", type=int, default=2_048),
    argument("--format", None, "by default text", choices=("text", "json", "markdown"), default="text"),
    argument("--agent", "NAME", "the agent that wrote the file; by default Segue recognises it"),
    flag("--explain", "show which transcript records each line comes from"),
    json="the recovery manifest (docs/reference/manifest.md)",
    shape={"": "Manifest", "--explain": "ExplainedBrief"},
    examples=(
        "segue brief",
        "segue brief path/to/transcript.jsonl",
        "zcat old.jsonl.gz | segue brief -",
        "segue brief --explain",
    ),
)  # fmt: skip
def brief(context: CommandContext) -> int:
    """What was wanted, done, under way, next, blocked, decided, learnt and broken."""
    args = context.args
    form: Format = "json" if context.json else args.format
    if args.what == "-":
        return _print(context, _of_input(args.agent or "", args.max_bytes, form))
    path = Path(args.what).expanduser() if args.what else None
    if path is not None and not path.is_absolute():
        path = context.folder / path
    if args.explain:
        return _explained(context, path)
    return _print(context, _uncollected(lambda: _written(context, path, form)))


def _explained(context: CommandContext, path: Path | None) -> int:
    """Each line with the records of the transcript that it rests on."""
    from ....services.brief.explain import explain_here, explain_transcript
    from ....services.brief.project_brief import workspace_to_look
    from ...render import one_line

    args = context.args
    agent, most = args.agent or "", args.max_bytes
    if path is not None and (path.exists() or _names_a_file(args.what)):
        told = explain_transcript(path, agent, budget=most)
    else:
        with workspace_to_look(context.folder, context.environment) as workspace:
            told = explain_here(workspace, args.what or "", agent, budget=most)
    context.emit(told)
    for line in told.lines:
        context.say(line.text)
        for source in line.sources:
            where = f"record {source.record}" if source.record else f"step {source.step}"
            said = f": {one_line(source.text)}" if source.text else ""
            context.say(context.style.paint(f"      {where}, {source.kind}{said}", "dim"))
    return 0


def _print(context: CommandContext, text: str) -> int:
    """Print as UTF-8 whatever the terminal's encoding is, because the budget is in bytes."""
    write_bytes(context.out, text.encode("utf-8", "replace") + b"\n")
    return 0


def _written(context: CommandContext, path: Path | None, form: Format) -> str:
    args = context.args
    agent, most = args.agent or "", args.max_bytes
    if path is not None and (path.exists() or _names_a_file(args.what)):
        from ....services.brief.brief import brief_of_transcript

        return brief_of_transcript(path, agent, budget=most, form=form)
    from ....services.brief import project_brief as briefs

    context.check_store()
    with briefs.workspace_to_look(context.folder, context.environment) as workspace:
        return briefs.brief_here(workspace, args.what or "", agent, budget=most, form=form)


def _of_input(agent: str, most: int, form: Format) -> str:
    """The brief of standard input, from a temporary file, because readers need one."""
    from tempfile import TemporaryDirectory

    from ....errors import TranscriptUnreadable
    from ....services.brief.brief import brief_of_transcript

    with TemporaryDirectory(prefix="segue-") as folder:
        path = Path(folder) / "transcript.jsonl"
        path.write_bytes(read_file("-"))
        try:
            return brief_of_transcript(path, agent, budget=most, form=form)
        except TranscriptUnreadable as fault:
            message = fault.message.replace(str(path), "standard input")
            raise TranscriptUnreadable(message, hint=fault.hint) from fault


def _uncollected(work: Callable[[], str]) -> str:
    """Run without the garbage collector: there are many small values, and no cycles."""
    import gc

    was_on = gc.isenabled()
    gc.disable()
    try:
        return work()
    finally:
        if was_on:
            gc.enable()


def _names_a_file(what: str) -> bool:
    """Whether a name that is not an existing file looks like one; ``codex/0193a7c4`` is a run."""
    return what.startswith(("/", ".", "~")) or what.endswith((".json", ".jsonl", ".db"))
