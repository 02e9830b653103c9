"""What becomes of the ledger when the user says something: requests, rules, permissions, choices, and what is
taken back. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.lazy import regex
from ..language import messages
from ..language.points import points_in
from ..language.proposals import answered, item_of, picked
from ..language.rules import (
    advises,
    limits_step,
    may_take_back,
    permissions_in,
    replaces,
    rules_in,
    rules_of,
    softens,
    takes_back,
)
from ..language.sentences import flat, is_assent, sentences
from ..language.subjects import shares, subjects_of, weight
from . import sayings as said
from .keeping import LONG_CHARS, Keeping, is_part
from .model import ANSWERS_CHARS, HOLDING, Entry, State

_STEERS = regex(
    r"(?i)\W*(?:you (?:decide|choose)|(?:whatever|as) you (?:think|like|prefer|recommend)\w*"
    r"|i don'?t (?:know|care|mind)|next(?: (?:area|question|topic|one))?|more questions?"
    r"|skip(?: (?:it|this))?|(?:go|move|carry) on|continue|ready(?: .{0,40})?"
    r"|let'?s (?:discuss|talk)(?: .{0,40})?|other|none of (?:these|them|the above))\W*"
)
"""An answer that only steers the questions, and chooses nothing."""
FEW_SUBJECTS = 3
"""A message that is about fewer things than this besides rules and permissions asks for nothing else."""
REPORT_CHARS = 400
"""Of an agent's last message its end is looked at for what it reports."""
SAME_SHARE = 0.6
"""A message that is sent again after it was stopped shares so much with what it was before."""
TICKED_SHARE = 0.7
"""An item of an agent's list that speaks of so much of what a request asks for is that request."""
WORK_SUBJECTS = 5
"""What is about fewer things is no work of its own, though it may be said first."""
REPEATED_IN = 60
"""In so many of the last requests an order is looked for that is said again."""
SMALL_REQUEST = 10
"""A request that is about no more than this is meant as a whole where a name in it is named."""


def take_message(keeping: Keeping, message: said.Message) -> None:
    text = message.text
    if _was_heard(keeping, message):
        return
    question = _close_question(keeping, message)
    reply_to = message.reply_to or question
    requested = keeping.has_work
    relation = messages.relation_of(
        text, how=message.how, reply_to=reply_to, interrupts=message.interrupts, first=not requested
    )
    if message.interrupts:
        _replace_resent(keeping, message)
    thanks = messages.only_thanks(text)
    if thanks or relation not in ("goes_on", "asks"):
        _judge_last_turn(keeping, message, relation)
    if thanks or relation == "goes_on":
        return
    if relation != "asks":
        _overrule(keeping, message, relation)
    withdrawn = _take_back(keeping, message)
    permissions = _add_permissions(keeping, message)
    rules = _add_rules(keeping, message, {flat(entry.text) for entry in permissions})
    if relation != "new" and not _asks_for_more(text, [*rules, *permissions], withdrawn):
        return
    if not requested and relation == "permits":
        relation = "new"
    answers = _taken_up(text, reply_to, relation)
    if relation == "answers" and answers and messages.asks_to_choose(reply_to, text):
        add_choice(keeping, message, text, answers)
        return
    request = keeping.add(
        message, "request", text, by="user", relation=relation, answers=answers, cut_chars=message.chars
    )
    _add_points(keeping, message, request)
    if request.at and (ticked := _ticked_later(keeping, request)):
        keeping.settle(request, "answered", f"ticked off: {ticked}", message)
    for entry in (*rules, *permissions):
        if not entry.of:
            keeping.change(entry, of=request.id)


def _ticked_later(keeping: Keeping, request: Entry) -> str:
    """The item that says that a request was done, if the list that has it was heard before the request was:
    the run in which that was said had been killed."""
    asked = asked_for(keeping, request)
    for item in reversed(keeping.all_of("item")):
        is_later = item.state == "done" and (item.since or item.at) > request.at
        if is_later and is_ticked(asked, item.text):
            return item.text
    return ""


def is_ticked(asked: frozenset[str], item: str) -> bool:
    """Whether an item of an agent's list speaks of most of what a request asks for."""
    return len(asked & subjects_of(item)) >= max(2, TICKED_SHARE * len(asked))


