"""What a store lost, and what brings it back: emergency files, or sources that tell of a session.

The rungs of the ladder that need no damaged file are climbed here, for the embedded store and for a server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ....core import event_kinds as ev
from ....core.base.values import Value, count
from ....core.journal.histories import Missing
from ....core.sessions.cleaning import clean_command
from ....core.sessions.commands import Command, Refusal, decide_all
from ....core.sessions.rewind import difference
from ....core.sessions.state import SessionState
from ....effects.clock import now
from ....effects.redaction.redact import redact
from ....errors import ConflictError, RefusedError, StaleVersion, UsageError
from ....stores.base import Append, Journal
from ...resume import emergency
from ...sessions.repository import fold_all, stream_of
from ...workspace.data_folder import DataFolder
from ...workspace.workspace import Workspace
from ..rebuild import stale_snapshots
from .aside import put_aside
from .result import ACTOR, OF_A_STATE, Rung

TEXT_CHARS = 300


class LostSession(Value):
    """A session that no store has, as another source tells it."""

    id: str
    commands: list[Command]
    """What makes it anew; none if nothing of use is told."""
    lost: str
    """What does not come back."""
    where: str = ""

    @property
    def name(self) -> str:
        return f"{self.id} ({self.where})" if self.where else self.id


class SourceWords(Value):
    """What is said of a source that tells of sessions."""

    rung: str
    nothing: Rung
    """If it tells of no session that is lost."""
    useless: str
    used: str


def bring_back(
    words: SourceWords, lost: Sequence[LostSession], store: AbstractContextManager[Journal], *, dry_run: bool
) -> tuple[Rung, list[Missing]]:
    """Make sessions anew of what a source tells of them; what is still missing of those."""
    if not lost:
        return words.nothing, []
    names = ", ".join(one.name for one in lost)
    if dry_run:
        return Rung(words.rung, "ok", f"can be restored: {names}"), []
    with store as journal:
        back = [one for one in lost if _made_anew(journal, one)]
    if not back:
        return Rung(words.rung, "none", f"{words.useless} {names}"), []
    rung = Rung(words.rung, "used", f"{words.used}: {', '.join(one.name for one in back)}")
    return rung, [Missing(f"session/{one.id}", 0, 0, one.lost) for one in back]


def _made_anew(journal: Journal, lost: LostSession) -> bool:
    """Begin a session that is lost; False if it cannot be one, or is there after all."""
    try:
        clean = [clean_command(wish, redact) for wish in lost.commands]
        outcome = decide_all(SessionState(), clean, at=now(), actor=ACTOR, run="")
        if not clean or isinstance(outcome, Refusal):
            return False
        journal.append(Append(stream_of(lost.id), 0, outcome.drafts))
    except (UsageError, StaleVersion):
        return False
    return True


def shortened(text: str) -> str:
    """A text as one line of a length that a plan can hold, cut between words."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else line[:TEXT_CHARS].rpartition(" ")[0]


def refold(journal: Journal, *, mend: bool) -> Rung:
    """The rung of snapshots: those that are not what a refold gives are made anew if asked."""
    stale = len(stale_snapshots(journal, mend=mend))
    detail = f"{stale} snapshots rebuilt" if stale else "every snapshot is right"
    return Rung("refold", "used" if stale else "ok", detail)


def lost_pieces(journal: Journal) -> list[str]:
    """A line for each session whose agents' states name pieces that the store does not have."""
    lost = []
    for stream, _ in journal.streams("session/"):
        events = journal.read(stream)
        if not any(event.kind == ev.AgentSaved.KIND for event in events):
            continue
        for agent in fold_all(events).agents.values():
            have = journal.pieces(agent.pieces)
            gone = sum(address not in have for address in agent.pieces)
            if gone:
                lost.append(f"{stream.removeprefix('session/')}: {count(gone, 'piece')} {OF_A_STATE}")
    return lost


def merge_emergencies(
    home: DataFolder, opened: Callable[[], AbstractContextManager[Workspace]], *, dry_run: bool
) -> tuple[Rung, bool]:
    """The rung of emergency files: all that are whole are merged; and whether that brought anything back."""
    files = emergency.waiting(home)
    if not files:
        return Rung("emergency", "none", "no emergency files"), False
    whole = [(file, found) for file in files if (found := emergency.read(file)) is not None]
    damaged = [file for file in files if file not in {one for one, _ in whole}]
    detail = f"{len(whole)} of {len(files)} files are intact"
    if dry_run:
        return Rung("emergency", "ok" if whole else "damaged", detail), False
    did: list[str] = []
    if whole:
        with opened() as workspace:
            for file, found in whole:
                try:
                    did += _restore_state(workspace.store, found)
                    did += emergency.merge(workspace, file)
                except (UsageError, ConflictError, RefusedError):
                    damaged += file.parent.glob(f"{file.name.partition('.json')[0]}.json*")
        detail += f"; restored: {', '.join(did) or 'nothing new'}"
    damaged = [file for file in dict.fromkeys(damaged) if os.path.lexists(file)]
    if damaged:
        folder = put_aside(home, damaged, "emergency")
        detail += f"; {count(len(damaged), 'file')} that cannot be merged moved aside to {folder}"
    return Rung("emergency", "used" if whole else "damaged", detail), bool(did)


def _restore_state(journal: Journal, found: emergency.Emergency) -> list[str]:
    """A session that the journal has lost, or only the beginning of, from a file's state."""
    state = emergency.state_in(found)
    stream = stream_of(found.session_id)
    events = journal.read(stream)
    if state is None or not state.version or len(events) >= state.version:
        return []
    reason = f"from the emergency file of {found.time}"
    if any(isinstance(body, ev.Gap) and body.reason == reason for body in map(ev.read_body, events)):
        return []
    bodies: list[ev.Body] = []
    if not events:
        bodies.append(
            ev.Created(
                found.session_id, state.goal, state.organization, state.project, state.type,
                state.project_name,
            )
        )  # fmt: skip
    bodies.append(ev.Gap(len(events) + 1, state.version, reason))
    bodies.append(ev.Rewound(state.version, difference(fold_all(events), state, lifecycle=True), "emergency"))
    drafts = [ev.draft(body, at=now(), actor=ACTOR) for body in bodies]
    journal.append(Append(stream, len(events), drafts))
    return [f"the state of {found.session_id} at version {state.version}"]
