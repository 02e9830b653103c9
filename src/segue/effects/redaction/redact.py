r"""Masks secrets in every text before it is stored or shown.

There is one table of rules (`rules.py`) and two entry points with the same behaviour: `redact` for short
texts and `redact_bytes` for chunks of raw transcripts. Both work on JSON as it is written, so a text is
encoded first. A mask never covers a quote or half an escape of the JSON around it: a line that could be
parsed before can be parsed after, with the same structure. Redaction is idempotent.

Every command imports this module but few need the engine, so that is loaded at first use.
"""

from __future__ import annotations

TEXT_LENGTH_MIN = 8
"""Nothing shorter can be recognised as a secret."""
SHORT_LENGTH_MAX = 4096
"""Up to this length a quick test for telling words comes first: it is cheaper than to load the engine."""
_is_loaded = False
"""Whether the engine is there; then a scan is cheaper than the test."""


def redact(text: str) -> str:
    """The text with every recognised secret masked; the same object if there is none."""
    if len(text) < TEXT_LENGTH_MIN:
        return text
    global _is_loaded
    if not _is_loaded and len(text) <= SHORT_LENGTH_MAX:
        from .hint import may_hold_secret

        if not may_hold_secret(text):
            return text
    from .scan import mask_text

    _is_loaded = True
    return mask_text(text)


def redact_bytes(chunk: bytes) -> bytes:
    """JSON lines, or any other bytes, with every recognised secret masked. Pass whole lines only."""
    from .scan import mask_chunk

    return mask_chunk(chunk)


def secrets_in(text: str) -> list[tuple[int, str]]:
    """The line number and the kind of every secret in a text."""
    masked = redact(text)
    if masked == text:
        return []
    from .scan import places

    return places(text) or [(1, "secret")]
