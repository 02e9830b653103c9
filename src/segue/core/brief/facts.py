"""The facts that every form of a brief is made from, from all sources: runs, session, working tree, memories.

What is superseded is left out here, once for every form: a finished item is never next, a check that passed
since is never failing, a rule that the user took back does not stand. Only the user's own messages say what
is wanted. What tools printed appears only as the quoted outcome of a step, never as a statement of the brief.

What was said (requests, rules, choices, lists, failing checks of earlier runs) comes from the ledger, which
keeps it from run to run; what the last run did (its trail, its tree) comes from its transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..base.lazy import regex
from ..base.same_items import KnownItems
from ..base.values import Value
from ..language import sentences
from ..ledger.model import Entry
from ..ledger.standing import Standing, StandingList, choice_words, standing
from ..runs.brief_labels import Label
from ..runs.brief_text import EARLIER
from ..runs.digest import trail as trail_of
from ..runs.model import Failure, RunDigest, SaidText, TrailStep, UserMessage
from ..runs.tree import TreeState, still_failing
from ..runs.written_plans import is_current
from .requests import Requests, is_weak, requests_of, told

if TYPE_CHECKING:
    from ..sessions.state import SessionState, Thread

GOAL_BYTES = 900
STALE_MESSAGES = 2  # after so many requests a plan that was not updated may be out of date
UNTICKED = "written down, not ticked off"
WRITTEN_PLAN = "plan in words"
TODO_LIST = "todo list"  # how the ledger calls the agent's own list
BUT = "but: "  # stands before what softens a rule
FINISHED = "its turn was over"
AWAITED = "its turn was over, but a sub-agent was still at work"
TICKED_OFF = "ticked off by the agent, not reported as done"
UNDER_WAY = ("in_progress", "active", "open", "")
CLOSED = ("done", "closed", "completed", "resolved", "abandoned")
"""The statuses of threads that are over."""
STOPPED_BY_USER = "the user stopped it"
UNREACHED = "the model could not be reached"


class Probe(Value):
    """The state of the working tree now, as far as git answered in time."""

    now: float = 0.0
    branch: str = ""
    head: str = ""
    dirty: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()  # subjects of the commits since the run's last step, newest first
    cut: bool = False  # whether time ran out before git had answered everything


class PlanLine(msgspec.Struct, gc=False):
    """An open item of the plan."""

    text: str
    state: str  # active, next, blocked
    reason: str = ""
    by: str = ""  # "declared" to Segue, in a list from "before", or "" if it is of the newest list


class Claim(Value):
    """A model's statement that the transcript supports. Only ``core/models/grounding.py`` makes them."""

    kind: str
    text: str
    evidence: tuple[str, ...]
    trust: str  # the trust of the least trusted source that it rests on
    at: int = 0


class BriefFacts(msgspec.Struct):
    """Everything that a brief may say."""

    agent: str = ""
    run: str = ""
    own: bool = False  # whether it is told to the run itself, whose window was emptied
    parent: str = ""  # the run whose sub-agent this one is
    project: str = ""
    session: str = ""
    status: str = ""
    folder: str = ""
    branch: str = ""
    model: str = ""
    when: float = 0.0
    ending: str = ""
    at_work: bool = False  # whether the run is doing it now
    context: int = 0
    window: int = 0
    chars: int = 0
    calls: int = 0
    goal: str = ""  # as declared, else the request of the user
    declared_goal: str = ""
    wanted: Requests = Requests()
    standing: Standing = Standing()  # what was said and holds
    sources: dict[str, tuple[int, ...]] = {}  # for each label, the steps of this run that it rests on
    rules: list[str] = []
    trail: list[TrailStep] = []
    thought: SaidText | None = None
    plan: list[PlanLine] = []
    plan_done: list[str] = []
    plan_total: int = 0
    plan_age: int = 0  # how many calls there were since it was last touched
    plan_note: str = ""  # why some of its open items may be done
    tree: TreeState = msgspec.field(default_factory=TreeState)
    probe: Probe | None = None
    edited: dict[str, tuple[str, ...]] = {}  # what uncommitted files have changed, by path; from the map
    failing: list[Failure] = []
    unproven: list[str] = []  # features that are not proven, or no longer, and why
    refused: Failure | None = None
    fault: str = ""
    questions: list[str] = []
    threads: list[str] = []
    focus: str = ""
    decided: list[str] = []
    chosen: list[str] = []  # what agents said that they chose, the newest first
    tried: list[str] = []  # what was tried in vain, the newest first
    findings: list[str] = []  # of a review that is being worked through
    learnt: list[str] = []
    memories: list[str] = []
    habits: list[str] = []  # what usually comes next, by the habits of the project, with their counts
    pitfalls: list[str] = []  # what mended a failure before that is there again
    notices: list[str] = []  # of Segue's own: an interrupted handover, a budget that is nearly spent
    recap: SaidText | None = None
    summary: SaidText | None = None
    claims: list[Claim] = []

    @property
    def latest(self) -> str:
        """The user's last message, if it is not the goal."""
        last = self.wanted.last
        text = told(last, GOAL_BYTES) if last is not None else ""
        return "" if text == self.goal else text

    @property
    def pending(self) -> list[TrailStep]:
        """The last calls, if they have no result yet. An open call after which the agent was answered and
        called again was lost, and is not waited for."""
        calls = [step for step in self.trail if step.id]
        open_calls = [step for step in calls[-12:] if not step.done]
        return [step for step in open_calls if not _is_lost(step, self.trail)]


