"""Standing rules: the sentences of a message that hold beyond it, recognised by their form.

Agents obey what a brief shows as standing. So a sentence counts only if it is an order: not a question, with
or without a question mark, not a request for the moment, and not a remark about how things are. A later
message takes a rule, a choice or a request back if it names it and says that it no longer holds; a permission
for a part of what is forbidden does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ..base.lazy import regex
from ..base.stem import stem
from . import rule_withdrawals as withdrawals
from .rule_forms import NOTHING, RuleForms
from .rule_sentences import EAST_ASIAN, SPACED, Sentence, east_asian, plain, sentences_of, words_of
from .sentences import clip, sentences

RULES_MAX, RULE_CHARS_MAX = 12, 300
_LEAD_CHARS = 8  # of "ok, no mocks", what stands before the order
_ASIDE_CHARS = 24  # of "for now, do not push", what stands before the order
_SHARED_MIN = 3  # of so many words that a short permission and its rule have, one is the same
_STEM_CHARS = 6
_PRINTED = regex(
    r"^\s*(?:\"|at\s|echo\s|printf?\b|[\[{<|>$]|\d{4}-\d\d-\d\d|(?:error|warning|warn|info|debug|fatal|hint"
    r"|note|npm)\b\S*[:!]|\S+:\d+|[\w.]*(?:Error|Exception|Warning):)|\b\w+(?:Error|Exception):|::|</\w"
    r"|:\d+:\d+:"
    r"|[;{}]\s*$|^\s*(?://|/\*|--\s)",
    re.I,
)
"""Lines that a program printed and the user pasted."""
_BOUNDARY = regex(
    r"[,;:(，；：、。！—]\s*|[.!?]+\s+|\s(?:[-–]+\s|(?=(?:and|but|then|so|or|und|aber|oder|sondern|et|mais"
    r"|ou|y|pero|o|e|mas|ma|però|en|maar|i|ale|oraz|и|но|или|а)\s))"
)
"""Where a clause ends and the next one begins."""
_POINT = regex(r"[,;:(，；：、。！—]|[.!?]\s")
_POINTS = frozenset(".,;:!?(，；：、。！—-–")
_TOLD_BY = regex(
    r"\b(?:i|it|they|he|she|which|that|because|je|il|elle|ça|ich|es|er|sie|yo|eu|ele|ela|io|ik|ja|я|он|она"
    r"|они|оно)\b"
)
"""Is found in a clause that tells something, and that may go on behind a conjunction."""
_STRICT = regex(
    r"(?:\S+ ){0,2}?(?:n'|(?:never|always|not|don't|dont|avoid|prefer|only|nie|niemals|immer|nur|kein\w*"
    r"|nicht|ne|jamais|toujours|uniquement|nunca|siempre|no|solo|sólo|não|nao|sempre|só|apenas|non|mai|niet"
    r"|nooit|geen|altijd|alleen|nigdy|zawsze|tylko|не|никогда|всегда|только|нельзя)\b)"
)
"""Matches an order that leaves no choice."""
_APART = regex(
    r"[,;:\n，；：。、]|\.\s|\s(?:and|but|und|aber|sondern|et|mais|y|pero|e|mas|ma|però|en|maar|ale|и|но"
    r"|а)\s"
)
"""Between clauses of which each says something of its own."""
_LIMITS = regex(
    r"^\W*(?:please )?(?:only|just) (?:do|edit|change|modify|touch|update|fix|work on)\b"
    r"|\b(?:any(?:thing)?|nothing|no) (?:other|else)\b|\bother (?:files?|code|parts?|pages?|components?)\b"
    r"|\bread[- ]only\b|\b(?:do not|don't) (?:edit|modify|change|fix|implement|write)(?: or \w+(?: [\w/]+)?"
    r"| any(?:thing| code| files?)| code| (?:the )?files)\s*(?:[.;,!]|$|yet\b)"
    r"|\b(?:do not|don't|dont) (?:commit|push|implement|merge|deploy|run (?:any )?commands"
    r"|(?:create|open) (?:a )?prs?)(?: anything| it| this| them| yet| or \w+(?: \w+)?)*\s*(?:[.;,!:]|$)"
    r"|\b(?:ändere|bearbeite) nur\b|\b(?:keine? andere\w*|nichts ander\w*|sonst nichts)\b"
    r"|\bne (?:modifie|change|touche)z? que\b|\brien d'autre\b|\baucun autre\b|\bd'autres fichiers\b"
    r"|\b(?:ning[uú]n otro|nada más|otros archivos|nenhum outro|nada mais)\b"
    r"|\b(?:outros arquivos|nient'altro|altri file)\b"
    r"|\b(?:ничего (?:больше|другого)|другие файлы)\b|其他(?:文件|代码|地方)|他のファイル|다른 파일"
)
"""Says how far a change may go."""
_TOKEN = regex(r"\S+")
_NAMING = regex(r"[^\W_]{2,}")
_VALUE = regex(
    r"v?\d[\w%]*|english|german|french|spanish|portuguese|italian|dutch|polish|russian|chinese|japanese"
    r"|korean|deutsch|englisch|français|anglais|español|inglés|português|inglês|italiano|inglese|nederlands"
    r"|engels|polsku|angielsku|русском|английском"
)
_FILLING = frozenset("please now always instead from on bitte ab jetzt the a an".split())


def rules_in(message: str) -> list[str]:
    """The sentences of a message that hold beyond it, at most ``RULES_MAX``."""
    return [rule.text for rule in _saying(message, _rule_clause)]


def rules_of(message: str, *, alone: bool, is_repeated: Callable[[str], bool]) -> list[str]:
    """Of these sentences those that hold beyond the request that they stand in: those below a title that
    announces rules, those that say so by words such as "never", that are about all of something, that name
    what they protect, or that the user says again; where a message asks for nothing else (``alone``), each
    order with which a sentence begins. "Make the header smaller, but don't use red" is said for that job, and
    its request has it. A sentence that says how far the request goes counts as long as that does."""
    return [
        rule.text
        for rule in _saying(message, _rule_clause)
        if rule.is_listed or (not rule.is_quoted and (_is_lasting(rule, alone) or is_repeated(rule.text)))
    ]


def _is_lasting(rule: _Said, alone: bool) -> bool:
    low = plain(rule.text)
    if _REPORTED.search(low):
        return False
    if is_for_ever(rule.text):
        return True
    if not rule.leads or _FOR_NOW.search(low):
        return False
    if limits_step(rule.text) or _UNIVERSAL.search(low) or _NAMED.search(rule.text):
        return True
    return alone and not _AT_HAND.search(low)


_REPORTED = regex(
    r"^\W*(?:(?:and|but|so|ok|okay|also|please|then)\W+)*(?:note|write|mention|add|document|say|explain|tell)\b.{0,60}?\bthat\b"
)
"""Says what is to be written down for others."""
_FOR_NOW = regex(
    r"^\W*(?:begin|start|first|then|next)\b|^\W*(?:(?:and|but|so|ok|okay)\W+)?(?:if|falls|wenn|si|se|als|jeśli|если)\b|^\W*(?:如果|もし|만약)"
    r"|^\W*for (?:this|that|the|now)\b|\bi (?:really )?(?:don'?t|do not) (?:want|like|need)\b|\blet'?s\b"
    r"|\bi(?:'d| would) rather\b"
    r"|^\W*(?:(?:yes|yeah|yep|sure)\b|no[,.])"
)
"""Begins what holds in a case or for the moment only, or says what somebody does not like about a thing."""
_AT_HAND = regex(
    r"\b(?:keep|leave|make|do|put|let|use|add|change|remove) (?:it|them|this|that|these|those)\b", re.I
)
"""Is about what was just spoken of."""
_UNIVERSAL = regex(
    r"\b(?:everywhere|anywhere|any|anything|anyone|all|each|every\w*|at all|no new|(?:only use|use only)"
    r"|(?:is|are)(?: strictly)? (?:not allowed|forbidden|prohibited)|verboten|interdite?s?|prohibid[oa]s?"
    r"|proibid[oa]s?|vietat[oaie]|verboden|zabronion\w+|нельзя|запрещен\w*|запрещён\w*"
    r"|you must(?: not|n't)|must (?:stay|remain|always|be kept)|(?:we|you) should(?: not|n't)"
    r"|überall|alle[nrms]?|jede\w*|nichts|keine? neue\w*|partout|tou(?:te?s?|s)|chaque"
    r"|rien|pas de nouve\w+|aucune?|tod[oa]s?|cada|nada|ning[uú]n\w*|tudo|sem \w+ nov\w+"
    r"|nenhum\w*|ovunque|ogni|nulla|niente|nessun\w*|nuov[ei]|overal|elke?|niets|geen nieuwe|wszędzie"
    r"|każd\w*|nic|везде|все[хм]?|кажд\w*|ничего)\b"
    r"|禁止|不允许|不准|금지|所有|任何|每|一律|新的|すべて|全て|どこでも|新しい|모든|전부|새로운"
)
"""Says that an order is about all of something."""
_NAMED = regex(
    r"`[^`\n]+`|[\w.-]*\w[/\\](?![\w-])|[\w.-]+[/\\][\w-]*[./\\][\w./\\-]*|\b\w+_\w+"
    r"|\b[a-z]{2,}-[a-z]{2,}(?:-[a-z]+)*\b|\b\w+\.[a-z]{1,5}\b|\b[a-z]+[A-Z]\w+|\b\w+\(\)|\b\d+\.\d+"
    r"|\b(?:main|master|production|prod|origin|staging|release)\b"
)
"""A name of something in the project, or a version."""


def limits_step(rule: str) -> bool:
    """Whether a rule that stands in a request says how far that request goes: "only edit shop.py", "do not
    touch any other files". It holds as long as the request does."""
    return _LIMITS.search(plain(rule)) is not None


