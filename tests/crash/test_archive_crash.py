"""A cleanup that is killed at any moment loses nothing, and the next one goes on: files and shared stores."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.postgres_store import needs_postgres, url_for

from segue import Segue
from segue.core import event_kinds as ev
from segue.services.sessions.repository import stream_of
from segue.services.upkeep.archive_sessions import Cleanup
from segue.stores.base import Append, Head, RunRow

SESSIONS, KILLS = 40, int(os.environ.get("SEGUE_KILLS", "6"))
CHILD = """
import sys
from segue import Segue
with Segue(store=sys.argv[1], home=sys.argv[2], folder=sys.argv[2]) as segue:
    print("ready", flush=True)
    segue.cleanup().run(days=0)
print("done", flush=True)
"""


def fill(segue: Segue) -> dict[str, Head]:
    """Sessions that ended, each with a run, every third with an agent's state; where they end."""
    heads = {}
    for number in range(SESSIONS):
        id = f"s{number:02}"
        bodies: list[ev.Body] = [ev.Created(id, f"goal {number}", "o", "p", "coding"), ev.Started()]
        bodies += [ev.Noted(f"note {n} of {number}") for n in range(30)]
        at = "2020-01-01T00:00:00.000000Z"
        drafts = [ev.draft(body, at=at, actor="u") for body in bodies]
        segue.workspace.store.append(Append(stream_of(id), 0, drafts))
        if number % 3 == 0:
            segue.session(id).save_agent("coder", {"plan": [f"step {n} of {number}" for n in range(40)]})
        segue.session(id).complete("done")
        row = RunRow(f"run-of-{id}", "codex", id, "p", id, "/gone", "/gone", 1.0, b"facts", b"read")
        segue.workspace.store.runs.put([row])
        heads[id] = segue.workspace.store.head(stream_of(id))
    return heads


def check(url: str, home: Path, heads: dict[str, Head]) -> int:
    """Every session is in the store or in the archive, whole; how many are archived."""
    with Segue(store=url, home=home, folder=home) as segue:
        store = segue.workspace.store
        archived = {one.id: one for one in Cleanup(segue.workspace).list() if not one.damage}
        for id, head in heads.items():
            there = store.head(stream_of(id))
            assert there == head or (id in archived and archived[id].events == head.version), id
        runs = {row.session for row in store.runs.rows()}
        assert runs | set(archived) == set(heads)
        return sum(1 for id in heads if not store.head(stream_of(id)).version)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "place",
    ["embedded", pytest.param("postgres", marks=[needs_postgres, pytest.mark.xdist_group("postgres")])],
)
def test_a_cleanup_that_is_killed_again_and_again_loses_no_session_and_no_run(
    place: str, tmp_path: Path
) -> None:
    seed = int(os.environ.get("SEGUE_SEED", "0")) or random.randrange(10**6)
    print(f"SEGUE_SEED={seed}")
    chance = random.Random(seed)
    home = tmp_path / "home"
    url = f"sqlite://{tmp_path / 'segue.db'}" if place == "embedded" else url_for(tmp_path)
    with Segue(store=url, home=home, folder=tmp_path) as segue:
        heads = fill(segue)
    archived = 0
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, url, str(home)], stdout=subprocess.PIPE, cwd=tmp_path, text=True
        ) as child:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.5))
            child.send_signal(signal.SIGKILL)
        now = check(url, home, heads)
        assert now >= archived
        archived = now
    with Segue(store=url, home=home, folder=tmp_path) as segue:
        deadline = time.monotonic() + 120
        while segue.workspace.store.streams("session/") and time.monotonic() < deadline:
            Cleanup(segue.workspace).run(days=0)  # what a dead one held waits for its lease
        assert segue.workspace.store.runs.rows() == []
        assert check(url, home, heads) == SESSIONS
        for id in heads:
            Cleanup(segue.workspace).restore(id)
        assert {id: segue.workspace.store.head(stream_of(id)) for id in heads} == heads
        assert {row.session for row in segue.workspace.store.runs.rows()} == set(heads)
        assert segue.session("s03").load_agent("coder")["plan"][5] == "step 5 of 3"
