"""A server that is killed between a commit and its answer: who sends the request again is told, and it took
effect once."""

from __future__ import annotations

import http.client
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.server import SegueServer

COMMITTED, NOT_YET = "store.append.after_commit", "store.append.before_commit"


class Write(NamedTuple):
    path: str
    body: Any
    again: tuple[int, ...]
    """What the repetition may be answered."""
    kind: str
    """The event that must be there once."""


S = "/v1/sessions/s"
NOTE: dict[str, Any] = {"commands": [{"command": "Note", "text": "n"}]}
EVENT: dict[str, Any] = {"events": [{"kind": "note.taken", "body": {"text": "n"}}], "expect": 2}
FEATURE = {"id": "f", "description": "d"}
WRITES = {
    "a command": Write(f"{S}/commands", NOTE, (200,), "note.taken"),
    "an event": Write(f"{S}/events", EVENT, (200, 409), "note.taken"),
    "a pause": Write(f"{S}/pause", {"reason": "r"}, (200, 409), "session.paused"),
    "a feature": Write(f"{S}/features", FEATURE, (201, 409), "feature.added"),
    "an offer": Write(f"{S}/handoffs", {"to": "codex"}, (201, 409), "session.handed"),
    "spending": Write(f"{S}/spend", {"cost": 1.5}, (200, 409), "budget.spent"),
}


def asked(server: SegueServer, write: Write, key: str) -> tuple[int, Any] | None:
    """(status, body); None if there was no answer."""
    try:
        return server.ask("POST", write.path, write.body, Idempotency_Key=key)[:2]
    except (OSError, http.client.HTTPException):
        return None


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("where", [COMMITTED, NOT_YET])
def test_a_write_that_is_sent_again_after_a_kill_took_effect_once(
    name: str, where: str, tmp_path: Path
) -> None:
    write = WRITES[name]
    server = SegueServer(tmp_path, options=["--rate", "0"])
    server.failpoint = f"{where}:2"
    server.start()
    try:
        assert server.ask("POST", "/v1/sessions", {"goal": "g", "id": "s"})[0] == 201
        assert asked(server, write, "once") is None, "it died before it answered"
        server.kill()
        server.failpoint = ""
        server.start()
        status, body = asked(server, write, "once") or (0, {})
        assert status in write.again, body
        if status == 409:
            assert body["code"] in ("already_done", "stale_version"), body
        third = asked(server, write, "once")
        assert third is not None and third[0] in write.again
        events = server.ask("GET", "/v1/sessions/s/events?limit=1000")[1]["events"]
        assert [event["kind"] for event in events].count(write.kind) == 1
        assert server.ask("GET", "/v1/sessions/s/audit")[1]["ok"]
    finally:
        server.stop()


def test_a_session_that_is_begun_twice_because_the_answer_was_lost_is_one(tmp_path: Path) -> None:
    server = SegueServer(tmp_path, options=["--rate", "0"])
    server.failpoint = f"{COMMITTED}:1"
    server.start()
    try:
        wish = Write("/v1/sessions", {"goal": "g", "items": ["a"]}, (201,), "")
        assert asked(server, wish, "k") is None
        server.kill()
        server.failpoint = ""
        server.start()
        status, body = asked(server, wish, "k") or (0, {})
        assert status == 201, body
        sessions = server.ask("GET", "/v1/sessions")[1]["sessions"]
        assert [one["id"] for one in sessions] == [body["session"]]
        again = asked(server, wish, "k")
        assert again == (201, body)
    finally:
        server.stop()


def test_what_was_acknowledged_to_many_at_once_is_there_after_a_kill(tmp_path: Path, kill_count: int) -> None:
    server = SegueServer(tmp_path, options=["--rate", "0", "--log", "none"]).start()
    acknowledged: dict[str, list[str]] = {f"s{n}": [] for n in range(4)}
    ended = threading.Event()

    def work(number: int) -> None:
        session, step = f"s{number % 4}", 0
        while not ended.is_set():
            step += 1
            item = f"{number}-{step}"
            try:
                status, body, *_ = server.ask(
                    "PATCH", f"/memories/ace/session/{session}", {"completed_items": [item]}
                )
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
                continue
            assert status == 200 and item in body["completed_items"], body
            acknowledged[session].append(item)

    for session in acknowledged:
        server.ask("POST", "/memories/ace/session", {"session_id": session})
    threads = [threading.Thread(target=work, args=(number,)) for number in range(24)]
    try:
        for thread in threads:
            thread.start()
        for number in range(max(3, kill_count // 6)):
            before = sum(map(len, acknowledged.values()))
            while sum(map(len, acknowledged.values())) < before + 60:
                time.sleep(0.01)
            time.sleep((number * 37 % 100) / 1000)
            server.kill()
            server.start()
        ended.set()
        for thread in threads:
            thread.join()
        for session, items in acknowledged.items():
            there = server.ask("GET", f"/memories/ace/session/{session}")[1]["completed_items"]
            assert set(items) <= set(there) and len(there) == len(set(there))
            assert server.ask("GET", f"/v1/sessions/{session}/audit")[1]["ok"]
    finally:
        ended.set()
        server.stop()
