"""A document as one HTML file: readable anywhere, without a script and without anything from other hosts.

Every text is escaped. A policy in the file forbids whatever an error of ours might let through.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

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

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --dim: #57606a; --line: #d0d7de;
  --soft: #f6f8fa; --mine: #ddf4ff; --bad: #b31d28 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --dim: #9aa4af;
  --line: #30363d; --soft: #161b22; --mine: #12283c; --bad: #ff9a92 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 56rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; line-height: 1.3 } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line) }
h2 { font-size: 1.15rem } h3 { font-size: 1rem; color: var(--dim) } h4 { font-size: 1rem; margin: .2rem 0 }
small, .aside, footer { color: var(--dim); font-weight: normal; font-size: .85rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { color: var(--dim) }
dd { margin: 0 } ul { padding-left: 1.2rem } ul.marked { padding-left: 0; list-style: none }
li { margin: .2rem 0 }
.mark { display: inline-block; min-width: 1.3em }
.text { white-space: pre-wrap }
.turn { margin: .6rem 0; padding: .4rem .8rem; border-left: 3px solid var(--line) }
.turn.user { background: var(--mine) } .turn.note { color: var(--dim) }
pre { margin: .4rem 0; padding: .6rem .8rem; background: var(--soft); border: 1px solid var(--line);
  border-radius: 6px; white-space: pre-wrap; font: .85rem/1.45 ui-monospace, monospace }
details { margin: .4rem 0; padding: .1rem .8rem; border-left: 3px solid var(--line) }
summary { cursor: pointer } .failed > summary { color: var(--bad) }
@media print { details { border: 0 } }
"""


def html(document: Document) -> str:
    """The document as an HTML file."""
    title = _text(document.title)
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="robots" content="noindex"><meta name="referrer" content="no-referrer">',
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>",
        *_blocks(document.blocks),
        f"</main>\n<footer>{_text(document.footer)}</footer>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _text(text: str) -> str:
    return escape(shown_text(text))


def _blocks(blocks: Iterable[Block]) -> Iterable[str]:
    return map(_block, blocks)


def _block(block: Block) -> str:
    match block:
        case Heading():
            level = min(6, max(2, block.level))
            return f"<h{level}>{_text(block.text)}{_aside(block.aside)}</h{level}>"
        case Paragraph():
            return f'<p class="text">{_text(block.text)}</p>'
        case Facts():
            rows = (f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in block.rows if value)
            return f"<dl>{''.join(rows)}</dl>"
        case Listing():
            name = ' class="marked"' if any(entry.mark for entry in block.entries) else ""
            return f"<ul{name}>{''.join(map(_entry, block.entries))}</ul>"
        case Preformatted():
            return f'<pre tabindex="0">{_text(block.text)}</pre>'
        case Turn():
            head = f"<h4>{_text(block.who)}{_aside(block.aside)}</h4>"
            body = f'<div class="text">{_text(block.text)}</div>'
            return f'<section class="turn {escape(block.role)}">{head}{body}</section>'
        case Folded():
            name = ' class="failed"' if block.failed else ""
            head = f"<summary>{_text(block.summary)}{_aside(block.aside)}</summary>"
            return f"<details{name}>{head}{''.join(_blocks(block.blocks))}</details>"


def _aside(text: str) -> str:
    return f" <small>{_text(text)}</small>" if text else ""


def _entry(entry: Entry) -> str:
    mark = f'<span class="mark">{_text(entry.mark)}</span> ' if entry.mark else ""
    more = "".join(f'<div class="text aside">{_text(line)}</div>' for line in entry.more)
    return f'<li>{mark}<span class="text">{_text(entry.text)}</span>{_aside(entry.aside)}{more}</li>'
