"""`segue completion`: a script that completes commands in a shell, and the words that it asks for."""

from __future__ import annotations

from pathlib import Path

from ...._files import read_text
from ....errors import UsageError
from ...render import one_line
from ..command import argument, command, flag, optional
from ..context import CommandContext

SHELLS = ("bash", "zsh", "fish")
FOLDER = Path(__file__).parents[1] / "completions"
"""The scripts, which `make docs` writes from the parsers: only developers need a package for that."""


@command(
    "completion",
    optional("shell", None, "your shell", choices=SHELLS),
    argument(
        "--words", None, "list these words of the current session (used by the scripts)",
        choices=("items", "features", "checkpoints", "entries"),
    ),
    flag("--install", "write the script to where your shell looks for it"),
    json="`{shell, script}`; with `--install` `{shell, file, next}`; with `--words` an array of words",
    shape={"": "CompletionScript", "--install": "InstalledCompletion", "--words": "list[str]"},
    examples=(
        "segue completion bash --install", 'eval "$(segue completion bash)"',
        "segue completion zsh > ~/.zfunc/_segue",
    ),
)  # fmt: skip
def completion(context: CommandContext) -> int:
    """A script for a shell; or words of the current session, one a line."""
    if context.args.words:
        found = _words(context, context.args.words)
        return context.report(found, *found)
    own = Path(context.environment.get("SHELL", "")).name if context.args.install else ""
    shell = context.args.shell or (own if own in SHELLS else "")
    if not shell:
        raise UsageError("which shell?", hint="for example: segue completion bash")
    text = read_text(FOLDER / f"segue.{shell}", encoding="utf-8")
    if context.args.install:
        return _install(context, shell, text)
    return context.report({"shell": shell, "script": text}, text.rstrip("\n"))


def _install(context: CommandContext, shell: str, script: str) -> int:
    """Write the script to the user's folder for completions. No start-up file of a shell is changed."""
    home = Path(context.environment.get("HOME") or Path.home())
    data = Path(context.environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(context.environment.get("XDG_CONFIG_HOME") or home / ".config")
    path, then = {
        "bash": (data / "bash-completion" / "completions" / "segue",
                 "it works in new shells if the package bash-completion is installed"),
        "zsh": (data / "zsh" / "site-functions" / "_segue",
                "add this to ~/.zshrc before compinit: fpath+=(" f"{data / 'zsh' / 'site-functions'})"),
        "fish": (config / "fish" / "completions" / "segue.fish", "it works in new shells"),
    }[shell]  # fmt: skip
    context.segue.workspace.pause_file.check()
    path.parent.mkdir(parents=True, exist_ok=True)
    context.write_file(str(path), script.encode())
    return context.report(
        {"shell": shell, "file": str(path), "next": then}, f"written: {one_line(str(path))}", then
    )


def _words(context: CommandContext, kind: str) -> list[str]:
    state = context.look().session().state
    if kind == "features":
        return list(state.features)
    if kind == "checkpoints":
        return list(state.marks)
    if kind == "entries":
        from ....core.ledger.handles import handles
        from .ledger import ACTIONS

        return [*ACTIONS, *handles(state.said).values()]
    open_ = (*state.active, *state.next, *state.blocked)
    return [one_line(state.items[place].text) for place in open_]
