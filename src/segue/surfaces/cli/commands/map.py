"""`segue map`: what the code is made of, and what hangs together in it."""

from __future__ import annotations

from ....core.codemap.drawing import dot, svg
from ....services.codemap.ask import QUESTIONS, TOKENS, nodes_of
from ...render import plain
from ..command import argument, command, flag, optional
from ..context import CommandContext, write
from ..progress import ProgressBar
from ..views.map import map_lines


@command(
    "map",
    optional(
        "question", "QUESTION", f"{', '.join(QUESTIONS)}; by default central: what matters most for the work",
        default="central", choices=QUESTIONS,
    ),
    optional("name", "NAME", "a symbol or a file; for affected and tests, by default what is not committed"),
    argument("--task", "TEXT", "for central: a task in words, instead of the newest run"),
    argument(
        "--tokens", "N", f"for central: at most this many tokens; by default {TOKENS:,}", type=int,
        default=TOKENS,
    ),
    flag("--dot", "print the picture for Graphviz"),
    flag("--svg", "print the picture as SVG"),
    session="flag", json="MapAnswer (docs/reference/library.md)",
    shape="MapAnswer",
    examples=(
        "segue map", "segue map users Token.verify", "segue map affected",
        "segue map --task 'expire tokens' --svg > map.svg",
    ),
)  # fmt: skip
def map(context: CommandContext) -> int:
    """What the code is made of, and what hangs together in it."""
    args = context.args
    with ProgressBar(context) as progress:
        answer = context.look().map(
            args.question, args.name or "", task=args.task or "", tokens=args.tokens,
            session=context.session_id(), progress=progress,
        )  # fmt: skip
    if args.dot or args.svg:
        draw = dot if args.dot else svg
        write(context.out, draw(nodes_of(answer), answer.links).rstrip("\n"))
        return 0
    return context.report(plain(answer), *map_lines(answer, context.style))
