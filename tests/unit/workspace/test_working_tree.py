"""Where we are: working tree, project, current session, trust."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from segue.api.segue import Segue
from segue.errors import UnknownSession, UsageError
from segue.stores.memory.store import VolatileStore


@pytest.fixture
def journal() -> VolatileStore:
    return VolatileStore()


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def at(folder: Path, journal: VolatileStore, **options: Any) -> Segue:
    folder.mkdir(parents=True, exist_ok=True)
    return Segue(journal, home=folder / "unused", folder=folder, **options)


def test_the_current_session_is_that_of_the_working_tree(tmp_path: Path, journal: VolatileStore) -> None:
    one, two = at(tmp_path / "one", journal), at(tmp_path / "two", journal)
    first, second = one.start("first"), two.start("second")
    assert one.session().id == first.id and two.session().id == second.id
    assert at(tmp_path / "one" / "deep" / "er", journal).session().id == first.id
    with pytest.raises(UnknownSession, match="no session is current"):
        at(tmp_path / "three", journal).session()


def test_a_given_id_beats_the_environment_beats_the_working_tree(
    tmp_path: Path, journal: VolatileStore
) -> None:
    seg = at(tmp_path, journal)
    a, b, c = (seg.start(goal) for goal in "abc")
    told = Segue(journal, home=tmp_path, folder=tmp_path, environment={"SEGUE_SESSION": b.id})
    assert (told.session(a.id).id, told.session().id, seg.session().id) == (a.id, b.id, c.id)


def test_the_key_is_the_setting_else_the_remote_else_the_first_commit_else_the_path(
    tmp_path: Path, journal: VolatileStore
) -> None:
    def key(**options: str) -> str:
        seg = at(tmp_path / "shop", journal, **options)
        return seg.workspace.working_tree.project_key(seg.workspace.settings)[0]

    assert key() == str(tmp_path / "shop")
    run(tmp_path / "shop", "init", "-q")
    assert key() == str(tmp_path / "shop")
    run(tmp_path / "shop", "commit", "-q", "--allow-empty", "-m", "x")
    assert key().startswith("commit:")
    run(tmp_path / "shop", "remote", "add", "origin", "https://me:token@host/acme/shop.git")
    assert key() == "host/acme/shop"
    assert key(project="given") == "given"


def test_a_remote_that_is_added_later_does_not_hide_older_sessions(
    tmp_path: Path, journal: VolatileStore
) -> None:
    before = at(tmp_path / "shop", journal).start("before")
    run(tmp_path / "shop", "init", "-q")
    run(tmp_path / "shop", "remote", "add", "origin", "https://host/acme/shop.git")
    seg = at(tmp_path / "shop", journal)
    after = seg.start("after")
    assert {card.id for card in seg.list()} == {before.id, after.id}
    assert after.id.endswith("-coding-shop-002")


def test_sessions_of_another_project_are_not_listed_here(tmp_path: Path, journal: VolatileStore) -> None:
    at(tmp_path / "other", journal).start("theirs")
    mine = at(tmp_path / "mine", journal)
    session = mine.start("mine")
    assert [card.id for card in mine.list()] == [session.id]
    assert len(mine.list(everywhere=True)) == 2


def test_a_projects_file_counts_once_its_content_is_accepted(tmp_path: Path, journal: VolatileStore) -> None:
    (tmp_path / "segue.toml").write_text('organization = "acme"')
    seg = at(tmp_path, journal)
    assert (
        seg.workspace.settings.text("organization") == "personal" and not seg.workspace.working_tree.trusted()
    )
    seg.workspace.working_tree.trust(seg.workspace.pause_file, at="2026", actor="user")
    assert at(tmp_path, journal).workspace.settings.text("organization") == "acme"
    (tmp_path / "segue.toml").write_text('organization = "evil"')
    assert at(tmp_path, journal).workspace.settings.text("organization") == "personal"


def test_switching_pauses_one_session_and_takes_the_other_up(tmp_path: Path, journal: VolatileStore) -> None:
    seg = at(tmp_path, journal)
    a, b = seg.start("a"), seg.start("b")
    before, after = seg.switch(a.id)
    assert before is not None and (before.id, after.id) == (b.id, a.id)
    assert b.state.status == "paused" and b.state.pause_reason == f"switched to {a.id}"
    assert seg.session().id == a.id and a.state.status == "active"


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: other systems have no such names")
def test_a_folder_whose_path_is_no_utf8_is_refused_in_words(tmp_path: Path, journal: VolatileStore) -> None:
    with pytest.raises(UsageError, match="not valid UTF-8") as refused:
        at(tmp_path / "caf\udce9", journal)
    assert "rename" in refused.value.hint
