"""An entry of the ledger: something that was said, by whom and where, and whether it still holds.

The text of an entry is what was said, whole; one that is too long is cut between sentences and says so. It is
never worded anew. An entry is open until something shows that it is done, withdrawn or superseded, and what
showed it is kept beside it. In doubt it stays open. What a person corrected is not changed by what is
observed later.
"""

from __future__ import annotations

from typing import Literal, get_args

from ..base.persistent_list import Rows
from ..base.values import Value
from ..language.relation import Relation

Kind = Literal["request", "rule", "permission", "choice", "list", "item", "failing", "attempt", "question"]
State = Literal["open", "active", "answered", "done", "withdrawn", "superseded"]

KINDS: tuple[Kind, ...] = get_args(Kind)
HOLDING: frozenset[State] = frozenset({"open", "active"})
SETTLED: frozenset[State] = frozenset({"done", "withdrawn", "superseded"})
TEXT_CHARS, ANSWERS_CHARS, REPLY_CHARS, WHY_CHARS = 6_000, 1_200, 2_400, 300
"""How long the texts of an entry may be."""


class Entry(Value, omit_defaults=True, gc=False):
    """Something that was said."""

    id: str
    kind: Kind
    text: str
    """What was said. Of a list, what it is: "the todo list of codex"; of a failing check, its name."""
    state: State = "open"
    """Items may be active, requests answered: the agent ended its turn on it, and nobody has confirmed it."""
    by: str = ""
    """user, the name of an agent, or whoever declared it."""
    at: str = ""
    """When it was said."""
    run: str = ""
    """The run in which it was said, as ``agent/id``."""
    step: int = 0
    """The step of that run's transcript; 0 if only a hook heard it, or somebody declared it."""
    relation: Relation = ""
    """Of a request: how it relates to those before it."""
    of: str = ""
    """The id of the entry that it belongs to: of an item its list or request, of a rule the request that it
    stood in, of a permission the rule that it softens."""
    answers: str = ""
    """Of a short message, the agent's words that it takes up; of a choice, the question."""
    reply: str = ""
    """Of a request, the agent's first answer: its plan in its own words. Of a failing check, the lines that
    say why. Of an attempt, what became of it."""
    mark: str = ""
    """Of an item in a numbered list, its number or letter."""
    cut_chars: int = 0
    """How long the whole text was, if it was cut."""
    since: str = ""
    """When it got its state, if that is not when it was said."""
    why: str = ""
    """What shows that state."""
    corrected: str = ""
    """The person who set its state or text by hand."""


class Change(Value, omit_defaults=True, gc=False):
    """What became of an entry. A field that is empty is unchanged."""

    id: str
    state: State | Literal[""] = ""
    why: str = ""
    reply: str = ""
    text: str = ""
    of: str = ""
    since: str = ""
    """When it got its state; by default when the event was written."""


class HeardUpTo(Value, omit_defaults=True, gc=False):
    """How far the sayings of a run are in the ledger."""

    number: int
    messages: tuple[str, ...] = ()
    """Short hashes of the user's messages that were heard, for transcripts that are read anew as a whole."""


class Ledger(Value):
    """The entries of a session in the order in which they were said, and how far each run was heard."""

    entries: Rows[Entry] = Rows()
    heard: dict[str, HeardUpTo] = {}


def id_of(entry: Entry) -> str:
    """The key by which an entry is looked up."""
    return entry.id


def find_entry(entries: Rows[Entry], id: str) -> int:
    """The index of an entry, or -1."""
    return entries.find(id, id_of)
