"""What happens now: which agents are at work in which project, how full they are, and what waits for a
person."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from ...agents import agent as agent_of, agents
from ...agents.base import Found
from ...core.base.values import Value
from ...core.handover.events import Offer
from ...core.runs.model import RunDigest
from ...core.sessions.state import SessionState
from ...core.sessions.status import LIVING, Card
from ...effects.clock import moment
from ...effects.redaction.redact import redact
from ...errors import SegueError, UnknownAgent
from ..brief.gather import digest_of
from ..runs import cursor
from ..runs.cursor import FileStamp
from ..runs.listing import newest_runs, project_name_of
from ..runs.model_windows import window_of_run
from ..runs.observed import runs_of
from ..runs.run import WAITING_SECONDS, Run
from ..runs.sessions_shown import list_sessions
from ..sessions.offers import ledger_of, offers_in
from ..workspace.workspace import Workspace

RUNS_FIRST, RUNS_MAX = 12, 60
"""How many of the newest runs are looked at, and how many if those are all of the last day: what was never
read has to be."""
SESSIONS_LOOKED_INTO = 24
LATELY_MAX = 12
BEFORE_MAX = 5
LOOKS_MAX = 256
WORDS_CHARS = 280
OPEN = ("active", "paused", "created")


class RunNow(Value):
    """A run that is at work, or that waits for its user."""

    run: Run
    project_name: str
    percent: int
    """How full its window is; -1 where that is not known."""
    doing: str
    """What it is about to do, or what it said last."""


class RunLately(Value):
    """A run that is over, or whose turn is."""

    run: Run
    project_name: str
    changed: int
    """How many files it changed."""
    said: str
    """What it said last."""


class Waiting(Value):
    """Something that waits for a person."""

    what: str
    """question, blocked, offer or answer."""
    text: str
    project_name: str
    at: str = ""
    session: str = ""
    run: str = ""
    """The key of a run."""
    title: str = ""
    """What the run was asked for."""
    agent: str = ""
    calls: int = 0
    changed: int = 0
    """How many files the run changed."""


class Now(Value):
    """Where everything stands."""

    at_work: list[RunNow]
    waiting: list[Waiting]
    lately: list[RunLately]
    """What else ran in the last day, the newest first."""
    older: list[RunLately]
    """A few of the newest runs of before, without what they said."""
    runs_total: int
    """How many runs there are, without those of sub-agents."""
    sessions: list[Card]
    """The sessions, the most recently active first."""
    sessions_total: int


class RunLook(Value):
    """What is shown of a run besides its facts."""

    percent: int
    doing: str
    said: str
    changed: int


_looks: dict[tuple[str, FileStamp], RunLook] = {}
"""Of transcripts as they were when they were last looked into, the oldest look first: a page that is loaded
again reads no transcript again."""


def now(workspace: Workspace, *, sessions_max: int = 20) -> Now:
    """Where everything stands, in all projects."""
    cards = list_sessions(workspace, everywhere=True)
    since = moment(-WAITING_SECONDS)
    listed = newest_runs(workspace, everywhere=True, limit=RUNS_FIRST, sides=False)
    if len(listed.runs) == RUNS_FIRST and listed.runs[-1].last >= since:
        listed = newest_runs(workspace, everywhere=True, limit=RUNS_MAX, sides=False)
    at_work, waiting, lately = list[RunNow](), list[Waiting](), list[RunLately]()
    for run in listed.runs:
        is_lately = run.last >= since and len(lately) < LATELY_MAX
        if run.ended not in LIVING and not is_lately:
            continue
        name, look = project_name_of(workspace, run), look_at(workspace, run)
        if run.ended in LIVING:
            at_work.append(RunNow(run, name, look.percent, look.doing))
        elif run.ended == "waiting" and look.said:
            told = Waiting("answer", look.said, name, run.last, run.session, run.key, run.goal, run.agent)
            waiting.append(replace(told, calls=run.calls, changed=look.changed))
        else:
            lately.append(RunLately(run, name, look.changed, look.said))
    ledgers = {name for name, _ in workspace.store.streams("handoff/")}
    for card in [card for card in cards if card.status in OPEN][:SESSIONS_LOOKED_INTO]:
        offers = offers_in(workspace.store, card.id) if ledger_of(card.id) in ledgers else []
        waiting += _waiting_in(card, workspace.repository.state(card.id), offers)
    waiting.sort(key=lambda one: one.at, reverse=True)
    shown = {one.run.key for one in at_work} | {one.run.key for one in lately}
    shown |= {one.run for one in waiting}
    before = [run for run in listed.runs if run.key not in shown][:BEFORE_MAX]
    older = [RunLately(run, project_name_of(workspace, run), 0, "") for run in before]
    return Now(at_work, waiting, lately, older, listed.total, cards[:sessions_max], len(cards))


def look_at(workspace: Workspace, run: Run) -> RunLook:
    """What is shown of a run besides its facts, as its transcript is now."""
    found = Found(run.agent, run.path, run.id, 0.0, 0, run.cwd)
    stamp = cursor.stamp_of(found, agent_of(run.agent)) if workspace.sees_tree else FileStamp()
    known = _looks.get((run.key, stamp)) if stamp.inode else None
    if known is not None:
        return known
    try:
        digest = digest_of(workspace, runs_of(workspace).finder(everywhere=True), found)
    except (SegueError, OSError):
        digest = RunDigest()
    look = RunLook(
        percent_full(workspace, digest), under_way(digest), _last_words(digest), files_changed(digest)
    )
    if stamp.inode:
        _looks[run.key, stamp] = look
        while len(_looks) > LOOKS_MAX:
            _looks.pop(next(iter(_looks)), None)
    return look


def newest_transcripts(workspace: Workspace, limit: int) -> list[str]:
    """The paths of the transcripts on this machine that were last written to."""
    finder = runs_of(workspace).finder(everywhere=True)
    return list(dict.fromkeys(found.path for found in islice(finder.found(), limit)))


def agent_title(name: str) -> str:
    """What people call an agent."""
    try:
        return agent_of(name).title
    except UnknownAgent:
        return name


def agent_titles() -> list[tuple[str, str]]:
    """The names of all agents, with what people call them."""
    return [(one.name, one.title) for one in agents()]


def percent_full(workspace: Workspace, digest: RunDigest) -> int:
    """How full the window of a run is; -1 where it is not known how many tokens are in it."""
    if not digest.context:
        return -1
    window = window_of_run(digest, workspace.settings, workspace.home)
    return min(999, round(100 * digest.context / window.tokens))


def files_changed(digest: RunDigest) -> int:
    """How many files a run changed, created or deleted."""
    return sum(bool(use.edits or use.created or use.deleted) for use in digest.files.values())


def under_way(digest: RunDigest) -> str:
    """What a run is at: the item of its plan, the call without a result, or what the user wants."""
    for row in digest.plan:
        if row[1] == "active":
            return _short(row[0])
    if digest.pending:
        call = list(digest.pending.values())[-1]
        return _short(call.line or call.what or call.tool)
    return _short(digest.prompts[-1].text) if digest.prompts else ""


def _last_words(digest: RunDigest) -> str:
    return _short(digest.says[-1].text) if digest.says else ""


def _short(text: str) -> str:
    words = " ".join(redact(text).split())
    return words if len(words) <= WORDS_CHARS else f"{words[: WORDS_CHARS - 1]}…"


def _waiting_in(card: Card, state: SessionState, offers: Sequence[Offer]) -> Sequence[Waiting]:
    name = card.project_name or card.project
    questions = [
        Waiting("question", question.text, name, question.at, card.id)
        for question in state.questions
        if not question.answer
    ]
    blocked = [
        Waiting("blocked", f"{item.text}: {item.reason}" if item.reason else item.text, name,
                card.last_active, card.id)
        for item in (state.items[at] for at in state.blocked)
    ]  # fmt: skip
    offered = [
        Waiting("offer", f"to {agent_title(offer.to)}: {offer.note or state.goal}", name, offer.at, card.id)
        for offer in offers
        if offer.status == "open"
    ]
    return [*questions, *blocked, *offered]
