"""The brief as text: what the next run reads first, in a limited number of bytes.

Every fact is a candidate with a line, a cost in bytes and a value. What a run cannot do without (goal, work
under way, what is broken) comes first, each within a share of the budget; files, commands and names follow by
the chance that they are needed again; sentences of the agent fill the rest, always the one that adds most to
what the brief says already. Nothing is cut inside a word, and the last line says how to get what was left
out. The text is data for a model and a page for a person: short lines, plain labels, no heap of words.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush

from ...errors import BudgetTooSmall
from ..runs import sentences
from ..runs.brief_labels import Label
from ..runs.identifiers import NAME, is_name
from ..runs.inherited import BETWEEN, CLOSING, OPENING, STANDS, STOPPED, UNREACHED, as_item, delimited
from ..runs.model import Failure
from .facts import FINISHED, BriefFacts, Claim, PlanLine
from .file_list import Inventory
from .page import LIST_MAX, BriefPage, cut, plain, size
from .relevance import words
from .statements import Sentence

BYTES_MIN, BYTES_DEFAULT = 256, 2_048

ORDER = tuple(Label)


_INSTEAD: dict[str, str] = {
    Label.UNDER_WAY: Label.NEXT, Label.LAST_SAID: Label.NOTED, Label.LEARNT: Label.NOTED,
    Label.DECIDED: Label.NOTED, Label.ASKED_THE_USER: Label.NOTED,
}  # fmt: skip
"""The label that a sentence gets instead if its own label already has a line."""


def compose(facts: BriefFacts, budget: int = BYTES_DEFAULT, more: str = "") -> str:
    """The brief as text. ``more`` is the command that shows what was left out.

    Raises BudgetTooSmall below ``BYTES_MIN``.
    """
    if budget < BYTES_MIN:
        raise BudgetTooSmall(
            f"a brief needs at least {BYTES_MIN} bytes, not {budget}",
            hint=f"use --max-bytes {BYTES_MIN} or more",
        )
    return _composed(facts, budget, more)


def _composed(facts: BriefFacts, budget: int, more: str) -> str:
    page = BriefPage(budget)
    closing = f"{CLOSING} More: {more}" if more and budget >= 400 else CLOSING
    page.put("closing", closing)
    page.put("opening", _opening(facts, budget))
    _essential(page, facts, budget)
    _commands(page, facts, budget)
    _declared(page, facts, budget)
    newest = _newest(page, facts, int(NEWEST_SHARE * budget)) if budget >= 1_000 else []
    inventory = Inventory(page, facts, budget, sum(size(one.text) + len(one.label) + 4 for one in newest))
    inventory.put()
    _sentences(page, newest, [*facts.sentences, *map(_inferred, facts.claims)], facts)
    inventory.grow()
    lines = [page.lines["opening"], *(page.lines[label] for label in ORDER if label in page.lines), closing]
    return delimited("\n".join(plain(line) for block in lines for line in block.split("\n")))


def marked_down(facts: BriefFacts, budget: int = BYTES_DEFAULT, more: str = "") -> str:
    """The brief as Markdown, with the same lines as a list."""
    text = compose(facts, budget, more)
    room = budget
    while True:
        text = "\n".join(_bullet(line) for line in text.split("\n"))
        over = size(text) - budget
        if over <= 0:
            return text
        room -= max(over, 4)
        text = _composed(facts, room, more)


def _bullet(line: str) -> str:
    if line.startswith("  "):
        return f"  - {line[2:]}"
    label, colon, rest = line.partition(":")
    named = label.isupper() or label.startswith(("PLAN (", Label.FILES))
    return f"- **{label}:**{rest}" if colon and named else line


def _opening(facts: BriefFacts, budget: int) -> str:
    parts = [f"{OPENING} {STOPPED if facts.run or facts.agent else STANDS}"]
    about = [facts.agent] if facts.agent else []
    if facts.branch:
        about.append(f"branch {cut(facts.branch, 40)}")
    if facts.when:
        about.append(datetime.fromtimestamp(facts.when, UTC).strftime("%Y-%m-%d %H:%M UTC"))
    if facts.window and facts.context:
        about.append(f"window {100 * facts.context // facts.window} % full")
    if about and budget >= 400:
        parts.append(f" ({', '.join(about)})")
    if not (facts.goal or facts.plan or facts.files or facts.sentences or facts.broken):
        parts.append("; nothing of its work is known")
    elif facts.ending and budget >= 400:
        parts.append(f"; {cut(facts.ending, 90)}")
    return "".join(parts) + "."


def _essential(page: BriefPage, facts: BriefFacts, budget: int) -> None:
    """Goal, work under way, next step and what is broken, at any budget; then what else the user asked."""
    tight = budget < 700
    goal = 0.42 * budget if tight else min(900, 0.35 * budget + 90)
    plan = 0.34 * budget if tight else min(1_000, 0.22 * budget)
    _musts(page, facts, goal, plan, (0.24 if tight else 0.16) * budget)
    waiting = [_waits(task) for task in facts.plan if task.state == "blocked"]
    if waiting:
        page.say(Label.BLOCKED, _list(waiting, int(plan) // 2, 4, BETWEEN), plan / 2)
    if facts.pending:
        _pending(page, facts.pending, 0.08 * budget)
    if facts.solved and not tight and (not facts.broken or facts.solved[0].at > facts.broken[0].at):
        failure = facts.solved[0]
        page.say(
            Label.SOLVED,
            _failure(failure.what, failure.why, 0.12 * budget) + ", and then passed",
            0.14 * budget,
        )
    if facts.refused and not tight:
        page.say(Label.REFUSED, _refused(facts.refused, facts.refused_by, 0.1 * budget), 0.12 * budget)
    if facts.faults and not tight:
        page.say(Label.BLOCKED, f"{UNREACHED}{_quote(facts.faults)}", 0.06 * budget)
    if facts.latest:
        page.say(Label.LATEST_FROM_USER, facts.latest, 0.05 * budget)
    if not tight:
        _open(page, facts, budget)
    rules = [rule for rule in facts.standing if rule.lower() not in page.low]
    if rules:
        page.say(Label.STANDING, _list(rules, int(0.1 * budget), 4, BETWEEN), 0.1 * budget)
    spare = goal - size(facts.goal)
    before = [one for one in facts.before if one.lower() not in page.low]
    if before and not tight and spare > 80:
        page.say(Label.ASKED_BEFORE, _list(before, int(min(spare, 0.09 * budget)), 2, BETWEEN), 0.09 * budget)
    if facts.first and not tight and facts.first not in before[:2] and facts.first.lower() not in page.low:
        page.say(Label.FIRST_ASKED, facts.first, (0.12 if facts.inherits else 0.045) * budget)


def _open(page: BriefPage, facts: BriefFacts, budget: int) -> None:
    """What the user's last short prompt answers, and the question that still waits for an answer."""
    if facts.latest and facts.answers:
        page.put(Label.IN_ANSWER_TO, f"IN ANSWER TO: {_quote(_end(facts.answers, int(0.12 * budget)))}")
    if facts.asked:
        page.say(Label.ASKED_THE_USER, _end(facts.asked, int(0.12 * budget)), 0.12 * budget)


