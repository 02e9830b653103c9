"""The texts of the Markdown layers: what a note says, what the state says of itself, what an archive keeps.

The state begins with front matter: one line for each fact, ``key: JSON``, or ``key:`` and rows of JSON below
it. That is also YAML, and small enough to be read by hand after a merge went wrong; a checksum shows whether
it is intact. It names the session's version and the hash of its last event, which `segue verify --audit
--head` finds in the journal. Whatever is read from such a file is data from anybody who can write to the
repository.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.lazy import regex
from ..base.text import one_line
from ..base.values import Value
from ..journal.event import Body
from ..sessions import events as ev
from ..sessions.declared_choices import decisions_that_hold
from ..sessions.state import SessionState, action_words

FRONT = "---\n"
FORMAT = 1
ROWS_MAX = 400
TEXT_CHARS = 600
_KEY = regex(r"[a-z_]{1,40}")


class FrontMatter(Value):
    """A session as its front matter describes it."""

    session: str
    version: int
    head: str
    """The hash of its last event, in hex."""
    goal: str
    written: str = ""
    organization: str = ""
    project: str = ""
    project_name: str = ""
    type: str = "coding"
    status: str = "active"
    summary: str = ""
    last_action: str = ""
    items: tuple[tuple[str, str, str], ...] = ()
    """(status, text, reason)."""
    decisions: tuple[tuple[str, str], ...] = ()
    questions: tuple[str, ...] = ()
    """Those that are open."""
    findings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    """Those that are not solved."""


def told_of(state: SessionState, head: str, written: str) -> FrontMatter:
    """The front matter of a state."""
    project = "" if state.project.startswith(("/", "~")) or ":\\" in state.project else state.project
    items = [(item.status, _cut(item.text), _cut(item.reason)) for item in state.items]
    left = [row for row in items if row[0] in ("active", "next", "blocked")]
    done = [row for row in items if row[0] in ("done", "dropped")]
    return FrontMatter(
        state.id, state.version, head, _cut(state.goal), written, state.organization, project,
        state.project_name, state.type, state.status, _cut(state.summary),
        _cut(action_words(state.last_action)),
        items=(*done[-ROWS_MAX:], *left[:ROWS_MAX]),
        decisions=tuple((_cut(d.text), _cut(d.why)) for d in decisions_that_hold(state)[-ROWS_MAX:]),
        questions=tuple(_cut(q.text) for q in state.questions if not q.answer)[-ROWS_MAX:],
        findings=tuple(_cut(f.text) for f in state.findings)[-ROWS_MAX:],
        errors=tuple(_cut(t.text) for t in state.troubles if not t.solution)[-ROWS_MAX:],
    )  # fmt: skip


def front_matter(facts: FrontMatter) -> str:
    """The lines between two ``---``, with their checksum."""
    lines = [f"segue: {FORMAT}"]
    for name in FrontMatter.__struct_fields__:
        value = getattr(facts, name)
        if isinstance(value, tuple):
            lines += [f"{name}:", *(f"  - {_json(row)}" for row in value)] if value else []
        elif value or name in ("version", "head", "goal"):
            lines.append(f"{name}: {_json(value)}")
    lines.append(f"checksum: {_json(_checksum(lines))}")
    return FRONT + "\n".join(lines) + "\n" + FRONT


def read_front_matter(text: str) -> FrontMatter | None:
    """The front matter of a text; None if it is missing or not intact."""
    text = text.replace("\r\n", "\n")
    if not text.startswith(FRONT):
        return None
    head, closed, _ = text[len(FRONT) :].partition("\n" + FRONT)
    lines = head.split("\n")
    if not closed or not lines[-1].startswith("checksum: "):
        return None
    try:
        if (
            json.loads(lines[-1].partition(": ")[2]) != _checksum(lines[:-1])
            or lines[0] != f"segue: {FORMAT}"
        ):
            return None
        return _told(_values(lines[1:-1]))
    except (ValueError, TypeError, KeyError):
        return None


def _values(lines: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    name = ""
    for line in lines:
        if line.startswith("  - "):
            values[name].append(json.loads(line[4:]))
            continue
        name, colon, rest = line.partition(":")
        if not colon or not _KEY.fullmatch(name):
            raise ValueError(line)
        values[name] = json.loads(rest) if rest.strip() else []
    return values


def _told(values: Mapping[str, Any]) -> FrontMatter:
    import msgspec

    known = {name: values[name] for name in FrontMatter.__struct_fields__ if name in values}
    return msgspec.convert(known, FrontMatter)


def _checksum(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:32]


def _json(value: Any) -> str:
    """JSON that no line break and no bidi character can break out of, and that is also YAML."""
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]",
        lambda match: f"\\u{ord(match[0]):04x}",
        json.dumps(value, ensure_ascii=False),
    )


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= TEXT_CHARS else line[: TEXT_CHARS - 1] + "…"


# -- a note ----------------------------------------------------------------------------------------

_WORDS: dict[type[Body], str] = {
    ev.ItemDone: "done",
    ev.ItemBlocked: "blocked",
    ev.ItemDropped: "dropped",
    ev.Decided: "decided",
    ev.Learnt: "learnt",
    ev.Asked: "asked",
    ev.Answered: "answered",
    ev.ErrorSeen: "error",
    ev.ErrorSolved: "solved",
    ev.Noted: "noted",
}
HAPPENED_MAX = 60


def happened(bodies: Iterable[Body | None]) -> list[str]:
    """What happened according to events, one line each, in order and without duplicates."""
    lines: dict[str, None] = {}
    for body in bodies:
        word = _WORDS.get(type(body)) if body is not None else None
        if word is None:
            continue
        more = next(
            (getattr(body, n) for n in ("why", "reason", "answer", "solution") if getattr(body, n, "")), ""
        )
        text = _cut(action_words(str(getattr(body, "text", ""))))
        lines[f"- {word}: {text}{f' – {_cut(more)}' if more else ''}"] = None
    found = list(lines)
    left = len(found) - HAPPENED_MAX
    return [f"- … and {left} earlier", *found[left:]] if left > 0 else found


# -- an archive ------------------------------------------------------------------------------------

_TELLING = regex(
    r"\s*[-*]?\s*(?:\[x\]|(?:decided|decision|learnt|learned|solved|error|blocked|answered|done|released|fixed)\b\s*:?)",
    re.IGNORECASE,
)
_HEADING = regex(r"#{1,6} \S")
_COMMENT = regex(r"<!--.*-->\s*")
EXTRACT_LINES_MAX = 24


def extract(note: str) -> list[str]:
    """The lines of a note that still matter after months: its first words, headings and decisions."""
    lines = [
        line.rstrip() for line in note.split("\n") if line.strip() and not _COMMENT.fullmatch(line.strip())
    ]
    first = next((line for line in lines if not _HEADING.match(line)), "")
    chosen = [line for line in lines if line is first or _HEADING.match(line) or _TELLING.match(line)]
    unique = list(dict.fromkeys(_cut(line) if len(line) > TEXT_CHARS else line for line in chosen))
    return unique[:EXTRACT_LINES_MAX]
