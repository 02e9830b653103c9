"""The map as a picture: in the language of Graphviz, and as SVG in columns, drawn without any program.

Names come from code that anybody may have written: they are cleaned, cut and escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..base.text import harmless_text
from ..base.values import Value

LABEL_CHARS = 60
NODES_MAX = 150
_CHAR, _ROW, _GAP, _PAD, _BOX = 7.2, 30.0, 90.0, 20.0, 22.0


class MapLink(Value):
    """An arrow of the picture: who uses what, both by their labels."""

    user: str
    used: str
    sure: bool = True


def _label(text: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in harmless_text(text))
    plain = " ".join(plain.split())
    return plain if len(plain) <= LABEL_CHARS else f"…{plain[1 - LABEL_CHARS :]}"


def _drawn(nodes: Iterable[str], links: Iterable[MapLink]) -> tuple[list[str], list[MapLink]]:
    links = list(links)
    ends = [end for link in links for end in (link.user, link.used)]
    shown = list(dict.fromkeys([*nodes, *ends]))[:NODES_MAX]
    known = set(shown)
    return shown, [link for link in links if link.user in known and link.used in known]


def dot(nodes: Iterable[str], links: Iterable[MapLink]) -> str:
    """The picture in the language of Graphviz."""
    shown, arrows = _drawn(nodes, links)
    number = {name: at for at, name in enumerate(shown)}
    lines = ["digraph map {", "  rankdir=LR;", '  node [shape=box, fontname="monospace"];']
    lines += [f'  n{at} [label="{_in_dot(name)}"];' for name, at in number.items()]
    for link in arrows:
        style = "" if link.sure else " [style=dashed]"
        lines.append(f"  n{number[link.user]} -> n{number[link.used]}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _in_dot(name: str) -> str:
    return _label(name).replace("\\", "\\\\").replace('"', '\\"')


def svg(nodes: Iterable[str], links: Iterable[MapLink]) -> str:
    """The picture as SVG: users to the left of what they use, a column a step."""
    shown, arrows = _drawn(nodes, links)
    columns = _columns(shown, arrows)
    places: dict[str, tuple[float, float, float]] = {}
    left = _PAD
    for column in columns:
        width = max(len(_label(name)) for name in column) * _CHAR + 16
        for row, name in enumerate(column):
            places[name] = (left, _PAD + row * _ROW, width)
        left += width + _GAP
    width = max(left - _GAP + _PAD, 2 * _PAD)
    height = 2 * _PAD + max((len(column) for column in columns), default=0) * _ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#667"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
    ]
    lines += [_arrow(places[link.user], places[link.used], link.sure) for link in arrows]
    for name, (x, y, wide) in places.items():
        lines.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{_BOX:.0f}" rx="4" fill="#eef2fb"'
            f' stroke="#667"/><text x="{x + 8:.0f}" y="{y + 15:.0f}" fill="#112">{_in_svg(name)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _in_svg(name: str) -> str:
    return escape(_label(name))


def _columns(nodes: Sequence[str], links: Sequence[MapLink]) -> list[list[str]]:
    """The nodes in columns, each one right of its users as far as no circle forbids it."""
    used: dict[str, list[str]] = {}
    for link in links:
        if link.user != link.used:
            used.setdefault(link.user, []).append(link.used)
    has_user = {one for ones in used.values() for one in ones}
    depth: dict[str, int] = {}
    for start in [*(name for name in nodes if name not in has_user), *nodes]:
        if start in depth:
            continue
        depth[start] = 0
        front = [start]
        while front:  # breadth first: each node stands where it is first met
            after = []
            for name in front:
                for other in used.get(name, ()):
                    if other not in depth:
                        depth[other] = depth[name] + 1
                        after.append(other)
            front = after
    columns: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in nodes:
        columns[depth[name]].append(name)
    return [column for column in columns if column]


def _arrow(user: tuple[float, float, float], used: tuple[float, float, float], sure: bool) -> str:
    x1, y1 = user[0] + user[2], user[1] + _BOX / 2
    x2, y2 = used[0], used[1] + _BOX / 2
    bend = max(30.0, abs(x2 - x1) / 2)
    dashes = "" if sure else ' stroke-dasharray="4 3"'
    return (
        f'<path d="M{x1:.0f} {y1:.0f} C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"'
        f' fill="none" stroke="#667" marker-end="url(#tip)"{dashes}/>'
    )
