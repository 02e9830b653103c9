"""Commands and webhooks of a handover, with a time limit.

A command gets a process group of its own, which is ended with it. A webhook follows no redirect: its content
goes to the address that was declared or nowhere.
"""

from __future__ import annotations

import http.client
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ..redaction.redact import redact
from .end_group import end_group

OUTPUT_CHARS = 4_000
_READ_BYTES = 1_000_000


class CommandFailed(RuntimeError):
    """A command or a webhook failed or took too long."""

    def __init__(self, reason: str, *, ended: bool = True) -> None:
        super().__init__(reason)
        self.ended = ended
        """Whether it is certain that it did not succeed; it is not if there was no answer in time."""


def run_command(
    command: Sequence[str], folder: Path, *, timeout_seconds: float, environment: Mapping[str, str]
) -> str:
    """The end of a command's output, masked; CommandFailed unless it exits with 0 in time."""
    try:
        process = subprocess.Popen(
            list(command), cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as fault:
        raise CommandFailed(f"{command[0]} cannot be run: {fault.strerror}") from fault
    try:
        output, _ = process.communicate(timeout=timeout_seconds or None)
    except subprocess.TimeoutExpired:
        reason = f"{command[0]} took longer than {timeout_seconds:g} seconds"
        raise CommandFailed(reason, ended=False) from None
    finally:
        _end(process)
    text = redact(output[-_READ_BYTES:].decode("utf-8", "replace"))[-OUTPUT_CHARS:].strip()
    if process.returncode != 0:
        last = text.splitlines()[-1][:200] if text else ""
        raise CommandFailed(f"{command[0]} exited with {process.returncode}{f': {last}' if last else ''}")
    return text


def _end(process: subprocess.Popen[bytes]) -> None:
    end_group(process)
    process.communicate()


def post(url: str, body: bytes, *, key: str, timeout_seconds: float) -> int:
    """POST a JSON body and return the status; CommandFailed unless it is a success."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_seconds or None)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Content-Type": "application/json", "Idempotency-Key": key, "User-Agent": "segue"}
    sent = False
    try:
        connection.connect()
        sent = True
        connection.request("POST", target, body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as fault:
        what = "gave no answer" if sent else "cannot be reached"
        raise CommandFailed(f"{parts.hostname} {what}: {fault}", ended=not sent) from fault
    finally:
        connection.close()
    if not 200 <= status < 300:
        raise CommandFailed(f"{parts.hostname} answered {status}")
    return status
