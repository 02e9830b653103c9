"""What the pages cost where there is much to show: 2,000 sessions, and a run of 100,000 steps.

`make bench-pages [ARGS="--sessions 2000 --steps 100000 --memories 2000 --repeats 7"]`. Limit: each page
within a second, on `segue ui` and on `segue serve`. The time is that from the request to the last byte of the
page, for the first request (with whatever is loaded then) and for the median of the next ones. The store is
made: sessions with plans and notes, and for every fourth of them a transcript of Claude Code or OpenCode.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.common import machine, must_be_compiled, table
from tests.support.pages import Client, PagesProcess, entered
from tests.support.server import SegueServer
from tests.support.workplace import SHOP_SESSION, Workplace, made

from segue.core.runs.steps import Call, Change, End, Model, Prompt, Result, Say, Start, Step

LIMIT_SECONDS = 1.0
LONG_RUN = "99999999-0000-4000-8000-000000000000"
EVERY = 4
"""One in so many sessions has a run."""


def long_run(at: float, folder: Path, steps: int) -> Iterator[Step]:
    """A run of so many steps: prompts, answers, commands, outputs and edits."""
    yield Start(at, "start", native=LONG_RUN, cwd=str(folder), branch="main")
    yield Model(at, "claude-sonnet-4-5")
    for number in range(steps // 6):
        at += 1
        if number % 100 == 0:
            yield Prompt(at, f"Now move module {number} to the new interface, and run its tests.")
        yield Say(at, f"I will look at module {number} first, and then change how it opens files.")
        run, edit = f"r{number}", f"e{number}"
        yield Call(at, run, "Bash", "run", text=f"pytest tests/test_{number}.py", command=f"pytest {number}")
        yield Result(at, run, ok=number % 7 != 0, exit=int(number % 7 == 0), text=f"{number} passed\n" * 5)
        change = Change(
            str(folder / f"module_{number % 500}.py"), "edit", "open(path)", f"opened(path, {number})"
        )
        yield Call(at, edit, "Edit", "edit", paths=(change.path,), changes=(change,))
        yield Result(at, edit, ok=True, text="updated")
    yield End(at)


def filled(root: Path, sessions: int, steps: int, memories: int) -> Workplace:
    """The machine with everything on it."""
    place = made(root)
    now = time.time()
    with place.open() as segue:
        for number in range(sessions):
            session = segue.start(
                f"Task {number}: make module {number} faster",
                items=["look", "change", "test"],
                id=f"task-{number}",
            )
            session.checkpoint(done=["look"], begin=["change"], note=f"a cache for module {number}")
        for start in range(0, memories, 100):
            texts = range(start, min(start + 100, memories))
            segue.memories.remember_many([{"content": f"Lesson {n} of module {n % 97}"} for n in texts])
    for number in range(0, sessions, EVERY):
        agent = ("claude-code", "opencode")[number // EVERY % 2]
        at, native = now - 90_000 - number, f"{number:08d}-0000-4000-8000-000000000001"
        short: list[Step] = [
            Start(at, "start", native=native, cwd=str(place.shop)),
            Prompt(at, f"Make module {number} faster"), Say(at + 1, "It is faster now."), End(at + 1),
        ]  # fmt: skip
        place.place(agent, short, native, place.shop, old=now - at)
    place.place(
        "claude-code", list(long_run(now - 90_000, place.shop, steps)), LONG_RUN, place.shop, old=3_000
    )
    begun = time.perf_counter()
    with place.open() as segue:
        segue.sync(session=SHOP_SESSION)
    print(f"a sync of all took {time.perf_counter() - begun:.1f} s")
    return place


def measured(client: Client, path: str, repeats: int) -> tuple[float, float, int]:
    """Seconds of the first request and the median of the next ones, and the size of the page."""
    seconds, size = [], 0
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        answer = client.get(path)
        seconds.append(time.perf_counter() - begun)
        assert answer.status == 200, (path, answer.status, answer.text[:500])
        size = len(answer.body)
    return seconds[0], statistics.median(seconds[1:]), size


def paths_of(run: str) -> dict[str, str]:
    """Every page, the long ones at several places."""
    return {
        "now": "/ui",
        "sessions": "/ui/sessions",
        "sessions, a page in the middle": "/ui/sessions?page=20",
        "sessions of one status": "/ui/sessions?status=paused",
        "a session": f"/ui/session/{SHOP_SESSION}",
        "a session, exported": f"/ui/session/{SHOP_SESSION}/export",
        "the long run, its end": f"/ui/run/{run}",
        "the long run, its beginning": f"/ui/run/{run}?step=1",
        "the long run, in the middle": f"/ui/run/{run}?step=50000",
        "the long run, what failed": f"/ui/run/{run}?only=failed",
        "search": "/ui/search?q=module+interface",
        "memory": "/ui/memory",
        "memory, a question": "/ui/memory?q=module+13",
        "figures": "/ui/figures",
        "figures by project": "/ui/figures?by=project&days=90",
        "health": "/ui/health",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--keep", type=Path, help="a folder for the store, which is used again if it is there"
    )
    args = parser.parse_args()
    must_be_compiled()
    print(f"{machine()}; {args.sessions:,} sessions, {args.steps:,} steps, {args.memories:,} memories")
    with tempfile.TemporaryDirectory() as folder:
        root = args.keep or Path(folder) / "machine"
        if root.exists():
            place = Workplace(root)
        else:
            place = filled(root, args.sessions, args.steps, args.memories)
        path = next(place.home.glob(f".claude/projects/*/{LONG_RUN}.jsonl"))
        place.paths[LONG_RUN] = path
        paths = paths_of(place.key("claude-code", LONG_RUN))
        with PagesProcess(place.home, place.shop) as pages:
            client = entered(pages)
            found = {name: measured(client, path, args.repeats) for name, path in paths.items()}
        _report("segue ui", found)
        with SegueServer(Path(folder) / "server", options=["--rate", "0"]) as server:
            client = _team(server, args.sessions, args.memories)
            paths = {
                "now": "/ui", "sessions": "/ui/sessions", "a session": "/ui/session/task-7",
                "search": "/ui/search?q=module+7", "memory": "/ui/memory", "health": "/ui/health",
                "figures": "/ui/figures?by=agent",
            }  # fmt: skip
            served = {name: measured(client, path, args.repeats) for name, path in paths.items()}
        _report("segue serve", served)
    worst = max(max(first, median) for first, median, _ in [*found.values(), *served.values()])
    return int(worst > LIMIT_SECONDS)


def _team(server: SegueServer, sessions: int, memories: int) -> Client:
    """A server with sessions and memories, and somebody who has signed in."""
    for number in range(sessions):
        goal = f"Task {number}: make module {number} faster"
        body = {"goal": goal, "items": ["look", "change", "test"], "id": f"task-{number}"}
        assert server.ask("POST", "/v1/sessions", body)[0] == 201
    for start in range(0, memories, 100):
        some = [
            {"content": f"Lesson {n} of module {n % 97}"} for n in range(start, min(start + 100, memories))
        ]
        status, told, _ = server.ask("POST", "/v1/memories/batch", {"memories": some})
        assert status < 300, told
    client = Client(server.port)
    assert client.post("/ui/sign-in", {"key": server.token}).status == 303
    return client


def _report(title: str, found: dict[str, tuple[float, float, int]]) -> None:
    rows = [
        (name, f"{first * 1000:.0f}", f"{median * 1000:.0f}", f"{size / 1000:.0f}")
        for name, (first, median, size) in found.items()
    ]
    table(title, ("page", "first, ms", "median, ms", "size, kB"), rows)


if __name__ == "__main__":
    raise SystemExit(main())
