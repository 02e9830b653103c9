"""The parts of a brief that say what was said and holds, in the words in which it was said.

Open requests are told in their order, each whole as long as there is room and at least by its beginning;
what had to be cut is counted, and the command is named that shows it. Then the user's last message, if it is
none of them, the agent's own plan for it, rules with what softens them, choices, what was tried in vain, and
the findings that are being worked through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..base.page import cut, quote, size
from ..base.same_items import BETWEEN
from ..language.proposals import PICKS, content_words
from ..language.sentences import LEFT_OUT, flat
from ..ledger.model import Entry
from ..ledger.standing import StandingRequest, is_bare
from ..runs.brief_labels import Label
from ..runs.brief_text import AGENT_CHOSE
from ..runs.model import UserMessage
from .facts import BriefFacts
from .parts import FEW_WORDS, Line, cost, whole_texts
from .requests import told, unpasted
from .trail_words import folder_of

ROWS_MAX = 16
"""So many messages are told: the first, which says what the work is, and the newest. Who is told forty old
wishes takes up one of them; the rest is counted, and `segue ledger` shows it."""
FEW_ROWS = 3
SHORTEST_BYTES = 30  # so much of the last message is told even where there is hardly any room
HEAD_BYTES = 90  # what a request gets at least
REQUEST_BYTES = 4_500  # what one gets at most: a plan or a report that was pasted is longer
PLAN_BYTES, ANSWERED_BYTES, ANSWERS_BYTES = 1_500, 100, 520
OPENING_ROOM, OPENING_BYTES = 1_600, 320  # from how much room on the request that opened the work is told too
POINT_BYTES = 110
WHOLE = "`segue ledger` has all of it"


class _Row(NamedTuple):
    """A message that is told: with what it answers and its points."""

    label: str
    text: str
    at: tuple[int, ...] = ()
    answers: str = ""
    points: tuple[Entry, ...] = ()
    is_last: bool = False


def words_part(facts: BriefFacts, most: int) -> list[Line]:
    """What the user asked for and holds, in order, then the last message."""
    lines: list[Line] = []
    rows, skipped = _rows(facts)
    if facts.declared_goal or (facts.goal and not rows):
        room = most // 3 if rows else most - 8
        lines.append(Line(f"{Label.GOAL}: {cut(facts.goal, max(room, 40))}"))
    told_lines, told_rows = _told(facts, rows, skipped, most - cost(lines))
    lines += told_lines
    plan = _agents_plan(facts, told_rows)
    if plan and (room := most - cost(lines) - size(Label.AGENTS_PLAN) - 5) >= HEAD_BYTES:
        lines.append(Line(f"{Label.AGENTS_PLAN}: {quote(plan, min(room, PLAN_BYTES))}"))
    lines += _answered(facts, rows, most - cost(lines))
    return lines


def _told(facts: BriefFacts, rows: Sequence[_Row], skipped: int, room: int) -> tuple[list[Line], list[_Row]]:
    """The rows within a number of bytes: whole, or with older ones cut first, each at least by its head; and
    which of them are told."""
    folder = folder_of(facts.folder)
    is_cut: list[bool] = []
    wants = [min(size(_words(row, REQUEST_BYTES)), REQUEST_BYTES) for row in rows]
    fixed = [_around(row) for row in rows]
    over = sum(wants) + sum(fixed) - room
    if over > 0:
        over += size(WHOLE) + 30
        for at, row in enumerate(rows):  # the oldest gives first, the last message last
            spare = max(0, wants[at] - (HEAD_BYTES if not row.is_last else HEAD_BYTES * 2))
            given = min(spare, over)
            wants[at], over = wants[at] - given, over - given
    blocks: list[list[Line]] = []
    for row, bytes in zip(rows, wants, strict=True):
        text = folder.within(_words(row, max(20, bytes)))
        short = text != folder.within(_words(row, REQUEST_BYTES * 2))
        blocks.append(lines := [Line(f"{row.label}: {quote(text)}", row.at)])
        is_cut.append(LEFT_OUT.strip() in text or text != folder.within(unpasted(row.text)))
        if row.answers:
            answers = quote(folder.within(cut(row.answers, ANSWERS_BYTES)))
            lines.append(Line(f"  {Label.IN_REPLY_TO}: {answers}", row.at))
        if points := _points(row, short):
            lines.append(Line(points, row.at))
    is_left = _fit(blocks, room, size(WHOLE) + 60 if len(rows) > FEW_ROWS else 0)
    if rows and not blocks[-1] and (left := room - size(rows[-1].label) - 6) >= SHORTEST_BYTES:
        text = folder.within(_words(rows[-1], left))
        blocks[-1], is_left = [Line(f"{rows[-1].label}: {quote(text, left + 2)}", rows[-1].at)], is_left - 1
    cuts = sum(is_cut[at] for at in range(len(rows)) if blocks[at])
    kept = [line for block in blocks for line in block]
    if kept and (cuts or is_left or skipped):
        line = Line(f"  ({_count_cut(cuts, is_left + skipped, len(rows) + skipped)}: {WHOLE})")
        kept += [line] if cost([*kept, line]) <= room else []
    return kept, [row for row, block in zip(rows, blocks, strict=True) if block]


def _count_cut(cuts: int, left_out: int, count: int) -> str:
    """What the user's messages lack here, in words."""
    if count == 1:
        return "it is cut here"
    if not left_out:
        return f"{cuts} of {count} messages are cut here"
    return f"of {count} messages {left_out} are left out here" + (f" and {cuts} cut" if cuts else "")


