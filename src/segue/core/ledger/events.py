"""The bodies of events about the ledger of a session."""

from __future__ import annotations

from ..journal.event import Body
from .model import Change, Entry, HeardUpTo


class SaidKept(Body):
    KIND = "ledger.kept"
    run: str = ""
    """The run that was heard, as ``agent/id``; empty for what somebody declared."""
    number: int = 0
    """How many of its sayings are in the ledger now."""
    messages: list[str] = []
    """Short hashes of the messages that were heard now."""
    entries: list[Entry] = []
    changes: list[Change] = []
    """What became of entries that were there before."""


class EntryCorrected(Body):
    KIND = "ledger.corrected"
    change: Change
    by: str = ""
    """The person who corrected it."""


class LedgerJoined(Body):
    KIND = "ledger.joined"
    session: str = ""
    """The session that these entries come from; empty if they come from a document."""
    entries: list[Entry] = []
    """As they are there, in the order in which they were said."""
    heard: dict[str, HeardUpTo] = {}
    """How far the runs of that session were heard, by ``agent/id``."""


LEDGER_KINDS = frozenset({SaidKept.KIND, EntryCorrected.KIND, LedgerJoined.KIND})
"""The kinds of events about a ledger. They declare nothing about the work."""
