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
    "check.ran": "check ran for", "ledger.kept": "said", "ledger.corrected": "ledger",
    "ledger.joined": "ledger",
}  # fmt: skip
FIRST = "first"
"""The heading of what to do first."""
UNKNOWN = "  could not be determined: "
LISTED_MAX = 12
COMMITS_LISTED_MAX = 10


def away(seconds: float) -> str:
    """A length of time, in words."""
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size or (size == 60 and seconds >= 60):
            return count(int(seconds // size), noun)
    return "less than a minute"


def change_lines(delta: Delta) -> list[str]:
    """The whole report: a heading, what changed, and after `FIRST` what to do first."""
    why = f" ({one_line(delta.reason)})" if delta.reason else ""
    lines = [f"since you left, {away(delta.away_seconds)} ago{why}"]
    if delta.derived:
        lines.append(f"  reconstructed from {delta.derived}: no scene was kept at that moment")
    if delta.nothing:
        lines.append("  nothing changed")
    lines += _tree(delta)
    lines += _listed("files", _marked(delta.other_files), delta.other_files.count, _kinds(delta.other_files))
    lines += _listed("files of this work", delta.touched)
    lines += _uncommitted(delta)
    lines += _listed("notes", _marked(delta.notes), delta.notes.count, _kinds(delta.notes))
    lines += _locks(delta)
    lines += _listed("features", [f"{one.id}: {one.what}{_tail(one.why)}" for one in delta.features])
    lines += _listed(
        "the session", [f"{_happened(one.id)}{_tail(one.text)} ({one.by})" for one in delta.events]
    )
    lines += _listed("memories", [f"{one.text} ({one.by})" for one in delta.memories])
    lines += _listed("other runs", [f"{one.by} {one.id[:8]}{_tail(one.text)}" for one in delta.runs])
    lines += [f"{UNKNOWN}{one_line(one)}" for one in delta.unknown]
    if delta.suggestions:
        lines += ["", FIRST]
        for number, one in enumerate(delta.suggestions, 1):
            command = f": `{one.command}`" if one.command else ""
            lines.append(_clean(f"  {number}. {one.do} ({one.why}){command}"))
    return lines


def _happened(kind: str) -> str:
    """The kind of an event, in words: `item.done` is done."""
    return _KINDS.get(kind) or kind.removeprefix("item.").removeprefix("session.").replace(".", " ")


def _tail(text: str) -> str:
    return f": {one_line(text)}" if text else ""


def _clean(line: str) -> str:
    """The line with its indent, without anything that would control a terminal."""
    return line[: len(line) - len(line.lstrip())] + one_line(line).lstrip()


def _tree(delta: Delta) -> Iterable[str]:
    if delta.moved:
        yield _clean(f"  the work was left in {delta.moved}")
    before, after = (name or "a detached head" for name in delta.branch)
    if delta.switched:
        end = ", which is gone" if delta.branch_gone else ""
        how = ", which contains what was committed then" if delta.merged else ""
        yield _clean(f"  branch: then {before}{end}; now {after}{how}")
    if delta.how in ("rewritten", "backward"):
        lost = f"{count(delta.lost, 'earlier commit')} {'is' if delta.lost == 1 else 'are'} not in it"
        again = f", {delta.rebased} of them in another form (a rebase)" if delta.rebased else ""
        words = "the history was rewritten" if delta.how == "rewritten" else "the branch was reset"
        yield f"  {words}: {lost}{again}"
    if delta.doing:
        yield f"  a {delta.doing} is in progress"
    yield from _listed("conflicts", delta.conflicts)
    if delta.commit_count:
        names = ", ".join(f"{one_line(name)} {number}" for name, number in list(delta.authors.items())[:6])
        merges = f", {count(delta.merges, 'merge')}" if delta.merges else ""
        yield _clean(f"  commits: {delta.commit_count:,}{merges}, by {names}")
        for one in delta.commits[:COMMITS_LISTED_MAX]:
            yield _clean(f"    {one.id[:9]} {one.subject} ({one.author})")
        if delta.commit_count > COMMITS_LISTED_MAX:
            yield f"    and {delta.commit_count - COMMITS_LISTED_MAX:,} more"
    if delta.submodules:
        yield from _listed("submodules at another commit", delta.submodules)


def _marked(files: Files) -> list[str]:
    """A line for each path, what is new first, since nobody has seen that."""
    return [
        *(f"A {_called(path, files)}" for path in files.created),
        *(f"M {_called(path, files)}" for path in files.modified),
        *(f"R {before} -> {_called(after, files)}" for before, after in files.renamed),
        *(f"D {path}" for path in files.deleted),
    ]


def _called(path: str, files: Files) -> str:
    title = files.titles.get(path, "")
    return f"{title} {path}" if title else path


def _kinds(files: Files) -> str:
    """How many are new, changed, renamed and deleted, where there are several kinds."""
    words = {"created": "new", "modified": "changed", "renamed": "renamed", "deleted": "deleted"}
    told = [f"{number:,} {words[kind]}" for kind, number in files.counts().items() if number]
    return f" ({', '.join(told)})" if len(told) > 1 else f" {told[0].split()[-1]}" if told else ""


def _listed(head: str, rows: Sequence[str], total: int = 0, kinds: str = "") -> list[str]:
    if not rows:
        return []
    number = total or len(rows)
    lines = [f"  {head}: {number:,}{kinds}"]
    lines += [_clean(f"    {row}") for row in rows[:LISTED_MAX]]
    return [*lines, *([f"    and {number - LISTED_MAX:,} more"] if number > LISTED_MAX else [])]


def _uncommitted(delta: Delta) -> list[str]:
    if not delta.uncommitted:
        return []
    groups: dict[str, list[str]] = {}
    for one in delta.uncommitted:
        groups.setdefault(one.now, []).append(one.path)
    words = {
        "still": "still there", "altered": "altered since", "committed": "committed since",
        "replaced": "committed with further changes", "discarded": "discarded: back to what was committed",
        "gone": "gone",
    }  # fmt: skip
    lines = ["  uncommitted changes from then"]
    for state in ("gone", "discarded", "altered", "replaced", "committed", "still"):
        if state in groups:
            paths = groups[state]
            more = f" and {len(paths) - 6} more" if len(paths) > 6 else ""
            lines.append(_clean(f"    {words[state]}: {', '.join(paths[:6])}{more}"))
    if delta.stashed:
        lines.append("    there is a new stash")
    return lines


def _locks(delta: Delta) -> list[str]:
    lines = []
    for lock in delta.locks:
        shown = [f"{one.name} {one.before or 'new'} -> {one.after or 'gone'}" for one in lock.bumps[:6]]
        more = f" and {len(lock.bumps) - 6} more" if len(lock.bumps) > 6 else ""
        lines.append(_clean(f"  {lock.file}: {', '.join(shown) or 'changed'}{more}"))
    return lines
