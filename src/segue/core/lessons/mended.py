"""Failures of a run that were mended: what failed, what was done before it passed, at which steps.

A failure is an output with its own signature. What mended it is what was done between the last time that it
showed and the next run of the same command without it, if the command passed in the end. If nothing was done
in between, the command is flaky, and there is nothing to learn. If so much was done that nobody can say which
part mended it, there is nothing to learn either: a lesson is never a filler.
"""

from __future__ import annotations

import re

import msgspec

from ..base.lazy import regex
from ..base.values import Value
from ..language.sentences import gives_orders
from ..runs.command_lines import bare, is_silent, parts, shown, written_files
from ..runs.outcomes import outcome, telling
from ..runs.shell_commands import parse_shell
from ..runs.steps import EDITS, Call, Change, Result, Start, Step
from ..runs.tree import check_names
from .signature import of_lines, signatures

LESSONS_MAX, FILES_MAX, FILES_TOLD_MAX, PENDING_MAX = 12, 8, 3, 64
DONE_MAX = 400
LINE_CHARS, WHY_CHARS, APPROACH_CHARS = 100, 300, 420
_VARIABLE = regex(r"(?:^|[;&|\s])([A-Z_][A-Z0-9_]{2,})=")
_TARGET = regex(r"[\w@~.+-]*[/\\.][\w@~./\\+\[\]:-]*\w")
_MENDING = frozenset({"change", "run", "other"})
_CODE = regex(r"\w.*\w")
_COMMENTS = ("#", "//", "/*", "*", "--", "<!--")


class Mend(Value):
    """Something that was done between a failure and the pass."""

    at: int
    path: str = ""
    old: str = ""
    new: str = ""
    command: str = ""


class Lesson(Value):
    """A failure that was mended, with its evidence: the numbers of the steps."""

    command: str
    error: str
    signatures: tuple[str, ...]
    approach: str
    failed: int
    changed: tuple[int, ...]
    passed: int
    files: tuple[str, ...] = ()
    count: int = 1

    @property
    def text(self) -> str:
        """The lesson in a sentence or two."""
        times = f" {self.count} times" if self.count > 1 else ""
        return f"`{self.command}` failed{times}: {self.error.rstrip('.')}. Mended by {self.approach}."


class _Failing(msgspec.Struct):
    """A command that fails, since when and how."""

    name: str
    program: str
    targets: frozenset[str]
    line: str
    output: str
    signatures: tuple[str, ...]
    at: int
    count: int = 1
    ended: int = 0
    """When the command ran without this failure for the first time; what mended it came before."""
    line_then: str = ""


