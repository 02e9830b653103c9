"""The facts that every form of a brief is made from, from all sources: runs, session, working tree, memories.

What is superseded is left out here, once for every form: a finished item is never next, a check that passed
since is never failing, a rule that the user took back does not stand. Only the user's own messages say what
is wanted. What tools printed appears only as the quoted outcome of a step, never as a statement of the brief.

Runs follow one another: each inherits what holds from before it, adds what it was asked and did, and leaves
the rest (``BriefFacts.leaves``) to the next. So what the first run was told still holds in the tenth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..base.lazy import regex
from ..base.same_items import KnownItems
from ..base.values import Value
from ..runs import sentences
from ..runs.brief_labels import Label
from ..runs.carried_over import EARLIER, Inherited
from ..runs.digest import last_message, trail as trail_of
from ..runs.model import Failure, RunDigest, SaidText, TrailStep, UserMessage
from ..runs.standing_rules import takes_back
from ..runs.tree import TreeState, still_failing
from ..runs.written_plans import is_current
from .requests import Requests, is_weak, requests_of, told

if TYPE_CHECKING:
    from ..sessions.state import SessionState

GOAL_BYTES = 900
RULES_MAX, DECIDED_MAX, OPEN_MAX, DONE_MAX, FAILING_MAX = 12, 12, 60, 60, 4
"""How many of each a run leaves to the next one."""
CHOICES_MAX, CHOICE_CHARS_MAX = 4, 300
SINCE_CHARS = 300
STALE_MESSAGES = 2  # after so many requests a plan that was not updated may be out of date
UNTICKED = "written down, not ticked off"
FINISHED = "its turn was over"
AWAITED = "its turn was over, but a sub-agent was still at work"
TICKED_OFF = "ticked off by the agent, not reported as done"
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
    by: str = ""  # "declared" to Segue, from "before" this run, or "" if it is the agent's own


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
    first: str = ""  # the first request, if it is another one
    wanted: Requests = Requests()
    inherited: Inherited = Inherited()
    sources: dict[str, tuple[int, ...]] = {}  # for each label, the steps that it rests on
    leaves: Inherited = (
        Inherited()
    )  # what holds for the run after the newest; not what a session knows itself
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
    chosen: list[str] = []  # what the agent says that it chose; only a manifest has room for it
    chosen_before: list[str] = []  # what agents of earlier runs said that they chose
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
    covered: Mapping[str, str] | None = None,
    observed: bool = False,
) -> BriefFacts:
    """Combine everything that is known. ``runs`` are newest first.

    ``covered`` has the current hash of the covered files for each feature; without it, stale features are
    not reported. ``observed`` is whether the session's goal is only the request of a run, which nobody
    declared.
    """
    result = BriefFacts()
    for digest in reversed(runs):  # each inherits what it was given and what the one before it leaves
        inherited = digest.inherited.joined(result.leaves)
        result = _of_run(msgspec.structs.replace(digest, inherited=inherited))
    result.agent, result.memories = agent, list(memories)
    if session is not None:
        _session(result, session, covered, observed)
    if probe is not None:
        result.probe = probe
        result.branch = probe.branch or result.branch
    return result


def _of_run(digest: RunDigest) -> BriefFacts:
    """What is known of a run, with what it inherited."""
    facts = BriefFacts(run=digest.native, model=digest.model, folder=digest.cwd)
    facts.parent = digest.parent if digest.is_sub_agent else ""
    facts.branch = digest.tree.branch or digest.branch
    facts.when, facts.context, facts.window = digest.last, digest.context, digest.window
    facts.chars, facts.calls = digest.chars, digest.calls
    facts.project = digest.cwd.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    facts.trail, facts.tree, facts.thought = trail_of(digest), digest.tree, digest.thought
    facts.recap = digest.recaps[-1] if digest.recaps else None
    facts.summary = digest.summary
    _wants(facts, digest)
    _plans(facts, digest)
    facts.sources = _sources(digest)
    facts.failing = _failing(digest)
    if digest.refused is not None and _tells_of_now(digest, digest.refused):
        facts.refused = digest.refused
    facts.ending = _ending(digest)
    if digest.fault is not None and digest.fault.at >= digest.steps - 3:
        facts.fault = digest.fault.text
    facts.rules = _still_said([*_flat(digest.standing), *_from_before(digest.inherited.standing)], digest)
    facts.decided = _last_answers(
        _still_said([*_newest_first(digest.decided), *_from_before(digest.inherited.decided)], digest)
    )
    facts.chosen = _chosen(digest)
    before = _still_said(_from_before(digest.inherited.chosen), digest)
    facts.chosen_before = [one for one in before if one not in facts.chosen]
    facts.leaves = _left_by(facts, digest)
    return facts


def _chosen(digest: RunDigest) -> list[str]:
    """What the agent says that it chose, the newest first."""
    told = [one for said in reversed(digest.says) for one in reversed(sentences.sentences(said.text))]
    return [one for one in told if len(one) <= CHOICE_CHARS_MAX and sentences.is_decision(one)][:CHOICES_MAX]


# -- from one run to the next


def _left_by(facts: BriefFacts, digest: RunDigest) -> Inherited:
    """What a run leaves to the next one. What only its trail and its tree say is its own."""
    opened = [line for line in facts.plan if line.state != "blocked"]
    blocked = [f"{line.text} ({line.reason})" if line.reason else line.text for line in facts.plan]
    return Inherited(
        goal="" if is_weak(facts.goal) and facts.goal != digest.inherited.goal else facts.goal,
        first=facts.first,
        since=_said_since(facts, digest),
        standing=tuple(facts.rules[:RULES_MAX]),
        plan=tuple(line.text for line in opened[:OPEN_MAX]),
        blocked=tuple(
            text for line, text in zip(facts.plan, blocked, strict=True) if line.state == "blocked"
        )[:OPEN_MAX],
        decided=tuple(facts.decided[:DECIDED_MAX]),
        done=tuple(facts.plan_done[-DONE_MAX:]),
        failing=tuple(
            (one.what, one.why.removesuffix(f"\n{EARLIER}")) for one in facts.failing[:FAILING_MAX]
        ),
        said=_question(digest) if facts.ending == FINISHED else "",
        chosen=tuple([*facts.chosen, *facts.chosen_before][:CHOICES_MAX]),
        asked=_asked_since(digest),
    )


def _question(digest: RunDigest) -> str:
    """What the agent said last, if it asked the user something: an announcement is out of date soon."""
    said = last_message(digest)
    return said if any(one.endswith("?") for one in sentences.sentences(said)[-3:]) else ""


def _said_since(facts: BriefFacts, digest: RunDigest) -> str:
    """What the user said last that says something by itself, if it is neither the goal nor the first
    request."""
    said = (message.text for message in reversed(digest.prompts) if not sentences.is_assent(message.text))
    text = sentences.clip(sentences.flat(next(said, "")), SINCE_CHARS) or digest.inherited.since
    return "" if facts.goal.startswith(text) or facts.first.startswith(text) else text


def _asked_since(digest: RunDigest) -> int:
    """How many other things the user asked for since the plan was last touched."""
    before = 0 if digest.planned else digest.inherited.asked
    return before + sum(
        message.at > digest.planned and not is_weak(message.text) and not _ADDS.match(message.text)
        for message in digest.prompts[0 if digest.inherited else 1 :]
    )


_ADDS = regex(
    r"(?i)\W*(?:(?:please|and|then|now|bitte|und|et|y)\W+){0,2}(?:also|additionally|auch|aussi|también)\b"
)
"""Matches a request that adds to the one before it."""


def _newest_first(said: Sequence[SaidText]) -> list[tuple[str, int]]:
    """The texts of the newest message first; those of one message stay in their order."""
    return [(one.text, one.at) for one in sorted(said, key=lambda one: -one.at)]


def _flat(said: Sequence[SaidText]) -> list[tuple[str, int]]:
    return [(sentences.flat(text), at) for text, at in _newest_first(said)]


def _from_before(texts: Sequence[str]) -> list[tuple[str, int]]:
    return [(text, 0) for text in texts]


def _still_said(said: Sequence[tuple[str, int]], digest: RunDigest) -> list[str]:
    """What was said once and the user has not taken back since."""
    return list(
        dict.fromkeys(
            text
            for text, at in said
            if not any(message.at > at and takes_back(text, message.text) for message in digest.prompts)
        )
    )


def _last_answers(answers: Sequence[str]) -> list[str]:
    """The decisions, newest first, without earlier answers to the same question."""
    kept: dict[str, str] = {}
    for answer in answers:
        _, asked, question = answer.partition(sentences.ASKED)
        before, mark, _ = answer.partition("?")  # as version 0.1 told it: the question first
        key = question if asked else before if mark else answer
        kept.setdefault(key.casefold(), answer)
    return list(kept.values())


def _failing(digest: RunDigest) -> list[Failure]:
    """The checks that fail, and those that failed in a run before and were not run since."""
    own = [
        Failure(name, "\n".join(run.lines), run.at)
        for name, run in still_failing(digest.tree)
        if run.lines and not _is_history(digest, run.at)
    ]
    told = [_names(name) for name, run in digest.tree.checks.items() if run.outcome in ("ok", "failed")]
    before = [
        Failure(name, f"{why}\n{EARLIER}" if why else EARLIER, 0)
        for name, why in digest.inherited.failing
        if not any(names <= _names(name) for names in told)
    ]
    return [*own, *before]


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


def _sources(digest: RunDigest) -> dict[str, tuple[int, ...]]:
    """The steps in which the plan, rules, decisions and what was inherited stand."""
    given = (digest.given,) if digest.given else ()
    plan = digest.planned if digest.plan and not _prefers_written(digest) else digest.sketched
    return {
        Label.OPEN: ((plan,) if plan else ()) + given,
        Label.RULES: (*(one.at for one in digest.standing), *given),
        Label.DECIDED: (*(one.at for one in digest.decided), *given),
        Label.REQUEST: given,
    }


def _announces(digest: RunDigest) -> bool:
    """Whether the last words announce a step, so that a turn that seems over was cut off."""
    last = digest.trail[-1] if digest.trail else None
    said = sentences.sentences(last.text) if last is not None and last.kind == "say" else []
    return bool(said) and (said[-1].endswith(":") or _ANNOUNCES.match(said[-1]) is not None)


def _wants(facts: BriefFacts, digest: RunDigest) -> None:
    """What the user wants; where this run was only told to go on, what the run before was asked."""
    inherited = digest.inherited
    wanted = requests_of(_with_antecedent(digest))
    request = wanted.request or wanted.last
    weak = request is None or is_weak(request.text)
    if wanted.before is None and inherited.since:
        wanted = msgspec.structs.replace(wanted, before=UserMessage(inherited.since, 0))
    facts.wanted, facts.inherited = wanted, inherited
    if weak and inherited.goal:
        facts.goal, facts.first = inherited.goal, inherited.first
    elif request is not None:
        facts.goal = told(request, GOAL_BYTES)
        first = inherited.first or inherited.goal
        facts.first = first or (told(wanted.first, GOAL_BYTES) if wanted.first not in (None, request) else "")
    elif wanted.first is not None:
        facts.goal = told(wanted.first, GOAL_BYTES)
    facts.first = "" if facts.first == facts.goal else facts.first


def _with_antecedent(digest: RunDigest) -> RunDigest:
    """The digest, its first message as an answer to what the run before had said last."""
    said, messages = digest.inherited.said, digest.prompts
    if not said or not messages or messages[0] != digest.first_prompt or messages[0].reply_to:
        return digest
    first = msgspec.structs.replace(messages[0], reply_to=said)
    return msgspec.structs.replace(digest, prompts=[first, *messages[1:]])


def _plans(facts: BriefFacts, digest: RunDigest) -> None:
    inherited = digest.inherited
    settled: list[str] = []
    if digest.plan and not _prefers_written(digest):
        states = {"active": "active", "pending": "next"}
        facts.plan = [PlanLine(one[0], states[one[1]]) for one in digest.plan if one[1] in states]
        facts.plan_done = [one[0] for one in digest.plan if one[1] == "done"]
        facts.plan_total = len(facts.plan) + len(facts.plan_done)
        facts.plan_age = sum(step.id != "" and step.at > digest.planned for step in digest.trail)
        settled = [one[0] for one in digest.plan]
        if _is_untouched(digest):
            facts.plan, facts.plan_done, facts.plan_total = [], [], 0
    elif is_current(digest):
        kept_done = [one[0].lower() for one in digest.plan if one[1] == "done"]
        left = [one for one in digest.sketch if not _is_among(one.lower(), kept_done)]
        facts.plan = [PlanLine(one, "next") for one in left] if 2 * len(left) > len(digest.sketch) else []
        facts.plan_done = list(digest.sketch_done)
        facts.plan_total = len(facts.plan) + len(facts.plan_done)
        if digest.sketched_in:
            facts.plan_total, facts.plan_note = 0, f"in {digest.sketched_in}"
        elif digest.numbered and not digest.sketch_done:
            facts.plan_total, facts.plan_note = 0, UNTICKED
        settled = [*(line.text for line in facts.plan), *facts.plan_done]
    asked = _asked_since(digest)
    if asked < STALE_MESSAGES:
        still_open = inherited.without([*settled, *digest.settled, *inherited.done])
        _inherit_plan(facts, still_open, is_of_the_task=not asked)
    facts.plan.sort(key=lambda task: task.state != "active")


def _inherit_plan(facts: BriefFacts, inherited: Inherited, *, is_of_the_task: bool) -> None:
    """Add the items from before that this run did not have in its own plan. They are of what the user wants
    now unless he asked for something else since."""
    known = KnownItems([*(line.text for line in facts.plan), *facts.plan_done])
    done = [text for text in inherited.done if text not in known]
    by = "before" if facts.plan or not is_of_the_task else ""
    facts.plan += [PlanLine(one, "next", by=by) for one in inherited.plan]
    facts.plan += [PlanLine(one, "blocked") for one in inherited.blocked]
    facts.plan_done = [*done, *facts.plan_done]
    if facts.plan_total or (facts.plan_done and not facts.plan_note):
        facts.plan_total = len(facts.plan) + len(facts.plan_done)


def _is_among(text: str, others: list[str]) -> bool:
    """Whether the text begins with one of the others, or one of them with the text."""
    return any(one.startswith(text) or text.startswith(one) for one in others)


def _is_untouched(digest: RunDigest) -> bool:
    """Whether the plan belongs to a request that is over: the user asked for other things since, or the turn
    in which it was last touched has ended and a new one has not touched it."""
    asked = [one for one in digest.prompts if one.at > digest.planned and not is_weak(one.text)]
    over = digest.ended is not None and digest.ended.at >= digest.steps - 2
    return len(asked) >= STALE_MESSAGES or (bool(asked) and over)


def _prefers_written(digest: RunDigest) -> bool:
    """Whether a plan that was only written as text replaces the one in the agent's plan tool.

    It must be newer; a numbered list replaces the other only if that one has no open items.
    """
    newer = is_current(digest) and digest.sketched > digest.planned
    return newer and (not digest.numbered or all(one[1] in ("done", "dropped") for one in digest.plan))


# -- the other sources


def _session(
    facts: BriefFacts, state: SessionState, covered: Mapping[str, str] | None, observed: bool
) -> None:
    """Add the declared facts. They come first, and what is declared as done is no longer open."""
    facts.session, facts.status = state.id, state.status
    facts.project = state.project_name or facts.project
    if state.goal and not observed:
        facts.declared_goal = facts.goal = state.goal
        facts.first = "" if facts.first == state.goal else facts.first
    elif not facts.goal and not sentences.is_assent(state.goal):
        facts.goal = state.goal
    _add_declared_items(facts, state)
    decided = [_because(one.text, one.why) for one in reversed(list(state.decisions))]
    known = {sentences.flat(text) for text in decided}
    facts.decided = [*decided, *(text for text in facts.decided if sentences.flat(text) not in known)]
    facts.learnt = [one.text for one in reversed(list(state.findings))]
    declared = {sentences.flat(text) for text in (*facts.learnt, *(one.text for one in state.decisions))}
    facts.memories = [text for text in facts.memories if sentences.flat(text) not in declared]
    facts.questions = [one.text for one in state.questions if not one.answer]
    facts.threads = [
        f"{thread.topic} ({thread.notes[-1]})" if thread.notes else thread.topic
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
