"""What the search over a gigabyte of transcripts costs and finds, beside ripgrep over the raw files.

`make bench-search [CORPUS=FOLDER] [ARGS="--megabytes 1000 --questions FILE"]`. Limits: the index at most 35 %
of the raw text, also with the vectors for a search by meaning, a sync with it at most twice one without, a
query at most 50 ms at the median and 150 ms at p95 in a process that runs, a command from the start at most
12 times a bare Python. The transcripts are made: words and names of a lexicon that is distributed as in real
texts, in commands, outputs, edits and answers of Claude Code and Codex; a corpus comes on top. With questions
of a corpus it also says how many of their answers are among the first three.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.common import machine, must_be_compiled, table

from segue import Segue
from segue.core.runs.steps import Call, Change, End, Model, Prompt, Result, Say, Start, Step
from segue.core.search.index import Wanted
from segue.services.search.by_meaning import SAID
from segue.services.search.indexes import indexes_of
from segue.testing.transcripts import written

LEXICON, LINES = 60_000, 40_000
RUN_BYTES = 2_000_000
SYLLABLES = "ba co de fi gu ha jo ke la mi no pu ra se ti vo wa xe yo zu".split()
SEGUE = str(Path(sys.executable).with_name("segue"))
SYNC = (
    "import sys; from segue.surfaces.cli.main import main; sys.exit(main(['sync', '--json', *sys.argv[1:]]))"
)
WITHOUT = f"""
import segue.services.runs.sync as sync, segue.services.search.catch_up as catch_up
whole = sync.TranscriptImporter
sync.TranscriptImporter = lambda host, archive, index, *rest: whole(host, archive, None, *rest)
catch_up.catch_up = lambda *a, **b: 0
{SYNC}
"""
"""A sync as it would be without an index."""


class Words:
    """Words, names and lines that a seed gives, distributed as in real texts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words = [self._word() for _ in range(LEXICON)]
        self._weights = [0.0]
        for rank in range(1, LEXICON + 1):
            self._weights.append(self._weights[-1] + 1 / rank)
        self.lines = [self._line() for _ in range(LINES)]

    def _word(self) -> str:
        return "".join(self.random.choices(SYLLABLES, k=self.random.randint(1, 5)))

    def some(self, count: int) -> list[str]:
        return self.random.choices(self.words, cum_weights=self._weights[1:], k=count)

    def name(self) -> str:
        first, *rest = self.some(self.random.randint(2, 3))
        return self.random.choice(("_".join((first, *rest)), first + "".join(map(str.title, rest))))

    def _line(self) -> str:
        kind = self.random.random()
        if kind < 0.4:
            return f"    {self.name()} = {self.name()}({', '.join(self.some(3))})"
        if kind < 0.6:
            return f"{'/'.join(self.some(3))}.py:{self.random.randrange(2_000)}: {' '.join(self.some(6))}"
        return " ".join(self.some(self.random.randint(6, 16)))

    def text(self, lines: int) -> str:
        return "\n".join(self.random.choices(self.lines, k=lines))


def run(words: Words, native: str, cwd: str, size: int, at: float) -> Iterator[Step]:
    """A run of about so many bytes."""
    yield Start(at, "start", native, cwd)
    yield Model(at, "model-1")
    done, number = 0, 0
    while done < size:
        number += 1
        yield Prompt(at + number, " ".join(words.some(14)))
        for call in range(12):
            id, out = f"c{number}-{call}", words.text(words.random.choice((3, 20, 60)))
            if call % 4 == 3:
                before = words.text(100)  # of real transcripts some 29 % is text that can be searched
                change = Change(f"{cwd}/{words.some(1)[0]}.py", "edit", before, out)
                yield Call(at + number, id, "Edit", "edit", "", paths=(change.path,), changes=(change,))
                yield Result(at + number, id, True, None, "done")
            else:
                command = f"{words.some(1)[0]} --{words.some(1)[0]} {words.name()}"
                yield Call(at + number, id, "Bash", "run", command, command)
                yield Result(at + number, id, call % 7 > 0, int(call % 7 == 0), out)
            done += len(out) + 400
        yield Say(at + number, words.text(6))
    yield End(at + number)