def restrains(rule: str) -> bool:
    """Whether a rule forbids or limits something, or says that it holds at any time: an order to do something
    may have been meant for the work at hand."""
    low = plain(rule)
    return is_for_ever(rule) or _forbids(low) or _ONLY.search(low) is not None


_ONLY = regex(
    r"\b(?:only|without|unless|no|nur|ohne|seulement|sans|solo|sólo|sin|só|apenas|sem|soltanto|senza|alleen"
    r"|zonder|tylko|bez|только|без|avoid|forbidden|prohibited|verboten|interdit\w*|prohibid\w*)\b"
    r"|只|仅|禁止|不要|不准|勿|だけ|のみ|ない|만 |말 것|않는다|금지"
)


def orders_delivery(rule: str) -> bool:
    """Whether a rule says how one piece of work is to be delivered ("don't create a PR, just a commit"), and
    neither that it lasts nor of what it holds."""
    is_lasting = is_for_ever(rule) or _UNIVERSAL.search(plain(rule)) or _NAMED.search(rule)
    return not is_lasting and _DELIVERY.search(rule) is not None


_DELIVERY = regex(
    r"(?i)\b(?:commits?|committed|push|prs?|pull requests?|merge|rebase|release|deploy|branch)\b"
)


def is_for_ever(rule: str) -> bool:
    """Whether a rule says itself that it holds at any time."""
    return _EVER.search(rule) is not None


