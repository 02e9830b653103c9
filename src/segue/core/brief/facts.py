"""The facts that every form of a brief is made from, collected from all sources and ranked.

Declared facts (from the session) come before observed ones (from runs), newer before older. What is
superseded is left out here, once for every form of the brief: a finished item is never next, a solved failure
is never broken. Only the user's prompts provide the goal and standing instructions; the output of tools
appears only as the quoted reason of a failure and as names, never as a statement of the brief.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..base.lazy import regex
from ..base.values import Value
from ..runs import sentences
from ..runs.model import CommandUse, Failure, FileUse, Open, RunDigest
from ..runs.open_questions import open_question
from ..runs.shell_commands import kind_of
from ..runs.written_plans import is_current
from .relevance import Worth, words, worth
from .statements import Sentence, spoken

if TYPE_CHECKING:
    from ..sessions.state import SessionState

RECENT_STEPS = 90  # an older failure that did not recur no longer matters
SOLVED_STEPS = 30
PROMPTS_SINCE = 2  # after so many prompts a plan that was not updated may be out of date
CUT_STEPS = 12  # a call without a result for longer than this is not what the run died in
UNTOUCHED, UNTICKED = "not updated for long", "written down, not ticked off"
_MISCALLED = regex(
    r"(?i)\b(?:unknown|unrecognized|invalid|no such|unexpected) "
    r"(?:flag|option|argument|subcommand|command|usage)|^usage:"
)
_ACTS = regex(r"(?<![0-9&])>|\b(?:tee|touch|chmod|mkdir|rm|cp|mv|ln|kill|pkill)\b")
"""Matches commands that have no short form and yet change something."""
_LOOKING = regex(
    r"(?:^|_)(?:wait|get|read|view|fetch|search|find|web)(?:_|$)|^list_"
    r"|^(?:Task(?:List|Get|Output)|Monitor|BashOutput)$"
)
FINISHED = "its last turn was finished"


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


class Claim(Value):
    """A model's statement that the transcript supports. Only ``core/models/grounding.py`` makes them."""

    kind: str
    text: str
    evidence: tuple[str, ...]
    trust: str  # the trust of the least trusted source that it rests on
    at: int = 0


class FileLine(msgspec.Struct, gc=False):
    """A file that will probably be needed again."""

    name: str  # the file's name without its folder
    path: str
    mark: str  # edited, created, deleted or ""
    value: float
    given: bool = True  # whether a tool got it as an argument, not just a command that mentions it


class BriefFacts(msgspec.Struct):
    """Everything that a brief may say."""

    agent: str = ""
    run: str = ""
    project: str = ""
    session: str = ""
    status: str = ""
    branch: str = ""
    model: str = ""
    when: float = 0.0
    ending: str = ""
    context: int = 0
    window: int = 0
    chars: int = 0
    calls: int = 0
    goal: str = ""
    latest: str = ""
    answers: str = ""  # the question or offer of the agent that ``latest`` answers
    asked: str = ""  # the question that the agent's last message left to the user
    before: list[str] = []  # earlier requests, newest first
    first: str = ""
    last_edited: str = ""  # a path
    inherits: bool = False  # whether the run began with a brief from us
    standing: list[str] = []
    plan: list[PlanLine] = []
    plan_done: list[str] = []
    plan_total: int = 0
    plan_note: str = ""  # why some of its open items may be done
    pending: list[str] = []
    broken: list[Failure] = []
    solved: list[Failure] = []
    refused: Failure | None = None
    refused_by: str = "the user"
    faults: str = ""
    questions: list[str] = []
    decided: list[str] = []
    learnt: list[str] = []
    memories: list[str] = []
    commits: list[str] = []
    commands: list[tuple[str, CommandUse]] = []
    files: list[FileLine] = []
    dirty: list[str] = []
    since: list[str] = []
    probe_cut: bool = False
    sentences: list[Sentence] = []
    claims: list[Claim] = []
    worth: Worth = msgspec.field(default_factory=lambda: Worth({}, {}, {}))


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
        for older in runs[1:3]:
            _older(result, older)
    if session is not None:
        _session(result, session, covered)
    if probe is not None:
        _probe(result, probe)
    return result


