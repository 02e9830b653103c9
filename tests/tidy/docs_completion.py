"""Writes the completion scripts for shells from the parsers: ``python -m tests.tidy.docs_completion``.

The scripts are files of the package: `segue completion bash` works in a plain install, and only developers
need shtab. A test holds the files to what the parsers say. Commands, options and choices are in the scripts;
ids of sessions, items, features, entries and names of checkpoints are asked of `segue` while one types. There
is no script for tcsh, which takes an item of two words for two items.
"""

from __future__ import annotations

import argparse
from typing import Any

from segue.surfaces.cli.command import OF_EVERY_COMMAND, find
from segue.surfaces.cli.commands.completion import FOLDER, SHELLS
from segue.surfaces.cli.parser import Parser
from segue.surfaces.cli.table import TABLE

LISTS = {
    "sessions": "segue list --all --ids",
    "items": "segue completion --words items",
    "features": "segue completion --words features",
    "checkpoints": "segue completion --words checkpoints",
    "entries": "segue completion --words entries",
}
"""What is completed from the store, and the command that lists it, one a line."""
_BY_DEST = {
    ("feature", "name"): "features", ("verify", "feature"): "features", ("rewind", "name"): "checkpoints",
    ("cleanup", "restore"): "sessions", ("sessions", "named"): "sessions", ("ledger", "words"): "entries",
    ("ledger", "of"): "entries",
}  # fmt: skip
_NEW = {("add", "items"), ("checkpoint", "add")}
"""Arguments that name items which are not there yet."""
_BASH = r"""
# The lines of a command that begin with the word at the cursor, as they must be typed there: within an open
# quote as they are, else with backslashes before whatever the shell would take for more than a letter.
_segue_lines() {
  local word="$1" line typed
  shift
  while IFS= read -r line; do
    if [[ "$word" == [\"\']* ]]; then
      typed="$line"
      [[ "${word:0:1}$typed" == "$word"* ]] || continue
    else
      printf -v typed %q "$line"
      typed="${typed//:/\\:}"
      typed="${typed//=/\\=}"
      [[ "$typed" == "$word"* ]] || continue
    fi
    printf '%s\n' "$typed"
  done < <("$@" 2>/dev/null)
}
"""
_ZSH = """
# The lines of a command as completions.
_segue_lines() {
  local -a lines
  lines=(${(f)"$("$@" 2>/dev/null)"})
  compadd -a lines
}
"""


def generated(shell: str) -> str:
    """The script for a shell, made now; needs shtab."""
    import shtab

    text: str = shtab.complete(_whole_parser(shtab.FILE, shtab.DIRECTORY), shell, preamble=_preamble(shell))
    if shell == "zsh":  # shtab lets zsh complete only the first of several arguments of a kind
        text = text.replace('"(*)::', '"*:').replace('"(*):', '"*:')
    return text.rstrip() + "\n"


def _whole_parser(file: Any, directory: Any) -> argparse.ArgumentParser:
    """All commands as one parser, each argument with what completes it."""
    own = Parser("", (), OF_EVERY_COMMAND)
    for action in own.options(shared=True):
        _mark("", action, file, directory)
    root = argparse.ArgumentParser(prog="segue", add_help=False, parents=[own])
    root.add_argument("-V", "--version", action="store_true", help="show the version")
    group = root.add_subparsers()
    for name, (_, about) in TABLE.items():
        parser = find(name).parser()
        for action in parser._actions:
            _mark(name, action, file, directory)
        group.add_parser(name, help=about, parents=[parser], add_help=False)
    helped = group.add_parser("help", help="explain a command, with examples", add_help=False)
    helped.add_argument("command", choices=tuple(TABLE), help="the command")
    return root


def _mark(command: str, action: argparse.Action, file: Any, directory: Any) -> None:
    """Note with an argument what completes it, in the form that shtab reads."""
    key, metavar = (command, action.dest), str(action.metavar)
    kind = _BY_DEST.get(key, "")
    if metavar == "ID" and action.dest in ("id", "session"):
        kind = "sessions"
    elif metavar.startswith("ITEM") and key not in _NEW:
        kind = "items"
    found = _from_store(kind) if kind else None
    if metavar == "DIR":
        found = directory
    elif "FILE" in metavar or metavar == "PATH":
        found = file
    if found is not None:
        action.complete = found  # type: ignore[attr-defined]


def _from_store(kind: str) -> dict[str, str]:
    return {
        "bash": f"_segue_{kind}", "zsh": f"_segue_{kind}", "fish": f"({LISTS[kind]} 2>/dev/null)",
    }  # fmt: skip


def _preamble(shell: str) -> str:
    """The functions with which a script asks `segue` for words; fish needs none."""
    if shell == "fish":
        return ""
    word = ' "$1"' if shell == "bash" else ""
    asks = "\n".join(f"_segue_{kind}() {{ _segue_lines{word} {ask}; }}" for kind, ask in LISTS.items())
    return (_BASH if shell == "bash" else _ZSH) + asks


def main() -> None:
    """Write the scripts into the package."""
    FOLDER.mkdir(exist_ok=True)
    for shell in SHELLS:
        path = FOLDER / f"segue.{shell}"
        path.write_text(generated(shell), encoding="utf-8")
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
