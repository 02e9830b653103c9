"""Asking a model over HTTP: the form of OpenAI's chat completions, and that of Anthropic's messages.

One request, one answer, nothing kept. Only https, or http to this machine; no redirect is followed and no
proxy is used, so a key goes to the host that was named and nowhere else. A call ends when its time is over,
whatever the server does, and reads no more than so many bytes. Keys stand in headers only: never in a
message, a log or an error.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from ..core.base.values import Value
from ..core.models.prompt import ModelQuestion, without_lengths
from ..errors import BadSettings
from .redaction.redact import redact

ANSWER_BYTES_MAX = 1_000_000
ATTEMPTS_MAX = 4
BACKOFF_SECONDS = 1.0
AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
REFUSES_FORM = (400, 404, 415, 422)
MASK = "********"
ERROR_CHARS = 300

Sleep = Callable[[float], None]


class ModelEndpoint(Value):
    """Where a model is, and how it is spoken to."""

    url: str
    """Up to the version: https://host/v1."""
    model: str
    wire: str = "openai"
    """openai or anthropic."""
    strict: bool = False
    """Whether it refuses schemas with lengths, and old names of parameters."""


class ModelRequest(Value):
    """What is sent, to the byte."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class ModelAnswer(Value):
    """What a model said, and what it used."""

    text: str
    input: int = 0
    output: int = 0
    cost: float = -1.0
    """As the server says; negative if it does not."""
    seconds: float = 0.0
    cut: bool = False
    """It ended because it was too long."""
    counted: bool = False
    """Whether the server said what was used."""


class ModelFault(Exception):
    """A model did not answer. ``sent`` says whether it may have cost something."""

    def __init__(self, message: str, *, sent: bool = False, status: int = 0) -> None:
        super().__init__(message)
        self.sent = sent
        self.status = status


def check_url(url: str) -> None:
    """BadSettings unless it is https, or http on this machine, without credentials in it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.username or parts.password:
        raise BadSettings("an address of a model holds no password", hint="give the key by a variable")
    if parts.scheme == "https" and host:
        return
    if parts.scheme == "http" and _loopback(host):
        return
    raise BadSettings(
        f"{url!r} is neither https nor on this machine", hint="for example http://127.0.0.1:11434/v1"
    )


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


# -- what is sent


def request_of(endpoint: ModelEndpoint, question: ModelQuestion, *, form: bool = True) -> ModelRequest:
    """The request for a question; without ``form``, the schema stands in the text."""
    check_url(endpoint.url)
    system = question.system
    if not form:
        system += " The form, as a JSON Schema: " + json.dumps(question.schema, separators=(",", ":"))
    if endpoint.wire == "anthropic":
        path, body = "/messages", _anthropic(endpoint, question, system, form)
        headers = [("anthropic-version", "2023-06-01")]
    else:
        path, body = "/chat/completions", _openai(endpoint, question, system, form)
        headers = []
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    headers += [("Content-Type", "application/json"), ("Accept", "application/json")]
    return ModelRequest(endpoint.url.rstrip("/") + path, tuple(headers), raw)


def _openai(endpoint: ModelEndpoint, question: ModelQuestion, system: str, form: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": question.user}],
    }
    if endpoint.strict:
        body["max_completion_tokens"] = question.output_tokens_max
    else:
        body["max_tokens"] = question.output_tokens_max
        body["temperature"] = 0
    if form:
        schema = without_lengths(question.schema) if endpoint.strict else question.schema
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": True},
        }
    return body


def _anthropic(endpoint: ModelEndpoint, question: ModelQuestion, system: str, form: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": endpoint.model, "max_tokens": question.output_tokens_max, "temperature": 0,
        "system": system, "messages": [{"role": "user", "content": question.user}],
    }  # fmt: skip
    if form:
        body["tools"] = [
            {"name": "answer", "description": "Give the answer.", "input_schema": question.schema}
        ]
        body["tool_choice"] = {"type": "tool", "name": "answer"}
    return body


def with_key(endpoint: ModelEndpoint, request: ModelRequest, key: str) -> ModelRequest:
    """The request with its key; without one, as it is."""
    if not key:
        return request
    name, value = ("x-api-key", key) if endpoint.wire == "anthropic" else ("Authorization", f"Bearer {key}")
    return ModelRequest(request.url, (*request.headers, (name, value)), request.body)


# -- asking


