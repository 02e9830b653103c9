"""The digest of a run: everything that Segue knows about it. ``digest.py`` folds steps into it.

Digests are stored. Wherever a field says "when", it is the number of the step.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..usage.counted_responses import RunUsage
from .steps import Change
from .tree import TreeState


class SaidText(msgspec.Struct, array_like=True, gc=False):
    """A text, and when it was said."""

    text: str
    at: int


class UserMessage(msgspec.Struct, array_like=True, gc=False):
    """What the user wrote, and when."""

    text: str
    at: int
    how: str = ""  # queued, command, refusal or inherited: see ``steps.Prompt``
    reply_to: str = ""  # the end of the agent's message before it; empty if there is none since the last one
    calls: int = 0  # how many calls there were before it


class FileUse(msgspec.Struct, array_like=True, gc=False):
    """What was done to a file."""

    first: int
    last: int
    reads: int = 0
    edits: int = 0
    edited: int = 0  # when it was last edited
    created: bool = False
    deleted: bool = False
    named: int = 0  # how often it was an argument of a tool other than a shell


class CommandUse(msgspec.Struct, array_like=True, gc=False):
    """How often a command, in its short form, ran and failed."""

    kind: str
    last: int
    runs: int = 0
    failed: int = 0
    ok: bool | None = None  # whether the last run that ended succeeded
    line: str = ""  # the whole command line of the last run


class Failure(msgspec.Struct, array_like=True, gc=False):
    """Something that failed, and the lines of output that say why."""

    what: str
    why: str
    at: int
    count: int = 1
    solved: int = 0  # when it was solved; 0 while it is open


class Open(msgspec.Struct, array_like=True, gc=False):
    """A call that has no result yet."""

    at: int
    tool: str
    act: str
    what: str  # the short command, the path, or the agent's description
    line: str = ""
    paths: tuple[str, ...] = ()
    subject: str = ""  # the subject of the commit that it makes


class TrailStep(msgspec.Struct, array_like=True, gc=False):
    """One of the last steps, in the order of time; a call with what became of it."""

    kind: str  # prompt, say, notice (something that befell the run), or the act of a call
    at: int
    text: str = ""  # the words; for a call of no shell, its arguments
    tool: str = ""
    id: str = ""
    command: str = ""
    paths: tuple[str, ...] = ()
    note: str = ""
    changes: tuple[Change, ...] = ()
    done: int = 0  # when its result came; 0 while there is none
    ok: bool | None = None
    exit: int | None = None
    output: str = ""
    process: str = ""  # what it started in the background, or what it asked for output
    refused: bool = False  # by the user, whose words are the output
    runs_on: bool = False  # whether ``process`` was still running at its result
    polls: str = ""  # of a call that asks ``process`` for output, or stops it: what started it


class ListedDocument(msgspec.Struct, array_like=True, gc=False):
    """A checklist in a document of the project, as far as it was read."""

    path: str
    items: dict[str, bool] = {}  # by their text, whether they are ticked off


class RunDigest(msgspec.Struct, omit_defaults=True):
    """What a run was about, what it did, and what it left open."""

    steps: int = 0
    calls: int = 0
    chars: int = 0  # the length of all texts, which shows how much was condensed
    began: float = 0.0
    last: float = 0.0
    native: str = ""
    parent: str = ""
    is_sub_agent: bool = False  # of the parent, not a fork of it
    cwd: str = ""
    branch: str = ""
    head: str = ""
    version: str = ""
    model: str = ""
    title: str = ""
    stretches: int = 0  # how often it was started, resumed or forked
    told: str | None = None  # the first request in the brief that it was given; None if it was given none
    first_prompt: UserMessage | None = None
    prompts: list[UserMessage] = []
    plan: list[list[Any]] = []  # rows of text, state, key, and when it changed
    planned: int = 0
    plans: list[list[Any]] = []  # rows of steps, planned and plan, as they were at earlier prompts
    settled: list[str] = []  # finished or dropped items that are no longer in the plan
    sketch: list[str] = []  # open lines of a plan that was only written down
    sketch_done: list[str] = []
    sketched: int = 0
    sketched_in: str = ""  # the document that has it, if one of the project has
    document: ListedDocument | None = (
        None  # the last checklist that was read, whether or not it is worked through
    )
    numbered: bool = False  # whether that plan is a numbered list, which does not say what is done
    files: dict[str, FileUse] = {}
    commands: dict[str, CommandUse] = {}
    pending: dict[str, Open] = {}
    failures: dict[str, Failure] = {}
    solved: list[Failure] = []
    decided: list[SaidText] = []  # questions to the user with their answers
    says: list[SaidText] = []
    reports: list[SaidText] = []
    trail: list[TrailStep] = []
    tree: TreeState = msgspec.field(default_factory=TreeState)
    thought: SaidText | None = None  # the end of the last one
    summary: SaidText | None = None
    compactions: int = 0
    recaps: list[SaidText] = []
    interrupted: SaidText | None = None
    refused: Failure | None = None  # the last call that the user rejected, and why
    fault: SaidText | None = None
    faults: int = 0
    context: int = 0  # tokens in the context window at the last response
    context_max: int = 0
    window: int = 0
    output: int = 0
    cost: float = 0.0
    usage: RunUsage = msgspec.field(default_factory=RunUsage)
    ended: SaidText | None = None  # how the last turn ended, and when
