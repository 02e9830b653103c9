"""A server that is killed between a commit and its answer: who sends the request again is told, and it took
effect once."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from segue.testing.server import SegueServer

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
        assert [one["id"] for one in sessions] == [body["id"]]
        again = asked(server, wish, "k")
        assert again == (201, body)
    finally:
        server.stop()
