"""Transcripts as the agents write them, made from steps: what tests and the demo read.

``written("codex", steps)`` gives the bytes of a transcript, ``placed("codex", steps, home=…, cwd=…)``
puts it where that agent would keep it. Each agent's format is written in a module of its own here;
none of it was copied from a real conversation.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ...core.runs.steps import Step

MAKERS: dict[str, str] = {
    "claude-code": "segue.testing.transcripts.claude_code",
    "codex": "segue.testing.transcripts.codex",
    "opencode": "segue.testing.transcripts.opencode",
    "gemini-cli": "segue.testing.transcripts.gemini_cli",
    "copilot-cli": "segue.testing.transcripts.copilot_cli",
    "cline": "segue.testing.transcripts.cline",
    "roo": "segue.testing.transcripts.roo",
}


class Maker(Protocol):
    """A module that writes one agent's format."""

    def written(self, steps: Iterable[Step], *, native: str, cwd: str) -> bytes:
        """The transcript that this agent would have written; what it cannot say is left out."""
        ...

    def placed(self, steps: Iterable[Step], *, native: str, cwd: str, home: Path) -> Path:
        """Write it where the agent keeps it under this home folder; the path to hand to a reader."""
        ...


def maker(agent: str) -> Maker:
    return cast(Maker, import_module(MAKERS[agent]))


def written(agent: str, steps: Iterable[Step], *, native: str = "run-1", cwd: str = "/src/shop") -> bytes:
    """A transcript of this agent that tells these steps."""
    return maker(agent).written(steps, native=native, cwd=cwd)


def placed(
    agent: str, steps: Iterable[Step], *, home: Path, native: str = "run-1", cwd: str = "/src/shop"
) -> Path:
    """A transcript of this agent in its place under ``home``."""
    return maker(agent).placed(steps, native=native, cwd=cwd, home=home)
