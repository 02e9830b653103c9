"""Serving agents: `segue mcp`."""

from __future__ import annotations

from ...errors import NotInstalled
from .command import Command
from .context import Context


def mcp(context: Context) -> int:
    """Speak MCP on standard input and output until the agent hangs up."""
    from importlib.util import find_spec

    from ..mcp.front import Front, own_streams

    if find_spec("mcp") is None:
        raise NotInstalled("the MCP SDK is not installed", hint="pip install 'segue[mcp]'")
    front = Front(*own_streams())
    front.start()
    from ..mcp.calls import Calls
    from ..mcp.server import serve

    args = context.args
    options = [f"--folder={context.folder}", *([f"--home={args.home}"] if args.home else [])]
    serve(front, Calls(options, session=args.session or ""))
    return 0


COMMANDS = (
    Command(
        "mcp", mcp, session="flag", json="nothing: it speaks the protocol",
        examples=("segue mcp", "segue mcp --session leak-hunt"),
    ),
)  # fmt: skip
