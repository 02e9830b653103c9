"""Gathering the facts of a brief: runs, session, features, memories, claims of a model, and the working tree
now.

This is the only caller of ``core.brief.facts``. Briefs on the command line, in hooks and on a server,
manifests, restorations, handoffs, handovers and prompts are all made from here, so that they agree.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...agents import agent as agent_of, traits_of
from ...agents.base import Found
from ...core import event_kinds as ev
from ...core.base.values import Value
from ...core.brief.facts import BriefFacts, Probe, facts
from ...core.brief.page import plain
from ...core.runs.digest import fold
from ...core.runs.identifiers import short_run
from ...core.runs.model import Open, RunDigest, TrailStep
from ...core.runs.sentences import is_substantial
from ...core.runs.shell_commands import parse_shell
from ...core.sessions.state import SessionState
from ...effects.git.probe import probe
from ...errors import SegueError, UnknownRun
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.read_transcript import final, masked, read, recognised, unreadable
from ..runs.select import earlier_runs, newest_run, run_of_transcript
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .delivered import stream_of_run
from .notices import notices_of

RUNS_MAX = 3


class RunsSummary(Value):
    """The digests of the runs of a piece of work, the newest first."""

    digests: tuple[RunDigest, ...] = ()
    """Digests, masked."""
    agent: str = ""
    """The agent of the newest run."""
    run: str = ""
    """The id of the newest run."""


def summary_of_run(workspace: Workspace, finder: RunFinder, found: Found) -> RunsSummary:
    """A run and earlier runs of the same work. Raises SegueError if the run cannot be read."""
    digest = digest_of(workspace, finder, found)
    row = finder.row(found)
    older = _older(workspace, finder, found, digest, row.session if row is not None else "")
    return RunsSummary((digest, *older), found.agent, found.native)


def summary_of_transcript(path: Path, agent: str = "") -> RunsSummary:
    """The run of a transcript alone. Raises TranscriptUnreadable."""
    author = recognised(path, agent, own_formats=True)
    digest = masked(final(read(path, author), author))
    return RunsSummary((digest,), author.name, digest.native)


def summary_of_messages(messages: Sequence[Mapping[str, Any]]) -> RunsSummary:
    """The conversation of a program, as it has it in memory. Raises TranscriptUnreadable."""
    from ...agents.message_format import checked_messages

    checked_messages(list(messages), "the messages")
    author = agent_of("messages")
    digest = masked(fold(author.reader().read(msgspec.json.encode(messages))))
    return RunsSummary((digest,), author.name)


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
    return RunsSummary(tuple(digest for _, digest in sent), newest.agent, newest.native)


def digest_of(workspace: Workspace, finder: RunFinder, found: Found) -> RunDigest:
    """The digest of a run, masked, including calls under way that only a hook saw."""
    key, agent = finder.key(found), agent_of(found.agent)
    digest = finder.digests.get(key)
    if digest is None:
        digest = masked(final(finder.reading(found), agent))
        if traits_of(agent).calls_seen_by_hooks_only:
            _add_hooked_calls(digest, workspace, found)
        if finder.remembers:
            finder.digests[key] = digest
    return digest


def _add_hooked_calls(digest: RunDigest, workspace: Workspace, found: Found) -> None:
    for call in _hooked_calls(workspace, found):
        what = parse_shell(call.text).short or call.tool
        id, at = f"hook-{call.id}", digest.steps + 1
        digest.pending[id] = Open(at, call.tool, "run", what, call.text)
        digest.trail.append(TrailStep("run", at, tool=call.tool, id=id, command=call.text))
        digest.ended = None


def _hooked_calls(workspace: Workspace, found: Found) -> list[ev.RunHooked]:
    """Calls that hooks saw begin but not end, unless a prompt or the end of the turn came after."""
    waiting: list[ev.RunHooked] = []
    for event in workspace.store.read(stream_of_run(found.agent, found.native)):
        body = ev.read_body(event)
        if not isinstance(body, ev.RunHooked):
            continue
        if body.kind == "tool" and not body.done:
            waiting.append(body)
        elif body.kind == "tool":
            same = next((call for call in waiting if (call.tool, call.text) == (body.tool, body.text)), None)
            if same is not None:
                waiting.remove(same)
        elif body.kind in ("stop", "prompt", "end"):
            waiting = []
    return waiting


def _older(
    workspace: Workspace, finder: RunFinder, newest: Found, digest: RunDigest, session: str
) -> list[RunDigest]:
    """Runs before the newest: of its session, or just the one before if the newest has no content yet."""
    is_empty = not digest.inherited and not any(is_substantial(prompt.text) for prompt in digest.prompts)
    if not session and not is_empty:
        return []
    older: list[RunDigest] = []
    for run in earlier_runs(finder, newest, session="" if is_empty else session):
        try:
            older.append(digest_of(workspace, finder, run))
        except SegueError:
            continue
        if len(older) + 1 >= RUNS_MAX or is_empty:
            break
    return older


def gather(
    workspace: Workspace | None, state: SessionState | None, runs: RunsSummary, *, world: Probe | None = None,
    memories: Sequence[str] | None = None, covers: bool = True,
) -> BriefFacts:  # fmt: skip
    """The facts about a piece of work.

    ``memories`` are those to mention, if the caller has recalled them already. ``covers`` reads the files
    that the session's features cover, so that stale proofs are recognised."""
    if workspace is None:
        return facts(runs.digests, state, world, memories or (), agent=runs.agent)
    covered = None
    if covers and state is not None and state.features:
        from ..features.features import Features

        covered = Features(SessionHandle(workspace, state.id)).covered(state)
    if memories is None:
        from .relevant_memories import memory_lines

        memories = memory_lines(workspace, state, runs.digests)
    known = facts(runs.digests, state, world, memories, agent=runs.agent, covered=covered)
    known.notices = notices_of(workspace)
    if runs.run:
        from .model_claims import claims_of

        known.claims = claims_of(workspace.home, runs.run, known)
    return known


def world_now(workspace: Workspace, runs: RunsSummary) -> Probe:
    """A probe of the working tree, with commits since the newest run; on a server, only the time."""
    if not workspace.sees_tree:
        return Probe(now=time.time())
    return probe(workspace.folder, runs.digests[0].last if runs.digests else 0.0)


def command_for_more(runs: RunsSummary, state: SessionState | None) -> str:
    """The command that shows what a brief had to leave out; empty if there is nothing to show."""
    if runs.run:
        return f"segue show {plain(short_run(runs.run))} --timeline"
    return f"segue show {state.id}" if state is not None else ""
