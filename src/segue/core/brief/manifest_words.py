"""What a manifest says in words: the work under way, the last command, the environment, what to do first.

Everything is told from the facts of the brief and fits the case: no step names git where there is none, a
check where none is known, or a file that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from posixpath import normpath
from typing import Literal

from ..base.lazy import regex
from ..base.page import cut, middle, size
from ..base.values import Value, count
from ..language.sentences import flat, gives_orders, is_assent
from ..runs.model import TrailStep
from ..runs.steps import EDITS, Change
from .facts import FINISHED, STOPPED_BY_USER, BriefFacts
from .trail_words import Folder, became, edited_paths, folder_of, step_line

LINE_BYTES = 150  # ten to twenty words
_ELSEWHERE = ("/tmp/", "/private/", "/var/tmp/", "/dev/", "~/.claude", "~/.codex")
_PHASE = regex(r"^[\W_]*(?:current[ _])?phase[\W_]*[:：][\W_]*(\S.*)$", re.I | re.M)
_PHASE_HEADING = regex(r"^#+\s*(?:current\s+)?phase\s*\n+\s*(\S.*)$", re.I | re.M)
_OUTCOMES = {
    "ok": "ok", "failed": "failed", "stopped": "was stopped", "unknown": "ended",
    "open": "no result yet", "refused": "refused by the user",
}  # fmt: skip


class Workplace(Value):
    """What is known of the place of work besides the facts of a brief."""

    root: str = ""
    """The top of the working tree."""
    has_git: bool | None = None
    """None if nobody looked."""
    window: int = 0
    """The size of the run's context window in tokens; 0 if only the facts tell it."""
    state_file: str = ""
    """The file in which people keep the state of the project, from the top; empty if there is none."""
    phase: str = ""
    """The phase of the project, as that file says it."""
    transcript: str = ""
    """A file that a caller handed in and that no run's id names."""


def phase_in(text: str) -> str:
    """The phase that a file such as PROJECT_STATE.md names; empty if it names none."""
    found = _PHASE.search(text) or _PHASE_HEADING.search(text)
    phase = flat(found[1]).strip("*_` ") if found else ""
    return "" if gives_orders(phase) else cut(phase, 60)


# -- files


def modified_files(facts: BriefFacts, place: Workplace) -> list[str]:
    """The files that the run changed, as ``files_of_run`` has them, then others that are not committed."""
    probe = facts.probe
    dirty = probe.dirty if probe is not None and not probe.cut else ()
    return list(dict.fromkeys([*files_of_run(facts, place), *dirty]))


def files_of_run(facts: BriefFacts, place: Workplace) -> list[str]:
    """The files that the run changed, the last one first and from the top of the working tree. Deleted and
    temporary ones are left out."""
    at: dict[str, int] = {path: one.at for path, one in facts.tree.changed.items() if one.how != "delete"}
    gone = {path for path, one in facts.tree.changed.items() if one.how == "delete"}
    for step in facts.trail:
        if not (step.changes or step.kind in EDITS) or became(step) != "ok":
            continue
        changes = step.changes or [Change(path, _how(step)) for path in edited_paths(step)]
        for change in changes:
            if change.how == "delete":
                at.pop(change.path, None)
            elif change.path not in gone:
                at[change.path] = max(step.done, at.get(change.path, 0))
    ordered = [from_root(path, facts, place) for path in sorted(at, key=lambda path: -at[path])]
    return [name for name in dict.fromkeys(ordered) if not name.startswith(_ELSEWHERE)]


def _how(step: TrailStep) -> Literal["edit", "delete"]:
    return "delete" if step.kind == "delete" else "edit"


def from_root(path: str, facts: BriefFacts, place: Workplace) -> str:
    """A path of a transcript, told from the top of the working tree."""
    work, path = folder_of(facts.folder), path.replace("\\", "/")
    top = folder_of(place.root) if _holds(place.root, work.root) else work
    if not path.startswith(("/", "~")) and not re.match(r"[A-Za-z]:", path):
        path = f"{work.root}/{path}" if work.root else path
    short = top.short(normpath(path))
    return work.short(short) if short.startswith("/") else short


def _holds(root: str, folder: str) -> bool:
    """Whether a folder is below the root."""
    root = root.replace("\\", "/").rstrip("/")
    return bool(root) and folder.startswith(f"{root}/")


# -- the work


def last_command(facts: BriefFacts) -> str:
    """The last command line with its arguments, and what became of it."""
    last = next((step for step in reversed(facts.trail) if step.command), None)
    if last is None:
        return ""
    outcome = f" ({_OUTCOMES[became(last)]})"
    return middle(folder_of(facts.folder).within(last.command), 160 - size(outcome)) + outcome


def current_work(facts: BriefFacts) -> str:
    """The items under way; else what the agent said last or, if it did something since, its last step."""
    active = [task.text for task in facts.plan if task.state == "active"]
    if active:
        return "; ".join(active)
    steps = [step for step in facts.trail if step.kind in ("say", "notice") or step.id]
    if not steps:
        return ""
    last = steps[-1]
    if last.kind == "say":
        return flat(last.text)
    step = _step(last, folder_of(facts.folder))
    return step if last.done or not last.id else f"{step.partition(' → ')[0]}, which has no result yet"


