"""The steps of a run as a conversation that people read: who said what, and what was done with what outcome.

A call stands together with its result, folded. Each part names the number of its step, as in ``RUN#STEP``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from ..base.values import count
from ..runs import steps as s
from .model import (
    Block,
    Entry,
    Folded,
    Heading,
    Listing,
    Paragraph,
    Preformatted,
    Turn,
    first_line,
    shortened,
)

SUMMARY_CHARS = 160
TEXT_CHARS_MAX = 8_000
TEXT_CHARS_MIN = 200
WHOLE_CHARS = 8_000_000
"""About how long a conversation may become before its texts are shortened further."""
STEPS_MAX = 20_000
_HOW = {"queued": " (while it worked)", "refusal": " (a refusal)", "inherited": " (before the fork)"}
_STATES = {"done": "✓", "active": "▶", "pending": "○", "dropped": "✗"}


def conversation(steps: Sequence[s.Step], agent: str) -> list[Block]:
    """The steps of a run as blocks of a document; of very many steps, the newest."""
    chars = max(TEXT_CHARS_MIN, min(TEXT_CHARS_MAX, WHOLE_CHARS // max(1, len(steps))))
    first = max(0, len(steps) - STEPS_MAX)
    blocks: list[Block] = []
    if first:
        blocks.append(Paragraph(f"{count(first, 'earlier step')} are left out."))
    return blocks + list(_Conversation(steps, agent, chars).blocks(first))


class _Conversation:
    def __init__(self, steps: Sequence[s.Step], agent: str, chars: int) -> None:
        self._steps, self._agent, self._chars = steps, agent, chars
        self._results = {step.id: step for step in steps if isinstance(step, s.Result)}
        self._calls = {step.id for step in steps if isinstance(step, s.Call)}
        self._day = ""

    def blocks(self, first: int) -> Iterator[Block]:
        for number, step in enumerate(self._steps[first:], first + 1):
            block = self._block(step, number)
            if block is None:
                continue
            day = _day(step.at)
            if day and day != self._day:
                self._day = day
                yield Heading(3, day)
            yield block

    def _aside(self, step: s.Step, number: int) -> str:
        return ", ".join(filter(None, (_clock(step.at), f"#{number}")))

    def _block(self, step: s.Step, number: int) -> Block | None:
        aside = self._aside(step, number)
        match step:
            case s.Prompt():
                how = _HOW.get(step.how, "")
                return Turn(f"You{how}", self._short(step.text), aside, "user")
            case s.Say():
                return Turn(self._agent, self._short(step.text), aside) if step.text.strip() else None
            case s.Call():
                return self._call(step, aside)
            case s.Result():
                return None if step.id in self._calls else self._fold("a result", step.text, aside)
            case s.Plan():
                entries = tuple(Entry(item.text, _STATES.get(item.state, "")) for item in step.items)
                return Folded(f"Plan: {count(len(entries), 'item')}", (Listing(entries),), aside)
            case _:
                return self._aside_step(step, aside)

    def _aside_step(self, step: s.Step, aside: str) -> Block | None:
        match step:
            case s.Thought():
                return self._fold("Thought", step.text, aside)
            case s.Given():
                return self._fold("A brief from Segue", step.text, aside)
            case s.Compact():
                return self._fold("The context window was compacted", step.summary, aside)
            case s.Recap():
                return self._fold("A recap", step.text, aside)
            case s.Report():
                return self._fold(f"The report of a sub-agent {step.name}".rstrip(), step.text, aside)
            case s.Settled():
                said = "ended" if step.ok is not False else "failed"
                return self._fold(f"A process in the background {said}", step.text, aside)
            case s.Fault():
                status = f" ({step.status})" if step.status else ""
                return Turn(f"The model failed{status}", self._short(step.text), aside, "note")
            case s.Interrupt():
                return Turn("Interrupted", self._short(step.reason), aside, "note")
            case s.Rewind():
                said = count(step.prompts, "prompt") if step.prompts else step.text
                return Turn("Taken back", self._short(said), aside, "note")
            case s.Start() if step.how not in ("", "start"):
                return Turn(f"A {step.how} begins here", "", aside, "note")
            case s.End() if step.how != "turn":
                return Turn(f"The end: {step.how}", self._short(step.text), aside, "note")
        return None

    def _short(self, text: str) -> str:
        return shortened(text.strip(), self._chars)

    def _fold(self, summary: str, text: str, aside: str) -> Block:
        said = first_line(text, SUMMARY_CHARS)
        head = f"{summary}: {said}" if said else summary
        return Folded(head, (Preformatted(self._short(text)),) if text.strip() else (), aside)

    def _call(self, call: s.Call, aside: str) -> Block:
        result = self._results.get(call.id)
        what = call.note or call.command or ", ".join(call.paths) or call.text
        outcome, failed = outcome_words(result)
        summary = f"{call.tool}: {first_line(what, SUMMARY_CHARS)}".rstrip(": ")
        inside: list[Block] = []
        if call.command or (call.text.strip() and not call.changes):
            inside.append(Preformatted(self._short(call.command or call.text)))
        for change in call.changes:
            inside.append(Paragraph(f"{change.how} {change.path}"))
            if change.old or change.new:
                inside.append(Preformatted(self._short(change_lines(change))))
        if result is not None and result.text.strip():
            inside += [Paragraph("Output:"), Preformatted(self._short(result.text))]
        mark = "✗" if failed else "✓" if result else "…"
        return Folded(f"{mark} {summary}: {outcome}", tuple(inside), aside, failed)


def outcome_words(result: s.Result | None) -> tuple[str, bool]:
    """How a call ended, in words, and whether it failed."""
    if result is None:
        return "no result", False
    if result.exit:
        return f"failed, exit {result.exit}", True
    if result.ok is False:
        return "failed", True
    return ("ok" if result.ok or result.exit == 0 else "done"), False


def change_lines(change: s.Change) -> str:
    """A change of a file as lines with a sign."""
    old = [f"- {line}" for line in change.old.split("\n")] if change.old else []
    new = [f"+ {line}" for line in change.new.split("\n")] if change.new else []
    return "\n".join((*old, *new))


def changed_files(steps: Sequence[s.Step]) -> dict[str, int]:
    """The files that the calls of a run changed, and how often, in the order of the first change."""
    failed = {step.id for step in steps if isinstance(step, s.Result) and step.ok is False}
    found: dict[str, int] = {}
    for step in steps:
        if isinstance(step, s.Call) and step.act in s.EDITS and step.id not in failed:
            for path in dict.fromkeys([change.path for change in step.changes] or step.paths):
                found[path] = found.get(path, 0) + 1
    return found


def _moment(at: float) -> datetime | None:
    return datetime.fromtimestamp(at, UTC) if 0 < at < 1e11 else None


def _day(at: float) -> str:
    found = _moment(at)
    return found.date().isoformat() if found else ""


def _clock(at: float) -> str:
    found = _moment(at)
    return f"{found:%H:%M:%S} UTC" if found else ""
