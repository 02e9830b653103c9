"""The view of a session, which people read many times a day: dense, and without repetition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....core.sessions.budget import budget_words
from ....core.sessions.state import SessionState, observed_agent
from ....core.sessions.status import SessionStatus
from ...render import Style, ago, bar, cells, count, one_line, packed, shown, wrap

_LABEL = 13
_COLOURS = {
    "active": "green",
    "created": "green",
    "paused": "yellow",
    "completed": "blue",
    "abandoned": "red",
}
_NO_PLAN = "no items or features were declared: `segue brief` tells what was done last and what is open"
Row = tuple[str, str]
"""(mark, text)"""


class View:
    """Builds the lines of a session's view."""

    def __init__(self, style: Style, *, all: bool = False) -> None:
        self.style = style
        self.all = all
        self.lines: list[str] = []

    def rows(self, label: str, rows: Sequence[Row], *, more: int = 0, colour: str = "") -> None:
        """A section; ``more`` rows exist beyond these."""
        style = self.style
        for place, (mark, text) in enumerate(rows):
            head = style.paint(label.ljust(_LABEL), "bold") if place == 0 else " " * _LABEL
            sign = style.paint(mark, colour) + " " if mark and colour else f"{mark} " if mark else ""
            indent = _LABEL + (cells(mark) + 1 if mark else 0)
            tail = f"  (+{more} more)" if more and place == len(rows) - 1 else ""
            room = max(20, style.width - indent) if style.width else 0
            wrapped = wrap(text if self.all else shown(text), room, style, lines=0 if self.all else 3)
            last = len(wrapped) - 1
            if tail and room and cells(wrapped[last]) + len(tail) > room:
                wrapped.append("")
                last, tail = last + 1, tail.strip()
            wrapped[last] += style.paint(tail, "dim")
            self.lines.append(head + sign + wrapped[0])
            self.lines += [" " * indent + line for line in wrapped[1:]]

    def fact(self, label: str, text: str) -> None:
        """A section of one line; none if there is nothing to say."""
        self.rows(label, [("", text)] if text else [])

    def newest(
        self, label: str, rows: Sequence[Row], limit: int, *, colour: str = "", last: bool = True
    ) -> None:
        """A section of which the last (or the first) few are shown."""
        limit = len(rows) if self.all else limit
        kept = rows[-limit:] if last else rows[:limit]
        self.rows(label, kept if limit else [], more=len(rows) - len(kept), colour=colour)


def numbered(state: SessionState | None) -> Callable[[str], str]:
    """A function that puts an item's number before it, as ``done "#3"`` takes it."""
    numbers: dict[str, int] = {}
    if state is not None:
        for places in (state.active, state.next, state.blocked):
            numbers.update((state.items[place].text, place + 1) for place in places)
    return lambda text: (f"#{numbers[text]} " if text in numbers else "") + one_line(text)


def header(status: SessionStatus, style: Style) -> list[str]:
    """Goal; id, status, progress and age."""
    goal = wrap(shown(status.goal), style.width, style, lines=3)
    progress = status.progress
    dot = f" {style.mark('dot')} "
    facts = [
        style.paint(one_line(status.id), "cyan"),
        style.paint(status.status, _COLOURS.get(status.status, "bold")),
    ]
    if progress.total:
        meter = f"{bar(progress.percent, 16, style)} {progress.percent}%"
        facts += [meter, f"{progress.done}/{progress.total} done"]
    facts.append(style.paint(ago(status.last_active or status.updated), "dim"))
    return [*(style.paint(line, "bold") for line in goal), *packed(facts, style, between=dot)]


def status_lines(
    status: SessionStatus, style: Style, state: SessionState | None = None, *, all: bool = False
) -> list[str]:
    """A session: its plan, features, decisions, questions and surroundings, and warnings at the end."""
    view = View(style, all=all)
    head = [*header(status, style), ""]
    view.lines = list(head)
    plan_rows(view, status, numbered(state))
    feature_rows(view, status)
    _known(view, status, state)
    _around(view, status)
    if view.lines == head:
        view.lines.append(
            style.paint(
                "nothing yet: `segue add ITEM` adds to the plan, `segue begin ITEM` begins with it", "dim"
            )
        )
    elif not all and not status.progress.total and not status.features:
        view.lines += ["", style.paint(_NO_PLAN, "dim")]
    return [*view.lines, *warnings(status, style)]


def plan_rows(
    view: View, status: SessionStatus, number: Callable[[str], str], *, only_open: bool = False
) -> None:
    """The items of the plan by their status; with ``only_open`` none that are done, and fewer."""
    style = view.style
    if not only_open:
        view.newest("Done", [(style.mark("done"), one_line(t)) for t in status.done], 4, colour="green")
    view.rows("Under way", [(style.mark("active"), number(t)) for t in status.active], colour="cyan")
    most = 3 if only_open else 5
    view.newest("Next", [(style.mark("next"), number(t)) for t in status.next], most, last=False)
    blocked = [
        (style.mark("blocked"), number(b.item) + (f": {one_line(b.reason)}" if b.reason else ""))
        for b in status.blocked
    ]
    view.newest("Blocked", blocked, 3 if only_open else 8, colour="yellow")
    if view.all:
        view.rows("Dropped", [(style.mark("dropped"), one_line(t)) for t in status.dropped], colour="dim")


