"""The scripted model as a server on loopback, in threads of the test's own process.

Every request is kept before it is answered. Keys are never kept. A stalled answer
ends when the model is closed.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from tests.support.scripted.client import pid_of_client
from tests.support.scripted.dialects import Part, in_tags, rendered
from tests.support.scripted.place import Spot, aside, is_aside, marked, turns_in
from tests.support.scripted.steps import Fault, Script, Stall, Step, Used
from tests.support.scripted.wires import Answer, Asked, Message, Wire, wire_of

from segue.core.base.values import Value

_SECRET_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "cookie")


class Request(Value):
    """A request to the model."""

    number: int  # from 1
    at: float
    protocol: str  # "anthropic", "responses", "chat", "gemini"; "" anything else
    path: str
    headers: Mapping[str, str]
    body: Any
    messages: Sequence[Message] = ()
    tools: Sequence[str] = ()
    script: str = ""
    turn: int = 0
    is_aside: bool = False  # a title, a summary: not the work itself
    pid: int = 0  # of the process that asked; 0: it was gone already

    def text(self) -> str:
        """All of it, as text."""
        return json.dumps(self.body, ensure_ascii=False)


class Sent(Value):
    """Where a text was found in what the model was sent."""

    request: int
    where: str  # keys and numbers, as in "messages/1/content/0/text"
    text: str  # the whole of it


class _Launch(Value):
    script: str
    base: int  # turns of the model that the conversation had when this process first asked


class ScriptedModel:
    """A model that follows scripts. ``folder``: the working folder that paths of steps are in.

    ``queue``: names of scripts; each process that asks without naming one takes the next. ``log``: a
    folder where each request is also written, for a look after a test failed.
    """

    def __init__(
        self, scripts: Iterable[Script], *, folder: Path | str = ".", queue: Iterable[str] = (),
        log: Path | None = None,
    ) -> None:  # fmt: skip
        self.scripts = {script.name: script for script in scripts}
        self.queue = list(queue)
        self.folder = str(folder)
        self.log = log
        self.summary = ""
        """What it answers when it is asked to summarise; empty: how far the script has come."""
        self._requests: list[Request] = []
        self._launches: dict[int, _Launch] = {}
        self._faults: dict[tuple[str, int], int] = {}
        self._changed = threading.Condition()
        self.closing = threading.Event()
        self._server: _Server | None = None

    # -- as a server ---------------------------------------------------------------------------

    def open(self) -> ScriptedModel:
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def close(self) -> None:
        self.closing.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def refuse(self) -> None:
        """Stop listening: from now on connections to the address are refused."""
        assert self._server is not None, "the model is not open"
        self._server.shutdown()
        self._server.socket.close()

    def __enter__(self) -> ScriptedModel:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        assert self._server is not None, "the model is not open"
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def play(self, script: Script) -> None:
        """Let whoever asks next without naming a script take this one. What earlier processes took is
        forgotten: the system gives their ids to others."""
        with self._changed:
            self.scripts[script.name] = script
            self.queue[:] = [script.name]
            self._launches.clear()

    # -- what it was sent ----------------------------------------------------------------------

    @property
    def requests(self) -> list[Request]:
        with self._changed:
            return list(self._requests)

    def turns(self, script: str = "") -> list[Request]:
        """The requests of the work itself, of one script or of all."""
        wanted = [one for one in self.requests if one.protocol and not one.is_aside]
        return [one for one in wanted if not script or one.script == script]

    def sent(self, text: str, *, after: int = 0) -> list[Sent]:
        """Every place in which the model was sent a text, in requests after that number."""
        found: list[Sent] = []
        for request in self.requests:
            if request.number > after:
                found += (Sent(request.number, at, whole) for at, whole in _places(request.body, text))
        return found

    def wait_for(self, what: Callable[[list[Request]], Any], seconds: float = 60.0) -> Any:
        """Wait until a function of the requests returns something true, and return that. Raises
        TimeoutError."""
        until = time.monotonic() + seconds
        with self._changed:
            while not (found := what(list(self._requests))):
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"not within {seconds} s; the model was asked {self.told()}")
                self._changed.wait(min(left, 0.5))
            return found

    def wait_for_turn(self, script: str, turn: int, seconds: float = 60.0) -> Request:
        """Wait until a script has reached this turn (from 0)."""

        def there(requests: list[Request]) -> Request | None:
            mine = (r for r in requests if r.script == script and not r.is_aside)
            return next((r for r in mine if r.turn >= turn), None)

        return cast(Request, self.wait_for(there, seconds))

    def told(self) -> str:
        """The requests in a line, for the message of a failing test."""
        return ", ".join(
            f"{r.number}:{r.protocol or r.path}{' aside' if r.is_aside else f' {r.script}@{r.turn}'}"
            for r in self._requests
        )

    # -- answering -----------------------------------------------------------------------------

    def take(self, path: str, headers: Mapping[str, str], body: Any, client: tuple[str, int]) -> Request:
        """Store a request, and determine what it is about."""
        wire = wire_of(urlsplit(path).path)
        asked = wire.read(body) if wire is not None and isinstance(body, dict) else None
        pid = pid_of_client(client[1], self.port)
        with self._changed:
            spot = self._spot(asked, pid) if asked else Spot()
            request = Request(
                len(self._requests) + 1, time.time(), wire.name if wire else "", path,
                {k.lower(): v for k, v in headers.items() if k.lower() not in _SECRET_HEADERS}, body,
                asked.messages if asked else (), asked.tools if asked else (), spot.script, spot.turn,
                asked is not None and is_aside(asked), pid,
            )  # fmt: skip
            self._requests.append(request)
            self._changed.notify_all()
        if self.log is not None:
            self.log.mkdir(parents=True, exist_ok=True)
            name = f"{request.number:04d}-{request.protocol or 'other'}.json"
            told = {"path": path, "script": spot.script, "turn": spot.turn, "body": body}
            (self.log / name).write_text(json.dumps(told, indent=1))
        return request

    def _spot(self, asked: Asked, pid: int) -> Spot:
        spot = marked(asked.messages)
        if spot.script:
            return spot
        launch = self._launches.get(pid)
        if launch is None:
            if is_aside(asked) or not self.queue or not pid:  # one that is gone takes nothing from the next
                return Spot()
            launch = _Launch(self.queue.pop(0), turns_in(asked.messages))
            self._launches[pid] = launch
        return Spot(launch.script, max(0, turns_in(asked.messages) - launch.base))

    def answer(self, request: Request, asked: Asked, wire: Wire) -> Answer | Fault:
        """What the model says to a request, and whether it stalls on the way."""
        used = len(request.text()) // 4
        if request.is_aside:
            with self._changed:  # a summary may be requested of a text, in which no turns can be counted
                next_turn = max((r.turn + 1 for r in self.turns(request.script)), default=0)
            text = aside(asked, Spot(request.script, next_turn), self.summary)
            return Answer(request.number, asked.model, [Part("text", text)], used, 20 + len(text) // 4)
        steps = self.steps(request)
        for fault in (step for step in steps if isinstance(step, Fault)):
            key = (request.script, request.turn)
            with self._changed:
                self._faults[key] = self._faults.get(key, 0) + 1
                if not fault.times or self._faults[key] <= fault.times:
                    return fault
        dialect = asked.dialect or wire.dialect
        parts = rendered(dialect, steps, asked.tools, self.folder) or [Part("text", "Well.")]
        parts = in_tags(parts) if dialect == "cline" else parts
        used = next((step.tokens for step in steps if isinstance(step, Used)), used)
        output = 20 + sum(len(part.text) + len(str(part.arguments)) for part in parts) // 4
        return Answer(request.number, asked.model, parts, used, output)

    def steps(self, request: Request) -> Sequence[Step]:
        script = self.scripts.get(request.script) or Script("", ())
        return script.turn(request.turn)

    def stalls(self, request: Request) -> float:
        if request.is_aside:
            return 0.0
        return next((step.seconds for step in self.steps(request) if isinstance(step, Stall)), 0.0)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of agents that were killed in the middle."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _body(self) -> Any:
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            raw = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        encoding = self.headers.get("content-encoding", "")
        if encoding in ("gzip", "deflate"):
            raw = gzip.decompress(raw) if encoding == "gzip" else zlib.decompress(raw)
        try:
            return json.loads(raw) if raw else None
        except ValueError:
            return {"unreadable": raw[:200].decode("latin-1"), "encoding": encoding}

    def _json(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.model.take(self.path, dict(self.headers), None, self.client_address)
        if urlsplit(self.path).path.endswith("/models"):
            listed = {"id": "scripted", "object": "model", "created": 0, "owned_by": "segue"}
            return self._json({"object": "list", "data": [listed], "models": []})
        self._json({"error": {"message": "not found", "type": "not_found_error"}}, 404)

    def do_POST(self) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self._post()

    def _post(self) -> None:
        body, model = self._body(), self.server.model
        path = urlsplit(self.path).path
        request = model.take(self.path, dict(self.headers), body, self.client_address)
        if path.endswith(("/count_tokens", ":countTokens")):
            count = len(request.text()) // 4
            return self._json({"input_tokens": count, "totalTokens": count})
        wire = wire_of(path)
        if wire is None or not isinstance(body, dict):
            return self._json({"error": {"message": "not found", "type": "not_found_error"}}, 404)
        asked = wire.read(body)
        answer = model.answer(request, asked, wire)
        if isinstance(answer, Fault):
            more = {"retry-after": str(answer.retry_after_seconds)} if answer.retry_after_seconds else {}
            more |= {} if answer.times else {"x-should-retry": "false"}
            return self._json(wire.fault(answer), answer.status, more)
        if asked.stream or ":stream" in path:
            return self._stream(wire, answer, model.stalls(request))
        self._json(wire.whole(answer))

    def _stream(self, wire: Wire, answer: Answer, stall_seconds: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.close_connection = True
        self.end_headers()
        for event in wire.stream(answer):
            if event.pause and stall_seconds:
                self.server.model.closing.wait(stall_seconds)
            data = event.data if isinstance(event.data, str) else json.dumps(event.data)
            name = f"event: {event.name}\n" if event.name else ""
            self.wfile.write(f"{name}data: {data}\n\n".encode())
            self.wfile.flush()


def _places(value: Any, text: str, at: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, str):
        return [(at, value)] if text in value else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[tuple[str, str]] = []
    for key, one in inner:
        found += _places(one, text, f"{at}/{key}" if at else str(key))
    return found
