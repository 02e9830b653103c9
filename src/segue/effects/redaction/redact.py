r"""Secrets out of every text before it becomes durable or is shown.

One table of rules (`secrets_rules`), one behaviour, two entries: `redact` for short texts and
`redact_bytes` for chunks of raw transcripts. Both look at JSON as it is written, so a text is encoded
first. What is masked never holds a quote or half an escape of the JSON around it: a line that could be
parsed still can, with the same structure. Masking twice is masking once.

Every command imports this module, few need what is behind it: that is loaded at first use.
"""

from __future__ import annotations

TEXT_LENGTH_MIN = 8
"""Nothing shorter is a secret that could be told."""
SHORT_LENGTH_MAX = 4096
"""Up to here it is cheaper to ask first whether there may be anything."""


def redact(text: str) -> str:
    """The text with every secret that is recognised masked."""
    if len(text) < TEXT_LENGTH_MIN:
        return text
    if len(text) <= SHORT_LENGTH_MAX:
        from .hint import may_hold_secret

        if not may_hold_secret(text):
            return text
    from .scan import mask_text

    return mask_text(text)


def redact_bytes(chunk: bytes) -> bytes:
    """The same for JSON lines, or for anything else; hand in whole lines."""
    from .scan import mask_chunk

    return mask_chunk(chunk)


def secrets_in(text: str) -> list[tuple[int, str]]:
    """(line, kind) of every secret in a text."""
    masked = redact(text)
    if masked == text:
        return []
    from .scan import places

    return places(text) or [(1, "secret")]
