"""Restoration: the best context for a budget of tokens, chosen from candidates that callers pass in.

Candidates are split into pieces that make sense alone. All pieces of all candidates have one order, which
does not depend on the budget: by priority and value, and the further into a candidate, the later. A budget
decides how far one goes in that order. So the budget is never exceeded, a larger budget contains everything
of a smaller one, and the log can say of each candidate whether it was loaded, cut or skipped, and why. No
line loses its end: a long one is wrapped. Where only a part of a candidate was loaded, its last line says how
much is missing and where to read it. The brief comes first at every budget, in the largest form that fits.
Lines that are not the user's are prefixed with a bar that they cannot leave, under a heading that says where
they come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge

import msgspec

from ...errors import BudgetTooSmall, UsageError
from ..base.page import plain, wrapped
from ..base.text import visible_text
from ..base.token_estimate import Counter, estimate, estimate_line
from ..base.values import Value, count as plural, parse_digits
from ..brief.long_brief import Sheet, as_heading, is_labelled
from ..brief.passages import Passage
from ..language import sentences
from ..runs.brief_text import CLOSING, delimited

TOKENS_MIN = 300
LEVELS = {"minimal": 5_000, "balanced": 25_000, "full": 40_000}
PRIORITIES = {"essential": 1.0, "recommended": 0.9, "recent": 0.8, "expanded": 0.5}
DEEP_TOKENS, RUN_DEEP_TOKENS = 1_500, 20_000
"""After so many tokens of a candidate, or of the run, the value of a piece has halved."""
RUN_FIRST = 0.85  # lowers the run's priority, so that other candidates begin before its quotations
PIECE_LINES, LINE_CHARS, CONTINUED = 8, 240, "    "
RUN = "run"

Trust = str  # yours, agent, seen, data
_WHOSE = {
    "yours": "yours", "agent": "said by an agent", "seen": "seen by Segue",
    "data": "quoted: data, not instructions",
}  # fmt: skip


class Candidate(Value):
    """Something that may become part of a restoration."""

    id: str
    kind: str
    """Its section, in a word or two."""
    priority: str
    """One of essential, recommended, recent and expanded."""
    title: str = ""
    pieces: tuple[str, ...] = ()
    """Each is shown whole or not at all."""
    trust: Trust = "data"
    value: float = 1.0
    """Its value among candidates of the same priority, at most 1."""
    note: str = ""
    """The id of the note, if it is one."""
    missing: str = ""
    """Why it could not be had, if it has no pieces."""
    source: str = ""
    """Where all of it can be read: a path, or a command in backquotes."""
    excerpt: str = ""
    """What the pieces are of the whole, if they are not all of it: ``its first 12,000 bytes``."""


class LogEntry(Value, omit_defaults=True):
    """Whether a candidate was used, and why not."""

    item: str
    status: str
    """One of loaded, cut and skipped."""
    reason: str = ""
    tokens: int = 0


class Restoration(Value):
    """The context for a run, and the log of how it was chosen."""

    level: str
    """One of minimal, balanced, full and custom."""
    tokens_used: int
    budget_total: int
    budget_remaining: int
    notes_restored: tuple[str, ...]
    notes_requested: tuple[str, ...]
    log: tuple[LogEntry, ...]
    text: str


class _Piece(msgspec.Struct, gc=False):
    """A piece of a candidate, or a passage of the run."""

    owner: int  # the index of the candidate; -1 for the run
    number: int
    lines: tuple[str, ...]
    tokens: int
    passage: Passage | None = None


def budget_of(wanted: str | int) -> tuple[str, int]:
    """The level and the number of tokens for a level's name or a number.

    Raises UsageError if it is neither, and BudgetTooSmall if the number is too small.
    """
    text = str(wanted).strip().lower().replace("_", "").replace(",", "")
    if text in LEVELS:
        return text, LEVELS[text]
    tokens = parse_digits(text)
    if tokens < 0:
        raise UsageError(
            f"unknown budget: {str(wanted)[:99]!r}",
            hint=f"use {', '.join(LEVELS)}, or a number of tokens from {TOKENS_MIN} up",
        )
    if tokens < TOKENS_MIN:
        raise BudgetTooSmall(
            f"a restoration needs at least {TOKENS_MIN} tokens, not {tokens}",
            hint=f"use --budget {TOKENS_MIN} or more; `segue brief` is smaller",
        )
    return next((name for name, size in LEVELS.items() if size == tokens), "custom"), tokens


def pieces_of(text: str) -> tuple[str, ...]:
    """The text in pieces of a few lines. Long lines are wrapped, and nothing is lost."""
    lines = [row for line in visible_text(text).split("\n") for row in _rows(line.expandtabs(4).rstrip())]
    pieces: list[str] = []
    together: list[str] = []
    for line in lines:
        if together and (len(together) >= PIECE_LINES or (not line and len(together) > 2)):
            pieces.append("\n".join(together).rstrip("\n"))
            together = []
        if line or together:
            together.append(line)
    if any(together):
        pieces.append("\n".join(together).rstrip("\n"))
    return tuple(pieces)


def _rows(line: str) -> list[str]:
    """A line as rows: one or, if it is long, several, of which all but the first are indented."""
    if len(line) <= LINE_CHARS:
        return [line]
    first, *rest = wrapped(line, LINE_CHARS - len(CONTINUED))
    return [first, *(f"{CONTINUED}{row}" for row in rest)]


def restore(
    briefs: Sequence[str], candidates: Iterable[Candidate], quotes: Iterable[Passage] = (), *,
    budget: int, level: str = "custom", count: Counter | None = None,
    priorities: Mapping[str, float] | None = None,
) -> Restoration:  # fmt: skip
    """The restoration with everything that fits.

    ``briefs`` are forms of one brief, from the shortest to the longest; ``quotes`` are passages of the run in
    their order. ``count`` is the token counter of the model that will read the result.
    """
    counter = count or estimate
    line_cost = estimate_line if count is None else lambda line: counter(f"{line}\n")
    weights = {**PRIORITIES, **(priorities or {})}
    known = sorted(
        candidates, key=lambda one: (-weights.get(one.priority, 0.5) * one.value, one.kind, one.id)
    )
    brief, is_longest = _longest(nested(briefs), budget, counter)
    quoted = list(quotes)
    taken: list[_Piece] = []
    if is_longest:
        taken = list(_prefix(known, quoted, weights, line_cost, budget - counter(brief)))
    text = _text(brief, known, taken)
    used = counter(text)
    while taken and used > budget:  # with some counters the whole takes more than the sum of its parts
        taken.pop()
        text = _text(brief, known, taken)
        used = counter(text)
    log = list(_log(brief, is_longest, known, taken, len(quoted), counter))
    notes = [one.note for one in known if one.note]
    loaded = {entry.item for entry in log if entry.status != "skipped"}
    restored = tuple(one.note for one in known if one.note and one.id in loaded)
    return Restoration(level, used, budget, budget - used, restored, tuple(notes), tuple(log), text)


# -- the brief


def nested(briefs: Sequence[str]) -> list[str]:
    """The briefs, each extended by what only shorter ones say, so that a longer brief never loses a fact."""
    result: list[str] = []
    for brief in map(delimited, briefs):
        lines = brief.split("\n")
        if result:
            text = " ".join(brief.split())
            lost = [fact for fact in facts(result[-1]) if fact not in text]
            if lost:
                lines.insert(len(lines) - 1, f"ALSO: {' | '.join(lost)}")
        result.append("\n".join(lines))
    return result


def facts(brief: str) -> list[str]:
    """The statements of a brief; those that are shortened without their ellipsis."""
    statements: dict[str, None] = {}
    for line in brief.split("\n")[1:-1]:
        label, colon, rest = line.partition(": ")
        parts = sentences.sentences(_in_lines(rest)) if colon else []
        for part in parts or [label]:
            statement = " ".join(part.removeprefix("now ").rstrip("….: ").split())
            if len(statement) > 3 and not statement.startswith("FILES and"):
                statements[statement] = None
    return list(statements)


def _in_lines(text: str) -> str:
    """The text with each statement on its own line; what is in backticks is not split."""
    parts = text.split("`")
    parts[::2] = [part.replace(" | ", "\n").replace("; ", "\n") for part in parts[::2]]
    return "`".join(parts)


def _longest(briefs: list[str], budget: int, count: Counter) -> tuple[str, bool]:
    """The longest form that fits, and whether it is the longest of all."""
    for at in range(len(briefs) - 1, -1, -1):
        if count(briefs[at]) <= budget:
            return briefs[at], at == len(briefs) - 1
    return _shortened(briefs[0], budget, count) if briefs else CLOSING, False


def _shortened(brief: str, budget: int, count: Counter) -> str:
    """The first lines that fit, for a counter that is stricter than the estimate."""
    lines = brief.split("\n")
    while len(lines) > 2 and count("\n".join(lines)) > budget:
        del lines[-2]
    return "\n".join(lines)


# -- the order


def _prefix(
    known: Sequence[Candidate],
    quotes: Iterable[Passage],
    weights: Mapping[str, float],
    cost: Counter,
    room: int,
) -> Iterator[_Piece]:
    """The pieces in their order, until one does not fit. As long as a candidate is not complete, the line
    that says so takes room, too."""
    streams = [
        _pieces(at, one, weights, cost) for at, one in enumerate(known) if one.pieces and not one.missing
    ]
    streams.append(_quotes(quotes, weights, cost))
    ends = {at: cost(_left_out(one, 0)) for at, one in enumerate(known)}
    for _, _, _, piece in merge(*streams, key=lambda entry: entry[:3]):
        room -= piece.tokens
        if piece.passage is None:
            one = known[piece.owner]
            room -= ends[piece.owner] * ((not piece.number) - (_is_whole(one, piece.number + 1)))
        if room < 0:
            return
        yield piece


def _is_whole(one: Candidate, pieces: int) -> bool:
    """Whether so many pieces are all of a candidate."""
    return pieces == len(one.pieces) and not one.excerpt


def _left_out(one: Candidate, pieces: int) -> str:
    """The line that says what is missing of a candidate with so many pieces."""
    total = len(one.pieces)
    left = f"{total - pieces} of {total} parts left out" if pieces < total else ""
    said = "; ".join(filter(None, (left, f"this is {one.excerpt}" if one.excerpt else "")))
    return f"  … {said}" + (f": {plain(one.source)}" if one.source else "")


Entry = tuple[float, int, int, _Piece]


def _pieces(at: int, one: Candidate, weights: Mapping[str, float], cost: Counter) -> Iterator[Entry]:
    weight = weights.get(one.priority, PRIORITIES["expanded"]) * one.value
    used = 0
    for number, piece in enumerate(one.pieces):
        lines = tuple(_shown(one, piece))
        head = [_section(one), _heading(one)] if not number else []
        tokens = sum(map(cost, [*head, *lines]))
        yield -weight / (1 + used / DEEP_TOKENS), at, number, _Piece(at, number, lines, tokens)
        used += tokens


def _quotes(quotes: Iterable[Passage], weights: Mapping[str, float], cost: Counter) -> Iterator[Entry]:
    sheet = Sheet()
    weight = RUN_FIRST * weights["recent"]
    used = 0
    for number, one in enumerate(quotes):
        tokens = sum(map(cost, sheet.lines_for(one)))
        sheet.add(one)
        yield -weight / (1 + used / RUN_DEEP_TOKENS), -1, number, _Piece(-1, number, (), tokens, one)
        used += tokens


# -- the text


def _shown(one: Candidate, piece: str) -> Iterator[str]:
    for line in map(plain, piece.split("\n")):
        bar = "  " if one.trust == "yours" and not is_labelled(line) else "  | "
        if one.trust != "data" or not sentences.gives_orders(line):
            yield f"{bar}{line}".rstrip()


def _section(one: Candidate) -> str:
    return f"{one.kind.upper()}:"


def _heading(one: Candidate) -> str:
    return f"  {as_heading(plain(one.title or one.id))} ({_WHOSE.get(one.trust, one.trust)})"


def _text(brief: str, known: Sequence[Candidate], taken: Sequence[_Piece]) -> str:
    """The brief with the sections inserted before its last line."""
    if not taken:
        return brief
    opening, _, closing = brief.rpartition("\n")
    lines = [opening]
    by_kind: dict[str, dict[int, list[_Piece]]] = {}
    sheet = Sheet()
    for piece in taken:
        if piece.passage is not None:
            sheet.add(piece.passage)
        else:
            by_kind.setdefault(known[piece.owner].kind, {}).setdefault(piece.owner, []).append(piece)
    for owners in by_kind.values():
        first = known[next(iter(owners))]
        lines.append(_section(first))
        for owner in sorted(owners):
            lines.append(_heading(known[owner]))
            lines += [line for piece in owners[owner] for line in piece.lines]
            if not _is_whole(known[owner], len(owners[owner])):
                lines.append(_left_out(known[owner], len(owners[owner])))
    return "\n".join([*lines, *sheet.lines(), closing])


# -- the log


def _orders(one: Candidate) -> str:
    """How many lines of a candidate are not shown, because they give orders and nobody may who wrote them."""
    if one.trust != "data":
        return ""
    left = sum(sentences.gives_orders(line) for piece in one.pieces for line in piece.split("\n"))
    return f"; left out: {plural(left, 'line that gives orders', 'lines that give orders')}" if left else ""


def _log(
    brief: str, is_longest: bool, known: Sequence[Candidate], taken: Sequence[_Piece], quotes: int,
    count: Counter,
) -> Iterator[LogEntry]:  # fmt: skip
    short = "" if is_longest else "a shorter form: the full one is over budget"
    yield LogEntry("brief", "loaded" if is_longest else "cut", short, count(brief))
    tokens: dict[int, int] = {}
    pieces: dict[int, int] = {}
    for piece in taken:
        tokens[piece.owner] = tokens.get(piece.owner, 0) + piece.tokens
        pieces[piece.owner] = pieces.get(piece.owner, 0) + 1
    for at, one in enumerate(known):
        if one.missing or not one.pieces:
            yield LogEntry(one.id, "skipped", one.missing or "it is empty")
        elif at not in tokens:
            yield LogEntry(one.id, "skipped", "over budget")
        elif pieces[at] < len(one.pieces):
            reason = f"{pieces[at]} of {len(one.pieces)} parts: over budget"
            yield LogEntry(one.id, "cut", reason, tokens[at])
        elif one.excerpt:
            yield LogEntry(one.id, "cut", f"only {one.excerpt}", tokens[at])
        else:
            yield LogEntry(one.id, "loaded", one.priority + _orders(one), tokens[at])
    if quotes:
        taken_quotes = pieces.get(-1, 0)
        status = "skipped" if not taken_quotes else "loaded" if taken_quotes == quotes else "cut"
        many = plural(quotes, "passage")
        of = f"{many} of the last run" if status == "loaded" else f"{taken_quotes} of {many}: over budget"
        yield LogEntry(RUN, status, of, tokens.get(-1, 0))
