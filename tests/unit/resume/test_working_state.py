"""The working state, as the world is now: the line that moved, open ends, changes, agents."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import SECRET, opened

from segue import Segue
from segue.api.session import Session
from segue.core.resume.scene import anchor, moved
from segue.surfaces.cli.views.resumption import working_lines

CODE = [f"line {n} does {n * 7 % 13}" for n in range(1, 41)]


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    repository.commit("first", {"a.py": "\n".join(CODE) + "\n"})
    return repository


@pytest.fixture
def seg(home: Path, repo: Repository) -> Segue:
    return opened(home, repo.folder)


@pytest.fixture
def session(seg: Segue) -> Session:
    one = seg.start("Use tokens", id="jwt")
    one.focus(file="a.py", position="20:5")
    one.pause()
    return one


def test_the_line_in_focus_is_found_where_it_moved(session: Session, repo: Repository) -> None:
    repo.commit("edits above", {"a.py": "\n".join(["new"] * 7 + CODE[5:]) + "\n"})
    focus = session.working().focus
    assert (focus.file, focus.position, focus.exact) == ("a.py", "22:5", True)
    assert (focus.position_then, focus.text) == ("20:5", CODE[19])


def test_also_if_nothing_of_it_was_committed(session: Session, repo: Repository) -> None:
    repo.write({"a.py": "\n".join(CODE[10:]) + "\n"})
    assert session.working().focus.position == "10:5"


def test_a_line_that_is_gone_gives_the_place_where_it_was(session: Session, repo: Repository) -> None:
    repo.write({"a.py": "\n".join(["new"] * 3 + CODE[:19] + CODE[20:]) + "\n"})
    focus = session.working().focus
    assert (focus.position, focus.exact) == ("23:5", False)


@pytest.mark.parametrize("committed", [True, False])
def test_a_renamed_file_is_followed(session: Session, repo: Repository, committed: bool) -> None:
    repo.git("mv", "a.py", "b.py")
    if committed:
        repo.commit("move")
    focus = session.working().focus
    assert (focus.file, focus.file_then, focus.position) == ("b.py", "a.py", "20:5")


def test_a_file_that_is_gone_is_said_to_be(session: Session, repo: Repository) -> None:
    (repo.folder / "a.py").unlink()
    assert session.working().focus.exact is False


def test_a_focus_without_a_scene_is_shown_as_it_was(seg: Segue) -> None:
    session = seg.start("Use tokens", id="other")
    session.focus(file="a.py", position="3")
    focus = session.working().focus
    assert (focus.position, focus.exact, focus.text) == ("3", None, CODE[2])


@pytest.mark.parametrize(
    ("position", "text", "exact"),
    [
        ("section-3", "## Section 3", None),
        ("4", "Three tiers.", None),
        ("", "", None),
        ("nowhere", "", False),
    ],
)
def test_a_note_in_focus_is_opened_where_it_says(
    session: Session, repo: Repository, position: str, text: str, exact: bool | None
) -> None:
    note = "---\nid: n-100\n---\nThree tiers.\n## Section 3\nMore.\n"
    repo.commit("note", {"context-library/pricing.md": note})
    session.focus(note_id="n-100", position=position)
    focus = session.working().focus
    assert (focus.file, focus.note_id, focus.position) == ("context-library/pricing.md", "n-100", position)
    assert (focus.text, focus.exact) == (text, exact)


def test_a_note_in_focus_that_is_gone_is_said_to_be(session: Session) -> None:
    session.focus(note_id="n-100", position="4")
    focus = session.working().focus
    assert (focus.file, focus.exact, focus.text) == ("", False, "")
    assert working_lines(session.working())[1] == "focus: note n-100, which is gone"


def test_the_line_that_is_shown_is_masked(session: Session, repo: Repository) -> None:
    repo.write({"a.py": "\n".join([*CODE[:19], f"token = '{SECRET}'", *CODE[20:]]) + "\n"})
    assert SECRET not in session.working().focus.text


@pytest.mark.parametrize("seed", range(30))
def test_a_line_is_followed_through_any_edits_that_leave_it_there(seed: int) -> None:
    rng = random.Random(seed)
    lines = [f"{rng.random()}" if rng.random() < 0.8 else "}" for _ in range(200)]
    at = rng.randrange(200)
    lines[at] = "the line"
    held = anchor("a", str(at + 1), "\n".join(lines).encode())
    assert held is not None
    for _ in range(40):
        place = rng.randrange(len(lines))
        if rng.random() < 0.5:
            lines.insert(place, f"new {rng.random()}")
        elif lines[place] != "the line":
            del lines[place]
    line, exact = moved(held, "\n".join(lines).encode())
    assert exact and lines[line - 1] == "the line"


@pytest.mark.parametrize("position", ["", "0", "x", "-3", "3.5"])
def test_a_position_that_is_no_line_has_no_anchor(position: str) -> None:
    assert anchor("a", position, b"one\ntwo") is None


def test_threads_questions_and_changes_are_told_as_they_are_now(
    session: Session, seg: Segue, repo: Repository
) -> None:
    session.resume()
    session.checkpoint(thread=[("later", "paused"), "now", ("over", "done")], ask=["which?", "why?"])
    session.answer("why?", "because")
    repo.write({"a.py": "x\n", "new.py": "n\n"})
    session.pause()
    repo.git("checkout", "-q", "--", "a.py")
    found = session.working()
    assert [(one.topic, one.status) for one in found.threads] == [("now", "in_progress"), ("later", "paused")]
    assert found.questions == ("which?",)
    assert [(one.file, one.type, one.now) for one in found.changes] == [
        ("a.py", "modified", "clean"), ("new.py", "created", "uncommitted"),
    ]  # fmt: skip


def test_agents_are_told_with_their_processes_and_memories(session: Session, tmp_path: Path) -> None:
    memory = tmp_path / "planner.md"
    memory.write_text("x")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        session.note_agent(
            "planner", active=True, mode="deep", pid=child.pid, working_memory_path=str(memory),
            suggestions_pending=3, last_topic="keys",
        )  # fmt: skip
        session.save_agent("planner", {"x": 1})
        [agent] = session.working().agents
        assert (agent.process, agent.mode, agent.suggestions_pending) == ("alive", "deep", 3)
        assert agent.working_memory_there and agent.state_bytes > 0 and agent.active
    finally:
        child.kill()
        child.wait()
    [agent] = session.working().agents
    assert (agent.process, agent.active) == ("gone", False)


def test_looking_writes_nothing(session: Session, home: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
    session.working()
    assert before == {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
