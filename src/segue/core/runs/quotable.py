"""What of a run may be quoted where there is room for more than a brief: its texts, newest kept.

A digest keeps what a brief needs; this keeps the texts themselves, and only for as long as something is
composed from them: nothing of it is stored. It is bounded, so a transcript of 200 MB costs no more than one
of 8 MB: what users and agents said stays longer than what tools gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from .inherited import MANIFEST, parted
from .sentences import MARK
from .steps import Call, Compact, Prompt, Recap, Report, Result, Rewind, Say, Step

BLOCK_CHARS = 60_000
TOOLS_CHARS, WORDS_CHARS = 3_000_000, 600_000
OPEN_MAX = 400
SAID = frozenset({"prompt", "say", "report", "summary", "recap"})


class RunText(msgspec.Struct, gc=False):
    """One text of a run."""

    kind: str  # prompt, say, report, summary, recap, result, failure, or the act of a call
    head: str  # the file or the command that it is about
    text: str
    at: int
    path: str = ""  # where the head is a file


class RunTexts:
    """The texts of a run, in order."""

    def __init__(self) -> None:
        self.blocks: list[RunText] = []
        self.steps = 0
        self._chars = 0
        self._calls: dict[str, tuple[str, str, str]] = {}

    def take(self, step: Step) -> None:
        """Add a step's text."""
        self.steps += 1
        taker = _TAKERS.get(type(step))
        if taker is not None:
            taker(self, step)

    def add(self, kind: str, head: str, text: str, path: str = "") -> None:
        """Add a text; when there are too many, the oldest go."""
        if not text.strip():
            return
        if len(text) > BLOCK_CHARS:
            text = text[:BLOCK_CHARS].rpartition("\n")[0] or ""
        self.blocks.append(RunText(kind, head, text, self.steps, path))
        self._chars += len(text)
        if self._chars > 2 * (TOOLS_CHARS + WORDS_CHARS):
            self.blocks = kept(self.blocks)
            self._chars = sum(len(block.text) for block in self.blocks)

    def remember(self, call: Call, head: str, path: str) -> None:
        """Keep what a call was about for when its result comes."""
        self._calls[call.id] = (call.act, head, path)
        if len(self._calls) > OPEN_MAX:
            del self._calls[next(iter(self._calls))]

    def answered(self, id: str) -> tuple[str, str, str]:
        """(act, head, path) of the call that this is the result of."""
        return self._calls.pop(id, ("other", "", ""))


def gather(steps: Iterable[Step]) -> RunTexts:
    """The material of these steps."""
    material = RunTexts()
    for step in steps:
        material.take(step)
    return material


def kept(blocks: list[RunText]) -> list[RunText]:
    """The newest blocks, what was said and what tools gave each within its bound."""
    left = {True: WORDS_CHARS, False: TOOLS_CHARS}
    found = []
    for block in reversed(blocks):
        said = block.kind in SAID
        if left[said] > 0:
            left[said] -= len(block.text)
            found.append(block)
    return found[::-1]


def _call(material: RunTexts, step: Call) -> None:
    path = step.paths[0] if step.paths else ""
    command = step.command.strip()
    head = path or command.split("\n", 1)[0] or step.note or step.tool
    material.remember(step, head, path)
    if step.act == "plan":
        return
    if command and step.act == "run":
        text = f"{step.note}\n{command}" if step.note else command
    else:
        text = step.text.removeprefix(path).lstrip("\n") if path else step.text
    material.add(step.act, head, text, path)


def _result(material: RunTexts, step: Result) -> None:
    act, head, path = material.answered(step.id)
    failed = step.ok is False or bool(step.exit)
    if act == "plan" or (act in ("edit", "create") and not failed):
        return  # an editor's "done" says nothing that the edit does not
    material.add("failure" if failed else "report" if act == "agent" else "result", head, step.text, path)


def _rewind(material: RunTexts, step: Rewind) -> None:
    """What was said since the prompts that were taken back was not said; what happened to files did."""
    if step.text:
        gone = step.text.strip()
        material.blocks = [one for one in material.blocks if one.kind != "prompt" or one.text.strip() != gone]
        return
    asked = [at for at, one in enumerate(material.blocks) if one.kind == "prompt"]
    if step.prompts > 0 and asked:
        at = asked[-min(step.prompts, len(asked))]
        behind = [one for one in material.blocks[at:] if one.kind not in SAID and one.kind != "failure"]
        material.blocks[at:] = behind


def _compact(material: RunTexts, step: Compact) -> None:
    material.add("summary", "", step.summary)


def _said(kind: str) -> Callable[[RunTexts, Prompt | Say | Report | Recap], None]:
    def take(material: RunTexts, step: Prompt | Say | Report | Recap) -> None:
        text = step.text
        if kind == "prompt" and (MARK in text or MANIFEST in text):
            text = parted(text)[1]  # a brief of ours is not the user's words
        material.add(kind, "", text)

    return take


_TAKERS: dict[type, Callable[[RunTexts, Any], None]] = {
    Prompt: _said("prompt"),
    Say: _said("say"),
    Report: _said("report"),
    Recap: _said("recap"),
    Call: _call,
    Result: _result,
    Compact: _compact,
    Rewind: _rewind,
}
