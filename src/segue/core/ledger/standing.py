"""What holds now, from the entries of a ledger: in the order and the groups in which it is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ..base.values import Value
from ..language.rules import is_for_ever, limits_step
from ..language.sentences import ASKED, flat, is_assent, shortened_question
from ..language.subjects import subjects_of
from .model import HOLDING, SETTLED, Entry

ANSWERED_MAX = 6
BARE_CHARS = 16
JOB_CHARS = 1_500
"""A message that is longer describes a job as a whole."""


class StandingRequest(Value):
    """A request that holds, with its points."""

    entry: Entry
    points: tuple[Entry, ...] = ()
    settled: tuple[Entry, ...] = ()
    """What stood in it and holds no more: points that are done, rules that were taken back."""

    @property
    def text(self) -> str:
        """What it says, on one line, without what holds no more."""
        text = flat(self.entry.text)
        for part in self.settled:
            text = text.replace(flat(part.text), f"[{part.state}]", 1)
        return text

    @property
    def left(self) -> tuple[Entry, ...]:
        """The points that are not done."""
        return tuple(point for point in self.points if point.state in HOLDING)


class StandingRule(Value):
    """A rule, with what softens it."""

    entry: Entry
    permissions: tuple[Entry, ...] = ()


class StandingList(Value):
    """A list that is worked through."""

    entry: Entry | None
    items: tuple[Entry, ...] = ()

    @property
    def left(self) -> tuple[Entry, ...]:
        """The items that are not done, the one under way first."""
        held = [item for item in self.items if item.state in HOLDING]
        return tuple(sorted(held, key=lambda item: item.state != "active"))

    @property
    def done(self) -> tuple[Entry, ...]:
        return tuple(item for item in self.items if item.state == "done")


class Standing(Value):
    """What holds, the oldest first."""

    requests: tuple[StandingRequest, ...] = ()
    answered: tuple[Entry, ...] = ()
    """The last requests that the agent ended a turn on, which nobody has confirmed."""
    rules: tuple[StandingRule, ...] = ()
    permissions: tuple[Entry, ...] = ()
    """Those that soften no rule that is known."""
    choices: tuple[Entry, ...] = ()
    attempts: tuple[Entry, ...] = ()
    lists: tuple[StandingList, ...] = ()
    """Those with items that are not done."""
    failing: tuple[Entry, ...] = ()
    question: Entry | None = None
    """What the agent asked at the end of its last turn."""

    def __bool__(self) -> bool:
        return self != _NOTHING


_NOTHING = Standing()


def standing(entries: Iterable[Entry]) -> Standing:
    """What of these entries holds."""
    known = in_order(entries)
    held = [entry for entry in known if entry.state in HOLDING]
    of: dict[str, list[Entry]] = {}
    for entry in known:
        if entry.of:
            of.setdefault(entry.of, []).append(entry)
    by_id = {entry.id: entry for entry in known}
    rules = [
        StandingRule(entry, _of_kind(of.get(entry.id, ()), "permission"))
        for entry in held
        if entry.kind == "rule" and not _is_over(entry, by_id)
    ]
    told = {permission.id for rule in rules for permission in rule.permissions}
    return Standing(
        requests=tuple(_request(entry, of.get(entry.id, ())) for entry in _said_last(held)),
        answered=_answered(known),
        rules=tuple(rules),
        permissions=tuple(e for e in held if e.kind == "permission" and e.id not in told),
        choices=tuple(entry for entry in held if entry.kind == "choice"),
        attempts=tuple(entry for entry in held if entry.kind == "attempt"),
        lists=tuple(_lists(known, of)),
        failing=tuple(entry for entry in held if entry.kind == "failing"),
        question=next((entry for entry in reversed(held) if entry.kind == "question"), None),
    )


def _is_over(rule: Entry, by_id: Mapping[str, Entry]) -> bool:
    """Whether a rule only said how far a request goes that was answered or is settled."""
    request = by_id.get(rule.of) if rule.of else None
    return request is not None and request.state not in HOLDING and limits_step(rule.text)


def _answered(known: Sequence[Entry]) -> tuple[Entry, ...]:
    """The answered requests: the first one, which says what the work is about, and the last ones."""
    entries = tuple(one for one in known if one.kind == "request" and one.state == "answered")
    return entries if len(entries) <= ANSWERED_MAX else (entries[0], *entries[1 - ANSWERED_MAX :])


def rules_alone(entries: Iterable[Entry]) -> list[Entry]:
    """The rules that hold for any work in the project, with what softens them. One that only says how far its
    request goes is none of them, nor one of a long text that does not say that it holds at any time: such
    texts are orders for one job."""
    known = list(entries)
    by_id = {one.id: one for one in known}
    held = [
        one
        for one in known
        if one.kind in ("rule", "permission") and one.state in HOLDING and not _is_of_job(one, by_id)
    ]
    ids = {one.id for one in held}
    return [one if not one.of or one.of in ids else replace(one, of="") for one in held]


def _is_of_job(rule: Entry, by_id: Mapping[str, Entry]) -> bool:
    request = by_id.get(rule.of) if rule.of else None
    if request is None or request.kind != "request":
        return False
    return limits_step(rule.text) or (len(request.text) > JOB_CHARS and not is_for_ever(rule.text))


def is_bare(request: Entry) -> bool:
    """Whether a request is a mere yes, or an option's letter, to words of the agent that name nothing."""
    words = flat(request.text)
    if len(words) > BARE_CHARS or not (is_assent(words) or len(words) <= 2):
        return False
    return all(one.isalpha() for one in subjects_of(request.answers))


def choice_words(entry: Entry) -> str:
    """A choice of the user on one line: the option that a number picks, or the answer with its question."""
    words, question = flat(entry.text), shortened_question(flat(entry.answers).strip("| "))
    if question.startswith((f"{words}. ", f"{words}) ")):
        return question
    return f"{words}{ASKED}{question})" if question else words


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The entries in the order in which they were said: those of a run may be heard after later ones."""
    last, dated = "", []
    for entry in entries:
        last = entry.at or last
        dated.append((last, entry))
    return [entry for _, entry in sorted(dated, key=lambda pair: pair[0])]


def _said_last(held: Sequence[Entry]) -> Iterable[Entry]:
    """The requests, each once: one that was made again in the same words stands where it was made last."""
    last = {flat(entry.text).casefold(): entry.id for entry in held if entry.kind == "request"}
    return (one for one in held if one.kind == "request" and last[flat(one.text).casefold()] == one.id)


def _request(entry: Entry, parts: Sequence[Entry]) -> StandingRequest:
    points = tuple(part for part in parts if part.kind == "item")
    return StandingRequest(entry, points, tuple(part for part in parts if part.state in SETTLED))


def _of_kind(entries: Iterable[Entry], kind: str) -> tuple[Entry, ...]:
    return tuple(entry for entry in entries if entry.kind == kind and entry.state in HOLDING)


def _lists(known: Sequence[Entry], of: dict[str, list[Entry]]) -> Iterable[StandingList]:
    """The lists with something left, and the items of none together."""
    lists = [entry for entry in known if entry.kind == "list"]
    ids = {entry.id for entry in known}
    for entry in lists:
        items = tuple(item for item in of.get(entry.id, ()) if item.kind == "item")
        if any(item.state in HOLDING for item in items):
            yield StandingList(entry, items)
    loose = tuple(entry for entry in known if entry.kind == "item" and entry.of not in ids)
    if any(item.state in HOLDING for item in loose):
        yield StandingList(None, loose)