def _around(row: _Row) -> int:
    """The bytes of all that stands around the text of a row."""
    answers = min(size(row.answers), ANSWERS_BYTES) + 20 if row.answers else 0
    return size(row.label) + 5 + answers


def _fit(blocks: list[list[Line]], room: int, spare: int) -> int:
    """Shorten blocks of lines until they fit, and return how many were emptied: details of older messages go
    first, then the oldest messages but for the first, which says what the work is; the last one stays."""
    over = sum(map(cost, blocks)) - room
    for block in blocks[:-1]:
        if over > 0:
            over -= cost(block[1:])
            del block[1:]
    if over <= 0:
        return 0
    emptied, over = 0, over + spare
    for at in [*range(1, len(blocks) - 1), *range(min(1, len(blocks) - 1))]:
        if over > 0:
            over -= cost(blocks[at])
            blocks[at].clear()
            emptied += 1
    while blocks and over - spare > 0 and len(blocks[-1]) > 1:
        over -= cost(blocks[-1][-1:])
        del blocks[-1][-1]
    if blocks and over - spare > 0:
        blocks[-1].clear()
        emptied += 1
    return emptied


def _words(row: _Row, most: int) -> str:
    return told(UserMessage(row.text, 0), most)


def _points(row: _Row, is_cut: bool) -> str:
    """Which points of a request are done and which are left; empty if its text is told whole and says so."""
    done = [point for point in row.points if point.state == "done"]
    left = [point for point in row.points if point.state in ("open", "active")]
    if not row.points or not is_cut:
        return ""
    names = [_point(point) for point in left]
    count = f"{len(done)} of {len(row.points)} done"
    return f"  {Label.POINTS} ({count}): {'; '.join(names) if names else 'none is left'}"


def _point(point: Entry) -> str:
    text = cut(flat(point.text), POINT_BYTES)
    return f"{point.mark}. {text}" if point.mark else text


# -- which messages are told


def _rows(facts: BriefFacts) -> tuple[list[_Row], int]:
    """The first and the newest of the requests that hold, and the last message at its place among them, at
    the end; with how many in between are left out."""
    last = facts.wanted.last
    last_words = _in_line(last.text) if last is not None else ""
    held, requests = None, []
    for request in facts.standing.requests:
        if last is not None and _same(_in_line(request.entry.text), last_words):
            held = held or request
        elif request.entry.relation != "asks" and not is_bare(request.entry):
            requests.append(request)
    count = len(requests) + (last is not None)
    skipped = max(0, count - ROWS_MAX)
    told_ones = [*requests[:1], *requests[skipped + 1 :]] if skipped else requests
    rows = [_request_row(facts, request) for request in told_ones]
    if last is not None:
        rows.append(_last_row(facts, last, held))
    return rows, skipped


def _in_line(text: str) -> str:
    return " ".join(text.split())


def _same(one: str, two: str) -> bool:
    """Whether two texts on a line are the same message, of which one may be cut."""
    return one == two or (min(len(one), len(two)) > 200 and (one.startswith(two) or two.startswith(one)))


def _request_row(facts: BriefFacts, request: StandingRequest) -> _Row:
    entry = request.entry
    notes = [entry.at[:10]] if entry.at and facts.when and not _is_recent(facts, entry) else []
    label = f"{Label.REQUEST} ({', '.join(notes)})" if notes else str(Label.REQUEST)
    text = request.text if request.settled else entry.text
    return _Row(label, text, _at(facts, entry), entry.answers, request.points)


def _is_recent(facts: BriefFacts, entry: Entry) -> bool:
    from ..base.values import iso

    return entry.at[:10] == iso(facts.when)[:10]


def _at(facts: BriefFacts, entry: Entry) -> tuple[int, ...]:
    is_own = entry.step and facts.run and entry.run.endswith(f"/{facts.run}")
    return (entry.step,) if is_own else ()


