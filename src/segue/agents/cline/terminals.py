"""The commands that go on in terminals, as the harness's details about the editor tell.

These details follow each message to the model. They name a command by its command line, which is therefore
its id, and list those that run and those that have ended with output that the model has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.runs.steps import Settled, Step

_RUNNING = "# Actively Running Terminals"
_ENDED = "# Inactive Terminals"
_BACKGROUND = "# Background Commands"
_NEW_OUTPUT = "### New Output\n"


class Terminals:
    """Knows the commands that go on; ``commands`` says of each whether the details have listed it."""

    def __init__(self) -> None:
        self.commands: dict[str, bool] = {}

    def read(self, at: float, details: str) -> Iterator[Step]:
        """A step for each command that has ended according to the details: they say so, or no longer list
        it. A command that they never listed may be in a terminal that they do not know."""
        rest, _, ended = details.partition(_ENDED)
        running = rest[rest.find(_RUNNING) :] if _RUNNING in rest else ""
        background = details[details.find(_BACKGROUND) :] if _BACKGROUND in details else ""
        for command, was_listed in list(self.commands.items()):
            if f"`{command}`" in running or f"- {command} (running " in background:
                self.commands[command] = True
                continue
            output = _output_of(command, ended)
            if output is not None or was_listed:
                del self.commands[command]
                yield Settled(at, command, text=output or "")


def _output_of(command: str, ended: str) -> str | None:
    """The new output of a command in the list of those that have ended; None if it is not in it."""
    for heading in (f"\n## {command}\n{_NEW_OUTPUT}", f"{_NEW_OUTPUT}Command: `{command}`\n"):
        _, found, output = ended.partition(heading)
        if found:
            ends = [output.find(mark) for mark in ("\n## ", "\n### New Output", "\n\n# ", "\n</environment")]
            return output[: min((end for end in ends if end >= 0), default=len(output))].strip()
    return None