def _taken_up(text: str, reply_to: str, relation: str) -> str:
    """What of the agent's words a message answers or points back to; a chosen item with the question."""
    if not reply_to or not (relation == "answers" or messages.points_back(text, reply_to)):
        return ""
    words = answered(text, reply_to)
    questions = [one for one in sentences(reply_to) if one.endswith(("?", "？"))]
    if questions and relation == "answers" and messages.asks_to_choose(reply_to, text):
        items = "; ".join(item for mark in picked(text) if (item := item_of(reply_to, mark)))
        words = f"{questions[-1]} {items}".strip()
    return words[:ANSWERS_CHARS]


def _overrule(keeping: Keeping, message: said.Message, relation: str) -> None:
    """Supersede what agents chose, and what the user asked for, chose or ruled, where the user now wants it
    otherwise: a correction that names the same thing."""
    contradicts = messages.contradicts(message.text)
    if relation != "corrects" and not contradicts:
        return
    for entry in keeping.holding("choice", "rule", "request"):
        if entry.run == keeping.run and entry.step >= message.step:
            continue
        if entry.by == "user":
            text = _without_rules(keeping, entry)
            is_meant = contradicts and _shares_name(message.text, text) and is_part(text, message.text)
        else:
            is_meant = is_about_same(message.text[:1_000], entry.text)
        if is_meant:
            keeping.settle(entry, "superseded", f"the user: {message.text}", message)


def is_about_same(text: str, choice: str) -> bool:
    """Whether a text names what a choice is about: a name of it, or half of what it speaks of."""
    theirs = subjects_of(choice)
    shared = subjects_of(text) & theirs
    return any(not one.isalpha() for one in shared) or 2 * len(shared) >= len(theirs) > 0


def _shares_name(text: str, other: str) -> bool:
    return any(not one.isalpha() for one in subjects_of(text[:1_000]) & subjects_of(other))


def add_choice(keeping: Keeping, saying: said.Saying, text: str, answers: str) -> None:
    """A choice of the user; another answer to the same question supersedes the one before."""
    if keeping.is_kept("choice", text, saying) or _STEERS.fullmatch(text.strip()):
        return
    for entry in keeping.holding("choice"):
        if entry.by != "user" or not answers or entry.answers != answers:
            continue
        if entry.text == text:
            return
        keeping.settle(entry, "superseded", f"answered anew: {text}", saying)
    keeping.add(saying, "choice", text, by="user", answers=answers)


def _was_heard(keeping: Keeping, message: said.Message) -> bool:
    """Whether this message of the run is in the ledger: a hook told it before it was in the transcript, maybe
    only its beginning."""
    if any(entry.state in HOLDING for entry in keeping.said_before(message.text)):
        return True
    words = " ".join(message.text.split())
    for entry in keeping.long_ones() if len(words) > LONG_CHARS else ():
        known = " ".join(entry.text.split())
        if entry.state in HOLDING and entry.step != message.step and words.startswith(known):
            keeping.change(entry, text=message.text)
            return True
    return False


def _replace_resent(keeping: Keeping, message: said.Message) -> None:
    """Supersede a request that was stopped and is now sent again in other words."""
    before = keeping.last_request()
    if before is None or before.run != keeping.run or before.reply or before.step >= message.step:
        return
    theirs, mine = subjects_of(before.text), subjects_of(message.text)
    if len(theirs & mine) >= SAME_SHARE * max(len(theirs), len(mine)) > 0:
        keeping.settle(before, "superseded", f"sent again: {message.text}", message)


def _close_question(keeping: Keeping, message: said.Message) -> str:
    """What the agent had asked at the end of its last turn, which this message answers or passes over."""
    asked = ""
    for entry in keeping.holding("question"):
        asked = entry.text
        keeping.settle(entry, "done", f"the user: {message.text}", message)
    return asked


def _judge_last_turn(keeping: Keeping, message: said.Message, relation: str) -> None:
    """What the user thinks of what was answered last: content, or it must be corrected."""
    last = keeping.answered()
    content = messages.content_part(message.text)
    if relation == "corrects" and last and not content:
        newest = last[-1]
        if shares(newest.text, message.text)[0] or len(subjects_of(message.text)) < FEW_SUBJECTS:
            keeping.settle(newest, "open", f"the user: {message.text}", message)
    elif content:
        newest_since = max((entry.since for entry in last), default="")
        named = [
            entry
            for entry in [*keeping.holding("request", "item"), *last]
            if _names_it(asked := asked_for(keeping, entry), content)
            or _names_reported(asked, content, message.reply_to)
        ]
        is_named = bool(messages.praised(content))
        meant = [one for one in last if one.since == newest_since] if not is_named else []
        for entry in named or meant:
            keeping.settle(entry, "done", f"the user: {message.text}", message)


