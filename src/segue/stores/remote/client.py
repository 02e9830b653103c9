"""Requests to a Segue server: sent until an answer comes or the time is over, and in doubt looked up first.

A request that never left this machine may be sent again without a thought, and so may one that only reads. A
write that was sent and not answered leaves a doubt: the server may have committed it. The caller says how to
find out (``settle``), and it is asked before anything is sent again, and once more if the second try is
refused. A problem that the server describes is raised as the error it was there; whatever else comes back is
``StoreUnavailable``. The key stands in one header and nowhere else. Proxies are not read.
"""

from __future__ import annotations

import gzip
import http.client
import os
import random
import select
import socket
import ssl
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from typing import Any, TypeVar

import msgspec

from ... import errors
from ..pool import Pool
from .address import Address

T = TypeVar("T")
BUSY_TIMEOUT_MS = 10_000
MSGPACK = "application/msgpack"
REQUEST_ID = "X-Request-Id"
"""The id of a request, the same one however often it is sent."""
TIME_HEADER = "Segue-Time"
"""Seconds since the epoch by the clock of the server's store, in each answer."""
CLOCKS_APART_SECONDS_MIN = 2.0
"""Clocks that are not further apart count as one: an answer is under way for a while."""
GZIP_BYTES_MIN = 4_096
_PAUSE_SECONDS = 0.02
_PAUSE_SECONDS_MAX = 0.5
_FIRST_SECONDS = 3.0
_QUIET_SECONDS = 3.0
_IMPATIENT_MS = 1_000
"""Whoever waits no longer than this, as a hook does, waits once: then the server counts as not reached."""
CONNECTIONS_MAX = 8
IDLE_SECONDS_MAX = 50.0
"""Servers close what is idle; asking on a connection that is being closed costs a second try."""
_AGAIN = (429, 502, 503, 504)
_unreached: dict[str, tuple[float, str]] = {}
"""When a server last did not answer at all, and why, by its address."""


_OVER = "the time is up"
_NO_SEGUE = "what answers there is not a Segue server"


class Unsent(Exception):
    """The request never left this machine."""


class Hopeless(errors.StoreUnavailable):
    """The same request in a moment would be answered the same."""

    sent = False
    """Whether it went to somebody who may have carried it out."""


class Lost(Exception):
    """The request may have arrived; no whole answer came back."""


