"""The ledger of a piece of work as of now: what its session has kept, and what its runs said since.

Hooks and syncs keep what runs say. A run that was killed, or that no hook saw, has said more than that: it is
added here, in memory, each time until a sync keeps it. So a brief never lacks what was said last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.base.persistent_list import Rows
from ...core.base.values import Value
from ...core.ledger.fold import take_kept
from ...core.ledger.keep import kept
from ...core.ledger.model import Entry, Ledger
from ...core.ledger.other_work import is_other_work
from ...core.ledger.sayings import Message, Saying
from ...core.ledger.standing import rules_alone
from ...core.runs.digest import FORMAT
from ...core.sessions.state import SessionState
from ...errors import SegueError
from ...stores.base import RunRow
from ..runs.cursor import is_unchanged, stamp_of
from ..runs.discovery import RunFinder
from ..runs.run import WENT_ON_SECONDS, facts_of
from ..runs.select import LOOKED_AT, is_here, is_known_alive, runs_meant

UNHEARD_MAX, UNHEARD_BYTES_MAX, UNHEARD_SECONDS = 8, 4 << 20, 7 * 86_400.0
"""How many runs that were never heard are read for one brief, how much of them, and how old they may be."""


def run_name(found: Found) -> str:
    """How a run is called in a ledger."""
    return f"{found.agent}/{found.native}"


def ledger_of_sayings(run: str, sayings: Sequence[Saying], ledger: Ledger | None = None) -> Ledger:
    """A ledger with what a run said."""
    ledger = ledger or Ledger()
    body = kept(ledger, run, sayings)
    return take_kept(ledger, body, "") if body is not None else ledger


class WorkLedger(Value):
    """What was said in a piece of work."""

    entries: tuple[Entry, ...] = ()
    unheard: tuple[Found, ...] = ()
    """Other runs that no hook and no sync has heard, and that said something in it."""


def ledger_of_work(
    finder: RunFinder, state: SessionState | None, runs: Iterable[Found], *,
    rules_of: SessionState | None = None, alone: bool = False,
) -> WorkLedger:  # fmt: skip
    """The entries of a session, with what these runs said since, and others of the same working tree that no
    hook and no sync has heard. The newest of the runs comes first. Where they have no session, the rules of
    ``rules_of`` hold for them too. ``alone`` leaves out what others said."""
    rules = _rules_alone(rules_of.ledger) if rules_of is not None else Ledger()
    ledger = state.ledger if state is not None else rules
    line = list(runs)
    own = {(run.agent, run.native) for run in line}
    session = state.id if state is not None else ""
    unheard = _unheard(finder, session, line[0], own) if line and not alone else []
    added: list[Found] = []
    for found in sorted([*line, *unheard], key=lambda run: run.changed):
        is_own = (found.agent, found.native) in own
        try:
            if not is_own and _worked_meanwhile(finder, found, line):
                continue
            sayings = finder.sayings(found)
        except (SegueError, OSError):
            continue
        is_filed = state is not None and (is_own or _session_of(finder, found))
        if is_filed or not _is_other_work(sayings, ledger):
            ledger = ledger_of_sayings(run_name(found), sayings, ledger)
            added += [] if is_own else [found]
        elif (
            state is None
        ):  # nobody filed any of them: the work of this run is what the next one goes on with
            ledger = ledger_of_sayings(run_name(found), sayings, _rules_alone(ledger))
    return WorkLedger(tuple(ledger.entries), tuple(added))


def _rules_alone(ledger: Ledger) -> Ledger:
    """What holds for other work in the same project."""
    return Ledger(Rows(rules_alone(ledger.entries)), {})


def _unheard(finder: RunFinder, session: str, newest: Found, known: set[tuple[str, str]]) -> list[Found]:
    """The newest runs of this working tree that may have said something which is not in the ledger: they have
    grown since they were read, were never read, or wait for a session."""
    unheard: list[Found] = []
    left = UNHEARD_BYTES_MAX
    for found in islice(runs_meant(finder), LOOKED_AT):
        if newest.changed - found.changed > UNHEARD_SECONDS or len(unheard) >= UNHEARD_MAX:
            break
        if (
            found.native == finder.asking
            or (found.agent, found.native) in known
            or not is_here(finder, found)
            or finder.is_caller(found)
        ):
            continue
        row = finder.row(found)
        if row is not None and (row.session not in ("", session) or _is_heard(row, found)):
            continue
        left -= found.size
        if left < 0:
            break
        unheard.append(found)
    return unheard


def _worked_meanwhile(finder: RunFinder, found: Found, line: Sequence[Found]) -> bool:
    """Whether a run lives, or was at work at the same time as one of these: its work is its own."""
    if is_known_alive(finder, found):
        return True
    its = finder.reading(found).digest
    for run in line:
        other = finder.reading(run).digest
        if its.began < other.last - WENT_ON_SECONDS and other.began < its.last - WENT_ON_SECONDS:
            return True
    return False


def _is_heard(row: RunRow, found: Found) -> bool:
    """Whether all that a run said is in the ledger of its session."""
    facts, agent = facts_of(row), agent_of(found.agent)
    if facts is None or not row.session or facts.unsaid or facts.format != FORMAT:
        return False
    return is_unchanged(facts.stamp, stamp_of(found, agent), agent)


def _session_of(finder: RunFinder, found: Found) -> str:
    row = finder.row(found)
    return row.session if row is not None else ""


def _is_other_work(sayings: Sequence[Saying], ledger: Ledger) -> bool:
    """Whether the first message of a run that nobody filed is about something else."""
    opening = next((one.text for one in sayings if isinstance(one, Message)), "")
    return bool(opening) and is_other_work(opening, ledger.entries)
