"""The entries of a ledger while the sayings of a run are added to them. Pure."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any

from msgspec.structs import replace

from ..base.canonical import sha256
from ..base.values import iso
from ..language.sentences import flat
from ..language.subjects import shares
from . import sayings as said
from .events import SaidKept
from .model import HOLDING, WHY_CHARS, Change, Entry, Kind, Ledger, State

SAME_POINT_SHARE = 0.6
HEAD_CHARS = 160
LONG_CHARS = 1_000
"""Of messages that are longer, a hook may have told the beginning alone."""
HELD_MAX = 200
"""So many entries of a kind that hold are looked at when something more is said."""
FROM_BRIEF = "a brief told it"


class Keeping:
    """The entries of a ledger while the sayings of a run are added.

    What holds, what was answered, what belongs to an entry and what the user said before is looked up in
    indices: a run may have thousands of messages, each of which asks for all of it."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self.run = run
        self.agent = run.partition("/")[0]
        self.entries: dict[str, Entry] = {}
        self._places: dict[str, int] = {}
        self._kinds: dict[str, dict[str, None]] = {}
        self._held: dict[str, dict[str, Entry]] = {}
        self._answered: dict[str, Entry] = {}
        self._parts: dict[str, dict[str, None]] = {}
        self._own: dict[str, dict[str, None]] = {}
        self._long: dict[str, None] = {}
        self._has_told = False
        for entry in ledger.entries:
            self._put(entry)
        self._before = dict(self.entries)
        heard = ledger.heard.get(run)
        self._number = heard.number if heard is not None else 0
        self._messages: list[str] = []
        self._is_empty = not self.entries

    def note(self, saying: said.Saying) -> None:
        """Note that a saying was heard."""
        self._number = max(self._number, saying.number)
        if isinstance(saying, said.Message):
            self._messages.append(message_hash(saying.text))

    # -- looking

    def holding(self, *kinds: Kind) -> list[Entry]:
        """The entries of these kinds that hold, the oldest first; of very many, the newest of each kind."""
        held = [[*islice(reversed(self._held.get(kind, {}).values()), HELD_MAX)] for kind in kinds]
        if len(held) == 1:
            return held[0][::-1]
        return sorted(chain.from_iterable(held), key=lambda entry: self._places[entry.id])

    def all_of(self, kind: Kind) -> list[Entry]:
        """The entries of a kind, the oldest first, whether they hold or not."""
        return [self.entries[id] for id in self._kinds.get(kind, ())]

    def answered(self) -> list[Entry]:
        """The requests that the agent ended a turn on, the oldest first."""
        return sorted(self._answered.values(), key=lambda entry: self._places[entry.id])

    def parts_of(self, *ids: str) -> list[Entry]:
        """What belongs to these entries, whether it holds or not."""
        return [self.entries[part] for id in ids for part in self._parts.get(id, ())]

    def said_before(self, text: str) -> list[Entry]:
        """What the user said in this run in these words."""
        return [self.entries[id] for id in self._own.get(_key(text), ())]

    def long_ones(self) -> list[Entry]:
        """The longest requests of this run, of which only the beginning may be known."""
        return [self.entries[id] for id in self._long]

    @property
    def has_work(self) -> bool:
        """Whether anything was ever asked for, questions apart."""
        return any(self.entries[id].relation != "asks" for id in self._kinds.get("request", ()))

    def last_request(self) -> Entry | None:
        """The newest request that holds."""
        held = reversed(self._held.get("request", {}).values())
        return next((entry for entry in held if entry.relation != "asks"), None)

    def is_kept(self, kind: Kind, text: str, saying: said.Saying) -> bool:
        """Whether this was kept before: of a transcript that is read anew as a whole, what comes after the
        last message is heard each time."""
        at = iso(saying.at)
        return any(
            entry.run == self.run and entry.at == at and entry.text == text for entry in self.all_of(kind)
        )

    def has_said_at(self, step: int) -> bool:
        """Whether something that the user said at a step of this run is kept."""
        for entry in reversed(self.entries.values()):
            if entry.run == self.run and entry.step <= step:
                if entry.step < step:
                    return False
                if entry.by == "user":
                    return True
        return False

    # -- changing

    def add(self, saying: said.Saying, kind: Kind, text: str, **fields: Any) -> Entry:
        """A new entry; one that is there already is returned as it is."""
        own = "\0".join((self.run, str(saying.step), kind, fields.get("mark", ""), text))
        id = sha256(own.encode(errors="replace")).hexdigest()[:10]
        entry = self.entries.get(id)
        if entry is None:
            at = iso(saying.at)
            entry = Entry(id, kind, text, at=at, run=self.run, step=saying.step, **fields)
            self._drop_told(entry)
            self._put(entry)
        return entry

    def _drop_told(self, heard: Entry) -> None:
        """Drop what only a brief told and is now heard from the run that said it."""
        if heard.why == FROM_BRIEF or not self._has_told:
            return
        words = flat(heard.text)[:HEAD_CHARS].casefold()
        for entry in self.holding(heard.kind):
            if entry.why == FROM_BRIEF and flat(entry.text).casefold().startswith(words):
                self._put(replace(entry, state="superseded", why="heard from the run itself"))

    def settle(self, entry: Entry, state: State, why: str, saying: said.Saying) -> None:
        """Set the state of an entry, unless a person did so. An item that is done or taken back is so
        wherever it stands: in the user's words, and in the lists of agents that took it over."""
        entry = self.entries[entry.id]
        if entry.corrected or entry.state == state:
            return
        self._put(replace(entry, state=state, why=short_why(why), since=iso(saying.at)))
        if entry.kind == "item" and state in ("done", "withdrawn"):
            words = flat(entry.text).casefold()
            for twin in self.holding("item"):
                if not twin.corrected and flat(twin.text).casefold() == words:
                    self._put(replace(twin, state=state, why=short_why(why), since=iso(saying.at)))

    def change(self, entry: Entry, **fields: Any) -> None:
        entry = self.entries[entry.id]
        if not entry.corrected:
            self._put(replace(entry, **fields))

    def _put(self, entry: Entry) -> None:
        before = self.entries.get(entry.id)
        self.entries[entry.id] = entry
        self._places.setdefault(entry.id, len(self._places))
        self._kinds.setdefault(entry.kind, {})[entry.id] = None
        held = self._held.setdefault(entry.kind, {})
        if entry.state in HOLDING:
            is_back = before is not None and entry.id not in held
            held[entry.id] = entry
            if is_back:  # it stands where it was said
                self._held[entry.kind] = dict(sorted(held.items(), key=lambda pair: self._places[pair[0]]))
        else:
            held.pop(entry.id, None)
        if entry.kind == "request":
            if entry.state == "answered":
                self._answered[entry.id] = entry
            else:
                self._answered.pop(entry.id, None)
        self._has_told = self._has_told or entry.why == FROM_BRIEF
        if before is not None and before.of != entry.of:
            self._parts.get(before.of, {}).pop(entry.id, None)
        if entry.of:
            self._parts.setdefault(entry.of, {})[entry.id] = None
        if entry.run == self.run and entry.by == "user" and entry.kind in ("request", "rule", "permission"):
            self._own.setdefault(_key(entry.text), {})[entry.id] = None
            if entry.kind == "request" and len(entry.text) > LONG_CHARS:
                self._long[entry.id] = None

    def event(self) -> SaidKept | None:
        """What was added and changed."""
        made = [entry for id, entry in self.entries.items() if id not in self._before]
        changes = [
            _change(self._before[id], entry)
            for id, entry in self.entries.items()
            if id in self._before and entry != self._before[id]
        ]
        if not made and not changes and not self._messages:
            return None
        return SaidKept(self.run, self._number, self._messages, made, changes)

    @property
    def knows_more(self) -> bool:
        """Whether the ledger had entries before this run was heard."""
        return not self._is_empty


def _key(text: str) -> str:
    return " ".join(text.split())


def _change(before: Entry, now: Entry) -> Change:
    state: Any = now.state if (now.state, now.why) != (before.state, before.why) else ""
    return Change(
        now.id, state, now.why if state else "", now.reply if now.reply != before.reply else "",
        now.text if now.text != before.text else "", now.of if now.of != before.of else "",
        now.since if state else "",
    )  # fmt: skip


def short_why(text: str) -> str:
    """What shows a state, as long as an entry keeps it."""
    text = " ".join(text.split())
    return text if len(text) <= WHY_CHARS else f"{text[: WHY_CHARS - 1].rpartition(' ')[0]}…"


def message_hash(text: str) -> str:
    """A short hash by which a message of a run is recognised."""
    return sha256(" ".join(text.split()).encode(errors="replace")).hexdigest()[:8]


def is_part(item: str, point: str) -> bool:
    shared, total = shares(item, point)
    return total >= 2 and shared >= 2 and shared >= SAME_POINT_SHARE * total
