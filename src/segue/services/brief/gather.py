"""Gathering the facts of a brief: runs, session, features, memories, claims of a model, and the working tree
now.

Briefs on the command line, in hooks and on a server, manifests, restorations, handoffs, handovers and prompts
are all made from here, so that they agree; only those of a transcript alone need no more than
``runs_summary.py``.

What was said comes from the ledger of the run's session, and from what was said since it was kept. A run that
did nothing is told together with the run before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ...agents import agent as agent_of, traits_of
from ...agents.base import Found
from ...agents.hooks import hooks_of
from ...core import event_kinds as ev
from ...core.base.page import plain
from ...core.base.values import seconds_of
from ...core.brief.code_changes import with_places
from ...core.brief.empty_runs import did_nothing, joined_with_empty
from ...core.brief.facts import BriefFacts, Probe
from ...core.brief.requests import is_weak
from ...core.language.sentences import is_assent
from ...core.ledger.model import Entry
from ...core.runs.brief_text import read_brief
from ...core.runs.events import BriefGiven
from ...core.runs.identifiers import short_run
from ...core.runs.model import Open, RunDigest, TrailStep
from ...core.runs.shell_commands import parse_shell
from ...core.runs.steps import EDITS, Act, Change
from ...core.sessions.state import SessionState
from ...effects.git.probe import probe
from ...errors import SegueError, UnknownRun
from ..ledger.work import WorkLedger, ledger_of_work
from ..runs.assign_session import has_observed_goal, is_work_of, session_gone_on_with
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.read_transcript import final, masked_reading, unreadable
from ..runs.run import WENT_ON_SECONDS, left_of, opening_of
from ..runs.run_stream import brief_given, stream_of_run
from ..runs.select import (
    LOOKED_AT,
    earlier_runs,
    is_here,
    is_known_alive,
    is_same_tree,
    newest_run,
    run_of_transcript,
)
from ..workspace.open_session import find_session
from ..workspace.own_files import own_files
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .notices import notices_of
from .runs_summary import RunsSummary, facts_of_runs, summary_of_transcript

RUNS_MAX = 4
"""How many digests are read for one brief."""
NOT_TAKEN_UP = BriefGiven("brief", "", 0, "", "")
"""Stands for the brief of a run that did something else than what it was told of."""
CHAIN_MAX = 16
"""How many of the runs before are recorded with a brief."""


def summary_of_run(
    workspace: Workspace, finder: RunFinder, found: Found, *, alone: bool = False
) -> RunsSummary:
    """A run, with those before it that it must be told together with; ``alone`` leaves out what other runs
    said that nobody heard. Raises SegueError if the run cannot be read."""
    line = [found]
    digests = [digest_of(workspace, finder, found)]
    while len(line) < RUNS_MAX and did_nothing(digests[-1]):
        before = _run_before_empty(workspace, finder, line[-1], len(line))
        if before is None:
            break
        try:
            digests.append(digest_of(workspace, finder, before))
        except SegueError:
            break
        line.append(before)
    main = next((at for at, digest in enumerate(digests) if not did_nothing(digest)), len(line) - 1)
    known = [line[main], *line[:main], *line[main + 1 :]]
    taken_up = [key for run in line for key in runs_taken_up(workspace, finder, run)]
    work = _ledger_of_runs(workspace, finder, line, alone=alone)
    keys = dict.fromkeys([*map(finder.key, known), *taken_up, *map(finder.key, reversed(work.unheard))])
    elsewhere = "" if is_here(finder, line[main]) else line[main].cwd
    return RunsSummary(
        tuple(joined_with_empty(digests)), line[main].agent, line[main].native, line[main], elsewhere,
        tuple(keys)[:CHAIN_MAX], tuple(_ended_at_once(one) for one in line[:main][:1]),
        work.entries,
    )  # fmt: skip


def _ended_at_once(found: Found) -> str:
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found.changed))
    return f"a later run ({found.agent}, {at}) ended before it changed anything"


def entries_of_runs(
    workspace: Workspace, finder: RunFinder, line: Sequence[Found], *, alone: bool = False
) -> tuple[Entry, ...]:
    """The ledger of the work that runs are about, with what they said since it was kept; ``alone`` leaves out
    what other runs of the working tree said that nobody heard."""
    return _ledger_of_runs(workspace, finder, line, alone=alone).entries


def _ledger_of_runs(
    workspace: Workspace, finder: RunFinder, line: Sequence[Found], *, alone: bool
) -> WorkLedger:
    session = next(filter(None, (session_of_run(workspace, finder, run) for run in line)), "")
    state = _state(workspace, session)
    current = _state(workspace, workspace.current_session()) if state is None else None
    return ledger_of_work(finder, state, line, rules_of=current, alone=alone)


def _state(workspace: Workspace, session: str) -> SessionState | None:
    if not session:
        return None
    try:
        return find_session(workspace, session).state
    except SegueError:
        last = workspace.last_seen(session)
        return last.state if last is not None else None


def _stopped_before(workspace: Workspace, finder: RunFinder, run: Found) -> Iterator[Found]:
    """The runs before a run in its working tree, without those that are still at work: their work is
    theirs."""
    return (one for one in earlier_runs(finder, run) if not is_at_work(workspace, finder, one))


def _run_before_empty(workspace: Workspace, finder: RunFinder, empty: Found, read: int) -> Found | None:
    """The run before one that did nothing: of those that it was told of the newest, which may have done
    nothing either; in the end the one that it was told of first, which did something."""
    about = runs_taken_up(workspace, finder, empty)
    earlier = _stopped_before(workspace, finder, empty)
    if not about:
        return next(earlier, None)
    wanted = about if read < RUNS_MAX - 1 else about[:1]
    return next((run for run in islice(earlier, LOOKED_AT) if finder.key(run) in wanted), None)


def summary_of_session(
    workspace: Workspace, state: SessionState | None, *, transcript: Path | None = None, agent: str = "",
    run: str = "",
) -> RunsSummary:  # fmt: skip
    """The newest runs of a session, or without one of this project; empty if none can be read.

    ``transcript`` names another run instead, together with ``run`` where several conversations share a file.
    What was named must be there: a transcript that cannot be read raises TranscriptUnreadable, an ``agent``
    that has no run here raises UnknownRun."""
    if not workspace.sees_tree:
        return _sent(workspace, state.id) if state is not None else RunsSummary()
    finder = runs_of(workspace).finder()
    if transcript is not None:
        found = run_of_transcript(finder, str(transcript), agent=agent, run=run)
        if found is not None:
            return summary_of_run(workspace, finder, found)
        runs = summary_of_transcript(transcript, agent)
        if not runs.digests[0].steps:
            raise unreadable(transcript, f"it has nothing that {agent_of(runs.agent).title} writes")
        return runs
    session = state.id if state is not None else ""
    if agent:
        found = newest_run(finder, agent=agent, session=session)
        if found is None:
            raise UnknownRun(f"{agent} has left no run here", hint="`segue runs` lists those that are here")
        return summary_of_run(workspace, finder, found)
    try:
        found = newest_run(finder, session=session)
        return summary_of_run(workspace, finder, found) if found is not None else RunsSummary()
    except (SegueError, OSError):
        return RunsSummary()


def _sent(workspace: Workspace, session: str) -> RunsSummary:
    from ..runs.sent_runs import sent_runs_of

    sent = sent_runs_of(workspace, session)
    if not sent:
        return RunsSummary()
    newest, _ = sent[0]
    entries = tuple(state.said) if (state := _state(workspace, session)) is not None else ()
    digests = joined_with_empty([digest for _, digest in sent])
    return RunsSummary(tuple(digests), newest.agent, newest.native, entries=entries)


def session_of_run(workspace: Workspace, finder: RunFinder, found: Found, *, deep: int = 0) -> str:
    """The session of a run: its own, that of the work that it was told to take up, or, of a run that nobody
    filed yet, the one that is current where it worked if its first message goes on with that, or that of the
    run before if it did nothing; empty if unknown."""
    row = finder.row(found)
    if row is not None and row.session:
        return row.session
    given = brief_given_to(workspace, finder, found)
    digest = digest_of(workspace, finder, found)
    told = (given.session or _session_of_keys(finder, given.runs)) if given is not None else ""
    if told or given is NOT_TAKEN_UP:
        state = _state(workspace, told)
        return told if state is None or is_work_of(state, opening_of(digest)) else ""
    session = session_gone_on_with(workspace, digest, is_here=is_here(finder, found))
    if session or deep >= RUNS_MAX or not did_nothing(digest):
        return session
    before = _run_before_empty(workspace, finder, found, deep)
    return session_of_run(workspace, finder, before, deep=deep + 1) if before is not None else ""


def _session_of_keys(finder: RunFinder, keys: Sequence[str]) -> str:
    """The session of the first of these runs that has one by now."""
    if finder.runs is None:
        return ""
    rows = (finder.runs.get(key) for key in keys)
    return next((row.session for row in rows if row is not None and row.session), "")


def is_at_work(workspace: Workspace, finder: RunFinder, found: Found) -> bool:
    """Whether a run's process lives, by what its agent or a hook of it says, and its turn is not over."""
    if not is_known_alive(finder, found):
        return False
    try:
        return left_of(digest_of(workspace, finder, found)) == "middle"
    except SegueError:
        return False


