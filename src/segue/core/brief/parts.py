"""The parts of a brief, each written for a number of bytes: the user, the trail, the list, the tree, facts.

A part is a function from the facts and a number of bytes to lines. Each line knows the steps of the
transcript that it rests on, so that ``segue brief --explain`` can show them. A part that has nothing to say
is empty, and none is padded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..base.lazy import regex
from ..base.same_items import BETWEEN, as_item
from ..runs.brief_labels import Label
from ..runs.carried_over import EARLIER, EARLIER_AGENT, FROM_BEFORE, NOTHING_OPEN
from ..runs.model import Failure, TrailStep
from ..runs.sentences import ASKED, flat, sentences
from ..runs.shell_commands import parse_shell
from ..runs.steps import EDITS
from ..runs.tree import CheckRun
from .facts import FINISHED, BriefFacts, Claim, PlanLine
from .page import cut, middle, quote, size
from .proposals import content_words
from .trail_words import (
    Folder,
    became,
    edited_paths,
    folder_of,
    is_look,
    is_plan_shown,
    message_words,
    repeats,
    same_thing,
    step_line,
)

NEWEST_BYTES = (330, 230, 180, 150)
FAILED_BYTES, LAST_LOOKS_BYTES = 260, 420
OLD_BYTES = 260
OLD_CALLS = 12  # a plan that was not touched for so long may be behind the work
LARGE_LINES = 6  # of an edit that may have been made in part
FEW_WORDS = 10  # what says less does not tell what the work is about
NEW_CALLS = 6  # so many steps say by themselves what the last request led to
SAID_BYTES = 150  # of what was said before the last steps
LONG_SENTENCE = 80
STEP_BYTES, STEPS_MAX, LOOKS_RANK = 125, 12, 3
DECLARED_BYTES = 70  # what each kind of declared fact gets before one of them gets more
TIGHT_ITEMS = 240  # where there is no room for whole items, the beginning of each
CHOICES_SHOWN_MAX = 2  # of agents of earlier runs
ROW_BYTES = 170  # more than this nobody needs of one kind, unless there is much room
NOTICE_BYTES = 480  # who else is at work, where, on what, and how to see it
_BOILERPLATE = regex(r"^(?:sleep \d|KillShell|TaskStop|BashOutput|TaskOutput|write_stdin|wait(?:_agent)?)$")


class Line(NamedTuple):
    """A line of a brief, and the steps that it rests on."""

    text: str
    at: tuple[int, ...] = ()


def cost(lines: Sequence[Line]) -> int:
    """The bytes that lines take, with their line ends."""
    return sum(size(line.text) + 1 for line in lines)


# -- the trail


class _Group(NamedTuple):
    """Steps that are told on one line."""

    steps: list[TrailStep]
    text: str = ""  # what was said, if it is a message


class Trail:
    """The trail of a run, whose steps are looked at once for all sizes in which it is told."""

    def __init__(self, facts: BriefFacts) -> None:
        self._facts = facts
        self._steps = _recent(facts)
        self._plain = _groups(self._steps, None)

    def part(self, most: int) -> list[Line]:
        """The last steps in the order of time, and the agent's last words. Where the steps leave much room,
        they are told at more length, and then with what the agent said in between."""
        lines = _trail(self._facts, self._plain, most, 100)
        if cost(lines) < most * 3 // 4:
            lines = _trail(self._facts, self._plain, most, 170)
        if cost(lines) < most * 3 // 4 and any(step.kind == "say" for step in self._steps):
            last = self._facts.wanted.last
            groups = _groups(self._steps, last.at if last is not None else 0)
            lines = _trail(self._facts, groups, most, 170)
        return lines


def _trail(facts: BriefFacts, groups: list[_Group], most: int, percent: int) -> list[Line]:
    folder = folder_of(facts.folder)
    since = facts.wanted.last.at if facts.wanted.last is not None else 0
    closing, groups = _closing(facts, groups, folder, most)
    head = f"{Label.TRAIL} (oldest first)"
    room = most - cost(closing) - size(head) - 2
    lines: list[Line] = []
    runs = [facts.tree.checks.get(failure.what) for failure in _distinct(facts.failing)]
    below = {run.done for run in runs if run is not None and run.lines}
    rank, told_before = 0, set()
    for group in reversed(groups):
        last = group.steps[-1]
        if last.kind == "prompt":
            if lines and not lines[-1].text.startswith("—"):
                mark = (
                    "here the last message was written"
                    if last.at == since
                    else f"user: {quote(cut(flat(last.text), 60))}"
                )
                lines.append(Line(f"— {mark} —", (last.at,)))
                room -= size(lines[-1].text) + 1
            continue
        want = min(_wanted_bytes(last, rank, percent), room - 3)
        if (
            want < (60 if rank < 2 else 85)
            or len(lines) >= STEPS_MAX
            or (is_look(last) and rank >= LOOKS_RANK)
        ):
            continue
        if last.kind == "say":
            text = _said(group, folder, want)
        else:
            text = step_line(group.steps, folder, want, rich=rank < 2)
            if last.done in below and not last.refused:
                text = f"{text.rpartition(' → ')[0]} → FAILED, see {Label.FAILING}"
        if not text or text[:90] in told_before or size(text) > room - 3:
            continue
        told_before.add(text[:90])
        lines.append(
            Line(
                f"- {text}",
                tuple(step.at for step in group.steps)
                + tuple(step.done for step in group.steps if step.done),
            )
        )
        room -= size(lines[-1].text) + 1
        rank += last.kind not in ("say", "notice")
    while lines and lines[-1].text.startswith("—"):
        lines.pop()
    if lines:
        lines.append(Line(f"{head}:"))
    return [*reversed(lines), *closing]


def _wanted_bytes(last: TrailStep, rank: int, percent: int) -> int:
    """How long a line may be: the newest steps, messages, failures and the last looks tell most."""
    if rank == 0 and is_look(last):
        return LAST_LOOKS_BYTES
    if last.kind == "say":
        return 3 * percent
    want = (NEWEST_BYTES[rank] if rank < len(NEWEST_BYTES) else STEP_BYTES) * percent // 100
    return max(want, FAILED_BYTES) if became_failed(last) and rank < len(NEWEST_BYTES) else want


def _said(group: _Group, folder: Folder, most: int) -> str:
    """A message on a line: of the whole one its two ends, of others what they found out."""
    last = group.steps[-1]
    whole = group.text == flat(last.text)
    words = message_words(last.text, most - 8) if whole else cut(group.text, most - 8)
    return f"said: {quote(folder.within(words))}"


def became_failed(step: TrailStep) -> bool:
    return bool(step.id) and became(step) == "failed"


def _groups(steps: list[TrailStep], talk_since: int | None) -> list[_Group]:
    """The steps of the trail that are worth a line, folded, oldest first; with all that was said since
    ``talk_since``, else only what still tells something."""
    groups: list[_Group] = []
    for at, step in enumerate(steps):
        if step.kind == "say":
            last = not any(one.kind == "say" for one in steps[at + 1 :])
            text = _finding(step, last=last)
            if not text and talk_since is not None and step.at > talk_since:
                text = cut(_intention(step), SAID_BYTES)
            if text:
                groups.append(_Group([step], text))
        elif step.kind in ("prompt", "notice"):
            groups.append(_Group([step]))
        elif not _is_dropped(step, steps[at + 1 :]):
            before = groups[-1].steps if groups else []
            if before and _told_together(before[-1], step):
                before.append(step)
            else:
                groups.append(_Group([step]))
    return groups


def _recent(facts: BriefFacts) -> list[TrailStep]:
    """The trail since the message before the last one, and at least its last eight calls."""
    prompts = [at for at, step in enumerate(facts.trail) if step.kind == "prompt"]
    calls = [at for at, step in enumerate(facts.trail) if step.id]
    start = prompts[-2] if len(prompts) > 1 else 0
    if len(calls) > 40:
        start = max(start, calls[-40])
    last = facts.wanted.last
    if last is not None and facts.wanted.request is None and facts.wanted.calls >= NEW_CALLS:
        start = (
            prompts[-1] if prompts else start
        )  # a request of its own: what came before it is another matter
        return facts.trail[start:]
    return facts.trail[min(start, calls[-8] if len(calls) >= 8 else 0) :]


def _is_dropped(step: TrailStep, later: Sequence[TrailStep]) -> bool:
    """Whether a call is not worth telling: the plan's tool, a poll that said nothing new, a failure mended
    since."""
    if step.kind == "plan" and not is_plan_shown(step):
        return True
    if step.done and not step.command and _BOILERPLATE.match(step.tool) and not step.output.strip():
        return True
    if step.process and any(one.process == step.process for one in later) and not step.command:
        return True
    if became(step) == "failed":
        mends = [one for one in later if one.id and same_thing(step, one) and became(one) == "ok"]
        return bool(mends) and not _has_left_over(step, mends)
    if step.kind != "run" or not step.done or is_look(step):
        return False
    return any(one.id and repeats(step, one) for one in later)


def _has_left_over(failed: TrailStep, mends: Sequence[TrailStep]) -> bool:
    """Whether a good part of an edit that failed was not made by the edits after it."""
    wanted = {line.strip() for change in failed.changes for line in change.new.split("\n") if line.strip()}
    made = {line.strip() for one in mends for change in one.changes for line in change.new.split("\n")}
    return len(wanted) >= LARGE_LINES and len(wanted - made) > len(wanted) // 2


def _told_together(before: TrailStep, step: TrailStep) -> bool:
    if is_look(before) and is_look(step):
        return bool(before.done) == bool(step.done)
    if not (before.changes or before.kind in EDITS) or not (step.changes or step.kind in EDITS):
        return False
    if became(before) != became(step) or became(step) in ("failed", "refused"):
        return False
    mine, other = edited_paths(before), edited_paths(step)
    if mine == other:
        return True
    alike = [change.how for change in before.changes] == [change.how for change in step.changes] == ["create"]
    return alike and bool(mine and other) and mine[0].rpartition("/")[0] == other[0].rpartition("/")[0]


_STRONG = regex(
    r"\b(?:root cause|the (?:real |actual |only )?(?:problem|issue|bug|cause|reason|culprit)|turns out"
    r"|because|confirmed|pre-existing"
    r"|unrelated|caused by|due to|which means|cannot|measured|must not|only works)\b",
    re.I,
)
_AHEAD = regex(
    r"^(?:now\b|let me|let's|i'll|i’ll|i will|i'm|i’m|next\b|first,? |going to|time to|then\b|i need to"
    r"|i should)",
    re.I,
)


def _finding(step: TrailStep, *, last: bool) -> str:
    """A message in the trail: the last one whole, of others what they found out. An announcement that was
    followed by its act says nothing any more."""
    if last:
        return flat(step.text)
    kept = [
        one
        for one in sentences(step.text)
        if _STRONG.search(one) and not _AHEAD.match(one) and 35 <= len(one) <= 330
    ]
    return " ".join(kept[:2])


def _intention(step: TrailStep) -> str:
    """What a message says at some length; "Let me read it" says no more than the reading that followed."""
    told = [one for one in sentences(step.text) if not _AHEAD.match(one) or size(one) >= LONG_SENTENCE]
    return " ".join(told)


def _closing(
    facts: BriefFacts, groups: list[_Group], folder: Folder, most: int
) -> tuple[list[Line], list[_Group]]:
    """The agent's last words or thought, if nothing came after them, and the groups without them."""
    last = groups[-1].steps[-1] if groups else None
    if last is not None and last.kind == "say":
        over = facts.ending == FINISHED
        state = "its turn was over: this is its report" if facts.parent else "its turn was over"
        label = f"{Label.LAST_WORDS} ({state})" if over else str(Label.LAST_WORDS)
        room = min(max(most * (85 if over else 60) // 100, 260), 1_000 if over else 660)
        asked = facts.wanted.last.text if facts.wanted.last is not None else ""
        words = folder.within(message_words(last.text, room, set(content_words(asked))))
        return [Line(f"{label}: {quote(words)}", (last.at,))], groups[:-1]
    thought = facts.thought
    newest = max([step.done or step.at for step in facts.trail], default=0)
    if thought is not None and thought.at > newest:
        text = " ".join(sentences(thought.text)[-3:])
        return [Line(f"{Label.LAST_THOUGHT}: {quote(folder.within(cut(text, 320)))}", (thought.at,))], groups
    return [], groups


# -- the list that is being worked through


def list_part(facts: BriefFacts, most: int) -> list[Line]:
    """The open items in their order with the one under way, and what is blocked and why."""
    lines: list[Line] = []
    open_items = [item for item in facts.plan if item.state != "blocked"]
    if open_items:
        count = f"{len(facts.plan_done)} of {facts.plan_total} done" if facts.plan_total else ""
        aged = facts.plan_age >= OLD_CALLS and not any(item.by == "declared" for item in facts.plan)
        old = f"as of {facts.plan_age} calls before the end" if aged else ""
        note = folder_of(facts.folder).within(facts.plan_note)
        about = ", ".join(filter(None, (count, note, old)))
        label = f"{Label.OPEN} ({about})" if about else str(Label.OPEN)
        label = label if size(label) < most // 2 else str(Label.OPEN)
        if aged and facts.plan_age > facts.wanted.calls and facts.wanted.request is None:
            most = min(most, OLD_BYTES)  # the user has asked for something else since
        text = f"{label}: {_items(open_items, most - size(label) - 2, now=not facts.plan_note)}"
        lines.append(Line(text, facts.sources.get(Label.OPEN, ())))
    elif not facts.plan and 0 < facts.plan_total <= len(facts.plan_done) and facts.plan_age < OLD_CALLS:
        text = f"{Label.OPEN} ({facts.plan_total} of {facts.plan_total} ticked off): {NOTHING_OPEN}"
        lines += [Line(text, facts.sources.get(Label.OPEN, ()))] if size(text) < most else []
    blocked = [item for item in facts.plan if item.state == "blocked"]
    if blocked:
        reasons = [
            f"{as_item(item.text)} ({item.reason})" if item.reason else as_item(item.text) for item in blocked
        ]
        room = max(60, most - cost(lines) - size(Label.BLOCKED) - 3)
        lines.append(Line(f"{Label.BLOCKED}: {_joined(reasons, room, BETWEEN)}"))
    return lines


def _items(items: Sequence[PlanLine], most: int, *, now: bool) -> str:
    texts, before = [], False
    for item in items[: max(1, most)]:  # of more, not even letters fit
        text = f"{as_item(item.text)} ({item.reason})" if item.reason else as_item(item.text)
        if item.by == "before" and not before:
            text, before = f"{FROM_BEFORE}{text}", True
        texts.append(f"now {text}" if item.state == "active" and now else text)
    return _joined(texts, most, "; ", beyond=len(items) - len(texts))


def _whole(texts: Sequence[str], most: int, between: str) -> str:
    """As many texts as fit, none of them cut, and how many more there are."""
    kept: list[str] = []
    for text in texts:
        if size(between.join([*kept, text])) > most - 14 * (len(kept) + 1 < len(texts)):
            break
        kept.append(text)
    left = len(texts) - len(kept)
    shortest = texts[0].partition(ASKED)[0]
    return between.join([*kept, f"and {left} more"] if left and kept else kept) or cut(shortest, most)


def _joined(texts: Sequence[str], most: int, between: str, *, beyond: int = 0) -> str:
    """As many texts as fit, in order, each whole where all can be, else cut alike; and how many more there
    are, together with those ``beyond`` the texts."""
    if not beyond and size(between.join(texts)) <= most:
        return between.join(texts)
    lengths = (160, 110, 80, 56, 40, *((28, 20) if most < TIGHT_ITEMS else ()))
    for each in lengths if (len(texts) + beyond) * (len(between) + 1) <= most else ():
        short = [cut(text, each) for text in texts]
        if size(between.join(short)) <= most:
            return between.join(short)
    kept: list[str] = []
    for text in texts:
        short_text = cut(text, 110)
        if size(between.join([*kept, short_text])) > most - 16:
            break
        kept.append(short_text)
    left = len(texts) - len(kept) + beyond
    return between.join([*kept, f"and {left} more"] if left else kept)


# -- the tree

USUALLY = "Usually next (a habit of this project)"


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
        subject = cut(f"{last.hash} {last.subject}".strip(), 100)
        lines.append(Line(f"Last commit: {subject} ({where}{many}{pushed}).", (last.at,)))
    if tree.pull:
        lines.append(Line(f"Pull request: #{tree.pull}.", (tree.pull_told,)))
    lines += _checks(facts)
    if facts.probe is not None and facts.probe.commits:
        lines.append(Line(f"Since then committed: {_joined(list(facts.probe.commits), 120, '; ')}."))
    if tree.running:
        running = [
            f"{name}: {cut(one.what, 70)}" + (f" ({one.address})" if one.address else "")
            for name, one in list(tree.running.items())[-3:]
        ]
        lines.append(
            Line(
                f"Was running in the background: {'; '.join(running)}.",
                tuple(one.at for one in tree.running.values()),
            )
        )
    if facts.habits:
        lines.append(Line(f"{USUALLY}: {_joined(facts.habits, max(120, most // 3), '; ')}."))
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


def _failing(facts: BriefFacts, folder: Folder, most: int) -> list[Line]:
    """What fails, with its first lines, and the names of the failed tests."""
    lines = []
    for failure in _distinct(facts.failing):
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
                head = f"{head}, {len(names)} tests: {_whole(names, max(60, most - size(head) - 14), ', ')}"
            room = min(262, most - size(head) - size(earlier) - 2)
            text = f"{head}: {quote(why, room)}".removesuffix(": ") + earlier
        done = facts.tree.checks[failure.what].done if failure.what in facts.tree.checks else 0
        lines.append(Line(text, tuple(at for at in (failure.at, done) if at)))
        most //= 2
    return lines


def _distinct(failing: Sequence[Failure]) -> list[Failure]:
    """The newest two failures that are not of the same command with other arguments."""
    found: dict[str, Failure] = {}
    for failure in failing:
        found.setdefault(parse_shell(failure.what).short or failure.what, failure)
    return list(found.values())[:2]


def _checks(facts: BriefFacts) -> list[Line]:
    """The checks since the last edit, and those that were not run since."""
    tree = facts.tree
    failing = {failure.what for failure in facts.failing}
    since = [(name, run) for name, run in tree.checks.items() if run.at > tree.edited]
    words = [_check(name, run) for name, run in since if name not in failing and run.outcome != "failed"][-4:]
    at = tuple(run.at for _, run in since)
    label = "Checked since the last edit" if tree.edited else "Checked"
    lines = [Line(f"{label}: {', '.join(words)}.", at)] if words else []
    if not tree.edited or since:
        return lines
    ended = [(name, run) for name, run in tree.checks.items() if run.outcome in ("ok", "failed")]
    before = [(name, run) for name, run in ended if run.outcome == "ok"][-2:]
    if before:
        told_before = ", ".join(_check(name, run) for name, run in before)
        text = f"Not checked since the last edit; before it: {told_before}."
        lines.append(Line(text, tuple(run.at for _, run in before)))
    elif not ended:
        lines.append(Line("No known test, check or build was run after the edits.", (tree.edited,)))
    return lines


_TEST_NAME = regex(r"::| › | > |\n\s*")
_OUTCOMES = {
    "ok": "passed",
    "failed": "FAILED",
    "stopped": "was stopped",
    "unknown": "ended, verdict unclear",
    "": "has no result yet",
}


def _check(name: str, run: CheckRun) -> str:
    return f"`{middle(name, 70)}` {_OUTCOMES[run.outcome]}"


def _changed(facts: BriefFacts, folder: Folder, most: int) -> list[Line]:
    """Files that are changed and not committed: by git where it answered, else as the transcript tells it."""
    tree, probe = facts.tree, facts.probe
    if probe is not None and probe.head:
        if probe.cut:
            return [Line("Uncommitted: not known, git did not answer in time.")]
        names = _with_symbols(list(probe.dirty), facts.edited, most)
        return (
            [Line(f"Uncommitted now: {_whole(names, most, ', ')}.")]
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
    lines = []
    if names:
        also = f"; git status had also {_whole(others, most // 3, ', ')}" if others else ""
        lines.append(Line(f"Changed and not committed: {_whole(names, most - size(also), ', ')}{also}.", at))
    elif others:
        lines.append(Line(f"Not committed, by git status: {_whole(others, most, ', ')}.", (tree.asked,)))
    elif tree.commits and not tree.doubt:
        lines.append(Line("Nothing changed since the last commit, as far as is known."))
    elif tree.doubt and any(step.kind == "agent" and step.at <= tree.doubt for step in facts.trail):
        lines.append(Line("Edited by sub-agents: not known."))
    if tree.stashed and facts.trail and tree.stashed >= facts.trail[0].at:
        lines.append(Line("Changes were put into git's stash and not taken out again.", (tree.stashed,)))
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


# -- declared, rules, facts


def rules_part(facts: BriefFacts, most: int) -> list[Line]:
    """Rules and corrections of the user that stand."""
    said = facts.wanted.last.text if facts.wanted.last is not None else ""
    rules = [rule for rule in facts.rules if rule not in flat(said)]
    at = facts.sources.get(Label.RULES, ())
    return [Line(f"{Label.RULES}: {_whole(rules[:6], most - 8, BETWEEN)}", at)] if rules and most > 60 else []


def declared_part(facts: BriefFacts, most: int) -> list[Line]:
    """What people and agents told Segue, the most important first, each in a row that leaves the others a
    fair share."""
    earlier = [f"{EARLIER_AGENT}{one}" for one in facts.chosen_before[:CHOICES_SHOWN_MAX]]
    rows = [
        (Label.NOTICE, facts.notices[:3], "; "),
        (Label.PITFALL, facts.pitfalls[:2], BETWEEN),
        (Label.UNPROVEN, facts.unproven[:6], "; "),
        (Label.QUESTIONS, facts.questions[:3], "; "),
        (Label.DECIDED, [*facts.decided[:6], *earlier], BETWEEN),
        (Label.FOCUS, [facts.focus] if facts.focus else [], "; "),
        (Label.THREADS, facts.threads[:3], "; "),
        (Label.LEARNT, facts.learnt[:4], BETWEEN),
        (Label.REMEMBERED, facts.memories[:4], BETWEEN),
    ]
    rows = [row for row in rows if row[1]]
    wants = [size(label) + 3 + size(between.join(texts)) for label, texts, between in rows]
    lines: list[Line] = []
    for at, (label, texts, between) in enumerate(rows):
        left = most - cost(lines)
        share = left - sum(min(want, DECLARED_BYTES) for want in wants[at + 1 :])
        enough = NOTICE_BYTES if label == Label.NOTICE else ROW_BYTES
        room = min(left, max(DECLARED_BYTES, min(share, max(most // 3, enough)))) - size(label) - 3
        if room > 30:
            lines.append(Line(f"{label}: {_whole(texts, room, between)}", facts.sources.get(label, ())))
    return lines


def _basis(claim: Claim) -> str:
    return ", ".join((claim.trust, *claim.evidence[:1]))


def facts_part(facts: BriefFacts, most: int, shown: str) -> list[Line]:
    """What is nowhere else: a refusal with the user's words, the agent's recap, what a compaction's summary
    says comes next."""
    found: list[Line] = []
    if facts.refused is not None and "REFUSED" not in shown and "refused" not in shown:
        said = f": {quote(cut(facts.refused.why, 160))}" if facts.refused.why else ""
        found.append(Line(f"the user refused `{cut(facts.refused.what, 80)}`{said}", (facts.refused.at,)))
    if facts.fault:
        found.append(Line(f"the model failed at the end: {quote(cut(facts.fault, 120))}"))
    since = facts.wanted.last.at if facts.wanted.last is not None else 0
    if facts.recap is not None and facts.recap.at > since:
        found.append(Line(f"the agent's recap: {quote(cut(flat(facts.recap.text), 280))}", (facts.recap.at,)))
    kept: list[Line] = []
    for line in found:
        if cost(kept) + size(line.text) + 12 <= most:
            kept.append(line)
    return [Line(f"{Label.FACTS}:"), *(Line(f"- {line.text}", line.at) for line in kept)] if kept else []


def claims_part(facts: BriefFacts, most: int) -> list[Line]:
    """What a model concluded, as many claims as fit; nothing that was observed makes room for them."""
    kept: list[Line] = []
    for claim in facts.claims[:3]:
        line = Line(f"{Label.INFERRED} (by a model, {_basis(claim)}): {cut(claim.text, 160)}")
        if cost([*kept, line]) <= most:
            kept.append(line)
    return kept
