"""`segue hook`: what agents call; whatever happens, the agent can continue."""

from __future__ import annotations

from ..command import argument, command
from ..context import CommandContext


@command(
    "hook",
    argument("agent", "AGENT", "the agent that calls, for example claude-code"),
    argument("event", "EVENT", "what happened, as the agent calls it"),
    json="the reply in the agent's own format, or nothing",
    shape="Any",
    examples=("segue hook claude-code SessionStart < event.json", "segue hook codex Stop < event.json"),
)  # fmt: skip
def hook(context: CommandContext) -> int:
    """Answer an agent; whatever happens, the agent can continue."""
    import sys

    from ....settings import data_folder
    from ...hook import answered

    try:
        payload = sys.stdin.buffer.read() if not sys.stdin.isatty() else b""
        said = answered(
            str(data_folder(context.environment)), context.args.agent, context.args.event, payload
        )
        sys.stdout.flush()
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
    except Exception:
        pass  # a hook must never make the agent fail; the error is logged if possible
    return 0