def task_of_run(workspace: Workspace, finder: RunFinder, found: Found) -> str:
    """What a run was asked to do; empty if it cannot be read."""
    try:
        digest = digest_of(workspace, finder, found)
        opening = opening_of(digest)
        if opening and not is_assent(opening):
            return opening
        given = brief_given_to(workspace, finder, found)
        told = read_brief(given.text).requests if given is not None else ()
        if told:
            return told[-1]
        entries = entries_of_runs(workspace, finder, [found])
        return facts_of_runs(RunsSummary((digest,), entries=entries)).goal
    except SegueError:
        return ""


def brief_given_to(workspace: Workspace, finder: RunFinder, found: Found) -> BriefGiven | None:
    """The brief whose work a run took up; None if it was given none, ``NOT_TAKEN_UP`` if it did something
    else."""
    digest_of(workspace, finder, found)
    return finder.briefs.get(finder.key(found))


def runs_taken_up(workspace: Workspace, finder: RunFinder, found: Found) -> Sequence[str]:
    """The keys of the runs that a run was told of at its start, the newest first."""
    given = brief_given_to(workspace, finder, found)
    return given.runs if given is not None else ()


def digest_of(workspace: Workspace, finder: RunFinder, found: Found) -> RunDigest:
    """The digest of a run, masked, with what it inherited, and with prompts and calls that only hooks saw."""
    finder.remember()
    key, agent = finder.key(found), agent_of(found.agent)
    digest = finder.digests.get(key)
    if digest is None:
        reading = finder.reading(found)
        digest = masked_reading(reading, finder.with_prompts_seen(found, final(reading, agent)))
        finder.briefs[key] = _taken_up(workspace, finder, found, digest)
        if traits_of(agent).calls_seen_by_hooks_only:
            _add_hooked_calls(digest, found.agent, _hooked_calls(workspace, found))
        finder.digests[key] = digest
    return digest


