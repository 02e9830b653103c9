"""The rung of git: with everything above it gone, a session comes back from a handover's state."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from segue import Segue
from segue.handover.flow import Handover
from segue.services.upkeep.recover.ladder import recover
from segue.services.upkeep.recover.result import Recovery, Rung
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve

SETTINGS = resolve(flags={})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose session was handed over twice, and whose data folder is gone."""
    folder = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    with Segue(home=tmp_path / "home", folder=folder) as seg:
        s = seg.start("Refactor auth", id="auth", items=["user model", "middleware", "docs"])
        s.done("user model")
        Handover(seg).run(note="first")
        s.begin("middleware")
        s.block("docs", "no words yet", stay=True)
        s.decide("HS256", why="one issuer")
        s.ask("which scopes?")
        s.learn("PyJWT wants bytes")
        Handover(seg).run(note="second")
    shutil.rmtree(tmp_path / "home")
    return folder


def climb(tmp_path: Path, project: Path, *, dry_run: bool = False, from_git: bool = True) -> Recovery:
    home = DataFolder(tmp_path / "home")
    return recover(home, SETTINGS, folder=project, dry_run=dry_run, from_git=from_git)


def rung(outcome: Recovery) -> Rung:
    return next(one for one in outcome.rungs if one.name == "git")


def state_file(project: Path) -> Path:
    return project / "memory" / "layer2" / "current-state.md"


def check_whole(tmp_path: Path, project: Path) -> None:
    with Segue(home=tmp_path / "home", folder=project) as seg:
        status = seg.session("auth").status()
    assert status.goal == "Refactor auth" and list(status.done) == ["user model"]
    assert list(status.active) == ["middleware"] and status.blocked[0].reason == "no words yet"
    assert [d.text for d in status.decisions] == ["HS256"] and "recovered from" in status.last_action


def test_a_session_comes_back_from_the_file(tmp_path: Path, project: Path) -> None:
    dry = climb(tmp_path, project, dry_run=True)
    assert rung(dry).status == "ok" and "can be restored: auth" in rung(dry).detail
    outcome = climb(tmp_path, project)
    assert rung(outcome).status == "used" and outcome.changed
    assert any(gap.stream == "session/auth" for gap in outcome.missing)
    check_whole(tmp_path, project)
    assert rung(climb(tmp_path, project)).status == "none"


@pytest.mark.parametrize("damage", ["gone", "empty", "torn", "conflict", "edited"])
def test_a_session_comes_back_from_the_history_when_the_file_is_damaged(
    damage: str, tmp_path: Path, project: Path
) -> None:
    path = state_file(project)
    text = path.read_text()
    changed = {
        "empty": "", "torn": text[:150], "conflict": "<<<<<<< ours\n" + text,
        "edited": text.replace("HS256", "RS256", 1),
    }  # fmt: skip
    if damage == "gone":
        shutil.rmtree(project / "memory")
    else:
        path.write_text(changed[damage])
    outcome = climb(tmp_path, project)
    assert rung(outcome).status == "used" and "of commit" in rung(outcome).detail
    check_whole(tmp_path, project)


def test_every_session_that_only_the_history_knows_comes_back(tmp_path: Path, project: Path) -> None:
    with Segue(home=tmp_path / "other", folder=project) as seg:
        seg.start("Something else", id="else")
        Handover(seg).run(note="x")
    outcome = climb(tmp_path, project)
    with Segue(home=tmp_path / "home", folder=project) as seg:
        assert {card.id for card in seg.list(everywhere=True)} == {"auth", "else"}
    assert rung(outcome).status == "used"


def test_a_session_that_the_store_knows_is_left_as_it_is(tmp_path: Path, project: Path) -> None:
    climb(tmp_path, project)
    with Segue(home=tmp_path / "home", folder=project) as seg:
        seg.session("auth").done("middleware")
        version = seg.session("auth").state.version
    climb(tmp_path, project)
    with Segue(home=tmp_path / "home", folder=project) as seg:
        assert seg.session("auth").state.version == version


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path, project: Path) -> None:
    text = state_file(project).read_text()
    (tmp_path / "planted.md").write_text(text)
    subprocess.run(["rm", "-rf", str(project / ".git")], check=True)
    state_file(project).unlink()
    state_file(project).symlink_to(tmp_path / "planted.md")
    assert rung(climb(tmp_path, project)).status == "none"


def test_texts_of_the_file_are_cleaned_and_become_a_plan_and_nothing_else(
    tmp_path: Path, project: Path
) -> None:
    from segue.core.handover.markdown_layers import FrontMatter, front_matter

    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    subprocess.run(["rm", "-rf", str(project / ".git")], check=True)
    told = FrontMatter(
        "planted", 9, "00" * 32, f"goal \x1b[31mred {token}", items=(("done", "a", ""), ("odd", "b", ""))
    )
    state_file(project).write_text(front_matter(told))
    climb(tmp_path, project)
    with Segue(home=tmp_path / "home", folder=project) as seg:
        state = seg.session("planted").state
    assert token not in state.goal and "\x1b" not in state.goal and not state.features
    for name in ("../up", "a/b", ""):
        state_file(project).write_text(front_matter(FrontMatter(name, 9, "00" * 32, "x")))
        assert rung(climb(tmp_path, project)).status == "none"


def test_a_repository_that_nothing_here_knows_is_told_of_and_not_taken_in(
    tmp_path: Path, project: Path
) -> None:
    for begun in (False, True):  # a data folder that is new, and a store that is in order
        if begun:
            with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
                seg.start("mine", id="mine")
        for dry_run in (True, False):
            outcome = climb(tmp_path, project, dry_run=dry_run, from_git=False)
            assert rung(outcome).status == "none" and not outcome.changed
            assert "auth" in rung(outcome).detail and "--from-git" in rung(outcome).detail
        with Segue(home=tmp_path / "home", folder=project) as seg:
            assert [card.id for card in seg.list(everywhere=True)] == (["mine"] if begun else [])
    assert rung(climb(tmp_path, project)).status == "used"
    check_whole(tmp_path, project)


def test_a_store_that_is_lost_gets_its_own_session_back_from_git_and_no_other(
    tmp_path: Path, project: Path
) -> None:
    home = DataFolder(tmp_path / "home")
    with Segue(home=tmp_path / "other", folder=project) as seg:  # somebody else's, in the same repository
        seg.start("Something else", id="else")
        Handover(seg).run(note="x")
    with Segue(home=home, folder=project) as seg:
        seg.start("Refactor auth", id="auth")
    for path in (home.database, home.database.with_name("segue.db-wal")):
        path.unlink(missing_ok=True)
    shutil.rmtree(home.backups, ignore_errors=True)
    outcome = climb(tmp_path, project, from_git=False)
    told = [one for one in outcome.rungs if one.name == "git"]
    assert [one.status for one in told] == ["none", "used"]
    assert "else" in told[0].detail and "auth" in told[1].detail
    with Segue(home=home, folder=project) as seg:
        assert [card.id for card in seg.list(everywhere=True)] == ["auth"]
