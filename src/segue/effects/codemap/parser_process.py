"""Parsing in a process of its own, because a parser is native code and the text may be anybody's.

A file over which the parser dies, or takes too long, counts as one that cannot be read, and the next file is
parsed by a new process. The process reads requests (language and source) and writes what it found, one after
the other, each behind its length; it ends when its input does.
"""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import BinaryIO

import msgspec

from ...core.base.lazy import msgpack_decoder
from ...core.codemap.symbols import FileSymbols
from ...errors import NotInstalled, extra

FILE_SECONDS, START_SECONDS = 10.0, 60.0
_SIZE = struct.Struct(">I")
_MISSING, _READY = b"missing", b"ready"


class ParserProcess:
    """A process that parses files; started with the first one, or before it by ``start``."""

    def __init__(self, seconds: float = FILE_SECONDS) -> None:
        self.seconds = seconds
        """How long one file may take."""
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    def __enter__(self) -> ParserProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, so that it is ready when the first file comes; without the extra, do nothing."""
        if self._process is None and _is_installed():
            self._process = _started()
            self._is_ready = False

    def parsed(self, source: bytes, language: str) -> FileSymbols:
        """What a file of a language defines, uses and imports. Raises NotInstalled without the extra."""
        try:
            if not _is_installed():
                raise _not_installed()
            self.start()
            assert self._process is not None
            answer = self._asked(self._process, msgspec.msgpack.encode((language, source)))
            if answer == _MISSING:
                raise _not_installed()
            return _symbols.decode(answer)
        except (OSError, EOFError, msgspec.DecodeError):
            self.close()
            return FileSymbols(language, source.count(b"\n"), broken=True)

    def _asked(self, process: subprocess.Popen[bytes], question: bytes) -> bytes:
        assert process.stdin is not None and process.stdout is not None
        if not self._is_ready:
            _read_until(process.stdout.fileno(), len(_READY), time.monotonic() + START_SECONDS)
            self._is_ready = True
        process.stdin.write(_SIZE.pack(len(question)) + question)
        process.stdin.flush()
        end = time.monotonic() + self.seconds
        descriptor = process.stdout.fileno()
        (size,) = _SIZE.unpack(_read_until(descriptor, _SIZE.size, end))
        return _read_until(descriptor, size, end)

    def close(self) -> None:
        """End the process; a later call starts another."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)


def _is_installed() -> bool:
    try:
        return find_spec("tree_sitter") is not None
    except ValueError:
        return False


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:
            pass  # it could not take what was still to be written
    process.wait()


def _not_installed() -> NotInstalled:
    return NotInstalled("the map of the code needs tree-sitter and its grammars", hint=extra("map"))


def _read_until(descriptor: int, size: int, end: float) -> bytes:
    body = bytearray()
    while len(body) < size:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError("the parser takes too long")
        piece = os.read(descriptor, size - len(body))
        if not piece:
            raise EOFError("the parser stopped")
        body += piece
    return bytes(body)


_symbols = msgpack_decoder(FileSymbols)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    from .parse import parsed

    answers.write(_READY)
    answers.flush()
    while head := requests.read(_SIZE.size):
        language, source = msgspec.msgpack.decode(
            requests.read(_SIZE.unpack(head)[0]), type=tuple[str, bytes]
        )
        try:
            answer = msgspec.msgpack.encode(parsed(source, language))
        except NotInstalled:
            answer = _MISSING
        answers.write(_SIZE.pack(len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
