"""Clients that write and read while machines fail, each by another way, and note what they were told.

By the library on Postgres itself and through the pooler, by the library on a server, by REST, by commands and
by hooks. Each write is a note, or the prompt of a run, with a token of its own. Nobody gives up: whoever is
refused tries again with another token, whoever is left in doubt says so.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.cluster.histories import REFUSED, SAVED, UNKNOWN, Held, Read, Write

from segue import Segue
from segue.core import event_kinds as ev
from segue.errors import HistoryWentBack, SegueError, SessionHeld, StoreError
from segue.services.hooks import hook_file
from segue.services.hooks.spool_drain import spool_of
from segue.services.runs.run_stream import stream_of_run
from segue.services.sessions.repository import stream_of
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.offline_queue import QueuedCommand
from segue.stores.base import Journal

PAUSE_SECONDS = 0.15
LEASE_SECONDS = 20.0
_PUTTING = threading.Lock()
"""Python 3.11 now and then fails to parse in two threads at once."""
READS = 0.2
"""The share of operations that only look."""
RECORDS = 0.2
"""The share of hooks that only record."""
ANSWER_SECONDS = 60.0
"""How long a client of REST repeats a request before it calls the outcome unknown."""


def tokens_of(journal: Journal, session: str, known: Sequence[str] = ()) -> tuple[str, ...]:
    """The token of each version of a session, or of a run by the name of its stream, behind those that are
    known."""
    stream, told = session if "/" in session else stream_of(session), list(known)
    if journal.head(stream).version < len(told):
        told = []
    for event in journal.read(stream, after=len(told)):
        body = ev.read_body(event)
        told.append(body.text if isinstance(body, ev.Noted | ev.RunHooked) else "")
    return tuple(told)


class Load:
    """Clients at work on some sessions, until they are told to stop."""

    def __init__(self, folder: Path, sessions: Sequence[str], *, seed: int = 0) -> None:
        self.sessions = list(sessions)
        self.operations: list[Write | Read | Held] = []
        self.errors: Counter[str] = Counter()
        self.over = threading.Event()
        self._folder = folder
        self._seed = seed
        self._threads: list[threading.Thread] = []
        self.writers: set[str] = set()
        """The names of those who must go on soon after a failover."""

    def add(self, count: int, work: Callable[[Client], None], name: str, *, prompt: bool = True) -> None:
        """So many clients of a kind, which begin at once; those that are not ``prompt`` hold a session, or
        are commands, each of which tries a server that was away for a moment only."""
        for number in range(count):
            self.writers |= {f"{name}{number}"} if prompt else set()
            client = Client(self, f"{name}{number}", random.Random(f"{self._seed} {name} {number}"))
            thread = threading.Thread(target=client.run, args=(work,), name=client.name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def finish(self, seconds: float = 90.0) -> None:
        """Let everybody end what is under way."""
        self.over.set()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        hanging = [thread.name for thread in self._threads if thread.is_alive()]
        assert not hanging, f"these clients hang: {hanging}"

    def writes(self) -> list[Write]:
        return [one for one in list(self.operations) if isinstance(one, Write)]

    def home(self, name: str) -> Path:
        """A data folder for one client."""
        path = self._folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def stored(self, journal: Journal) -> dict[str, tuple[str, ...]]:
        """What is there at the end, for the checker."""
        names = {*self.sessions, *(write.session for write in self.writes())}
        return {name: tokens_of(journal, name) for name in sorted(names)}


class Client:
    """One client: what it does is noted in the load."""

    def __init__(self, load: Load, name: str, drawn: random.Random) -> None:
        self.load, self.name, self.drawn = load, name, drawn
        self._count = 0
        self._known: dict[str, tuple[str, ...]] = {}

    def run(self, work: Callable[[Client], None]) -> None:
        try:
            work(self)
        except Exception as fault:
            self.load.errors[f"{self.name} ended: {type(fault).__name__}: {fault}"] += 1
            raise

    def goes_on(self) -> bool:
        """Whether it is to do one more thing, after a pause."""
        return not self.load.over.wait(PAUSE_SECONDS * self.drawn.uniform(0.5, 1.5))

    def session(self) -> str:
        return self.drawn.choice(self.load.sessions)

    def token(self) -> str:
        self._count += 1
        return f"{self.name}-{self._count}"

    def failed(self, fault: Exception) -> None:
        self.load.errors[f"{type(fault).__name__}: {str(fault)[:160]}"] += 1

    def wrote(self, session: str, token: str, began: float, outcome: str, version: int = 0) -> None:
        self.load.operations.append(
            Write(self.name, session, token, began, time.monotonic(), outcome, version)
        )

    def write(self, segue: Segue, pending: dict[str, str]) -> None:
        """A note by the library; what is pending for a server is settled at the end."""
        session, token, began = self.session(), self.token(), time.monotonic()
        try:
            saved = segue.session(session).note(token)
        except (StoreError, HistoryWentBack) as fault:
            self.failed(fault)
            self.wrote(session, token, began, UNKNOWN)
            return
        if isinstance(saved, QueuedCommand):
            pending[token] = session
        else:
            self.wrote(session, token, began, SAVED, saved.version)

    def read(self, journal: Journal) -> None:
        session, began = self.session(), time.monotonic()
        try:
            seen = tokens_of(journal, session, self._known.get(session, ()))
        except StoreError as fault:
            self.failed(fault)
            return
        self._known[session] = seen
        self.load.operations.append(Read(self.name, session, began, time.monotonic(), seen))


def _opened(client: Client, url: str, home: Path, **settings: Any) -> Segue:
    """The library on a store, as soon as that can be reached."""
    end = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            return Segue(store=url, home=home, folder=home, actor=client.name, **settings)
        except StoreError as fault:
            client.failed(fault)
            if time.monotonic() > end:
                raise


def by_library(url: str, **settings: Any) -> Callable[[Client], None]:
    """Clients on a store: Postgres, or a server."""

    def work(client: Client) -> None:
        home = client.load.home(client.name)
        pending: dict[str, str] = {}
        began = time.monotonic()
        with _opened(client, url, home, **settings) as segue:
            segue.workspace.store.machine = client.name  # each stands for a machine of its own
            while client.goes_on():
                if client.drawn.random() < READS:
                    client.read(segue.workspace.store)
                else:
                    client.write(segue, pending)
            if pending:
                segue.workspace.drain_offline()
        for token, session in pending.items():
            client.wrote(session, token, began, SAVED)

    return work


def by_holding(url: str, session: str, **settings: Any) -> Callable[[Client], None]:
    """Clients that hold a session for a moment, and write only while they do."""

    def work(client: Client) -> None:
        home = client.load.home(client.name)
        with _opened(client, url, home, **settings) as segue:
            while client.goes_on():
                _hold_once(client, segue, session)

    return work


def _hold_once(client: Client, segue: Segue, session: str) -> None:
    began = time.monotonic()
    run = f"{client.name}-{time.monotonic_ns()}"
    try:
        hold = segue.workspace.holds.take(
            session, holder=client.name, run=run, lease_seconds=LEASE_SECONDS, host="elsewhere", pid=0
        )
    except SessionHeld:
        return
    except StoreError as fault:
        client.failed(fault)
        return
    since = time.monotonic()
    client.load.over.wait(PAUSE_SECONDS)
    until = min(time.monotonic(), began + LEASE_SECONDS)
    if until > since:
        client.load.operations.append(Held(client.name, session, since, until, hold.fence))
    while True:
        try:
            return hold.release()
        except StoreError as fault:
            client.failed(fault)
            if time.monotonic() > began + LEASE_SECONDS:
                return


def by_holding_over_rest(url: str, key: str, session: str) -> Callable[[Client], None]:
    """The same by REST."""

    def work(client: Client) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        path = f"/v1/sessions/{session}/hold"
        while client.goes_on():
            wish = {"run": f"{client.name}-{time.monotonic_ns()}", "lease_seconds": LEASE_SECONDS}
            status, answer = _post(url, path, json.dumps(wish).encode(), headers)
            if status != 201:
                continue
            since, fence = time.monotonic(), int(answer["fence"])
            client.load.over.wait(PAUSE_SECONDS)
            client.load.operations.append(Held(client.name, session, since, time.monotonic(), fence))
            _post(url, f"{path}/release", json.dumps({"run": wish["run"], "fence": fence}).encode(), headers)

    return work


def by_rest(url: str, key: str) -> Callable[[Client], None]:
    """Clients of REST, which send a request again, with its key, until it is answered."""

    def work(client: Client) -> None:
        while client.goes_on():
            _post_note(client, url, key)

    return work


def _post_note(client: Client, url: str, key: str) -> None:
    session, token, began = client.session(), client.token(), time.monotonic()
    body = json.dumps({"commands": [{"command": "Note", "text": token}]}).encode()
    headers = {
        "Authorization": f"Bearer {key}", "Content-Type": "application/json", "Idempotency-Key": token,
        "Segue-Actor": client.name,
    }  # fmt: skip
    outcome = REFUSED
    while time.monotonic() < began + ANSWER_SECONDS:
        try:
            status, answer = _post(url, f"/v1/sessions/{session}/commands", body, headers)
        except (OSError, http.client.HTTPException) as fault:
            client.failed(fault)
            outcome = UNKNOWN
        else:
            if status == 200:
                return client.wrote(session, token, began, SAVED, int(answer["version"]))
            client.load.errors[f"status {status}: {str(answer.get('detail', ''))[:140]}"] += 1
            if status < 500 and status != 409:
                break
            outcome = UNKNOWN
        time.sleep(0.3)
    return client.wrote(session, token, began, outcome)


def _post(url: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWER_SECONDS / 2)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    try:
        return answer.status, json.loads(content)
    except ValueError:
        return answer.status, {"detail": content[:100].decode("latin-1")}


def by_command(url: str, key: str) -> Callable[[Client], None]:
    """Clients that run `segue note`, a process each time; what is pending is brought at the end."""

    def work(client: Client) -> None:
        home = client.load.home(client.name)
        environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "HOME": str(home),
            "SEGUE_HOME": str(home), "SEGUE_STORE": url, "SEGUE_API_KEY": key, "SEGUE_EMBEDDER": "static",
            "SEGUE_ACTOR": client.name,
        }  # fmt: skip

        def segue(*words: str) -> tuple[int, dict[str, Any]]:
            ran = subprocess.run(
                [sys.executable, "-m", "segue", "--json", *words], cwd=home, env=environment,
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            return ran.returncode, json.loads(ran.stdout or "{}")

        waiting: list[tuple[str, str, float]] = []
        while client.goes_on():
            session, token, began = client.session(), client.token(), time.monotonic()
            code, answer = segue("note", token, "--session", session)
            if code:
                client.load.errors[f"exit {code}: {str(answer)[:140]}"] += 1
                client.wrote(session, token, began, UNKNOWN)
            elif answer.get("pending"):
                waiting.append((session, token, began))
            else:
                client.wrote(session, token, began, SAVED, int(answer["version"]))
        segue("status")
        for session, token, began in waiting:
            client.wrote(session, token, began, SAVED)

    return work


def by_hook(url: str, key: str = "") -> Callable[[Client], None]:
    """Clients that call the hook of an agent with one prompt after the other. A hook has always taken in what
    it was told: into the store, or onto the disk, from which the next one or a command brings it there."""

    def work(client: Client) -> None:
        home = client.load.home(client.name)
        data = DataFolder(home / "segue")
        data.make()
        with _PUTTING:
            hook_file.put(data)
        environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "HOME": str(home),
            "SEGUE_HOME": str(data.path), "SEGUE_STORE": url, "SEGUE_API_KEY": key,
            "SEGUE_EMBEDDER": "static",
        }  # fmt: skip
        hook = [sys.executable, "-I", "-S", str(hook_file.file_of(data)), "claude-code", "UserPromptSubmit"]
        run = stream_of_run("claude-code", client.name)
        while client.goes_on():
            token, began = client.token(), time.monotonic()
            told = {"session_id": client.name, "cwd": str(home), "prompt": token}
            mode = "record" if client.drawn.random() < RECORDS else "speak"
            subprocess.run(
                [*hook, mode], input=json.dumps(told).encode(), env=environment, cwd=home, timeout=60,
                check=True, capture_output=True,
            )  # fmt: skip
            client.wrote(run, token, began, SAVED)
            if mode == "speak" and spool_of(data.path).size():
                client.load.errors["a hook left what it was told on its disk"] += 1
        deadline = time.monotonic() + ANSWER_SECONDS
        while spool_of(data.path).size():
            assert time.monotonic() < deadline, "what hooks left on the disk was not brought into the store"
            words = [sys.executable, "-m", "segue", "--json", "list"]
            subprocess.run(words, env=environment, cwd=home, timeout=60, capture_output=True)

    return work


def begin_sessions(url: str, home: Path, count: int, **settings: Any) -> list[str]:
    """New sessions, to be written to by all."""
    with Segue(store=url, home=home, folder=home, **settings) as segue:
        return [segue.start(f"goal {number}").id for number in range(count)]


def errors_of(call: Callable[[], object]) -> str:
    """What a call raises, in words; empty if nothing."""
    try:
        call()
    except SegueError as fault:
        return f"{fault.message} {fault.hint}"
    return ""
