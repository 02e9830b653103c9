"""Texts within a number of bytes: cut between words, and without what a person would not see."""

from __future__ import annotations

from .lazy import regex
from .text import harmless_text, visible_text

_LIST_MARK = regex(r"\s+\d{1,2}[.)]$")


def size(text: str) -> int:
    """The length of a text in bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))


_SPACES = {ord("\n"): " ", ord("\t"): " "}


def plain(line: str) -> str:
    """The text on one line, as an agent may read it. It never gets longer."""
    line = visible_text(line)
    return harmless_text(line if line.isprintable() else line.translate(_SPACES))


def cut(text: str, most: int) -> str:
    """The text on one line in at most ``most`` bytes, cut after a sentence or a word; empty if no word
    fits."""
    text = plain(" ".join(text.split()))
    if size(text) <= most:
        return text
    short = text.encode("utf-8", "replace")[: max(0, most - 3)].decode("utf-8", "ignore")
    stop = max(short.rfind(". "), short.rfind("! "), short.rfind("? "))
    if stop > len(short) * 0.75:
        return short[: stop + 1] + "…"
    at = short.rfind(" ")
    if at < len(short) // 2:  # one long word: a path, or a language that is written without spaces
        return f"{short}…" if most >= 12 else ""
    return _LIST_MARK.sub("", short[:at]).rstrip(" ,;:.(—-") + "…"


def wrapped(line: str, most: int) -> list[str]:
    """The line in pieces of at most ``most`` characters, split after a sentence or between words where that
    is possible. Nothing is lost but the spaces in between."""
    pieces: list[str] = []
    while len(line) > most:
        head = line[: most + 1]
        ends = [head.rfind(sign) + 1 for sign in (". ", "! ", "? ", "; ")]
        at = max(ends) if max(ends) > most * 0.6 else head.rfind(" ")
        at = at if at > most // 3 else most
        pieces.append(line[:at].rstrip())
        line = line[at:].lstrip(" ")
    return [*pieces, line] if line or not pieces else pieces


def middle(text: str, most: int) -> str:
    """A name or a command of which both ends tell, in at most ``most`` bytes."""
    text = plain(" ".join(text.split()))
    if size(text) <= most:
        return text
    room = max(0, most - 3)
    raw = text.encode("utf-8", "replace")
    end = raw[len(raw) - room // 3 :].decode("utf-8", "ignore").lstrip()
    return f"{raw[: room - room // 3].decode('utf-8', 'ignore').rstrip()}…{end}"


_NO_QUOTES = {ord('"'): "'", ord("\n"): " "}


def quote(text: str, most: int = 1_000_000) -> str:
    """A quotation whose text cannot close it, cut inside its marks; empty if no word of it fits."""
    short = cut(text.translate(_NO_QUOTES), most - 2)
    return f'"{short}"' if short else ""
