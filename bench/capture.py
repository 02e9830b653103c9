"""What reading transcripts costs, against a process that only decodes their lines.

`make bench-capture [CORPUS=FOLDER]`. Limits: the brief of a 4 MB transcript 3x, ingest of a whole corpus 3x,
catching up on 100 lines of a 100 MB transcript 1.5x that of a 1 MB one, a brief beside 10,000 rollouts of
other projects 1.5x that beside 100, peak memory 150 MB for a 200 MB transcript. Without a corpus the
transcripts are made. Launches are interleaved; the clean, byte-compiled environment is the
Makefile's business. Beside the ratio of times stands that of processor time, of all processes: others
who use the machine change it less, but it does not see that an ingest uses two cores.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.common import machine, must_be_compiled, table
from tests.support.long_story import story

from segue.testing.transcripts import written

ROUNDS = 7
DECODE = """
import msgspec, sys
decode = msgspec.json.Decoder().decode
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        for line in (file if name.endswith("l") else [file.read()]):
            try:
                decode(line)
            except msgspec.DecodeError:
                pass
"""
SEGUE = str(Path(sys.executable).with_name("segue"))
NATIVE = "0193a7c4-5a10-7d11-9c0e-1f2e3d4c5b6a"


Took = tuple[float, float]
"""Seconds by the clock, and of processors."""


class Bench:
    """A folder with a home and a project, and the commands that run there."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "shop"
        self.home.mkdir()
        self.project.mkdir()
        self.environment = {**os.environ, "HOME": str(self.home), "SEGUE_HOME": str(folder / "data")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(self, *command: str) -> Took:
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, cwd=self.project, env=self.environment, check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def decode(self, *files: Path) -> Took:
        return self.run(sys.executable, "-c", DECODE, *map(str, files))

    def forget(self) -> None:
        shutil.rmtree(self.environment["SEGUE_HOME"], ignore_errors=True)

    def codex(self, day: str, native: str) -> Path:
        folder = self.home / ".codex" / "sessions" / "2026" / day
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"rollout-2026-{day.replace('/', '-')}T00-00-00-{native}.jsonl"


def transcript(agent: str, size: int, cwd: str) -> bytes:
    """A transcript of about so many bytes: one long session, told over and over."""
    once = written(agent, story(1, calls=900), native=NATIVE, cwd=cwd)
    lines = once.splitlines(keepends=True)
    body = b"".join(lines[4:])
    return b"".join(lines[:4]) + body * max(1, round(size / len(body)))


def interleaved(*works: Callable[[], Took], rounds: int = ROUNDS) -> list[Took]:
    """The medians of each, in milliseconds."""
    taken: list[list[Took]] = [[] for _ in works]
    for _ in range(rounds):
        for seconds, work in zip(taken, works, strict=True):
            seconds.append(work())
    return [medians(seconds) for seconds in taken]


def medians(taken: list[Took]) -> Took:
    by_clock, of_processors = zip(*taken, strict=True)
    return statistics.median(by_clock) * 1000, statistics.median(of_processors) * 1000


def compared(what: str, ours: Took, theirs: Took, limit: str) -> tuple[object, ...]:
    """A row of the table."""
    return what, ms(ours[0]), ms(theirs[0]), ratio(ours[0], theirs[0]), limit, ratio(ours[1], theirs[1])


def briefs(bench: Bench, corpus: list[Path]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    files = []
    for agent in ("claude-code", "codex"):
        path = bench.project.parent / f"{agent}.jsonl"
        path.write_bytes(transcript(agent, 4_000_000, str(bench.project)))
        files.append((f"made, {agent}", path))
    files += [("real", path) for path in corpus if 3_300_000 < path.stat().st_size < 4_700_000][:3]
    for name, path in files:
        bare, ours = interleaved(lambda: bench.decode(path), lambda: bench.run(SEGUE, "brief", str(path)))  # noqa: B023
        rows.append(compared(f"brief of {path.stat().st_size / 1e6:.1f} MB ({name})", ours, bare, "3x"))
    return rows


def ingest(bench: Bench, corpus: list[Path]) -> tuple[object, ...]:
    """All transcripts of a corpus as if they were this project's."""
    if not corpus:
        for number in range(24):
            corpus.append(bench.codex("11/01", f"{number:08x}-1111-2222-3333-444455556666"))
            corpus[-1].write_bytes(transcript("codex", 1_000_000, str(bench.project)))
    size = sum(path.stat().st_size for path in corpus)

    def ours() -> Took:
        bench.forget()
        return bench.run(SEGUE, "sync", *map(str, corpus))

    bare, took = interleaved(lambda: bench.decode(*corpus), ours, rounds=5)
    return compared(f"ingest of {len(corpus)} files, {size / 1e6:.0f} MB", took, bare, "3x")


def catching_up(bench: Bench) -> tuple[object, ...]:
    """100 new lines of a large transcript and of a small one."""
    took: dict[int, list[Took]] = {1: [], 100: []}
    for size, seconds in took.items():
        shutil.rmtree(bench.home / ".codex", ignore_errors=True)
        bench.forget()
        path = bench.codex("11/14", NATIVE)
        path.write_bytes(transcript("codex", size * 1_000_000, str(bench.project)))
        more = b"".join(path.read_bytes().splitlines(keepends=True)[-100:])
        bench.run(SEGUE, "sync")
        for _ in range(ROUNDS):
            with path.open("ab") as file:
                file.write(more)
            seconds.append(bench.run(SEGUE, "sync"))
    small, large = (medians(took[size]) for size in (1, 100))
    return compared("catching up on 100 lines of 100 MB, against 1 MB", large, small, "1.5x")


def among_strangers(bench: Bench) -> tuple[object, ...]:
    """The brief with 10,000 rollouts of other projects, and with 100."""
    took: dict[int, Took] = {}
    for count in (100, 10_000):
        shutil.rmtree(bench.home / ".codex", ignore_errors=True)
        bench.forget()
        for number in range(count):
            native = f"{number:08x}-1111-2222-3333-444455556666"
            path = bench.codex(f"{1 + number % 10:02d}/{1 + number % 28:02d}", native)
            path.write_bytes(written("codex", story(1, calls=2), native=native, cwd="/src/other"))
        bench.codex("11/14", NATIVE).write_bytes(transcript("codex", 100_000, str(bench.project)))
        (took[count],) = interleaved(lambda: bench.run(SEGUE, "brief"))
    return compared("brief beside 10,000 foreign rollouts, against 100", took[10_000], took[100], "1.5x")


PEAK = """
import re, sys
from segue.surfaces.cli.main import main
try:
    main()
finally:
    sys.stderr.write(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def memory(bench: Bench) -> tuple[object, ...]:
    """The peak as the process itself sees it: what a parent sees includes the parent."""
    path = bench.project.parent / "large.jsonl"
    path.write_bytes(transcript("claude-code", 200_000_000, str(bench.project)))
    command = [sys.executable, "-c", PEAK, "brief", str(path)]
    start = time.perf_counter()
    done = subprocess.run(command, env=bench.environment, check=True, capture_output=True, text=True)
    took, peak = time.perf_counter() - start, int(done.stderr) / 1024
    path.unlink()
    return (f"brief of 200 MB: peak memory (took {took:.1f} s)", f"{peak:.0f} MB", "", "", "150 MB", "")


def ms(value: float) -> str:
    return f"{value:.0f} ms"


def ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}"


def main() -> None:
    must_be_compiled()
    print(machine())
    named = sys.argv[1:] or [os.environ.get("SEGUE_CORPUS", "")]
    corpus = [
        path for name in named if name for path in sorted(Path(name).rglob("*.json*")) if path.is_file()
    ]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        first = memory(bench)  # before any other child: the peak is that of the largest
        rows = [
            *briefs(bench, corpus),
            ingest(bench, list(corpus)),
            catching_up(bench),
            among_strangers(bench),
            first,
        ]
    table("Reading transcripts", ("what", "Segue", "beside", "ratio", "limit", "processors"), rows)


if __name__ == "__main__":
    main()
