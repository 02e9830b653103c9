"""The rung of transcripts: a session that nothing else has any more comes back from what its runs said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.runs import DAY, HOUR, opened, place

from segue.services.runs.observed import runs_of
from segue.services.upkeep.recover.ladder import recover
from segue.services.upkeep.recover.result import ACTOR, Recovery, Rung
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve


def rung_of(outcome: Recovery) -> Rung:
    """The rung of transcripts."""
    return next(rung for rung in outcome.rungs if rung.name == "transcript")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def populate(home: Path, project: Path) -> list[Path]:
    """A declared session with a run, and a run that nobody declared a session for."""
    with opened(home, project) as seg:
        old = place(
            home, project, "claude-code", native="0a-old", old=40 * DAY, prompt="Tidy up the shop, please"
        )
        session = seg.start("Rewrite the login", id="login", items=["one", "two"])
        new = place(home, project, "codex", native="0b-new", old=-5, ends=False)
        seg.sync()
        session.note("declared and nowhere else")
        assert seg.run("0b-new").session == "login"
    return [old, new]


def break_all_above(home: DataFolder) -> None:
    """No store, no log, no backup, no emergency file."""
    for path in home.path.glob("segue.db*"):
        path.unlink()
    shutil.rmtree(home.backups, ignore_errors=True)
    shutil.rmtree(home.emergency, ignore_errors=True)


def mend(home: DataFolder, *, dry_run: bool = False) -> Recovery:
    return recover(home, resolve(), dry_run=dry_run)


@pytest.mark.parametrize("originals", [True, False], ids=["transcripts", "copies"])
def test_with_all_rungs_above_broken_a_session_comes_back_from_transcripts_or_their_copies(
    originals: bool, home: Path, project: Path
) -> None:
    transcripts = populate(home, project)
    folder = DataFolder(home / "segue")
    break_all_above(folder)
    if not originals:
        for path in transcripts:
            path.unlink()
    dry = mend(folder, dry_run=True)
    assert not dry.changed and "login" in rung_of(dry).detail and not folder.database.exists()
    found = mend(folder)
    rung = rung_of(found)
    assert (rung.name, rung.status) == ("transcript", "used") and "login" in rung.detail
    assert found.changed and found.sessions == 2
    assert {gap.stream for gap in found.missing} >= {"session/login"}
    assert all("transcript" in gap.reason for gap in found.missing)
    with opened(home, project) as seg:
        session = seg.session("login")
        state = session.state
        assert state.goal == "Make the login use tokens, please"
        assert {item.text: item.status for item in state.items} == {
            "look": "done", "write it": "active", "test it": "next",
        }  # fmt: skip
        assert any("HS256" in decision.text for decision in state.decisions)
        assert state.last_action.startswith("recovered from the transcript of codex 0b-new")
        assert {event.actor for event in session.log()} == {ACTOR}
        session.note("and it goes on")
    assert mend(folder).changed is False


def test_what_a_rung_above_has_is_not_made_of_a_transcript(home: Path, project: Path) -> None:
    populate(home, project)
    folder = DataFolder(home / "segue")
    with opened(home, project) as seg:
        seg.workspace.backups.make()
    for path in folder.path.glob("segue.db*"):
        path.unlink()
    found = mend(folder)
    assert [rung.status for rung in found.rungs if rung.name == "transcript"] == ["ok"]
    with opened(home, project) as seg:
        assert seg.session("login").state.last_action == "declared and nowhere else"


def test_a_session_that_is_in_its_archive_is_not_lost(home: Path, project: Path) -> None:
    populate(home, project)
    with opened(home, project) as seg:
        seg.session("login").complete()
        seg.cleanup().run(days=0)
    found = mend(DataFolder(home / "segue"))
    assert [rung.status for rung in found.rungs if rung.name == "transcript"] == ["ok"]


def test_an_archive_that_cannot_be_read_is_said_and_hinders_no_other_rung(home: Path, project: Path) -> None:
    populate(home, project)
    folder = DataFolder(home / "segue")
    folder.transcripts.write_bytes(b"no archive at all " * 400)
    found = mend(folder)
    assert rung_of(found).status == "damaged" and found.sessions == 2


def test_a_store_that_is_rebuilt_from_its_remains_keeps_its_runs_after_a_sync(
    home: Path, project: Path
) -> None:
    populate(home, project)
    folder = DataFolder(home / "segue")
    with folder.database.open("r+b") as file:
        file.write(bytes(64))
    mend(folder)
    with opened(home, project) as seg:
        assert runs_of(seg.workspace).runs.rows() == []
        seg.sync()
        assert seg.run("0b-new").session == "login"
        assert len(seg.list(everywhere=True)) == 2


def test_a_copy_of_another_store_brings_nothing_into_this_one(home: Path, project: Path) -> None:
    place(home, project, old=HOUR)
    with opened(home, project, SEGUE_STORE=f"sqlite://{home}/other/else.db") as seg:
        seg.sync()
    found = mend(DataFolder(home / "segue"))
    assert found.sessions == 0 and rung_of(found).status == "ok"
