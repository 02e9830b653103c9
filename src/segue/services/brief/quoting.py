"""The texts of a run for quoting, read from the transcript or its copy and masked before anything is cut.

They are never stored. Of a transcript larger than ``READ_BYTES`` only the end is read: what is quoted is
nearly always there, and the digest has the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.base.text import visible_text
from ...core.runs.quotable import RunText, RunTexts
from ...core.runs.steps import Step
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..runs.discovery import RunFinder, last_steps

READ_BYTES = 16_000_000
_SEPARATOR = "\n\x1f\n"


def blocks_of(finder: RunFinder, found: Found) -> list[RunText]:
    """The texts of a run, masked; empty if the transcript can no longer be read."""
    texts = RunTexts()
    try:
        for step in _steps(finder, found):
            texts.take(step)
    except (OSError, SegueError):
        return []
    return masked_blocks(texts.blocks)


def _steps(finder: RunFinder, found: Found) -> Iterator[Step]:
    agent = agent_of(found.agent)
    try:
        is_long = agent.form == "lines" and os.path.getsize(found.path) > READ_BYTES
    except OSError:
        is_long = False
    return last_steps(found, agent, READ_BYTES) if is_long else finder.steps(found)


def masked_blocks(blocks: Sequence[RunText]) -> list[RunText]:
    """The same texts without secrets, and without characters that nobody sees: one of them in a secret would
    hide it. They are masked as a whole, so that no cut hides half of a secret."""
    seen = [visible_text(text) for block in blocks for text in (block.head, block.text)]
    texts = redact(_SEPARATOR.join(seen)).split(_SEPARATOR)
    if len(texts) != len(seen):  # a mask covered a separator
        texts = [redact(text) for text in seen]
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [
        msgspec.structs.replace(block, head=head, text=text, path=head if block.path else "")
        for block, (head, text) in zip(blocks, pairs, strict=True)
    ]