_EVER = regex(
    r"(?i)\b(?:never|ever|always|at all times|every time|each time|whenever|from now on"
    r"|in this (?:project|repo\w*)|nie|niemals|immer|jamais|toujours|nunca|siempre|sempre|mai|nooit"
    r"|altijd|nigdy|zawsze|никогда|всегда)\b"
    r"|绝不|永远|始终|总是|每次|必ず|常に|決して|항상|절대"
)


def permissions_in(message: str) -> list[str]:
    """The sentences of a message that allow something or soften a rule, at most ``RULES_MAX``."""
    return [permission.text for permission in _saying(message, _permission_clause)]


def advises(permission: str) -> bool:
    """Whether a sentence may be meant as advice or for the moment, and allows something only if that was
    forbidden: "you can set it with the library", "that is done now, you can commit", "I think that is OK"."""
    return _MAY.search(permission) is None or _UNSURE.search(permission) is not None


_MAY = regex(
    r"(?i)\b(?:you may\b(?! want| need| have to)|you(?:'re| are) (?:now )?(?:allowed|free|welcome) to"
    r"|allowed|permitted|from now on|no longer forbidden"
    r"|(?:fine|ok(?:ay)?) to (?:change|edit|touch|use|add|remove|rename|delete|push)|darf\w*|dürf\w+"
    r"|erlaubt|ab jetzt|permis|autorisé|désormais|permitido|puede[ns]? ya|a partir de ahora|consentito"
    r"|d'ora in poi|mag|toegestaan|wolno|можно|разрешено)\b|可以|允许|してもいい|해도 (?:돼|됩)"
)
_UNSURE = regex(
    r"(?i)\b(?:i think|i guess|maybe|perhaps|curious|feel free to ask|just try|acceptable to)\b"
    r"|如何|怎么|怎麼|什么|吗|嗎|能不能|どう|でしょうか"
)


