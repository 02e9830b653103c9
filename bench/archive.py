"""What writers notice of a cleanup beside them: `make bench-archive`, on Postgres and the embedded store.

Two processes append notes, each to a session of its own, with a breath between two. In every second turn a
third process archives sessions of the same project that ended, all that it can.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from contextlib import ExitStack
from multiprocessing.queues import Queue
from pathlib import Path

from bench.common import machine, table
from tests.support.many_projects import Language
from tests.support.postgres import PostgresServer

from segue import Segue
from segue.core import event_kinds as ev
from segue.stores.base import Append

WRITERS, TURNS, TURN_SECONDS, BREATH_SECONDS = 2, 4, 6.0, 0.004
NOTES = 97
AT = "2020-01-01T00:00:00.000000Z"


def write_ended(url: str, home: Path, first: int, count: int) -> None:
    """So many sessions of a hundred events that ended years ago; every fifth with an agent's state."""
    language = Language()
    with Segue(store=url, home=home, folder=home) as segue:
        for number in range(first, first + count):
            id = f"ended-{number:05}"
            bodies: list[ev.Body] = [ev.Created(id, language.sentence(8), "o", "p", "coding"), ev.Started()]
            bodies += [ev.Noted(language.sentence()) for _ in range(NOTES)]
            drafts = [ev.draft(body, at=AT, actor="u") for body in bodies]
            segue.workspace.store.append(Append(f"session/{id}", 0, drafts))
            if number % 5 == 0:
                segue.session(id).save_agent("coder", {"plan": [language.sentence() for _ in range(20)]})
            at = segue.workspace.store.head(f"session/{id}").version
            draft = ev.draft(ev.Completed(), at=AT, actor="u")
            segue.workspace.store.append(Append(f"session/{id}", at, [draft]))


def write(url: str, home: Path, name: str, seconds: float, out: Queue[list[float]]) -> None:
    """Append notes for so long."""
    language, times = Language(), []
    with Segue(store=url, home=home, folder=home) as segue:
        session = segue.start(f"writer {name}")
        for _ in range(10):
            session.note(language.sentence())
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            text = language.sentence()
            began = time.perf_counter()
            session.note(text)
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(BREATH_SECONDS)
    out.put(times)


def archive(url: str, home: Path, out: Queue[int]) -> None:
    """Archive all that ended."""
    with Segue(store=url, home=home, folder=home) as segue:
        out.put(len(segue.cleanup().run(days=1)))


def turn(url: str, home: Path, number: int, *, cleans: bool) -> tuple[list[float], int, float]:
    """How long each append took, how many sessions were archived meanwhile, and in how many seconds."""
    times: Queue[list[float]] = multiprocessing.Queue()
    done: Queue[int] = multiprocessing.Queue()
    writers = [
        multiprocessing.Process(target=write, args=(url, home, f"{number}-{one}", TURN_SECONDS, times))
        for one in range(WRITERS)
    ]
    cleaner = multiprocessing.Process(target=archive, args=(url, home, done))
    began = time.perf_counter()
    for process in writers + ([cleaner] if cleans else []):
        process.start()
    found = [one for _ in writers for one in times.get(timeout=300)]
    archived, took = 0, 0.0
    if cleans:
        archived, took = done.get(timeout=300), time.perf_counter() - began
        cleaner.join()
    for process in writers:
        process.join()
    return found, archived, took


def measured(name: str, url: str, home: Path) -> list[str]:
    """A row of the table."""
    times: dict[bool, list[float]] = {False: [], True: []}
    archived, took = 0, 0.0
    for number in range(TURNS):
        cleans = bool(number % 2)
        if cleans:
            write_ended(url, home, number * 1_000, 100)
        found, count, seconds = turn(url, home, number, cleans=cleans)
        times[cleans] += found
        archived, took = archived + count, took + seconds
    row = [name]
    for cleans in (False, True):
        ordered = statistics.quantiles(times[cleans], n=100)
        row += [f"{len(times[cleans]):,}", f"{ordered[49]:.2f} ms", f"{ordered[98]:.2f} ms"]
    ratio = statistics.quantiles(times[True], n=100)[98] / statistics.quantiles(times[False], n=100)[98]
    return [*row, f"{ratio:.2f}", f"{archived} in {took:.1f} s"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("postgres", "embedded"), default="")
    only = parser.parse_args().only
    print(machine(), flush=True)
    rows = []
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        for name in ("postgres", "embedded"):
            if only in ("", name):
                home = folder / name
                home.mkdir()
                url = f"sqlite://{home / 'segue.db'}"
                if name == "postgres":
                    url = opened.enter_context(PostgresServer()).url(namespace="web")
                rows.append(measured(name, url, home))
    head = ["", "appends", "p50", "p99", "with a cleanup", "p50", "p99", "p99 with : without", "archived"]
    table("Archiving beside writers", head, rows)


if __name__ == "__main__":
    main()