def asked_for(keeping: Keeping, entry: Entry) -> frozenset[str]:
    """What an entry asks for, without the rules that stand in it and what it is content with."""
    content = messages.content_part(entry.text).partition(". ")[0]
    text = _without_rules(keeping, entry)
    return subjects_of(text.removeprefix(content) or text)


def _without_rules(keeping: Keeping, entry: Entry) -> str:
    """The text of an entry without the rules that stand in it."""
    text = entry.text
    for part in keeping.parts_of(entry.id):
        if part.kind in ("rule", "permission"):
            text = text.replace(part.text, " ")
    return text


def _names_it(asked: frozenset[str], content: str) -> bool:
    """Whether the user is content with something by its name, and not with all of a larger request."""
    shared = asked & subjects_of(content)
    if 2 * len(shared) >= len(asked) and len(shared) >= 2:
        return True
    return bool({one for one in shared if not one.isalpha()}) and len(asked) <= SMALL_REQUEST


def _names_reported(asked: frozenset[str], content: str, reported: str) -> bool:
    """Whether the user is content with something by a word of it, and what the agent had reported right
    before names the same: "the rollback (tunnel_bucket) is finished"."""
    shared = asked & subjects_of(content)
    also = asked & subjects_of(reported[-REPORT_CHARS:])
    is_named = any(not one.isalpha() for one in also)
    words = [one for one in asked if "/" not in one]  # of a path its parts are there as well
    return bool(shared & also) and is_named and 2 * len(shared | also) >= len(words)


def _take_back(keeping: Keeping, message: said.Message) -> list[Entry]:
    """Withdraw what a message takes back, with what belongs to it."""
    if not may_take_back(message.text) and not messages.withdraws(message.text):
        return []
    matches = [
        entry
        for entry in keeping.holding("request", "rule", "permission", "choice", "item")
        if not (entry.run == keeping.run and entry.step == message.step)
        and takes_back(entry.text, message.text)
    ]
    matches = _best_named(matches, message.text)
    parts = {entry.of for entry in matches if entry.kind not in ("request", "permission")}
    withdrawn = [entry for entry in matches if entry.id not in parts]  # a point is meant, and not all of it
    for entry in withdrawn:
        keeping.settle(entry, "withdrawn", f"the user: {message.text}", message)
    if not withdrawn and messages.withdraws(message.text) and (meant := _only_one_meant(keeping, message)):
        keeping.settle(meant, "withdrawn", f"the user: {message.text}", message)
        withdrawn.append(meant)
    for entry in withdrawn:
        for part in _parts_with_lists(keeping, entry):
            if part.kind in ("item", "permission") and part.state in HOLDING:
                keeping.settle(part, "withdrawn", f"the user: {message.text}", message)
    return withdrawn


def _parts_with_lists(keeping: Keeping, entry: Entry) -> list[Entry]:
    """What belongs to a request or a rule, with the items of lists that were made for it: of the lists of the
    work itself all, since nobody knows which of a list that came after an addition are for that."""
    if entry.kind not in ("request", "rule"):
        return []
    parts = keeping.parts_of(entry.id)
    listed = keeping.parts_of(*(part.id for part in parts if part.kind == "list"))
    is_work = entry.relation == "new" and not messages.adds(entry.text)
    is_work = is_work and len(subjects_of(entry.text)) >= WORK_SUBJECTS
    return [*parts, *(item for item in listed if is_work or is_part(item.text, entry.text))]


def _best_named(matches: list[Entry], text: str) -> list[Entry]:
    """Of several items that a withdrawal may mean, those that share the most with it."""
    items = [entry for entry in matches if entry.kind == "item"]
    if len(items) < 2:
        return matches
    shared = {entry.id: len(subjects_of(entry.text) & subjects_of(text)) for entry in items}
    most = max(shared.values())
    return [entry for entry in matches if shared.get(entry.id, most) == most]


