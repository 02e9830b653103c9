"""What somebody asks for: words, phrases, and words that must not occur."""

from __future__ import annotations

from ...errors import UsageError
from ..base.lazy import regex
from ..base.stem import STOP_WORDS, stem
from ..base.values import Value, seconds_of
from ..memories.dates import moment_of
from .texts import parted, words_to_index

WORDS_MAX = 24
_TOKEN = regex(r'(-?)"([^"]*)"?|(\S+)')
_WORD = regex(r"[^\W_]+")
_AGO = regex(r"(\d{1,6})\s*(min|m|hours?|h|days?|d|weeks?|w)")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DAYS = {"today": 1, "yesterday": 2, "last week": 7, "last month": 31}


class SearchTerm(Value):
    """A word or a phrase, in the forms in which it may stand in a text."""

    text: str
    forms: tuple[str, ...]
    is_prefix: bool = False

    @property
    def stems(self) -> tuple[str, ...]:
        """The stems of its words in the first form."""
        return tuple(map(stem, _WORD.findall(self.forms[0].lower())))


class SearchQuery(Value):
    """A question that was understood."""

    terms: tuple[SearchTerm, ...]
    excluded: tuple[SearchTerm, ...] = ()


def parsed(question: str) -> SearchQuery:
    """The terms of a question. Words that say nothing are left out where others are there. Raises
    UsageError if there is no word in it."""
    terms: dict[tuple[str, ...], SearchTerm] = {}
    excluded: list[SearchTerm] = []
    for match in _TOKEN.finditer(question):
        is_excluded = bool(match[1]) or (match[3] or "").startswith("-")
        word = match[2] if match[3] is None else match[3].removeprefix("-")
        term = _term(word, is_phrase=match[3] is None)
        if term is None:
            continue
        if is_excluded and len(word) > 1:
            excluded.append(term)
        else:
            terms.setdefault(term.forms, term)
    told = [term for term in terms.values() if " " in term.text or term.text.lower() not in STOP_WORDS]
    chosen = tuple(told or terms.values())[:WORDS_MAX]
    if not chosen:
        raise UsageError("there is nothing to search for", hint='segue search "expired token"')
    return SearchQuery(chosen, tuple(excluded[:WORDS_MAX]))


def _term(word: str, *, is_phrase: bool) -> SearchTerm | None:
    is_prefix = not is_phrase and word.endswith("*")
    text = word.rstrip("*") if is_prefix else word
    form = " ".join(words_to_index(text).partition("\n")[0].replace('"', " ").split())
    if not _WORD.search(form):
        return None
    apart = parted(text) if not is_phrase and text.isascii() and " " in parted(text) else ""
    forms = (form, apart) if apart and apart.lower() != form.lower() else (form,)
    return SearchTerm(text, forms, is_prefix)


def since_of(text: str, *, now: float) -> float:
    """The time that a user means by ``7d``, ``12h``, ``yesterday`` or a date, in seconds since the epoch; 0
    for nothing. Raises UsageError."""
    if not text:
        return 0.0
    ago = _AGO.fullmatch(text.strip().lower())
    if ago:
        return now - int(ago[1]) * _SECONDS[ago[2][0]]
    if text.strip().lower() in _DAYS:
        return now - _DAYS[text.strip().lower()] * 86_400
    return seconds_of(moment_of(text.strip(), "--since"))
