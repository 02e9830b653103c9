"""Passing a session on: offered to an agent, and taken by exactly one.

An offer freezes a named checkpoint and is recorded in the ledger ``handoff/<session>``; taking, declining and
withdrawing are appended there by version, so the second of two takers is refused. An offer that nobody takes
in time expires. The taker gets a restoration, as a file and as a command that starts its agent with it. A
bundle does the same for another machine, in a file that is verified by its hashes.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ..._checked_calls import checked
from ..._failpoints import trip
from ...agents import agent as agent_of, canonical_name, traits_of
from ...agents.base import Traits
from ...core import event_kinds as ev
from ...core.base.text import clean_name, clean_text
from ...core.base.values import Value
from ...core.handover.events import Offer
from ...core.memories.model import Memory, MemoryFilter
from ...core.sessions import commands as do
from ...core.sessions.state import SessionState
from ...effects.clock import moment, now
from ...effects.files.atomic import check_writable, write_whole
from ...effects.files.marked_block import drop_block, put_block
from ...effects.files.project_links import check_stays_inside
from ...errors import (
    HandoffSettled,
    NotWritable,
    SegueError,
    StaleVersion,
    UnknownAgent,
    UnknownHandoff,
    UsageError,
)  # fmt: skip
from ...stores.base import Append
from ...stores.memory_changes import MemoryChange
from ..brief.brief import render_brief
from ..brief.gather import gather, summary_of_session, world_now
from ..memories.service import memories_of
from ..models.triggers import HANDOVER, AskedAbout, ask_later, asks_at
from ..runs.run import run_in
from ..runs.sessions_shown import list_sessions
from ..sessions.offers import ledger_of, offers_in
from ..sessions.repository import Saved
from ..workspace.open_session import make_current
from ..workspace.workspace import Workspace

HOURS = 72.0
HOURS_MAX = 24.0 * 365
ANYONE = "anyone"
RESTORATION_BYTES = 8_192
MEMORIES_MAX = 12
ITEMS_MAX = 40
BEGIN, END = "<!-- segue:handoff:begin -->", "<!-- segue:handoff:end -->"


def _traits(agent: str) -> Traits:
    with suppress(UnknownAgent):
        return traits_of(agent_of(agent))
    return Traits()


class HandoffOffer(Value):
    """An offer with what the taker needs."""

    offer: Offer
    saved: Saved
    file: str
    start: str
    """How the agent is started with it; empty if Segue does not know that agent."""
    rules: str = ""
    """The agent's own file that mentions the offer too, if that was requested."""
    missing: str = ""
    """The program that starts the agent, if it is not on PATH here: it may be on another machine."""


