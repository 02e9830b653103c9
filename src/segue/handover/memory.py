"""Three layers of Markdown: notes by day, the current state, archives by month.

A note is appended to the file of its day and never replaces another. The state is replaced as a whole. Every
write is synced and renamed into place under a lock on the root, so that readers, other writers and a crash
see either the old file or the new one. Tags and dates become file names that cannot leave the root; symbolic
links below the root are refused for reading and writing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from .._checked_calls import checked
from .._files import read_bytes
from ..core.base.lazy import regex
from ..effects.files.atomic import folder_lock, sync_folder, tidy_leftovers, write_whole
from ..effects.files.project_links import leads_out
from ..errors import BadValue

HEADER = "<!-- agent-handover | layer{layer} | {date} -->\n"
LAYERS = (1, 2, 3)
_DATE = regex(r"\d{4}-\d{2}(?:-[0-9A-Za-z][0-9A-Za-z._-]{0,40})?")
_TAG_BYTES_MAX = 80
_WAIT_SECONDS = 60.0
_FILE_MODE = 0o666  # subject to the user's umask: these files are meant to be shared


@checked
class MemoryStore:
    """The layers under one root."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)

    def write(
        self, layer: int, content: str, tag: str = "general", date_str: str | None = None,
        dry_run: bool = False, *, id: str = "",
    ) -> Path:  # fmt: skip
        """Write to a layer and return the path of the file; with ``dry_run``, only return it.

        A note is not added again if its file already has one with the same ``id``."""
        if layer not in LAYERS:
            raise BadValue(f"invalid layer: {layer}")
        date = checked_date(date_str or datetime.now().strftime("%Y-%m-%d"))
        target = self.path_of(layer, tag, date)
        if dry_run:
            return target
        self._prepare(target)
        body = HEADER.format(layer=layer, date=date) + content
        with folder_lock(self.root, timeout_seconds=_WAIT_SECONDS, what=str(self.root)):
            tidy_leftovers(target)
            if layer == 1:
                self._add(target, body, id)
            else:
                write_whole(target, body.encode("utf-8", "replace"), mode=_FILE_MODE)
        return target

    def path_of(self, layer: int, tag: str, date: str) -> Path:
        """The file of a layer for this tag and date."""
        name = safe_tag(tag)
        if layer == 1:
            return self.root / "layer1" / date[:7] / f"{name}-{date}.md"
        if layer == 2:
            return self.root / "layer2" / "current-state.md"
        return self.root / "layer3" / f"{date[:7]}-{name}-archive.md"

    def _add(self, target: Path, body: str, id: str) -> None:
        mark = f"<!-- note {id} -->\n" if id else ""
        before = read_bytes(target) if target.exists() else b""
        if mark and mark.encode() in before:
            return
        if mark:
            first, _, rest = body.partition("\n")
            body = f"{first}\n{mark}{rest}"
        added = body.encode("utf-8", "replace")
        write_whole(target, before.rstrip() + b"\n\n" + added if before.strip() else added, mode=_FILE_MODE)

    def _prepare(self, target: Path) -> None:
        self.check_links(target)
        target.parent.mkdir(parents=True, exist_ok=True)

    def check_links(self, target: Path) -> None:
        """Raise ValueError if a part of the path between the root and a file is a symbolic link."""
        if leads_out(self.root):
            raise BadValue(f"{self.root} leads out of the project, so nothing is read or written there")
        path = target
        while path != self.root and path != path.parent:
            if path.is_symlink():
                raise BadValue(f"{path} is a symbolic link, so nothing is read or written there")
            path = path.parent

    def put_state(self, text: str) -> Path:
        """Replace the state by a text that includes its own header."""
        return self._replace(self.path_of(2, "general", "0000-00"), text)

    def read_archive(self, tag: str, month: str) -> str:
        """The whole archive of a tag and a month; empty if there is none."""
        target = self.path_of(3, tag, checked_date(month))
        self.check_links(target)
        return _text(target)

    def write_archive(self, tag: str, month: str, text: str) -> Path:
        """Replace an archive."""
        header = HEADER.format(layer=3, date=checked_date(month))
        body = text if text.startswith(HEADER[:20]) else header + text
        return self._replace(self.path_of(3, tag, month), body)

    def _replace(self, target: Path, text: str) -> Path:
        self._prepare(target)
        with folder_lock(self.root, timeout_seconds=_WAIT_SECONDS, what=str(self.root)):
            tidy_leftovers(target)
            write_whole(target, text.encode("utf-8", "replace"), mode=_FILE_MODE)
        return target

    def remove(self, bodies: Mapping[Path, bytes]) -> int:
        """Remove archived notes that have not changed since they were read; returns how many."""
        count = 0
        with folder_lock(self.root, timeout_seconds=_WAIT_SECONDS, what=str(self.root)):
            for path, body in bodies.items():
                self.check_links(path)
                if path.exists() and read_bytes(path) == body:
                    path.unlink()
                    count += 1
            for folder in {path.parent for path in bodies}:
                sync_folder(folder)
                with suppress(OSError):
                    folder.rmdir()  # fails unless it is empty
        return count

    def read_latest(self, layer: int, tag: str | None = None) -> str:
        """The newest text of a layer, or of a tag in it; empty if there is none."""
        if layer == 2:
            target = self.path_of(2, "general", "0000-00")
            self.check_links(target)
            return _text(target)
        newest = max(self.files(layer, tag), key=_age, default=None)
        return _text(newest) if newest is not None else ""

    def files(self, layer: int, tag: str | None = None) -> list[Path]:
        """The files of layer 1 or 3, or those of a tag; symbolic links are not followed."""
        paths = []
        for folder, folders, names in os.walk(self.root / f"layer{layer}"):
            folders[:] = [name for name in folders if not (Path(folder) / name).is_symlink()]
            paths += [Path(folder) / name for name in names if name.endswith(".md") and name[0] != "."]
        if (self.root / f"layer{layer}").is_symlink():
            paths = []
        wanted = safe_tag(tag) if tag else None
        return sorted(p for p in paths if not p.is_symlink() and wanted in (None, tag_of(p, layer)))

    def layer1_note_count(self, ym: str | None = None) -> int:
        """The number of files with notes, or of those of a month."""
        return sum(ym is None or path.parent.name == ym for path in self.files(1))


