"""Since you left: what changed in real repositories, and that nothing else is said to have changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import HOUR, opened, place

from segue import Delta, Segue, UnknownSession, UsageError
from segue.core.base.values import seconds_of
from segue.core.resume.changes import Files
from segue.core.resume.changes_text import change_lines

BASE = {"a.py": "one\ntwo\nthree\n", "b.py": "b\n", "docs/readme.md": "read\n", "lib/c.py": "c\n" * 30}


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    repository.commit("first", BASE, at=time.time() - 9 * HOUR)
    return repository


@pytest.fixture
def seg(home: Path, repo: Repository) -> Segue:
    return opened(home, repo.folder)


def left(seg: Segue, **focus: str) -> None:
    """A session is begun, and the work is left."""
    session = seg.start("Use tokens", id="jwt", items=["model"])
    if focus:
        session.focus(**focus)
    seg.prepare(reason="before exit")


def states(told: Delta) -> dict[str, str]:
    return {one.path: one.now for one in told.uncommitted}


def test_right_after_leaving_nothing_changed(seg: Segue, repo: Repository) -> None:
    repo.write({"a.py": "dirty\n", "new/x.py": "x\n"})
    left(seg)
    told = seg.since()
    assert told.nothing and told.suggestions == () and told.unknown == ()
    assert states(told) == {"a.py": "still", "new/x.py": "still"}
    assert (told.session, told.reason, told.how) == ("jwt", "before exit", "same")
    assert 0 <= told.away_seconds < 60


def test_commits_are_told_with_who_made_them_newest_first(seg: Segue, repo: Repository) -> None:
    left(seg)
    repo.commit("second", {"b.py": "B\n"}, author="Ann")
    repo.commit("third", {"d.py": "d\n"}, author="Bob")
    repo.commit("fourth", {"d.py": "dd\n"}, author="Ann")
    told = seg.since()
    assert [one.subject for one in told.commits] == ["fourth", "third", "second"]
    assert list(told.authors.items()) == [("Ann", 2), ("Bob", 1)]
    assert told.commit_count == 3 and told.how == "forward" and not told.switched
    assert told.files == Files(created=("d.py",), modified=("b.py",))


def test_files_that_this_work_touched_come_first_and_are_to_be_read_again(
    seg: Segue, repo: Repository
) -> None:
    left(seg, file="lib/c.py", position="4")
    repo.commit("theirs", {"b.py": "B\n", "lib/c.py": "c\n" * 31})
    told = seg.since()
    assert told.touched == ("lib/c.py",)
    assert told.suggestions[0].do == "read again: lib/c.py"


def test_a_rename_is_one_change_and_the_touched_file_is_found_under_its_new_name(
    seg: Segue, repo: Repository
) -> None:
    left(seg, file="lib/c.py", position="4")
    repo.git("mv", "lib/c.py", "lib/moved.py")
    repo.commit("move")
    told = seg.since()
    assert told.files == Files(renamed=(("lib/c.py", "lib/moved.py"),))
    assert told.touched == ("lib/moved.py",)


def test_a_rename_that_is_not_committed_is_one_too(seg: Segue, repo: Repository) -> None:
    left(seg)
    repo.git("mv", "lib/c.py", "lib/moved.py")
    assert seg.since().files == Files(renamed=(("lib/c.py", "lib/moved.py"),))


def test_what_was_not_committed_is_followed_into_every_fate(seg: Segue, repo: Repository) -> None:
    repo.write({"a.py": "mine\n", "b.py": "mine\n", "docs/readme.md": "mine\n", "lib/c.py": "mine\n"})
    repo.write({"kept.txt": "k\n", "lost.txt": "l\n", "in.txt": "i\n"})
    left(seg)
    repo.git("checkout", "-q", "--", "b.py")  # discarded
    repo.write({"docs/readme.md": "theirs\n"})  # altered
    repo.git("add", "a.py", "in.txt")
    repo.git("commit", "-qm", "as it was")  # committed
    repo.write({"lib/c.py": "mine and theirs\n"})
    repo.git("commit", "-qm", "more", "lib/c.py")  # replaced
    (repo.folder / "lost.txt").unlink()
    told = seg.since()
    assert states(told) == {
        "a.py": "committed", "in.txt": "committed", "b.py": "discarded", "docs/readme.md": "altered",
        "lib/c.py": "replaced", "kept.txt": "still", "lost.txt": "gone",
    }  # fmt: skip
    assert set(told.files.modified) == {"b.py", "docs/readme.md", "lib/c.py"}
    assert told.files.deleted == ("lost.txt",) and told.files.created == ()
    assert told.suggestions[0].do == "find out what happened to the changes in b.py, lost.txt"


def test_deletions_that_were_not_committed_are_followed(seg: Segue, repo: Repository) -> None:
    for name in ("a.py", "b.py", "lib/c.py"):
        (repo.folder / name).unlink()
    left(seg)
    repo.git("commit", "-qm", "without a", "a.py")
    repo.git("checkout", "-q", "--", "b.py")
    told = seg.since()
    assert states(told) == {"a.py": "committed", "b.py": "discarded", "lib/c.py": "still"}
    assert told.files == Files(created=("b.py",))


def test_stashed_changes_are_said_to_be_in_a_stash(seg: Segue, repo: Repository) -> None:
    repo.write({"a.py": "mine\n"})
    left(seg)
    repo.git("stash", "-q")
    told = seg.since()
    assert states(told) == {"a.py": "discarded"} and told.stashed
    assert told.suggestions[0].command == "git stash show --stat"


def test_what_tools_leave_behind_is_not_work(seg: Segue, repo: Repository) -> None:
    left(seg)
    repo.write({"__pycache__/a.cpython-311.pyc": "x", "new/__pycache__/b.pyc": "x", "new/b.py": "b\n"})
    assert seg.since().files == Files(created=("new/b.py",))


def test_a_file_that_git_ignores_since_is_still_there(seg: Segue, repo: Repository) -> None:
    repo.write({"note.tmp": "x\n"})
    left(seg)
    repo.commit("ignore", {".gitignore": "*.tmp\n"})
    assert states(seg.since()) == {"note.tmp": "still"}


def test_a_branch_that_was_switched_is_named_and_nothing_counts_as_rewritten(
    seg: Segue, repo: Repository
) -> None:
    repo.git("switch", "-qc", "feature")
    repo.commit("mine", {"mine.py": "m\n"})
    left(seg)
    repo.git("switch", "-q", "main")
    told = seg.since()
    assert told.switched and told.branch == ("feature", "main") and told.how == "apart"
    assert not told.branch_gone and not told.merged and told.commit_count == 0
    assert told.suggestions[0].command == "git switch feature"
    assert told.files.deleted == ("mine.py",)


def test_a_branch_that_was_merged_and_removed_is_found_in_the_other(seg: Segue, repo: Repository) -> None:
    repo.git("switch", "-qc", "feature")
    repo.commit("mine", {"mine.py": "m\n"})
    left(seg)
    repo.git("switch", "-q", "main")
    repo.commit("beside", {"b.py": "beside\n"})
    repo.git("merge", "-q", "--no-ff", "-m", "merge it", "feature")
    repo.git("branch", "-qd", "feature")
    told = seg.since()
    assert (told.switched, told.merged, told.branch_gone, told.merges) == (True, True, True, 1)
    assert told.files == Files(modified=("b.py",))
    assert told.suggestions[0].do == "continue on main"


def test_a_rebase_is_told_from_a_loss(seg: Segue, repo: Repository) -> None:
    repo.git("switch", "-qc", "feature")
    repo.commit("mine", {"mine.py": "m\n"})
    repo.commit("mine too", {"mine.py": "mm\n"})
    left(seg)
    repo.git("switch", "-q", "main")
    repo.commit("theirs", {"b.py": "theirs\n"})
    repo.git("switch", "-q", "feature")
    repo.git("rebase", "-q", "main")
    told = seg.since()
    assert (told.how, told.switched, told.lost, told.rebased) == ("rewritten", False, 2, 2)
    assert told.files == Files(modified=("b.py",))


def test_a_branch_that_was_set_back_is_told(seg: Segue, repo: Repository) -> None:
    repo.commit("mine", {"mine.py": "m\n"})
    left(seg)
    repo.git("reset", "-q", "--hard", "HEAD~1")
    told = seg.since()
    assert (told.how, told.lost) == ("backward", 1) and told.files.deleted == ("mine.py",)


def test_after_a_forced_push_that_was_cleaned_up_commits_are_told_by_time(
    seg: Segue, repo: Repository
) -> None:
    repo.commit("mine", {"mine.py": "m\n"})
    left(seg)
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit("theirs", {"b.py": "theirs\n"}, at=time.time() + 2)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    told = seg.since()
    assert told.how == "unknown" and [one.subject for one in told.commits] == ["theirs"]
    assert told.files.modified == ("b.py",)
    assert "no longer exists" in told.unknown[0]


def test_a_merge_in_the_middle_has_conflicts_to_be_solved_first(seg: Segue, repo: Repository) -> None:
    left(seg)
    repo.git("switch", "-qc", "other")
    repo.commit("other", {"a.py": "other\n"})
    repo.git("switch", "-q", "main")
    repo.commit("main", {"a.py": "main\n"})
    repo.git("merge", "-q", "other", ok=False)
    told = seg.since()
    assert (told.doing, told.conflicts) == ("merge", ("a.py",))
    assert told.suggestions[0].do == "resolve the conflicts in a.py"


def test_detached_heads_are_compared_by_their_commits(seg: Segue, repo: Repository) -> None:
    repo.git("checkout", "-q", "--detach")
    left(seg)
    repo.commit("on no branch", {"b.py": "B\n"})
    told = seg.since()
    assert told.branch == ("", "") and not told.switched and told.how == "forward"
    assert told.files.modified == ("b.py",)


def test_a_linked_worktree_has_a_head_of_its_own(home: Path, repo: Repository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repository(tmp_path / "side", fresh=False)
    with opened(home, side.folder) as seg:
        left(seg)
        repo.commit("in the other tree", {"b.py": "B\n"})
        assert seg.since().nothing
        side.commit("here", {"a.py": "A\n"})
        told = seg.since()
    assert told.branch == ("side", "side") and told.files.modified == ("a.py",)


def test_a_session_that_was_left_in_another_folder_is_not_compared_file_by_file(
    home: Path, repo: Repository, tmp_path: Path
) -> None:
    repo.write({"a.py": "dirty\n"})
    with opened(home, repo.folder) as seg:
        left(seg)
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    with opened(home, tmp_path / "side") as seg:
        told = seg.since("jwt")
    assert str(repo.folder) in told.moved and told.uncommitted == () and told.files.count == 0


def test_a_submodule_at_another_commit_is_named(home: Path, repo: Repository, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit("inner", {"x": "1\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.folder), "sub")
    repo.commit("with a submodule")
    with opened(home, repo.folder) as seg:
        left(seg)
        Repository(repo.folder / "sub", fresh=False).commit("deeper", {"x": "2\n"})
        assert "sub" in seg.since().files.modified
        repo.commit("bump")
        told = seg.since()
    assert told.submodules == ("sub",) and told.files.modified == ("sub",)


def test_a_shallow_clone_tells_commits_by_time_and_says_so(
    home: Path, repo: Repository, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repo.folder}", str(clone)], check=True)
    shallow = Repository(clone, fresh=False)
    with opened(home, clone) as seg:
        left(seg)
        for n in range(3):
            repo.commit(f"theirs {n}", {"b.py": f"{n}\n"}, at=time.time() + 5)
        shallow.git("fetch", "-q", "--depth=1")
        shallow.git("reset", "-q", "--hard", "origin/main")
        told = seg.since()
    assert told.how == "unknown" and [one.subject for one in told.commits] == ["theirs 2"]
    assert told.files.modified == ("b.py",)
    assert any("shallow" in one for one in told.unknown)


def test_the_first_commit_is_told_as_one(home: Path, tmp_path: Path) -> None:
    fresh = Repository(tmp_path / "fresh")
    with opened(home, fresh.folder) as seg:
        left(seg)
        fresh.commit("first", {"a.py": "a\n"})
        told = seg.since()
    assert told.how == "forward" and told.commit_count == 1 and told.files.created == ("a.py",)


def test_without_git_files_are_compared_by_their_content(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    for name in ("same", "other", "lost", "moved"):
        (folder / name).write_text(name)
    with opened(home, folder) as seg:
        left(seg)
        os.utime(folder / "same", (1, 1))
        (folder / "other").write_text("OTHER")
        (folder / "lost").unlink()
        (folder / "moved").rename(folder / "renamed")
        (folder / "new").write_text("new")
        told = seg.since()
    assert told.files == Files(("new",), ("other",), ("lost",), (("moved", "renamed"),))
    assert told.how == "none" and told.commits == () and told.unknown == ()


def test_without_git_and_without_a_scene_files_are_not_guessed(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a").write_text("a")
    with opened(home, folder) as seg:
        seg.start("Use tokens")
        told = seg.since()
    assert told.files.count == 0
    assert told.unknown == ("which files changed: this is not a git repository, and no scene was saved",)


def test_dependencies_that_changed_in_a_lock_file_are_named(seg: Segue, repo: Repository) -> None:
    def lock(**versions: str) -> str:
        rows = (
            f'[[package]]\nname = "{name}"\nversion = "{version}"\n' for name, version in versions.items()
        )
        return "\n".join(rows)

    repo.commit("lock", {"uv.lock": lock(attrs="1.0", gone="1.0", same="3")})
    left(seg)
    repo.write({"uv.lock": lock(attrs="2.0", same="3", fresh="0.1")})
    [change] = seg.since().locks
    assert change.file == "uv.lock"
    assert [(one.name, one.before, one.after) for one in change.bumps] == [
        ("attrs", "1.0", "2.0"), ("fresh", "", "0.1"), ("gone", "1.0", ""),
    ]  # fmt: skip


def test_notes_that_changed_are_told_apart_from_other_files(seg: Segue, repo: Repository) -> None:
    repo.commit("adr", {"docs/adr/0001.md": "one\n"})
    left(seg)
    repo.commit("more", {"docs/adr/0001.md": "ONE\n", "docs/adr/0002.md": "two\n", "b.py": "B\n"})
    told = seg.since()
    assert told.notes == Files(created=("docs/adr/0002.md",), modified=("docs/adr/0001.md",))
    assert any(one.do == "load the notes docs/adr/0002.md" for one in told.suggestions)
    assert any(one.do == "look at the notes docs/adr/0001.md" for one in told.suggestions)


def test_the_notes_of_a_long_absence_are_all_counted_new_ones_first_and_by_their_titles(
    seg: Segue, repo: Repository
) -> None:
    old = {f"docs/adr/{n:04}.md": f"# Decision {n}\n" for n in range(30)}
    repo.commit("adr", old)
    left(seg)
    new = {f"docs/adr/{n:04}.md": f"# Decision {n}\n" for n in range(100, 400)}
    repo.commit("more", new | dict.fromkeys(list(old)[:20], "# Other\n"))
    repo.git("rm", "-q", *list(old)[20:])
    repo.commit("less", {"b.py": "B\n"})
    told = seg.since()
    assert told.notes.counts() == {"created": 300, "modified": 20, "renamed": 0, "deleted": 10}
    lines = change_lines(told)
    at = lines.index("  notes: 330 (300 new, 20 changed, 10 deleted)")
    assert lines[at + 1] == "    A [[0100|Decision 100]] docs/adr/0100.md"
    assert "  files: 1 changed" in lines, "notes are not listed twice"
    why = {one.why for one in told.suggestions if " notes " in one.do}
    assert why == {"new in the meantime", "changed in the meantime; this session had not loaded them"}


def test_notes_that_were_loaded_are_told_apart_from_new_ones_each_with_a_command(
    seg: Segue, repo: Repository
) -> None:
    notes = {f"docs/adr/{name}.md": f"# {name}\n" for name in ("kept", "changed", "gone", "moved")}
    repo.commit("notes", notes)
    session = seg.start("Use tokens", id="jwt")
    session.load_notes([*notes], paths={path: path for path in notes})
    seg.prepare(reason="before exit")
    repo.git("mv", "docs/adr/moved.md", "docs/adr/moved-2.md")
    repo.git("rm", "-q", "docs/adr/gone.md")
    repo.commit("later", {"docs/adr/changed.md": "# other\n", "docs/adr/fresh.md": "# fresh\n"})
    told = seg.since()
    ways = {one.do: one.command for one in told.suggestions if "notes" in one.do}
    load = "segue resume jwt --budget balanced --note"
    assert ways == {
        "reload the notes docs/adr/changed.md, docs/adr/moved-2.md": (
            f"{load} docs/adr/changed.md --note docs/adr/moved-2.md"
        ),
        "continue without the notes docs/adr/gone.md": (
            f"git log --oneline -1 {repo.head()[:12]} -- docs/adr/gone.md"
        ),
        "load the notes docs/adr/fresh.md": f"{load} docs/adr/fresh.md",
    }
    assert all(one.command for one in told.suggestions)


def test_features_go_stale_by_what_changed_and_fail_by_what_ran(seg: Segue, repo: Repository) -> None:
    session = seg.start("Use tokens", id="jwt")
    for name, covers, check in (
        ("a", "a.py", "true"),
        ("b", "b.py", "true"),
        ("c", "lib/**", "test ! -e BAD"),
    ):
        session.features.add(name, name, checks=[check], covers=[covers])
    assert session.features.verify().ok
    seg.prepare(reason="before exit")
    repo.write({"a.py": "other\n", "BAD": ""})
    session.features.verify(["c"], all=True)
    session.features.add("d", "a new one")
    told = seg.since()
    assert {(one.id, one.what) for one in told.features} == {("a", "stale"), ("c", "failing"), ("d", "added")}
    [prove] = [one for one in told.suggestions if one.do.startswith("prove again")]
    assert prove.command == "segue verify --feature a --feature c"


def test_a_feature_that_was_stale_before_is_not_told_again(seg: Segue, repo: Repository) -> None:
    session = seg.start("Use tokens", id="jwt")
    session.features.add("a", "a", checks=["true"], covers=["a.py"])
    session.features.verify()
    repo.write({"a.py": "other\n"})
    seg.prepare()
    repo.write({"b.py": "other\n"})
    assert seg.since().features == ()


def test_what_others_did_to_the_session_and_its_memories_is_told(
    seg: Segue, repo: Repository, home: Path
) -> None:
    seg.remember("older than the leaving")
    left(seg)
    with opened(home, repo.folder) as other:
        session = other.session("jwt")
        session.done("model")
        session.decide("HS256")
        other.remember("pnpm, not npm", scope="project")
    told = seg.since()
    assert [(one.id, one.text) for one in told.events] == [("item.done", "model"), ("decision.made", "HS256")]
    assert [one.text for one in told.memories] == ["add: pnpm, not npm"]


def test_other_runs_since_are_told_and_the_one_that_asks_is_not(home: Path, repo: Repository) -> None:
    with opened(home, repo.folder, CODEX_THREAD_ID="asking") as seg:
        left(seg)
        then = seconds_of(seg.since().left)
        path = place(home, repo.folder, "claude-code", native="0b0c0d0e-1111-4222-8333-444455556666", old=0)
        os.utime(path, (then + 300, then + 300))
        asking = place(home, repo.folder, "codex", native="asking", old=0)
        os.utime(asking, (then + 400, then + 400))
        seg.sync()
        seg.prepare()
        scene_time = seg.since("jwt", start="9h")
    assert [(one.by, one.id[:8]) for one in scene_time.runs] == [("claude-code", "0b0c0d0e")]


def test_a_run_that_was_killed_without_a_scene_is_left_when_it_was_last_heard_of(
    home: Path, repo: Repository
) -> None:
    repo.write({"a.py": "by the run\n"})
    os.utime(repo.folder / "a.py", (time.time() - 2 * HOUR,) * 2)
    place(home, repo.folder, "codex", old=HOUR, ends=False)
    repo.commit("after it died", {"b.py": "B\n"})
    with opened(home, repo.folder) as seg:
        told = seg.since()
    assert told.derived.startswith("the transcript of the last run")
    assert told.away_seconds == pytest.approx(HOUR, abs=120)
    assert told.commit_count == 1 and told.files.modified == ("a.py", "b.py")


def test_an_agent_that_worked_on_after_the_scene_was_kept_is_not_reported_to_itself(
    home: Path, repo: Repository
) -> None:
    with opened(home, repo.folder) as seg:
        left(seg)
        place(home, repo.folder, "codex", old=-600, ends=False)
        repo.write({"a.py": "by the run itself\n"})
        told = seg.since()
    assert told.derived and states(told) == {"a.py": "still"} and told.files.count == 0


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: other systems have no such names")
def test_a_file_whose_name_is_no_utf8_is_left_and_found_again(seg: Segue, repo: Repository) -> None:
    odd = "caf\udce9.py"
    repo.write({odd: "one\n", "plain.py": "one\n"})
    left(seg)
    assert states(seg.since()) == {odd: "still", "plain.py": "still"}
    repo.write({odd: "two\n"})
    assert states(seg.since())[odd] == "altered"
    assert seg.session().pause("for now").status == "paused"
    assert seg.since().reason


def test_a_data_folder_within_the_tree_is_no_change_of_it(repo: Repository) -> None:
    seg = opened(repo.folder / "deep", repo.folder)
    left(seg)
    assert seg.session().pause().events and seg.since().nothing


def test_a_start_may_be_a_time_an_age_or_a_commit(seg: Segue, repo: Repository) -> None:
    seg.start("Use tokens", id="jwt")
    repo.commit("second", {"b.py": "B\n"})
    assert seg.since(start="HEAD~1").commit_count == 1
    assert seg.since(start="HEAD").commit_count == 0
    then = datetime.now(UTC) - datetime.fromisoformat(seg.since(start="3d").left)
    assert then.total_seconds() == pytest.approx(3 * 86_400, abs=60)
    told = seg.since(start="2026-01-02")
    assert told.left < told.now and told.left.endswith("Z") and told.commits[0].at.endswith("Z")
    for wrong in ("yesterday maybe", "--output=x", "deadbeef"):
        with pytest.raises(UsageError):
            seg.since(start=wrong)


def test_from_before_the_first_commit_on_all_are_told(seg: Segue, repo: Repository) -> None:
    repo.commit("second", {"b.py": "B\n"})
    told = seg.since(start="3d")
    assert (told.how, told.commit_count) == ("forward", 2)
    assert [one.subject for one in told.commits] == ["second", "first"]


def test_from_before_a_clone_on_commits_are_told_by_their_dates(home: Path, repo: Repository) -> None:
    repo.commit("second", {"b.py": "B\n"})
    copy = repo.folder.with_name("copy")
    repo.git("clone", "-q", str(repo.folder), str(copy))
    with opened(home, copy) as seg:
        told = seg.since(start="2h")
    assert [one.subject for one in told.commits] == ["second"]


def test_where_nobody_ever_worked_there_is_nothing_to_compare_with(seg: Segue) -> None:
    with pytest.raises(UnknownSession):
        seg.since()


def test_asking_writes_nothing(seg: Segue, repo: Repository, home: Path) -> None:
    left(seg)
    repo.commit("second", {"b.py": "B\n"})
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
    seg.since()
    after = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
    assert before == after


def test_a_time_that_is_not_over_yet_is_refused(seg: Segue) -> None:
    left(seg)
    with pytest.raises(UsageError, match="in the future"):
        seg.since(start="2099-01-01")
