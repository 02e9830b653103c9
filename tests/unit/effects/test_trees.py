"""What a look at a working tree finds: the same content gives the same hash, any other another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from segue import Segue
from segue.effects.git.trees import Tree, look


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


@pytest.fixture(params=["git", "walk"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    (top / "src" / "auth").mkdir(parents=True)
    (top / "src" / "auth" / "a.py").write_text("a = 1\n")
    (top / "src" / "auth" / "b.txt").write_text("b\n")
    (top / "src" / "x.py").write_text("x\n")
    (top / "readme").write_text("r\n")
    if request.param == "git":
        git(top, "init", "-q")
        (top / ".gitignore").write_text("*.log\n")
        git(top, "add", ".")
        git(top, "commit", "-qm", "one")
    return top


def hashes(root: Path, *patterns: str) -> str:
    return look(root).covered(patterns)[0]


def test_a_change_shows_in_what_covers_it_and_nowhere_else(root: Path) -> None:
    before = look(root)
    (root / "src" / "auth" / "a.py").write_text("a = 2\n")
    now = look(root)
    for patterns in (("src/**",), ("src/auth",), ("src/auth/*.py",), ("**/*.py",), ("src/auth/a.py",), ()):
        assert now.covered(patterns)[0] != before.covered(patterns)[0], patterns
    for patterns in (("readme",), ("src/*.py",), ("src/auth/b.txt",), ("src/auth/*.txt",)):
        assert now.covered(patterns) == before.covered(patterns), patterns


def test_the_same_content_gives_the_same_hash_whenever_it_was_written(root: Path) -> None:
    before = hashes(root, "src/**")
    file = root / "src" / "auth" / "a.py"
    file.write_text("a = 2\n")
    file.write_text("a = 1\n")
    os.utime(file, (1, 1))
    assert hashes(root, "src/**") == before


@pytest.mark.parametrize(
    "change",
    [
        lambda top: (top / "src" / "auth" / "new.py").write_text("n\n"),
        lambda top: (top / "src" / "auth" / "a.py").unlink(),
        lambda top: (top / "src" / "auth" / "a.py").chmod(0o755),
        lambda top: (top / "src" / "auth" / "a.py").rename(top / "src" / "auth" / "c.py"),
        lambda top: (top / "src" / "auth" / "link").symlink_to("a.py"),
        lambda top: (top / "src" / "auth" / "a.py").write_text("a = 3\n"),
    ],
    ids=["new", "gone", "mode", "moved", "link", "same size"],
)
def test_files_that_come_go_or_turn_into_others_show(root: Path, change: object) -> None:
    before = hashes(root, "src/**")
    change(root)  # type: ignore[operator]
    assert hashes(root, "src/**") != before


def test_what_tools_leave_behind_does_not_count(root: Path) -> None:
    before = hashes(root)
    for name in ("src/__pycache__/a.pyc", ".pytest_cache/v/x", "node_modules/m/i.js", ".coverage"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("generated")
    assert hashes(root) == before


def test_a_file_that_is_named_counts_though_git_ignores_it(tmp_path: Path, root: Path) -> None:
    before = hashes(root, "out.log")
    (root / "out.log").write_text("1")
    first = hashes(root, "out.log")
    (root / "out.log").write_text("2")
    assert len({before, first, hashes(root, "out.log")}) == 3


def test_a_look_with_a_cache_sees_what_one_without_sees(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.effects.git.trees._RACY_SECONDS", -1.0)  # what is remembered is used at once
    cache = tmp_path / "cache" / "tree"
    for text in ("1\n", "2\n", "22\n", "2\n"):
        (root / "src" / "x.py").write_text(text)
        if (root / ".git").is_dir() and text == "22\n":
            git(root, "add", ".")
        assert look(root, cache=cache).lines == look(root).lines
        assert cache.is_file()
        assert look(root, cache=cache).lines == look(root).lines


def test_a_broken_cache_is_none(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for body in (b"", b"\xff\x00 nonsense", b"1 2 3 4\nx"):
        cache.write_bytes(body)
        assert look(root, cache=cache).lines == look(root).lines


def test_odd_names_are_files_too(root: Path) -> None:
    (root / "src" / "a b\n'\"é.py").write_text("1")
    with open(os.path.join(os.fsencode(root), b"src", b"\xff\xfe.py"), "wb") as file:
        file.write(b"x")
    before = hashes(root, "src/**")
    (root / "src" / "a b\n'\"é.py").write_text("2")
    assert hashes(root, "src/**") != before


class TestGit:
    @pytest.fixture(params=["git"])
    def root(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        top = tmp_path / "tree"
        (top / "src").mkdir(parents=True)
        for name in "abc":
            (top / "src" / name).write_text(f"{name}\n")
        git(top, "init", "-q")
        git(top, "add", ".")
        git(top, "commit", "-qm", "one")
        return top

    def test_committing_what_was_proven_changes_nothing(self, root: Path) -> None:
        (root / "src" / "a").write_text("changed\n")
        (root / "src" / "new").write_text("new\n")
        dirty = look(root)
        git(root, "add", ".")
        staged = look(root)
        git(root, "commit", "-qm", "two")
        clean = look(root)
        assert dirty.lines == staged.lines == clean.lines
        assert clean.head != dirty.head and len(clean.head) == 40

    @pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
    def test_git_cannot_be_told_to_look_away(self, root: Path, flag: str) -> None:
        before = hashes(root, "src/**")
        git(root, "update-index", flag, "src/a")
        assert hashes(root, "src/**") == before
        (root / "src" / "a").write_text("secretly\n")
        assert hashes(root, "src/**") != before

    def test_a_staged_change_that_is_undone_in_the_tree_is_the_tree(self, root: Path) -> None:
        before = hashes(root, "src/**")
        (root / "src" / "a").write_text("x\n")
        git(root, "add", ".")
        (root / "src" / "a").write_text("a\n")
        assert hashes(root, "src/**") == before

    def test_files_of_a_repository_within_count(self, root: Path) -> None:
        (root / "sub").mkdir()
        git(root / "sub", "init", "-q")
        (root / "sub" / "f").write_text("1")
        before = hashes(root, "sub/**")
        (root / "sub" / "f").write_text("2")
        assert hashes(root, "sub/**") != before

    def test_filters_of_git_are_applied(self, root: Path) -> None:
        (root / ".gitattributes").write_text("*.txt text eol=crlf\n")
        (root / "f.txt").write_bytes(b"line\r\n")
        before = hashes(root, "f.txt")
        git(root, "add", ".")
        git(root, "commit", "-qm", "two")
        assert hashes(root, "f.txt") == before

    def test_without_git_itself_the_tree_is_walked(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with_git = hashes(root, "src/**")
        monkeypatch.setenv("PATH", "/nowhere")
        assert hashes(root, "src/**") == with_git

    def test_our_own_folder_in_the_tree_does_not_count(self, root: Path) -> None:
        before = look(root).covered(())
        (root / ".segue").mkdir()
        (root / ".segue" / "segue.db").write_text("x")
        assert look(root, skip=[root / ".segue"]).covered(()) == before != look(root).covered(())


def test_no_file_at_all_has_a_hash_too(tmp_path: Path) -> None:
    assert Tree(tmp_path, []).covered(("nothing/**",)) == Tree(tmp_path, []).covered(())


def test_a_database_of_ours_in_the_tree_is_not_opened_and_keeps_its_locks(tmp_path: Path) -> None:
    code = (
        "import fcntl, os, sys; from pathlib import Path;"
        "shared = os.open(sys.argv[1], os.O_RDWR);"
        "fcntl.lockf(shared, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)"
    )
    with Segue(home=tmp_path, folder=tmp_path) as seg:
        session = seg.start("keep the locks")
        session.features.add("all", "everything", checks=["true"])
        session.features.verify()
        session.pause()
        command = [sys.executable, "-c", code, str(tmp_path / "segue.db-shm")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "BlockingIOError" in done.stderr, "another process would think that nobody has it open"
