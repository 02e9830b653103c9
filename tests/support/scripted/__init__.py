"""A model that says what a script says: a real agent runs against it, and nothing leaves the machine.

It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, over loopback. A script is
a list of turns, a turn a list of steps in no agent's dialect; each is rendered as the tools that the asking
agent offers. All that the model was sent is kept and can be searched: that an agent was really told
something is read here, not in the agent's own files.

    with ScriptedModel([Script("calc", [[Write("calc.py", "…")], [Say("Done.")]])], folder=work) as model:
        …run an agent against model.url with the prompt "SCRIPT:calc please"…
        assert model.sent("the text that must have arrived")

A script begins where a prompt says ``SCRIPT:<name>``; without that, each process that asks takes the next one
of ``queue``. The turn is counted in what the agent sends, so that a resumed conversation goes on rightly.
"""

from __future__ import annotations

from tests.support.scripted.server import Request, ScriptedModel, Sent
from tests.support.scripted.steps import (
    Delegate,
    Edit,
    Fault,
    Mcp,
    Raw,
    Read,
    Run,
    Say,
    Script,
    Stall,
    Step,
    Think,
    Todos,
    Used,
    Write,
)

__all__ = [
    "Delegate",
    "Edit",
    "Fault",
    "Mcp",
    "Raw",
    "Read",
    "Request",
    "Run",
    "Say",
    "Script",
    "ScriptedModel",
    "Sent",
    "Stall",
    "Step",
    "Think",
    "Todos",
    "Used",
    "Write",
]
