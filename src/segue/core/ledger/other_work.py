"""Whether the first message of a run is about the work that a ledger knows, or about something else.

A run that goes on, adds, permits, answers or points back belongs to the work before it. One that names
nothing of it and says enough by itself is other work. In doubt it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from typing import Literal

from ..base.lazy import regex
from ..language import messages
from ..language.points import points_in
from ..language.rules import is_for_ever, may_take_back, rules_in
from ..language.sentences import flat, given_to_template, is_assent, sentences
from ..language.subjects import subjects_of, weight
from .keep import ENDED_ON
from .model import HOLDING, Entry
from .standing import JOB_CHARS

SUBJECTS_MIN = 6
"""A message that is about fewer things does not say enough to be other work."""
SHARED_MIN, SHARED_PERCENT = 2, 34
TOLD_SUBJECTS_MIN, TOLD_PERCENT = 3, 50
"""What is told of the same things is of use only if they are the same: work in a project shares its words."""
ANSWER_WORDS, TEMPLATE_CHARS, SENTENCE_CHARS = 3, 400, 24
AGAIN_PERCENT, AGAIN_OF_MINE_PERCENT = 60, 40
SAYS_ALL = 20
"""A message that is about so much says itself what it adds to."""
SHORT_CHARS, POINTING_CHARS = 120, 400
WISH_CHARS, HEAD_SUBJECTS = 90, 3
LONG_WORD = 14
RECENT = 40
"""How many entries are looked at, the newest."""
_ADDRESS = regex(r"\bhttps?://\S+")
_PATH = regex(r"\S*[/\\]\S*")
_NAME = regex(r"[\w./-]*[\w-]\.[a-z]{1,5}|(?=[\w-]{9,})[a-z]+(?:_[a-z]+)+", re.I)
_BROAD = subjects_of(
    "test tests pass review build ci pr issue repo repository branch app project page bug feature add new"
    " code user plan doc docs folder folders branches remote commit push merge conflict conflicts main latest"
    " modified implement session readme write run use make need want file files step steps command commands"
    " question necessary current specific include level local mention understand check update change create"
    " read show tell look find"
)
"""Of these any work in a project may speak."""
_ADDS = regex(
    r"\W*(?:(?:please|ok|okay|great|thanks|thank you|perfect|now|so|well|oh|ah|hm+|yes|yeah|bitte|danke|ach"
    r"|ja|merci|gracias)\W+){0,3}(?:(?:can|could|would|will) (?:you|we) (?:please )?)?"
    r"(?:also|(?:some|a few|one|two|three|several) more|more|another|and|plus|additionally|furthermore"
    r"|moreover|besides|in addition|next|then|another thing"
    r"|as well|still|again|auch|noch|weitere|außerdem|zusätzlich|und|noch|dann|als nächstes|aussi|encore"
    r"|autre|de plus|ensuite"
    r"|également|et|además|otra|más|también|y|luego|ahora|também|mais|além|inoltre|anche|poi|ook|daarnaast|także|dodatkowo"
    r"|ещё|еще|также|затем)\b|^\W*(?:另外|还有|還有|此外|接下来|接著|再|また|さらに|次に|それから|또|그리고|추가로)",
    re.I,
)
_POINTS_AT_ONCE = regex(
    r"\W*(?:[\w'’]+\W+){0,2}(?:this|that|these|those|it|them|same|das|dies\w*|es|ça|cela|eso|esto|isso|isto|questo"
    r"|dit|dat|это)\b|.{0,6}(?:这|那|それ|これ|이것|그것)",
    re.I,
)
"""A word that stands for something else, among the first words: further on it stands for what the message has
named itself."""
_POINTS_ALONE = regex(
    r"\W*(?:[\w'’]+\W+){0,2}(?:(?:it(?! is (?:critical|important|time))|them|they|es|ça|cela"
    r"|eso|esto|isso|isto|это)\b"
    r"|(?:this|that|these|those|das|dies(?:e[rsnm]?)?|questo|dit|dat)(?:\W*$|[.,!?;:]"
    r"|\s+(?:is|are|was|were|now|too|up|as well|again|please|and|but|then|does|did|still|doesn|didn|will|ist"
    r"|est|es|é)\b))|.{0,6}(?:这个|那个|这|那|それ|これ|이것|그것)\W*$",
    re.I,
)
_POINTS_BACK = regex(
    r"\b(?:last (?:time|run|session)|yesterday|the plan|the rest|take up"
    r"|(?<!go )(?<!going )(?<!switch )back to"
    r"|where (?:we|you|i|it|things|work) (?:was|were|left|stopped)"
    r"|continue|resume|go on|how far|what is left|what'?s left|where (?:do|are) we|what did you do"
    r"|wie weit|was fehlt noch|où en|que reste|hasta dónde|qué (?:falta|queda)|a che punto|cosa manca"
    r"|até onde|o que falta|hoe ver|jak daleko|на чём мы|на чем мы"
    r"|while you are at it|while you're at it|once (?:that|it|you|everything)|don'?t forget|remember to"
    r"|when (?:everything|all|that|it|this|you|we|the rest)"
    r"|wenn (?:alles|das|du)|nebenbei|quand tout|cuando (?:todo|termines)|quando (?:tudo|terminar|tutto)"
    r"|als alles|gestern|weiter|reste|ayer|resto|ontem|ieri|gisteren|вчера)\b"
    r"|(?:继续|昨天|上次|剩下|还剩|进度|进展|做到哪|昨日|続き|前回|残り|どこまで|어제|계속|어디까지)",
    re.I,
)
_MAY_POINT_BACK = regex(
    r"\b(?:above|again|still|earlier|previous(?:ly)?|before|remaining|left|at the (?:very )?end|afterwards"
    r"|finally|am ende|zum schluss|à la fin|al final|no final|alla fine|на конце|wieder|vorher|letzte[snr]?"
    r"|encore|otra vez|ancora|снова)\b|之前",
    re.I,
)
"""Words that in other sentences have nothing to do with what was before."""


def is_other_work(message: str, entries: Iterable[Entry]) -> bool:
    """Whether a message that opens a run is about something else than the entries of a ledger."""
    known = _recent(entries)
    if not known or _may_belong_by_form(message):
        return False
    if messages.opens_work(message) and messages.relation_of(message) == "new":
        return True
    mine = subjects_of(message[:2_000])
    if weight(mine) < SUBJECTS_MIN:
        return False
    shared = len(mine & _about(known))
    return shared < SHARED_MIN and 100 * shared < SHARED_PERCENT * len(mine)


Relevance = Literal["goes_on", "touches", "other"]
"""What the last run is to the first message of the next one: the work that it goes on with, finished work
that it touches, or something else."""


def relevance(
    message: str, entries: Iterable[Entry], *, is_cut_off: bool, last_words: str = "", place: str = ""
) -> Relevance:
    """How a run is to be told of the last one, whose ledger and last words these are, and which may have been
    cut off in the middle of its work. A message that says by its form that it goes on does, and one that asks
    again for what is open, or is about the request at which the run was cut off. One that only speaks of the
    same things touches that work; that both name the folder in which they are (``place``) says nothing. It
    may be filed there all the same: what was told shortly can be asked for, and a session that was torn apart
    cannot be put together so easily."""
    every = list(entries)
    known = _recent(every)
    if not known:
        return "goes_on"
    new, is_command = said_anew(message, (one.text for one in known))
    mine = own_subjects(new) - subjects_of(place)
    last = [entry for entry in known if entry.run == known[-1].run]
    requests = [one for one in last if one.kind == "request" and one.relation != "asks"]
    if is_command:
        asked = requests[-1] if requests and is_cut_off else None
        before = (message, *(one.text for one in known if one is not asked))
        theirs = own_subjects(said_anew(asked.text, before)[0]) if asked is not None else frozenset[str]()
        is_same = 100 * weight(mine & theirs) >= AGAIN_PERCENT * max(1, weight(mine | theirs))
        return "goes_on" if is_same else "other"
    if is_other_work(message, known) and not _is_about(mine, subjects_of(last_words)):
        return "other"
    if _says_that_it_goes_on(new, every):
        says_all = weight(mine) >= SAYS_ALL and not is_cut_off and not _POINTS_BACK.search(new[:120])
        return "touches" if says_all and _adds_at_once(new) else "goes_on"
    over = {one.id for one in known if one.kind == "request" and _is_document_done(one)}
    left = [
        one
        for one in known
        if one.state in HOLDING and one.kind in ("item", "failing", "request") and one.of not in over
    ]
    is_of_last = is_cut_off and _is_about(mine, _about(requests[-1:]))
    if is_of_last or any(_is_asked_again(mine, one) for one in left):
        return "goes_on"
    return "touches" if _is_about(mine, _about(last) | subjects_of(last_words)) else "other"


def said_anew(message: str, earlier: Iterable[str]) -> tuple[str, bool]:
    """What of a message its user gave to it, and whether most of it is a command that was written out: such
    commands say themselves what is to be read. Sentences that stood in an earlier message already are none of
    the user's, since commands and templates are written out again and again."""
    given = given_to_template(message)
    words = given[0] if given is not None and given[0] else message
    if len(message) < TEMPLATE_CHARS:
        return message, False
    known = "\n".join(flat(text) for text in earlier if len(text) >= TEMPLATE_CHARS)
    told = [one for one in sentences(words) if len(one) < SENTENCE_CHARS or flat(one) not in known]
    new = " ".join(told)
    is_command = given is not None or 2 * len(new) < len(message)
    return (new if weight(own_subjects(new)) >= TOLD_SUBJECTS_MIN else words), is_command


