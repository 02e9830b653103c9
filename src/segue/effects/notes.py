"""The notes of a project: Markdown files in folders that are named or found by convention.

A note is a file and stays one: only its id, hash and path are ever stored. An id is what the front matter
says, else the file's name without its ending; where two notes have the same, the first path in order has
it. The index is a cache of what heads say, trusted as long as size and time of a file are as they were; texts
are read when they are wanted. Folders lead nowhere out of the project unless the user's own settings say so.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ..core.values import Value
from .files import replace_quickly

FOLDERS = ("context-library", "docs/adr", "memory", "playbooks", "docs/playbooks")
FILES = ("PROJECT_STATE.md", "AGENTS.md", "CLAUDE.md")
ORGANIZATION_INDEX = "organizations/{organization}/context-library/00-INDEX.md"
PROJECT_INDEX = "organizations/{organization}/projects/{project}/context-library/00-PROJECT-INDEX.md"
NOTES_MAX, NOTE_BYTES_MAX, HEAD_CHARS = 20_000, 400_000, 4_000
FORMAT = 1
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
_LINK = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{0,200}))?\]\]")
_FIELD = re.compile(r"^(id|title)\s*:\s*(.+?)\s*$", re.M)
_TITLE = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.M)


class Note(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """What is known of a note without its text."""

    id: str
    title: str
    path: str
    """From the root, with slashes."""
    hash: str
    """SHA-256 of the file."""
    links: tuple[str, ...] = ()
    size: int = 0
    changed_ns: int = 0


class Times(Value):
    """When a note was made and changed last, by git; empty where git does not know."""

    created: str = ""
    changed: str = ""


class _Index(msgspec.Struct, array_like=True):
    format: int
    root: str
    notes: dict[str, Note]


_decoder = msgspec.msgpack.Decoder(_Index)


class Library:
    """The notes under a root."""

    def __init__(
        self,
        root: Path,
        folders: Sequence[str] = (),
        cache: Path | None = None,
        *,
        organization: str = "",
        project: str = "",
    ) -> None:
        self.root = root
        self.cache = cache
        """Where the index is kept; None: nowhere."""
        self.organization, self.project = organization, project
        self._folders = list(dict.fromkeys([*folders, *FOLDERS, *self._of_organization()]))
        self._index: dict[str, Note] | None = None

    def _of_organization(self) -> list[str]:
        if not self.organization:
            return []
        base = f"organizations/{self.organization}"
        return [f"{base}/context-library", f"{base}/projects/{self.project}/context-library"]

    # -- which there are -----------------------------------------------------------------------

    def all(self) -> dict[str, Note]:
        """Every note, by its id."""
        if self._index is None:
            self._index = self._read()
        return self._index

    def find(self, id: str) -> Note | None:
        """The note of an id, of a title, or at a path."""
        known = self.all()
        note = known.get(id) or known.get(id.removesuffix(".md"))
        if note is not None:
            return note
        low = id.casefold()
        return next(
            (one for one in known.values() if low in (one.title.casefold(), one.path.casefold())), None
        )

    def index_notes(self) -> list[Note]:
        """The indexes of the organization and of the project, and what else tells of the whole."""
        names = [
            name.format(organization=self.organization, project=self.project)
            for name in (ORGANIZATION_INDEX, PROJECT_INDEX)
        ]
        names += ["context-library/00-INDEX.md", "context-library/00-PROJECT-INDEX.md", *FILES]
        by_path = {note.path: note for note in self.all().values()}
        return [by_path[name] for name in names if name in by_path]

    def playbooks(self) -> list[Note]:
        """Notes in a folder of playbooks."""
        return [note for note in self.all().values() if "playbook" in note.path.lower()]

    def matching(self, words: Iterable[str], most: int) -> list[Note]:
        """The notes whose titles and names say most of these words."""
        wanted = sorted({word.lower() for word in words})
        scored = []
        for note in self.all().values():
            low = f"{note.title} {note.path}".lower()
            hits = sum(word in low for word in wanted)
            if hits > 1 or (hits and len(wanted) < 4):
                scored.append((-hits, note.path, note))
        return [note for _, _, note in sorted(scored, key=lambda one: one[:2])[:most]]

    # -- what they say -------------------------------------------------------------------------

    def text(self, note: Note) -> str | None:
        """A note's text; None if it is gone or no text."""
        try:
            with (self.root / note.path).open("rb") as file:
                return file.read(NOTE_BYTES_MAX).decode("utf-8", "replace")
        except OSError:
            return None

    def times(self, notes: Sequence[Note], *, seconds: float = 1.0) -> dict[str, Times]:
        """When notes were made and changed, as far as git says so in time; by their ids."""
        command = [
            "git",
            "-C",
            str(self.root),
            "-c",
            "core.quotePath=false",
            "log",
            "--format=%x01%cI",
            "--name-only",
            "--",
        ]
        try:
            done = subprocess.run(
                [*command, *(note.path for note in notes)],
                capture_output=True,
                timeout=seconds,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError):
            return {}
        first: dict[str, str] = {}
        last: dict[str, str] = {}
        for commit in done.stdout.decode("utf-8", "replace").split("\x01")[1:]:
            when, *paths = [line for line in commit.split("\n") if line]
            for path in paths:
                last.setdefault(path, when)
                first[path] = when
        return {note.id: Times(first[note.path], last[note.path]) for note in notes if note.path in first}

    # -- the index -----------------------------------------------------------------------------

    def _read(self) -> dict[str, Note]:
        before = self._cached()
        found: dict[str, Note] = {}
        fresh = False
        for path, size, changed_ns in sorted(self._files()):
            note = before.get(path)
            if note is None or (note.size, note.changed_ns) != (size, changed_ns):
                note, fresh = self._look(path, size, changed_ns), True
            if note is not None:
                found[path] = note
        if self.cache is not None and (fresh or len(found) != len(before)):
            body = msgspec.msgpack.encode(_Index(FORMAT, str(self.root), found))
            with suppress(OSError):
                self.cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace_quickly(self.cache, body)
        by_id: dict[str, Note] = {}
        for note in found.values():
            by_id.setdefault(note.id, note)
        return by_id

    def _cached(self) -> dict[str, Note]:
        if self.cache is None:
            return {}
        try:
            index = _decoder.decode(self.cache.read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return index.notes if (index.format, index.root) == (FORMAT, str(self.root)) else {}

    def _files(self) -> Iterator[tuple[str, int, int]]:
        """(path, size, time) of every note, each once."""
        seen: set[str] = set()
        for name in FILES:
            with suppress(OSError):
                known = os.stat(self.root / name)
                seen.add(name)
                yield name, known.st_size, known.st_mtime_ns
        for folder in self._folders:
            for one in self._within(folder):
                if one[0] not in seen and len(seen) < NOTES_MAX:
                    seen.add(one[0])
                    yield one

    def _within(self, folder: str) -> Iterator[tuple[str, int, int]]:
        waiting = [folder.strip("/")] if not os.path.isabs(folder) else [folder]
        while waiting:
            here = waiting.pop()
            try:
                with os.scandir(self.root / here) as entries:
                    for entry in entries:
                        name = entry.name
                        if name.startswith("."):
                            continue
                        if name.endswith((".md", ".markdown")):
                            known = entry.stat(follow_symlinks=False)
                            if entry.is_file(follow_symlinks=False):
                                yield f"{here}/{name}", known.st_size, known.st_mtime_ns
                        elif entry.is_dir(follow_symlinks=False) and name not in _SKIPPED:
                            waiting.append(f"{here}/{name}")
            except OSError:
                continue

    def _look(self, path: str, size: int, changed_ns: int) -> Note | None:
        try:
            body = (self.root / path).read_bytes()
        except OSError:
            return None
        return note_of(path, body, size, changed_ns)


def note_of(path: str, body: bytes, size: int = 0, changed_ns: int = 0) -> Note:
    """What a note's file says of itself."""
    text = body[:NOTE_BYTES_MAX].decode("utf-8", "replace")
    fields: dict[str, str] = {}
    rest = text
    if text.startswith("---\n") or text.startswith("---\r\n"):
        head, _, behind = text[4:].partition("\n---")
        if behind or len(head) < HEAD_CHARS:
            fields = {name: value.strip("\"'") for name, value in _FIELD.findall(head[:HEAD_CHARS])}
            rest = behind
    stem = path.rsplit("/", 1)[-1].rpartition(".")[0]
    heading = _TITLE.search(rest[:HEAD_CHARS])
    title = fields.get("title") or (heading[1] if heading else stem)
    links = (
        tuple(dict.fromkeys(match[0].strip() for match in _LINK.findall(text)))[:40] if "[[" in text else ()
    )
    return Note(
        fields.get("id") or stem, title[:200], path, hashlib.sha256(body).hexdigest(), links, size, changed_ns
    )


def body_of(text: str) -> str:
    """A note's text without its front matter."""
    if text.startswith("---\n") and "\n---" in text[4:]:
        return text[4:].partition("\n---")[2].partition("\n")[2]
    return text