def _end(text: str, most: int) -> str:
    """The sentences at the end of a text that fit, because the question comes last."""
    text = " ".join(text.split())
    while size(text) > most:
        first = sentences.sentences(text)[0]
        if len(first) >= len(text):
            return cut(text, most)
        text = text[len(first) :].lstrip()
    return text


def _musts(page: BriefPage, facts: BriefFacts, goal: float, plan: float, broken: float) -> None:
    """What every brief contains. If not all of it fits, each line gets a fair share."""
    label = Label.LAST_SAID if facts.ending == FINISHED else Label.UNDER_WAY
    going = "" if facts.plan else next((one.text for one in facts.sentences if one.label == label), "")
    if not going and not facts.plan and facts.sentences and page.left < 650:
        going = facts.sentences[0].text
    wanted = {
        Label.GOAL: min(size(facts.goal), goal),
        Label.PLAN: min(sum(size(task.text) + 6 for task in facts.plan if task.state != "blocked"), plan),
        label: min(size(going), plan) if page.left < 650 else 0,
        Label.BROKEN: min(sum(size(one.what) + size(one.why) + 20 for one in facts.broken), broken),
    }
    costs = {name: bytes + size(name) + 3 for name, bytes in wanted.items() if bytes}
    room = level(list(costs.values()), page.left - 24 * bool(costs.get(Label.PLAN)))
    share = {name: min(cost, room) - size(name) - 3 for name, cost in costs.items()}
    page.say(Label.GOAL, facts.goal, share.get(Label.GOAL, 0))
    if Label.PLAN in share:
        _plan(page, facts, share[Label.PLAN])
    page.say(label, going, share.get(label, 0))
    if Label.BROKEN in share:
        page.say(Label.BROKEN, _failures(facts.broken, share[Label.BROKEN]), share[Label.BROKEN])


def level(costs: list[int | float], room: float) -> float:
    """The most that each may take so that all fit; those that need less leave the rest to the others."""
    left = room
    for taken, cost in enumerate(sorted(costs)):
        if cost * (len(costs) - taken) >= left:
            return left / (len(costs) - taken)
        left -= cost
    return max([*costs, room])


def _quote(text: str) -> str:
    """A quotation whose text cannot close the quotation marks."""
    return f'"{text.translate(_NO_QUOTES)}"'