class MendedFailures:
    """Takes the steps of a run; ``lessons`` are those of the whole run so far, ``flaky`` the commands that
    failed and passed again with nothing done in between, by how often."""

    def __init__(self) -> None:
        self.steps = 0
        self.lessons: list[Lesson] = []
        self.flaky: dict[str, int] = {}
        self._folder = ""
        self._pending: dict[str, tuple[int, Call]] = {}
        self._failing: list[_Failing] = []
        self._done: list[Mend] = []

    def take(self, step: Step) -> None:
        """Add a step."""
        self.steps += 1
        match step:
            case Start(cwd=cwd) if cwd and not self._folder:
                self._folder = cwd.rstrip("/\\")
            case Call() if step.id:
                self._pending[step.id] = (self.steps, step)
                if len(self._pending) > PENDING_MAX:
                    del self._pending[next(iter(self._pending))]
            case Result():
                called = self._pending.pop(step.id, None)
                if called is not None and not step.process:
                    self._result(called[1], step)

    def _result(self, call: Call, result: Result) -> None:
        if call.command:
            self._command(call.command, result)
        elif call.act in EDITS and result.ok is not False and not result.exit:
            changes = call.changes or tuple(Change(path) for path in call.paths)
            self._note(*(Mend(self.steps, self._short(one.path), one.old, one.new) for one in changes))

    def _note(self, *done: Mend) -> None:
        self._done += done
        del self._done[:-DONE_MAX]

    def _short(self, path: str) -> str:
        """The path within the folder of the run."""
        return path[len(self._folder) + 1 :] if path.startswith(f"{self._folder}/") else path

    def _command(self, line: str, result: Result) -> None:
        names = check_names(line) or _commands(line)
        for name in names:
            became = outcome(line, result.ok, result.exit, result.text, name)
            program, targets = _taken_apart(name)
            if became == "failed":
                self._fails(
                    _Failing(name, program, targets, line, result.text, signatures(result.text), self.steps)
                )
            elif became == "ok":
                self._passes(program, targets, line)
        whole = outcome(line, result.ok, result.exit, result.text)
        if whole == "failed":
            return
        self._note(*(Mend(self.steps, self._short(path)) for path in written_files(line)))
        kind = parse_shell(line).kind
        if kind in _MENDING and not check_names(line):
            self._note(Mend(self.steps, command=shown(line)))

    def _fails(self, new: _Failing) -> None:
        """A failure: again the same, or another one, which shows that those before it are gone for now."""
        for one in self._failing:
            if not _runs_again(one, new.program, new.targets):
                continue
            if set(one.signatures) & set(new.signatures):
                new.count += one.count
                self._failing.remove(one)
                break
            one.ended, one.line_then = one.ended or self.steps, one.line_then or new.line
        self._failing.append(new)
        del self._failing[:-LESSONS_MAX]

    def _passes(self, program: str, targets: frozenset[str], line: str) -> None:
        for one in list(self._failing):
            if not _runs_again(one, program, targets):
                continue
            self._failing.remove(one)
            ended, line_then = one.ended or self.steps, one.line_then or line
            done = [mend for mend in self._done if one.at < mend.at < ended]
            variables = _variables(line_then) - _variables(one.line)
            if not done and not variables and _same_line(one.line, line_then):
                self.flaky[one.name] = self.flaky.get(one.name, 0) + 1
            elif lesson := _lesson(one, done, variables, line_then, ended, self.steps):
                self.lessons.append(lesson)
                del self.lessons[:-LESSONS_MAX]


def _commands(line: str) -> tuple[str, ...]:
    """The one command of a line that is no check and does more than look."""
    told = [part for part in parts(line) if part.joint != "|" and not is_silent(part.text)]
    worth = [bare(part.text) for part in told if parse_shell(part.text).kind not in ("look", "vcs")]
    return (" ".join(worth[0].split()),) if len(worth) == 1 and len(worth[0]) <= 300 else ()


def _taken_apart(name: str) -> tuple[str, frozenset[str]]:
    """The program with the words that say what it does, and the files that it is run on."""
    words = [word.strip("'\"") for word in name.split() if not word.startswith("-")]
    targets = frozenset(
        word.split("::")[0].removeprefix("./") for word in words[1:] if _TARGET.fullmatch(word)
    )
    kept = [word for word in words[1:] if not _TARGET.fullmatch(word) and not word.isdecimal()]
    head = words[0].rsplit("/", 1)[-1] if words and "bin/" in words[0] else "".join(words[:1])
    return " ".join([head, *kept]), targets


def _runs_again(failing: _Failing, program: str, targets: frozenset[str]) -> bool:
    """Whether a command runs what failed again: the same program, on all of it or more. A folder without a
    slash, as in ``pytest tests``, reads like a word of the program."""
    folders = program.removeprefix(failing.program).split() if program.startswith(failing.program) else []
    if folders:
        return bool(failing.targets) and _covers(targets | frozenset(folders), failing.targets)
    return program == failing.program and _covers(targets, failing.targets)


def _covers(wider: frozenset[str], narrower: frozenset[str]) -> bool:
    """Whether a run on some targets also ran all of the others; one without any runs everything."""
    if not wider:
        return True
    return bool(narrower) and all(
        any(target == one or target.startswith(f"{one.rstrip('/')}/") for one in wider) for target in narrower
    )