def _says_that_it_goes_on(message: str, entries: list[Entry]) -> bool:
    """Whether the first message of a run says by its form that it goes on with what was before."""
    if messages.withdraws(message) or is_assent(message) or _answers(message, entries):
        return True
    is_unread = len(message.split()) == 1 or len(message) > POINTING_CHARS
    if is_unread and _has_no_words(message) and not _PATH.fullmatch(message.strip()):
        return True
    is_short = len(message) <= POINTING_CHARS
    relation = messages.relation_of(message)
    if relation in ("goes_on", "withdraws") or (is_short and relation == "permits"):
        return True
    if relation == "new" and messages.opens_work(message):
        return False
    if _POINTS_BACK.search(message[:120]) or _adds_at_once(message) or _points_alone(message):
        return True
    return is_short and bool(
        messages.contradicts(message)
        or messages.is_content(message)
        or _is_list_of_wishes(message)
        or (len(message) < SHORT_CHARS and _only_rules(message))
    )


def _only_rules(message: str) -> bool:
    """Whether a message sets rules and asks for nothing: they are for the work that was at hand."""
    return all(any(flat(one) in flat(rule) for rule in rules_in(message)) for one in sentences(message))


def _points_alone(message: str) -> bool:
    """Whether a message begins with a word that stands for what was spoken of and names nothing with it: "fix
    this", but not "analyse this code"."""
    return len(message) <= POINTING_CHARS and _POINTS_ALONE.match(message) is not None


