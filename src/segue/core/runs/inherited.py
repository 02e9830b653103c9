"""What a run inherited from one of our briefs, read back from its transcript.

Segue records what held when it gives a brief (``BriefGiven.holds``), and that record is better than the text.
Where there is none, because the brief was given on another machine or pasted by hand, the lines of the brief
are read again: they have labels, and some still hold: goal, standing instructions, open items, decisions,
failing checks; from a manifest, the same fields. A text counts as our brief only in a prompt or the output of
a hook, never in the output of a tool. Items are read as they were shown, so one that was cut is recognised by
its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..base.json_prefix import decode_prefix
from ..base.lazy import regex
from ..base.same_items import BETWEEN
from ..base.text import harmless_text
from . import sentences
from .brief_labels import Label
from .carried_over import EARLIER, EARLIER_AGENT, FROM_BEFORE, NOTHING_OPEN, Inherited
from .standing_rules import standing_rules

OPENING, CLOSING = "[segue]", "[/segue]"
STOPPED, STANDS = "Where the last run stopped", "Where the work stands"  # how a brief begins
AT_WORK = "Where the work stands that a run is doing now"
GO_ON = "Go on with this work where it stopped."  # how prompts began that stood outside our marks
STARTED_AGAIN = "Go on with the work; your process was started again"
STOPPED_TOO_EARLY = "You stopped, but it is"
PLAN, PROVEN = "Plan:", "It is done when this is proven:"  # and their paragraphs behind the user's words
NOBODY_WATCHES = "Nobody watches:"
UNREACHED = "the model failed: "  # such a blocker holds for that run only
MANIFEST = '"session_metadata"'  # the first key of a manifest

_OWN_PARAGRAPH = regex(rf"\s(?:{PLAN}\s+- |{PROVEN}\s|{NOBODY_WATCHES}\s)")
_MANIFEST = regex(r"\{\s*" + MANIFEST)
_BULLET = regex(r"^- \*\*([^*]+):\*\*")
_MORE = regex(r"and \d+ more$")
_FAILING = regex(rf'(?m)^[-* ]*(?:{Label.TREE}:)?[* ]*{Label.FAILING}:\** `([^`\n]+)`(?:: "([^"\n]*)")?')
_FAILED = regex(r"(?m)^(\S.*?) failed: '([^'\n]*)'$")  # in a manifest


def delimited(brief: str) -> str:
    """The brief with our marks only at its beginning and its end, and harmless everywhere else."""
    body, _, closing = brief.rpartition("\n")
    if not body.startswith(OPENING) or not closing.startswith(CLOSING):
        return harmless_text(brief)
    end = CLOSING + harmless_text(closing.removeprefix(CLOSING))
    return f"{OPENING}{harmless_text(body.removeprefix(OPENING))}\n{end}"


def users_part(prompt: str) -> str:
    """What is left of a prompt without the words that Segue put into it when it launched the agent; empty if
    it is wholly Segue's."""
    if prompt.lstrip().startswith((GO_ON, STARTED_AGAIN, STOPPED_TOO_EARLY)):
        return ""
    return _OWN_PARAGRAPH.split(prompt, maxsplit=1)[0] if NOBODY_WATCHES in prompt else prompt


def split_brief(text: str) -> tuple[str, str]:
    """Our brief in a text, and the text around it. The brief is empty if there is none."""
    start = text.find(OPENING)
    if start < 0:
        return _split_manifest(text)
    if start and text[start - 1] != "\n" and text[:start].strip().count("\n") > 2:
        return "", text
    end = text.find(CLOSING, start)
    if end < 0 and not text.startswith((f"{OPENING} {STOPPED}", f"{OPENING} {STANDS}"), start):
        return "", text  # a text about Segue
    stop = len(text) if end < 0 else text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    return text[start:stop], f"{text[:start]}{text[stop:]}".strip()


def _split_manifest(text: str) -> tuple[str, str]:
    opening = _MANIFEST.search(text) if MANIFEST in text else None
    if opening is None:
        return "", text
    try:
        _, stop = decode_prefix(text, opening.start())
    except (ValueError, RecursionError):
        return "", text
    around = text[: opening.start()].removesuffix("```json\n") + text[stop:].removeprefix("\n```")
    return text[opening.start() : stop], around.strip()