class Client:
    """A server and the connections to it."""

    def __init__(self, address: Address, key: str, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        self.address = address
        self.busy_timeout_ms = busy_timeout_ms
        self._key = key.strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise errors.BadSettings("the key for the server is not valid", hint=_KEY_HINT)
        self._pool: Pool[HTTPConnection] = Pool(
            CONNECTIONS_MAX, address.shown, idle_seconds_max=IDLE_SECONDS_MAX, alive=_is_open
        )
        self._tls: ssl.SSLContext | None = None
        self._reached = False
        self._within = threading.local()
        """Until when this thread may take, while it finds out about a doubt."""
        self.first_seconds = _FIRST_SECONDS
        """How long a process tries that never reached the server."""
        self.clock_ahead_seconds = 0.0
        """How far the clock of the server's store was ahead of ours in its last answer."""
        self.traceparent = ""
        """The trace that this process belongs to, if it was told one."""
        self.told: Callable[[bool], None] | None = None
        """Is told when the server is reached for the first time, and when it is not."""

    def __repr__(self) -> str:
        return f"Client({self.address.shown!r})"

    def close(self) -> None:
        """Close idle connections; the next call opens anew."""
        self._pool.close()

    def call(self, name: str, body: bytes, settle: Callable[[], T | None] | None = None) -> bytes | T:
        """The answer to ``port/method``. With ``settle`` it is a write: that says, after a doubt, what the
        answer would have been if the write is there, and None if it is not."""
        deadline = time.monotonic() + self._patience_seconds()
        pause, doubt, request = _PAUSE_SECONDS, False, os.urandom(8).hex()
        while True:
            wait, reason = 0.0, ""
            try:
                if doubt and settle is not None and (found := self._settled(settle, deadline)) is not None:
                    return found
                answer = self._once(name, body, deadline, request)
                self._now_reached()
                return answer
            except errors.StaleVersion:  # perhaps by our own first try
                found = self._looked(settle, deadline) if doubt and settle is not None else None
                if found is None:
                    raise
                return found
            except (Unsent, Lost) as fault:
                reason = str(fault)
                doubt = doubt or (settle is not None and isinstance(fault, Lost))
                error: errors.SegueError = self._in_doubt() if doubt else self._unreachable(reason)
            except (errors.StoreBusy, errors.StoreUnavailable, errors.RateLimited) as fault:
                if isinstance(fault, Hopeless):
                    fault.doubt = settle is not None and (doubt or fault.sent)
                    raise
                doubt = doubt or (settle is not None and isinstance(fault, errors.StoreUnavailable))
                error = self._in_doubt() if doubt and isinstance(fault, errors.StoreUnavailable) else fault
                wait = getattr(fault, "retry_after_seconds", 0.0)
            if time.monotonic() + max(pause, wait) > deadline:
                if isinstance(error, errors.StoreUnavailable):
                    self._not_reached(reason)
                raise error from None
            time.sleep(max(wait, pause * random.uniform(0.5, 1.0)))
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)

    def _now_reached(self) -> None:
        if not self._reached:
            self._reached = True
            _unreached.pop(self.address.shown, None)
            if self.told is not None:
                self.told(True)

    def _not_reached(self, reason: str) -> None:
        if not self._reached or self.busy_timeout_ms < _IMPATIENT_MS:
            _, before = _unreached.get(self.address.shown, (0.0, ""))
            _unreached[self.address.shown] = (time.monotonic(), before if reason == _OVER else reason)
            self._reached = False
            patient = min(self.busy_timeout_ms / 1000, self.first_seconds) >= _IMPATIENT_MS / 1000
            if self.told is not None and patient:  # a moment without an answer says little of a long way
                self.told(False)

    def _looked(self, settle: Callable[[], T | None], deadline: float) -> T | None:
        """The same where it is the last word: if nobody answers, the doubt stays."""
        try:
            return self._settled(settle, deadline)
        except errors.StoreUnavailable:
            raise self._in_doubt() from None

    def _settled(self, settle: Callable[[], T | None], deadline: float) -> T | None:
        """What is known of a write by now; looking takes no longer than the write may."""
        before = getattr(self._within, "deadline", None)
        self._within.deadline = deadline
        try:
            return settle()
        finally:
            self._within.deadline = before

    def _patience_seconds(self) -> float:
        """How long to try: whoever was connected waits for a restart, a newcomer hears soon that nobody
        answers, and at once if it has just been told so."""
        limit: float | None = getattr(self._within, "deadline", None)
        if limit is not None:
            return max(0.0, limit - time.monotonic())
        whole = self.busy_timeout_ms / 1000
        if self._reached:
            return whole
        last, _ = _unreached.get(self.address.shown, (-_QUIET_SECONDS, ""))
        quiet = time.monotonic() - last < _QUIET_SECONDS
        return 0.0 if quiet else min(whole, self.first_seconds)

    def _once(self, name: str, body: bytes, deadline: float, request: str) -> bytes:
        with self._connection(deadline) as connection:
            response, content = self._ask(connection, name, body, request)
        return self._read(response, content)

    @contextmanager
    def _connection(self, deadline: float) -> Iterator[HTTPConnection]:
        """A connection for this block alone, to be used until the deadline; broken if the block fails."""
        with self._pool.lease(deadline) as lease:
            lease.connection = lease.connection or self._new()
            lease.broken = True
            self._connect(lease.connection, deadline)
            yield lease.connection
            lease.broken = False
            lease.usable = lease.connection.sock is not None

    def _new(self) -> HTTPConnection:
        if not self.address.tls:
            return HTTPConnection(self.address.host, self.address.port)
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return http.client.HTTPSConnection(self.address.host, self.address.port, context=self._tls)

    def _connect(self, connection: HTTPConnection, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Unsent(_OVER)
        if connection.sock is not None:
            connection.sock.settimeout(left)
            return
        connection.timeout = left
        try:
            connection.connect()
            opened: Any = connection.sock
            if opened.getsockname() == opened.getpeername():  # nobody listens, and we got that very port
                connection.close()
                raise Unsent("connection refused")
            opened.settimeout(max(0.001, deadline - time.monotonic()))
        except ssl.SSLCertVerificationError as fault:
            hint = "check the address; for your own certificate authority, set SSL_CERT_FILE"
            raise self._hopeless(f"its certificate is not trusted: {fault.verify_message}", hint) from None
        except socket.gaierror as fault:
            if fault.errno == socket.EAI_AGAIN:
                raise Unsent(fault.strerror) from None
            raise self._hopeless(str(fault.strerror), "check the address, or the network") from None
        except OSError as fault:
            raise Unsent(fault.strerror or str(fault) or type(fault).__name__) from None

    def _ask(
        self, connection: HTTPConnection, name: str, body: bytes, request: str
    ) -> tuple[HTTPResponse, bytes]:
        headers = {**self._headers(MSGPACK), "Accept-Encoding": "gzip", REQUEST_ID: request}
        if len(body) >= GZIP_BYTES_MIN:
            body, headers["Content-Encoding"] = gzip.compress(body, 3, mtime=0), "gzip"
        response, content = self._exchange(connection, "POST", f"/v1/store/{name}", body, headers)
        if response.headers.get("Content-Encoding", "") == "gzip":
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error):
                raise Lost("the answer is incomplete") from None
        return response, content

    def _exchange(
        self, connection: HTTPConnection, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        try:
            connection.request(method, f"{self.address.prefix}{path}", body, headers)
            response = connection.getresponse()
            self._note_clock(response.headers.get(TIME_HEADER, ""))
            return response, response.read()
        except (http.client.HTTPException, OSError) as fault:
            raise Lost(str(fault) or type(fault).__name__) from None

    def _note_clock(self, told: str) -> None:
        with suppress(ValueError):
            ahead = float(told) - time.time()
            self.clock_ahead_seconds = ahead if abs(ahead) > CLOCKS_APART_SECONDS_MIN else 0.0

    def ask(self, method: str, path: str, value: Any = None) -> Any:
        """The decoded answer of a route of the described API; sent once."""
        headers = self._headers("application/json")
        try:
            with self._connection(time.monotonic() + self._patience_seconds()) as connection:
                body = msgspec.json.encode(value) if value is not None else None
                response, content = self._exchange(connection, method, path, body, headers)
        except (Lost, Unsent) as fault:
            raise self._unreachable(str(fault)) from None
        if not 200 <= response.status < 300:
            raise self._error(response, _problem(content))
        try:
            return msgspec.json.decode(content)
        except msgspec.MsgspecError:
            raise self._hopeless(_NO_SEGUE, "check the address") from None

    def _headers(self, kind: str) -> dict[str, str]:
        headers = {"Content-Type": kind, "Accept": kind}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if self.address.project:
            headers["Segue-Project"] = self.address.project
        return headers | (trace_now() or ({"traceparent": self.traceparent} if self.traceparent else {}))

    def _read(self, response: HTTPResponse, content: bytes) -> bytes:
        kind = response.headers.get_content_type()
        if 200 <= response.status < 300 and kind == MSGPACK:
            return content
        if 200 <= response.status < 300:
            raise self._hopeless(
                _NO_SEGUE, "check the address, and whether the network needs a login", sent=True
            )
        problem = _problem(content) if kind.endswith("json") else {}
        raise self._error(response, problem)

    def _error(self, response: HTTPResponse, problem: dict[str, Any]) -> errors.SegueError:
        status, where = response.status, self.address.shown
        detail = str(problem.get("detail") or problem.get("title") or f"status {status}")
        if status == 500 and (id := response.headers.get(REQUEST_ID, "")):
            detail = f"{detail} (request {id[:64]})"  # by which whoever runs the server finds it in the log
            problem = {**problem, "detail": detail}
        if status == 429:
            seconds = _seconds(response.headers.get("Retry-After", ""))
            told, hint = f"{where}: {detail}", "try again later"
            return errors.RateLimited(told, hint=hint, retry_after_seconds=seconds)
        if status == 401:
            return errors.NotKnown(f"{where} does not know the key: {detail}", hint=_KEY_HINT)
        known = known_error(problem)
        if known is not None:
            return known
        if status == 403:
            return errors.AccessError(f"{where} refuses: {detail}", hint=_KEY_HINT)
        if status in _AGAIN:
            return errors.StoreUnavailable(f"{where} cannot answer now: {detail}", hint="try again")
        if 400 <= status < 500 and status != 404 and problem.get("code"):
            return errors.UsageError(f"{where} refuses: {detail}", hint=str(problem.get("hint", "")))
        if 300 <= status < 400:
            return self._hopeless("it answers from another address", "use that address in SEGUE_STORE")
        hint = "check that it is a Segue server of this version"
        return self._hopeless(f"it answers with status {status}", hint, sent=status != 404)

    def _hopeless(self, reason: str, hint: str, *, sent: bool = False) -> Hopeless:
        error = Hopeless(f"cannot use {self.address.shown}: {reason}", hint=hint)
        error.sent = sent
        return error

    def _unreachable(self, reason: str) -> errors.StoreUnavailable:
        if reason == _OVER:
            reason = _unreached.get(self.address.shown, (0.0, ""))[1] or reason
        told = f"cannot reach {self.address.shown}: {' '.join(reason.split())}"
        return errors.StoreUnavailable(told, hint="is the server up? `segue doctor` checks")

    def _in_doubt(self) -> errors.StoreUnavailable:
        told = f"{self.address.shown} did not answer a write: it may or may not have happened"
        error = errors.StoreUnavailable(told, hint="check with `segue log` before you repeat it")
        error.doubt = True
        return error


_KEY_HINT = "check SEGUE_API_KEY"


def trace_now() -> dict[str, str]:
    """The headers of the trace that this program is in. Only who traces has loaded OpenTelemetry, and it is
    not loaded for this."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    now = trace.get_current_span().get_span_context() if trace is not None else None
    if now is None or not now.is_valid:
        return {}
    parent = f"00-{now.trace_id:032x}-{now.span_id:016x}-{int(now.trace_flags):02x}"
    state = now.trace_state.to_header()
    return {"traceparent": parent} | ({"tracestate": state} if state else {})


def _is_open(connection: HTTPConnection) -> bool:
    """Whether the other side has not closed it: nothing is expected, so whatever can be read is its end."""
    try:
        waiting = select.poll()
        waiting.register(connection.sock, select.POLLIN | select.POLLHUP)
        return not waiting.poll(0)
    except (AttributeError, OSError, ValueError, TypeError):  # no poll on this platform: asking will tell
        return True


def _seconds(text: str) -> float:
    with suppress(ValueError):
        return min(max(float(text), 0.0), 3_600.0)
    return 1.0


def _problem(content: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _all_errors(base: type[errors.SegueError]) -> dict[str, type[errors.SegueError]]:
    found = {base.code: base}
    for kind in base.__subclasses__():
        if kind.__module__ == base.__module__:
            found.update(_all_errors(kind))
    return found


_MADE_OF_FIELDS = (
    errors.StaleVersion, errors.HistoryWentBack, errors.DamagedError, errors.SessionHeld,
    errors.HandoverPending,
)  # fmt: skip
_NUMBERS = ("expected", "actual", "seen")


def known_error(problem: dict[str, Any]) -> errors.SegueError | None:
    """The error that a problem describes; None if it is none of ours."""
    kind: Any = _all_errors(errors.SegueError).get(str(problem.get("code", "")))
    if kind is None:
        return None
    detail, hint = str(problem.get("detail", "")), str(problem.get("hint", ""))
    if kind is errors.OverQuota:
        return _over_quota(detail, hint, problem)
    if kind not in _MADE_OF_FIELDS:
        return kind(detail, hint=hint)  # type: ignore[no-any-return]
    try:
        values = [int(problem[n]) if n in _NUMBERS else str(problem[n]) for n in kind.fields]
        made: errors.SegueError = kind(*values)
    except (KeyError, TypeError, ValueError):
        return None
    made.hint = hint or made.hint
    return made


def _over_quota(detail: str, hint: str, problem: dict[str, Any]) -> errors.OverQuota:
    made = errors.OverQuota(detail, hint=hint)
    made.project, made.quota = str(problem.get("project", "")), str(problem.get("quota", ""))
    with suppress(TypeError, ValueError):
        made.limit, made.used = int(problem.get("limit", 0)), int(problem.get("used", 0))
    return made
