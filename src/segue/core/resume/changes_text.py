"""What changed since the work was left, as lines of text: for people, and for the context of a next run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.text import one_line
from ..base.values import count
from .changes import Delta, Files

_KINDS = {
    "session.rewound": "went back", "session.handed": "handed to", "session.described": "goal or summary",
    "item.added": "planned", "note.taken": "note", "decision.made": "decided", "question.asked": "asked",
    "question.answered": "answered", "finding.learnt": "learnt", "error.seen": "error",
    "error.solved": "solved", "checkpoint.named": "checkpoint", "budget.set": "budget changed",
    "agent.noted": "agent", "agent.saved": "state of agent saved", "agent.dropped": "agent forgotten",
    "check.ran": "check ran for",
}  # fmt: skip
FIRST = "first"
"""The heading of what to do first."""
UNKNOWN = "  could not be told: "
LISTED_MAX = 12
COMMITS_LISTED_MAX = 10


def away(seconds: float) -> str:
    """How long, in words."""
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size or (size == 60 and seconds >= 60):
            return count(int(seconds // size), noun)
    return "less than a minute"


def change_lines(told: Delta) -> list[str]:
    """The whole report: a heading, what changed, and behind `FIRST` what to do first."""
    why = f" ({one_line(told.reason)})" if told.reason else ""
    lines = [f"since you left, {away(told.away_seconds)} ago{why}"]
    if told.derived:
        lines.append(f"  put together from {told.derived}: no scene was kept at that moment")
    if told.nothing:
        lines.append("  nothing changed")
    lines += _tree(told)
    lines += _listed("files", _marked(told.files), told.files.count)
    lines += _listed("this work had to do with", told.touched)
    lines += _uncommitted(told)
    lines += _listed("notes", _marked(told.notes), told.notes.count)
    lines += _locks(told)
    lines += _listed("features", [f"{one.id}: {one.what}{_tail(one.why)}" for one in told.features])
    lines += _listed(
        "the session", [f"{_happened(one.id)}{_tail(one.text)} ({one.by})" for one in told.events]
    )
    lines += _listed("memories", [f"{one.text} ({one.by})" for one in told.memories])
    lines += _listed("other runs", [f"{one.by} {one.id[:8]}{_tail(one.text)}" for one in told.runs])
    lines += [f"{UNKNOWN}{one_line(one)}" for one in told.unknown]
    if told.suggestions:
        lines += ["", FIRST]
        for number, one in enumerate(told.suggestions, 1):
            command = f": `{one.command}`" if one.command else ""
            lines.append(_clean(f"  {number}. {one.do} ({one.why}){command}"))
    return lines


def _happened(kind: str) -> str:
    """The kind of an event, in words: `item.done` is done."""
    return _KINDS.get(kind) or kind.removeprefix("item.").removeprefix("session.").replace(".", " ")


def _tail(text: str) -> str:
    return f": {one_line(text)}" if text else ""


def _clean(line: str) -> str:
    """The line with its indent, and nothing in it that steers a terminal."""
    return line[: len(line) - len(line.lstrip())] + one_line(line).lstrip()


def _tree(told: Delta) -> Iterable[str]:
    if told.moved:
        yield _clean(f"  it was left in {told.moved}")
    before, after = (name or "a detached head" for name in told.branch)
    if told.switched:
        end = ", which is gone" if told.branch_gone else ""
        how = ", which has what was committed then" if told.merged else ""
        yield _clean(f"  branch: then {before}{end}; now {after}{how}")
    if told.how in ("rewritten", "backward"):
        lost = f"{count(told.lost, 'commit')} of then {'is' if told.lost == 1 else 'are'} not in it"
        again = f", {told.rebased} in another form (a rebase)" if told.rebased else ""
        words = "the history was rewritten" if told.how == "rewritten" else "the branch was set back"
        yield f"  {words}: {lost}{again}"
    if told.doing:
        yield f"  a {told.doing} is under way"
    yield from _listed("conflicts", told.conflicts)
    if told.commit_count:
        names = ", ".join(f"{one_line(name)} {number}" for name, number in list(told.authors.items())[:6])
        merges = f", {count(told.merges, 'merge')}" if told.merges else ""
        yield _clean(f"  commits: {told.commit_count:,}{merges}, by {names}")
        for one in told.commits[:COMMITS_LISTED_MAX]:
            yield _clean(f"    {one.id[:9]} {one.subject} ({one.author})")
        if told.commit_count > COMMITS_LISTED_MAX:
            yield f"    and {told.commit_count - COMMITS_LISTED_MAX:,} more"
    if told.submodules:
        yield from _listed("submodules at another commit", told.submodules)


def _marked(files: Files) -> list[str]:
    return [
        *(f"M {path}" for path in files.modified),
        *(f"A {path}" for path in files.created),
        *(f"D {path}" for path in files.deleted),
        *(f"R {before} -> {after}" for before, after in files.renamed),
    ]


def _listed(head: str, rows: Sequence[str], total: int = 0) -> list[str]:
    if not rows:
        return []
    number = total or len(rows)
    lines = [f"  {head}: {number:,}"]
    lines += [_clean(f"    {row}") for row in rows[:LISTED_MAX]]
    return [*lines, *([f"    and {number - LISTED_MAX:,} more"] if number > LISTED_MAX else [])]


def _uncommitted(told: Delta) -> list[str]:
    if not told.uncommitted:
        return []
    groups: dict[str, list[str]] = {}
    for one in told.uncommitted:
        groups.setdefault(one.now, []).append(one.path)
    words = {
        "still": "still there", "altered": "altered since", "committed": "committed since",
        "replaced": "committed with further changes", "discarded": "discarded: as in the commit again",
        "gone": "gone",
    }  # fmt: skip
    lines = ["  what was not committed"]
    for state in ("gone", "discarded", "altered", "replaced", "committed", "still"):
        if state in groups:
            paths = groups[state]
            more = f" and {len(paths) - 6} more" if len(paths) > 6 else ""
            lines.append(_clean(f"    {words[state]}: {', '.join(paths[:6])}{more}"))
    if told.stashed:
        lines.append("    there is a new stash")
    return lines


def _locks(told: Delta) -> list[str]:
    lines = []
    for lock in told.locks:
        shown = [f"{one.name} {one.before or 'new'} -> {one.after or 'gone'}" for one in lock.bumps[:6]]
        more = f" and {len(lock.bumps) - 6} more" if len(lock.bumps) > 6 else ""
        lines.append(_clean(f"  {lock.file}: {', '.join(shown) or 'changed'}{more}"))
    return lines
