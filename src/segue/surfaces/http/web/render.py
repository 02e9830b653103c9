"""From templates to responses: everything that is shown is escaped, and nothing comes from another host."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .... import __version__
from ....core.base.lazy import regex
from ....errors import SegueError, UsageError
from ...render import ago, bytes_words, count
from .visitor import Visitor, may

PREFIX = "/ui"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
TEXT_CHARS_MAX = 20_000
"""More of one text is not shown on a page."""
_TERMINAL_CODE = regex("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])")
_CONTROLS = regex("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_CODE = regex(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_BOLD = regex(r"(\*\*|(?<!\w)__)(?=\S)([^\n]{0,400}?\S)\1(?!\w)")
_HEADING = regex(r"^#{1,6}\s+", re.MULTILINE)
_LINK = regex(r"!?\[([^\]\[\n]{1,300})\]\([^()\s]{1,2000}\)")


def link(*parts: str, **fields: str | int) -> str:
    """The address of a page."""
    path = "/".join([PREFIX, *(quote(part, safe="") for part in parts)])
    given = {name: value for name, value in fields.items() if value not in ("", 0)}
    return f"{path}?{urlencode(given)}" if given else path


def clean(text: str) -> str:
    """A text of anybody as it is shown: without terminal codes and characters that turn it around."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _TERMINAL_CODE.sub("", text)
    return _CONTROLS.sub("\ufffd", text)


def shortened(text: str, chars: int = TEXT_CHARS_MAX) -> str:
    """The beginning of a long text, and how much there is."""
    return text if len(text) <= chars else f"{text[:chars]}\n… {len(text):,} characters in all"


def marked(text: str, marks: Sequence[tuple[int, int]]) -> Markup:
    """A text in which parts are marked."""
    shown, at = Markup(), 0
    for start, end in marks:
        shown += escape(clean(text[at:start])) + Markup("<mark>{}</mark>").format(clean(text[start:end]))
        at = end
    return shown + escape(clean(text[at:]))


def unmarked(text: str) -> str:
    """A text in Markdown as plain text: without the marks of bold words, headings and links. What stands in
    blocks and between backquotes stays as it is."""
    parts = _CODE.split(text)
    for at in range(0, len(parts), 2):
        parts[at] = _LINK.sub(r"\1", _HEADING.sub("", _BOLD.sub(r"\2", parts[at])))
    return "".join(parts)


def when(at: str) -> Markup:
    """A moment as "2 hours ago", with the exact time behind it."""
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(at, ago(at)) if at else Markup("–")


def with_code(text: str) -> Markup:
    """A sentence in which commands stand between backquotes."""
    parts = clean(text).split("`")
    shown = [
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    ]
    return Markup().join(shown) if len(parts) % 2 else escape(clean(text))


def anchor(text: str) -> str:
    """An id for the place of something on a page that stays the same while other things come and go."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _final(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value)
    return "" if value is None else value


@cache
def environment() -> Environment:
    """The templates."""
    made = Environment(
        loader=PackageLoader("segue.surfaces.http.web"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_final,
    )  # fmt: skip
    made.filters |= {
        "anchor": anchor, "with_code": with_code, "when": when, "marked": marked, "shortened": shortened,
        "size": bytes_words, "thousands": thousands, "dollars": dollars, "unmarked": unmarked,
    }  # fmt: skip
    made.globals |= {"link": link, "may": may, "count": count, "version": __version__}
    return made


def thousands(number: float) -> str:
    """A number of tokens in few signs: 950, 12.3k, 4.56M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.0f}"


def dollars(amount: float) -> str:
    """An amount of money."""
    return f"${amount:,.2f}" if amount >= 0.01 or not amount else f"${amount:.4f}"


def html(template: str, context: Mapping[str, Any], status_code: int = 200) -> Response:
    """A page."""
    text = environment().get_template(template).render(context)
    return HTMLResponse(text.encode("utf-8", "replace"), status_code, HEADERS)


def redirect(path: str) -> Response:
    """Go on to another page."""
    return RedirectResponse(path, 303, HEADERS)


def again_page(path: str) -> Response:
    """A page that loads an address once more. A browser that follows a link from another site sends no
    cookie; it does when this page sends it there."""
    context = {"visitor": None, "token": "", "title": "One moment", "said": "", "path": "", "target": path}
    return html("again.html", context)


def unknown_page() -> Response:
    """The page at an address where none is."""
    return problem_page(UsageError("there is no such page", hint="the address may be misspelt"), status=404)


def problem_page(
    fault: SegueError, visitor: Visitor | None = None, token: str = "", *, status: int = 0
) -> Response:
    """A page that says what is wrong and what to do."""
    context = {"visitor": visitor, "token": token, "title": "That did not work", "said": "", "path": ""}
    return html("problem.html", {**context, "fault": fault}, status or fault.http_status)
