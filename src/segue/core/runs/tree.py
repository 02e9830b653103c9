"""The working tree as a transcript tells it: what was changed, committed, checked, and what still runs.

Everything here comes from the result of the call that did it. A change counts when its call succeeded, a
commit when git said so or ended with status 0, a check by its own outcome. What a run cannot know of itself,
the edits of a sub-agent or of a script, is doubt, and ends when git is asked for the status.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from ..base.lazy import regex
from .command_lines import bare, folder_of, here_documents, parts, writes_file
from .outcomes import Outcome, failing_tests, outcome, telling
from .shell_commands import parse_shell
from .steps import Change

CHANGED_MAX, COMMITS_MAX, CHECKS_MAX, RUNNING_MAX = 120, 24, 40, 12
_CHECK_KINDS = frozenset({"test", "check", "build"})
_NO_CHECK = regex(
    r"\s--?(?:collect-only|co|help|version|list|listTests|dry-run|watch)\b|\bcheck[-_]prereq"
    r"|^(?:sudo )?(?:[\w./-]*python[\d.]* -m )?(?:uv )?(?:pip\d?|npm|pnpm|yarn|bun|poetry|uv|apt(?:-get)?"
    r"|brew|cargo|gem|conda|go) (?:-\S+ )*(?:install|add|i|ci|remove|uninstall|get|update|upgrade)\b"
)
_PROSE = (".md", ".txt", ".rst", ".adoc")
_COMMITTED = regex(r"^\[([\w/.#@+-]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (.+)$", re.M)
_NOTHING = regex(r"nothing (?:added )?to commit|no changes added to commit|nothing to commit", re.I)
_CLEAN = regex(r"nothing to commit, working tree clean|working tree clean")
_SHORT_STATUS = regex(r"^(?:[ MADRCU?!][MADRCU?!]|[MADRCU] ) (\S.*)$", re.M)
_LONG_STATUS = regex(
    r"^\t(?:modified|new file|deleted|renamed|both modified):\s+(\S.*)$|^\t(\S[^:\n]*)$", re.M
)
_PUSHED = regex(r"^\s*[*+ =-]?\s*(?:\[new branch\]|[0-9a-f]{7,}\.\.\.?[0-9a-f]{7,})\s.*->", re.M)
_COMMITTED_FILE = regex(r"^ (?:create|delete) mode \d+ (\S.*)$", re.M)
_MOVES_HEAD = regex(r"--(?:hard|soft|mixed|keep|merge)|HEAD[~^@]|\b[0-9a-f]{7,40}\b|origin/")
_COMMITTING = frozenset({"cherry-pick", "merge", "revert", "rebase", "am"})
"""Commands of git that commit on their own; they say so with the line of a commit."""
_COMMITS_ALL = regex(r"\bcommit\s+(?:-\S+\s+)*-(?!-)\w*a|\bcommit\b[^\"']*\s--all\b")
_PULL_REQUEST = regex(r"https://[\w.-]+/[\w./-]+/(?:pull|merge_requests)/(\d+)")
_MESSAGE = regex(r"(?:-[a-z]*m|--message)(?:\s+|=)(\"(?:[^\"\\]|\\.)*\"|'[^']*')", re.S)


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


class TreeState(msgspec.Struct, omit_defaults=True):
    """See the module."""

    changed: dict[str, ChangedFile] = {}
    commits: list[Commit] = []  # the last ones
    commit_count: int = 0
    pushed: int = 0  # when the last push succeeded
    checks: dict[str, CheckRun] = {}
    edited: int = 0  # when a file other than prose was last changed
    asked: int = 0  # when git last told the whole status
    others: list[str] = []  # changed files of that status that this run had not touched
    doubt: int = 0  # when something may have changed files out of sight
    stashed: int = 0
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
        _change(tree, change.path, "edit" if known and change.how == "create" else change.how, at)
    if tree.edited != before and not any(called < run.done <= at for run in tree.checks.values()):
        tree.edited = called  # a check that was called after it, in one go with it, is a check of it


def _change(tree: TreeState, path: str, how: str, at: int, by: str = "") -> None:
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
        tree.others, tree.staged, tree.unstaged = [], [], []


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


def take_command(
    tree: TreeState, line: str, ok: bool | None, exit: int | None, output: str, called: int, at: int
) -> None:
    """What a command line did, now that its result is there."""
    for name in check_names(line):
        became = outcome(line, ok, exit, output, name)
        before = tree.checks.pop(name, None)
        passes = (before.passes if before else 0) + (became == "ok")
        run = CheckRun(called, became, (), passes, at)
        if became == "failed":
            run.lines = tuple(text[:240] for text in telling(output, failed=True)[:4])
            run.tests = failing_tests(output)
        tree.checks[name] = run
    if _CHANGES.search(line) is None:
        return
    whole = outcome(line, ok, exit, output)
    _written(tree, line, whole, at)
    for part in parts(line):
        text = bare(part.text)
        if text.startswith(("gh pr ", "glab mr ")):
            _pull_request(tree, text, whole, output, at)
        elif whole != "failed" and text.startswith(_MOVES):
            _moved(tree, text.split(), at)
        elif text.startswith(("git ", "git\t")):
            _git(tree, text, line, whole, output, at)


_MOVES = ("rm ", "mv ", "git rm ", "git mv ", "del ", "Remove-Item ", "unlink ")
_CHANGES = regex(r">|\b(?:tee|sed|perl|git|gh|glab|rm|mv|del|Remove-Item|unlink)\b")
"""What every line has that may change the working tree."""


def _written(tree: TreeState, line: str, whole: Outcome, at: int) -> None:
    """Files that a line wrote by itself: by redirection, ``tee``, ``sed -i`` or a here-document."""
    if whole == "failed":
        return
    folder = folder_of(line)
    for path in written_files(line):
        if folder and not path.startswith(("/", "~")):
            path = f"{folder.rstrip('/')}/{path}"
        if not path.startswith(("/tmp/", "/dev/", "/var/tmp/", "/private/tmp/")):
            _change(tree, path, "edit", at, "shell")


_EDITS_IN_PLACE = regex(r"^(?:sed|perl)\s+-[a-zA-Z.]*i\S*\s")


def written_files(line: str) -> list[str]:
    """The files that the commands of a line write to, as far as their arguments say."""
    found = []
    for part in parts(line):
        text = bare(part.text)
        words = [word.strip("'\"") for word in text.split()]
        if target := writes_file(text):
            found.append(target)
        elif words[:1] == ["tee"]:
            found += [word for word in words[1:] if not word.startswith("-")]
        elif text.startswith(("sed", "perl")) and _EDITS_IN_PLACE.match(text) and len(words) > 2:
            found += [word for word in words[-1:] if re.fullmatch(r"[\w@~./+-]+\.[\w]+", word)]
    found += [target for document in here_documents(line) if (target := writes_file(document.rest))]
    return [path for path in dict.fromkeys(found) if "$" not in path and "*" not in path]


def _pull_request(tree: TreeState, text: str, whole: Outcome, output: str, at: int) -> None:
    """The pull request that a command makes or asks for, until it is merged or closed."""
    verb = text.split()[2] if text.count(" ") >= 2 else ""
    if verb in ("merge", "close"):
        tree.pull = "" if whole == "ok" else tree.pull
    elif verb in ("create", "view", "edit", "checkout"):
        told = _PULL_REQUEST.search(output)
        named = re.match(r"gh pr \w+ #?(\d+)\b", text)
        number = told or named
        if number is not None:
            tree.pull, tree.pull_told = number[1], at


def _moved(tree: TreeState, words: list[str], at: int) -> None:
    """Files that ``rm`` removed, or ``mv`` renamed, with git or without it."""
    verb, *names = [word.strip("'\"") for word in words if word != "git"]
    names = [name for name in names if not name.startswith("-")]
    gone = names[:-1] if verb == "mv" else names
    for path in list(tree.changed):
        if any(_same(path, name) or _inside(path, name) for name in gone):
            change = tree.changed[path]
            if change.how == "create":
                del tree.changed[path]
            else:
                _change(tree, path, "delete", at, "shell")
            if verb == "mv" and len(gone) == 1 and "." in names[-1].rsplit("/", 1)[-1]:
                _change(tree, names[-1], "create", at, "shell")


def _same(path: str, name: str) -> bool:
    """Whether two spellings name one file: each may be absolute, or relative to a folder of the other."""
    path, name = _spelt(path), _spelt(name)
    if "*" in name:
        return fnmatch.fnmatch(path, name) or fnmatch.fnmatch(path, f"*/{name}")
    return path == name or path.endswith(f"/{name}") or name.endswith(f"/{path}")


def _spelt(path: str) -> str:
    """A path as it is compared: shells and tools of Windows spell one file in two ways."""
    return path.replace("\\", "/").removeprefix("./") if "\\" in path else path.removeprefix("./")


def _inside(path: str, folder: str) -> bool:
    path, folder = _spelt(path), _spelt(folder).rstrip("/")
    return bool(folder) and (path.startswith(f"{folder}/") or f"/{folder}/" in path)


# -- git


def _git(tree: TreeState, text: str, line: str, whole: Outcome, output: str, at: int) -> None:
    words = text.split()[1:]
    while words and words[0] in ("-C", "-c"):
        words = words[2:]
    if not words:
        return
    verb, rest = words[0], [word.strip("'\"") for word in words[1:]]
    names = [word for word in rest if not word.startswith("-")]
    if verb == "add" and whole != "failed":
        everything = any(word in ("-A", "--all", ".", "-u", ":/") for word in rest)
        tree.staged = ["*"] if everything else [*tree.staged, *names]
        tree.unstaged = [] if everything else [name for name in tree.unstaged if name not in names]
    elif verb == "commit":
        _commit(tree, text, line, whole, output, at)
    elif verb in _COMMITTING and (told := _COMMITTED.findall(output)):
        for branch, hash, subject in told:
            _add_commit(tree, _told_commit(branch, hash, subject, at))
    elif verb == "push" and (whole == "ok" or _PUSHED.search(output)):
        tree.pushed = at
    elif verb == "status":
        _status(tree, output, at)
    elif verb in ("checkout", "switch") and whole != "failed":
        if "--" in rest or names == ["."]:
            _restored(tree, names)
        elif names:
            tree.branch, tree.pull = names[0], ""
    elif verb == "restore" and whole != "failed" and "--staged" not in rest:
        _restored(tree, names)
    elif whole != "failed" and (verb == "restore" or (verb == "reset" and not _MOVES_HEAD.search(text))):
        _unstage(tree, [name for name in names if name != "HEAD"])
    elif verb == "reset" and "--hard" in rest and whole != "failed":
        tree.changed.clear()
        tree.others, tree.staged = [], []
    elif verb == "stash" and whole != "failed":
        _stash(tree, names, at)


def _commit(tree: TreeState, text: str, line: str, whole: Outcome, output: str, at: int) -> None:
    """A commit, if git said that it made one, or said nothing and succeeded."""
    told = _COMMITTED.search(output)
    if told is None and (whole != "ok" or _NOTHING.search(output) or "--dry-run" in text):
        return
    if "--amend" in text and tree.commits:
        tree.commits.pop()
        tree.commit_count -= 1
    made = (
        Commit(subject_of(text, line)[:160], at)
        if told is None
        else _told_commit(told[1], told[2], told[3], at)
    )
    _add_commit(tree, made)
    everything = "*" in tree.staged or bool(_COMMITS_ALL.search(text))
    named = [*tree.staged, *_committed_names(text), *_COMMITTED_FILE.findall(output)]
    in_sight = everything or bool(tree.staged) or "--" in text.split()
    for path in list(tree.changed):
        if any(_same(path, name) or _inside(path, name) for name in tree.unstaged):
            continue
        if not in_sight or everything or any(_same(path, name) or _inside(path, name) for name in named):
            del tree.changed[path]  # what was staged out of sight may be any of them
    if not in_sight:
        tree.doubt, tree.others = at, []
    if everything:
        tree.others, tree.doubt = [], 0
    tree.staged, tree.unstaged = [], []


def _told_commit(branch: str, hash: str, subject: str, at: int) -> Commit:
    return Commit(subject.strip()[:160], at, hash[:7], "" if branch == "HEAD" else branch)


def _add_commit(tree: TreeState, commit: Commit) -> None:
    tree.commits.append(commit)
    tree.commit_count += 1
    tree.others = []  # what git said before is out of date
    del tree.commits[:-COMMITS_MAX]
    if commit.branch:
        tree.branch = commit.branch


def _committed_names(command: str) -> list[str]:
    """The files that a commit names itself, behind ``--`` or after its options."""
    words = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'", "_", command).split()
    names = words[words.index("--") + 1 :] if "--" in words else []
    return [name for name in names if not name.startswith(("-", "$", "<"))]


def subject_of(command: str, line: str) -> str:
    """The subject of the commit that a command makes, as far as it says one."""
    message = _MESSAGE.search(command)
    text = message[1][1:-1] if message else ""
    if not text or text.startswith("$("):
        documents = here_documents(line)
        text = documents[0].body if documents else ""
    return next((one.strip() for one in text.replace("\\n", "\n").split("\n") if one.strip()), "")


def _status(tree: TreeState, output: str, at: int) -> None:
    """What git says is changed replaces what was seen; names that it cuts or that another tool printed do
    not."""
    if _CLEAN.search(output):
        tree.changed.clear()
        tree.others, tree.asked, tree.doubt = [], at, 0
        return
    rows = list(_SHORT_STATUS.findall(output))
    rows += [changed or untracked for changed, untracked in _LONG_STATUS.findall(output)]
    names = [row.split(" -> ")[-1].strip().strip('"') for row in rows]
    if not names:
        return
    kept = {path: use for path, use in tree.changed.items() if any(_listed(path, name) for name in names)}
    tree.others = [name for name in names if not any(_listed(path, name) for path in kept)][:CHANGED_MAX]
    tree.changed, tree.asked, tree.doubt = kept, at, 0


def _listed(path: str, name: str) -> bool:
    return _same(path, name) or (name.endswith("/") and _inside(path, name))


def _unstage(tree: TreeState, names: list[str]) -> None:
    """Files that are taken out of what the next commit has; without names, all of them."""
    if not names or names == ["."]:
        tree.staged, tree.unstaged = [], []
    else:
        tree.staged = [name for name in tree.staged if name not in names]
        tree.unstaged += names


def _restored(tree: TreeState, names: Iterable[str]) -> None:
    for path in list(tree.changed):
        if any(name in (".", ":/") or _same(path, name) or _inside(path, name) for name in names):
            del tree.changed[path]


def _stash(tree: TreeState, names: list[str], at: int) -> None:
    if not names or names[0] in ("push", "save"):
        tree.changed.clear()
        tree.stashed = at
    elif names[0] in ("pop", "apply"):
        tree.stashed, tree.doubt = 0, at
    elif names[0] in ("drop", "clear"):
        tree.stashed = 0


# -- the background


def begin_process(tree: TreeState, process: str, what: str, at: int, kind: str = "process") -> None:
    tree.running[process] = Running(what[:300], at, kind)
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
