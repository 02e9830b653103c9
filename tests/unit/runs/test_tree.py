"""The working tree as the commands and edits of a run leave it, told as a table of what was done."""

from __future__ import annotations

import pytest

from segue.core.runs.steps import Change
from segue.core.runs.tree import (
    CHANGED_MAX,
    CHECKS_MAX,
    COMMITS_MAX,
    RUNNING_MAX,
    TreeState,
    begin_checks,
    begin_process,
    check_names,
    end_process,
    note_address,
    still_failing,
    subject_of,
    take_changes,
    take_command,
    written_files,
)


def tree_after(*did: str | tuple[str, str]) -> TreeState:
    """The tree after edits (``edit PATH``) and command lines, each alone or with its output; a line that
    begins with ``FAILS `` failed."""
    tree = TreeState()
    for at, one in enumerate(did, 1):
        line, output = (one, "") if isinstance(one, str) else one
        word, _, path = line.partition(" ")
        if word in ("edit", "create", "delete"):
            take_changes(tree, [Change(path, word)], at, at)  # type: ignore[arg-type]
            continue
        failed, line = line.startswith("FAILS "), line.removeprefix("FAILS ")
        begin_checks(tree, line, at)
        take_command(tree, line, not failed, int(failed), output, at, at)
    return tree


EDITS = ("edit a.py", "edit docs/b.md", "edit src/c.py")
COMMITTED = "[main 1a2b3c4] Keep cents"


@pytest.mark.parametrize(
    ("did", "changed"),
    [
        (EDITS, ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, "git commit -am x"), []),
        ((*EDITS, "git add a.py", "git commit -m x"), ["docs/b.md", "src/c.py"]),
        ((*EDITS, "git add docs src", "git commit -m x"), ["a.py"]),
        ((*EDITS, "git add docs/ && git commit -m x"), ["a.py", "src/c.py"]),
        ((*EDITS, "git add -A", "git commit -m x"), []),
        ((*EDITS, "git add .", "git commit -m x"), []),
        ((*EDITS, "git add -A", "git reset docs/b.md", "git commit -m x"), ["docs/b.md"]),
        ((*EDITS, "git add a.py", "git reset", "git add src", "git commit -m x"), ["a.py", "docs/b.md"]),
        ((*EDITS, "git add a.py src", "git reset HEAD a.py", "git commit -m x"), ["a.py", "docs/b.md"]),
        ((*EDITS, "git commit -m x -- a.py"), ["docs/b.md", "src/c.py"]),
        ((*EDITS, "git commit -m '-- a.py'"), []),
        ((*EDITS, "git commit -m x"), []),
        ((*EDITS, "git -C src add a.py", "git commit -m x"), ["docs/b.md", "src/c.py"]),
        ((*EDITS, "FAILS git add a.py", "git commit -m x"), []),
        ((*EDITS, "FAILS git commit -am x"), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("git commit -am x", "nothing to commit")), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, "git commit --dry-run -am x"), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("git commit -am x | tail -1", "x")), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("git commit -am x | tail -1", COMMITTED)), []),
        ((*EDITS, "git checkout -- a.py"), ["docs/b.md", "src/c.py"]),
        ((*EDITS, "git checkout ."), []),
        ((*EDITS, "git checkout main"), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, "git restore docs"), ["a.py", "src/c.py"]),
        ((*EDITS, "git restore --staged docs"), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, "FAILS git restore docs"), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, "git reset --hard"), []),
        ((*EDITS, "git reset --hard HEAD~1"), []),
        ((*EDITS, "git reset --soft HEAD~1"), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, "git stash"), []),
        ((*EDITS, "git stash push"), []),
        ((*EDITS, "git stash list"), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("git status", "nothing to commit, working tree clean")), []),
        ((*EDITS, ("git status --short", " M a.py\n?? docs/")), ["a.py", "docs/b.md"]),
        ((*EDITS, ("git status", "\tmodified:   src/c.py\n\tnew.py")), ["src/c.py"]),
        ((*EDITS, ("git status -sb", "## main")), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, "rm a.py"), ["docs/b.md", "src/c.py", "a.py"]),
        (("create a.py", "rm a.py"), []),
        (("create a.py", "delete a.py"), []),
        (("create a.py", "FAILS rm a.py"), ["a.py"]),
        (("create docs/a.md", "create docs/b.md", "rm -rf docs"), []),
        (("create a.py", "create b.py", "rm *.py"), []),
        (("create src/a.py", "mv src/a.py src/b.py"), ["src/b.py"]),
        (("create src/a.py", "mv src/a.py lib"), []),
        (("edit src/a.py", "git mv src/a.py src/b.py"), ["src/a.py", "src/b.py"]),
        (("create a.py", "git rm -f a.py"), []),
        (("create a.py", "FAILS git rm a.py"), ["a.py"]),
        (("echo 1 > a.txt",), ["a.txt"]),
        (("FAILS echo 1 > a.txt",), []),
        (("cd src && echo 1 > a.txt",), ["src/a.txt"]),
        (("cd src/ && echo 1 > /srv/a.txt",), ["/srv/a.txt"]),
        (("echo 1 > /tmp/a.txt",), []),
        (("edit ", f"edit {'a' * 401}", f"edit {'b' * 400}"), ["b" * 400]),
    ],
)
def test_what_is_changed_and_not_committed_follows_from_what_was_done(
    did: tuple[str | tuple[str, str], ...], changed: list[str]
) -> None:
    assert list(tree_after(*did).changed) == changed


