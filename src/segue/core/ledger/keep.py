"""What of the sayings of a run is kept, and what becomes of the entries before. Pure.

Messages become requests, rules, permissions and withdrawals, in the order in which they were said; a later
one adds to those before it unless it says otherwise. A request is *answered* when the agent ended its turn
with words that are about it and nothing of it is known to be left; it is *done* only when the user is content
with that. Items are done when the list that has them says so. What a person corrected stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..base.lazy import regex
from ..base.same_items import is_same_item
from ..base.values import iso
from ..language import messages
from ..language.done_claims import claims_done, leaves_open, says_partly, says_unfinished
from ..language.rules import replaces
from ..language.sentences import flat, sentences
from ..language.subjects import shares
from . import sayings as said
from .events import SaidKept
from .keeping import FROM_BRIEF, HEAD_CHARS, Keeping, is_part, message_hash, short_why
from .model import ANSWERS_CHARS, HOLDING, REPLY_CHARS, Entry, Kind, Ledger, State
from .standing import JOB_CHARS
from .user_words import add_choice, asked_for, is_about_same, is_ticked, take_message

REPORTED_MAX = 24
"""So many of the newest open requests may be those that an agent's last words report on."""
REPORTED_SHARE, CHANGED_SHARE, LONG_SUBJECTS = 0.5, 0.3, 24
"""An agent's last words are about a request if they speak of so much of what that is about; of less if it has
changed files meanwhile."""
PASSED_MIN = 2
"""What the user went on from with so many requests, and the agent committed, is not told as left."""
ENDED_ON = "a turn ended on it"
"""Is kept of a request to which the agent ended a turn, in words that leave nothing open: so many later ones
are enough then to say that the user went on."""
WORKED_ON = "the agent worked on it"
"""Is kept of a request to which the agent ended a turn in which it worked, in words that leave something
open, but not of what was asked for. Of one that was only noted nothing is kept: it stays open."""
LEFT_BEHIND_MIN, WORK_LEFT_BEHIND_MIN = 3, 8
"""After so many later requests to which turns ended, one that was worked on is not told as left either: it
would have been asked for again. What opened the work goes on longer."""
ANSWER_CHARS = 160
FEW_WORDS = 3
"""A request that is about no more than this need not be named by who reports on it."""
_COMMITS = regex(r"\bgit (?:commit|push)\b|\bgh pr (?:create|merge)\b")
_LATER = regex(
    r"(?i)\b(?:later|keep (?:that|this|it) in mind|comes? (?:after|next)|noted|afterwards"
    r"|at the (?:very )?end|when (?:everything|all|that|you|the rest)|once (?:that|everything|you)"
    r"|after that|then|später|danach|zum schluss|wenn (?:alles|das|du)|plus tard|ensuite|après|à la fin"
    r"|luego|después|al final|depois|no final|dopo|alla fine)\b|之后|以后|最后|後で|最後に|나중에"
)
"""Says that something comes later."""
_WHY = regex(
    r"(?i)(?:\b(?:why(?: is (?:that|this|it))?|what(?:'s| is) (?:this|that|wrong|happening|going on)|how come"
    r"|warum|wieso|pourquoi|por qué|por que|perché|waarom|dlaczego)|为什么|怎么回事|什么意思|なぜ|どうして|왜"
    r"|почему)\W*$"
)
"""A message that ends so wants to know, also if it begins with what a program printed."""
OPTIONS_MAX = 12
"""A question may have so many lines of options below it."""
_STATES: dict[str, State] = {"pending": "open", "active": "active", "done": "done", "dropped": "withdrawn"}
TODO_LIST = "todo list"
_LIST_NAMES = {"todo": TODO_LIST, "plan": "plan in words", "document": "list in", "report": "findings of"}


def kept(ledger: Ledger, run: str, heard: Sequence[said.Saying]) -> SaidKept | None:
    """The event that keeps what a run said and the ledger does not have yet; None if there is nothing new.
    ``run`` is ``agent/id``."""
    keeping = Keeping(ledger, run)
    for saying in _new_ones(ledger, run, heard):
        _HANDLERS[type(saying)](keeping, saying)
        keeping.note(saying)
    return keeping.event()


