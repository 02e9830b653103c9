"""A server on loopback that replays models' answers, and answers in the formats of several providers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from segue.api.segue import Segue
from segue.core.models.spending import Caps, Price
from segue.services.models.config import ModelChoice, model_choice, model_config, save


class Reply(NamedTuple):
    """An answer as it is sent."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {}
    wait_seconds: float = 0.0
    trickle_seconds: float = 0.0
    """The pause between two bytes."""


class Seen(NamedTuple):
    """A request as it was received."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)


Answers = Reply | Callable[[Seen], Reply]


class Replay:
    """Answers requests in order, the last answer again and again."""

    def __init__(self, *answers: Answers) -> None:
        self.answers = list(answers)
        self.seen: list[Seen] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def take(self, seen: Seen) -> Reply:
        with self._lock:
            self.seen.append(seen)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, Reply) else answer(seen)

    def __enter__(self) -> Replay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(replay: Replay) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = replay.take(Seen(self.path, headers, body))
            replay.closing.wait(reply.wait_seconds)
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if not reply.trickle_seconds:
                    self.wfile.write(reply.body)
                for byte in reply.body if reply.trickle_seconds else b"":
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if replay.closing.wait(reply.trickle_seconds):
                        break
            except OSError:
                pass

    return Handler


def openai(content: Any, *, given: int = 900, made: int = 80, **more: Any) -> Reply:
    """An answer in the form of chat completions."""
    text = content if isinstance(content, str) else json.dumps(content)
    usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made, **more}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Reply(
        json.dumps({"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    )


def anthropic(value: Any, *, given: int = 900, made: int = 80) -> Reply:
    """An answer in the form of messages, by the tool that was forced."""
    blocks = [{"type": "tool_use", "id": "toolu_1", "name": "answer", "input": value}]
    usage = {"input_tokens": given, "cache_read_input_tokens": 0, "output_tokens": made}
    told = {
        "id": "msg_1", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use",
        "usage": usage,
    }  # fmt: skip
    return Reply(json.dumps(told).encode())


def refused(status: int, message: str = "no", **headers: str) -> Reply:
    """An error as providers send it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": message, "type": "x"}}).encode(), status, named)


def rung(url: str, name: str = "custom/m", **more: Any) -> ModelChoice:
    return model_choice(
        name, url=url, **{"price": Price(0.15, 0.60), "seconds": 10.0, "window": 8_192, **more}
    )


def set_ladder(segue: Segue, *rungs: ModelChoice, caps: Caps | None = None) -> None:
    save(segue.workspace, model_config(rungs, caps or Caps()))


DECIDED = {
    "kind": "decision",
    "text": "Decided to use HS256 because there is one issuer",
    "evidence": ["s4"],
}
"""A claim that holds for the work in ``run_kit``."""
