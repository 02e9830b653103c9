"""Commands about the ledger of a session: what runs said is kept, what people correct, and what is joined.

They are possible in a session that is over: what was said was said. A correction is made by a person or by
an agent that was asked to make it, and what is observed later does not change it any more. What belongs to an
entry (the points of a request, the items of a list, what softens a rule) is settled and opened again together
with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import ClassVar

from msgspec.structs import replace

from ..base.canonical import sha256
from ..language.rules import softens
from ..language.sentences import flat
from ..ledger.events import EntryCorrected, LedgerJoined, SaidKept
from ..ledger.handles import HANDLE_CHARS, entries_named, handles
from ..ledger.keep import kept
from ..ledger.model import HOLDING, TEXT_CHARS, Change, Entry, HeardUpTo, Kind, State, find_entry
from ..ledger.sayings import Saying
from .command import Bodies, Command, Refusal
from .declared_choices import ledger_entries
from .state import SessionState

ADDED: tuple[Kind, ...] = ("request", "rule", "permission", "choice", "item", "attempt")
"""The kinds of entries that somebody may add by hand."""
FINISHED: frozenset[Kind] = frozenset({"request", "list", "item", "failing", "question"})
"""The kinds of entries that can be done. Others hold until they are dropped."""
CANDIDATES_MAX, CANDIDATE_CHARS = 6, 60


class KeepSaid(Command):
    """Keep what a run said. What the ledger has already is not kept twice."""

    ANYTIME: ClassVar[bool] = True
    WITNESSED: ClassVar[bool] = True
    run: str
    """As ``agent/id``."""
    sayings: tuple[Saying, ...] = ()

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        body = kept(state.ledger, self.run, self.sayings)
        return [body] if body is not None else []


class AddEntry(Command):
    """Write something into the ledger by hand. What is there and holds is not added twice, and what was
    settled is opened again."""

    ANYTIME: ClassVar[bool] = True
    LOOKS: ClassVar[bool] = True
    SIGNED: ClassVar[bool] = True
    kind: Kind
    text: str
    of: str = ""
    """The entry that it belongs to, by its id or a handle: the list or request of an item, the rule that a
    permission softens."""
    by: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        if self.kind not in ADDED:
            return Refusal("usage", f"nobody adds a {self.kind} by hand", "use one of " + ", ".join(ADDED))
        if len(self.text) > TEXT_CHARS:
            return _too_long(self.text)
        entries = state.said.flat()
        words = flat(self.text).casefold()
        same = [one for one in entries if one.kind == self.kind and flat(one.text).casefold() == words]
        if same:
            holds = any(one.state in HOLDING for one in same)
            return [] if holds else CorrectEntry(same[-1].id, "open", by=self.by).outcome(state)
        of = self._belongs_to(entries)
        if isinstance(of, Refusal):
            return of
        entry = Entry(self._new_id(state), self.kind, self.text, by=self.by, of=of)
        return [SaidKept(entries=[entry])]

    def _belongs_to(self, entries: Sequence[Entry]) -> str | Refusal:
        if self.of:
            entry = entry_named(entries, self.of)
            return entry if isinstance(entry, Refusal) else entry.id
        if self.kind != "permission":
            return ""
        rules = (one for one in reversed(entries) if one.kind == "rule" and one.state in HOLDING)
        return next((rule.id for rule in rules if softens(self.text, rule.text)), "")

    def _new_id(self, state: SessionState) -> str:
        number = 0
        while True:
            own = "\0".join((state.id, self.kind, self.text, str(number)))
            id = sha256(own.encode(errors="replace")).hexdigest()[:10]
            if find_entry(state.said, id) < 0:
                return id
            number += 1  # an entry that had this text, and was edited since


class CorrectEntry(Command):
    """Set the state or the text of an entry by hand."""

    ANYTIME: ClassVar[bool] = True
    LOOKS: ClassVar[bool] = True
    SIGNED: ClassVar[bool] = True
    id: str
    """Its id, or a handle: the beginning of it that no other entry has."""
    state: State | None = None
    text: str | None = None
    why: str = ""
    by: str = ""

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        entries = ledger_entries(state)
        entry = entry_named(entries, self.id)
        if isinstance(entry, Refusal):
            return entry
        if self.text is not None and len(self.text) > TEXT_CHARS:
            return _too_long(self.text)
        if self.state == "done" and entry.kind not in FINISHED:
            return Refusal(
                "usage",
                f"a {entry.kind} is not done, it holds until it is dropped: {_line(entry, entries)}",
                f"`segue ledger drop {entry.id}` says that it holds no more",
            )
        changes = self._changes(entry, entries)
        is_declared = bool(changes) and find_entry(state.said, entry.id) < 0
        declared = [SaidKept(entries=[entry])] if is_declared else []
        return [*declared, *(EntryCorrected(change, self.by) for change in changes)]

    def _changes(self, entry: Entry, entries: Sequence[Entry]) -> list[Change]:
        text = self.text if self.text is not None and self.text != entry.text else ""
        state = self.state if self.state is not None and self.state != entry.state else ""
        changes = [Change(entry.id, state, self.why if state else "", text=text)] if state or text else []
        if self.state is None:
            return changes
        parts = [one for one in entries if one.of == entry.id and one.kind in ("item", "permission")]
        if self.state in HOLDING:
            since = (entry.state, entry.since)
            together = [one for one in parts if one.corrected and (one.state, one.since) == since]
        else:
            together = [one for one in parts if one.state in HOLDING]
        return changes + [Change(one.id, self.state, self.why) for one in together if one.state != self.state]


class JoinLedger(Command):
    """Bring the entries of another session into the ledger, as they are, each once. Of an entry that both
    have, the state that somebody set by hand counts, or else the newer one. A rule or permission that holds
    here in the same words is not brought a second time."""

    ANYTIME: ClassVar[bool] = True
    LOOKS: ClassVar[bool] = True
    WITNESSED: ClassVar[bool] = True
    session: str
    entries: tuple[Entry, ...] = ()
    heard: dict[str, HeardUpTo] = {}

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        known = {entry.id: entry for entry in state.said}
        rules = {_words(one): one.id for one in state.said if _is_rule(one)}
        same = {
            one.id: rules[_words(one)]
            for one in self.entries
            if one.id not in known and _is_rule(one) and _words(one) in rules
        }
        brought = [
            replace(entry, of=same.get(entry.of, entry.of))
            for entry in self.entries
            if entry.id not in same and (entry.id not in known or _is_newer(entry, known[entry.id]))
        ]
        heard = {
            run: far
            for run, far in self.heard.items()
            if run not in state.heard or state.heard[run].number < far.number
        }
        return [LedgerJoined(self.session, brought, heard)] if brought or heard else []


def _is_rule(entry: Entry) -> bool:
    return entry.kind in ("rule", "permission") and entry.state in HOLDING


def _words(entry: Entry) -> tuple[str, str]:
    return entry.kind, flat(entry.text).casefold()


def added_kind(name: str) -> Kind | None:
    """The kind of entries with this name, if somebody may add them by hand."""
    return next((kind for kind in ADDED if kind == name), None)


def _is_newer(entry: Entry, known: Entry) -> bool:
    """Whether an entry is to stand in the place of the same one in another ledger."""
    if bool(entry.corrected) != bool(known.corrected):
        return bool(entry.corrected)
    return entry.since > known.since


def entry_named(entries: Sequence[Entry], name: str) -> Entry | Refusal:
    """The entry that an id or a handle names."""
    named = entries_named(entries, name)
    if len(named) == 1:
        return named[0]
    shown = "`segue ledger --all` shows every entry with its handle"
    wanted = name.strip()[:40]
    if len(named) > 1:
        meant = named[:CANDIDATES_MAX]
        message = f"{len(named)} entries begin with {wanted!r}"
        hint = f"give more of the handle; {shown}"
    else:
        meant = _near(entries, wanted.lower())
        message = f"there is no entry {wanted!r}"
        few = f"a handle has at least {HANDLE_CHARS} characters; " if len(wanted) < HANDLE_CHARS else ""
        hint = few + shown
    if meant:
        message += ": " + "; ".join(_line(entry, entries) for entry in meant)
    short = handles(entries)
    candidates = [
        {"handle": short[one.id], "kind": one.kind, "text": flat(one.text)[:CANDIDATE_CHARS]} for one in meant
    ]
    return Refusal("unknown_entry", message, hint, {"entry": wanted, "candidates": candidates})


def _near(entries: Sequence[Entry], wanted: str) -> list[Entry]:
    """The entries that somebody may have meant by a handle that none has."""
    by_handle = {handle: id for id, handle in handles(entries).items()}
    if 0 < len(wanted) < HANDLE_CHARS:
        ids = {id for handle, id in by_handle.items() if handle.startswith(wanted)}
    else:
        ids = {by_handle[one] for one in get_close_matches(wanted[:HANDLE_CHARS], by_handle, cutoff=0.7)}
    return [entry for entry in entries if entry.id in ids][:CANDIDATES_MAX]


def _line(entry: Entry, entries: Sequence[Entry]) -> str:
    text = flat(entry.text)
    text = text if len(text) <= CANDIDATE_CHARS else f"{text[: CANDIDATE_CHARS - 1].rstrip()}…"
    return f"{handles(entries)[entry.id]} ({entry.kind}) {text}"


def _too_long(text: str) -> Refusal:
    message = f"an entry has at most {TEXT_CHARS:,} characters, and this has {len(text):,}"
    return Refusal("text_too_long", message, "put long text in a file and name that")
