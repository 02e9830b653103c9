"""The workspace of a server, for a request: the sessions of a project, without a working tree.

Paths that a server is sent belong to other machines. None is ever opened here, and nothing about the server's
own disk is revealed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...settings import Settings
from ...stores.base import Append
from .working_tree import TreeRecord, WorkingTree
from .workspace import Workspace


class ServerWorkspace(Workspace):
    """The sessions of a project, without a working tree."""

    sees_tree = False

    def __init__(self, *store: Any, folder: Path, project: str, whole: str, **arguments: Any) -> None:
        tree = NoWorkingTree(folder, project, whole)
        super().__init__(*store, folder=folder, working_tree=tree, **arguments)
        self.backups.on_write = False


class NoWorkingTree(WorkingTree):
    """The stand-in on a server: no session is current, and no project file is trusted."""

    def __init__(self, folder: Path, project: str, whole: str) -> None:
        self.folder = self.root = folder
        self.repository = None
        self._project = project
        self._whole = whole

    def trusted(self) -> bool:
        return False

    def tree(self, *, fresh: bool = False) -> TreeRecord:
        return TreeRecord(str(self.root), 0, tuple(dict.fromkeys((self._whole, self._project))))

    def project_key(self, settings: Settings) -> tuple[str, str]:
        return self._project, ""

    def bind(self, *_: Any, **__: Any) -> Append | None:
        return None
