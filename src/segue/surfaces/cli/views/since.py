"""The delta report as text; `segue resume` shows it too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....core.resume.changes import Delta, Files
from ...render import Style, count, cut, one_line

_KINDS = {
    "session.rewound": "went back", "session.handed": "handed to", "session.described": "goal or summary",
    "item.added": "planned", "note.taken": "note", "decision.made": "decided", "question.asked": "asked",
    "question.answered": "answered", "finding.learnt": "learnt", "error.seen": "error",
    "error.solved": "solved", "checkpoint.named": "checkpoint", "budget.set": "budget changed",
    "agent.noted": "agent", "agent.saved": "state of agent saved", "agent.dropped": "agent forgotten",
    "check.ran": "check ran for",
}  # fmt: skip
LISTED_MAX = 12
COMMITS_LISTED_MAX = 10


def away(seconds: float) -> str:
    """How long, in words."""
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size or (size == 60 and seconds >= 60):
            return count(int(seconds // size), noun)
    return "less than a minute"


def since_lines(told: Delta, style: Style) -> list[str]:
    """The whole report."""
    why = f" ({one_line(told.reason)})" if told.reason else ""
    lines = [style.paint(f"since you left, {away(told.away_seconds)} ago{why}", "bold")]
    if told.derived:
        lines.append(f"  put together from {told.derived}: no scene was kept at that moment")
    if told.nothing:
        lines.append("  nothing changed")
    lines += _tree(told, style)
    lines += _listed("files", _marked(told.files), style, told.files.count)
    lines += _listed("this work had to do with", told.touched, style)
    lines += _uncommitted(told, style)
    lines += _listed("notes", _marked(told.notes), style, told.notes.count)
    lines += _locks(told, style)
    lines += _listed("features", [f"{one.id}: {one.what}{_tail(one.why)}" for one in told.features], style)
    lines += _listed(
        "the session", [f"{_happened(one.id)}{_tail(one.text)} ({one.by})" for one in told.events], style
    )
    lines += _listed("memories", [f"{one.text} ({one.by})" for one in told.memories], style)
    lines += _listed("other runs", [f"{one.by} {one.id[:8]}{_tail(one.text)}" for one in told.runs], style)
    lines += [f"  could not be told: {one_line(one)}" for one in told.unknown]
    if told.suggestions:
        lines += ["", style.paint("first", "bold")]
        for number, one in enumerate(told.suggestions, 1):
            command = f": `{one.command}`" if one.command else ""
            lines.append(_fitted(f"  {number}. {one.do} ({one.why}){command}", style))
    return lines


def _happened(kind: str) -> str:
    """The kind of an event, in words: `item.done` is done."""
    return _KINDS.get(kind) or kind.removeprefix("item.").removeprefix("session.").replace(".", " ")


def _tail(text: str) -> str:
    return f": {one_line(text)}" if text else ""


def _fitted(line: str, style: Style) -> str:
    plain = one_line(line)
    indent = line[: len(line) - len(line.lstrip())]
    return cut(indent + plain.lstrip(), style.width, style) if style.width else indent + plain.lstrip()


def _tree(told: Delta, style: Style) -> Iterable[str]:
    if told.moved:
        yield _fitted(f"  it was left in {told.moved}", style)
    before, after = (name or "a detached head" for name in told.branch)
    if told.switched:
        end = ", which is gone" if told.branch_gone else ""
        how = ", which has what was committed then" if told.merged else ""
        yield _fitted(f"  branch: then {before}{end}; now {after}{how}", style)
    if told.how in ("rewritten", "backward"):
        lost = f"{count(told.lost, 'commit')} of then {'is' if told.lost == 1 else 'are'} not in it"
        again = f", {told.rebased} in another form (a rebase)" if told.rebased else ""
        words = "the history was rewritten" if told.how == "rewritten" else "the branch was set back"
        yield f"  {words}: {lost}{again}"
    if told.doing:
        yield f"  a {told.doing} is under way"
    yield from _listed("conflicts", told.conflicts, style)
    if told.commit_count:
        names = ", ".join(f"{one_line(name)} {number}" for name, number in list(told.authors.items())[:6])
        merges = f", {count(told.merges, 'merge')}" if told.merges else ""
        yield _fitted(f"  commits: {told.commit_count:,}{merges}, by {names}", style)
        for one in told.commits[:COMMITS_LISTED_MAX]:
            yield _fitted(f"    {one.id[:9]} {one.subject} ({one.author})", style)
        if told.commit_count > COMMITS_LISTED_MAX:
            yield f"    and {told.commit_count - COMMITS_LISTED_MAX:,} more"
    if told.submodules:
        yield from _listed("submodules at another commit", told.submodules, style)


def _marked(files: Files) -> list[str]:
    return [
        *(f"M {path}" for path in files.modified),
        *(f"A {path}" for path in files.created),
        *(f"D {path}" for path in files.deleted),
        *(f"R {before} -> {after}" for before, after in files.renamed),
    ]


def _listed(head: str, rows: Sequence[str], style: Style, total: int = 0) -> list[str]:
    if not rows:
        return []
    number = total or len(rows)
    lines = [f"  {head}: {number:,}"]
    lines += [_fitted(f"    {row}", style) for row in rows[:LISTED_MAX]]
    return [*lines, *([f"    and {number - LISTED_MAX:,} more"] if number > LISTED_MAX else [])]


def _uncommitted(told: Delta, style: Style) -> list[str]:
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
            lines.append(_fitted(f"    {words[state]}: {', '.join(paths[:6])}{more}", style))
    if told.stashed:
        lines.append("    there is a new stash")
    return lines


def _locks(told: Delta, style: Style) -> list[str]:
    lines = []
    for lock in told.locks:
        shown = [f"{one.name} {one.before or 'new'} -> {one.after or 'gone'}" for one in lock.bumps[:6]]
        more = f" and {len(lock.bumps) - 6} more" if len(lock.bumps) > 6 else ""
        lines.append(_fitted(f"  {lock.file}: {', '.join(shown) or 'changed'}{more}", style))
    return lines