_NO_QUOTES = {ord('"'): "'", ord("\n"): " / "}


def _failure(what: str, why: str, most: float) -> str:
    """What failed and why, in at most ``most`` bytes and with closed quotation marks."""
    if what == why:
        return cut(why, int(most))
    name = _call(what, max(12, min(60, int(most * 0.55))))
    told = cut(why.translate(_NO_QUOTES), int(most) - size(name) - 11)
    return f'{name} failed: "{told}"' if told else f"{name} failed"


def _call(what: str, most: int) -> str:
    """A call in backticks; if its path does not fit, with the file's name alone."""
    tool, _, path = what.partition(" ")
    if size(what) > most and (path[:1] in ("/", "~") or path[1:3] in (":\\", ":/")):
        what = tool + " " + path.replace("\\", "/").rsplit("/", 1)[-1]
    return "`" + cut(what.replace("`", "'"), most) + "`"


def _failures(broken: list[Failure], most: float) -> str:
    first, *rest = broken
    others = [_call(one.what, 40) for one in rest if one.what != first.what][:2]
    also = f"; also {' and '.join(others)}" if others else ""
    if size(also) > most / 3:
        also = ""
    return _failure(first.what, first.why, most - size(also)) + also


def _refused(call: Failure, by: str, most: float) -> str:
    """A rejected call. The reason is quoted, because it came from a tool's result."""
    name = _call(call.what, 60)
    said = cut(call.why, int(most) - size(name) - 40)
    return f"{by} rejected {name}" + (f" and said: {_quote(said)}" if said else "")


def _pending(page: BriefPage, calls: list[str], most: float) -> None:
    """The calls that were cut off, so that it is not known whether they completed."""
    for text in (" and ".join(calls), calls[-1]):
        for rest in (" may still have completed: check first", ": check first"):
            if size(text) + size(rest) <= most and page.put(Label.PENDING, f"PENDING: {text}{rest}"):
                return
    page.say(Label.PENDING, f"check {calls[-1]}", most)


def _waits(task: PlanLine) -> str:
    return f"{task.text} ({task.reason})" if task.reason else task.text


