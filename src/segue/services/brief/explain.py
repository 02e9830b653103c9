"""What each line of a brief rests on: the steps of the transcript, and the records in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...agents import agent as agent_of
from ...agents.base import Agent
from ...core.base.record_lines import PassedLines, record_lines
from ...core.base.values import Value
from ...core.brief.compose import compose_lines
from ...core.brief.parts import Line
from ...core.runs.steps import Plan, PlanItem, Step
from ...effects.files.growing_file import chunks
from ...effects.redaction.redact import redact
from ..runs.read_transcript import recognised
from ..workspace.workspace import Workspace
from .project_brief import facts_here
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


class Explanation(Value):
    """A brief, line by line."""

    transcript: str
    """The file that the steps stand in; empty where the brief rests on none."""
    lines: list[ExplainedLine]


def explain_transcript(path: Path, agent: str = "", *, budget: int) -> Explanation:
    """The lines of the brief of a transcript with their sources. Raises TranscriptUnreadable."""
    author = recognised(path, agent, own_formats=True)
    lines = compose_lines(facts_of_runs(summary_of_transcript(path, agent)), budget)
    return _explained(lines, path, "", author)


def explain_here(workspace: Workspace, what: str = "", agent: str = "", *, budget: int) -> Explanation:
    """The lines of the brief of a run or a session, or of this project, with their sources. Raises UnknownRun
    if there is nothing to tell."""
    known, _, more, shown = facts_here(workspace, what, agent)
    lines = compose_lines(known, budget, more)
    if shown is None or not shown.path:
        return Explanation("", [ExplainedLine(redact(line.text)) for line in lines])
    return _explained(lines, Path(shown.path), shown.native, agent_of(shown.agent))


def _explained(lines: Sequence[Line], path: Path, native: str, author: Agent) -> Explanation:
    wanted = {step for line in lines for step in line.at}
    found = _sources(path, native, author, wanted)
    told = [
        ExplainedLine(redact(line.text), tuple(found[step] for step in sorted(set(line.at)) if step in found))
        for line in lines
    ]
    return Explanation(str(path), told)


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
    shown = " ".join(_said(step)[: 4 * SHOWN_CHARS].split())[:SHOWN_CHARS]
    return Source(number, record, kind, redact(shown))


def _said(step: Step) -> str:
    """What a step says; of a plan its items, each with its state."""
    if isinstance(step, Plan):
        return "; ".join(map(_planned, step.items))
    fields = {name: getattr(step, name) for name in step.__struct_fields__}
    texts = [fields.get(name) for name in ("command", "text", "summary", "reason", "name")]
    return str(next(filter(None, texts), "") or ", ".join(fields.get("paths", ())))


def _planned(item: PlanItem) -> str:
    name = item.text or f"#{item.key}"
    return f"{name} ({item.state})" if item.state else name
