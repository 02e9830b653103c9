"""`make bench-truth CORPUS=FOLDER`: brief real transcripts at many points, and hold what each brief states
against the raw transcript."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bench.resume.truth import claude_code, codex
from bench.resume.truth.events import Transcript
from bench.resume.truth.judge import Judgement, judge
from bench.resume.truth.statements import KINDS

from segue.services.brief.brief import brief_of_transcript


@dataclass(slots=True)
class Cut:
    """A point in a transcript: everything before this record."""

    path: Path
    agent: str
    record: int


@dataclass(slots=True)
class Outcome:
    """What a run of the check found."""

    briefs: int = 0
    judged: list[tuple[Cut, Judgement]] = field(default_factory=list)
    unknown: list[tuple[Cut, str]] = field(default_factory=list)
    failures: list[tuple[Cut, str]] = field(default_factory=list)
    texts: dict[tuple[str, int], str] = field(default_factory=dict)


READERS = {"claude-code": claude_code.read, "codex": codex.read}


def agent_of(lines: list[str]) -> str:
    head = "\n".join(lines[:12])
    if '"session_meta"' in head or '"response_item"' in head:
        return "codex"
    if '"sessionId"' in head and ('"type":"user"' in head.replace(" ", "") or '"parentUuid"' in head or '"summary"' in head):
        return "claude-code"
    return ""


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def transcripts(folders: list[Path]) -> list[tuple[Path, str, int]]:
    found = []
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                if not name.endswith(".jsonl") or name in ("checkpoints.jsonl", "history.jsonl"):
                    continue
                path = Path(root, name)
                lines = [line for line in lines_of(path) if line]
                agent = agent_of(lines)
                if agent and len(lines) > 4:
                    found.append((path, agent, len(lines)))
    return sorted(found, key=lambda one: str(one[0]))


def cuts(found: list[tuple[Path, str, int]], briefs: int, seed: int) -> list[Cut]:
    """Right before every compaction, and else at random, longer transcripts more often."""
    chosen: list[Cut] = []
    for path, agent, _ in found:
        told = READERS[agent](lines_of(path))
        chosen += [Cut(path, agent, record) for record in told.compactions]
    dice = random.Random(seed)
    weights = [count**0.5 for _, _, count in found]
    seen = {(cut.path, cut.record) for cut in chosen}
    possible = sum(count for _, _, count in found)
    while len(chosen) < min(briefs, possible // 2):
        path, agent, count = dice.choices(found, weights)[0]
        record = dice.randint(3, count)
        if (path, record) not in seen:
            seen.add((path, record))
            chosen.append(Cut(path, agent, record))
    return sorted(chosen[:briefs], key=lambda cut: (str(cut.path), cut.record))


def check(chosen: list[Cut]) -> Outcome:
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        for cut in chosen:
            lines = lines_of(cut.path)[: cut.record]
            copy = Path(folder, cut.path.name)
            copy.write_text("\n".join(lines) + "\n", encoding="utf-8")
            text = brief_of_transcript(copy, cut.agent)
            told: Transcript = READERS[cut.agent](lines)
            judgements, unknown = judge(text, told)
            outcome.briefs += 1
            outcome.texts[str(cut.path), cut.record] = text
            outcome.judged += [(cut, one) for one in judgements]
            outcome.unknown += [(cut, line) for line in unknown]
    return outcome


def show(outcome: Outcome, *, all_false: bool) -> None:
    counts = Counter((one.kind, one.verdict) for _, one in outcome.judged)
    print(f"| kind | checked | a brief | not checkable | false |\n|---|---|---|---|---|")
    total: Counter[str] = Counter()
    for kind in KINDS:
        true, false, open_ = (counts[kind, verdict] for verdict in ("true", "false", "not checkable"))
        total.update({"checked": true + false, "false": false, "open": open_})
        print(f"| {kind} | {true + false} | {(true + false) / max(1, outcome.briefs):.2f} | {open_} | {false} |")
    each = total["checked"] / max(1, outcome.briefs)
    print(f"| all of {outcome.briefs} briefs | {total['checked']} | {each:.2f} | {total['open']} | {total['false']} |")
    print(f"lines that no form fits: {len(outcome.unknown)}")
    if all_false:
        for cut, one in outcome.judged:
            if one.verdict == "false":
                print(f"\n{cut.path}:{cut.record}\n  {one.kind}: {one.claim}\n  why: {one.why}\n  line: {one.line.strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.resume.truth", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="transcripts; else SEGUE_CORPUS names them")
    parser.add_argument("--briefs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="list every false statement with its transcript")
    parser.add_argument("--unknown", action="store_true", help="list the lines that no form fits")
    parser.add_argument("--open", action="store_true", help="list what could not be checked")
    options = parser.parse_args()
    named = os.environ.get("SEGUE_CORPUS", "")
    folders = options.folders or [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    outcome = check(cuts(transcripts(folders), options.briefs, options.seed))
    show(outcome, all_false=options.show)
    if options.unknown:
        for cut, line in outcome.unknown:
            print(f"{cut.path.name}:{cut.record}: {line}")
    if options.open:
        for cut, one in outcome.judged:
            if one.verdict == "not checkable":
                print(f"{cut.path.name}:{cut.record}: {one.claim} | {one.why} | {one.line.strip()[:150]}")
    return 1 if any(one.verdict == "false" for _, one in outcome.judged) else 0


if __name__ == "__main__":
    sys.exit(main())
