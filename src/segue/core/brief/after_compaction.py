"""What a run is told after its window was compacted: only what its own summary lacks or has wrong.

The agent's summary is good at what comes next. What is lost over many of them are words: rules, requests,
choices, exact commands, who was sent out and has not reported. So the standing entries of the ledger that the
summary does not say are told, and nothing else; often that is nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.lazy import regex
from ..base.page import cut, plain, quote, size
from ..base.same_items import BETWEEN
from ..language.sentences import flat
from ..language.subjects import subjects_of
from ..ledger.covered import is_covered
from ..ledger.model import HOLDING, Entry
from ..ledger.standing import Standing, choice_words, is_bare, standing
from ..runs.brief_labels import Label
from ..runs.brief_text import CLOSING, OPENING, delimited
from ..runs.model import RunDigest
from ..runs.tree import still_failing
from .parts import whole_texts

LACKS = "What the summary of this run lacks, from its record"
HEAD_SHARE = 0.75
REQUESTS_MAX, REQUEST_BYTES, LINE_BYTES = 10, 400, 1_200
CHOICES_MAX, ITEMS_MAX, FAILING_MAX = 6, 12, 4
_TICKED = regex(
    r"(?i)\[x\]|✅|✔|\b(?:done|completed?|finished|implemented|fixed|erledigt|fertig|terminé|hecho)\b"
)
_NOT_YET = regex(r"(?i)\b(?:not|n't|todo|pending|remaining|next|still|left|to do|open|in progress)\b|\[ \]")


def after_compaction(entries: Sequence[Entry], digest: RunDigest, summary: str, budget: int) -> str:
    """The text; empty if the summary lacks nothing that stands."""
    held = standing(entries)
    lines = [
        *_requests(held, summary), *_joined(Label.RULES, _rules(held, summary)),
        *_joined(Label.DECIDED, _choices(held, summary)), *_joined(Label.TRIED, _tried(held, summary)),
        *_items(held, summary), *_failing(held, digest, summary), *_exact(digest, summary),
    ]  # fmt: skip
    if not lines:
        return ""
    head = f"{OPENING} {LACKS}:"
    kept: list[str] = []
    room = budget - size(head) - size(CLOSING) - 60
    for line in lines:
        if size("\n".join([*kept, line])) > room:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    more = f" {left} more: `segue ledger`" if left else ""
    return delimited("\n".join([head, *map(plain, kept), f"{CLOSING}{more}"])) if kept else ""


def _requests(held: Standing, summary: str) -> list[str]:
    return [
        f"{Label.REQUEST}: {quote(cut(one.text, REQUEST_BYTES))}"
        for one in held.requests
        if one.entry.relation != "asks"
        and not is_bare(one.entry)
        and not _is_said(one.entry, one.text, summary)
    ][-REQUESTS_MAX:]


def _is_said(entry: Entry, text: str, summary: str) -> bool:
    """Whether a summary says a request; of a long one its beginning is enough."""
    if is_covered(entry, summary):
        return True
    head = subjects_of(text[:300])
    return len(text) > 600 and len(head & subjects_of(summary)) >= HEAD_SHARE * len(head)


def _rules(held: Standing, summary: str) -> list[str]:
    rules = []
    for rule in held.rules:
        softer = [one for one in rule.permissions if not is_covered(one, summary)]
        if softer or not is_covered(rule.entry, summary):
            words = " ".join(flat(one.text) for one in rule.permissions)
            rules.append(f"{flat(rule.entry.text)} (but: {words})" if words else flat(rule.entry.text))
    return [*rules, *(flat(one.text) for one in held.permissions if not is_covered(one, summary))]


def _choices(held: Standing, summary: str) -> list[str]:
    chosen = [one for one in reversed(held.choices) if not is_covered(one, summary)]
    return [choice_words(one) for one in chosen[:CHOICES_MAX]]


def _tried(held: Standing, summary: str) -> list[str]:
    return [flat(one.text) for one in held.attempts if not is_covered(one, summary)][-3:]


def _joined(label: Label, texts: Sequence[str]) -> list[str]:
    text = whole_texts([one.replace(BETWEEN, ", ") for one in texts], LINE_BYTES, BETWEEN) if texts else ""
    return [f"{label}: {text}"] if text else []


def _items(held: Standing, summary: str) -> list[str]:
    """Open items that the summary does not name, and those that it calls done."""
    items = [item for one in held.lists for item in one.left]
    points = [point for request in held.requests for point in request.points if point.state in HOLDING]
    missing = [item.text for item in (*items, *points) if not is_covered(item, summary)]
    lines = _lines_that_tick(summary)
    wrong = [item.text for item in items if any(is_covered(item, line) for line in lines)]
    told = (
        [f"{Label.OPEN}: {'; '.join(cut(flat(text), 110) for text in missing[:ITEMS_MAX])}"]
        if missing
        else []
    )
    if wrong:
        names = "; ".join(cut(flat(text), 110) for text in wrong[:ITEMS_MAX])
        told.append(f"NOT DONE by the list of this run, though the summary says so: {names}")
    return told


def _lines_that_tick(summary: str) -> Iterable[str]:
    return [line for line in summary.split("\n") if _TICKED.search(line) and not _NOT_YET.search(line)]


def _failing(held: Standing, digest: RunDigest, summary: str) -> list[str]:
    """Checks that fail, of this run and of earlier ones, that the summary does not name."""
    own = {name: " / ".join(run.lines) for name, run in still_failing(digest.tree) if run.lines}
    passed = {name for name, run in digest.tree.checks.items() if run.outcome == "ok"}
    earlier = {one.text: one.reply.replace("\n", " / ") for one in held.failing if one.text not in passed}
    return [
        f"{Label.FAILING}: `{cut(name, 160)}`: {quote(why, 200)}"
        for name, why in {**earlier, **own}.items()
        if name not in summary
    ][:FAILING_MAX]


def _exact(digest: RunDigest, summary: str) -> list[str]:
    """Ids that must be exact: what runs in the background, sub-agents that have not reported, the pull
    request."""
    lines = []
    running = [
        f"{name}: {cut(one.what, 90)}"
        for name, one in list(digest.tree.running.items())[-4:]
        if name not in summary
    ]
    if running:
        lines.append(f"RUNNING (not in the summary): {'; '.join(running)}")
    sent = [step for step in digest.trail if step.kind == "agent" and step.id and not step.done]
    names = [cut(step.note or flat(step.text), 90) for step in sent]
    open_agents = [name for name in names if name and name not in summary]
    if open_agents:
        lines.append(f"SUB-AGENTS that have not reported: {'; '.join(open_agents)}")
    pull = f"#{digest.tree.pull}" if digest.tree.pull else ""
    if pull and str(digest.tree.pull) not in summary:
        lines.append(f"Pull request: {pull}")
    return lines


def steering(entries: Sequence[Entry], budget: int) -> str:
    """The standing words that a summary should keep, for agents that are told before they write it."""
    held = standing(entries)
    lines = [
        *_requests(held, ""), *_joined(Label.RULES, _rules(held, "")),
        *_joined(Label.DECIDED, _choices(held, "")), *_joined(Label.TRIED, _tried(held, "")),
        *_items(held, ""),
    ]  # fmt: skip
    kept: list[str] = []
    for line in lines:
        if size("\n".join([*kept, line])) <= budget:
            kept.append(plain(line))
    return "\n".join(kept)
