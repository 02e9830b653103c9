"""Kill a working process with SIGKILL, and see the next one go on from the right place.

`make demo`. Offline, in a temporary folder with a data folder of its own; takes a few seconds.
Everything that is claimed is checked: the exit code is 1 if anything is not as promised.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

GOAL = "Refactor authentication to JWT"
ITEMS = ("analyse codebase", "user model", "auth middleware", "token validation")
VICTIM = "auth middleware"
KILL_BEHIND_STEP = 2
PACE_SECONDS = 0.2
WORKER = Path(__file__).with_name("worker.py")


class Broken(Exception):
    """Something is not as promised."""


def check(promise: str, holds: bool, *facts: object) -> None:
    """Print a promise that was kept; raise Broken for one that was not."""
    if not holds:
        raise Broken(f"{promise}: not so. {' '.join(map(str, facts))}")
    print(paint(f"  ✓ {promise}", "32"))


def paint(text: str, colour: str) -> str:
    """The text in colour, on a terminal that supports it."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{colour}m{text}\x1b[0m" if wanted else text


def scene(number: int, title: str) -> None:
    print("\n" + paint(f"{number}. {title}", "1"))


class Stage:
    """A folder to work in, and the commands that run there."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "shop"
        self.project.mkdir()
        ours = {name: value for name, value in os.environ.items() if not name.startswith("SEGUE_")}
        self.environment = {**ours, "SEGUE_HOME": str(folder / "home"), "PYTHONIOENCODING": "utf-8"}

    def segue(self, *words: str, show: bool = True) -> str:
        """Run a command of Segue, as a user would, and show what it says."""
        command = [sys.executable, "-m", "segue", *words]
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if show:
            print(paint("  $ segue " + " ".join(f'"{w}"' if " " in w else w for w in words), "2"))
            lines = (done.stdout + done.stderr).rstrip().splitlines()
            print("".join(f"  {line}".rstrip() + "\n" for line in lines), end="")
        if done.returncode:
            raise Broken(f"segue {words[0]} gave {done.returncode}: {done.stderr}")
        return done.stdout

    def status(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.segue("status", "--json", show=False))
        return value

    def work(self, *, kill_at: str = "") -> tuple[int, str]:
        """Run a worker to its end, or kill it once its output matches a pattern; returns the exit code and
        the output."""
        command = [sys.executable, str(WORKER), "--pace", str(PACE_SECONDS)]
        child = subprocess.Popen(command, cwd=self.project, env=self.environment, stdout=subprocess.PIPE)
        assert child.stdout is not None
        output = ""
        while chunk := os.read(child.stdout.fileno(), 4096):
            output += chunk.decode()
            print(chunk.decode(), end="", flush=True)
            if kill_at and re.search(kill_at, output):
                os.kill(child.pid, signal.SIGKILL)
                break
        rest, _ = child.communicate()  # what it printed between our last look and its death
        output += rest.decode()
        print(rest.decode() + (paint(" ✗ killed with SIGKILL\n", "31") if kill_at else ""), end="")
        return child.returncode, output


def acknowledged(output: str) -> tuple[list[str], dict[str, list[int]]]:
    """The items, and the steps of each, that a worker reported as durable."""
    done: list[str] = []
    steps: dict[str, list[int]] = {}
    for item in ITEMS:
        for line in output.splitlines():
            if line.strip().startswith(item):
                words = re.sub(r"\(.*?\)", "", line).split(item, 1)[1].split()
                steps[item] = [int(word) for word in words if word.isdecimal()]
                done += [item] if "done" in words else []
    return done, steps


def play(stage: Stage) -> None:
    """The whole demo."""
    scene(1, "A session with a plan")
    stage.segue("start", GOAL, *(word for item in ITEMS for word in ("--item", item)))
    stage.segue("decide", "HS256", "--why", "one issuer only")

    scene(2, "A worker begins, and is killed in the middle of an item")
    code, output = stage.work(kill_at=rf"{VICTIM}.* {KILL_BEHIND_STEP}")
    done, steps = acknowledged(output)
    check("it died of SIGKILL, with no chance to save anything", code == -signal.SIGKILL, code)

    scene(3, "What is left")
    stage.segue("status")
    left = stage.status()
    current = next(item for item in ITEMS if item not in done)
    # Death may also come between a commit and its acknowledgement: then one fact more is kept.
    finished = left["done"] == [*done, current]
    check("every item that was acknowledged as done is done", left["done"] == done or finished, left, done)
    check(f'"{current}" is under way', left["active"] == [current] or finished, left)
    check("the decision is there, once", [d["text"] for d in left["decisions"]] == ["HS256"])
    state = json.loads(stage.segue("agent", "load", "worker", show=False))
    saved_steps = state["steps"] if state["item"] == current else 0
    last = max(steps.get(current, [0]))
    check(f"so is step {last} of it, which was acknowledged", last <= saved_steps <= last + 1, state, last)

    scene(4, "The next worker goes on")
    code, output = stage.work()
    done_again, steps_again = acknowledged(output)
    check("it went through", code == 0, code)
    check("what was done was not done again", not set(left["done"]) & set(done_again), left, done_again)
    if steps_again.get(current):
        first = min(steps_again[current])
        check(f'"{current}" went on at step {first}', first == saved_steps + 1, steps_again, state)
    after = stage.status()
    check("the session is completed, 4 of 4 items", after["status"] == "completed", after["status"])
    log = json.loads(stage.segue("log", "--json", show=False))
    ends = [event["body"]["text"] for event in log if event["kind"] == "item.done"]
    check("the journal has the end of each item once", sorted(ends) == sorted(ITEMS), ends)

    scene(5, "Worse: copies of the store are damaged, and recovered")
    stage.segue("doctor", "--prove")
    check("every event came back each time", True)  # doctor exits 70 otherwise
    stage.segue("rebuild", "--check", show=False)
    stage.segue("doctor", show=False)
    check("the store itself is whole: every chain proven", True)


def fail(reason: object) -> NoReturn:
    print(paint(f"\n✗ {reason}", "31"), file=sys.stderr)
    raise SystemExit(1)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="segue-demo-") as folder:
        try:
            play(Stage(Path(folder)))
        except Broken as broken:
            fail(broken)
    print(paint("\nNothing that was acknowledged was lost.", "1;32"))


def plain_terminal() -> None:
    """Print a question mark for each character that the terminal cannot show."""
    if isinstance(sys.stdout.encoding, str) and not sys.stdout.encoding.lower().startswith("utf"):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


if __name__ == "__main__":
    plain_terminal()
    main()
