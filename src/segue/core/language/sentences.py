"""Finding the lines and sentences of a text that matter: reasons of failures, requests, choices, checklists.

Everything is recognised by its form, without a model. Expensive expressions are guarded by cheap tests,
because they run on every message of every transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ..base.lazy import regex
from ..base.page import size
from ..base.text import ESCAPE_SEQUENCES, lowered
from .assent_words import ASSENTING, ASSENTING_WITHOUT_SPACES, BEGINS_WITH_ASSENT, MISTYPED, MISTYPED_SHORT

MARK = "[segue]"  # the beginning of our own briefs

QUESTION_BYTES = 200
LEFT_OUT = "\n[…]\n"
"""Stands where the middle of a text was left out."""
ASKED = " (asked: "  # between an answer and its question
_ANSWERED = regex(r'"([^"]+)"="([^"]+)"')
_LISTED_ANSWER = regex(r'"answers":\s*\[\s*"((?:[^"\\]|\\.)*)"')
_HEADER = regex(
    r"^(?:Chunk ID|Wall time|Process exited|Output:|Exit code|Original token count|Total output lines|"
    r"={3,}|-{3,}|\s*$)"
)
_FAILURE_WORDS = (
    "error", "fail", "exception", "cannot", "can't", "not found", "denied", "undefined", "unexpected",
    "assert", "panic", "fatal", "refused", "conflict", "rejected", "expected", "no such", "unable", "invalid",
    "missing", "traceback",
)  # fmt: skip
_SENTENCE = regex(r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)\s+(?=[\"'`(\[A-Z0-9])|\n+", re.M)
_SENTENCE_OF_ANY_SCRIPT = regex(
    r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)\s+"
    r"(?=[\"'`(\[A-Z0-9¿¡«„À-ÖØ-ÞĄĆČĎĘĚĞİŁŃŇŐŒŘŚŠŞŤŮŰŹŻŽΑ-ΩА-ЯЁЄІЇҐ\u0590-\u0dff\u0e00-\u0eff"
    r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
    r"|(?<=[。！？｡])(?![。！？｡」』）】”’\"')])\s*|\n+",
    re.M,
)
"""Also splits before capitals that are not ASCII, before letters of scripts that have no capitals, and after
the full stops of Chinese and Japanese, which no space follows."""
_LINK = regex(r"\[([^\]\n]{1,200})\]\([^()\s]{1,400}\)")
_BULLET = regex(r"^\s*(?:[-*•+]|\d{1,2}[.)]|#{1,6})\s+")
_CHECK = regex(r"^\s*(?:[-*+]|\d{1,2}[.)])?\s*(?:\[([ xX~-])\]|([☐☑✅⬜✔☒]))\s+(\S.*)$", re.M)
_INSTRUCTS = regex(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|prompt|above|previous|rule)|\bsystem prompt\b"
    r"|\byou (?:must|should|are now|will now|have to)\b|</?(?:system|user|assistant|human)\b"
    r"|\b(?:new|updated) instructions?\b",
    re.I,
)
_INSTRUCTING = (
    "ignore", "disregard", "forget", "system prompt", "you must", "you should", "you are now", "you will now",
    "you have to", "<system", "</system", "<user", "</user", "<assistant", "</assistant", "<human", "</human",
    "new instruction", "updated instruction",
)  # fmt: skip
"""Every text that ``_INSTRUCTS`` matches contains one of these in some case."""
_SPEAKS = regex(r"\s*(?:system|assistant|human|user)\s*:", re.I)
_CHOICE = regex(
    r"\b(?:decided|decision|we(?:'ll| will) use|i(?:'ll| will) (?:use|go with|keep|stick)|going with|"
    r"chose|choosing|opted?|instead of|rather than|the (?:best|right|cleanest|simplest) "
    r"(?:approach|option|fix|way)|root cause|the (?:issue|problem|bug|cause) (?:is|was))\b",
    re.I,
)
WORD = regex(r"[A-Za-z][A-Za-z0-9_-]{3,}")
COMMON = frozenset(
    """about above across actually after again against already also although always another anything around
    available back based because been before being below best better between both bring cannot case
    change changed changes check clear code come complete completed could create created current
    currently details different does done down each either else enough even every everything exactly
    existing explore file files find first fine fix following found from full getting give given good
    great happen have having here however implement include including instead into issue issues just
    keep know last later leave left less let's like line lines list little look looking looks made main
    make makes making many might more most much must need needed needs never next nothing notice once
    only open other otherwise over part perfect place please point possible probably problem proper
    properly quite rather read ready real really right same save says second section seems several
    should show shows similar simple simply since some something start started still such summary sure
    take task tell test tests than that their them then there these they thing things think this those
    though through time together too toward towards trying understand until update updated upon used
    user uses using various very want wants well were what when where whether which while will with
    within without work working works would write yes yet your""".split()
)


def clip(text: str, most: int) -> str:
    """The beginning of a text, cut at whitespace: half of a token could not be recognised as a secret."""
    if len(text) <= most:
        return text
    at = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most))
    return text[:at] if at > 0 else ""


def bounded(text: str, most: int) -> str:
    """A text that is too long by its beginning and its end, of whole sentences where that can be had: what
    was pasted in between says the least."""
    if len(text) <= most:
        return text
    head, tail = clip(text, 3 * most // 4), clip_start(text, most // 4 - len(LEFT_OUT))
    ends = [match.end() for match in _SENTENCE_OF_ANY_SCRIPT.finditer(head)]
    starts = [match.end() for match in _SENTENCE_OF_ANY_SCRIPT.finditer(tail)]
    head = head[: ends[-1]] if ends and ends[-1] > len(head) // 2 else head
    tail = tail[starts[0] :] if starts and starts[0] < len(tail) // 2 else tail
    return f"{head.rstrip()}{LEFT_OUT}{tail.lstrip()}"


def clip_start(text: str, most: int) -> str:
    """The end of a text, cut at whitespace like ``clip``."""
    if len(text) <= most:
        return text
    start = len(text) - most
    found = [at for at in (text.find(" ", start), text.find("\n", start)) if at >= 0]
    return text[min(found) + 1 :] if found else ""


_NEXT_STEP = r"(?! ?(?:to )?(?:look|check|compare|try|read|see|wait|investigate)\b)"
_DECISION = regex(
    r"(?i)\W{0,3}(?:(?:so|then|okay|ok|therefore|for now),? )?(?:"
    r"(?:i|we)(?:['’]ve| have)? (?:decided (?:on|against|for|that|not)\b|decided to " + _NEXT_STEP + r"|"
    r"(?:chose|chosen|opted|settled on|went with)\b" + _NEXT_STEP + r")"
    r"|(?:i|we)(?:['’]| wi)ll go with|let['’]?s go with|(?:my |the |our )?decision: |decided: |going with )"
)


def sentences(text: str, *, numbers: bool = False) -> list[str]:
    """The sentences and list entries of a text, without bullets, emphasis, link targets and code blocks.

    With ``numbers``, entries of a numbered list keep their number.
    """
    return list(_sentences(text, numbers))


@lru_cache(maxsize=32)
def _sentences(text: str, numbers: bool) -> tuple[str, ...]:
    """They are remembered, since many questions are asked of one message."""
    if "```" in text:
        text = re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.S)
    result = []
    for part in verbatim_sentences(unlinked(text), numbers=numbers):
        part = part.replace("**", "").strip()
        if part and not part.startswith("|"):
            result.append(part)
    return tuple(result)


def verbatim_sentences(text: str, *, numbers: bool = False) -> list[str]:
    """The sentences and list entries of a text as they are written, without bullets."""
    result = []
    for part in (_SENTENCE if text.isascii() else _SENTENCE_OF_ANY_SCRIPT).split(text):
        bullet = _BULLET.match(part) if not numbers or not part.lstrip()[:1].isdigit() else None
        result.append((part[bullet.end() :] if bullet else part).strip())
    return [part for part in result if part]


def unlinked(text: str) -> str:
    """The text with the words of its links in place of the links."""
    return _LINK.sub(r"\1", text) if "](" in text else text


def is_decision(sentence: str) -> bool:
    """Whether somebody says what they chose, and not only what they do next."""
    return _DECISION.match(sentence) is not None


def is_choice(sentence: str) -> bool:
    """Whether a sentence speaks of a choice or a cause."""
    return _CHOICE.search(sentence) is not None


_FUNCTION_WORDS = frozenset(
    "a an the and or of to in for on with by from at is are was were be it this that as if then but not "
    "no so can will has have had which when after before until because still now next done into only "
    "than i we you my".split()
)
_MARKUP = regex(r"(?m)^\s*(?:#{1,6}\s+|[-*•+]\s+|>\s+|-{3,}\s*$|={3,}\s*$)")


_COMMON_WORDS = frozenset(
    "added again also been check code could does done file files first from gets goes good great have here "
    "into just like line lines look looking looks made make makes might more most must need needs next okay "
    "only other over please running should some test tests than that their them then there these they this "
    "those used uses using very want were what when where which while will with would your".split()
)
"""Words that may occur in any request and do not say what it is about."""


_LONG_WORD = regex(r"[A-Za-z][A-Za-z0-9_-]{3,}")
_LONG_WORDS_MIN = 4
_SUBSTANTIAL_CHARS_MIN = 5 * _LONG_WORDS_MIN - 1
"""Shorter than so many long words and the spaces between them."""


_ASKS_BACK = regex(
    r"(?i)\s*(?:please )?(?:provide|give|write|tell)(?: me)? (?:an? )?(?:(?:brief|short|concise|quick) )?"
    r"(?:synopsis|summary|recap) of what (?:you|we|was|has)\b"
)


@lru_cache(maxsize=128)
def is_substantial(prompt: str) -> bool:
    """Whether a prompt is a request of its own, not just "yes please" or a question about what was done."""
    if len(prompt) < _SUBSTANTIAL_CHARS_MIN and prompt.isascii():
        return False
    if _ASKS_BACK.match(prompt):
        return False
    words: set[str] = set()
    for match in _LONG_WORD.finditer(prompt, 0, 4_000):
        word = match[0].lower()
        if word not in _COMMON_WORDS:
            words.add(word)
            if len(words) >= _LONG_WORDS_MIN:
                return True
    return not prompt.isascii() and sum(ord(letter) > 0x2E7F for letter in prompt[:400]) >= 10


_ASSENT_CHARS_MAX, _ASSENT_WORDS_MAX = 160, 14
_TO_SPACES = {**dict.fromkeys(map(ord, '0123456789.,;:!?…"()[]{}<>*#_-/+&=~`|\\'), " "), ord("’"): "'"}


def is_assent(text: str) -> bool:
    """Whether a message names nothing of its own: it agrees, picks a number, or says to go on ("weiter").

    It points to what is known already, so it is never a goal.
    """
    if len(text) > _ASSENT_CHARS_MAX:
        return False
    words = text.lower().translate(_TO_SPACES).split()
    if len(words) > _ASSENT_WORDS_MAX:
        return False
    other = [word for word in words if not _assents(word)]
    return not other or (len(other) == 1 and len(words) > 1 and _is_mistyped(other[0]))


def begins_with_assent(text: str) -> bool:
    """Whether a message begins by agreeing, or by pointing back ("lets doe that, and then …")."""
    if BEGINS_WITH_ASSENT.match(text):
        return True
    words = text[:_ASSENT_CHARS_MAX].lower().translate(_TO_SPACES).split()[:_OPENING_WORDS]
    return any(
        is_assent(" ".join(words[:end])) and words[end - 1] in _POINTERS for end in range(2, len(words) + 1)
    )


_OPENING_WORDS = 5
_POINTERS = frozenset("that this it so das es ça cela eso esto isso isto".split())


def _assents(word: str) -> bool:
    return word in ASSENTING or (not word.isascii() and ASSENTING_WITHOUT_SPACES.fullmatch(word) is not None)


def _is_mistyped(word: str) -> bool:
    """Whether a word is one of those with which people agree, but for a letter."""
    return any(_differs_by_a_letter(word, right) for right in MISTYPED) or any(
        len(word) >= len(right) and word != right and _differs_by_a_letter(word, right, replaced=False)
        for right in MISTYPED_SHORT
    )


def _differs_by_a_letter(word: str, right: str, *, replaced: bool = True) -> bool:
    """Whether a letter is too many, missing or (unless ``replaced`` is false) another, or two have changed
    places."""
    if abs(len(word) - len(right)) > 1:
        return False
    at = next((at for at, (one, two) in enumerate(zip(word, right, strict=False)) if one != two), None)
    at = min(len(word), len(right)) if at is None else at
    rest, other = word[at:], right[at:]
    if len(word) != len(right):
        return rest[1:] == other if len(word) > len(right) else rest == other[1:]
    swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return swapped or (replaced and rest[1:] == other[1:])


_PERSONA = regex(r"(?i)\b(?:you are|your name is|your role|act as)\b")
_PERSONA_CHARS, _PREAMBLE_CHARS = 400, 600
_TASK = regex(
    r"(?im)^[ \t]*(?:#{1,4} *)?\**(?:(?:your|the|current) )?(?:tasks?|request|assignment|objective|mission|"
    r"goal|user (?:request|input|prompt|query))\**:?\**[ \t]*$\n"
)


def task_first(prompt: str) -> str:
    """The prompt, with its task moved in front of the persona that a program put before it."""
    if len(prompt) < 2 * _PREAMBLE_CHARS or not _PERSONA.search(prompt, 0, _PERSONA_CHARS):
        return prompt
    heading = _TASK.search(prompt, _PREAMBLE_CHARS)
    if heading is None or not prompt[heading.end() :].strip():
        return prompt
    return f"{prompt[heading.end() :].strip()}\n\n{prompt[: heading.start()].rstrip()}"


_INPUT = regex(
    r"^(?:#{1,4} *)?\**(?:user (?:input|request|prompt|query)|arguments?|user arguments?)\**:?\**[ \t]*\n+"
    r"(?:```\w*\n+)?([^\n]{0,400})(?:\n+```)?",
    re.I | re.M,
)
_TEMPLATE_CHARS = 500


def given_to_template(prompt: str) -> tuple[str, str] | None:
    """What the user gave to a command that was written out as a long prompt, and the rest of the prompt; None
    if it is no such prompt."""
    if len(prompt) < _TEMPLATE_CHARS or (given := _INPUT.search(prompt)) is None:
        return None
    words = "" if given[1].startswith(("$", "```")) else flat(given[1])
    return words, prompt[: given.start()] + prompt[given.end() :]


def unpasted(text: str) -> str:
    """A request without pasted material, that is, three or more consecutive lines that are not prose."""
    result: list[str] = []
    other: list[str] = []
    for line in text.split("\n"):
        words = line.split()
        prose = len(words) >= 4 and any(word.lower().strip(".,:;!?") in _FUNCTION_WORDS for word in words)
        prose = prose or sum(ord(letter) > 0x2E7F for letter in line[:80]) >= 4
        if prose or not line.strip():
            result += other if len(other) < 3 else ["…"]
            other = []
            result.append(line)
        else:
            other.append(line)
    return "\n".join(result + (other if len(other) < 3 else []))


def flat(text: str) -> str:
    """The text on one line, without Markdown markup."""
    if "```" in text:
        text = text.replace("```", " ")
    return " ".join(_MARKUP.sub("", text).replace("**", "").split())


def gives_orders(line: str) -> bool:
    """Whether a line addresses an agent the way a user or a system prompt would."""
    if _SPEAKS.match(line):
        return True
    low = lowered(line)
    return any(word in low for word in _INSTRUCTING) and _INSTRUCTS.search(line) is not None


def answer_pairs(question: str, answer: str) -> list[tuple[str, str]]:
    """Questions to the user, each with its answer, from a call that asked them and its result."""
    pairs = _ANSWERED.findall(answer)
    return pairs or list(zip(question.splitlines() or [""], replies(answer), strict=False))


def answered(question: str, answer: str) -> str:
    """Questions to the user with their answers, on one line. Long questions are shortened."""
    pairs = [(shortened_question(one), reply) for one, reply in answer_pairs(question, answer)]
    return "; ".join(f"{reply}{ASKED}{one})" if one else reply for one, reply in pairs)


def replies(answer: str) -> list[str]:
    """The user's answers in the result of a question, without the questions."""
    found = [reply for _, reply in _ANSWERED.findall(answer)]
    if not found and answer[:1] == "{":
        found = [text.replace("\\", "") for text in _LISTED_ANSWER.findall(answer)]
    return found or [answer]


