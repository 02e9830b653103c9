"""What the children of the crash tests do; run as a script: ``work.py TASK arguments…``.

Each task writes to ``home/lines`` what it tries and, fsynced, what was acknowledged.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from segue.api.segue import Segue
from segue.api.session import Session
from segue.core.base import canonical
from segue.core.features.checks import Check
from segue.core.journal.event import Erased, draft
from segue.core.sessions import snapshot
from segue.effects.clock import now
from segue.effects.files.atomic import write_whole
from segue.errors import NothingToUndo, SegueError, SessionHeld, StaleVersion, UnknownAgent, UnknownCheckpoint
from segue.services.sessions.repository import Saved, stream_of
from segue.services.upkeep.archive_sessions import Cleanup
from segue.services.upkeep.recover.ladder import recover
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.base import Append, Rewrite

TASKS: dict[str, Callable[..., Any]] = {}


def task(work: Callable[..., Any]) -> Callable[..., Any]:
    TASKS[work.__name__] = work
    return work


def agent_value(seed: int, step: int) -> dict[str, Any]:
    """An agent's state of some 20 KB, a little of which changes with each step."""
    rng = random.Random(seed)
    rows = [{"id": i, "text": f"{rng.random():.12f}" * 4} for i in range(200)]
    for place in range(step):
        rows[(place * 37) % len(rows)]["text"] = f"step {place} of {seed}"
    return {"seed": seed, "step": step, "rows": rows}


