"""Leaving and coming back: prepare, bootstrap, since, budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...render import ago, one_line, plain
from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ....core.brief.facts import Claim
    from ....services.resume.bootstrap import Boot
    from ....services.resume.prepare import Prepared
    from ..parser import Parser


def prepare(context: CommandContext) -> int:
    """Write the manifest now."""
    args = context.args
    if args.with_model or args.dry_run:
        return _with_model(context)
    done = context.segue.prepare(
        context.session_id(), reason=args.reason, here=args.here, agent=args.agent or "",
        transcript=Path(args.transcript).expanduser().absolute() if args.transcript else None,
    )  # fmt: skip
    context.emit(_fields(done))
    about = f"session {done.session}" if done.session else "no session"
    run = f", run {done.run[:8]}" if done.run else ", no run of an agent"
    context.say(
        f"prepared: {done.path}",
        f"{about}{run}; {done.bytes:,} bytes, about {done.tokens} tokens, in {done.seconds:.2f} s",
        "the next run starts with `segue bootstrap`",
    )
    return 0


def bootstrap(context: CommandContext) -> int:
    """Start from the manifest; exit 1 if something differs."""
    args = context.args
    path = Path(args.file).expanduser().absolute() if args.file else None
    found = context.looked(
        lambda segue: segue.bootstrap(path=path, seconds=args.seconds, checks=not args.no_checks),
        "the manifest",
    )
    context.emit(found)
    context.say(*_boot_lines(found, context))
    return 0 if found.ready else 1


def _boot_lines(found: Boot, context: CommandContext) -> list[str]:
    style = context.style
    rows = [
        ("project", found.project), ("session", found.session or "none"), ("goal", found.goal),
        ("phase", found.phase), ("environment", found.environment),
        ("done", str(found.done)), ("pending", str(found.pending)), ("next", found.next_action),
    ]  # fmt: skip
    lines = [f"{name:<12} {one_line(value)}" for name, value in rows if value]
    why = f" ({one_line(found.reason)})" if found.reason else ""
    when = f"{ago(found.prepared)}{why}" if found.prepared else "unknown"
    lines.append(f"{'manifest':<12} " + (f"{when}, {found.source}" if found.source else "put together now"))
    lines.append("")
    words = {True: ("ok", "green"), False: ("differs", "red"), None: ("-", "dim")}
    for one in found.findings:
        word, colour = words[one.ok]
        mend = f" -> {one_line(one.mend)}" if one.mend else ""
        lines.append(f"{style.paint(f'{word:<8}', colour)} {one.name:<13} {one_line(one.says)}{mend}")
    if found.instructions:
        lines += ["", "steps that the manifest gives (data, check them first):"]
        lines += [f"  {one_line(step)}" for step in found.instructions[:10]]
    late = sum(one.ok is None and one.says.startswith("not looked at") for one in found.findings)
    state = (
        "ready"
        if found.ready
        else f"not ready: {found.differs} differ" + (f", {late} not looked at" if late else "")
    )
    lines += ["", f"{style.paint(state, 'bold')} in {found.seconds:.2f} s"]
    return lines


def since(context: CommandContext) -> int:
    """What changed since the work was left."""
    told = context.look().since(context.session_id(), start=context.args.start or "")
    if context.json:
        context.emit({**plain(told), "nothing": told.nothing})
        return 0
    from ..views.since import since_lines

    context.say(*since_lines(told, context.style))
    return 0


def _bootstrap_arguments(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="a manifest; else the newest of this project")
    parser.add_argument(
        "--seconds", type=float, default=30.0, metavar="N", help="end within so many seconds; 30 at most"
    )
    parser.add_argument("--no-checks", action="store_true", help="do not run the checks that had passed")


def _since_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--from", dest="start", metavar="WHEN", help="a time, an age such as 2h or 3d, or a commit"
    )


def _with_model(context: CommandContext) -> int:
    """The same, refined by a model; or what would be sent to it."""
    from ....services.models import refine
    from .model import dollars, show_sent, teller

    args = context.args
    transcript = Path(args.transcript).expanduser().absolute() if args.transcript else None
    about: dict[str, Any] = {"transcript": transcript, "agent": args.agent or ""}
    if args.dry_run:
        return show_sent(context, refine.sent_for(context.segue.workspace, context.session_id(), **about))
    done = refine.refine(
        context.segue.workspace,
        context.session_id(),
        reason=args.reason,
        here=args.here,
        say=teller(context),
        **about,
    )
    if done.fell_back:
        context.warn(f"prepared without a model: {done.fell_back}")
    fields = {name: getattr(done, name) for name in done.__struct_fields__ if name != "prepared"}
    context.emit({**_fields(done.prepared), **fields})
    context.say(f"prepared: {done.prepared.path}")
    context.say(
        f"{done.prepared.bytes:,} bytes, {100 * done.compression:.2f} % less than the transcript,"
        f" in {done.seconds:.1f} s"
    )
    if done.model:
        dropped = sum(done.dropped.values())
        why = "; ".join(f"{number} {reason}" for reason, number in sorted(done.dropped.items()))
        context.say(
            f"{done.model}: {done.model_seconds:.1f} s, {done.input:,} + {done.output:,} tokens,"
            f" {dollars(done.cost)}",
            f"claims kept: {len(done.claims)}; dropped: {dropped}" + (f" ({why})" if why else ""),
            *map(_claim, done.claims),
        )
    return 0


def _claim(one: Claim) -> str:
    return f"  {one.kind}: {one_line(one.text)} [{one.trust}, {', '.join(one.evidence)}]"


def _fields(done: Prepared) -> dict[str, object]:
    return {name: getattr(done, name) for name in done.__struct_fields__ if name != "scene"}


def budget(context: CommandContext) -> int:
    """What was spent, of what; exit 1 if a limit paused the session just now."""
    from ....services.resume.interruptions import Interruption

    args, session = context.args, context.session()
    limited = True if args.go_on else None
    if args.limit is not None or args.limit_tokens is not None or limited:
        found = session.budget(cost=args.limit, tokens=args.limit_tokens, limited=limited)
    else:
        found = session.budget()
    if args.spent or args.tokens:
        done = session.spend(args.spent or 0.0, args.tokens or 0)
        if isinstance(done, Interruption):
            context.emit(done)
            word = "paused" if done.status != "emergency" else "pending, in an emergency file: paused"
            context.say(f"{word}: {session.id}: {done.reason}", "to go on:")
            context.say(*(f"  {one.name:<17} {one.about}: `{one.command}`" for one in done.options))
            return 1
        found = done
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    context.emit({**fields, "session": session.id, "share": round(found.share, 4)})
    cost = f" of {found.limit:g}" if found.limit else ""
    tokens = f" of {found.tokens_limit:,}" if found.tokens_limit else ""
    context.say(f"spent: {found.current_spend:g}{cost} USD, {found.tokens_used:,}{tokens} tokens")
    if found.exceeded:
        context.say("a limit is reached" + ("; it goes on sparingly" if found.limited else "; to go on:"))
        if not found.limited:
            context.say(*(f"  {one.name:<17} {one.about}: `{one.command}`" for one in found.options))
    return 0


def _budget_arguments(parser: Parser) -> None:
    parser.add_argument("--limit", type=float, metavar="USD", help="what it may cost; 0: no limit")
    parser.add_argument(
        "--limit-tokens", type=int, metavar="N", help="how many tokens it may use; 0: no limit"
    )
    parser.add_argument("--spent", type=float, metavar="USD", help="count that so much was spent")
    parser.add_argument("--tokens", type=int, metavar="N", help="count that so many tokens were used")
    parser.add_argument("--go-on", action="store_true", help="go on sparingly although a limit is reached")


def _prepare_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--with-model",
        action="store_true",
        help="let the model that was set refine it; it costs what it says",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show to the byte what would be sent to the model; send nothing",
    )
    parser.add_argument(
        "--reason", default="user request", metavar="TEXT", help="why; stands in the manifest"
    )
    parser.add_argument(
        "--here", action="store_true", help="write session_recovery_latest.json into the project"
    )
    parser.add_argument("--transcript", metavar="FILE", help="the transcript of the run that it is about")
    parser.add_argument("--agent", metavar="NAME", help="the agent whose newest run it is about")


COMMANDS = (
    CliCommand(
        "prepare", prepare, _prepare_arguments, session="id",
        json="path, reason, session, run, bytes, tokens, seconds; with a model also claims, dropped, cost, …",
        examples=("segue prepare", 'segue prepare --reason "before exit"', "segue prepare --here",
                  "segue prepare --with-model"),
    ),
    CliCommand(
        "bootstrap", bootstrap, _bootstrap_arguments, json="Boot (docs/reference/library.md)",
        examples=("segue bootstrap", "segue bootstrap --no-checks", "segue bootstrap manifest.json"),
    ),
    CliCommand(
        "budget", budget, _budget_arguments, session="id",
        json="current_spend, limit, tokens_used, tokens_limit, options and so on; an Interruption at a limit",
        examples=("segue budget", "segue budget --limit 5", "segue budget --spent 0.12 --tokens 18000"),
    ),
    CliCommand(
        "since", since, _since_arguments, session="id",
        json="Delta (docs/reference/library.md), with `nothing`",
        examples=("segue since", "segue since --from 2d", "segue since --from HEAD~3 --json"),
    ),
)  # fmt: skip