def shortened_question(question: str, most: int = QUESTION_BYTES) -> str:
    """A question on one line, whole or its last sentences, which ask: half a question would mislead. Empty
    if not even the last sentence is short enough."""
    whole = flat(question)
    if size(whole) <= most:
        return whole
    kept = ""
    for sentence in reversed(sentences(question)):
        longer = f"{sentence} {kept}".strip()
        if size(longer) > most:
            break
        kept = longer
    return kept


def checklist(text: str) -> tuple[list[str], list[str]] | None:
    """The done and the open lines of a checklist in a text, or None if there is none with open lines."""
    if "[ ]" not in text and "[x]" not in text and "☐" not in text and "✅" not in text:
        return None
    done: list[str] = []
    todo: list[str] = []
    for box, sign, what in _CHECK.findall(text[:20_000]):
        (todo if (box in (" ", "~", "-") and not sign) or sign in ("☐", "⬜") else done).append(
            what.strip().replace("**", "")
        )
    return (done, todo) if todo and len(done) + len(todo) >= 2 else None


def _failure_lines(output: str) -> Iterator[str]:
    """The lines that contain a word of failure, in their order."""
    low = output.lower()
    if len(low) != len(output):  # lowering changed the length of some letters, so positions would not agree
        for line in output.split("\n"):
            if any(word in line.lower() for word in _FAILURE_WORDS):
                yield line
        return
    ahead = {word: position for word in _FAILURE_WORDS if (position := low.find(word)) >= 0}
    while ahead:
        start = low.rfind("\n", 0, min(ahead.values())) + 1
        end = low.find("\n", start)
        end = len(low) if end < 0 else end
        yield output[start:end]
        ahead = {
            word: later
            for word, position in ahead.items()
            if (later := position if position > end else low.find(word, end)) >= 0
        }


