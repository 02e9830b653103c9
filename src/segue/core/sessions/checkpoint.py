"""A checkpoint: any mix of changes of a session, made in one commit; with a name, a state to come back to.

The one shape of it. The command line, the library, the tools of MCP, REST and the API of Aegis Memory
translate what they are given into it, and ``commands`` says what it comes to, in one order for all.
"""

from __future__ import annotations

from ...errors import UsageError
from ..base.text import clean_name
from ..base.values import Value
from . import commands as do
from .commands import Command

THREAD_STATUS = "in_progress"


class Checkpoint(Value):
    """What changed. A text that is None is left as it is."""

    done: tuple[str, ...] = ()
    """Items, by their text or their number as in ``#3``."""
    begin: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    block: tuple[tuple[str, str], ...] = ()
    """(item, reason)."""
    unblock: tuple[str, ...] = ()
    drop: tuple[tuple[str, str], ...] = ()
    """(item, reason)."""
    stay: bool = False
    """Do not begin the next item instead of a blocked one."""
    note: str | None = None
    decide: tuple[tuple[str, str], ...] = ()
    """(choice, why)."""
    ask: tuple[str, ...] = ()
    answer: tuple[tuple[str, str], ...] = ()
    """(question, answer)."""
    thread: tuple[tuple[str, str], ...] = ()
    """(topic, status); without a status it is in progress."""
    focus: str | None = None
    """``FILE[:POSITION]``."""
    learn: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    solved: tuple[tuple[str, str], ...] = ()
    """(error, solution)."""
    summary: str | None = None
    goal: str | None = None
    name: str | None = None


def commands(checkpoint: Checkpoint) -> list[Command]:
    """What a checkpoint comes to; UsageError if it says nothing, or something that cannot be."""
    wanted = checkpoint
    made: list[Command] = [*_of_items(wanted), *_of_knowledge(wanted)]
    if wanted.focus is not None:
        file, position = focus_in(wanted.focus)
        made.append(do.Focus(file=file, position=position))
    if wanted.summary is not None or wanted.goal is not None:
        if wanted.goal is not None and not wanted.goal.strip():
            raise UsageError("the goal is empty", hint="say in a few words what you want to achieve")
        made.append(do.Describe(goal=wanted.goal, summary=wanted.summary))
    if wanted.note is not None:
        made.append(do.Note(wanted.note))
    if wanted.name is not None:
        made.append(do.Mark(clean_name(wanted.name, what="checkpoint's name"), wanted.note or ""))
    if not made:
        hint = "say what is done, begun, blocked or learnt, or give a name; see `segue checkpoint --help`"
        raise UsageError("the checkpoint is empty", hint=hint)
    return made


def _of_items(wanted: Checkpoint) -> list[Command]:
    is_quiet = bool(wanted.done) or bool(wanted.note)
    return [
        *(do.Drop(item, reason) for item, reason in wanted.drop),
        *(do.Add(item) for item in wanted.add),
        *(do.Done(item) for item in wanted.done),
        *(do.Unblock(item) for item in wanted.unblock),
        *(do.Block(item, reason, wanted.stay) for item, reason in wanted.block),
        *(do.Begin(item, is_quiet) for item in wanted.begin),
    ]


def _of_knowledge(wanted: Checkpoint) -> list[Command]:
    return [
        *(do.Decide(text, why) for text, why in wanted.decide),
        *(do.Ask(text) for text in wanted.ask),
        *(do.Answer(question, answer) for question, answer in wanted.answer),
        *(do.Thread(topic, status or THREAD_STATUS) for topic, status in wanted.thread),
        *(do.Learn(text) for text in wanted.learn),
        *(do.Fail(text) for text in wanted.error),
        *(do.Solve(error, solution) for error, solution in wanted.solved),
    ]


def focus_in(text: str) -> tuple[str, str]:
    """(file, position) of ``FILE[:POSITION]``: a line, or the name of a function; a colon that belongs to the
    path itself is none."""
    file, colon, position = text.rpartition(":")
    return (file, position) if colon and file and not set(position) & set("/\\") else (text, "")
