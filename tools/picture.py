"""The moving picture of the README: what `demo/next_run_knows.py` printed, and when, as an SVG that plays.

``python -m tools.picture docs/pictures/next-run.svg`` runs the demonstration and records it. Nothing is made
up: lines appear in their order, with pauses no longer than a reader needs. Where motion is unwelcome all is
there at once. There is no script in the picture, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COLUMNS = 108
LINE, CHAR, PAD = 19, 7.83, 22
READ_SECONDS, TYPED_SECONDS, END_SECONDS = 0.28, 0.9, 6.0
FIRST, LAST = "6. An agent works", "✓ in at most 2,048 bytes"
STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }
.dim { fill: #8b97a8 } .good { fill: #7fd88f } .bad { fill: #ff8b84 } .typed { fill: #fff; font-weight: 600 }
.label { fill: #82c7ff; font-weight: 600 }
@media (prefers-reduced-motion: no-preference) {
  .line { opacity: 0; animation: show 0.01s linear forwards }
  @keyframes show { to { opacity: 1 } }
}
"""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FOLDER = re.compile(r"/tmp/segue-demo-\w+/shop")
_LABEL = re.compile(r"^( *)((?:USER|TRAIL|OPEN|TREE|LAST WORDS|FACTS|RULES)\b[^:]*:)(.*)$")


class Line(NamedTuple):
    """A line of the terminal, and when it appears."""

    at: float
    text: str


def recorded() -> list[Line]:
    """What the demonstration printed, with the moments at which each line was whole."""
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as home:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "demo" / "next_run_knows.py")], stdout=subprocess.PIPE, text=True,
            env={"HOME": home, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"},
        )  # fmt: skip
        assert process.stdout is not None
        began = time.monotonic()
        for text in process.stdout:
            shown = _FOLDER.sub("~/shop", _COLOUR.sub("", text.rstrip("\n")))
            lines.append(Line(time.monotonic() - began, shown))
        if process.wait():
            raise SystemExit("the demonstration failed, so there is nothing to show")
    return lines


def chosen(lines: Iterable[Line]) -> list[Line]:
    """The part that the picture shows, wrapped, with pauses that suit a reader."""
    made: list[Line] = []
    at, shows = 0.4, False
    for line in lines:
        shows = shows or line.text.startswith(FIRST)
        if not shows:
            continue
        at += TYPED_SECONDS if line.text.lstrip().startswith(("$", "7.")) else READ_SECONDS
        for piece in wrapped(re.sub(r"^\d\. ", "", line.text)):
            made.append(Line(at, piece))
            at += 0.06
        if LAST in line.text:
            break
    return made


def wrapped(text: str) -> Iterator[str]:
    """A line in pieces that fit, the later ones set in."""
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    while len(text) > COLUMNS:
        cut = text.rfind(" ", len(indent) + 1, COLUMNS)
        cut = cut if cut > 0 else COLUMNS
        yield text[:cut]
        text = indent + text[cut:].lstrip()
    yield text


def marked(text: str) -> str:
    """A line as SVG, in the colours of its parts."""
    bare = text.strip()
    if found := _LABEL.match(text):
        return f'{found[1]}<tspan class="label">{escape(found[2])}</tspan>{escape(found[3])}'
    if bare.startswith(("$ segue", "$ ")) and not text.startswith("  - "):
        return f'<tspan class="typed">{escape(text)}</tspan>'
    if "✗" in text or "FAILED" in text or "NO RESULT" in text:
        return f'<tspan class="bad">{escape(text)}</tspan>'
    if bare.startswith("✓"):
        return f'<tspan class="good">{escape(text)}</tspan>'
    if not text.startswith(" ") or re.match(r"\[/?segue\]", bare):
        return f'<tspan class="dim">{escape(text)}</tspan>'
    return escape(text)


def picture(lines: list[Line]) -> str:
    """The SVG."""
    width, height = round(COLUMNS * CHAR + 2 * PAD), len(lines) * LINE + 2 * PAD + 26
    rows = [
        f'<text class="line" style="animation-delay:{line.at:.2f}s" x="{PAD}" y="{PAD + 40 + number * LINE}"'
        f' xml:space="preserve">{marked(line.text)}</text>'
        for number, line in enumerate(lines)
    ]
    dots = "".join(
        f'<circle cx="{PAD + 18 * n}" cy="20" r="6" fill="{colour}"/>'
        for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    title = "An agent is killed in the middle of a command; segue brief tells the next run where it stopped"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
            f' aria-label="{title}">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#0f1720"/>{dots}',
            *rows,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(chosen(recorded())), encoding="utf-8")
