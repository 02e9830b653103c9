"""Publishing: own paths only, in any repository a user may have; pending when it cannot be done."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from segue.effects.git.publish import Published, Publisher
from segue.handover import GitBackend


def git(folder: Path, *words: str) -> str:
    said = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return said.stdout.rstrip("\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone with a first commit that its remote has."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(tmp_path, "clone", "-q", "remote.git", "project")
    folder = tmp_path / "project"
    (folder / "code.py").write_text("print(1)\n")
    git(folder, "add", "code.py")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "push", "-q", "origin", "main")
    write(folder, "note 1")
    return folder


def write(folder: Path, text: str) -> None:
    (folder / "memory" / "layer2").mkdir(parents=True, exist_ok=True)
    (folder / "memory" / "layer2" / "current-state.md").write_text(text)


def publish(folder: Path, message: str = "handover", **options: object) -> Published:
    return Publisher(folder, ["memory"], lock_seconds=0.3, **options).publish(message)  # type: ignore[arg-type]


def committed(folder: Path) -> list[str]:
    return git(folder, "show", "--name-only", "--format=", "HEAD").split()


def test_what_the_user_has_staged_stays_staged_and_is_in_no_commit_of_ours(project: Path) -> None:
    (project / "secret.env").write_text("a = 1\n")
    (project / "code.py").write_text("print(2)\n")
    git(project, "add", "secret.env", "code.py")
    before = git(project, "diff", "--cached")
    done = publish(project)
    assert done.ok and done.committed and done.files == ("memory/layer2/current-state.md",)
    assert committed(project) == ["memory/layer2/current-state.md"]
    assert git(project, "diff", "--cached") == before
    assert git(project, "status", "--porcelain", "memory") == ""


class Overtaken(Publisher):
    """Between its look and its commit, a git that an earlier handover left behind makes the commit."""

    def _make_commit(self, *given: Any) -> bool:
        git(self.root, "add", "memory")
        git(self.root, "commit", "-q", "-m", "left behind", "--", "memory")
        return super()._make_commit(*given)


def test_what_an_earlier_git_committed_a_moment_ago_is_done(project: Path) -> None:
    done = Overtaken(project, ["memory"]).publish("handover")
    assert done.ok and not done.committed and done.commit == git(project, "rev-parse", "HEAD")
    assert git(project, "status", "--porcelain", "memory") == ""
    assert git(project, "log", "-1", "--format=%s") == "left behind"


def test_without_push_the_remote_is_left_alone(project: Path) -> None:
    first = git(project, "rev-parse", "HEAD")
    done = publish(project)
    assert done.ok and not done.pushed and done.commit == git(project, "rev-parse", "HEAD") != first
    assert git(project, "ls-remote", "origin", "main").split()[0] == first


def test_a_push_counts_when_the_remote_has_it(project: Path) -> None:
    done = publish(project, push=True)
    assert done.ok and done.pushed
    assert git(project, "ls-remote", "origin", "main").split()[0] == done.commit


def test_a_remote_that_is_down_makes_it_pending_and_once_it_is_up_the_same_call_pushes(project: Path) -> None:
    remote = project.parent / "remote.git"
    remote.rename(project.parent / "away")
    first = publish(project, push=True)
    assert not first.ok and first.committed and "git ls-remote" in first.reason
    (project.parent / "away").rename(remote)
    again = publish(project, push=True)
    assert again.ok and again.pushed and not again.committed and again.commit == first.commit
    assert git(remote, "rev-parse", "main") == first.commit


def test_nothing_to_commit_is_done_also_in_a_dirty_tree(project: Path) -> None:
    assert publish(project).committed
    (project / "code.py").write_text("print(3)\n")
    again = publish(project)
    assert again.ok and not again.committed and git(project, "diff", "--name-only") == "code.py"


def test_a_folder_that_does_not_exist_is_nothing_to_commit(project: Path) -> None:
    done = Publisher(project, ["elsewhere"]).publish("m")
    assert done.ok and not done.committed


def test_a_remote_that_moved_on_is_never_forced(project: Path) -> None:
    other = project.parent / "other"
    git(project.parent, "clone", "-q", "remote.git", "other")
    git(other, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(other, "push", "-q", "origin", "main")
    theirs = git(other, "rev-parse", "HEAD")
    done = publish(project, push=True)
    assert not done.ok and done.committed and "git push" in done.reason
    assert git(project, "ls-remote", "origin", "main").split()[0] == theirs


def test_a_commit_that_others_built_upon_counts_as_pushed(project: Path) -> None:
    done = publish(project, push=True)
    git(project.parent, "clone", "-q", "remote.git", "other")
    other = project.parent / "other"
    git(other, "commit", "-q", "--allow-empty", "-m", "upon it")
    git(other, "push", "-q", "origin", "main")
    again = publish(project, push=True)
    assert again.ok and again.pushed and again.commit == done.commit


def test_a_detached_head_is_committed_to_and_pushed_only_to_a_branch_that_is_named(project: Path) -> None:
    git(project, "checkout", "-q", "--detach")
    done = publish(project, push=True)
    assert not done.ok and done.committed and "no branch is checked out" in done.reason
    assert publish(project, push=True, branch="main").pushed


def test_another_branch_than_the_named_one_is_not_pushed_to_it(project: Path) -> None:
    git(project, "checkout", "-q", "-b", "feature")
    first = git(project, "ls-remote", "origin", "main")
    done = publish(project, push=True, branch="main")
    assert not done.ok and "feature is checked out" in done.reason
    assert git(project, "ls-remote", "origin", "main") == first


def test_a_worktree_is_committed_in_by_itself(project: Path) -> None:
    git(project, "worktree", "add", "-q", "../side", "-b", "side")
    side = project.parent / "side"
    (side / "staged").write_text("x")
    git(side, "add", "staged")
    write(side, "note of the side")
    assert publish(side).committed and committed(side) == ["memory/layer2/current-state.md"]
    assert git(side, "diff", "--cached", "--name-only") == "staged"
    assert git(project, "log", "-1", "--format=%s") == "first"


def test_a_hook_that_fails_makes_it_pending_with_its_words_and_leaves_the_index_alone(project: Path) -> None:
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'lint: no' >&2\nexit 1\n")
    hook.chmod(0o755)
    before = git(project, "status", "--porcelain")
    done = publish(project)
    assert not done.ok and not done.committed and "lint: no" in done.reason
    assert git(project, "status", "--porcelain") == before
    assert publish(project, hooks=False).committed


@pytest.mark.parametrize("free", [True, False])
def test_a_locked_index_is_waited_for_and_never_broken(free: bool, project: Path) -> None:
    lock = project / ".git" / "index.lock"
    lock.touch()
    if free:
        timer = threading.Timer(0.1, lock.unlink)
        timer.start()
    done = Publisher(project, ["memory"], lock_seconds=20 if free else 0.2).publish("m")
    assert done.ok == free and lock.exists() != free
    assert free or "another git process has held" in done.reason


def test_without_a_name_somebody_commits_all_the_same(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = project.parent / "nobody"
    config.write_text("[user]\nuseConfigOnly = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert publish(project).committed
    assert git(project, "log", "-1", "--format=%an <%ae>") == "Segue <segue@localhost>"


def test_the_users_name_is_used_where_there_is_one(project: Path) -> None:
    publish(project)
    assert git(project, "log", "-1", "--format=%an") == "Test"


def test_a_repository_without_a_commit_gets_its_first_one_with_our_paths_only(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "mine").write_text("x")
    git(tmp_path, "add", "mine")
    write(tmp_path, "note")
    assert publish(tmp_path).committed
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD") == "memory/layer2/current-state.md"
    assert git(tmp_path, "diff", "--cached", "--name-only") == "mine"


@pytest.mark.parametrize("where", ["conflict", "merge", "rebase"])
def test_nothing_is_committed_into_a_merge_or_a_conflict(where: str, project: Path) -> None:
    git(project, "checkout", "-q", "-b", "other")
    (project / "code.py").write_text("other\n")
    git(project, "commit", "-q", "-am", "other")
    git(project, "checkout", "-q", "main")
    if where != "merge":
        (project / "code.py").write_text("main\n")
    else:
        (project / "more.py").write_text("main\n")
        git(project, "add", "more.py")
    git(project, "commit", "-q", "-am", "main")
    words = ["rebase", "other"] if where == "rebase" else ["merge", "--no-commit", "other"]
    subprocess.run(["git", "-C", str(project), *words], capture_output=True, check=False)
    head = git(project, "rev-parse", "HEAD")
    done = publish(project)
    assert not done.ok and ("in progress" in done.reason or "conflicts" in done.reason)
    assert git(project, "rev-parse", "HEAD") == head


def test_a_secret_stops_the_publish_with_its_place(project: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    write(project, f"line one\nline two\nexport GITHUB_TOKEN={token}\n")
    head = git(project, "rev-parse", "HEAD")
    done = publish(project, push=True)
    assert not done.ok and done.found[0].startswith("memory/layer2/current-state.md:3: ")
    assert token not in done.reason and git(project, "rev-parse", "HEAD") == head
    write(project, "clean")
    stopped = publish(project, f"message with {token}")
    assert not stopped.ok and "message" in stopped.found[0]


def test_a_path_that_git_ignores_is_said_to_be(project: Path) -> None:
    (project / ".gitignore").write_text("memory/\n")
    done = publish(project)
    assert not done.ok and "git ignores memory" in done.reason


def test_a_folder_that_is_no_repository_is_pending(tmp_path: Path) -> None:
    write(tmp_path, "x")
    done = publish(tmp_path)
    assert not done.ok and "not in a git working tree" in done.reason


def test_a_removed_file_is_removed_in_the_commit(project: Path) -> None:
    publish(project)
    (project / "memory" / "layer2" / "current-state.md").unlink()
    (project / "memory" / "new.md").write_text("x")
    assert publish(project).committed
    assert git(project, "ls-tree", "-r", "--name-only", "HEAD").split() == ["code.py", "memory/new.md"]


def test_a_git_that_hangs_is_ended_in_time(project: Path) -> None:
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nsleep 60\n")
    hook.chmod(0o755)
    began = time.monotonic()
    done = publish(project, timeout_seconds=1.5)
    assert not done.ok and "took longer" in done.reason and time.monotonic() - began < 30
    assert not (project / ".git" / "index.lock").exists()


def test_variables_of_a_hook_that_calls_us_do_not_lead_us_astray(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(project.parent / "remote.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(project.parent / "no-index"))
    done = publish(project)
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert done.committed and committed(project) == ["memory/layer2/current-state.md"]


def test_the_backend_of_agent_handover_pushes_main_to_origin_by_default(project: Path) -> None:
    backend = GitBackend(project, paths=["memory"])
    assert (
        backend.publish("handover: x", dry_run=True) and git(project, "log", "-1", "--format=%s") == "first"
    )
    assert backend.publish("handover: x") and backend.last.pushed
    assert git(project.parent / "remote.git", "log", "-1", "--format=%s", "main") == "handover: x"
    write(project, "more")
    os.rename(project.parent / "remote.git", project.parent / "away")
    assert not backend.publish("handover: y") and backend.last.reason
