"""Holding a session for a run, so that two runs do not do the same work.

The ledger ``hold/<session>`` is a stream like any other; a write under a hold demands, in the
same transaction, that the ledger still says so. A lease is renewed by every write and by a
small thread while ``with s.hold():`` lasts. A holder whose process is gone from this host is
dead, whatever its lease says. Machines that share a store may have clocks that are apart: leases count by
the clock of the store.
"""

from __future__ import annotations

import os

from ...core import event_kinds as ev
from ...core.base.text import clean_name, clean_text
from ...core.sessions import holds as core
from ...core.sessions.holds import Holder, HoldState
from ...effects.clock import moment, now
from ...effects.pause_file import PauseFile
from ...effects.processes.identity import host_name, is_dead, start_of
from ...errors import SegueError, SessionHeld, StaleVersion, UsageError
from ...stores.base import Append, Journal
from .repository import append_last


def hold_stream(session: str) -> str:
    """The ledger of a session's holds."""
    return "hold/" + clean_name(session, what="session id")


def new_run() -> str:
    """A name for a run that has none of its own."""
    return f"run-{os.urandom(6).hex()}"


class Holds:
    """The ledgers of all sessions of a store."""

    def __init__(
        self, journal: Journal, *, pause_file: PauseFile, lease_seconds: float = core.LEASE_SECONDS
    ) -> None:
        self.journal = journal
        self.pause_file = pause_file
        self.lease_seconds = lease_seconds

    def moment(self, seconds: float = 0.0) -> str:
        """So many seconds from now, by the clock of the store."""
        return moment(seconds + getattr(self.journal, "clock_ahead_seconds", 0.0))

    def state(self, session: str) -> HoldState:
        """Who holds a session, including holders whose hold is no longer in force."""
        state = HoldState()
        for event in self.journal.read(hold_stream(session)):
            state = core.fold(state, event)
        return state

    def living(self, session: str) -> tuple[Holder, ...]:
        """The holders whose lease has not expired and whose process is not known to be gone."""
        state = self.state(session)
        return core.in_force(state, now=self.moment(), dead=_dead(state))

    def crashed(self, session: str) -> tuple[Holder, ...]:
        """Holders that never released the session and whose hold is no longer in force."""
        state = self.state(session)
        living = core.in_force(state, now=self.moment(), dead=_dead(state))
        return tuple(h for h in state.holders if h not in living)

    def take(
        self, session: str, *, holder: str, run: str, share: bool = False, lease_seconds: float | None = None,
        pid: int | None = None, host: str | None = None,
    ) -> Hold:  # fmt: skip
        """The hold for a run. Raises SessionHeld. For another ``host``, only the lease says how long it
        lasts."""
        self.pause_file.check()
        lease = lease_seconds if lease_seconds is not None else self.lease_seconds
        if not 0 <= lease <= 1e9:
            raise UsageError(
                f"a lease cannot last {lease:g} seconds", hint="give 0 or more, up to 1,000,000,000"
            )
        process = pid if pid is not None else os.getpid()
        name = clean_text(holder, what="holder", limit=256)
        clean_name(run, what="run id")
        while True:
            state = self.state(session)
            until = self.moment(lease)
            here, began = (host_name(), start_of(process)) if host is None else (host, "")
            candidate = Holder(name, run, here, process, began, 0, "", until, share)
            taken = core.take(state, candidate, now=self.moment(), dead=_dead(state))
            if not isinstance(taken, ev.HoldTaken):
                first = taken[0]
                by = f"{first.holder} ({first.run} on {first.host})"
                raise SessionHeld(session, by, first.since, first.until)
            draft = ev.draft(taken, at=now(), actor=name, run=run)
            try:
                self.journal.append(Append(hold_stream(session), state.version, [draft]))
            except StaleVersion:
                continue
            return Hold(self, session, run, taken.fence, lease, until)

    def append(self, session: str, body: ev.Body, *, actor: str, run: str) -> None:
        """Append to a ledger, after whatever others append at the same time."""
        append_last(self.journal, hold_stream(session), body, actor=actor, run=run)


def _dead(state: HoldState) -> frozenset[str]:
    return frozenset(h.run for h in state.holders if is_dead(h.host, h.pid, h.pid_start))


class Hold:
    """A session held for a run; as a context manager, it releases the session at its end."""

    def __init__(self, holds: Holds, session: str, run: str, fence: int, lease: float, until: str) -> None:
        self._holds = holds
        self.session = session
        self.run = run
        self.fence = fence
        self._lease = lease
        self.until = until
        import threading  # a hook holds nothing

        self._done = threading.Event()
        self._pid = os.getpid()

    def guard(self) -> list[Append]:
        """What a write under this hold demands of the ledger. Raises SessionHeld if the hold was lost."""
        state = self._holds.state(self.session)
        mine = next((h for h in state.holders if h.run == self.run), None)
        if mine is None or mine.fence != self.fence:
            other = state.holders[0] if state.holders else None
            by = f"{other.holder} ({other.run} on {other.host})" if other else "nobody: the hold was released"
            raise SessionHeld(self.session, by, other.since if other else "", other.until if other else "")
        return [Append(hold_stream(self.session), state.version)]

    def renew(self) -> None:
        """Extend the lease. Raises SessionHeld if the hold was lost in the meantime."""
        while True:
            (demand,) = self.guard()
            until = self._holds.moment(self._lease)
            draft = ev.draft(ev.HoldRenewed(self.run, until), at=now(), actor=self.run, run=self.run)
            try:
                self._holds.journal.append(Append(demand.stream, demand.expect, [draft]))
            except StaleVersion:
                continue
            self.until = until
            return

    def renew_if_due(self) -> None:
        """Extend the lease if a third of it has passed."""
        if self.until < self._holds.moment(self._lease * 2 / 3):
            self.renew()

    def release(self) -> None:
        """Release the session; releasing a hold that was lost is not an error."""
        self._done.set()
        if any(h.run == self.run and h.fence == self.fence for h in self._holds.state(self.session).holders):
            self._holds.append(self.session, ev.HoldReleased(self.run), actor=self.run, run=self.run)

    def _keep_renewing(self) -> None:
        while not self._done.wait(max(self._lease / 3, 0.01)):
            try:
                if os.getpid() != self._pid:
                    return
                self.renew()
            except SegueError:
                continue

    def __enter__(self) -> Hold:
        import threading

        threading.Thread(target=self._keep_renewing, name="segue-hold", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
