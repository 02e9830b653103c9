"""`segue completion`: a script that completes commands in a shell, and the words that it asks for."""

from __future__ import annotations

from pathlib import Path

from ...._files import read_text
from ....errors import UsageError
from ...render import one_line
from ..command import argument, command, optional
from ..context import CommandContext

SHELLS = ("bash", "zsh", "fish")
FOLDER = Path(__file__).parents[1] / "completions"
"""The scripts, which `make docs` writes from the parsers: only developers need a package for that."""


@command(
    "completion",
    optional("shell", None, "your shell", choices=SHELLS),
    argument(
        "--words", None, "list these words of the current session; the scripts ask for them",
        choices=("items", "features", "checkpoints"),
    ),
    json="`{shell, script}`; with `--words` an array of words",
    examples=(
        'eval "$(segue completion bash)"', "segue completion zsh > ~/.zfunc/_segue",
        "segue completion fish > ~/.config/fish/completions/segue.fish",
    ),
)  # fmt: skip
def completion(context: CommandContext) -> int:
    """A script for a shell; or words of the current session, one a line."""
    if context.args.words:
        found = _words(context, context.args.words)
        return context.report(found, *found)
    if not context.args.shell:
        raise UsageError("which shell?", hint="for example: segue completion bash")
    text = read_text(FOLDER / f"segue.{context.args.shell}", encoding="utf-8")
    return context.report({"shell": context.args.shell, "script": text}, text.rstrip("\n"))


def _words(context: CommandContext, kind: str) -> list[str]:
    state = context.look().session().state
    if kind == "features":
        return list(state.features)
    if kind == "checkpoints":
        return list(state.marks)
    open_ = (*state.active, *state.next, *state.blocked)
    return [one_line(state.items[place].text) for place in open_]
