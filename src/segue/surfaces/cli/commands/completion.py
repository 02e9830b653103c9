"""`segue completion`: a script that completes commands in a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..command import CliCommand
from ..context import CommandContext

if TYPE_CHECKING:
    from ..parser import Parser


def completion(context: CommandContext) -> int:
    """A script for a shell."""
    from ..completion import script

    text = script(context.args.shell)
    context.emit({"shell": context.args.shell, "script": text})
    context.say(text.rstrip("\n"))
    return 0


def _arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


COMMANDS = (
    CliCommand(
        "completion", completion, _arguments, json="`{shell, script}`",
        examples=(
            'eval "$(segue completion bash)"', "segue completion zsh > ~/.zfunc/_segue",
            "segue completion fish > ~/.config/fish/completions/segue.fish",
        ),
    ),
)  # fmt: skip
