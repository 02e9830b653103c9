"""Every agent that Segue can read: ours, and those that third parties name in an entry point.

Both are written as ``module:name`` and imported at first use, so that a command pays for no other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from ..errors import UnknownAgent
from .base import Agent, Traits

GROUP = "segue.agents"

OURS: dict[str, str] = {
    "claude-code": "segue.agents.claude_code:AGENT",
    "codex": "segue.agents.codex:AGENT",
    "opencode": "segue.agents.opencode:AGENT",
    "gemini-cli": "segue.agents.gemini_cli:AGENT",
    "copilot-cli": "segue.agents.copilot_cli:AGENT",
    "cline": "segue.agents.cline:AGENT",
    "roo": "segue.agents.cline:ROO",
}


@cache
def declared() -> dict[str, str]:
    """Name to ``module:name`` of every agent; ours cannot be replaced."""
    if not _anybody_names_one():
        return dict(OURS)
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=GROUP)} | OURS


def _anybody_names_one() -> bool:
    """Whether an installed package has our entry point; to ask Python's own way costs more than a brief."""
    wanted = f"[{GROUP}]".encode()
    for folder in sys.path:
        if os.path.isfile(folder):  # packages in an archive: only Python can look into it
            return True
        try:
            names = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in names:
            try:
                with open(f"{folder or '.'}/{name}/entry_points.txt", "rb") as file:
                    if wanted in file.read():
                        return True
            except OSError:
                continue
    return False


@cache
def _load(reference: str) -> Agent:
    module, _, name = reference.partition(":")
    found: Agent = getattr(import_module(module), name)
    return found


def agent(name: str) -> Agent:
    """The agent of this name."""
    reference = OURS.get(name) or declared().get(name)
    if reference is None:
        raise UnknownAgent(f"no agent is called {name!r}", hint=f"known: {', '.join(sorted(declared()))}")
    return _load(reference)


def traits_of(one: Agent) -> Traits:
    """What an agent declares of itself beside its transcripts."""
    return getattr(one, "traits", Traits())


def named(name: str) -> str:
    """The name of an agent that people may call otherwise; any other word as it is."""
    return next((one.name for one in agents() if name in traits_of(one).aliases), name)


@cache
def agent_variables() -> dict[str, str]:
    """Variables that agents set for the commands that they run, with the name of the agent; also of agents
    whose
    transcripts Segue does not read."""
    found = {"CURSOR_AGENT": "cursor"}
    for one in agents():
        traits = traits_of(one)
        found |= dict.fromkeys((*traits.variables, *traits.conversation_variables), one.name)
    return found


def agents() -> Iterator[Agent]:
    """All of them, ours first."""
    for reference in OURS.values():
        yield _load(reference)
    for name, reference in declared().items():
        if name not in OURS:
            yield _load(reference)


SIGNS = {
    b'"payload"': "codex",
    b'"messages"': "opencode",
    b'"toolRequests"': "copilot-cli",
    b'"$set"': "gemini-cli",
}
"""What makes an agent worth asking first, so that the others need not be loaded."""


def recognise(head: bytes, name: str) -> Agent | None:
    """The agent that wrote a file which begins like this."""
    for sign, likely in SIGNS.items():
        if sign in head and agent(likely).recognises(head, name):
            return agent(likely)
    return next((one for one in agents() if one.recognises(head, name)), None)
