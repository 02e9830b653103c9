"""What is known of a run: the digest of its steps, as values. ``digest.py`` folds steps into it."""

from __future__ import annotations

from typing import Any

import msgspec

from .inherited import Inherited


class SaidText(msgspec.Struct, array_like=True, gc=False):
    """A text and when it was said, by the count of steps."""

    text: str
    at: int


class FileUse(msgspec.Struct, array_like=True, gc=False):
    """What was done to a file."""

    first: int
    last: int
    reads: int = 0
    edits: int = 0
    edited: int = 0  # when last
    created: bool = False
    deleted: bool = False
    named: int = 0  # how often a tool was given it, not a shell


class CommandUse(msgspec.Struct, array_like=True, gc=False):
    """What became of a command, by its short form."""

    kind: str
    last: int
    runs: int = 0
    failed: int = 0
    ok: bool | None = None  # of the last one that ended
    line: str = ""  # the last one as it was given


class Failure(msgspec.Struct, array_like=True, gc=False):
    """Something that failed, and the lines that say why."""

    what: str
    why: str
    at: int
    count: int = 1
    solved: int = 0  # when; 0 while it is open


class Open(msgspec.Struct, array_like=True, gc=False):
    """A call without its result."""

    at: int
    tool: str
    act: str
    what: str  # short command, path, or the agent's note
    line: str = ""
    paths: tuple[str, ...] = ()
    subject: str = ""  # of the commit that it makes


class RecentStep(msgspec.Struct, array_like=True, gc=False):
    """One of the last steps, for the words and names in it."""

    kind: str  # prompt, say, result, report, or the act of a call
    text: str
    path: str = ""


class RunDigest(msgspec.Struct, omit_defaults=True):
    """What a run was about, did and left."""

    steps: int = 0
    calls: int = 0
    chars: int = 0  # of all texts: a measure of what was condensed
    began: float = 0.0
    last: float = 0.0
    native: str = ""
    parent: str = ""
    cwd: str = ""
    branch: str = ""
    head: str = ""
    version: str = ""
    model: str = ""
    title: str = ""
    stretches: int = 0  # starts, resumes, forks
    inherited: Inherited = Inherited()
    first_prompt: SaidText | None = None
    prompts: list[SaidText] = []
    answers: str = ""  # what the last prompt answers, where it does not say so itself
    standing: list[SaidText] = []
    plan: list[list[Any]] = []  # [text, state, key, changed]
    planned: int = 0
    plans: list[list[Any]] = []  # [steps, planned, plan] at earlier prompts
    sketch: list[str] = []  # open lines of a plan that was only written down
    sketch_done: list[str] = []
    sketched: int = 0
    numbered: bool = False  # by numbers, which do not say what is done
    files: dict[str, FileUse] = {}
    commands: dict[str, CommandUse] = {}
    pending: dict[str, Open] = {}
    failures: dict[str, Failure] = {}
    solved: list[Failure] = []
    commits: list[SaidText] = []
    decided: list[SaidText] = []  # questions that the user answered, with the answers
    says: list[SaidText] = []
    notes: list[SaidText] = []  # the agent's own words for its commands
    reports: list[SaidText] = []
    tail: list[RecentStep] = []
    summary: SaidText | None = None
    compactions: int = 0
    recaps: list[SaidText] = []
    interrupted: SaidText | None = None
    refused: Failure | None = None  # the last call that the user did not want, and why
    fault: SaidText | None = None
    faults: int = 0
    context: int = 0  # tokens in the window at the last response
    context_max: int = 0
    window: int = 0
    output: int = 0
    cost: float = 0.0
    usage_key: str = ""
    ended: SaidText | None = None  # how the last turn ended, and when
