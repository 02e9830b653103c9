"""Preparing: the manifest is in place, says why, and is cheap to have made."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.support.git import Repository
from tests.support.runs import SECRET, opened, place

from segue import Paused, Segue, SegueError, TranscriptUnreadable, UnknownSession
from segue.core.brief.manifest import Manifest, Preparation, read
from segue.core.resume.scene import decode
from segue.services.resume.prepare import prepare
from segue.services.resume.scenes import stored_scene
from segue.services.workspace.own_files import MANIFEST_HERE


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "shop"


def manifest_in(path: str | Path) -> Manifest:
    found = read(Path(path).read_bytes())
    assert found is not None
    return found


def about(found: Manifest) -> Preparation:
    assert isinstance(found.prepared, Preparation)
    return found.prepared


def test_a_prepared_manifest_is_private_and_says_where_the_work_stands_and_why(
    home: Path, project: Path
) -> None:
    repository = Repository(project)
    repository.commit("first", {"a.py": "1\n"})
    with opened(home, project) as seg:
        session = seg.start("Use tokens", items=["model", "routes"], id="jwt")
        session.done("model")
        session.begin("routes")
        done = prepare(seg.workspace, reason="80 % of the window")
    path = Path(done.path)
    assert path == home / "segue" / "manifests" / "shop" / "latest.json"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
    found = manifest_in(path)
    assert found.session_metadata.goal == "Use tokens"
    assert found.active_state.current_work == "routes"
    assert found.completed_tasks == ["model"]
    assert about(found).reason == "80 % of the window"
    assert about(found).session == "jwt"
    assert about(found).folder == str(project)
    assert repository.head().startswith(about(found).head)
    assert done.bytes <= 2_048 and done.bytes == path.stat().st_size


def test_the_run_that_asks_is_told_of(home: Path, project: Path) -> None:
    path = place(home, project, "codex", old=5.0, ends=False)
    with opened(home, project, CODEX_THREAD_ID="run-1") as seg:
        done = seg.prepare(reason="before exit", transcript=path)
        again = seg.prepare(reason="before exit")
    assert done.run == again.run == "run-1"
    found = manifest_in(done.path)
    assert "tokens" in found.session_metadata.goal
    assert found.memory_pointers.session_logs == ["run-1"]


def test_without_git_session_and_run_it_is_written_all_the_same(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        done = seg.prepare()
    assert (done.session, done.run) == ("", "")
    assert manifest_in(done.path).session_metadata.project == "shop"


def test_a_session_that_does_not_exist_is_an_error(home: Path, project: Path) -> None:
    with opened(home, project) as seg, pytest.raises(UnknownSession):
        seg.prepare("nobody")


def test_no_secret_gets_into_the_manifest_or_the_scene(home: Path, project: Path) -> None:
    place(home, project, "codex", secret=SECRET, prompt=f"Use the token {SECRET} for the calls, please")
    with opened(home, project) as seg:
        done = seg.prepare(reason=f"because {SECRET}")
    for path in [*(home / "segue" / "manifests").rglob("*"), *(home / "segue" / "scenes").rglob("*")]:
        assert not path.is_file() or SECRET not in path.read_text()
    assert SECRET not in Path(done.path).read_text()


def test_a_pause_file_refuses_it_and_nothing_is_written(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        (project / "PAUSE").touch()
        with pytest.raises(Paused):
            seg.prepare()
    assert not (home / "segue" / "manifests").exists()


def test_here_writes_the_file_that_others_know_into_the_project(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        seg.start("Use tokens")
        done = seg.prepare(here=True)
    assert Path(done.path) == project / MANIFEST_HERE
    assert json.loads((project / MANIFEST_HERE).read_text())["session_metadata"]["goal"] == "Use tokens"


def test_two_projects_of_one_name_do_not_share_a_manifest(home: Path, tmp_path: Path) -> None:
    paths = set()
    for parent in ("one", "two"):
        with opened(home, tmp_path / parent / "shop") as seg:
            paths.add(seg.prepare().path)
    assert len(paths) == 2


def test_the_scene_lists_what_is_not_committed_by_hashes_and_holds_no_content(
    home: Path, project: Path
) -> None:
    repository = Repository(project)
    repository.commit("first", {"a.py": "one\ntwo\nthree\n", "gone.py": "x\n", "kept.py": "y\n"})
    repository.write({"a.py": "one\nTWO SECRET WORDS\nthree\n", "new/b.py": "b\n"})
    (project / "gone.py").unlink()
    with opened(home, project) as seg:
        session = seg.start("Use tokens", id="jwt")
        session.focus(file="a.py", position="2:5")
        scene = seg.prepare().scene
        again = stored_scene(seg.workspace, "jwt")
        text = (home / "segue" / "scenes" / "jwt.json").read_text()
    assert again == scene
    assert {(one.path, one.kind) for one in scene.dirty} == {
        ("a.py", "modified"), ("gone.py", "deleted"), ("new/b.py", "created"),
    }  # fmt: skip
    assert (scene.git, scene.branch, scene.head) == (True, "main", repository.head())
    assert scene.focus is not None and (scene.focus.line, scene.focus.rest) == (2, "5")
    assert "SECRET WORDS" not in text
    assert decode(b"{") is None


def test_a_scene_without_git_knows_every_file(home: Path, project: Path) -> None:
    project.mkdir()
    (project / "a.txt").write_text("a")
    with opened(home, project) as seg:
        first = seg.prepare().scene
        (project / "a.txt").write_text("b")
        second = seg.prepare().scene
    assert set(first.files) == {"a.txt"}
    assert first.files != second.files


def test_a_manifest_never_takes_more_than_two_kilobytes_however_much_surrounds_the_work(
    home: Path, tmp_path: Path
) -> None:
    project = tmp_path / ("very-" * 12 + "deep") / ("path-" * 12) / "shop"
    with opened(home, project) as seg:
        session = seg.start("Rework everything " * 20, items=[f"item {n} " * 10 for n in range(30)])
        for n in range(12):
            session.features.add(f"feature-with-a-long-name-{n}", "x" * 50, checks=["true"])
        done = seg.prepare(reason="because " * 40)
    found = manifest_in(done.path)
    assert done.bytes <= 2_048
    assert found.session_metadata.goal.startswith("Rework everything")
    told = " ".join(row.task for row in found.pending_tasks)
    assert all(f"item {n} item" in told for n in range(4)), "the first items, in as few rows as there is room"


def test_the_environment_is_not_read_when_a_home_is_given(tmp_path: Path) -> None:
    with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
        assert Path(seg.prepare().path).is_relative_to(tmp_path / "home")


# -- a conversation that the caller has

TALK = [
    {"role": "user", "content": "Port the billing module to Decimal. Never change the public API."},
    {"role": "assistant", "content": "I port the totals first, then the tax."},
]


def test_a_program_can_hand_over_its_messages(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        found = manifest_in(seg.prepare(messages=TALK).path)
    assert found.session_metadata.goal == TALK[0]["content"]
    assert found.active_state.current_work == "I port the totals first, then the tax."


@pytest.mark.parametrize(
    "wrong",
    [
        {"transcript": "/no/such/file"}, {"transcript": "/no/such/file", "agent": "codex"},
        {"transcript": "/dev/null"}, {"transcript": "/dev/zero"}, {"agent": "nosuch"}, {"agent": "codex"},
        {"messages": []}, {"messages": [{"role": "admin", "content": "x"}]}, {"messages": ["hello"]},
        {"messages": TALK, "transcript": "/no/such/file"}, {"messages": TALK, "agent": "codex"},
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_and_the_manifest_stays_as_it_was(
    home: Path, project: Path, wrong: dict[str, Any]
) -> None:
    with opened(home, project) as seg:
        seg.start("Use tokens", items=["model", "routes"], id="jwt")
        path = Path(seg.prepare().path)
        before, scene = path.read_bytes(), (home / "segue" / "scenes" / "jwt.json").read_bytes()
        with pytest.raises(SegueError) as raised:
            seg.prepare(**wrong)
        assert raised.value.hint
        assert path.read_bytes() == before
        assert (home / "segue" / "scenes" / "jwt.json").read_bytes() == scene


def test_a_pipe_is_not_waited_for(home: Path, project: Path) -> None:
    project.mkdir()
    os.mkfifo(project / "pipe.jsonl")
    with opened(home, project) as seg, pytest.raises(TranscriptUnreadable, match="not a file"):
        seg.prepare(transcript=project / "pipe.jsonl")
