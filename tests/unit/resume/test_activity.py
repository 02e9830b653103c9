"""Context and metrics of a session that fill by themselves: notes, commits, runs and searches."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import opened

from segue import Segue
from segue.api.session import Session
from segue.core.runs.steps import Call, Prompt, Result, Start, Step
from segue.services.memories.reader import count_search
from segue.services.resume.activity import note_activity
from segue.services.resume.resume import resume
from segue.testing.transcripts import placed

DAY = 86_400


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    repository.commit("long ago", {"docs/adr/old.md": "# Old"}, at=time.time() - 30 * DAY)
    repository.commit("lately", {"docs/adr/late.md": "# Late", "a.py": "a\n"}, at=time.time() - 2 * DAY)
    return repository


@pytest.fixture
def session(home: Path, repo: Repository) -> Session:
    return opened(home, repo.folder).start("Use tokens", id="jwt")


def work(repo: Repository) -> None:
    """A note is committed, one is created, one is changed; other files are no notes."""
    repo.commit("in the session", {"docs/adr/committed.md": "# New", "b.py": "b\n"})
    repo.write({"docs/adr/created.md": "# New", "docs/adr/old.md": "# Other", "c.md": "no note"})


def recent(session: Session) -> tuple[int, int, int]:
    context = session.state.context
    return context.notes_created_count, context.notes_updated_count, context.commits_count


def metrics(session: Session) -> tuple[int, int]:
    return session.state.metrics.notes_created, session.state.metrics.notes_updated


def test_leaving_a_session_counts_notes_and_commits(session: Session, repo: Repository) -> None:
    work(repo)
    session.pause()
    assert recent(session) == (3, 1, 2)
    assert metrics(session) == (2, 1)
    assert session.state.context.cutoff_date == time.strftime("%Y-%m-%d", time.gmtime(time.time() - 7 * DAY))
    document = session.workspace.store.read("session/jwt")
    assert document[-1].actor == "segue", "it is recorded by nobody's name"


def test_nothing_is_counted_twice_and_nothing_new_is_no_event(session: Session, repo: Repository) -> None:
    work(repo)
    session.pause()
    session.resume()
    session.pause()
    version = session.state.version
    note_activity(session)
    assert (metrics(session), session.state.version) == ((2, 1), version)
    session.resume()
    repo.commit("one more", {"docs/adr/another.md": "# Another"})
    session.pause()
    assert metrics(session) == (3, 1)


def test_what_a_program_counted_itself_is_not_added_to(session: Session, repo: Repository) -> None:
    session.count(notes_created=5)
    work(repo)
    session.pause()
    assert metrics(session) == (5, 1)


@pytest.mark.parametrize("way", ["complete", "restore"])
def test_completing_and_restoring_count_too(session: Session, repo: Repository, way: str) -> None:
    work(repo)
    if way == "complete":
        session.complete()
    else:
        resume(session, budget="minimal")
    assert (recent(session), metrics(session)) == ((3, 1, 2), (2, 1))


def test_an_undo_behind_a_pause_takes_the_pause_back(session: Session, repo: Repository) -> None:
    work(repo)
    session.pause()
    session.undo()
    assert (session.state.status, metrics(session), recent(session)) == ("active", (2, 1), (3, 1, 2))


def test_runs_of_the_session_are_its_conversations(home: Path, session: Session, repo: Repository) -> None:
    for agent in ("claude-code", "opencode"):
        at = time.time() - 600
        steps: list[Step] = [
            Start(at, "start", native=f"run-{agent}", cwd=str(repo.folder)), Prompt(at, "Use tokens"),
            Call(at, "c1", "Read", "read", paths=("a.py",)), Result(at, "c1"),
        ]  # fmt: skip
        placed(agent, steps, home=home, native=f"run-{agent}", cwd=str(repo.folder))
    segue = Segue.of(session.workspace)
    segue.sync(session="jwt")
    session.pause()
    assert session.state.context.conversations_count == 2


def test_a_folder_without_git_counts_changed_notes(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "memory").mkdir(parents=True)
    with opened(home, folder) as segue:
        session = segue.start("g")
        (folder / "memory" / "x.md").write_text("# X")
        session.pause()
        assert metrics(session) == (0, 1)


def test_searches_are_counted_in_the_session_at_work(session: Session, repo: Repository) -> None:
    count_search(session.workspace)
    count_search(session.workspace)
    assert session.state.metrics.searches_performed == 2
    session.complete()
    count_search(session.workspace)
    assert session.state.metrics.searches_performed == 2
    (repo.folder / "PAUSE").touch()
    count_search(session.workspace)
