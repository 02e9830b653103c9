"""Compacts old notes into archives by month, by extraction; with ``keep`` nothing is lost.

An archive has the parts of each note that a reader wants after months, under the name and the hash of the
note's file. It is durable before a note is removed, and a note that it has already is not added again, so a
crash in between costs nothing. A note that changed meanwhile stays. With ``keep`` all notes stay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from .._failpoints import trip
from .._files import read_bytes
from ..core.base.lazy import regex
from ..core.base.values import Value
from ..core.handover.markdown_layers import extract
from .memory import MemoryStore, tag_of

Condense = Callable[[Mapping[str, str]], str]
"""From notes by their names to lines about what still matters."""
_SPLIT = regex(r"(?m)^(?=<!-- agent-handover \| layer1 \| )")


class CompactionReport(Value):
    """The result of a compaction."""

    archives: list[str]
    """The files of layer 3 that were written."""
    notes: int
    """How many files of layer 1 went into them."""
    removed: int
    kept: bool
    bytes_before: int = 0
    bytes_after: int = 0


def compact(
    store: MemoryStore, *, months: int = 1, keep: bool = False, today: date | None = None,
    dry_run: bool = False, condense: Condense | None = None,
) -> CompactionReport:  # fmt: skip
    """Compact all notes except those of the newest ``months`` calendar months.

    ``condense`` may add a summary of the new notes to an archive; it never removes anything."""
    limit = _month_before(today or date.today(), months)
    old = [path for path in store.files(1) if _month(path) and _month(path) <= limit]
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in old:
        groups.setdefault((_month(path), tag_of(path, 1) or "general"), []).append(path)
    done = CompactionReport([], 0, 0, keep)
    for (month, tag), paths in sorted(groups.items()):
        done = _compact_one(store, month, tag, paths, done, dry_run, None if dry_run else condense)
    return done


def _compact_one(
    store: MemoryStore, month: str, tag: str, paths: list[Path], done: CompactionReport, dry_run: bool,
    condense: Condense | None,
) -> CompactionReport:  # fmt: skip
    before = store.read_archive(tag, month)
    bodies = {path: read_bytes(path) for path in paths}
    text, added, size = before, 0, sum(map(len, bodies.values()))
    for path, body in bodies.items():
        name, sum_ = path.relative_to(store.root).as_posix(), hashlib.sha256(body).hexdigest()
        mark = f"<!-- from {name} sha256:{sum_} -->"
        if mark not in text:
            text = f"{text.rstrip()}\n\n" if text.strip() else f"# {tag}, {month}\n\n"
            text += _section(path, mark, body.decode("utf-8", "replace"))
            added += 1
    if added and condense is not None:
        summary = condense({path.stem: body.decode("utf-8", "replace") for path, body in bodies.items()})
        text += f"\n## In short, by a model\n\n{summary}\n" if summary else ""
    target = store.path_of(3, tag, month)
    removed = 0
    if not dry_run:
        if added:
            store.write_archive(tag, month, text)
        trip("handover.compact.between")
        removed = 0 if done.kept else store.remove(bodies)
    archives = [*done.archives, str(target)] if added else done.archives
    return CompactionReport(
        archives, done.notes + added, done.removed + removed, done.kept, done.bytes_before + size,
        done.bytes_after + len(text.encode("utf-8", "replace")) - len(before.encode("utf-8", "replace")),
    )  # fmt: skip


def _section(path: Path, mark: str, text: str) -> str:
    lines = [f"## {path.stem}", mark, ""]
    for note in filter(str.strip, _SPLIT.split(text)):
        lines += [*extract(note), ""]
    return "\n".join(lines)


def _month(path: Path) -> str:
    return path.parent.name if re.fullmatch(r"\d{4}-\d{2}", path.parent.name) else ""


def _month_before(today: date, months: int) -> str:
    """The newest month to compact; with 1 it is the month before this one."""
    number = today.year * 12 + today.month - 1 - max(1, months)
    return f"{number // 12:04d}-{number % 12 + 1:02d}"
