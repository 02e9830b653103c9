"""Which agents can be launched here, by name or by the name of their program."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from ...agents import agent as agent_of, agents
from ...agents.base import Launcher
from ...errors import NotInstalled, UsageError
from ..runs.listing import list_runs
from ..workspace.workspace import Workspace
from .record import Options


def launchable() -> dict[str, str]:
    """The name of each agent that can be launched, and its program."""
    return {one.name: one.launcher.command for one in agents() if hasattr(one, "launcher")}


def launcher_of(name: str) -> Launcher:
    """How an agent is started. Raises UsageError for one that cannot be launched."""
    found: Launcher | None = getattr(agent_of(name), "launcher", None)
    if found is None:
        raise UsageError(f"{name} cannot be launched", hint="one of " + ", ".join(launchable().values()))
    return found


def check_access(names: Sequence[str], options: Options) -> None:
    """Raise UsageError for an agent that would wait for ever for an answer that nobody gives."""
    for name in names:
        launcher = launcher_of(name)
        if getattr(launcher, "needs_full_access", False) and not (options.full_access or options.screen):
            raise UsageError(
                f"{launcher.command} asks before every step, and without a screen nobody can answer",
                hint="give --full-access, or let it use its own screen",
            )


def chosen(workspace: Workspace, wanted: Sequence[str]) -> tuple[str, ...]:
    """The agents that were named; else the one that worked here last, else the first installed one. Raises
    UsageError or NotInstalled."""
    known = launchable()
    by_word = {**{command: name for name, command in known.items()}, **{name: name for name in known}}
    path = workspace.environment.get("PATH")
    there = [name for name, command in known.items() if shutil.which(command, path=path)]
    for word in wanted:
        if word not in by_word:
            raise UsageError(f"{word} cannot be launched", hint="one of " + ", ".join(known.values()))
        if by_word[word] not in there:
            raise NotInstalled(
                f"{known[by_word[word]]} is not on PATH", hint="install it, or name another agent"
            )
    if wanted:
        return tuple(dict.fromkeys(by_word[word] for word in wanted))
    last = next((run.agent for run in list_runs(workspace, limit=8) if run.agent in there), "")
    if not last and not there:
        raise NotInstalled("no agent is on PATH", hint="install one of " + ", ".join(known.values()))
    return (last or there[0],)