def _is_lost(call: TrailStep, trail: Sequence[TrailStep]) -> bool:
    """Whether the agent went on without the result of a call: it got another one and called again, or the
    user wrote and it answered."""
    later = [step for step in trail if step.at > call.at]
    answered = min((one.done for one in trail if one.id and one.done > call.at), default=0)
    if answered and any(one.id and one.at > answered for one in later):
        return True
    asked = next((step.at for step in later if step.kind == "prompt"), 0)
    return bool(asked) and any(step.kind == "say" and step.at > asked for step in later)


def facts(
    runs: Sequence[RunDigest] = (),
    session: SessionState | None = None,
    probe: Probe | None = None,
    memories: Sequence[str] = (),
    *,
    agent: str = "",
    entries: Sequence[Entry] = (),
    covered: Mapping[str, str] | None = None,
    observed: bool = False,
) -> BriefFacts:
    """Combine everything that is known. ``runs`` are newest first, ``entries`` are those of the ledger.

    ``covered`` has the current hash of the covered files for each feature; without it, stale features are
    not reported. ``observed`` is whether the session's goal is only the request of a run, which nobody
    declared.
    """
    result = _of_run(runs[0]) if runs else BriefFacts()
    digest = runs[0] if runs else RunDigest()
    result.agent, result.memories = agent, list(memories)
    _said(result, digest, standing(entries))
    if session is not None:
        _session(result, session, covered, observed)
    if probe is not None:
        result.probe = probe
        result.branch = probe.branch or result.branch
    return result


def _of_run(digest: RunDigest) -> BriefFacts:
    """What is known of a run from its transcript alone."""
    facts = BriefFacts(run=digest.native, model=digest.model, folder=digest.cwd)
    facts.parent = digest.parent if digest.is_sub_agent else ""
    facts.branch = digest.tree.branch or digest.branch
    facts.when, facts.context, facts.window = digest.last, digest.context, digest.window
    facts.chars, facts.calls = digest.chars, digest.calls
    facts.project = digest.cwd.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    facts.trail, facts.tree, facts.thought = trail_of(digest), digest.tree, digest.thought
    facts.recap = digest.recaps[-1] if digest.recaps else None
    facts.summary = digest.summary
    facts.wanted = requests_of(digest)
    facts.failing = _failing(digest)
    if digest.refused is not None and _tells_of_now(digest, digest.refused):
        facts.refused = digest.refused
    facts.ending = _ending(digest)
    if digest.fault is not None and digest.fault.at >= digest.steps - 3:
        facts.fault = digest.fault.text
    return facts


# -- what was said


def _said(facts: BriefFacts, digest: RunDigest, said: Standing) -> None:
    """Add what the ledger has."""
    facts.standing = said
    facts.wanted = _with_antecedent(facts.wanted, said)
    facts.goal = _goal(facts)
    facts.rules = [_rule(one.entry.text, [p.text for p in one.permissions]) for one in reversed(said.rules)]
    facts.rules += [sentences.flat(entry.text) for entry in reversed(said.permissions)]
    facts.rules = list(dict.fromkeys(facts.rules))
    facts.decided = [choice_words(entry) for entry in reversed(said.choices) if entry.by == "user"]
    facts.chosen = [sentences.flat(entry.text) for entry in reversed(said.choices) if entry.by != "user"]
    facts.tried = [sentences.flat(entry.text) for entry in reversed(said.attempts)]
    _plan(facts, digest, said)
    known = {failure.what for failure in facts.failing}
    passed = [_names(name) for name, run in digest.tree.checks.items() if run.outcome in ("ok", "failed")]
    own = f"/{digest.native}" if digest.native else "/"
    facts.failing += [
        Failure(entry.text, f"{entry.reply}\n{EARLIER}" if entry.reply else EARLIER, 0)
        for entry in said.failing
        if entry.text not in known
        and not entry.run.endswith(own)
        and not any(names <= _names(entry.text) for names in passed)
    ]
    facts.sources = _sources(said, own)


