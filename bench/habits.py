"""`make bench-habits CORPUS="FOLDER…"`: does it get better with use?

The runs of each repository are taken in the order of time. At every command and at every change to another
file, the next one is foretold, three guesses each: by the run itself alone, and with the habits of so many
runs before it, no later ones. Every figure is of the same places: those in runs that have enough runs before
them. What a run itself says is there in all of them, so that only habits make the difference.

With ``--held-out``, nothing that is reported was chosen on the repository that it is reported on: for each
one, the weights are those that did best in all others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from bench.common import machine, table

from segue.core.habits.learn import learn
from segue.core.habits.model import HabitTable
from segue.core.habits.next_moves import Weights, command_places, next_commands, next_files
from segue.core.habits.trace import RunTrace, trace_of
from segue.core.runs.steps import Start, Step
from segue.errors import SegueError
from segue.services.runs.read_transcript import read, recognised

EARLIER = (0, 5, 20)
CURVE = (0, 1, 2, 3, 5, 8, 12, 20)
FIRST = 5
"""Places at the beginning of a run are counted apart: there the run itself says least, as after a restart."""


@dataclass(slots=True)
class Hits:
    """How often a guess was right."""

    right: int = 0
    of: int = 0

    def add(self, is_right: bool) -> None:
        self.right += is_right
        self.of += 1

    @property
    def percent(self) -> float:
        return 100 * self.right / self.of if self.of else 0.0


@dataclass(slots=True)
class Figures:
    """All figures for one number of earlier runs."""

    commands: Hits = field(default_factory=Hits)
    first_commands: Hits = field(default_factory=Hits)
    files: Hits = field(default_factory=Hits)


@dataclass(slots=True)
class SeenRun:
    """A run that did something, with its transcript and the time of its last step."""

    path: Path
    cwd: str
    ended: float
    trace: RunTrace


def repositories(folders: Sequence[Path]) -> dict[str, list[RunTrace]]:
    """The traces of runs by the folder that they worked in, in the order of time."""
    return {cwd: [run.trace for run in runs] for cwd, runs in runs_by_folder(folders).items()}


def runs_by_folder(folders: Sequence[Path]) -> dict[str, list[SeenRun]]:
    """The runs by the folder that they worked in, in the order of time; runs that did nothing are none."""
    found: dict[str, list[SeenRun]] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*.json*") if path.is_file()):
        for run in _seen(path):
            found.setdefault(run.cwd, []).append(run)
    return {cwd: sorted(runs, key=lambda run: run.trace.began) for cwd, runs in found.items()}


def _seen(path: Path) -> Iterator[SeenRun]:
    steps: list[Step] = []
    try:
        read(path, recognised(path), also=steps.append)
    except (SegueError, OSError, ValueError):
        return
    cwd = next((step.cwd for step in steps if isinstance(step, Start) and step.cwd), "")
    is_sub_agent = any(isinstance(step, Start) and step.parent for step in steps)
    trace = trace_of(steps)
    if cwd and not is_sub_agent and any(move.kind != "read" for move in trace.moves):
        yield SeenRun(path, cwd, max(step.at for step in steps), trace)


def judge(run: RunTrace, habits: HabitTable, figures: Figures) -> None:
    """Foretell every place of a run, and count."""
    for number, at in enumerate(command_places(run.moves)):
        is_right = run.moves[at].what in next_commands(habits, run.moves[:at])
        figures.commands.add(is_right)
        if number < FIRST:
            figures.first_commands.add(is_right)
    last = ""
    for at, move in enumerate(run.moves):
        if move.kind == "edit" and move.what != last:
            figures.files.add(move.what in next_files(habits, run.moves[:at]))
            last = move.what


GRID = tuple(
    Weights(own_fade=fade, habits=habits) for fade in (1.0, 0.9, 0.8) for habits in (5.0, 10.0, 20.0, 1e9)
)
MOST = EARLIER[-1]


def command_hits(
    traces: Sequence[RunTrace], weights: Sequence[Weights], earlier: int, least: int
) -> list[Hits]:
    """How often the next command was among the first three, in the runs of one repository, by each of these
    weights."""
    hits = [Hits() for _ in weights]
    for number, run in enumerate(traces[least:], least):
        habits = learn(traces[max(0, number - earlier) : number] if earlier else [])
        for at in command_places(run.moves):
            for one, weigh in zip(hits, weights, strict=True):
                one.add(run.moves[at].what in next_commands(habits, run.moves[:at], weigh=weigh))
    return hits


def held_out(runs_of: dict[str, list[RunTrace]], least: int) -> list[list[str]]:
    """For each repository, how it does with the weights that do best in the others; and in all."""
    names = [name for name, traces in runs_of.items() if len(traces) > least]
    done = {name: command_hits(runs_of[name], GRID, MOST, least) for name in names}
    names = [name for name in names if done[name][0].of]
    rows, alone, known = [], Hits(), Hits()
    gains = []
    for name in names:
        others = [other for other in names if other != name]
        best = max(range(len(GRID)), key=lambda at: _mean([done[other][at].percent for other in others]))
        [none], with_habits = command_hits(runs_of[name], [GRID[best]], 0, least), done[name][best]
        gains.append(with_habits.percent - none.percent)
        rows.append(_held_out_row(name.rpartition("/")[2], len(runs_of[name]) - least, none, with_habits))
        for whole, part in ((alone, none), (known, with_habits)):
            whole.right, whole.of = whole.right + part.right, whole.of + part.of
    rows.append(_held_out_row("all places", sum(len(runs_of[name]) - least for name in names), alone, known))
    return [*rows, ["mean of repositories", "", "", "", "", f"{_mean(gains):+.1f}"]]


def _held_out_row(name: str, runs: int, alone: Hits, known: Hits) -> list[str]:
    gain = f"{known.percent - alone.percent:+.1f}"
    return [name, str(runs), str(known.of), f"{alone.percent:.1f} %", f"{known.percent:.1f} %", gain]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def measured(
    runs_of: dict[str, list[RunTrace]], earlier: Sequence[int], least: int
) -> tuple[dict[int, Figures], int, float]:
    """The figures by the number of earlier runs, how many runs were judged, and how many runs there were
    before them on average."""
    figures = {count: Figures() for count in earlier}
    before: list[int] = []
    for traces in runs_of.values():
        for number, run in enumerate(traces):
            if number < least:
                continue
            before.append(number)
            for count in earlier:
                judge(run, learn(traces[max(0, number - count) : number] if count else []), figures[count])
    return figures, len(before), sum(before) / max(1, len(before))


WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 360, 56, 24, 210, 48
COLOURS = {"next command": "#0b6e4f", "next command, first five": "#3f7cac", "next file": "#c1666b"}


def picture(curve: dict[int, Figures]) -> str:
    """The curve as SVG."""
    counts = list(curve)

    def x(count: int) -> float:
        return LEFT + counts.index(count) / (len(counts) - 1) * (WIDTH - LEFT - RIGHT)

    def y(percent: float) -> float:
        return TOP + (100 - percent) / 100 * (HEIGHT - TOP - BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12" role="img" aria-label="Right guesses against the number of earlier runs">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for percent in range(0, 101, 20):
        at = y(percent)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e3e5e8"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#555">{percent}</text>')
    for count in counts:
        place = f'x="{x(count):.1f}" y="{HEIGHT - BOTTOM + 18}"'
        lines.append(f'<text {place} text-anchor="middle" fill="#555">{count}</text>')
    middle = f'x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 10}"'
    lines.append(f'<text {middle} text-anchor="middle" fill="#333">habits of so many earlier runs</text>')
    rows = {
        "next command": [curve[count].commands.percent for count in counts],
        "next command, first five": [curve[count].first_commands.percent for count in counts],
        "next file": [curve[count].files.percent for count in counts],
    }
    for name, percents in rows.items():
        points = " ".join(
            f"{x(count):.1f},{y(percent):.1f}" for count, percent in zip(counts, percents, strict=True)
        )
        colour = COLOURS[name]
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        place = f'x="{WIDTH - RIGHT + 8}" y="{y(percents[-1]) + 4:.1f}"'
        lines.append(f'<text {place} fill="{colour}">{name}: {percents[-1]:.0f} %</text>')
    return "\n".join([*lines, "</svg>", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--least", type=int, default=5, help="how many earlier runs a judged run has at least"
    )
    parser.add_argument("--held-out", action="store_true", help="by repository, nothing chosen on itself")
    parser.add_argument("--picture", type=Path, help="write the curve to this file, as SVG")
    args = parser.parse_args(arguments)
    runs_of = repositories(args.folders)
    figures, judged, before = measured(runs_of, EARLIER, args.least)
    if not judged:
        print(f"no repository in there has more than {args.least} runs", file=sys.stderr)
        return 1
    here = sum(len(traces) > args.least for traces in runs_of.values())
    print(f"{judged} runs of {here} repositories, {before:.1f} earlier runs on average; {machine()}")
    rows = []
    for name, of in (
        ("next command", attrgetter("commands")),
        (f"next command, the first {FIRST} of a run", attrgetter("first_commands")),
        ("next file", attrgetter("files")),
    ):
        hits = [of(figures[count]) for count in EARLIER]
        gain = hits[-1].percent - hits[0].percent
        rows.append([name, hits[0].of, *(f"{one.percent:.1f} %" for one in hits), f"{gain:+.1f}"])
    head = ["among the first three", "places", "this run alone", "5 earlier runs", "20 earlier runs", "gain"]
    table("Habits", head, rows)
    if args.held_out:
        head = ["next command, held out", "runs", "places", "this run alone", f"{MOST} earlier runs", "gain"]
        table("Held out: weights chosen on the other repositories", head, held_out(runs_of, args.least))
    if args.picture:
        curve, _, _ = measured(runs_of, CURVE, args.least)
        args.picture.write_text(picture(curve))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
