"""What the user wants, from their own messages: the last one, what it answers, and the request that it
belongs to.

A last message often says little by itself ("yes", "2", "do that", "continue"). Then it is told with the
proposal, the list item or the question of the agent that it answers, and with the last request that said
more. Words that were put in while the agent was at work, or after it was stopped, mend a request: that
request still stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..base.lazy import regex
from ..base.page import cut, size
from ..base.values import Value
from ..language.assent_words import BEGINS_WITH_ASSENT, POINTS
from ..language.proposals import answered, content_words, item_of, picked
from ..language.sentences import begins_with_assent, flat, given_to_template, is_assent, sentences
from ..runs.model import RunDigest, UserMessage

_WORD = regex(r"[^\W\d_][\w'-]+")
_PROSE = frozenset(
    "a an the and or of to in for on with by from at is are was be it this that as if then but not no "
    "so can will has have i you we my please do "
    "does should would need want when after before what why how which there still make use".split()
)
_NOT_PROSE = regex(
    r"^\s*(?:at |File \"|\||\+|> |\d+[:→]|\d+:\d+|[✖✗✔✓×]|\$ |[\"{}\[\]]|/[\w.-]+/|\S+:\d+:"
    r"|[\w.$]+(?:Error|Exception)\b|Caused by:|\.\.\. \d+ more|\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d"
    r"|(?:[\w.:-]+ +){0,3}(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b)"
)
_TROUBLE = regex(
    r"\w*(?:Error|Exception)\b|\berrors?\b|\bfail(?:ed|ure|ing)?\b|\bfatal\b|\bpanic\b|not found|denied"
    r"|\bwarn(?:ing)?\b|\bcannot\b|\bunable\b|\binvalid\b|\brefused\b|\bmissing\b|\bunknown\b",
    re.I,
)
_GO_ON = regex(
    r"\W*(?:please\s+|just\s+)*(?:go on|continue|resume|carry on|keep going|proceed|pick (?:it |this )?up)\b"
    r"[^.!?\n]{0,40}\b(?:where|what|from)\b[^.!?\n]{0,40}"
    r"\b(?:stopped|left(?: off)?|ended|crashed|died|broke off|(?:was|were|got|is) \w+|was|were)\W*",
    re.I,
)
"""To go on where the last run stopped says nothing about the work."""
ENOUGH_WORDS = 6
"""So many words that say something are a request: agreeing takes two of them at most."""
PASTED_LINES = 3
_BULLET = regex(r"^\s*(?:[-*•]|\d+[.)])\s+|^\s*#+\s*|^\s*>\s*")
_HEADING = regex(r"^#{1,4} [A-Z0-9].{2,80}$", re.M)


class Requests(Value):
    """What the user wants."""

    last: UserMessage | None = None
    answers: str = ""  # of the agent's message before it, what the last message takes up
    request: UserMessage | None = None  # what the last message belongs to, if it is not a request itself
    request_answers: str = ""  # what that request takes up in its turn
    mends: bool = False  # the last message adds to that request
    before: UserMessage | None = None  # the request before
    first: UserMessage | None = None
    calls: int = 0  # how many calls there were since the last message
    before_fork: UserMessage | None = None  # the last message before this conversation was forked
    ticked: tuple[str, ...] = ()  # items of the agent's own list in this run that are done
    listed: tuple[str, ...] = ()  # and those that are open


def is_weak(text: str) -> bool:
    """Whether a message says little without what it answers."""
    if is_assent(text) or _GO_ON.fullmatch(text):
        return True
    if len(content_words(text)) >= ENOUGH_WORDS:
        return False
    rest = BEGINS_WITH_ASSENT.sub("", text, count=1)
    wide = sum(ord(char) > 0x2E7F for char in text[:200])
    enough = 3 if rest != text or text.rstrip().endswith("?") else 4
    return len(content_words(rest)) < enough and wide < 8 and len(text) < 300


def requests_of(digest: RunDigest) -> Requests:
    """What the user of a run wants."""
    inherited = [message for message in digest.prompts if message.how == "inherited"]
    messages = digest.prompts
    if digest.is_sub_agent:  # what was asked of the one that sent it is not for it to do
        messages = [message for message in messages if message.how != "inherited"] or messages
    before_fork = inherited[-1] if inherited else None
    ticked = (*digest.settled, *(row[0] for row in digest.plan if row[1] == "done"))
    listed = tuple(row[0] for row in digest.plan if row[1] in ("pending", "active"))
    if not messages:
        return Requests(first=digest.first_prompt, before_fork=before_fork, ticked=ticked, listed=listed)
    last = messages[-1]
    weak = is_weak(last.text) and last.how != "command"
    strong = [
        message
        for message in reversed(messages[:-1])
        if not is_weak(message.text) and message.how != "refusal"
    ]
    interrupted = digest.interrupted is not None and last.at - 4 <= digest.interrupted.at <= last.at
    mends = last.how == "queued" or (interrupted and not weak) or last.how == "refusal"
    if mends:
        strong = [message for message in strong if message.how != "queued"] or strong
    request = strong[0] if strong and (weak or mends) else None
    earlier = [message for message in strong if request is None or message.text != request.text]
    first = messages[0] if digest.is_sub_agent else digest.first_prompt
    return Requests(
        last,
        answers=_answers(last),
        request=request,
        request_answers=_answers(request),
        mends=mends and request is not None,
        before=earlier[0] if earlier else None,
        first=first if first is not None and not is_weak(first.text) else None,
        calls=digest.calls - last.calls,
        before_fork=before_fork,
        ticked=ticked,
        listed=listed,
    )


def _answers(message: UserMessage | None) -> str:
    return answered(message.text, message.reply_to) if message is not None and refers(message) else ""


def refers(message: UserMessage) -> bool:
    """Whether a message points to what the agent said before it."""
    text = message.text
    if message.how in ("queued", "command"):
        return False
    words = len(content_words(text))
    return (
        bool(message.reply_to and any(item_of(message.reply_to, mark) for mark in picked(text)))
        or is_weak(text)
        or bool(words < 6 and begins_with_assent(text))
        or bool(words < 12 and POINTS.search(text[:70]))
    )


# -- a message within a number of bytes


def told(message: UserMessage, most: int) -> str:
    """A message in at most ``most`` bytes: pasted logs folded, a long plan by its title, else its two
    ends."""
    text = message.text
    if given_to_template(text) is not None:
        return cut(_title(text), most)
    if len(text) > 700 and (text.startswith("#") or len(_HEADING.findall(text)) >= 2):
        return cut(_title(text), most)
    text = unpasted(text)
    if size(text) <= most:
        return text
    parts, lines = sentences(text), message.text.strip().split("\n")
    for end in (parts[-1] if len(parts) > 2 else "", flat(lines[-1]) if len(lines) > 1 else ""):
        start = cut(text, min(most * 2 // 3, most - size(end) - 5))
        if end and size(end) <= most // 2 and start and end not in start:
            return f"{start.rstrip('…')} … {end}"
    return cut(text, most)


TEMPLATE_BYTES = 300  # of a prompt that nobody typed
_NO_TITLE = regex(
    r"(?i)\bconsider the user input\b|\bthe text the user typed\b|^#+ *(?:outline|user input) *$"
)


def _title(text: str) -> str:
    """A long plan or prompt: what was given to a template, its title and its first prose."""
    if (template := given_to_template(text)) is not None:
        words, rest = template
        about = cut(_title(rest), TEMPLATE_BYTES)
        return f"{words} (given to a command: {about})" if words else f"(a command) {about}"
    lines = [line.strip() for line in text.split("\n") if line.strip() and not _NO_TITLE.search(line)]
    head = [flat(_BULLET.sub("", line)) for line in lines[:1]]
    for line in lines[1:60]:
        heading = line.startswith("#") and not re.match(
            r"#+\s*(?:context|overview|background|summary|plan)\s*$", line, re.I
        )
        if (heading and len(head) < 2) or (_is_prose(line) and not line.startswith(("```", "|", "#"))):
            head.append(flat(_BULLET.sub("", line)))
        if len(head) >= 4:
            break
    return " / ".join(head)


def _is_prose(line: str) -> bool:
    words = line.split()
    common = sum(word.lower().strip(".,:;!?") in _PROSE for word in words)
    if len(words) >= 3 and common >= max(1, len(words) // 8):
        return True
    letters = sum(word.strip(".,:;!?()'’\"").isalpha() for word in words)
    if len(words) >= 3 and letters == len(words) and line[:1].islower():
        return True  # in whatever language
    return (len(words) >= 7 and letters >= 0.85 * len(words)) or sum(
        ord(char) > 0x2E7F for char in line[:80]
    ) >= 4


_ENTRY = regex(r"^(?:[-*•]|\d{1,2}[.)])\s+(?=[^\W\d_])")


def _is_entry(line: str) -> bool:
    """Whether a line is an entry of a list that a person wrote: some words, and no code."""
    entry = _ENTRY.match(line)
    return entry is not None and len(_WORD.findall(line)) >= 3 and not _NOT_PROSE.match(line[entry.end() :])


def unpasted(text: str) -> str:
    """A message on one line, with pasted logs and code folded into a note of what they say and which files
    they name."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) < PASTED_LINES:
        return flat(" ".join(lines))
    spoken = [(_is_prose(line) and not _NOT_PROSE.match(line)) or _is_entry(line) for line in lines]
    for at in range(1, len(lines) - 1):  # a line between two of a log belongs to the log
        spoken[at] = spoken[at] and (spoken[at - 1] or spoken[at + 1])
    blocks: list[tuple[int, int]] = []
    start: int | None = None
    for at, prose in enumerate([*spoken, True]):
        if not prose and start is None:
            start = at
        elif prose and start is not None:
            blocks += [(start, at)] if at - start >= PASTED_LINES else []
            start = None
    if not blocks:
        return flat(" ".join(lines))
    first, last = blocks[0][0], blocks[-1][1]
    return flat(" ".join([*lines[:first], _folded(lines[first:last]), *lines[last:]]))


