"""The working tree as the commands and edits of a run leave it, told as a table of what was done."""

from __future__ import annotations

import pytest

from segue.core.runs.command_effects import take_command
from segue.core.runs.command_lines import written_files
from segue.core.runs.git_effects import subject_of
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
    take_changes,
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
        ((*EDITS, ("git status -sb", "## main")), []),
        ((*EDITS, ("git status -s", "M a.py\n M src/c.py")), ["a.py", "src/c.py"]),
        ((*EDITS, ("git status -s; ls", "a.py")), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("git status -s src", " M src/c.py")), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("git status -s docs", " M docs/d.md")), ["a.py", "src/c.py"]),
        ((*EDITS, ("git status -s | grep src", " M src/c.py")), ["a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("git status -s | head -5", " M src/c.py")), ["src/c.py"]),
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
    assert (list(tree.others), tree.asked, tree.doubt) == (["b.py", "new.py"], 2, 0)
    assert tree_after("edit a.py", asked, ("git commit -m x", COMMITTED)).others == {}


def test_after_a_commit_of_what_was_staged_out_of_sight_there_is_doubt_until_git_is_asked() -> None:
    committed = ("edit a.py", "git commit -m x")
    assert tree_after(*committed).doubt == 2
    assert tree_after(*committed, ("git status", "working tree clean")).doubt == 0
    assert tree_after(*committed, "git commit -am y").doubt == 0
    assert tree_after("edit a.py", "git commit -am x").doubt == 0


def test_a_stash_is_known_until_it_is_taken_out() -> None:
    assert [stash.at for stash in tree_after("edit a.py", "git stash save").stashes] == [2]
    assert not tree_after("edit a.py", "FAILS git stash").stashes
    dropped = tree_after("edit a.py", "git stash", "git stash drop")
    assert not dropped.stashes and not dropped.changed
    popped = tree_after("edit a.py", "git stash", "git stash pop")
    assert (popped.stashes, list(popped.changed), popped.doubt) == ([], ["a.py"], 0)
    assert tree_after("edit a.py", "git stash pop").doubt == 2


SAVED = "Saved working directory and index state WIP on main: 1a2b3c4 x"
NEW = ("create new.py", *EDITS)


@pytest.mark.parametrize(
    ("did", "changed"),
    [
        ((*NEW, ("git stash -u -m wip", SAVED)), []),
        ((*NEW, ("git stash -m wip", SAVED)), ["new.py"]),
        ((*NEW, "git add -A", ("git stash", SAVED)), []),
        ((*NEW, ("git stash push -- src", SAVED)), ["new.py", "a.py", "docs/b.md"]),
        ((*NEW, ("git stash", "No local changes to save")), ["new.py", "a.py", "docs/b.md", "src/c.py"]),
        ((*EDITS, ("FAILS git stash && pytest; git stash pop", f"{SAVED}\n1 failed")), []),
        (
            (
                *EDITS,
                ("FAILS git stash; pytest; git stash pop", f"{SAVED}\n1 failed\nDropped refs/stash@{{0}}"),
            ),
            ["a.py", "docs/b.md", "src/c.py"],
        ),
        ((*NEW, "git checkout ."), ["new.py"]),
        ((*NEW, "git checkout -f main"), ["new.py"]),
        ((*NEW, "git checkout a.py docs/b.md"), ["new.py", "src/c.py"]),
        ((*EDITS, "git checkout next -- a.py new.py"), ["docs/b.md", "src/c.py", "a.py", "new.py"]),
        ((*EDITS, "git restore -SW docs"), ["a.py", "src/c.py"]),
        ((*EDITS, "git restore --source=HEAD~2 docs/b.md"), ["a.py", "src/c.py", "docs/b.md"]),
        ((*NEW, "git clean -fd"), list(EDITS_PATHS := ["a.py", "docs/b.md", "src/c.py"])),
        ((*NEW, "git clean -nd"), ["new.py", *EDITS_PATHS]),
        ((*NEW, ("git clean -fd", "Removing other.py")), ["new.py", *EDITS_PATHS]),
        ((*NEW, "git reset --hard"), ["new.py"]),
        ((*EDITS, "FAILS git restore docs && pytest"), ["a.py", "src/c.py"]),
        ((*EDITS, ("FAILS git restore docs && pytest", "error: pathspec 'docs' did not match")), EDITS_PATHS),
        ((*EDITS, ("FAILS rm a.py && git push", "fatal: no upstream")), EDITS_PATHS),
        ((*EDITS, "git commit -m x a.py"), ["docs/b.md", "src/c.py"]),
        ((*EDITS, "git commit -qm x | cat"), []),
        ((*EDITS, ("FAILS git commit -m x", " 2 files changed")), []),
        ((*EDITS, ("FAILS git diff --stat && git commit -m x", " 2 files changed")), EDITS_PATHS),
    ],
)
def test_files_leave_and_come_back_with_what_git_does(
    did: tuple[str | tuple[str, str], ...], changed: list[str]
) -> None:
    assert list(tree_after(*did).changed) == changed


def said(hash: str, subject: str) -> str:
    return f"[main {hash}] {subject}\n 1 file changed"


ONE, TWO = ("git commit -am one", said("1111111", "one")), ("git commit -am two", said("2222222", "two"))
FIXUP = ("git commit -am 'fixup! one'", said("3333333", "fixup! one"))
REBASED = "Successfully rebased and updated refs/heads/main."


@pytest.mark.parametrize(
    ("did", "commits"),
    [
        ((ONE, TWO), ["1111111 one", "2222222 two"]),
        ((ONE, TWO, ("git reset --hard HEAD~1", "HEAD is now at 1111111 one")), ["1111111 one"]),
        ((ONE, TWO, ("git reset --hard 1111111", "HEAD is now at 1111111 one")), ["1111111 one"]),
        ((ONE, TWO, "git reset --soft HEAD~"), ["1111111 one"]),
        ((ONE, TWO, "git reset HEAD^^"), []),
        ((ONE, TWO, "git reset --soft main"), []),
        ((ONE, TWO, "git reset"), ["1111111 one", "2222222 two"]),
        ((ONE, TWO, "git reset --hard"), ["1111111 one", "2222222 two"]),
        ((ONE, FIXUP, (f"{'GIT_SEQUENCE_EDITOR=:'} git rebase -i --autosquash main", REBASED)), [" one"]),
        ((ONE, FIXUP, ("git rebase --autosquash main", REBASED)), [" one"]),
        ((ONE, FIXUP, ("git rebase main", REBASED)), [" one", " fixup! one"]),
        ((ONE, ("git pull --rebase", REBASED)), [" one"]),
        ((ONE, ("git pull --rebase", "Already up to date.")), ["1111111 one"]),
        ((ONE, ("git rebase main", "Current branch main is up to date.")), ["1111111 one"]),
        ((ONE, ("FAILS git rebase main", "CONFLICT (content)")), ["1111111 one"]),
        ((ONE, TWO, ("git rebase -i main", REBASED)), []),
        ((ONE, TWO, ("git rebase --continue", REBASED)), []),
        ((ONE, "git rebase --abort"), ["1111111 one"]),
        ((ONE, "git commit -q --amend --no-edit"), [" one"]),
        ((ONE, ("git commit --amend -m three", said("4444444", "three"))), ["4444444 three"]),
        (
            (ONE, ("git revert HEAD", said("5555555", 'Revert "one"'))),
            ["1111111 one", '5555555 Revert "one"'],
        ),
        ((ONE, "git revert --no-edit HEAD"), []),
        ((ONE, ("git merge next", "Merge made by the 'ort' strategy.")), []),
        ((ONE, ("git merge next", "Already up to date.")), ["1111111 one"]),
        ((ONE, ("git merge --squash next", "Squash commit -- not updating HEAD")), ["1111111 one"]),
        (
            (("git commit -m a && git commit -m b", f"{said('6', 'no')}\n{ONE[1]}\n{TWO[1]}"),),
            ["1111111 one", "2222222 two"],
        ),
        ((("./release", ONE[1]),), ["1111111 one"]),
        ((("./release", "[main 1111111] one"),), []),
        ((("cat log", ONE[1]),), []),
        (
            (("for f in a b; do git commit -m $f; done", f"{ONE[1]}\n{TWO[1]}"),),
            ["1111111 one", "2222222 two"],
        ),
        ((("git commit -m one", f"lint…\r{ONE[1]}"),), ["1111111 one"]),
        ((("git commit -m one", f"\x1b[32m{ONE[1]}\x1b[0m"),), ["1111111 one"]),
    ],
)
def test_the_last_commits_are_those_that_are_still_there(
    did: tuple[str | tuple[str, str], ...], commits: list[str]
) -> None:
    tree = tree_after(*did)
    assert [f"{commit.hash} {commit.subject}" for commit in tree.commits] == commits
    assert tree.commit_count == len(commits)


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


def test_a_text_of_powershell_over_several_lines_names_no_files():
    line = "@'\nlines.append('%s -> %s' % (a, b))\nexcept: x > '%s'\n'@ | Set-Content out.json; rg a > b.txt"
    assert written_files(line) == ["b.txt"]
    assert [*tree_after("edit a.py", line).changed] == ["a.py", "b.txt"]


def test_a_file_that_only_a_variable_names_was_not_removed_by_name():
    assert [*tree_after("edit a.py", 'for p in x; do git rm -q -- "$p"; done').changed] == ["a.py"]


def test_a_commit_that_is_checked_out_is_no_branch():
    detached = ("git checkout origin/main", "HEAD is now at 1a2b3c4 Keep cents")
    assert tree_after("git checkout -b tax", detached).branch == ""
    assert tree_after("git checkout -b tax", "git switch --detach origin/main").branch == ""
    assert tree_after("git checkout -b tax", "git checkout main").branch == "main"


def test_what_git_calls_a_change_in_chinese_is_no_part_of_a_name():
    status = ("git status", "位于分支 main\n尚未暂存以备提交的变更：\n\t修改：     src/a.py\n")
    assert [*tree_after(status).others] == ["src/a.py"]
