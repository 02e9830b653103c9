"""`segue on` and `segue off`: whether Segue captures and injects here."""

from __future__ import annotations

from ....services.workspace.on_off import Switch, switch
from ...render import one_line
from ..command import command
from ..context import CommandContext


def _switch(context: CommandContext) -> int:
    """Capture and inject here again, or no longer."""
    segue = context.segue
    segue.workspace.pause_file.check()
    session = segue.session(context.session_id()).id if context.session_id() else ""
    on = context.command == "on"
    done = switch(segue.workspace.home, segue.workspace.working_tree.root, session, on=on)
    return context.report(done, _words(done))


for _word in ("off", "on"):
    command(
        _word, session="flag", json="`{on, folder, session, changed}`",
        shape="Switch",
        examples=(f"segue {_word}", f"segue {_word} --session refactor-auth"),
    )(_switch)  # fmt: skip


def _words(done: Switch) -> str:
    what = f"session {done.session}" if done.session else one_line(done.folder)
    state = "on" if done.on else "off"
    if not done.changed:
        return f"Segue is already {state} for {what}"
    return f"Segue is {state} for {what}" + (
        "" if done.on else ": nothing is captured and nothing is injected until `segue on`"
    )
