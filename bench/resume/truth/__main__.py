"""`make bench-truth CORPUS=FOLDER`: brief real transcripts at many points, and hold what each brief states
against the raw transcript.

Points are chosen by a seed, and right before every compaction. The exit status is 1 if anything is false.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.resume.truth.events import STEP
from bench.resume.truth.judge import Judgement, judge
from bench.resume.truth.sources import Source, sources
from bench.resume.truth.statements import KINDS

from segue.services.brief.brief import brief_of_transcript

SIZES = (2_048, 8_192, 12_288)
"""What `segue brief` prints by itself, a long one, and one of whose bytes 8,192 are the brief, as much as
hooks tell a run, and the rest passages."""


@dataclass(slots=True)
class Cut:
    """A point in a transcript: so many of its first records."""

    source: Source
    records: int
    bytes: int = 0
    """The size of the brief that was made there."""

    def __str__(self) -> str:
        return f"{self.source.path}:{self.records} ({self.bytes} bytes)"


@dataclass(slots=True)
class Outcome:
    """What was found in all briefs."""

    cuts: list[Cut] = field(default_factory=list)
    judged: list[tuple[Cut, Judgement]] = field(default_factory=list)
    unknown: list[tuple[Cut, str]] = field(default_factory=list)
    faults: list[tuple[Cut, str]] = field(default_factory=list)  # points at which no brief could be made

    def with_verdict(self, verdict: str) -> list[tuple[Cut, Judgement]]:
        return [(cut, one) for cut, one in self.judged if one.verdict == verdict]


def choose(found: list[Source], briefs: int, seed: int) -> list[Cut]:
    """Right before every compaction, and else at random; longer transcripts more often, but not as often as
    they are longer."""
    chosen: dict[tuple[str, int], Cut] = {}

    def add(source: Source, records: int) -> None:
        chosen.setdefault((str(source.path), records), Cut(source, records))

    for source in found:
        told = source.read(len(source.records))
        for record in told.compactions:
            add(source, record // STEP if told.agent == "gemini-cli" else record)
    dice = random.Random(seed)
    possible = [(source, source.cuts()) for source in found if source.cuts()]
    weights = [len(cuts) ** 0.5 for _, cuts in possible]
    most = sum(len(cuts) for _, cuts in possible) // 2
    while possible and len(chosen) < min(briefs, most):
        source, cuts = dice.choices(possible, weights)[0]
        add(source, dice.choice(cuts))
    kept = sorted(chosen.values(), key=lambda cut: (str(cut.source.path), cut.records))
    return kept if len(kept) <= briefs else sorted(dice.sample(kept, briefs), key=str)


def check(cuts: list[Cut], sizes: Sequence[int] = SIZES) -> Outcome:
    """Make the brief at each point in turn in each of these sizes, and judge it."""
    outcome = Outcome(cuts)
    for at, cut in enumerate(cuts):
        cut.bytes = sizes[at % len(sizes)]
        try:
            with tempfile.TemporaryDirectory() as folder:
                copy = cut.source.copy(Path(folder), cut.records)
                text = brief_of_transcript(copy, cut.source.agent, budget=cut.bytes)
        except Exception as fault:  # whatever it is: no brief is worse than a false one
            outcome.faults.append((cut, f"{type(fault).__name__}: {fault}"))
            continue
        judgements, unknown = judge(text, cut.source.read(cut.records))
        outcome.judged += [(cut, one) for one in judgements]
        outcome.unknown += [(cut, line) for line in unknown]
    return outcome


def table(outcome: Outcome) -> str:
    """The figures as a table."""
    counts = Counter((one.kind, one.verdict) for _, one in outcome.judged)
    briefs = max(1, len(outcome.cuts))
    rows = ["| kind | checked | a brief | not checkable | false |", "|---|---|---|---|---|"]
    sums: Counter[str] = Counter()
    for kind in KINDS:
        true, false, unclear = (counts[kind, verdict] for verdict in ("true", "false", "not checkable"))
        sums.update({"checked": true + false, "unclear": unclear, "false": false})
        rows.append(f"| {kind} | {true + false} | {(true + false) / briefs:.2f} | {unclear} | {false} |")
    checked, unclear, false = sums["checked"], sums["unclear"], sums["false"]
    rows.append(f"| **all** | {checked} | {checked / briefs:.2f} | {unclear} | {false} |")
    agents = Counter(cut.source.agent for cut in outcome.cuts)
    of_each = ", ".join(f"{count} of {agent}" for agent, count in agents.most_common())
    paths = {cut.source.path for cut in outcome.cuts}
    rows.append(f"{len(outcome.cuts)} briefs of {len(paths)} transcripts: {of_each}.")
    rows.append(f"Lines that no form fits: {len(outcome.unknown)}.")
    return "\n".join(rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.resume.truth", description=__doc__)
    parser.add_argument(
        "folders", nargs="*", type=Path, help="transcripts; else the variable SEGUE_CORPUS names them"
    )
    parser.add_argument("--briefs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bytes", type=int, nargs="+", default=list(SIZES), help="the sizes, in turn")
    parser.add_argument(
        "--show", action="store_true", help="list every false statement with transcript, cut and line"
    )
    parser.add_argument("--unclear", action="store_true", help="list what could not be checked")
    parser.add_argument("--unknown", action="store_true", help="list the lines that no form fits")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    named = os.environ.get("SEGUE_CORPUS", "")
    folders = options.folders or [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    if not folders:
        print("no corpus is named: give folders, or set SEGUE_CORPUS (make: CORPUS=FOLDER)", file=sys.stderr)
        return 2
    outcome = check(choose(sources(folders), options.briefs, options.seed), options.bytes)
    print(table(outcome))
    false = outcome.with_verdict("false")
    for cut, one in [
        *(false if options.show else ()),
        *(outcome.with_verdict("not checkable") if options.unclear else ()),
    ]:
        print(f"\n{cut}\n  {one.kind}: {one.claim}\n  why: {one.why}\n  line: {one.line.strip()}")
    for cut, line in outcome.unknown if options.unknown else ():
        print(f"{cut}: {line}")
    for cut, fault in outcome.faults:
        print(f"{cut}: no brief: {fault}")
    return 1 if false or outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
