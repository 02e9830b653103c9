"""Keeping the map of a working tree up with its files.

A file is looked at first (size and time), then compared (hash), and parsed only if its content is another.
What was parsed is kept in steps, so that an update that is cut off goes on where it ended. A map that is
damaged, or of another version, is made anew. Processes may do this at the same time: each writes what it
read, and the next update sees what is missing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from ...core.base.canonical import sha256
from ...core.base.values import Progress, Value
from ...core.codemap.symbols import Files, FileSymbols, changed_definitions
from ...effects.codemap.files import ListedFile, listed_files, source_of
from ...effects.codemap.languages import language_of
from ...effects.codemap.parser_process import ParserProcess
from ...effects.files.codemap_file import CodemapFile, Compared, EditedFile, MappedFile
from ...effects.git import repository
from ...effects.git.own_paths import NOTHING, OwnPaths
from ...effects.git.queries import GitQueries
from ...effects.git.status import Status, StatusQuery
from ...errors import DamagedError, RefusedError
from ..workspace.own_files import own_files
from ..workspace.workspace import Workspace

BATCH_FILES, BATCH_SECONDS = 400, 2.0
"""How many files are kept with one commit, and how long parsing goes on before what is there is kept."""
SAME_MOMENT_NS = 2_000_000_000
"""Times of files may be this coarse: what was changed so shortly before it was read is compared again."""
EDITED_MAX, ASKED_MAX, GIT_SECONDS = 100, 200, 5.0


class MapUpdate(Value):
    """What an update of the map did."""

    files: int = 0
    parsed: int = 0
    gone: int = 0
    left: int = 0
    """How many files were left for the next time, for lack of time."""


class CodeMap:
    """The map of one working tree."""

    def __init__(self, root: Path, file: CodemapFile, own: OwnPaths = NOTHING) -> None:
        self.root = root
        self.file = file
        self._own = own

    def update(self, *, seconds: float = 0.0, progress: Progress | None = None) -> MapUpdate:
        """Bring the map up to date, for at most so many seconds (0: until it is done)."""
        try:
            if self.file.stored_version() not in (0, CodemapFile.version):
                self.file.delete()
            return self._updated(seconds, progress)
        except DamagedError:
            self.file.delete()
            return self._updated(seconds, progress)

    def files(self) -> Files:
        """What every file defines and uses; nothing if the map is not there or cannot be read."""
        try:
            return self.file.symbols()
        except DamagedError:
            self.file.delete()
            return {}

    def edited(self) -> dict[str, EditedFile]:
        """Which definitions of uncommitted files differ from the last commit."""
        return self.file.edited()

    def _updated(self, seconds: float, progress: Progress | None) -> MapUpdate:
        with ParserProcess() as parser:
            return self._update(parser, seconds, progress)

    def _update(self, parser: ParserProcess, seconds: float, progress: Progress | None) -> MapUpdate:
        end = time.monotonic() + seconds if seconds else float("inf")
        known = self.file.known()
        parser.start()
        before = self._compared_before()
        began_ns = time.time_ns()
        status = self._status_query() if before is None else None
        try:
            update, changed = self._take_in(parser, known, end, progress)
        finally:
            answer = status.answer(GIT_SECONDS)[1] if status is not None else None
        if before is not None and time.monotonic() < end:
            asked = {*changed, *(path for path, one in known.items() if not before.covers(one))}
            self._update_some(parser, before, asked, is_some_gone=update.gone > 0)
        elif answer is not None and time.monotonic() < end:
            self._update_edited(parser, answer, began_ns)
        return update

    def _compared_before(self) -> Compared | None:
        """When all files were compared with the commit that is checked out now; None if they were not."""
        found = repository.find(self.root)
        before = self.file.compared() if found is not None else None
        if before is None or found is None or not before.head:
            return None
        return before if repository.head(found)[0] == before.head else None

    def _update_some(
        self, parser: ParserProcess, before: Compared, changed: Set[str], *, is_some_gone: bool
    ) -> None:
        """Ask git only about the files that may differ now from what they were when all were compared: right
        after a checkout, git compares the content of every file that it is asked about. About all it is asked
        where a file may have got another name, which it sees only if it sees both."""
        began_ns = time.time_ns()
        edited = self.file.edited()
        asked = sorted(path for path in {*changed, *edited} if language_of(path))
        if not asked and not (is_some_gone and edited):
            self.file.put_compared(before._replace(ended_ns=began_ns))
            return
        answer = None if is_some_gone or len(asked) > ASKED_MAX else self._status(*asked)
        if answer is None or any(entry.signs[:1] == b"A" for entry in answer.entries):
            answer = self._status()
        if answer is not None and answer.head == before.head:
            self._update_edited(parser, answer, began_ns)

    def _take_in(
        self, parser: ParserProcess, known: dict[str, MappedFile], end: float, progress: Progress | None
    ) -> tuple[MapUpdate, set[str]]:
        """Read the files that may have changed, and return those that did."""
        listed = listed_files(self.root, self._own)
        paths = {one.path for one in listed}
        gone = [path for path in known if path not in paths]
        stale = [one for one in listed if not _is_fresh(one, known.get(one.path))]
        done = count = 0
        changed: set[str] = set()
        for batch in self._batches(parser, stale, known, end):
            self.file.put(batch, gone)
            gone = []
            done += len(batch)
            changed.update(about.path for about, found in batch if found is not None)
            count += sum(found is not None and bool(found.language) for _, found in batch)
            if progress:
                progress(done, len(stale), batch[-1][0].path)
        if gone:
            self.file.put((), gone)
        return MapUpdate(len(listed), count, len(known.keys() - paths), len(stale) - done), changed

    def _batches(
        self, parser: ParserProcess, stale: Sequence[ListedFile], known: dict[str, MappedFile], end: float
    ) -> Iterator[list[tuple[MappedFile, FileSymbols | None]]]:
        batch: list[tuple[MappedFile, FileSymbols | None]] = []
        began = time.monotonic()
        for one in stale:
            if time.monotonic() > end:
                break
            batch.append(self._read(parser, one, known.get(one.path)))
            if len(batch) >= BATCH_FILES or time.monotonic() - began > BATCH_SECONDS:
                yield batch
                batch, began = [], time.monotonic()
        if batch:
            yield batch

    def _read(
        self, parser: ParserProcess, one: ListedFile, before: MappedFile | None
    ) -> tuple[MappedFile, FileSymbols | None]:
        seen = time.time_ns()
        source = source_of(self.root, one.path) if one.language else None
        hash = sha256(source).hexdigest()[:32] if source is not None else "-"
        about = MappedFile(one.path, one.size, one.changed_ns, seen, hash)
        if before is not None and before.hash == hash:
            return about, None
        return about, parser.parsed(source, one.language) if source is not None else FileSymbols()

    def _status(self, *paths: str) -> Status | None:
        query = self._status_query(*paths)
        return query.answer(GIT_SECONDS)[1] if query is not None else None

    def _status_query(self, *paths: str) -> StatusQuery | None:
        """Let git look at these files, or at the tree, while the files are listed."""
        if repository.find(self.root) is None:
            return None
        try:
            only = ["--", *(f":(literal){path}" for path in paths)] if paths else []
            return StatusQuery(self.root, "--untracked-files=all", *only)
        except OSError:
            return None

    def _update_edited(self, parser: ParserProcess, status: Status, began_ns: int) -> None:
        """Compare the definitions of uncommitted files with those of the last commit."""
        ended_ns = time.time_ns()
        entries = [(os.fsdecode(one.path), one.is_tracked, os.fsdecode(one.source)) for one in status.entries]
        entries = [one for one in entries if language_of(one[0])][:EDITED_MAX]
        known = self.file.known()
        before = {path: kept for path, kept in self.file.edited().items() if kept.head == status.head}
        wanted = []
        kept = []
        for path, is_tracked, source in entries:
            now = known.get(path)
            if now is None:
                continue
            same = before.get(path)
            if same is not None and (same.size, same.changed_ns) == (now.size, now.changed_ns):
                kept.append(same)
            else:
                wanted.append((path, source or path if is_tracked and status.head else "", now))
        kept += self._compared(parser, wanted, status.head)
        self.file.put_edited(kept, Compared(status.head, began_ns, ended_ns))

    def _compared(
        self, parser: ParserProcess, wanted: Sequence[tuple[str, str, MappedFile]], head: str
    ) -> list[EditedFile]:
        committed = _committed(self.root, [source for _, source, _ in wanted if source])
        after = self.file.symbols_of([path for path, _, _ in wanted])
        found = []
        for path, source, now in wanted:
            text = committed.get(source)
            old = parser.parsed(text, language_of(path)) if text is not None else None
            symbols = after.get(path, FileSymbols())
            places = changed_definitions(old, symbols)
            names = dict.fromkeys(symbols.definitions[at].title for at in places)
            found.append(EditedFile(path, now.size, now.changed_ns, head, tuple(places), tuple(names)))
        return found


def _is_fresh(one: ListedFile, known: MappedFile | None) -> bool:
    """Whether a file is as it was when it was read, by its size and time alone."""
    return (
        known is not None
        and (known.size, known.changed_ns) == (one.size, one.changed_ns)
        and (known.seen_ns - known.changed_ns > SAME_MOMENT_NS or not one.language)
    )


def _committed(root: Path, paths: Sequence[str]) -> dict[str, bytes]:
    """What the last commit has of files; some are missing if git takes too long."""
    queries = GitQueries(root, GIT_SECONDS)
    found = {}
    for first in range(0, len(paths), 8):
        for path in paths[first : first + 8]:
            queries.ask(path, "cat-file", "blob", f"HEAD:{path}")
        for path in paths[first : first + 8]:
            body = queries.answer(path)[1]
            if body is not None:
                found[path] = body
    return found


def code_map(workspace: Workspace) -> CodeMap:
    """The map of a workspace's tree. Raises RefusedError on a server, which sees none."""
    if not workspace.sees_tree:
        raise RefusedError(
            "a server has no working tree", hint="use `segue map` on the machine with the code"
        )
    root = workspace.working_tree.root
    if not workspace.pause_file.in_force():
        file = CodemapFile(workspace.home.map_of(root))
        workspace.at_close.append(file.close)
    else:  # nothing of ours is written: the map is made for this question alone
        folder = tempfile.TemporaryDirectory(prefix="segue-map-")
        file = CodemapFile(Path(folder.name) / "map.db")
        workspace.at_close += [file.close, folder.cleanup]
    return CodeMap(root, file, own_files(workspace.home, root))
