"""The working tree as the raw calls tell it: what became of a file."""

from __future__ import annotations

import fnmatch
import re

from bench.resume.truth.events import Call, Transcript
from bench.resume.truth.history import did, failed, git_words, script_commits
from bench.resume.truth.shell import Simple, simple_commands
from bench.resume.truth.words import Folders, plain_path

_COMMITTED = re.compile(r"^\[([^\]\n]+?) ([0-9a-f]{7,40})\] (.*)$", re.M)
_CHANGED = re.compile(r"^ ?\d+ files? changed", re.M)
_TAKEN = re.compile(r"^ (?:create|delete) mode \d+ (.+)$", re.M)
_NOTHING = re.compile(r"nothing (?:added )?to commit|no changes added")
SUBMODULE = re.compile(r" \((?:(?:modified|untracked) content|new commits|, )+\)")
_SHORT = re.compile(r"^([ MADRCUT?!]{2}|[MADRCUT]) +(\S.*)$", re.M)
_LONG = re.compile(
    r"^(?:\t|\s{2,8})(?:(modified|new file|deleted|renamed|typechange|both \w+):\s+)?(\S.*)$", re.M
)
_WRITERS = re.compile(
    r"^(?:sed\b.*\s-i|perl\b.*\s-\w*i|mv|cp|tee|touch|git mv|patch|git apply|python3?|node|ruby|npx|uv|ruff"
    r"|black|prettier|eslint|cargo fmt|gofmt|pnpm|npm|yarn|install|ln|awk|dd|truncate|jq|echo|cat|printf|curl"
    r"|wget)\b"
)


def matches(shown: str, path: str) -> bool:
    """Whether a path is the one that was shown, told from another folder or not."""
    shown, path = (plain_path(one).removeprefix("~/").strip("/") for one in (shown, path))
    if "…" in shown:
        head, _, tail = shown.partition("…")
        return path.startswith(head) and path.endswith(tail)
    return shown == path or path.endswith(f"/{shown}") or shown.endswith(f"/{path}")


def _covers(argument: str, shown: str, folder: str) -> bool:
    """Whether an argument of ``git add`` and the like names a file."""
    argument = argument.strip("'\"").removeprefix("./")
    if argument in (".", ":/", "*"):
        inside = folder.strip("/") if argument == "." and not folder.startswith(("/", "~", "..")) else ""
        return inside in ("", ".") or f"/{inside}/" in f"/{shown}"
    if "*" in argument:
        return fnmatch.fnmatch(shown, argument) or fnmatch.fnmatch(shown, f"*/{argument}")
    argument = argument.rstrip("/")
    return matches(shown, argument) or f"/{argument}/" in f"/{shown}" or argument.endswith(f"/{shown}")