def test_a_new_file_is_new_until_it_is_committed_and_a_known_one_never() -> None:
    tree = tree_after("create a.py", "edit a.py", "edit b.py", "delete b.py")
    assert {path: one.how for path, one in tree.changed.items()} == {"a.py": "create", "b.py": "delete"}
    tree = TreeState()
    take_changes(tree, [Change("a.py", "create"), Change("b.py", "delete")], 1, 1, known=True)
    assert {path: one.how for path, one in tree.changed.items()} == {"a.py": "edit", "b.py": "delete"}


def test_prose_needs_no_check() -> None:
    assert tree_after("edit a.py", "edit docs/b.md").edited == 1


def test_a_commit_is_told_with_what_git_says_of_it() -> None:
    [commit] = tree_after(("git commit -qam 'Keep cents'", COMMITTED)).commits
    assert (commit.subject, commit.hash, commit.branch) == ("Keep cents", "1a2b3c4", "main")
    [commit] = tree_after("git commit -qam 'Keep cents'").commits
    assert (commit.subject, commit.hash, commit.branch) == ("Keep cents", "", "")
    [commit] = tree_after(("git commit -m x", f"[HEAD {'1a2b3c4d' * 5}] {'y' * 200}")).commits
    assert (commit.subject, commit.hash, commit.branch) == ("y" * 160, "1a2b3c4", "")


def test_an_amended_commit_is_one_commit() -> None:
    tree = tree_after("git commit -am 'one'", "git commit -am 'two'", "git commit --amend -m 'three'")
    assert [commit.subject for commit in tree.commits] == ["one", "three"] and tree.commit_count == 2
    assert tree_after("git commit --amend -m three").commit_count == 1


def test_a_merge_commits_what_git_says() -> None:
    tree = tree_after(("git cherry-pick a b", "[main 1a2b3c4] One\n[main 2b3c4d5] Two"), "git merge next")
    assert [commit.subject for commit in tree.commits] == ["One", "Two"]


@pytest.mark.parametrize(
    ("line", "pushed"),
    [
        ("git push", True),
        ("git push | tail -1", False),
        (("git push | tail -1", "   0a1b2c3..1a2b3c4  main -> main"), True),
        ("FAILS git push", False),
        ("git -c a=b push", True),
        ("git -c a=b", False),
    ],
)
def test_a_push_counts_when_it_succeeded(line: str | tuple[str, str], pushed: bool) -> None:
    assert bool(tree_after(line).pushed) is pushed