def _new_ones(ledger: Ledger, run: str, heard: Sequence[said.Saying]) -> list[said.Saying]:
    """The sayings that are not in the ledger. Where a transcript was read anew from its start, messages count
    as heard by their text, and what came before the last of them counts as heard with them; lists, which say
    how things are, do not."""
    before = ledger.heard.get(run)
    numbered = [saying for saying in heard if saying.number]
    if before is None or not numbered:
        return list(heard)
    if numbered[0].number > before.number:
        return list(heard)
    left, last = Counter(before.messages), -1
    unheard: set[int] = set()
    for at, saying in enumerate(heard):
        if isinstance(saying, said.Message):
            known = message_hash(saying.text)
            if left[known]:
                left[known] -= 1
                last = at
            else:
                unheard.add(at)
    return [
        saying
        for at, saying in enumerate(heard)
        if at > last or at in unheard or isinstance(saying, said.Listed) or not saying.number
    ]


# -- what the agent says


def _reply(keeping: Keeping, reply: said.Reply) -> None:
    """Keep the agent's first answer to the newest request; not what it says to a question or to a rule in
    between, nor what it says later when it is told to go on."""
    request = keeping.last_request()
    if request is None or request.reply:
        return
    is_own = request.run == keeping.run and request.step == reply.message
    if is_own or not keeping.has_said_at(reply.message):
        keeping.change(request, reply=reply.text[:REPLY_CHARS])


def _answer(keeping: Keeping, answer: said.Answer) -> None:
    add_choice(keeping, answer, answer.answer, answer.question[:ANSWERS_CHARS])


def _chosen(keeping: Keeping, chosen: said.Chosen) -> None:
    if keeping.is_kept("choice", chosen.text, chosen):
        return
    words = flat(chosen.text).casefold()
    for entry in keeping.holding("choice"):
        if flat(entry.text).casefold() == words:
            return
        if (
            entry.by != "user"
            and is_about_same(chosen.text, entry.text)
            and replaces(chosen.text, entry.text)
        ):
            keeping.settle(entry, "superseded", chosen.text, chosen)
    entry = keeping.add(chosen, "choice", chosen.text, by=keeping.agent)
    later = [one for one in keeping.all_of("request") if one.relation == "corrects" and one.at > entry.at]
    for correction in later:  # which was heard before: the run that chose was killed
        if entry.at and is_about_same(correction.text[:1_000], entry.text):
            keeping.settle(entry, "superseded", f"the user: {correction.text}", chosen)


def _attempted(keeping: Keeping, attempt: said.Attempted) -> None:
    words = flat(attempt.text).casefold()
    if not keeping.is_kept("attempt", attempt.text, attempt) and not any(
        flat(entry.text).casefold() == words for entry in keeping.holding("attempt")
    ):
        keeping.add(attempt, "attempt", attempt.text, by=keeping.agent, reply=attempt.outcome)


def _finished(keeping: Keeping, finished: said.Finished) -> None:
    """Settle the points and findings that the agent reports by their numbers: of the list that was touched
    last and has them. What is heard once more means the same items as before."""
    since, why = iso(finished.at), f"the agent: {finished.text}"
    if any(item.since == since and item.why == short_why(why) for item in keeping.all_of("item")):
        return
    numbered = [
        item for item in keeping.holding("item") if item.mark in finished.marks and item.step <= finished.step
    ]
    newest = max(numbered, key=lambda item: (item.at, item.step), default=None)
    for item in numbered:
        if newest is not None and item.of == newest.of:
            keeping.settle(item, "done", why, finished)


# -- lists


def _listed(keeping: Keeping, listed: said.Listed) -> None:
    items = keeping.all_of("item")
    matches = {text: _same_item(text, items) for text, _ in listed.items}
    parent = _list_of(keeping, listed, [item for item in matches.values() if item is not None])
    for number, (text, state) in enumerate(listed.items, 1):
        wanted = _STATES.get(state, "open")
        item = matches[text]
        if item is None:
            mark = str(number) if listed.source in ("report", "plan") else ""
            item = keeping.add(listed, "item", text, by=keeping.agent, of=parent.id, state=wanted, mark=mark)
        elif _is_stale(item, listed):
            continue
        elif item.state not in ("withdrawn", "superseded") or item.why == _LEFT_OUT:
            keeping.settle(item, wanted, f"in the {parent.text}", listed)
            if item.by != "user" and item.of != parent.id:
                keeping.change(item, of=parent.id)  # it goes on in this list
        if wanted == "done":
            _tick_points(keeping, text, listed)
    if listed.whole:
        _leave_out(keeping, listed, parent, matches)


