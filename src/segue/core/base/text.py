"""The one door that every durable text passes: size, control characters, secrets.

A text over its limit is refused, never cut. Control characters, escape sequences, bidi
overrides and lone surrogates are taken out (new line and tab stay); emoji and right-to-left
text pass as they are. Secrets are masked by the function that the caller hands in, because
its rules are an effect's business. Names become parts of paths, so they are checked, not mended.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from ...errors import BadName, TextTooLong
from .lazy import regex

TEXT_LIMIT_BYTES = 256 * 1024
"""For one text of a command: a note, a goal, a reason."""

_SEQUENCES = (
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI sequences: colours, cursor moves
    "|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # OSC sequences: titles, links
)
ESCAPE_SEQUENCES = regex(_SEQUENCES)
_CONTROLS = regex(f"{_SEQUENCES}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
HARMLESS_CHARS = 400
HARMLESS = regex(r"[A-Za-z0-9]{1,15}+(?:[ ,.;()/#!?]{1,3}+[A-Za-z0-9]{1,14}+)*+[,.;()/#!?]{0,3}+")
"""Short words of plain letters: nothing to take out, and too short for any secret."""
_SURROGATES = regex("[\ud800-\udfff]")
_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WINDOWS = regex(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
NAME_LIMIT = 128

Mask = Callable[[str], str]


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


def encodable(text: str) -> str:
    """A text that can be written as UTF-8: halves of surrogate pairs, which are no text, become question
    marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


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


def one_line(text: str) -> str:
    """A text of any length on one line, without anything that steers a terminal."""
    return " ".join(clean_text(text, limit=sys.maxsize).split())
