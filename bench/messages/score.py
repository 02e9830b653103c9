"""The labels of two readers beside what Segue made of the same messages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.messages.gather import Message

from segue.core.language.rules import limits_step
from segue.core.ledger.model import Entry
from segue.core.ledger.other_work import is_other_work
from segue.errors import SegueError
from segue.services.brief.runs_summary import summary_of_transcript

CHANGES = frozenset({"new", "adds", "corrects", "permits", "withdraws"})
"""What a message with one of these relations asks for, changes or forbids must not be lost."""
SEEN_CHARS = 200


@dataclass(slots=True)
class Reading:
    """What Segue made of a message."""

    relation: str
    state: str
    """Of the request at the end of the run; empty if it is none."""
    rules: list[str]


@lru_cache(maxsize=64)
def entries_of(path: Path) -> tuple[Entry, ...]:
    """The ledger of a transcript as a sync would keep it."""
    try:
        return summary_of_transcript(path).entries
    except SegueError:
        return ()


def reading_of(message: Message, corpus: Path) -> Reading:
    """What Segue makes of a message in its own run."""
    entries = entries_of(corpus / message.transcript)
    words = _flat(message.text)
    mine = [one for one in entries if one.by == "user" and _is_of(one, words)]
    at = {(one.run, one.step) for one in mine if one.kind == "request"}
    rules = [
        one.text
        for one in mine
        if one.kind == "rule" and (not at or (one.run, one.step) in at) and not _ends_with_request(one)
    ]
    requests = [one for one in mine if one.kind == "request" and not one.why.startswith("sent again")]
    if message.before and is_other_work(message.text, entries_of(corpus / message.before)):
        return Reading("new", requests[0].state if requests else "", rules)
    if requests:
        relation = requests[0].relation
        if message.before and relation == "new":
            relation = "adds"  # the first message of a run that goes on with the work before
        return Reading(relation, requests[0].state, rules)
    kinds = [one.kind for one in mine]
    if "choice" in kinds:
        return Reading("answers", "", rules)
    if "permission" in kinds:
        return Reading("permits", "", rules)
    if rules:
        return Reading("adds", "", rules)
    shows = f"the user: {words[:60]}"
    if any(_flat(one.why).startswith(shows) and one.state in ("withdrawn", "superseded") for one in entries):
        return Reading("withdraws", "", rules)
    return Reading("goes_on", "", rules)


def _is_of(entry: Entry, words: str) -> bool:
    """Whether an entry was made from a message: a request is the whole of it, a rule a part."""
    text = _flat(entry.text)
    if entry.kind in ("request", "choice"):
        return text[:SEEN_CHARS] == words[:SEEN_CHARS]
    return entry.kind in ("rule", "permission") and text in words


def _ends_with_request(rule: Entry) -> bool:
    """Whether a rule only says how far the request goes that it stood in."""
    return bool(rule.of) and limits_step(rule.text)


def _flat(text: str) -> str:
    return " ".join(text.split())


def read_messages(path: Path) -> list[Message]:
    return [Message(**row) for row in rows(path)]


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


KINDS = ("lost", "opened", "rule", "missed", "ended", "label")


def faults(mine: Reading, gold: Sequence[dict[str, Any]]) -> set[str]:
    """What is wrong with a reading, by what both readers say: one of ``KINDS``."""
    relations = {str(one["relation"]) for one in gold}
    is_rule = [bool(one["rule"]) for one in gold]
    ends = {str(one["end"]) for one in gold}
    wrong = {
        "lost": relations <= CHANGES and mine.relation in ("asks", "goes_on"),
        "opened": mine.relation == "new" and "new" not in relations,
        "rule": bool(mine.rules) and not any(is_rule),
        "missed": all(is_rule) and not mine.rules,
        "ended": (mine.state == "done" and ends == {"open"})
        or (mine.state in ("withdrawn", "superseded") and "withdrawn" not in ends),
        "label": mine.relation not in relations and not (mine.relation == "goes_on" and "other" in relations),
    }
    return {kind for kind, is_so in wrong.items() if is_so}


def report(messages: Iterable[Message], labels: Sequence[dict[str, Any]], corpus: Path, show: str) -> None:
    """Print the figures; of the faults named by ``show`` also the messages."""
    counts: Counter[str] = Counter()
    confusion: Counter[tuple[str, str]] = Counter()
    repositories = set()
    for message in messages:
        gold = [one[message.id] for one in labels]
        mine = reading_of(message, corpus)
        wrong = faults(mine, gold)
        relations = {str(one["relation"]) for one in gold}
        repositories.add(message.repository)
        counts.update(wrong)
        counts["all"] += 1
        counts["agreed"] += len(relations) == 1
        counts["changes"] += relations <= CHANGES
        counts["rules found"] += bool(mine.rules)
        counts["rules wanted"] += all(bool(one["rule"]) for one in gold)
        counts["settled"] += mine.state in ("done", "withdrawn", "superseded")
        if "label" in wrong:
            confusion[str(gold[0]["relation"]), mine.relation] += 1
        if show in wrong:
            _show(message, relations, mine, gold)
    _print(counts, len(repositories))
    print("; ".join(f"{gold} taken for {seen}: {count}" for (gold, seen), count in confusion.most_common(12)))


def _print(counts: Counter[str], repositories: int) -> None:
    total, found, wanted = counts["all"], counts["rules found"], counts["rules wanted"]
    right, seen = share(found - counts["rule"], found), share(wanted - counts["missed"], wanted)
    print(
        f"messages {total} of {repositories} repositories; readers agree on {share(counts['agreed'], total)}"
    )
    print(f"changes taken for a question or go on  {share(counts['lost'], counts['changes'])}   (limit 3 %)")
    print(f"new work seen where there is none      {share(counts['opened'], total)}   (limit 1 %)")
    print(f"done or withdrawn, and is not          {share(counts['ended'], counts['settled'])} so called")
    print(f"rules: right {right}, seen {seen}")
    print(f"relations right                        {share(total - counts['label'], total)}")


def _show(message: Message, relations: set[str], mine: Reading, gold: Sequence[dict[str, Any]]) -> None:
    quotes = [one.get("rule_quote") for one in gold]
    ends = [one["end"] for one in gold]
    print(
        f"--- {message.id} {message.kind} {sorted(relations)} {ends} taken for {mine.relation}, {mine.state}"
    )
    print(f"    rules {mine.rules}, readers {quotes}; {message.transcript}")
    print(f"    agent: …{_flat(message.agent_last)[-200:]}")
    print(f"    {_flat(message.text)[:600]}")
