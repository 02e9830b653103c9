"""Hooks: what agents call, and the switch that keeps Segue out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render import one_line
from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ....services.workspace.on_off import Switch
    from ..parser import Parser


def hook(context: CommandContext) -> int:
    """Answer an agent; whatever happens, the agent goes on."""
    import sys

    from ....settings import data_folder
    from ...hook.entry import answered

    try:
        payload = sys.stdin.buffer.read() if not sys.stdin.isatty() else b""
        said = answered(
            str(data_folder(context.environment)), context.args.agent, context.args.event, payload
        )
        sys.stdout.flush()
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
    except Exception:
        pass  # a hook that fails must not fail the agent; what can be logged is
    return 0


def off(context: CommandContext) -> int:
    """Nothing is captured and nothing is injected here."""
    return _switch(context, on=False)


def on(context: CommandContext) -> int:
    """Capture and inject again."""
    return _switch(context, on=True)


def _switch(context: CommandContext, *, on: bool) -> int:
    from ....services.workspace.on_off import switch

    segue = context.segue
    segue.workspace.pause_file.check()
    session = segue.session(context.session_id()).id if context.session_id() else ""
    done = switch(segue.workspace.home, segue.workspace.working_tree.root, session, on=on)
    context.emit(done)
    context.say(_words(done))
    return 0


def _words(done: Switch) -> str:
    what = f"session {done.session}" if done.session else one_line(done.folder)
    state = "on" if done.on else "off"
    if not done.changed:
        return f"Segue is {state} already for {what}"
    return f"Segue is {state} for {what}" + (
        "" if done.on else ": nothing is captured and nothing is injected until `segue on`"
    )


def _hook_arguments(parser: Parser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="which agent calls, for example claude-code")
    parser.add_argument("event", metavar="EVENT", help="what happened, as the agent calls it")


COMMANDS = (
    CliCommand(
        "hook", hook, _hook_arguments, json="what the agent takes as an answer, or nothing",
        examples=("segue hook claude-code SessionStart < told.json", "segue hook codex Stop < told.json"),
    ),
    CliCommand(
        "off", off, session="flag", json="`{on, folder, session, changed}`",
        examples=("segue off", "segue off --session refactor-auth"),
    ),
    CliCommand(
        "on", on, session="flag", json="`{on, folder, session, changed}`",
        examples=("segue on", "segue on --session refactor-auth"),
    ),
)  # fmt: skip
