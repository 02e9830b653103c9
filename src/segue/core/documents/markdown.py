"""A document as Markdown, in the dialect of GitHub.

A text never becomes markup: what Markdown or HTML would take for a sign is escaped, and a text whose layout
matters stands in a fence that is longer than any in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..base.lazy import regex
from .model import (
    Block,
    Document,
    Entry,
    Facts,
    Folded,
    Heading,
    Listing,
    Paragraph,
    Preformatted,
    Turn,
    shown_text,
)

_SIGNS = regex(r"([\\`*_{}\[\]<>#|~!&$])")
_AT_START = regex(r"^(?:([-+=])(?=\s|[-=]*$)|(\d+)([.)])(?=\s|$))")
_TICKS = regex("`{3,}")


def markdown(document: Document) -> str:
    """The document as a Markdown file."""
    parts = [f"# {_inline(document.title)}", *map(_block, document.blocks)]
    if document.footer:
        parts.append(f"---\n\n{_inline(document.footer)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _inline(text: str) -> str:
    """A text on one line, as text."""
    line = _SIGNS.sub(r"\\\1", " ".join(shown_text(text).split()))
    return _AT_START.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", line)


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * min(6, max(2, block.level))} {_inline(block.text)}{_aside(block.aside)}"
        case Paragraph():
            return _prose(block.text)
        case Facts():
            return "\n".join(f"- {_inline(name)}: {_inline(value)}" for name, value in block.rows if value)
        case Listing():
            return "\n".join(map(_entry, block.entries))
        case Preformatted():
            return _fenced(block.text)
        case Turn():
            return f"#### {_inline(block.who)}{_aside(block.aside)}\n\n{_quoted(block.text)}"
        case Folded():
            aside = f" ({escape(' '.join(shown_text(block.aside).split()))})" if block.aside else ""
            head = escape(" ".join(shown_text(block.summary).split()))
            body = "\n\n".join(map(_block, block.blocks))
            return f"<details><summary>{head}{aside}</summary>\n\n{body}\n\n</details>"


def _aside(text: str) -> str:
    return f" ({_inline(text)})" if text else ""


def _entry(entry: Entry) -> str:
    mark = f"{_inline(entry.mark)} " if entry.mark else ""
    head = f"- {mark}{_inline(entry.text)}{_aside(entry.aside)}"
    return "\n".join([head, *(f"  - {_inline(line)}" for line in entry.more)])


def _prose(text: str) -> str:
    return "\n\n".join(_inline(part) for part in shown_text(text).split("\n\n") if part.strip())


def _quoted(text: str) -> str:
    """What somebody said: as a quotation or, where spaces at the beginning of lines matter, in a fence."""
    lines = shown_text(text).strip("\n").split("\n")
    if any(line[:1] in " \t`" for line in lines if line):
        return _fenced(text)
    return _joined(f"> {_inline(line)}" if line.strip() else ">" for line in lines)


def _joined(lines: Iterable[str]) -> str:
    """Lines that stay lines: a backslash at the end breaks one."""
    kept = list(lines)
    broken = [
        f"{line}\\" if line != ">" and following != ">" else line
        for line, following in zip(kept, [*kept[1:], ">"], strict=True)
    ]
    return "\n".join(broken)


def _fenced(text: str) -> str:
    text = shown_text(text).strip("\n")
    longest = max(map(len, _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"
