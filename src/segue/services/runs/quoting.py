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
from ...core.runs.quotable import RunText, RunTexts
from ...core.runs.steps import Step
from ...effects.redaction.redact import redact
from ...errors import SegueError
from .discovery import RunFinder, last_steps

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
    """The same texts without secrets. They are masked as a whole, so that no cut hides half of a secret."""
    together = _SEPARATOR.join(block.text.replace("\x1f", "") for block in blocks)
    clean = redact(together)
    if clean == together:
        return list(blocks)
    texts = clean.split(_SEPARATOR)
    if len(texts) != len(blocks):  # a mask covered a separator
        texts = [redact(block.text) for block in blocks]
    return [msgspec.structs.replace(block, text=text) for block, text in zip(blocks, texts, strict=True)]
