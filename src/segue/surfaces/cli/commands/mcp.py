"""`segue mcp`: the work of a session as tools for an agent's model."""

from __future__ import annotations

from ....errors import NotInstalled, extra
from ..command import command
from ..context import CommandContext


@command(
    "mcp", session="flag", json="nothing: it speaks the protocol",
    shape="NoJson",
    examples=("segue mcp", "segue mcp --session leak-hunt"),
)  # fmt: skip
def mcp(context: CommandContext) -> int:
    """Speak MCP on standard input and output until the agent hangs up."""
    from importlib.util import find_spec

    from ...mcp.early_answers import EarlyAnswers, own_streams

    if find_spec("mcp") is None:
        raise NotInstalled("the MCP SDK is not installed", hint=extra("mcp"))
    front = EarlyAnswers(*own_streams())
    front.start()
    from ...mcp.calls import Calls
    from ...mcp.server import serve

    serve(front, Calls(context.folder, context.environment, context.args.session or ""))
    return 0
