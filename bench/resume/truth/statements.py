"""The statements of a brief, taken from its text as a reader would take them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, get_args

Kind = Literal[
    "outcome", "commit", "uncommitted", "running", "check", "user", "ending", "place", "request", "point",
    "rule", "choice", "attempt", "plan", "finding", "open item", "passage",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)


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
    messages: list[str] = field(default_factory=list)  # those of the user, as they are quoted

    @property
    def message(self) -> str:
        """The message that the lines below it belong to."""
        return self.messages[-1] if self.messages else ""


_HEAD = re.compile(r"^\[segue\] (?P<what>[^(;]+?)(?: \((?P<about>.*)\))?(?:; (?P<ending>[^;()]*))?\.$")
_LABELLED = re.compile(r"^ *(?P<label>[A-Z][A-Z' ]+?)(?: \((?P<about>[^)]*)\))?: ?(?P<rest>.*)$", re.S)
_ASKED = ("REQUEST", "ADDS TO", "BEFORE", "FIRST REQUEST", "GOAL")
_LISTED: dict[str, tuple[Kind, str]] = {
    "ANSWERED": ("request", "answered"), "RULES": ("rule", "rules"), "DECIDED": ("choice", "decided"),
    "TRIED": ("attempt", "tried"), "FINDINGS": ("finding", "findings"), "AGENT'S PLAN": ("plan", "plan"),
    "POINTS": ("point", "points"), "OPEN": ("open item", "open"),
}  # fmt: skip
"""The labels of what was said and holds, each with the form of its line."""
_CUT = re.compile(
    r"  \((?:it is|(?P<cut>\d+) of (?P<of>\d+) messages are"
    r"|of (?P<all>\d+) messages (?P<left>\d+) are left out here(?: and (?P<also>\d+) cut)?)"
    r"(?: cut here)?: `segue ledger` has all of it\)$"
)

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
        r"FAILING(?P<since>, not run since the last edit)?(?P<again>, called again without a result)?: "
        r"`(?P<name>.*?)`"
        r"(?:, (?P<count>\d+) tests: (?P<tests>[^\"]*?))?(?:: \"(?P<quote>.*?)\"?)?"
        r"(?P<earlier> \(in an earlier run, not run since\))?",
    ),
    ("check", "checked", r"Checked(?: since the last edit)?: (?P<checks>.*?)\.?"),
    ("check", "checked before", r"Not checked since the last edit; before it: (?P<checks>.*?)\.?"),
    ("check", "unchecked", r"No known test, check or build was run after the edits\."),
    (
        "uncommitted", "changed",
        r"(?:Changed and not committed"
        r"|Not committed, by (?P<status>git status)(?: (?P<age>\d+) calls ago)?): "
        r"(?P<files>.*?)(?:; git status(?: (?P<ago>\d+) calls ago)? had also (?P<others>.*?))?\.?",
    ),
    ("uncommitted", "unchanged", r"Nothing changed since the last commit, as far as is known\."),
    ("uncommitted", "doubt", r"Edited by sub-agents: not known\."),
    (
        "uncommitted", "stashed",
        r"Changes were put into git's stash(?: (?P<age>\d+) calls ago)? and not taken out again\.",
    ),
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
    ("user", "asked", r"asked the user \"?(?P<task>.*?)\"? → (?P<became>.*)"),
    ("outcome", "plan shown", r"showed the user a plan(?: \"(?P<task>.*?)\")? +→ (?P<became>.*)"),
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
    text, passages = split_passages(text)
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
        elif cut := _CUT.match(line):
            parts = {key: value or "" for key, value in cut.groupdict().items()}
            brief.statements.append(Statement("request", "cut", line, parts))
        elif section == "TREE" and line.startswith("  "):
            _tree(brief, line, line.strip())
        elif match := _LABELLED.match(line):
            section = match["label"]
            _labelled(brief, line, match["label"], match["about"] or "", match["rest"])
        else:
            brief.unknown.append(line)
    messages = {"messages": "\n".join(brief.messages)}
    for statement in brief.statements:
        if statement.form in ("cut", "plan", "answered"):
            statement.parts |= messages
    if brief.messages:
        brief.statements.append(Statement("request", "in order", brief.messages[0], messages))
    brief.statements += passages
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
    parts = {"quote": quote, "how": about, "message": brief.message}
    if label in ("USER", "TASK"):
        brief.messages.append(quote)
        add(Statement("user", "last message", line, parts))
        add(Statement("request", "marks", line, parts))
        age = re.search(r"(\d+) calls? before the end", about)
        if age or re.search(r"nothing (?:was done since|came after it)|no call since", about):
            add(Statement("user", "age", line, {**parts, "calls": age[1] if age else "0"}))
    elif label in _ASKED:
        brief.messages.append(quote)
        add(Statement("request", label.lower(), line, parts))
        add(Statement("request", "marks", line, parts))
    elif label == "IN REPLY TO":
        add(Statement("request", "in reply to", line, parts))
    elif label in _LISTED:
        kind, form = _LISTED[label]
        add(Statement(kind, form, line, {"quote": rest.strip(), "about": about, "message": brief.message}))
    elif label == "TRAIL":
        if found := re.search(r"the last of (\d+) calls since", about):
            add(Statement("user", "calls since", line, {"calls": found[1]}))
    elif label in ("LAST WORDS", "LAST THOUGHT"):
        add(Statement("ending", label.lower(), line, {"quote": quote}))
        if "turn was over" in about:
            add(Statement("ending", "its turn was over", line))
    elif label == "TREE":
        _tree(brief, line, rest)
    elif label != "FACTS":
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
        elif match := re.match(r"asked before the fork: \"(.*)\"$", text):
            brief.statements.append(Statement("user", "forked", line, {"quote": match[1]}))
        elif text == "the last message was written before this conversation was forked":
            return
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


_SECTIONS = {
    "FILES as they were read": "seen", "COMMANDS and what they gave": "ran",
    "CHANGES as they were made": "changed", "IN THEIR OWN WORDS": "said",
}  # fmt: skip
_SPEAKER = re.compile(r"  (user|agent|a sub-agent \(quoted\)|agent, in its (?:summary|recap)): (.*)$")


def split_passages(text: str) -> tuple[str, list[Statement]]:
    """The brief without the passages that a long one quotes at its end, and these, one for each message or
    heading."""
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if _section(line)), len(lines))
    end = next((at for at, line in enumerate(lines) if at > start and line.startswith("[/segue]")), start)
    found: list[Statement] = []
    section = ""
    for line in lines[start:end]:
        if _section(line):
            section = _section(line)
        elif line == "  …":
            _quoted(found, "…")
        elif section == "said" and (match := _SPEAKER.match(line)):
            parts = {"speaker": match[1], "text": match[2]}
            found.append(Statement("passage", "said passage", line, parts))
        elif bar := re.match(r" +\| ?(.*)$", line):
            _quoted(found, bar[1])
        else:
            parts = {"section": section, "head": line.strip(), "text": ""}
            found.append(Statement("passage", "quoted passage", line, parts))
    return "\n".join([*lines[:start], *lines[end:]]), found


def _section(line: str) -> str:
    return next((name for head, name in _SECTIONS.items() if line.startswith(head)), "")


def _quoted(found: list[Statement], text: str) -> None:
    """Add a line to the passage that it stands in."""
    if found:
        found[-1].parts["text"] += f"\n{text}"
