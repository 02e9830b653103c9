"""The runs that a workspace knows: rows in its store, copies of transcripts, and what agents left on the
disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from ...effects.files.archive import Archive
from ...errors import StoreUnavailable
from ...stores.base import Runs
from ..workspace.workspace import Workspace
from .discovery import RunFinder, SentRunFinder


class ObservedRuns:
    """The runs of a workspace with a working tree."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._looked: RunFinder | None = None

    @property
    def runs(self) -> Runs:
        """The rows of runs."""
        return self._workspace.store.runs

    @cached_property
    def archive(self) -> Archive:
        """The copies of transcripts on this machine."""
        return Archive(self._workspace.home.transcripts)

    def capture(self, *, everywhere: bool = False) -> RunFinder:
        """The runs that agents left on this machine: of this project, or of all.

        While a store elsewhere cannot be reached, agents' own files tell enough to go on."""
        if self._looked is not None and not everywhere:
            return self._looked
        workspace, shared = self._workspace, bool(self._workspace.home.shared_store)
        finder = RunFinder(
            workspace.folder, workspace.environment, archive=self.archive, everywhere=everywhere
        )
        if not shared or self._can_be_asked():
            finder.runs = self.runs
        if shared and finder.runs is not None:
            from .shared_copies import SharedCopies

            finder.copies = SharedCopies(workspace.store)
        return finder

    def _can_be_asked(self) -> bool:
        try:
            self.runs.get("")
        except StoreUnavailable:
            return False
        return True

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Within it, transcripts are looked for once: for a command that asks several services."""
        before = self._looked
        if before is None:
            self._looked = self.capture()
            self._looked.remember()
        try:
            yield
        finally:
            self._looked = before


class SentRuns(ObservedRuns):
    """The runs that were sent to a server."""

    def capture(self, *, everywhere: bool = False) -> RunFinder:
        workspace = self._workspace
        return SentRunFinder(
            workspace.folder, workspace.environment, runs=self.runs, archive=None, everywhere=everywhere
        )


def runs_of(workspace: Workspace) -> ObservedRuns:
    """The runs that a workspace knows: those on this machine, on a server those that were sent to it."""
    return workspace.part(ObservedRuns if workspace.sees_tree else SentRuns)
