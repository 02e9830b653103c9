"""The rung of transcripts: a session that no store, backup or emergency file has, as its runs tell it.

The archive knows which session each run belonged to. What was declared is lost then; goal, plan and
decisions come back as the agents wrote them down, in a session that says so. Nothing else is made up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from ....agents import agent as agent_of
from ....agents.base import Found
from ....core.base.values import iso
from ....core.language import sentences
from ....core.runs.model import RunDigest
from ....core.runs.shared_copies import PREFIX, stream_of
from ....core.sessions import commands as do
from ....core.sessions.commands import Command
from ....effects.files.archive import Archive, Copy, CopyOwner
from ....errors import SegueError
from ....settings import resolve
from ....stores.base import Store
from ...runs.discovery import RunFinder
from ...runs.read_transcript import final
from ...runs.run import goal_of, lead_of, run_in
from ...runs.shared_copies import SharedCopies
from ...workspace.data_folder import DataFolder
from .lost_state import TEXT_CHARS, LostSession, SourceWords, shortened
from .result import Rung

DECISIONS_MAX = 12
WORDS = SourceWords(
    "transcript", Rung("transcript", "ok", "no session is known from transcripts alone"),
    "the transcripts say nothing about", "recovered from a transcript",
)  # fmt: skip


def lost_sessions(
    home: DataFolder, there: Collection[str], journal: Store | None = None
) -> list[LostSession]:
    """Sessions that only copies of transcripts name; with a ``journal`` that is shared, copies in it too."""
    archive = Archive(home.transcripts)
    found: dict[str, list[Copy]] = {}
    copies = archive.copies()
    if journal is not None:
        own = {copy.about.key for copy in copies}
        copies += [copy for copy in _shared(journal) if copy.about.key not in own]
    for copy in copies:
        ours = copy.about.store in ("", str(home.database))
        if copy.session and ours and copy.session not in there and not home.archived(copy.session).is_file():
            found.setdefault(copy.session, []).append(copy)
    shelf = SharedCopies(journal) if journal is not None else None
    finder = RunFinder(home.path, {}, archive=archive, copies=shelf)
    lost = "what was declared is lost; the rest comes from a transcript"
    return [
        LostSession(session, _commands(session, copies, _digests(copies, finder)), lost)
        for session, copies in found.items()
    ]


def sessions_of_copies(home: DataFolder) -> frozenset[str]:
    """Sessions of this store that archived transcripts belong to; none if the archive cannot be read."""
    if not home.transcripts.is_file():
        return frozenset()
    with suppress(SegueError):
        copies = Archive(home.transcripts).copies()
        return frozenset(c.session for c in copies if c.about.store in ("", str(home.database)))
    return frozenset()


def _shared(journal: Store) -> list[Copy]:
    """Copies that are in the store, the oldest first. Those of a session that was archived left with it."""
    there = {name for name, _ in journal.streams(PREFIX)}
    found = []
    for row in sorted(journal.runs.rows(), key=lambda row: row.last) if there else ():
        if stream_of(row.key) in there:
            run = run_in(row)
            parent = lead_of(run) if run is not None else ""
            about = CopyOwner(row.key, row.agent, row.native, row.path, row.cwd, row.project, parent=parent)
            found.append(Copy(about, row.session, row.last, (), b"", b""))
    return found


def _digests(copies: list[Copy], finder: RunFinder) -> list[RunDigest]:
    """What can be read of these, the oldest first; what a sub-agent did stands in its parent's."""
    digests: list[RunDigest] = []
    for copy in copies:
        about = copy.about
        if not about.parent:
            with suppress(SegueError):
                reading = finder.reading(Found(about.agent, about.path, about.native, copy.last))
                digests.append(final(reading, agent_of(about.agent)))
    return sorted(digests, key=lambda one: one.began)


def _commands(session: str, copies: list[Copy], digests: list[RunDigest]) -> list[Command]:
    """The session as commands: goal, plan with states, decisions, and where it all comes from."""
    goal = next(filter(None, map(goal_of, digests)), "")
    if not goal:
        return []
    about = copies[-1].about
    runs = ", ".join(f"{copy.about.agent} {copy.about.native}" for copy in copies if not copy.about.parent)
    source = f"recovered from the transcript of {runs}, last active {iso(copies[-1].last)[:16]}"
    organization = resolve().text("organization")
    create = do.Create(session, goal, organization, about.project, project_name=about.project_name)
    wishes: list[Command] = [create]
    wishes += _plan(digests)
    decided = dict.fromkeys(text for digest in digests for text in _decisions(digest))
    wishes += [do.Decide(text) for text in decided if text]
    wishes.append(do.Note(f"{source}; what was declared is lost"))
    return wishes


def _decisions(digest: RunDigest) -> list[str]:
    """What was decided: answers of the user, and choices that the agent told."""
    told = (one for words in digest.says for one in sentences.sentences(words.text))
    choices = [one for one in told if len(one) <= TEXT_CHARS and sentences.is_choice(one)]
    answers = [words.text for words in digest.decided]
    return [_short(text) for text in [*answers, *choices[-DECISIONS_MAX:]]]


def _plan(digests: list[RunDigest]) -> list[Command]:
    planned = next((digest for digest in reversed(digests) if digest.plan), None)
    if planned is not None:
        rows = [(_short(item[0]), item[1]) for item in planned.plan]
    else:
        drawn = next((digest for digest in reversed(digests) if digest.sketch or digest.sketch_done), None)
        if drawn is None:
            return []
        rows = [(_short(text), "done") for text in drawn.sketch_done]
        rows += [(_short(text), "pending") for text in drawn.sketch]
    wishes: list[Command] = []
    for text, state in rows:
        if text:
            wishes.append(do.Add(text))
            if state in _STATES:
                wishes.append(_STATES[state](text))
    return wishes


_STATES: dict[str, Callable[[str], Command]] = {"done": do.Done, "active": do.Begin, "dropped": do.Drop}


def _short(text: str) -> str:
    return shortened(" ".join(text.split()).lstrip("#"))
