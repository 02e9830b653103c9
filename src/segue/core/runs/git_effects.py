"""What commands of git did to the working tree, by what git printed, else by how the line ended.

The status of a line is that of its last command, and a pipe hides it; so a commit counts when git named it,
wherever that stands: in a pipe, before a command that failed, in the output of a script. Commands that
rewrite history take back what was told: after a rebase commits have other hashes, after a reset some are
gone, and where nobody can say which one is the last, none is called so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

from ..base.lazy import regex
from .command_lines import Part, bare, here_documents, is_silent, is_trimming, parts
from .outcomes import Outcome, plain
from .tree import (
    CHANGED_MAX,
    COMMITS_MAX,
    STASHES_MAX,
    ChangedFile,
    Commit,
    Stash,
    TreeState,
    change_file,
    is_among,
    is_inside,
    is_same_file,
    move_files,
    remove_files,
)

_COMMITTED = regex(r"^\[(detached HEAD|[\w/.#@+-]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (.+)(\n .*)?$", re.M)
_STAT = regex(r"^ ?\d+ files? changed\b", re.M)
_OTHER_STAT = regex(r"--(?:short)?stat\b|\bgit (?:pull|merge|show)\b")
_AFTER_COMMIT = regex(r"\n (?:\d+ files? changed|(?:create|delete) mode|rename |Date: |Author: )")
_CHANGED = " changed"
_SCRIPTED = regex(
    r"^\[(?:detached HEAD|[\w/.#@+-]+)(?: \([\w-]+\))? [0-9a-f]{7,40}\] .+"
    r"\r?\n (?:\d+ files? changed|(?:create|delete) mode|rename |Date: |Author: )",
    re.M,
)
_NOTHING = regex(r"nothing (?:added )?to commit|no changes added to commit|nothing to commit", re.I)
_CLEAN = regex(r"nothing to commit, working tree clean|working tree clean")
_SHORT_STATUS = regex(r"^([ MADRCUT?][MADRCUT?]|[MADRCUT] ) (\S.*)$", re.M)
_TRIMMED_STATUS = regex(r"([MDT]) (\S.*)")
"""The first line, of which agents that trim outputs cut the space off."""
_LONG_STATUS = regex(
    r"^\t(?:(modified|new file|deleted|renamed|typechange|both \w+|added by \w+|deleted by \w+"
    r"|[^\x00-\x7f]{1,20})[:\uff1a]\s+(\S.*)"  # git speaks other languages too
    r"|(\S[^:\n]*))$",
    re.M,
)
_PUSHED = regex(
    r"^\s*[*+ =-]?\s*(?:\[new branch\]|[0-9a-f]{7,}\.\.\.?[0-9a-f]{7,})\s.*->|^Everything up-to-date", re.M
)
_COMMITTED_FILE = regex(r"^ (?:create|delete) mode \d+ (\S.*)$", re.M)
_COMMITS_ALL = regex(r"\bcommit\s+(?:-\S+\s+)*-(?!-)\w*a|\bcommit\b[^\"']*\s--all\b")
_MESSAGE = regex(r"(?:-[a-z]*m|--message)(?:\s+|=)(\"(?:[^\"\\]|\\.)*\"|'[^']*')", re.S)
_WORD = regex(r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'])+")
_TAKES_VALUE = regex(r"-[a-zA-Z]*[mFCct]|--(?:message|file|author|date|fixup|squash|template)")
_REVISION = regex(r"(?:HEAD|@)(?:$|[~^@{])|[0-9a-f]{7,40}$|(?:origin|upstream)/|.*@\{|.*[~^]\d*$|ORIG_HEAD")
_BACK = regex(r"(?:HEAD|@)(?:~(\d+)|(~+|\^+))?$")
_HEAD_NOW = regex(r"^HEAD is now at ([0-9a-f]{7,40}) (.*)$", re.M)
_SWITCHED = regex(r"^(?:Switched to (?:a new |and reset )?|Already on |Reset )(?:branch )?'([^']+)'", re.M)
_UPDATED_PATHS = regex(r"^Updated \d+ paths? from ", re.M)
_REMOVED = regex(r"^Removing (\S.*)$", re.M)
_REMOVED_BY_GIT = regex(r"^rm '(.+)'$", re.M)
_UNSTAGED = regex(r"^[MADRCUT]\t(\S.*)$", re.M)
_REBASED = regex(r"Successfully rebased and updated|^Fast-forwarded \S+ to ", re.M)
_QUIET = regex(r"\s(?:--quiet|-q\w*)(?=\s|$)")
_REFUSED = regex(
    r"^(?:error|fatal)\b|^Aborting|\bhook\b.*\b(?:failed|exited|declined)|\brejected\b", re.M | re.I
)
"""How git, or a hook, says that it did not do what it was asked to do without a word."""
_EDITS_NOTHING = regex(r"SEQUENCE_EDITOR=(['\"]?)(?:true|:|cat)\1(?:\s|$)")
_SQUASHED = ("fixup! ", "squash! ", "amend! ")
_COMPLAINS = regex(
    r"^fatal: |^error: (?:pathspec|failed to push|could not|cannot|unable|your local|the following)"
    r"|^(?:rm|mv): ",
    re.M | re.I,
)
_EVIDENCE = {
    "commit": _COMMITTED,
    "cherry-pick": _COMMITTED,
    "revert": _COMMITTED,
    "am": regex(r"^Applying: ", re.M),
    "rebase": _REBASED,
    "stash": regex(r"^Saved working directory", re.M),
    "stash pop": regex(r"^Dropped (?:refs/)?stash@", re.M),
    "reset": regex(r"^HEAD is now at |^Unstaged changes after reset", re.M),
    "checkout": regex(r"^Switched to |^Already on |^Updated \d+ paths? from ", re.M),
    "switch": _SWITCHED,
    "rm": _REMOVED_BY_GIT,
    "clean": _REMOVED,
    "push": _PUSHED,
}
"""What git prints when a command has done its work."""


class CommandRun:
    """A command line that has ended: what it printed, and which of its commands did their work."""

    def __init__(self, line: str, whole: Outcome, output: str, at: int) -> None:
        self.line, self.whole, self.at = line, whole, at
        self.parts = parts(line)
        self._raw = output

    @cached_property
    def output(self) -> str:
        """What it printed, as lines of plain text."""
        text = plain(self._raw)
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

    @cached_property
    def told(self) -> list[tuple[re.Match[str], Commit]]:
        """The commits that git named and that no command has taken yet."""
        if not names_commit(self._raw):
            return []
        return [
            (told, Commit(told[3].strip()[:160], self.at, told[2][:7], "" if "HEAD" in told[1] else told[1]))
            for told in _COMMITTED.finditer(self.output)
        ]

    @cached_property
    def _done(self) -> int:
        """How many of its commands did their work: of a line that failed those up to the last one of which
        git says so, and all but the last one unless something else complains."""
        if self.whole != "failed":
            return len(self.parts)
        shown = [number for number, part in enumerate(self.parts) if self._shows(part)]
        done = shown[-1] + 1 if shown else 0
        if _COMPLAINS.search(self.output):
            return done
        last = max((n for n, part in enumerate(self.parts) if not is_trimming(part)), default=0)
        return max(done, last)

    def _shows(self, part: Part) -> bool:
        words = git_words(bare(part.text))
        takes_out = words[:2] in (("stash", "pop"), ("stash", "drop"))
        evidence = _EVIDENCE.get("stash pop" if takes_out else words[0]) if words else None
        return evidence is not None and evidence.search(self.output) is not None

    def shows(self, number: int) -> bool:
        """Whether git says that one of the commands is done."""
        return self._shows(self.parts[number])

    def did(self, number: int) -> bool:
        """Whether one of the commands did its work, as far as can be seen."""
        return number < self._done

    def next_commit(self) -> Commit | None:
        return self.told.pop(0)[1] if self.told else None


class GitCommand(NamedTuple):
    """A command of git in a line."""

    run: CommandRun
    number: int
    text: str
    verb: str
    rest: tuple[str, ...]
    names: tuple[str, ...]
    """Its words that are no options."""

    @property
    def paths(self) -> tuple[str, ...]:
        """What stands behind ``--``."""
        return self.rest[self.rest.index("--") + 1 :] if "--" in self.rest else ()

    def has(self, *options: str) -> bool:
        return any(word in options for word in self.rest)


def names_commit(output: str) -> bool:
    """Whether an output may have the line with which git names a commit; cheap, for all outputs."""
    return "] " in output and (
        output[:1] == "[" or "\n[" in output or "\r[" in output or "\x1b[" in output  # a colour before it
    )


@lru_cache(maxsize=512)
def git_words(command: str) -> tuple[str, ...]:
    """The words of a bare command of git, from its verb on, without quotation marks; else empty."""
    if not command.startswith(("git ", "git\t")):
        return ()
    words = [word.strip("'\"") for word in _WORD.findall(command)[1:]]
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-C", "-c", "--git-dir", "--work-tree") else words[1:]
    return tuple(words)


def take_git(tree: TreeState, run: CommandRun, number: int) -> None:
    """What one of the commands of a line did, if it is one of git."""
    text = bare(run.parts[number].text)
    words = git_words(text)
    handler = _HANDLERS.get(words[0]) if words else None
    if handler is not None and (run.did(number) or words[0] in ("commit", "status", "push")):
        names = tuple(word for word in words[1:] if not word.startswith("-"))
        if words[0] == "rm" and any("$" in name for name in names):
            return  # which files it removed is not known
        handler(tree, GitCommand(run, number, text, words[0], words[1:], names))


# -- commits


def commit_was_made(command: str, whole: Outcome, line: str, output: str) -> bool:
    """Whether a commit that git did not name was made: it succeeded, or printed what it changed, or had
    nothing to say in a pipe, or was to be quiet and nothing says that it was not made."""
    if "--dry-run" in command or _NOTHING.search(output):
        return False
    if whole == "ok" or (whole == "unknown" and not output.strip()):
        return True
    if whole == "unknown" and _QUIET.search(command) and not _REFUSED.search(output):
        return True  # it would have said why not
    return _STAT.search(output) is not None and _OTHER_STAT.search(line) is None


def commits_named(output: str) -> list[str]:
    """The lines of an output in which git names commits."""
    if not names_commit(output):
        return []
    return [told[0].partition("\n")[0] for told in _COMMITTED.finditer(output)]


def _commit(tree: TreeState, git: GitCommand) -> None:
    run = git.run
    made = run.next_commit()
    if made is None and not commit_was_made(git.text, run.whole, run.line, run.output):
        return
    amended = tree.commits.pop() if "--amend" in git.rest and tree.commits else None
    tree.commit_count -= amended is not None
    if made is None:
        subject = subject_of(git.text, run.line) or (amended.subject if amended else "")
        made = Commit(subject[:160], run.at)
    _add_commit(tree, made)
    everything = "*" in tree.staged or bool(_COMMITS_ALL.search(git.text))
    named = _named_by_commit(git)
    _take_files(tree, run, everything, [*tree.staged, *named], in_sight=bool(tree.staged or named))


def _take_files(
    tree: TreeState, run: CommandRun, everything: bool, names: list[str], *, in_sight: bool
) -> None:
    """Changed files that a commit took: everything, those with a name; what was staged out of sight may be
    any of them."""
    in_sight = in_sight or everything
    names = [*names, *_COMMITTED_FILE.findall(run.output)]
    for path in list(tree.changed):
        if not is_among(path, tree.unstaged) and (not in_sight or everything or is_among(path, names)):
            del tree.changed[path]
    if not in_sight:
        tree.doubt = run.at
    elif everything:
        tree.doubt = 0
    tree.staged, tree.unstaged = [], []


def _add_commit(tree: TreeState, commit: Commit) -> None:
    tree.commits.append(commit)
    tree.commit_count += 1
    tree.others = {}  # what git said before is out of date
    del tree.commits[:-COMMITS_MAX]
    if commit.branch:
        tree.branch = commit.branch


def made_by_script(output: str) -> bool:
    """Whether an output names a commit and says right behind it what that changed; cheap, for all outputs."""
    return _CHANGED in output and names_commit(output) and _SCRIPTED.search(output) is not None


def take_other_commits(tree: TreeState, run: CommandRun) -> None:
    """Commits of a line that no command of git in it made by itself: a script did, or a loop."""
    told = [commit for match, commit in run.told if _AFTER_COMMIT.match(match[4] or "")]
    for commit in told:
        _add_commit(tree, commit)
    if told:
        _take_files(tree, run, False, [], in_sight=False)


def _picked(tree: TreeState, git: GitCommand) -> None:
    """A command that commits on its own, and says so with the line of a commit."""
    if git.has("--abort", "--quit", "--skip"):
        return
    made = list(iter(git.run.next_commit, None))
    for commit in made:
        _add_commit(tree, commit)
    if git.has("-n", "--no-commit", "--squash"):
        tree.doubt = git.run.at
    elif not made and (git.verb != "merge" or "Merge made by" in git.run.output):
        _lose_commits(tree, None)


def _rebase(tree: TreeState, git: GitCommand) -> None:
    """Commits that were put anew on another one: they have other hashes, and none of them is pushed."""
    run = git.run
    told = _REBASED.search(run.output)
    if git.has("--abort", "--quit") or (not told and (run.whole != "ok" or "up to date" in run.output)):
        return
    by_hand = git.has("-i", "--interactive", "--continue", "--skip", "--root")
    if by_hand and not (git.has("--autosquash") and _EDITS_NOTHING.search(run.line)):
        _lose_commits(tree, None)
        return
    if git.has("--autosquash"):
        kept = [commit for commit in tree.commits if not commit.subject.startswith(_SQUASHED)]
        tree.commit_count -= len(tree.commits) - len(kept)
        tree.commits = kept
    _put_anew(tree)


def _pull(tree: TreeState, git: GitCommand) -> None:
    if _REBASED.search(git.run.output):
        _put_anew(tree)


def _put_anew(tree: TreeState) -> None:
    """All commits have other hashes now, and are not pushed."""
    for commit in tree.commits:
        commit.hash = ""
    tree.pushed, tree.others = 0, {}


def _lose_commits(tree: TreeState, last: int | None) -> None:
    """The last commits are gone; ``None`` if it is not known how many."""
    gone = len(tree.commits) if last is None else min(last, len(tree.commits))
    tree.commits = tree.commits[: len(tree.commits) - gone]
    tree.commit_count = tree.commit_count - gone if tree.commits else 0


def subject_of(command: str, line: str) -> str:
    """The subject of the commit that a command makes, as far as it says one."""
    message = _MESSAGE.search(command)
    text = message[1][1:-1] if message else ""
    if not text or text.startswith("$("):
        documents = here_documents(line)
        text = documents[0].body if documents else ""
    return next((one.strip() for one in text.replace("\\n", "\n").split("\n") if one.strip()), "")


def _named_by_commit(git: GitCommand) -> list[str]:
    """The files that a commit names itself."""
    names, skip = [], False
    for word in git.rest:
        if word.startswith((">", "2>")):
            break
        if not skip and not word.startswith(("-", "$", "<")):
            names.append(word)
        skip = not skip and _TAKES_VALUE.fullmatch(word) is not None
    return names


def _push(tree: TreeState, git: GitCommand) -> None:
    run = git.run
    is_quiet = run.whole == "unknown" and _QUIET.search(git.text) and not _REFUSED.search(run.output)
    if run.whole == "ok" or is_quiet or _PUSHED.search(run.output):
        tree.pushed = run.at


# -- what is staged, restored, thrown away


def _add(tree: TreeState, git: GitCommand) -> None:
    everything = git.has("-A", "--all", ".", "-u", ":/")
    tree.staged = ["*"] if everything else [*tree.staged, *git.names]
    tree.unstaged = [] if everything else [name for name in tree.unstaged if name not in git.names]


def _unstage(tree: TreeState, names: list[str]) -> None:
    """Files that are taken out of what the next commit has; without names, all of them."""
    if not names or names == ["."]:
        tree.staged, tree.unstaged = [], []
    else:
        tree.staged = [name for name in tree.staged if name not in names]
        tree.unstaged += names


def _restored(tree: TreeState, names: Iterable[str]) -> None:
    """Files that are again as they were committed; those that git does not know stay."""
    everything = any(name in (".", ":/") for name in names)
    for path, change in list(tree.changed.items()):
        if is_among(path, names) or (everything and change.how != "create"):
            del tree.changed[path]
    tree.others = {
        name: how
        for name, how in tree.others.items()
        if how == "create" or not (everything or is_among(name, names))
    }


def _throw_away(tree: TreeState) -> None:
    """All changes of files that git knows are gone."""
    staged = tree.staged
    for path, change in list(tree.changed.items()):
        if change.how != "create" or "*" in staged or is_among(path, staged):
            del tree.changed[path]
    tree.others = {name: how for name, how in tree.others.items() if how == "create"}
    tree.staged = []


def _checkout(tree: TreeState, git: GitCommand) -> None:
    """A branch that was switched to, or files that were restored or brought from another commit."""
    told = _SWITCHED.search(git.run.output)
    names = [name for name in git.names if name != "--"]
    if git.paths:
        source = [name for name in names if name not in git.paths]
        _bring(tree, git, list(git.paths), source[0] if source else "")
    elif names == ["."] or (not told and names and _are_files(tree, names, git)):
        _restored(tree, names)
    elif told or names:
        is_detached = not told and (git.has("--detach", "-d") or "HEAD is now at " in git.run.output)
        tree.branch, tree.pull = "" if is_detached else told[1] if told else names[0], ""
        if git.has("-f", "--force", "--discard-changes"):
            _throw_away(tree)


def _are_files(tree: TreeState, names: list[str], git: GitCommand) -> bool:
    known = [*tree.changed, *tree.others]
    return bool(_UPDATED_PATHS.search(git.run.output)) or all(
        any(is_same_file(path, name) for path in known) for name in names
    )


def _bring(tree: TreeState, git: GitCommand, paths: list[str], source: str) -> None:
    if source in ("", "HEAD"):
        _restored(tree, paths)
        return
    for path in paths:
        if path in (".", ":/"):
            tree.doubt = git.run.at
        else:
            change_file(tree, path, "edit", git.run.at, "shell")


def _restore(tree: TreeState, git: GitCommand) -> None:
    source = next((word.partition("=")[2] for word in git.rest if word.startswith("--source=")), "")
    names = list(git.names)
    for flag in ("-s", "--source"):
        if flag in git.rest and git.rest.index(flag) + 1 < len(git.rest):
            source = git.rest[git.rest.index(flag) + 1]
            names = [name for name in names if name != source]
    if git.has("--staged", "-S"):
        _unstage(tree, names)
    if not git.has("--staged", "-S") or git.has("--worktree", "-W", "-SW", "-WS"):
        _bring(tree, git, names, source)


def _reset(tree: TreeState, git: GitCommand) -> None:
    """Files that are no longer staged, or a branch that was set to another commit."""
    names = [name for name in git.names if name != "--"]
    target = names[0] if names and not git.paths and _REVISION.match(names[0]) else ""
    moves = git.has("--hard", "--soft", "--mixed", "--keep", "--merge")
    if not moves and (not target or target == "HEAD" or len(names) > 1):
        _unstage(tree, [name for name in names if name != "HEAD"])
        return
    target = target or (names[0] if names else "HEAD")
    _lose_commits(tree, _commits_after(tree, target, git.run.output))
    if git.has("--hard", "--merge"):
        _throw_away(tree)
        return
    if target != "HEAD":
        tree.doubt = git.run.at  # what was committed is changed again
    if not git.has("--soft"):
        tree.staged = []
    for path in _UNSTAGED.findall(git.run.output):
        if not any(is_same_file(known, path) for known in tree.changed):
            tree.others[path] = "edit"


def _commits_after(tree: TreeState, target: str, output: str) -> int | None:
    """How many of the commits came after the one that a branch was set to; None if that is not known."""
    back = _BACK.match(target)
    if back is not None:
        return int(back[1]) if back[1] else len(back[2] or "")
    told = _HEAD_NOW.search(output)
    hash = told[1] if told else target
    for later, commit in enumerate(reversed(tree.commits)):
        if commit.hash and (commit.hash.startswith(hash) or hash.startswith(commit.hash)):
            return later
    return None


def _clean(tree: TreeState, git: GitCommand) -> None:
    if any(re.match(r"-\w*n|--dry-run", word) for word in git.rest):
        return
    gone = _REMOVED.findall(git.run.output)
    for path, change in list(tree.changed.items()):
        if is_among(path, gone) or (
            not gone and change.how == "create" and (not git.names or is_among(path, git.names))
        ):
            del tree.changed[path]
    tree.others = {
        name: how
        for name, how in tree.others.items()
        if not is_among(name, gone) and (gone or how != "create")
    }


def _stash(tree: TreeState, git: GitCommand) -> None:
    verb = git.rest[0] if git.rest and not git.rest[0].startswith("-") else "push"
    if verb in ("push", "save"):
        _put_away(tree, git)
    elif verb in ("pop", "apply", "branch"):
        if not tree.stashes or "stash@{" in git.text:
            tree.doubt = git.run.at  # what comes back was put away out of sight
        if tree.stashes:
            tree.changed = {**tree.changed, **tree.stashes.pop().files}
    elif verb == "drop":
        del tree.stashes[-1:]
    elif verb == "clear":
        tree.stashes = []


def _put_away(tree: TreeState, git: GitCommand) -> None:
    """Changes that were put into the stash; files that git does not know stay, unless it was told so."""
    if "No local changes" in git.run.output:
        return
    new_too = any(re.match(r"-\w*[ua]\w*$|--include-untracked|--all", word) for word in git.rest)

    def is_taken(path: str, how: str) -> bool:
        if git.paths and not is_among(path, git.paths):
            return False
        return how != "create" or new_too or "*" in tree.staged or is_among(path, tree.staged)

    files = {path: change for path, change in tree.changed.items() if is_taken(path, change.how)}
    others = {name: how for name, how in tree.others.items() if is_taken(name, how)}
    tree.changed = {path: change for path, change in tree.changed.items() if path not in files}
    tree.others = {name: how for name, how in tree.others.items() if name not in others}
    files |= {name: ChangedFile(tree.asked, how) for name, how in others.items()}
    tree.stashes = [*tree.stashes, Stash(git.run.at, tree.called, files)][-STASHES_MAX:]
    tree.staged = []


def _removed(tree: TreeState, git: GitCommand) -> None:
    """Files that git removed: each of them is known to it."""
    if git.has("--cached"):
        tree.staged += git.names
        return
    known = [*tree.changed, *tree.others]
    remove_files(tree, git.names, git.run.at)
    for name in _REMOVED_BY_GIT.findall(git.run.output):
        if not any(is_same_file(path, name) for path in known):
            change_file(tree, name, "delete", git.run.at, "shell")
    tree.staged += git.names


def _renamed(tree: TreeState, git: GitCommand) -> None:
    if len(git.names) < 2:
        return
    *sources, target = git.names
    is_known = any(is_same_file(path, sources[0]) for path in tree.changed)
    move_files(tree, sources, target, git.run.at)
    if len(sources) == 1 and "." in target.rpartition("/")[2]:
        if not is_known:
            change_file(tree, sources[0], "delete", git.run.at, "shell")
        change_file(tree, target, "create", git.run.at, "shell")
    tree.staged += git.names


# -- the status


def _status(tree: TreeState, git: GitCommand) -> None:
    """What git says is changed replaces what was seen, unless something cut or filtered it."""
    run = git.run
    names = {}
    for mark, row in _status_rows(run.output):
        name = row.split(" -> ")[-1].strip().strip('"')
        names[name] = "create" if mark in ("new file", "") or mark[0] in "?A" else "edit"
        if mark == "deleted" or "D" in mark:
            names[name] = "delete"
    if _is_filtered(git, len(names)) or (not names and not _says_clean(git)):
        return
    limits = [name for name in git.names if name != "--"]
    kept = {
        path: change
        for path, change in tree.changed.items()
        if any(_is_listed(path, name) for name in names)
        or (limits and not is_among(path, limits))
        or (change.how == "create" and git.has("-uno", "--untracked-files=no"))
    }
    listed = [name for name in names if not any(_is_listed(path, name) for path in kept)][:CHANGED_MAX]
    tree.others = {name: names[name] for name in listed}
    tree.changed, tree.asked, tree.asked_calls, tree.doubt = kept, run.at, tree.called, 0


def _status_rows(output: str) -> list[tuple[str, str]]:
    rows = _SHORT_STATUS.findall(output)
    if trimmed := _TRIMMED_STATUS.match(output):
        rows.insert(0, (trimmed[1], trimmed[2]))
    return rows + [(mark, name or untracked) for mark, name, untracked in _LONG_STATUS.findall(output)]


def _says_clean(git: GitCommand) -> bool:
    """Whether git says that nothing is changed: in words, or in the short form by no line at all."""
    if _CLEAN.search(git.run.output):
        return True
    others = [part for n, part in enumerate(git.run.parts) if n != git.number and not is_silent(part.text)]
    is_short = any(re.match(r"-\w*s|--short|--porcelain", word) for word in git.rest)
    rest = [line for line in git.run.output.split("\n") if line.strip() and not line.startswith("## ")]
    return is_short and not others and not rest and git.run.whole != "failed"


def _is_filtered(git: GitCommand, rows: int) -> bool:
    """Whether a pipe may have taken lines away."""
    after = git.run.parts[git.number + 1 : git.number + 2]
    if not after or after[0].joint != "|":
        return False
    command = bare(after[0].text)
    most = re.match(r"(?:head|tail)(?: -n)?(?: ?-?(\d+))?$", command)
    if most is not None:
        return rows >= int(most[1] or 10)
    return re.match(r"(?:cat|sort|tee|less|more)\b", command) is None


def _is_listed(path: str, name: str) -> bool:
    return is_same_file(path, name) or (name.endswith("/") and is_inside(path, name))


_HANDLERS: dict[str, Callable[[TreeState, GitCommand], None]] = {
    "add": _add,
    "stage": _add,
    "commit": _commit,
    "cherry-pick": _picked,
    "revert": _picked,
    "merge": _picked,
    "am": _picked,
    "rebase": _rebase,
    "pull": _pull,
    "push": _push,
    "status": _status,
    "checkout": _checkout,
    "switch": _checkout,
    "restore": _restore,
    "reset": _reset,
    "clean": _clean,
    "stash": _stash,
    "rm": _removed,
    "mv": _renamed,
}
