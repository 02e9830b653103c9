"""The notes of a project: Markdown files in folders that are configured or found by convention.

Notes stay files: only their id, hash and path are ever stored. The id is given in the front matter, else it
is the file's name without its extension; if two notes have the same id, the one with the first path has it,
and the others are known by their paths. A file that is not text has no text here, whatever its name says.
The index is a cache of front matter by folder: a folder whose listing did not change is not read again,
unless an id is not found; then every file is. Texts are read when they are needed. Folders outside the
project are read only if the user's own settings name them.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from .._files import open_file, read_bytes
from ..core.base.lazy import msgpack_decoder, regex
from .files.atomic import private_folder, replace_quickly

FOLDERS = ("context-library", "docs/adr", "memory", "playbooks", "docs/playbooks")
FILES = ("PROJECT_STATE.md", "AGENTS.md", "CLAUDE.md")
ORGANIZATION_INDEX = "organizations/{organization}/context-library/00-INDEX.md"
PROJECT_INDEX = "organizations/{organization}/projects/{project}/context-library/00-PROJECT-INDEX.md"
NOTES_MAX, FOLDERS_MAX, NOTE_BYTES_MAX, HEAD_CHARS = 20_000, 4_000, 400_000, 4_000
DECISION_FOLDERS = frozenset({"decisions", "adr"})
FORMAT = 2
BINARY_SHARE = 0.1
"""A file in which more of the characters than this mean nothing is not text."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
_LINK = regex(r"\[\[([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{0,200}))?\]\]")
_FIELD = regex(r"^(id|title|date|created)\s*:\s*(.+?)\s*$", re.M)
_DAY = regex(r"\d{4}-\d\d-\d\d")
_TITLE = regex(r"^#\s+(.+?)\s*#*\s*$", re.M)


