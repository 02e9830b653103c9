"""`make bench-compactions CORPUS=FOLDER OUT=FOLDER STEP=…`: what compactions lose, without Segue and with it.

Compactions that really happened: `cases`, `judge`, `score`. Six of them in a row: `chains`, `next` after each
round, `truth`, `final`, `chains-score`. Who reads and writes what in between stands in ``__init__.py``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.blind import score
from bench.blind.contenders import SUMMARY
from bench.blind.cuts import Plan
from bench.blind.round import KEY, AnswersMissing, Key, write_judgement, write_round
from bench.compactions import cases, points, rounds, standing
from bench.compactions.conversations import Limits, conversations
from bench.compactions.hooks import HookFailed
from bench.compactions.rounds import ARMS, Chains, RoundIncomplete

from segue.services.brief.for_compaction import AFTER_BYTES


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.compactions", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    one = _step(steps, "cases", "take compactions that happened, with what Segue adds to them", corpus=True)
    one.add_argument("--cases", type=int, default=24)
    one.add_argument("--calls-min", type=int, default=Plan().calls_min, help="of a transcript")
    one.add_argument("--without", action="append", type=Path, default=[], metavar="OUT",
                     help="use no transcript of that round")  # fmt: skip
    _step(steps, "judge", "put the readers' answers beside the truth")
    _step(steps, "score", "print the points of the readers")
    limits = Limits()
    many = _step(steps, "chains", "cut conversations into six stretches, and write round 1", corpus=True)
    many.add_argument("--conversations", type=int, default=limits.conversations)
    many.add_argument("--calls-min", type=int, default=limits.calls_min)
    many.add_argument("--calls-max", type=int, default=limits.calls_max)
    many.add_argument("--messages-min", type=int, default=limits.messages_min, help="of the user")
    _step(steps, "next", "take in the summaries of a round, and write the next one")
    _step(steps, "truth", "write what the user said, for those who list what stands")
    _step(steps, "final", "write what is in the windows after the last round, for the judge")
    shares = _step(steps, "chains-score", "print how much was kept")
    shares.add_argument("tables", nargs="*", type=Path, help="the judges'; OUT/final/verdict*.md by default")
    return parser.parse_args(given)


def _step(steps: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help: str, *,
          corpus: bool = False) -> argparse.ArgumentParser:  # fmt: skip
    step = steps.add_parser(name, help=help)
    if corpus:
        step.add_argument("corpus", nargs="+", type=Path, help="folders with transcripts")
        step.add_argument("--seed", type=int, default=1)
    step.add_argument("--out", type=Path, required=True, help="the folder of the benchmark")
    return step


def make_cases(options: argparse.Namespace) -> None:
    if (options.out / KEY).exists():
        sys.exit(f"error: {options.out} holds a round already; name a new folder")
    used = frozenset(one.transcript for out in options.without for one in Key.read(out).cases)
    plan = Plan(options.seed, options.cases, calls_min=options.calls_min, without=used)
    given = list(cases.compaction_cases(options.corpus, plan))
    if not given:
        sys.exit("error: no transcript has a compaction whose summary can be read")
    write_round(options.out, given, seed=options.seed, budget=AFTER_BYTES)
    cases.report(given)


def make_judgement(options: argparse.Namespace) -> None:
    print(f"{len(write_judgement(options.out))} cases are ready in {options.out / 'judge'}")


def show_score(options: argparse.Namespace) -> None:
    score.show(score.judged(options.out), against=SUMMARY)


def make_chains(options: argparse.Namespace) -> None:
    if (options.out / rounds.PLAN).exists():
        sys.exit(f"error: {options.out} holds chains already; name a new folder")
    limits = Limits(options.conversations, options.calls_min, options.calls_max, options.messages_min)
    chosen = conversations(options.corpus, limits)
    if not chosen:
        sys.exit("error: no conversation of Claude Code is long enough")
    rounds.begin(options.out, options.seed, chosen)
    for one in chosen:
        print(
            f"{one.label} {one.messages} messages, {one.calls} calls, {one.compactions} real compactions:"
            f" {one.name}"
        )
    print(f"{len(chosen)} conversations; rounds/1 is ready for its summarisers")


def next_round(options: argparse.Namespace) -> None:
    chains = Chains.read(options.out)
    round = chains.round
    rounds.report(round, rounds.go_on(chains))


def make_truth(options: argparse.Namespace) -> None:
    print(f"{len(standing.write_truth(Chains.read(options.out)))} texts are ready in {options.out / 'truth'}")


def make_final(options: argparse.Namespace) -> None:
    print(f"{len(standing.write_final(Chains.read(options.out)))} texts are ready in {options.out / 'final'}")


def show_shares(options: argparse.Namespace) -> None:
    chains = Chains.read(options.out)
    sizes = {
        arm: statistics.median(
            cases.size(rounds.window_after(chains, arm, one)) for one in chains.conversations
        )
        for arm in ARMS
    }
    points.show(points.judged(options.out, options.tables), sizes)


STEPS: dict[str, Callable[[argparse.Namespace], None]] = {
    "cases": make_cases, "judge": make_judgement, "score": show_score, "chains": make_chains,
    "next": next_round, "truth": make_truth, "final": make_final, "chains-score": show_shares,
}  # fmt: skip


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    try:
        STEPS[options.step](options)
    except (AnswersMissing, HookFailed, RoundIncomplete, score.VerdictIncomplete) as fault:
        sys.exit(f"error: {fault}")


if __name__ == "__main__":
    main()
