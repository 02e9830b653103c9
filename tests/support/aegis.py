"""The SDK of Aegis Memory as PyPI has it, unmodified, in a folder that is kept between runs.

It is installed by pip without what it depends on: it wants an older MCP than ours, and of the rest it uses
only httpx, which is here. The folder is ``$SEGUE_PEERS_CACHE``, else ``~/.cache/segue-peers``.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.server import SegueServer

VERSION = "2.7.0"
ENVIRONMENT = dict(os.environ)  # before tests replace HOME, where pip finds its settings
CACHE = Path(os.environ.get("SEGUE_PEERS_CACHE") or Path.home() / ".cache" / "segue-peers")


def installed() -> Path:
    """The folder of the SDK; if it cannot be installed, the test is skipped with the reason."""
    folder = CACHE / f"aegis-memory-{VERSION}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            wish = ["--no-deps", "--target", str(folder), f"aegis-memory=={VERSION}"]
            ran = subprocess.run(
                [sys.executable, "-m", "pip", "install", "-q", "--upgrade", *wish],
                env=ENVIRONMENT, capture_output=True, text=True,
            )  # fmt: skip
            if ran.returncode:
                pytest.skip(f"NOT TESTED against the SDK: pip cannot get it: {ran.stderr.strip()[-300:]}")
            (folder / "whole").touch()
    return folder


def sdk() -> Any:
    """The package."""
    folder = str(installed())
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("aegis_memory")


class Async:
    """An asynchronous client with the synchronous client's interface."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._runner = asyncio.Runner()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *words, **more: self._runner.run(method(*words, **more))

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


def client_of(server: SegueServer, key: str, kind: str = "sync") -> Any:
    """A client of the SDK."""
    package = sdk()
    if kind == "sync":
        return package.AegisClient(api_key=key, base_url=server.url)
    return Async(package.AsyncAegisClient(api_key=key, base_url=server.url))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with SegueServer(tmp_path_factory.mktemp("server"), options=["--rate", "0"]) as one:
        yield one
