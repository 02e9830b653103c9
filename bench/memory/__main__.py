"""``python -m bench.memory [LOCOMO.json] [--sizes 1000,10000,100000] [--peers] [--only quality|speed]``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.common import machine, must_be_compiled, table
from bench.memory import quality, speed

from segue.api.segue import Segue
from segue.effects.vectors import minilm
from segue.effects.vectors.embedder import HashEmbedder
from segue.effects.vectors.static import StaticEmbedder


def percent(values: list[float]) -> str:
    return f"{100 * sum(values) / len(values):.1f}" if values else "-"


def show_quality(corpus: Path | None) -> None:
    for inner in (StaticEmbedder(), minilm.MiniLM() if minilm.installed() else None, HashEmbedder()):
        if inner is None:
            print("\nthe extra `semantic` is not installed: its model is not measured")
            continue
        embed = quality.remembering_embed(inner)
        used = quality.Cached(inner, embed)
        with tempfile.TemporaryDirectory() as home, Segue(home=home, folder=home, embedder=used) as segue:
            found = quality.coding(segue, embed)
            measures = list(next(iter(found.values())))
            rows = [[name, *(f"{values[m]:.2f}" for m in measures)] for name, values in found.items()]
            table(f"coding, {inner.name}", ["", *measures], rows)
            if corpus is not None:
                show_locomo(quality.locomo(corpus, segue, embed), inner.name)


def show_locomo(results: dict[str, dict[str, list[float]]], name: str) -> None:
    measures = ["session@5", "session@10", "turn@10", "turn@20"]
    rows = [[who, *(percent(values[m]) for m in measures)] for who, values in results.items()]
    table(f"LoCoMo, {name}", ["", *measures], rows)
    kinds = sorted(quality.CATEGORIES)
    rows = [
        [who, *(percent(values.get(f"turn@10/{kind}", [])) for kind in kinds)]
        for who, values in results.items()
    ]
    table("turn@10 by category", ["", *(quality.CATEGORIES[kind] for kind in kinds)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.memory")
    parser.add_argument(
        "corpus", nargs="?", type=Path, help="LoCoMo's JSON; without it only coding is measured"
    )
    parser.add_argument("--sizes", default="1000,10000,100000", help="how many memories, for the latency")
    parser.add_argument(
        "--peers", action="store_true", help="beside aegis-memory and plain files, where installed"
    )
    parser.add_argument("--only", choices=("quality", "speed"))
    args = parser.parse_args()
    must_be_compiled()
    print(machine())
    if args.only != "speed":
        show_quality(args.corpus)
    if args.only != "quality":
        speed.show([int(size) for size in args.sizes.split(",")], peers=args.peers)


if __name__ == "__main__":
    main()
