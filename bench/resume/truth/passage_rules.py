"""Rules for the passages that a long brief quotes: each line stands where its heading says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.resume.truth.events import Message, values_of
from bench.resume.truth.ground import Finding, Ground, Parts, Rule, finding
from bench.resume.truth.words import stands, words

_OURS = ("(no output)", "(deleted)")
"""What stands where there are no lines to quote."""
_CUT_LINE = re.compile(r"… \([\d,]+ more characters\)$")


class PassageRules:
    """One rule for each form of statement."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.told = ground, ground.told

    def rules(self) -> dict[str, Rule]:
        return {"said passage": self._said, "quoted passage": self._quoted}

    def _said(self, parts: Parts) -> Iterator[Finding]:
        speaker, text = parts["speaker"], parts["text"].removeprefix("… ")
        told = self.told
        sources: list[Message] = [*told.said, *told.thoughts, *told.notices, *told.given]
        if speaker == "user":
            sources = [*told.users, *self.ground.refusals()]
        texts = [one.text for one in sources]
        if speaker.startswith("a sub-agent"):
            texts += [self.ground.output(call) for call in told.calls]
        good = any(self.ground.stands(_flat(text), one) for one in texts)
        if speaker.startswith("agent, in its"):
            yield finding(good or None, f"{speaker}: {text[:40]}", "summaries are not read here")
            return
        yield finding(good, f"{speaker}: {text[:40]}", f"the {speaker} did not say so")

    def _quoted(self, parts: Parts) -> Iterator[Finding]:
        section, head = parts["section"], parts["head"].removeprefix("$ ").strip('"')
        lines = [_CUT_LINE.sub("", line) for line in parts["text"].split("\n") if words(line).strip()]
        named = [
            f"{values_of(call.arguments)}\n{self.ground.output(call)}\n"
            + "\n".join(f"{edit.added}\n{edit.removed}" for edit in call.edits)
            for call in self.told.calls
            if head in ("elsewhere", call.tool)
            or self._is_named(head, f"{call.tool} {values_of(call.arguments)}")
        ]
        if " " not in head:  # of no call that is known here
            named += [one.text for one in [*self.told.users, *self.told.notices]]
        claim = f"{section}: {head[:50]}"
        if not named:
            yield finding(False, claim, "no call has this heading")
            return
        there = "\n".join(named)
        missing = [line for line in lines if line not in _OURS and not self.ground.stands(line, there)]
        if missing and head == "elsewhere":
            yield finding(None, claim, "it is the result of a call that is not in the transcript")
            return
        yield finding(not missing, claim, f"it has no line {missing[0][:60]!r}" if missing else "")

    def _is_named(self, head: str, given: str) -> bool:
        return stands(head, given) or stands(head, self.ground.short(given))


def _flat(text: str) -> str:
    """The lines of a passage as one, with gaps where it has them."""
    return " ".join(text.split("\n"))