class _Said(NamedTuple):
    """A sentence that says something, cut to the clause that does if it is long."""

    text: str
    leads: bool
    """Whether the sentence begins with that clause."""
    is_listed: bool
    """Whether it stands below a title that announces rules."""
    is_quoted: bool


def _saying(message: str, clause_of: Callable[[Sentence], tuple[int, int] | None]) -> list[_Said]:
    """The sentences in which there is such a clause, each once."""
    found: dict[str, _Said] = {}
    for sentence in sentences_of(message):
        clause = clause_of(sentence)
        if clause is not None and not _PRINTED.search(sentence.text):
            text, (label_end, announces) = _cut_to(sentence, clause), sentence.label()
            leads = clause[0] <= max(_LEAD_CHARS, label_end)
            found[text] = _Said(text, leads, sentence.is_listed or announces, sentence.is_quoted)
            if len(found) == RULES_MAX:
                break
    return list(found.values())


def _cut_to(sentence: Sentence, clause: tuple[int, int]) -> str:
    text, low = sentence.text, sentence.low
    if len(text) <= RULE_CHARS_MAX:
        return text
    if len(low) == len(text):
        part = text[slice(*clause)].strip()
    else:  # there is markup in it, but the words are the same
        words = list(_TOKEN.finditer(text))
        first, last = (len(low[:at].split()) for at in clause)
        part = text[words[min(first, len(words) - 1)].start() : words[min(last, len(words)) - 1].end()]
    return clip(part, RULE_CHARS_MAX) or part[:RULE_CHARS_MAX]


def _rule_clause(sentence: Sentence) -> tuple[int, int] | None:
    """Where in a sentence the first clause stands that makes it a rule."""
    low = sentence.low
    label_end, announces = sentence.label()
    if not sentence.is_quoted and (sentence.is_listed or announces):
        return 0, len(low)
    if announces:
        sentence = sentence._replace(is_listed=True)
    saying = [forms for forms in sentence.languages if _may_say(forms, sentence)]
    before = 0
    for start, end in _clauses(low):
        since = before if start - before <= _ASIDE_CHARS else start
        is_told = _goes_on(low, before, start)
        before = start
        for forms in () if is_told else sentence.languages:
            says = forms in saying and forms.says.search(low, start, end) is not None
            orders = says or _begins_order(forms, sentence, start, begins=start <= label_end)
            if orders and not forms.passes.search(low, since, _clause_end(low, end)):
                return start, end
    return None


def _permission_clause(sentence: Sentence) -> tuple[int, int] | None:
    """Where in a sentence the first clause stands that makes it a permission."""
    for start, end in _clauses(sentence.low):
        if any(forms.allows.search(sentence.low, start, end) for forms in sentence.languages):
            return start, end
    return None


def _clauses(low: str) -> Iterator[tuple[int, int]]:
    """Where the clauses of a sentence begin and end."""
    start = 0
    for boundary in _BOUNDARY.finditer(low):
        yield start, boundary.start()
        start = boundary.end()
    yield start, len(low)


def _clause_end(low: str, end: int) -> int:
    """Where a clause ends of which only the part up to a conjunction was looked at."""
    point = _POINT.search(low, end)
    return point.start() if point else len(low)


def _goes_on(low: str, before: int, start: int) -> bool:
    """Whether a clause goes on with what the one before tells, as in "it hangs and never ends"."""
    if start < 2 or not low[start - 1].isspace() or low[start - 2] in _POINTS:
        return False
    return _TOLD_BY.search(low, before, start) is not None


def _may_say(forms: RuleForms, sentence: Sentence) -> bool:
    """Whether there is anything in the sentence that says how things have to be."""
    if _is_strict(forms, sentence) or (forms.saying and forms.saying.isdisjoint(sentence.words)):
        return False
    return forms.says.search(sentence.low) is not None


def _is_strict(forms: RuleForms, sentence: Sentence) -> bool:
    """Whether only orders count that leave no choice."""
    return sentence.is_quoted and not sentence.is_listed and forms.lead is not NOTHING


def _begins_order(forms: RuleForms, sentence: Sentence, start: int, *, begins: bool) -> bool:
    """Whether an order begins at this clause. ``begins``: whether the sentence begins with the clause."""
    low = sentence.low
    lead = forms.lead.match(low, start)
    at = lead.end() if lead else start
    if _is_strict(forms, sentence):
        return begins and _STRICT.match(low, at) is not None and forms.opens.match(low, at) is not None
    return forms.opens.match(low, at) is not None or (begins and forms.bans.match(low, at) is not None)


