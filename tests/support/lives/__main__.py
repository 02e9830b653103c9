"""``python -m tests.support.lives --seed N [--lives M]``: plays lives and prints what was not told."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from .generate import life
from .judge import Tally, judged
from .model import Act, LifeRun, moments
from .player import played


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first life")
    parser.add_argument("--lives", type=int, default=1, help="how many, each with the next seed")
    parser.add_argument("--quiet", action="store_true", help="print only the table")
    args = parser.parse_args()
    tally, began = Tally(), time.perf_counter()
    for seed in range(args.seed, args.seed + args.lives):
        one = life(seed)
        if args.lives == 1 and not args.quiet:
            for number, run in enumerate(one.runs):
                print("\n".join((f"-- run {number}: {_head(run)}", *map(_line, run.acts))))
        with TemporaryDirectory() as folder:
            told = played(one, Path(folder))
        for moment, text in zip(moments(one), told, strict=True):
            verdict = judged(moment, text.text)
            tally.add(verdict)
            if not args.quiet and (verdict.missing or verdict.wrong or args.lives == 1):
                print(f"\n== seed {seed}, {verdict}")
    print(f"\n{tally.table()}")
    print(f"{(time.perf_counter() - began) / args.lives:.2f} seconds a life")


def _head(run: LifeRun) -> str:
    facts = (run.agent, "" if run.hooks else "no hooks", "" if run.writes else "writes nothing", run.source)
    return ", ".join(filter(None, facts))


def _line(act: Act) -> str:
    about = ", ".join(f"{key}={value!r}" for key, value in vars(act).items() if key not in ("begins", "ends"))
    changes = [f"+{one.id} {one.kind}" for one in act.begins]
    changes += [f"-{change.statement.id} {change.fate}" for change in act.ends]
    return f"   {type(act).__name__}({about}) {' '.join(changes)}".rstrip()


if __name__ == "__main__":
    main()
