"""Regular expressions and decoders that are compiled at their first use.

Compiling all of them takes longer than most commands do, and a command uses only a few. Use ``regex`` instead
of ``re.compile``, and the decoders here instead of msgspec's, wherever one is defined at module level.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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


def phrases(spaced: str, unspaced: str = "", *, at_start: bool = False) -> re.Pattern[str]:
    """Matches any of these phrases, in whatever case. ``spaced`` are those of scripts with spaces, separated
    by commas: a space stands for any whitespace, an apostrophe for any or none, a star at the end for the
    rest of the word. ``unspaced`` are those of scripts without, which match anywhere. With ``at_start`` a
    phrase must stand at the beginning of the text, behind nothing but punctuation."""

    def compiled() -> re.Pattern[str]:
        with_spaces = [_spelled(one) for one in _listed(spaced)]
        parts = [rf"(?<!\w)(?:{'|'.join(with_spaces)})(?!\w)"] if with_spaces else []
        parts += [re.escape(one) for one in _listed(unspaced)]
        joined = "|".join(parts)
        return re.compile(rf"\A\W*(?:{joined})" if at_start else joined, re.I)

    return cast("re.Pattern[str]", _Lazy(compiled))


def _listed(text: str) -> list[str]:
    return [one for part in text.split(",") if (one := " ".join(part.split()))]


def _spelled(phrase: str) -> str:
    stem = phrase.removesuffix("*")
    words = re.escape(stem).replace(r"\ ", r"\s+").replace("'", "['’]?")
    return rf"{words}\w*" if stem != phrase else words