def about_same(message: str, entries: Iterable[Entry]) -> list[Entry]:
    """The entries that are about something that a message is about."""
    mine = own_subjects(message)
    return [one for one in entries if _is_about(mine, _about([one]))]


def _is_asked_again(mine: frozenset[str], entry: Entry) -> bool:
    """Whether a message asks for what is open already: it is about most of what that is about, or that is
    about most of what the message is about."""
    theirs = own_subjects(entry.text)
    shared, all_of_mine = weight(mine & theirs), weight(mine)
    least = min(all_of_mine, weight(theirs))
    is_most = shared >= SHARED_MIN and 100 * shared >= AGAIN_PERCENT * least
    return is_most and 100 * shared >= AGAIN_OF_MINE_PERCENT * all_of_mine


def _is_document_done(entry: Entry) -> bool:
    """Whether a turn ended on a request that describes a whole job: nobody ticks off its lines."""
    return len(entry.text) > JOB_CHARS and (entry.why == ENDED_ON or entry.state not in HOLDING)


def _is_about(mine: frozenset[str], about: Set[str]) -> bool:
    """Whether this is half of what a message is about, or has a file or a long name that it names."""
    shared = mine & about
    if any(_NAME.fullmatch(one) for one in shared):
        return True
    return weight(shared) >= SHARED_MIN and 100 * weight(shared) >= TOLD_PERCENT * weight(mine)


