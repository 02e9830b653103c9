"""A block of ours between two markers in a file of the user's.

Text outside the markers is never changed. Markers that do not form a pair in their order count as the user's
text: the block is added after them, and found there the next time. The file is replaced atomically.
"""

from __future__ import annotations

from pathlib import Path

from ..._files import read_bytes
from .atomic import write_whole
from .project_links import check_stays_inside


def put_block(path: Path, block: str, begin: str, end: str, *, root: Path | None = None) -> bool:
    """Write the block into a file, in place of an older one; returns whether the file changed. Raises
    NotWritable if a link leads out of the project ``root``, or the repository that the path names."""
    check_stays_inside(path, root)
    target = path.resolve() if path.is_symlink() else path
    before = read_bytes(target).decode("utf-8", "surrogateescape") if target.exists() else ""
    after = with_block(before, block, begin, end)
    if after == before:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
    write_whole(target, after.encode("utf-8", "surrogateescape"), mode=mode)
    return True


def with_block(text: str, block: str, begin: str, end: str) -> str:
    """The text with the block in place of an older one, or at its end."""
    first, last = _place(text, begin, end)
    if first >= 0:
        return text[:first] + block + text[last + len(end) :]
    return f"{text.rstrip()}\n\n{block}\n" if text.strip() else f"{block}\n"


def _place(text: str, begin: str, end: str) -> tuple[int, int]:
    """Where the markers of the block are; the first is -1 if there is no block."""
    last = text.rfind(end)
    return (text.rfind(begin, 0, last) if last >= 0 else -1), last


def drop_block(path: Path, begin: str, end: str, *, root: Path | None = None) -> bool:
    """Remove the block, and the file if it held nothing else; returns whether there was a block. Raises
    NotWritable as ``put_block`` does."""
    check_stays_inside(path, root)
    target = path.resolve() if path.is_symlink() else path
    if not target.is_file():
        return False
    before = read_bytes(target).decode("utf-8", "surrogateescape")
    first, last = _place(before, begin, end)
    if first < 0:
        return False
    after = before[:first].rstrip("\n") + "\n" + before[last + len(end) :].lstrip("\n")
    if after.strip():
        body = (after.strip("\n") + "\n").encode("utf-8", "surrogateescape")
        write_whole(target, body, mode=target.stat().st_mode & 0o777)
    else:
        target.unlink()
    return True
