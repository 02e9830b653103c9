"""The places that threads and conversations can be kept in: a file, Postgres, a server."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.postgres_store import needs_postgres, url_for
from tests.support.server import SegueServer

from segue import Segue

PLACES = ["file", pytest.param("postgres", marks=needs_postgres), "server"]


class Place:
    """A store, which may be opened more than once, also by other processes."""

    def __init__(self, kind: str, folder: Path, opened: ExitStack) -> None:
        self.kind, self.folder, self._opened = kind, folder, opened
        self._count = 0
        self.store = self.key = ""
        if kind == "postgres":
            self.store = url_for(folder)
        elif kind == "server":
            server = opened.enter_context(SegueServer(folder / "server", options=["--rate", "0"]))
            self.store, self.key = f"{server.url}?project=frameworks", server.token

    def segue(self) -> Segue:
        """Another Segue on the store; it is closed when the test ends."""
        self._count += 1
        home = self.folder / ("home" if self.kind == "file" else f"home-{self._count}")
        more: dict[str, Any] = {"api_key": self.key} if self.key else {}
        return self._opened.enter_context(Segue(self.store or None, home=home, folder=self.folder, **more))

    def empty_segue(self) -> Segue:
        """A Segue on a store, or a project of the server, in which nothing is."""
        self._count += 1
        home, store = self.folder / f"empty-{self._count}", self.store
        if self.kind == "postgres":
            store = url_for(home)
        elif self.kind == "server":
            store += f"-{self._count}"
        more: dict[str, Any] = {"api_key": self.key} if self.key else {}
        return self._opened.enter_context(Segue(store or None, home=home, folder=self.folder, **more))

    def environment(self) -> dict[str, str]:
        """For another process that is to open the store."""
        own = {"SEGUE_HOME": str(self.folder / "home"), "SEGUE_STORE": self.store, "SEGUE_API_KEY": self.key}
        return {**os.environ, **{name: value for name, value in own.items() if value}}
