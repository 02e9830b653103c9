"""Short briefs: for a run that begins other work, and for one that touches work that is finished."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

from ...core.base.lazy import regex
from ...core.base.page import cut, plain, quote
from ...core.base.same_items import BETWEEN
from ...core.brief.parts import whole_texts
from ...core.brief.trail_words import message_words
from ...core.language.rules import limits_step, orders_delivery, restrains
from ...core.language.sentences import flat, given_to_template
from ...core.language.subjects import weight
from ...core.ledger.keep import ENDED_ON, TODO_LIST
from ...core.ledger.model import HOLDING, Entry
from ...core.ledger.other_work import about_same, own_subjects
from ...core.ledger.standing import choice_words, rules_alone, standing
from ...core.runs.brief_labels import Label
from ...core.runs.brief_text import CLOSING, OPENING, delimited
from ...core.runs.identifiers import short_run
from ...effects.git.probe import probe
from ...effects.redaction.redact import redact
from ..habits.told import accepted_rules
from ..ledger.work import run_name
from ..workspace.own_files import own_files
from ..workspace.workspace import Workspace
from .for_starts import HookBrief
from .notices import notices_of
from .predecessor import Predecessor
from .runs_summary import RunsSummary

RULES_BYTES, NAMES_BYTES, BEFORE_BYTES = 700, 160, 120
SAYS_MIN = 2
"""A request that is about fewer things does not say what it asks for."""
ASKED_MAX, ASKED_BYTES, WORDS_BYTES, BOUND_BYTES = 2, 160, 300, 400
OPEN_MAX, REQUEST_BYTES = 2, 400
COMMAND_CHARS = 200
_COMMAND = regex(r"\s*(?:#|<|---|You (?:must|are)\b|IT IS CRITICAL)")
_OF_COMMAND = regex(r"(?i)\bthis (?:command|workflow|step|prompt|skill|task)\b")
Left = Literal["cut off", "unfinished", "finished"]
"""How a run left its work: "unfinished" by its own last words."""


def brief_of_touched(
    workspace: Workspace, before: Predecessor, runs: RunsSummary, prompt: str, what: str, left: Left
) -> HookBrief:
    """What a run did whose work a prompt touches: its requests by their heads, its last words, what was left
    open, chosen and tried there about the same, and what holds for any work."""
    found = runs.found
    if found is None:
        return HookBrief()
    mine = own_subjects(prompt)
    heads = _heads([one for one in runs.entries if _was_answered(one)], mine)
    said = runs.digests[0].says[-1:]
    words = message_words(said[0].text, WORDS_BYTES, set()) if said else ""
    held = [one for one in runs.entries if one.state in HOLDING]
    kept = [one for one in held if _shares(mine, f"{one.text} {one.answers}")]
    id = plain(short_run(found.native))
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found.changed))
    end = "it was cut off" if left == "cut off" else "its turn was over"
    lines = [
        f"{OPENING} {what} ({found.agent} {id}, {at}; {end}):",
        *([f"{Label.ANSWERED}: {'; '.join(heads)}"] if heads else []),
        *([] if left == "finished" else _open_lines(prompt, runs.entries)),
        *([f"{Label.LAST_WORDS}: {quote(words)}"] if words else []),
        *notice_lines(workspace, before),
        *line_of_rules(workspace, runs.entries),
        *line_of(Label.DECIDED, [one for one in kept if one.kind == "choice"], BOUND_BYTES),
        *line_of(Label.TRIED, [one for one in kept if one.kind == "attempt"], BOUND_BYTES),
        *line_of_uncommitted(workspace),
        *_line_of_open(Predecessor(found), runs.entries, is_unfinished=left != "finished"),
    ]
    text = short_brief(lines, f" more: segue brief {id}")
    return HookBrief(text, runs=runs.keys, shown="told what the last run did about this")


def _open_lines(prompt: str, entries: tuple[Entry, ...]) -> list[str]:
    """What a run that was cut off or is not finished left open about the same as a prompt, and what fails."""
    held = [one for one in entries if one.state in HOLDING]
    same = about_same(prompt, held)
    requests = [one for one in same if one.kind == "request" and one.relation != "asks"]
    return [
        *(f"{Label.REQUEST}: {quote(cut(flat(one.text), REQUEST_BYTES))}" for one in requests[-OPEN_MAX:]),
        *line_of(Label.OPEN, [one for one in same if one.kind == "item"], BOUND_BYTES),
        *line_of(Label.FAILING, [one for one in held if one.kind == "failing"], BOUND_BYTES),
    ]


def _shares(mine: frozenset[str], text: str) -> bool:
    """Whether a text is about two things that a message is about, or about the one that it is about."""
    return weight(mine & own_subjects(text)) >= min(2, max(1, weight(mine)))


def _was_answered(entry: Entry) -> bool:
    """Whether this is a request that is done, or on which a turn ended that left nothing open."""
    is_over = entry.state in ("answered", "done") or (entry.state in HOLDING and entry.why == ENDED_ON)
    return entry.kind == "request" and entry.relation != "asks" and is_over


def _heads(requests: list[Entry], mine: frozenset[str]) -> list[str]:
    """The beginnings of the newest of these requests, of those about the same if there are any."""
    about = [one for one in requests if mine & own_subjects(one.text)] or requests
    return list(dict.fromkeys(quote(cut(flat(one.text), ASKED_BYTES)) for one in about[-ASKED_MAX:]))


def brief_for_other_work(
    workspace: Workspace, before: Predecessor, entries: tuple[Entry, ...], *, is_unfinished: bool
) -> HookBrief:
    """The rules of the project, what lies uncommitted, and a line on what was left open."""
    lines = [
        *notice_lines(workspace, before),
        *line_of_rules(workspace, entries),
        *line_of_uncommitted(workspace),
        *_line_of_open(before, entries, is_unfinished=is_unfinished),
    ]
    if not lines:
        return HookBrief()
    head = f"{OPENING} For any work in this project:"
    parts = (("the rules of this project", Label.RULES), ("what lies uncommitted", Label.TREE),
             ("what was left open", Label.BEFORE))  # fmt: skip
    told = [what for what, label in parts if any(line.startswith(label) for line in lines)]
    shown = f"told {' and '.join(told)}" if told else ""
    return HookBrief(short_brief([head, *lines]), shown=shown)


def _line_of_open(before: Predecessor, entries: tuple[Entry, ...], *, is_unfinished: bool) -> list[str]:
    """What the last run left that was cut off or says itself that it is not finished: items of the list that
    it kept, or its last request. Else nothing is told as open, though nobody said that it
    is done: lists are often left as they were."""
    if before.found is None or not is_unfinished:
        return []
    run = run_name(before.found)
    own = [one for one in entries if one.run == run]
    kept = [one for one in standing(own).lists if one.entry is not None and one.entry.text == TODO_LIST]
    left = [item for one in kept if not _is_passed_over(one.entry, own) for item in one.left]
    asked = [one for one in own if one.kind == "request"]
    newest = asked[-1] if asked else None
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        what = f"{quote(cut(flat(left[0].text), BEFORE_BYTES))}{more} of the list of the last run"
    elif newest is not None and newest.state in HOLDING and _asks_for_work(newest):
        what = quote(cut(flat(newest.text), BEFORE_BYTES))
    else:
        return []
    id = plain(short_run(before.found.native))
    return [f"{Label.BEFORE}: {what} was left open here; `segue brief {id}` shows where it stopped."]


def _asks_for_work(request: Entry) -> bool:
    says_much = len(own_subjects(request.text)) >= SAYS_MIN and not request.text.startswith("/")
    return says_much and request.relation != "asks"


def _is_passed_over(kept: Entry | None, own: list[Entry]) -> bool:
    """Whether something was asked for after a list was last touched."""
    items = [one for one in own if kept is not None and one.of == kept.id and one.kind == "item"]
    touched = max((one.since or one.at for one in items), default="")
    return any(one.kind == "request" and one.relation != "asks" and one.at > touched for one in own)


def line_of_rules(workspace: Workspace, entries: tuple[Entry, ...]) -> list[str]:
    """The rules that hold for any work here: what is forbidden or limited, and what says that it lasts,
    with the permissions that soften it; not what was said in the words of a command."""
    accepted = accepted_rules(workspace)
    by_id = {one.id: one for one in entries}
    held = [one for one in rules_alone(entries) if _is_for_any_work(one, by_id)]
    ids = {one.id for one in held}
    told = [one for one in held if one.kind == "rule" or one.of in ids]
    return line_of(Label.RULES, [*told, *(Entry(text, "rule", text) for text in accepted)])


def _is_for_any_work(rule: Entry, by_id: Mapping[str, Entry]) -> bool:
    said_in = by_id.get(by_id[rule.id].of) if rule.id in by_id else None
    if said_in is not None and said_in.kind == "request" and _is_written_out(said_in.text):
        return False
    if rule.kind == "permission":
        return True
    is_at_hand = orders_delivery(rule.text) or limits_step(rule.text) or _OF_COMMAND.search(rule.text)
    return restrains(rule.text) and not is_at_hand


def _is_written_out(text: str) -> bool:
    """Whether a message looks like a command that was written out, and not typed."""
    return given_to_template(text) is not None or (
        len(text) > COMMAND_CHARS and _COMMAND.match(text) is not None
    )


def notice_lines(workspace: Workspace, before: Predecessor) -> list[str]:
    """What any run must know first: an interrupted handover, and who is at work here now."""
    notices = [*notices_of(workspace, None), *([before.at_work] if before.at_work else [])]
    return [f"{Label.NOTICE}: {'; '.join(notices)}"] if notices else []


def line_of_uncommitted(workspace: Workspace) -> list[str]:
    if not workspace.sees_tree or not workspace.folder.is_dir():
        return []
    now = probe(workspace.folder, 0.0, own=own_files(workspace.home, workspace.working_tree.root))
    names = whole_texts(list(now.dirty), NAMES_BYTES, ", ") if now.dirty and not now.cut else ""
    return [f"{Label.TREE}: Uncommitted now: {names}."] if names else []


def short_brief(lines: list[str], more: str = "") -> str:
    head, *rest = lines
    return redact(delimited("\n".join([head, *map(plain, rest), CLOSING + more])))


def line_of(label: Label, entries: list[Entry], most: int = RULES_BYTES) -> list[str]:
    """Entries on one line, each whole, as many as there is room for."""
    said = (choice_words(e) if e.kind == "choice" and e.by == "user" else flat(e.text) for e in entries)
    texts = list(dict.fromkeys(said))
    text = whole_texts([one.replace(BETWEEN, ", ") for one in texts], most, BETWEEN) if texts else ""
    return [f"{label}: {text}"] if text else []
