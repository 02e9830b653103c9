"""The one door that every durable text passes: size, control characters, secrets.

A text over its limit is refused, never cut. Control characters, escape sequences, bidi
overrides and lone surrogates are taken out (new line and tab stay); emoji and right-to-left
text pass as they are. Secrets are masked by the function that the caller hands in, because
its rules are an effect's business. Names become parts of paths, so they are checked, not mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec

from ...errors import BadName, TextTooLong, UsageError
from ..features.evidence import Check
from ..sessions.commands import Command, Create, Rewind, SaveAgent
from .lazy import regex

TEXT_LIMIT_BYTES = 256 * 1024
"""For one text of a command: a note, a goal, a reason."""

_CONTROLS = regex(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI sequences: colours, cursor moves
    "|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # OSC sequences: titles, links
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_HARMLESS_CHARS, _WORD_CHARS = 400, 14
_HARMLESS = regex(r"[A-Za-z0-9]{1,15}+(?:[ ,.;()/#!?]{1,3}+[A-Za-z0-9]{1,14}+)*+[,.;()/#!?]{0,3}+")
"""Short words of plain letters: nothing to take out, and too short for any secret."""
_SURROGATES = regex("[\ud800-\udfff]")
_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WINDOWS = regex(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
NAME_LIMIT = 128

Mask = Callable[[str], str]
C = TypeVar("C", bound=Command)


def clean_text(
    text: str, *, what: str = "text", limit: int = TEXT_LIMIT_BYTES, mask: Mask | None = None
) -> str:
    """A text as it may become durable."""
    if not text.isascii() or not text.isprintable():
        text = _SURROGATES.sub("\ufffd", text)
        text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    size = len(text) if text.isascii() else len(text.encode())
    if size > limit:
        raise TextTooLong(
            f"the {what} has {size:,} bytes; the limit is {limit:,}",
            hint="keep long text in a file and name its path",
        )
    return mask(text) if mask and text else text


def clean_name(name: str, *, what: str = "id") -> str:
    """A name that can stand in a path on any platform, or BadName."""
    if not _NAME.fullmatch(name) or len(name) > NAME_LIMIT or ".." in name or name.endswith("."):
        raise BadName(
            f"{name[:60]!r} cannot be the {what}",
            hint=f"letters, digits, dots, dashes, underscores; a letter or digit first; {NAME_LIMIT} at most",
        )
    if _WINDOWS.fullmatch(name):
        raise BadName(f"{name!r} cannot be the {what}: some systems reserve it", hint="add a word to it")
    return name


def slug(text: str, *, limit: int = 40) -> str:
    """A part of a name made of any text; never empty."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:limit].strip("-")
    return plain or "project"


_MAY_BE_EMPTY = {
    "reason",
    "why",
    "note",
    "summary",
    "status",
    "position",
    "note_id",
    "note_title",
    "file",
    "cause",
    "by",
    "category",
    "claim",
    "covered",
    "first",
    "force",
    "head",
    "implemented_by",
    "notes",
    "source",
}


def are_harmless(words: list[str], text: str) -> bool:
    """Whether a text of these words is plainly nothing to clean. False says nothing: ask the pattern."""
    return (
        0 < len(text) <= _HARMLESS_CHARS
        and text.isascii()
        and "".join(words).isalnum()
        and len(max(words, key=len)) <= _WORD_CHARS
    )


def clean_command(command: C, mask: Mask | None = None) -> C:
    """The command with every text in it cleaned; names are checked, empty wishes refused."""
    changes: dict[str, Any] = {}
    for field, required in _fields(type(command)):
        value = getattr(command, field)
        if type(value) is str:
            if len(value) <= _HARMLESS_CHARS and _HARMLESS.fullmatch(value):
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
    """The fields of a command that may hold text, and whether they must."""
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
        return _as_it_is(value, mask)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **{k: _clean_nested(v, what, mask) for k, v in fields.items()})
    if isinstance(value, int | float) and not -(2.0**63) <= value < 2.0**63:
        raise UsageError(
            f"{what}: {value} is too large, or no number", hint="whole numbers have 64 bits here"
        )
    return value


def _as_it_is(check: Check, mask: Mask | None) -> Check:
    """A check that needs no cleaning: a command that was mended would be another one."""
    texts = [("command", word) for word in check.command]
    texts += [("environment", text) for pair in check.environment.items() for text in ("=".join(pair), *pair)]
    for name, text in (*texts, ("folder", check.folder), ("pattern", check.pattern)):
        if clean_text(text, what=name, mask=mask) != text:
            raise UsageError(
                f"the check's {name} holds a secret or control characters",
                hint="name the variable that has the secret; `check_environment` lets it through",
            )
    return check
