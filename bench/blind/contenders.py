"""Who tells a reader of the past: the end of the conversation, the agent's own summary, and commands."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.blind.cuts import Case
from bench.blind.transcript import Event

TAIL, SUMMARY, CEILING = "tail", "summary", "ceiling"
EVENTS, CALL_CHARACTERS, TEXT_CHARACTERS = 80, 200, 600
CEILING_BYTES, REQUESTS, REQUEST_CHARACTERS, RESULT_CHARACTERS = 40_000, 4, 3_000, 1_500
TIMEOUT_SECONDS = 120


@dataclass(slots=True, frozen=True)
class Contender:
    """A command that prints its text of a transcript.

    ``{path}`` and ``{bytes}`` in the command stand for the transcript and the budget; without ``{path}``, the
    transcript is the last argument.
    """

    name: str
    command: str
    formats: frozenset[str] = frozenset()  # those that it can read; all if empty

    def text(self, case: Case, budget: int) -> str:
        """Its text of a case's past; raises ContenderFailed."""
        with tempfile.TemporaryDirectory() as folder:
            path = case.transcript.write_until(case.record, Path(folder))
            return self._run(path, budget)

    def _run(self, path: Path, budget: int) -> str:
        filled = [
            part.replace("{path}", str(path)).replace("{bytes}", str(budget))
            for part in shlex.split(self.command)
        ]
        command = filled if "{path}" in self.command else [*filled, str(path)]
        try:
            ran = subprocess.run(
                command, cwd=path.parent, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise ContenderFailed(str(fault)) from fault
        if ran.returncode or not ran.stdout.strip():
            raise ContenderFailed(ran.stderr.strip()[-300:] or f"exit {ran.returncode}, nothing printed")
        return ran.stdout.rstrip("\n")


class ContenderFailed(Exception):
    """A command gave no text."""


@dataclass(slots=True)
class Texts:
    """What the contenders say of one case, and who failed to."""

    said: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)  # who says, word for word, what another one says


def texts(case: Case, contenders: Sequence[Contender], budget: int, *, with_ceiling: bool = False) -> Texts:
    """The text of every contender that can read the case's format."""
    given = Texts({TAIL: tail(case.past, budget)})
    if with_ceiling:
        given.said[CEILING] = ceiling(case.past)
    if case.kind == "compaction":
        given.said[SUMMARY] = case.summary
    for contender in contenders:
        if contender.formats and case.transcript.agent not in contender.formats:
            continue
        try:
            given.said[contender.name] = contender.text(case, budget)
        except ContenderFailed as fault:
            given.failed[contender.name] = str(fault)
    return given


def tail(past: Sequence[Event], budget: int) -> str:
    """The last bytes of the conversation, without what the tools gave."""
    shown = [event for event in past[-EVENTS:] if event.kind in ("user", "said", "call")]
    text = "\n".join(
        f"{event.tool} {event.text[:CALL_CHARACTERS]}"
        if event.kind == "call"
        else event.text[:TEXT_CHARACTERS]
        for event in shown
    )
    return text.encode("utf-8", "replace")[-budget:].decode("utf-8", "ignore")


def ceiling(past: Sequence[Event]) -> str:
    """The most that any brief can hope for: the first request, the last ones, and the end of everything, with
    what the tools gave."""
    requests = [event.text[:REQUEST_CHARACTERS] for event in past if event.kind == "user"]
    shown = (
        f"CALL {event.tool}: {event.text[:RESULT_CHARACTERS]}"
        if event.kind == "call"
        else f"{event.kind.upper()}{' (error)' if event.failed else ''}: {event.text[:RESULT_CHARACTERS]}"
        for event in past[-2_000:]
    )
    end = "\n".join(shown).encode("utf-8", "replace")[-CEILING_BYTES:].decode("utf-8", "ignore")
    last = "\n---\n".join(requests[-REQUESTS:])
    heads = f"FIRST REQUEST: {''.join(requests[:1])}\n\nLAST REQUESTS:\n{last}"
    return f"{heads}\n\nTHE END OF THE CONVERSATION:\n{end}"
