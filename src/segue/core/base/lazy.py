"""Patterns and decoders that cost nothing until they are used.

Compiling all of ours takes longer than most commands do; a command uses a few of them. ``regex`` stands for
``re.compile`` where a pattern has a name of its own in a module, the decoders for those of msgspec.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, AnyStr, TypeVar, cast

import msgspec

T = TypeVar("T")


class _Lazy:
    """Has what the made thing has; it is made when it is asked for anything."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._make(), name)
        setattr(self, name, found)  # from now on this is not called for it
        return found


class _LazyPattern(_Lazy):
    """A pattern that is compiled when it is asked for anything."""


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern, compiled at its first use. A wrong one raises only then: tests compile all."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(lambda: re.compile(text, flags)))


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """A decoder of JSON that looks at the fields of a type when something is decoded: most never are."""
    return cast("msgspec.json.Decoder[T]", _Lazy(lambda: msgspec.json.Decoder(kind)))


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """The same for msgpack."""
    return cast("msgspec.msgpack.Decoder[T]", _Lazy(lambda: msgspec.msgpack.Decoder(kind)))
