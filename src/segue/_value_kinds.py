"""Whether a value is of the kind that a type annotation names. A test is made of an annotation once."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, Literal, Union, get_args, get_origin

Test = Callable[[Any], bool]
_ELEMENTS_MAX = 10_000
"""Of longer collections only so many elements are looked at."""


@lru_cache(maxsize=1024)
def test_of(kind: Any) -> Test:
    """A function that says whether a value is of a kind. Nothing is consumed: what an iterator will give is
    not known. Whole numbers are also numbers with a fraction, and a list may stand for a tuple."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _any_of(parts)
    if origin is Literal:
        return lambda value: any(type(value) is type(one) and value == one for one in parts)
    if kind is None or kind is type(None):
        return lambda value: value is None
    if kind is float:
        return lambda value: isinstance(value, int | float)
    if kind is Path:
        return lambda value: isinstance(value, PurePath) and "\0" not in str(value)
    kind_class = origin or kind
    if not isinstance(kind_class, type):
        return lambda value: True  # Any, a type variable
    if kind_class.__name__ == "Callable":
        return callable
    elements = _elements(parts) if parts else None
    classes = (tuple, list) if kind_class is tuple else kind_class

    def test(value: Any) -> bool:
        try:
            return isinstance(value, classes) and (elements is None or elements(value))
        except TypeError:
            return True  # a protocol, which says nothing at run time

    return test


def _any_of(parts: tuple[Any, ...]) -> Test:
    plain = tuple(
        one for one in parts if isinstance(one, type) and one not in (float, Path) and not get_args(one)
    )
    if len(plain) == len(parts) and not any(getattr(one, "_is_protocol", False) for one in plain):
        return lambda value: isinstance(value, plain)
    tests = [test_of(one) for one in parts]
    return lambda value: any(test(value) for test in tests)


def _elements(parts: tuple[Any, ...]) -> Test:
    """A test of what is in a collection; of an iterator nothing is known."""
    tests = [test_of(one) for one in parts if one is not Ellipsis]
    first = tests[0]
    is_row = len(tests) > 1 and Ellipsis not in parts

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return not value or first(value[0])
        if isinstance(value, Mapping) and is_row:
            return all(first(key) and tests[1](one) for key, one in _some(value.items()))
        if is_row and isinstance(value, list | tuple):
            return len(value) == len(tests) and all(test(one) for test, one in zip(tests, value, strict=True))
        return not isinstance(value, Collection) or all(map(first, _some(value)))

    return test


def _some(values: Iterable[Any]) -> Iterable[Any]:
    return islice(values, _ELEMENTS_MAX)
