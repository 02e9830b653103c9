"""`make bench-resume CORPUS=FOLDER`: cut real transcripts, brief the past, score it by what came next.

Without a corpus, transcripts that ``segue.testing`` makes are cut: that shows that everything works, and says
nothing about how good a brief is.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from bench.resume import report
from bench.resume.run import Plan, run, transcripts

STORIES, STORY_CALLS = 6, 110


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.resume", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="transcripts of Claude Code and Codex (.jsonl)")
    parser.add_argument(
        "--contender", action="append", default=[], metavar="CMD", help="run as CMD FILE BYTES"
    )
    parser.add_argument("--max-bytes", type=int, default=2_048)
    parser.add_argument("--cuts", type=int, default=3, help="for each transcript")
    parser.add_argument("--calls-min", type=int, default=60, help="shorter transcripts are passed over")
    parser.add_argument("--compaction", action="store_true", help="cut where the agent compacted instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write the means there too")
    return parser.parse_args()


def folders(named_folders: list[Path]) -> list[Path]:
    """The corpus: as given, else as the environment says."""
    named = os.environ.get("SEGUE_CORPUS", "")
    return named_folders or [Path(part).expanduser() for part in named.split(os.pathsep) if part]


def made(folder: Path) -> list[Path]:
    """A small corpus of stories."""
    from tests.support.long_story import story

    from segue.testing.transcripts import written

    for seed in range(STORIES):
        path = folder / f"rollout-{seed}.jsonl"
        path.write_bytes(written("codex", story(seed, calls=STORY_CALLS)))
    return [folder]


def main() -> None:
    options = arguments()
    plan = Plan(
        options.max_bytes,
        options.cuts,
        options.calls_min,
        options.compaction,
        tuple(options.contender),
        options.jobs,
    )
    with tempfile.TemporaryDirectory() as folder:
        corpus = folders(options.folders)
        if not corpus:
            print("no corpus is named (CORPUS=FOLDER): these are made transcripts, and prove little")
            corpus = made(Path(folder))
        outcome = run(transcripts(corpus), plan)
    report.show(outcome, plan)
    if options.json:
        means = report.rows(outcome)
        options.json.write_text(json.dumps({"cuts": outcome.cuts, "rows": means}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
