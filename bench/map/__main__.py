"""`make bench-map PAIRS="REPOSITORY=TRANSCRIPTS …"`: is what a run touches next in the first 1,000 tokens?

Each pair is a git repository with the history of the time and a folder of transcripts of agents that worked
on it. Runs are cut at even places, the repository is checked out as it was when the run began, and each
contender has 1,000 tokens (by Segue's counter) to name files: the map, aider's map with the touched files in
its chat (their names count) or as names that were mentioned, and the touched files alone. Recall is the part
of the files of the next 40 calls that is named; of the new ones, that the run had not touched before, too.
The limits for time: a first index of 100,000 lines within 20 s, an update after one file within 0.2 s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.common import machine, table
from bench.map.cuts import Cut, cuts, git, transcripts

from segue.core.base.token_estimate import estimate
from segue.core.codemap.central import central
from segue.core.codemap.graph import CodeGraph
from segue.core.codemap.work import touched_files
from segue.effects.files.codemap_file import CodemapFile
from segue.services.codemap.index import CodeMap

TOKENS = 1_000
ROOT = Path(__file__).parents[2]


class Checkout:
    """A repository at a commit, with the map of it."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self._folder = folder
        self._repository = repository
        self.root = folder
        self.commit = ""

    def at(self, commit: str) -> None:
        """Check a commit out, without files that the repository has lost."""
        if commit == self.commit:
            return
        self.commit, self.root = commit, self._folder / commit[:12]
        if not self.root.exists():
            made = ["git", "clone", "-q", "--shared", "--no-checkout"]
            subprocess.run([*made, str(self._repository), str(self.root)], check=True)
            git(self.root, "update-ref", "--no-deref", "HEAD", commit)
            git(self.root, "read-tree", commit)
            git(self.root, "checkout-index", "-a", "-q", "-f")
        code = CodeMap(self.root, CodemapFile(self._folder / "maps" / f"{commit}.db"))
        code.update()
        self.graph = CodeGraph(code.files())
        self.files = [name for name in git(self.root, "ls-files").split("\n") if (self.root / name).is_file()]


