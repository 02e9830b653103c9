"""Trust in checks: a command that came from a file or an agent runs only once somebody accepted it.

Accepted is the hash of all that decides about what runs, in the ledger that also holds trusted project
files. For what a person set, only a person's acceptance counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ...core import event_kinds as ev
from ...core.features.checks import PERSON, Check
from ...effects.pause_file import PauseFile
from ...errors import StaleVersion
from ...stores.base import Append, Store
from ..workspace.working_tree import trust_stream


def trusted_checks(store: Store, *, person: bool) -> set[str]:
    """The hashes of checks that were accepted; with ``person``, by a person."""
    found = set()
    for event in store.read(trust_stream(store)):
        body = ev.read_body(event)
        if isinstance(body, ev.CheckTrusted) and (not person or event.actor == PERSON):
            found.add(body.check)
    return found


def trust_checks(
    store: Store, checks: Iterable[Check], pause_file: PauseFile, *, at: str, actor: str
) -> None:
    """Accept these checks as they are."""
    pause_file.check()
    bodies = [ev.CheckTrusted(check.hash, check.text) for check in checks]
    drafts = [ev.draft(body, at=at, actor=actor) for body in bodies]
    while drafts:
        version = store.head(trust_stream(store)).version
        with suppress(StaleVersion):
            store.append(Append(trust_stream(store), version, drafts))
            return