class ProjectNote(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """A note without its text."""

    id: str
    title: str
    path: str
    """Relative to the root, with slashes."""
    hash: str
    """SHA-256 of the file."""
    links: tuple[str, ...] = ()
    size: int = 0
    changed_ns: int = 0
    date: str = ""
    """The day that the front matter gives; empty if it gives none."""
    is_text: bool = True


class _Folder(msgspec.Struct, array_like=True, gc=False):
    changed_ns: int
    inside: tuple[str, ...]
    notes: tuple[ProjectNote, ...]


class _Index(msgspec.Struct, array_like=True):
    format: int
    root: str
    folders: dict[str, _Folder]


_decoder = msgpack_decoder(_Index)


class Library:
    """The notes under a root."""

    def __init__(
        self, root: Path, folders: Sequence[str] = (), cache: Path | None = None, *, organization: str = "",
        project: str = "",
    ) -> None:  # fmt: skip
        self.root = root
        self.cache = cache
        """The file for the index; None for no cache."""
        self.organization, self.project = organization, project
        self._folders = list(dict.fromkeys([*folders, *FOLDERS, *self._of_organization()]))
        self._index: dict[str, ProjectNote] | None = None
        self._same_id: dict[str, list[str]] = {}
        self._anew = False

    def _of_organization(self) -> list[str]:
        if not self.organization:
            return []
        base = f"organizations/{self.organization}"
        return [f"{base}/context-library", f"{base}/projects/{self.project}/context-library"]

    def all(self) -> dict[str, ProjectNote]:
        """All notes by their ids."""
        if self._index is None:
            self._index = self._read()
        return self._index

    def with_same_id(self, note: ProjectNote) -> list[str]:
        """The paths of other notes that say they have this note's id."""
        self.all()
        return self._same_id.get(note.id, [])

    def linked(self, note: ProjectNote) -> list[ProjectNote]:
        """The notes that a note links to, in its order; links that lead nowhere are left out."""
        names = (link.partition("#")[0].strip() for link in note.links)
        found = (self._known(name) for name in names if name)
        return [other for other in dict.fromkeys(filter(None, found)) if other.id != note.id]

    def decisions(self) -> list[ProjectNote]:
        """The notes in folders for decisions, the newest first: by the date that they give, else by when they
        were changed."""
        decided = [note for note in self.all().values() if DECISION_FOLDERS & set(note.path.split("/")[:-1])]
        return sorted(decided, key=lambda note: (day_of(note), note.changed_ns, note.path), reverse=True)

    def find(self, id: str) -> ProjectNote | None:
        """The note with this id, title or path; None if there is none."""
        note = self._known(id)
        if note is None and not self._anew:
            self._index, self._anew = self._read(anew=True), True
            note = self._known(id)
        return note

    def _known(self, id: str) -> ProjectNote | None:
        known = self.all()
        note = known.get(id) or known.get(id.removesuffix(".md"))
        if note is not None:
            return note
        low = id.casefold()
        named = (note for note in known.values() if low in (note.title.casefold(), note.path.casefold()))
        return next(named, None)

    def index_notes(self) -> list[ProjectNote]:
        """The indexes of the organization and the project, and other notes about the project as a whole."""
        names = [
            name.format(organization=self.organization, project=self.project)
            for name in (ORGANIZATION_INDEX, PROJECT_INDEX)
        ]
        names += ["context-library/00-INDEX.md", "context-library/00-PROJECT-INDEX.md", *FILES]
        by_path = {note.path: note for note in self.all().values()}
        return [by_path[name] for name in names if name in by_path]

    def matching(self, words: Iterable[str], most: int) -> list[ProjectNote]:
        """The notes with the most of these words in their titles, at most ``most`` of them."""
        wanted = sorted({word.lower() for word in words})
        enough = 1 if len(wanted) < 4 else 2
        notes = list(self.all().values())
        hits = _hits([note.title for note in notes], wanted)
        scored = [(-count, notes[at].path, notes[at]) for at, count in hits.items() if count >= enough]
        return [note for _, _, note in sorted(scored, key=lambda entry: entry[:2])[:most]]

    def is_place(self, path: str) -> bool:
        """Whether a file at this path is or would be a note, even if it no longer exists."""
        if not path.endswith((".md", ".markdown")):
            return False
        folders = (folder.strip("/") for folder in self._folders if not os.path.isabs(folder))
        return path in FILES or any(path.startswith(f"{folder}/") for folder in folders)

    def outside(self) -> dict[str, str]:
        """The hashes of notes outside the tree, by path; only where such a folder is configured."""
        if not any(os.path.isabs(folder) or folder.startswith("..") for folder in self._folders):
            return {}
        inside = os.path.realpath(self.root) + os.sep
        places = ((note, os.path.realpath(self.root / note.path)) for note in self.all().values())
        return {path: note.hash for note, path in places if not path.startswith(inside)}

    def text(self, note: ProjectNote) -> str | None:
        """A note's text; None if it cannot be read, or is not text."""
        if not note.is_text:
            return None
        try:
            with open_file(self.root / note.path) as file:
                return file.read(NOTE_BYTES_MAX).decode("utf-8", "replace")
        except OSError:
            return None

    def _read(self, *, anew: bool = False) -> dict[str, ProjectNote]:
        """All notes by id; a folder is read if its listing changed, or in any case if ``anew``."""
        before = self._cached()
        folders: dict[str, _Folder] = {}
        fresh = False
        for path, changed_ns in self._all_folders():
            known = before.get(path)
            if known is None or anew or known.changed_ns != changed_ns:
                folder, changed = self._listed(path, changed_ns, known)
                fresh = fresh or changed or known is None or known.changed_ns != changed_ns
                folders[path] = folder
            else:
                folders[path] = known
        if self.cache is not None and (fresh or len(folders) != len(before)):
            body = msgspec.msgpack.encode(_Index(FORMAT, str(self.root), folders))
            with suppress(OSError):
                private_folder(self.cache.parent)
                replace_quickly(self.cache, body)
        in_folders = (note for folder in folders.values() for note in folder.notes)
        return self._by_id([*self._single_files(), *in_folders])

    def _by_id(self, notes: Iterable[ProjectNote]) -> dict[str, ProjectNote]:
        by_id: dict[str, ProjectNote] = {}
        self._same_id = {}
        for note in sorted(notes, key=lambda note: note.path):
            if note.id not in by_id:
                by_id[note.id] = note
            elif by_id[note.id].path != note.path:
                self._same_id.setdefault(note.id, []).append(note.path)
                by_id[note.path] = msgspec.structs.replace(note, id=note.path)
        return by_id

    def _cached(self) -> dict[str, _Folder]:
        if self.cache is None:
            return {}
        try:
            index = _decoder.decode(read_bytes(self.cache))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return index.folders if (index.format, index.root) == (FORMAT, str(self.root)) else {}

    def _single_files(self) -> Iterator[ProjectNote]:
        for name in FILES:
            with suppress(OSError):
                stat = os.stat(self.root / name)
                if not self._is_inside(name):
                    continue
                note = self._read_note(name, stat.st_size, stat.st_mtime_ns)
                if note is not None:
                    yield note

    def _is_inside(self, name: str) -> bool:
        """Whether a path, with its links resolved, is inside the project."""
        real = os.path.realpath(self.root / name)
        return real.startswith(os.path.realpath(self.root) + os.sep)

    def _all_folders(self) -> Iterator[tuple[str, int]]:
        """Every folder of notes with its subfolders, and when its listing last changed."""
        seen: set[str] = set()
        known = self._cached()
        ours = (folder for folder in self._folders if os.path.isabs(folder) or self._is_inside(folder))
        waiting = [folder.rstrip("/") for folder in ours][::-1]
        while waiting and len(seen) < FOLDERS_MAX:
            here = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            try:
                changed_ns = os.stat(self.root / here).st_mtime_ns
            except OSError:
                continue
            yield here, changed_ns
            cached = known.get(here)
            if cached is not None and cached.changed_ns == changed_ns:
                waiting += [f"{here}/{name}" for name in cached.inside]
                continue
            with suppress(OSError), os.scandir(self.root / here) as entries:
                waiting += [f"{here}/{entry.name}" for entry in entries if _is_folder(entry)]

    def _listed(self, here: str, changed_ns: int, known: _Folder | None) -> tuple[_Folder, bool]:
        """A folder as it is now, and whether one of its notes changed."""
        before = {note.path: note for note in known.notes} if known is not None else {}
        notes: list[ProjectNote] = []
        inside: list[str] = []
        changed = False
        with suppress(OSError), os.scandir(self.root / here) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if _is_folder(entry):
                    inside.append(entry.name)
                elif entry.name.endswith((".md", ".markdown")) and entry.is_file(follow_symlinks=False):
                    stat = entry.stat(follow_symlinks=False)
                    path = f"{here}/{entry.name}"
                    note = before.get(path)
                    if note is None or (note.size, note.changed_ns) != (stat.st_size, stat.st_mtime_ns):
                        note, changed = self._read_note(path, stat.st_size, stat.st_mtime_ns), True
                    if note is not None and len(notes) < NOTES_MAX:
                        notes.append(note)
        return _Folder(changed_ns, tuple(inside), tuple(notes)), changed

    def _read_note(self, path: str, size: int, changed_ns: int) -> ProjectNote | None:
        try:
            body = read_bytes(self.root / path)
        except FileNotFoundError:
            return None
        except OSError:  # it is there, and whoever asks for it is told that it cannot be read
            name = path.rsplit("/", 1)[-1].rpartition(".")[0]
            return ProjectNote(name, name, path, "", (), size, changed_ns)
        return note_of(path, body, size, changed_ns)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return (
        not entry.name.startswith(".")
        and entry.name not in _SKIPPED
        and not entry.name.endswith((".md", ".markdown"))
        and entry.is_dir(follow_symlinks=False)
    )


def note_of(path: str, body: bytes, size: int = 0, changed_ns: int = 0) -> ProjectNote:
    """The note in a file: its id and title from the front matter or the heading, its hash and its links."""
    stem = path.rsplit("/", 1)[-1].rpartition(".")[0]
    if not is_text(body):
        hash = hashlib.sha256(body).hexdigest()
        return ProjectNote(stem, stem, path, hash, (), size, changed_ns, is_text=False)
    text = body[:NOTE_BYTES_MAX].decode("utf-8", "replace")
    fields: dict[str, str] = {}
    rest = text
    if text.startswith("---\n") or text.startswith("---\r\n"):
        head, _, after = text[4:].partition("\n---")
        if after or len(head) < HEAD_CHARS:
            fields = {name: value.strip("\"'") for name, value in _FIELD.findall(head[:HEAD_CHARS])}
            rest = after
    heading = _TITLE.search(rest[:HEAD_CHARS])
    title = fields.get("title") or (heading[1] if heading else stem)
    links = (
        tuple(dict.fromkeys(match[0].strip() for match in _LINK.findall(text)))[:40] if "[[" in text else ()
    )
    date = fields.get("date") or fields.get("created") or ""
    return ProjectNote(
        fields.get("id") or stem, title[:200], path, hashlib.sha256(body).hexdigest(), links, size,
        changed_ns, date[:10] if _DAY.match(date) else "",
    )  # fmt: skip


def is_text(body: bytes) -> bool:
    """Whether the beginning of a file is text: almost all of it decodes, and nothing in it is a null."""
    head = body[: 2 * HEAD_CHARS]
    if b"\0" in head:
        return False
    odd = sum(c == "\ufffd" or (c < " " and c not in "\t\n\r\f\x1b") for c in head.decode("utf-8", "replace"))
    return odd <= BINARY_SHARE * len(head)


def day_of(note: ProjectNote) -> str:
    """The day of a note: the one that it gives, else the one on which its file was changed."""
    return note.date or time.strftime("%Y-%m-%d", time.gmtime(note.changed_ns // 10**9))


def body_of(text: str) -> str:
    """A note's text without its front matter."""
    if text.startswith("---\n") and "\n---" in text[4:]:
        return text[4:].partition("\n---")[2].partition("\n")[2]
    return text


def _hits(titles: Sequence[str], words: Sequence[str]) -> dict[int, int]:
    """How many of these words each title has, by its position. All titles are searched as one text, which is
    fast for thousands of them."""
    low = "\n".join(title.replace("\n", " ") for title in titles).lower()
    counts: dict[int, int] = {}
    for word in filter(None, words):
        line = seen = 0
        at = low.find(word)
        while at >= 0:
            line += low.count("\n", seen, at)
            counts[line] = counts.get(line, 0) + 1
            seen = low.find("\n", at)
            at = low.find(word, seen) if seen >= 0 else -1
    return counts
