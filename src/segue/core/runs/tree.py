"""The working tree as a transcript tells it: what was changed, committed, checked, and what still runs.

Everything here comes from the result of the call that did it. A change counts when its call succeeded, a
commit when git said so or ended with status 0, a check by its own outcome. What a run cannot know of itself,
the edits of a sub-agent or of a script, is doubt, and ends when git is asked for the status.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from ..base.lazy import regex
from .command_lines import bare, parts
from .outcomes import Outcome, failing_tests, outcome, telling
from .shell_commands import parse_shell
from .steps import Change

CHANGED_MAX, COMMITS_MAX, CHECKS_MAX, RUNNING_MAX, STASHES_MAX = 120, 24, 40, 12, 4
RUNNING_CHARS = 300
_CHECK_KINDS = frozenset({"test", "check", "build"})
_NO_CHECK = regex(
    r"\s--?(?:collect-only|co|help|version|list|listTests|dry-run|watch)\b|\bcheck[-_]prereq"
    r"|^(?:sudo )?(?:[\w./-]*python[\d.]* -m )?(?:uv )?(?:pip\d?|npm|pnpm|yarn|bun|poetry|uv|apt(?:-get)?"
    r"|brew|cargo|gem|conda|go) (?:-\S+ )*(?:install|add|i|ci|remove|uninstall|get|update|upgrade)\b"
)
_PROSE = (".md", ".txt", ".rst", ".adoc")


class ChangedFile(msgspec.Struct, array_like=True, gc=False):
    """A file that was changed and, as far as is known, not committed."""

    at: int
    how: str  # edit, create, delete
    by: str = ""  # "shell" if a command wrote it


class Commit(msgspec.Struct, array_like=True, gc=False):
    """A commit that was made, and when."""

    subject: str
    at: int
    hash: str = ""
    branch: str = ""


class Stash(msgspec.Struct, array_like=True, gc=False):
    """Changes that git has put away."""

    at: int
    calls: int  # the number of the call
    files: dict[str, ChangedFile] = {}


class CheckRun(msgspec.Struct, array_like=True, gc=False):
    """The last run of a test, check or build."""

    at: int  # when it was called
    outcome: Outcome | str  # "" while there is no result
    lines: tuple[str, ...] = ()  # of a failure, the lines that say why
    passes: int = 0  # how often it passed in this run
    done: int = 0
    tests: tuple[str, ...] = ()  # the tests that failed, by name
    again: bool = False  # it failed, was called again, and has no result yet


class Running(msgspec.Struct, array_like=True, gc=False):
    """Something that goes on in the background."""

    what: str
    at: int
    kind: str = "process"  # or agent
    address: str = ""
    calls: int = 0  # the number of the call that started it
    output: str = ""  # of a command of git, the end of what it gave so far
    taken: bool = False  # whether git has told all that it did, so that its end adds nothing


class TreeState(msgspec.Struct, omit_defaults=True):
    """See the module."""

    changed: dict[str, ChangedFile] = {}
    commits: list[Commit] = []  # the last ones
    commit_count: int = 0
    pushed: int = 0  # when the last push succeeded
    checks: dict[str, CheckRun] = {}
    edited: int = 0  # when a file other than prose was last changed
    calls: int = 0  # how many there were so far
    called: int = 0  # the number of the call whose result is taken
    asked: int = 0  # when git last told the whole status
    asked_calls: int = 0  # and with which call
    others: dict[str, str] = {}  # files of that status that this run had not touched, with how they changed
    doubt: int = 0  # when something may have changed files out of sight
    stashes: list[Stash] = []  # those that were not taken out again
    branch: str = ""  # the branch that a command switched to
    pull: str = ""  # the pull request that a command made or asked for
    pull_told: int = 0  # when
    staged: list[str] = []
    unstaged: list[str] = []  # taken out again of what was staged
    running: dict[str, Running] = {}


def take_changes(
    tree: TreeState, changes: Sequence[Change], called: int, at: int, *, known: bool = False
) -> None:
    """Files that a call changed, now that it has succeeded; ``known`` if they were there before."""
    before = tree.edited
    for change in changes:
        change_file(tree, change.path, "edit" if known and change.how == "create" else change.how, at)
    if tree.edited != before and not any(called < run.done <= at for run in tree.checks.values()):
        tree.edited = called  # a check that was called after it, in one go with it, is a check of it


def change_file(tree: TreeState, path: str, how: str, at: int, by: str = "") -> None:
    if not path or len(path) > 400 or "\n" in path:
        return
    before = tree.changed.pop(path, None)
    if how == "delete" and before is not None and before.how == "create":
        return  # it came and went
    if before is not None and before.how == "create" and how == "edit":
        how = "create"  # git does not know it yet
    tree.changed[path] = ChangedFile(at, how, by)
    if len(tree.changed) > CHANGED_MAX:
        del tree.changed[next(iter(tree.changed))]
    if not path.endswith(_PROSE):
        tree.edited = at


def take_sub_agent(tree: TreeState, words: str, at: int) -> None:
    """A sub-agent has worked, out of sight: from its task and its report, whether it may have committed."""
    tree.doubt = at
    if _MAY_COMMIT.search(words):
        tree.changed.clear()
        tree.others, tree.staged, tree.unstaged = {}, [], []


_MAY_COMMIT = regex(r"(?i)\bcommit")


def begin_checks(tree: TreeState, line: str, at: int) -> None:
    """The checks of a line that was just called have no outcome yet."""
    for name in check_names(line):
        before = tree.checks.pop(name, None)
        run = CheckRun(at, "", passes=before.passes if before else 0)
        if before is not None and (before.outcome == "failed" or before.again):
            run.again, run.lines, run.tests, run.done = True, before.lines, before.tests, before.done
        tree.checks[name] = run
        if len(tree.checks) > CHECKS_MAX:
            del tree.checks[next(iter(tree.checks))]


@lru_cache(maxsize=256)
def check_names(line: str) -> tuple[str, ...]:
    """The tests, checks and builds of a command line, each as it was called."""
    named = []
    for part in parts(line):
        text = " ".join(bare(part.text).split())
        if part.joint == "|" or len(text) > 300 or _NO_CHECK.search(text):
            continue
        if parse_shell(text).kind in _CHECK_KINDS:
            named.append(text)
    return tuple(dict.fromkeys(named))


def take_checks(
    tree: TreeState, line: str, ok: bool | None, exit: int | None, output: str, called: int, at: int
) -> None:
    """What became of the checks of a line, now that its result is there."""
    for name in check_names(line):
        became = outcome(line, ok, exit, output, name)
        before = tree.checks.pop(name, None)
        passes = (before.passes if before else 0) + (became == "ok")
        run = CheckRun(called, became, (), passes, at)
        if became == "failed":
            run.lines = tuple(text[:240] for text in telling(output, failed=True)[:4])
            run.tests = failing_tests(output)
        tree.checks[name] = run


def is_same_file(path: str, name: str) -> bool:
    """Whether two spellings name one file: each may be absolute, or relative to a folder of the other."""
    path, name = _spelt(path), _spelt(name)
    if "*" in name:
        return fnmatch.fnmatch(path, name) or fnmatch.fnmatch(path, f"*/{name}")
    return path == name or path.endswith(f"/{name}") or name.endswith(f"/{path}")


def _spelt(path: str) -> str:
    """A path as it is compared: shells and tools of Windows spell one file, and the letter of its drive, in
    two ways."""
    if path[1:2] == ":":
        path = f"{path[0].lower()}{path[1:]}"
    return path.replace("\\", "/").removeprefix("./") if "\\" in path else path.removeprefix("./")


def is_inside(path: str, folder: str) -> bool:
    path, folder = _spelt(path), _spelt(folder).rstrip("/")
    return bool(folder) and (path.startswith(f"{folder}/") or f"/{folder}/" in path)


def is_among(path: str, names: Iterable[str]) -> bool:
    """Whether a path is one of these, or in one of these folders."""
    return any(is_same_file(path, name) or is_inside(path, name) for name in names)


def remove_files(tree: TreeState, names: Iterable[str], at: int) -> None:
    """Files and folders that are gone from disk."""
    for path, change in list(tree.changed.items()):
        if not is_among(path, names):
            continue
        if change.how == "create":
            del tree.changed[path]
        else:
            change_file(tree, path, "delete", at, "shell")
    for name, how in list(tree.others.items()):
        if not is_among(name, names):
            continue
        if how == "create":
            del tree.others[name]
        else:
            tree.others[name] = "delete"


def move_files(tree: TreeState, sources: list[str], target: str, at: int) -> None:
    """Files that were renamed."""
    known = [path for path in tree.changed if is_among(path, sources)]
    remove_files(tree, sources, at)
    if known and len(sources) == 1 and "." in target.rsplit("/", 1)[-1]:
        change_file(tree, target, "create", at, "shell")


# -- the background


def begin_process(tree: TreeState, process: str, what: str, at: int, kind: str = "process") -> None:
    tree.running[process] = Running(what[:RUNNING_CHARS], at, kind, calls=tree.called)
    if len(tree.running) > RUNNING_MAX:
        del tree.running[next(iter(tree.running))]


_ADDRESS = regex(r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::\d+)?[\w./-]*")


def note_address(tree: TreeState, process: str, output: str) -> None:
    """The address at which something in the background listens, as its output says."""
    running = tree.running.get(process)
    if running is not None and not running.address and (told := _ADDRESS.search(output)):
        running.address = told[0]


def end_process(tree: TreeState, process: str) -> Running | None:
    return tree.running.pop(process, None)


# -- failures that still stand


_MISCALLED = regex(
    r"(?i)no such file or directory|file or directory not found|command not found"
    r"|Command \S{1,60} not found|unrecognized (?:option"
    r"|argument)"
    r"|unknown (?:option|command|argument|flag)|missing script|no tests? (?:found|ran|files)"
    r"|\b\d+ deselected|collected 0 items|^usage:"
)
"""Of a check that was called wrongly: it says nothing about the work."""


def still_failing(tree: TreeState) -> list[tuple[str, CheckRun]]:
    """The checks whose last run failed and that no wider run passed since, the newest first."""
    passed = [(name.split(), run.done) for name, run in tree.checks.items() if run.outcome == "ok"]
    failing = [
        (name, run)
        for name, run in tree.checks.items()
        if (run.outcome == "failed" or run.again)
        and not _MISCALLED.search("\n".join(run.lines))
        and not any(done > run.done and set(words) <= set(name.split()) for words, done in passed)
    ]
    return sorted(failing, key=lambda entry: -entry[1].at)