def inherited_facts(brief: str) -> Inherited:
    """The facts in a brief that hold for the run that it was given to. Version 0.1 had other labels."""
    if brief.startswith("{"):
        return _from_manifest(brief)
    lines: dict[str, str] = {}
    for line in brief.split("\n"):
        label, colon, rest = _BULLET.sub(r"\1:", line).strip().removeprefix("- ").partition(":")
        if colon:
            lines.setdefault(label.partition(" (")[0], rest.strip())
    items = [
        item.removeprefix("now ").removeprefix(FROM_BEFORE)
        for item in _items(lines.get(Label.OPEN) or lines.get("PLAN", ""), "; ")
    ]
    requests = (_quoted(lines.get(label, "")) for label in (Label.REQUEST, Label.ADDS_TO, Label.USER))
    goals = (lines.get(Label.GOAL, ""), *requests)
    goal = next((text for text in goals if text and not sentences.is_assent(text)), "")
    decided = _decided(lines.get(Label.DECIDED, ""))
    return Inherited(
        goal=goal,
        first=_quoted(lines.get(Label.FIRST_REQUEST) or lines.get("FIRST ASKED", "")),
        since=_quoted(lines.get(Label.BEFORE, "")),
        standing=_rules(_items(lines.get(Label.RULES) or lines.get("STANDING", ""), BETWEEN), goal),
        plan=tuple(item for item in items if item != NOTHING_OPEN and not _MORE.match(item)),
        blocked=_blocked(_items(lines.get(Label.BLOCKED, ""), BETWEEN)),
        decided=tuple(one for one in decided if not one.startswith(EARLIER_AGENT)),
        failing=tuple(_failing(_FAILING.findall(brief))),
        chosen=tuple(one.removeprefix(EARLIER_AGENT) for one in decided if one.startswith(EARLIER_AGENT)),
    )


def _failing(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Checks that fail and why, without features, which the session knows itself."""
    for what, why in found:
        if not what.startswith("segue "):
            yield what, why.replace(" / ", "\n").removesuffix(f"\n{EARLIER}").removesuffix(EARLIER)


def _quoted(text: str) -> str:
    """A text without the quotation marks around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _from_manifest(text: str) -> Inherited:
    try:
        manifest, _ = decode_prefix(text)
    except (ValueError, RecursionError):
        return Inherited()
    meta, critical = _part(manifest, "session_metadata"), _part(manifest, "critical_context")
    tasks = manifest.get("pending_tasks")
    rows = [row for row in tasks if isinstance(row, dict)] if isinstance(tasks, list) else []
    blocked = [row for row in rows if row.get("status") == "blocked"]
    goal = str(meta.get("goal", ""))
    return Inherited(
        goal=goal,
        first=str(meta.get("first_asked", "")),
        standing=_rules(_texts(critical.get("standing_instructions")), goal),
        plan=_texts([row.get("task") for row in rows if row not in blocked]),
        blocked=_texts([row.get("task") for row in blocked]),
        decided=_texts(critical.get("key_decisions")),
        failing=tuple(_failing(_FAILED.findall("\n".join(_texts(critical.get("blockers")))))),
    )


def _part(manifest: Any, key: str) -> dict[str, Any]:
    part = manifest.get(key)
    return part if isinstance(part, dict) else {}


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        return ()
    return tuple(value for value in values if isinstance(value, str) and value)


def _rules(listed: tuple[str, ...], goal: str) -> tuple[str, ...]:
    """The listed rules and those in the goal, because a later request may replace the goal."""
    in_goal = [rule for rule in standing_rules(goal) if not rule.endswith("…")]
    return tuple(dict.fromkeys([*listed, *in_goal]))


def _blocked(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item for item in items if not item.startswith(UNREACHED))


def _decided(line: str) -> tuple[str, ...]:
    """The decisions in a line, which may be a list or sentences."""
    return _items(line, BETWEEN) if BETWEEN in line else tuple(sentences.sentences(line))


def _items(text: str, between: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(between) if item.strip())
