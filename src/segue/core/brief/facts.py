"""What is known of the work, from every source, ranked: the one thing that briefs are written from.

Declared facts (the session) come before observed ones (the runs), newer before older. What is superseded
is left out here, once, for every form of the brief: a finished item is never next, a solved failure never
broken. Only the user's prompts give goal and standing instructions; a tool's output appears as the quoted
reason of a failure and as names, never as a sentence of ours.
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

RECENT_STEPS = 90  # a failure that is older and was not repeated is history
SOLVED_STEPS = 30
PROMPTS_SINCE = 2  # behind a plan that nobody touched since
CUT_STEPS = 12  # a call that went unanswered longer was not what it died in
UNTOUCHED, UNTICKED = "not updated for long", "written down, not ticked off"
_MISCALLED = regex(
    r"(?i)\b(?:unknown|unrecognized|invalid|no such|unexpected) "
    r"(?:flag|option|argument|subcommand|command|usage)|^usage:"
)
_ACTS = regex(r"(?<![0-9&])>|\b(?:tee|touch|chmod|mkdir|rm|cp|mv|ln|kill|pkill)\b")
"""A command that is not worth a name, and yet changes something."""
_LOOKING = regex(
    r"(?:^|_)(?:wait|get|read|view|fetch|search|find|web)(?:_|$)|^list_"
    r"|^(?:Task(?:List|Get|Output)|Monitor|BashOutput)$"
)
FINISHED = "its last turn was finished"


class Probe(Value):
    """The world now, as far as it could be looked at in time."""

    now: float = 0.0
    branch: str = ""
    head: str = ""
    dirty: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()  # subjects since the run's last step, newest first
    cut: bool = False  # time ran out before git had answered all


class PlanLine(msgspec.Struct, gc=False):
    """A line of the plan."""

    text: str
    state: str  # active, next, blocked
    reason: str = ""


class Claim(Value):
    """What a model said and the transcript bears out; ``core/models/grounding.py`` alone makes them."""

    kind: str
    text: str
    evidence: tuple[str, ...]
    trust: str  # of the least trusted voice that it rests on
    at: int = 0


class FileLine(msgspec.Struct, gc=False):
    """A file that will be needed again."""

    name: str  # without folders
    path: str
    mark: str  # edited, created, deleted or ""
    value: float
    given: bool = True  # to a tool; else a command only mentioned it


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
    answers: str = ""  # what of the agent's words ``latest`` answers
    asked: str = ""  # what its last words left to the user
    before: list[str] = []  # earlier requests, newest first
    first: str = ""
    last_edited: str = ""  # path
    inherits: bool = False  # it began with a brief of ours
    standing: list[str] = []
    plan: list[PlanLine] = []
    plan_done: list[str] = []
    plan_total: int = 0
    plan_note: str = ""  # why some of what is open in it may be done
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
    """Put together what is known; ``runs`` newest first.

    ``covered`` has of each feature the hash over its files of now: what is stale is told only with it."""
    shown = BriefFacts(agent=agent, memories=list(memories))
    if runs:
        _run(shown, runs[0])
        for older in runs[1:3]:
            _older(shown, older)
    if session is not None:
        _session(shown, session, covered)
    if probe is not None:
        _probe(shown, probe)
    return shown


# -- the newest run


def _run(shown: BriefFacts, digest: RunDigest) -> None:
    shown.run, shown.branch, shown.model = digest.native, digest.branch, digest.model
    shown.when, shown.context, shown.window = digest.last, digest.context, digest.window
    shown.chars, shown.calls, shown.project = digest.chars, digest.calls, _base(digest.cwd)
    _requests(shown, digest)
    _plans(shown, digest)
    shown.pending = [
        _pending(_named(call), call.act)
        for call in list(digest.pending.values())[-2:]
        if call.at > digest.steps - CUT_STEPS and not _only_looks(call)
    ]
    failures = [one for key, one in reversed(digest.failures.items()) if _still_fails(digest, key, one)]
    shown.broken = [one for one in failures if one.why and not sentences.unrun(one.why)][:3]
    shown.solved = [
        one
        for one in reversed(digest.solved)
        if one.at > digest.steps - SOLVED_STEPS and not sentences.unrun(one.why)
    ][:1]
    _refusal(shown, digest, failures)
    shown.ending = _ending(digest)
    if digest.fault and digest.fault.at >= digest.steps - 3:
        shown.faults = digest.fault.text
    answers = [one.text for one in reversed(digest.decided)]
    shown.decided = list(dict.fromkeys([*answers, *digest.inherited.decided]))
    shown.commits = [one.text for one in reversed(digest.commits)]
    shown.commands = sorted(
        digest.commands.items(), key=lambda use: -command_value(use[0], use[1], digest.steps)
    )
    shown.worth = worth(digest)
    shown.files = _files(digest)
    edited = {path: use.edited for path, use in digest.files.items() if use.edited}
    shown.last_edited = max(edited, key=lambda path: edited[path], default="")
    shown.sentences = spoken(digest, finished=shown.ending == FINISHED)
    last = digest.tail[-1] if digest.tail else None
    if last is not None and last.kind == "say" and (shown.ending == FINISHED or last.text.endswith("?")):
        shown.asked = open_question(last.text)


def _refusal(shown: BriefFacts, digest: RunDigest, failures: list[Failure]) -> None:
    """The last call that was not carried out: the user did not want it, or the harness did not run it."""
    if digest.refused and digest.refused.at > digest.steps - SOLVED_STEPS:
        shown.refused = digest.refused
    lately = [one for one in reversed(digest.solved) if one.at > digest.steps - CUT_STEPS]
    unrun = next((one for one in [*failures, *lately] if sentences.unrun(one.why)), None)
    if unrun and unrun.at > max(digest.steps - SOLVED_STEPS, shown.refused.at if shown.refused else 0):
        shown.refused = Failure(unrun.what, sentences.unrun(unrun.why), unrun.at)
        shown.refused_by = "the harness"


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
    """Whether a failure may still matter. A look that found nothing and a call that was put wrongly are soon
    history; so is what stood in the way of a commit, once that is made, unless it is a check that fails."""
    kind = kind_of(one.what)
    if kind == "look" or key.startswith(("read ", "search ")) or _MISCALLED.search(one.why):
        return one.at > digest.steps - CUT_STEPS
    committed = digest.commits[-1].at if digest.commits else 0
    return one.at > digest.steps - RECENT_STEPS and (one.at > committed or kind in ("test", "check", "build"))


def _only_looks(call: Open) -> bool:
    """Does it leave the world as it is? Then nobody needs to know whether it completed."""
    if call.act == "run":
        return kind_of(_named(call)) == "look" and not _ACTS.search(call.line)
    return call.act in ("read", "search", "plan", "ask", "web") or _LOOKING.search(call.tool) is not None


def _named(call: Open) -> str:
    """A call by what it does; a command that has no short form by its own first line."""
    line = call.line.strip().partition("\n")[0]
    return line[:120] if call.act == "run" and call.what == call.tool and line else call.what


def _pending(what: str, act: str) -> str:
    return f"`{what}`" if act in ("run", "other") else f"{act} {what}"


def _requests(shown: BriefFacts, digest: RunDigest) -> None:
    prompts = digest.prompts
    first = digest.first_prompt
    goal = next((one for one in reversed(prompts) if sentences.is_substantial(one.text)), None)
    if goal is None:
        short = max(prompts, key=lambda one: len(one.text), default=None)  # a command says more than a "yes"
        goal = first if first and sentences.is_substantial(first.text) else short
    inherited = digest.inherited
    shown.inherits = bool(inherited)
    if inherited.goal and (goal is None or not sentences.is_substantial(goal.text)):
        shown.goal, shown.first = inherited.goal, inherited.first
        shown.latest = quoted(goal.text) if goal else ""
    elif goal is not None:
        shown.goal = quoted(goal.text)
        if prompts[-1].text != goal.text:
            shown.latest, shown.answers = quoted(prompts[-1].text), digest.answers
        earlier = [
            one.text for one in reversed(prompts) if one.at < goal.at and sentences.is_substantial(one.text)
        ]
        shown.before = [quoted(one) for one in dict.fromkeys(earlier) if one != goal.text][:3]
        if inherited.goal:
            shown.first = inherited.first or inherited.goal
        elif first and first.text != goal.text and sentences.is_substantial(first.text):
            shown.first = quoted(first.text)
    told = [sentences.flat(one.text) for one in reversed(digest.standing)]
    shown.standing = list(dict.fromkeys([*told, *inherited.standing]))


def quoted(prompt: str) -> str:
    """A prompt without pasted logs and code, markup taken off, on one line."""
    text = sentences.unpasted(prompt)
    if not words(text):
        text = prompt
    return sentences.flat(text)


def _plans(shown: BriefFacts, digest: RunDigest) -> None:
    inherited = digest.inherited
    if digest.plan and not _prefers_written(digest):
        states = {"active": "active", "pending": "next"}
        shown.plan = [PlanLine(one[0], states[one[1]]) for one in digest.plan if one[1] in states]
        shown.plan_done = [one[0] for one in digest.plan if one[1] == "done"]
        shown.plan_total = len(shown.plan) + len(shown.plan_done)
        shown.plan_note = UNTOUCHED if _is_untouched(digest) else ""
    elif is_current(digest):
        kept_done = [one[0].lower() for one in digest.plan if one[1] == "done"]
        left = [one for one in digest.sketch if not _is_among(one.lower(), kept_done)]
        shown.plan = [PlanLine(one, "next") for one in left] if 2 * len(left) > len(digest.sketch) else []
        shown.plan_done = list(digest.sketch_done)
        shown.plan_total = len(shown.plan) + len(shown.plan_done)
        if digest.numbered and not digest.sketch_done:
            shown.plan_total, shown.plan_note = 0, UNTICKED
    told = inherited.without([*(task.text for task in shown.plan), *shown.plan_done])
    shown.plan += [PlanLine(one, "next") for one in told.plan]
    shown.plan += [PlanLine(one, "blocked") for one in told.blocked]
    shown.plan.sort(key=lambda task: task.state != "active")


def _is_among(text: str, others: list[str]) -> bool:
    """Whether one of the others is this text, or begins with it, or this with it."""
    return any(one.startswith(text) or text.startswith(one) for one in others)


def _is_untouched(digest: RunDigest) -> bool:
    """Was it written down once and never touched, though the user asked for more and more was done?"""
    asked = [one for one in digest.prompts if one.at > digest.planned]
    untouched = all(one[3] == digest.planned for one in digest.plan)
    return untouched and len(asked) >= PROMPTS_SINCE and digest.steps - digest.planned > RECENT_STEPS


def _prefers_written(digest: RunDigest) -> bool:
    """Is a plan that was only written down newer than the one that is kept with a tool? A numbered one takes
    its place only when that is worked off."""
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
    """How likely a file is touched again; a logistic fit, rounded."""
    value = 0.35 * math.log1p(use.reads) + 0.3 * math.log1p(use.edits) - 0.5 * math.log1p(now - use.last)
    if not use.named:
        value -= 1.5  # seen in commands only
    return value - 1.9 if _LITTLE.search(path) else value


_KIND_VALUE = {"test": 1.2, "check": 0.9, "build": 0.9, "run": 0.5, "vcs": 0.8, "change": 0.2}


def command_value(short: str, use: CommandUse, now: int) -> float:
    """How likely a command is run again, less what its name takes of the line."""
    value = _KIND_VALUE.get(use.kind, 0.3) + 0.6 * math.log1p(use.runs) - 0.45 * math.log1p(now - use.last)
    return value + (0.3 if use.ok is False else 0.0) - 0.4 * math.log(len(short) + 2)


# -- the other sources


def _older(shown: BriefFacts, digest: RunDigest) -> None:
    """A run before the newest one: what still holds of it."""
    rules = [one.text for one in reversed(digest.standing)]
    shown.standing = list(dict.fromkeys([*shown.standing, *rules, *digest.inherited.standing]))
    shown.decided = list(dict.fromkeys([*shown.decided, *digest.inherited.decided]))
    if not shown.goal:
        _requests(shown, digest)
    elif not shown.first and digest.first_prompt:
        shown.first = quoted(digest.first_prompt.text)
    if not shown.plan and not shown.plan_done:
        _plans(shown, digest)
    known = {one.name for one in shown.files}
    shown.files += [one for one in _files(digest) if one.name not in known]
    names = {name for name, _ in shown.commands}
    shown.commands += [(name, use) for name, use in digest.commands.items() if name not in names]


def _session(shown: BriefFacts, state: SessionState, covered: Mapping[str, str] | None = None) -> None:
    """Declared facts: they come first, and what they finished is no longer open."""
    shown.session, shown.status = state.id, state.status
    shown.project = state.project_name or shown.project
    if state.goal:
        if shown.goal and shown.goal != state.goal:
            shown.latest = shown.latest or shown.goal
        shown.goal, shown.first = state.goal, ""
    items = state.items
    declared = [PlanLine(items[at].text, "active") for at in state.active]
    declared += [PlanLine(items[at].text, "next") for at in state.next]
    declared += [PlanLine(items[at].text, "blocked", items[at].reason) for at in state.blocked]
    done = [items[at].text for at in state.done]
    if declared or done:
        shown.plan, shown.plan_done, shown.plan_note = declared, done, ""
        shown.plan_total = len(declared) + len(done)
    shown.decided = [
        *(_because(one.text, one.why) for one in reversed(list(state.decisions))),
        *shown.decided,
    ]
    shown.learnt = [one.text for one in reversed(list(state.findings))]
    shown.questions = [one.text for one in state.questions if not one.answer]
    troubles = [Failure(one.text, one.text, 0) for one in reversed(list(state.troubles)) if not one.solution]
    shown.broken = [*_unproven(state, covered), *troubles, *shown.broken]


def _unproven(state: SessionState, covered: Mapping[str, str] | None) -> list[Failure]:
    """Features that fail, and those whose files changed since they were proven."""
    wanted = ("failing",) if covered is None else ("failing", "stale")
    from ..features.verdict import verdict_of  # most briefs are of files, and have no session

    found = [verdict_of(one, (covered or {}).get(id, "")) for id, one in state.features.items()]
    return [
        Failure(f"segue verify --feature {one.id}", f"{one.status}: {one.reason}", 0)
        for status in wanted
        for one in found
        if one.status == status
    ]


def _because(text: str, why: str) -> str:
    return f"{text} ({why})" if why else text


def _probe(shown: BriefFacts, probe: Probe) -> None:
    shown.branch = probe.branch or shown.branch
    shown.dirty = [_base(path) for path in probe.dirty]
    shown.since = list(probe.commits)
    shown.probe_cut = probe.cut


def _base(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
