"""The facts that every form of a brief is made from, from all sources: runs, session, working tree, memories.

What is superseded is left out here, once for every form: a finished item is never next, a check that passed
since is never failing. Only the user's own messages say what is wanted. What tools printed appears only as
the quoted outcome of a step, never as a statement of the brief.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..base.values import Value
from ..runs import sentences
from ..runs.digest import trail as trail_of
from ..runs.inherited import Inherited
from ..runs.model import Failure, RunDigest, SaidText, TrailStep
from ..runs.tree import TreeState, still_failing
from ..runs.written_plans import is_current
from .requests import Requests, is_weak, requests_of, told

if TYPE_CHECKING:
    from ..sessions.state import SessionState

GOAL_BYTES = 900
STALE_MESSAGES = 2  # after so many requests a plan that was not updated may be out of date
UNTICKED = "written down, not ticked off"
FINISHED = "its turn was over"
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
    by: str = ""  # "declared" to Segue, or "" if it is the agent's own


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
    parent: str = ""  # the run whose sub-agent this one is
    project: str = ""
    session: str = ""
    status: str = ""
    folder: str = ""
    branch: str = ""
    model: str = ""
    when: float = 0.0
    ending: str = ""
    context: int = 0
    window: int = 0
    chars: int = 0
    calls: int = 0
    goal: str = ""  # as declared, else the request of the user
    declared_goal: str = ""
    first: str = ""  # the first request, if it is another one
    wanted: Requests = Requests()
    inherited: Inherited = Inherited()
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
    failing: list[Failure] = []
    refused: Failure | None = None
    fault: str = ""
    questions: list[str] = []
    threads: list[str] = []
    focus: str = ""
    decided: list[str] = []
    learnt: list[str] = []
    memories: list[str] = []
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
        return [step for step in open_calls if not _is_lost(step, calls)]


def _is_lost(call: TrailStep, calls: Sequence[TrailStep]) -> bool:
    answered = min((one.done for one in calls if one.done > call.at), default=0)
    return answered > 0 and any(one.at > answered for one in calls)


def facts(
    runs: Sequence[RunDigest] = (),
    session: SessionState | None = None,
    probe: Probe | None = None,
    memories: Sequence[str] = (),
    *,
    agent: str = "",
    covered: Mapping[str, str] | None = None,
) -> BriefFacts:
    """Combine everything that is known. ``runs`` are newest first.

    ``covered`` has the current hash of the covered files for each feature; without it, stale features are
    not reported.
    """
    result = BriefFacts(agent=agent, memories=list(memories))
    if runs:
        _run(result, runs[0])
        for older in runs[1:]:
            _older(result, older)
    if session is not None:
        _session(result, session, covered)
    if probe is not None:
        result.probe = probe
        result.branch = probe.branch or result.branch
    return result


def _run(facts: BriefFacts, digest: RunDigest) -> None:
    facts.run, facts.model, facts.folder = digest.native, digest.model, digest.cwd
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
    facts.failing = [
        Failure(name, "\n".join(run.lines), run.at)
        for name, run in still_failing(digest.tree)
        if run.lines and not _is_history(digest, run.at)
    ]
    if digest.refused is not None and _tells_of_now(digest, digest.refused):
        facts.refused = digest.refused
    facts.ending = _ending(digest)
    if digest.fault is not None and digest.fault.at >= digest.steps - 3:
        facts.fault = digest.fault.text
    answers = [one.text for one in reversed(digest.decided)]
    facts.decided = list(dict.fromkeys([*answers, *digest.inherited.decided]))


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
    if digest.ended and digest.ended.at > max(after, newest):
        return FINISHED
    return ""


def _wants(facts: BriefFacts, digest: RunDigest) -> None:
    """What the user wants; where this run was only told to go on, what the run before was asked."""
    wanted, inherited = requests_of(digest), digest.inherited
    request = wanted.request or wanted.last
    weak = request is None or is_weak(request.text)
    facts.wanted, facts.inherited = wanted, inherited
    if weak and inherited.goal:
        facts.goal, facts.first = inherited.goal, inherited.first
    elif request is not None:
        facts.goal = told(request, GOAL_BYTES)
        first = inherited.first or inherited.goal
        facts.first = first or (told(wanted.first, GOAL_BYTES) if wanted.first not in (None, request) else "")
    elif wanted.first is not None:
        facts.goal = told(wanted.first, GOAL_BYTES)
    rules = [sentences.flat(one.text) for one in reversed(digest.standing)]
    facts.rules = list(dict.fromkeys([*rules, *inherited.standing]))


def _plans(facts: BriefFacts, digest: RunDigest) -> None:
    inherited = digest.inherited
    if digest.plan and not _prefers_written(digest):
        states = {"active": "active", "pending": "next"}
        facts.plan = [PlanLine(one[0], states[one[1]]) for one in digest.plan if one[1] in states]
        facts.plan_done = [one[0] for one in digest.plan if one[1] == "done"]
        facts.plan_total = len(facts.plan) + len(facts.plan_done)
        facts.plan_age = sum(step.id != "" and step.at > digest.planned for step in digest.trail)
        if _is_untouched(digest):
            facts.plan, facts.plan_done, facts.plan_total = [], [], 0
    elif is_current(digest):
        kept_done = [one[0].lower() for one in digest.plan if one[1] == "done"]
        left = [one for one in digest.sketch if not _is_among(one.lower(), kept_done)]
        facts.plan = [PlanLine(one, "next") for one in left] if 2 * len(left) > len(digest.sketch) else []
        facts.plan_done = list(digest.sketch_done)
        facts.plan_total = len(facts.plan) + len(facts.plan_done)
        if digest.numbered and not digest.sketch_done:
            facts.plan_total, facts.plan_note = 0, UNTICKED
    left_over = inherited.without([*(task.text for task in facts.plan), *facts.plan_done])
    facts.plan += [PlanLine(one, "next") for one in left_over.plan]
    facts.plan += [PlanLine(one, "blocked") for one in left_over.blocked]
    facts.plan.sort(key=lambda task: task.state != "active")


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


def _older(facts: BriefFacts, digest: RunDigest) -> None:
    """Add what still holds from a run before the newest one."""
    rules = [sentences.flat(one.text) for one in reversed(digest.standing)]
    facts.rules = list(dict.fromkeys([*facts.rules, *rules, *digest.inherited.standing]))
    answers = [one.text for one in reversed(digest.decided)]
    facts.decided = list(dict.fromkeys([*facts.decided, *answers, *digest.inherited.decided]))
    if not facts.goal or is_weak(facts.goal):
        before = BriefFacts()
        _wants(before, digest)
        facts.goal, facts.first = before.goal or facts.goal, before.first or facts.first
    elif not facts.first and digest.first_prompt and not is_weak(digest.first_prompt.text):
        facts.first = told(digest.first_prompt, GOAL_BYTES)
    if not facts.plan and not facts.plan_done:
        _plans(facts, digest)
    if not facts.trail:
        facts.trail, facts.thought = trail_of(digest), digest.thought


def _session(facts: BriefFacts, state: SessionState, covered: Mapping[str, str] | None = None) -> None:
    """Add the declared facts. They come first, and what is declared as done is no longer open."""
    facts.session, facts.status = state.id, state.status
    facts.project = state.project_name or facts.project
    if state.goal and not _was_observed(state.goal, facts):
        facts.declared_goal = facts.goal = state.goal
        facts.first = "" if facts.first == state.goal else facts.first
    items = state.items
    declared = [PlanLine(items[at].text, "active", by="declared") for at in state.active]
    declared += [PlanLine(items[at].text, "next", by="declared") for at in state.next]
    declared += [PlanLine(items[at].text, "blocked", items[at].reason, "declared") for at in state.blocked]
    done = [items[at].text for at in state.done]
    known = {sentences.flat(one).lower() for one in [*(line.text for line in declared), *done]}
    own = [line for line in facts.plan if sentences.flat(line.text).lower() not in known]
    if declared or done:
        facts.plan = [*declared, *own]
        facts.plan_done = list(dict.fromkeys([*done, *facts.plan_done]))
        facts.plan_total = len(facts.plan) + len(facts.plan_done)
    facts.decided = [
        *(_because(one.text, one.why) for one in reversed(list(state.decisions))),
        *facts.decided,
    ]
    facts.learnt = [one.text for one in reversed(list(state.findings))]
    facts.questions = [one.text for one in state.questions if not one.answer]
    facts.threads = [
        name for name, thread in state.threads.items() if thread.status not in ("done", "closed")
    ]
    focus = state.focus
    facts.focus = (
        f"{focus.file}:{focus.position}" if focus.file and focus.position else focus.file or focus.note_title
    )
    troubles = [Failure(one.text, one.text, 0) for one in reversed(list(state.troubles)) if not one.solution]
    facts.failing = [*_unproven(state, covered), *troubles, *facts.failing]


def _was_observed(goal: str, facts: BriefFacts) -> bool:
    """Whether a session's goal is only the first prompt of this run, with which Segue began the session."""
    asked = [facts.wanted.first, facts.wanted.last, facts.wanted.request]
    return bool(facts.goal) and any(
        one is not None and one.text.startswith(goal.rstrip("…")) for one in asked
    )


def _unproven(state: SessionState, covered: Mapping[str, str] | None) -> list[Failure]:
    """Features that fail and, if ``covered`` is known, those whose files changed since they were proven."""
    wanted = ("failing",) if covered is None else ("failing", "stale")
    from ..features.verdict import verdict_of  # many briefs have no session and do not need it

    found = [verdict_of(one, (covered or {}).get(id, "")) for id, one in state.features.items()]
    return [
        Failure(f"segue verify --feature {one.id}", f"{one.status}: {one.reason}", 0)
        for status in wanted
        for one in found
        if one.status == status
    ]


def _because(text: str, why: str) -> str:
    return f"{text} ({why})" if why else text