class FileStory:
    """What became of one file: "changed", "committed", "gone", "clean", "stashed" or "" if it never was
    changed; and why."""

    def __init__(self, shown: str, transcript: Transcript, folders: Folders) -> None:
        self.shown = folders.path(shown)
        self.folders = folders
        self.state, self.why = "", "no call changes it"
        self.created = self.deleted = self.edited_tracked = False
        self.staged = self.untracked = False
        self.doubt = ""
        done = [call for call in transcript.calls if call.result is not None]
        for call in sorted(done, key=lambda one: one.result.record if one.result else 0):
            self._take(call)

    def _set(self, state: str, call: Call, why: str) -> None:
        self.state, self.why = state, f"record {call.record}: {why}"

    def _take(self, call: Call) -> None:
        assert call.result is not None
        if call.result.refused:
            return
        if call.edits and not failed(call):
            for edit in call.edits:
                if matches(self.shown, self.folders.path(edit.path)):
                    self._edited(call, edit.how)
        if call.command:
            for at, simple in enumerate(simple_commands(call.command)):
                self._ran(call, simple, did(call, at))
            self._scripted(call)

    def _edited(self, call: Call, how: str) -> None:
        assert call.result is not None
        if how == "delete":
            self.deleted, self.staged = True, False
            if self.created and self.untracked:
                self._set("gone", call, "created and deleted")
            else:
                self._set("changed", call, "deleted")
            return
        self.deleted = False
        if how == "create" and not re.search(
            r"has been (?:updated|overwritten)|overwr[io]te|Successfully modified", call.result.text
        ):
            if call.tool == "apply_patch":
                self.created = True  # it adds only files that are not there
            if self.state in ("", "gone"):
                self.created = True
                self.untracked = call.tool != "write_to_file"  # which also writes over a file that was there
        elif self.state == "":
            self.edited_tracked = True
        self.staged = False
        self._set("changed", call, how)

    def _ran(self, call: Call, simple: Simple, good: bool) -> None:
        assert call.result is not None
        bare, git = simple.bare, git_words(simple)
        arguments = re.findall(r"\"[^\"]*\"|'[^']*'|\S+", bare)[1:]
        folder = self.folders.path(simple.folder) if simple.folder else ""
        names = any(
            _covers(one, self.shown, folder) for one in arguments if not one.startswith("-") and one != "."
        )
        if git:
            self._git(call, simple, git, folder, good)
        elif re.match(r"(?i:rm|unlink|trash|rmdir|remove-item|del|erase)\b", bare) and names and good:
            self.deleted = True
            if self.untracked or not self.edited_tracked:
                self._set("gone", call, "removed")
            else:
                self._set("changed", call, "removed")
        elif re.match(r"mv\b", bare) and names and good:
            last = arguments[-1].strip("'\"") if arguments else ""
            if _covers(last, self.shown, folder) and matches(self.shown, self.folders.path(last)):
                self.created = self.untracked = True
                self._set("changed", call, "moved there")
            elif any(matches(self.shown, self.folders.path(one.strip("'\""))) for one in arguments[:-1]):
                self._set("gone", call, "moved away")
                self.deleted = True
        elif not failed(call) and (
            self._redirected(simple)
            or (names and _WRITERS.match(bare) and not re.match(r"(?:cat|echo|printf)\b", bare))
        ):
            if not self._redirected(simple) and re.match(
                r"(?:python3?|node|ruby|npx|uv|pnpm|npm|yarn|jq|awk|curl|wget)\b", bare
            ):
                self.doubt = self.doubt or f"record {call.record}: may have been written by a command"
                return
            if self.state in ("", "gone") and self._redirected(simple) and ">>" not in simple.text:
                self.created = True
            self.staged = self.deleted = False
            self._set("changed", call, "written by a command")

    def _redirected(self, simple: Simple) -> bool:
        targets = re.findall(r"(?<![0-9&-])>>?\|?\s*(\"[^\"]+\"|'[^']+'|[^\s;|&()<>]+)", simple.text)
        return any(matches(self.shown, self.folders.path(one.strip("'\""))) for one in targets)

    def _scripted(self, call: Call) -> None:
        """A script in the command that names the file may have written it, and one that commits may have
        committed it."""
        verbs = [git_words(one).split()[:1] for one in simple_commands(call.command)]
        if ["commit"] not in verbs and any(one.call is call for one in script_commits(call)):
            self.state, self.doubt = "", f"record {call.record}: a script committed"
        base = self.shown.rsplit("/", 1)[-1]
        if not failed(call) and "<<" in call.command and base in call.command and self.state != "changed":
            self.doubt = f"record {call.record}: named in a script"

    def _git(self, call: Call, simple: Simple, git: str, folder: str, good: bool) -> None:
        assert call.result is not None
        words = re.findall(r"\"[^\"]*\"|'[^']*'|\S+", git)
        verb, rest = words[0], words[1:]
        names = [one for one in rest if not one.startswith("-")]
        named = any(_covers(one, self.shown, folder) for one in names)
        if verb == "add":
            if any(one in ("-A", "--all", "-u") for one in rest) or named:
                self.staged = True
        elif verb == "commit":
            told = _COMMITTED.search(call.result.text) or _CHANGED.search(call.result.text)
            if told or (good and not call.result.runs and not _NOTHING.search(call.result.text)):
                self._committed(call, rest, named)
        elif not good:
            return
        elif verb == "checkout" and named and "--" in rest and rest[0] not in ("--", "HEAD"):
            self._set("changed", call, f"brought from {rest[0]}")
        elif verb in ("checkout", "restore") and self.state == "changed":
            if "--staged" in rest and "--worktree" not in rest:
                self.staged = self.staged and not named
            elif named and (
                verb == "restore" or "--" in rest or not any(one in ("-b", "-B") for one in rest)
            ):
                self._set("gone", call, f"git {verb}")
        elif verb == "reset":
            paths = [one for one in names if one not in ("HEAD", "HEAD~1", "HEAD^")]
            self.staged = self.staged and bool(paths) and not named
            if "--hard" in rest and self.state == "changed" and (self.staged or not self.untracked):
                self._set("gone", call, "git reset --hard")
        elif verb == "rm" and named:
            self.deleted = True
            self._set("changed" if "--cached" not in rest else self.state, call, "git rm")
            self.staged = True
        elif verb == "stash":
            self._stash(call, rest)
        elif verb == "clean" and self.untracked and re.search(r"-\w*f", git) and not re.search(r"-\w*n", git):
            removed = re.findall(r"^Removing (\S.*)$", call.result.text, re.M)
            if not removed or any(_covers(one, self.shown, "") for one in removed):
                self._set("gone", call, "git clean")
        elif verb == "mv" and named and names:
            there = matches(self.shown, self.folders.path(names[-1].strip("'\"")))
            self.created = self.created or there
            self.deleted = not there
            self._set("changed" if there or not self.untracked else "gone", call, "git mv")
            self.staged = True
        elif verb == "status":
            self._status(call, simple, names, rest)

    def _committed(self, call: Call, rest: list[str], named: bool) -> None:
        """A commit takes the file if it was staged, named, or tracked where everything is taken; or if git
        reports it."""
        assert call.result is not None
        everything = any(re.match(r"-[a-z]*a[a-z]*$", one) or one == "--all" for one in rest)
        told = any(matches(self.shown, path) for path in _TAKEN.findall(call.result.text))
        if self.state == "changed" and (self.staged or named or told or (everything and not self.untracked)):
            self._set("committed", call, "committed")
            self.staged = self.untracked = self.created = False
            self.edited_tracked = True

    def _stash(self, call: Call, rest: list[str]) -> None:
        assert call.result is not None
        what = rest[0] if rest and not rest[0].startswith("-") else "push"
        paths = rest[rest.index("--") + 1 :] if "--" in rest else []
        if what in ("push", "save") and self.state == "changed":
            new_too = any(re.match(r"-\w*[ua]\w*$|--include-untracked|--all", one) for one in rest)
            is_left = self.untracked and not new_too and not self.staged
            is_other = paths and not any(_covers(one, self.shown, "") for one in paths)
            if "No local changes" not in call.result.text and not is_left and not is_other:
                self._set("stashed", call, "git stash")
        elif what in ("pop", "apply", "branch") and self.state == "stashed":
            self._set("changed", call, f"git stash {what}")
        elif what in ("drop", "clear") and self.state == "stashed":
            self._set("gone", call, f"git stash {what}")

    def _status(self, call: Call, simple: Simple, names: list[str], rest: list[str]) -> None:
        assert call.result is not None
        text = call.result.text
        whole = not names and not any(one.startswith("-uno") or one == "--untracked-files=no" for one in rest)
        listed: list[tuple[str, str]] = []
        short = any(one.startswith(("-s", "--short", "--porcelain")) for one in rest)
        pattern = _SHORT if short else _LONG
        for mark, path in pattern.findall(text):
            path = SUBMODULE.sub("", path).split(" -> ")[-1].strip().strip('"')
            listed.append((mark, path))
        for mark, path in listed:
            folder = path.endswith("/") and (f"/{path}" in f"/{self.shown}/" or self.shown.startswith(path))
            if matches(self.shown, path.rstrip("/")) or folder:
                if self.state != "changed":
                    self._set("changed", call, "in git status")
                if mark.strip() in ("M", "MM", "AM") or mark == "modified":
                    self.edited_tracked = mark.strip() != "AM"
                    self.untracked = False
                if mark.strip() in ("??",) or (mark == "" and not short):
                    self.untracked = self.created = True
                if mark.strip() == "A" or mark == "new file":
                    self.created = True
                return
        others = [one for one in simple_commands(call.command) if one.joint == "|" or one.text != simple.text]
        piped = any(one.joint == "|" for one in simple_commands(call.command))
        clean = "working tree clean" in text
        plain = not piped and whole and (short or "On branch" in text or "HEAD detached" in text)
        if self.state == "changed" and (clean or plain) and len(text) < 20_000:
            told = listed or clean or not text.strip() or not others
            if told:
                self._set("clean", call, "not in git status")
