"""The part of a brief that says what the user wants, in their own words."""

from __future__ import annotations

from typing import NamedTuple

from ..runs.brief_labels import Label
from ..runs.model import UserMessage
from .facts import BriefFacts
from .page import cut, quote, size
from .parts import FEW_WORDS, Line, cost
from .proposals import PICKS, content_words
from .requests import told
from .trail_words import folder_of

GOAL_CHARS = 80
"""By so many characters a request is recognised that was shortened when it was handed on."""


class _Row(NamedTuple):
    label: str
    message: UserMessage
    most: int
    answers: str = ""


def user_part(facts: BriefFacts, most: int) -> list[Line]:
    """The last message first, what it answers, the request that it belongs to, the one before, the first
    one."""
    folder = folder_of(facts.folder)
    lines: list[Line] = []
    rows = _rows(facts)
    if facts.declared_goal or (facts.goal and not rows):
        lines.append(Line(f"{Label.GOAL}: {cut(facts.goal, most // 3 if rows else most - 8)}"))
    elif (
        facts.inherited.goal
        and facts.goal == facts.inherited.goal
        and not (rows and _says(rows[0].message, facts.goal))
    ):
        text = f"{Label.REQUEST}: {quote(cut(facts.goal, max(120, most // 2)))}"
        lines.append(Line(text, facts.sources.get(Label.REQUEST, ())))
        rows = [*rows[:1], *(row for row in rows[1:] if not _says(row.message, facts.goal))]
    rows, wants = _fitted(rows, most - cost(lines))
    for row, bytes in zip(rows, wants, strict=True):
        text = folder.within(told(row.message, max(20, bytes)))
        lines.append(Line(f"{row.label}: {quote(text)}", (row.message.at,)))
        if row.answers:
            lines.append(
                Line(f"  {Label.IN_REPLY_TO}: {quote(folder.within(row.answers))}", (row.message.at,))
            )
    few = len(content_words(" ".join(row.message.text for row in rows))) < FEW_WORDS
    if facts.first and few and not any(facts.first[:40] in line.text for line in lines):
        left = most - cost(lines) - size(Label.FIRST_REQUEST) - 6
        if left >= 60:
            lines.append(Line(f"  {Label.FIRST_REQUEST}: {quote(cut(facts.first, min(left, 140)))}"))
    return lines


def _is_inherited(facts: BriefFacts) -> bool:
    return bool(facts.inherited.goal) and facts.goal == facts.inherited.goal


def _says(message: UserMessage, goal: str) -> bool:
    """Whether a message is the request that is told already, as an earlier run handed it on."""
    return " ".join(message.text.split()).startswith(" ".join(goal.split())[:GOAL_CHARS])


def _fitted(rows: list[_Row], room: int) -> tuple[list[_Row], list[int]]:
    """The rows that have room, with the bytes of each message: the past goes first, then what messages answer
    is shortened, then rows are dropped from the end, then the last message gives."""
    wants, fixed = _needs(rows)
    if len(rows) > 1 and rows[-1].label.endswith(Label.BEFORE) and sum(wants) + sum(fixed) > room:
        rows = rows[:-1]
    for answer in (1_000, 300, 90, 0):
        rows = [row._replace(answers=cut(row.answers, answer)) for row in rows]
        wants, fixed = _needs(rows)
        if sum(wants) + sum(fixed) <= room:
            return rows, wants
    while rows and (over := sum(wants) + sum(fixed) - room) > 0:
        last = len(rows) - 1
        spare = wants[last] - min(75, wants[last])
        if last and spare >= over:
            wants[last] -= over
        elif last and (last > 1 or wants[0] > room // 2):
            rows.pop(), wants.pop(), fixed.pop()
        else:
            wants[0] = max(60, wants[0] - over)
            break
    return rows, wants


def _needs(rows: list[_Row]) -> tuple[list[int], list[int]]:
    """The bytes of each row's message, and of all that stands around it."""
    wants = [min(row.most, size(told(row.message, row.most))) for row in rows]
    fixed = [size(row.label) + 6 + (size(row.answers) + 24 if row.answers else 0) for row in rows]
    return wants, fixed


def _rows(facts: BriefFacts) -> list[_Row]:
    wanted = facts.wanted
    if wanted.last is None:
        return []
    later = [step for step in facts.trail if step.at > wanted.last.at]
    calls = wanted.calls
    ago = f"{calls} call{'s' * (calls != 1)} before the end" if calls else "nothing came after it"
    if not calls and any(step.kind == "say" for step in later):
        ago = "answered below, no call since"
    how = {"queued": "put in while the agent worked, ", "refusal": "refusing a call, "}.get(
        wanted.last.how, ""
    )
    answers = (
        wanted.answers if len(content_words(wanted.answers)) > 2 or PICKS.match(wanted.last.text) else ""
    )
    weak = wanted.request is not None and not wanted.mends
    tells = len(content_words(answers)) >= FEW_WORDS  # what is answered says what it is about
    label = f"{Label.TASK} (given to this sub-agent, {ago})" if facts.parent else f"{Label.USER} ({how}{ago})"
    rows = [_Row(label, wanted.last, 760, cut(answers, 520 if weak else 360))]
    if wanted.request is not None:
        label = f"  {Label.ADDS_TO}" if wanted.mends else Label.REQUEST if not tells else f"  {Label.BEFORE}"
        said = "" if tells else cut(wanted.request_answers, 200)
        rows.append(_Row(label, wanted.request, 150 if tells else 340, said))
    known = content_words(" ".join(f"{row.message.text} {row.answers}" for row in rows))
    if wanted.before is not None and len(known) < FEW_WORDS:
        rows.append(_Row(f"  {Label.BEFORE}", wanted.before, 150))
    return rows