_LEFT_OUT = "not in the newer list"


def _is_stale(item: Entry, listed: said.Listed) -> bool:
    """Whether a list is older than what is known of an item: its transcript was read anew."""
    now = iso(listed.at)
    return bool(now) and max(item.since, item.at) > now


def _same_item(text: str, items: Sequence[Entry]) -> Entry | None:
    return next((item for item in reversed(items) if is_same_item(item.text, text)), None)


def _list_of(keeping: Keeping, listed: said.Listed, matches: Sequence[Entry]) -> Entry:
    """The list that this is the newest state of: the run's own of that source, or the one that its items come
    from."""
    name = f"{_LIST_NAMES.get(listed.source, listed.source)} {listed.name}".strip()
    own = [entry for entry in keeping.all_of("list") if entry.text == name and entry.run == keeping.run]
    if own and (matches or listed.source != "report"):
        return own[-1]
    before = [keeping.entries.get(item.of) for item in matches]
    made_for = Counter(entry.of for entry in before if entry is not None and entry.kind == "list")
    request = keeping.last_request()
    of = made_for.most_common(1)[0][0] if made_for else request.id if request else ""
    return keeping.add(listed, "list", name, by=keeping.agent, of=of)


def _tick_points(keeping: Keeping, text: str, saying: said.Saying) -> None:
    """Settle the points of requests that an item which is done was made from."""
    for point in keeping.holding("item"):
        if point.by == "user" and (is_same_item(point.text, text) or is_part(text, point.text)):
            keeping.settle(point, "done", f"ticked off: {text}", saying)
    for request in keeping.holding("request"):
        if is_ticked(asked_for(keeping, request), text):
            keeping.settle(request, "answered", f"ticked off: {text}", saying)


def _leave_out(
    keeping: Keeping, listed: said.Listed, parent: Entry, matches: dict[str, Entry | None]
) -> None:
    """Settle items that an agent took out of its own list. A list that shares nothing with the one before is
    another list: what was left there stays open."""
    own = [item for item in keeping.parts_of(parent.id) if item.kind == "item"]
    named = {item.id for item in matches.values() if item is not None}
    if not any(item.id in named for item in own):
        return
    for item in own:
        if item.id not in named and item.step < listed.step and item.state in HOLDING:
            keeping.settle(item, "superseded", _LEFT_OUT, listed)


# -- checks and the ends of turns


def _checked(keeping: Keeping, checked: said.Checked) -> None:
    now = iso(checked.at)
    held = {entry.text: entry for entry in keeping.holding("failing")}
    failing = dict(checked.failing)
    for entry in held.values():
        passed = any(_names(name) <= _names(entry.text) for name in checked.passing)
        if passed and entry.text not in failing and (entry.since or entry.at) <= now:
            keeping.settle(entry, "done", "it passed", checked)
    for name, why in checked.failing:
        known = held.get(name)
        if known is None:
            if not any(one.text == name and one.since > now for one in keeping.all_of("failing")):
                keeping.add(checked, "failing", name, by=keeping.agent, reply=why[:REPLY_CHARS])
        elif why and known.reply != why:
            keeping.change(known, reply=why[:REPLY_CHARS])


def _names(check: str) -> set[str]:
    """The words of a check that say what it looks at: without flags, since those do not narrow it."""
    return {word for word in check.split() if not word.startswith("-") and word != "."}


