"""Asks a model over HTTP, by OpenAI's API for chat completions or Anthropic's for messages.

One request, one answer, nothing stored. Only https is allowed, or http to this machine; no redirect is
followed and no proxy is used, so a key goes to the host in the settings and nowhere else. A call ends when
its time is over, whatever the server does, and reads a limited number of bytes. Keys are in headers only:
never in a message, a log or an error.
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
RETRY_STATUSES = (408, 409, 425, 429, 500, 502, 503, 504, 529)
NO_SCHEMA_STATUSES = (400, 404, 415, 422)
"""What servers answer that do not accept a JSON schema."""
MASK = "********"
ERROR_CHARS = 300

Sleep = Callable[[float], None]


class ModelEndpoint(Value):
    """The address of a model and the API that it has."""

    url: str
    """Up to and including the version: https://host/v1."""
    model: str
    wire: str = "openai"
    """The API: openai or anthropic."""
    strict: bool = False
    """Whether it refuses schemas with lengths, and old names of parameters."""


class ModelRequest(Value):
    """An HTTP request, exactly as it is sent."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class ModelAnswer(Value):
    """A model's answer and its usage."""

    text: str
    input: int = 0
    output: int = 0
    cost: float = -1.0
    """As the server reports it; negative if it does not."""
    seconds: float = 0.0
    cut: bool = False
    """Whether the answer was cut off because it was too long."""
    counted: bool = False
    """Whether the server reported the usage."""


class ModelFault(Exception):
    """A model did not answer; ``sent`` says whether the attempt may have cost something."""

    def __init__(self, message: str, *, sent: bool = False, status: int = 0) -> None:
        super().__init__(message)
        self.sent = sent
        self.status = status


def check_url(url: str) -> None:
    """Raise BadSettings unless a URL is https, or http to this machine, and contains no credentials."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.username or parts.password:
        hint = "put the key into an environment variable"
        raise BadSettings("a model's URL must not contain credentials", hint=hint)
    if not (parts.scheme == "https" and host) and not (parts.scheme == "http" and is_loopback(host)):
        hint = "for example: http://127.0.0.1:11434/v1"
        raise BadSettings(f"{url!r} is neither https nor on this machine", hint=hint)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def request_of(endpoint: ModelEndpoint, question: ModelQuestion, *, form: bool = True) -> ModelRequest:
    """The request for a question; without ``form``, the schema is part of the text instead of a parameter."""
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
    most = question.output_tokens_max
    body |= {"max_completion_tokens": most} if endpoint.strict else {"max_tokens": most, "temperature": 0}
    if form:
        schema = without_lengths(question.schema) if endpoint.strict else question.schema
        answer = {"name": "answer", "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": answer}
    return body


def _anthropic(endpoint: ModelEndpoint, question: ModelQuestion, system: str, form: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": endpoint.model, "max_tokens": question.output_tokens_max, "temperature": 0,
        "system": system, "messages": [{"role": "user", "content": question.user}],
    }  # fmt: skip
    if form:
        tool = {"name": "answer", "description": "Give the answer.", "input_schema": question.schema}
        body["tools"] = [tool]
        body["tool_choice"] = {"type": "tool", "name": "answer"}
    return body


def with_key(endpoint: ModelEndpoint, request: ModelRequest, key: str) -> ModelRequest:
    """The request with the key in a header; unchanged if there is no key."""
    if not key:
        return request
    name, value = ("x-api-key", key) if endpoint.wire == "anthropic" else ("Authorization", f"Bearer {key}")
    return ModelRequest(request.url, (*request.headers, (name, value)), request.body)


def ask(
    endpoint: ModelEndpoint, question: ModelQuestion, *, key: str = "", seconds: float = 60.0,
    sleep: Sleep = time.sleep, clock: Callable[[], float] = time.monotonic,
) -> ModelAnswer:  # fmt: skip
    """The model's answer to a question; ModelFault if there is none in time.

    A busy server is asked again after the pause that it names, and one that rejects schemas without one."""
    start = clock()
    form, attempt = True, 0
    while True:
        attempt += 1
        left = seconds - (clock() - start)
        if left <= 0:
            raise ModelFault(f"no answer in {seconds:.0f} s")
        try:
            request = with_key(endpoint, request_of(endpoint, question, form=form), key)
            status, headers, raw = _exchange(request, left)
        except ModelFault as fault:
            raise ModelFault(_masked(str(fault), key), sent=fault.sent) from None
        if status == 200:
            return _answer(endpoint, raw, clock() - start)
        if status in RETRY_STATUSES and attempt < ATTEMPTS_MAX:
            pause = _pause(headers, attempt)
            if pause >= seconds - (clock() - start):
                raise ModelFault(f"it is busy for another {pause:.0f} s", status=status)
            sleep(pause)
        elif form and status in NO_SCHEMA_STATUSES:
            form = False
        else:
            raise ModelFault(_refusal(status, raw, key), status=status)


def _pause(headers: dict[str, str], attempt: int) -> float:
    """How long to wait: what the server asks for, else twice as long after each attempt."""
    with contextlib.suppress(ValueError):
        return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
    retry_after = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(retry_after))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    return BACKOFF_SECONDS * float(2 ** (attempt - 1))


def _masked(text: str, key: str) -> str:
    return redact(text.replace(key, MASK) if key else text)


def _refusal(status: int, raw: bytes, key: str) -> str:
    text = raw[:4_000].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, AttributeError):
        error = json.loads(text).get("error")
        text = str(error.get("message") if isinstance(error, dict) else error)
    reason = (
        "it sent a redirect, which Segue does not follow" if 300 <= status < 400 else " ".join(text.split())
    )
    return _masked(f"it answered {status}: {reason[:ERROR_CHARS]}", key)


def _exchange(request: ModelRequest, seconds: float) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the body of the answer; a timer closes the connection when time is over."""
    parts = urlsplit(request.url)
    host, port = parts.hostname or "", parts.port
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
    over, sockets = threading.Event(), list[socket.socket]()
    timer = threading.Timer(seconds, _shut_down, (sockets, over))
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        sockets.append(connection.sock)
        connection.request("POST", parts.path, request.body, dict(request.headers))
        with connection.getresponse() as answer:
            raw = answer.read(ANSWER_BYTES_MAX + 1)
        if len(raw) > ANSWER_BYTES_MAX:
            raise ModelFault(f"its answer is larger than {ANSWER_BYTES_MAX:,} bytes", sent=True)
        if over.is_set():
            raise ModelFault(f"no answer in {seconds:.0f} s", sent=True)
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, raw
    except (OSError, http.client.HTTPException, ValueError) as fault:
        if over.is_set() or isinstance(fault, TimeoutError):
            raise ModelFault(f"no answer in {seconds:.0f} s", sent=bool(sockets)) from None
        why = str(fault) or type(fault).__name__
        raise ModelFault(f"it cannot be reached: {why[:ERROR_CHARS]}", sent=bool(sockets)) from None
    finally:
        timer.cancel()
        connection.close()
        for sock in sockets:
            sock.close()


