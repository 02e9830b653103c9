"""What a page consists of, as a browser would read it, and texts that must never become part of it."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

MARKUP = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "' autofocus onfocus='alert(4)",
    "<svg/onload=alert(5)>",
    "</textarea></title></style><iframe src=javascript:alert(6)>",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- --!> <b>bold</b> &lt;i&gt;",
    "javascript:alert(8)",
)
CODES = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ "
    "bell\x07 \x9b31m back\x08"
)
TURNED = "user\u202eresu\u202c \u2066isolated\u2069 \u200fmark \u061c end"
LONE = "half \ud800 of a pair \udfff"
HOSTILE = " ".join((*MARKUP, CODES, TURNED))
ELEMENTS = frozenset(
    "html head meta title link script body a header nav form label input span main p section h1 h2 h3 ul ol"
    " li div strong time meter progress code pre details summary button textarea select option mark table"
    " thead tbody tr th td br footer noscript".split()
)
"""The elements that pages are made of."""
ADDRESSES = ("href", "src", "action", "hx-get", "formaction")


class PageParts(HTMLParser):
    """The elements, the attributes and the visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def of(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def faults_in(page: str) -> list[str]:
    """What is on a page that may not be there: elements, attributes or addresses that are not ours, and
    characters that turn a text around or command a terminal."""
    parts, found = PageParts(page), []
    for tag, attributes in parts.elements:
        if tag not in ELEMENTS:
            found.append(f"<{tag}>")
        found += [f"{tag} {name}" for name in attributes if name.startswith("on") or name == "style"]
        found += [
            f"{tag} {name}={attributes[name][:80]}"
            for name in ADDRESSES
            if name in attributes and not attributes[name].startswith(("/ui", "#"))
        ]
    found += [
        f"character {ord(sign):#x}"
        for sign in sorted(set(page) - set("\n\t"))
        if unicodedata.category(sign) in ("Cc", "Cs")
        or unicodedata.bidirectional(sign) in _TURNING
        or sign in MARKS
    ]
    return found


MARKS = "\u061c\u200e\u200f"
_TURNING = ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")