def _turn_ended(keeping: Keeping, turn: said.TurnEnded) -> None:
    if turn.text and messages.asks_back(turn.text):
        question = _asked_at_end(turn.text)
        if question and not any(entry.text == question for entry in keeping.holding("question")):
            keeping.add(turn, "question", question, by=keeping.agent)
    if not turn.text:
        return
    is_closing = not leaves_open(turn.text) and not messages.asks_back(turn.text)
    is_offering = _has_changed(turn) and not leaves_open(turn.text) and messages.only_offers(turn.text)
    mine = [one for one in keeping.holding("request") if one.run == keeping.run and one.step <= turn.step]
    reported = [
        entry
        for entry in mine[-REPORTED_MAX:]
        if _is_question(entry) or ((is_closing or is_offering) and _is_reported(keeping, entry, turn))
    ]
    if not reported and mine and (is_closing or is_offering) and _closes(keeping, mine[-1], turn):
        reported.append(mine[-1])
    for entry in reported:
        keeping.settle(entry, "answered", f"the agent: {_head(turn.text)}", turn)
    if mine and mine[-1].why in ("", WORKED_ON) and not _is_left(keeping, mine[-1]):
        if _is_answer(turn):
            keeping.change(mine[-1], why=ENDED_ON)
        elif turn.calls > 0 and not _leaves_out(turn.text, mine[-1]):
            keeping.change(mine[-1], why=WORKED_ON)
    own = [entry for entry in keeping.all_of("request") if entry.run == keeping.run]
    for entry in own[:-PASSED_MIN]:
        if entry.why == ENDED_ON and entry.state in HOLDING and not _is_put_off(keeping, entry):
            why = f"{ENDED_ON}, and {PASSED_MIN} requests or more came after it"
            keeping.settle(entry, "answered", why, turn)
    for entry in _left_behind(keeping, list(keeping.all_of("request"))):
        why = f"turns ended on {LEFT_BEHIND_MIN} requests or more that came after it"
        keeping.settle(entry, "answered", why, turn)
    if _is_committed(turn):
        for entry in mine[:-PASSED_MIN]:
            if entry.relation != "new" and not _is_put_off(keeping, entry):  # work has many commits
                why = f"the agent committed, and {PASSED_MIN} requests or more came after it"
                keeping.settle(entry, "answered", why, turn)


def _left_behind(keeping: Keeping, requests: Sequence[Entry]) -> list[Entry]:
    """The requests that the user went on from long ago; not those for later, nor those with points that are
    left."""
    found: list[Entry] = []
    ended = 0
    for entry in reversed(requests):
        least = WORK_LEFT_BEHIND_MIN if entry.relation == "new" else LEFT_BEHIND_MIN
        is_worked_on = entry.state in HOLDING and entry.why in (ENDED_ON, WORKED_ON)
        if ended >= least and is_worked_on and not _is_left(keeping, entry):
            found.append(entry)
        ended += entry.state in ("answered", "done") or entry.why == ENDED_ON
    return found


def _leaves_out(text: str, request: Entry) -> bool:
    """Whether the agent says of something that a request asks for that it is left."""
    return any(says_unfinished(one) and shares(one, request.text)[0] for one in sentences(text))


def _is_answer(turn: said.TurnEnded) -> bool:
    """Whether an agent did or said something in a turn and leaves nothing open; "Noted." is no answer."""
    is_whole = not says_unfinished(turn.text)
    return is_whole and (turn.calls > 0 or len(turn.text) >= ANSWER_CHARS)


def _is_question(request: Entry) -> bool:
    """Whether a request only asks: what the agent says then is the answer."""
    if request.relation == "asks":
        return True
    if request.relation == "new":
        return False
    return messages.relation_of(request.text) == "asks" or _WHY.search(request.text) is not None


def _has_changed(turn: said.TurnEnded) -> bool:
    """Whether files were edited in a turn, or something was committed."""
    return any(line and " " not in line for line in turn.did.split("\n")) or _is_committed(turn)


def _is_committed(turn: said.TurnEnded) -> bool:
    return _COMMITS.search(turn.did) is not None


def _closes(keeping: Keeping, request: Entry, turn: said.TurnEnded) -> bool:
    """Whether an agent that worked says that it is done, right after a request that it did not put off:
    people ask in few words ("17px is too small still"), and agents answer in others."""
    if not turn.calls or _is_put_off(keeping, request):
        return False
    shared, total = shares(request.text[:1_500], f"{turn.text}\n{turn.did}")
    is_done = (claims_done(turn.text) and not says_partly(turn.text)) or _is_committed(turn)
    return is_done and (4 * shared >= total > 0 or total <= FEW_WORDS)


def _is_put_off(keeping: Keeping, request: Entry) -> bool:
    """Whether a request is for later, by the words of the user or the agent, or has points that are left."""
    return _is_for_later(request) or any(item.state in HOLDING for item in _items_of(keeping, request))


