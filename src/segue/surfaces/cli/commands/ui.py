"""`segue ui`: the pages to look at."""

from __future__ import annotations

import os
import sys

from ....errors import NotInstalled, extra
from ..command import argument, command, flag
from ..context import CommandContext


@command(
    "ui",
    argument("--port", "N", "the port; by default a free one", type=int, default=0),
    flag("--no-open", "only print the link; do not open a browser"),
    json="an object with the `url`, as soon as it can be opened",
    shape="PageAddress",
    examples=("segue ui", "segue ui --no-open --port 8111"),
)
def ui(context: CommandContext) -> int:
    """A page to look at everything: what runs, sessions, runs, search, memory, figures, health."""
    from importlib.util import find_spec

    if find_spec("jinja2") is None or find_spec("uvicorn") is None:
        raise NotInstalled("the packages that the pages need are not installed", hint=extra("server"))
    from ...http.web import local

    def announce(link: str) -> None:
        context.report({"url": link}, f"Segue's pages: {link}", "The link works once. Ctrl-C ends it.")
        context.out.flush()
        if not context.args.no_open and not context.json and _has_display():
            import webbrowser

            webbrowser.open(link)

    door = local.LocalDoor(context.folder, context.environment)
    return local.run(door, context.args.port, announce)


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
