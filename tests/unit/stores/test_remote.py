"""A server as a store: nothing happens twice, errors come back as they were, and no key is ever shown."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.remote import KEY, Cutting, Portal, _Server

from segue import errors
from segue.core.journal.pieces import address
from segue.core.memories.model import MemoryAudit, Vote
from segue.errors import (
    BadSettings,
    DamagedError,
    NotAllowed,
    NotKnown,
    RateLimited,
    SegueError,
    StaleVersion,
    StoreUnavailable,
    UsageError,
)
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.open_store import open_store, shown
from segue.stores.base import Append, Rewrite
from segue.stores.memory_changes import MemoryChange
from segue.stores.remote import Address, RemoteStore, client
from segue.testing.memories import HERE, NOW, kept, memory
from segue.testing.stores import AT, drafts, verify_chain

SECRET = "sgk_not-to-be-seen"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Portal]:
    made = Portal(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def way(server: Portal) -> Iterator[Cutting]:
    made = Cutting(server.port)
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def _nobody_was_unreached() -> None:
    client._unreached.clear()


# -- addresses -------------------------------------------------------------------------------------


def test_an_address_is_taken_apart() -> None:
    found = Address("https://segue.example/team/?project=web")
    assert (found.host, found.port, found.prefix, found.project) == ("segue.example", 443, "/team", "web")
    assert found.shown == "https://segue.example/team?project=web" and found.tls
    assert Address("http://[::1]:8765").shown == "http://[::1]:8765"
    assert Address("http://10.0.0.7:8765?insecure=1").shown == "http://10.0.0.7:8765"


@pytest.mark.parametrize(
    "where",
    [f"https://ann:{SECRET}@host", f"https://{SECRET}@host", f"https://host?key={SECRET}", "https://",
     "http://segue.example", "https://host:port", "https://host?project=a/b", "https://ho st"],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused_without_a_secret(where: str) -> None:
    with pytest.raises(BadSettings) as caught:
        Address(where)
    assert SECRET not in f"{caught.value} {caught.value.hint} {shown(where)}"


def test_a_server_on_this_machine_is_entered_with_the_token_of_its_file(server: Portal, home: Path) -> None:
    folder = DataFolder(home / "segue").for_store(server.url)
    folder.token.parent.mkdir(parents=True)
    folder.token.write_text(f"{KEY}\n")
    journal = open_store(folder, server.url)
    assert journal.streams() == []
    with pytest.raises(NotKnown):
        open_store(folder, server.url, key="another").streams()


# -- nothing happens twice -------------------------------------------------------------------------


def losing(*names: str, times: int = 1) -> Callable[[str], str]:
    """Cuts the answers to the first requests of these names."""
    left = dict.fromkeys(names, times)

    def cuts(path: str) -> str:
        for name in left:
            if path.endswith(name) and left[name]:
                left[name] -= 1
                return "answer"
        return ""

    return cuts


def fresh_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was restarted: it knows of no attempt."""
    from segue.services.server import store_over_http

    monkeypatch.setattr(store_over_http._attempts, "once", lambda name, work: work())


