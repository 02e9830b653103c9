"""Which lines and sentences of a text matter: why something failed, what is a request, what was chosen.

All of it by form, without a model, on texts as people and agents write them. Each pattern is guarded by a
cheap test, because these run on every message of every transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..base.lazy import regex
from ..base.text import ESCAPE_SEQUENCES

MARK = "[segue]"  # our own briefs begin with it

QUESTION_CHARS = 48
_HEADER = regex(
    r"^(?:Chunk ID|Wall time|Process exited|Output:|Exit code|Original token count|Total output lines|"
    r"={3,}|-{3,}|\s*$)"
)
_TELLS = (
    "error", "fail", "exception", "cannot", "can't", "not found", "denied", "undefined", "unexpected",
    "assert", "panic", "fatal", "refused", "conflict", "rejected", "expected", "no such", "unable", "invalid",
    "missing", "traceback",
)  # fmt: skip
_SENTENCE = regex(r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)\s+(?=[\"'`(\[A-Z0-9])|\n+", re.M)
_LINK = regex(r"\[([^\]\n]{1,200})\]\([^()\s]{1,400}\)")
_BULLET = regex(r"^\s*(?:[-*•+]|\d{1,2}[.)]|#{1,6})\s+")
_CHECK = regex(r"^\s*(?:[-*+]|\d{1,2}[.)])?\s*(?:\[([ xX~-])\]|([☐☑✅⬜✔☒]))\s+(\S.*)$", re.M)
_INSTRUCTS = regex(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|prompt|above|previous|rule)|\bsystem prompt\b"
    r"|\byou (?:must|should|are now|will now|have to)\b|</?(?:system|user|assistant|human)\b|^\s*(?:system|"
    r"assistant|human|user)\s*:|\b(?:new|updated) instructions?\b",
    re.I,
)
_CHOICE = regex(
    r"\b(?:decided|decision|we(?:'ll| will) use|i(?:'ll| will) (?:use|go with|keep|stick)|going with|"
    r"chose|choosing|opted?|instead of|rather than|the (?:best|right|cleanest|simplest) "
    r"(?:approach|option|fix|way)|root cause|the (?:issue|problem|bug|cause) (?:is|was))\b",
    re.I,
)


def clip(text: str, most: int) -> str:
    """A text's beginning, ending at a blank: a half of a token could no longer be recognised as a secret."""
    if len(text) <= most:
        return text
    at = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most))
    return text[:at] if at > 0 else ""


def sentences(text: str) -> list[str]:
    """A text's sentences and list entries, without bullets, markup and where links lead; code blocks left
    out."""
    if "```" in text:
        text = re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.S)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    found = []
    for part in _SENTENCE.split(text):
        part = _BULLET.sub("", part).replace("**", "").strip()
        if part and not part.startswith("|"):
            found.append(part)
    return found


def is_choice(sentence: str) -> bool:
    """Does it tell of a choice or a cause?"""
    return _CHOICE.search(sentence) is not None


_FUNCTION = frozenset(
    "a an the and or of to in for on with by from at is are was were be it this that as if then but not "
    "no so can will has have had which when after before until because still now next done into only "
    "than i we you my".split()
)
_MARKUP = regex(r"(?m)^\s*(?:#{1,6}\s+|[-*•+]\s+|>\s+|-{3,}\s*$|={3,}\s*$)")


_SMALL = frozenset(
    "added again also been check code could does done file files first from gets goes good great have here "
    "into just like line lines look looking looks made make makes might more most must need needs next okay "
    "only other over please running should some test tests than that their them then there these they this "
    "those used uses using very want were what when where which while will with would your".split()
)
"""Words of which any request may be made: they do not say what it is about."""


_LONG_WORD = regex(r"[A-Za-z][A-Za-z0-9_-]{3,}")


_ASKS_BACK = regex(
    r"(?i)\s*(?:please )?(?:provide|give|write|tell)(?: me)? (?:an? )?(?:(?:brief|short|concise|quick) )?"
    r"(?:synopsis|summary|recap) of what (?:you|we|was|has)\b"
)


def is_substantial(prompt: str) -> bool:
    """Is it a request by itself, not a "yes please", and not only for a word on what was done?"""
    if _ASKS_BACK.match(prompt):
        return False
    told: set[str] = set()
    for found in _LONG_WORD.finditer(prompt, 0, 4_000):
        word = found[0].lower()
        if word not in _SMALL:
            told.add(word)
            if len(told) >= 4:
                return True
    return sum(ord(letter) > 0x2E7F for letter in prompt[:400]) >= 10


_PERSONA = regex(r"(?i)\b(?:you are|your name is|your role|act as)\b")
_PERSONA_CHARS, _PREAMBLE_CHARS = 400, 600
_TASK = regex(
    r"(?im)^[ \t]*(?:#{1,4} *)?\**(?:(?:your|the|current) )?(?:tasks?|request|assignment|objective|mission|"
    r"goal|user (?:request|input|prompt|query))\**:?\**[ \t]*$\n"
)


