"""What is searched: the texts of a run's steps, each of one kind, with words that the index can split."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits
from unicodedata import normalize

from ..base.lazy import regex
from ..base.stem import stem
from ..base.values import Value
from ..runs.steps import (
    Call,
    Compact,
    Fault,
    Plan,
    Prompt,
    Recap,
    Report,
    Result,
    Say,
    Settled,
    Step,
    Thought,
)
from .kinds import Kind

TEXT_CHARS_MAX = 65_536
"""More of one text is not searched: of a longer one the beginning and the end are."""
_END_CHARS = 16_384
_KINDS_OF_BYTES = bytes(
    ord("a" if chr(byte) in ascii_lowercase + digits else "A" if chr(byte) in ascii_uppercase else " ")
    for byte in range(256)
)
"""For each byte whether it is a small letter or a digit, a capital, or anything else."""
PLAN_MARKS = {"done": "✓", "active": "▸", "pending": "○", "dropped": "✗"}
_PARTS = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = regex(r"[^\W_]+")
_MARKS = regex("[\u0300-\u036f]")
WORD_CHARS_MAX = 256
CJK_LETTER = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_CJK = regex(CJK_LETTER)


class SearchText(Value, gc=False):
    """A text that can be found."""

    step: int
    """The number of the step in its run, from 1; of a session's text, its place there."""
    kind: Kind
    text: str
    at: float = 0.0
    failed: bool = False
    """Whether it is of a call that failed."""


class StepTexts:
    """Collects the texts of a run's steps, in order."""

    def __init__(self, steps: int = 0) -> None:
        self.steps = steps
        """How many steps there were until now."""
        self.texts: list[SearchText] = []
        self._calls: dict[str, int] = {}
        """Where the text of a call without a result stands."""
        self._planned = -1
        """Where the text of a call stands that set the plan, if that was the last one."""

    def add(self, step: Step) -> None:
        """Take the texts of the next step."""
        self.steps += 1
        if isinstance(step, Plan) and self._planned >= 0 and (plan := _plan(step)):
            call = self.texts[self._planned]  # with the plan in the place of the arguments that say it
            self.texts[self._planned] = SearchText(call.step, "item", shortened(plan), call.at)
        for kind, text in _texts(step):
            if text and not text.isspace():
                failed = isinstance(step, Result | Settled) and _failed(step)
                self.texts.append(SearchText(self.steps, kind, shortened(text), step.at, failed))
                if isinstance(step, Call) and kind == "command":
                    self._calls[step.id] = len(self.texts) - 1
                    self._planned = len(self.texts) - 1 if step.act == "plan" else -1
        if isinstance(step, Result):
            at = self._calls.pop(step.id, -1)
            if at >= 0 and _failed(step):
                call = self.texts[at]
                self.texts[at] = SearchText(call.step, call.kind, call.text, call.at, True)


def _texts(step: Step) -> Iterator[tuple[Kind, str]]:
    match step:
        case Prompt():
            yield "prompt", step.text
        case Say() | Recap() | Report():
            yield "answer", step.text
        case Compact():
            yield "answer", step.summary
        case Thought():
            yield "thought", step.text
        case Call() if step.changes:
            for change in step.changes:
                yield "file", f"{change.path}\n{change.new}"
        case Call():
            yield "command", "\n".join(filter(None, (step.command or _called(step), step.note)))
        case Result() | Settled() | Fault():
            yield "output", step.text


def _called(call: Call) -> str:
    """The name of a tool that is no shell, and its arguments."""
    return f"{call.tool}: {call.text}" if call.text else call.tool


def _plan(plan: Plan) -> str:
    return "\n".join(f"{PLAN_MARKS[item.state or 'pending']} {item.text}" for item in plan.items if item.text)


def _failed(result: Result | Settled) -> bool:
    return result.ok is False or bool(getattr(result, "exit", 0))


def shortened(text: str) -> str:
    """The text, or the beginning and the end of a long one."""
    if len(text) <= TEXT_CHARS_MAX:
        return text
    return f"{text[: TEXT_CHARS_MAX - _END_CHARS]}\n…\n{text[-_END_CHARS:]}"


def words_to_index(text: str) -> str:
    """The text as the index takes it: ``parseUserId`` is followed by its parts at the end, and letters of
    scripts without spaces stand apart."""
    if not text.isascii():
        text = _CJK.sub(r" \g<0> ", text)
    names = joined_names(text)
    return f"{text}\n{' '.join(map(parted, names))}" if names else text


def joined_names(text: str) -> list[str]:
    """The names in a text that are joined of several words, as ``parseUserId`` is."""
    body = text.encode("utf-8", "surrogatepass")
    kinds = body.translate(_KINDS_OF_BYTES)
    names: dict[bytes, None] = {}
    at = kinds.find(b"aA")
    while at >= 0:
        end = kinds.find(b" ", at)
        end = len(kinds) if end < 0 else end
        names[body[kinds.rfind(b" ", 0, at) + 1 : end]] = None
        at = kinds.find(b"aA", end)
    return [name.decode() for name in names]


@lru_cache(maxsize=16_384)
def parted(name: str) -> str:
    """``parse User Id`` for ``parseUserId``."""
    return " ".join(_PARTS.findall(name))


def index_words(text: str) -> list[str]:
    """The words of a text as an index without a tokenizer of its own takes them: their stems, in order."""
    folded = normalize("NFKD", words_to_index(text)).lower()
    return [stem(word[:WORD_CHARS_MAX]) for word in _WORD.findall(_MARKS.sub("", folded))]
