"""`make bench-messages CORPUS=FOLDER OUT=FOLDER`: draws messages for readers, and scores their labels.

`gather CORPUS --out OUT` writes ``messages.md`` for two readers, each of whom writes a file of labels;
`score CORPUS OUT LABELS LABELS` prints the figures. See the package.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.messages.gather import KEY, gather, write
from bench.messages.score import KINDS, read_messages, report, rows


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.messages", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    draw = steps.add_parser("gather", help="draw messages from transcripts")
    draw.add_argument("corpus", type=Path, help="folder of AGENT/OWNER__REPOSITORY/sessions/")
    draw.add_argument("--out", type=Path, required=True, help="a new folder")
    draw.add_argument("--messages", type=int, default=150)
    draw.add_argument("--seed", type=int, default=1)
    points = steps.add_parser("score", help="print how well Segue understood them")
    points.add_argument("corpus", type=Path)
    points.add_argument("out", type=Path)
    points.add_argument("labels", type=Path, nargs=2, help="what the two readers wrote")
    points.add_argument("--half", choices=("tuning", "kept"), default="", help="only these")
    points.add_argument("--show", choices=KINDS, default="", help="print the messages with this fault")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    if options.step == "gather":
        if options.out.exists():
            sys.exit(f"error: {options.out} is there already; name a new folder")
        messages = gather([options.corpus], wanted=options.messages, seed=options.seed)
        write(messages, options.out)
        repositories = len({one.repository for one in messages})
        print(f"{len(messages)} messages of {repositories} repositories in {options.out}")
        return
    labels = [{str(one["id"]): one for one in rows(path)} for path in options.labels]
    messages = [one for one in read_messages(options.out / KEY) if options.half in ("", one.half)]
    report(messages, labels, options.corpus, options.show)


if __name__ == "__main__":
    main()