def _only_one_meant(keeping: Keeping, message: said.Message) -> Entry | None:
    """The one request or item that speaks of at least half of what a withdrawal names; None if it names
    nothing, much more, or if several do."""
    named = subjects_of(message.text) - _WITHDRAWING
    if not 0 < len(named) <= FEW_SUBJECTS + 1:
        return None
    shared = [
        (sum(_is_named(one, entry) for one in named), entry)
        for entry in keeping.holding("item", "request", "rule")
        if entry.step != message.step or entry.run != keeping.run
    ]
    most = max((number for number, _ in shared), default=0)
    best = [entry for number, entry in shared if number == most]
    parts = {entry.of for entry in best}
    best = [entry for entry in best if entry.id not in parts]
    return best[0] if 2 * most >= len(named) and len(best) == 1 else None


def _is_named(name: str, entry: Entry) -> bool:
    """Whether an entry speaks of something, maybe with more behind its name."""
    return any(one == name or one.startswith(f"{name}_") for one in subjects_of(entry.text))


_WITHDRAWING = subjects_of(
    "never mind forget scrap scratch cancel drop skip ignore longer need want more after rule rules regel"
    " regeln règle"
    " regla regra regola vergiss vergessen lass oublie olvida esquece dimentica vergeet zu über sur sobre"
    " su over"
    " vale não no ya mais più plus gilt nicht mehr 忘掉关于 忘记关于 的规则 这条规则 不再需要"
    " のルールは忘れて のルールはもう 규칙은"
)


def _add_rules(keeping: Keeping, message: said.Message, permitted: set[str]) -> list[Entry]:
    """The rules of a message; a sentence that allows something is told with the rule that it softens."""
    every = rules_in(message.text)
    alone = not _says_more(message.text, {flat(rule) for rule in every})
    added = []
    asked = (
        [flat(entry.text).casefold() for entry in keeping.all_of("request")[-REPEATED_IN:]] if every else []
    )

    def is_repeated(rule: str) -> bool:
        return any(flat(rule).casefold() in text for text in asked)

    for rule in rules_of(message.text, alone=alone, is_repeated=is_repeated) if every else ():
        words = flat(rule)
        if words in permitted:
            continue
        held = keeping.holding("rule")
        if any(flat(entry.text).casefold() == words.casefold() for entry in held):
            continue
        for entry in held:
            if replaces(rule, entry.text):
                keeping.settle(entry, "superseded", f"the user: {rule}", message)
        added.append(keeping.add(message, "rule", rule, by="user"))
    return added


def _says_more(text: str, known: set[str]) -> bool:
    """Whether a message asks for something besides these sentences."""
    rest = [one for one in sentences(text) if flat(one) not in known and not is_assent(one)]
    return bool(rest) and len(frozenset().union(*map(subjects_of, rest))) >= FEW_SUBJECTS


def _add_permissions(keeping: Keeping, message: said.Message) -> list[Entry]:
    rules = keeping.holding("rule")
    added = []
    for permission in permissions_in(message.text):
        softened = [rule for rule in rules if softens(permission, rule.text)]
        if not softened and advises(permission):
            continue
        of = softened[-1].id if softened else ""
        added.append(keeping.add(message, "permission", permission, by="user", of=of))
    return added


def _asks_for_more(text: str, parts: Sequence[Entry], withdrawn: Sequence[Entry]) -> bool:
    """Whether a message says more than the rules and permissions that are kept of it, and than what it takes
    back."""
    limits = [part for part in parts if part.kind == "rule" and limits_step(part.text)]
    if any(len(subjects_of(part.text)) >= FEW_SUBJECTS for part in limits):
        return True  # "review the parser, but don't commit": it asks for something as well
    known = {flat(part.text) for part in parts}
    rest = [
        one
        for one in sentences(text)
        if flat(one) not in known and not is_assent(one) and not any(flat(one) in part for part in known)
    ]
    if not parts and not withdrawn:
        return True
    if withdrawn:
        about = frozenset().union(*(subjects_of(entry.text) for entry in withdrawn))
        more = frozenset().union(*map(subjects_of, rest)) - about if rest else frozenset()
        return weight(more) > (FEW_SUBJECTS if len(rest) > 1 else 2 * FEW_SUBJECTS)
    return bool(rest) and len(frozenset().union(*map(subjects_of, rest))) >= FEW_SUBJECTS


def _add_points(keeping: Keeping, message: said.Message, request: Entry) -> None:
    for point in points_in(message.text):
        state: State = "done" if point.done else "open"
        keeping.add(message, "item", point.text, by="user", of=request.id, mark=point.mark, state=state)