# -- the newest run


def _run(facts: BriefFacts, digest: RunDigest) -> None:
    facts.run, facts.branch, facts.model = digest.native, digest.branch, digest.model
    facts.when, facts.context, facts.window = digest.last, digest.context, digest.window
    facts.chars, facts.calls, facts.project = digest.chars, digest.calls, _base(digest.cwd)
    _requests(facts, digest)
    _plans(facts, digest)
    facts.pending = [
        _pending(_named(call), call.act)
        for call in list(digest.pending.values())[-2:]
        if call.at > digest.steps - CUT_STEPS and not _only_looks(call)
    ]
    failures = [one for key, one in reversed(digest.failures.items()) if _still_fails(digest, key, one)]
    facts.broken = [one for one in failures if one.why and not sentences.unrun(one.why)][:3]
    facts.solved = [
        one
        for one in reversed(digest.solved)
        if one.at > digest.steps - SOLVED_STEPS and not sentences.unrun(one.why)
    ][:1]
    _refusal(facts, digest, failures)
    facts.ending = _ending(digest)
    if digest.fault and digest.fault.at >= digest.steps - 3:
        facts.faults = digest.fault.text
    answers = [one.text for one in reversed(digest.decided)]
    facts.decided = list(dict.fromkeys([*answers, *digest.inherited.decided]))
    facts.commits = [one.text for one in reversed(digest.commits)]
    facts.commands = sorted(
        digest.commands.items(), key=lambda use: -command_value(use[0], use[1], digest.steps)
    )
    facts.worth = worth(digest)
    facts.files = _files(digest)
    edited = {path: use.edited for path, use in digest.files.items() if use.edited}
    facts.last_edited = max(edited, key=lambda path: edited[path], default="")
    facts.sentences = spoken(digest, finished=facts.ending == FINISHED)
    last = digest.tail[-1] if digest.tail else None
    if last is not None and last.kind == "say" and (facts.ending == FINISHED or last.text.endswith("?")):
        facts.asked = open_question(last.text)


def _refusal(facts: BriefFacts, digest: RunDigest, failures: list[Failure]) -> None:
    """Set the last call that was not carried out, because the user or the harness rejected it."""
    if digest.refused and digest.refused.at > digest.steps - SOLVED_STEPS:
        facts.refused = digest.refused
    lately = [one for one in reversed(digest.solved) if one.at > digest.steps - CUT_STEPS]
    unrun = next((one for one in [*failures, *lately] if sentences.unrun(one.why)), None)
    if unrun and unrun.at > max(digest.steps - SOLVED_STEPS, facts.refused.at if facts.refused else 0):
        facts.refused = Failure(unrun.what, sentences.unrun(unrun.why), unrun.at)
        facts.refused_by = "the harness"


def _ending(digest: RunDigest) -> str:
    after = digest.prompts[-1].at if digest.prompts else 0
    if digest.fault and digest.fault.at >= digest.steps - 2:
        return "the model could not be reached at the end"
    if digest.interrupted and digest.interrupted.at > max(after, digest.steps - 3):
        return "the user stopped it"
    if digest.ended and digest.ended.at >= digest.steps - 2:
        return FINISHED
    return ""


def _still_fails(digest: RunDigest, key: str, one: Failure) -> bool:
    """Whether a failure may still matter.

    Failed reads and malformed calls are soon forgotten. So are failures before the last commit, except those
    of tests, checks and builds.
    """
    kind = kind_of(one.what)
    if kind == "look" or key.startswith(("read ", "search ")) or _MISCALLED.search(one.why):
        return one.at > digest.steps - CUT_STEPS
    committed = digest.commits[-1].at if digest.commits else 0
    return one.at > digest.steps - RECENT_STEPS and (one.at > committed or kind in ("test", "check", "build"))


def _only_looks(call: Open) -> bool:
    """Whether a call changes nothing, so that it does not matter whether it completed."""
    if call.act == "run":
        return kind_of(_named(call)) == "look" and not _ACTS.search(call.line)
    return call.act in ("read", "search", "plan", "ask", "web") or _LOOKING.search(call.tool) is not None


