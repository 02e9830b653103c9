"""Connections to a server: proven by certificate, kept, given up and found again."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.certificates import certificate
from tests.support.remote import KEY, Portal

from segue.core.journal.event import Draft
from segue.errors import StoreUnavailable
from segue.stores.base import Append
from segue.stores.remote import RemoteStore
from segue.testing.stores import AT, drafts


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Portal]:
    made = Portal(tmp_path)
    yield made
    made.stop()


# -- TLS -------------------------------------------------------------------------------------------


def test_a_certificate_must_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    server = Portal(tmp_path, tls=tls)
    try:
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable, match="certificate is not trusted"):
            server.store().streams()
        assert time.monotonic() - begun < 2
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        journal = server.store()
        assert journal.append(Append("s", 0, drafts("x")))[0].version == 1
        other = RemoteStore(server.url.replace("localhost", "127.0.0.1"), KEY)
        with pytest.raises(StoreUnavailable, match="certificate is not trusted"):
            other.streams()
    finally:
        server.stop()


# -- connections -----------------------------------------------------------------------------------


def test_a_long_stream_comes_in_pages(server: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    from segue.services.server import store_over_http

    monkeypatch.setattr(store_over_http, "PAGE_EVENTS", 4)
    monkeypatch.setattr(store_over_http, "PAGE_BYTES", 3_000)
    journal = server.store()
    sizes = [10, 5_000, 10, 10, 2_000, 2_000, 10, 10, 10, 10]
    told = [Draft("raw", bytes(size), AT, "t") for size in sizes]
    journal.append(Append("s", 0, told))
    assert [len(event.body) for event in journal.read("s")] == sizes
    assert [event.version for event in journal.read("s", after=3, limit=5)] == [4, 5, 6, 7, 8]
    assert [event.version for event in journal.read("s", after=8, limit=2)] == [9, 10]


def test_a_fork_opens_connections_of_its_own(server: Portal) -> None:
    journal = server.store()
    journal.append(Append("s", 0, drafts("parent")))
    child = os.fork()
    if not child:
        try:
            journal.append(Append("s", 1, drafts("child")))
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert journal.append(Append("s", 2, drafts("parent again")))[0].version == 3
    assert journal.client._pool._given == 0


def test_a_server_that_was_restarted_is_found_again(tmp_path: Path) -> None:
    first = Portal(tmp_path)
    journal = first.store()
    journal.append(Append("s", 0, drafts("x")))
    port = first.port
    first.stop()
    later = threading.Timer(0.3, lambda: made.append(Portal(tmp_path, port=port)))
    made: list[Portal] = []
    later.start()
    assert journal.append(Append("s", 1, drafts("y")))[0].version == 2
    later.join()
    made[0].stop()
