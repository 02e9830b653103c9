"""What the crash tests share: children that do work, and the proof that nothing was lost.

A child (``work.py``) says what it tries before a call and acknowledges it, fsynced, after the
call returned. ``prove`` reopens the store and compares it with those lines:

- an acknowledged commit is there: the event of that version has that hash, and since a hash
  covers everything before it, so is all that came before, once, in that order;
- a text that was tried is there at most once, and once if it was acknowledged;
- no stream has a hole, a changed byte or half a commit, and SQLite finds its file whole;
- what readers see (snapshot and later events) equals the fold of the whole journal;
- agents' states are the last acknowledged ones, or the one that was under way.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.crash import work
from tests.support.crash.where import key_in
from tests.support.crash.work import agent_value

from segue.api.segue import Segue
from segue.core.base import canonical
from segue.core.journal.event import Event
from segue.core.sessions import snapshot
from segue.services.sessions.repository import fold_all
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.open_store import open_store
from segue.stores.base import Journal
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import integrity
from segue.testing.stores import verify_chain

WORK = str(Path(__file__).with_name("work.py"))


def child(*arguments: object, prefix: Iterable[str] = ()) -> subprocess.Popen[str]:
    """A process that runs ``work.py`` with these arguments."""
    command = [*prefix, sys.executable, WORK, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(*children: subprocess.Popen[str], within_seconds: float = 60) -> list[Any]:
    """What each child said last, as JSON; none may have failed."""
    said = []
    for process in children:
        out, err = process.communicate(timeout=within_seconds)
        assert process.returncode == 0, f"exit {process.returncode}: {err}"
        said.append(json.loads(out.splitlines()[-1]) if out.strip() else None)
    return said


def wait_for(path: Path, *, within_seconds: float = 20) -> str:
    """The text of a file, once it is there and has a line."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text
        time.sleep(0.002)
    raise AssertionError(f"{path} was not written")


def wait_until_longer(path: Path, size: int, *, within_seconds: float = 20) -> None:
    """Wait until a file has grown beyond a size."""
    deadline = time.monotonic() + within_seconds
    while not path.exists() or path.stat().st_size <= size:
        assert time.monotonic() < deadline, f"{path} did not grow"
        time.sleep(0.002)


def open_segue(home: Path, **options: Any) -> Segue:
    """Segue as the children open it."""
    return work.open_segue(str(home), **options)


def open_journal(home: Path, database: Path | None = None) -> Journal:
    """The store of a home, proven whole as far as its engine can tell."""
    where = home / "store"
    if where.exists():
        key = key_in(home).get("api_key", "")
        return open_store(DataFolder(home).for_store(where.read_text()), where.read_text(), key=key)
    journal = SqliteStore(database or home / "segue.db")
    assert integrity(journal.database) == []
    return journal


class Lines:
    """What children tried and what was acknowledged to them, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self.tried: list[dict[str, Any]] = []
        self.acknowledged: list[dict[str, Any]] = []

    def more(self) -> None:
        """Read what was written since; a last line that a kill cut short does not count."""
        body = self._path.read_bytes() if self._path.exists() else b""
        whole = body[self._read : body.rfind(b"\n") + 1]
        self._read += len(whole)
        if len(body) > self._read:
            with self._path.open("r+b") as file:
                file.truncate(self._read)
        for line in whole.splitlines():
            record = json.loads(line)
            (self.acknowledged if record.pop("ack") else self.tried).append(record)


class Proof:
    """Checks a store again and again; streams that have not grown since are not checked twice."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.lines = Lines(home / "lines")
        self.texts: Counter[str] = Counter()
        self._events: dict[str, list[Event]] = {}

    def __call__(self, *, database: Path | None = None) -> None:
        """Assert that the store contains what it must."""
        self.lines.more()
        journal = open_journal(self.home, database)
        try:
            grown = self._streams(journal)
            self._acknowledged()
            self._once()
            self._states(journal, grown)
        finally:
            journal.close()

    def _streams(self, journal: Journal) -> list[str]:
        grown = []
        heads = dict(journal.streams())
        for stream, before in self._events.items():
            assert heads.get(stream, 0) >= len(before), f"{stream} lost its end"
        for stream, version in heads.items():
            before = self._events.get(stream, [])
            if version == len(before):
                continue
            events = journal.read(stream)
            assert events[: len(before)] == before, f"{stream} was changed"
            verify_chain(events)
            for event in events[len(before) :]:
                self.texts.update([t] if (t := _text(event)) else [])
            self._events[stream] = events
            grown.append(stream)
        return grown

    def _acknowledged(self) -> None:
        for ack in self.lines.acknowledged:
            events = self._events.get(f"session/{ack['session']}", [])
            assert len(events) >= ack["version"], f"lost: {ack}"
            assert events[ack["version"] - 1].hash.hex() == ack["hash"], f"changed: {ack}"

    def _once(self) -> None:
        twice = [t["text"] for t in self.lines.tried if t.get("text") and self.texts[t["text"]] > 1]
        lost = [a["text"] for a in self.lines.acknowledged if a.get("text") and not self.texts[a["text"]]]
        assert (twice, lost) == ([], [])

    def _states(self, journal: Journal, streams: list[str]) -> None:
        with Segue(journal, home=self.home, folder=self.home) as seg:
            kept = journal.snapshots(streams)
            for stream in streams:
                if not stream.startswith("session/"):
                    continue
                events = self._events[stream]
                session = seg.session(stream.removeprefix("session/"))
                assert session.state == fold_all(events), f"{stream}: readers see another state"
                if stream in kept:
                    folded = snapshot.sealed(snapshot.encode(fold_all(events[: kept[stream].version])))
                    assert kept[stream].state == folded, f"{stream}: a wrong snapshot"
                self._agents(session)

    def _agents(self, session: Any) -> None:
        for agent in session.state.agents:
            value = session.load_agent(agent)
            assert value == agent_value(value["seed"], value["step"]), f"{agent} of {session.id}"


def _text(event: Event) -> str:
    return str(canonical.decode(event.body).get("text", ""))


@contextmanager
def writing(*homes: Path) -> Iterator[Callable[[int], None]]:
    """Children that write until they are killed, one for each home; all of them have begun to write. The
    function that is returned waits until every home has got so many more bytes."""
    children = [child("forever", home, f"w{n}", n) for n, home in enumerate(homes)]
    files = [home / "lines" for home in dict.fromkeys(homes)]

    def nobody_gave_up() -> None:
        for process in children:
            assert process.poll() is None, f"a writer gave up: {process.communicate()[1]}"

    def more(size: int) -> None:
        for path in files:
            try:
                wait_until_longer(path, path.stat().st_size + size, within_seconds=90)
            finally:
                nobody_gave_up()

    try:
        for number, home in enumerate(homes):
            deadline = time.monotonic() + 60
            while not ((home / "lines").exists() and f'"w{number}-' in (home / "lines").read_text()):
                nobody_gave_up()
                assert time.monotonic() < deadline, f"w{number} does not write"
                time.sleep(0.01)
        yield more
        nobody_gave_up()
    finally:
        for process in children:
            process.kill()
            process.communicate()


def killed_while_three_write(home: Path, kills: int, again: Callable[[], None]) -> int:
    """Three children write while ``again`` kills what they write to and restarts it. None of them gives up,
    nothing acknowledged is lost or stored twice. Returns how many writes were acknowledged."""
    with writing(*[home] * 3) as more:
        for number in range(kills):
            more(1500)
            time.sleep((number * 37 % 100) / 1000)
            again()
        more(1500)
    proof = Proof(home)
    proof()
    return len(proof.lines.acknowledged)
