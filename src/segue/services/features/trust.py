"""Trust in checks: a command that came from a file or an agent runs only after somebody has accepted it.

Accepting records the hash of everything that decides what runs, in the ledger that also holds trusted project
files. For features that a person declared, only a person's acceptance counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...core import event_kinds as ev
from ...core.features.checks import PERSON, Check
from ...effects.pause_file import PauseFile
from ...stores.base import Store
from ..sessions.repository import append_last
from ..workspace.working_tree import trust_stream


def trusted_checks(store: Store, *, person: bool) -> set[str]:
    """The hashes of the checks that were accepted; with ``person``, only of those that a person accepted."""
    hashes = set()
    for event in store.read(trust_stream(store)):
        body = ev.read_body(event)
        if isinstance(body, ev.CheckTrusted) and (not person or event.actor == PERSON):
            hashes.add(body.check)
    return hashes


def trust_checks(store: Store, checks: Iterable[Check], pause_file: PauseFile, *, actor: str) -> None:
    """Accept these checks as they are now."""
    pause_file.check()
    bodies = [ev.CheckTrusted(check.hash, check.text) for check in checks]
    append_last(store, trust_stream(store), *bodies, actor=actor)
