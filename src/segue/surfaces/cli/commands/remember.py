"""`segue remember`: keep what was learnt."""

from __future__ import annotations

from msgspec.structs import asdict

from ....core.memories.model import SCOPES
from ....errors import UsageError
from ...render import cut, one_line
from ..command import argument, command, flag, many
from ..context import CommandContext, facts, text_or_stdin
from ..progress import model_progress

_CHARS = 200
_COMPARED = 3


@command(
    "remember",
    argument("text", "TEXT", "what was learnt; `-` reads it from stdin", nargs="*"),
    argument(
        "--type", "TYPE", "its type: decision, reflection, strategy, error-solution …", default="standard",
    ),
    argument("--scope", None, "who may read it; by default the project", choices=SCOPES),
    flag("--with-model", "with --from-run: let the configured model find lessons, too"),
    many("--share", "AGENT", "an agent that may read it"),
    many("--meta", "KEY=VALUE", "metadata to filter by later"),
    argument("--ttl", "SECONDS", "how long it is valid", type=float),
    argument("--error", "TEXT", "the error that it is about"),
    argument("--approach", "TEXT", "what to do about the error"),
    argument("--file", "PATH", "the file that it comes from"),
    argument("--commit", "HASH", "the commit that it comes from"),
    argument(
        "--from-run", "RUN", "take lessons from failures that a run solved; by default the newest run",
        nargs="?", const="",
    ),
    session="flag",
    json="`{id, known, flags, duplicates, contradictions}`; "
    "with --from-run an array of `{id, known, memory}`",
    shape={"": "KeptMemory", "--from-run": "list[Lesson]"},
    examples=(
        'segue remember "pytest needs JWT_SECRET set" --type reflection',
        'segue remember "run alembic before the tests" --type strategy --scope organization',
        "segue remember --from-run",
    ),
)  # fmt: skip
def remember(context: CommandContext) -> int:
    """Keep one memory, or what a run learnt."""
    args = context.args
    if args.from_run is not None:
        return _from_run(context)
    if not args.text:
        raise UsageError(
            "there is nothing to remember", hint='for example: segue remember "pytest needs JWT_SECRET set"'
        )
    kept = context.segue.remember(
        text_or_stdin(" ".join(args.text)), type=args.type, scope=args.scope or "",
        session=context.session_id(), shared_with=args.share or None, metadata=facts(args.meta),
        ttl_seconds=args.ttl, error_pattern=args.error or "", correct_approach=args.approach or "",
        file=args.file or "", commit=args.commit or "",
    )  # fmt: skip
    lines = [f"already known: {kept.id}" if kept.known else f"remembered: {kept.id}"]
    lines += [f"  see also {pair.other}: {pair.why}" for pair in kept.duplicates[:_COMPARED]]
    lines += [f"  may contradict {pair.other}: {pair.why}" for pair in kept.contradictions[:_COMPARED]]
    return context.report(asdict(kept), *lines)


def _from_run(context: CommandContext) -> int:
    from ....services.models.lessons import keep_lessons

    args = context.args
    found = keep_lessons(
        context.segue.workspace, args.from_run, scope=args.scope or "project", with_model=args.with_model,
        say=model_progress(context),
    )  # fmt: skip
    if found.fell_back:
        context.warn(f"no lessons from a model: {found.fell_back}")
    lines = []
    for memory, kept in found.kept:
        text = one_line(memory.content) if memory else ""
        word = "already known" if kept.known else "remembered"
        lines.append(f"{word}: {kept.id}  {cut(text, context.style.width or _CHARS, context.style)}")
    objects = [{"id": kept.id, "known": kept.known, "memory": memory} for memory, kept in found.kept]
    return context.report(objects, *(lines or ["there is nothing to remember: that run solved no failure"]))
