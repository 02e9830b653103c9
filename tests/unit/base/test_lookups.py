"""One look for a key serves all who wait for it, and none who came after it began."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.core.server.access import Access
from segue.errors import NotKnown
from segue.services.server.projects import Projects
from segue.surfaces.http.server.context import ServerContext
from segue.surfaces.http.server.key_lookups import KeyLookups


class Slow(ServerContext):
    """A server that counts its looks, and waits in each until it is let go on."""

    def __init__(self, projects: Projects) -> None:
        super().__init__(projects)
        self.looks = 0
        self.go = threading.Event()

    def authenticate(self, token: str, project: str) -> Access:
        self.looks += 1
        self.go.wait(10)
        return super().authenticate(token, project)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Slow]:
    projects = Projects(tmp_path)
    yield Slow(projects)
    projects.close()


def test_many_who_wait_share_a_look(server: Slow) -> None:
    token = server.keys.create(project="web", role="writer").key

    async def ask() -> list[Access]:
        lookups = KeyLookups(server)
        asking = [asyncio.create_task(lookups.authenticate(token, "")) for _ in range(50)]
        await asyncio.sleep(0.05)
        server.go.set()
        return await asyncio.gather(*asking)

    assert {access.project for access in asyncio.run(ask())} == {"web"}
    assert server.looks == 2, "the first one's, and one for all who came while it was under way"


def test_whoever_comes_after_a_revocation_is_not_let_in_by_a_look_from_before(server: Slow) -> None:
    made = server.keys.create(project="web", role="writer")

    async def ask() -> None:
        lookups = KeyLookups(server)
        first = asyncio.create_task(lookups.authenticate(made.key, ""))
        await asyncio.sleep(0.05)  # its look is under way
        server.keys.revoke(made.id)
        late = [asyncio.create_task(lookups.authenticate(made.key, "")) for _ in range(3)]
        await asyncio.sleep(0.05)
        server.go.set()
        await asyncio.gather(first, return_exceptions=True)
        for task in late:
            with pytest.raises(NotKnown):
                await task
        with pytest.raises(NotKnown):
            await lookups.authenticate(made.key, "")

    asyncio.run(ask())
