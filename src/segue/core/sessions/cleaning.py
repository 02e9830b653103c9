"""Cleaning of commands: every text in a command passes ``clean_text`` before it becomes durable."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec

from ...errors import UsageError
from ..base.text import Mask, clean_text, is_harmless
from ..features.checks import Check
from .commands import Command, Create, Rewind, SaveAgent

C = TypeVar("C", bound=Command)

_MAY_BE_EMPTY = frozenset(
    "reason why note summary status position note_id note_title file cause by category claim covered first "
    "force head implemented_by notes of source".split()
)


def clean_command(command: C, mask: Mask | None = None) -> C:
    """The command with every text in it cleaned. Raises UsageError if a text that is required is empty."""
    changes: dict[str, Any] = {}
    for field, required in _fields(type(command)):
        value = getattr(command, field)
        if type(value) is str:
            if is_harmless(value):
                continue
            cleaned = clean_text(value, what=field, mask=mask).strip()
            if required and not cleaned:
                raise UsageError(f"the {field} is empty", hint="say it in a few words")
            if cleaned != value:
                changes[field] = cleaned
        elif value:
            changes[field] = _clean_nested(value, field, mask)
    return msgspec.structs.replace(command, **changes) if changes else command


@cache
def _fields(kind: type[Command]) -> tuple[tuple[str, bool], ...]:
    """The fields of a command that may contain text, and whether the text is required."""
    if kind in (Rewind, SaveAgent):
        return ()
    plain = ("bool", "int", "float")
    return tuple(
        (name, name not in _MAY_BE_EMPTY and kind is not Create)
        for name, annotation in kind.__annotations__.items()
        if annotation not in plain and not str(annotation).startswith("ClassVar")
    )


def _clean_nested(value: Any, what: str, mask: Mask | None) -> Any:
    if isinstance(value, str):
        return clean_text(value, what=what, mask=mask).strip()
    if isinstance(value, dict):
        return {_clean_nested(k, what, mask): _clean_nested(v, what, mask) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_clean_nested(v, what, mask) for v in value)
    if isinstance(value, Check):
        return _verified(value, mask)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **{k: _clean_nested(v, what, mask) for k, v in fields.items()})
    if isinstance(value, int | float) and not -(2.0**63) <= value < 2.0**63:
        raise UsageError(
            f"{what}: {value} cannot be stored", hint="numbers must be finite and fit into 64 bits"
        )
    return value


def _verified(check: Check, mask: Mask | None) -> Check:
    """The check, unless it would need cleaning: a cleaned command would be another one."""
    texts = [("command", word) for word in check.command]
    texts += [("environment", text) for pair in check.environment.items() for text in ("=".join(pair), *pair)]
    for name, text in (*texts, ("folder", check.folder), ("pattern", check.pattern)):
        if clean_text(text, what=name, mask=mask) != text:
            raise UsageError(
                f"the check's {name} contains a secret or control characters",
                hint="keep a secret in an environment variable, and name that in `check_environment`",
            )
    return check