def _named(call: Open) -> str:
    """A call's short form or, for a command without one, the first line of the command."""
    line = call.line.strip().partition("\n")[0]
    return line[:120] if call.act == "run" and call.what == call.tool and line else call.what


def _pending(what: str, act: str) -> str:
    return f"`{what}`" if act in ("run", "other") else f"{act} {what}"


def _requests(facts: BriefFacts, digest: RunDigest) -> None:
    prompts = digest.prompts
    first = digest.first_prompt
    goal = next((one for one in reversed(prompts) if sentences.is_substantial(one.text)), None)
    if goal is None:
        short = max(prompts, key=lambda one: len(one.text), default=None)  # the longest says most
        goal = first if first and sentences.is_substantial(first.text) else short
    inherited = digest.inherited
    facts.inherits = bool(inherited)
    if inherited.goal and (goal is None or not sentences.is_substantial(goal.text)):
        facts.goal, facts.first = inherited.goal, inherited.first
        facts.latest = quoted(goal.text) if goal else ""
    elif goal is not None:
        facts.goal = quoted(goal.text)
        if prompts[-1].text != goal.text:
            facts.latest, facts.answers = quoted(prompts[-1].text), digest.answers
        earlier = [
            one.text for one in reversed(prompts) if one.at < goal.at and sentences.is_substantial(one.text)
        ]
        facts.before = [quoted(one) for one in dict.fromkeys(earlier) if one != goal.text][:3]
        if inherited.goal:
            facts.first = inherited.first or inherited.goal
        elif first and first.text != goal.text and sentences.is_substantial(first.text):
            facts.first = quoted(first.text)
    rules = [sentences.flat(one.text) for one in reversed(digest.standing)]
    facts.standing = list(dict.fromkeys([*rules, *inherited.standing]))


def quoted(prompt: str) -> str:
    """A prompt on one line, without pasted logs and code and without markup."""
    text = sentences.unpasted(prompt)
    if not words(text):
        text = prompt
    return sentences.flat(text)


def _plans(facts: BriefFacts, digest: RunDigest) -> None:
    inherited = digest.inherited
    if digest.plan and not _prefers_written(digest):
        states = {"active": "active", "pending": "next"}
        facts.plan = [PlanLine(one[0], states[one[1]]) for one in digest.plan if one[1] in states]
        facts.plan_done = [one[0] for one in digest.plan if one[1] == "done"]
        facts.plan_total = len(facts.plan) + len(facts.plan_done)
        facts.plan_note = UNTOUCHED if _is_untouched(digest) else ""
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
    """Whether the plan was never updated, although there were further requests and much work since."""
    asked = [one for one in digest.prompts if one.at > digest.planned]
    untouched = all(one[3] == digest.planned for one in digest.plan)
    return untouched and len(asked) >= PROMPTS_SINCE and digest.steps - digest.planned > RECENT_STEPS


def _prefers_written(digest: RunDigest) -> bool:
    """Whether a plan that was only written as text replaces the one in the agent's plan tool.

    It must be newer; a numbered list replaces the other only if that one has no open items.
    """
    newer = is_current(digest) and digest.sketched > digest.planned
    return newer and (not digest.numbered or all(one[1] in ("done", "dropped") for one in digest.plan))


def _files(digest: RunDigest) -> list[FileLine]:
    merged: dict[str, tuple[str, FileUse]] = {}
    for path, use in digest.files.items():
        name = _base(path)
        if "." not in name[1:] and not use.edits:
            continue
        before = merged.get(name)
        if before is not None:
            use = _both(use, before[1])
            path = path if len(path) >= len(before[0]) else before[0]
        merged[name] = (path, use)
    lately = "\n".join(one.text for one in digest.says[-12:])
    asked = "\n".join(one.text for one in digest.prompts[-2:])
    planned = "\n".join(one[0] for one in digest.plan if one[1] != "done")
    found = []
    for name, (path, use) in merged.items():
        value = file_value(use, digest.steps, path)
        value += 0.4 * (name in lately) + 1.0 * (name in asked) + 1.5 * (name in planned)
        mark = "deleted" if use.deleted else "created" if use.created else "edited" if use.edits else ""
        found.append(FileLine(name, path, mark, value, use.named > 0))
    return sorted(found, key=lambda one: -one.value)


