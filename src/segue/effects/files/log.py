"""The log of failures that nobody sees at the time: a masked line each, in a private file of limited size.

Only people read it. It is no error if the log cannot be written.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from ..._files import APPEND_FLAGS
from ..redaction.redact import redact
from .atomic import PRIVATE_FILE

NAME = "segue.log"
LOG_BYTES_MAX = 1_048_576
_LINE_CHARS = 600


def log(home: Path, text: str) -> None:
    """Append a line; a log over its limit is first renamed to ``segue.log.1``, replacing an older one."""
    path = home / NAME
    line = redact(" ".join(text.split()))[:_LINE_CHARS]
    with suppress(OSError):
        if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
            os.replace(path, home / f"{NAME}.1")
        out = os.open(path, APPEND_FLAGS, PRIVATE_FILE)
        try:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            os.write(out, f"{stamp} {line}\n".encode("utf-8", "replace"))
        finally:
            os.close(out)
