"""The runs of a workspace: rows in its store, copies of transcripts, and the transcripts that agents keep on
disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from ...effects.deadline import NEVER
from ...effects.files.archive import Archive
from ...errors import StoreUnavailable
from ...stores.base import Runs
from ..workspace.workspace import Workspace
from .discovery import RunFinder, SentRunFinder
from .read_transcript import Reading
from .shared_copies import SharedCopies
from .unwritten_runs import UnwrittenRuns

if TYPE_CHECKING:
    from ...effects.files.search_index import SearchFile


class ObservedRuns:
    """The runs of a workspace with a working tree."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._shared: RunFinder | None = None
        self.until = NEVER
        """When nothing more is read, because an agent waits."""
        self.cut_readings: dict[str, Reading] = {}
        """What was read of transcripts that there was no time for."""

    @property
    def runs(self) -> Runs:
        """The rows of runs in the store."""
        return self._workspace.store.runs

    @property
    def unwritten(self) -> UnwrittenRuns:
        """The runs that only hooks know of."""
        return UnwrittenRuns(self._workspace.home.path, self._workspace.store)

    @cached_property
    def archive(self) -> Archive:
        """The copies of transcripts on this machine."""
        archive = Archive(self._workspace.home.transcripts)
        self._workspace.at_close.append(archive.close)
        return archive

    @cached_property
    def search_index(self) -> SearchFile:
        """The index for searching on this machine."""
        from ...effects.files.search_index import SearchFile  # briefs are given without it

        index = SearchFile(self._workspace.home.search)
        self._workspace.at_close.append(index.close)
        return index

    def finder(self, *, everywhere: bool = False, every_file: bool = False) -> RunFinder:
        """A finder for the runs on this machine, of this project or of all. While a shared store cannot be
        reached, the agents' own files have to be enough. With ``every_file`` no file is left out to save
        time."""
        if self._shared is not None and not everywhere and not every_file:
            return self._shared
        workspace = self._workspace
        finder = RunFinder(
            workspace.folder, workspace.environment, archive=self.archive, everywhere=everywhere,
            every_file=every_file, data=workspace.home.path, until=self.until,
            cut_readings=self.cut_readings,
        )  # fmt: skip
        if not workspace.home.shared_store:
            finder.runs, finder.unwritten = self.runs, self.unwritten
            return finder
        with suppress(StoreUnavailable):
            self.runs.get("")
            finder.runs, finder.unwritten = self.runs, self.unwritten
            finder.copies = SharedCopies(workspace.store)
        return finder

    @contextmanager
    def search_once(self) -> Iterator[None]:
        """Look for transcripts only once within this context, however many services ask for runs."""
        before = self._shared
        if before is None:
            self._shared = self.finder()
            self._shared.remember()
        try:
            yield
        finally:
            self._shared = before


class SentRuns(ObservedRuns):
    """The runs that were sent to a server."""

    @cached_property
    def search_index(self) -> SearchFile:
        """The index of a project of the server, shared by all requests; not that of the machine that it runs
        on."""
        from ...effects.files.search_index import search_file

        return search_file(self._workspace.home.path / "server" / "search.db")

    def finder(self, *, everywhere: bool = False, every_file: bool = False) -> RunFinder:
        workspace = self._workspace
        return SentRunFinder(
            workspace.folder, workspace.environment, runs=self.runs, archive=None, everywhere=everywhere
        )


def runs_of(workspace: Workspace) -> ObservedRuns:
    """The runs of a workspace: those on this machine or, on a server, those that were sent to it."""
    return workspace.part(ObservedRuns if workspace.sees_tree else SentRuns)
