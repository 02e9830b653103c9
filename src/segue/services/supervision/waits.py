"""How long a limited agent asks to wait: as its records say it, else as its words do, from now on."""

from __future__ import annotations

import time
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from ...core.supervision.retry_after import told_wait

if TYPE_CHECKING:
    from ...agents.base import Heard


def told(fault: str, heard: Heard) -> float:
    """Seconds from now; 0 where it did not say."""
    if heard.resets_at > time.time():
        return heard.resets_at - time.time()
    return heard.retry_seconds or told_wait(fault, datetime.now().astimezone(), _zone)


def _zone(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None  # it is not known here
