"""`segue on` and `segue off`: whether Segue captures and injects here."""

from __future__ import annotations

from ....services.workspace.on_off import Switch, switch
from ...render import one_line
from ..command import command
from ..context import CommandContext


@command(
    "off", session="flag", json="`{on, folder, session, changed}`",
    examples=("segue off", "segue off --session refactor-auth"),
)  # fmt: skip
def off(context: CommandContext) -> int:
    """Nothing is captured and nothing is injected here."""
    return _switch(context, on=False)


@command(
    "on", session="flag", json="`{on, folder, session, changed}`",
    examples=("segue on", "segue on --session refactor-auth"),
)  # fmt: skip
def on(context: CommandContext) -> int:
    """Capture and inject again."""
    return _switch(context, on=True)


def _switch(context: CommandContext, *, on: bool) -> int:
    segue = context.segue
    segue.workspace.pause_file.check()
    session = segue.session(context.session_id()).id if context.session_id() else ""
    done = switch(segue.workspace.home, segue.workspace.working_tree.root, session, on=on)
    return context.report(done, _words(done))


def _words(done: Switch) -> str:
    what = f"session {done.session}" if done.session else one_line(done.folder)
    state = "on" if done.on else "off"
    if not done.changed:
        return f"Segue is already {state} for {what}"
    return f"Segue is {state} for {what}" + (
        "" if done.on else ": nothing is captured and nothing is injected until `segue on`"
    )
