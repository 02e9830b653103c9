"""`segue handoff`: offer a session, take or decline an offer, list them; a bundle for another machine."""

from __future__ import annotations

from ....errors import UsageError
from ....services.handoff.offers import ANYONE, HandoffOffer
from ...render import ago, count, handed_object, one_line
from ..command import argument, command, flag
from ..context import CommandContext, text_or_stdin

_COLOURS = {"open": "cyan", "taken": "green", "declined": "yellow", "withdrawn": "dim", "expired": "dim"}


@command(
    "handoff",
    argument("--to", "NAME", "offer it to this agent, or with `anyone` to whoever takes it first"),
    argument("--note", "TEXT", "what the agent should know; `-` reads it from stdin", default=""),
    argument("--hours", "N", "how long the offer is open; by default 72 hours", type=float, default=72.0),
    flag("--rules", "also mention it in the file that the agent reads by itself"),
    argument("--to-file", "FILE", "write a bundle for another machine, where `segue import` reads it"),
    flag("--accept", "accept an offer, by its id or its session; by default the newest one here"),
    flag("--decline", "decline an offer"),
    flag("--withdraw", "withdraw an offer"),
    argument("--reason", "TEXT", "with --decline and --withdraw: why", default=""),
    flag("--list", "list the offers of this project and who took them"),
    flag("--all", "with --list: the offers of all projects"),
    session="id",
    json="Saved with `offer`, `file`, `start`, `rules` and `missing`; --list: an array of Offers; else the "
    "Offer",
    shape={
        "--to": "MadeOffer", "--to-file": "PackedSession", "--accept": "MadeOffer", "--decline": "Offer",
        "--withdraw": "Offer", "--list": "list[Offer]",
    },
    examples=(
        'segue handoff --to codex --note "OAuth waits for credentials"',
        "segue handoff 2026-11-15-coding-shop-001 --to-file work.segue",
        "segue handoff --accept --actor codex", "segue handoff --list",
    ),
)  # fmt: skip
def handoff(context: CommandContext) -> int:
    """Do what the options say; by default, offer the session."""
    args = context.args
    asked = [name for name in ("accept", "decline", "withdraw", "list") if getattr(args, name)]
    if len(asked) > 1 or (asked and (args.to or args.to_file)):
        raise UsageError(
            "give only one of --to, --accept, --decline, --withdraw and --list",
            hint="see `segue handoff --help`",
        )
    if asked:
        return _ACTIONS[asked[0]](context)
    if not args.to and not args.to_file:
        raise UsageError("to whom?", hint="name the agent with --to, or a file with --to-file")
    return _bundle(context) if args.to_file else _offer(context)


def _offer(context: CommandContext) -> int:
    args, session = context.args, context.session()
    note = text_or_stdin(args.note)
    handed = session.hand_off(args.to, note, hours=args.hours, rules=args.rules)
    offer = handed.offer
    lines = [f"handed to {one_line(offer.to)}: {session.id}"]
    lines.append(f"offer {offer.id}, until {offer.until[:16].replace('T', ' ')} UTC")
    lines += [f"restoration: {one_line(handed.file)}"]
    lines += [f"mentioned in {one_line(handed.rules)} until the offer is settled"] if handed.rules else []
    if args.rules and not handed.rules:
        context.warn(
            f"no rules were written: Segue knows of no file that {one_line(offer.to)} reads by itself"
        )
    lines += [f"start it with: {one_line(handed.start)}"] if handed.start else []
    if handed.missing:
        lines.append(f"{handed.missing} was not found on PATH here; it may be on another machine")
    return _handed(context, handed, *lines)


def _handed(context: CommandContext, handed: HandoffOffer, *lines: str) -> int:
    context.warn_all(handed.saved.warnings)
    return context.report(handed_object(handed), *lines)


def _bundle(context: CommandContext) -> int:
    from ....services.handoff.bundle import pack

    args, session = context.args, context.session()
    packed = pack(
        context.segue.workspace,
        session.id,
        to=args.to or ANYONE,
        note=text_or_stdin(args.note),
        hours=args.hours,
    )
    context.write_file(args.to_file, packed.body)
    fields = {"session": session.id, "file": args.to_file, "bytes": len(packed.body)}
    return context.report(
        {**fields, "sha256": packed.sha256, "offer": packed.offer},
        f"packed {session.id} into {one_line(args.to_file)}: {count(len(packed.body), 'byte')}",
        f"sha256 {packed.sha256}: tell this to whoever takes it",
        "on the other machine: segue import FILE, then segue handoff --accept",
    )


def _accept(context: CommandContext) -> int:
    handed = context.segue.handoffs.accept(context.session_id())
    offer = handed.offer
    lines = [f"accepted by {one_line(offer.taker)}: {offer.session}"]
    lines += [f"note: {one_line(offer.note)}"] if offer.note else []
    lines.append(f"restoration: {one_line(handed.file)}")
    return _handed(context, handed, *lines)


def _settle(context: CommandContext) -> int:
    """Decline an offer, or withdraw it."""
    handoffs, args = context.segue.handoffs, context.args
    settle = handoffs.decline if args.decline else handoffs.withdraw
    offer = settle(context.session_id(), reason=args.reason)
    return context.report(offer, f"{offer.status}: offer {offer.id} of {one_line(offer.session)}")


def _list(context: CommandContext) -> int:
    segue = context.look()
    id = context.session_id()
    offers = segue.handoffs.of(id)[::-1] if id else segue.handoffs.listing(everywhere=context.args.all)
    lines = []
    for offer in offers:
        who = f" by {one_line(offer.taker)}" if offer.taker else ""
        word = context.style.paint(f"{offer.status}{who}", _COLOURS[offer.status])
        note = f"  {one_line(offer.note)}" if offer.note else ""
        why = f"  ({one_line(offer.reason)})" if offer.reason else ""
        lines.append(
            f"{offer.id}  {word}  {one_line(offer.session)}: {one_line(offer.by)} → {one_line(offer.to)}, "
            f"{ago(offer.at)}{note}{why}"
        )
    return context.report(offers, *(lines or ["no offers"]))


_ACTIONS = {"accept": _accept, "decline": _settle, "withdraw": _settle, "list": _list}