def _taken_up(workspace: Workspace, finder: RunFinder, found: Found, digest: RunDigest) -> BriefGiven | None:
    """The brief that a run was given, or ``NOT_TAKEN_UP`` if it had a task of its own and the run that it was
    told of worked in another tree, or went on by itself."""
    if finder.runs is None:
        return None
    given = brief_given(workspace.store, found.agent, found.native)
    if given is None or not given.runs or all(is_weak(message.text) for message in digest.prompts):
        return given
    runs = islice(finder.found(), LOOKED_AT)
    before = next((run for run in runs if finder.key(run) == given.runs[0]), None)
    if before is None or not digest.began:
        return given
    elsewhere = not is_same_tree(finder, found, before)
    return NOT_TAKEN_UP if elsewhere or _went_on(finder, before, digest.began) else given


def _went_on(finder: RunFinder, run: Found, began: float) -> bool:
    """Whether a run was still at work after another one began; what is only written down at its end does not
    count."""
    if run.changed <= began + WENT_ON_SECONDS:
        return False
    try:
        return final(finder.reading(run), agent_of(run.agent)).last > began + WENT_ON_SECONDS
    except SegueError:
        return False


def _add_hooked_calls(digest: RunDigest, agent: str, calls: _HookedCalls) -> None:
    if calls.is_turn_open and digest.ended is not None and digest.ended.text == "turn":
        digest.ended = None  # its last message may have been followed by a call that it has not written
    acts = getattr(hooks_of(agent), "acts", {})
    for call, began in calls.cut_off:
        is_last = digest.last <= began or not calls.is_asked_since
        place = len(digest.trail) if is_last else _place_of_last_prompt(digest.trail)
        _add_call(digest, call, acts.get(call.tool, "run"), place)
    for call, _ in calls.waiting:
        _add_call(digest, call, acts.get(call.tool, "run"), len(digest.trail))


