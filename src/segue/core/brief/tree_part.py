"""The part of a brief that says how the tree stands: what fails, is changed, committed, checked, and runs.

Git is asked where the brief is made in the working tree. Elsewhere only the transcript tells, so what may
have changed since is told with how long ago it was seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.lazy import regex
from ..base.page import cut, middle, quote, size
from ..runs.brief_labels import Label
from ..runs.brief_text import EARLIER
from ..runs.tree import CheckRun, Running
from .facts import BriefFacts
from .parts import Line, cost, distinct_failures, joined_texts, whole_texts
from .trail_words import Folder, folder_of

CHECKS_TOLD = 4
FEW_CALLS = 5  # what is not older needs no age
NO_SUBJECT = "its subject is not told here"
USUALLY = "Usually next (a habit of this project)"

OTHERS_MAX, OTHER_BYTES = 4, 130  # checks that fail besides the two that are told at length


def tree_part(facts: BriefFacts, most: int) -> list[Line]:
    """What is changed, committed, checked, failing and running."""
    folder, tree = folder_of(facts.folder), facts.tree
    lines = [*_failing(facts, folder, most // 2), *_changed(facts, folder, max(130, most // 3))]
    if tree.commits:
        last = tree.commits[-1]
        pushed = "pushed" if tree.pushed >= last.at else "no push seen since"
        many = f"{tree.commit_count} in this run, " if tree.commit_count > 1 else ""
        other = last.branch and facts.branch not in ("", last.branch)
        where = f"on branch {cut(last.branch, 40)}, " if other else ""
        subject = cut(f"{last.hash} {last.subject or NO_SUBJECT}".strip(), 100)
        lines.append(Line(f"Last commit: {subject} ({where}{many}{pushed}).", (last.at,)))
    if tree.pull:
        lines.append(Line(f"Pull request: #{tree.pull}.", (tree.pull_told,)))
    lines += _checks(facts)
    if facts.probe is not None and facts.probe.commits:
        lines.append(Line(f"Since then committed: {joined_texts(list(facts.probe.commits), 120, '; ')}."))
    if tree.running:
        running = [_running(facts, name, one) for name, one in list(tree.running.items())[-3:]]
        lines.append(
            Line(
                f"Was running in the background: {'; '.join(running)}.",
                tuple(one.at for one in tree.running.values()),
            )
        )
    if facts.habits:
        lines.append(Line(f"{USUALLY}: {joined_texts(facts.habits, max(120, most // 3), '; ')}."))
    if not lines:
        return []
    kept: list[Line] = []
    for line in lines:
        if cost(kept) + size(line.text) + 8 <= most:
            kept.append(line)
    return (
        [
            Line(f"{Label.TREE}: {kept[0].text}", kept[0].at),
            *(Line(f"  {line.text}", line.at) for line in kept[1:]),
        ]
        if kept
        else []
    )


def _ago(facts: BriefFacts, calls: int) -> str:
    """How long ago a call was, by its number."""
    age = facts.tree.calls - calls
    return f"{age} calls ago" if age > FEW_CALLS else ""


def _running(facts: BriefFacts, name: str, running: Running) -> str:
    ago = _ago(facts, running.calls)
    about = ", ".join(filter(None, (running.address, f"started {ago}" if ago else "")))
    return f"{name}: {cut(running.what, 70)}" + (f" ({about})" if about else "")


def _failing(facts: BriefFacts, folder: Folder, most: int) -> list[Line]:
    """What fails, with its first lines, and the names of the failed tests."""
    lines = []
    shown = distinct_failures(facts.failing)
    for failure in shown:
        earlier = f" ({EARLIER})" if failure.why.endswith(EARLIER) else ""
        why = folder.within(failure.why.removesuffix(EARLIER).rstrip("\n").replace("\n", " / "))
        if failure.what == failure.why:
            text = f"{Label.FAILING}: {cut(why, most - 9)}"
        else:
            run = facts.tree.checks.get(failure.what)
            since = ", not run since the last edit" if run and facts.tree.edited > run.at else ""
            since = ", called again without a result" if run and run.again else since
            head = f"{Label.FAILING}{since}: `{middle(failure.what, max(20, min(90, most // 2)))}`"
            names = [_TEST_NAME.split(name)[-1] for name in run.tests] if run and len(run.tests) > 1 else []
            if names:
                head = (
                    f"{head}, {len(names)} tests: {whole_texts(names, max(60, most - size(head) - 14), ', ')}"
                )
            room = min(262, most - size(head) - size(earlier) - 2)
            text = f"{head}: {quote(why, room)}".removesuffix(": ") + earlier
        done = facts.tree.checks[failure.what].done if failure.what in facts.tree.checks else 0
        lines.append(Line(text, tuple(at for at in (failure.at, done) if at)))
        most //= 2
    told = {failure.what for failure in shown}
    for failure in [one for one in facts.failing if one.what not in told][:OTHERS_MAX]:
        why = failure.why.removesuffix(EARLIER).rstrip("\n").replace("\n", " / ")
        text = f"{Label.FAILING}: `{middle(failure.what, 90)}`"
        lines.append(Line(f"{text}: {quote(why, OTHER_BYTES)}" if why else text))
    return lines


def _checks(facts: BriefFacts) -> list[Line]:
    """The checks since the last edit, and those that were not run since."""
    tree = facts.tree
    failing = {failure.what for failure in facts.failing}
    since = [(name, run) for name, run in tree.checks.items() if run.at > tree.edited]
    passed = [(name, run) for name, run in since if name not in failing and run.outcome != "failed"]
    words = _checked(passed)
    at = tuple(run.at for _, run in since)
    label = "Checked since the last edit" if tree.edited else "Checked"
    lines = [Line(f"{label}: {', '.join(words)}.", at)] if words else []
    if not tree.edited or since:
        return lines
    ended = [(name, run) for name, run in tree.checks.items() if run.outcome in ("ok", "failed")]
    before = [(name, run) for name, run in ended if run.outcome == "ok"][-2:]
    if before:
        told_before = ", ".join(_checked(before))
        text = f"Not checked since the last edit; before it: {told_before}."
        lines.append(Line(text, tuple(run.at for _, run in before)))
    elif not ended:
        lines.append(Line("No known test, check or build was run after the edits.", (tree.edited,)))
    return lines


_TEST_NAME = regex(r"::| › | > |\n\s*")
_OUTCOMES = {"ok": "passed", "failed": "FAILED", "stopped": "was stopped", "": "has no result yet"}
_UNCLEAR = "ended, verdict unclear"


def _checked(runs: Sequence[tuple[str, CheckRun]]) -> list[str]:
    """The last checks with their verdicts, each once, however its flags were put; those whose verdict is
    unclear together."""
    newest: dict[frozenset[str], tuple[str, CheckRun]] = {}
    for name, run in runs:
        same = frozenset(word for word in name.split() if not word.startswith("-"))
        newest.pop(same, None)
        newest[same] = (f"`{middle(name, 70)}`", run)
    last = list(newest.values())[-CHECKS_TOLD:]
    words = [f"{name} {_OUTCOMES[run.outcome]}" for name, run in last if run.outcome != "unknown"]
    unclear = [name for name, run in last if run.outcome == "unknown"]
    return [*words, f"{' and '.join(unclear)} {_UNCLEAR}"] if unclear else words


def _changed(facts: BriefFacts, folder: Folder, most: int) -> list[Line]:
    """Files that are changed and not committed: by git where it answered, else as the transcript tells it."""
    tree, probe = facts.tree, facts.probe
    if probe is not None and probe.head:
        if probe.cut:
            return [Line("Uncommitted: not known, git did not answer in time.")]
        names = _with_symbols(list(probe.dirty), facts.edited, most)
        return (
            [Line(f"Uncommitted now: {whole_texts(names, most, ', ')}.")]
            if names
            else [Line("Nothing is uncommitted now.")]
        )
    files = sorted(tree.changed.items(), key=lambda pair: -pair[1].at)
    names = [
        folder.short(path) + {"create": " (new)", "delete": " (deleted)"}.get(one.how, "")
        for path, one in files
    ]
    names = [name for name in names if not name.startswith(("/tmp/", "/private/", "~/.claude", "~/.codex"))]
    at = tuple(one.at for _, one in files[:8])
    others = [name for name in tree.others if tree.asked and tree.asked >= tree.doubt]
    status = f"git status {_ago(facts, tree.asked_calls)}".rstrip()
    lines = []
    if names:
        also = f"; {status} had also {whole_texts(others, most // 3, ', ')}" if others else ""
        lines.append(
            Line(f"Changed and not committed: {whole_texts(names, most - size(also), ', ')}{also}.", at)
        )
    elif others:
        lines.append(Line(f"Not committed, by {status}: {whole_texts(others, most, ', ')}.", (tree.asked,)))
    elif tree.commits and not tree.doubt:
        lines.append(Line("Nothing changed since the last commit, as far as is known."))
    elif tree.doubt and any(step.kind == "agent" and step.at <= tree.doubt for step in facts.trail):
        lines.append(Line("Edited by sub-agents: not known."))
    stash = tree.stashes[-1] if tree.stashes else None
    if stash is not None and facts.trail and stash.at >= facts.trail[0].at:
        put = f"Changes were put into git's stash {_ago(facts, stash.calls)}".rstrip()
        lines.append(Line(f"{put} and not taken out again.", (stash.at,)))
    return lines


def _with_symbols(paths: list[str], edited: Mapping[str, tuple[str, ...]], most: int) -> list[str]:
    """Paths, those first that have names of what is changed in them, as far as no path loses its room."""
    for at, path in enumerate(paths):
        names = edited.get(path, ())
        told = f"{path} ({', '.join(names[:2])}{' …' if len(names) > 2 else ''})" if names else path
        if size(", ".join([*paths[:at], told, *paths[at + 1 :]])) > most:
            break
        paths[at] = told
    return paths
