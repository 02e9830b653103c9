"""`segue recall` and `segue playbook`: what was learnt that answers a question, or helps with a task."""

from __future__ import annotations

from ....api.segue import Segue
from ....core.memories.model import SCOPES, TOP_K_MAX
from ....core.memories.ranking import NEAR_LEAST, NEAR_LEAST_HASH
from ....errors import UsageError
from ....services.memories.reader import count_search
from ....services.memories.service import Recalled
from ...render import ago, recalled_object
from ..command import argument, command, many
from ..context import CommandContext, facts
from ..views.memories import memory_text

_LIMIT = argument("--limit", "N", "the best N; by default 10, at most 1,000", type=int, default=10)


@command(
    "recall",
    argument("query", "QUERY", "words, a question or names; `*` lists the newest memories", nargs="+"),
    _LIMIT,
    many("--type", "TYPE", "only memories of this type"),
    argument(
        "--scope", None, "only memories of this scope; repeatable", action="append", default=[],
        choices=SCOPES,
    ),
    many("--agent", "NAME", "only memories of this agent"),
    many("--meta", "KEY=VALUE", "only memories with this metadata"),
    argument("--since", "TIME", "only memories from this time on, as in 2026-11-01"),
    argument("--until", "TIME", "only memories up to this time"),
    session="flag", json="an array of Memories with `score` and `quoted`",
    shape="list[FoundMemory]",
    examples=(
        'segue recall "why do the auth tests fail on CI"', "segue recall JWT_SECRET --limit 3",
        "segue recall '*' --type decision --meta area=auth",
    ),
)  # fmt: skip
def recall(context: CommandContext) -> int:
    """List the memories that answer a query, the best first."""
    args = context.args
    query = " ".join(args.query)
    if not query.strip():
        raise UsageError("the query is empty", hint="`segue recall '*'` lists memories of all kinds")
    segue = context.look()
    most = min(args.limit + 1, TOP_K_MAX) if query == "*" and args.limit > 0 else args.limit
    found = segue.recall(
        query, top_k=most, types=args.type or None, scopes=args.scope or None,
        agents=args.agent or None, sessions=args.session or None, metadata=facts(args.meta),
        since=args.since or "", until=args.until or "", session=args.session or "",
    )  # fmt: skip
    count_search(segue.workspace)
    _warn_of_damage(context, segue)
    least = NEAR_LEAST if segue.memories.embedder.semantic else NEAR_LEAST_HASH
    if found and found[0].score < least and query != "*":
        context.say(context.style.paint("nothing matches well; these are the closest:", "dim"))
    if len(found) > args.limit:
        context.say(f"the first {args.limit}; `--limit {TOP_K_MAX}` lists more")
    return _shown(context, found[: args.limit], "no memories about that")


@command(
    "playbook",
    argument("task", "TASK", "the task", nargs="+"),
    _LIMIT,
    json="an array of Memories with `score` and `effectiveness`",
    shape="list[FoundMemory]",
    examples=('segue playbook "add an endpoint"', 'segue playbook "fix a flaky test" --limit 3 --json'),
)  # fmt: skip
def playbook(context: CommandContext) -> int:
    """List strategies that worked for such a task."""
    segue = context.look()
    found = segue.playbook(" ".join(context.args.task), top_k=context.args.limit)
    count_search(segue.workspace)
    _warn_of_damage(context, segue)
    return _shown(context, found, "no strategies for that; `segue remember --type strategy` adds one")


def _warn_of_damage(context: CommandContext, segue: Segue) -> None:
    if damage := segue.memories.damage:
        context.warn(damage)


def _shown(context: CommandContext, found: list[Recalled], nothing: str) -> int:
    lines = []
    for one in found:
        memory = one.memory
        votes = f" +{memory.helpful} -{memory.harmful}" if memory.helpful or memory.harmful else ""
        about = f"{memory.type}, {memory.scope}, {ago(memory.created)}{votes}"
        lines.append(f"{memory.id}  {memory_text(memory, context.style)}")
        lines.append(context.style.paint(f"               {about}", "dim"))
    return context.report([recalled_object(one) for one in found], *(lines or [nothing]))
