"""Reporting errors: as text for people and, with ``--json``, as an object for programs."""

from __future__ import annotations

import os
import sys

from ...errors import SegueError, of_os, unwrapped

INTERRUPTED = 130
PIPE_CLOSED = 141
UNFORESEEN = 70
INTERRUPTED_HINT = "everything that was acknowledged is saved; `segue status` shows it"


class OutputFailed(SegueError):
    """The output could not be written; what the command did is durable all the same."""

    code = "output"
    exit_code = 74

    def __init__(self, fault: OSError) -> None:
        super().__init__(
            f"the output could not be written: {fault.strerror}",
            hint="what the command did is saved; `segue status` shows it",
        )


def report(fault: BaseException, words: list[str]) -> int:
    """Report a fault, as text and with ``--json`` as an object, and return the exit code."""
    if isinstance(fault, BrokenPipeError):
        _close_pipe()
        return PIPE_CLOSED
    if isinstance(fault, KeyboardInterrupt):
        _say("segue: interrupted")
        _object("interrupted", "interrupted", INTERRUPTED_HINT, words, retryable=True)
        return INTERRUPTED
    if isinstance(fault, OutputFailed):
        _close_pipe()
    if isinstance(fault, Exception):
        fault = unwrapped(fault)
    if isinstance(fault, SegueError):
        return _nothing_yet(fault, words) if fault.nothing_yet and _looks(words) else _known(fault, words)
    if isinstance(fault, OSError):
        _show_where(fault)
        return _known(of_os(fault), words)
    if not isinstance(fault, Exception):
        raise fault
    return _unforeseen(fault, words)


def _looks(words: list[str]) -> bool:
    """Whether the command only looks."""
    from .table import LOOKING, LOOKING_ALONE, OTHER_NAMES, split

    _, command, rest = split(words)
    command = OTHER_NAMES.get(command, (command,))[0]
    rest = [word for word in rest if word != "--json"]
    return not LOOKING.isdisjoint((command, f"{command} {rest[0] if rest else ''}")) or (
        command in LOOKING_ALONE and not rest
    )


def _nothing_yet(fault: SegueError, words: list[str]) -> int:
    """There is nothing to look at yet, which is no error."""
    _say(_clean(fault.message))
    if fault.hint:
        _say(f"  {_clean(fault.hint)}")
    if "--json" in words:
        print("null")
    return 0


def _known(fault: SegueError, words: list[str]) -> int:
    _tell(fault.code, fault.message, fault.hint, words, retryable=fault.retryable, **fault.facts())
    return fault.exit_code


def _unforeseen(fault: Exception, words: list[str]) -> int:
    _show_where(fault)
    what = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    hint = "SEGUE_DEBUG=1 shows where it happened; `segue doctor` checks the store"
    _tell("unforeseen", f"unexpected error: {what}", hint, words, retryable=False)
    return UNFORESEEN


def _tell(code: str, message: str, hint: str, words: list[str], **facts: object) -> None:
    _say(f"segue: {_clean(message)}")
    if hint:
        _say(f"  hint: {_clean(hint)}")
    _object(code, message, hint, words, **facts)


def _show_where(fault: Exception) -> None:
    if os.environ.get("SEGUE_DEBUG"):
        import traceback

        traceback.print_exception(fault)


def _object(code: str, message: str, hint: str, words: list[str], **facts: object) -> None:
    own = words[: words.index("--")] if "--" in words else words
    if "--json" not in own:
        return
    from ..render import as_json

    error = {"code": code, "message": message, "hint": hint, **facts}
    try:
        print(as_json({"error": error}), flush=True)
    except OSError:
        _close_pipe()


def _clean(text: str) -> str:
    if not text.isascii() or not text.isprintable() or "[" in text:
        from ..render import safe

        text = safe(text)
    return text


def _say(text: str) -> None:
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    if sys.stderr is not None and sys.stderr.isatty():
        from ..render import fitted, style_for

        text = "\n".join(fitted(text, style_for(sys.stderr, os.environ)))
    try:
        print(text.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def _close_pipe() -> None:
    """Redirect the output to nowhere, because its reader is gone and the interpreter will flush it at
    exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass
