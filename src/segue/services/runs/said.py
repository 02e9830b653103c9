"""What runs said, on its way into the ledger of their session.

It waits in the row of the run until the ledger has it: a process that is killed in between leaves it there,
and what is kept twice is kept once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ...core.base.lazy import msgpack_decoder
from ...core.journal.event import draft
from ...core.ledger.events import SaidKept
from ...core.ledger.sayings import Saying
from ...core.ledger.standing import rules_alone
from ...core.sessions.state import OBSERVER
from ...effects.files.log import log
from ...errors import SegueError
from ...stores.base import Append
from ..sessions.repository import stream_of
from ..workspace.workspace import Workspace
from .run import Run

_sayings = msgpack_decoder(list[Saying])
_NOTHING: Mapping[str, str] = {}


def encode_sayings(sayings: Sequence[Saying]) -> bytes:
    """Sayings as they are passed between processes; empty if there are none."""
    return msgspec.msgpack.encode(sayings) if sayings else b""


def decode_sayings(body: bytes) -> list[Saying]:
    """The sayings that ``encode_sayings`` made the bytes from."""
    return _sayings.decode(body) if body else []


def keep_said(
    workspace: Workspace, sessions: Mapping[str, str], said: Sequence[tuple[Run, Sequence[Saying]]],
    came_after: Mapping[str, str] = _NOTHING,
) -> set[str]:  # fmt: skip
    """Keep what runs said in the ledgers of their sessions, and return the keys of the runs whose sayings are
    there now. ``sessions`` is by the keys of the runs, which are in the order in which they began. A session
    of ``came_after`` gets the rules of the one before it first."""
    from ...core.sessions.ledger_commands import KeepSaid

    by_session: dict[str, list[tuple[Run, KeepSaid]]] = {}
    for run, sayings in said:
        session = sessions.get(run.key, "")
        if session and sayings and not run.side:
            command = KeepSaid(f"{run.agent}/{run.id}", tuple(sayings))
            by_session.setdefault(session, []).append((run, command))
    kept: set[str] = set()
    for session, commands in by_session.items():
        last = max(run.last for run, _ in commands)
        try:
            if session in came_after:
                _bring_rules(workspace, came_after[session], session, at=commands[0][0].began)
            workspace.repository.commit(session, [one for _, one in commands], actor=OBSERVER, at=last)
        except SegueError as fault:
            log(workspace.home.path, f"ledger of {session}: {type(fault).__name__}: {fault.message}")
            continue
        kept.update(run.key for run, _ in commands)
    return kept


def _bring_rules(workspace: Workspace, before: str, session: str, *, at: str) -> None:
    """Let the rules that held when a session began hold in it too, with what softens them."""
    rules = [one for one in rules_alone(workspace.repository.state(before).said) if not at or one.at <= at]
    stream = stream_of(session)
    if rules:
        events = [draft(SaidKept(entries=rules), at=at, actor=OBSERVER)]
        workspace.store.append(Append(stream, workspace.store.head(stream).version, events))
