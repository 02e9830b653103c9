"""Secrets out of what was read of a run, before it is shown or stored."""

from __future__ import annotations

import msgspec

from ...core.runs.model import RunDigest
from ...effects.redaction.redact import redact_bytes


def masked(digest: RunDigest) -> RunDigest:
    """The digest without secrets, whatever field they are in."""
    told = msgspec.json.encode(digest)
    clean = redact_bytes(told)
    return digest if clean == told else msgspec.json.decode(clean, type=RunDigest)
