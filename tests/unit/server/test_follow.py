"""Clients that follow a stream cost as little as one, whether they read or not."""

from __future__ import annotations

import asyncio
from typing import Any

from segue.surfaces.http.server.follow import StreamFollower


class Looks:
    """Stands for the stores of a server's projects, and counts how often one is looked at."""

    def __init__(self) -> None:
        self.count = 0

    def store(self, project: str) -> Looks:
        return self

    def look(self) -> list[bytes]:
        self.count += 1
        return [b"x" * 60_000]


def test_what_many_ask_for_is_read_once_and_is_the_same_for_all() -> None:
    looks = Looks()
    stand_in: Any = looks
    follower = StreamFollower(stand_in)

    async def ask(number: int) -> list[list[bytes]]:
        key = ("project", "events", "session/one", "5")
        return await asyncio.gather(*(follower.shared(key, looks.look) for _ in range(number)))

    found = asyncio.run(ask(200))
    assert looks.count == 1 and len({id(one) for one in found}) == 1


def test_what_was_read_for_followers_is_let_go_and_read_anew_after_a_write() -> None:
    looks = Looks()
    stand_in: Any = looks
    follower = StreamFollower(stand_in)

    async def go_on() -> None:
        for version in range(20):
            await follower.shared(("project", "events", "session/one", str(version)), looks.look)
            follower.wake("project")
        assert not follower._looks
        await follower.shared(("project", "events", "session/one", "0"), looks.look)

    asyncio.run(go_on())
    assert looks.count == 21
