"""`segue config`: every setting, its value and where it comes from."""

from __future__ import annotations

from typing import Any

from ....errors import BadSettings, SegueError, UsageError
from ....services.workspace.shown_settings import shown_settings
from ....settings import Origin
from ...render import one_line
from ..command import command, optional
from ..context import CommandContext


@command(
    "config",
    optional("name", "NAME", "show only the value of this setting"),
    json="an array of `{name, value, origin, about}`; with NAME one of them; a key is never shown",
    examples=("segue config", "segue config cleanup_days", "segue config --json"),
)  # fmt: skip
def config(context: CommandContext) -> int:
    """Show every setting, or the value of one."""
    origins = shown_settings(_origins(context))
    wanted = context.args.name
    if not wanted:
        rows = ((o.name, _text(o.value), o.origin, o.about) for o in origins)
        return context.listed(origins, ("setting", "value", "origin", "about"), rows, "")
    found = next((o for o in origins if o.name == wanted), None)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(wanted, [o.name for o in origins], n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`segue config` lists them all"
        raise UsageError(f"there is no setting {wanted!r}", hint=hint)
    return context.report(found, one_line(_text(found.value)))


def _origins(context: CommandContext) -> list[Origin]:
    """All settings; without the project's file if the store, which knows whether that is trusted, cannot be
    read."""
    try:
        return context.segue.workspace.settings.origins()
    except (BadSettings, UsageError):
        raise
    except SegueError as fault:
        context.warn(f"{fault.message}; these are the settings without this project's segue.toml:")
        return context.own_settings().origins()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