def _place_of_last_prompt(trail: Sequence[TrailStep]) -> int:
    """Where the last prompt stands, if nothing was called since; else the end. A resumed agent may write
    words of its own, or nothing, before it calls anything."""
    for place in range(len(trail) - 1, -1, -1):
        if trail[place].kind == "prompt":
            return place
        if trail[place].kind not in ("say", "notice"):
            break
    return len(trail)


def _add_call(digest: RunDigest, call: ev.RunHooked, act: Act, place: int) -> None:
    at = digest.trail[place].at if place < len(digest.trail) else digest.steps + 1
    id, is_run = f"hook-{call.id}", act == "run"
    command, paths = (call.text, ()) if is_run else ("", (call.text,) if call.text else ())
    what = parse_shell(command).short if is_run else call.text
    changes = (Change(call.text, "create" if act == "create" else "edit"),) if paths and act in EDITS else ()
    digest.pending[id] = Open(at, call.tool, act, what or call.tool, command, paths)
    step = TrailStep(act, at, tool=call.tool, id=id, command=command, paths=paths, changes=changes)
    digest.trail.insert(place, step)
    digest.ended = None


class _HookedCalls(NamedTuple):
    """Calls that hooks saw begin but not end, each with when it began."""

    cut_off: list[tuple[ev.RunHooked, float]]
    """The process died in them, and the run was resumed and has called nothing since."""
    waiting: list[tuple[ev.RunHooked, float]]
    """Neither a prompt nor the end of the turn came after them."""
    is_turn_open: bool = False
    """Whether a prompt was seen, and not the end of its turn."""
    is_asked_since: bool = False
    """Whether a prompt was seen after the resume."""


def _hooked_calls(workspace: Workspace, found: Found) -> _HookedCalls:
    calls = _HookedCalls([], [])
    for event in workspace.store.read(stream_of_run(found.agent, found.native)):
        body = ev.read_body(event)
        if isinstance(body, BriefGiven) and body.source == "resume":
            calls = calls._replace(cut_off=calls.waiting or calls.cut_off, waiting=[], is_asked_since=False)
        if not isinstance(body, ev.RunHooked):
            continue
        if body.kind == "tool" and not body.done:
            calls = calls._replace(cut_off=[], waiting=[*calls.waiting, (body, seconds_of(event.at))])
        elif body.kind == "tool":
            begun = [call for call, _ in calls.waiting]
            same = next((at for at, one in enumerate(begun) if _is_same_call(one, body)), None)
            if same is not None:
                del calls.waiting[same]
        elif body.kind == "prompt":
            calls = calls._replace(waiting=[], is_turn_open=True, is_asked_since=True)
        elif body.kind in ("stop", "end"):
            calls = _HookedCalls([], [])
    return calls