def _list(items: list[str], most: int, count: int, between: str = "; ") -> str:
    """As many of the first ``count`` items as fit, long ones shortened."""
    taken: list[str] = []
    left = most
    for item in items[:count]:
        text = cut(item, min(left, max(60, most // 2)))
        if not text or size(text) + len(between) > left:
            break
        taken.append(text)
        left -= size(text) + len(between)
    return between.join(taken)


def _plan(page: BriefPage, facts: BriefFacts, most: float) -> None:
    """The items that are under way and next, long ones shortened, and how many more there are."""
    now = "" if facts.plan_note else "now "
    items = [f"{now}{as_item(task.text)}" for task in facts.plan if task.state == "active"]
    items += [as_item(task.text) for task in facts.plan if task.state == "next"]
    many = min(len(items), LIST_MAX, max(2, int(most) // 32))
    each = max(min(48, (most - 16) / 2), level([size(item) + 2 for item in items[:many]], most) - 2)
    taken: list[str] = []
    left = most
    for item in items[:many]:
        item_text = cut(item, int(each))
        if not item_text or size(item_text) + 2 > left + 2 * (not taken):
            break
        taken.append(item_text)
        left -= size(item_text) + 2
    missing = len(items) - len(taken)
    text = "; ".join(taken) + (f"; and {missing} more" if missing and taken else "")
    count = f"{len(facts.plan_done)} of {facts.plan_total} done" if facts.plan_total else ""
    about = ", ".join(filter(None, (count, facts.plan_note)))
    if text:
        label = f"PLAN ({about})" if about else Label.PLAN
        page.put(Label.PLAN, f"{label}: {text}") or page.say(Label.PLAN, text, page.left - 8)


def _commands(page: BriefPage, facts: BriefFacts, budget: int) -> None:
    most = int(min(450, COMMANDS_SHARE * budget))
    chosen: list[str] = []
    for short, use in facts.commands[:16]:
        text = f"{short} (failed)" if use.ok is False else short
        if size(short) > 80 or size("; ".join([*chosen, text])) > most or len(chosen) >= LIST_MAX:
            continue
        if not any(other == short or other.startswith(f"{short} ") for other in chosen):
            chosen.append(text)
    if chosen and budget >= 400:
        page.say(Label.COMMANDS, "; ".join(chosen), most + 20)


def _declared(page: BriefPage, facts: BriefFacts, budget: int) -> None:
    """Declared facts, commits, and the working tree now."""
    if budget < 700:
        return
    page.say(Label.DECIDED, _list(facts.decided, int(0.12 * budget), 6, BETWEEN), 0.12 * budget)
    page.say(Label.QUESTIONS, _list(facts.questions, int(0.06 * budget), 3), 0.06 * budget)
    page.say(Label.REMEMBERED, _list(facts.memories, int(0.08 * budget), 4), 0.08 * budget)
    page.say(Label.LEARNT, _list(facts.learnt, int(0.08 * budget), 4), 0.08 * budget)
    page.say(Label.COMMITTED, _list(facts.commits, int(0.055 * budget), 3), 0.055 * budget)
    page.say(Label.SINCE_THEN, _list(facts.since, int(0.05 * budget), 4), 0.05 * budget)
    dirty = _list(facts.dirty, int(0.05 * budget), LIST_MAX, ", ")
    if facts.probe_cut:
        dirty = f"{dirty}, and maybe more" if dirty else "not known"
        dirty += ": git did not answer in time"
    page.say(Label.UNCOMMITTED, dirty, max(0.05 * budget, 96))


COMMANDS_SHARE = 0.12
QUOTED = (Label.REPORTED,)  # lines with words of others than the user and the agent
CLAIM_WEIGHT = {"user": 0.8, "agent": 0.8, "fact": 0.7, "tool": 0.6}  # less than for anything observed
BY_A_MODEL = "INFERRED (by a model)"
NEWEST_SHARE, NEWEST_WEIGHT = 0.08, 1.25
RATE_MIN = 0.004  # a sentence that adds less is left out


def _newest(page: BriefPage, facts: BriefFacts, most: int) -> list[Sentence]:
    """The first sentence of the last message, if it fits and is not on the page yet."""
    first = facts.sentences[0] if facts.sentences else None
    if first is None or first.weight < NEWEST_WEIGHT or first.text.lower() in page.low:
        return []
    return [first] if size(first.text) <= most else []


def _sentences(page: BriefPage, first: list[Sentence], candidates: list[Sentence], facts: BriefFacts) -> None:
    """Fill the rest of the page with ``first``, and then with the sentences that add most to it.

    What a sentence adds only shrinks as others are chosen. An earlier value is therefore an upper bound, and
    only the first entry of the heap has to be evaluated again.
    """
    values, names = facts.worth.words, facts.worth.names

    def rate(entry: tuple[Sentence, int, set[str], list[str]]) -> float:
        sentence, cost, its_words, its_names = entry
        # fsum, because sets have no fixed order and a brief must not depend on it
        gain = math.fsum([values.get(word, 0.01) for word in its_words - page.seen])
        gain += math.fsum([names.get(name, 0.0) for name in its_names if name.lower() not in page.low])
        return sentence.weight * gain / math.pow(cost, 0.65)

    pool = [(one, size(_stopped(one.text)) + 1, words(one.text), _names(one.text)) for one in candidates]
    heap = [(-rate(entry), at) for at, entry in enumerate(pool)]
    heapify(heap)
    chosen: dict[str, list[Sentence]] = {}
    for one in first:
        _choose(page, chosen, one)
    while heap:
        _, at = heappop(heap)
        worth = rate(pool[at])
        if worth < RATE_MIN:
            continue
        if heap and worth < -heap[0][0] - 1e-12:
            heappush(heap, (-worth, at))
            continue
        _choose(page, chosen, pool[at][0])
    for label, group in chosen.items():
        group.sort(key=lambda one: one.at)
        text = " ".join(_stopped(one.text) for one in group)
        head = BY_A_MODEL if label == Label.INFERRED else label
        page.lines[label] = f"{head}: {_quote(text) if label in QUOTED else text}"


def _choose(page: BriefPage, chosen: dict[str, list[Sentence]], one: Sentence) -> None:
    """Add a sentence under its label, if there is room."""
    label = one.label
    if label in page.lines:
        label = _INSTEAD.get(label, label)
    head = BY_A_MODEL if label == Label.INFERRED else label
    cost = size(_stopped(one.text)) + 1
    cost += 0 if label in chosen else len(head) + 3 + 2 * (label in QUOTED)
    if cost <= page.left:
        chosen.setdefault(label, []).append(one)
        page.left -= cost
        page.note(one.text)


def _inferred(claim: Claim) -> Sentence:
    """A claim of a model as a sentence that competes for the remaining bytes."""
    text = _quote(claim.text) if claim.trust == "tool" else claim.text
    mark = f" [{claim.trust}, {cut(claim.evidence[0], 40)}]" if claim.evidence else f" [{claim.trust}]"
    return Sentence(
        f"{_stopped(text)[:-1]}{mark}.", Label.INFERRED, claim.at, CLAIM_WEIGHT.get(claim.trust, 0.6)
    )


def _names(text: str) -> list[str]:
    return [token for token in set(NAME.findall(text)) if is_name(token)]


def _stopped(text: str) -> str:
    return text if text[-1] in _STOPS else f"{text}."


_STOPS = ".!?…\u3002\uff01\uff1f"
