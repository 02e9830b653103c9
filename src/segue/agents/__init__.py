"""The agents that Segue can read: ours, and those that third parties declare in an entry point.

Each is a reference ``module:name`` that is imported at first use, so that a command loads only what it needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from .._files import open_file
from ..errors import UnknownAgent
from .base import Agent, Traits, loaded

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

OWN_FORMATS: dict[str, str] = {
    "messages": "segue.agents.own_formats:MESSAGES",
    "log": "segue.agents.own_formats:LOG",
}
"""Conversations of programs that are no agent: they are read where a file is named, and never looked for."""

CONVERSATIONS: dict[str, str] = {
    "openai-agents": "segue.agents.conversations:OPENAI_AGENTS",
    "pydantic-ai": "segue.agents.conversations:PYDANTIC_AI",
}
"""Programs on a framework that keep their conversations in Segue, which writes a transcript of each. Their
transcripts are looked for only where there are some."""


@cache
def references() -> dict[str, str]:
    """The reference ``module:name`` of every agent, by its name; ours cannot be replaced."""
    if not _has_third_party_agents():
        return dict(OURS)
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=GROUP)} | OURS


def _has_third_party_agents() -> bool:
    """Whether an installed package declares our entry point. Asking ``importlib.metadata`` takes longer than
    writing a whole brief, so the files are searched here."""
    wanted = f"[{GROUP}]".encode()
    for folder in sys.path:
        if os.path.isfile(folder):  # an archive of packages, which only Python can search
            return True
        try:
            names = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in names:
            try:
                with open_file(f"{folder or '.'}/{name}/entry_points.txt") as file:
                    if wanted in file.read():
                        return True
            except OSError:
                continue
    return False


_load: Callable[[str], Agent] = cache(loaded)


def agent(name: str) -> Agent:
    """The agent of this name; UnknownAgent if there is none."""
    own = OURS.get(name) or CONVERSATIONS.get(name) or OWN_FORMATS.get(name)
    reference = own or references().get(agent_name(name))
    if reference is None:
        known = f"{', '.join(sorted(references()))}; for a file of another program: {', '.join(OWN_FORMATS)}"
        raise UnknownAgent(f"no agent is called {name!r}", hint=f"known: {known}")
    return _load(reference)


def traits_of(agent: Agent) -> Traits:
    """The traits that an agent declares; the defaults if it declares none."""
    return getattr(agent, "traits", Traits())


def canonical_name(name: str) -> str:
    """The name of the agent with this alias; any other word is returned unchanged."""
    return next((agent.name for agent in agents() if name in traits_of(agent).aliases), name)


def agent_name(word: str) -> str:
    """The name of the agent that a word stands for, which may be an alias; any other word is returned
    unchanged. Unlike ``canonical_name`` it leaves the name of an agent of its own as it is."""
    return word if word in OURS or word in references() else canonical_name(word)


@cache
def agent_variables() -> dict[str, str]:
    """The environment variables that agents set for the commands they run, each with the agent's name. Agents
    whose transcripts Segue does not read are included."""
    variables = {"CURSOR_AGENT": "cursor"}
    for agent in agents():
        traits = traits_of(agent)
        variables |= dict.fromkeys((*traits.variables, *traits.conversation_variables), agent.name)
    return variables


def agents() -> Iterator[Agent]:
    """All agents, ours first."""
    for reference in OURS.values():
        yield _load(reference)
    for name, reference in references().items():
        if name not in OURS:
            yield _load(reference)


def conversation_formats(data: Path | None) -> list[Agent]:
    """The frameworks with whose programs conversations were kept in this data folder."""
    folder = data / "conversations" if data is not None else None
    if folder is None or not folder.is_dir():
        return []
    return [_load(reference) for name, reference in CONVERSATIONS.items() if (folder / name).is_dir()]


SIGNS = {
    b'"payload"': "codex",
    b'"messages"': "opencode",
    b'"toolRequests"': "copilot-cli",
    b'"$set"': "gemini-cli",
}
"""Signs of an agent's format: the likely agent is asked first, so that the others need not be loaded."""


def recognise(head: bytes, name: str) -> Agent | None:
    """The agent that wrote a file with this beginning and name; None if no agent recognises it."""
    for sign, likely in SIGNS.items():
        if sign in head and agent(likely).recognises(head, name):
            return agent(likely)
    return next((agent for agent in agents() if agent.recognises(head, name)), None)


def recognise_own_format(head: bytes, name: str) -> Agent | None:
    """The format of a file that no agent wrote; None if it has none that can be recognised."""
    messages = agent("messages")
    return messages if messages.recognises(head, name) else None
