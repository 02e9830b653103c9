"""A process that is killed directly before or after any durable write leaves a whole store."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.crash import (
    test_handover_crash as handover,
    test_hooks_crash as hooks,
    test_postgres_crash as postgres,
)
from tests.support.crash import work
from tests.support.crash.proof import WORK, Proof, child, open_segue
from tests.support.said_runs import LATER, MORE

from segue import Segue
from segue.core.brief.manifest import read
from segue.core.journal.event import Erased
from segue.core.sessions import snapshot
from segue.services.codemap.index import code_map
from segue.services.ledger.join_sessions import join_sessions
from segue.services.models import config, ledger as spending
from segue.services.resume.scenes import stored_scene
from segue.services.runs.observed import runs_of
from segue.services.upkeep.archive_sessions import Cleanup
from segue.services.upkeep.rebuild import rebuild
from segue.stores.sqlite import SqliteStore
from segue.testing import all_failpoints, armed, recording, spawn
from segue.testing.stores import verify_chain


class Death(NamedTuple):
    """Where a child dies, at which passing, and what it does until then."""

    failpoint: str
    passing: int
    task: str


DEATHS = [
    *(Death("store.append.before_commit", n, "plan") for n in (1, 2, 9, 23)),
    *(Death("store.append.between", n, "plan") for n in (1, 4, 14)),
    *(Death("store.append.after_commit", n, "plan") for n in (1, 2, 9, 23)),
    Death("store.snapshot.after_commit", 1, "snapshots"),
    Death("store.snapshot.after_commit", 2, "snapshots"),
    Death("store.erase.before_commit", 1, "erase"),
    Death("store.erase.after_commit", 1, "erase"),
    Death("store.drop.before_commit", 1, "drop"),
    *(Death("files.write.before_rename", n, "files") for n in (1, 2)),
    *(Death("files.write.after_rename", n, "files") for n in (1, 2)),
    *(Death("backup.before_rename", n, "backup") for n in (1, 2)),
    *(Death("backup.after_rename", n, "backup") for n in (1, 2)),
    *(Death(f"recover.{when}", 1, "recovery") for when in ("after_restore", "before_swap", "after_swap")),
    *(Death(f"recover.{when}_tables", 1, "altering") for when in ("before", "after")),
    *(Death(f"cleanup.{when}", 1, "cleaning") for when in ("after_archive", "after_drop", "after_restore")),
    Death("archive.put.before_commit", 1, "syncing"),
    Death("archive.put.after_commit", 1, "syncing"),
    Death("archive.name.after_commit", 1, "syncing"),
    Death("archive.drop.before_commit", 1, "syncing"),
    *(Death("store.runs.before_commit", n, "syncing") for n in (1, 2)),
    *(Death("store.runs.after_commit", n, "syncing") for n in (1, 2)),
    *(Death(f"store.facts.{when}_commit", n, "syncing") for when in ("before", "after") for n in (1, 2)),
    *(Death("search.put.before_commit", n, "searching") for n in (1, 2, 3)),
    *(Death("codemap.put.before_commit", n, "mapping") for n in (1, 2)),
    *(Death("store.memories.before_commit", n, "remembering") for n in (1, 7)),
    *(Death("store.memories.after_commit", n, "remembering") for n in (1, 7)),
]
DEATHS += [
    Death(f"verify.{when}", 1, "verifying") for when in ("after_begin", "before_record", "after_record")
]
DEATHS += [
    Death(f"{place}", n, "preparing")
    for place in (
        "prepare.before_manifest",
        "prepare.after_manifest",
        "scene.keep.before",
        "scene.keep.after",
    )
    for n in (1, 2)
]
DEATHS += [
    Death(f"join.{place}", n, "joining")
    for place in ("ledger.before_commit", "ledger.after_commit", "runs.after_commit", "close.after_commit")
    for n in (1, 2)
]
DEATHS += [Death("join.current.after_commit", 1, "joining")]
DEATHS += [Death(f"models.{when}_ladder", 1, "asking") for when in ("before", "after")]
DEATHS += [
    Death(place, n, "asking")
    for place in ("spend.after_reserve", "spend.before_settle", "claims.before_keep", "claims.after_keep")
    for n in (1, 2)
]
DEATHS += [Death(f"install.{when}_write", n, "installing") for when in ("before", "after") for n in (1, 2)]
DEATHS += [Death(f"uninstall.{when}_write", 1, "uninstalling") for when in ("before", "after")]
DEATHS += [
    *(Death("interrupt.after_pause", n, "leaving") for n in (1, 2)),
    *(Death("checkpointer.after_changes", n, "leaving") for n in (1, 3)),
]
ELSEWHERE = set(
    "asking spooling installing uninstalling leaving preparing verifying files recovery "
    "cleaning syncing searching mapping remembering joining altering".split()
)
"""Tasks whose remains are looked at by tests of their own."""


def die(death: Death, home: Path) -> None:
    home.mkdir(exist_ok=True, mode=0o700)
    process = spawn(death.failpoint, WORK, death.task, str(home), "child", count=death.passing)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, f"{death} did not die: {err}"


def deaths(*tasks: str) -> pytest.MarkDecorator:
    chosen = [d for d in DEATHS if (d.task in tasks if tasks else d.task not in ELSEWHERE)]
    return pytest.mark.parametrize("death", chosen, ids=lambda d: f"{d.failpoint}:{d.passing}")


@deaths()
def test_after_a_kill_all_that_was_acknowledged_is_there_once_and_work_goes_on(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    proof = Proof(tmp_path)
    proof()
    with open_segue(tmp_path) as seg:
        for card in seg.list(everywhere=True):
            session = seg.session(card.id)
            session.resume()
            session.note("gone on")
            assert session.status().last_action == "gone on"
        seg.start("and a new one")
    proof()


@pytest.mark.parametrize(("when", "erased"), [("before", False), ("after", True)])
def test_an_erasure_that_a_kill_interrupts_happened_wholly_or_not_at_all(
    when: str, erased: bool, tmp_path: Path
) -> None:
    die(Death(f"store.erase.{when}_commit", 1, "erase"), tmp_path)
    journal = SqliteStore(tmp_path / "segue.db")
    [(stream, version)] = journal.streams("session/")
    events = journal.read(stream)
    assert (events[2].erased, version) == ((True, 6) if erased else (False, 5))
    assert (events[-1].kind == Erased.KIND) == erased
    verify_chain(events)
    journal.close()


def test_a_drop_that_a_kill_interrupts_leaves_the_session_whole(tmp_path: Path) -> None:
    die(Death("store.drop.before_commit", 1, "drop"), tmp_path)
    with open_segue(tmp_path) as seg:
        goals = [card.goal for card in seg.list(everywhere=True)]
    assert "to be dropped" in goals and len(goals) == 2


@pytest.mark.parametrize(
    ("when", "count", "content"),
    [
        ("before", 1, None),
        ("after", 1, b"first" * 1000),
        ("before", 2, b"first" * 1000),
        ("after", 2, b"second" * 1000),
    ],
)
def test_a_file_is_the_old_one_or_the_new_one(
    when: str, count: int, content: bytes | None, tmp_path: Path
) -> None:
    die(Death(f"files.write.{when}_rename", count, "files"), tmp_path)
    file = tmp_path / "file"
    assert (file.read_bytes() if file.exists() else None) == content


@pytest.mark.parametrize(
    ("when", "count", "kept"), [("before", 1, 0), ("after", 1, 1), ("before", 2, 1), ("after", 2, 2)]
)
def test_a_backup_that_a_kill_interrupts_is_whole_or_not_counted(
    when: str, count: int, kept: int, tmp_path: Path
) -> None:
    die(Death(f"backup.{when}_rename", count, "backup"), tmp_path)
    with open_segue(tmp_path) as seg:
        backups = seg.workspace.backups.list()
        assert len(backups) == kept
        for backup in backups:
            copy = SqliteStore(backup.path)
            streams = copy.streams()
            assert sum(version for _, version in streams) == backup.events
            for stream, _ in streams:
                verify_chain(copy.read(stream))
            copy.close()


@deaths("recovery")
def test_a_recovery_that_a_kill_interrupts_is_finished_by_the_next(death: Death, tmp_path: Path) -> None:
    die(death, tmp_path)
    work.mend(str(tmp_path))
    Proof(tmp_path)()
    with open_segue(tmp_path) as seg:
        [card] = seg.list(everywhere=True)
        assert card.version == 10
        seg.session(card.id).note("gone on")
    assert not (tmp_path / "segue.db.recovered").exists()


@deaths("altering")
def test_tables_that_a_kill_interrupts_on_their_way_back_are_there_after_the_next_recovery(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    work.mend(str(tmp_path))
    Proof(tmp_path)()
    with open_segue(tmp_path) as seg:
        assert [found.memory.content for found in seg.memories.recall("lint push")] == ["lint before a push"]
        seg.session(seg.list(everywhere=True)[0].id).note("gone on")


@deaths("cleaning")
def test_a_session_that_a_kill_interrupts_on_its_way_to_the_archive_or_back_is_not_lost(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    with open_segue(tmp_path) as seg:
        cleanup = Cleanup(seg.workspace)
        cleanup.run(0)
        assert [archived.id for archived in cleanup.list()] == ["over"]
        session = cleanup.restore("over")
        assert snapshot.encode(session.state) == (tmp_path / "state").read_bytes()
        assert session.load_agent("agent") == work.agent_value(5, 1)
        verify_chain(session.log())


@deaths("syncing")
def test_a_sync_that_a_kill_interrupts_is_finished_by_the_next_with_the_same_outcome(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    with work.open_agents(str(tmp_path)) as seg:
        seg.sync()
        found = outcome(seg)
        assert seg.sync().read == 0
        assert outcome(seg) == found
        assert rebuild(seg.workspace, check=True).runs_different == []
        for stream, _ in seg.workspace.store.streams():
            verify_chain(seg.workspace.store.read(stream))
    assert found == whole_outcome(tmp_path)


@deaths("joining")
def test_a_join_that_a_kill_interrupts_leaves_readable_sessions_and_is_finished_by_the_next(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    with work.open_agents(str(tmp_path)) as seg:
        first, *others = sorted(seg.list(), key=lambda card: card.created)
        texts = [{entry.text for entry in seg.session(one.id).state.said} for one in others]
        assert LATER in texts[0] and MORE in texts[1], "what joins another one keeps what it has"
        join_sessions(seg.workspace, first.id, [one.id for one in others])
        found = joined_outcome(seg, first.id)
        assert rebuild(seg.workspace, check=True).different == []
        seg.sync()
        join_sessions(seg.workspace, first.id, [one.id for one in others])
        assert joined_outcome(seg, first.id) == found, "a second time changes nothing"
        for stream, _ in seg.workspace.store.streams():
            verify_chain(seg.workspace.store.read(stream))
    (tmp_path / "whole").mkdir()
    work.joining(str(tmp_path / "whole"), "")
    with work.open_agents(str(tmp_path / "whole")) as seg:
        [keep] = [card.id for card in seg.list() if card.status != "abandoned"]
        assert joined_outcome(seg, keep) == found, "it is as if it had been done in one go"


def joined_outcome(seg: Segue, keep: str) -> tuple[object, ...]:
    """What a join leads to: the ledger, what was declared, the runs, and what became of the sessions."""
    state = seg.session(keep).state
    said = [(entry.kind, entry.text, entry.state) for entry in state.said]
    declared = [
        [(item.text, item.status) for item in state.items], [one.text for one in state.decisions],
        [one.text for one in state.questions], [one.text for one in state.findings],
    ]  # fmt: skip
    runs = {run.id for run in seg.runs() if run.session == keep}
    closed = [(card.status, seg.session(card.id).state.end_reason == f"joined into {keep}")
              for card in sorted(seg.list(), key=lambda card: card.created)]  # fmt: skip
    return said, declared, runs, closed, seg.session().id == keep, len(seg.recall("*"))


@deaths("searching")
def test_a_search_that_a_kill_interrupts_is_made_up_for_by_the_next(death: Death, tmp_path: Path) -> None:
    die(death, tmp_path)
    with work.open_agents(str(tmp_path)) as seg:
        assert [hit.session for hit in seg.search("walrus").hits][:1] == ["walrus"]
        found = hits(seg)
        runs_of(seg.workspace).search_index.delete()
        assert hits(seg) == found, "it is as if it had been made in one go"


@deaths("mapping")
def test_a_map_that_a_kill_interrupts_is_made_up_for_by_the_next(death: Death, tmp_path: Path) -> None:
    die(death, tmp_path)
    with work.open_agents(str(tmp_path)) as seg:
        found = seg.map("users", "tusk")
        assert "walrus" in [use.place.name for use in found.uses]
        code_map(seg.workspace).file.delete()
        assert seg.map("users", "tusk") == found, "it is as if it had been made in one go"


def hits(seg: Segue) -> list[tuple[str, str]]:
    return [(hit.handle, hit.text) for word in ("walrus", "login", "pytest") for hit in seg.search(word).hits]


def outcome(seg: Segue) -> dict[str, tuple[str, str, int]]:
    """Of each run: its session, its goal, and how much was read of it."""
    return {run.id: (run.session, run.goal, run.steps) for run in seg.runs()}


def whole_outcome(folder: Path) -> dict[str, tuple[str, str, int]]:
    """What a sync comes to that nobody interrupts, of the same transcripts."""
    shutil.rmtree(folder / "segue")
    with work.open_agents(str(folder)) as seg:
        seg.sync()
        assert all(run.archived for run in seg.runs())
        return outcome(seg)


@deaths("preparing")
def test_a_preparation_that_a_kill_interrupts_leaves_the_old_one_or_the_new_one(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    latest = tmp_path / "segue" / "manifests" / "shop" / "latest.json"
    found = read(latest.read_bytes()) if latest.exists() else None
    done = death.passing - 1 + (death.failpoint != "prepare.before_manifest")
    assert (found.active_state.current_work if found else "") == ("", "first", "second")[done]
    with work.open_agents(str(tmp_path)) as seg:
        scene = stored_scene(seg.workspace, "jwt")
        kept_scenes = death.passing - 1 + (death.failpoint == "scene.keep.after")
        assert (scene.reason if scene else "") == ("", "1", "2")[kept_scenes]
        assert seg.prepare().session == "jwt"
        assert [path.name for path in seg.workspace.home.scenes.glob("*.json")] == ["jwt.json"]


@deaths("asking")
def test_whoever_is_killed_while_asking_a_model_leaves_its_ceiling_and_a_whole_manifest(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    set_before = death.failpoint != "models.before_ladder"
    began = death.failpoint.startswith(("spend", "claims"))
    with work.open_agents(str(tmp_path)) as seg:
        assert bool(config.load(seg.workspace).models) == set_before
        entries = spending.ledger(seg.workspace, spending.today()).entries
        assert len(entries) == (death.passing if began else 0)
        open_ = [one for one in entries if one.outcome == "open"]
        assert len(open_) == death.failpoint.startswith("spend")
        assert all(one.cost == one.ceiling > 0 for one in open_)
        assert all(one.cost < one.ceiling for one in entries if one.outcome == "answered")
        manifests = list((tmp_path / "segue" / "manifests").glob("*/latest.json"))
        assert len(manifests) == began and all(read(path.read_bytes()) for path in manifests)
        kept_claims = list((tmp_path / "segue" / "manifests").glob(".claims/*.json"))
        assert len(kept_claims) == (began and (death.passing == 2 or death.failpoint == "claims.after_keep"))
        assert seg.prepare().bytes


@pytest.mark.parametrize("death", [d for d in DEATHS if d.failpoint == "interrupt.after_pause"])
def test_a_pause_that_a_kill_interrupts_is_in_the_journal_and_can_be_prepared_again(
    death: Death, tmp_path: Path
) -> None:
    die(death, tmp_path)
    with work.open_agents(str(tmp_path)) as seg:
        session = seg.session("jwt")
        assert (session.state.status, session.state.pause_reason) == ("paused", str(death.passing))
        verify_chain(session.log())
        scene = stored_scene(seg.workspace, "jwt")
        assert (scene.reason if scene else "") == ("", "1")[death.passing - 1]
        assert seg.since("jwt").session == "jwt"
        session.resume()
        assert session.pause("again").manifest


@pytest.mark.parametrize("death", [d for d in DEATHS if d.failpoint == "checkpointer.after_changes"])
def test_changes_that_a_checkpointer_saved_survive_a_kill(death: Death, tmp_path: Path) -> None:
    die(death, tmp_path)
    with work.open_agents(str(tmp_path)) as seg:
        session = seg.session("jwt")
        notes = [event for event in session.log() if event.kind == "note.taken"]
        assert len(notes) == 5 * death.passing
        assert session.state.last_action == f"change {5 * death.passing - 1}"
        verify_chain(session.log())


def test_a_sync_that_is_killed_at_any_moment_comes_to_the_same_in_the_end(
    tmp_path: Path, kill_count: int
) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    rng = random.Random(seed)
    work.put_transcripts(str(tmp_path), 12)
    expected = whole_outcome_of_new(tmp_path)
    for _ in range(kill_count):
        process = child("sync_forever", tmp_path, "child")
        time.sleep(0.3 + rng.random() * 0.5)
        process.kill()
        process.communicate()
        with work.open_agents(str(tmp_path)) as seg:
            seg.sync()
            assert outcome(seg) == expected
            assert len(seg.list(everywhere=True)) == len({session for session, _, _ in expected.values()})
            for run in seg.runs():
                assert list(runs_of(seg.workspace).archive.read(run.key)), run


def whole_outcome_of_new(folder: Path) -> dict[str, tuple[str, str, int]]:
    (folder / "segue").mkdir()
    expected = whole_outcome(folder)
    assert len(expected) == 12
    return expected


def test_every_failpoint_of_the_package_is_died_at() -> None:
    elsewhere = handover.DIED_AT | hooks.DIED_AT | postgres.DIED_AT
    assert all_failpoints() == {death.failpoint for death in DEATHS} | elsewhere


def test_failpoints_are_found_counted_and_raise_once(tmp_path: Path) -> None:
    with recording() as passed:
        work.files(str(tmp_path), "")
    assert passed == {"files.write.before_rename": 2, "files.write.after_rename": 2}
    fault = OSError("planted")
    with armed("files.write.before_rename", fault, count=2), pytest.raises(OSError, match="planted"):
        work.files(str(tmp_path), "")
    assert (tmp_path / "file").read_bytes() == b"first" * 1000
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_failpoint_whose_name_is_made_up_at_run_time_is_refused(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("trip('a.b')\ntrip(f'a.{x}')\n")
    with pytest.raises(ValueError, match=r"module\.py:2"):
        all_failpoints(tmp_path)


def test_an_unknown_failpoint_is_named_before_anything_runs(tmp_path: Path) -> None:
    process = spawn("no.such.place", WORK, "files", str(tmp_path), "child")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1 and "no.such.place" in err and "store.append.after_commit" in err
    assert list(tmp_path.iterdir()) == []