def _answers(message: str, entries: Iterable[Entry]) -> bool:
    """Whether a message may answer what the agent asked last: in a word or two, or in its words."""
    asked = [one.text for one in entries if one.kind == "question" and one.state in HOLDING]
    if not asked or len(message) > SHORT_CHARS or _PATH.fullmatch(message.strip()):
        return False
    if len(message.split()) > ANSWER_WORDS and not own_subjects(message) & own_subjects(asked[-1]):
        return False
    return messages.relation_of(message, reply_to=asked[-1]) == "answers"


def own_subjects(message: str) -> frozenset[str]:
    """What a message is about, without addresses and what any work in a project may speak of."""
    return subjects_of(_ADDRESS.sub(" ", message[:2_000])) - _BROAD


def _recent(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind != "question"][-RECENT:]


def _may_belong_by_form(message: str) -> bool:
    """Whether a message belongs by its form, or has a word that may point back."""
    if _belongs_by_form(message):
        return True
    if messages.relation_of(message) == "new" and messages.opens_work(message):
        return False
    is_added_to = any(_ADDS.match(one) for one in sentences(message)[:3])
    return is_added_to or _MAY_POINT_BACK.search(message[:120]) is not None


def _belongs_by_form(message: str) -> bool:
    """Whether a message goes on, adds, points back, or says too little by its form alone."""
    if messages.withdraws(message):
        return True  # what it takes back must hear of it, also if it goes on with something else
    relation = messages.relation_of(message)
    if relation in ("goes_on", "permits", "withdraws", "answers", "asks") or _has_no_words(message):
        return True
    if relation == "new" and messages.opens_work(message):
        return False
    return bool(
        messages.contradicts(message)
        or messages.is_content(message)
        or _adds_at_once(message)
        or messages.adds(message)
        or _points_at_once(message)
        or _POINTS_BACK.search(message[:120])
        or _is_list_of_wishes(message)
        or (len(message) < SHORT_CHARS and _is_of_rules(message))
    )


def _points_at_once(message: str) -> bool:
    """Whether a message begins with what stands for something spoken of; not for an address in it, nor for
    what it goes on to say itself."""
    is_own = len(message) > POINTING_CHARS or _ADDRESS.search(message)
    return not is_own and _POINTS_AT_ONCE.match(message) is not None


def _adds_at_once(message: str) -> bool:
    """Whether a message adds before it says something: what adds further on, adds to that."""
    for one in sentences(message)[:3]:
        if _ADDS.match(one):
            return True
        if weight(own_subjects(one)) >= TOLD_SUBJECTS_MIN:
            return False
    return False


def _is_of_rules(message: str) -> bool:
    """Whether a short message sets a rule or takes one back."""
    return bool(rules_in(message)) or is_for_ever(message) or may_take_back(message)


def _about(known: Iterable[Entry]) -> set[str]:
    """What is open in a ledger, and what was asked for."""
    about: set[str] = set()
    for entry in known:
        if entry.kind != "list" and (entry.state in HOLDING or entry.kind in ("request", "item")):
            about |= subjects_of(_ADDRESS.sub(" ", entry.text[:2_000]))
    return about


def names_nothing_of(message: str, entries: Iterable[Entry]) -> bool:
    """Whether a message is about nothing that the work of a ledger is about. Rules go from one work to the
    next."""
    mine = subjects_of(message[:2_000])
    asked = [entry for entry in entries if entry.kind not in ("rule", "permission", "list")][-RECENT:]
    return bool(mine) and not any(mine & subjects_of(entry.text[:2_000]) for entry in asked)


def _is_list_of_wishes(message: str) -> bool:
    """Whether a message is a list of short points whose head says nothing of its own: "todo from my side"."""
    points = points_in(message)
    if len(points) < 2 or any(len(point.text) > WISH_CHARS for point in points):
        return False
    return all(len(subjects_of(head)) < HEAD_SUBJECTS for head in {point.head for point in points})


def _has_no_words(message: str) -> bool:
    """Whether a message is written without spaces in a script that has them, so that nothing can be
    compared."""
    words = message.split()
    return message.isascii() and len(message) > LONG_WORD * len(words)
