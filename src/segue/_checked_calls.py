"""The boundary of the library: arguments are of the kind that a function asks for, and no exception but ours
leaves it.

``checked`` wraps a function, or every public method of a class. A wrong kind is a ``BadValue`` before
anything is done. None for an argument that has a default stands for the default. An exception of another kind
that arises inside is turned into an error of ours, unless it comes out of code that the caller passed in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

from ._value_kinds import test_of
from .errors import BadValue, SegueError, UnexpectedError, of_os

T = TypeVar("T")
_PACKAGE = str(Path(__file__).parent)
_SURFACES = os.path.join(_PACKAGE, "surfaces")
CO_VARARGS, CO_VARKEYWORDS = 4, 8
"""Flags of a function's code: it takes any arguments, by place or by name."""
_NUMBER_MAX = 2**63
_UNKNOWN: Any = object()


def checked(target: T) -> T:
    """The function or class, checked at its boundary."""
    if not isinstance(target, type):
        return _checked_function(target)  # type: ignore[arg-type, return-value]
    for name in dir(target):
        if name.startswith("_") and name != "__init__":
            continue
        owner = next((one for one in target.__mro__ if name in vars(one)), object)
        found = vars(owner).get(name)
        if not getattr(owner, "__module__", "").startswith("segue") or getattr(found, "is_checked", False):
            continue
        if isinstance(found, classmethod | staticmethod):
            setattr(target, name, type(found)(_checked_function(found.__func__)))
        elif isinstance(found, FunctionType):
            setattr(target, name, _checked_function(found))
    return target


def _checked_function(function: Callable[..., Any]) -> Callable[..., Any]:
    kinds: list[_Parameters] = []

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if not kinds:
            kinds.append(_Parameters(function))
        args, named = kinds[0].checked(args, named)
        try:
            return function(*args, **named)
        except SegueError:
            raise
        except Exception as fault:
            error = _error_of(fault, function.__name__)
            if error is None:
                raise
            raise error from fault

    call.is_checked = True  # type: ignore[attr-defined]
    return call


class _Parameters:
    """The parameters of a function, with the kinds that they ask for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        own: Any = function
        while hasattr(own, "__wrapped__"):
            own = own.__wrapped__
        code, defaults = own.__code__, own.__defaults__ or ()
        names = list(code.co_varnames)
        module = vars(sys.modules[function.__module__])
        self._name = function.__name__
        self._by_place = names[: code.co_argcount]
        more = code.co_argcount + code.co_kwonlyargcount
        rest = [names.pop(more) if code.co_flags & flag else "" for flag in (CO_VARARGS, CO_VARKEYWORDS)]
        self._rest, self._named_rest = rest
        self._kinds = {
            name: _hint(own.__annotations__.get(name, _UNKNOWN), module)
            for name in (*names[:more], *filter(None, rest))
        }
        with_default = self._by_place[len(self._by_place) - len(defaults) :]
        self._defaults = {**dict(zip(with_default, defaults, strict=True)), **(own.__kwdefaults__ or {})}

    def checked(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with defaults for None. Raises BadValue."""
        for at, value in enumerate(args):
            name = self._by_place[at] if at < len(self._by_place) else self._rest
            if not name:
                break  # Python says that these are too many
            if value is None and name in self._defaults:
                args = (*args[:at], self._defaults[name], *args[at + 1 :])
            else:
                self._check(name, value, self._kinds[name])
        for name, value in named.items():
            if value is None and name in self._defaults:
                named = {**named, name: self._defaults[name]}
            elif known := name if name in self._kinds else self._named_rest:
                self._check(name, value, self._kinds[known])
        return args, named

    def _check(self, name: str, value: Any, kind: Any) -> None:
        if kind is _UNKNOWN or (type(value) is kind and kind is str):  # nearly always
            return
        if not test_of(kind)(value):
            what = f"of the wrong kind: {type(value).__name__}"
            raise BadValue(f"`{name}` of {self._name} is {what}", hint=f"it should be {_told(kind)}")
        if type(value) is int and kind is not Any and abs(value) >= _NUMBER_MAX:
            raise BadValue(f"`{name}` of {self._name} is too large a number", hint="it has at most 18 digits")


def _hint(annotation: Any, module: Mapping[str, Any]) -> Any:
    """The type that an annotation names; unknown if it is only known to type checkers."""
    if annotation is _UNKNOWN:
        return _UNKNOWN
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(module))
    except Exception:
        return _UNKNOWN


def _told(kind: Any) -> str:
    """A type in the words of its annotation."""
    return getattr(kind, "__name__", "") if isinstance(kind, type) else str(kind).replace("typing.", "")


def _error_of(fault: Exception, name: str) -> SegueError | None:
    """The error for an exception that is not ours; None if it came out of code that the caller passed in, or
    is one of a class of ours."""
    if type(fault).__module__.startswith("segue.") or _is_from_caller(fault):
        return None
    if isinstance(fault, OSError):
        return of_os(fault)
    if isinstance(fault, RecursionError):
        return BadValue(f"{name}: a value is nested too deeply")
    if isinstance(fault, UnicodeEncodeError):
        return BadValue(f"{name}: a text is not valid Unicode")
    if isinstance(fault, ValueError) and "null byte" in str(fault):
        return BadValue(f"{name}: a path contains a zero byte")
    if isinstance(fault, TypeError) and "argument" in str(fault) and "()" in str(fault):
        return BadValue(f"{name}: {str(fault).rpartition('() ')[2]}")
    return UnexpectedError(f"unexpected error in {name}: {type(fault).__name__}: {fault}")


def _is_from_caller(fault: BaseException) -> bool:
    """Whether an exception was raised in, or below, a function of the caller that we called."""
    frames = []
    traceback = fault.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return any(_is_foreign(name) for name in frames)


def _is_foreign(filename: str) -> bool:
    """Whether a file is neither ours, except for the surfaces, nor of Python or of an installed package."""
    if filename.startswith(_SURFACES):
        return True
    if filename.startswith((_PACKAGE, "<")):
        return False
    library = os.path.dirname(os.__file__)
    return not filename.startswith(library) and f"{os.sep}site-packages{os.sep}" not in filename
