"""Which project a folder belongs to, read from git's own files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from segue.effects.git import repository as git
from segue.effects.git.queries import root_commit


def run(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "shop"
    top.mkdir()
    run(top, "init", "-q")
    run(top, "commit", "-q", "--allow-empty", "-m", "first")
    return top


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop", "github.com/acme/shop"),
        ("https://user:token@GitHub.com/acme/shop/", "github.com/acme/shop"),
        ("https://github.com/acme/shop.git?x=1#y", "github.com/acme/shop"),
        ("github.com:acme/shop", "github.com/acme/shop"),
        ("git://host:9418//a//b.git", "host/a/b"),
        ("/srv/git/shop.git", "/srv/git/shop"),
        ("file:///srv/git/shop.git/", "/srv/git/shop"),
        ("../shop", "../shop"),
    ],
)
def test_one_project_has_one_key_however_its_remote_is_spelt(url: str, key: str) -> None:
    assert git.normalise_url(url) == key


@pytest.mark.parametrize("url", ["https://ghp_x@host/a/b", "https://u:p@host/a", "u:p@host:a/b"])
def test_a_key_never_holds_credentials(url: str) -> None:
    key = git.normalise_url(url)
    assert "@" not in key and "ghp_x" not in key and "u:p" not in key


def test_a_folder_inside_a_working_tree_belongs_to_it(repository: Path) -> None:
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    found = git.find(deep)
    assert found == git.Repository(repository, repository / ".git")


def test_a_folder_outside_belongs_to_none(tmp_path: Path) -> None:
    assert git.find(tmp_path) is None


def test_a_worktree_has_its_own_root_and_the_repositorys_remotes(repository: Path, tmp_path: Path) -> None:
    run(repository, "remote", "add", "origin", "git@host:a/b.git")
    run(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    found = git.find(tmp_path / "tree")
    assert found is not None and found.root == tmp_path / "tree"
    assert found.common == repository / ".git"
    assert git.remote_url(found) == "git@host:a/b.git"


def test_origin_is_preferred_and_any_remote_is_better_than_none(repository: Path) -> None:
    found = git.find(repository)
    assert found is not None and git.remote_url(found) == ""
    run(repository, "remote", "add", "upstream", "https://host/up")
    assert git.remote_url(found) == "https://host/up"
    run(repository, "remote", "add", "origin", "https://host/own")
    assert git.remote_url(found) == "https://host/own"


def test_the_root_commit_is_the_first_one(repository: Path) -> None:
    first = run(repository, "rev-parse", "HEAD")
    run(repository, "commit", "-q", "--allow-empty", "-m", "second")
    found = git.find(repository)
    assert found is not None and root_commit(found) == first


def test_there_is_no_root_commit_without_commits_or_in_a_shallow_clone(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    run(tmp_path / "empty", "init", "-q")
    run(repository, "commit", "-q", "--allow-empty", "-m", "second")
    run(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    for name in ("empty", "shallow"):
        found = git.find(tmp_path / name)
        assert found is not None and root_commit(found) == ""