def test_the_branch_is_the_one_that_was_switched_to_or_committed_on() -> None:
    assert tree_after("git checkout -b cents").branch == "cents"
    assert tree_after("git switch cents").branch == "cents"
    assert tree_after("FAILS git switch cents").branch == ""
    assert tree_after("git checkout -- a.py").branch == ""
    assert tree_after(("git commit -am x", COMMITTED)).branch == "main"


def test_what_git_lists_besides_is_known_until_the_next_commit() -> None:
    asked = ("git status --short", " M a.py\n M b.py\nR  old.py -> new.py")
    tree = tree_after("edit a.py", asked)
    assert (tree.others, tree.asked, tree.doubt) == (["b.py", "new.py"], 2, 0)
    assert tree_after("edit a.py", asked, ("git commit -m x", COMMITTED)).others == []


def test_after_a_commit_of_what_was_staged_out_of_sight_there_is_doubt_until_git_is_asked() -> None:
    committed = ("edit a.py", "git commit -m x")
    assert tree_after(*committed).doubt == 2
    assert tree_after(*committed, ("git status", "working tree clean")).doubt == 0
    assert tree_after(*committed, "git commit -am y").doubt == 0
    assert tree_after("edit a.py", "git commit -am x").doubt == 0


def test_a_stash_is_known_until_it_is_taken_out() -> None:
    assert tree_after("edit a.py", "git stash save").stashed == 2
    assert tree_after("edit a.py", "FAILS git stash").stashed == 0
    assert tree_after("edit a.py", "git stash", "git stash drop").stashed == 0
    popped = tree_after("edit a.py", "git stash", "git stash pop")
    assert (popped.stashed, popped.doubt) == (0, 3)


@pytest.mark.parametrize(
    ("did", "number"),
    [
        ([("gh pr create --fill", "https://github.com/ann/shop/pull/185")], "185"),
        ([("glab mr create", "https://gitlab.com/ann/shop/-/merge_requests/7")], "7"),
        (["gh pr view 185"], "185"),
        (["gh pr checkout #185"], "185"),
        (["gh pr list"], ""),
        (["gh pr view 185", "gh pr merge 185"], ""),
        (["gh pr view 185", "gh pr close 185"], ""),
        (["gh pr view 185", "FAILS gh pr merge 185"], "185"),
        (["gh pr view 185", "git switch main"], ""),
    ],
)
def test_a_pull_request_is_known_until_it_is_merged_or_left(
    did: list[str | tuple[str, str]], number: str
) -> None:
    assert tree_after(*did).pull == number


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("make > out.txt", ["out.txt"]),
        ("make | tee -a log.txt other.txt", ["log.txt", "other.txt"]),
        ("sed -i 's/a/b/' src/a.py", ["src/a.py"]),
        ("sed -i", []),
        ("sed -n 1,5p src/a.py", []),
        ("perl -pi -e 's/a/b/' a.py", ["a.py"]),
        ("sed -i 's/a/b/' $FILE", []),
        ("cat <<EOF > a.py\nb > c\nEOF", ["a.py"]),
        ("echo a > *.txt", []),
        ("echo a > $FILE", []),
        ("echo a > b.txt; echo c >> b.txt", ["b.txt"]),
    ],
)
def test_the_files_that_a_line_writes_are_known(line: str, files: list[str]) -> None:
    assert written_files(line) == files


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("pytest -q", ["pytest -q"]),
        ("cd src && CI=1 pytest   -q | tail -5", ["pytest -q"]),
        ("ruff check . && mypy; pytest", ["ruff check .", "mypy", "pytest"]),
        ("pytest -q; pytest -q", ["pytest -q"]),
        ("cat rows | pytest", []),
        ("pytest --collect-only", []),
        ("ls", []),
        (f"pytest {'a' * 293}", [f"pytest {'a' * 293}"]),
        (f"pytest {'a' * 294}", []),
    ],
)
def test_the_checks_of_a_line_are_known_by_name(line: str, names: list[str]) -> None:
    assert list(check_names(line)) == names


