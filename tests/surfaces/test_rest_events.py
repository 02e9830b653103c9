"""Events over HTTP: appended at a version, read by cursor, followed live, also across a lost connection."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.rest import STORES, begun, done, serving
from tests.support.server import SegueServer

from segue.core import event_kinds as ev
from segue.core.sessions.fold import _HANDLERS as HANDLERS
from segue.surfaces.http.routes.commands import COMMANDS


@pytest.fixture(scope="module", params=STORES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with serving(request.param, tmp_path_factory.mktemp("server")) as running:
        yield running


def note(server: SegueServer, id: str, text: str) -> int:
    wish = {"commands": [{"command": "Note", "text": text}]}
    return int(done(server.ask("POST", f"/v1/sessions/{id}/commands", wish))["version"])


class Follower:
    """Reads a stream of server-sent events in a thread of its own."""

    def __init__(self, server: SegueServer, path: str, token: str = "", **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(
            "GET", path, headers={"Authorization": f"Bearer {token or server.token}", **named}
        )
        self._socket = self.connection.sock
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        assert (self.answer.headers["content-type"] or "").startswith("text/event-stream")
        self.got: list[dict[str, Any]] = []
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        one: dict[str, str] = {}
        try:
            for raw in self.answer:
                line = raw.decode().rstrip("\n")
                if not line and "data" in one:
                    data = json.loads(one["data"])
                    assert (str(data["version"]), data["kind"]) == (one["id"], one["event"])
                    self.got.append(data)
                    one = {}
                elif line and not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    one[name] = value
        except (OSError, http.client.HTTPException, ValueError):
            pass
        self.ended.set()

    def until(self, count: int, seconds: float = 20.0) -> list[int]:
        deadline = time.monotonic() + seconds
        while len(self.got) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return [one["version"] for one in self.got]

    def close(self) -> None:
        if not self.ended.is_set():
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self.answer.close()
        self.connection.close()
        self._socket.close()


def test_events_are_appended_behind_exactly_the_version_that_is_expected(server: SegueServer) -> None:
    begun(server, "exact", "a")
    wish: dict[str, Any] = {"events": [{"kind": "item.done", "body": {"text": "a"}}], "expect": 3}
    assert done(server.ask("POST", "/v1/sessions/exact/events", wish))["version"] == 4
    status, body, _ = server.ask("POST", "/v1/sessions/exact/events", wish)
    assert (status, body["code"], body["actual"]) == (409, "stale_version", 4)
    other = {"events": [{"kind": "note.taken", "body": {"text": "x"}}], "expect": 3}
    assert server.ask("POST", "/v1/sessions/exact/events", other)[0] == 409, "what would merge is refused too"
    again = done(server.ask("POST", "/v1/sessions/exact/events", {**wish, "expect": 4}))
    assert again["events"] == 0, "it is so already"


def test_of_two_who_expect_the_same_version_one_is_told(server: SegueServer) -> None:
    begun(server, "race")
    answers: list[int] = []
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        wish = {"events": [{"kind": "note.taken", "body": {"text": f"n{number}"}}], "expect": 2}
        barrier.wait()
        answers.append(server.ask("POST", "/v1/sessions/race/events", wish, Segue_Actor=f"a{number}")[0])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + [409] * 7


def test_a_kind_that_only_a_decision_brings_about_cannot_be_appended(server: SegueServer) -> None:
    begun(server, "kinds")
    for kind in sorted(set(ev.BODIES) - {body.KIND for body in COMMANDS.values()}):
        wish = {"events": [{"kind": kind, "body": {}}], "expect": 2}
        status, body, _ = server.ask("POST", "/v1/sessions/kinds/events", wish)
        assert (status, body["code"]) == (400, "usage"), kind
    assert done(server.ask("GET", "/v1/sessions/kinds"))["version"] == 2


APPENDED: list[tuple[str, dict[str, Any]]] = [
    ("item.added", {"text": "d"}),
    ("item.begun", {"text": "a", "quiet": True}),
    ("item.done", {"text": "a"}),
    ("item.begun", {"text": "b"}),
    ("item.blocked", {"text": "b", "reason": "no key"}),
    ("item.unblocked", {"text": "b"}),
    ("item.dropped", {"text": "c", "reason": "not needed"}),
    ("note.taken", {"text": "n"}),
    ("decision.made", {"text": "HS256", "why": "one issuer"}),
    ("question.asked", {"text": "Who?"}),
    ("question.answered", {"text": "Who?", "answer": "Ana"}),
    ("finding.learnt", {"text": "it needs a key"}),
    ("error.seen", {"text": "no key"}),
    ("error.solved", {"text": "no key", "solution": "made one"}),
    ("thread.moved", {"topic": "auth", "status": "paused", "notes": ["n1", "n2"]}),
    ("focus.set", {"note_id": "n1", "note_title": "t", "file": "a.py", "position": "f"}),
    ("notes.loaded", {"ids": ["n1"], "tokens": 3, "paths": {"n1": "notes/n1.md"}}),
    ("changes.seen", {"changes": [["a.py", "modified"]]}),
    ("context.noted", {"values": {"commits_count": 2}}),
    ("metrics.counted", {"counts": {"searches_performed": 5}}),
    ("budget.set", {"limit_cost": 5.0, "limit_tokens": 100}),
    ("budget.spent", {"cost": 0.5, "tokens": 3}),
    ("agent.noted", {"agent": "planner", "values": {"mode": "plan"}}),
    ("agent.dropped", {"agent": "planner"}),
    ("checkpoint.named", {"name": "here", "note": "before it ends"}),
    ("session.described", {"goal": "another", "summary": "nearly done"}),
    ("session.handed", {"to": "codex", "note": "go on"}),
    ("session.paused", {"reason": "lunch", "cause": "system"}),
    ("session.resumed", {}),
    ("session.abandoned", {"reason": "enough"}),
]


def test_an_event_that_is_appended_is_the_event_that_stands_in_the_journal(server: SegueServer) -> None:
    assert {kind for kind, _ in APPENDED} == {body.KIND for body in COMMANDS.values()}
    begun(server, "same", "a", "b", "c")
    version = done(server.ask("GET", "/v1/sessions/same"))["version"]
    for kind, body in APPENDED:
        wish = {"events": [{"kind": kind, "body": body}], "expect": version}
        assert done(server.ask("POST", "/v1/sessions/same/events", wish))["events"] == 1, kind
        page = done(server.ask("GET", f"/v1/sessions/same/events?after={version}"))
        assert [(event["kind"], event["body"]) for event in page["events"]] == [(kind, body)]
        version += 1


def test_every_kind_of_a_session_is_either_taken_or_left_to_a_decision() -> None:
    left = {
        "session.created", "session.started", "session.completed", "session.rewound", "session.gap",
        "session.imported", "journal.erased", "agent.saved", "pending.refused", "ledger.kept",
        "ledger.corrected", "ledger.joined",
    }  # fmt: skip
    evidence = ("feature.", "check.", "checks.", "step.", "evidence.")
    kinds = {body.KIND for body in HANDLERS if not body.KIND.startswith(evidence)}
    assert kinds - {body.KIND for body in COMMANDS.values()} <= left


def test_pages_of_events_go_on_where_the_one_before_ended(server: SegueServer) -> None:
    begun(server, "pages")
    for number in range(10):
        note(server, "pages", str(number))
    seen: list[int] = []
    cursor = ""
    for _ in range(8):
        page = done(server.ask("GET", f"/v1/sessions/pages/events?limit=3&cursor={cursor}"))
        seen += [event["version"] for event in page["events"]]
        cursor = page["next"]
        note(server, "pages", "meanwhile")
    assert seen == list(range(1, len(seen) + 1)) and len(seen) > 12
    assert done(server.ask("GET", "/v1/sessions/pages/events?after=11&limit=1"))["events"][0]["version"] == 12


def test_a_follower_gets_all_events_also_across_a_lost_connection(
    server: SegueServer,
) -> None:
    begun(server, "live")
    one = Follower(server, "/v1/sessions/live/events/follow")
    assert one.until(2) == [1, 2]
    begun_at = time.monotonic()
    note(server, "live", "x")
    assert one.until(3) == [1, 2, 3]
    assert time.monotonic() - begun_at < 5
    one.close()
    missed = [note(server, "live", str(number)) for number in range(5)]
    two = Follower(server, "/v1/sessions/live/events/follow?after=1", Last_Event_ID="3")
    assert two.until(5) == missed
    more = note(server, "live", "more")
    assert two.until(6)[-1] == more
    assert two.got[-1] == done(server.ask("GET", f"/v1/sessions/live/events?after={more - 1}"))["events"][0]
    two.close()


def test_many_follow_and_nobody_else_waits(server: SegueServer) -> None:
    begun(server, "crowd")
    followers = [Follower(server, "/v1/sessions/crowd/events/follow?after=2") for _ in range(60)]
    versions = [note(server, "crowd", str(number)) for number in range(20)]
    assert all(one.until(20) == versions for one in followers)
    for one in followers:
        one.close()


def test_a_stream_ends_when_its_key_is_revoked(server: SegueServer) -> None:
    begun(server, "revoked")
    made = done(server.ask("POST", "/v1/keys", {"role": "reader", "project": "default"}), 201)
    one = Follower(server, "/v1/sessions/revoked/events/follow", token=made["key"])
    assert one.until(2) == [1, 2]
    done(server.ask("DELETE", f"/v1/keys/{made['id']}"))
    note(server, "revoked", "secret")
    assert one.ended.wait(20) and len(one.got) == 2
    one.close()


def test_streams_end_cleanly_with_the_server(tmp_path: Path) -> None:
    with SegueServer(tmp_path, options=["--rate", "0"]) as own:
        begun(own, "ends")
        followers = [Follower(own, "/v1/sessions/ends/events/follow") for _ in range(5)]
        assert all(one.until(2) == [1, 2] for one in followers)
        begun_at = time.monotonic()
        assert own.stop() in (0, -15)
        assert time.monotonic() - begun_at < 6
        assert all(one.ended.wait(5) for one in followers)
        assert '"event":"fault"' not in own.log.read_text() and "Traceback" not in own.log.read_text()
        for one in followers:
            one.close()


def test_an_unknown_session_or_version_is_told_before_a_stream_begins(server: SegueServer) -> None:
    assert server.ask("GET", "/v1/sessions/nobody/events/follow")[0] == 404
    begun(server, "odd")
    assert server.ask("GET", "/v1/sessions/odd/events/follow", Last_Event_ID="x")[0] == 400
