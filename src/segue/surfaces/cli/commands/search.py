"""`segue search`: find what was said, done or decided in any run of any agent."""

from __future__ import annotations

from ....core.runs.identifiers import short_run
from ....core.search.kinds import GROUPS
from ....services.search.catch_up import has_runs
from ....services.search.search import CATCH_UP_SECONDS, SearchHit
from ...render import Style, ago, bytes_words, count, one_line, plain, safe
from ..command import argument, command, flag
from ..context import CommandContext
from ..progress import ProgressBar

LINES_SHOWN = 3
PATIENCE_SECONDS = 5.0
"""How long somebody who sees how far it is waits for the index."""
FIRST_PATIENCE_SECONDS, FIRST_CATCH_UP_SECONDS = 60.0, 10.0
"""The same where there is no index yet, and where nobody sees how far it is."""


@command(
    "search",
    argument(
        "words", "WORDS", 'words, names or a question; in quotes also "a phrase", -without and begin*',
        nargs="+",
    ),
    argument("--agent", "NAME", "only runs of this agent"),
    argument("--project", "NAME", "only this project, by its name or its key; `.` for the one here"),
    argument("--since", "TIME", "only since this time, as in 2026-11-01, 12h or 7d"),
    argument(
        "--in", None, f"only {', '.join(GROUPS)}; repeatable", action="append", default=[], dest="within",
        choices=tuple(GROUPS),
    ),
    flag("--failed", "only commands that failed, and what they printed"),
    flag("--semantic", "also find the same thing in other words"),
    argument("--limit", "N", "the best N; by default 10, at most 200", type=int, default=10),
    json="`{hits, not_indexed}`: an array of SearchHits and how many runs are not indexed yet",
    shape="SearchResult",
    examples=(
        "segue search expired token",
        "segue search '\"connection refused\"' --failed --since 7d",
        "segue search --in commands pg_dump", "segue search why did we drop redis --project shop",
    ),
)  # fmt: skip
def search(context: CommandContext) -> int:
    """Find what was said, done or decided, in any run of any agent."""
    args = context.args
    with ProgressBar(context, bytes_words) as progress:
        found = context.segue.search(
            " ".join(args.words), agent=args.agent or "", project=args.project or "", since=args.since or "",
            within=args.within, failed=args.failed, by_meaning=args.semantic, limit=args.limit,
            progress=progress,
            seconds=_patience_seconds(context, progress),
        )  # fmt: skip
    if args.semantic:
        _warn_of_damage(context)
    rest = f"{count(found.not_indexed, 'run')} not indexed yet: `segue sync --all` does that"
    if found.not_indexed and context.json:
        context.warn(rest)
    lines = [
        line for number, hit in enumerate(found.hits, 1) for line in hit_lines(number, hit, context.style)
    ] or ["nothing was found"]
    if found.hits:
        around = " -C 3" if found.hits[0].run else ""
        more = f"for more: segue show {_handle(found.hits[0])}{around}"
        lines += ["", context.style.paint(more, "dim")]
    if found.not_indexed:
        lines += ["", context.style.paint(f"there may be more; {rest}", "yellow")]
    return context.report(plain(found), *lines)


def _warn_of_damage(context: CommandContext) -> None:
    from ....services.memories.service import memories_of  # a search by words loads none of it

    if damage := memories_of(context.segue.workspace).damage:
        context.warn(damage)


def _patience_seconds(context: CommandContext, progress: ProgressBar) -> float:
    """How long to wait for the index: for the first one longer, as next to nothing is found without it."""
    if has_runs(context.segue.workspace):
        return PATIENCE_SECONDS if progress.is_seen else CATCH_UP_SECONDS
    return FIRST_PATIENCE_SECONDS if progress.is_seen else FIRST_CATCH_UP_SECONDS


def hit_lines(number: int, hit: SearchHit, style: Style) -> list[str]:
    """A hit: who said it, when and where, the words marked, and how to go on."""
    who = {"prompt": "user", "goal": "goal", "output": "output"}.get(hit.kind, hit.kind)
    failed = style.paint(" failed", "red") if hit.failed else ""
    where = [one_line(hit.agent or "session"), ago(hit.at) if hit.at else "", one_line(hit.project_name)]
    head = f"{number:>3}  {style.paint(_handle(hit), 'bold')}  {who}{failed}  "
    lines = [head + style.paint(", ".join(filter(None, where)), "dim")]
    lines += [f"     {line}" for line in _marked(hit, style)]
    about = f"session {one_line(hit.session)}" if hit.session and hit.agent else ""
    more = f"{hit.more} more in this run" if hit.more else ""
    if about or more:
        lines.append(style.paint(f"     {', '.join(filter(None, (about, more)))}", "dim"))
    return lines


def _handle(hit: SearchHit) -> str:
    run, mark, step = hit.handle.partition("#")
    return f"{one_line(short_run(run) if mark else run)}{mark}{step}"


def _marked(hit: SearchHit, style: Style) -> list[str]:
    """The lines of the text that was found, those with marked words first of all."""
    lines: list[tuple[bool, str]] = []
    at = 0
    for line in hit.text.split("\n"):
        marks = [(start - at, stop - at) for start, stop in hit.marks if at <= start < at + len(line) + 1]
        lines.append((bool(marks), _painted(line, marks, style)))
        at += len(line) + 1
    told = [text for is_marked, text in lines if is_marked and text] or [text for _, text in lines if text]
    return told[:LINES_SHOWN]


def _painted(line: str, marks: list[tuple[int, int]], style: Style) -> str:
    pieces, at = [], 0
    for start, stop in marks:
        word = safe(line[start:stop])
        pieces += [safe(line[at:start]), style.paint(word, "bold", "yellow") if style.colour else f"[{word}]"]
        at = stop
    return " ".join("".join([*pieces, safe(line[at:])]).split())
