"""The brief as text: a head, then the parts, each with its share of the bytes; what one leaves over goes to
the next.

Nothing is padded. The trail and the user's words get most: readers act on them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from ...errors import BudgetTooSmall
from ..base.lazy import regex
from ..base.page import cut, middle, plain, size
from ..runs.brief_text import AT_WORK, CLOSING, OPENING, STANDS, STOPPED, delimited
from .facts import BriefFacts
from .parts import (
    Line,
    Trail,
    claims_part,
    cost,
    declared_part,
    facts_part,
    list_part,
    notices_part,
)
from .trail_words import folder_of
from .tree_part import tree_part
from .words_part import choices_part, findings_part, rules_part, tried_part, words_part

BYTES_MIN = 256
BYTES_DEFAULT = 2_048
_TIGHT_BYTES, _MIDDLE_BYTES = 700, 1_200

_SHARES = {
    "notices": 14, "words": 30, "rules": 10, "choices": 8, "tried": 4, "findings": 6, "trail": 34,
    "list": 14, "tree": 20,
    "declared": 14, "facts": 8,
}  # fmt: skip
_MIDDLE_SHARES = {
    "notices": 14, "words": 30, "rules": 8, "choices": 5, "tried": 0, "findings": 4, "trail": 28,
    "list": 26, "tree": 22,
    "declared": 8, "facts": 0,
}  # fmt: skip
_TIGHT_SHARES = {
    "notices": 0, "words": 34, "rules": 8, "choices": 0, "tried": 0, "findings": 0, "trail": 20,
    "list": 30, "tree": 26,
    "declared": 0, "facts": 0,
}  # fmt: skip
"""What each part gets at least, of a hundred of the bytes, but of not more than ``BYTES_DEFAULT``. In all
they are more than a hundred, because hardly any brief has every part."""
_MOST = {"notices": 480, "trail": 1_300, "list": 900, "tree": 900, "declared": 480, "facts": 260}
"""What a part takes at most: more than this nobody acted on. What was said is told whole."""
_ORDER = (
    "notices", "words", "rules", "choices", "findings", "list", "tree", "trail", "tried", "declared", "facts",
)  # fmt: skip
"""Who is asked first how much it needs: the trail takes what is left over."""
_SHOWN = (
    "notices", "words", "rules", "choices", "tried", "findings", "trail", "list", "tree", "declared",
    "facts", "claims",
)  # fmt: skip


def compose(facts: BriefFacts, budget: int = BYTES_DEFAULT, more: str = "") -> str:
    """The brief as text. ``more`` is the command that shows what was left out.

    Raises BudgetTooSmall below ``BYTES_MIN``.
    """
    return delimited("\n".join(line.text for line in compose_lines(facts, budget, more)))


def compose_lines(facts: BriefFacts, budget: int = BYTES_DEFAULT, more: str = "") -> list[Line]:
    """The lines of a brief, with the steps that each rests on."""
    if budget < BYTES_MIN:
        raise BudgetTooSmall(
            f"a brief needs at least {BYTES_MIN} bytes, not {budget}",
            hint=f"use --max-bytes {BYTES_MIN} or more",
        )
    head = Line(f"{OPENING}{plain(_head(facts, budget))}")
    if size(head.text) > budget * 2 // 5:
        head = Line(f"{OPENING}{plain(_head(facts, BYTES_MIN))}")
    foot = Line(f"{CLOSING} more: {more}" if more and budget >= _TIGHT_BYTES else CLOSING)
    parts = _parts(facts, budget - cost([head]) - size(foot.text))
    body = [Line(plain(line.text), line.at) for name in _SHOWN for line in parts[name]]
    return [head, *body, foot]


def _parts(facts: BriefFacts, room: int) -> dict[str, list[Line]]:
    """Each part within its share; then what is left over goes to those that have more to say."""
    shown: dict[str, list[Line]] = {name: [] for name in _SHOWN}

    trail, is_tight = Trail(facts), False

    def write(name: str, most: int) -> list[Line]:
        if name == "trail":
            return trail.part(most)
        if name == "rules":
            return rules_part(facts, most, _text(shown["words"]) if is_tight else "")
        if name == "facts":
            return facts_part(facts, most, _text(shown["trail"]))
        return _WRITERS[name](facts, most)

    shares = (
        _SHARES if room >= _MIDDLE_BYTES else _MIDDLE_SHARES if room >= _TIGHT_BYTES - 100 else _TIGHT_SHARES
    )
    base = min(room, BYTES_DEFAULT)
    least = {name: base * shares[name] // 100 for name in _ORDER}
    wants = {name: cost(write(name, min(room, _MOST.get(name, room)))) for name in _ORDER}
    is_tight = sum(wants.values()) > room  # then a rule that a request says is not told again
    left = room
    for at, name in enumerate(_ORDER):
        others = sum(min(wants[one], least[one]) for one in _ORDER[at + 1 :])
        most = max(left - others, min(left, least[name]))
        most = min(most, max(_MOST.get(name, most), _MOST.get(name, 0) * base // BYTES_DEFAULT))
        shown[name] = _fitting(write(name, most), left) if shares[name] else []
        left -= cost(shown[name])
    shown["claims"] = claims_part(facts, min(left, _MOST["facts"]))
    return shown


def _text(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _fitting(lines: list[Line], room: int) -> list[Line]:
    """The first lines that fit, the last one of them cut."""
    kept: list[Line] = []
    for line in lines:
        left = room - cost(kept) - 1
        if size(line.text) > left:
            short = cut(line.text, left - 1) if left >= 40 else ""
            closed = f'{short}"' if short.count('"') % 2 else short
            return [*kept, Line(closed, line.at)] if short else kept
        kept.append(line)
    return kept


_WRITERS: dict[str, Callable[[BriefFacts, int], list[Line]]] = {
    "notices": notices_part, "words": words_part, "choices": choices_part, "tried": tried_part,
    "findings": findings_part, "list": list_part, "tree": tree_part, "declared": declared_part,
}  # fmt: skip


def _head(facts: BriefFacts, budget: int) -> str:
    """Where the work stands: agent, folder, branch, when, how it ended."""
    of_run = (facts.run or facts.agent) and not facts.own
    parts = [f" {AT_WORK if facts.at_work else STOPPED if of_run else STANDS}"]
    about = [facts.agent] if facts.agent else []
    if facts.folder:
        folder = folder_of(facts.folder)
        about.append(
            f"in {middle(folder.root.replace(folder.home, '~', 1) if folder.home else folder.root, 80)}"
        )
    if facts.branch:
        about.append(f"branch {cut(facts.branch, 60)}")
    if facts.when:
        about.append(datetime.fromtimestamp(facts.when, UTC).strftime("%Y-%m-%d %H:%M UTC"))
    if facts.calls:
        about.append(f"after {facts.calls} call{'s' * (facts.calls != 1)}")
    if facts.window and facts.context:
        about.append(f"window {100 * facts.context // facts.window} % full")
    if about and budget >= 400:
        parts.append(f" ({', '.join(about)})")
    if not (facts.goal or facts.plan or facts.trail or facts.failing or facts.notices):
        parts.append("; nothing of its work is known")
    elif facts.own or facts.at_work:
        pass  # it goes on
    elif facts.ending and budget >= 400:
        parts.append(f"; {facts.ending}")
    elif facts.pending and budget >= 400:
        parts.append("; its last call has no result")
    return "".join(parts) + "."


def marked_down(facts: BriefFacts, budget: int = BYTES_DEFAULT, more: str = "") -> str:
    """The brief as Markdown: a list with the labels in bold, within the same budget."""
    room = budget
    while True:
        text = compose(facts, room, more)
        head, *lines, foot = text.split("\n")
        marked = "\n".join([head, *map(_bullet, lines), foot])
        over = size(marked) - budget
        if over <= 0 or room <= BYTES_MIN:
            return marked if over <= 0 else text
        room = max(BYTES_MIN, room - over)


_LABEL = regex(r"[^:(]*(?:\([^)]*\)[^:(]*)*:")
"""What stands before the first colon that is not in brackets."""


def _bullet(line: str) -> str:
    if line.startswith(("  ", "- ", "—")):
        return f"  - {line.removeprefix('- ').strip()}"
    label = _LABEL.match(line)
    return f"- **{label[0]}**{line[label.end() :]}" if label else f"- {line}"
