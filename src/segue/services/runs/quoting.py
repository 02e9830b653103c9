"""The texts of a run for quoting: read again from the transcript or its copy, masked before anything is cut.

Nothing of it is stored. Of a transcript beyond ``READ_BYTES`` only the end is read: what is quoted is
nearly always there, and the digest knows the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...core.runs.quotable import RunText, RunTexts
from ...effects.redaction.redact import redact
from ...errors import SegueError

if TYPE_CHECKING:
    from ...agents.base import Found
    from ...core.runs.steps import Step
    from .discovery import RunFinder

READ_BYTES = 16_000_000
_BETWEEN = "\n\x1f\n"


def blocks_of(capture: RunFinder, found: Found) -> list[RunText]:
    """The texts of a run, masked; none where the transcript cannot be read any more."""
    material = RunTexts()
    try:
        for step in _steps(capture, found):
            material.take(step)
    except (OSError, SegueError):
        return []
    return masked_blocks(material.blocks)


def _steps(capture: RunFinder, found: Found) -> Iterator[Step]:
    from ...agents import agent as agent_of
    from ...effects.files.growing_file import chunks

    agent = agent_of(found.agent)
    path = Path(found.path)
    try:
        beyond = os.path.getsize(path) - READ_BYTES
    except OSError:
        beyond = 0
    if agent.form != "lines" or beyond <= 0:
        yield from capture.steps(found)
        return
    reader = agent.reader()
    first = True
    for block, _ in chunks(path, beyond):
        for line in block.split(b"\n")[int(first) :]:  # the first is the end of a line
            if line:
                yield from reader.read(line)
        first = False


def masked_blocks(blocks: Sequence[RunText]) -> list[RunText]:
    """The same without secrets, whether or not a passage would cut them in two."""
    together = _BETWEEN.join(block.text.replace("\x1f", "") for block in blocks)
    clean = redact(together)
    if clean == together:
        return list(blocks)
    texts = clean.split(_BETWEEN)
    if len(texts) != len(blocks):  # a mask took a mark between two texts with it
        texts = [redact(block.text) for block in blocks]
    return [msgspec.structs.replace(block, text=text) for block, text in zip(blocks, texts, strict=True)]
