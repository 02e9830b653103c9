"""Briefs of a transcript, of a run, of a session, or of the present state of work in a project.

Nothing is shown unmasked: digests are redacted as a whole before anything is made of them, and the finished
text is redacted once more. Making a brief never creates a store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ...agents.base import Found
from ...core.brief.compose import BYTES_DEFAULT, BYTES_MIN, compose, marked_down
from ...core.brief.facts import BriefFacts
from ...core.sessions.state import OPEN, SessionState
from ...effects.git import repository as git
from ...effects.redaction.redact import redact, redact_bytes
from ...errors import BadName, BudgetTooSmall, StoreUnavailable, UnknownRun, UnknownSession
from ...settings import data_folder, store_of
from ..runs.assign_session import has_observed_goal
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.read_transcript import final, masked, read, recognised
from ..runs.select import find_run, newest_other_run, newest_run_elsewhere
from ..workspace.data_folder import DataFolder
from ..workspace.open_session import find_session
from ..workspace.open_workspace import for_looking, open_workspace, without_store
from ..workspace.workspace import Workspace
from .gather import (
    RunsSummary,
    command_for_more,
    digest_of,
    gather,
    session_of_run,
    summary_of_run,
    summary_of_session,
    summary_of_transcript,
    world_now,
)

if TYPE_CHECKING:
    from ...core.brief.manifest_words import Workplace
    from ...core.runs.quotable import RunText
    from ..workspace.last_seen import LastSeenSession

Format = Literal["text", "json", "markdown"]
MORE_BYTES = 8_192
_AFTER_ALL = 1 << 40
"""A step after all others."""
LONG_BYTES = 6_000
"""From this budget on, a brief also quotes the transcript; below it, quotes would crowd out facts."""


def brief_of_transcript(
    path: Path, agent: str = "", *, budget: int = BYTES_DEFAULT, form: Format = "text"
) -> str:
    """The brief of a transcript alone, without store or session. Raises TranscriptUnreadable."""
    check_budget(budget)
    more = f"segue brief FILE --max-bytes {max(MORE_BYTES, 4 * budget)}"
    more = more if len(more) < 110 else ""
    if not _has_room_for_quotes(budget, form):
        runs = summary_of_transcript(path, agent)
        return render_brief(gather(None, None, runs), budget=budget, form=form, more=more)
    from ...core.runs.quotable import RunTexts
    from ..runs.quoting import masked_blocks

    author, texts = recognised(path, agent, own_formats=True), RunTexts()
    digest = masked(final(read(path, author, also=texts.take), author))
    runs = RunsSummary((digest,), author.name, digest.native)
    quoted = masked_blocks(texts.blocks)
    return render_brief(gather(None, None, runs), runs, blocks=quoted, budget=budget, form=form, more=more)


def workspace_to_look(folder: Path, environment: Mapping[str, str]) -> Workspace:
    """A workspace for commands that only read. Where nothing was ever stored, nothing is created; while a
    shared store cannot be reached, the session is the one that was last seen."""
    empty = for_looking(folder, environment)
    if empty is not None:
        return empty
    try:
        return open_workspace(folder=folder, environment=environment)
    except StoreUnavailable:
        home = DataFolder(data_folder(environment)).for_store(store_of(environment))
        if not home.shared_store:
            raise
        from ..workspace.last_seen import last_here

        return without_store(folder, environment, last_here(home, folder))


def brief_here(
    workspace: Workspace, what: str = "", agent: str = "", *, budget: int = BYTES_DEFAULT,
    form: Format = "text",
) -> str:  # fmt: skip
    """The brief of a run or a session, or without an id of the present state of work in this project. Raises
    UnknownRun if there is nothing to tell."""
    check_budget(budget)
    finder = runs_of(workspace).finder()
    finder.remember()
    found: Found | None = None
    state: SessionState | None = None
    as_of = ""
    try:
        found = find_run(finder, what) if what else newest_other_run(finder, agent)
    except UnknownRun:
        state, as_of = _session(workspace, what, required=True)
        if not what and not as_of:
            found = _shared_run(workspace, finder, agent, state)
        if state is None and found is None:
            raise
    if found is None:
        runs = RunsSummary()
    elif what:
        runs = RunsSummary((digest_of(workspace, finder, found),), found.agent, found.native)
    else:
        runs = summary_of_run(workspace, finder, found)
        id = session_of_run(workspace, finder, found)
        state, as_of = _session(workspace, id)
        if not id and state is not None and has_observed_goal(workspace, state):
            state = None  # of another run
    known = gather(
        workspace, state, runs, world=world_now(workspace, runs), memories=() if as_of else None,
        covers=not as_of,
    )  # fmt: skip
    blocks: Sequence[RunText] = ()
    shown = runs.found or found
    if shown is not None and _has_room_for_quotes(budget, form):
        from ..runs.quoting import blocks_of

        blocks = [*blocks_of(finder, shown), *_uncommitted(workspace)]
    return render_brief(
        known, runs, blocks=blocks, budget=budget, form=form, more=command_for_more(runs, state) + as_of,
        place=_place(workspace, runs, form),
    )  # fmt: skip


def _uncommitted(workspace: Workspace) -> list[RunText]:
    """What git says is changed and not committed, file by file, to be quoted; empty without git."""
    root = workspace.working_tree.root
    if not workspace.sees_tree or git.find(root) is None:
        return []
    from ...core.runs.quotable import RunText
    from ...effects.git.hunks import HunkQuery
    from ..runs.quoting import masked_blocks

    files = HunkQuery(root).changes().files
    texts = [RunText("diff", file.path, file.text, _AFTER_ALL, file.path) for file in files]
    return masked_blocks(texts)


def transcript_here(workspace: Workspace, what: str = "", agent: str = "") -> tuple[Path, str]:
    """The transcript of the run that ``brief_here`` tells of, and its agent. Raises UnknownRun."""
    finder = runs_of(workspace).finder()
    found = find_run(finder, what) if what else newest_other_run(finder, agent)
    return Path(found.path), found.agent


def brief_of_session(
    workspace: Workspace, session: str, *, budget: int = BYTES_DEFAULT, form: Format = "text"
) -> str:
    """The brief of a session: its state, its newest runs, and memories. Raises UnknownSession."""
    check_budget(budget)
    state = find_session(workspace, session).state
    runs = summary_of_session(workspace, state)
    known = gather(workspace, state, runs, world=world_now(workspace, runs))
    shown = runs if workspace.sees_tree else RunsSummary()  # a server has no transcripts to show
    return render_brief(
        known, runs, budget=budget, form=form, more=command_for_more(shown, state),
        place=_place(workspace, runs, form),
    )  # fmt: skip


def _place(workspace: Workspace, runs: RunsSummary, form: Format) -> Workplace | None:
    """The place of work, which only a manifest tells."""
    if form != "json":
        return None
    from .workplace import workplace_of

    return workplace_of(workspace, runs)


def _shared_run(
    workspace: Workspace, finder: RunFinder, agent: str, state: SessionState | None
) -> Found | None:
    if finder.runs is None:
        return None
    projects = workspace.working_tree.project_keys(workspace.settings)
    session = state.id if state is not None else ""
    return newest_run_elsewhere(finder, session=session, projects=projects, agent=agent)


def _has_room_for_quotes(budget: int, form: Format) -> bool:
    return budget >= LONG_BYTES and form != "json"


def check_budget(budget: int) -> None:
    """Raise BudgetTooSmall for a budget in which no brief fits."""
    if budget < BYTES_MIN:
        raise BudgetTooSmall(
            f"a brief needs at least {BYTES_MIN} bytes, not {budget}",
            hint=f"give --max-bytes {BYTES_MIN} or more",
        )


def _session(workspace: Workspace, id: str, *, required: bool = False) -> tuple[SessionState | None, str]:
    """The session with this id, or the current one if it is open; None if there is none.

    While the store cannot be reached it is the one last seen, and the second part says so. If not even that
    is known there is none, unless it is ``required``: then StoreUnavailable is raised."""
    try:
        state = find_session(workspace, id).state
    except (UnknownSession, BadName, StoreUnavailable) as fault:
        last = workspace.last_seen(id or _current(workspace))
        if last is not None and (id or last.state.status in OPEN):
            return last.state, as_last_seen(last)
        if required and isinstance(fault, StoreUnavailable):
            raise
        return None, ""
    return (state, "") if id or state.status in OPEN else (None, "")


def _current(workspace: Workspace) -> str:
    try:
        return workspace.current_session()
    except StoreUnavailable:
        return ""


def as_last_seen(last: LastSeenSession) -> str:
    """A remark that a session is shown as it was last seen."""
    pending = f", {last.pending} pending" if last.pending else ""
    return f" (server unreachable; the session as of {last.at[:16]}Z{pending})"


def render_brief(
    known: BriefFacts, runs: RunsSummary | None = None, *, blocks: Sequence[RunText] = (),
    budget: int = BYTES_DEFAULT, form: Format = "text", more: str = "", place: Workplace | None = None,
) -> str:  # fmt: skip
    """A brief of these facts, masked, and within the budget even where masks are longer than the secrets.

    ``blocks`` are texts of the newest of ``runs`` to be quoted where there is room. ``more`` is a command
    that shows what was left out. ``place`` is for a manifest."""
    room = budget
    while True:
        if blocks and runs is not None and room >= LONG_BYTES:
            from ...core.brief.long_brief import account

            text = account(known, runs.digests[0], blocks, room, more, bullets=form == "markdown")
        else:
            text = _in_form(known, form, room, more, place)
        text = redact(text)
        over = len(text.encode("utf-8", "replace")) - budget
        if over <= 0:
            return text
        if room <= BYTES_MIN:  # masks are longer than what they hide: compose from masked texts
            known = msgspec.json.decode(redact_bytes(msgspec.json.encode(known)), type=BriefFacts)
            return redact(_in_form(known, form, budget, more, place))
        room = max(BYTES_MIN, room - over)


def _in_form(known: BriefFacts, form: Format, budget: int, more: str, place: Workplace | None) -> str:
    if form == "json":
        from ...core.brief.manifest import manifest

        return manifest(known, budget, more, place).decode()
    if form == "markdown":
        return marked_down(known, budget, more)
    return compose(known, budget, more)
