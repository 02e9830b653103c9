"""Counting habits, from the traces of runs and from commits, both in the order of time.

Each run weighs ``FADE`` of the one after it, each commit of a file ``FADE_COMMITS`` of the next one of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

from ..language.sentences import words
from .model import (
    HOLDS_MIN,
    SEEN_MIN,
    CommandHabit,
    Counted,
    HabitTable,
    OrderHabit,
    RuleHabit,
    TogetherHabit,
)
from .next_moves import count_commands
from .trace import CHECKS, Move, RunTrace

FADE, FADE_COMMITS = 0.9, 0.95
RUNS_MAX, COMMITS_MAX, COMMIT_FILES_MAX, RUN_FILES_MAX = 60, 400, 12, 40
COMMANDS_KEPT, TOGETHER_KEPT, RULES_KEPT, CONTEXTS_KEPT, NEXT_KEPT, FILES_KEPT = 24, 40, 8, 60, 6, 120
TOGETHER_MIN = 0.5
SAME_RULE = 0.6
COMMIT = "git commit"


def learn(traces: Sequence[RunTrace], commits: Sequence[Sequence[str]] = ()) -> HabitTable:
    """The habits of a project. Traces and commits (the files of each) are in the order of time."""
    told = [trace for trace in traces if trace.moves][-RUNS_MAX:]
    commits = [files for files in commits if files][-COMMITS_MAX:]
    weights = [FADE ** (len(told) - 1 - at) for at in range(len(told))]
    table = HabitTable(len(told), len(commits))
    table.commands = _commands(told, weights)
    table.order = _order(told, weights)
    table.rules = _rules(traces[-RUNS_MAX:])
    for trace, weight in zip(told, weights, strict=True):
        count_commands(table.after, trace.moves, weight)
        _count_files(table, trace.moves, weight)
    table.after = _most(table.after, CONTEXTS_KEPT)
    table.files = _most(table.files, FILES_KEPT)
    table.edited = dict(sorted(table.edited.items(), key=lambda pair: -pair[1])[:FILES_KEPT])
    sets = [dict.fromkeys(m.what for m in t.moves if m.kind == "edit") for t in told]
    table.together = _together(commits, "commits", COMMIT_FILES_MAX)
    known = {(one.path, one.other) for one in table.together}
    of_runs = _together([list(one) for one in sets], "runs", RUN_FILES_MAX)
    table.together += [one for one in of_runs if (one.path, one.other) not in known]
    del table.together[TOGETHER_KEPT:]
    return table


def _most(counts: Mapping[str, Counted], most: int) -> dict[str, Counted]:
    """Those with the most weight, and of each what came next most."""
    whole = {key: sum(weight for weight, _ in of.values()) for key, of in counts.items()}
    kept = sorted(counts, key=lambda key: -whole[key])[:most]
    return {
        key: dict(sorted(counts[key].items(), key=lambda pair: -pair[1][0])[: NEXT_KEPT if key else most])
        for key in kept
    }


# -- commands


def _commands(traces: Sequence[RunTrace], weights: Sequence[float]) -> list[CommandHabit]:
    ran: dict[str, list[Move]] = {}
    runs: dict[str, int] = {}
    weight_of: dict[str, float] = {}
    flaky: dict[str, int] = {}
    with_commands = [any(move.kind == "run" for move in trace.moves) for trace in traces]
    for trace, weight in zip(traces, weights, strict=True):
        for move in trace.moves:
            if move.kind == "run":
                ran.setdefault(move.what, []).append(move)
        for form in {move.what for move in trace.moves if move.kind == "run"}:
            runs[form] = runs.get(form, 0) + 1
            weight_of[form] = weight_of.get(form, 0.0) + weight
        for form, count in trace.flaky.items():
            flaky[form] = flaky.get(form, 0) + count
    whole = sum(weight for weight, has in zip(weights, with_commands, strict=True) if has) or 1.0
    found = [
        CommandHabit(
            form, moves[-1].group, runs[form], sum(with_commands), len(moves),
            sum(move.ok is False for move in moves), flaky.get(form, 0), *_durations(moves),
            round(weight_of[form] / whole, 3),
        )
        for form, moves in ran.items()
        if len(moves) >= SEEN_MIN and runs[form] > 1
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one.group not in CHECKS, -one.share))[:COMMANDS_KEPT]


def _durations(moves: Sequence[Move]) -> tuple[float, float]:
    taken = sorted(move.seconds for move in moves if move.seconds > 0)
    if not taken:
        return 0.0, 0.0
    return round(float(median(taken)), 1), round(taken[min(len(taken) - 1, len(taken) * 9 // 10)], 1)


def _order(traces: Sequence[RunTrace], weights: Sequence[float]) -> list[OrderHabit]:
    """The checks between the last edit and a commit, in their usual order."""
    held: dict[str, int] = {}
    weight_of: dict[str, float] = {}
    places: dict[str, list[int]] = {}
    of, whole = 0, 0.0
    for trace, weight in zip(traces, weights, strict=True):
        checks: dict[str, None] = {}
        edited = False
        for move in trace.moves:
            if move.kind == "edit":
                edited, checks = True, {}
            elif move.kind == "run" and move.group in CHECKS:
                checks[move.what] = None
            elif move.kind == "run" and move.what == COMMIT and edited:
                of, whole, edited = of + 1, whole + weight, False
                for place, form in enumerate(checks):
                    held[form] = held.get(form, 0) + 1
                    weight_of[form] = weight_of.get(form, 0.0) + weight
                    places.setdefault(form, []).append(place)
    found = [
        OrderHabit(form, count, of, sum(places[form]) / count, round(weight_of[form] / whole, 3))
        for form, count in held.items()
        if count >= SEEN_MIN and weight_of[form] / whole >= HOLDS_MIN
    ]
    return sorted(found, key=lambda one: (one.place, -one.share))


# -- files


def _count_files(table: HabitTable, moves: Sequence[Move], weight: float) -> None:
    """Files that were edited in one run; those that followed each other directly count once more."""
    edits = [move.what for move in moves if move.kind == "edit"]
    order = [path for at, path in enumerate(edits) if at == 0 or edits[at - 1] != path]
    distinct = list(dict.fromkeys(order))[:RUN_FILES_MAX]
    for path in distinct:
        table.edited[path] = table.edited.get(path, 0.0) + weight
    pairs = [(one, other) for one in distinct for other in distinct if one != other]
    for one, other in [*pairs, *pairwise(order)]:
        of = table.files.setdefault(one, {})
        before, times = of.get(other, (0.0, 0))
        of[other] = (before + weight, times + 1)


def _together(sets: Sequence[Sequence[str]], source: str, most: int) -> list[TogetherHabit]:
    """Files that went with others, by commits or by runs; those that touch very many files say nothing."""
    times: dict[str, int] = {}
    weight_of: dict[str, float] = {}
    both: dict[tuple[str, str], int] = {}
    both_weight: dict[tuple[str, str], float] = {}
    last: dict[tuple[str, str], int] = {}
    """The number of the change of a file at which the other one went with it last."""
    fade = FADE_COMMITS if source == "commits" else FADE
    for files in sets:
        if not 1 <= len(files) <= most:
            continue
        for path in files:
            times[path] = times.get(path, 0) + 1
            weight_of[path] = weight_of.get(path, 0.0) * fade + 1.0
        for path in files:
            for other in files:
                if other != path:
                    both[path, other] = both.get((path, other), 0) + 1
                    gap = times[path]
                    before, seen = both_weight.get((path, other), 0.0), last.get((path, other), gap)
                    both_weight[path, other] = before * fade ** (gap - seen) + 1.0
                    last[path, other] = gap
    found = []
    for (path, other), count in both.items():
        weight = both_weight[path, other] * fade ** (times[path] - last[path, other])
        share = weight / weight_of[path]
        if count >= SEEN_MIN and share >= TOGETHER_MIN:
            found.append(TogetherHabit(path, other, count, times[path], round(share, 3), source))
    return sorted(found, key=lambda one: (-one.both * one.share, one.path, one.other))[:TOGETHER_KEPT]


# -- rules


def _rules(traces: Iterable[RunTrace]) -> list[RuleHabit]:
    """What users said in more than one run, told in the newest words."""
    told: list[tuple[str, set[str], set[int]]] = []
    runs = 0
    for number, trace in enumerate(traces):
        runs += 1
        for text in trace.rules:
            said = words(text)
            same = next((one for one in told if _alike(one[1], said)), None)
            if same is not None:
                told.remove(same)
            told.append((text, said, (same[2] if same is not None else set()) | {number}))
    found = [RuleHabit(text, len(seen), runs) for text, _, seen in told if len(seen) > 1]
    return sorted(found, key=lambda one: -one.runs)[:RULES_KEPT]


def _alike(one: set[str], other: set[str]) -> bool:
    return bool(one and other) and len(one & other) / len(one | other) >= SAME_RULE