def _is_left(keeping: Keeping, request: Entry) -> bool:
    """Whether a request is for later, or has points that are left; of one that describes a whole job nobody
    ticks off the lines."""
    return _is_for_later(request) if len(request.text) > JOB_CHARS else _is_put_off(keeping, request)


def _is_for_later(request: Entry) -> bool:
    return _puts_off(request.text) or _puts_off(request.reply)


def _puts_off(text: str) -> bool:
    return _LATER.search(text[:REPLY_CHARS]) is not None


def _items_of(keeping: Keeping, request: Entry) -> list[Entry]:
    """The points of a request, and the items of the lists that were made for it."""
    lists = [entry.id for entry in keeping.parts_of(request.id) if entry.kind == "list"]
    return [item for item in keeping.parts_of(request.id, *lists) if item.kind == "item"]


def _asked_at_end(text: str) -> str:
    """The lines at the end of an agent's message that ask something, with the options below them."""
    lines = text.strip().split("\n")
    asks = [at for at, line in enumerate(lines) if line.rstrip().endswith(("?", "？"))]
    start = asks[-1] if asks and len(lines) - asks[-1] <= OPTIONS_MAX else len(lines) - 1
    return "\n".join(lines[start:])[-ANSWERS_CHARS:]


def _is_reported(keeping: Keeping, request: Entry, turn: said.TurnEnded) -> bool:
    """Whether the agent's last words of a turn, which leave nothing open, are about a request."""
    items = _items_of(keeping, request)
    is_plan = len(request.text) > JOB_CHARS and all(item.state in HOLDING for item in items)
    if any(item.state in HOLDING for item in items) and not (is_plan and _closes_plan(turn)):
        return False
    about = [item for item in items if item.of == request.id or is_part(item.text, request.text)]
    if about and all(item.state == "done" for item in items):
        return True
    text = f"{request.text} {request.answers}" if request.relation == "answers" else request.text
    shared, total = shares(text[:1_500], f"{turn.text}\n{turn.did}")
    if not turn.calls or shared < min(2, total):
        return False
    is_whole = _has_changed(turn) and not _puts_off(request.text) and not says_partly(turn.text)
    share = CHANGED_SHARE if is_whole else REPORTED_SHARE
    return shared >= share * min(total, LONG_SUBJECTS)


def _closes_plan(turn: said.TurnEnded) -> bool:
    """Whether an agent that committed says that all is done: of a plan whose steps it never ticked off."""
    return _is_committed(turn) and claims_done(turn.text) and not says_partly(turn.text)


def _head(text: str) -> str:
    return next(iter(sentences(text)), text)[:HEAD_CHARS]


def _taken_back(keeping: Keeping, back: said.TakenBack) -> None:
    for entry in list(keeping.entries.values()):
        mine = entry.run == keeping.run and entry.state not in ("withdrawn",)
        if not mine or entry.kind == "failing":
            continue
        if (back.text and entry.text == back.text) or (back.step_from and entry.step >= back.step_from):
            keeping.settle(entry, "withdrawn", "the user went back to before it", back)


def _told(keeping: Keeping, told: said.Told) -> None:
    """What a brief told that came from elsewhere: a ledger that knows of the work does not need it."""
    if keeping.knows_more:
        return
    kinds: Iterable[tuple[Kind, Sequence[str], str]] = (
        ("request", told.requests, "user"), ("rule", told.rules, "user"), ("choice", told.choices, "user"),
        ("choice", told.decisions, ""), ("item", told.items, ""),
    )  # fmt: skip
    for kind, texts, by in kinds:
        for text in texts:
            relation: Any = "new" if kind == "request" else ""
            keeping.add(told, kind, text, by=by, relation=relation, why=FROM_BRIEF)
    for name, why in told.failing:
        keeping.add(told, "failing", name, reply=why)


_HANDLERS: dict[type, Callable[[Keeping, Any], None]] = {
    said.Message: take_message,
    said.Reply: _reply,
    said.Answer: _answer,
    said.Listed: _listed,
    said.Chosen: _chosen,
    said.Attempted: _attempted,
    said.Checked: _checked,
    said.Finished: _finished,
    said.TurnEnded: _turn_ended,
    said.TakenBack: _taken_back,
    said.Told: _told,
}
