"""What a run is told with its first prompt, chosen by what the prompt asks for.

A prompt that goes on with the work before, adds to it or is about it is told where that stopped. One that is
about the work of an earlier run is told of that run. One that carries a plan which was made in an earlier run
is told what was decided while planning and is not in the plan. Everything else is other work: then only the
rules of the project are told, what lies uncommitted, and in a line what was left open. In a run that rested
for hours, a prompt is answered by what changed meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from ...agents.base import Found
from ...agents.hooks import HookEvent
from ...core.base.lazy import regex
from ...core.base.page import plain, quote
from ...core.brief.parts import whole_texts
from ...core.brief.trail_words import is_plan_shown
from ...core.language.done_claims import claims_done, says_unfinished
from ...core.language.rules import is_for_ever
from ...core.language.sentences import is_assent, sentences
from ...core.language.subjects import subjects_of
from ...core.ledger.covered import lacking
from ...core.ledger.model import HOLDING
from ...core.ledger.other_work import names_nothing_of, own_subjects, relevance
from ...core.ledger.sayings import Message
from ...core.ledger.standing import rules_alone
from ...core.runs.brief_labels import Label
from ...core.runs.brief_text import OPENING
from ...core.runs.identifiers import short_run
from ...effects.git.probe import probe
from ...errors import SegueError
from ..ledger.work import UNHEARD_BYTES_MAX, run_name
from ..runs.discovery import RunFinder, found_of
from ..runs.run import left_of, run_in
from ..runs.select import is_here, runs_meant
from ..workspace.own_files import own_files
from ..workspace.workspace import Workspace
from .for_starts import HookBrief, brief_at_start, brief_of_run
from .gather import digest_of, entries_of_runs, summary_of_run
from .predecessor import Predecessor, chosen_since, line_of_others, predecessor_of
from .short_briefs import (
    Left,
    brief_for_other_work,
    brief_of_touched,
    line_of,
    line_of_uncommitted,
    notice_lines,
    short_brief,
)

SESSIONS_MAX, ROWS_MAX = 8, 60
"""Among how many earlier sessions, and their runs, the one is looked for that a prompt is about."""
SHARED_MIN, SHARED_PERCENT = 4, 60
SHARED_IF_GOES_ON_MIN, SHARED_IF_GOES_ON_PERCENT = 2, 50
"""Of a prompt that goes on with something, but with nothing of the newest work. Of others more is asked:
in the same project many speak of the same things."""
SUBJECTS_BYTES = 480
PLAN_CHARS_MIN = 400
PLANNERS_MAX = 4
"""Among so many of the newest runs the one is looked for that made a plan."""
ONE_MATTER_MAX = 8
"""In a run with so few requests all is said about its plan."""
CLOSING_CHARS = 400
RESTED_SECONDS, LATELY_SECONDS = 2 * 3_600.0, 24 * 3_600.0
"""What was left open longer ago is not told to other work."""
_PLAN = regex(
    r"(?i)\W*(?:please )?(?:implement|execute|carry out|follow) (?:the following|this|the attached) plan\b"
)
_TITLE = regex(r"(?m)^#{1,3} +(\S.{3,80}?)[ \t#]*$")
_TRANSCRIPT = regex(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22})\.jsonl")


def brief_for_prompt(workspace: Workspace, finder: RunFinder, event: HookEvent, *, budget: int) -> HookBrief:
    """The brief for a run whose first prompt is known; empty if there is nothing worth saying."""
    before = predecessor_of(workspace, finder, event)
    prompt = event.text.strip()
    if len(prompt) >= PLAN_CHARS_MIN and _PLAN.match(prompt):
        return _brief_for_plan(workspace, finder, before, prompt)
    if before.found is None or is_assent(prompt) or chosen_since(workspace, finder, before.found) is not None:
        return brief_at_start(workspace, finder, before, budget)
    entries = entries_of_runs(workspace, finder, [before.found])
    left, last_words = _left(workspace, finder, before.found)
    place = str(workspace.working_tree.root)
    how = relevance(prompt, entries, is_cut_off=left == "cut off", last_words=last_words, place=place)
    referred = None
    if how == "other" or (entries and names_nothing_of(prompt, entries)):  # "now go on with the login page"
        referred = _run_referred_to(workspace, finder, prompt, before.found, is_other=how == "other")
    if referred is not None:
        return _brief_of_earlier(workspace, finder, referred, prompt, budget)
    if how == "goes_on":
        return brief_at_start(workspace, finder, before, budget)
    if how == "touches":
        with suppress(SegueError):
            runs = summary_of_run(workspace, finder, before.found)
            what = "What you are asked for touches what the last run here did"
            return brief_of_touched(workspace, before, runs, prompt, what, left)
    is_lately = time.time() - before.found.changed < LATELY_SECONDS
    return brief_for_other_work(workspace, before, entries, is_unfinished=left != "finished" and is_lately)


def _left(workspace: Workspace, finder: RunFinder, found: Found) -> tuple[Left, str]:
    """How a run left its work, and its last words."""
    try:
        digest = digest_of(workspace, finder, found)
    except SegueError:
        return "cut off", ""
    last = digest.says[-1].text if digest.says else ""
    if left_of(digest) not in ("turn", "ended"):
        return "cut off", last
    is_called_done = any(claims_done(one) for one in sentences(last))
    is_unfinished = says_unfinished(last[-CLOSING_CHARS:]) and not is_called_done
    return "unfinished" if is_unfinished else "finished", last


def _brief_of_earlier(
    workspace: Workspace, finder: RunFinder, referred: Found, prompt: str, budget: int
) -> HookBrief:
    """The brief of an earlier run that a prompt is about: at length if its work is not finished, or if the
    prompt names the run."""
    at = time.strftime("%Y-%m-%d", time.gmtime(referred.changed))
    shown = f"told of the run of {at} that worked on this"
    entries = entries_of_runs(workspace, finder, [referred], alone=True)
    is_named = referred.native[:8] in prompt
    left, _ = _left(workspace, finder, referred)
    if is_named or relevance(prompt, entries, is_cut_off=left == "cut off") == "goes_on":
        notice = f"what you are asked for was worked on in this run of {at}; a later run here did other work"
        brief = brief_of_run(workspace, finder, referred, budget, (notice,), alone=True)
    else:
        what = "What you are asked for touches what an earlier run here did, before other work"
        try:
            runs = summary_of_run(workspace, finder, referred, alone=True)
        except SegueError:
            return HookBrief()
        brief = brief_of_touched(workspace, Predecessor(), runs, prompt, what, left)
    return replace(brief, shown=shown)


def _run_referred_to(
    workspace: Workspace, finder: RunFinder, prompt: str, newest: Found, *, is_other: bool
) -> Found | None:
    """The run of another session whose work a prompt is about: it names the run, or shares what the work of
    its session is about."""
    if finder.runs is None:
        return None
    projects = workspace.working_tree.project_keys(workspace.settings)
    mine = own_subjects(prompt)
    seen: dict[str, bool] = {}
    rows = finder.runs.rows(projects=projects)[:ROWS_MAX]
    own = next((row.session for row in rows if row.native == newest.native), "")
    for row in rows:
        run = run_in(row)
        if run is None or run.side or row.native == newest.native or not row.session:
            continue
        if len(row.native) >= 8 and row.native[:8] in prompt:
            return found_of(row)
        if row.session not in seen and row.session != own and len(seen) < SESSIONS_MAX:
            seen[row.session] = _is_about(workspace, row.session, mine, is_other=is_other)
            if seen[row.session]:
                return found_of(row)
    return _unfiled_run_about(finder, mine, newest, is_other=is_other)


def _unfiled_run_about(
    finder: RunFinder, mine: frozenset[str], newest: Found, *, is_other: bool
) -> Found | None:
    """The newest run about these things of those that no sync has filed: one that was killed, and after which
    other work came."""
    left = UNHEARD_BYTES_MAX
    for found in islice(runs_meant(finder), ROWS_MAX):
        row = finder.row(found)
        is_filed = row is not None and row.session
        if is_filed or found.native in (newest.native, finder.asking) or not is_here(finder, found):
            continue
        left -= found.size
        if left < 0:
            return None
        with suppress(SegueError, OSError):
            texts = [one.text for one in finder.sayings(found) if isinstance(one, Message)]
            if _is_about_same(texts, mine, is_other=is_other):
                return found
    return None


def _is_about(workspace: Workspace, session: str, mine: frozenset[str], *, is_other: bool) -> bool:
    try:
        state = workspace.repository.state(session)
    except SegueError:
        return False
    texts = [state.goal, *(e.text for e in state.said if e.kind in ("request", "item", "choice"))]
    return _is_about_same(texts, mine, is_other=is_other)


def _is_about_same(texts: Sequence[str], mine: frozenset[str], *, is_other: bool) -> bool:
    about = frozenset[str]().union(*(subjects_of(text[:1_000]) for text in texts[-40:]))
    shared = len(mine & about)
    if not is_other and shared >= SHARED_IF_GOES_ON_MIN:
        return 100 * shared >= SHARED_IF_GOES_ON_PERCENT * len(mine)
    return shared >= SHARED_MIN and 100 * shared >= SHARED_PERCENT * len(mine)


# -- a plan of an earlier run


def _brief_for_plan(workspace: Workspace, finder: RunFinder, before: Predecessor, prompt: str) -> HookBrief:
    """What was said while a plan was made and is not in it, and what lies uncommitted."""
    planned = _run_of_plan(workspace, finder, prompt)
    if planned is None:
        heard = entries_of_runs(workspace, finder, [before.found]) if before.found is not None else ()
        return brief_for_other_work(workspace, before, heard, is_unfinished=False)
    known = entries_of_runs(workspace, finder, [planned])
    own = [e for e in known if e.run == run_name(planned)]
    is_short = sum(e.kind == "request" for e in own) <= ONE_MATTER_MAX
    about = own_subjects(prompt)
    rules = {e.id for e in rules_alone(known) if is_for_ever(e.text)}
    of_plan = {e.id for e in own if is_short or about & own_subjects(f"{e.text} {e.answers}")}
    entries = [e for e in known if e.state in HOLDING and (e.id in rules or e.id in of_plan)]
    missing = lacking([e for e in entries if e.kind in ("rule", "permission", "choice", "attempt")], prompt)
    refused = lacking(
        [
            e
            for e in entries
            if e.kind == "request"
            and e.relation in ("corrects", "withdraws")
            and len(e.text) < PLAN_CHARS_MIN
        ],
        prompt,
    )
    lines = [
        *line_of(Label.RULES, [e for e in missing if e.kind in ("rule", "permission")]),
        *line_of(Label.DECIDED, [e for e in missing if e.kind == "choice"]),
        *line_of(Label.TRIED, [e for e in missing if e.kind == "attempt"]),
        *line_of(Label.USER, refused),
    ]
    lines += notice_lines(workspace, Predecessor()) + line_of_uncommitted(workspace)
    if not lines:
        return HookBrief()
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(planned.changed))
    id = plain(short_run(planned.native))
    head = f"{OPENING} Said while this plan was made ({planned.agent} {id}, {at}) and not in it:"
    return HookBrief(
        short_brief([head, *lines]), runs=(finder.key(planned),), shown="told what the plan leaves out"
    )


def _run_of_plan(workspace: Workspace, finder: RunFinder, prompt: str) -> Found | None:
    """The run in which a plan was made: the prompt names its transcript, or it showed the user a plan with
    this title."""
    if named := _TRANSCRIPT.search(prompt):
        return next((found for found in finder.found() if found.native == named[1]), None)
    title = _TITLE.search(prompt)
    if title is None:
        return None
    left = UNHEARD_BYTES_MAX
    for found in islice(runs_meant(finder, but=lambda run: run.native == finder.asking), PLANNERS_MAX):
        if left <= 0:
            return None
        left -= found.size
        with suppress(SegueError):
            shown = (step for step in digest_of(workspace, finder, found).trail if is_plan_shown(step))
            if is_here(finder, found) and any(title[1] in step.text for step in shown):
                return found
    return None


# -- a pause


def brief_after_rest(workspace: Workspace, finder: RunFinder, own: Found, rested_seconds: float) -> HookBrief:
    """What changed while a conversation rested; empty if nothing did."""
    since = time.time() - rested_seconds
    lines: list[str] = []
    if workspace.sees_tree and workspace.folder.is_dir():
        now = probe(workspace.folder, since, own=own_files(workspace.home, workspace.working_tree.root))
        if now.commits:
            subjects = whole_texts([quote(one) for one in now.commits], SUBJECTS_BYTES, "; ")
            lines.append(f"Committed since: {subjects}.")
    lines += _runs_since(workspace, finder, own, since)
    if not lines:
        return HookBrief()
    hours = f"{rested_seconds / 3_600:.0f}"
    head = f"{OPENING} While this conversation rested for {hours} hours:"
    return HookBrief(short_brief([head, *lines]), own=True)


def _runs_since(workspace: Workspace, finder: RunFinder, own: Found, since: float) -> list[str]:
    others: list[Found] = []
    for run in finder.found():
        if run.changed < since or len(others) >= 4:
            break
        if run.native != own.native and not run.parent:
            others.append(run)
    line = line_of_others(workspace, finder, others, "worked here meanwhile")
    return [f"{line}."] if line else []


def rested_seconds(event: HookEvent) -> float:
    """How long the transcript of a run was not written to."""
    try:
        return time.time() - Path(event.transcript).stat().st_mtime if event.transcript else 0.0
    except OSError:
        return 0.0
