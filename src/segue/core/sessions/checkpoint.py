"""A checkpoint: any number of changes to a session in one commit and, with a name, a state to rewind to.

The command line, the library, the MCP tools, REST and the API of Aegis Memory all translate their input into
a ``Checkpoint``; ``commands`` then gives the same commands in the same order for all of them.
"""

from __future__ import annotations

from ...errors import UsageError
from ..base.text import clean_name
from ..base.values import Value
from . import commands as do
from .commands import Command

THREAD_STATUS = "in_progress"


class Checkpoint(Value):
    """The changes to make. A text that is None stays as it is."""

    done: tuple[str, ...] = ()
    """Items, by their text or by their number, as in ``#3``."""
    begin: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    block: tuple[tuple[str, str], ...] = ()
    """Pairs of an item and a reason."""
    unblock: tuple[str, ...] = ()
    drop: tuple[tuple[str, str], ...] = ()
    """Pairs of an item and a reason."""
    stay: bool = False
    """Do not start the next item in place of a blocked one."""
    new: bool = False
    """Take names that are near to planned ones as new items."""
    note: str | None = None
    decide: tuple[tuple[str, str], ...] = ()
    """Pairs of a choice and the reason for it."""
    ask: tuple[str, ...] = ()
    answer: tuple[tuple[str, str], ...] = ()
    """Pairs of a question and its answer."""
    thread: tuple[tuple[str, str], ...] = ()
    """Pairs of a topic and a status; an empty status means that it is in progress."""
    focus: str | None = None
    """``FILE[:POSITION]``."""
    learn: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    solved: tuple[tuple[str, str], ...] = ()
    """Pairs of an error and its solution."""
    summary: str | None = None
    goal: str | None = None
    name: str | None = None


def commands(checkpoint: Checkpoint) -> list[Command]:
    """The commands that make a checkpoint.

    Raises UsageError if it is empty or one of its texts is not valid.
    """
    result: list[Command] = [*_item_commands(checkpoint), *_knowledge_commands(checkpoint)]
    if checkpoint.focus is not None:
        file, position = focus_in(checkpoint.focus)
        result.append(do.Focus(file=file, position=position))
    if checkpoint.summary is not None or checkpoint.goal is not None:
        if checkpoint.goal is not None and not checkpoint.goal.strip():
            raise UsageError("the goal is empty", hint="say in a few words what you want to achieve")
        result.append(do.Describe(goal=checkpoint.goal, summary=checkpoint.summary))
    if checkpoint.note is not None:
        result.append(do.Note(checkpoint.note))
    if checkpoint.name is not None:
        name = clean_name(checkpoint.name, what="checkpoint's name")
        result.append(do.Mark(name, checkpoint.note or ""))
    if not result:
        raise UsageError(
            "the checkpoint is empty",
            hint="say what is done, begun, blocked or learnt, or give a name; see `segue checkpoint --help`",
        )
    return result


def _item_commands(checkpoint: Checkpoint) -> list[Command]:
    is_quiet, new = bool(checkpoint.done) or bool(checkpoint.note), checkpoint.new
    return [
        *(do.Drop(item, reason, new) for item, reason in checkpoint.drop),
        *(do.Add(item) for item in checkpoint.add),
        *(do.Done(item, new) for item in checkpoint.done),
        *(do.Unblock(item) for item in checkpoint.unblock),
        *(do.Block(item, reason, checkpoint.stay, new) for item, reason in checkpoint.block),
        *(do.Begin(item, is_quiet, new) for item in checkpoint.begin),
    ]


def _knowledge_commands(checkpoint: Checkpoint) -> list[Command]:
    return [
        *(do.Decide(text, why) for text, why in checkpoint.decide),
        *(do.Ask(text) for text in checkpoint.ask),
        *(do.Answer(question, answer) for question, answer in checkpoint.answer),
        *(do.Thread(topic, status or THREAD_STATUS) for topic, status in checkpoint.thread),
        *(do.Learn(text) for text in checkpoint.learn),
        *(do.Fail(text) for text in checkpoint.error),
        *(do.Solve(error, solution) for error, solution in checkpoint.solved),
    ]


def focus_in(text: str) -> tuple[str, str]:
    """The file and the position in ``FILE[:POSITION]``; the position is a line or the name of a function.

    A colon that is part of the path does not separate them.
    """
    file, colon, position = text.rpartition(":")
    return (file, position) if colon and file and not set(position) & set("/\\") else (text, "")
