"""A network of two: here, and a namespace in which a server can run. Needs root.

There are two links between them: one for the server's clients, one for its database; each can be cut, and
then nothing arrives and nobody is told.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest


class Link:
    """Two ends, with an address each."""

    def __init__(self, namespace: str, letter: str, part: str) -> None:
        self._here, there = f"sg{os.getpid()}{letter}a", f"sg{os.getpid()}{letter}b"
        self.host, self.address = f"{part}.1", f"{part}.2"
        _ip("link", "add", self._here, "type", "veth", "peer", "name", there, "netns", namespace)
        _ip("address", "add", f"{self.host}/24", "dev", self._here)
        _ip("link", "set", self._here, "up")
        _ip("-n", namespace, "address", "add", f"{self.address}/24", "dev", there)
        _ip("-n", namespace, "link", "set", there, "up")

    def cut(self) -> None:
        _ip("link", "set", self._here, "down")

    def mend(self) -> None:
        _ip("link", "set", self._here, "up")


class Network:
    """A namespace and the links to it."""

    def __init__(self) -> None:
        self.name = f"segue{os.getpid()}"
        part = os.getpid() % 250
        _ip("netns", "add", self.name)
        self.clients = Link(self.name, "c", f"10.213.{part}")
        self.database = Link(self.name, "d", f"10.214.{part}")
        _ip("-n", self.name, "link", "set", "lo", "up")

    @property
    def address(self) -> str:
        """Where whoever runs there listens."""
        return self.clients.address

    @property
    def prefix(self) -> list[str]:
        """Words before a command that is to run there."""
        return ["ip", "netns", "exec", self.name]

    def cut(self) -> None:
        self.clients.cut()

    def mend(self) -> None:
        self.clients.mend()

    def remove(self) -> None:
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def network() -> Iterator[Network]:
    if os.getuid() or shutil.which("ip") is None:
        pytest.skip("NOT TESTED: namespaces of the network need root and ip(8)")
    try:
        made = Network()
    except subprocess.CalledProcessError as fault:
        pytest.skip(f"NOT TESTED: no namespaces of the network here: {fault.stderr.decode()[:100]}")
    yield made
    made.remove()