def _variables(line: str) -> set[str]:
    """The names of the variables that a line sets."""
    return set(_VARIABLE.findall(line))


def _same_line(one: str, other: str) -> bool:
    return shown(one) == shown(other)


def _lesson(
    failing: _Failing, done: list[Mend], variables: set[str], line: str, ended: int, passed: int
) -> Lesson | None:
    """The lesson of a failure, or None if it cannot be told what mended it."""
    told = [line for line in telling(failing.output, failed=True) if of_lines([line])]
    error = " / ".join(dict.fromkeys(" ".join(line.split()) for line in told))[:WHY_CHARS]
    edits = _told_edits([mend for mend in done if mend.path], failing.output)
    if not error or not failing.signatures or edits is None:
        return None
    if gives_orders(error):
        return None
    approach, at = _approach(edits, done, variables, failing.line, line)
    if not approach:
        return None
    files = tuple(dict.fromkeys(mend.path for mend in edits))
    return Lesson(
        _shown(failing.line), error, failing.signatures, approach, failing.at, at or (ended,), passed, files,
        failing.count,
    )  # fmt: skip


def _shown(line: str) -> str:
    return shown(line)[:160]


def _told_edits(edits: list[Mend], output: str) -> list[Mend] | None:
    """The edits that a lesson tells: in files that the error names, else all; None if these are too many."""
    named = [one for one in edits if one.path.rsplit("/", 1)[-1] in output]
    chosen = named or edits
    if len({one.path for one in chosen}) > FILES_MAX:
        return None
    paths = list(dict.fromkeys(one.path for one in reversed(chosen)))[:FILES_TOLD_MAX]
    return [one for one in chosen if one.path in paths]


def _approach(
    edits: list[Mend], done: list[Mend], variables: set[str], before: str, line: str
) -> tuple[str, tuple[int, ...]]:
    """What mended it, in words, and the steps at which that was done."""
    words, at = [], []
    if variables:
        words.append(f"running it with {', '.join(sorted(variables))} set")
    ran = [mend for mend in done if mend.command and not gives_orders(mend.command)]
    setups = [mend for mend in ran if parse_shell(mend.command).kind == "change"]
    if setups or not edits:
        chosen = (setups or ran)[-2:]
        words += [f"`{mend.command[:LINE_CHARS]}`" for mend in chosen]
        at += [mend.at for mend in chosen]
    for path in dict.fromkeys(one.path for one in edits):
        own = [one for one in edits if one.path == path]
        told = next(filter(None, (_change_words(one) for one in reversed(own))), "")
        words.append(f"{path}{f' ({told})' if told else ''}")
        at += [one.at for one in own]
    if not words and not _same_line(before, line):
        words.append(f"running it as `{_shown(line)}`")
    return "; ".join(words)[:APPROACH_CHARS], tuple(sorted(set(at)))[-12:]


def _change_words(mend: Mend) -> str:
    """What an edit changed: the first lines that differ."""
    old, new = _lines(mend.old), _lines(mend.new)
    gone = _telling_line([line for line in old if line not in new])
    come = _telling_line([line for line in new if line not in old])
    if gives_orders(gone) or gives_orders(come):
        return ""
    if gone and come:
        return f"`{gone}` became `{come}`"
    return f"added `{come}`" if come and mend.old else f"removed `{gone}`" if gone else ""


def _telling_line(lines: list[str]) -> str:
    """The first line that is not only a comment, if there is one."""
    return next((line for line in lines if not line.startswith(_COMMENTS)), "".join(lines[:1]))


def _lines(text: str) -> list[str]:
    lines = (re.sub(r"\s+", " ", line).strip().replace("`", "'") for line in text.split("\n"))
    return [line[:LINE_CHARS] for line in lines if _CODE.search(line)]
