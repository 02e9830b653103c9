"""Regular expressions and decoders that are compiled at their first use.

Compiling all of them takes longer than most commands do, and a command uses only a few. Use ``regex`` instead
of ``re.compile``, and the decoders here instead of msgspec's, wherever one is defined at module level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any, AnyStr, TypeVar, cast

import msgspec

T = TypeVar("T")


class _Lazy:
    """A proxy that makes its target when one of the target's attributes is first used."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        attribute = getattr(self._make(), name)
        setattr(self, name, attribute)  # found without this method from now on
        return attribute


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that is compiled at its first use, and only then raises ``re.error`` if it is malformed."""
    return cast("re.Pattern[AnyStr]", _Lazy(lambda: re.compile(text, flags)))


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """A JSON decoder that is built when something is first decoded."""
    return cast("msgspec.json.Decoder[T]", _Lazy(lambda: msgspec.json.Decoder(kind)))


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """A MessagePack decoder that is built when something is first decoded."""
    return cast("msgspec.msgpack.Decoder[T]", _Lazy(lambda: msgspec.msgpack.Decoder(kind)))


class Phrases:
    """Phrases that are looked for in texts, in whatever case.

    Many texts have the first word of none of them. That is seen from the words of the text, which are the
    same for all that is asked of it, so their expression is seldom run, and often not even compiled."""

    def __init__(self, spaced: str, unspaced: str, at_start: bool) -> None:
        self._spaced = spaced
        self._unspaced = unspaced
        self._at_start = at_start

    def search(self, text: str) -> re.Match[str] | None:
        return self._pattern.search(text) if self._may_match(text) else None

    def match(self, text: str) -> re.Match[str] | None:
        return self._pattern.match(text) if self._may_match(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._pattern.finditer(text) if self._may_match(text) else iter(())

    def sub(self, new: str, text: str) -> str:
        return self._pattern.sub(new, text) if self._may_match(text) else text

    def _may_match(self, text: str) -> bool:
        words = _words_of(text)
        if not self._first_words.isdisjoint(words):
            return True
        if self._unspaced and not text.isascii():
            return True
        return bool(self._first_stems) and any(word.startswith(self._first_stems) for word in words)

    @cached_property
    def _first_words(self) -> frozenset[str]:
        listed = _listed(self._spaced.lower())
        spellings = (spelling for one in listed for spelling in (one, one.replace("'", "")))
        return frozenset(match[0] for one in spellings if (match := _WORD.match(one)))

    @cached_property
    def _first_stems(self) -> tuple[str, ...]:
        """The beginnings of words that are phrases by themselves."""
        listed = _listed(self._spaced.lower())
        return tuple(one[:-1] for one in listed if one.endswith("*") and " " not in one)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        with_spaces = [_spelled(one) for one in _listed(self._spaced)]
        parts = [rf"(?<!\w)(?:{'|'.join(with_spaces)})(?!\w)"] if with_spaces else []
        parts += [re.escape(one) for one in _listed(self._unspaced)]
        joined = "|".join(parts)
        return re.compile(rf"\A\W*(?:{joined})" if self._at_start else joined, re.I)


def phrases(spaced: str, unspaced: str = "", *, at_start: bool = False) -> Phrases:
    """``spaced`` are phrases of scripts with spaces, separated by commas: a space stands for any whitespace,
    an apostrophe for any or none, a star at the end for the rest of the word. ``unspaced`` are those of
    scripts without, which match anywhere. With ``at_start`` a phrase must stand at the beginning of the text,
    behind nothing but punctuation."""
    return Phrases(spaced, unspaced, at_start)


_WORD = re.compile(r"\w+")


@lru_cache(maxsize=32)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _listed(text: str) -> list[str]:
    return [one for part in text.split(",") if (one := " ".join(part.split()))]


def _spelled(phrase: str) -> str:
    stem = phrase.removesuffix("*")
    words = re.escape(stem).replace(r"\ ", r"\s+").replace("'", "['’]?")
    return rf"{words}\w*" if stem != phrase else words