class Aider:
    """aider's map in a process with its own environment."""

    def __init__(self, python: Path) -> None:
        self._process = subprocess.Popen(
            [python, ROOT / "bench/map/aider_map.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
            env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip

    def text(self, checkout: Checkout, cut: Cut, *, in_chat: bool) -> str:
        names = within([*cut.touched], TOKENS) if in_chat else []
        asked = {
            "root": str(checkout.root), "touched": cut.touched, "task": cut.task, "files": checkout.files,
            "tokens": TOKENS - estimate("\n".join(names)), "in_chat": in_chat,
        }  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return "\n".join([*names, json.loads(self._process.stdout.readline())["text"]])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def within(lines: Sequence[str], tokens: int) -> list[str]:
    """The first lines that fit into so many tokens."""
    kept: list[str] = []
    for line in lines:
        tokens -= estimate(line)
        if tokens < 0:
            break
        kept.append(line)
    return kept


def named(text: str, files: Sequence[str]) -> set[str]:
    """The files that the first 1,000 tokens of a text name at the beginning of a line."""
    known = set(files)
    return {line.partition(": ")[0].rstrip(":") for line in within(text.split("\n"), TOKENS)} & known


def ours(checkout: Checkout, cut: Cut) -> str:
    touched = dict.fromkeys(cut.touched, 0.0)
    weights = touched_files(cut.digest, cut.cwd, checkout.graph.files.keys())
    found = central(checkout.graph, weights or touched, cut.task, TOKENS)
    return found.text


Contender = Callable[[Checkout, Cut], str]


def scored(
    pairs: Sequence[tuple[Path, Path]], contenders: dict[str, Contender], count: int
) -> dict[str, Any]:
    """Recall and seconds of each contender, a list a transcript."""
    rows: dict[str, Any] = {name: {"all": [], "new": [], "seconds": []} for name in contenders}
    moments: dict[str, list[int]] = {}
    for repository, folder in pairs:
        with tempfile.TemporaryDirectory() as place:
            checkout = Checkout(Path(place), repository)
            found = list(cuts(repository, transcripts(folder), count))
            moments[repository.name] = [len({cut.transcript for cut in found}), len(found)]
            by_run: dict[str, dict[str, dict[str, list[float]]]] = {}
            for cut in found:
                checkout.at(cut.commit)
                new = cut.next_files - set(cut.touched)
                for name, contender in contenders.items():
                    began = time.perf_counter()
                    got = named(contender(checkout, cut), checkout.files)
                    rows[name]["seconds"].append(time.perf_counter() - began)
                    kept = by_run.setdefault(cut.transcript, {}).setdefault(name, {"all": [], "new": []})
                    kept["all"].append(len(got & cut.next_files) / len(cut.next_files))
                    if new:
                        kept["new"].append(len(got & new) / len(new))
            for run in by_run.values():
                for name, kept in run.items():
                    for key, values in kept.items():
                        if values:
                            rows[name][key].append((repository.name, statistics.mean(values)))
    return {"rows": rows, "moments": moments}


def report(result: dict[str, Any], repositories: Sequence[str]) -> None:
    def mean(values: Sequence[tuple[str, float]], repository: str = "") -> str:
        kept = [value for name, value in values if repository in ("", name)]
        return f"{100 * statistics.mean(kept):.1f} %" if kept else "–"

    lines = [
        [name, mean(row["all"]), mean(row["new"]), *(mean(row["all"], one) for one in repositories),
         f"{1000 * statistics.median(row['seconds']):.0f} ms"]
        for name, row in result["rows"].items()
        if row["seconds"]
    ]  # fmt: skip
    table(
        f"Files of the next 40 calls within {TOKENS:,} tokens",
        ["", "recall", "new files", *repositories, "time"], lines,
    )  # fmt: skip
    runs = sum(one for one, _ in result["moments"].values())
    print(
        f"\n{sum(two for _, two in result['moments'].values())} moments of {runs} runs: {result['moments']}"
    )


def speed(root: Path) -> None:
    """What the map of a large project costs: the first time, after one file, and a question."""
    with tempfile.TemporaryDirectory() as place:
        code = CodeMap(root, CodemapFile(Path(place) / "map.db"))
        began = time.perf_counter()
        code.update()
        first = time.perf_counter() - began
        files = code.files()
        lines = sum(one.lines for one in files.values())
        path = max((name for name, one in files.items() if one.lines < 700), key=lambda n: files[n].lines)
        body = (root / path).read_bytes()
        after = []
        try:
            for number in range(5):
                (root / path).write_bytes(body + b"\n" * (number + 1))
                began = time.perf_counter()
                code.update()
                after.append(time.perf_counter() - began)
        finally:
            (root / path).write_bytes(body)
        began = time.perf_counter()
        graph = CodeGraph(code.files())
        built = time.perf_counter() - began
        began = time.perf_counter()
        central(graph, {path: 1.0}, "", TOKENS)
        asked = time.perf_counter() - began
    rows = [
        ["lines", f"{lines:,} in {len(files):,} files"], ["first index", f"{first:.1f} s"],
        ["first index of 100,000 lines", f"{first * 100_000 / max(1, lines):.1f} s"],
        ["update after one file", f"{statistics.median(after):.3f} s"],
        ["the graph of it", f"{built:.2f} s"], ["the most central files", f"{asked:.2f} s"],
    ]  # fmt: skip
    table(f"The map of {root.name}", ["", ""], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.map", description=__doc__)
    parser.add_argument("pairs", nargs="*", metavar="REPOSITORY=TRANSCRIPTS")
    parser.add_argument("--aider", type=Path, metavar="PYTHON", help="of an environment with aider-chat")
    parser.add_argument("--speed", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--cuts", type=int, default=3, help="for each transcript")
    options = parser.parse_args()
    pairs = [(Path(a).resolve(), Path(b)) for a, _, b in (one.partition("=") for one in options.pairs)]
    print(machine())
    if pairs:
        aider = Aider(options.aider) if options.aider else None
        contenders: dict[str, Contender] = {"the map": ours}
        if aider is not None:
            contenders["aider, files in the chat"] = lambda tree, cut: aider.text(tree, cut, in_chat=True)
            contenders["aider, files mentioned"] = lambda tree, cut: aider.text(tree, cut, in_chat=False)
        contenders["the touched files"] = lambda tree, cut: "\n".join(cut.touched)
        try:
            result = scored(pairs, contenders, options.cuts)
        finally:
            if aider is not None:
                aider.close()
        report(result, list(result["moments"]))
    for root in options.speed:
        speed(root.resolve())
    if not pairs and not options.speed:
        sys.exit("name repositories with transcripts, or a folder with --speed")


if __name__ == "__main__":
    main()
