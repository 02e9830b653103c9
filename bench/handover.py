"""What a handover costs: `segue handover check` against `python -c pass`, four steps against their own syncs.

`make bench-handover`. Everything is interleaved in one run. The floor of a run is what it cannot do
without: as many files of the same bytes written, synced, renamed and their folder synced, and as many
commits of the same bytes into a database of the same settings, with nothing in between. Limits: 3.0.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from bench.common import machine, median_ms, must_be_compiled, table, timed

from segue import Segue
from segue.effects.files import atomic
from segue.handover import Checkpoint, HandoverEngine, MemoryStore, Task
from segue.handover.flow import Handover

ROUNDS = 30
STATE = "where things stand\n" * 100


def main() -> None:
    must_be_compiled()
    print(machine())
    check()
    runs()


def check() -> None:
    python = sys.executable
    segue = str(Path(python).with_name("segue"))
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        (project / ".git").mkdir(parents=True)
        environment = {**os.environ, "SEGUE_HOME": str(Path(folder) / "home"), "HOME": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with Segue(home=Path(folder) / "home", folder=project) as seg:
            Handover(seg, steps=four(MemoryStore(project / "memory"), 0)).run()
        commands = {
            "python -c pass": (python, "-c", "pass"),
            "segue handover check": (segue, "handover", "check"),
            "segue --version": (segue, "--version"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}

        def launch(command: tuple[str, ...], code: int) -> None:
            done = subprocess.run(command, cwd=project, env=environment, stdout=subprocess.DEVNULL)
            assert done.returncode == code, command

        for turn in range(ROUNDS + 2):
            for name in random.sample(sorted(commands), len(commands)):
                took = timed(lambda n=name: launch(commands[n], 2 if "check" in n else 0))
                if turn > 1:
                    seconds[name].append(took)
        bare = median_ms(seconds["python -c pass"])
        rows = [(n, f"{median_ms(s):.1f}", f"{median_ms(s) / bare:.2f}") for n, s in seconds.items()]
        table("Asking how the handover stands (limit 3.0)", ("command", "ms", "of python -c pass"), rows)


def four(store: MemoryStore, number: int) -> list[Task]:
    """Collect, note, state, publish to nowhere: as in the drawing of agent-handover."""
    return [
        Task("collect", lambda work: {"goal": "Refactor auth", "number": work.payload}, number),
        Task("note", lambda work: str(store.write(1, work.payload, "bench", id=work.run)), f"note {number}"),
        Task("state", lambda work: str(store.write(2, work.payload)), STATE + str(number)),
        Task("publish", lambda work: True, "nowhere"),
    ]


class Floor:
    """The same syncs, barely."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sizes: list[int] = []
        self.quick: list[int] = []
        self.bodies: list[int] = []
        self.database = apsw.Connection(str(folder / "bare.db"))
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self.database.execute(f"PRAGMA {pragma}").fetchall()
        self.database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)")

    def watch(self, work: Callable[[], Any]) -> None:
        """See what a run writes."""
        self.sizes, self.quick, self.bodies = [], [], []
        whole, quickly = atomic.write_whole, atomic.replace_quickly

        def counting_write(path: Path, body: bytes, **options: Any) -> None:
            self.sizes.append(len(body))
            whole(path, body, **options)

        def counting_replace(path: Path, body: bytes) -> None:
            self.quick.append(len(body))
            quickly(path, body)

        modules = [m for n, m in sys.modules.items() if n.startswith("segue.handover")]
        for module in modules:
            for name, replacement in (("write_whole", counting_write), ("replace_quickly", counting_replace)):
                if hasattr(module, name):
                    setattr(module, name, replacement)
        work()
        for module in modules:
            for name, real in (("write_whole", whole), ("replace_quickly", quickly)):
                if hasattr(module, name):
                    setattr(module, name, real)

    def pay(self) -> None:
        for size in self.sizes:
            target = self.folder / "file"
            with open(self.folder / "temporary", "wb") as file:
                file.write(b"x" * size)
                file.flush()
                os.fsync(file.fileno())
            os.replace(self.folder / "temporary", target)
            descriptor = os.open(self.folder, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        for size in self.bodies:
            with self.database:
                self.database.execute("INSERT INTO t (b) VALUES (?)", (b"x" * size,))


def runs() -> None:
    rows = []
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        for name, prepare in (("in a file, as agent-handover", in_file), ("in the journal", in_journal)):
            place = Path(folder) / name.replace(" ", "-")
            place.mkdir()
            floor = Floor(place)
            run, commits, close = prepare(place)
            run()
            floor.watch(run)
            floor.bodies = commits()
            own: list[float] = []
            bare: list[float] = []
            for _ in range(ROUNDS):
                for work, seconds in random.sample([(run, own), (floor.pay, bare)], 2):
                    seconds.append(timed(work))
            close()
            syncs = f"{2 * len(floor.sizes) + len(floor.bodies)}"
            a, b = median_ms(own), median_ms(bare)
            rows.append((name, syncs, f"{a:.2f}", f"{b:.2f}", f"{a / b:.2f}"))
    table(
        "A run of four steps against its own syncs (limit 3.0)",
        ("checkpoint", "syncs", "ms", "syncs alone ms", "ratio"),
        rows,
    )


def in_file(place: Path) -> tuple[Callable[[], Any], Callable[[], list[int]], Callable[[], None]]:
    numbers = iter(range(10**6))

    def run() -> None:
        store = MemoryStore(place / f"memory{next(numbers) % 5}")
        HandoverEngine(four(store, next(numbers)), Checkpoint(place / "cp" / "checkpoint.json")).run()

    return run, list, lambda: None


def in_journal(place: Path) -> tuple[Callable[[], Any], Callable[[], list[int]], Callable[[], None]]:
    numbers = iter(range(10**6))
    project = place / "project"
    (project / ".git").mkdir(parents=True)
    seg = Segue(home=place / "home", folder=project, backup_hours=1e6, backup_events=10**9)

    def run() -> None:
        store = MemoryStore(project / f"memory{next(numbers) % 5}")
        Handover(seg, steps=four(store, next(numbers))).run()

    def commits() -> list[int]:
        own = Handover(seg).checkpoint
        events = seg.workspace.store.read(own.stream)
        last = max(n for n, event in enumerate(events) if event.kind == "handover.begun")
        sizes: list[int] = []
        for event in events[last:]:
            if not event.left and sizes and events[event.version - 2].left:
                sizes[-1] += len(event.body)
            else:
                sizes.append(len(event.body))
        return sizes

    return run, commits, seg.close


if __name__ == "__main__":
    main()