def ask(
    endpoint: ModelEndpoint, question: ModelQuestion, *, key: str = "", seconds: float = 60.0,
    sleep: Sleep = time.sleep, clock: Callable[[], float] = time.monotonic,
) -> ModelAnswer:  # fmt: skip
    """Ask until there is an answer or time is over; Fault otherwise.

    Busy servers are asked again, as late as they say. One that does not know schemas is asked without."""
    start = clock()
    form, attempt = True, 0
    while True:
        attempt += 1
        left = seconds - (clock() - start)
        if left <= 0:
            raise ModelFault(f"no answer in {seconds:.0f} s")
        try:
            status, headers, raw = _exchange(
                with_key(endpoint, request_of(endpoint, question, form=form), key), left
            )
        except ModelFault as fault:
            raise ModelFault(_masked(str(fault), key), sent=fault.sent) from None
        if status == 200:
            return _answer(endpoint, raw, clock() - start)
        if status in AGAIN and attempt < ATTEMPTS_MAX:
            pause = _pause(headers, attempt)
            if pause >= seconds - (clock() - start):
                raise ModelFault(f"it is busy for {pause:.0f} s more", status=status)
            sleep(pause)
        elif form and status in REFUSES_FORM:
            form = False
        else:
            raise ModelFault(_refusal(status, raw, key), status=status)


def _pause(headers: dict[str, str], attempt: int) -> float:
    """How long to wait: as the server says, else twice as long each time."""
    told = headers.get("retry-after-ms", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(told) / 1000)
    told = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(told))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    return BACKOFF_SECONDS * float(2 ** (attempt - 1))


def _masked(text: str, key: str) -> str:
    return redact(text.replace(key, MASK) if key else text)


def _refusal(status: int, raw: bytes, key: str) -> str:
    text = raw[:4_000].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, AttributeError):
        told = json.loads(text).get("error")
        text = str(told.get("message") if isinstance(told, dict) else told)
    word = "a redirect, which is not followed" if 300 <= status < 400 else " ".join(text.split())
    return _masked(f"it answered {status}: {word[:ERROR_CHARS]}", key)


def _exchange(request: ModelRequest, seconds: float) -> tuple[int, dict[str, str], bytes]:
    """(status, headers, body) within so many seconds; a watch closes the line when they are over."""
    parts = urlsplit(request.url)
    host, port = parts.hostname or "", parts.port
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, port, timeout=seconds, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=seconds)
    over, lines = threading.Event(), list[socket.socket]()
    watch = threading.Timer(seconds, _cut, (lines, over))
    watch.daemon = True
    watch.start()
    try:
        connection.connect()
        lines.append(connection.sock)
        connection.request("POST", parts.path, request.body, dict(request.headers))
        with connection.getresponse() as answer:
            raw = answer.read(ANSWER_BYTES_MAX + 1)
        if len(raw) > ANSWER_BYTES_MAX:
            raise ModelFault(f"its answer has over {ANSWER_BYTES_MAX:,} bytes", sent=True)
        if over.is_set():
            raise ModelFault(f"no answer in {seconds:.0f} s", sent=True)
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, raw
    except (OSError, http.client.HTTPException, ValueError) as fault:
        if over.is_set() or isinstance(fault, TimeoutError):
            raise ModelFault(f"no answer in {seconds:.0f} s", sent=bool(lines)) from None
        why = str(fault) or type(fault).__name__
        raise ModelFault(f"it cannot be reached: {why[:ERROR_CHARS]}", sent=bool(lines)) from None
    finally:
        watch.cancel()
        connection.close()
        for line in lines:
            line.close()


def _cut(lines: list[socket.socket], over: threading.Event) -> None:
    over.set()
    for line in lines:
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)


# -- what came back


def _answer(endpoint: ModelEndpoint, raw: bytes, seconds: float) -> ModelAnswer:
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        return ModelAnswer("", seconds=seconds)
    used = told.get("usage")
    usage = used if isinstance(used, dict) else {}
    if endpoint.wire == "anthropic":
        text, cut = _anthropic_text(told)
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        given = _count(usage.get("input_tokens")) + sum(_count(usage.get(name)) for name in cached)
        made = _count(usage.get("output_tokens"))
    else:
        text, cut = _openai_text(told)
        given, made = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cost = usage.get("cost")
    price = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else -1.0
    return ModelAnswer(text, given, made, price, seconds, cut, bool(given or made))


def _count(value: Any) -> int:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
    return value if good else 0


def _openai_text(told: dict[str, Any]) -> tuple[str, bool]:
    choices = told.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    message = first.get("message") if isinstance(first, dict) else {}
    content = message.get("content") if isinstance(message, dict) else ""
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    cut = isinstance(first, dict) and first.get("finish_reason") == "length"
    return (content if isinstance(content, str) else ""), cut


def _anthropic_text(told: dict[str, Any]) -> tuple[str, bool]:
    content = told.get("content")
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    cut = told.get("stop_reason") == "max_tokens"
    for block in blocks:
        if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            return json.dumps(block["input"], ensure_ascii=False), cut
    return "".join(str(one.get("text", "")) for one in blocks if one.get("type") == "text"), cut


def key_from_keyring(name: str) -> str:
    """The key that the system's keyring has under ``segue`` and this name; empty without a keyring."""
    try:
        import keyring
    except ImportError:
        return ""
    try:
        return str(keyring.get_password("segue", name) or "")
    except Exception:  # whatever a keyring of the system raises: then there is no key
        return ""
