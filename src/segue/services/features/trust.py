"""Trust in checks: a command that came from a file or an agent runs only once somebody accepted it.

Accepted is the hash of all that decides about what runs, in the ledger that also holds trusted project
files. For what a person set, only a person's acceptance counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ...core.features.evidence import PERSON, Check
from ...core.journal import event as ev
from ...errors import StaleVersion
from ...stores.base import Append, Journal
from ..workspace.working_tree import PauseFile, trust_stream


def trusted_checks(journal: Journal, *, person: bool) -> set[str]:
    """The hashes of checks that were accepted; with ``person``, by a person."""
    found = set()
    for event in journal.read(trust_stream(journal)):
        body = ev.read_body(event)
        if isinstance(body, ev.CheckTrusted) and (not person or event.actor == PERSON):
            found.add(body.check)
    return found


def trust_checks(journal: Journal, checks: Iterable[Check], brake: PauseFile, *, at: str, actor: str) -> None:
    """Accept these checks as they are."""
    brake.check()
    bodies = [ev.CheckTrusted(check.hash, check.text) for check in checks]
    drafts = [ev.draft(body, at=at, actor=actor) for body in bodies]
    while drafts:
        version = journal.head(trust_stream(journal)).version
        with suppress(StaleVersion):
            journal.append(Append(trust_stream(journal), version, drafts))
            return
