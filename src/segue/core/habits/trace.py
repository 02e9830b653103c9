"""The trace of a run: its edits and commands in their order, in bounded space; all that habits are made of.

A command is told by its form: the words that say what it does, without the files that it is run on, so that
``cd api && FOO=1 npx jest src/a.test.ts`` and ``npx jest src/b.test.ts`` are the same command.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from ..base.lazy import regex
from ..language.rules import rules_in
from ..language.sentences import flat
from ..runs.command_lines import bare, is_silent, parts, written_files
from ..runs.model import RunDigest, TrailStep
from ..runs.outcomes import outcome
from ..runs.shell_commands import kind_of, parse_shell
from ..runs.steps import EDITS, Call, Prompt, Result, Start, Step

MOVES_MAX, RULES_MAX, PENDING_MAX = 400, 12, 64
RULE_CHARS, FORM_CHARS, PATH_CHARS = 240, 80, 300
FORMAT = 2
_TARGET = regex(r"[\w@~.+-]*[/\\.][\w@~./\\+\[\]*:-]*|\d+|[0-9a-f]{7,40}|[A-Z]{2,}-\d+")
CHECKS = ("test", "check", "build")
_VERBS = ("check", "format", "run", "fix", "watch", "report", "lint")


class Move(msgspec.Struct, array_like=True, gc=False):
    """An edit, a reading or a command."""

    kind: str
    """edit, read or run"""
    what: str
    """The path within the project, or the form of the command."""
    group: str = ""
    """Of a command, its kind: test, check, build, change, run, vcs or other."""
    ok: bool | None = None
    seconds: float = 0.0
    joined: bool = False
    """Whether it stands in one line with the command before it."""


class RunTrace(msgspec.Struct, omit_defaults=True):
    """What habits are made of, of one run."""

    began: float = 0.0
    moves: list[Move] = []
    flaky: dict[str, int] = {}
    rules: list[str] = []
    """What the user said that should always or never be so."""
    format: int = FORMAT


class TraceTaker:
    """Takes the steps of a run; ``trace`` is what they came to."""

    def __init__(self) -> None:
        self.trace = RunTrace()
        self._folder = ""
        self._pending: dict[str, Call] = {}

    def take(self, step: Step) -> None:
        """Add a step."""
        if step.at and not self.trace.began:
            self.trace.began = step.at
        match step:
            case Start(cwd=cwd) if cwd and not self._folder:
                self._folder = cwd.replace("\\", "/").rstrip("/")
            case Prompt(text=text):
                rules = [*self.trace.rules, *(flat(rule)[:RULE_CHARS] for rule in rules_in(text))]
                self.trace.rules = list(dict.fromkeys(rules))[-RULES_MAX:]
            case Call() if step.id:
                self._pending[step.id] = step
                if len(self._pending) > PENDING_MAX:
                    del self._pending[next(iter(self._pending))]
            case Result():
                call = self._pending.pop(step.id, None)
                if call is not None:
                    self._done(call, step)

    def _done(self, call: Call, result: Result) -> None:
        if call.command:
            self._ran(call, result)
        elif result.ok is not False and (call.act in EDITS or call.act == "read"):
            kind = "read" if call.act == "read" else "edit"
            named = [change.path for change in call.changes] or list(call.paths)
            for path in dict.fromkeys(named[:8]):
                self._add(Move(kind, self._within(path)))

    def _ran(self, call: Call, result: Result) -> None:
        seconds = round(result.at - call.at, 1) if result.at and call.at else 0.0
        made = list(command_moves(call.command))
        for number, (form, group, text) in enumerate(made):
            became = outcome(call.command, result.ok, result.exit, result.text, text)
            ok = {"ok": True, "failed": False}.get(became)
            alone = seconds if len(made) == 1 and not result.process else 0.0
            self._add(Move("run", form, group, ok, alone, number > 0))
        if result.ok is not False:
            for path in written_files(call.command):
                self._add(Move("edit", self._within(path)))

    def _within(self, path: str) -> str:
        """The path within the project; empty for one that is outside of it."""
        path = path.replace("\\", "/")
        if self._folder and path.startswith(f"{self._folder}/"):
            return path[len(self._folder) + 1 :]
        return "" if path.startswith(("/", "~", "../")) or path[1:2] == ":" else path.removeprefix("./")

    def _add(self, move: Move) -> None:
        if not move.what or len(move.what) > PATH_CHARS or "\n" in move.what:
            return
        moves = self.trace.moves
        if move.kind == "read" and moves and moves[-1] == move:
            return
        moves.append(move)
        if len(moves) > MOVES_MAX * 2:
            del moves[:-MOVES_MAX]


def trace_of(steps: Iterable[Step]) -> RunTrace:
    """The trace of a run."""
    from ..lessons.mended import MendedFailures  # a brief makes no traces

    taker, mended = TraceTaker(), MendedFailures()
    for step in steps:
        taker.take(step)
        mended.take(step)
    taker.trace.moves = taker.trace.moves[-MOVES_MAX:]
    for name, count in mended.flaky.items():
        form = form_of(name)[0]
        taker.trace.flaky[form] = taker.trace.flaky.get(form, 0) + count
    return taker.trace


def trace_of_digest(digest: RunDigest) -> RunTrace:
    """The trace of the last steps of a run, from its digest: without times, and without the steps before."""
    said = [flat(rule)[:RULE_CHARS] for prompt in digest.prompts for rule in rules_in(prompt.text)]
    moves = moves_of_trail(digest.trail, digest.cwd)
    return RunTrace(digest.began, moves[-MOVES_MAX:], rules=list(dict.fromkeys(said))[-RULES_MAX:])


def moves_of_trail(trail: Sequence[TrailStep], folder: str) -> list[Move]:
    """The last edits and commands of a run, from its digest."""
    taker = TraceTaker()
    taker.take(Start(0.0, cwd=folder))
    for step in trail:
        if step.id and step.done:
            acts = step.kind if step.kind in ("read", *EDITS) else "run" if step.command else "other"
            call = Call(0.0, step.id, step.tool, acts, "", step.command, step.paths, changes=step.changes)
            taker.take(call)
            taker.take(Result(0.0, step.id, step.ok, step.exit, step.output))
    return taker.trace.moves


def command_moves(line: str) -> Iterable[tuple[str, str, str]]:
    """The form, the group and the text of each command of a line that does more than look."""
    for part in parts(line)[:12]:
        if part.joint == "|" or is_silent(part.text):
            continue
        form, group = form_of(part.text)
        if form and group != "look":
            yield form, group, " ".join(bare(part.text).split())


@lru_cache(maxsize=1024)
def form_of(command: str) -> tuple[str, str]:
    """The form of a command, and its kind; an empty form if nothing in it is worth telling."""
    parsed = parse_shell(command)
    words = parsed.short.split()
    if not words:
        return "", parsed.kind
    own = kind_of(words[0])
    if words[0] == "git":
        kept = words[:2]
    elif own in ("test", "check"):  # what follows is a verb, or what it is run on
        kept = [words[0], *(word for word in words[1:2] if word in _VERBS)]
    elif parsed.kind in CHECKS or len(words) > 2:
        kept = [words[0], *(word for word in words[1:] if not _TARGET.fullmatch(word))]
    else:
        kept = words
    return " ".join(kept)[:FORM_CHARS], parsed.kind
