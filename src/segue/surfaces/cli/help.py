"""The help texts: an overview of all commands, and one command in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .command import OF_EVERY_COMMAND, CliCommand
from .table import DAILY, GROUPS, TABLE

if TYPE_CHECKING:
    import argparse


def overview(*, every: bool = False) -> str:
    """What `segue --help` says: the commands of a day or, with ``every``, all of them."""
    lines = [
        "segue: the next run of your coding agent knows where the last one stopped",
        "",
        "usage: segue COMMAND [options]",
    ]
    lines += ["", "`segue` alone shows where the work here stands and what to do next."]
    for group, names in GROUPS.items() if every else (("everyday commands", DAILY),):
        lines += ["", f"{group}:"]
        lines += [f"  {name:12} {TABLE[name][1]}" for name in names]
    if not every:
        lines += ["", f"`segue help --all` lists all {len(TABLE)} commands, in groups."]
    lines += ["", "options, before or after the command:"]
    for flags, settings in OF_EVERY_COMMAND[:-1]:
        shown = f"{', '.join(flags)} {settings.get('metavar', '')}"
        lines.append(f"  {shown:18} {settings['help']}")
    lines += ["", "`segue help COMMAND` has examples; `segue --version` shows the version.", ""]
    return "\n".join(lines)


def of_command(command: CliCommand) -> str:
    """What `segue COMMAND --help` says."""
    from .parser import usage

    parser = command.parser()
    lines = [f"usage: {usage(parser)}", "", f"{parser.prog}: {command.about}"]
    lines += _section("arguments", parser.positionals())
    lines += _section("options", parser.options())
    lines += _section("options of every command", parser.options(shared=True))
    lines += ["", "examples:", *(f"  {example}" for example in command.examples), ""]
    return "\n".join(lines)


def _section(title: str, actions: list[argparse.Action]) -> list[str]:
    from .parser import flags, shown

    rows = [(flags(a) if a.option_strings else shown(a), a.help or "") for a in actions]
    if not rows:
        return []
    width = min(30, max(len(name) for name, _ in rows))
    lines = ["", f"{title}:"]
    for name, about in rows:
        lines.append(
            f"  {name:{width}}  {about}" if len(name) <= width else f"  {name}\n  {'':{width}}  {about}"
        )
    return lines
