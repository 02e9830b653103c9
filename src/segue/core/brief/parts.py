"""Parts of a brief, each written for a number of bytes: the trail, the list, what was declared, facts.

A part is a function from the facts and a number of bytes to lines. Each line knows the steps of the
transcript that it rests on, so that ``segue brief --explain`` can show them. A part that has nothing to say
is empty, and none is padded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..base.lazy import regex
from ..base.page import cut, quote, size
from ..base.same_items import BETWEEN, as_item
from ..language.proposals import content_words
from ..language.sentences import ASKED, flat, sentences
from ..language.subjects import subjects_of
from ..runs.brief_labels import Label
from ..runs.brief_text import FROM_BEFORE, NOTHING_OPEN
from ..runs.model import Failure, TrailStep
from ..runs.shell_commands import parse_shell
from ..runs.steps import EDITS
from .facts import FINISHED, TODO_LIST, BriefFacts, Claim, PlanLine
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

NEWEST_CALLS = 2  # so many are told with what their results said
NEWEST_BYTES, NEWEST_BYTES_MIN = (430, 400, 180, 150), 230
FAILED_BYTES, LAST_LOOKS_BYTES = 260, 700
OLD_BYTES = 260
ALIKE_PERCENT = 75  # of the words of an item; more are the same item in other words
ITEM_BYTES = 60  # what an item of an older list takes
OLD_CALLS = 12  # a plan that was not touched for so long may be behind the work
LARGE_LINES = 6  # of an edit that may have been made in part
FEW_WORDS = 10  # what says less does not tell what the work is about
NEW_CALLS = 6  # so many steps say by themselves what the last request led to
SAID_BYTES = 150  # of what was said before the last steps
LONG_SENTENCE = 80
STEP_BYTES, STEPS_MAX, LOOKS_RANK = 125, 12, 3
DECLARED_BYTES = 70  # what each kind of declared fact gets before one of them gets more
TIGHT_ITEMS = 240  # where there is no room for whole items, the beginning of each
ROW_BYTES = 170  # more than this nobody needs of one kind, unless there is much room
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
    runs = [facts.tree.checks.get(failure.what) for failure in distinct_failures(facts.failing)]
    below = {run.done for run in runs if run is not None and run.lines}
    newest = [step for group in groups for step in group.steps if step.id][-NEWEST_CALLS:]
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
        want = min(_wanted_bytes(group.steps, rank, percent, newest, room), room - 3)
        if (
            want < (60 if rank < 2 else 85)
            or len(lines) >= STEPS_MAX
            or (is_look(last) and rank >= LOOKS_RANK)
        ):
            continue
        if last.kind == "say":
            text = _said(group, folder, want)
        else:
            text = step_line(group.steps, folder, want, newest)
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


def _wanted_bytes(
    steps: Sequence[TrailStep], rank: int, percent: int, newest: Sequence[TrailStep], room: int
) -> int:
    """How long a line may be: the newest calls tell most, as long as they leave room for others; messages,
    failures and the last looks tell more than the rest."""
    last = steps[-1]
    if last.kind == "say":
        return 3 * percent
    new = sum(any(step is one for one in newest) for step in steps)
    if new:
        most = LAST_LOOKS_BYTES if new > 1 else NEWEST_BYTES[min(rank, 1)]
        return min(most, max(NEWEST_BYTES_MIN, room * 2 // 3))
    want = (NEWEST_BYTES[rank] if rank < len(NEWEST_BYTES) else STEP_BYTES) * percent // 100
    return max(want, FAILED_BYTES) if became_failed(last) and rank < len(NEWEST_BYTES) else want


def distinct_failures(failing: Sequence[Failure]) -> list[Failure]:
    """The newest two failures that are not of the same command with other arguments."""
    found: dict[str, Failure] = {}
    for failure in failing:
        found.setdefault(parse_shell(failure.what).short or failure.what, failure)
    return list(found.values())[:2]


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
    if step.done and not step.output.strip() and _only_asks(step):
        return True
    if step.process and any(one.process == step.process and _tells(one) for one in later if one.polls):
        return True  # a later poll of the same process says more
    if became(step) == "failed":
        mends = [one for one in later if one.id and same_thing(step, one) and became(one) == "ok"]
        return bool(mends) and not _has_left_over(step, mends)
    if step.kind != "run" or not step.done or is_look(step):
        return False
    return any(one.id and not one.polls and repeats(step, one) for one in later)


def _only_asks(step: TrailStep) -> bool:
    """Whether a call asks what goes on in the background, which goes on after it."""
    return step.runs_on if step.polls else not step.command and _BOILERPLATE.match(step.tool) is not None


def _tells(poll: TrailStep) -> bool:
    return not poll.done or bool(poll.output.strip())


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
        told = [one for one in sentences(thought.text) if len(content_words(one)) > 1]
        if told:
            text = quote(folder.within(cut(" ".join(told[-3:]), 320)))
            return [Line(f"{Label.LAST_THOUGHT}: {text}", (thought.at,))], groups
    return [], groups


# -- the list that is being worked through


def list_part(facts: BriefFacts, most: int) -> list[Line]:
    """The open items in their order with the one under way, and what is blocked and why."""
    lines: list[Line] = []
    left = _left(facts)
    open_items = [item for item in left if item.state != "blocked"]
    if open_items:
        done = len(facts.plan_done)
        count = f"{done} of {done + len(left)} done" if facts.plan_total else ""
        age = _age(facts)
        aged = age >= OLD_CALLS
        old = f"as of {age} calls before the end" if aged else ""
        note = folder_of(facts.folder).within(facts.plan_note)
        about = ", ".join(filter(None, (count, note, old)))
        label = f"{Label.OPEN} ({about})" if about else str(Label.OPEN)
        label = label if size(label) < most // 2 else str(Label.OPEN)
        if aged and age >= facts.wanted.calls and facts.wanted.request is None:
            most = min(most, OLD_BYTES)  # the user has asked for something else since
        is_now = not facts.plan_note and not aged
        text = f"{label}: {_items(open_items, most - size(label) - 2, now=is_now)}"
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
        lines.append(Line(f"{Label.BLOCKED}: {joined_texts(reasons, room, BETWEEN)}"))
    return lines


def _left(facts: BriefFacts) -> list[PlanLine]:
    """The open items, without those that the agent's own list has as done in nearly the same words: of older
    lists, of plans in words, and as they were called before."""
    own = set(facts.wanted.listed)
    if not own and not facts.wanted.ticked:  # it keeps none in this run
        own = {
            item.text
            for one in facts.standing.lists
            if one.entry is not None and one.entry.text.startswith(TODO_LIST)
            for item in one.items
        }
    done = [*facts.plan_done, *facts.wanted.ticked]
    words, heads = [set(_stems(text)) for text in done], {_head(text) for text in done}
    return [
        item
        for item in facts.plan
        if item.by == "declared"
        or item.text in own
        or not (_head(item.text) in heads or _is_among(set(_stems(item.text)), words))
    ]


def _head(item: str) -> str:
    """What an item is called before a dash or a bracket, behind which agents write how it stands."""
    return re.split(r" [-–—(]", item, maxsplit=1)[0].strip().casefold()


def _is_among(words: set[str], texts: Sequence[set[str]]) -> bool:
    return len(words) > 1 and any(100 * len(words & text) >= ALIKE_PERCENT * len(words) for text in texts)


def _stems(text: str) -> list[str]:
    return [word[:5] for word in content_words(text)]


def _age(facts: BriefFacts) -> int:
    """For how many calls nobody has touched the list; what somebody declared holds, however old it is."""
    if any(item.by == "declared" for item in facts.plan):
        return 0
    is_past = any(item.by == "before" and item.state == "active" for item in facts.plan)
    return max(facts.plan_age, facts.wanted.calls if is_past else 0)


def _items(items: Sequence[PlanLine], most: int, *, now: bool) -> str:
    """The items of the newest list, and behind a mark those of older ones."""
    newest = [item for item in items if item.by != "before"]
    older = [item for item in items if item.by == "before"]
    if not newest or not older:
        mark = FROM_BEFORE if older else ""
        return mark + _listed(items, most - size(mark), now=now)
    told = _listed(newest, max(most * 2 // 3, most - size(FROM_BEFORE) - ITEM_BYTES * len(older)), now=now)
    rest = _listed(older, most - size(told) - size(FROM_BEFORE) - 2, now=now, tight=False)
    return f"{told}; {rest}" if rest.startswith("and ") else f"{told}; {FROM_BEFORE}{rest}"


def _listed(items: Sequence[PlanLine], most: int, *, now: bool, tight: bool = True) -> str:
    texts = []
    for item in items[: max(1, most)]:  # of more, not even letters fit
        text = f"{as_item(item.text)} ({item.reason})" if item.reason else as_item(item.text)
        texts.append(f"now {text}" if item.state == "active" and now else text)
    return joined_texts(texts, most, "; ", beyond=len(items) - len(texts), tight=tight)


def whole_texts(texts: Sequence[str], most: int, between: str) -> str:
    """As many texts as fit, none of them cut, and how many more there are."""
    kept: list[str] = []
    for text in texts:
        if size(between.join([*kept, text])) > most - 14 * (len(kept) + 1 < len(texts)):
            break
        kept.append(text)
    left = len(texts) - len(kept)
    shortest = texts[0].partition(ASKED)[0]
    return between.join([*kept, f"and {left} more"] if left and kept else kept) or cut(shortest, most)


def joined_texts(
    texts: Sequence[str], most: int, between: str, *, beyond: int = 0, tight: bool = True
) -> str:
    """As many texts as fit, in order, each whole where all can be, else cut alike (``tight``: where there is
    little room, to their first words); and how many more there are, with those ``beyond`` the texts."""
    if not beyond and size(between.join(texts)) <= most:
        return between.join(texts)
    lengths = (160, 110, 80, 56, 40, *((28, 20) if tight and most < TIGHT_ITEMS else ()))
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


# -- declared, facts


def notices_part(facts: BriefFacts, most: int) -> list[Line]:
    """What Segue itself has to say: it comes first, and holds for whoever reads it."""
    room = most - size(Label.NOTICE) - 3
    if not facts.notices or room < 40:
        return []
    return [Line(f"{Label.NOTICE}: {whole_texts(facts.notices[:3], room, '; ')}")]


def declared_part(facts: BriefFacts, most: int) -> list[Line]:
    """What people and agents told Segue, the most important first, each in a row that leaves the others a
    fair share."""
    rows = [
        (Label.PITFALL, facts.pitfalls[:2], BETWEEN),
        (Label.UNPROVEN, facts.unproven[:6], "; "),
        (Label.QUESTIONS, facts.questions[:3], "; "),
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
        room = min(left, max(DECLARED_BYTES, min(share, max(most // 3, ROW_BYTES)))) - size(label) - 3
        if room > 30:
            lines.append(Line(f"{label}: {whole_texts(texts, room, between)}", facts.sources.get(label, ())))
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
    found += _before_fork(facts)
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


def _before_fork(facts: BriefFacts) -> list[Line]:
    """Of a conversation that was forked from another one, what was asked there last."""
    asked, last = facts.wanted.before_fork, facts.wanted.last
    if asked is None:
        return []
    if last is not None and asked.at == last.at:
        return [Line("the last message was written before this conversation was forked", (asked.at,))]
    return [Line(f"asked before the fork: {quote(cut(flat(asked.text), 180))}", (asked.at,))]


def claims_part(facts: BriefFacts, most: int) -> list[Line]:
    """What a model concluded and is not known otherwise, as many claims as fit; nothing that was observed
    makes room for them."""
    kept: list[Line] = []
    decided = [subjects_of(one) for one in (*facts.decided, *facts.chosen)]
    for claim in facts.claims[:3]:
        if any(subjects_of(claim.text) <= one for one in decided):
            continue
        line = Line(f"{Label.INFERRED} (by a model, {_basis(claim)}): {cut(claim.text, 160)}")
        if cost([*kept, line]) <= most:
            kept.append(line)
    return kept
