"""A server is killed, the wire is cut: what was acknowledged is there, nothing is twice, clients go on."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import remote as remote_kit
from tests.support.crash.proof import Proof, child, finish, killed_while_three_write, open_segue
from tests.support.remote import KEY, Cutting
from tests.support.server import SegueServer

from segue.core.memories.model import MemoryAudit
from segue.stores.base import Append
from segue.stores.memory_changes import MemoryChange
from segue.stores.remote import RemoteStore
from segue.testing import spawn
from segue.testing.memories import HERE, NOW, kept, memory
from segue.testing.stores import drafts, verify_chain

ROOT = Path(__file__).parents[2]
KIT = ("-m", remote_kit.__name__)


class Server:
    """A server in a process of its own, on a port that stays the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self, failpoint: str = "", count: int = 1) -> Server:
        """Up, and dying at a failpoint if one is given."""
        arguments = (*KIT, str(self.folder), str(self.port))
        if failpoint:
            self._process = spawn(failpoint, *arguments, count=count)
        else:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        self._wait()
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as one:
                if not one.connect_ex(("127.0.0.1", self.port)):
                    return
            time.sleep(0.01)
        raise AssertionError("the server did not come up")

    def revive(self) -> None:
        """Wait until it has died by itself, and start it anew."""
        assert self._process is not None
        _, err = self._process.communicate(timeout=30)
        assert self._process.returncode == -signal.SIGKILL, err
        self.start()

    def kill(self) -> None:
        """As by ``kill -9``."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "there")
    yield made
    made.kill()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[SegueServer]:
    """The server as users have it."""
    made = SegueServer(tmp_path / "there").start()
    yield made
    made.stop()


def team(tmp_path: Path, url: str, token: str) -> Path:
    """A home whose store is this server."""
    home = tmp_path / "home"
    (home / "server").mkdir(parents=True)
    (home / "server" / "token").write_text(token)
    (home / "store").write_text(url)
    return home


@pytest.mark.parametrize("failpoint", ["store.append.before_commit", "store.append.after_commit"])
@pytest.mark.parametrize("streams", [1, 2])
def test_a_server_that_dies_at_a_commit_does_it_once(server: Server, failpoint: str, streams: int) -> None:
    server.start(failpoint, count=2)
    journal = RemoteStore(server.url, KEY, busy_timeout_ms=30_000)
    names = [f"s{place}" for place in range(streams)]
    journal.append(*(Append(name, 0, drafts("first")) for name in names))
    reborn = threading.Thread(target=server.revive)
    reborn.start()
    events = journal.append(*(Append(name, 1, drafts("second", "third")) for name in names))
    reborn.join()
    assert [(event.stream, event.version) for event in events] == [(n, v) for n in names for v in (2, 3)]
    for name in names:
        verify_chain(journal.read(name))
        assert journal.head(name).version == 3


@pytest.mark.parametrize("failpoint", ["store.memories.before_commit", "store.memories.after_commit"])
def test_a_server_that_dies_at_a_change_of_memories_does_it_once(server: Server, failpoint: str) -> None:
    server.start(failpoint)
    journal = RemoteStore(server.url, KEY, busy_timeout_ms=30_000)
    journal.head("s")
    store = journal.memories
    reborn = threading.Thread(target=server.revive)
    reborn.start()
    assert store.write(MemoryChange([kept(memory("m1"))], trail=[MemoryAudit("m1", "add", NOW, "user")])) == [
        "m1"
    ]
    reborn.join()
    assert [trace.act for trace in store.trail(HERE)] == ["add"]


def test_a_server_killed_while_three_write_loses_nothing_and_does_nothing_twice(
    real: SegueServer, tmp_path: Path, kill_count: int
) -> None:
    home = team(tmp_path, real.url, real.token)

    def again() -> None:
        real.kill()
        real.start()

    assert killed_while_three_write(home, max(3, kill_count // 2), again) > 30


def test_a_wire_that_loses_answers_and_requests_costs_nothing(
    real: SegueServer, tmp_path: Path, kill_count: int
) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    way = Cutting(real.port, lambda _: rng.choice(["answer", "request", *[""] * 10]))
    home = team(tmp_path, way.url, real.token)
    try:
        finish(*(child("plan", home, f"w{n}", 4 * kill_count) for n in range(2)), within_seconds=100)
        way.cuts = lambda _: ""
        proof = Proof(home)
        proof()
        assert way.cut > kill_count and len(proof.lines.acknowledged) > kill_count
    finally:
        way.stop()


def test_four_clients_finish_twenty_five_items_each_and_a_hundred_are_kept(
    real: SegueServer, tmp_path: Path
) -> None:
    home = team(tmp_path, real.url, real.token)
    with open_segue(home) as seg:
        session = seg.start("many hands")
    children = [child("done", home, session.id, f"w{n}", 25, home / "go") for n in range(4)]
    (home / "go").touch()
    finish(*children, within_seconds=100)
    with open_segue(home) as seg:
        state = seg.session(session.id).state
    wanted = sorted(f"w{n}-{place}" for n in range(4) for place in range(25))
    assert sorted(state.items[place].text for place in state.done) == wanted
    for name in range(4):
        own = [state.items[place].text for place in state.done]
        mine = [text for text in own if text.startswith(f"w{name}-")]
        assert mine == [f"w{name}-{place}" for place in range(25)], "in the order in which they were told"
