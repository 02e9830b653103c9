"""The pages as a browser meets them: `segue ui` as a process, and a client that keeps cookies."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from http.cookies import SimpleCookie
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.support.children import ended, ends_with_us, first_object

FORM = "application/x-www-form-urlencoded"


class Answered(NamedTuple):
    """A response."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        """The page."""
        return self.body.decode()


class PagesProcess:
    """`segue ui` on a free port of loopback, with a home of its own; nothing outlives ``stop``."""

    def __init__(self, home: Path, folder: Path, **variables: str) -> None:
        self.home, self.folder = home, folder
        self.environment = environment(home, **variables)
        self.link = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self, port: int = 0) -> PagesProcess:
        """Start it, and wait until it listens."""
        words = [sys.executable, "-m", "segue", "--json", "ui", "--no-open", "--port", str(port)]
        self._process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment,
            cwd=self.folder, preexec_fn=ends_with_us(),
        )  # fmt: skip
        self.link = str(first_object(self._process)["url"])
        return self

    @property
    def port(self) -> int:
        return int(urlsplit(self.link).port or 0)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and return the exit code."""
        process, self._process = self._process, None
        return ended(process, how)

    def segue(self, *words: str, folder: Path | None = None) -> str:
        """What a command prints, in a process of its own on the same machine."""
        ran = subprocess.run(
            [sys.executable, "-m", "segue", *words], cwd=folder or self.folder, env=self.environment,
            capture_output=True, text=True,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def __enter__(self) -> PagesProcess:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def environment(home: Path, **variables: str) -> dict[str, str]:
    """The environment of commands and agents on a machine whose home folder this is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEGUE_", "XDG_"))}
    return kept | {
        "HOME": str(home), "SEGUE_HOME": str(home / "segue"), "SEGUE_EMBEDDER": "static", **variables,
    }  # fmt: skip


class Client:
    """Asks as a browser does, with the cookies that it was given, and follows no redirection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    def get(self, path: str, **headers: str) -> Answered:
        return self.send("GET", path, b"", **headers)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Answered:
        """Send a form."""
        named = {"content_type": FORM, **headers}
        return self.send("POST", path, urlencode(fields).encode(), **named)

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answered:
        """Send a request; a header that is empty is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        named = {"host": f"127.0.0.1:{self.port}"}
        if self.cookies:
            named["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in named.items():
                if value:
                    connection.putheader(name, value)
            if body or method == "POST":
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    self._keep(value)
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answered(answer.status, found, answer.read())
        finally:
            connection.close()

    def _keep(self, given: str) -> None:
        for name, morsel in SimpleCookie(given).items():
            if morsel["max-age"] == "0" or not morsel.value:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value

    def token(self, path: str) -> str:
        """The token that the forms of a page carry."""
        page = self.get(path)
        found = re.search(r'name="token" value="([0-9a-f]+)"', page.text)
        assert found is not None, f"{path} has no form: {page.status} {page.text[:500]}"
        return found[1]

    def fill_in(self, page: str, action: str, **fields: str) -> Answered:
        """Send a form of a page with its token."""
        return self.post(action, {"token": self.token(page), **fields})


def entered(pages: PagesProcess) -> Client:
    """A client that has followed the one-time link."""
    client = Client(pages.port)
    parts = urlsplit(pages.link)
    answer = client.get(f"{parts.path}?{parts.query}")
    assert answer.status == 303, answer
    return client
