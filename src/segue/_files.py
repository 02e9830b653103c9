"""Opening files that others wrote, without ever waiting for one. Imports nothing of ours: all rooms use it.

What lies where a file is expected may be a FIFO, a device, a socket or a folder. Opening a FIFO waits for
somebody to write, and a device may have no end. So a file is opened without waiting, and read only if it is a
regular one; anything else is an OSError, like a file that is missing.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_BLOCK = 1 << 20

APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
"""To append to a file of our own; opening a pipe in its place does not wait."""

Name = str | bytes | os.PathLike[str]


def open_file(path: Name, *, buffering: int = -1) -> BinaryIO:
    """A regular file, opened to be read. Raises OSError for one that is missing or is no regular file."""
    return _opened(path, buffering, pipes=False)


def open_given_file(path: Name) -> BinaryIO:
    """The same for a path that somebody named on purpose, which may also be a pipe that another process
    writes to, such as ``<(command)`` of a shell. It is read until that process is done."""
    return _opened(path, -1, pipes=True)


def _opened(path: Name, buffering: int, *, pipes: bool) -> BinaryIO:
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as fault:  # a zero byte in the path
        raise OSError(errno.EINVAL, str(fault), os.fspath(path)) from fault
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", os.fspath(path))
        if pipes and stat.S_ISFIFO(mode):
            os.set_blocking(descriptor, True)
        elif not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        return os.fdopen(descriptor, "rb", buffering)
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Name, size: int = -1) -> bytes:
    """The content of a regular file, or so many bytes from its beginning. Raises OSError."""
    with open_file(path) as file:
        return file.read(size)


def read_text(path: Name, *, encoding: str = "utf-8", errors: str = "strict", size: int = -1) -> str:
    """The text of a regular file with newlines of any kind as ``\\n``. Raises OSError, UnicodeDecodeError."""
    text = read_bytes(path, size).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def copy_file(path: Name, target: Name) -> None:
    """Copy a regular file, with its time, for its owner alone. Raises OSError, and then leaves no part of a
    copy."""
    with open_file(path) as file:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        try:
            with os.fdopen(os.open(target, flags, 0o600), "wb") as copy:
                while block := file.read(_BLOCK):
                    copy.write(block)
            about = os.fstat(file.fileno())
            os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))
        except BaseException:
            if os.path.exists(target):
                os.unlink(target)
            raise


def is_file(path: Name) -> bool:
    """Whether there is a regular file, as far as may be seen."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
