"""`segue memories`: list, show and maintain memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....core.memories.model import Memory
from ....errors import UnknownSession
from ....services.memories.curation import (
    Pruned,
    audit,
    consolidate,
    decay,
    deprecated,
    export,
    import_,
    prune,
    reembed,
)
from ...render import ago, count, one_line, plain, recalled_object
from ..command import argument, command, flag, many, optional
from ..context import CommandContext, read_file, write_bytes
from ..progress import ProgressBar
from ..views.memories import memory_text, pair_lines


def _list(context: CommandContext) -> int:
    args = context.args
    if args.deprecated:
        return _list_deprecated(context)
    found = context.look().recall(
        "*",
        top_k=args.limit,
        types=args.type or None,
        sessions=args.session or None,
        session=args.session or "",
    )
    objects = [recalled_object(one) for one in found]
    rows = (
        (one.id, one.memory.type, one.memory.scope, ago(one.memory.created), one.content) for one in found
    )
    empty = 'no memories here yet; `segue remember "…"` adds one'
    return context.listed(objects, ("memory", "type", "scope", "when", "says"), rows, empty)


def _list_deprecated(context: CommandContext) -> int:
    args = context.args
    gone = deprecated(
        context.look().memories, session=args.session or "", types=args.type or (), limit=args.limit
    )
    rows = (
        (one.id, one.type, ago(one.deprecated), one.superseded_by, one.reason, one.content) for one in gone
    )
    reader = context.look().memories.reader().agent or "a user"
    what = "was pruned, decayed or replaced here; `--actor NAME` asks as an agent"
    empty = f"no memory that {reader} may read {what}"
    return context.listed(
        [plain(one) for one in gone], ("memory", "type", "since", "now in", "why", "says"), rows, empty
    )


def _show(context: CommandContext) -> int:
    service = context.segue.memories
    memory = service.get(context.needed("id", "one"))
    trail = service.store.trail(service.reader(), memory.id)
    lines = [memory_text(memory, context.style), ""]
    for name in ("id", "type", "scope", "trust", "agent", "session", "created", "expires", "deprecated",
                 "superseded_by", "reason", "error_pattern", "correct_approach"):  # fmt: skip
        value = getattr(memory, name)
        if value:
            lines.append(f"{name:17} {one_line(str(value))}")
    lines += [
        f"{ago(one.at):17} {one.act} by {one_line(one.actor)} {one_line(one.reason)}".rstrip()
        for one in trail
    ]
    fields = {"memory": memory, "effectiveness": memory.effectiveness, "trail": trail}
    return context.report(fields, *lines)


def _audit(context: CommandContext) -> int:
    found = audit(context.segue.memories)
    lines = [count(found.total, "memory", "memories"), *pair_lines("nearly the same", found.duplicates)]
    lines += pair_lines("may contradict each other", found.contradictions)
    for words, ids in (
        ("never recalled", found.never_recalled), ("harmful, according to their votes", found.harmful),
        ("expired", found.expired), ("read like instructions, so they are shown in quotes", found.flagged),
    ):  # fmt: skip
        if ids:
            lines.append(f"{words}: {', '.join(ids[:12])}{' …' if len(ids) > 12 else ''}")
    return context.report(found, *lines)


def _condenser(context: CommandContext, session: str) -> Callable[[Sequence[Memory]], str]:
    """A function with which a model adds to the summary of pruned memories. Raises NoModel."""
    from ....services.models import config, refine
    from ..progress import model_progress

    config.load_required(context.segue.workspace)
    return lambda group: refine.condensed_memories(
        context.segue.workspace, group, session=session, say=model_progress(context)
    )


def _prune(context: CommandContext) -> int:
    args = context.args
    session = args.session or args.id or context.segue.session().id
    try:
        done = prune(
            context.segue.memories, session, keep=args.keep, dry_run=args.dry_run,
            condense=_condenser(context, session) if args.with_model and not args.dry_run else None,
        )  # fmt: skip
    except UnknownSession:  # or the session exists and has learnt nothing
        context.segue.attach(session)
        done = Pruned(0, 0, dry_run=args.dry_run)
    return context.report({"session": session, **plain(done)}, *_pruned_lines(context, session, done))


def _pruned_lines(context: CommandContext, session: str, done: Pruned) -> list[str]:
    whose = f"session {one_line(session)}"
    if not done.summarised:
        what = f"{whose} has {count(done.kept, 'memory', 'memories')}, and {context.args.keep} are kept"
        return [f"nothing to prune: {what}; use --session for another session"]
    many = count(done.summarised, "memory", "memories")
    if done.dry_run:
        head = f"{whose}: {many} would be summarised; {done.kept} would be kept unchanged"
        return [head, *(f"  {one_line(line)}" for text in done.summaries for line in text.split("\n"))]
    lines = [f"{whose}: {many} summarised in {done.summary}; {done.kept} kept unchanged"]
    shown = ", ".join(done.gone[:12]) + (" …" if len(done.gone) > 12 else "")
    return [*lines, f"no longer recalled: {shown}", "`segue memories list --deprecated` shows them"]


def _decay(context: CommandContext) -> int:
    dry_run = context.args.dry_run
    gone = decay(context.segue.memories, dry_run=dry_run)
    word = "would no longer count" if dry_run else "no longer count"
    line = f"{count(len(gone), 'memory', 'memories')} {word}"
    return context.report({"deprecated": gone, "dry_run": dry_run}, line)


def _consolidate(context: CommandContext) -> int:
    dry_run = context.args.dry_run
    pairs = consolidate(context.segue.memories, dry_run=dry_run)
    lines = pair_lines("nearly the same" if dry_run else "replaced the older one", pairs)
    return context.report(
        {"pairs": pairs, "dry_run": dry_run}, *(lines or ["no two memories say nearly the same thing"])
    )


def _reembed(context: CommandContext) -> int:
    with ProgressBar(context) as progress:
        done = reembed(context.segue.memories, progress=progress)
    name = context.segue.memories.embedder.name
    if damage := context.segue.memories.damage:
        context.warn(damage)
    return context.report(
        {"embedded": done, "model": name},
        f"computed vectors with {name} for {count(done, 'memory', 'memories')}",
    )


def _export(context: CommandContext) -> int:
    body = export(context.segue.memories)
    if context.args.id and context.args.id != "-":
        context.write_file(context.args.id, body)
        total = len(body.splitlines()) - 1
        context.say(f"exported {count(total, 'memory', 'memories')} to {context.args.id}")
        context.emit({"memories": total, "file": context.args.id, "bytes": len(body)})
    else:
        write_bytes(context.out, body)
    return 0


def _import(context: CommandContext) -> int:
    new, known = import_(
        context.segue.memories, read_file(context.needed("id", "one")), keep_trust=context.args.keep_trust
    )
    return context.report(
        {"new": new, "known": known},
        f"imported {count(new, 'memory', 'memories')}; {known} were known already",
    )


command(
    "memories",
    optional("id", "MEMORY|FILE", "with show: the id of a memory; with export, import: a file or `-`"),
    argument("-s --session", "ID", "with list, prune: the memories of this session"),
    many("--type", "TYPE", "with list: memories of this type"),
    argument("--limit", "N", "with list: the newest N; by default 50", type=int, default=50),
    argument("--keep", "N", "with prune: keep the newest N; by default 50", type=int, default=50),
    flag("--deprecated", "with list: memories that no longer count, and why"),
    flag("--dry-run", "with prune, decay, consolidate: only show what would happen"),
    flag("--with-model", "with prune: let the configured model add what matters"),
    flag("--keep-trust", "with import: keep their degree of trust, instead of trusting them less"),
    json="list: an array of Memories; else what was done",
    shape={
        "list": "list[FoundMemory]", "list --deprecated": "list[Memory]", "show": "ShownMemory",
        "audit": "Junk", "prune": "PrunedMemories", "decay": "DecayedMemories",
        "consolidate": "ConsolidatedMemories", "reembed": "EmbeddedMemories", "export": "Any",
        "export FILE": "ExportedMemories", "import": "ImportedMemories",
    },
    examples=(
        "segue memories list --type decision", "segue memories audit",
        "segue memories prune --session leak-hunt --dry-run", "segue memories list --deprecated",
    ),
    actions={
        "list": _list, "show": _show, "audit": _audit, "prune": _prune, "decay": _decay,
        "consolidate": _consolidate, "reembed": _reembed, "export": _export, "import": _import,
    },
)  # fmt: skip