def made(folder: Path, cwd: Path, megabytes: int) -> list[Path]:
    """So many megabytes of transcripts."""
    words, paths, size = Words(7), [], 0
    while size < megabytes * 1_000_000:
        agent = ("claude-code", "codex")[len(paths) % 2]
        native = f"{len(paths):08x}-5a10-7d11-9c0e-1f2e3d4c5b6a"
        at = 1_790_000_000.0 + 5_000 * len(paths)
        body = written(agent, run(words, native, str(cwd), RUN_BYTES, at), native=native, cwd=str(cwd))
        paths.append(folder / f"{agent}-{native}.jsonl")
        paths[-1].write_bytes(body)
        size += len(body)
    return paths


def took(command: Sequence[str], cwd: Path, environment: dict[str, str]) -> tuple[float, float, bytes]:
    """Seconds by the clock and of processors, and what was printed."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, check=False)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), (command[:3], done.returncode)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def questions_of(words: Words, count: int) -> list[str]:
    """Questions of one to four words, some of them names."""
    found = []
    for number in range(count):
        some = [word for word in words.some(40) if len(word) > 3][: 1 + number % 4]
        found.append(" ".join([words.name(), *some] if number % 5 == 4 else some))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", nargs="?", default="")
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--questions", default="")
    parser.add_argument("--rounds", type=int, default=11)
    args = parser.parse_args()
    must_be_compiled()
    with tempfile.TemporaryDirectory(prefix="bench-search-") as name:
        Bench(Path(name), args).go()


class Bench:
    """The measurements, in a folder of their own."""

    def __init__(self, folder: Path, args: argparse.Namespace) -> None:
        self.args, self.folder, self.project = args, folder, folder / "shop"
        self.project.mkdir()
        (folder / "home").mkdir()
        self.raw = folder / "raw"
        self.raw.mkdir()
        self.environment = {
            **os.environ, "HOME": str(folder / "home"), "SEGUE_HOME": str(folder / "data"),
            "SEGUE_ARCHIVE_BYTES_MAX": str(8 << 30), "SEGUE_ARCHIVE_DAYS_MAX": "36500",
        }  # fmt: skip
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.rows: list[tuple[object, ...]] = []

    def go(self) -> None:
        paths = made(self.raw, self.project, self.args.megabytes)
        if self.args.corpus:
            copied = shutil.copytree(self.args.corpus, self.raw / "corpus")
            paths += sorted(path for path in Path(copied).rglob("*.json*") if path.is_file())
        size = sum(path.stat().st_size for path in paths)
        print(f"{len(paths)} transcripts, {size / 1e6:,.0f} MB; {machine()}", flush=True)
        self.ingest(paths, size)
        questions = questions_of(Words(7), 200)
        self.queries(questions)
        self.by_meaning(questions, size)
        self.cold(questions)
        self.beside_ripgrep(questions)
        table("Search", ("what", "measured", "beside", "ratio", "limit"), self.rows)
        if self.args.questions:
            self.quality(json.loads(Path(self.args.questions).read_text()))

    def ingest(self, paths: list[Path], size: int) -> None:
        files = list(map(str, paths))
        bare = took([sys.executable, "-c", WITHOUT, *files], self.project, self.environment)
        shutil.rmtree(self.folder / "data")
        ours = took([sys.executable, "-c", SYNC, *files], self.project, self.environment)
        index = self.index_bytes()
        for what, at in (("sync with an index, by the clock", 0), ("the same, of processors", 1)):
            ratio = ours[at] / bare[at]
            self.rows.append((what, f"{ours[at]:.1f} s", f"{bare[at]:.1f} s without", f"{ratio:.2f}", "2"))
        of_raw = f"{100 * index / size:.1f} %"
        self.rows.append(
            ("size of the index", f"{index / 1e6:.0f} MB", f"{size / 1e6:.0f} MB raw", of_raw, "35 %")
        )

    def queries(self, questions: list[str]) -> None:
        """The same questions in a process that runs, after a first round."""
        segue = Segue(folder=self.project, environment=self.environment)
        for question in questions[:20]:
            segue.search(question)
        taken = []
        for question in questions:
            start = time.perf_counter()
            segue.search(question)
            taken.append((time.perf_counter() - start) * 1_000)
        p95 = statistics.quantiles(taken, n=20)[18]
        self.rows.append(("a query, median", f"{statistics.median(taken):.1f} ms", "", "", "50 ms"))
        self.rows.append(("a query, p95", f"{p95:.1f} ms", "", "", "150 ms"))

    def by_meaning(self, questions: list[str], size: int) -> None:
        """The same by meaning too: first until every text has its vectors, then in a process that runs."""
        segue = Segue(folder=self.project, environment={**self.environment, "SEGUE_EMBEDDER": "static"})
        embedder = segue.memories.embedder.name
        started, rounds = time.perf_counter(), 0
        while any(one.lacking(Wanted((), kinds=SAID), embedder, 1) for one in indexes_of(segue.workspace)):
            segue.search(questions[0], by_meaning=True)
            rounds += 1
        waited, index = time.perf_counter() - started, self.index_bytes()
        self.rows.append(("vectors of all that was said", f"{waited:.1f} s", f"{rounds} searches", "", ""))
        of_raw = f"{100 * index / size:.1f} %"
        self.rows.append(("the index with them", f"{index / 1e6:.0f} MB", "", of_raw, "35 %"))
        taken = []
        for question in questions[:60]:
            start = time.perf_counter()
            segue.search(question, by_meaning=True)
            taken.append((time.perf_counter() - start) * 1_000)
        p95 = statistics.quantiles(taken, n=20)[18]
        self.rows.append(("a query by meaning, median", f"{statistics.median(taken):.1f} ms", "", "", ""))
        self.rows.append(("a query by meaning, p95", f"{p95:.1f} ms", "", "", ""))

    def index_bytes(self) -> int:
        """How large the index is."""
        return sum(path.stat().st_size for path in (self.folder / "data" / "archive").glob("search.db*"))

    def cold(self, questions: list[str]) -> None:
        """Whole commands, in turn with a Python that does nothing."""
        ours, bare = [], []
        for question in questions[: self.args.rounds]:
            bare.append(took([sys.executable, "-c", "pass"], self.project, self.environment)[:2])
            ours.append(took([SEGUE, "search", question], self.project, self.environment)[:2])
        for what, at in (("a command, by the clock", 0), ("the same, of processors", 1)):
            mine, other = (statistics.median(one[at] for one in taken) for taken in (ours, bare))
            self.rows.append(
                (what, f"{mine * 1e3:.0f} ms", f"{other * 1e3:.0f} ms Python", f"{mine / other:.1f}", "12")
            )

    def beside_ripgrep(self, questions: list[str]) -> None:
        """Both look for the words of a question; ripgrep for lines with the first of them."""
        if not shutil.which("rg"):
            print("ripgrep is not installed: NOT MEASURED beside it")
            return
        ours, theirs, found, lines = [], [], 0, 0
        for question in questions[: self.args.rounds]:
            word = question.split()[0]
            seconds, _, out = took(
                ["rg", "-i", "-c", "--no-messages", word, str(self.raw)], self.project, self.environment
            )
            theirs.append(seconds)
            lines += sum(int(line.rpartition(b":")[2]) for line in out.splitlines())
            seconds, _, out = took([SEGUE, "search", question, "--json"], self.project, self.environment)
            ours.append(seconds)
            found += len(json.loads(out)["hits"])
        mine, other = statistics.median(ours), statistics.median(theirs)
        n = self.args.rounds
        self.rows.append(
            ("a command beside ripgrep", f"{mine * 1e3:.0f} ms, {found / n:.0f} hits of all words",
             f"{other * 1e3:.0f} ms, {lines / n:,.0f} lines with one word", f"{mine / other:.2f}", "")
        )  # fmt: skip

    def quality(self, questions: list[dict[str, Any]]) -> None:
        """How many answers are among the first one, three and ten."""
        segue = Segue(folder=self.project, environment=self.environment)
        places = []
        for one in questions:
            hits = segue.search(one["question"], limit=10).hits
            pieces = [one["answer"], *one.get("also", ())]
            texts = [whole_text(segue, hit.handle, hit.text) for hit in hits]
            place = next(
                (at for at, text in enumerate(texts, 1) if any(piece in text for piece in pieces)), 99
            )
            places.append(place)
            if place > 3:
                print(f"  {place if place < 99 else '-':>3}  {one['question']}")
        rows = [(most, f"{sum(place <= most for place in places)} of {len(places)}") for most in (1, 3, 10)]
        table("Answers among the first", ("first", "found"), rows)


def whole_text(segue: Segue, handle: str, text: str) -> str:
    """The whole text of the step that a hit is of."""
    from segue.services.search.found_step import found_step
    from segue.surfaces.render import steps_object

    if "#" not in handle:
        return text
    values = [
        value for step in steps_object(found_step(segue.workspace, handle).steps) for value in step.values()
    ]
    return "\n".join(
        [
            text,
            *(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values),
        ]
    )


if __name__ == "__main__":
    main()
