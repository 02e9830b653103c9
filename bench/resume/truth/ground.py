"""What the rules ask of a transcript: who said what, which runs a check had, what a call changed and gave."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from bench.resume.truth.events import Call, Edit, Message, Transcript
from bench.resume.truth.history import failed
from bench.resume.truth.shell import is_hidden, shown_form, simple_commands, tells_failure, tells_success
from bench.resume.truth.words import Folders, is_folder, is_verbatim, stands, words

Verdict = Literal["true", "false", "not checkable"]
Parts = dict[str, str]
NO_WORDS = "no message of the user has these words"

_PROSE = (".md", ".txt", ".rst", ".adoc", ".mdx")
_BACKGROUND = re.compile(r"running in (?:the )?background with ID|Process running with session ID")
_QUIET = re.compile(r"(?:cd|echo|export|pwd|source|set)\b")
_TARGETS = re.compile(r"(?<![0-9&-])>>?\s*(\"[^\"]+\"|'[^']+'|[^\s;|&()<>]+)")
_REWRITES = re.compile(r"(?:sed\b.*\s-i|perl\b.*\s-\w*i|tee|rm|mv|cp|git rm|git mv)")
_USERS_REASON = re.compile(
    r"\A.*?(?:the user said:|for the rejection:)\s*(.*?)(?:\n\nNote: The user's next message.*)?\Z", re.S
)
"""A refusal: the words of the user, with those of the agent around them."""
FOLDED = re.compile(r"\[(?:\d+ pasted|Image)")


class Finding(NamedTuple):
    """Whether a statement is so, what it says in short, and why it is not."""

    verdict: Verdict
    claim: str
    why: str = ""


def finding(good: bool | None, claim: str, why: str = "") -> Finding:
    """``None`` stands for what cannot be checked."""
    verdict: Verdict = "not checkable" if good is None else "true" if good else "false"
    return Finding(verdict, claim, "" if good else why)


Rule = Callable[[Parts], Iterator[Finding]]


class Ground:
    """A transcript up to the cut, as a reader of the brief would look things up in it."""

    def __init__(self, told: Transcript, folder_shown: str) -> None:
        self.told = told
        known = self._known_as(folder_shown) or [folder for _, folder in told.folders[:1]]
        self.folders = Folders(known)
        self.asked = max((one.record for one in told.users if one.how != "notice"), default=0)
        """The record of the message that the brief calls the last one."""

    def _known_as(self, shown: str) -> list[str]:
        """The folders of the run that a brief may call so."""
        folders = dict.fromkeys(folder.replace("\\", "/").rstrip("/") for _, folder in self.told.folders)
        return [one for one in folders if is_folder(shown, one)]

    def stands(self, quote: str, source: str) -> bool:
        """Whether quoted words stand in a text, however its paths are told."""
        short = self.folders.short(source)
        return stands(quote, short) or stands(self.folders.short(quote), short) or stands(quote, source)

    def short(self, text: str) -> str:
        return self.folders.short(text)

    def says(self, quote: str, source: str) -> bool:
        """Whether a quotation stands in a text as it is, in one place, however its paths are told."""
        short = self.short(source)
        return (
            is_verbatim(quote, short) or is_verbatim(self.short(quote), short) or is_verbatim(quote, source)
        )

    def output(self, call: Call) -> str:
        """All that a call gave."""
        return f"{call.result.text}\n{call.result.answered}" if call.result is not None else ""

    # -- who said what

    def users(self, quote: str) -> list[Message]:
        """The messages of the user that have these words."""
        quote = unfolded(quote)
        if not words(quote).strip() and "…" not in quote:
            return [one for one in self.told.users if one.text.strip() == quote.strip()]
        return [one for one in self.told.users if self.stands(quote, one.text)]

    def refusals(self) -> list[Message]:
        """What came instead of a result: the words with which a user refuses a call may be all of it."""
        return [
            Message(call.result.record, _USERS_REASON.sub(r"\1", call.result.text))
            for call in self.told.calls
            if call.result is not None and (call.result.refused or call.result.failed)
        ]

    def refusals_with(self, quote: str) -> list[Message]:
        return [one for one in self.refusals() if self.stands(unfolded(quote), one.text)]

    def asked_with(self, quote: str) -> list[Message]:
        """The messages with these words that the user wrote, refused a call with, or was quoted with in a
        brief that the run was given."""
        given = [one for one in self.told.given if self.stands(quote, one.text)]
        found = [*(one for one in self.users(quote) if one.how != "notice"), *self.refusals_with(quote)]
        return found or given

    def day(self, record: int) -> str:
        """The day of a record, if it is known."""
        times = [time for at, time in self.told.times if at == record]
        times = [self.told.written[record]] if record in self.told.written else times
        times = times or [time for at, time in self.told.times if at <= record][-1:]
        return times[0][:10] if times else ""

    def calls_after(self, record: int) -> list[Call]:
        return [call for call in self.told.calls if call.record > record]

    def said_after(self, record: int) -> list[Message]:
        return [one for one in self.told.said if one.record > record]

    # -- runs of checks

    def runs(self, name: str) -> list[tuple[Call, str]]:
        """The runs of a check by its name, each with its verdict."""
        exact: list[tuple[Call, str]] = []
        loose: list[tuple[Call, str]] = []
        wanted, pieces = shown_form(name), [words(one).strip() for one in name.split("…")]
        for call in self.told.calls:
            for at, simple in enumerate(simple_commands(call.command)):
                forms = {shown_form(simple.text), shown_form(self.folders.short(simple.text))}
                if wanted in forms or (len(pieces) > 1 and any(_spans(pieces, form) for form in forms)):
                    exact.append((call, self.verdict(call, at)))
                elif any(in_order(pieces, f" {form} ") for form in forms):
                    loose.append((call, self.verdict(call, at)))
        return exact or loose

    def verdict(self, call: Call, at: int) -> str:
        """What became of one command of a call: ok, failed, failed?, unclear, stopped, refused or none."""
        result = call.result
        if result is None or result.runs or _BACKGROUND.search(result.text[:300]):
            return "none"
        if result.refused:
            return "refused"
        if was_stopped(call):
            return "stopped"
        commands = simple_commands(call.command)
        if is_hidden(commands, at):
            if tells_failure(result.text):
                return "failed"
            return "ok" if tells_success(result.text) else "unclear"
        if not failed(call):
            return "unclear" if commands[at].joint == "||" else "ok"
        others = [one for one in commands[:at] if not _QUIET.match(one.bare)] + commands[at + 1 :]
        if not others:
            return "failed"
        return "failed?" if tells_failure(result.text) else "unclear"

    # -- edits

    def edits(self, call: Call) -> list[Edit]:
        """The files that a call changes, by a tool or by a command."""
        if call.edits:
            return call.edits
        found: list[Edit] = []
        for simple in simple_commands(call.command):
            found += [Edit(one.strip("'\""), "create", call.command) for one in _TARGETS.findall(simple.text)]
            if _REWRITES.match(simple.bare):
                found += [Edit(one.strip("'\""), "edit", call.command) for one in simple.bare.split()[1:]]
        return found

    def last_edit(self) -> int:
        """The record in which a tool last changed a file other than prose; -1 if none did."""
        return max((call.record for call in self._edited() if _is_code(call.edits)), default=-1)

    def last_change(self) -> int:
        """The record in which a file was last changed, by a tool or by a command; -1 if none was."""
        done = (call for call in self.told.calls if call.result is not None and not failed(call))
        return max((call.record for call in done if self.edits(call)), default=-1)

    def _edited(self) -> Iterator[Call]:
        return (one for one in self.told.calls if one.edits and one.result is not None and not failed(one))


def _is_code(edits: list[Edit]) -> bool:
    return any(not edit.path.lower().endswith(_PROSE) for edit in edits)


def was_stopped(call: Call) -> bool:
    """Whether a time limit, a signal or the user ended a call."""
    result = call.result
    if result is None:
        return False
    ends = result.text[-400:] + result.text[:200]
    return (
        result.stopped
        or result.exit in (124, 130, 137, 143)
        or (failed(call) and bool(re.search(r"timed out|was interrupted|aborted", ends, re.I)))
    )


def unfolded(quote: str) -> str:
    """A quotation without what a brief folded: pasted lines, pictures."""
    while match := FOLDED.search(quote):
        depth, end = 0, len(quote)
        for at in range(match.start(), len(quote)):
            depth += {"[": 1, "]": -1}.get(quote[at], 0)
            if depth == 0:
                end = at + 1
                break
        quote = f"{quote[: match.start()]}…{quote[end:]}"
    return quote


def in_order(pieces: list[str], source: str) -> bool:
    """Whether the pieces stand in the source one after the other; all but the first may begin in a word."""
    at = 0
    for number, piece in enumerate(pieces):
        if not piece:
            continue
        found = source.find(f" {piece}" if number == 0 else piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _spans(pieces: list[str], text: str) -> bool:
    """Whether a text is a name of which the middle was left out."""
    return text.startswith(pieces[0]) and text.endswith(pieces[-1]) and in_order(pieces, f" {text} ")
