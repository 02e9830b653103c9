"""The texts of a run that can be quoted where there is room for more than a brief.

A digest has what a brief needs; ``RunTexts`` has the texts themselves, but only in memory, while something is
composed from them. Its size is bounded, so a transcript of 200 MB costs no more than one of 8 MB: the newest
texts are kept, and what users and agents said is kept longer than the output of tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ..language.sentences import MARK
from .brief_text import MANIFEST, split_brief
from .steps import Call, Change, Compact, Prompt, Recap, Report, Result, Rewind, Say, Step

BLOCK_CHARS = 60_000
TOOLS_CHARS, WORDS_CHARS = 3_000_000, 600_000
OPEN_MAX, HEAD_CHARS = 400, 96
SAID = frozenset({"prompt", "say", "report", "summary", "recap"})


class RunText(msgspec.Struct, gc=False):
    """A text from a run."""

    kind: str  # prompt, say, report, summary, recap, result, failure, diff, or the act of a call
    head: str  # the file or the command that it belongs to
    text: str
    at: int
    path: str = ""  # the head, if that is a file


class RunTexts:
    """The texts of a run in their order, within bounds."""

    def __init__(self) -> None:
        self.blocks: list[RunText] = []
        self.steps = 0
        self._chars = 0
        self._calls: dict[str, tuple[str, str, str]] = {}

    def take(self, step: Step) -> None:
        """Add the text of a step."""
        self.steps += 1
        handler = _HANDLERS.get(type(step))
        if handler is not None:
            handler(self, step)

    def add(self, kind: str, head: str, text: str, path: str = "") -> None:
        """Add a text. When there are too many, the oldest are dropped."""
        if not text.strip():
            return
        if len(text) > BLOCK_CHARS:
            kept = text[:BLOCK_CHARS].rpartition("\n")[0] or text[:BLOCK_CHARS]
            text = f"{kept}\n… ({len(text) - len(kept):,} more characters)"
        self.blocks.append(RunText(kind, head, text, self.steps, path))
        self._chars += len(text)
        if self._chars > 2 * (TOOLS_CHARS + WORDS_CHARS):
            self.blocks = _newest(self.blocks)
            self._chars = sum(len(block.text) for block in self.blocks)

    def remember(self, call: Call, head: str, path: str) -> None:
        """Remember what a call is about until its result arrives."""
        self._calls[call.id] = (call.act, head, path)
        if len(self._calls) > OPEN_MAX:
            del self._calls[next(iter(self._calls))]

    def answered(self, id: str) -> tuple[str, str, str]:
        """The act, the head and the path of the call with this id."""
        return self._calls.pop(id, ("other", "", ""))


def gather(steps: Iterable[Step]) -> RunTexts:
    """The texts of these steps."""
    texts = RunTexts()
    for step in steps:
        texts.take(step)
    return texts


def _newest(blocks: list[RunText]) -> list[RunText]:
    """The newest blocks, with separate bounds for what was said and for the output of tools."""
    left = {True: WORDS_CHARS, False: TOOLS_CHARS}
    result = []
    for block in reversed(blocks):
        was_said = block.kind in SAID
        if left[was_said] > 0:
            left[was_said] -= len(block.text)
            result.append(block)
    return result[::-1]


def _call(texts: RunTexts, step: Call) -> None:
    path = step.paths[0] if step.paths else ""
    command = step.command.strip()
    head = path or command.split("\n", 1)[0] or step.note or step.tool
    texts.remember(step, head, path)
    if step.act == "plan":
        return
    if command and step.act == "run":
        texts.add("run", head, command if command != head or len(command) > HEAD_CHARS else "", path)
    elif step.changes:
        for change in step.changes:
            texts.add(change.how, change.path, change_text(change), change.path)
    else:
        text = step.text.removeprefix(path).lstrip("\n") if path else step.text
        texts.add(step.act, head, text, path)


def change_text(change: Change) -> str:
    """A change as lines: of a new file its text, else what is removed and added, with a line around it."""
    if change.how == "create":
        return change.new
    if change.how == "delete":
        return "(deleted)"
    old, new = change.old.split("\n"), change.new.split("\n")
    start = end = 0
    shorter = min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    before, after = new[max(0, start - 1) : start], new[len(new) - end :][:1]
    lines = [f" {line}" for line in before]
    lines += [f"-{line}" for line in old[start : len(old) - end] if line]
    lines += [f"+{line}" for line in new[start : len(new) - end] if line]
    return "\n".join([*lines, *(f" {line}" for line in after)])


def _result(texts: RunTexts, step: Result) -> None:
    act, head, path = texts.answered(step.id)
    failed = step.ok is False or bool(step.exit)
    if act == "plan" or (act in ("edit", "create", "delete") and not failed):
        return  # an editor's success message adds nothing to the edit itself
    text = step.text if step.text.strip() or act != "run" else "(no output)"
    texts.add("failure" if failed else "report" if act == "agent" else "result", head, text, path)


def _rewind(texts: RunTexts, step: Rewind) -> None:
    """Remove what was said and failed since the withdrawn prompts, but not what happened to files."""
    blocks = texts.blocks
    if step.text:
        withdrawn = step.text.strip()
        texts.blocks = [b for b in blocks if b.kind != "prompt" or b.text.strip() != withdrawn]
        return
    prompts = [at for at, block in enumerate(blocks) if block.kind == "prompt"]
    if step.prompts > 0 and prompts:
        at = prompts[-min(step.prompts, len(prompts))]
        blocks[at:] = [b for b in blocks[at:] if b.kind not in SAID and b.kind != "failure"]


def _compact(texts: RunTexts, step: Compact) -> None:
    texts.add("summary", "", step.summary)


def _said(kind: str) -> Callable[[RunTexts, Prompt | Say | Report | Recap], None]:
    def take(texts: RunTexts, step: Prompt | Say | Report | Recap) -> None:
        text = step.text
        if kind == "prompt" and (MARK in text or MANIFEST in text):
            text = split_brief(text)[1]  # our brief is not part of the user's words
        texts.add(kind, "", text)

    return take


_HANDLERS: dict[type, Callable[[RunTexts, Any], None]] = {
    Prompt: _said("prompt"),
    Say: _said("say"),
    Report: _said("report"),
    Recap: _said("recap"),
    Call: _call,
    Result: _result,
    Compact: _compact,
    Rewind: _rewind,
}
