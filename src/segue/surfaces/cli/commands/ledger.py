"""`segue ledger`: what was said and holds, and correcting it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....core.ledger.model import KINDS
from ....core.sessions.ledger_commands import ADDED, added_kind
from ....errors import UsageError
from ...render import count, one_line
from ..command import argument, command, flag
from ..context import CommandContext, text_or_stdin

if TYPE_CHECKING:
    from ....api.ledger import SessionLedger
    from ....services.sessions.repository import Saved

ACTIONS = ("done", "drop", "reopen", "edit", "add")


@command(
    "ledger",
    argument(
        "words", "SESSION", "the session to look at; or done ID…, drop ID…, reopen ID…, edit ID TEXT, "
        "add KIND TEXT", nargs="*",
    ),
    flag("--all", "also what is settled, with what settled it"),
    flag("--explain", "what each entry rests on: run, step, time, what showed its state, who corrected it"),
    argument("--kind", None, "only entries of this kind", choices=KINDS),
    argument("--why", "TEXT", "with drop: the reason", default=""),
    argument("--of", "ID", "with add: the entry that it belongs to, as a point to its request", default=""),
    argument("-s --session", "ID", "the session; by default SEGUE_SESSION, or the current one"),
    json="an array of entries with their `handle`; done, drop, reopen, edit, add: Saved with `entries`",
    shape={
        "": "list[ShownEntry]", "done": "CorrectedLedger", "drop": "CorrectedLedger",
        "reopen": "CorrectedLedger", "edit": "CorrectedLedger", "add": "CorrectedLedger",
    },
    examples=(
        "segue ledger --explain", "segue ledger done 3f2a 91bc",
        'segue ledger drop 77be --why "a library does it"', 'segue ledger add rule "Never push to main."',
    ),
)  # fmt: skip
def ledger(context: CommandContext) -> int:
    """Show what was said and holds, or correct it."""
    words = list(context.args.words)
    if words[:1] and words[0] in ACTIONS:
        return _change(context, words[0], words[1:])
    if len(words) > 1:
        hint = f"name one session; `segue ledger {'|'.join(ACTIONS)} …` corrects entries"
        raise UsageError(f"unknown: {' '.join(map(one_line, words[1:]))[:99]}", hint=hint)
    return _show(context, _session_named(context, words[0] if words else ""))


def _session_named(context: CommandContext, given: str) -> str:
    named = context.args.session or ""
    if given and named and given != named:
        raise UsageError(f"two different sessions are named: {given} and {named}", hint="name only one")
    return given or named


def _show(context: CommandContext, session: str) -> int:
    args = context.args
    if args.why or args.of:
        raise UsageError("--why and --of are for changes", hint='segue ledger drop ID --why "the reason"')
    view = context.looked(lambda segue: segue.ledger(session), "the agents' files")
    kind = args.kind or ""
    if context.json:
        return context.report(view.shown(all=args.all, kind=kind))
    from ..views.ledger import ledger_lines

    return context.report(
        None, *ledger_lines(view, context.style, all=args.all, kind=kind, explain=args.explain)
    )


def _change(context: CommandContext, action: str, words: Sequence[str]) -> int:
    """Correct or add entries, all or none."""
    session = context.segue.session(context.args.session or "")
    own = session.ledger
    saved = _saved(context, own, action, words)
    if getattr(saved, "pending", False):
        return context.pending(saved, f"ledger {action} {' '.join(map(one_line, words))}", entries=[])
    entries = own.changed(saved)
    if context.json:
        return context.saved(saved, entries=entries)
    from ..views.ledger import corrected_lines

    lines = corrected_lines(entries, context.style)
    if len(entries) > len(words) > 0 and action != "add":
        lines.append(f"{count(len(entries), 'entry', 'entries')} in all: what belongs to one goes with it")
    return context.saved(saved, *(lines or ["nothing changed"]))


def _saved(context: CommandContext, ledger: SessionLedger, action: str, words: Sequence[str]) -> Saved:
    args = context.args
    if action == "edit":
        if len(words) < 2:
            raise UsageError("which entry, and what should it say?", hint="segue ledger edit ID TEXT")
        return ledger.edit(words[0], text_or_stdin(" ".join(words[1:])))
    if action == "add":
        kind = added_kind(words[0]) if len(words) > 1 else None
        if kind is None:
            raise UsageError("what should be added?", hint=f"segue ledger add {'|'.join(ADDED)} TEXT")
        return ledger.add(kind, text_or_stdin(" ".join(words[1:])), of=args.of)
    if action == "drop":
        return ledger.drop(*words, why=text_or_stdin(args.why))
    return ledger.done(*words) if action == "done" else ledger.reopen(*words)
