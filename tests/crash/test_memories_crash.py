"""Memories under kills and under many hands: what was acknowledged is there, once, whole."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tests.crash.test_failpoints import Death, deaths, die
from tests.support.crash.proof import child, finish

from segue.api.segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.effects.vectors.embedder import HashEmbedder
from segue.services.upkeep.doctor.checkup import examine
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.sqlite import SqliteStore
from segue.stores.sqlite.upkeep import integrity

# A tenth of what is promised, so that `make test` stays short; `make soak` runs all of it.
EACH = 10_000 if int(os.environ.get("SEGUE_KILLS", "0")) >= 200 else 1_000


def contents(home: Path) -> list[str]:
    with Segue(home=home, folder=home, embedder=HashEmbedder()) as seg:
        reader, store = seg.memories.reader(), seg.memories.store
        return [one.content for one in store.listing(reader, MemoryFilter(), "9")]


@deaths("remembering")
def test_after_a_kill_every_memory_that_was_acknowledged_is_there_once(death: Death, tmp_path: Path) -> None:
    die(death, tmp_path)
    told = tmp_path / "child.told"
    acknowledged = told.read_text().splitlines() if told.exists() else []
    there = contents(tmp_path)
    assert len(there) == len(set(there)) and set(acknowledged) <= set(there)
    assert len(there) - len(acknowledged) == (1 if "after" in death.failpoint else 0)
    with Segue(home=tmp_path, folder=tmp_path, embedder=HashEmbedder()) as seg:
        for text in there:
            assert seg.recall(text, top_k=1)[0].content == text
        seg.remember("and on it goes", scope="global")
    assert integrity(SqliteStore(tmp_path / "segue.db").database) == []


@pytest.mark.timeout(900)
def test_two_processes_remember_while_a_third_recalls_and_nobody_sees_an_error(tmp_path: Path) -> None:
    with Segue(home=tmp_path, folder=tmp_path, embedder=HashEmbedder()) as seg:
        seg.remember("to begin with", scope="global")
    stop = tmp_path / "stop"
    reader = child("recalling", tmp_path, "r", stop)
    writers = [child("remembering", tmp_path, name, EACH) for name in ("a", "b")]
    finish(*writers, within_seconds=800)
    stop.touch()
    finish(reader)
    wanted = {f"{name} learnt fact number {place}" for name in ("a", "b") for place in range(EACH)}
    there = contents(tmp_path)
    assert len(there) == 2 * EACH + 1 and set(there) == wanted | {"to begin with"}


@pytest.mark.parametrize("has_backup", [True, False])
def test_a_damaged_memory_is_found_by_the_doctor_and_brought_back_from_a_backup(
    tmp_path: Path, has_backup: bool
) -> None:
    home = DataFolder(tmp_path)
    with Segue(home=tmp_path, folder=tmp_path, embedder=HashEmbedder()) as seg:
        seg.remember("the first of them", scope="global")
        seg.remember("the second of them", scope="global")
        kept = seg.remember("the third of them", scope="global")
        seg.memories.vote(kept.id, "helpful")
        seg.workspace.backups.make()
    with closing(SqliteStore(home.database)) as store:
        store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if not has_backup:
        shutil.rmtree(home.backups)
    whole = home.database.read_bytes()
    home.database.write_bytes(whole.replace(b"the second of them", b"the sXcond of them"))
    found = {one.name: one for one in examine(home, resolve(environment={}), {})}
    assert found["store"].status == "bad" and "recover" in found["store"].hint
    done = Segue.recover(home=tmp_path, folder=tmp_path)
    assert done.changed
    there = ["the first of them", *["the second of them"] * has_backup, "the third of them"]
    assert sorted(contents(tmp_path)) == sorted(there)
    with Segue(home=tmp_path, folder=tmp_path, embedder=HashEmbedder()) as seg:
        assert seg.memories.get(kept.id).helpful == 1, "what was said of the others is not lost"
    assert {one.status for one in examine(home, resolve(environment={}), {}) if one.name == "store"} == {"ok"}