_STOPPED = regex(r"\s*(?:\^C|Tool execution aborted)\s*\Z")
_TIMED_OUT = regex(r"\W*(?:the )?command (?:execution )?timed out after \d", re.I)
_FAILED_BEFORE = regex(
    r"\bFAIL(?:ED|URES?)?\b|\b[Ff]ailed to\b|\berror(?:\[\w+\])?:|\bTraceback\b|\b[1-9]\d* fail", re.I
)


def was_stopped(exit: int | None, output: str) -> bool:
    """Whether a command was stopped, so that its output says nothing about its success: by somebody, or
    because its time was over before anything had failed."""
    if exit in (130, 143) or output.startswith("[Operation Cancelled]") or _STOPPED.match(output):
        return True
    timed_out = exit == 124 or _TIMED_OUT.match(output) is not None
    return timed_out and _FAILED_BEFORE.search(output) is None


def unrun(why: str) -> str:
    """The harness's message if it rejected a call instead of running it, or an empty text."""
    if not why.startswith("<tool_use_error>"):
        return ""
    return why.replace("<tool_use_error>", "").replace("</tool_use_error>", "").strip()


def reason(output: str, most: int = 400) -> str:
    """The lines of a failed command's output that say why it failed.

    Lines that address an agent are left out, because a quotation must not give orders.
    """
    if len(output) > 16_000:
        output = f"{output[:10_000]}\n{output[-6_000:]}"
    if "\x1b" in output:
        output = ESCAPE_SEQUENCES.sub("", output)
    reasons: dict[str, None] = {}
    for line in _failure_lines(output):
        if _is_quotable(line):
            reasons[line.strip()] = None
            if len(reasons) == 4:
                break
    if not reasons:
        last = [line.strip() for line in output.rsplit("\n", 8)[-8:] if _is_quotable(line)]
        reasons = dict.fromkeys(last[-3:])
    return "\n".join(line[:200] for line in reasons)[:most]


def _is_quotable(line: str) -> bool:
    return not _HEADER.match(line) and not gives_orders(line)


def words(text: str) -> set[str]:
    """The meaningful words of a text, in lower case."""
    return {word.lower().strip("-_") for word in WORD.findall(text)} - COMMON