def _both(one: FileUse, other: FileUse) -> FileUse:
    return FileUse(
        min(one.first, other.first), max(one.last, other.last), one.reads + other.reads,
        one.edits + other.edits, max(one.edited, other.edited), one.created or other.created,
        one.deleted and other.deleted, one.named + other.named,
    )  # fmt: skip


_LITTLE = regex(r"\.(?:png|jpe?g|svg|gif|ico|log|lock|output|out|tmp|snap)$|^/tmp/|/tasks/")


def file_value(use: FileUse, now: int, path: str = "") -> float:
    """How likely a file is to be used again. The weights come from a logistic fit."""
    value = 0.35 * math.log1p(use.reads) + 0.3 * math.log1p(use.edits) - 0.5 * math.log1p(now - use.last)
    if not use.named:
        value -= 1.5  # it occurred only in commands
    return value - 1.9 if _LITTLE.search(path) else value


_KIND_VALUE = {"test": 1.2, "check": 0.9, "build": 0.9, "run": 0.5, "vcs": 0.8, "change": 0.2}


def command_value(short: str, use: CommandUse, now: int) -> float:
    """How likely a command is to be run again, minus a penalty for its length."""
    value = _KIND_VALUE.get(use.kind, 0.3) + 0.6 * math.log1p(use.runs) - 0.45 * math.log1p(now - use.last)
    return value + (0.3 if use.ok is False else 0.0) - 0.4 * math.log(len(short) + 2)


# -- the other sources


def _older(facts: BriefFacts, digest: RunDigest) -> None:
    """Add what still holds from a run before the newest one."""
    rules = [one.text for one in reversed(digest.standing)]
    facts.standing = list(dict.fromkeys([*facts.standing, *rules, *digest.inherited.standing]))
    facts.decided = list(dict.fromkeys([*facts.decided, *digest.inherited.decided]))
    if not facts.goal:
        _requests(facts, digest)
    elif not facts.first and digest.first_prompt:
        facts.first = quoted(digest.first_prompt.text)
    if not facts.plan and not facts.plan_done:
        _plans(facts, digest)
    known = {one.name for one in facts.files}
    facts.files += [one for one in _files(digest) if one.name not in known]
    names = {name for name, _ in facts.commands}
    facts.commands += [(name, use) for name, use in digest.commands.items() if name not in names]


def _session(facts: BriefFacts, state: SessionState, covered: Mapping[str, str] | None = None) -> None:
    """Add the declared facts. They come first, and what is declared as done is no longer open."""
    facts.session, facts.status = state.id, state.status
    facts.project = state.project_name or facts.project
    if state.goal:
        if facts.goal and facts.goal != state.goal:
            facts.latest = facts.latest or facts.goal
        facts.goal, facts.first = state.goal, ""
    items = state.items
    declared = [PlanLine(items[at].text, "active") for at in state.active]
    declared += [PlanLine(items[at].text, "next") for at in state.next]
    declared += [PlanLine(items[at].text, "blocked", items[at].reason) for at in state.blocked]
    done = [items[at].text for at in state.done]
    if declared or done:
        facts.plan, facts.plan_done, facts.plan_note = declared, done, ""
        facts.plan_total = len(declared) + len(done)
    facts.decided = [
        *(_because(one.text, one.why) for one in reversed(list(state.decisions))),
        *facts.decided,
    ]
    facts.learnt = [one.text for one in reversed(list(state.findings))]
    facts.questions = [one.text for one in state.questions if not one.answer]
    troubles = [Failure(one.text, one.text, 0) for one in reversed(list(state.troubles)) if not one.solution]
    facts.broken = [*_unproven(state, covered), *troubles, *facts.broken]


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


def _probe(facts: BriefFacts, probe: Probe) -> None:
    facts.branch = probe.branch or facts.branch
    facts.dirty = [_base(path) for path in probe.dirty]
    facts.since = list(probe.commits)
    facts.probe_cut = probe.cut


def _base(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
