"""Nothing that a repository's own configuration names is run when git is asked; its answers stay right."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.hostile_repository import HostileRepository

from segue.core.resume.scene import Scene
from segue.effects.git import history, repository as git, scene, trees
from segue.effects.git.hunks import HunkQuery
from segue.effects.git.probe import probe
from segue.effects.git.publish import Publisher
from segue.effects.git.queries import output_of, root_commit, tracked

SOURCE = Path(__file__).parents[3] / "src" / "segue"


@pytest.fixture
def hostile(tmp_path: Path) -> HostileRepository:
    return HostileRepository(tmp_path / "repo", tmp_path / "canaries")


def test_the_traps_work_on_plain_git(hostile: HostileRepository) -> None:
    for words in (["status"], ["diff"], ["add", "-A"], ["log", "-1", "-p"]):
        subprocess.run(
            ["git", "-C", str(hostile.folder), *words], capture_output=True, check=False, timeout=60
        )
    found = hostile.found()
    assert {"fsmonitor", "clean", "process", "external", "sub-fsmonitor", "sub-clean"} <= found, found
    assert {"hidden-clean", "embedded-fsmonitor", "embedded-clean"} <= found, found


def test_no_question_to_git_runs_a_program_of_the_repository(hostile: HostileRepository) -> None:
    root = hostile.folder
    found = git.find(root)
    assert found is not None
    questions = {
        "probe": lambda: probe(root, 1.0, seconds=20),
        "scene": lambda: scene.look(root),
        "tree": lambda: trees.look(root),
        "hashes": lambda: trees.blob_ids(root, [b"file0.py", b"file3.py", b"data.bin"]),
        "hunks": lambda: HunkQuery(root, seconds=20).changes(),
        "tracked": lambda: tracked(found),
        "root commit": lambda: root_commit(found),
        "history": lambda: history.HistoryQuery(Scene(at=1.0, git=True), root).history(),
        "since": lambda: history.HistoryQuery(
            Scene(at=1.0, git=True, head=root_commit(found)), root
        ).history(),
        "reflog": lambda: history.head_at(root, time.time()),
        "files": lambda: history.files_at_commit(root, "HEAD", ["file0.py"]),
        "a commit that is missing": lambda: output_of(root, "cat-file", "-p", "f" * 40, seconds=20),
        "signatures": lambda: output_of(root, "log", "--format=%H", seconds=20),
        "the remote": lambda: output_of(root, "ls-remote", "origin", seconds=20),
    }
    for name, ask in questions.items():
        hostile.touch()
        ask()
        assert hostile.found() == set(), name


def test_the_answers_about_a_hostile_repository_are_right(hostile: HostileRepository) -> None:
    dirty = {one.path for one in scene.look(hostile.folder).dirty}
    assert {"file0.py", "new.py", "sub"} <= dirty
    assert not {f"file{n}.py" for n in range(1, 6)} & dirty, "only touched"
    assert set(probe(hostile.folder, seconds=20).dirty) >= {"file0.py", "new.py", "sub"}


def test_a_commit_that_is_asked_for_runs_its_hooks_and_nothing_else(hostile: HostileRepository) -> None:
    (hostile.folder / "memory").mkdir()
    (hostile.folder / "memory" / "note.md").write_text("n\n")
    done = Publisher(hostile.folder, ["memory"]).publish("handover")
    assert done.committed, done
    found = hostile.found()
    assert "hooks-path-pre-commit" in found and all(name.startswith("hooks-path-") for name in found), found


def test_a_commit_without_hooks_runs_none_of_them(hostile: HostileRepository) -> None:
    (hostile.folder / "memory").mkdir()
    (hostile.folder / "memory" / "note.md").write_text("n\n")
    assert Publisher(hostile.folder, ["memory"], hooks=False).publish("handover").committed
    assert hostile.found() == set()


def test_git_is_started_in_one_place_only() -> None:
    starts = re.compile(
        r"""(?:Popen|subprocess\.run|execv\w*|spawn\w*)\([^)]*["']git["']|\[\s*["']git["'],"""
    )
    found = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if starts.search(path.read_text())]
    assert found == [Path("effects/git/command.py")]