def _step(step: TrailStep, folder: Folder) -> str:
    return step_line([step], folder, LINE_BYTES).removeprefix("$ ")


def pending_calls(facts: BriefFacts) -> list[str]:
    """The last calls that have no result, in a few words each."""
    folder = folder_of(facts.folder)
    lines = [step_line([step], folder, 120) for step in facts.pending[-2:]]
    return [line.removeprefix("$ ").partition(" → ")[0] for line in lines]


def next_action(facts: BriefFacts) -> str:
    """What comes next, by name; empty if nothing is known to be left."""
    wanted, calls = facts.wanted.last, [step for step in facts.trail if step.id]
    is_open = wanted is not None and not is_assent(wanted.text)
    if (
        wanted is not None
        and is_open
        and facts.ending != FINISHED
        and not any(step.at > wanted.at for step in calls)
    ):
        return f"do what the user asked last: {facts.latest or facts.goal}"
    for state, word in (("active", "go on with:"), ("next", "begin:")):
        text = next((task.text for task in facts.plan if task.state == state), "")
        if text:
            return f"{word} {text}"
    if facts.ending == FINISHED:
        return ""
    work = current_work(facts) or facts.goal
    return f"go on after: {work}" if work else ""


# -- the environment


def environment_status(facts: BriefFacts, place: Workplace, most: int = 160) -> str:
    """The verdicts of the checks, then what is not committed."""
    checks, probe = _checks(facts), facts.probe
    if probe is not None and probe.cut:
        git = "git did not answer in time: look again"
    elif probe is not None and probe.dirty:
        room = most - (size(checks) + 2 if checks else 0)
        git = f"uncommitted: {named(probe.dirty, max(40, room - 13))}"
    elif place.has_git is False:
        git = "no git here"
    elif probe is not None and probe.head:
        git = "nothing uncommitted"
    else:
        git = f"on branch {facts.branch}" if facts.branch else ""
    return "; ".join(filter(None, (checks, git)))


def _checks(facts: BriefFacts) -> str:
    checks = [failure.what for failure in facts.failing if failure.what != failure.why]
    if checks:
        return f"failing: {named([f'`{middle(one, 60)}`' for one in checks], 80)}"
    tree = facts.tree
    passed = [name for name, run in tree.checks.items() if run.outcome == "ok" and run.at > tree.edited]
    if passed:
        return f"passing: {named([f'`{middle(one, 60)}`' for one in reversed(passed)], 80)}"
    return "not checked since the last edit" if tree.edited and tree.checks else ""


def named(names: Iterable[str], most: int) -> str:
    """As many names as fit, whole, and how many more there are; at least the first one, cut."""
    every = list(names)
    for kept in range(len(every), 0, -1):
        more = f" and {len(every) - kept} more" if kept < len(every) else ""
        text = ", ".join(every[:kept]) + more
        if size(text) <= most:
            return text
    return cut(every[0], most) if every else ""


# -- what to do first


def instructions(facts: BriefFacts, place: Workplace, more: str) -> list[str]:
    """Steps with which the next run begins, in their order."""
    steps = [f"cd {_quoted(root)}"] if (root := place.root or facts.folder) else []
    if place.state_file:
        steps.append(f"Read {place.state_file}.")
    steps += _looks(facts, place)
    steps += [f"Check whether {one} completed; do not assume it." for one in pending_calls(facts)[-1:]]
    steps += _verification(facts)
    steps += [f"Ask the user: {question}" for question in facts.questions[:1]]
    steps.append(_resumption(facts))
    if more:
        steps.append(f"For more: {more}")
    return [cut(step, LINE_BYTES) for step in steps if step]


def _quoted(path: str) -> str:
    """A path as a word of a shell."""
    return path if re.fullmatch(r"[\w@%+=:,./~-]+", path) else "'" + path.replace("'", "'\\''") + "'"


def _looks(facts: BriefFacts, place: Workplace) -> list[str]:
    files, probe = modified_files(facts, place), facts.probe
    has_git = place.has_git
    if has_git is None:
        has_git = bool(facts.branch or facts.tree.commits or (probe and probe.head))
    if has_git and (files or probe is None or probe.cut):
        dirty = probe.dirty if probe is not None and not probe.cut else ()
        told = f": {count(len(dirty), 'file')} not committed" if dirty else ""
        return [f"Run git status{told}."]
    return [f"Look at {named(files, 100)}."] if files else []


def _verification(facts: BriefFacts) -> list[str]:
    """What to run: the check that fails, else the last one; nothing where none is known."""
    if facts.failing:
        first = facts.failing[0]
        if first.what == first.why:
            return [f"Solve first: {first.what}"]
        return [f"Run `{middle(first.what, 100)}` again and fix what fails."]
    checks: Sequence[str] = list(facts.tree.checks)
    return [f"Verify: `{middle(checks[-1], 120)}`"] if checks else []


def _resumption(facts: BriefFacts) -> str:
    action = next_action(facts)
    if facts.ending == STOPPED_BY_USER:
        return f"The user stopped the run: ask before you {action}" if action else ""
    if facts.ending == FINISHED:
        return f"The turn was over: wait for the user{f', then {action}' if action else '.'}"
    return f"{action[:1].upper()}{action[1:]}" if action else ""