@pytest.mark.parametrize("restarted", [False, True], ids=["same server", "restarted server"])
def test_an_append_whose_answer_was_lost_happens_once(
    server: Portal, way: Cutting, restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if restarted:
        fresh_attempts(monkeypatch)
    journal = RemoteStore(way.url, KEY)
    journal.append(Append("s", 0, drafts("before")))
    way.cuts = losing("journal/append", times=3)
    events = journal.append(Append("s", 1, drafts("one", "two")), pieces={address(b"p"): b"p"})
    assert way.cut >= 1 and [event.version for event in events] == [2, 3]
    assert server.journal.read("s")[1:] == events and journal.read("s")[1:] == events
    verify_chain(server.journal.read("s"))


def test_an_append_to_several_streams_whose_answer_was_lost_happens_once(
    server: Portal, way: Cutting, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh_attempts(monkeypatch)
    journal = RemoteStore(way.url, KEY)
    journal.append(Append("b", 0, drafts("before")))
    way.cuts = losing("journal/append")
    events = journal.append(Append("b", 1), Append("a", 0, drafts("1")), Append("b", 1, drafts("2", "3")))
    assert [(event.stream, event.version) for event in events] == [("a", 1), ("b", 2), ("b", 3)]
    assert server.journal.streams() == [("a", 1), ("b", 3)]


def test_an_append_that_somebody_else_was_faster_with_stays_refused(server: Portal, way: Cutting) -> None:
    journal = RemoteStore(way.url, KEY)
    way.cuts = losing("journal/append")
    server.answer = lambda name, call: _overtaken(server, name, call)
    with pytest.raises(StaleVersion) as caught:
        journal.append(Append("s", 0, drafts("mine")))
    assert (caught.value.stream, caught.value.expected, caught.value.actual) == ("s", 0, 1)
    [event] = server.journal.read("s")
    assert b"theirs" in event.body


def _overtaken(server: Portal, name: str, call: Callable[[], bytes]) -> bytes:
    if name == "journal/append" and not server.journal.head("s").version:
        server.journal.append(Append("s", 0, drafts("theirs")))
    return call()


def test_a_request_that_never_arrived_is_sent_again(server: Portal, way: Cutting) -> None:
    journal = RemoteStore(way.url, KEY)
    cuts = iter(["request", "", "request"])
    way.cuts = lambda path: next(cuts, "") if path.endswith("journal/append") else ""
    for version in range(3):
        journal.append(Append("s", version, drafts(f"n{version}")))
    assert way.cut == 2 and len(server.journal.read("s")) == 3


@pytest.mark.parametrize("restarted", [False, True], ids=["same server", "restarted server"])
def test_changes_of_memories_whose_answers_were_lost_happen_once(
    server: Portal, way: Cutting, restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if restarted:
        fresh_attempts(monkeypatch)
    store = RemoteStore(way.url, KEY).memories
    one, same = memory("m1"), memory("m2", "tests run with -n 2")
    server.journal.memories.write(MemoryChange([kept(memory("m0", same.content))]))
    way.cuts = losing("memories/write")
    added = MemoryChange([kept(one), kept(same)], trail=[MemoryAudit("m1", "add", NOW, "user")])
    assert store.write(added) == ["m1", "m0"]
    for change in (
        MemoryChange(votes=[Vote("m1", "ann", "helpful", NOW)], trail=[MemoryAudit("m1", "vote", AT, "ann")]),
        MemoryChange(recalls=[("m1", 2, NOW)]),
        MemoryChange(
            puts=[kept(replace(one, content="the pool has nine", revision=2))],
            trail=[MemoryAudit("m1", "update", AT, "ann", "nine")],
        ),
    ):
        store.get(["m1"], HERE)
        way.cuts = losing("memories/write")
        store.write(change)
    assert way.cut == 4
    [found] = server.journal.memories.get(["m1"], HERE)
    assert (found.content, found.revision, found.helpful, found.recalled) == ("the pool has nine", 2, 1, 2)
    trail = server.journal.memories.trail(HERE)
    assert [trace.act for trace in trail] == ["update", "vote", "add"]


def test_an_append_with_memories_alone_happens_once(
    server: Portal, way: Cutting, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh_attempts(monkeypatch)
    journal = RemoteStore(way.url, KEY)
    journal.append(Append("s", 0, drafts("x")))
    way.cuts = losing("journal/append")
    change = MemoryChange([kept(memory("m1"))], trail=[MemoryAudit("m1", "add", NOW, "user")])
    assert journal.append(Append("s", 1), memories=change) == []
    assert len(server.journal.memories.trail(HERE)) == 1


def test_an_erasure_and_a_drop_whose_answers_were_lost_happen_once(
    server: Portal, way: Cutting, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh_attempts(monkeypatch)
    journal = RemoteStore(way.url, KEY)
    journal.append(Append("s", 0, drafts("secret")))
    way.cuts = losing("journal/erase")
    journal.erase([Rewrite("s", 1, b"{}")], {}, Append("s", 1, drafts("erased")))
    assert server.journal.read("s")[0].body == b"{}"
    assert server.journal.head("s").version == 2
    way.cuts = losing("journal/drop")
    journal.drop(Append("s", 2))
    assert way.cut == 2 and server.journal.streams() == []


def test_a_write_that_comes_twice_while_the_first_is_under_way_is_done_once(server: Portal) -> None:
    remote = server.store()
    real: Callable[[MemoryChange], list[str]] = server.journal.memories.write
    counted: list[int] = []

    def write(change: MemoryChange) -> list[str]:
        counted.append(1)
        time.sleep(0.3)
        return real(change)

    server.journal.memories.write = write
    body = client_body(MemoryChange([kept(memory("m1"))], trail=[MemoryAudit("m1", "add", NOW, "user")]))
    threads = [threading.Thread(target=remote.client.call, args=("memories/write", body)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted == [1] and len(server.journal.memories.trail(HERE)) == 1


def client_body(change: MemoryChange) -> bytes:
    from segue.stores.remote import wire

    return wire.encode({"change": change, "attempt": "the-same"})


# -- errors ----------------------------------------------------------------------------------------

RAISED: list[SegueError] = [
    StaleVersion("s", 3, 5), errors.StoreFull("no room", hint="free some"), errors.SchemaTooNew("too new"),
    DamagedError("the journal", "s version 3", "it was changed"), UsageError("what?"), NotAllowed("not you"),
    errors.StoreError("it failed"), errors.SessionHeld("s", "ann", "then", "later"),
]  # fmt: skip


@pytest.mark.parametrize("fault", RAISED, ids=lambda fault: fault.code)
def test_an_error_of_the_server_is_the_same_error_here(server: Portal, fault: SegueError) -> None:
    def answer(name: str, call: Callable[[], bytes]) -> bytes:
        raise fault

    server.answer = answer
    with pytest.raises(type(fault)) as caught:
        server.store().head("s")
    assert type(caught.value) is type(fault) and caught.value.message == fault.message
    assert caught.value.facts() == fault.facts()
    assert not fault.hint or caught.value.hint == fault.hint
    assert len(server.calls) == 1, "the same again would be refused again"


def test_a_store_that_is_busy_there_is_tried_again(server: Portal) -> None:
    left = [errors.StoreBusy("busy"), StoreUnavailable("starting")]

    def answer(name: str, call: Callable[[], bytes]) -> bytes:
        if left:
            raise left.pop()
        return call()

    server.answer = answer
    assert server.store().append(Append("s", 0, drafts("x")))[0].version == 1


def test_a_wrong_key_is_refused_and_not_shown(server: Portal) -> None:
    with pytest.raises(NotKnown) as caught:
        server.store(SECRET).head("s")
    assert SECRET not in f"{caught.value} {caught.value.hint}" and "SEGUE_API_KEY" in caught.value.hint
    with pytest.raises(BadSettings) as bad:
        server.store(f"{SECRET}\r\nX: y")
    assert SECRET not in str(bad.value)


class Odd:
    """A server that gives these answers, one after the other."""

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        left = list(answers)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None: ...

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, headers, body = left.pop(0) if len(left) > 1 else left[0]
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self._http = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def __enter__(self) -> Odd:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


GOOD = (200, {"Content-Type": "application/msgpack"}, b"\x90")


def test_one_that_asks_too_often_comes_back_when_it_is_told() -> None:
    with Odd((429, {"Retry-After": "0.2"}, b""), GOOD) as odd:
        begun = time.monotonic()
        assert RemoteStore(odd.url, KEY).streams() == []
        assert time.monotonic() - begun >= 0.2
    with Odd((429, {"Retry-After": "60"}, b"")) as odd, pytest.raises(RateLimited) as caught:
        RemoteStore(odd.url, KEY).streams()
    assert caught.value.retryable and caught.value.retry_after_seconds == 60


def test_a_gateway_that_cannot_reach_the_server_is_asked_again() -> None:
    html = {"Content-Type": "text/html"}
    with Odd((502, html, b"<p>"), (503, html, b"<p>"), (504, html, b"<p>"), GOOD) as odd:
        assert RemoteStore(odd.url, KEY).streams() == []


@pytest.mark.parametrize(
    "answer",
    [(200, {"Content-Type": "text/html"}, b"<p>Log in to the network"),
     (307, {"Location": "https://evil.example"}, b""), (404, {"Content-Type": "text/html"}, b"no"),
     (418, {}, b""), (200, {"Content-Type": "application/msgpack"}, b"\xc1"),
     (200, {"Content-Type": "application/msgpack"}, b"\x91\xc0")],
    ids=["a portal", "a redirect", "another server", "a teapot", "no msgpack", "another type"],
)  # fmt: skip
def test_what_is_no_segue_server_is_unavailable_at_once(answer: tuple[int, dict[str, str], bytes]) -> None:
    with Odd(answer) as odd, pytest.raises(StoreUnavailable) as caught:
        begun = time.monotonic()
        RemoteStore(odd.url, KEY).streams()
    assert time.monotonic() - begun < 1 and KEY not in str(caught.value)


def test_an_odd_answer_to_a_write_leaves_a_doubt(server: Portal) -> None:
    html = {"Content-Type": "text/html"}
    for answer, doubt in (
        ((200, html, b"<p>"), True), ((500, html, b"<p>"), True), ((404, html, b"no"), False),
        ((307, {}, b""), False), ((200, {"Content-Type": "application/msgpack"}, b"\xc1"), True),
    ):  # fmt: skip
        with Odd(answer) as odd, pytest.raises(StoreUnavailable) as caught:
            RemoteStore(odd.url, KEY).append(Append("s", 0, drafts("x")))
        assert caught.value.doubt is doubt, answer


def test_a_server_that_is_gone_while_a_doubt_is_looked_up_leaves_it(server: Portal, way: Cutting) -> None:
    journal = RemoteStore(way.url, KEY)
    journal.append(Append("s", 0, drafts("before")))
    journal.client.busy_timeout_ms = 900
    lost = iter(["answer"])

    def cuts(path: str) -> str:
        return next(lost, "") if path.endswith("append") else "request" if path.endswith("read") else ""

    way.cuts = cuts
    with pytest.raises(StoreUnavailable, match="may or may not have happened") as caught:
        journal.append(Append("s", 1, drafts("once")))
    assert caught.value.doubt and server.journal.head("s").version == 2


def test_nobody_there_is_said_soon_and_the_second_time_at_once() -> None:
    journal = RemoteStore("http://127.0.0.1:9", KEY, busy_timeout_ms=300)
    times = []
    for _ in range(3):
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"cannot reach http://127\.0\.0\.1:9"):
            journal.streams()
        times.append(time.monotonic() - begun)
    assert times[0] < 1 and max(times[1:]) < 0.05


def test_a_connection_that_met_itself_leaves_no_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:  # nobody listens there: whoever asks from this port finds itself
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    journal = RemoteStore(f"http://127.0.0.1:{port}", KEY, busy_timeout_ms=200)
    here = ("127.0.0.1", port)
    monkeypatch.setattr(journal.client, "_new", lambda: HTTPConnection(*here, source_address=here))
    with pytest.raises(StoreUnavailable, match=r"refused|in use") as caught:
        journal.append(Append("s", 0, drafts("x")))
    assert not caught.value.doubt


def test_a_server_that_hangs_is_left_within_the_time(server: Portal) -> None:
    journal = server.store()
    assert journal.streams() == []
    journal.client.busy_timeout_ms = 300
    over = threading.Event()
    server.answer = lambda name, call: b"" if over.wait(5) else call()
    begun = time.monotonic()
    with pytest.raises(StoreUnavailable, match="may or may not have happened"):
        journal.append(Append("s", 0, drafts("x")))
    over.set()
    assert time.monotonic() - begun < 1


def test_what_a_server_made_up_is_damage(server: Portal) -> None:
    journal = server.store()
    journal.append(Append("s", 0, drafts("one", "two")))
    body = server.journal.read("s")[0].body

    def forged(name: str, call: Callable[[], bytes]) -> bytes:
        return call().replace(body, body.replace(b"one", b"0ne"))

    server.answer = forged
    with pytest.raises(DamagedError, match="s version 1"):
        journal.read("s")
