"""The statements of a brief, taken from its text as a reader would take them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["outcome", "commit", "uncommitted", "open item", "running", "check", "user", "ending", "place"]
KINDS: tuple[Kind, ...] = (
    "outcome", "commit", "uncommitted", "open item", "running", "check", "user", "ending", "place",
)  # fmt: skip


@dataclass(slots=True)
class Statement:
    """Something that a brief says is so."""

    kind: Kind
    form: str  # which of the forms that the judge knows
    line: str
    parts: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ReadBrief:
    """A brief taken apart; the trail in its order, because its lines bear on each other."""

    statements: list[Statement] = field(default_factory=list)
    trail: list[Statement] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # lines that no form fits
    message: str = ""  # the message that an answer belongs to


_HEAD = re.compile(r"^\[segue\] (?P<what>[^(;]+?)(?: \((?P<about>.*)\))?(?:; (?P<ending>[^;()]*))?\.$")
_LABELLED = re.compile(r"^ *(?P<label>[A-Z][A-Z ]+?)(?: \((?P<about>[^)]*)\))?: ?(?P<rest>.*)$", re.S)
_NOT_JUDGED = frozenset(
    {
        "GOAL",
        "BLOCKED",
        "DECIDED",
        "QUESTIONS",
        "THREADS",
        "FOCUS",
        "LEARNT",
        "REMEMBERED",
        "NOTICE",
        "UNPROVEN",
    }
)
_OF_THE_USER = ("USER", "TASK", "REQUEST", "ADDS TO", "BEFORE", "FIRST REQUEST", "IN REPLY TO")

Form = tuple[Kind, str, re.Pattern[str]]
_QUOTE = r"(?:: \"(?P<quote>.*)\")?"


def _forms(*rows: tuple[Kind, str, str]) -> tuple[Form, ...]:
    """Each with the pattern of a whole line; QUOTE stands for a quotation that may be missing."""
    return tuple(
        (kind, form, re.compile(f"^{text.replace('QUOTE', _QUOTE)}$", re.S)) for kind, form, text in rows
    )


_TREE_FORMS = _forms(
    (
        "check", "failing",
        r"FAILING(?P<since>, not run since the last edit)?(?:, called again without a result)?: "
        r"`(?P<name>.*?)`"
        r"(?:, (?P<count>\d+) tests: (?P<tests>[^\"]*?))?(?:: \"(?P<quote>.*?)\"?)?(?: \([^()\"]*\))?",
    ),
    ("check", "checked", r"Checked(?: since the last edit)?: (?P<checks>.*?)\.?"),
    ("check", "checked before", r"Not checked since the last edit; before it: (?P<checks>.*?)\.?"),
    ("check", "unchecked", r"No test, check or build was run after the edits\."),
    (
        "uncommitted", "changed",
        r"(?:Changed and not committed|Not committed, by git status): (?P<files>.*?)"
        r"(?:; git status had also (?P<others>.*?))?(?P<doubt>; sub-agents.*)?\.?",
    ),
    ("uncommitted", "unchanged", r"Nothing changed since the last commit, as far as is known\."),
    ("uncommitted", "doubt", r"Edited by sub-agents: not known\."),
    ("uncommitted", "stashed", r"Changes were put into git's stash and not taken out again\."),
    (
        "commit", "last commit",
        r"Last commit: (?:(?P<hash>[0-9a-f]{7,40}) )?(?P<subject>.*) \((?:on branch (?P<branch>[^,]+), )?"
        r"(?:(?P<count>\d+) in this run, )?(?P<pushed>pushed|no push seen since)\)\.",
    ),
    ("place", "pull request", r"Pull request: #(?P<number>\d+)\."),
    ("running", "running", r"Was running in the background: (?P<jobs>.*?)\.?"),
)  # fmt: skip

_TRAIL_FORMS = _forms(
    ("user", "said", r"said: \"(?P<quote>.*)\""),
    ("ending", "interrupted", r"the user interrupted the agent"),
    ("outcome", "notice", r"(?P<name>[^$→]*?) (?:ended|failed|reported|was stopped|was killed)QUOTE"),
    (
        "commit", "committed",
        r"committed(?P<pushed> and pushed)? (?:(?P<hash>[0-9a-f]{7,40}) )?(?P<subject>.*)",
    ),
    ("commit", "commit open", r"commit (?P<subject>.*) → NO RESULT YET"),
    ("commit", "commit failed", r"commit FAILED (?P<subject>.*?)QUOTE"),
    ("commit", "commit tried", r"tried to commit (?P<subject>.*?)QUOTE"),
    ("commit", "commit refused", r"the user REFUSED the commit (?P<subject>.*?)QUOTE"),
    ("outcome", "command", r"\$ (?P<command>.*) → (?P<became>.*?)"),
    ("outcome", "edit failed", r"edit FAILED on (?P<paths>.*?)QUOTE"),
    ("outcome", "edit refused", r"the user refused the edit of ?(?P<paths>.*?)QUOTE"),
    ("outcome", "edit open", r"(?P<verb>edit|write|delete|patch) (?P<rest>.*) → NO RESULT YET"),
    ("outcome", "edited", r"(?P<verb>edited|wrote|deleted|patched) (?P<rest>.*)"),
    ("outcome", "agent", r"sub-agent \"(?P<task>.*?)\" → (?P<became>.*)"),
    ("user", "asked", r"asked the user \"(?P<task>.*?)\" → (?P<became>.*)"),
    ("outcome", "plan shown", r"showed the user a plan \"(?P<task>.*?)\" → (?P<became>.*)"),
    ("outcome", "looking", r"was looking, when it stopped, at (?P<items>.*)"),
    ("outcome", "looked", r"(?:looked at (?=.)|(?=\d+ more, then ))(?P<items>.*)"),
    ("outcome", "tool", r"(?P<tool>[\w.:/-]+)(?: (?P<given>.*))? → (?P<became>.*?)"),
    ("outcome", "looked", r"(?P<items>(?:grep|git|ls|find|[A-Z]\w+ in) .*|ls|find|pwd|git\b.*)"),
    ("outcome", "notice", r"(?P<name>[^→]*)…: \"(?P<quote>.*)\""),
    ("outcome", "looked", r"(?P<items>[a-z][\w./-]* [^→]*)"),
)  # fmt: skip


def read_brief(text: str) -> ReadBrief:
    """The statements of a brief."""
    brief = ReadBrief()
    section = ""
    for line in text.split("\n"):
        if not line.strip():
            continue
        if line.startswith("[segue]"):
            _head(brief, line)
        elif line.startswith("[/segue]"):
            break
        elif line.startswith("—"):
            _mark(brief, line)
        elif line.startswith("- "):
            _entry(brief, section, line)
        elif section == "TREE" and line.startswith("  "):
            _tree(brief, line, line.strip())
        elif match := _LABELLED.match(line):
            section = match["label"]
            _labelled(brief, line, match["label"], match["about"] or "", match["rest"])
        else:
            brief.unknown.append(line)
    return brief


def _head(brief: ReadBrief, line: str) -> None:
    match = _HEAD.match(line)
    if match is None:
        brief.unknown.append(line)
        return
    for part in (match["about"] or "").split(", "):
        if found := re.match(r"in (.+)$", part):
            brief.statements.append(Statement("place", "folder", line, {"folder": found[1]}))
        elif found := re.match(r"branch (.+)$", part):
            brief.statements.append(Statement("place", "branch", line, {"branch": found[1]}))
        elif found := re.match(r"after (\d+) calls?$", part):
            brief.statements.append(Statement("place", "calls", line, {"calls": found[1]}))
        elif found := re.match(r"(\d{4}-\d\d-\d\d \d\d:\d\d) UTC$", part):
            brief.statements.append(Statement("place", "when", line, {"when": found[1]}))
    if match["ending"]:
        brief.statements.append(Statement("ending", match["ending"], line))


def _labelled(brief: ReadBrief, line: str, label: str, about: str, rest: str) -> None:
    quote = rest.strip().removeprefix('"').removesuffix('"')
    add = brief.statements.append
    if label in ("USER", "TASK"):
        age = re.search(r"(\d+) calls? before the end", about)
        none = re.search(r"nothing (?:was done since|came after it)|no call since", about)
        add(Statement("user", "last message", line, {"quote": quote, "how": about}))
        if age or none:
            parts = {"quote": quote, "calls": age[1] if age else "0", "how": about}
            add(Statement("user", "age", line, parts))
    elif label in ("REQUEST", "ADDS TO", "BEFORE", "FIRST REQUEST", "IN REPLY TO"):
        add(Statement("user", label.lower(), line, {"quote": quote, "message": brief.message}))
    if label in ("USER", "TASK", "REQUEST", "ADDS TO"):
        brief.message = quote
    if label == "RULES":
        add(Statement("user", "rules", line, {"quote": rest}))
    elif label == "TRAIL":
        if found := re.search(r"the last of (\d+) calls since", about):
            add(Statement("user", "calls since", line, {"calls": found[1]}))
    elif label in ("LAST WORDS", "LAST THOUGHT"):
        add(Statement("ending", label.lower(), line, {"quote": quote}))
        if "turn was over" in about:
            add(Statement("ending", "its turn was over", line))
    elif label == "OPEN":
        add(Statement("open item", "open", line, {"items": rest, "about": about}))
    elif label == "TREE":
        _tree(brief, line, rest)
    elif label not in (*_NOT_JUDGED, *_OF_THE_USER, "FACTS"):
        brief.unknown.append(line)


def _tree(brief: ReadBrief, line: str, text: str) -> None:
    for kind, form, pattern in _TREE_FORMS:
        if match := pattern.match(text):
            parts = {key: value or "" for key, value in match.groupdict().items()}
            brief.statements.append(Statement(kind, form, line, parts))
            return
    if not text.endswith("…"):
        brief.unknown.append(line)


def _mark(brief: ReadBrief, line: str) -> None:
    if re.search(r"here the (?:user wrote the last message|last message was written)", line):
        brief.trail.append(Statement("user", "mark last", line))
    elif match := re.match(r"— user: \"(.*)\" —$", line):
        brief.trail.append(Statement("user", "mark", line, {"quote": match[1]}))
    else:
        brief.unknown.append(line)


def _entry(brief: ReadBrief, section: str, line: str) -> None:
    text = line[2:]
    if section == "FACTS":
        if match := re.match(r"the user refused `(.*?)`(?:: \"(.*)\")?$", text):
            parts = {"what": match[1], "quote": match[2] or ""}
            brief.statements.append(Statement("outcome", "refused", line, parts))
        elif match := re.match(r"the agent's recap: \"(.*)\"$", text):
            brief.statements.append(Statement("user", "recap", line, {"quote": match[1]}))
        elif match := re.match(r"the model failed at the end: \"(.*)\"$", text):
            brief.statements.append(Statement("ending", "fault", line, {"quote": match[1]}))
        else:
            brief.unknown.append(line)
        return
    for kind, form, pattern in _TRAIL_FORMS:
        if match := pattern.match(text):
            parts = {key: value or "" for key, value in match.groupdict().items()}
            brief.trail.append(Statement(kind, form, line, parts))
            return
    brief.unknown.append(line)
