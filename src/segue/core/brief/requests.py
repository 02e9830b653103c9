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
from ..base.values import Value
from ..runs.model import RunDigest, UserMessage
from ..runs.sentences import flat, is_assent, sentences
from .page import cut, size

_ASSENT = regex(
    r"^\W*(?:y|yes|yep|yeah|yup|ok|okay|k|sure|go(?: on| ahead)?|continue|proceed|do (?:it|that|so|this)"
    r"|please(?: do)?|sounds good"
    r"|perfect|great|thanks?(?: you)?|next|keep going|lgtm|approved?|correct|right|no|nope|resume"
    r"|carry on|let'?s (?:do it|go)"
    r"|make it so|done|ready|ja|oui|s[ií]|да|好的?|可以|继续|はい|続けて|weiter|continuez|continúa|sigue)\b",
    re.I,
)
_POINTS = regex(
    r"\b(?:this|that|it|these|those|them|both|above|same|option|the (?:first|second|third|last"
    r"|other) one|again)\b",
    re.I,
)
PICKS = regex(r"^\W*(?:option |number |no\.? |#)?([A-Ha-h]|\d{1,2})\b(?!['%])", re.I)
_MORE_PICKS = regex(r"(?:\s*(?:,|&|\+|-|–|and|to|then)\s*(?:[A-Ha-h]|\d{1,2})\b)+", re.I)
_ALL = regex(r"\b(?:all|both|everything|each|them|these|those)\b", re.I)
_COMMON = frozenset(
    "a an the and or of to in for on with by from at is are was be it this that as if then but not no "
    "so can will has have i you we my please do "
    "does should would need want when after before what why how which there still make use let lets "
    "let's yes ok okay go ahead continue proceed "
    "thanks now just also all some any me us them they their your our more other very again".split()
)
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
_BULLET = regex(r"^\s*(?:[-*•]|\d+[.)])\s+|^\s*#+\s*|^\s*>\s*")
_HEADING = regex(r"^#{1,4} [A-Z0-9].{2,80}$", re.M)
_ITEM = regex(r"^\s{0,3}(?:[-*•]|\d+[.)])\s")
_ASKING = regex(
    r"\?|\b(?:next|want|would you|should i|shall i|i can|options?|proceed|suggest|optional|could)\b", re.I
)
_LEAVES = regex(
    r"\?\s*$|\b(?:want me to|shall i|should i|let me know|your call|say the word|would you like)\b", re.I
)


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


def content_words(text: str) -> list[str]:
    """The words of a text that say what it is about."""
    return [word for word in _WORD.findall(text.lower()) if word not in _COMMON]


def is_weak(text: str) -> bool:
    """Whether a message says little without what it answers."""
    if is_assent(text):
        return True
    rest = _ASSENT.sub("", text, count=1)
    wide = sum(ord(char) > 0x2E7F for char in text[:200])
    enough = 3 if rest != text or text.rstrip().endswith("?") else 4
    return len(content_words(rest)) < enough and wide < 8 and len(text) < 300


def requests_of(digest: RunDigest) -> Requests:
    """What the user of a run wants."""
    messages = digest.prompts
    if not messages:
        return Requests(first=digest.first_prompt)
    last = messages[-1]
    weak = is_weak(last.text)
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
    earlier = [message for message in strong if message is not request]
    first = digest.first_prompt
    return Requests(
        last,
        answers=answered(last) if refers(last) else "",
        request=request,
        request_answers=answered(request) if request is not None and refers(request) else "",
        mends=mends and request is not None,
        before=earlier[0] if earlier else None,
        first=first if first is not None and not is_weak(first.text) else None,
        calls=digest.calls - last.calls,
    )


def refers(message: UserMessage) -> bool:
    """Whether a message points to what the agent said before it."""
    text = message.text
    if message.how in ("queued", "command"):
        return False
    words = len(content_words(text))
    return (
        any(_item(message.reply_to, mark) for mark in picked(text))
        or is_weak(text)
        or bool(_ASSENT.match(text) and words < 6)
        or bool(_POINTS.search(text[:70]) and words < 12)
    )


def answered(message: UserMessage) -> str:
    """What a message answers: the chosen item, the offered list, the question, or the sentence that it takes
    up."""
    said, text = message.reply_to, message.text.strip()
    told = sentences(said)
    if not told:
        return ""
    if items := [item for mark in picked(text) if (item := _item(said, mark))]:
        return "; ".join(items)
    offers = _offered(said)
    if offers and (
        _ALL.search(text) or (is_weak(text) and _ASSENT.match(text) and not told[-1].endswith("?"))
    ):
        return offers
    if section := _section(said, text):
        return section
    mine = {word[:5] for word in content_words(text)}
    if mine and not _ASSENT.match(text) and not told[-1].endswith("?"):
        shared = [len(mine & {word[:5] for word in content_words(sentence)}) for sentence in told]
        best = max(range(len(told)), key=lambda at: shared[at])
        if shared[best]:
            short = size(told[best]) <= 60 and best + 1 < len(told)
            return f"{told[best]} {told[best + 1]}" if short else told[best]
    late = range(len(told) - 1, max(-1, len(told) - 8), -1)
    asks = next((at for at in late if _LEAVES.search(told[at])), len(told) - 1)
    answer = told[asks]
    for before in reversed(told[max(0, asks - 2) : asks]):
        if size(answer) < 130 and (_POINTS.search(answer) or size(answer) < 60):
            answer = f"{before} {answer}"
    return answer


