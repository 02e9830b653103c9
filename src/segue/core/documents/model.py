"""A document to be read by people: headings, facts, lists, quoted texts and folded parts.

What a document says is decided by whoever makes it; ``markdown.py`` and ``html.py`` write it as one file.
Texts in it are data from anywhere: a writer shows them as text, whatever they contain.
"""

from __future__ import annotations

from ..base.text import encodable, visible_text
from ..base.values import Value

LINE_CHARS_MAX = 2_000
"""How much of one line is shown."""


class Heading(Value):
    """A heading; ``aside`` is said beside it in small letters."""

    level: int
    text: str
    aside: str = ""


class Paragraph(Value):
    """A sentence or a few of the document's own."""

    text: str


class Facts(Value):
    """Labels with a value each; those without a value are left out."""

    rows: tuple[tuple[str, str], ...]


class Entry(Value):
    """An entry of a list."""

    text: str
    mark: str = ""
    aside: str = ""
    more: tuple[str, ...] = ()
    """Lines that belong to it."""


class Listing(Value):
    """A list."""

    entries: tuple[Entry, ...]


class Preformatted(Value):
    """A text whose line ends and spaces matter, such as the output of a program."""

    text: str


class Turn(Value):
    """What somebody said in a conversation."""

    who: str
    text: str
    aside: str = ""
    role: str = "agent"
    """user, agent or note; a way to show it."""


class Folded(Value):
    """A part that is shown when it is opened."""

    summary: str
    blocks: tuple[Block, ...]
    aside: str = ""
    failed: bool = False


Block = Heading | Paragraph | Facts | Listing | Preformatted | Turn | Folded


class Document(Value):
    """A whole document."""

    title: str
    blocks: tuple[Block, ...]
    footer: str = ""


def shown_text(text: str) -> str:
    """A text as every writer shows it: without what a person does not see, and no line longer than some."""
    text = visible_text(encodable(text))
    if len(text) <= LINE_CHARS_MAX:
        return text
    return "\n".join(
        line if len(line) <= LINE_CHARS_MAX else
        f"{line[:LINE_CHARS_MAX]} … ({len(line) - LINE_CHARS_MAX:,} more characters)"
        for line in text.split("\n")
    )  # fmt: skip


def shortened(text: str, chars: int) -> str:
    """At most so many characters of a text, its beginning and its end, and how many are left out between."""
    if len(text) <= chars:
        return text
    head, tail = chars * 2 // 3, chars // 3
    return f"{text[:head]}\n… ({len(text) - head - tail:,} characters left out) …\n{text[-tail:]}"


def first_line(text: str, chars: int) -> str:
    """The first line with content, shortened."""
    line = next((line for line in text[: 50 * chars].split("\n") if line.strip()), "").strip()
    return line if len(line) <= chars else f"{line[:chars].rstrip()}…"
