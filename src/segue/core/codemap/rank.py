"""Which parts of the code matter for a task: personalised PageRank over the graph of the code.

A walker begins at what the work touched and at what the task names, follows uses in both directions, and at
each step returns to the beginning with a fixed chance. Files hold their definitions together, and a folder
its files, weakly. Ranks are shares of the walker's time: they sum to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import sub

from .graph import CodeGraph

DAMPING = 0.7
"""The chance that the walker goes on: it stays nearer to the work than on the web, where 0.85 is usual."""
STEPS_MAX = 40
CLOSE = 1e-3
BACKWARDS = 0.6
"""The weight of an edge against its direction: who uses a thing matters, but less than what it uses."""
INSIDE, FOLDER = 0.5, 0.15

Links = Sequence[Sequence[tuple[int, float]]]


def pagerank(links: Links, seeds: Mapping[int, float], *, steps: int = STEPS_MAX) -> list[float]:
    """The rank of each node; without seeds the walker may begin anywhere. ``links`` are the nodes that each
    one leads to, with weights above zero."""
    size = len(links)
    if not size:
        return []
    total = sum(seeds.values())
    start = [0.0] * size
    for node, weight in seeds.items():
        start[node] += weight / total
    if not total:
        start = [1 / size] * size
    sums = [sum(weight for _, weight in row) for row in links]
    shares = [[(to, weight / sums[at]) for to, weight in row] for at, row in enumerate(links)]
    ends = [at for at, row in enumerate(shares) if not row]
    ranks = start[:]
    for _ in range(steps):
        lost = sum(ranks[at] for at in ends)
        back = 1 - DAMPING + DAMPING * lost
        after = [back * one for one in start]
        for rank, row in zip(ranks, shares, strict=True):
            if rank:
                given = DAMPING * rank
                for to, share in row:
                    after[to] += given * share
        change = sum(map(abs, map(sub, after, ranks)))
        ranks = after
        if change < CLOSE:
            break
    return ranks


def links_of(graph: CodeGraph) -> list[list[tuple[int, float]]]:
    """The graph as the walker sees it; behind the nodes of the graph stand its folders."""
    joined: list[dict[int, float]] = [{} for _ in graph.nodes]
    for edge in graph.edges:
        there, back = joined[edge.user], joined[edge.used]
        there[edge.used] = there.get(edge.used, 0.0) + edge.weight
        back[edge.user] = back.get(edge.user, 0.0) + BACKWARDS * edge.weight
    folders: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        if node.place >= 0:
            file = graph.file_of(number)
            joined[number][file] = joined[number].get(file, 0.0) + INSIDE
            joined[file][number] = joined[file].get(number, 0.0) + INSIDE
            continue
        folder = node.path.rpartition("/")[0]
        if folder not in folders:
            folders[folder] = len(joined)
            joined.append({})
        at = folders[folder]
        joined[number][at] = FOLDER
        joined[at][number] = 1.0
    return [list(row.items()) for row in joined]
