"""`make bench-told CORPUS=FOLDER OUT=FOLDER`: what first prompts of public runs are told, for two readers.

Two steps: `cases` writes a page for each case; when two readers have written their tables, `score` prints the
figures. How cases are made is said in the package; what readers are asked, in ``words.md`` beside the pages.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.told import score
from bench.told.cases import Plan, candidates, cases
from bench.told.machine import played
from bench.told.pages import KEY, CaseKey, Key, key_of, write_page, write_words
from bench.told.runs import runs_of

DEFAULT = Plan()


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.told", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    make = steps.add_parser("cases", help="play first prompts, and write what each run is told")
    make.add_argument("corpus", type=Path, help="a folder with transcripts in AGENT/OWNER__REPO")
    make.add_argument("--out", type=Path, required=True, help="a new folder")
    make.add_argument("--seed", type=int, default=DEFAULT.seed)
    make.add_argument("--cases", type=int, default=DEFAULT.cases)
    points = steps.add_parser("score", help="print what two readers found")
    points.add_argument("out", type=Path)
    points.add_argument("answers", type=Path, nargs=2, help="the readers' tables")
    return parser.parse_args(given)


def make_cases(options: argparse.Namespace) -> None:
    if (options.out / KEY).exists():
        sys.exit(f"error: {options.out} holds a round already; name a new folder")
    runs = runs_of(options.corpus)
    found = list(candidates(runs))
    repositories = len({case.later.repository for case in found})
    print(f"{len(runs)} runs; {len(found)} first prompts of {repositories} repositories", flush=True)
    picked = cases(found, Plan(options.seed, options.cases))
    if not picked:
        sys.exit("error: no run of a user follows another one in the same folder")
    key = Key(options.seed, [])
    write_words(options.out)
    for case in picked:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            done = played(case, Path(folder))
        write_page(options.out, done)
        key.cases.append(one := key_of(done))
        print(f"{one.case} {one.kind}, {one.bytes} bytes, {one.seconds} s", flush=True)
        if one.faults:
            print(f"   logged: {one.faults.strip()[-300:]}")
    key.write(options.out)
    report(key.cases)


def report(made: Sequence[CaseKey]) -> None:
    """Print how many cases there are of what."""
    agents = Counter(one.agent for one in made)
    repositories = len({one.repository for one in made})
    print(f"{len(made)} cases of {repositories} repositories: {dict(agents.most_common())}")
    for kind, count in Counter(one.kind for one in made).most_common():
        sizes = [one.bytes for one in made if one.kind == kind]
        print(f"{kind}: {count}, median {statistics.median(sizes):.0f} bytes, at most {max(sizes)}")
    print(f"median {statistics.median(one.seconds for one in made):.1f} s a case")


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    try:
        if options.step == "cases":
            make_cases(options)
        else:
            score.show(score.judged(options.out, options.answers))
    except score.AnswersIncomplete as fault:
        sys.exit(f"error: {fault}")


if __name__ == "__main__":
    main()
