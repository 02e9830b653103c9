"""The runs that a brief tells of, and the facts about a transcript alone.

What needs a store, a session or a working tree is in ``gather.py``: `segue brief FILE` loads none of that,
because it would take as long as reading a transcript of some megabytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...agents import agent as agent_of
from ...agents.base import Agent, Found
from ...core.base.values import Value
from ...core.brief.facts import BriefFacts, Probe, facts
from ...core.ledger.model import Entry
from ...core.runs.model import RunDigest
from ..ledger.work import ledger_of_sayings
from ..runs.read_transcript import Reading, final, masked, read, recognised, sayings_of

if TYPE_CHECKING:
    from ...core.sessions.state import SessionState


class RunsSummary(Value):
    """The digests of the runs of a piece of work, the newest first."""

    digests: tuple[RunDigest, ...] = ()
    """Digests, masked. Runs that did nothing are joined with the one before them."""
    agent: str = ""
    """The agent of the newest run."""
    run: str = ""
    """The id of the newest run."""
    found: Found | None = None
    """The transcript of the newest run."""
    elsewhere: str = ""
    """The folder of the newest run, if that is in another working tree of the project."""
    keys: tuple[str, ...] = ()
    """The keys of the newest run and of those before it, as far as they are known."""
    notices: tuple[str, ...] = ()
    """What else is to be said about runs, a line each."""
    entries: tuple[Entry, ...] = ()
    """The ledger of the work, with what these runs said since it was kept."""


def summary_of_transcript(path: Path, agent: str = "") -> RunsSummary:
    """The run of a transcript alone. Raises TranscriptUnreadable."""
    author = recognised(path, agent, own_formats=True)
    return summary_of_reading(read(path, author), author)


def summary_of_messages(messages: Sequence[Mapping[str, Any]]) -> RunsSummary:
    """The conversation of a program, as it has it in memory. Raises TranscriptUnreadable."""
    from ...agents.message_format import checked_messages

    checked_messages(list(messages), "the messages")
    author = agent_of("messages")
    reading = Reading(author.name, "")
    reading.start_over(author.reader().read(msgspec.json.encode(messages)))
    return summary_of_reading(reading, author)


def summary_of_reading(reading: Reading, author: Agent) -> RunsSummary:
    """The run that was read, with its own ledger."""
    digest = masked(final(reading, author))
    name = f"{author.name}/{digest.native}"
    ledger = ledger_of_sayings(name, sayings_of(reading, author))
    return RunsSummary((digest,), author.name, digest.native, entries=tuple(ledger.entries))


def facts_of_runs(
    runs: RunsSummary, state: SessionState | None = None, world: Probe | None = None,
    memories: Sequence[str] = (), *, covered: Mapping[str, str] | None = None, observed: bool = False,
) -> BriefFacts:  # fmt: skip
    """The facts about runs, and about what else is known of their work. This is the only caller of
    ``core.brief.facts``."""
    return facts(
        runs.digests, state, world, memories, agent=runs.agent, entries=runs.entries, covered=covered,
        observed=observed,
    )  # fmt: skip
