"""What was learnt: remember, recall, playbook, vote, forget, and `segue memories` to look after them.

A memory that came from a transcript and reads like an instruction is shown in quotes, as data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....core.memories.ranking import NEAR_LEAST, NEAR_LEAST_HASH
from ....errors import UnknownSession, UsageError
from ...render import ago, count, cut, one_line, plain, recalled_object, table
from ..command import CliCommand
from ..context import CommandContext, read_file, text_or_stdin, write_file
from ..progress import ProgressBar

if TYPE_CHECKING:
    from ....core.memories.curation import Pair
    from ....core.memories.model import Memory
    from ....services.memories.service import Recalled, Remembered
    from ..parser import Parser

_SCOPES = ("agent-private", "agent-shared", "session", "project", "organization", "global")
_CHARS = 200


def _metadata(pairs: list[str]) -> dict[str, Any]:
    """``key=value`` each; a value that is JSON is taken as that."""
    import msgspec

    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{pair[:60]!r} is not KEY=VALUE", hint="for example --meta area=auth")
        try:
            found[key] = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found[key] = text
    return found


def remember(context: CommandContext) -> int:
    """Keep one memory, or what a run learnt."""
    args = context.args
    if args.from_run is not None:
        return _from_run(context)
    if not args.text:
        raise UsageError(
            "nothing to remember", hint='for example: segue remember "pytest needs JWT_SECRET set"'
        )
    session = context.session_id()
    kept = context.segue.remember(
        text_or_stdin(args.text), type=args.type, scope=args.scope or "", session=session,
        shared_with=args.share or None, metadata=_metadata(args.meta), ttl_seconds=args.ttl,
        error_pattern=args.error or "", correct_approach=args.approach or "", file=args.file or "",
        commit=args.commit or "",
    )  # fmt: skip
    context.emit(kept)
    context.say(f"known already: {kept.id}" if kept.known else f"remembered: {kept.id}")
    return 0


def _from_run(context: CommandContext) -> int:
    from ....services.runs.lessons import from_run

    found = from_run(context.segue.workspace, context.args.from_run, scope=context.args.scope or "project")
    if context.args.with_model:
        found += _by_model(context)
    context.emit([{"id": kept.id, "known": kept.known, "memory": memory} for memory, kept in found])
    if not found:
        context.say("that run solved no failure; nothing to remember")
    for memory, kept in found:
        text = one_line(memory.content) if memory else ""
        word = "known already" if kept.known else "remembered"
        context.say(f"{word}: {kept.id}  {cut(text, context.style.width or _CHARS, context.style)}")
    return 0


def _by_model(context: CommandContext) -> list[tuple[Memory | None, Remembered]]:
    """Lessons that the model that was set found in the run, and that hold."""
    from ....services.models import refine
    from ....services.runs.lessons import from_claims
    from .model import teller

    run, told = refine.reflections(context.segue.workspace, context.args.from_run, say=teller(context))
    if told.fell_back:
        context.warn(f"no lessons by a model: {told.fell_back}")
    claims = refine.masked(told.grounded.kept)
    model = told.asked.model if told.asked else ""
    return from_claims(context.segue.workspace, run, model, claims, scope=context.args.scope or "project")


def recall(context: CommandContext) -> int:
    """What answers a query."""
    args = context.args
    if not args.query.strip():
        raise UsageError("nothing is asked", hint="`segue recall '*'` lists all memories")
    segue = context.look()
    found = segue.recall(
        args.query, top_k=args.limit, types=args.type or None, scopes=args.scope or None,
        agents=args.agent or None, sessions=args.session or None, metadata=_metadata(args.meta),
        since=args.since or "", until=args.until or "", session=args.session or "",
    )  # fmt: skip
    least = NEAR_LEAST if segue.memories.embedder.semantic else NEAR_LEAST_HASH
    if found and found[0].score < least and args.query != "*":
        context.say(context.style.paint("nothing is near to that; what comes next to it:", "dim"))
    return _shown(context, found, "nothing is remembered about that")


def playbook(context: CommandContext) -> int:
    """Strategies that worked."""
    found = context.look().playbook(context.args.task, top_k=context.args.limit)
    return _shown(
        context, found, "no strategy is remembered for that; `segue remember --type strategy` keeps one"
    )


def _shown(context: CommandContext, found: list[Recalled], nothing: str) -> int:
    context.emit([recalled_object(one) for one in found])
    if not found:
        context.say(nothing)
    for one in found:
        memory = one.memory
        votes = f" +{memory.helpful} -{memory.harmful}" if memory.helpful or memory.harmful else ""
        facts = f"{memory.type}, {memory.scope}, {ago(memory.created)}{votes}"
        context.say(
            f"{memory.id}  {_text(context, memory)}", context.style.paint(f"               {facts}", "dim")
        )
    return 0


def _text(context: CommandContext, memory: Memory) -> str:
    text = one_line(memory.content) or "(forgotten)"
    text = f'from a transcript, not an instruction: "{text}"' if memory.flags else text
    return cut(text, max(40, context.style.width - 15) if context.style.width else 0, context.style)


def vote(context: CommandContext) -> int:
    """Was it of help?"""
    memory = context.segue.memories.vote(context.args.id, context.args.vote, context=context.args.why or "")
    context.emit(memory)
    context.say(f"{memory.id}: {memory.helpful} helpful, {memory.harmful} harmful")
    return 0


def forget(context: CommandContext) -> int:
    """Erase what a memory says."""
    service = context.segue.memories
    before = service.get(context.args.id)
    memory = service.forget(before.id, reason=context.args.reason or "")
    context.emit({"id": memory.id, "forgotten": memory.forgotten})
    done = f"forgotten: {memory.id}; backups keep it until they are replaced"
    context.say(f"nothing changed: {memory.id} was forgotten already" if before.forgotten else done)
    return 0


# -- looking after them ------------------------------------------------------------------------


def memories(context: CommandContext) -> int:
    """List, show, audit, prune and the rest."""
    return _ACTIONS[context.args.action](context)


def _list(context: CommandContext) -> int:
    args = context.args
    found = context.look().recall(
        "*",
        top_k=args.limit,
        types=args.type or None,
        sessions=args.session or None,
        session=args.session or "",
    )
    context.emit([recalled_object(one) for one in found])
    if not found:
        context.say('nothing is remembered here yet; `segue remember "…"` keeps something')
    elif not context.json:
        rows = [
            (one.id, one.memory.type, one.memory.scope, ago(one.memory.created), one_line(one.content))
            for one in found
        ]
        context.say(*table(("memory", "type", "scope", "when", "says"), rows, context.style, stretch=4))
    return 0


def _show(context: CommandContext) -> int:
    service = context.segue.memories
    memory = service.get(_wanted(context))
    trail = service.store.trail(service.reader(), memory.id)
    context.emit({"memory": memory, "effectiveness": memory.effectiveness, "trail": trail})
    context.say(_text(context, memory), "")
    for name in ("id", "type", "scope", "trust", "agent", "session", "created", "expires", "deprecated",
                 "superseded_by", "reason", "error_pattern", "correct_approach"):  # fmt: skip
        value = getattr(memory, name)
        if value:
            context.say(f"{name:17} {one_line(str(value))}")
    for line in trail:
        context.say(
            f"{ago(line.at):17} {line.act} by {one_line(line.actor)} {one_line(line.reason)}".rstrip()
        )
    return 0


def _audit(context: CommandContext) -> int:
    from ....services.memories.curation import audit

    found = audit(context.segue.memories)
    context.emit(found)
    context.say(count(found.total, "memory", "memories"))
    _pairs(context, "nearly the same", found.duplicates)
    _pairs(context, "may speak against each other", found.contradictions)
    for words, ids in (
        ("never recalled", found.never_recalled), ("of harm, by their votes", found.harmful),
        ("expired", found.expired), ("read like instructions; shown in quotes", found.flagged),
    ):  # fmt: skip
        if ids:
            context.say(f"{words}: {', '.join(ids[:12])}{' …' if len(ids) > 12 else ''}")
    return 0


def _pairs(context: CommandContext, words: str, pairs: list[Pair]) -> None:
    for pair in pairs[:12]:
        context.say(f"{words}: {pair.one} and {pair.other} ({pair.why})")
    if len(pairs) > 12:
        context.say(f"… and {len(pairs) - 12} more pairs")


def _condenser(context: CommandContext, session: str) -> Callable[[Sequence[Memory]], str]:
    """What a model adds to the summary of memories that are pruned."""
    from ....services.models import config, refine
    from .model import teller

    config.wanted(context.segue.workspace)
    return lambda group: refine.condensed_memories(
        context.segue.workspace, group, session=session, say=teller(context)
    )


def _prune(context: CommandContext) -> int:
    from ....services.memories.curation import Pruned, prune

    session = context.args.session or context.args.id or context.segue.session().id
    try:
        done = prune(
            context.segue.memories, session, keep=context.args.keep,
            condense=_condenser(context, session) if context.args.with_model else None,
        )  # fmt: skip
    except UnknownSession:  # or one that is known and has learnt nothing
        context.segue.attach(session)
        done = Pruned(0, 0)
    context.emit({"session": session, **plain(done)})
    whose = f"session {one_line(session)}"
    if done.summarised:
        told = f"{count(done.summarised, 'memory', 'memories')} summarised in {done.summary}"
        context.say(f"{whose}: {told}; {done.kept} kept as they are")
    else:
        told = f"{whose} has {count(done.kept, 'memory', 'memories')}, and {context.args.keep} may stay"
        context.say(f"nothing to prune: {told}; --session names another")
    return 0


def _decay(context: CommandContext) -> int:
    from ....services.memories.curation import decay

    gone = decay(context.segue.memories, dry_run=context.args.dry_run)
    context.emit({"deprecated": gone, "dry_run": context.args.dry_run})
    word = "would no longer count" if context.args.dry_run else "no longer count"
    context.say(f"{count(len(gone), 'memory', 'memories')} {word}")
    return 0


def _consolidate(context: CommandContext) -> int:
    from ....services.memories.curation import consolidate

    pairs = consolidate(context.segue.memories, dry_run=context.args.dry_run)
    context.emit(pairs)
    _pairs(context, "nearly the same" if context.args.dry_run else "the older one gave way", pairs)
    if not pairs:
        context.say("no two memories say nearly the same")
    return 0


def _reembed(context: CommandContext) -> int:
    from ....services.memories.curation import reembed

    with ProgressBar(context) as progress:
        done = reembed(context.segue.memories, progress=progress)
    name = context.segue.memories.embedder.name
    context.emit({"embedded": done, "model": name})
    context.say(f"{count(done, 'memory', 'memories')} given a vector of {name}")
    return 0


def _export(context: CommandContext) -> int:
    from ....services.memories.curation import export

    body = export(context.segue.memories)
    if context.args.id and context.args.id != "-":
        write_file(context.args.id, body)
        total = len(body.splitlines()) - 1
        context.say(f"exported {count(total, 'memory', 'memories')} to {context.args.id}")
        context.emit({"memories": total, "file": context.args.id})
    else:
        import sys

        sys.stdout.write(body.decode())
    return 0


def _import(context: CommandContext) -> int:
    from ....services.memories.curation import import_

    new, known = import_(
        context.segue.memories, read_file(_wanted(context)), keep_trust=context.args.keep_trust
    )
    context.emit({"new": new, "known": known})
    context.say(f"{count(new, 'memory', 'memories')} imported, {known} known already")
    return 0


def _wanted(context: CommandContext) -> str:
    if not context.args.id:
        raise UsageError("which one?", hint=f"segue memories {context.args.action} ID")
    return str(context.args.id)


_ACTIONS = {
    "list": _list, "show": _show, "audit": _audit, "prune": _prune, "decay": _decay,
    "consolidate": _consolidate, "reembed": _reembed, "export": _export, "import": _import,
}  # fmt: skip


# -- arguments ---------------------------------------------------------------------------------


def _remember_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("text", nargs="?", metavar="TEXT", help="what was learnt; `-` reads it from stdin")
    add("--type", default="standard", metavar="TYPE", help="decision, reflection, strategy, error-solution …")
    add("--scope", choices=_SCOPES, help="who may read it; project if not given")
    add("--with-model", action="store_true", help="with --from-run: lessons by the model that was set, too")
    add(
        "--share",
        action="append",
        default=[],
        metavar="AGENT",
        help="an agent that may read it; again for more",
    )
    add(
        "--meta", action="append", default=[], metavar="KEY=VALUE", help="a fact to filter by; again for more"
    )
    add("--ttl", type=float, metavar="SECONDS", help="how long it counts")
    add("--error", metavar="TEXT", help="the error that it is about")
    add("--approach", metavar="TEXT", help="what to do about it")
    add("--file", metavar="PATH", help="the file that it comes from")
    add("--commit", metavar="HASH", help="the commit that it comes from")
    add(
        "--from-run",
        nargs="?",
        const="",
        metavar="RUN",
        help="what a run learnt from failures that it solved",
    )


def _find_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--limit", type=int, default=10, metavar="N", help="the best N, 10 if not given; 1,000 at most")


def _recall_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("query", metavar="QUERY", help="words, a question or names; `*` lists the newest")
    _find_arguments(parser)
    add("--type", action="append", default=[], metavar="TYPE", help="of this type only; again for more")
    add("--scope", action="append", default=[], choices=_SCOPES, help="of this scope only; again for more")
    add("--agent", action="append", default=[], metavar="NAME", help="of this agent only; again for more")
    add("--meta", action="append", default=[], metavar="KEY=VALUE", help="with this fact; again for more")
    add("--since", metavar="TIME", help="not older, as in 2026-11-01")
    add("--until", metavar="TIME", help="not newer")


def _playbook_arguments(parser: Parser) -> None:
    parser.add_argument("task", metavar="TASK", help="what is to be done")
    _find_arguments(parser)


def _vote_arguments(parser: Parser) -> None:
    parser.add_argument("id", metavar="MEMORY", help="its id, or the beginning of it")
    parser.add_argument("vote", choices=("helpful", "harmful"), help="whether it was of help")
    parser.add_argument("--why", metavar="TEXT", help="in which case")


def _forget_arguments(parser: Parser) -> None:
    parser.add_argument("id", metavar="MEMORY", help="its id, or the beginning of it")
    parser.add_argument("--reason", metavar="TEXT", help="why; it stays with the tombstone")


def _memories_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("action", choices=tuple(_ACTIONS), help="what to do")
    add("id", nargs="?", metavar="MEMORY|FILE", help="show: its id; export, import: a file, or `-`")
    add("-s", "--session", metavar="ID", help="with list and prune: of this session")
    add("--type", action="append", default=[], metavar="TYPE", help="with list: of this type; again for more")
    add("--limit", type=int, default=50, metavar="N", help="with list: the newest N, 50 if not given")
    add("--keep", type=int, default=50, metavar="N", help="with prune: the newest N stay, 50 if not given")
    add("--dry-run", action="store_true", help="with decay and consolidate: only say what would happen")
    add("--with-model", action="store_true", help="with prune: let the model that was set add what matters")
    add("--keep-trust", action="store_true", help="with import: as trusted as they were, not as imported")


COMMANDS = (
    CliCommand(
        "remember", remember, _remember_arguments, session="flag",
        json="`{id, known, flags}`; with --from-run an array of `{id, known, memory}`",
        examples=(
            'segue remember "pytest needs JWT_SECRET set" --type reflection',
            'segue remember "run alembic before the tests" --type strategy --scope organization',
            "segue remember --from-run",
        ),
    ),
    CliCommand(
        "recall", recall, _recall_arguments, session="flag",
        json="an array of Memories with `score` and `quoted`",
        examples=(
            'segue recall "why do the auth tests fail on CI"', "segue recall JWT_SECRET --limit 3",
            "segue recall '*' --type decision --meta area=auth",
        ),
    ),
    CliCommand(
        "playbook", playbook, _playbook_arguments,
        json="an array of Memories with `score` and `effectiveness`",
        examples=('segue playbook "add an endpoint"', 'segue playbook "fix a flaky test" --limit 3 --json'),
    ),
    CliCommand(
        "vote", vote, _vote_arguments, json="the Memory",
        examples=("segue vote m3f9a1 helpful", 'segue vote m3f9a1 harmful --why "the flag is gone"'),
    ),
    CliCommand(
        "forget", forget, _forget_arguments, json="`{id, forgotten}`",
        examples=("segue forget m3f9a1", 'segue forget m3f9a1 --reason "it was wrong"'),
    ),
    CliCommand(
        "memories", memories, _memories_arguments, json="list: an array of Memories; else what was done",
        examples=(
            "segue memories list --type decision", "segue memories audit",
            "segue memories prune --session leak-hunt", "segue memories export memories.jsonl",
        ),
    ),
)  # fmt: skip
