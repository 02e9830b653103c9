"""What each line of a brief rests on: the steps of the transcript, and the records in which they stand."""

from __future__ import annotations

from pathlib import Path

from ...agents.base import Agent
from ...core.base.record_lines import PassedLines, record_lines
from ...core.base.values import Value
from ...core.brief.compose import compose_lines
from ...core.runs.steps import Step
from ...effects.files.growing_file import chunks
from ...effects.redaction.redact import redact
from ..runs.read_transcript import recognised
from .runs_summary import facts_of_runs, summary_of_transcript

SHOWN_CHARS = 160


class Source(Value):
    """A step of a transcript that a line rests on."""

    step: int
    """Its number, from 1."""
    record: int
    """The line of the file that it stands in, from 1; 0 where a transcript is no file of lines."""
    kind: str
    text: str
    """The beginning of what it says."""


class ExplainedLine(Value):
    """A line of a brief, and what it rests on."""

    text: str
    sources: tuple[Source, ...] = ()


def explain_transcript(path: Path, agent: str = "", native: str = "", *, budget: int) -> list[ExplainedLine]:
    """The lines of the brief of a transcript with their sources; ``native`` names the run in a file of many.
    Raises TranscriptUnreadable."""
    author = recognised(path, agent, own_formats=True)
    runs = summary_of_transcript(path, agent, native)
    lines = compose_lines(facts_of_runs(runs), budget)
    wanted = {step for line in lines for step in line.at}
    found = _sources(path, native, author, wanted)
    return [
        ExplainedLine(redact(line.text), tuple(found[step] for step in sorted(set(line.at)) if step in found))
        for line in lines
    ]


def _sources(path: Path, native: str, author: Agent, wanted: set[int]) -> dict[int, Source]:
    """The steps with these numbers, as they stand in the transcript."""
    reader, number, record = author.reader(None), 0, 0
    found: dict[int, Source] = {}
    if author.form != "lines":
        for number, step in enumerate(reader.read(author.load(path, native)), 1):
            if number in wanted:
                found[number] = _source(number, 0, step)
        return found
    passed = PassedLines()
    for block, _ in chunks(path, 0):
        for line in record_lines(block, passed):
            record += 1
            for step in reader.read(bytes(line)):
                number += 1
                if number in wanted:
                    found[number] = _source(number, record + passed.count, step)
    return found


def _source(number: int, record: int, step: Step) -> Source:
    kind = type(step).__name__.lower()
    fields = {name: getattr(step, name) for name in step.__struct_fields__}
    text = fields.get("command") or fields.get("text") or ", ".join(fields.get("paths", ())) or ""
    shown = " ".join(str(text)[: 4 * SHOWN_CHARS].split())[:SHOWN_CHARS]
    return Source(number, record, kind, redact(shown))
