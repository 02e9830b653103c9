"""The command line: finds the command, runs it, and reports errors.

Nothing heavy is imported before it is known which command is meant. Exit codes: those of ``errors.py``; 64
for a bad command line, 70 for an unexpected error, 130 for Ctrl-C, otherwise the command's own.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

from .table import MEANT, OTHER_NAMES, TABLE, split

COLLECT_FROM = 50_000
"""How many new objects there may be before Python looks for cycles. With its default, loading the modules of
a command would make it look a hundred times, for nothing."""
_NO_OPTIONS = SimpleNamespace(json=False, folder=None, home=None, store=None, actor=None, no_color=False)
"""What the parser would give for a line without options; argparse is slow to load."""


def run() -> NoReturn:
    """The process of a command line, from its start to its end.

    Tearing down everything that was loaded would take a fifth of the time of a short command. When a command
    is over nothing is left to do: what is durable is synced, and the store is closed. So the process ends at
    once, unless a thread still works or some output could not be written."""
    code = main()
    try:
        is_alone = "threading" not in sys.modules or sys.modules["threading"].active_count() == 1
        if is_alone:
            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(code)
    except Exception:
        pass  # the regular exit reports what it was
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process, and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    gc.set_threshold(COLLECT_FROM)
    try:
        code = _dispatch(words)
        _flush()
        return code
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except BaseException as fault:
        from .faults import report

        return report(fault, words)


def _flush() -> None:
    """Flush the output while a failure can still be reported."""
    try:
        if sys.stdout is not None:  # it is None if the caller closed it
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as fault:
        from .faults import OutputFailed

        raise OutputFailed(fault) from fault


def _dispatch(words: list[str]) -> int:
    before, command, rest = split(words)
    if command in OTHER_NAMES:
        command, *more = OTHER_NAMES[command]
        rest = [*more, *rest]
    if command in ("--version", "-V", "version"):
        return _version("--json" in words)
    if not command:
        return _overview(before)
    if command in ("-h", "--help", "help"):
        return _help(rest)
    if command == "handover" and rest[:1] == ["check"]:
        code = _quick_check([*before, *rest[1:]])
        if code is not None:
            return code
    if command not in TABLE:
        raise _unknown(command)
    place = rest.index("--") if "--" in rest else len(rest)
    options, dashed = rest[:place], rest[place + 1 :]
    if "-h" in options or "--help" in options:
        return _help([command])
    from .command import find
    from .context import CommandContext

    found = find(command)
    own, behind = (options, dashed) if found.more else (rest, [])
    args = found.parser().read([*before, *own])
    with CommandContext(command, args, behind) as context:
        return found.run(context)


def _quick_check(words: list[str]) -> int | None:
    """The quick form of `segue handover check`, which agents run first of all; None if it needs the regular
    one."""
    from ...handover import quick

    found = quick.check(words, os.environ)
    if found is not None and "--json" in words:
        print(quick.as_json(*found))
    return found[0] if found is not None else None


def _version(json: bool) -> int:
    from ... import __version__

    print(f'{{"version": "{__version__}"}}' if json else f"segue {__version__}")
    return 0


def _overview(options: list[str]) -> int:
    """What `segue` alone says: where the work stands, and what fits next."""
    from .commands.overview import overview
    from .context import CommandContext

    args: Any = _NO_OPTIONS
    if options:
        from .command import OF_EVERY_COMMAND
        from .parser import Parser

        args = Parser("", (), OF_EVERY_COMMAND).read(options)
    with CommandContext("", args, []) as context:
        return overview(context)


def _help(rest: list[str]) -> int:
    from .help import of_command, overview

    topic = next((word for word in rest if not word.startswith("-")), "")
    topic = OTHER_NAMES[topic][0] if topic in OTHER_NAMES else topic
    if topic and topic not in TABLE:
        raise _unknown(topic)
    if topic:
        from .command import find

        print(_readable(of_command(find(topic))), end="")
    else:
        print(_readable(overview(every="--all" in rest)), end="")
    return 0


def _readable(text: str) -> str:
    """The text, wrapped to the width of the terminal if it is shown on one."""
    if sys.stdout is None or not sys.stdout.isatty():
        return text
    import re

    from ..render import fitted, packed, style_for

    style = style_for(sys.stdout, os.environ)
    lines: list[str] = []
    for line in text.split("\n"):
        name = re.match(r" {2}\S.*? {2,}(?=\S)", line)  # what a name means stays in its column
        if name and name.end() <= style.width / 2:
            rest = " " * name.end()
            lines += packed(line[name.end() :].split(" "), style, between=" ", first=name[0], rest=rest)
        else:
            lines += fitted(line, style)
    return "\n".join(lines)


def _unknown(word: str) -> Exception:
    from ...errors import UsageError

    if word.startswith("-"):
        return UsageError(f"unknown option: {word}", hint="`segue --help` lists commands and options")
    from difflib import get_close_matches

    near = [MEANT[word]] if word in MEANT else get_close_matches(word, TABLE)
    near.sort(key=lambda name: sorted(name) != sorted(word))  # two letters swapped are the likeliest slip
    hint = f"did you mean `segue {near[0]}`?" if near else "`segue help --all` lists them all"
    return UsageError(f"unknown command: {word}", hint=hint)