def _last_row(facts: BriefFacts, last: UserMessage, held: StandingRequest | None) -> _Row:
    wanted = facts.wanted
    later = [step for step in facts.trail if step.at > last.at]
    calls = wanted.calls
    ago = f"{calls} call{'s' * (calls != 1)} before the end" if calls else "nothing came after it"
    if not calls and any(step.kind == "say" for step in later):
        ago = "answered below, no call since"
    how = {"queued": "put in while the agent worked, ", "refusal": "refusing a call, "}.get(last.how, "")
    answers = wanted.answers if len(content_words(wanted.answers)) > 2 or PICKS.match(last.text) else ""
    label = f"{Label.TASK} (given to this sub-agent, {ago})" if facts.parent else f"{Label.USER} ({how}{ago})"
    text = held.text if held is not None and held.settled else last.text
    return _Row(label, text, (last.at,), answers, held.points if held else (), is_last=True)


def _agents_plan(facts: BriefFacts, rows: Sequence[_Row]) -> str:
    """The agent's first answer to the newest request, unless it is told elsewhere or nothing was left of
    it. That to an earlier one was overtaken by what the user said since, unless points of it are open; and
    that to a request that is not told here would be taken for one to the message above it."""
    held = facts.standing.requests
    telling = [one for one in held if one.entry.reply and (one is held[-1] or one.points)]
    asked = [_in_line(text) for one in telling[-1:] for text in (one.entry.text, one.text)]
    is_told = any(_same(text, _in_line(row.text)) for text in asked for row in rows)
    reply = flat(telling[-1].entry.reply) if is_told else ""
    last = next((step for step in reversed(facts.trail) if step.kind == "say"), None)
    is_last = last is not None and flat(last.text).startswith(reply[:200])
    return "" if is_last else reply


def _answered(facts: BriefFacts, rows: Sequence[_Row], room: int) -> list[Line]:
    """Earlier requests that the agent answered: the one that opened the work and the last ones, where there
    is room; in a small brief the last ones, where little else says what the work is about."""
    known = " ".join(f"{row.text} {row.answers}" for row in rows)
    if room <= 2 * HEAD_BYTES:
        return []
    texts = [_in_line(row.text) for row in rows]
    entries = [
        entry
        for entry in facts.standing.answered
        if not any(_same(_in_line(entry.text), text) for text in texts)
    ]
    if not entries:
        return []
    if room >= OPENING_ROOM:
        [opened, *later] = entries
        texts = [quote(cut(flat(one.text), ANSWERED_BYTES)) for one in later[-2:]]
        texts = [quote(cut(flat(opened.text), OPENING_BYTES)), *texts]
        label = f"  {Label.ANSWERED} (before)"
    elif len(content_words(known)) < 3 * FEW_WORDS:
        texts = [quote(cut(flat(one.text), ANSWERED_BYTES)) for one in reversed(entries)]
        label = f"  {Label.ANSWERED} (before, the last first)"
    else:
        return []
    text = whole_texts([one for one in texts if one][:3], room - size(label) - 3, "; ")
    return [Line(f"{label}: {text}")] if text else []


# -- rules, choices, what was tried


def rules_part(facts: BriefFacts, most: int, told_already: str = "") -> list[Line]:
    """Rules of the user that stand, with what softens them, unless they are told already."""
    said = facts.wanted.last.text if facts.wanted.last is not None else ""
    known = f"{told_already}\n{flat(said)}"
    rules = [rule for rule in facts.rules if quote(rule)[1:-1] not in known and rule not in known]
    return _joined_line(facts, Label.RULES, rules, most)


def choices_part(facts: BriefFacts, most: int) -> list[Line]:
    """What was decided: by the user or declared first, then by agents."""
    return _joined_line(
        facts, Label.DECIDED, [*facts.decided, *(AGENT_CHOSE + one for one in facts.chosen)], most
    )


def tried_part(facts: BriefFacts, most: int) -> list[Line]:
    """What was tried in vain."""
    return _joined_line(facts, Label.TRIED, facts.tried, most)


def findings_part(facts: BriefFacts, most: int) -> list[Line]:
    """The findings of a review that are being worked through."""
    return _joined_line(facts, Label.FINDINGS, [flat(text) for text in facts.findings], most)


def _joined_line(facts: BriefFacts, label: Label, texts: Sequence[str], most: int) -> list[Line]:
    room = most - size(label) - 3
    if not texts or room < 40:
        return []
    text = whole_texts([one.replace(BETWEEN, ", ") for one in texts], room, BETWEEN)
    return [Line(f"{label}: {text}", facts.sources.get(label, ()))] if text else []
