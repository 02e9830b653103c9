"""The ledger on a terminal: groups of entries, each with its handle, whole, and what belongs to it below.

Lines fit 80 columns also where the output is no terminal: texts of pages would be one line each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ....core.language.sentences import flat
from ....core.ledger.groups import TITLES, EntryGroup, EntryRow, GroupName, entries_in
from ....core.ledger.model import HOLDING, SETTLED, Entry
from ....core.runs.identifiers import short_run
from ....services.ledger.ledger_service import LedgerView, ShownEntry
from ...render import Style, ago, cells, count, cut, one_line, safe, wrap

WIDTH, WIDTH_MAX = 80, 100
ANSWERS_CHARS = 200
"""How much is shown of what a short message answers, unless everything is explained."""
MARKS = {"active": "[>]", "done": "[x]", "withdrawn": "[-]", "superseded": "[-]"}
RELATIONS = {
    "new": "new work", "adds": "adds to what was asked", "corrects": "corrects what was done",
    "permits": "permits something", "withdraws": "takes something back",
    "answers": "answers what the agent said", "asks": "only asks",
}  # fmt: skip


def ledger_lines(
    view: LedgerView, style: Style, *, all: bool = False, kind: str = "", explain: bool = False
) -> list[str]:
    """The ledger of a session, and what is left out of it."""
    groups = view.groups(all=all, kind=kind)
    drawing = _Drawing(view, style, all=all, explain=explain)
    lines = drawing.header()
    for group in groups:
        lines += ["", *drawing.group(group)]
    left_out = _left_out(view, groups, kind) if not all else ""
    if not groups:
        lines += ["", "nothing that was said is known to hold" if not kind else f"no {kind} holds"]
    notes = [left_out] if left_out else []
    notes += ["new: said since the last sync"] if any(entry.waits for entry in view.entries) else []
    notes += ["`segue show RUN#STEP` shows where something was said"] if explain and groups else []
    return lines + (["", *(style.paint(note, "dim") for note in notes)] if notes else [])


def _left_out(view: LedgerView, groups: Sequence[EntryGroup], kind: str) -> str:
    shown = entries_in(groups)
    wanted = (entry for entry in view.entries if kind in ("", entry.kind) and entry.id not in shown)
    settled = sum(entry.state in SETTLED for entry in wanted)
    return f"{count(settled, 'entry', 'entries')} settled; `segue ledger --all` shows them" if settled else ""


def corrected_lines(entries: Iterable[ShownEntry], style: Style) -> list[str]:
    """Entries that were just corrected, a line each."""
    width = min(style.width or WIDTH, WIDTH_MAX)
    return [cut(f"{entry.state}: {entry.handle} {one_line(entry.text)}", width, style) for entry in entries]


class _Drawing:
    """Draws entries in a style."""

    def __init__(self, view: LedgerView, style: Style, *, all: bool = False, explain: bool = False) -> None:
        self.view = view
        self._style = style
        self._all = all
        self._explain = explain
        self._width = min(style.width or WIDTH, WIDTH_MAX)
        self._handle_cells = max((len(entry.handle) for entry in view.entries), default=0)
        self._by_id = {entry.id: entry for entry in view.entries}

    def header(self) -> list[str]:
        """The session and its goal, unless that is the beginning of a request."""
        if not self.view.session:
            return ["what the newest run here said; no session has it yet"]
        goal, session = one_line(self.view.goal), self._style.paint(one_line(self.view.session), "cyan")
        requests = (one_line(entry.text) for entry in self.view.entries if entry.kind == "request")
        if any(text.startswith(goal) for text in requests):
            return [session]
        return [session, *wrap(goal, self._width, self._style)]

    def group(self, group: EntryGroup) -> Iterator[str]:
        """A heading, and the entries below it."""
        yield self._style.paint(TITLES[group.name].upper(), "bold")
        for number, row in enumerate(group.rows, 1):
            first = f"{number:>3}. " if group.name == "requests" else "  "
            yield from self._row(row, first, group.name)

    def handle(self, entry: Entry) -> str:
        """The handle of an entry in its column."""
        own = one_line(self._by_id[entry.id].handle)
        return self._style.paint(own, "cyan") + " " * (self._handle_cells - len(own))

    def _row(self, row: EntryRow, first: str, group: GroupName) -> Iterator[str]:
        entry, parts = row.entry, list(row.parts)
        indent = len(first) + self._handle_cells + 2
        if entry is None:
            yield f"{first}items of no list: {_tally(parts)}"
        elif entry.kind == "list":
            text = f"{one_line(entry.text)}: {_tally(parts)}"
            yield from self._entry(entry, first, indent, [text], _changed(entry, parts))
        elif group == "answered" and not (self._all or self._explain):
            told = f" ({self._told(entry)})"
            text = cut(one_line(entry.text), max(20, self._width - indent - len(told)), self._style)
            yield f"{first}{self.handle(entry)}  {text}{self._style.paint(told, 'dim')}"
        else:
            yield from self._entry(entry, first, indent, self._texts(entry, parts, indent))
        if entry is not None and self._explain:
            yield from self._explained(entry, indent)
        for part in self._below(entry, parts):
            yield from self._part(part, indent)

    def _entry(
        self, entry: Entry, first: str, indent: int, texts: Sequence[str], changed: str = ""
    ) -> Iterator[str]:
        """The lines of an entry; who said it and when behind the last one."""
        start = f"{first}{self.handle(entry)}  "
        lines = [line for text in texts for line in wrap(text, self._width - indent, self._style)]
        told = f"({self._told(entry, changed)})"
        if lines and cells(lines[-1]) + 1 + len(told) <= self._width - indent:
            lines[-1] += " " + self._style.paint(told, "dim")
        else:
            lines += [
                self._style.paint(line, "dim") for line in wrap(told, self._width - indent, self._style)
            ]
        for number, line in enumerate(lines):
            yield (start if not number else " " * indent) + line

    def _texts(self, entry: Entry, parts: list[Entry], indent: int) -> list[str]:
        """What an entry says, line by line, and what belongs to it to be understood."""
        text = safe(entry.text).strip()
        if entry.kind == "choice" and entry.answers:
            text = f"{one_line(entry.answers)} {text}"
        lines = [line.rstrip() for line in text.split("\n") if line.strip()]
        if entry.cut_chars:
            lines.append(f"[cut: {entry.cut_chars:,} characters in all]")
        if entry.kind == "request":
            lines = lines if self._explain else self._with_marks(lines, parts)
            if entry.answers:
                lines.append(f"in answer to: {self._short(entry.answers)}")
        elif entry.kind in ("attempt", "failing") and entry.reply:
            lines += [line.rstrip() for line in safe(entry.reply).split("\n") if line.strip()]
        return lines

    def _short(self, text: str) -> str:
        line = one_line(text)
        if self._explain or len(line) <= ANSWERS_CHARS:
            return line
        return f"{line[:ANSWERS_CHARS].rstrip()}{self._style.mark('more')}"

    def _with_marks(self, lines: list[str], parts: list[Entry]) -> list[str]:
        """The lines of a request; those that are its points have the marks of these, which are taken from
        ``parts``."""
        marked = []
        for line in lines:
            own = flat(line)
            points = [part for part in parts if part.kind == "item" and _is_line_of(own, part)]
            if len(points) == 1:
                parts.remove(points[0])
                marked.append(f"{self._mark(points[0])} {self.handle(points[0])}  {line.strip()}")
            else:
                marked.append(line)
        return marked

    def _below(self, entry: Entry | None, parts: Sequence[Entry]) -> list[Entry]:
        """What is shown below an entry: of a list what is left, the item under way first."""
        if entry is None or entry.kind == "list":
            shown = [part for part in parts if self._all or part.state in HOLDING]
            return sorted(shown, key=lambda part: part.state != "active")
        return list(parts)

    def _part(self, part: Entry, indent: int) -> Iterator[str]:
        lead = "but" if part.kind == "permission" and part.state in HOLDING else self._mark(part)
        number = f"{one_line(part.mark)}. " if part.mark else ""
        start = f"{' ' * indent}{lead} {self.handle(part)}  {number}"
        room = indent + len(lead) + 1 + self._handle_cells + 2 + len(number)
        yield from self.hanging(start, one_line(part.text), room)
        if self._explain:
            yield from self._explained(part, room)

    def _mark(self, entry: Entry) -> str:
        mark = MARKS.get(entry.state, "[ ]")
        return self._style.paint(mark, "green") if entry.state == "done" else mark

    def hanging(self, start: str, text: str, indent: int = 0) -> list[str]:
        """A text behind a beginning, its further lines below its first."""
        room = indent or cells(start)
        first, *rest = wrap(text, max(20, self._width - room), self._style)
        return [start + first, *(" " * room + line for line in rest)]

    # -- what an entry rests on

    def _told(self, entry: Entry, changed: str = "") -> str:
        """Who said something, when, and what became of it."""
        shown = self._by_id[entry.id]
        words = [one_line(entry.by) if entry.by else "", ago(entry.at) if entry.at else "", changed]
        if entry.state not in HOLDING:
            words.append(_state_words(entry))
        if shown.corrected:
            words.append(f"by the word of {one_line(shown.corrected)}")
        if shown.waits:
            words.append("new")
        return ", ".join(filter(None, words))

    def _explained(self, entry: Entry, indent: int) -> Iterator[str]:
        """What an entry rests on: where it was said, and what became of it."""
        said = [f"{entry.id}: {_source(entry)}"]
        said += [_moment(entry.at)] if entry.at else []
        said += [RELATIONS[entry.relation]] if entry.relation in RELATIONS else []
        if entry.of in self._by_id:
            parent = self._by_id[entry.of]
            said.append(f"belongs to {parent.handle} ({parent.kind})")
        lines = ["; ".join(said)]
        if entry.since or entry.why:
            since = f" since {_moment(entry.since)}" if entry.since else ""
            lines.append(f"{entry.state}{since}" + (f": {entry.why}" if entry.why else ""))
        lines += [f"corrected by {entry.corrected}"] if entry.corrected else []
        if entry.kind == "request" and entry.reply:
            lines.append(f"the agent answered: {entry.reply}")
        for line in lines:
            for part in self.hanging(" " * indent, one_line(line), indent):
                yield self._style.paint(part, "dim")


def _source(entry: Entry) -> str:
    """Where an entry comes from."""
    if not entry.run:
        return f"written down by {entry.by or 'somebody'}"
    agent, _, native = entry.run.partition("/")
    step = f"#{entry.step}" if entry.step else ", as a hook heard it"
    return f"said in {agent} {short_run(native)}{step}"


def _is_line_of(line: str, point: Entry) -> bool:
    """Whether a line of a request is where one of its points stands."""
    text = flat(point.text)
    bare = line.lstrip("-*•+ ").removeprefix(f"{point.mark}.").removeprefix(f"{point.mark})").strip()
    return bool(bare) and (text in line or (len(bare) > 3 and text.startswith(bare)))


def _tally(items: Sequence[Entry]) -> str:
    done = sum(item.state == "done" for item in items)
    left = sum(item.state in HOLDING for item in items)
    return f"{done} done, {left} left"


def _changed(entry: Entry, items: Sequence[Entry]) -> str:
    """When the items of a list changed last, if that was after the list was made."""
    last = max((item.since or item.at for item in items), default="")
    return f"changed {ago(last)}" if last > entry.at and ago(last) != ago(entry.at) else ""


def _state_words(entry: Entry) -> str:
    """What became of an entry, shortly: what showed it, if that is known."""
    why = one_line(entry.why)
    text = f"{entry.state} {ago(entry.since)}" if entry.since else entry.state
    return f"{text}: {why}" if why and entry.state in SETTLED else text


def _moment(text: str) -> str:
    return f"{text[:16].replace('T', ' ')} UTC ({ago(text)})"