def _goal(facts: BriefFacts) -> str:
    """What is wanted, in the user's words: the oldest request that holds, which later ones add to; else the
    last message that says something."""
    held = [one for one in facts.standing.requests if one.entry.relation != "asks"]
    if held:
        text = held[0].text if held[0].settled else held[0].entry.text
        return told(UserMessage(text, 0), GOAL_BYTES)
    wanted = facts.wanted
    request = wanted.request or wanted.last
    if request is not None and not is_weak(request.text):
        return told(request, GOAL_BYTES)
    answered = facts.standing.answered
    if answered:
        return told(UserMessage(answered[-1].text, 0), GOAL_BYTES)
    first = wanted.first or request
    return told(first, GOAL_BYTES) if first is not None else ""


def _rule(text: str, permissions: Sequence[str]) -> str:
    """A rule with what softens it."""
    words = sentences.flat(text)
    softer = " ".join(sentences.flat(one) for one in permissions)
    return f"{words} ({BUT}{softer})" if softer else words


def _with_antecedent(wanted: Requests, said: Standing) -> Requests:
    """What the user wants; a first message that points back answers what the run before had asked."""
    last = wanted.last
    if last is None or wanted.answers or last.reply_to:
        return wanted
    known = [*(one.entry for one in said.requests), *said.choices]
    entry = next((one for one in reversed(known) if one.by == "user" and one.text == last.text), None)
    return msgspec.structs.replace(wanted, answers=entry.answers) if entry is not None else wanted


def _plan(facts: BriefFacts, digest: RunDigest, said: Standing) -> None:
    """The lists under work: that which was touched last, then what is left of older ones."""
    own = f"/{digest.native}" if digest.native else "/"
    lists = sorted(said.lists, key=lambda one: (_touched(one), one.entry is not None))
    findings = [one for one in lists if one.entry is not None and one.entry.text.startswith("findings of")]
    facts.findings = [
        f"{item.mark}. {item.text}" if item.mark else item.text
        for one in reversed(findings)
        for item in one.left
    ]
    lists = _told_lists(digest, [one for one in lists if one not in findings], own)
    points = {point.id for request in said.requests for point in request.points}
    asked = [one.entry for one in said.requests if one.entry.relation != "asks"]
    for number, one in enumerate(reversed(lists)):
        is_past = number or (asked and (asked[-1].at, asked[-1].run) > (_touched(one), _run(one)))
        by = "before" if is_past else ""
        states = {"active": "active", "open": "next"}
        facts.plan += [
            PlanLine(item.text, states[item.state] if not number else "next", by=by)
            for item in one.left
            if item.id not in points
        ]
        facts.plan_done = [*(item.text for item in one.done), *facts.plan_done]
    newest = lists[-1] if lists else None
    if newest is None and digest.plan and all(row[1] in ("done", "dropped") for row in digest.plan):
        facts.plan_done = [row[0] for row in digest.plan if row[1] == "done"]
        facts.plan_total = len(facts.plan_done)
        facts.plan_age = sum(step.id != "" and step.at > digest.planned for step in digest.trail)
    if newest is not None:
        if newest.entry is not None and newest.entry.text == TODO_LIST and _run(newest).endswith(own):
            _add_points_of_list(facts, digest, (p for one in said.requests for p in one.points))
        facts.plan_total = len(facts.plan) + len(facts.plan_done)
        _describe_list(facts, digest, newest, own)
    facts.plan.sort(key=lambda task: task.state != "active")


def _add_points_of_list(facts: BriefFacts, digest: RunDigest, points: Iterable[Entry]) -> None:
    """Add the rows of the agent's own list that are points of a request, which the ledger keeps there: of a
    list that is told, all is told, but for what the user took back since."""
    listed = list(points)
    known = KnownItems(point.text for point in listed)
    gone = KnownItems(point.text for point in listed if point.state in ("withdrawn", "superseded"))
    rows = [(row[0], row[1]) for row in digest.plan if row[0] in known and row[0] not in gone]
    facts.plan_done += [text for text, state in rows if state == "done"]
    states = {"active": "active", "pending": "next"}
    by = "before" if facts.plan and all(line.by == "before" for line in facts.plan) else ""
    added = [PlanLine(text, states[state], by=by) for text, state in rows if state in states]
    facts.plan = [*added, *facts.plan]


