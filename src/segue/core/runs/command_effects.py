"""What command lines do to the working tree: the files that they write, move and remove, and what git did."""

from __future__ import annotations

import re

from ..base.lazy import regex
from .command_lines import bare, folder_of, written_files
from .git_effects import CommandRun, git_words, made_by_script, take_git, take_other_commits
from .outcomes import outcome
from .shell_commands import parse_shell
from .tree import TreeState, change_file, move_files, remove_files, take_checks

_PULL_REQUEST = regex(r"https://[\w.-]+/[\w./-]+/(?:pull|merge_requests)/(\d+)")


def take_command(
    tree: TreeState, line: str, ok: bool | None, exit: int | None, output: str, called: int, at: int
) -> None:
    """What a command line did, now that its result is there."""
    take_checks(tree, line, ok, exit, output, called, at)
    changes = _CHANGES.search(line) is not None
    is_look = parse_shell(line).kind == "look"
    if not changes and (is_look or not made_by_script(output)):
        return
    run = CommandRun(line, outcome(line, ok, exit, output), output, at)
    if changes:
        _written(tree, run)
    for number, part in enumerate(run.parts if changes else ()):
        text = bare(part.text)
        if text.startswith(("gh pr ", "glab mr ")):
            _pull_request(tree, text, run)
        elif text.startswith(_MOVES) and run.did(number):
            _moved(tree, text.split(), at)
        else:
            take_git(tree, run, number)
    if not is_look and made_by_script(output):
        take_other_commits(tree, run)


def is_told_whole(line: str, output: str) -> bool:
    """Whether git has said that the last of its commands in a line is done, so that what it did is known
    though nothing tells the end of the line."""
    run = CommandRun(line, "unknown", output, 0)
    asked = [git_words(bare(part.text)) for part in run.parts]
    if "gh pr " in line or "glab mr " in line:
        return False  # which say themselves what they did
    verbs = [words[0] for words in asked if words and words[0] in _TELLING]
    if not verbs or (verbs[-1] == "commit" and len(run.told) < verbs.count("commit")):
        return False
    last = max(number for number, words in enumerate(asked) if words and words[0] == verbs[-1])
    return run.shows(last)


_TELLING = ("commit", "push", "switch", "checkout", "rebase", "cherry-pick", "revert", "merge", "pull")
"""Commands of git of which an output says that they are done."""


_MOVES = ("rm ", "mv ", "del ", "Remove-Item ", "unlink ", "rmdir ")
_CHANGES = regex(r">|\b(?:tee|sed|perl|git|gh|glab|rm|rmdir|mv|del|Remove-Item|unlink)\b")
"""What every line has that may change the working tree."""


def _written(tree: TreeState, run: CommandRun) -> None:
    """Files that a line wrote by itself: by redirection, ``tee``, ``sed -i`` or a here-document."""
    if run.whole == "failed":
        return
    folder = folder_of(run.line)
    for path in written_files(run.line):
        if folder and not path.startswith(("/", "~")):
            path = f"{folder.rstrip('/')}/{path}"
        if not path.startswith(("/tmp/", "/dev/", "/var/tmp/", "/private/tmp/")):
            change_file(tree, path, "edit", run.at, "shell")


def _pull_request(tree: TreeState, text: str, run: CommandRun) -> None:
    """The pull request that a command makes or asks for, until it is merged or closed."""
    verb = text.split()[2] if text.count(" ") >= 2 else ""
    if verb in ("merge", "close"):
        tree.pull = "" if run.whole == "ok" else tree.pull
    elif verb in ("create", "view", "edit", "checkout"):
        told = _PULL_REQUEST.search(run.output)
        named = re.match(r"gh pr \w+ #?(\d+)\b", text)
        number = told or named
        if number is not None:
            tree.pull, tree.pull_told = number[1], run.at


def _moved(tree: TreeState, words: list[str], at: int) -> None:
    """Files that ``rm`` removed, or ``mv`` renamed."""
    verb, *names = [word.strip("'\"") for word in words]
    names = [name for name in names if not name.startswith("-")]
    if verb == "mv":
        move_files(tree, names[:-1], names[-1] if names else "", at)
    else:
        remove_files(tree, names, at)
