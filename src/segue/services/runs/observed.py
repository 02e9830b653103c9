"""What is kept of runs, for the services of one Segue: rows, copies, and a look at what agents left.

Nothing is opened or imported before it is asked for: most commands have to do with sessions only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...effects.files.archive import Archive
    from ...stores.base import Runs
    from ..workspace.workspace import Workspace
    from .discovery import RunFinder
    from .shared_copies import SharedCopies


class ObservedRuns:
    """The observed side of a data folder."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._looked: RunFinder | None = None

    @property
    def runs(self) -> Runs:
        """The rows of runs."""
        return self._workspace.store.runs

    @cached_property
    def archive(self) -> Archive:
        """The copies of transcripts."""
        from ...effects.files.archive import Archive

        return Archive(self._workspace.home.transcripts)

    @property
    def shelf(self) -> SharedCopies | None:
        """Copies in a store that machines share; None for one of this machine."""
        if not self._workspace.home.elsewhere:
            return None
        from .shared_copies import SharedCopies

        return SharedCopies(self._workspace.store)

    def capture(self, *, everywhere: bool = False) -> RunFinder:
        """The runs that agents left on this machine: of this project, or of all."""
        if self._looked is not None and not everywhere:
            return self._looked
        from .discovery import RunFinder

        workspace = self._workspace
        return RunFinder(
            workspace.folder, workspace.environment, runs=self.runs, archive=self.archive, shelf=self.shelf,
            everywhere=everywhere,
        )  # fmt: skip

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


def runs_of(workspace: Workspace) -> ObservedRuns:
    """The runs that a workspace knows: those on this machine, on a server those that were sent to it."""
    if workspace.sees_tree:
        return workspace.part(ObservedRuns)
    from .sent_runs import SentRuns

    return workspace.part(SentRuns)