def takes_back(said: str, message: str) -> bool:
    """Whether a later message withdraws a rule, a choice or a request: it says so, and it names it.

    A permission for a part of what a rule forbids leaves the rule alone.
    """
    endings = _endings(message)
    if not endings:
        return False
    if any(_ends_rule_on(ending, said) for ending in endings):
        return True
    names, wanted, forbids = _names(said), _wanted(said), _forbids(plain(said))
    is_whole = any(ending.is_over and not ending.drops for ending in endings)
    return any(
        _ends_rule(ending, names, forbids)
        or (_ends_request(ending, wanted) and (is_whole or not _is_of_it(ending, wanted)))
        for ending in endings
    )


def may_take_back(message: str) -> bool:
    """Whether a message withdraws anything at all, whatever that is."""
    return bool(_endings(message))


def softens(permission: str, rule: str) -> bool:
    """Whether a permission concerns this rule: both are about the same paths, names or things, and not by one
    common word of many."""
    allowed, ruled = set(_names(permission)), set(_names(rule))
    shared = allowed & ruled
    things = shared - withdrawals.ACTIONS
    is_named = any(not thing.isalpha() for thing in things)
    if things and (is_named or _SHARED_MIN * len(things) >= min(len(allowed), len(ruled))):
        return True
    return bool(shared and shared in (allowed, ruled))


def replaces(rule: str, earlier: str) -> bool:
    """Whether a later rule supersedes an earlier one: it is about the same and says the opposite, or it names
    what the earlier one wanted as what no longer holds. In doubt it does not."""
    return _differs_in_value(rule, earlier) or _reverses(rule, earlier) or _goes_before(rule, earlier)


class _Ending(NamedTuple):
    """A clause that drops something, says that it is over, or allows it."""

    text: str
    names: frozenset[str]
    drops: bool
    is_over: bool
    allows: bool


@lru_cache(maxsize=64)
def _endings(message: str) -> tuple[_Ending, ...]:
    """What a message ends. It is asked of every rule, so it is remembered."""
    found = []
    for sentence in sentences(message):
        if called_off := withdrawals.CALLED_OFF.search(plain(sentence)):
            found.append(_Ending(called_off[1], frozenset(_names(called_off[1])), True, False, False))
            continue
        if withdrawals.MARKS.isdisjoint(words_of(sentence)) and not east_asian(sentence):
            continue
        for clause in _APART.split(plain(sentence)):
            drops = withdrawals.DROPS.search(clause) is not None
            is_over = withdrawals.ENDS.search(clause) is not None
            allows = _allows(clause)
            if drops or is_over or allows or withdrawals.LIFTED.search(clause):
                names = frozenset(_names(_WHOLLY.sub(" ", clause)))
                found.append(_Ending(clause, names, drops, is_over, allows))
    return tuple(found)


def _allows(low: str) -> bool:
    words = frozenset(words_of(low))
    languages = [forms for forms in SPACED if not forms.marks.isdisjoint(words)] + east_asian(low)
    return any(forms.allows.search(low) for forms in languages)


def _forbids(low: str) -> bool:
    return withdrawals.NEGATES.search(low) is not None


def _ends_rule_on(ending: _Ending, said: str) -> bool:
    """Whether it says that a rule on something is over, and names that as the rule does: "the rule on
    src/legacy no longer holds"."""
    if not (ending.drops or ending.is_over) or not withdrawals.RULE_ON.search(ending.text):
        return False
    if len(sentences(said)) > 1:
        return False  # it is a rule that is over, and not all that was asked for with it
    named, ruled = _identifiers(ending.text), _identifiers(plain(said))
    return any(name == one or one.startswith(f"{name}_") for name in named for one in ruled)


def _identifiers(low: str) -> set[str]:
    """The names of files, functions and commands in a text, with their parts joined in one way."""
    return {name.strip("/.").replace("-", "_") for name in _IDENTIFIER.findall(low)}


_IDENTIFIER = regex(r"[a-z0-9.-]*[a-z0-9][_/-][a-z0-9_./-]*", re.I)


