"""What the benchmarks share: medians, ratios, tables, blocks of text, the machine in a line."""

from __future__ import annotations

import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence


def timed(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_ms(seconds: Sequence[float]) -> float:
    """The median, in milliseconds."""
    return statistics.median(seconds) * 1000


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """An aligned table in Markdown, as docs/benchmarks.md keeps it."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(f"\n### {title}\n")
    for number, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def fenced(text: str) -> str:
    """A text as a block of Markdown that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def machine() -> str:
    """Where this was measured."""
    import apsw

    return f"{platform.machine()}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"


def must_be_compiled() -> None:
    """Say it if imports would be compiled anew each time: then figures of start-up are worthless."""
    if sys.flags.dont_write_bytecode:
        print(
            "note: PYTHONDONTWRITEBYTECODE is set; use `make bench-…`, which measures in a clean environment"
        )
