"""Short briefs: for a run that begins other work, and for one that touches work that is finished."""

from __future__ import annotations

import time

from ...core.base.page import cut, plain, quote
from ...core.base.same_items import BETWEEN
from ...core.brief.parts import whole_texts
from ...core.brief.trail_words import message_words
from ...core.language.sentences import flat
from ...core.ledger.model import HOLDING, Entry
from ...core.ledger.other_work import own_subjects
from ...core.ledger.standing import choice_words, rules_alone, standing
from ...core.runs.brief_labels import Label
from ...core.runs.brief_text import CLOSING, OPENING, delimited
from ...core.runs.identifiers import short_run
from ...effects.git.probe import probe
from ...effects.redaction.redact import redact
from ..habits.told import accepted_rules
from ..workspace.own_files import own_files
from ..workspace.workspace import Workspace
from .for_starts import HookBrief
from .notices import notices_of
from .predecessor import Predecessor
from .runs_summary import RunsSummary

RULES_BYTES, NAMES_BYTES, BEFORE_BYTES = 700, 160, 120
ASKED_MAX, ASKED_BYTES, WORDS_BYTES, BOUND_BYTES = 2, 160, 300, 400


def brief_of_finished(
    workspace: Workspace, before: Predecessor, runs: RunsSummary, prompt: str, what: str
) -> HookBrief:
    """What a run did whose work a prompt touches: its requests by their heads, its last words, what was
    chosen and tried there about the same, and what holds for any work."""
    found = runs.found
    if found is None:
        return HookBrief()
    mine = own_subjects(prompt)
    asked = [one for one in runs.entries if one.kind == "request" and one.relation != "asks"]
    about = [one for one in asked if mine & own_subjects(one.text)] or asked
    heads = list(dict.fromkeys(quote(cut(flat(one.text), ASKED_BYTES)) for one in about[-ASKED_MAX:]))
    said = runs.digests[0].says[-1:]
    words = message_words(said[0].text, WORDS_BYTES, set()) if said else ""
    held = [one for one in runs.entries if one.state in HOLDING]
    same = [one for one in held if mine & own_subjects(f"{one.text} {one.answers}")]
    id = plain(short_run(found.native))
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found.changed))
    lines = [
        f"{OPENING} {what} ({found.agent} {id}, {at}; its turn was over):",
        *([f"{Label.ANSWERED}: {'; '.join(heads)}"] if heads else []),
        *([f"{Label.LAST_WORDS}: {quote(words)}"] if words else []),
        *notice_lines(workspace, before),
        *line_of_rules(workspace, runs.entries),
        *line_of(Label.DECIDED, [one for one in same if one.kind == "choice"], BOUND_BYTES),
        *line_of(Label.TRIED, [one for one in same if one.kind == "attempt"], BOUND_BYTES),
        *line_of_uncommitted(workspace),
    ]
    text = short_brief(lines, f" more: segue brief {id}")
    return HookBrief(text, runs=runs.keys, shown="told what the last run did about this")


def brief_for_other_work(workspace: Workspace, before: Predecessor, entries: tuple[Entry, ...]) -> HookBrief:
    """The rules of the project, what lies uncommitted, and a line on what was left open."""
    held = standing(entries)
    lines = [
        *notice_lines(workspace, before),
        *line_of_rules(workspace, entries),
        *line_of_uncommitted(workspace),
    ]
    asked = [one for one in held.requests if one.entry.relation != "asks"]
    left = sum(len(one.left) for one in held.lists)
    if before.found is not None and (asked or left):
        what = quote(cut(asked[0].text, BEFORE_BYTES)) if asked else f"{left} items of a list"
        more = f" and {len(asked) - 1} more" if len(asked) > 1 else ""
        id = plain(short_run(before.found.native))
        lines.append(
            f"{Label.BEFORE}: {what}{more} was left open here; `segue brief {id}` shows where it stopped."
        )
    if not lines:
        return HookBrief()
    head = f"{OPENING} For any work in this project:"
    parts = (("the rules of this project", Label.RULES), ("what lies uncommitted", Label.TREE),
             ("what was left open", Label.BEFORE))  # fmt: skip
    told = [what for what, label in parts if any(line.startswith(label) for line in lines)]
    shown = f"told {' and '.join(told)}" if told else ""
    return HookBrief(short_brief([head, *lines]), shown=shown)


def line_of_rules(workspace: Workspace, entries: tuple[Entry, ...]) -> list[str]:
    """The rules that hold for any work here."""
    accepted = accepted_rules(workspace)
    return line_of(Label.RULES, [*rules_alone(entries), *(Entry(text, "rule", text) for text in accepted)])


def notice_lines(workspace: Workspace, before: Predecessor) -> list[str]:
    notices = [*notices_of(workspace, None), *([before.others] if before.others else [])]
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
