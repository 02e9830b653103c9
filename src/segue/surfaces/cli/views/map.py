"""Answers of the map for people: places with their lines, what is only guessed marked as such."""

from __future__ import annotations

from collections.abc import Iterable

from ....core.codemap.central import MapFile
from ....core.codemap.questions import Place, Reached, Use
from ....services.codemap.ask import MapAnswer
from ...render import Style, count, one_line

SHOWN_MAX, LINES_MAX = 40, 5


def map_lines(answer: MapAnswer, style: Style) -> list[str]:
    """An answer in lines."""
    if answer.question == "central":
        lines = [_file_line(file, style) for file in answer.files] or ["no code here that Segue can map"]
        if answer.left_out:
            more = f"{answer.tokens:,} tokens; {count(answer.left_out, 'more file')}"
            lines += ["", style.paint(more, "dim")]
    else:
        lines = _about(answer, style)
        found = _uses(answer, style) if answer.uses else _reached(answer.reached, style)
        lines += found[:SHOWN_MAX] or [f"  {_nothing(answer)}"]
        if len(found) > SHOWN_MAX:
            lines.append(style.paint(f"  {len(found) - SHOWN_MAX} more; --json shows them", "dim"))
    if answer.not_mapped:
        lines += ["", style.paint(f"{count(answer.not_mapped, 'file')} not mapped yet: ask again", "yellow")]
    return lines


def _nothing(answer: MapAnswer) -> str:
    if answer.question in ("affected", "tests") and not answer.about:
        return "no mapped file has uncommitted changes"
    return {
        "users": "nothing here uses it, as far as the syntax shows",
        "uses": "it uses nothing of this project",
        "affected": "nothing else here uses it, as far as the syntax shows",
        "tests": "no test reaches it, as far as the syntax shows",
    }[answer.question]


def _file_line(file: MapFile, style: Style) -> str:
    names = ", ".join(f"{one_line(one.name)} {one.line}" for one in file.symbols)
    path = style.paint(one_line(file.path), "bold" if file.touched else "")
    return f"{path}: {names}" if names else path


def _about(answer: MapAnswer, style: Style) -> list[str]:
    heads = {
        "users": "who uses", "uses": "what is used by", "affected": "affected by",
        "tests": "tests that reach",
    }  # fmt: skip
    named = [_place(place) for place in answer.about[:8]]
    more = f" and {len(answer.about) - 8} more" if len(answer.about) > 8 else ""
    whom = ", ".join(named) + more if named else "what is not committed"
    return [f"{heads[answer.question]} {style.paint(whom, 'bold')}:"]


def _place(place: Place) -> str:
    where = f"{one_line(place.path)}:{place.line}"
    return f"{one_line(place.name)} ({where})" if place.name else one_line(place.path)


def _uses(answer: MapAnswer, style: Style) -> list[str]:
    return [_use_line(use, answer.question, style) for use in answer.uses]


def _use_line(use: Use, question: str, style: Style) -> str:
    shown = ", ".join(str(line) for line in use.lines[:LINES_MAX]) + (
        " …" if len(use.lines) > LINES_MAX else ""
    )
    guess = style.paint("  by its name only", "dim") if not use.sure else ""
    if question == "users":
        who = one_line(use.place.name) or "at the top"
        return f"  {one_line(use.path)}:{shown}  {who}  {style.paint(use.kind, 'dim')}{guess}"
    return f"  {_place(use.place)}  {style.paint(f'{use.kind} in line {shown}', 'dim')}{guess}"


def _reached(reached: Iterable[Reached], style: Style) -> list[str]:
    return [
        f"  {one.steps}  {_place(one.place)}  {style.paint(f'through {one_line(one.through)}', 'dim')}"
        + (style.paint("  by its name only", "dim") if not one.sure else "")
        for one in reached
    ]