def _ends_rule(ending: _Ending, names: list[str], forbids: bool) -> bool:
    """Whether it takes back a rule or a choice that is about these names."""
    shared = len(ending.names.intersection(names))
    if not shared:
        return False
    calls_it_so = ending.drops and withdrawals.SAID.search(ending.text)
    if 3 * shared >= len(names) and (calls_it_so or withdrawals.LIFTED.search(ending.text)):
        return True
    if shared < min(2, len(names)) or 2 * shared < len(names):
        return False
    if ending.is_over and (not forbids or withdrawals.FREES.search(ending.text)):
        return True
    if not forbids or not ending.allows or _forbids(ending.text) or withdrawals.IN_PART.search(ending.text):
        return False
    return ending.names.issubset(names)


def _ends_request(ending: _Ending, wanted: list[str]) -> bool:
    """Whether it drops what is wanted: it names little else, and what the request begins with or most of
    it."""
    shared = ending.names.intersection(wanted)
    is_meant = not shared.isdisjoint(wanted[:3]) or 2 * len(shared) > max(len(wanted), 4)
    if not is_meant or 2 * len(shared) < len(ending.names):
        return False
    return ending.drops or ending.is_over


_WHOLLY = regex(
    r"\b(?:altogether|entirely|completely|ganz|komplett|complètement|entièrement|por completo|completamente"
    r"|del tutto|helemaal|całkiem|совсем|полностью)\b|完全|全部|まるごと|전부"
)
_OF = regex(r"(\w{3,}) (?:of|von|vom|des|du|della|del|van|für|for) ")


def _is_of_it(ending: _Ending, wanted: list[str]) -> bool:
    """Whether what is dropped is something of what is wanted: "the tests of the importer"."""
    part = _OF.search(ending.text) if not _WHOLLY.search(ending.text) else None
    named = _names(part[1]) if part is not None else []
    return bool(named) and not set(named) & set(wanted)


def _wanted(said: str) -> list[str]:
    """What is asked for: the names in the clauses that forbid nothing."""
    clauses = (clause for clause in _APART.split(plain(said)) if not _forbids(clause))
    return [name for clause in clauses for name in _names(clause)]


def _names(text: str) -> list[str]:
    """What a sentence is about, in its order: the stems of its words, without those that any order has."""
    names: dict[str, None] = {}
    low = plain(text)
    if not low.isascii() and EAST_ASIAN.search(low):
        low = withdrawals.WORDLESS_SIGNS.sub(" ", low)
    for word in _NAMING.findall(low):
        if word in withdrawals.WORDLESS:
            continue
        if word[0] >= "\u3040":  # the words of such a script are not set apart: two letters each
            names.update(dict.fromkeys(word[at : at + 2] for at in range(len(word) - 1)))
        else:
            names[stem(word)[:_STEM_CHARS] if word.isascii() else word[: _STEM_CHARS - 1]] = None
    return list(names)


def _differs_in_value(rule: str, earlier: str) -> bool:
    """Whether two rules are word for word the same but for a number or a language."""
    ours = [word for word in words_of(rule) if word not in _FILLING]
    theirs = [word for word in words_of(earlier) if word not in _FILLING]
    if len(ours) != len(theirs) or len(ours) < 2:
        return False
    different = [(new, old) for new, old in zip(ours, theirs, strict=True) if new != old]
    return len(different) == 1 and all(_VALUE.fullmatch(word) for word in different[0])


def _reverses(rule: str, earlier: str) -> bool:
    """Whether a clause of the rule says of all that the earlier one is about the opposite."""
    named, forbidden = set(_names(earlier)), _forbids(plain(earlier))
    if not named or (forbidden and _wanted(earlier)):
        return False  # it asks for one thing and forbids another
    return any(
        named <= set(_names(clause)) and _forbids(clause) != forbidden for clause in _APART.split(plain(rule))
    )


def _goes_before(rule: str, earlier: str) -> bool:
    """Whether the rule names what the earlier one wanted, as what it replaces or what held until now."""
    wanted = set(_wanted(earlier)[:2])
    low = plain(rule)
    instead = withdrawals.INSTEAD_OF.search(low) or withdrawals.IN_PLACE_OF.match(low)
    if instead is not None and wanted & set(_names(next(group for group in instead.groups() if group))[:2]):
        return True
    clauses = [clause for clause in _APART.split(low) if clause.strip()]
    if not wanted or not withdrawals.FROM_NOW_ON.search(low):
        return False
    about_it = [clause for clause in clauses if wanted & set(_names(clause))]
    return 0 < len(about_it) < len(clauses) and all(
        _allows(clause) or withdrawals.ENDS.search(clause) for clause in about_it
    )