def checked_date(date: str) -> str:
    """A date that is safe in a path, YYYY-MM with or without a day; ValueError for anything else."""
    if not _DATE.fullmatch(date) or ".." in date:
        raise BadValue(f"not a date: {date[:40]!r}; write it as YYYY-MM-DD")
    return date


def safe_tag(tag: str) -> str:
    """A tag in the form for file names: never a path, never too long, never empty."""
    plain = "".join(c if c.isalnum() or c in "._-" else "_" if c == " " else "-" for c in tag)
    plain = plain.lstrip(".") or "general"
    if len(plain.encode("utf-8", "replace")) <= _TAG_BYTES_MAX:
        return plain
    short = plain.encode("utf-8", "replace")[: _TAG_BYTES_MAX - 9].decode("utf-8", "ignore")
    return f"{short}-{hashlib.sha256(tag.encode('utf-8', 'replace')).hexdigest()[:8]}"


def tag_of(path: Path, layer: int) -> str:
    """The tag in a file's name; empty if the name has none."""
    pattern = r"(.+)-(\d{4}-\d{2}(?:-\d{2})?)\.md" if layer == 1 else r"\d{4}-\d{2}-(.+)-archive\.md"
    match = re.fullmatch(pattern, path.name)
    if match is None and layer == 1 and f"-{path.parent.name}" in path.name:
        return path.name.partition(f"-{path.parent.name}")[0]
    return match[1] if match else ""


def _age(path: Path) -> tuple[str, int, str]:
    dates = re.findall(r"\d{4}-\d{2}(?:-\d{2})?", path.name)
    return (dates[-1] if dates else "", path.stat().st_mtime_ns, path.name)


def _text(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