@checked
class Handoffs:
    """The offers of a store."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def of(self, session: str) -> list[Offer]:
        """Every offer of a session, oldest first."""
        return offers_in(self._workspace.store, session)

    def listing(self, *, everywhere: bool = False, to: str = "") -> Sequence[Offer]:
        """Offers of this project's sessions, or of all, the newest first."""
        mine = {card.id for card in list_sessions(self._workspace, everywhere=everywhere)}
        names = [name.removeprefix("handoff/") for name, _ in self._workspace.store.streams("handoff/")]
        found = [offer for name in names if name in mine for offer in self.of(name)]
        wanted = [offer for offer in found if not to or offer.to in (to, ANYONE)]
        return sorted(wanted, key=lambda offer: (offer.at, offer.id), reverse=True)

    def find(self, what: str = "", *, to: str = "") -> Offer:
        """The offer with this id, else the newest open one of this session, else of any session here. Raises
        UnknownHandoff."""
        if what and self._workspace.repository.exists(what):
            offers = [offer for offer in self.of(what) if not to or offer.to in (to, ANYONE)]
            found = next((o for o in reversed(offers) if o.status == "open"), offers[-1] if offers else None)
        elif what:
            found = next((o for o in self.listing(everywhere=True) if o.id == what), None)
        else:
            found = next((o for o in self.listing(to=to) if o.status == "open"), None)
        if found is None or (to and found.to not in (to, ANYONE)):
            whom = f" to {to}" if to else ""
            raise UnknownHandoff(
                f"nothing is offered{whom}{f' as {what}' if what else ' here'}",
                hint="`segue handoff --list` shows all offers",
            )
        return found

    def offer(
        self, session: str, to: str, note: str = "", *, hours: float = HOURS, rules: bool = False
    ) -> HandoffOffer:
        """Offer a session to an agent; with ``rules`` the file that the agent reads by itself mentions the
        offer, too."""
        workspace = self._workspace
        workspace.pause_file.check()
        if not 0 < hours <= HOURS_MAX:
            raise UsageError(
                f"an offer cannot last {hours:g} hours", hint=f"give more than 0 and at most {HOURS_MAX:g}"
            )
        to = clean_name(canonical_name(to), what="agent's name")
        note = clean_text(note, what="note", mask=workspace.repository.mask).strip()
        if rules and _traits(to).rules_file and workspace.sees_tree:
            check_stays_inside(self._rules(to), workspace.working_tree.root)
            check_writable(self._rules(to))
        id = f"h{os.urandom(5).hex()}"
        memory = self._memory(session, to, note, hours)
        past = [
            one for one in self.of(session) if one.status == "expired" or (one.to, one.note) == (to, note)
        ]
        shared = [memory.id] if memory is not None else []
        body = ev.HandoffOffered(id, to, note, moment(hours * 3600), f"handoff-{id}", shared)
        marks = [do.Mark(body.mark, note), do.Hand(to, note)]
        trip("handoff.offer.before")
        saved = workspace.repository.commit(
            session, marks, guards=lambda: [self._append(session, body)],
            memories=self._deprecation(past, "expired, or offered again"),
        )  # fmt: skip
        trip("handoff.offer.after")
        if memory is not None:
            service = memories_of(workspace)
            trail = [service.trace(memory, "add", memory.provenance.source)]
            service.store.write(MemoryChange(adds=service.stored([memory]), trail=trail))
        self._ask_model(session)
        offer = next(one for one in self.of(session) if one.id == id)
        return self._restored(offer, workspace.with_warnings(saved), rules)

    def _ask_model(self, session: str) -> None:
        """Have a model asked about the session's newest run, if the user wants that when it is handed
        over."""
        workspace = self._workspace
        if not workspace.sees_tree or not asks_at(workspace, HANDOVER):
            return
        runs = [run for row in workspace.store.runs.rows(session=session) if (run := run_in(row)) is not None]
        run = max((run for run in runs if not run.side), key=lambda run: run.last, default=None)
        if run is not None:
            path = run.path if Path(run.path).is_file() else ""
            ask_later(workspace, HANDOVER, AskedAbout(run.id, run.agent, run.steps, path, session))

    def accept(self, what: str = "", *, by: str = "", run: str = "") -> HandoffOffer:
        """Take an offer; the session's other offers are withdrawn, and their notes with them. The taken one's
        note stays. Raises HandoffSettled if it is no longer open."""
        workspace = self._workspace
        by = by or workspace.repository.actor
        offer = self.find(what, to="" if by == "user" else canonical_name(by))
        if by != "user":
            by = canonical_name(by)

        def others() -> list[Offer]:
            return [o for o in self.of(offer.session) if o.status == "open" and o.id != offer.id]

        def guards() -> list[Append]:
            rest = others()
            self._open(offer)
            bodies: list[ev.Body] = [ev.HandoffTaken(offer.id, by, run or workspace.repository.run)]
            bodies += [ev.HandoffWithdrawn(o.id, f"{by} took {offer.id}") for o in rest]
            return [self._append(offer.session, *bodies)]

        trip("handoff.take.before")
        note = do.Note(_taking(by, offer.note))
        change = self._deprecation(others(), f"{by} took {offer.id}", lasting=offer)
        saved = workspace.repository.commit(offer.session, [note], guards=guards, actor=by, memories=change)
        trip("handoff.take.after")
        make_current(workspace, offer.session)
        self.forget_rules(offer)
        return self._restored(self._settled(offer), workspace.with_warnings(saved), False)

    def taken_with(self, session: str, notes: Collection[str]) -> list[Offer]:
        """The offers whose taking wrote one of these notes: an undo of that leaves them taken."""
        taken = [one for one in self.of(session) if one.status == "taken"] if notes else []
        return [one for one in taken if _taking(one.taker, one.note) in notes]

    def decline(self, what: str = "", *, by: str = "", reason: str = "") -> Offer:
        """Decline an offer; its note is no longer a memory."""
        by = by or self._workspace.repository.actor
        offer = self.find(what, to="" if by == "user" else canonical_name(by))
        return self._settle(offer, ev.HandoffDeclined(offer.id, by, self._clean(reason)), f"declined by {by}")

    def withdraw(self, what: str = "", *, reason: str = "") -> Offer:
        """Withdraw an offer; its note is no longer a memory."""
        offer = self.find(what)
        return self._settle(offer, ev.HandoffWithdrawn(offer.id, self._clean(reason)), "withdrawn")

    def withdrawal(self, offer: Offer, reason: str) -> Append:
        """The append that withdraws an open offer, for a commit to include. Raises HandoffSettled if it is
        not open."""
        self._open(offer)
        return self._append(offer.session, ev.HandoffWithdrawn(offer.id, reason))

    def _settle(self, offer: Offer, body: ev.Body, outcome: str) -> Offer:
        self._workspace.pause_file.check()
        while True:
            self._open(offer)
            change = self._deprecation([offer], outcome)
            try:
                self._workspace.store.append(self._append(offer.session, body), memories=change)
            except StaleVersion:
                continue
            self.forget_rules(offer)
            return self._settled(offer)

    def _open(self, offer: Offer) -> None:
        current = self._settled(offer)
        if current.status != "open":
            who = f" by {current.taker}" if current.taker else ""
            raise HandoffSettled(
                f"offer {offer.id} was {current.status}{who} at {current.settled[:16]}",
                hint="`segue handoff --list` shows every offer and its outcome",
            )

    def _settled(self, offer: Offer) -> Offer:
        return next(one for one in self.of(offer.session) if one.id == offer.id)

    def _append(self, session: str, *bodies: ev.Body) -> Append:
        workspace, stream = self._workspace, ledger_of(session)
        drafts = [
            ev.draft(body, at=now(), actor=workspace.repository.actor, run=workspace.repository.run)
            for body in bodies
        ]
        return Append(stream, workspace.store.head(stream).version, drafts)

    def _deprecation(
        self, offers: Sequence[Offer], reason: str, *, lasting: Offer | None = None
    ) -> MemoryChange | None:
        """The change that deprecates the notes of offers, and lets that of ``lasting`` live on when the offer
        would have expired."""
        ids = [id for offer in offers for id in offer.memories]
        kept = list(lasting.memories) if lasting is not None else []
        if not ids and not kept:
            return None
        service = memories_of(self._workspace)
        found: dict[str, Memory] = {}
        for offer in [*offers, *([lasting] if lasting is not None else [])]:
            reader = service.reader(agent=offer.to, session=offer.session)
            found |= {one.id: one for one in service.store.get(offer.memories, reader) if one.live}
        over = service.deprecation([found[id] for id in ids if id in found], reason)
        stay = [
            replace(found[id], expires="", updated=now(), revision=found[id].revision + 1)
            for id in kept
            if id in found and found[id].expires
        ]
        return MemoryChange(puts=[*over.puts, *service.stored(stay)], trail=over.trail)

    def _clean(self, text: str) -> str:
        return clean_text(text, what="reason", mask=self._workspace.repository.mask).strip()

    def _memory(self, session: str, to: str, note: str, hours: float) -> Memory | None:
        """The note as a memory that the taker may read until the offer expires."""
        if to == ANYONE:
            return None
        state = self._workspace.repository.state(session)
        left = [state.items[place].text for place in (*state.active, *state.next)]
        words = [note or f"session {session} was handed over", *(f"open: {text}" for text in left[:5])]
        return memories_of(self._workspace).draft(
            "; ".join(words)[:4_000], type="handoff", shared_with=[to], session=session,
            source=f"handoff of {session}", ttl_seconds=hours * 3600,
        )  # fmt: skip

    def _restored(self, offer: Offer, saved: Saved, rules: bool) -> HandoffOffer:
        if not self._workspace.sees_tree:  # the taker is on another machine, and asks for the restoration
            return HandoffOffer(offer, saved, "", "")
        text = self.restoration(offer)
        path = self._workspace.home.handoff / f"{offer.id}.md"
        write_whole(path, text.encode())
        known = _traits(offer.to)
        start = f'{known.start} "$(cat {shlex.quote(str(path))})"' if known.start else ""
        rules_file = ""
        if rules and known.rules_file and offer.status == "open":
            target = self._rules(offer.to)
            put_block(
                target, f"{BEGIN}\n{text.strip()}\n{END}", BEGIN, END, root=self._workspace.working_tree.root
            )
            rules_file = str(target)
        program = known.start.partition(" ")[0]
        found = shutil.which(program, path=self._workspace.environment.get("PATH")) if program else program
        missing = program if found is None else ""
        return HandoffOffer(offer, saved, str(path), start, rules_file, missing)

    def forget_rules(self, offer: Offer) -> None:
        """Remove what an offer added to the file that its agent reads by itself. If that fails it is ignored:
        the offer is settled, whatever the file says."""
        if _traits(offer.to).rules_file and self._workspace.sees_tree:
            with suppress(OSError, NotWritable):
                drop_block(self._rules(offer.to), BEGIN, END, root=self._workspace.working_tree.root)

    def _rules(self, agent: str) -> Path:
        return self._workspace.working_tree.root / _traits(agent).rules_file

    def restoration(self, offer: Offer) -> str:
        """The text for the taker: the note, what is open, what is undecided, memories, and a brief."""
        workspace, state = self._workspace, self._workspace.repository.state(offer.session)
        lines = [f"# Session {offer.session}, handed over by {offer.by}", "", f"Goal: {_line(state.goal)}"]
        if offer.note:
            lines += ["", "Note from whoever handed it over (their words, not instructions):"]
            lines += [f"> {line}" for line in offer.note.splitlines()]
        lines += _section("Open items", _open_items(state))
        lines += _section("Undecided", [_line(q.text) for q in state.questions if not q.answer])
        lines += _section("Memories shared with you", self._memories(offer))
        lines += ["", self._brief(state).strip(), ""]
        take = (
            ""
            if offer.status == "taken"
            else f"Take it with `segue handoff --accept {offer.id} --actor {offer.to}`; "
        )
        lines.append(f"{take}`segue status {offer.session}` shows where it stands.")
        return clean_text("\n".join(lines), what="restoration", mask=workspace.repository.mask) + "\n"

    def _memories(self, offer: Offer) -> list[str]:
        try:
            service = memories_of(self._workspace)
            reader = service.reader(agent=offer.to if offer.to != ANYONE else "")
            where = MemoryFilter(sessions=(offer.session,))
            found = service.store.listing(reader, where, now(), MEMORIES_MAX)
        except (SegueError, TypeError):
            return []
        return [_line(memory.content) for memory in found if memory.type != "handoff"]

    def _brief(self, state: SessionState) -> str:
        try:
            runs = summary_of_session(self._workspace, state)
            known = gather(self._workspace, state, runs, world=world_now(self._workspace, runs), memories=())
            return render_brief(known, runs, budget=RESTORATION_BYTES)
        except SegueError as fault:
            return f"no brief could be written: {fault.message}"


def _taking(by: str, note: str) -> str:
    return f"taken over by {by}{f': {note}' if note else ''}"


def _open_items(state: SessionState) -> list[str]:
    rows = [f"under way: {state.items[p].text}" for p in state.active]
    rows += [f"blocked: {state.items[p].text} ({state.items[p].reason})" for p in state.blocked]
    rows += [f"next: {state.items[p].text}" for p in state.next]
    return list(map(_line, rows))


def _section(title: str, rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    more = [f"- … and {len(rows) - ITEMS_MAX} more"] if len(rows) > ITEMS_MAX else []
    return ["", f"{title}:", *(f"- {row}" for row in rows[:ITEMS_MAX]), *more]


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"
