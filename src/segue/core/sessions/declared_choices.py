"""What somebody declared as decided, as entries of the ledger.

A declared choice becomes an entry of its own in the journal when it is corrected; until then it is made from
what was declared. Going back to a checkpoint undeclares choices, and does not make unsaid what was said.
"""

from __future__ import annotations

from ..base.canonical import sha256
from ..ledger.model import HOLDING, Entry, find_entry
from .state import Decision, SessionState


def ledger_entries(state: SessionState) -> tuple[Entry, ...]:
    """The entries of a session's ledger, and behind them those of its declared choices."""
    return (*state.said.flat(), *declared_entries(state))


def declared_entries(state: SessionState) -> list[Entry]:
    """The entries of the choices that were declared and never corrected, each once."""
    entries = {_id(made): _entry(made) for made in state.decisions}
    return [entry for id, entry in entries.items() if find_entry(state.said, id) < 0]


def decisions_that_hold(state: SessionState) -> list[Decision]:
    """What was declared as decided, the oldest first, in the words of whoever corrected it last."""
    decisions = list(state.decisions)
    if not state.said:
        return decisions
    rows = ((made, corrected_entry(state, made)) for made in decisions)
    return [_as_corrected(made, entry) for made, entry in rows if entry is None or entry.state in HOLDING]


def corrected_entry(state: SessionState, made: Decision) -> Entry | None:
    """The entry of a declared choice that somebody corrected."""
    at = find_entry(state.said, _id(made))
    return state.said[at] if at >= 0 else None


def _as_corrected(made: Decision, entry: Entry | None) -> Decision:
    is_edited = entry is not None and entry.text != _entry(made).text
    return Decision(entry.text, "", made.at, made.actor) if entry is not None and is_edited else made


def _entry(made: Decision) -> Entry:
    text = f"{made.text} ({made.why})" if made.why else made.text
    return Entry(_id(made), "choice", text, by=made.actor or "user", at=made.at)


def _id(made: Decision) -> str:
    own = "\0".join(("decision", made.text, made.why))
    return sha256(own.encode(errors="replace")).hexdigest()[:10]