def _told_lists(digest: RunDigest, lists: list[StandingList], own: str) -> list[StandingList]:
    """The lists without plans that were only written down, if another list is worked through or the plan is
    out of date."""
    written = [one for one in lists if one.entry is not None and one.entry.text == WRITTEN_PLAN]
    others = [one for one in lists if one not in written]
    if others:
        return others
    return [one for one in written[-1:] if not _run(one).endswith(own) or is_current(digest)]


def _touched(one: StandingList) -> str:
    """When a list was last touched."""
    times = [item.since or item.at for item in one.items]
    return max([*times, one.entry.at if one.entry is not None else ""])


def _run(one: StandingList) -> str:
    return one.entry.run if one.entry is not None else ""


def _describe_list(facts: BriefFacts, digest: RunDigest, newest: StandingList, own: str) -> None:
    name = newest.entry.text if newest.entry is not None else ""
    if name.startswith("list in "):
        facts.plan_total, facts.plan_note = 0, name.removeprefix("list ")
    elif name == WRITTEN_PLAN and not newest.done:
        facts.plan_total, facts.plan_note = 0, UNTICKED
    if newest.entry is not None and newest.entry.run.endswith(own):
        planned = max(digest.planned, digest.sketched)
        facts.plan_age = sum(step.id != "" and step.at > planned for step in digest.trail)


def _sources(said: Standing, own: str) -> dict[str, tuple[int, ...]]:
    """The steps of this run in which lists, rules and choices stand."""

    def steps(entries: Iterable[Entry]) -> tuple[int, ...]:
        return tuple(sorted({entry.step for entry in entries if entry.step and entry.run.endswith(own)}))

    return {
        Label.OPEN: steps(item for one in said.lists for item in one.left),
        Label.RULES: steps([*(one.entry for one in said.rules), *said.permissions]),
        Label.DECIDED: steps(said.choices),
        Label.TRIED: steps(said.attempts),
    }


# -- what the run did


def _failing(digest: RunDigest) -> list[Failure]:
    """The checks that fail in this run."""
    own = [
        Failure(name, "\n".join(run.lines), run.at)
        for name, run in still_failing(digest.tree)
        if run.lines and not _is_history(digest, run.at)
    ]
    return own


def _names(check: str) -> set[str]:
    """The words of a check that say what it looks at: without flags, since those do not narrow it."""
    return {word for word in check.split() if not word.startswith("-") and word != "."}


def _is_history(digest: RunDigest, at: int) -> bool:
    """Whether something was committed since, and the user asked for other things since."""
    committed = digest.tree.commits[-1].at if digest.tree.commits else 0
    return (
        committed > at and len([message for message in digest.prompts if message.at > at]) >= STALE_MESSAGES
    )


def _tells_of_now(digest: RunDigest, refused: Failure) -> bool:
    """Whether the user has written nothing since they refused a call, or gave their reason just before."""
    last = digest.prompts[-1].at if digest.prompts else 0
    return refused.at >= last or (bool(refused.why) and refused.at >= last - 4)


def _ending(digest: RunDigest) -> str:
    after = digest.prompts[-1].at if digest.prompts else 0
    if digest.fault and digest.fault.at >= digest.steps - 2:
        return UNREACHED
    newest = max((step.at for step in digest.trail if step.id or step.kind == "say"), default=0)
    if digest.interrupted and digest.interrupted.at > max(after, newest, digest.steps - 4):
        return STOPPED_BY_USER
    if digest.ended and digest.ended.at > max(after, newest) and not _announces(digest):
        return AWAITED if _has_sub_agent_at_work(digest, after) else FINISHED
    return ""


def _has_sub_agent_at_work(digest: RunDigest, after: int) -> bool:
    """Whether a sub-agent that was sent after this step has not reported."""
    sent = [step.at for step in digest.trail if step.kind == "agent" and step.id and not step.done]
    sent += [one.at for one in digest.tree.running.values() if one.kind == "agent"]
    return any(at > after for at in sent)


_ANNOUNCES = regex(
    r"^(?:(?:now|next|first|then|so)\b,? *)*"
    r"(?:i(?:['’]ll| will|['’]m going to| am going to| need to)|let me|let['’]s)\b",
    re.I,
)


def _announces(digest: RunDigest) -> bool:
    """Whether the last words announce a step, so that a turn that seems over was cut off."""
    last = digest.trail[-1] if digest.trail else None
    said = sentences.sentences(last.text) if last is not None and last.kind == "say" else []
    return bool(said) and (said[-1].endswith(":") or _ANNOUNCES.match(said[-1]) is not None)


# -- the other sources


