"""`segue config`: every setting, its value and where it comes from; and changing one."""

from __future__ import annotations

from typing import Any

from ....errors import BadSettings, SegueError, UsageError
from ....services.workspace.own_settings import set_setting, shown_settings
from ....settings import Origin, user_file
from ...render import one_line
from ..command import argument, command
from ..context import CommandContext


@command(
    "config",
    argument("words", "NAME", "a setting to show; `set NAME VALUE` or `unset NAME` changes your file",
             nargs="*"),
    json="an array of `{name, value, origin, about}`; with NAME one of them; a key is never shown",
    shape={"": "list[Origin]", "NAME": "Origin", "set": "Origin", "unset": "Origin"},
    examples=("segue config", "segue config cleanup_days", "segue config set cleanup_days 60",
              "segue config unset cleanup_days"),
)  # fmt: skip
def config(context: CommandContext) -> int:
    """Show every setting, or the value of one; set one in your own file, or take it out of it."""
    words = context.args.words
    if words[:1] in (["set"], ["unset"]):
        return _change(context, words)
    if len(words) > 1:
        raise UsageError("name one setting", hint="`segue config set NAME VALUE` changes one")
    return _show(context, words[0] if words else "")


def _change(context: CommandContext, words: list[str]) -> int:
    verb, name, value = words[0], " ".join(words[1:2]), " ".join(words[2:])
    if not name or (verb == "set") != bool(value):
        raise UsageError(
            f"which setting should be {verb}?",
            hint="`segue config set NAME VALUE`, or `segue config unset NAME`",
        )
    path = set_setting(context.environment, context.folder, name, value if verb == "set" else None)
    context.say(f"{verb}: {name} in {one_line(str(path))}")
    found = next(o for o in shown_settings(_origins(context)) if o.name == name)
    if verb == "set" and found.origin != str(path):
        context.warn(f"{name} is also set by {one_line(found.origin)}, which takes precedence")
    context.emit(found)
    return 0


def _show(context: CommandContext, wanted: str) -> int:
    origins = shown_settings(_origins(context))
    if not wanted:
        rows = ((o.name, _text(o.value), o.origin, o.about) for o in origins)
        context.listed(origins, ("setting", "value", "origin", "about"), rows, "")
        context.say(f"your own file: {one_line(str(user_file(context.environment)))}")
        return 0
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
