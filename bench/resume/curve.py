"""`make bench-curve CORPUS=FOLDER`: recall against the budget, in tokens, as a table and as a picture.

At every cut the past is restored for each budget; beside it stand the end of the conversation and the end of
everything, both as many bytes as the restoration took, and the oracle. The same needs, the same scoring as
`bench.resume`; only the budgets are tokens, counted as ``segue.core.base.token_estimate`` does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from bench.resume.contenders import oracle, prefix_file, tail
from bench.resume.needs import Cut, Known, Needs, Rarity, cuts, needs, rarities, vocabulary
from bench.resume.observed import observe
from bench.resume.run import NEEDS_MIN, transcripts
from bench.resume.scoring import score

BUDGETS = (300, 1_000, 5_000, 25_000, 40_000)
NAMES = ("segue", "tail of the conversation", "tail of everything", "oracle")
CALLS_MIN, CUTS = 60, 3
Point = tuple[int, str, float, float, int]  # budget, contender, score, future, bytes


def restored(prefix: Path, budgets: Sequence[int]) -> dict[int, str]:
    """What a run would be given of a transcript, for each budget."""
    from segue.core.brief.compose import compose
    from segue.core.brief.facts import facts
    from segue.core.brief.passages import passages
    from segue.core.resume.restoration import restore
    from segue.core.runs.quotable import RunTexts
    from segue.services.brief.quoting import masked_blocks
    from segue.services.resume.restore import BRIEF_BYTES
    from segue.services.runs.read_transcript import final, read, recognised

    agent = recognised(prefix)
    material = RunTexts()
    digest = final(read(prefix, agent, also=material.take), agent)
    brief_facts = facts([digest], agent=agent.name)
    forms = [compose(brief_facts, size) for size in BRIEF_BYTES]
    order = list(passages(masked_blocks(material.blocks), digest, forms[-1]))
    return {budget: restore(forms, (), order, budget=budget).text for budget in budgets}


def end_of(cut: Cut, size: int) -> str:
    """The last bytes of all that was said, called and given."""
    texts: list[str] = []
    left = size
    for observation in reversed(cut.past):
        texts.append(observation.text)
        left -= len(observation.text.encode("utf-8", "replace")) + 1
        if left <= 0:
            break
    return "\n".join(reversed(texts)).encode("utf-8", "replace")[-size:].decode("utf-8", "ignore")


def points(rarity: Rarity, path: Path) -> list[Point]:
    """All figures of a transcript."""
    transcript = observe(path)
    known = Known()
    figures: list[Point] = []
    for cut in cuts(transcript, CUTS, compaction=False):
        known.advance(transcript.seen, len(cut.past))
        needed = needs(cut, known, rarity)
        if len(needed) < NEEDS_MIN:
            continue
        with prefix_file(transcript, cut) as prefix:
            texts = restored(prefix, BUDGETS)
        for budget, text in texts.items():
            size = len(text.encode("utf-8", "replace"))
            for name, answer in zip(NAMES, _answers(text, cut, needed, size), strict=True):
                judged = score(answer, needed, gated=name != "oracle")
                figures.append((budget, name, judged.total, judged.parts.get("future", judged.total), size))
    return figures


def _answers(text: str, cut: Cut, needed: Needs, size: int) -> tuple[str, ...]:
    return text, tail(cut, size), end_of(cut, size), oracle(needed, size)


def _counted(path: Path) -> set[str] | None:
    transcript = observe(path)
    return vocabulary(transcript) if transcript.calls >= CALLS_MIN else None


def measured(paths: Sequence[Path], jobs: int) -> tuple[int, list[Point]]:
    """(transcripts, all figures)."""
    with ProcessPoolExecutor(jobs) as pool:
        words: Counter[str] = Counter()
        chosen = []
        for path, vocabulary_of_path in zip(paths, pool.map(_counted, paths), strict=True):
            if vocabulary_of_path is not None:
                words.update(vocabulary_of_path)
                chosen.append(path)
        rarity = rarities(words, len(chosen))
        return len(chosen), [
            figure for figures in pool.map(partial(points, rarity), chosen) for figure in figures
        ]


def means(figures: Sequence[Point]) -> dict[tuple[int, str], tuple[float, float, float]]:
    """(score, future, bytes) of a contender at a budget, as percents and bytes."""
    means_found = {}
    for budget in BUDGETS:
        for name in NAMES:
            here = [figure for figure in figures if figure[:2] == (budget, name)]
            count = max(1, len(here))
            means_found[budget, name] = (
                100 * sum(figure[2] for figure in here) / count,
                100 * sum(figure[3] for figure in here) / count,
                sum(figure[4] for figure in here) / count,
            )  # fmt: skip
    return means_found


# -- the picture

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 380, 56, 24, 190, 48
COLOURS = {NAMES[0]: "#0b6e4f", NAMES[1]: "#c1666b", NAMES[2]: "#d4a24c", NAMES[3]: "#8a8d91"}


def picture_of(table: dict[tuple[int, str], tuple[float, float, float]]) -> str:
    """The curve as SVG: budgets on a scale of their logarithms, recall from 0 to 100."""
    import math

    low, high = math.log(BUDGETS[0]), math.log(BUDGETS[-1])

    def x(budget: int) -> float:
        return LEFT + (math.log(budget) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(percent: float) -> float:
        return TOP + (100 - percent) / 100 * (HEIGHT - TOP - BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12" role="img" aria-label="Recall against the budget">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for percent in range(0, 101, 20):
        at = y(percent)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e3e5e8"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#555">{percent}</text>')
    for budget in BUDGETS:
        name = f"{budget:,}"
        lines.append(
            f'<text x="{x(budget):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" '
            f'fill="#555">{name}</text>'
        )
    lines.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle" fill="#333">'
        "budget in tokens</text>"
    )
    lines.append(f'<text x="{LEFT}" y="14" fill="#333">needs of the next 40 calls that are met, %</text>')
    for name in NAMES:
        spots = [(x(budget), y(table[budget, name][0])) for budget in BUDGETS]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in spots)
        colour = COLOURS[name]
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        lines += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in spots]
        a, b = spots[-1]
        lines.append(f'<text x="{a + 10:.1f}" y="{b + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.resume.curve", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="transcripts of Claude Code and Codex (.jsonl)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--every", type=int, default=1, help="take every so manyth transcript only")
    parser.add_argument("--picture", type=Path, help="write the curve there, as SVG")
    options = parser.parse_args()
    count, figures = measured(transcripts(options.folders)[:: options.every], options.jobs)
    if not figures:
        sys.exit("no transcript has a cut that asks for anything")
    mean_figures = means(figures)
    cut_count = len(figures) // len(BUDGETS) // len(NAMES)
    print(f"{count} transcripts, {cut_count} cuts; score (and of the future alone)\n")
    print("| tokens | bytes used | " + " | ".join(NAMES) + " |")
    print("|---|---|" + "---|" * len(NAMES))
    for budget in BUDGETS:
        cells = [
            f"{mean_figures[budget, name][0]:.1f} ({mean_figures[budget, name][1]:.1f})" for name in NAMES
        ]
        print(f"| {budget:,} | {mean_figures[budget, NAMES[0]][2]:,.0f} | " + " | ".join(cells) + " |")
    if options.picture:
        options.picture.write_text(picture_of(mean_figures), encoding="utf-8")


if __name__ == "__main__":
    main()