def _shut_down(sockets: list[socket.socket], over: threading.Event) -> None:
    over.set()
    for sock in sockets:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _answer(endpoint: ModelEndpoint, raw: bytes, seconds: float) -> ModelAnswer:
    try:
        answer = json.loads(raw)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        return ModelAnswer("", seconds=seconds)
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    if endpoint.wire == "anthropic":
        text, cut = _anthropic_text(answer)
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        tokens_in = _count(usage.get("input_tokens")) + sum(_count(usage.get(name)) for name in cached)
        tokens_out = _count(usage.get("output_tokens"))
    else:
        text, cut = _openai_text(answer)
        tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cost = usage.get("cost")
    price = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else -1.0
    return ModelAnswer(text, tokens_in, tokens_out, price, seconds, cut, bool(tokens_in or tokens_out))


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
    return value if is_count else 0


def _openai_text(answer: dict[str, Any]) -> tuple[str, bool]:
    """The text of an answer, and whether it was cut off."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    message = first.get("message") if isinstance(first, dict) else {}
    content = message.get("content") if isinstance(message, dict) else ""
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    cut = isinstance(first, dict) and first.get("finish_reason") == "length"
    return (content if isinstance(content, str) else ""), cut


def _anthropic_text(answer: dict[str, Any]) -> tuple[str, bool]:
    """The text of an answer, and whether it was cut off."""
    content = answer.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    cut = answer.get("stop_reason") == "max_tokens"
    for block in blocks:
        if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            return json.dumps(block["input"], ensure_ascii=False), cut
    return "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"), cut


def key_from_keyring(name: str) -> str:
    """The key of this name for the service ``segue`` in the system's keyring; empty if there is none."""
    try:
        import keyring
    except ImportError:
        return ""
    try:
        return str(keyring.get_password("segue", name) or "")
    except Exception:  # keyrings may raise anything; then there is no key
        return ""
