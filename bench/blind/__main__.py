"""`make bench-blind CORPUS=FOLDER OUT=FOLDER`: cases for blind reading, and what the judge found.

Three steps: `cases` writes a round; when every reader has written ``answers.md`` beside the texts that he was
given, `judge` puts the answers beside the truth; when the judge has filled in ``judge/verdict.md``, `score`
prints the points. What readers and judge are told stands in ``words.md`` of their folders.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.blind import score
from bench.blind.contenders import Contender, Texts, texts
from bench.blind.cuts import Case, Plan, candidates, cases
from bench.blind.habits import habit_cases
from bench.blind.round import KEY, AnswersMissing, Key, write_judgement, write_round

DEFAULT = Plan()


def named(text: str) -> tuple[str, str]:
    """``NAME=VALUE`` in two."""
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def limit(text: str) -> tuple[str, int]:
    name, value = named(text)
    return name, int(value)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.blind", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    make = steps.add_parser("cases", help="cut transcripts, and write what each contender says of them")
    make.add_argument("corpus", nargs="+", type=Path, help="folders with transcripts")
    make.add_argument("--out", type=Path, required=True, help="a new folder")
    make.add_argument("--seed", type=int, default=DEFAULT.seed)
    make.add_argument("--cases", type=int, default=DEFAULT.cases)
    make.add_argument("--compactions", type=int, default=DEFAULT.compactions, help="so many of the cases")
    make.add_argument("--calls-min", type=int, default=DEFAULT.calls_min, help="of a transcript")
    make.add_argument("--bytes", type=int, default=2_048, help="the budget of a text")
    make.add_argument("--contender", action="append", type=named, default=[], metavar="NAME=COMMAND")
    make.add_argument("--only", action="append", type=named, default=[], metavar="NAME=FORMAT,FORMAT",
                      help="the formats that a contender can read")  # fmt: skip
    make.add_argument("--most", action="append", type=limit, default=[], metavar="FORMAT=N",
                      help="at most so many cases of a format")  # fmt: skip
    make.add_argument("--without", action="append", type=Path, default=[], metavar="OUT",
                      help="use no transcript of that round")  # fmt: skip
    make.add_argument("--ceiling", action="store_true",
                      help="requests with the last 40,000 bytes of everything")  # fmt: skip
    make.add_argument("--habits", action="store_true",
                      help="briefs with and without habits of earlier runs")  # fmt: skip
    judge = steps.add_parser("judge", help="put the readers' answers beside the truth")
    judge.add_argument("out", type=Path)
    points = steps.add_parser("score", help="print the points of one round, or of several together")
    points.add_argument("out", nargs="+", type=Path)
    points.add_argument("--against", default="tail", metavar="NAME")
    return parser.parse_args(given)


def make_cases(options: argparse.Namespace) -> None:
    if (options.out / KEY).exists():
        sys.exit(f"error: {options.out} holds a round already; name a new folder")
    used = frozenset(one.transcript for out in options.without for one in Key.read(out).cases)
    plan = Plan(options.seed, options.cases, options.compactions, options.calls_min, dict(options.most), used)
    if options.habits:
        return finish(list(habit_cases(options.corpus, plan, options.bytes)), options)
    formats = {name: frozenset(value.split(",")) for name, value in options.only}
    contenders = [
        Contender(name, command, formats.get(name, frozenset())) for name, command in options.contender
    ]
    found = list(candidates(options.corpus, plan))
    given: list[tuple[Case, Texts]] = []
    for case in cases(found, plan):
        given.append((case, texts(case, contenders, options.bytes, with_ceiling=options.ceiling)))
        print(f"{case.label} {case.kind}, {case.transcript.agent}", flush=True)
    finish(given, options)


def finish(given: Sequence[tuple[Case, Texts]], options: argparse.Namespace) -> None:
    """Write the round, and say what it holds."""
    if not given:
        sys.exit("error: no transcript is long enough to be cut")
    write_round(options.out, given, seed=options.seed, budget=options.bytes)
    report(given, options.bytes)


def report(given: Sequence[tuple[Case, Texts]], budget: int) -> None:
    """Print how many cases there are of what, and how every contender fared in making its texts."""
    kinds = Counter(case.kind for case, _ in given)
    agents = Counter(case.transcript.agent for case, _ in given)
    print(f"{len(given)} cases: {dict(kinds)}, {dict(agents.most_common())}")
    for name in sorted({name for _, one in given for name in (*one.said, *one.failed)}):
        sizes = [len(one.said[name].encode("utf-8", "replace")) for _, one in given if name in one.said]
        over = sum(size > budget for size in sizes)
        median = f", median {statistics.median(sizes):.0f} bytes, {over} over the budget" if sizes else ""
        print(f"{name}: {len(sizes)} texts{median}")
        for case, one in given:
            if name in one.failed:
                print(f"  failed at {case.label} ({case.transcript.agent}): {one.failed[name]}")


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    try:
        if options.step == "cases":
            make_cases(options)
        elif options.step == "judge":
            print(f"{len(write_judgement(options.out))} cases are ready in {options.out / 'judge'}")
        else:
            score.show([row for out in options.out for row in score.judged(out)], against=options.against)
    except (AnswersMissing, score.VerdictIncomplete) as fault:
        sys.exit(f"error: {fault}")


if __name__ == "__main__":
    main()