def test_what_is_committed_has_gone_through_its_filter(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo")
    made.git("config", "filter.upper.clean", "tr a-z A-Z")
    made.commit("one", {".gitattributes": "memory/** filter=upper\n", "b.txt": "b\n"})
    made.write({"memory/note.md": "secret words\n"})
    assert Publisher(made.folder, ["memory"]).publish("handover").committed
    assert made.git("cat-file", "-p", "HEAD:memory/note.md") == "SECRET WORDS"
    assert Publisher(made.folder, ["memory"]).publish("again").files == ()


# -- filters ---------------------------------------------------------------------------------------


class LfsRepository(Repository):
    """A repository with files of Git LFS, which is not installed: their pointers are made here."""

    def store(self, name: str, content: bytes) -> None:
        pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (
            hashlib.sha256(content).hexdigest().encode(), len(content),
        )  # fmt: skip
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pointer)
        self.git("add", name)
        self.git("commit", "-qm", name)
        path.write_bytes(content)


@pytest.fixture
def lfs(tmp_path: Path) -> LfsRepository:
    made = LfsRepository(tmp_path / "repo")
    made.commit("one", {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.py": "a\n"})
    made.store("deep/model.bin", b"weights" * 1000)
    return made


def looks(root: Path) -> list[set[str]]:
    """What the three who look at a tree call changed."""
    hunks = {file.path for file in HunkQuery(root, seconds=20).changes().files}
    return [set(probe(root, seconds=20).dirty), {one.path for one in scene.look(root).dirty}, hunks]


def test_a_file_of_lfs_that_has_not_changed_is_not_called_changed(lfs: LfsRepository) -> None:
    assert "deep/model.bin" in lfs.git("status", "--porcelain"), "git alone is misled"
    before = trees.look(lfs.folder).lines
    os.utime(lfs.folder / "deep" / "model.bin")
    assert looks(lfs.folder) == [set(), set(), set()]
    assert trees.look(lfs.folder).lines == before


def test_a_file_of_lfs_that_has_changed_is_called_changed(lfs: LfsRepository) -> None:
    before = trees.look(lfs.folder).covered(())
    (lfs.folder / "deep" / "model.bin").write_bytes(b"Weights" * 1000)
    assert looks(lfs.folder) == [{"deep/model.bin"}, {"deep/model.bin"}, set()]
    dirty = trees.look(lfs.folder)
    assert dirty.covered(()) != before
    lfs.store("deep/model.bin", b"Weights" * 1000)
    assert trees.look(lfs.folder).lines == dirty.lines, "committing what was proven changes nothing"


def test_a_file_of_another_filter_is_judged_by_its_size(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo")
    made.git("config", "filter.upper.clean", "tr a-z A-Z")
    made.git("config", "filter.upper.smudge", "tr A-Z a-z")
    made.commit("one", {".gitattributes": "*.up filter=upper\n", "a.up": "words\n", "b.txt": "b\n"})
    assert made.git("cat-file", "-p", "HEAD:a.up") == "WORDS"
    os.utime(made.folder / "a.up", (1, 1))
    assert looks(made.folder) == [set(), set(), set()]
    proven = trees.look(made.folder)
    (made.folder / "a.up").write_text("other words\n")
    assert looks(made.folder)[:2] == [{"a.up"}, {"a.up"}]
    changed = trees.look(made.folder)
    assert changed.lines != proven.lines
    made.commit("two")
    assert trees.look(made.folder).lines == changed.lines, "committing what was proven changes nothing"


def test_line_ends_are_still_converted(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo")
    made.commit("one", {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "a\n"})
    (made.folder / "a.txt").unlink()
    made.git("checkout", "a.txt")
    assert (made.folder / "a.txt").read_bytes() == b"a\r\n"
    os.utime(made.folder / "a.txt", (1, 1))
    assert looks(made.folder) == [set(), set(), set()]


def test_changes_within_a_submodule_are_seen(tmp_path: Path) -> None:
    other = Repository(tmp_path / "other")
    other.commit("one", {"s.py": "s\n"})
    made = Repository(tmp_path / "repo")
    made.commit("one", {"a.py": "a\n"})
    made.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.folder), "sub dir")
    made.commit("two")
    assert looks(made.folder)[:2] == [set(), set()]
    before = trees.look(made.folder).lines
    (made.folder / "sub dir" / "s.py").write_text("changed\n")
    assert looks(made.folder)[:2] == [{"sub dir"}, {"sub dir"}]
    assert trees.look(made.folder).lines != before
