"""Compactions that really happened: the agent's own summary, and the same with what Segue's hook says after.

Of a transcript with several compactions, one is a case. The hooks are played at all those before it, too:
what a hook says may depend on what it said. They see the transcript up to the summary's record, and nothing
after.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.blind.contenders import SUMMARY, Texts
from bench.blind.cuts import Candidate, Case, Plan, candidates, cases
from bench.blind.formats import read
from bench.blind.transcript import Lines
from bench.compactions.hooks import PLACES, PlayedRun, native_of
from bench.compactions.places import repository_of

ADDED = "added"
REPOSITORY_MOST = 4  # cases of one, as long as the others have enough


def compaction_cases(folders: Sequence[Path], plan: Plan) -> Iterator[tuple[Case, Texts]]:
    """At most so many cases as planned, with their texts."""
    found = list(able(folders, plan))
    most = most_of_repository(Counter(one.source for one in found), plan.cases)
    for case in cases(found, replace(plan, compactions=plan.cases, source_most=most)):
        yield case, texts(case.summary, told_at(case))


def able(folders: Sequence[Path], plan: Plan) -> Iterator[Candidate]:
    """The transcripts of agents that have such a hook, with a summary that can be read; each conversation
    once, though agents copy the history when a run is resumed."""
    seen: set[str] = set()
    for candidate in candidates(folders, plan):
        if candidate.agent not in PLACES or not candidate.records["compaction"]:
            continue
        transcript = read(candidate.path)
        assert transcript is not None, candidate.path
        summaries = [event.text for event in transcript.events if event.kind == "compacted"]
        summaries = [text for text in summaries if text.strip()]
        if not seen.intersection(summaries):
            candidate.repository = repository_of(candidate.path, candidate.name)
            candidate.records["cut"] = []  # there is nothing to read in the middle of work
            yield candidate
        seen.update(summaries)


def most_of_repository(sizes: Counter[str], wanted: int) -> int:
    """How many cases a repository may give: four, or as many more as it takes."""
    most = REPOSITORY_MOST
    while most < max(sizes.values(), default=0) and sum(min(size, most) for size in sizes.values()) < wanted:
        most += 1
    return most


def texts(summary: str, told: str) -> Texts:
    """The texts of a case; if nothing is told, there is one for both."""
    if not told:
        return Texts({ADDED: summary}, same={SUMMARY: ADDED})
    return Texts({SUMMARY: summary, ADDED: with_told(summary, told)})


def with_told(summary: str, told: str) -> str:
    """A summary as it stands in the window with what the hook said after it."""
    return f"{summary}\n\n{told}" if told else summary


def told_at(case: Case) -> str:
    """What Segue's hook says after a case's compaction; empty if nothing."""
    transcript = case.transcript
    assert isinstance(transcript, Lines), transcript.path
    places = [event.record for event in transcript.events if event.kind == "compacted"]
    told = ""
    with tempfile.TemporaryDirectory() as folder:
        run = PlayedRun(Path(folder), transcript.agent, native_of(transcript.path, transcript.agent))
        for record in (place for place in places if place <= case.record):
            run.before(b"".join(transcript.lines[:record]))
            told = run.after(b"".join(transcript.lines[: end_of_compaction(transcript, record)]))
    return told


def end_of_compaction(transcript: Lines, record: int) -> int:
    """The record behind a compaction's summary, which may stand behind the record that announces it."""
    if transcript.agent != "claude-code":
        return record + 1
    for line, one in transcript.records():
        if line >= record and one.get("isCompactSummary"):
            return line + 1
    return record + 1


def report(given: Sequence[tuple[Case, Texts]]) -> None:
    """Print how much is told after the summaries, and at how many of them nothing."""
    sizes = []
    for case, one in given:
        summary, told = parts(one)
        sizes.append(size(told))
        what = f"{size(told)} bytes are added" if told else "nothing is added"
        print(f"{case.label} {case.transcript.agent}, a summary of {size(summary)} bytes: {what}")
    print(f"{len(sizes)} cases, {medians(sizes)}")


def parts(one: Texts) -> tuple[str, str]:
    """The summary of a case, and what is told after it."""
    summary = one.said.get(SUMMARY, one.said[ADDED])
    return summary, one.said[ADDED].removeprefix(summary).strip()


def medians(sizes: Sequence[int]) -> str:
    """How many bytes are told: over all, and where anything is."""
    some = [size for size in sizes if size]
    over_some = f", median {statistics.median(some):.0f} of these" if some else ""
    return (
        f"median {statistics.median(sizes):.0f} bytes added over all; "
        f"something is added in {len(some)} of {len(sizes)}{over_some}"
    )


def size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