def test_a_check_counts_how_often_it_passed_and_keeps_why_it_failed() -> None:
    why = "\n".join([*(f"error: {'x' * 300}{number}" for number in range(6)), "1 failed"])
    run = tree_after("mypy", "mypy", ("FAILS mypy", why)).checks["mypy"]
    assert (run.outcome, run.passes, run.at, run.done) == ("failed", 2, 3, 3)
    assert [len(line) for line in run.lines] == [240, 240, 240, 8]


def test_a_check_that_is_called_again_keeps_why_it_failed_until_it_ends() -> None:
    tree = tree_after(("FAILS mypy", "error: a"))
    begin_checks(tree, "mypy", 5)
    begin_checks(tree, "mypy", 6)
    run = tree.checks["mypy"]
    assert (run.outcome, run.again, run.lines, run.at, run.done) == ("", True, ("error: a",), 6, 1)
    passed = tree_after("mypy")
    begin_checks(passed, "mypy", 5)
    assert (passed.checks["mypy"].again, passed.checks["mypy"].passes) == (False, 1)


@pytest.mark.parametrize(
    ("did", "failing"),
    [
        ([("FAILS mypy", "error: a")], ["mypy"]),
        ([("FAILS mypy", "error: a"), "mypy"], []),
        ([("FAILS mypy", "error: a"), ("FAILS pytest", "error: b")], ["pytest", "mypy"]),
        ([("FAILS pytest a.py", "error: a"), "pytest"], []),
        ([("FAILS pytest", "error: a"), "pytest a.py"], ["pytest"]),
        (["pytest", ("FAILS pytest a.py", "error: a")], ["pytest a.py"]),
        ([("FAILS pytest a.py", "file or directory not found: a.py")], []),
        ([("FAILS pytest -k x", "3 deselected")], []),
    ],
)
def test_a_check_fails_until_it_or_a_wider_one_passed(
    did: list[str | tuple[str, str]], failing: list[str]
) -> None:
    assert [name for name, _ in still_failing(tree_after(*did))] == failing


@pytest.mark.parametrize(
    ("command", "subject"),
    [
        ("git commit -m 'Keep cents'", "Keep cents"),
        ('git commit --message="Keep cents\\n\\nWhy"', "Keep cents"),
        ("git commit -m '\n  Keep cents\n'", "Keep cents"),
        ("git commit", ""),
        ("git commit -m \"$(cat <<'EOF'\nKeep cents\n\nWhy\nEOF\n)\"", "Keep cents"),
        ("git commit -F - <<EOF\nKeep cents\nEOF", "Keep cents"),
    ],
)
def test_the_subject_of_a_commit_is_the_first_line_of_its_message(command: str, subject: str) -> None:
    assert subject_of(command, command) == subject


def test_what_runs_in_the_background_is_known_until_it_ends() -> None:
    tree = TreeState()
    begin_process(tree, "b1", "x" * 400, 1)
    note_address(tree, "b1", "ready")
    note_address(tree, "b1", "ready at http://localhost:5173/ and http://localhost:9000/")
    note_address(tree, "b1", "now at http://localhost:1/")
    note_address(tree, "b2", "http://localhost:1/")
    assert tree.running["b1"].address == "http://localhost:5173/" and len(tree.running["b1"].what) == 300
    ended = end_process(tree, "b1")
    assert ended is not None and not tree.running and end_process(tree, "b1") is None


def test_everything_that_grows_keeps_its_newest() -> None:
    tree = tree_after(
        *(f"edit f{number}.py" for number in range(130)),
        *(f"pytest {number}" for number in range(50)),
    )
    assert list(tree.changed) == [f"f{number}.py" for number in range(130 - CHANGED_MAX, 130)]
    assert list(tree.checks) == [f"pytest {number}" for number in range(50 - CHECKS_MAX, 50)]
    tree = tree_after(*(f"git commit -m {number}" for number in range(30)))
    assert len(tree.commits) == COMMITS_MAX and tree.commit_count == 30
    for number in range(20):
        begin_process(tree, f"b{number}", "serve", number)
    assert list(tree.running) == [f"b{number}" for number in range(20 - RUNNING_MAX, 20)]
    listed = "\n".join(f" M f{number}.py" for number in range(200))
    assert len(tree_after(("git status -s", listed)).others) == CHANGED_MAX