_FILE = regex(
    r"/?(?:[\w@.-]+/)*[\w-]+(?:\.[\w-]+)*\.(?:tsx?|jsx?|py|go|rs|java|rb|cs|php|md|ya?ml|json|css|html|sh"
    r"|sql|toml)\b"
)


_TYPED = regex(r"^(?:[$%❯➜#] |[\w.@:~/\\ ()-]{0,60}[$%#❯] ?|PS [^>\n]{1,80}> ?)(?=[\w./])(\S.{2,})$")
"""A command at the prompt of a shell."""


_LOG_HEAD = regex(
    r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\]?\s+(?:(?:[A-Z]{4,7}|\d+|---|\[[^\]]*\])\s+)*(?:[\w.$]+ +: )?"
)
"""Time, level, thread and logger at the beginning of a line of a log."""
_PACKAGE = regex(r"\b(?:[a-z_][\w$]*\.){2,}(?=[A-Z]\w*(?:Exception|Error)\b)")


def _folded(block: Sequence[str]) -> str:
    """A pasted block by what it says: the command that was typed, its complaints, the files in them."""
    typed = [match[1] for line in block if (match := _TYPED.match(line))]
    printed = [line for line in block if not _TYPED.match(line)]
    printed = [_LOG_HEAD.sub("", _PACKAGE.sub("", line)) for line in printed]
    complaints = [line for line in printed if _TROUBLE.search(line) and not line.startswith("at ")]
    causes = [line for line in complaints if line.startswith("Caused by:")]
    complaints = causes[-1:] or complaints
    worded = [line for line in printed if len(_WORD.findall(line)) >= 3]
    tells = [*complaints[:1], *(complaints[-1:] if len(complaints) > 1 else [])] or worded[:1] or block[:1]
    alone = [line for line in printed if _FILE.fullmatch(line)]  # linters put a file above its complaints
    named = [*alone, *(name for line in complaints for name in _FILE.findall(line))]
    named = named or [name for line in block for name in _FILE.findall(line)]
    said = " / ".join(cut(line, 150) for line in dict.fromkeys(tells))
    names = [name for name in dict.fromkeys(named) if "node_modules" not in name and name not in said]
    files = f"; naming {', '.join(names[:6])}" if names else ""
    ran = f" of `{cut(typed[0], 80)}`" if typed and typed[0] not in said else ""
    return f"[{len(block)} pasted lines{ran}: {said}{files}]"
