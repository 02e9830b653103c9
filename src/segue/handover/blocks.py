"""A block between two markers in a file of the user's.

What stands outside of the markers is never changed. Markers that do not stand as a pair in their order
are the user's text: a block is added behind them, and found again there. The file is replaced whole.
"""

from __future__ import annotations

from pathlib import Path

from ..effects.files import write_whole

FIRST_THING = """\
Before anything else in a session, run `segue handover check`.
- Exit 1: the last handover was interrupted. Run `segue handover run` first: it finishes what is left.
- Exit 0 or 2: read `memory/layer2/current-state.md` if it is there, and go on.
At the end of a session, run `segue handover run --note "what was done, and what is next"`.
"""
"""What any agent should be told, for the block that `segue init` manages in AGENTS.md."""


def put_block(path: Path, block: str, begin: str, end: str) -> bool:
    """Have the block in a file, in the place of an older one; whether that changed the file."""
    target = path.resolve() if path.is_symlink() else path
    before = target.read_bytes().decode("utf-8", "surrogateescape") if target.exists() else ""
    after = with_block(before, block, begin, end)
    if after == before:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
    write_whole(target, after.encode("utf-8", "surrogateescape"), mode=mode)
    return True


def with_block(text: str, block: str, begin: str, end: str) -> str:
    """A text with the block in it, once."""
    last = text.rfind(end)
    first = text.rfind(begin, 0, last) if last >= 0 else -1
    if first >= 0:
        return text[:first] + block + text[last + len(end) :]
    return f"{text.rstrip()}\n\n{block}\n" if text.strip() else f"{block}\n"