class Pen:
    """Records what is tried, does it, and records that it was acknowledged."""

    def __init__(self, home: Path, name: str) -> None:
        self._file = os.open(home / "lines", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self._name = name
        self._count = 0

    def text(self) -> str:
        """A text that nobody else writes."""
        self._count += 1
        return f"{self._name}-{self._count}"

    def write(self, session: Session, text: str, call: Callable[[], Saved]) -> Saved:
        self._line({"ack": False, "session": session.id, "text": text})
        saved = call()
        [*_, last] = session.log(after=saved.version - 1, limit=1)
        self.acknowledge(session.id, saved.version, last.hash, text)
        return saved

    def note(self, session: Session) -> None:
        text = self.text()
        self.write(session, text, lambda: session.note(text))

    def acknowledge(self, session: str, version: int, own: bytes, text: str = "") -> None:
        self._line({"ack": True, "session": session, "version": version, "hash": own.hex(), "text": text})
        os.fsync(self._file)

    def _line(self, record: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(record).encode() + b"\n")


def open_segue(home: str, **options: Any) -> Segue:
    from tests.support.crash.where import key_in, store_in  # found only when this runs as a script

    return Segue(store_in(home), home=home, folder=home, **key_in(home), **options)


def begin(pen: Pen, seg: Segue, **options: Any) -> Session:
    """A new session, acknowledged."""
    session = seg.start(pen.text(), items=[pen.text() for _ in range(3)], **options)
    pen.acknowledge(session.id, 5, session.log()[-1].hash)
    return session


def step(pen: Pen, rng: random.Random, seg: Segue, session: Session) -> None:
    """One random thing that a user or an agent does."""
    text = pen.text()
    if session.state.status == "paused":
        session.resume()
    match rng.choice("done done begin note checkpoint agent agent undo mark rewind pause block".split()):
        case "done":
            pen.write(session, text, lambda: session.done(text))
        case "begin":
            pen.write(session, text, lambda: session.begin(text))
        case "note":
            pen.write(session, text, lambda: session.note(text))
        case "block":
            pen.write(session, text, lambda: session.block(text, "waiting"))
        case "checkpoint":
            pen.write(
                session,
                text,
                lambda: session.checkpoint(decide=text, learn="something", begin=f"i{text}", note=f"n{text}"),
            )
        case "agent":
            seed = rng.randrange(3)
            name = f"agent{seed}"
            held = session.load_agent(name)["step"] if name in session.state.agents else 0
            pen.write(session, "", lambda: session.save_agent(name, agent_value(seed, held + 1)))
        case "mark":
            pen.write(session, "", lambda: session.checkpoint(rng.choice(["one", "two"])))
        case "rewind":
            if session.state.marks:
                oldest = next(iter(session.state.marks))
                pen.write(session, "", lambda: session.rewind(oldest))
        case "undo":
            try:
                pen.write(session, "", session.undo)
            except NothingToUndo:
                pass
        case "pause":
            pen.write(session, "", lambda: session.pause("for now"))


@task
def forever(home: str, name: str, seed: str) -> None:
    """Work until killed, however long a server takes to start: on the last sessions, and on new ones."""
    rng = random.Random(int(seed))
    pen = Pen(Path(home), name)
    with open_segue(home, backup_events=100, busy_timeout_ms=60_000) as seg:
        cards = [card.id for card in seg.list(everywhere=True)[:2]]
        session = seg.session(rng.choice(cards)) if cards and rng.random() < 0.7 else begin(pen, seg)
        for _ in range(100_000):
            try:
                step(pen, rng, seg, session)
            except (StaleVersion, UnknownAgent, UnknownCheckpoint):
                pass  # another process was faster (perhaps it undid what we saw), and kept its work
            if rng.random() < 0.02:
                session = begin(pen, seg)


@task
def plan(home: str, name: str, steps: str = "40") -> None:
    """A scripted piece of work: start, checkpoints, agents, undo, named checkpoints."""
    rng = random.Random(7)
    pen = Pen(Path(home), name)
    with open_segue(home) as seg:
        session = begin(pen, seg)
        for _ in range(int(steps)):
            step(pen, rng, seg, session)


@task
def snapshots(home: str, name: str) -> None:
    """Cause a snapshot by reading many events, then by writing many."""
    pen = Pen(Path(home), name)
    with open_segue(home) as seg:
        session = begin(pen, seg)
        text = pen.text()
        pen.write(session, text, lambda: session.done(*(f"{text}.{i}" for i in range(80)), text))
    with open_segue(home) as seg:
        session = seg.session(session.id)
        assert session.state.version == 86
        for _ in range(260):
            pen.note(session)


@task
def erase(home: str, name: str) -> None:
    """Replace the body of version 2, and record that in the journal."""
    pen = Pen(Path(home), name)
    with open_segue(home) as seg:
        session = begin(pen, seg)
        body = b'{"text":"-"}'
        record = draft(Erased([3], [canonical.digest(body).hex()]), at=now(), actor="user")
        wish = Append(stream_of(session.id), 5, [record])
        seg.workspace.store.erase([Rewrite(stream_of(session.id), 3, body)], {}, wish)


@task
def drop(home: str, name: str) -> None:
    """Remove a session, as a cleanup does after archiving it."""
    pen = Pen(Path(home), name)
    with open_segue(home) as seg:
        session = seg.start("to be dropped", items=["a", "b"])
        begin(pen, seg)
        seg.workspace.store.drop(Append(stream_of(session.id), 4))


@task
def files(home: str, name: str) -> None:
    """Replace a file twice."""
    for body in (b"first" * 1000, b"second" * 1000):
        write_whole(Path(home) / "file", body)


@task
def backup(home: str, name: str) -> None:
    """Make two backups, with work before each."""
    pen = Pen(Path(home), name)
    with open_segue(home, backup_hours=1e9) as seg:
        session = begin(pen, seg)
        for _ in range(2):
            pen.note(session)
            seg.workspace.backups.make()


@task
def done(home: str, session: str, name: str, count: str, go: str) -> None:
    """Finish so many items of one session, at the same time as others."""
    with open_segue(home) as seg:
        handle = seg.session(session)
        _await(go)
        for place in range(int(count)):
            handle.done(f"{name}-{place}")


@task
def start(home: str, name: str, count: str, go: str) -> list[str]:
    """Start so many sessions, at the same time as others."""
    with open_segue(home) as seg:
        _await(go)
        return [seg.start(f"{name}-{place}").id for place in range(int(count))]


@task
def save(home: str, session: str, name: str, count: str, go: str) -> None:
    """Save an agent's state so many times, at the same time as others."""
    seed = int(name)
    with open_segue(home) as seg:
        handle = seg.session(session)
        _await(go)
        for place in range(1, int(count) + 1):
            handle.save_agent(f"agent{seed}", agent_value(seed, place))


@task
def fill(home: str, name: str, limit: str) -> dict[str, Any]:
    """Write until the disk is full, then make room and continue."""
    pen = Pen(Path(home).parent, name)
    if int(limit):
        Path(home).mkdir(mode=0o700)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    ballast = Path(home) / "ballast"
    if not int(limit):
        ballast.write_bytes(bytes(400_000))
    seg = open_segue(home, backup_events=10**9)
    session = begin(pen, seg)
    before, fault = session.state.version, None
    for place in range(1000):
        try:
            session.checkpoint(learn=f"finding {place} " + "x" * 5000, note=f"note {place}")
            before = session.state.version
        except SegueError as raised:
            fault = raised
            break
    assert fault is not None
    after = open_segue(home).session(session.id).state.version
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    ballast.unlink(missing_ok=True)
    session.checkpoint(learn="there is room again", note="room")
    pen.acknowledge(session.id, before + 2, session.log()[-1].hash)
    seg.close()
    return {"error": type(fault).__name__, "hint": fault.hint, "before": before, "after": after}


@task
def full(home: str, name: str) -> dict[str, Any]:
    """The same on a disk of 2 MB, which only this process sees, so that the store is checked here."""
    from tests.support.crash.proof import Proof

    said: dict[str, Any] = fill(f"{home}/disk", name, "0")
    Path(home, "disk", "lines").symlink_to(Path(home, "lines"))
    Proof(Path(home) / "disk")()
    return said


@task
def look(home: str, write: str) -> dict[str, Any]:
    """Read all sessions, then write; reports what was seen, and the error."""
    said: dict[str, Any] = {"goals": None, "error": "", "hint": "", "exit": 0}
    try:
        seg = open_segue(home)
        said["goals"] = [seg.session(card.id).state.goal for card in seg.list(everywhere=True)]
        if int(write):
            seg.session().note("more")
    except SegueError as fault:
        said.update(error=type(fault).__name__, hint=fault.hint, exit=fault.exit_code)
    return said


@task
def hold(home: str, session: str, run: str, lease: str, said: str) -> None:
    """Take the hold, say so, and sleep with it until killed."""
    seg = open_segue(home, actor="claude")
    held = seg.session(session).hold(run=run, lease_seconds=float(lease))
    Path(said).write_text(f"{held.fence}\n")
    time.sleep(120)


@task
def race(home: str, session: str, run: str, go: str, over: str) -> dict[str, Any]:
    """Try once to get the hold, at the same time as others; the winner keeps it until the race is over."""
    seg = open_segue(home)
    handle = seg.session(session)
    _await(go)
    try:
        fence = handle.hold(run=run).fence
    except SessionHeld as fault:
        return {"fence": 0, "by": fault.by}
    print(json.dumps({"fence": fence, "by": run}), flush=True)
    _await(over)
    return {"fence": fence, "by": run}


@task
def recovery(home: str, name: str) -> None:
    """Some work and a backup, then damage, then a recovery."""
    pen = Pen(Path(home), name)
    with open_segue(home) as seg:
        session = begin(pen, seg)
        seg.workspace.backups.make()
        for _ in range(5):
            pen.note(session)
    with (Path(home) / "segue.db").open("r+b") as file:
        file.write(b"this is no header at all")
    mend(home)


@task
def altering(home: str, name: str) -> None:
    """Some work and a lesson, then tables that go, then a recovery."""
    pen = Pen(Path(home), name)
    with open_segue(home) as seg:
        session = begin(pen, seg)
        for _ in range(5):
            pen.note(session)
        seg.memories.remember("lint before a push")
    with sqlite3.connect(Path(home) / "segue.db") as db:
        db.executescript("DROP TABLE snapshots; DROP TABLE runs; DROP TABLE memory_counts")
    db.close()
    mend(home)


def mend(home: str) -> None:
    """``segue recover`` in a data folder."""
    recover(DataFolder(Path(home)), resolve())


@task
def cleaning(home: str, name: str) -> None:
    """End a session, archive it, bring it back."""
    with open_segue(home) as seg:
        session = seg.start("over", id="over", items=["a"])
        session.save_agent("agent", agent_value(5, 1))
        session.complete("all is done")
        (Path(home) / "state").write_bytes(snapshot.encode(session.state))
        Cleanup(seg.workspace).run(0)
        Cleanup(seg.workspace).restore("over")


def put_transcripts(home: str, count: int = 3) -> None:
    """Write transcripts of several agents to a home folder, for a project in it."""
    from tests.support.runs import DAY, place

    project = Path(home) / "shop"
    project.mkdir(exist_ok=True)
    for n in range(count):
        agent = ("codex", "claude-code", "gemini-cli")[n % 3]
        prompt = f"Task number {n} of these, please"
        place(Path(home), project, agent, native=f"0a1b-{n}", old=(count - n) * 9 * DAY, prompt=prompt)


def open_agents(home: str, **more: str) -> Segue:
    """Segue in that project."""
    from tests.support.crash.where import store_in
    from tests.support.runs import opened

    return opened(Path(home), Path(home) / "shop", SEGUE_STORE=store_in(home) or "", **more)


@task
def syncing(home: str, name: str) -> None:
    """Sync runs, end their sessions, and sync again with an archive that may keep nothing old."""
    put_transcripts(home)
    with open_agents(home) as seg:
        seg.sync()
        for card in seg.list(everywhere=True):
            seg.session(card.id).complete()
    with open_agents(home, SEGUE_ARCHIVE_DAYS_MAX="1") as seg:
        seg.sync()


@task
def joining(home: str, name: str) -> None:
    """Join three sessions that are one piece of work; in two of them something was declared."""
    from tests.support.said_runs import place_split

    from segue.services.ledger.join_sessions import join_sessions

    project = Path(home) / "shop"
    project.mkdir(exist_ok=True)
    place_split(Path(home), project)
    with open_agents(home) as seg:
        seg.sync()
        first, second, third = sorted(seg.list(), key=lambda card: card.created)
        seg.session(second.id).checkpoint(add=["sign"], done=["test"], decide=[("HS256", "one issuer")])
        seg.session(third.id).checkpoint(ask=["Who rotates?"], learn=["the pool has ten"], add=["sign"])
        join_sessions(seg.workspace, first.id, [second.id, third.id])


@task
def preparing(home: str, name: str) -> None:
    """Prepare twice, with different work under way."""
    with open_agents(home) as seg:
        session = seg.start("Use tokens", id="jwt")
        for reason, item in (("1", "first"), ("2", "second")):
            session.checkpoint(begin=[item], done=["first"] if reason == "2" else ())
            seg.prepare(reason=reason)


@task
def asking(home: str, name: str) -> None:
    """Set a model and let it refine a brief twice; one of its claims holds."""
    from tests.support.models import DECIDED, Replay, openai, rung, set_ladder

    from segue.services.models.refine import refine

    put_transcripts(home, 1)
    with Replay(openai({"claims": [DECIDED]})) as server, open_agents(home) as seg:
        set_ladder(seg, rung(server.url))
        for reason in ("1", "2"):
            refine(seg.workspace, reason=reason)


@task
def leaving(home: str, name: str) -> None:
    """Pause twice, then save changes, five at a time."""
    with open_agents(home) as seg:
        keeper = (session := seg.start("Use tokens", id="jwt")).checkpointer()
        for reason in ("1", "2"):
            session.resume()
            session.pause(reason)
        for number in range(20):
            keeper.change(f"change {number}")
            assert number % 5 < 4 or keeper.force().status == "saved", keeper.last


@task
def remembering(home: str, name: str, count: str = "10") -> None:
    """Remember one thing after the other and record, fsynced, what was acknowledged."""
    from segue.effects.vectors.embedder import HashEmbedder

    with open_segue(home, embedder=HashEmbedder()) as seg, open(f"{home}/{name}.told", "a") as told:
        for place in range(int(count)):
            seg.remember(f"{name} learnt fact number {place}", scope="global")
            told.write(f"{name} learnt fact number {place}\n")
            told.flush()
            os.fsync(told.fileno())


@task
def recalling(home: str, name: str, go_on: str) -> None:
    """Recall until a file is there; any error ends it."""
    from segue.effects.vectors.embedder import HashEmbedder

    with Segue(home=home, folder=home, embedder=HashEmbedder()) as seg:
        while not Path(go_on).exists():
            seg.recall("fact number 3", top_k=5)


@task
def searching(home: str, name: str) -> None:
    """Search runs and a session, and once more when there is more to find."""
    put_transcripts(home)
    with open_agents(home) as seg:
        session = seg.start("find the walrus", id="walrus")
        seg.search("walrus")
        session.note("the walrus was found")
        seg.search("walrus")


@task
def mapping(home: str, name: str) -> None:
    """Map the code of a project, and once more when it is another."""
    root = Path(home, "shop")
    root.mkdir(exist_ok=True)
    with open_agents(home) as seg:
        (root / "walrus.py").write_text("def walrus():\n    return tusk()\n\n\ndef tusk():\n    return 1\n")
        seg.map("users", "tusk")
        (root / "seal.py").write_text("from walrus import tusk\n\n\ndef seal():\n    return tusk()\n")
        seg.map("users", "tusk")


@task
def sync_forever(home: str, name: str) -> None:
    """Sync all runs again and again, each time from nothing."""
    import shutil

    for place in range(10_000):
        with open_agents(home) as seg:
            seg.sync()
        Path(home, "rounds").write_text(f"{place}\n")
        shutil.rmtree(Path(home, "segue", "backups"), ignore_errors=True)
        for path in sorted(Path(home, "segue").glob("segue.db*"), reverse=True):  # the store itself last
            path.unlink()
        if place % 2:
            Path(home, "segue", "archive", "transcripts.db").unlink()


@task
def verifying(home: str, name: str) -> None:
    """Prove two features, one after the other, and then both again."""
    shop = Path(home) / "shop"
    shop.mkdir(exist_ok=True)
    (shop / "file").write_text("x")
    with Segue(home=home, folder=shop) as seg:
        features = seg.start("prove", id="s").features
        for id in ("a", "b"):
            features.add(id, id, checks=["test -f file"], covers=["file"])
            features.verify([id])
        features.verify(all=True, jobs=1)


@task
def verify_slow(home: str, name: str) -> None:
    """Prove again what takes long."""
    shop = Path(home) / "shop"
    shop.mkdir(exist_ok=True)
    with Segue(home=home, folder=shop) as seg:
        features = seg.start("prove", id="s").features
        command = ("if test -f once; then echo $$ > pid; exec sleep 99; fi; touch once",)
        features.add("a", "a", checks=[Check(command, shell=True)], covers=["nothing"])
        features.verify()
        features.verify(all=True)


def _await(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.001)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))  # so that shared test code can be imported
    outcome = TASKS[sys.argv[1]](*sys.argv[2:])
    if outcome is not None:
        print(json.dumps(outcome), flush=True)
