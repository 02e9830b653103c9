"""Cleaning of every text before it becomes durable: size limit, control characters, secrets.

A text over its limit is refused, never truncated. Control characters, escape sequences, characters that
nobody sees and lone surrogates are removed (newlines and tabs stay); emoji and right-to-left
text are left as they are. What is read by an agent passes ``harmless_text`` on its way out as well, because
not all of it was stored by us. Secrets are masked by a function that the caller passes in, because its
rules live outside of core. Names become parts of paths, so a bad one is refused, not repaired.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...errors import BadName, TextTooLong
from .lazy import regex

TEXT_LIMIT_BYTES = 256 * 1024
"""The limit for one text of a command, such as a note, a goal or a reason."""

_SEQUENCES = (
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI sequences: colours, cursor moves
    "|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # OSC sequences: titles, links
)
ESCAPE_SEQUENCES = regex(_SEQUENCES)
_HARMLESS_CHARS = 400
_HARMLESS = regex(r"[A-Za-z0-9]{1,15}+(?:[ ,.;()/#!?]{1,3}+[A-Za-z0-9]{1,14}+)*+[,.;()/#!?]{0,3}+")
"""Matches texts of short words, which need no cleaning and are too short to be secrets by their shape."""
_TELLING = regex(
    r"(?i)pass|pwd|pw|psk|secret|token|key|credential|auth|sig|dsn|conn|access|bearer|basic|login|cookie"
    r"|oracle|sql|impdp|expdp|wif|seed|phrase|mnemonic|word|set"
)
"""Occurs in a text of such words that a secret by its place could be in."""
_SURROGATES = regex("[\ud800-\udfff]")
_NEVER_SEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_JOINERS, _VARIANTS = "\u200c-\u200f", "\ufe00-\ufe0f"
_BLANK_LETTERS = frozenset(
    [
        *"\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0",
        *(
            chr(code)
            for codes in ((0x180B, 0x1810), (0xFE00, 0xFE10), (0xE0100, 0xE01F0))
            for code in range(*codes)
        ),
    ]
)
"""Characters that count as printable and are not seen."""
_UNSEEN = regex(f"{_SEQUENCES}|[{_NEVER_SEEN}]")
_STRAY = regex(
    f"(?<![^\x00-\x7f])[{_JOINERS}{_VARIANTS}]|[{_JOINERS}](?![^\x00-\x7f])"
    f"|(?<=[{_JOINERS}{_VARIANTS}])[{_JOINERS}{_VARIANTS}]"
)
"""Characters that a terminal or a model processes but a person does not see. A joiner or a variant between
letters that are not ASCII stays: some scripts and emoji need it."""
_WITHOUT_BREAKS = {ord("\n"): None, ord("\t"): None}
_LINE_ENDS = regex("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WINDOWS = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)))
)
NAME_LIMIT = 128

Mask = Callable[[str], str]


def is_harmless(text: str) -> bool:
    """Whether a text needs neither cleaning nor masking: a test that is quick and often says no too early."""
    return (
        len(text) <= _HARMLESS_CHARS
        and _HARMLESS.fullmatch(text) is not None
        and _TELLING.search(text) is None
    )


def clean_text(
    text: str, *, what: str = "text", limit: int = TEXT_LIMIT_BYTES, mask: Mask | None = None
) -> str:
    """The text without control characters, and masked if ``mask`` is given.

    Raises TextTooLong, which calls the text ``what``, if it has more than ``limit`` bytes.
    """
    if not text.isascii() and not _is_encodable(text):
        text = _SURROGATES.sub("\ufffd", text)
    if not _is_visible(text):
        text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
    size = len(text) if text.isascii() else len(text.encode())
    if size > limit:
        raise TextTooLong(
            f"the {what} has {size:,} bytes; the limit is {limit:,}",
            hint="put long text in a file and give its path instead",
        )
    return mask(text) if mask and text else text


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_visible(text: str) -> bool:
    lines = text.translate(_WITHOUT_BREAKS) if "\n" in text or "\t" in text else text
    return lines.isprintable() and (text.isascii() or _BLANK_LETTERS.isdisjoint(text))


def visible_text(text: str) -> str:
    """The text without escape sequences and without characters that a person does not see. Line ends of every
    kind become newlines; tabs stay."""
    if _is_visible(text):
        return text
    text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
    while (shorter := _STRAY.sub("", text)) != text:
        text = shorter
    return text


_OPENINGS = frozenset("[［【〔⟦⁅❲")
_MARKS = regex(r"[\[［【〔⟦⁅❲]\s*([/／⁄∕]?)\s*segue\s*[\]］】〕⟧⁆❳]", re.I)


def harmless_text(text: str) -> str:
    """The text as an agent may read it: without what a person does not see, and with whatever looks like one
    of our marks in parentheses, so that no text from elsewhere can open or close a brief. It never gets
    longer."""
    text = visible_text(text)
    if not _OPENINGS.isdisjoint(text) and "segue" in lowered(text):
        text = _MARKS.sub(lambda mark: "(/segue)" if mark[1] else "(segue)", text)
    return text


def encodable(text: str) -> str:
    """A text that can be written as UTF-8: lone halves of surrogate pairs become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def clean_name(name: str, *, what: str = "id") -> str:
    """The name, unchanged, if it can be part of a path on every platform; raises BadName otherwise."""
    if not _NAME.fullmatch(name) or len(name) > NAME_LIMIT or ".." in name or name.endswith("."):
        raise BadName(
            f"{name[:60]!r} cannot be used as the {what}",
            hint=f"use letters, digits, dots, dashes and underscores, starting with a letter or a digit, "
            f"at most {NAME_LIMIT} characters",
        )
    if name.partition(".")[0].lower() in _WINDOWS:
        raise BadName(
            f"{name!r} cannot be used as the {what}: Windows reserves it", hint="add another word to it"
        )
    return name


def slug(text: str, *, limit: int = 40) -> str:
    """Lowercase letters, digits and dashes made from any text; never empty."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:limit].strip("-")
    return plain or "project"


def lowered(text: str) -> str:
    """The text in lower case, to look for words in it before an expression with ``re.I`` is tried.

    ``re.I`` takes a few letters for ASCII ones although their lower case differs: here they are the same."""
    low = text.lower()
    return (
        low if text.isascii() else low.replace("i\u0307", "i").replace("\u0131", "i").replace("\u017f", "s")
    )


def one_line(text: str) -> str:
    """The text on one line, as a person or an agent may read it."""
    return " ".join(harmless_text(encodable(text)).split())
