"""The commits of a run as the outputs of its commands tell them, and which of them are still there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bench.resume.truth.events import Call, Transcript
from bench.resume.truth.shell import Simple, simple_commands

_COMMITTED = re.compile(r"^\[([^\]\n]+?) ([0-9a-f]{7,40})\] (.*)$(\n .*)?", re.M)
_CHANGED = re.compile(r"^ ?\d+ files? changed", re.M)
_AFTER = re.compile(r"\n (?:\d+ files? changed|(?:create|delete) mode|rename |Date: |Author: )")
_NOTHING = re.compile(r"nothing (?:added )?to commit|no changes added")
_LOOKS = re.compile(
    r"^(?:cat|grep|rg|sed -n|head|tail|less|ls|find|jq|awk|nl|wc|cd|echo|git (?:log|show|reflog|diff))\b"
)
_GIT = re.compile(
    r"^git(?:\s+(?:-C\s+(?:\"[^\"]+\"|\S+)|-c\s+\S+|--no-pager|--git-dir=\S+|--work-tree=\S+))*\s+"
)
_COMPLAINS = re.compile(
    r"^fatal: |^error: (?:pathspec|failed to push|could not|cannot|unable|your local|the following)"
    r"|^(?:rm|mv): ",
    re.M | re.I,
)
_SIGNS = {
    "commit": _COMMITTED,
    "push": re.compile(r"->|Everything up-to-date"),
    "stash": re.compile(r"^Saved working directory", re.M),
    "stash pop": re.compile(r"^Dropped ", re.M),
    "stash drop": re.compile(r"^Dropped ", re.M),
    "reset": re.compile(r"^HEAD is now at|^Unstaged changes after", re.M),
    "rebase": re.compile(r"Successfully rebased"),
    "checkout": re.compile(r"^Switched to|^Updated \d+ path", re.M),
    "switch": re.compile(r"^Switched to", re.M),
    "rm": re.compile(r"^rm '", re.M),
    "clean": re.compile(r"^Removing ", re.M),
}
"""What git prints when it has done something."""


@dataclass(slots=True)
class Committed:
    """A commit that git reported, or that ended well without a word."""

    call: Call
    hash: str
    subject: str
    sure: bool = True
    branch: str = ""


def git_words(simple: Simple) -> str:
    """What follows ``git`` in a simple command, or nothing."""
    match = _GIT.match(simple.bare)
    return simple.bare[match.end() :] if match else ""


def failed(call: Call) -> bool:
    """Whether a call has a result that says that it failed or did not happen."""
    result = call.result
    return result is not None and (bool(result.failed) or bool(result.exit) or result.refused)


def did(call: Call, at: int) -> bool:
    """Whether one of the commands of a call was done: the call did not fail, or git says so of this or of a
    later one, or it is not the last one and nothing complains."""
    if call.result is None or call.result.refused:
        return False
    if not failed(call):
        return True
    commands = simple_commands(call.command)
    if any(_shows(one, call.result.text) for one in commands[at:]):
        return True
    last = max((n for n, one in enumerate(commands) if one.joint != "|"), default=0)
    return at < last and _COMPLAINS.search(call.result.text) is None


def _shows(simple: Simple, text: str) -> bool:
    words = git_words(simple).split()
    sign = _SIGNS.get(" ".join(words[:2])) or _SIGNS.get(words[0] if words else "")
    return sign is not None and sign.search(text) is not None


def printed(call: Call) -> str:
    """The output of a call as lines, without what a terminal overwrote."""
    text = call.result.text if call.result is not None else ""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class History:
    """The commits that are still there, in order; which one is the last may have been lost."""

    made: list[Committed] = field(default_factory=list)
    pushed: int = -1  # the record of the last push of them

    def take(self, call: Call) -> None:
        if not call.command or call.result is None or call.result.refused:
            return
        commands = simple_commands(call.command)
        text = printed(call)
        told = list(_COMMITTED.finditer(text))
        for at, simple in enumerate(commands):
            words = git_words(simple).split()
            if words:
                self._git(call, words, simple, at, told)
        if told and not all(_LOOKS.match(one.bare) for one in commands):
            in_git = any("commit" in git_words(one) for one in commands)
            for one in told:
                if in_git or _AFTER.match(one[4] or ""):
                    self._add(call, one)

    def _add(self, call: Call, told: re.Match[str]) -> None:
        self.made.append(Committed(call, told[2], told[3], branch=told[1]))

    def _git(self, call: Call, words: list[str], simple: Simple, at: int, told: list[re.Match[str]]) -> None:
        assert call.result is not None
        verb = words[0]
        if verb == "commit":
            self._commit(call, words, told)
        elif verb in ("cherry-pick", "revert", "merge", "am") and did(call, at):
            if not told and (verb != "merge" or "Merge made by" in call.result.text):
                self.made = [] if "-n" not in words and "--no-commit" not in words else self.made
            while told:
                self._add(call, told.pop(0))
        elif verb == "rebase" and (did(call, at) or "Successfully rebased" in call.result.text):
            self._rebase(call, words)
        elif verb == "pull" and "Successfully rebased" in call.result.text:
            self._rebase(call, ["rebase"])
        elif verb == "reset" and did(call, at):
            self._reset(call, words)
        elif verb == "push":
            bad = re.search(r"rejected|fatal:|error: failed to push|! \[", call.result.text)
            if not bad and (_SIGNS["push"].search(call.result.text) or not failed(call)):
                self.pushed = call.record

    def _commit(self, call: Call, words: list[str], told: list[re.Match[str]]) -> None:
        assert call.result is not None
        text = call.result.text
        nothing = "--dry-run" in words or _NOTHING.search(text)
        stat = _CHANGED.search(text) and not re.search(
            r"--(?:short)?stat|git (?:pull|merge|show)", call.command
        )
        quiet = not nothing and not call.result.runs and (not failed(call) or bool(stat))
        if not told and not quiet:
            return
        if "--amend" in words and self.made:
            self.made.pop()
        if told:
            self._add(call, told.pop(0))
        else:
            self.made.append(Committed(call, "", "", sure=False))

    def _rebase(self, call: Call, words: list[str]) -> None:
        assert call.result is not None
        text = call.result.text
        if "--abort" in words or "--quit" in words or "is up to date" in text or "CONFLICT" in text:
            return
        by_hand = any(word in words for word in ("-i", "--interactive", "--continue", "--skip", "--root"))
        untouched = re.search(r"SEQUENCE_EDITOR=(['\"]?)(?:true|:|cat)\1(?:\s|$)", call.command)
        if by_hand and not ("--autosquash" in words and untouched):
            self.made = []
        if "--autosquash" in words:
            self.made = [one for one in self.made if not re.match(r"(?:fixup|squash|amend)! ", one.subject)]
        for one in self.made:
            one.hash, one.sure = "", bool(one.subject)
        self.pushed = -1

    def _reset(self, call: Call, words: list[str]) -> None:
        assert call.result is not None
        names = [word for word in words[1:] if not word.startswith("-")]
        moves = any(word in words for word in ("--hard", "--soft", "--mixed", "--keep", "--merge"))
        target = names[0] if names else "HEAD"
        back = re.fullmatch(r"(?:HEAD|@)(?:~(\d*)|(\^+))?", target)
        if "--" in words or (not moves and (len(names) != 1 or target == "HEAD")):
            return
        if back:
            gone = int(back[1] or 1) if back[1] is not None else len(back[2] or "")
            self.made = self.made[: max(0, len(self.made) - gone)]
            return
        if not moves and not re.fullmatch(r"[0-9a-f]{7,40}|.*/.*|.*[~^]\d*", target):
            return
        now = re.search(r"HEAD is now at ([0-9a-f]{7,})", call.result.text)
        hash = now[1] if now else target
        kept = [at for at, one in enumerate(self.made) if one.hash and hash[:7] == one.hash[:7]]
        self.made = self.made[: kept[-1] + 1] if kept else []


def script_commits(call: Call) -> list[Committed]:
    """The commits that the output of a call names, with what git prints behind such a line."""
    if call.result is None or call.result.refused:
        return []
    if all(_LOOKS.match(one.bare) for one in simple_commands(call.command)):
        return []
    found = [one for one in _COMMITTED.finditer(printed(call)) if _AFTER.match(one[4] or "")]
    return [Committed(call, one[2], one[3], branch=one[1]) for one in found]


def history(transcript: Transcript) -> History:
    """The history at the end of a transcript."""
    found = History()
    done = [call for call in transcript.calls if call.result is not None]
    for call in sorted(done, key=lambda one: one.result.record if one.result else 0):
        found.take(call)
    return found


def reported(transcript: Transcript) -> list[Committed]:
    """All commits that git ever named in this run, whatever became of them."""
    return [one for call in transcript.calls if call.command for one in reported_by(call)]


def reported_by(call: Call) -> list[Committed]:
    """The commits that the output of a call names."""
    if call.result is None or call.result.refused:
        return []
    return [Committed(call, one[2], one[3], branch=one[1]) for one in _COMMITTED.finditer(printed(call))]
