"""The text of our briefs: its marks, and what can be read back from it.

A ledger that a run was told of is in the store, whole. Where there is none, because the brief was given on
another machine or pasted by hand, the lines of the brief are read again: they have labels, and some still
hold: requests, rules, open items, choices, failing checks; from a manifest, the same fields. A text counts as
our brief only in a prompt or the output of a hook, never in the output of a tool. What was cut in the brief
is read as it was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..base.json_prefix import decode_prefix
from ..base.lazy import regex
from ..base.same_items import BETWEEN
from ..base.text import harmless_text
from ..base.values import Value
from ..language import sentences
from .brief_labels import Label

FROM_BEFORE = "from before: "  # stands before the first item of an older list
NOTHING_OPEN = "nothing"  # stands where open items would
AGENT_CHOSE = "the agent: "
"""Stands before what an agent decided by itself."""
EARLIER_AGENT = "an earlier agent: "  # stood there in earlier versions
EARLIER = "in an earlier run, not run since"
"""Stands behind the reasons of a check that failed in a run before."""
OPENING, CLOSING = "[segue]", "[/segue]"
STOPPED, STANDS = "Where the last run stopped", "Where the work stands"  # how a brief begins
AT_WORK = "Where the work stands that a run is doing now"
GO_ON = "Go on with this work where it stopped."  # how prompts began that stood outside our marks
STARTED_AGAIN = "Go on with the work; your process was started again"
STOPPED_TOO_EARLY = "You stopped, but it is"
PLAN, PROVEN = "Plan:", "It is done when this is proven:"  # and their paragraphs behind the user's words
NOBODY_WATCHES = "Nobody watches:"
ASKED_BY_USER = "asked by the user"  # the context of a pending task that is a request
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


class GivenBrief(Value):
    """What a brief told a run that holds for it."""

    requests: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    """What the user chose."""
    decisions: tuple[str, ...] = ()
    """What agents decided by themselves."""
    items: tuple[str, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return self != _NOTHING


_NOTHING = GivenBrief()
_ASKED = (Label.FIRST_REQUEST, "FIRST ASKED", Label.GOAL, Label.REQUEST, Label.ADDS_TO, Label.USER)
"""The labels of what the user asked for, with those of earlier versions."""


def read_brief(brief: str) -> GivenBrief:
    """What a brief tells that holds for the run that it was given to."""
    if brief.startswith("{"):
        return _from_manifest(brief)
    lines: dict[str, list[str]] = {}
    for line in brief.split("\n"):
        label, colon, rest = _BULLET.sub(r"\1:", line).strip().removeprefix("- ").partition(":")
        if colon and rest.strip():
            lines.setdefault(label.partition(" (")[0], []).append(rest.strip())
    asked = [_quoted(text) for label in _ASKED for text in lines.get(label, ())]
    items = [
        item for label in (Label.OPEN, "PLAN") for text in lines.get(label, ()) for item in _items(text, "; ")
    ]
    items += [item for text in lines.get(Label.BLOCKED, ()) for item in _items(text, BETWEEN)]
    rules = [
        rule
        for label in (Label.RULES, "STANDING")
        for text in lines.get(label, ())
        for rule in _items(text, BETWEEN)
    ]
    decided = [one for text in lines.get(Label.DECIDED, ()) for one in _decided(text)]
    by_agents = [one for one in decided if one.startswith((AGENT_CHOSE, EARLIER_AGENT))]
    return GivenBrief(
        requests=tuple(dict.fromkeys(text for text in asked if not sentences.is_assent(text))),
        rules=tuple(rules),
        choices=tuple(one for one in decided if one not in by_agents),
        decisions=tuple(one.removeprefix(AGENT_CHOSE).removeprefix(EARLIER_AGENT) for one in by_agents),
        items=tuple(_bare_items(items)),
        failing=tuple(_failing(_FAILING.findall(brief))),
    )


def _bare_items(items: Iterable[str]) -> Iterator[str]:
    """Items without the words that stand before them in a brief."""
    for item in items:
        bare = item.removeprefix("now ").removeprefix(FROM_BEFORE).removeprefix("now ")
        if bare != NOTHING_OPEN and not _MORE.match(bare) and not bare.startswith(UNREACHED):
            yield bare


def _failing(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Checks that fail and why, without features, which the session knows itself."""
    for what, why in found:
        if not what.startswith("segue "):
            yield what, why.replace(" / ", "\n").removesuffix(f"\n{EARLIER}").removesuffix(EARLIER)


def _quoted(text: str) -> str:
    """A text without the quotation marks around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _from_manifest(text: str) -> GivenBrief:
    try:
        manifest, _ = decode_prefix(text)
    except (ValueError, RecursionError):
        return GivenBrief()
    meta, critical = _part(manifest, "session_metadata"), _part(manifest, "critical_context")
    tasks = manifest.get("pending_tasks")
    rows = [row for row in tasks if isinstance(row, dict)] if isinstance(tasks, list) else []
    asked = [row for row in rows if row.get("context") == ASKED_BY_USER]
    goals = [str(meta.get("first_asked", "")), str(meta.get("goal", ""))]
    return GivenBrief(
        requests=tuple(dict.fromkeys(filter(None, [*goals, *_texts([row.get("task") for row in asked])]))),
        rules=_texts(critical.get("standing_instructions")),
        choices=_texts(critical.get("key_decisions")),
        items=_texts([row.get("task") for row in rows if row not in asked]),
        failing=tuple(_failing(_FAILED.findall("\n".join(_texts(critical.get("blockers")))))),
    )


def _part(manifest: Any, key: str) -> dict[str, Any]:
    part = manifest.get(key)
    return part if isinstance(part, dict) else {}


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        return ()
    return tuple(value for value in values if isinstance(value, str) and value)


def _decided(line: str) -> tuple[str, ...]:
    """The decisions in a line, which may be a list or sentences."""
    is_list = BETWEEN in line or sentences.ASKED in line
    return _items(line, BETWEEN) if is_list else tuple(sentences.sentences(line))


def _items(text: str, between: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(between) if item.strip())