def _section(said: str, text: str) -> str:
    """The list under the heading that a message names: of "do the quick wins" the quick wins."""
    wanted = {word[:5] for word in content_words(text)}
    lines = [line.strip() for line in said.split("\n") if line.strip()]
    for at, line in enumerate(lines[:-1]):
        heading = re.match(r"#{1,6} .+|\*\*.+\*\*:?$|.{3,80}:$", line)
        named = {word[:5] for word in content_words(line)}
        if heading is None or len(wanted & named) < min(2, len(named)) or not named:
            continue
        items = []
        for entry in lines[at + 1 :]:
            if not _ITEM.match(entry):
                break
            items.append(flat(_BULLET.sub("", entry)))
        if len(items) > 1:
            return f"{flat(_BULLET.sub('', line))} {'; '.join(cut(item, 85) for item in items[:8])}"
    return ""


def picked(text: str) -> list[str]:
    """The numbers or letters with which a message chooses from a list: of "1, 3 and 5" all three."""
    pick = PICKS.match(text)
    if pick is None or pick[1].lower() in ("i", "y", "n"):
        return []
    more = _MORE_PICKS.match(text, pick.end())
    marks = [pick[1], *re.findall(r"\b(?:[A-Ha-h]|\d{1,2})\b", more[0] if more else "")]
    if (
        more
        and len(marks) == 2
        and re.search(r"[-–]|\bto\b", more[0])
        and marks[0].isdigit()
        and marks[1].isdigit()
    ):
        return [str(number) for number in range(int(marks[0]), min(int(marks[1]), int(marks[0]) + 9) + 1)]
    return marks


def _item(said: str, mark: str) -> str:
    """The line of a message that a number or a letter refers to."""
    lines = re.findall(rf"(?im)^[\s*#|>-]*\(?(?:option |phase |step )?{re.escape(mark)}[.):\s*|][^\n]*", said)
    return flat(lines[-1].strip("|#*> -")) if lines else ""


def _offered(said: str) -> str:
    """The list that closes a message, with the line that leads to it: what a "yes to all" takes up."""
    lines = [line.rstrip() for line in said.split("\n") if line.strip()]
    end = len(lines)
    while end and len(lines) - end < 2 and not _ITEM.match(lines[end - 1]):
        end -= 1
    start = end
    while start and (_ITEM.match(lines[start - 1]) or lines[start - 1].startswith("  ")):
        start -= 1
    items = [flat(_BULLET.sub("", line)) for line in lines[start:end] if _ITEM.match(line)]
    lead = flat(_BULLET.sub("", lines[start - 1])) if start else ""
    tail = flat(" ".join(lines[end:]))
    if len(items) < 2 or not start or not _ASKING.search(f"{lead} {tail}"):
        return ""
    listed = "; ".join(cut(item, 85) for item in items[:6])
    return f"{cut(lead, 90)} {listed}" + (f" {cut(tail, 90)}" if tail.endswith("?") else "")


# -- a message within a number of bytes


def told(message: UserMessage, most: int) -> str:
    """A message in at most ``most`` bytes: pasted logs folded, a long plan by its title, else its two
    ends."""
    text = message.text
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


def _title(text: str) -> str:
    """A long plan or prompt: what was given to a template, its title and its first prose."""
    given = _INPUT.search(text)
    if given is not None and (words := flat(given[1])):
        return f"{words} / {_title(text[: given.start()] + text[given.end() :])}"
    lines = [line.strip() for line in text.split("\n") if line.strip()]
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


_INPUT = regex(
    r"^(?:#{1,4} *)?\**(?:user (?:input|request|prompt|query)|arguments?|user arguments?)\**:?\**[ \t]*\n+"
    r"(?:```\w*\n)?(?!\$)(\S[^\n]{0,400})",
    re.I | re.M,
)
"""What the user gave to a command that was written out as a long prompt."""


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


def unpasted(text: str) -> str:
    """A message on one line, with pasted logs and code folded into a note of what they say and which files
    they name."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    spoken = [_is_prose(line) and not _NOT_PROSE.match(line) for line in lines]
    for at in range(1, len(lines) - 1):  # a line between two of a log belongs to the log
        spoken[at] = spoken[at] and (spoken[at - 1] or spoken[at + 1])
    blocks: list[tuple[int, int]] = []
    start: int | None = None
    for at, prose in enumerate([*spoken, True]):
        if not prose and start is None:
            start = at
        elif prose and start is not None:
            blocks += [(start, at)] if at - start >= 3 else []
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
