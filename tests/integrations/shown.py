"""What the commands and the pages show of what a framework's program kept, each in a process of its own."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from tests.support.page_parts import faults_in
from tests.support.pages import Client, PagesProcess, entered

from segue import Segue


class Shown:
    """A machine with a project and a store, on which a program works first and people look afterwards."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "shop"
        self.home.mkdir()
        self.project.mkdir()
        self._pages = PagesProcess(self.home, self.project)
        self._client: Client | None = None

    def segue(self) -> Segue:
        """For the program."""
        return Segue(home=self.home / "segue", folder=self.project)

    def command(self, *words: str) -> str:
        """What a command prints."""
        return self._pages.segue(*words)

    def page(self, path: str, **fields: str) -> str:
        """A page of `segue ui`, which is started when it is first asked."""
        if self._client is None:
            self._pages.start()
            self._client = entered(self._pages)
        query = "&".join(f"{name}={quote(value)}" for name, value in fields.items())
        answer = self._client.get(f"/ui{path}" + (f"?{query}" if query else ""))
        assert answer.status == 200 and faults_in(answer.text) == [], answer.text[:500]
        return answer.text

    def close(self) -> None:
        self._pages.stop()
