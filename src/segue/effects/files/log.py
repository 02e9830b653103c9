"""The log of what went wrong where nobody looks: one line each, masked, private, and never long.

Nothing reads it but people. A log that cannot be written is no fault.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ..redaction.redact import redact
from .atomic import PRIVATE_FILE

NAME = "segue.log"
LOG_BYTES_MAX = 1_048_576
_LINE_CHARS = 600


def log(home: Path, text: str) -> None:
    """Add a line; a log that has become long is kept once, as ``segue.log.1``."""
    path = home / NAME
    line = redact(" ".join(text.split()))[:_LINE_CHARS]
    try:
        if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
            os.replace(path, home / f"{NAME}.1")
        out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
        try:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            os.write(out, f"{stamp} {line}\n".encode("utf-8", "replace"))
        finally:
            os.close(out)
    except OSError:
        pass
