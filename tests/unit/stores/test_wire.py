"""What goes over the wire between a store and a server is what version 0.1 sent and answered.

``tests/fixtures/wire-0.1/exchanges.json`` was written by version 0.1.0: the calls below, made by its client
to its own server, request and answer as bytes. A client of today is given those answers, and a server of
today those requests: so either may be of the old version.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.support.remote import Access

from segue.core.journal.pieces import address
from segue.core.memories.model import MemoryAudit, MemoryFilter, MemoryReader, Vote
from segue.services.server import store_over_http
from segue.stores.base import Append, Rewrite, Snapshot
from segue.stores.memory.store import VolatileStore
from segue.stores.memory_changes import MemoryChange, StoredMemory
from segue.stores.remote import RemoteStore
from segue.testing.memories import HERE, MODEL, NOW, kept, memory, vector_of
from segue.testing.runs import row
from segue.testing.stores import AT, draft, drafts

FIXTURE = Path(__file__).parents[2] / "fixtures" / "wire-0.1" / "exchanges.json"
PIECE, OTHER = b"a piece", b"another piece"
FIRST = memory("m1", "the pool has five connections", agent="ann", session="s1")
SECOND = memory("m2", "tests run with -n 2", session="s1", metadata={"n": [1, 2.5, None, True]})
GONE = drafts("gone")
CHANGE = MemoryChange(
    [kept(FIRST), kept(SECOND), StoredMemory(memory("m3", "said offline"))],
    votes=[Vote("m1", "ann", "helpful", NOW, "it did help")],
    recalls=[("m1", 2, NOW)],
    trail=[MemoryAudit("m1", "add", NOW, "ann", "learnt in s1"), MemoryAudit("m2", "add", AT, "user")],
)
ANYONE = MemoryReader("ann", "default", "", ("s1",), ("p",), "acme")
NARROW = MemoryFilter(types=("standard",), agents=("ann",), sessions=("s1",), since="2020", until="2030")

NEW = vector_of("something new")


def rounded(near: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """What is nearest, as far as single precision goes: with numpy it is reckoned in that."""
    return [(no, round(cosine, 5)) for no, cosine in near]


CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    ("journal/streams", lambda s: s.streams()),
    ("journal/append", lambda s: s.append(Append("session/a", 0, drafts("one", "two")))),
    (
        "journal/append",
        lambda s: s.append(
            Append("session/a", 2, [draft("ü", run="r1")]), Append("hold/a", 0),
            Append("tree/x", 0, drafts("t")), memories=CHANGE,
            pieces={address(PIECE): PIECE, address(OTHER): OTHER},
        ),
    ),
    ("journal/append", lambda s: s.append(Append("session/b", 0, drafts("b")), pieces=None)),
    ("journal/read", lambda s: s.read("session/a")),
    ("journal/read", lambda s: s.read("session/a", after=1, limit=1)),
    ("journal/read", lambda s: s.read("nothing")),
    ("journal/head", lambda s: s.head("session/a")),
    ("journal/streams", lambda s: s.streams("session/")),
    ("journal/pieces", lambda s: s.pieces(iter([address(PIECE), address(b"absent")]))),
    ("journal/keep", lambda s: s.keep(Snapshot("session/a", 2, 7, b"state", b"card"))),
    ("journal/snapshots", lambda s: s.snapshots(["session/a", "session/b"])),
    ("journal/snapshots", lambda s: s.snapshots(["session/a"], cards=True)["session/a"].card),
    ("journal/erase", lambda s: s.erase([Rewrite("session/a", 1, b"{}")], {}, Append("session/a", 3, GONE))),
    ("journal/erase", lambda s: s.erase([], {address(OTHER): b"-"})),
    ("journal/pieces", lambda s: s.pieces([address(OTHER)])),
    ("journal/head", lambda s: s.head("session/b")),
    (
        "journal/drop",
        lambda s: s.drop(Append("session/b", 1), pieces=[address(OTHER)], beside={"session/a": 4}),
    ),
    ("journal/head", lambda s: s.head("tree/x")),
    ("journal/drop", lambda s: s.drop(Append("tree/x", 1))),
    ("runs/put", lambda s: s.runs.put([row("k1"), replace(row("k2", last=2.5), reading=None)])),
    ("runs/get", lambda s: s.runs.get("k1")),
    ("runs/get", lambda s: s.runs.get("absent")),
    ("runs/rows", lambda s: s.runs.rows()),
    ("runs/rows", lambda s: s.runs.rows(projects=iter(["p"]), session="s")),
    ("runs/known", lambda s: s.runs.known()),
    ("runs/drop", lambda s: s.runs.drop(iter(["k2"]))),
    (
        "memories/write",
        lambda s: s.memories.write(
            MemoryChange(
                [kept(memory("m4", "something new"))], [kept(replace(SECOND, content="-n 4", revision=2))],
                vectors=[StoredMemory(FIRST, "", "other", vector_of("pool"))],
            )
        ),
    ),
    ("memories/get", lambda s: s.memories.get(["m2", "m1", "absent"], ANYONE)),
    ("memories/listing", lambda s: s.memories.listing(HERE, MemoryFilter(), NOW)),
    ("memories/listing", lambda s: s.memories.listing(ANYONE, NARROW, NOW, 1)),
    ("memories/match", lambda s: s.memories.match(HERE, ["pool", "n", "new"], MemoryFilter(), 10)),
    ("memories/near", lambda s: rounded(s.memories.near(HERE, MODEL, NEW, MemoryFilter(), 3))),
    ("memories/take", lambda s: s.memories.take([1, 2, 99], ANYONE)),
    ("memories/places", lambda s: s.memories.places([1, 2], ANYONE)),
    ("memories/places", lambda s: s.memories.places([1, 2], ANYONE, 2)),
    ("memories/trail", lambda s: s.memories.trail(HERE)),
    ("memories/trail", lambda s: s.memories.trail(HERE, "m1", 5)),
    ("memories/unembedded", lambda s: s.memories.unembedded(MODEL, 10)),
    ("memories/unembedded", lambda s: s.memories.unembedded("other", 10, 2)),
    ("memories/meant", lambda s: s.memories.meant(["m1", "m2", "absent"])),
    ("memories/everything", lambda s: s.memories.everything()),
    ("memories/carried", lambda s: s.memories.carried()),
    ("memories/carried", lambda s: s.memories.carried(1, 2)),
    ("memories/compact", lambda s: s.memories.compact()),
    ("memories/compact", lambda s: s.memories.compact("help")),
]  # fmt: skip
ACCESS = Access("k1", "admin", "web", "")
CALLS.append(("journal/about", lambda s: s.about()))
EXCHANGES: list[dict[str, str]] = json.loads(FIXTURE.read_text())
DEFAULTS: dict[str, dict[str, Any]] = {"memories/take": {"reach": 0}}
"""What a server of version 0.1 takes where a request says nothing."""
for _name in ("runs/known", "memories/everything", "journal/about"):
    DEFAULTS[_name] = {"name": ""}


def decoded(name: str, request: bytes) -> Any:
    """A request as a server of version 0.1 sees it; the name of the attempt is random."""
    asked = {**DEFAULTS.get(name, {}), **msgspec.msgpack.decode(request)}
    return {**asked, "attempt": len(asked["attempt"])} if "attempt" in asked else asked


def test_every_method_of_every_port_was_recorded() -> None:
    recorded = {tuple(one["call"].split("/")) for one in EXCHANGES}
    later = {method for method in store_over_http.METHODS if method[0] == "project_facts"}
    assert recorded == set(store_over_http.METHODS) - later and len(EXCHANGES) == len(CALLS) + 2


def test_a_server_of_the_old_version_understands_our_requests_and_we_its_answers() -> None:
    left, store = iter(EXCHANGES), RemoteStore("http://127.0.0.1:9", "key")

    def old_server(name: str, body: bytes, settle: Any = None) -> bytes:
        one = next(left)
        assert name == one["call"]
        assert decoded(name, body) == decoded(name, bytes.fromhex(one["request"]))
        return bytes.fromhex(one["answer"])

    store.client.call = old_server  # type: ignore[method-assign]
    here = VolatileStore()
    for name, call in CALLS[:-1]:
        assert call(store) == call(here), name
    about = store.about()
    assert (about.project, about.role, next(left, None)) == ("web", "admin", None)


def test_a_client_of_the_old_version_is_answered_as_it_was() -> None:
    here = VolatileStore()
    for one in EXCHANGES:
        port, method = one["call"].split("/")
        answer = store_over_http.call(here, ACCESS, port, method, bytes.fromhex(one["request"]))
        now, then = (msgspec.msgpack.decode(body) for body in (answer, bytes.fromhex(one["answer"])))
        if method == "about":
            assert {**now, "segue": ""} == {**then, "segue": ""}
        elif method == "near":
            assert rounded(now) == rounded(then)
        else:
            assert answer.hex() == one["answer"], one["call"]