def _session(
    facts: BriefFacts, state: SessionState, covered: Mapping[str, str] | None, observed: bool
) -> None:
    """Add the declared facts. They come first, and what is declared as done is no longer open."""
    facts.session, facts.status = state.id, state.status
    facts.project = state.project_name or facts.project
    if state.goal and not observed:
        facts.declared_goal = facts.goal = state.goal
    elif not facts.goal and not sentences.is_assent(state.goal):
        facts.goal = state.goal
    _add_declared_items(facts, state)
    from ..sessions.declared_choices import decisions_that_hold

    decided = [_because(one.text, one.why) for one in reversed(decisions_that_hold(state))]
    known = {sentences.flat(text) for text in decided}
    facts.decided = [*decided, *(text for text in facts.decided if sentences.flat(text) not in known)]
    facts.learnt = [one.text for one in reversed(list(state.findings))]
    declared = {sentences.flat(text) for text in (*facts.learnt, *(one.text for one in state.decisions))}
    facts.memories = [text for text in facts.memories if sentences.flat(text) not in declared]
    facts.questions = [one.text for one in state.questions if not one.answer]
    facts.threads = [
        _thread_words(thread)
        for thread in sorted(state.threads.values(), key=lambda one: one.last_activity, reverse=True)
        if thread.status not in CLOSED
    ]
    focus = state.focus
    place = focus.file or focus.note_title or focus.note_id
    facts.focus = f"{place}:{focus.position}" if place and focus.position else place
    troubles = [Failure(one.text, one.text, 0) for one in reversed(list(state.troubles)) if not one.solution]
    failing, facts.unproven = _features(state, covered)
    facts.failing = [*failing, *troubles, *facts.failing]


def _add_declared_items(facts: BriefFacts, state: SessionState) -> None:
    """The declared items together with the agent's own, each once. What somebody declared counts: an item is
    done when it was reported, and what was dropped does not come back."""
    items = state.items
    done = [items[at].text for at in state.done]
    declared = [PlanLine(items[at].text, "active", by="declared") for at in state.active]
    declared += [PlanLine(items[at].text, "next", by="declared") for at in state.next]
    declared += [PlanLine(items[at].text, "blocked", items[at].reason, "declared") for at in state.blocked]
    if not declared and not done:
        return
    under_way = KnownItems(line.text for line in facts.plan if line.state == "active")
    ticked_off = KnownItems(facts.plan_done)
    for line in declared:
        if line.state == "next" and line.text in under_way:
            line.state = "active"
        if line.state != "blocked" and line.text in ticked_off:
            line.reason = TICKED_OFF
    known = KnownItems(item.text for item in items)
    own = [line for line in facts.plan if line.text not in known]
    facts.plan = sorted([*declared, *own], key=lambda line: line.state != "active")
    facts.plan_done = [*done, *(text for text in facts.plan_done if text not in known)]
    facts.plan_total = len(facts.plan) + len(facts.plan_done)


def _thread_words(thread: Thread) -> str:
    """What a thread is about, that it is paused or waits, and what was noted on it last."""
    about = [thread.status] if thread.status not in UNDER_WAY else []
    about += thread.notes[-1:]
    return f"{thread.topic} ({': '.join(about)})" if about else thread.topic


def _features(state: SessionState, covered: Mapping[str, str] | None) -> tuple[list[Failure], list[str]]:
    """The features that fail, and those that are not proven; whether covered files changed since is told
    only if ``covered`` is known."""
    if not state.features:
        return [], []
    from ..features.verdict import verdict_of  # many briefs have no session and do not need it

    found = [verdict_of(one, (covered or {}).get(id, "")) for id, one in state.features.items()]
    failing = [
        Failure(f"segue verify --feature {one.id}", f"{one.status}: {one.reason}", 0)
        for one in found
        if one.status == "failing"
    ]
    proven = ("passing", "failing") if covered is not None else ("passing", "failing", "stale")
    unproven = sorted(
        (one for one in found if one.status not in proven),
        key=lambda one: _FEATURE_ORDER.index(one.status) if one.status in _FEATURE_ORDER else 0,
    )
    shown = [f"{one.id} ({_because_of(one.status, one.reason)})" for one in unproven]
    if unproven:  # how to prove it is said once
        shown[0] = f"{shown[0][:-1]}; `segue verify --feature {unproven[0].id}`)"
    return failing, shown


_FEATURE_ORDER = ("stale", "blocked", "testing", "in_progress", "not_started")


def _because_of(status: str, reason: str) -> str:
    status = status.replace("_", " ")
    return f"{status}: {reason}" if reason and reason != status else status


def _because(text: str, why: str) -> str:
    return f"{text} ({why})" if why else text