def feature_rows(view: View, status: SessionStatus, *, most: int = 6) -> None:
    """How many features are proven, and those that are not, the failing ones first."""
    if not status.features:
        return
    style, open_ = view.style, [one for one in status.features if not one.passes]
    proven = len(status.features) - len(open_)
    marks = {
        "failing": style.mark("dropped"),
        "stale": style.mark("thread"),
        "blocked": style.mark("blocked"),
    }
    rows = [
        (
            marks.get(one.status, style.mark("next")),
            f"{one_line(one.id)} {one.status}: {one_line(one.reason)}",
        )
        for one in sorted(open_, key=lambda one: one.status != "failing")
    ]
    view.rows("Features", [("", f"{proven} of {len(status.features)} proven")])
    view.newest("", rows, most, colour="yellow", last=False)


def _known(view: View, status: SessionStatus, state: SessionState | None) -> None:
    style = view.style
    bullet = style.mark("bullet")
    asked = {q.text: n for n, q in enumerate(state.questions, 1)} if state is not None else {}
    decisions = [
        (bullet, one_line(d.text) + (f" (why: {one_line(d.why)})" if d.why else "")) for d in status.decisions
    ]
    view.newest("Decisions", decisions, 3)
    questions = [
        ("?", (f"#{asked[q.text]} " if q.text in asked else "") + one_line(q.text)) for q in status.questions
    ]
    view.newest("Questions", questions, 5, colour="magenta")
    threads = [
        ("~", f"{one_line(t.topic)} ({one_line(t.status)}, {ago(t.last_activity)})") for t in status.threads
    ]
    view.newest("Threads", threads, 4, last=False)
    view.newest("Errors", [("!", one_line(t.text)) for t in status.errors], 4, colour="red")
    view.newest("Findings", [(bullet, one_line(f.text)) for f in status.findings], 3)


def _around(view: View, status: SessionStatus) -> None:
    agent = observed_agent(status.last_action)
    if agent:
        view.fact("Began", f"with this request to {one_line(agent)}")
    else:
        view.fact("Last action", one_line(status.last_action))
    focus = status.focus
    where = one_line(focus.file or focus.note_title or focus.note_id)
    view.fact("Focus", where + (f":{one_line(focus.position)}" if focus.position and focus.file else ""))
    view.fact("Uncommitted", count(len(status.changes), "changed file") if status.changes else "")
    if status.status == "paused":
        reason = one_line(status.lifecycle.pause_reason)
        view.fact("Paused", ago(status.lifecycle.paused) + (f": {reason}" if reason else ""))
    view.fact("Budget", budget_words(status.budget))
    view.newest("Checkpoints", [("", one_line(name)) for name in status.checkpoints], 3)
    view.fact("Handed to", one_line(status.handed_to))


def warnings(status: SessionStatus, style: Style) -> list[str]:
    """What must be known before work continues: other holders, and events that are lost."""
    lines = []
    if status.held_by:
        lines.append(style.paint(f"held by {one_line(status.held_by)}", "yellow"))
    for first, last in status.gaps:
        which = f"version {first}" if first == last else f"versions {first}-{last}"
        lines.append(style.paint(f"{which} could not be recovered", "red"))
    return ["", *lines] if lines else []


def show_lines(status: SessionStatus, style: Style, state: SessionState) -> list[str]:
    """Everything that is known about a session, with nothing left out."""
    view = View(style, all=True)
    facts = [
        ("Type", status.type), ("Project", status.project), ("Organization", status.organization),
        ("Created", _when(status.lifecycle.created)), ("Resumed", _when(status.lifecycle.resumed)),
        ("Ended", _when(status.lifecycle.ended)), ("Ended with", state.end_reason),
        ("Active", f"{status.lifecycle.active_minutes:g} min"), ("Version", str(status.version)),
        ("Summary", status.summary),
    ]  # fmt: skip
    for label, text in facts:
        view.fact(label, one_line(text))
    _answered(view, state)
    view.rows("Changes", [("", f"{one_line(file)} ({kind})") for file, kind in status.changes])
    used = [("", f"{one_line(n)}, {count(use.count, 'time')}") for n, use in state.notes.items() if use.count]
    view.rows("Notes used", used)
    loaded = [("", one_line(n)) for n, use in state.notes.items() if not use.count]
    view.rows("Notes loaded", loaded)
    view.rows("Agents", [("", agent_words(name, agent)) for name, agent in status.agents.items()])
    return [*status_lines(status, style, state, all=True), "", *view.lines]


def _answered(view: View, state: SessionState) -> None:
    answered = [("?", f"{one_line(q.text)}: {one_line(q.answer)}") for q in state.questions if q.answer]
    view.rows("Answered", answered)
    solved = [("!", f"{one_line(t.text)}: {one_line(t.solution)}") for t in state.troubles if t.solution]
    view.rows("Solved", solved)


def agent_words(name: str, agent: object) -> str:
    """What is known about an agent, in a line."""
    facts = [
        f"{field} {one_line(str(value))}"
        for field in ("mode", "pid", "last_topic")
        if (value := getattr(agent, field))
    ]
    size = getattr(agent, "size", 0)
    if size:
        facts.append(f"{size:,} bytes saved {ago(getattr(agent, 'saved_at', ''))}")
    return ", ".join([one_line(name), *facts])


def _when(text: str) -> str:
    return f"{text[:16].replace('T', ' ')} UTC ({ago(text)})" if text else ""


def tally(status: SessionStatus, style: Style) -> str:
    """How far the work is and what is next, in one line; the last line of commands that write."""
    progress = status.progress
    facts = [f"{progress.done}/{progress.total} done ({progress.percent}%)"] if progress.total else []
    if status.active:
        facts.append("under way: " + ", ".join(shown(item) for item in status.active[:3]))
    elif status.next:
        facts.append("next: " + shown(status.next[0]))
    if status.blocked:
        facts.append(f"{len(status.blocked)} blocked")
    return style.paint(f" {style.mark('dot')} ".join(facts), "dim")
