"""Go on: resume and switch. First the brief, then what changed since, then the context that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....core.base.values import seconds_of
from ....services.runs.observed import runs_of
from ...render import ago, count, one_line, plain
from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ....api.session import Session
    from ....core.resume.changes import Delta
    from ....core.resume.restoration import Restoration
    from ....services.resume.working_state import Working
    from ..parser import Parser

SWITCH_BUDGET = "balanced"


def resume(context: CommandContext) -> int:
    """Go on; a session that is over stays over."""
    with runs_of(context.segue.workspace).search_once():
        return _resume(context)


def _resume(context: CommandContext) -> int:
    from ....core.resume.restoration import budget_of
    from ....services.resume.interruptions import pause_if_idle

    args = context.args
    if args.budget is not None:
        budget_of(args.budget)  # before anything is changed
    session = context.session()
    if session.state.status in ("completed", "abandoned"):
        nothing = dict.fromkeys(("since", "restoration", "timeout", "working"))
        return _over(context, session, brief="", **nothing)
    told = _since(context, session)
    if told is not None and _went_on(session, told.left):
        told = None
    timeout = pause_if_idle(session)
    working = session.working() if context.json or args.budget is None else None  # else nobody is shown it
    saved = session.resume()
    context.segue.make_current(session.id)
    restored = _restored(context, session, args.budget, told)
    text = restored.text if restored is not None else _brief(context, session)
    word = "resumed" if saved.events else "it was active already"
    lines = [f"{word}: {session.id}", *([f"it had a timeout: {timeout.reason}"] if timeout else [])]
    lines += ["", *_shown(context, told, restored, text)]
    if not context.json and working is not None:
        lines += working_lines(working)
    if args.copy:
        whole = text if restored is not None else "\n".join([text, *_since_lines(told)])
        lines.append(_copied(whole))
    return context.saved(
        saved, *lines, id=session.id, status=session.state.status, brief=text if restored is None else "",
        since=_fields(told), restoration=restored, timeout=timeout, working=working,
    )  # fmt: skip


def switch(context: CommandContext) -> int:
    """Pause the current session, take the other one up with its context."""
    with runs_of(context.segue.workspace).search_once():
        return _switch(context)


def _switch(context: CommandContext) -> int:
    from ....core.resume.restoration import budget_of
    from ....services.sessions.repository import Saved

    segue, args = context.segue, context.args
    budget_of(args.budget or SWITCH_BUDGET)
    target = segue.session(context.session_id())
    if target.state.status in ("completed", "abandoned"):
        none = {"paused": "", "since": None, "restoration": None, "from": "", "to": ""}
        return _over(context, target, **none)
    told = _since(context, target)
    version = target.state.version
    before, session = segue.switch(target.id)
    state = session.state
    saved = segue.workspace.with_warnings(Saved(session.id, state.version, state.version - version))
    paused = before is not None and before.state.status == "paused"
    restored = _restored(context, session, args.budget or SWITCH_BUDGET, told)
    assert restored is not None
    lines = [f"paused: {before.id}"] if before is not None and paused else []
    lines += [f"from: {before.id if before is not None else 'nothing'}", f"to: {session.id}", ""]
    if args.budget:
        lines += _shown(context, told, restored, restored.text)
    else:
        again = f"`segue resume --budget {SWITCH_BUDGET}` prints it"
        lines += [*_shown(context, told, None, _brief(context, session)), "", f"{_sum(restored)}; {again}"]
    if args.copy:
        lines.append(_copied(restored.text))
    return context.saved(
        saved, *lines, id=session.id, status=state.status,
        paused=before.id if before is not None and paused else "", since=_fields(told), restoration=restored,
        **{"from": before.id if before is not None else "", "to": session.id},
    )  # fmt: skip


def _over(context: CommandContext, session: Session, **more: Any) -> int:
    """Say that it is over; in JSON with every field, all empty."""
    from ....services.sessions.repository import Saved

    state = session.state
    line = f"session {session.id} was {state.status} {ago(state.ended)}; nothing was started"
    saved = Saved(session.id, state.version, 0)
    return context.saved(saved, line, id=session.id, status=state.status, **more)


def _since(context: CommandContext, session: Session) -> Delta | None:
    """What changed meanwhile; None if nobody can tell."""
    from ....errors import SegueError

    try:
        return context.segue.since(session.id)
    except (SegueError, OSError):
        return None


def _went_on(session: Session, left: str) -> bool:
    """Whether the session was resumed after the moment with which now is compared, and is still active."""
    state = session.state
    return state.status == "active" and seconds_of(state.resumed) > seconds_of(left)


def _since_lines(told: Delta | None) -> list[str]:
    from ...render import Style
    from ..views.since import since_lines

    return since_lines(told, Style()) if told is not None else []


def _restored(
    context: CommandContext, session: Session, budget: str | None, told: Delta | None
) -> Restoration | None:
    if budget is None:
        return None
    since = "\n".join(_since_lines(told)) if told is not None and not told.nothing else ""
    return session.restore(budget, notes=context.args.note, since=since, record=True)


def _brief(context: CommandContext, session: Session) -> str:
    from ....services.resume.restore import brief_of

    return brief_of(context.segue.workspace, session.id)


def _shown(context: CommandContext, told: Delta | None, restored: Restoration | None, text: str) -> list[str]:
    """What a person reads."""
    if context.json:
        return []
    lines = text.split("\n")
    if restored is None and told is not None:
        from ..views.since import since_lines

        lines += ["", *since_lines(told, context.style)]
    if restored is not None and context.args.explain:
        lines += ["", *_explained(restored)]
    return lines


def working_lines(found: Working) -> list[str]:
    """Where the attention was, and who was at work; the rest stands in the brief."""
    lines, focus = [], found.focus
    if focus.file:
        place = f"{focus.file}:{focus.position}" if focus.position else focus.file
        then = f"{focus.file_then}:{focus.position_then}" if focus.position_then else focus.file_then
        was = f" (it was {then})" if place != then else ""
        gone = ", and that line is gone" if focus.exact is False else ""
        lines.append(
            f"focus: {one_line(place)}{one_line(was)}{gone}"
            + (f": {one_line(focus.text)}" if focus.text else "")
        )
    for one in found.agents:
        facts = [one.mode, f"process {one.process}" if one.pid else "", one.last_topic]
        facts.append(
            count(one.suggestions_pending, "suggestion") + " pending" if one.suggestions_pending else ""
        )
        lines.append(f"agent {one.name}: " + ", ".join(one_line(fact) for fact in facts if fact))
    return ["", *lines] if lines else []


def _explained(restored: Restoration) -> list[str]:
    """The log as a table: what was loaded, what not, and why."""
    lines = [_sum(restored)]
    for one in restored.log:
        tokens = f"{one.tokens:,}" if one.tokens else ""
        why = f" ({one_line(one.reason)})" if one.reason else ""
        lines.append(f"  {one.status:8}{tokens:>7}  {one_line(one.item)}{why}")
    if restored.notes_requested:
        wanted = count(len(restored.notes_requested), "note")
        lines.append(f"  {len(restored.notes_restored)} of {wanted} restored")
    return lines


def _sum(restored: Restoration) -> str:
    return f"restored {restored.level}: {restored.tokens_used:,} of {restored.budget_total:,} tokens"


def _fields(told: Delta | None) -> dict[str, Any] | None:
    return {**plain(told), "nothing": told.nothing} if told is not None else None


def _copied(text: str) -> str:
    from ..clipboard import copy

    return f"copied to the clipboard with {copy(text)}"


def _budget_argument(parser: Parser, default: str) -> None:
    parser.add_argument(
        "--budget", metavar="BUDGET",
        help=f"minimal, balanced, full, or tokens from 300 up; {default}",
    )  # fmt: skip
    parser.add_argument(
        "--note", action="append", default=[], metavar="ID", help="a note to restore; may be given again"
    )
    parser.add_argument("--explain", action="store_true", help="say what was loaded, what not, and why")
    parser.add_argument("--copy", action="store_true", help="copy the context to the clipboard too")


def _resume_arguments(parser: Parser) -> None:
    _budget_argument(parser, "without it, brief and changes only")


def _switch_arguments(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the session to take up")
    _budget_argument(parser, "balanced if not given")


_ID = "2026-11-15-coding-shop-001"
COMMANDS = (
    CliCommand(
        "resume", resume, _resume_arguments, session="id",
        json="Saved with `id`, `status`, `brief`, `since`, `working`, `timeout`, with --budget `restoration`",
        examples=(
            "segue resume",
            f"segue resume {_ID} --budget balanced --explain",
            "segue resume --budget 12000 --note adr-004 --copy",
        ),
    ),
    CliCommand(
        "switch", switch, _switch_arguments,
        json="Saved with `id`, `status`, `paused`, `from`, `to`, `since` and `restoration`",
        examples=(f"segue switch {_ID}", "segue switch leak-hunt --json"),
    ),
)  # fmt: skip