def _is_same_call(one: ev.RunHooked, other: ev.RunHooked) -> bool:
    return (one.tool, one.text) == (other.tool, other.text)


def _has_memories(workspace: Workspace) -> bool:
    """Whether there is anything to recall, as far as the store tells that without loading more."""
    try:
        return getattr(workspace.store, "has_memories", lambda: True)() is not False
    except (SegueError, OSError):
        return False


def gather(
    workspace: Workspace, state: SessionState | None, runs: RunsSummary, *, world: Probe | None = None,
    memories: Sequence[str] | None = None, covers: bool = True, handover: bool = True,
    by_meaning: bool = False,
) -> BriefFacts:  # fmt: skip
    """The facts about a piece of work.

    ``memories`` are those to mention, if the caller has recalled them already. ``covers`` reads the files
    that the session's features cover, so that stale proofs are recognised. ``handover`` is whether to mention
    one that was interrupted here. ``by_meaning`` recalls memories with the embedder, which a hook has no time
    for."""
    covered = None
    if covers and state is not None and state.features:
        from ..features.features import Features

        covered = Features(SessionHandle(workspace, state.id)).covered(state)
    if memories is None and _has_memories(workspace):
        from .relevant_memories import memory_lines

        memories = memory_lines(workspace, state, runs.digests, with_model=by_meaning)
    memories = memories or ()
    observed = state is not None and has_observed_goal(workspace, state)
    if state is not None and not runs.entries:
        runs = replace(runs, entries=tuple(state.said))
    known = facts_of_runs(runs, state, world, memories, covered=covered, observed=observed)
    if known.failing or any(digest.failures for digest in runs.digests[:1]):
        _add_pitfalls(workspace, known, runs)
    if runs.digests:
        _add_habits(workspace, known, runs.digests[0])
    if world is not None and world.dirty and not runs.elsewhere:
        from .edited_names import edited_names

        known.edited = edited_names(workspace, world)
        known.trail = with_places(known.trail, known.edited) if known.edited else known.trail
    known.notices = [*notices_of(workspace, state, handover=handover), *runs.notices]
    if runs.run:
        from .model_claims import claims_of

        known.claims = claims_of(workspace.home, runs.run, known)
    return known


def _add_pitfalls(workspace: Workspace, known: BriefFacts, runs: RunsSummary) -> None:
    """What mended a failure before that is there again; it is not told twice."""
    if not _has_memories(workspace):
        return
    from ..lessons.pitfalls import failing_lines, pitfalls

    failing = [*known.failing, *(f for digest in runs.digests[:1] for f in digest.failures.values())]
    found = pitfalls(workspace, failing_lines(failing), known.session)
    known.pitfalls = [one.line for one in found]
    errors = [one.error[:60] for one in found]
    known.memories = [text for text in known.memories if not any(error in text for error in errors)]


def _add_habits(workspace: Workspace, known: BriefFacts, digest: RunDigest) -> None:
    """What usually comes next here, and the rules that were accepted from what users said again and again."""
    from ..habits.told import habit_lines

    dirty = known.probe.dirty if known.probe is not None else ()
    found = habit_lines(workspace, digest, dirty)
    known.habits = found.next
    known.rules += [rule for rule in found.rules if rule not in known.rules]


def world_now(workspace: Workspace, runs: RunsSummary) -> Probe:
    """A probe of the working tree of the newest run, with commits since then; on a server, only the time."""
    if not workspace.sees_tree:
        return Probe(now=time.time())
    folder = Path(runs.elsewhere) if runs.elsewhere else workspace.folder
    if not folder.is_dir():
        return Probe(now=time.time())
    since = runs.digests[0].last if runs.digests else 0.0
    return probe(folder, since, own=own_files(workspace.home, workspace.working_tree.root))


def command_for_more(runs: RunsSummary, state: SessionState | None) -> str:
    """The command that shows what a brief had to leave out; empty if there is nothing to show."""
    if runs.run:
        return f"segue show {plain(short_run(runs.run))} --timeline"
    return f"segue show {state.id}" if state is not None else ""
