"""A resumed session as text: what was loaded, what was in focus, and which agents were at work."""

from __future__ import annotations

from ....core.resume.changes import Delta
from ....core.resume.restoration import Restoration
from ....core.sessions.state import SessionState
from ....services.resume.resume import Resumed
from ....services.resume.working_state import Working
from ...render import Style, ago, count, one_line
from ..clipboard import copy
from .since import since_lines


def over_line(state: SessionState) -> str:
    """A line that says that a session is over and was left as it is."""
    return f"session {state.id} was {state.status} {ago(state.ended)}; it was left as it is"


def resumed_lines(done: Resumed, style: Style, *, explain: bool) -> list[str]:
    """The report of a resumed session, for people."""
    word = "resumed" if done.saved.events else "already active"
    lines = [f"{word}: {done.saved.session}"]
    lines += [f"it had timed out: {done.timeout.reason}"] if done.timeout else []
    restored = done.restoration
    if restored is not None:
        lines += ["", *context_lines(restored.text, style, restored=restored, explain=explain)]
    else:
        lines += ["", *context_lines(done.brief, style, since=done.since)]
    return lines + (working_lines(done.working) if done.working is not None else [])


def context_lines(
    text: str, style: Style, *, since: Delta | None = None, restored: Restoration | None = None,
    explain: bool = False,
) -> list[str]:  # fmt: skip
    """A brief with what changed since, or a restored context, explained if that was asked for."""
    lines = text.split("\n")
    if since is not None:
        lines += ["", *since_lines(since, style)]
    if restored is not None and explain:
        lines += ["", *explained(restored)]
    return lines


def working_lines(found: Working) -> list[str]:
    """What was in focus, the threads that are open, and which agents were at work."""
    lines, focus = [], found.focus
    if not focus.file and focus.note_id:
        lines.append(
            f"focus: note {one_line(focus.note_id)}" + (", which is gone" if focus.exact is False else "")
        )
    if focus.file:
        place = f"{focus.file}:{focus.position}" if focus.position else focus.file
        then = f"{focus.file_then}:{focus.position_then}" if focus.position_then else focus.file_then
        was = f" (it was {then})" if place != then else ""
        is_line = focus.position_then[:1].isdigit()
        lost = "that line is gone" if is_line else "no heading there has this name"
        gone = f", but {lost}" if focus.exact is False else ""
        lines.append(
            f"focus: {one_line(place)}{one_line(was)}{gone}"
            + (f": {one_line(focus.text)}" if focus.text else "")
        )
    for thread in found.threads:
        notes = f" ({', '.join(map(one_line, thread.notes))})" if thread.notes else ""
        status = f", {one_line(thread.status)}" if thread.status != "in_progress" else ""
        lines.append(f"thread: {one_line(thread.topic)}{notes}{status}, {ago(thread.last_activity)}")
    for one in found.agents:
        facts = [one.mode, f"process {one.process}" if one.pid else "", one.last_topic]
        facts.append(
            count(one.suggestions_pending, "suggestion") + " pending" if one.suggestions_pending else ""
        )
        said = ", ".join(one_line(fact) for fact in facts if fact)
        lines.append(f"agent {one.name}: {said}" if said else f"agent {one.name}")
    return ["", *lines] if lines else []


def explained(restored: Restoration) -> list[str]:
    """The log as a table: what was loaded, what not, and why."""
    lines = [restored_words(restored)]
    for one in restored.log:
        tokens = f"{one.tokens:,}" if one.tokens else ""
        why = f" ({one_line(one.reason)})" if one.reason else ""
        lines.append(f"  {one.status:8}{tokens:>7}  {one_line(one.item)}{why}")
    if restored.notes_requested:
        wanted = count(len(restored.notes_requested), "note")
        lines.append(f"  {len(restored.notes_restored)} of {wanted} restored")
    return lines


def restored_words(restored: Restoration) -> str:
    """How much was restored, and the budget."""
    return f"restored {restored.level}: {restored.tokens_used:,} of {restored.budget_total:,} tokens"


def copied(text: str) -> str:
    """Copy a text to the clipboard, and say with which program."""
    return f"copied to the clipboard with {copy(text)}"
