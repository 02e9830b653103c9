"""Writes transcripts from steps in the agents' formats, for tests and the demo.

``written("codex", steps)`` gives the bytes of a transcript, and ``placed("codex", steps, home=…, cwd=…)``
writes it where that agent would. Each agent's format has a module here; nothing was copied from a real
conversation.
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
        """The transcript that this agent would have written; what its format lacks is left out."""
        ...

    def placed(self, steps: Iterable[Step], *, native: str, cwd: str, home: Path) -> Path:
        """Write the transcript where the agent would under this home folder, and return its path."""
        ...


def maker(agent: str) -> Maker:
    return cast(Maker, import_module(MAKERS[agent]))


def written(agent: str, steps: Iterable[Step], *, native: str = "run-1", cwd: str = "/src/shop") -> bytes:
    """A transcript of these steps in the format of this agent."""
    return maker(agent).written(steps, native=native, cwd=cwd)


def placed(
    agent: str, steps: Iterable[Step], *, home: Path, native: str = "run-1", cwd: str = "/src/shop"
) -> Path:
    """Write a transcript where this agent would under ``home``, and return its path."""
    return maker(agent).placed(steps, native=native, cwd=cwd, home=home)