def task_first(prompt: str) -> str:
    """A prompt that a program put together, what is to be done before who the agent is and how it behaves."""
    if len(prompt) < 2 * _PREAMBLE_CHARS or not _PERSONA.search(prompt, 0, _PERSONA_CHARS):
        return prompt
    found = _TASK.search(prompt, _PREAMBLE_CHARS)
    if found is None or not prompt[found.end() :].strip():
        return prompt
    return f"{prompt[found.end() :].strip()}\n\n{prompt[: found.start()].rstrip()}"


def unpasted(text: str) -> str:
    """A request without what was pasted into it: runs of three or more lines that are not prose."""
    kept: list[str] = []
    run: list[str] = []
    for line in text.split("\n"):
        bare = line.split()
        prose = len(bare) >= 4 and any(word.lower().strip(".,:;!?") in _FUNCTION for word in bare)
        prose = prose or sum(ord(letter) > 0x2E7F for letter in line[:80]) >= 4
        if prose or not line.strip():
            kept += run if len(run) < 3 else ["…"]
            run = []
            kept.append(line)
        else:
            run.append(line)
    return "\n".join(kept + (run if len(run) < 3 else []))


def flat(text: str) -> str:
    """Markup taken off, on one line."""
    if "```" in text:
        text = text.replace("```", " ")
    return " ".join(_MARKUP.sub("", text).replace("**", "").split())


def gives_orders(line: str) -> bool:
    """Does it talk to an agent as a user or a system would?"""
    return _INSTRUCTS.search(line) is not None


def answered(question: str, answer: str) -> str:
    """Questions to the user with the answers, in a line; it is the question that is shortened."""
    pairs = re.findall(r'"([^"]+)"="([^"]+)"', answer)
    if not pairs:
        said = re.findall(r'"answers":\s*\[\s*"((?:[^"\\]|\\.)*)"', answer) if answer[:1] == "{" else []
        asked = question.splitlines() or [""]
        pairs = list(zip(asked, (one.replace("\\", "") for one in said), strict=False)) or [
            (asked[0], answer)
        ]
    return "; ".join(f"{_shortened(asked)} {said}".strip() for asked, said in pairs)


def _shortened(question: str) -> str:
    kept = clip(question, QUESTION_CHARS)
    return question if kept == question else f"{kept}…?"


def checklist(text: str) -> tuple[list[str], list[str]] | None:
    """(done, open) lines of a checklist in a text; None where there is none."""
    if "[ ]" not in text and "[x]" not in text and "☐" not in text and "✅" not in text:
        return None
    done: list[str] = []
    todo: list[str] = []
    for box, sign, what in _CHECK.findall(text[:20_000]):
        (todo if (box in (" ", "~", "-") and not sign) or sign in ("☐", "⬜") else done).append(
            what.strip().replace("**", "")
        )
    return (done, todo) if todo and len(done) + len(todo) >= 2 else None


def _telling(output: str) -> Iterator[str]:
    """The lines with a word of failure in them, in order."""
    low = output.lower()
    if len(low) != len(output):  # some letters grow: places would not agree
        yield from (line for line in output.split("\n") if any(word in line.lower() for word in _TELLS))
        return
    ahead = {word: place for word in _TELLS if (place := low.find(word)) >= 0}
    while ahead:
        start = low.rfind("\n", 0, min(ahead.values())) + 1
        end = low.find("\n", start)
        end = len(low) if end < 0 else end
        yield output[start:end]
        ahead = {
            word: later
            for word, place in ahead.items()
            if (later := place if place > end else low.find(word, end)) >= 0
        }


def was_stopped(exit: int | None, output: str) -> bool:
    """Did somebody stop it? Then it says nothing of what it did."""
    return exit in (130, 143) or output.strip() in ("^C", "Tool execution aborted")


def unrun(why: str) -> str:
    """What the harness said instead of running a call; "" where it was run."""
    if not why.startswith("<tool_use_error>"):
        return ""
    return why.replace("<tool_use_error>", "").replace("</tool_use_error>", "").strip()


def reason(output: str, most: int = 400) -> str:
    """The lines of a failed command's output that say why."""
    if len(output) > 16_000:
        output = f"{output[:10_000]}\n{output[-6_000:]}"
    if "\x1b" in output:
        output = ESCAPE_SEQUENCES.sub("", output)
    told: dict[str, None] = {}
    for line in _telling(output):
        if not _HEADER.match(line) and not _INSTRUCTS.search(line):
            told[line.strip()] = None  # a quote must not give orders
            if len(told) == 4:
                break
    if not told:
        lines = output.rsplit("\n", 8)[-8:]
        kept = [line.strip() for line in lines if not _HEADER.match(line) and not _INSTRUCTS.search(line)]
        told = dict.fromkeys(kept[-3:])
    return "\n".join(line[:200] for line in told)[:most]
