"""Answers for the first second: what an agent asks at once, while the SDK is being loaded.

``EarlyAnswers`` knows the handshake and the lists, which need no session and no SDK; a test compares its
answers with those of the SDK. Everything else waits for the SDK. The handshake is passed on to the SDK too,
and the SDK's own answer to it is dropped. Once the SDK is loaded, lines are only passed on.

This is necessary: a client may ask for the newest protocol first, wait for less than the SDK takes
to load, and go on with the older one; the SDK would then have heard both and refuse the older.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, BinaryIO

from ... import __version__
from .tools import BRIEF_URI, INSTRUCTIONS, listed

LAST_SECONDS = 10.0
"""How long to wait for the last answers after the agent has closed its end."""
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
NAME = "segue"
SERVER = {"name": NAME, "version": __version__}
PROMPT = {"name": "brief", "description": "Where the work stands, to go on from"}
RESOURCE = {
    "name": "brief", "uri": BRIEF_URI, "mimeType": "text/plain",
    "description": "Where the work stands, and what was said and holds",
}  # fmt: skip
CAPABILITIES = {
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request that can be answered without the SDK; None for every other one."""
    if is_modern(params):
        return _modern(method, params)
    if method == "initialize" and params.get("protocolVersion") in HANDSHAKES:
        return {
            "protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES,
            "serverInfo": SERVER, "instructions": INSTRUCTIONS,
        }  # fmt: skip
    return {} if method == "ping" else _list(method, params)


def is_modern(params: dict[str, Any]) -> bool:
    """Whether a request is of the protocol without a handshake, in which each one says its version."""
    meta = params.get("_meta")
    return (
        isinstance(meta, dict)
        and meta.get(f"{META}protocolVersion") == MODERN
        and f"{META}clientCapabilities" in meta
    )


def _modern(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "server/discover":
        found: dict[str, Any] | None = {
            "capabilities": CAPABILITIES, "instructions": INSTRUCTIONS, "supportedVersions": [MODERN],
        }  # fmt: skip
    else:
        found = _list(method, params)
    about = {
        "cacheScope": "private",
        "resultType": "complete",
        "ttlMs": 0,
        "_meta": {f"{META}serverInfo": SERVER},
    }
    return {**found, **about} if found is not None else None


def _list(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if params.get("cursor"):
        return None
    match method:
        case "tools/list":
            return {"tools": listed()}
        case "prompts/list":
            return {"prompts": [PROMPT]}
        case "resources/list":
            return {"resources": [RESOURCE]}
    return None


class EarlyAnswers:
    """Stands between the agent and the SDK: ``lines`` is what the SDK reads, ``write`` is where it writes."""

    def __init__(self, agent_in: BinaryIO, agent_out: BinaryIO) -> None:
        self._in, self._out = agent_in, agent_out
        self._writing = threading.Lock()
        self._dropped: set[Any] = set()
        self._asked: set[str] = set()
        """The ids, as JSON, of requests that the SDK has not answered."""
        self._answered = threading.Condition()
        self.loaded = threading.Event()
        reading, writing = os.pipe()
        self.lines = os.fdopen(reading, encoding="utf-8", errors="replace")
        self._pass_on = os.fdopen(writing, "wb", buffering=0)

    def start(self) -> None:
        threading.Thread(target=self._read, name="segue-mcp-front", daemon=True).start()

    def _read(self) -> None:
        handshake = False
        for line in iter(self._in.readline, b""):
            message = _request(line)
            begins = message is not None and (
                message["method"] == "initialize" or is_modern(message.get("params") or {})
            )
            if message is not None and (handshake or begins) and not self.loaded.is_set():
                result = answer(message["method"], message.get("params") or {})
                if result is not None:
                    if message["method"] == "initialize":
                        handshake = True
                        self._dropped.add(message["id"])
                        self._pass_on.write(line)
                    self._send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
                    continue
            with self._answered:
                if message is not None:
                    self._asked.add(json.dumps(message["id"]))
                elif b"notifications/cancelled" in line:
                    self._asked.clear()  # one of them gets no answer; the others are not waited for
            self._pass_on.write(line)
        with self._answered:  # an agent that has closed its end still reads answers
            self._answered.wait_for(lambda: not self._asked, LAST_SECONDS)
        self._pass_on.close()

    def write(self, line: str) -> None:
        """Pass on a line of the SDK, unless it answers a handshake that was answered already."""
        message = json.loads(line)
        if "method" not in message:
            if message.get("id") in self._dropped:
                self._dropped.discard(message["id"])
                return
            self._send(line)
            with self._answered:
                self._asked.discard(json.dumps(message.get("id")))
                self._answered.notify()
            return
        self._send(line)

    def _send(self, line: str) -> None:
        with self._writing:
            self._out.write(line.rstrip("\n").encode() + b"\n")
            self._out.flush()


def _request(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    is_request = isinstance(message, dict) and isinstance(message.get("method"), str) and "id" in message
    return message if is_request and isinstance(message.get("params") or {}, dict) else None


def own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The agent's streams, reserved for the protocol: other code in this process cannot read or print to
    them."""
    agent_in, agent_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return agent_in, agent_out
