"""A real Segue server, as a process of its own on a free port of loopback; nothing outlives ``stop``.

``kill`` is what a power cut is to it; ``start`` starts it again on the same port, with the same data.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.children import ended, ends_with_us, first_object


class SegueServer:
    """A server with a data folder of its own, or on another store."""

    def __init__(
        self, home: Path | str, store: str = "", *, options: Sequence[str] = (), port: int = 0,
        prefix: Sequence[str] = (), as_owner: bool = True, environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """``prefix`` are words before its command, as of ``ip netns exec``. On Postgres it may run as the
        owner of the tables."""
        self._prefix = list(prefix)
        self._more = dict(environment or {})
        self.home = Path(home)
        self.store = store
        self.port = port
        self.url = ""
        self.token = ""
        self.log = self.home / "server.log"
        self.failpoint = ""
        """The failpoint at which it dies, as ``store.append.after_commit:2``; read when it starts."""
        owning = as_owner and store.startswith("postgresql://")
        self._options = [*options, *(["--as-owner"] if owning else [])]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> SegueServer:
        """Start the server, and wait until it listens."""
        self.launch()
        return self.listening()

    def launch(self) -> None:
        """Start the server without waiting for it; one that has ended by itself is started again."""
        if self._process is not None:
            self.kill()
        self.home.mkdir(parents=True, exist_ok=True)
        dying = ["-m", "segue.testing.failpoints", self.failpoint, "--"] if self.failpoint else []
        words = [sys.executable, *dying, "-m", "segue", "--json", "serve", "--port", str(self.port)]
        command = [*self._prefix, *words]
        with open(self.log, "a") as log:
            self._process = subprocess.Popen(
                [*command, *self._options], stdout=subprocess.PIPE, stderr=log, text=True,
                env=self._environment(), cwd=self.home, preexec_fn=ends_with_us(),
            )  # fmt: skip

    def listening(self) -> SegueServer:
        """Wait until it listens."""
        assert self._process is not None
        try:
            told = first_object(self._process)
        except RuntimeError as why:
            raise RuntimeError(f"{why}{self.log.read_text()[-2000:]}") from why
        self.url, self.port = str(told["url"]), int(str(told["url"]).rpartition(":")[2])
        self.token = str(told["token"] or self.token)
        return self

    def first_key(self) -> str:
        """A key for all projects, made on the server's machine before the server is started."""
        words = ["--json", "key", "create", "--project", "*", "--role", "admin"]
        self.home.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            [sys.executable, "-m", "segue", *words], env=self._environment(), cwd=self.home, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        return str(json.loads(made.stdout)["key"])

    def _environment(self) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith("SEGUE_")}
        kept |= {
            "SEGUE_HOME": str(self.home),
            "HOME": str(self.home),
            "SEGUE_EMBEDDER": os.environ["SEGUE_EMBEDDER"],
        }
        return kept | ({"SEGUE_STORE": self.store} if self.store else {}) | self._more

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Send SIGKILL: whatever was under way is lost."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Send SIGTERM, wait for the end, and return the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        return ended(process, how)

    def key(self, **wish: str) -> str:
        """A new key, by the server's own route."""
        _, body, _ = self.ask("POST", "/v1/keys", wish)
        return str(body["key"])

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        """Send a request, and return status, decoded body and headers; ``token`` defaults to that of the
        first key."""
        request = urllib.request.Request(self.url + path, method=method)
        given = self.token if token is None else token
        if given:
            request.add_header("Authorization", f"Bearer {given}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, _decoded(answer.read()), _lower(answer.headers)
        except urllib.error.HTTPError as fault:
            with fault:
                return fault.code, _decoded(fault.read()), _lower(fault.headers)

    def until_ready(self, seconds: float = 20.0) -> None:
        """Wait until its store answers."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.ask("GET", "/ready")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise TimeoutError("the server is not ready")

    def __enter__(self) -> SegueServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body


def temporary() -> SegueServer:
    """A server in a temporary folder."""
    return SegueServer(tempfile.mkdtemp(prefix="segue-server-"))
