"""What hooks cost, against `python -c pass` of the same clean environment.

`make bench-hooks`. A recording hook, the start of a run, its first prompt, at which it gets the brief of a
transcript of 4 MB (with the digest that the last stop hook kept, and cold), the stop hook, all interleaved in
random order; 30 recording hooks at once against 30 bare interpreters at once; and a first prompt while
somebody holds the store. Limits: recording 1.0, first prompt 12 with a kept digest (also where there are
habits and a map of the code) and 25 cold, a status line 3 while the store stays as it is, and 300 ms of
waiting for a locked store. How long the end of a run takes, at which habits are learnt, is told beside them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import apsw
from bench.common import machine, median_ms, must_be_compiled, table

from segue.services.hooks import hook_file
from segue.services.workspace.data_folder import DataFolder

ROUNDS = 30
AT_ONCE = 30
BYTES = 4_000_000


def transcript(path: Path, cwd: Path, size: int, minute: int = 43) -> None:
    """A run of Claude Code of about so many bytes, cut off in a call."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng, at = random.Random(7), f"2026-11-15T{minute // 60:02}:{minute % 60:02}:12.504Z"
    words = "the login session token handler checks model cache request user route error test value".split()
    with path.open("w") as file:

        def put(kind: str, content: object, **more: object) -> None:
            role = "user" if kind == "user" else "assistant"
            message = {"role": role, "content": content, "id": f"m{file.tell()}", "model": "claude-opus-5-5"}
            if kind == "assistant":
                message["usage"] = {"input_tokens": 50_000, "output_tokens": 100}
            record = {
                "type": kind, "message": message, "sessionId": path.stem, "cwd": str(cwd),
                "version": "2.1.325", "uuid": f"u{file.tell()}", "timestamp": at,
                "gitBranch": "main", **more,
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")

        put("user", "Make the login use tokens, and keep the old sessions working please")
        number = 0
        while file.tell() < size:
            number += 1
            text = " ".join(rng.choice(words) for _ in range(rng.randrange(20, 400)))
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash",
                    "input": {"command": f"pytest -q tests/test_{number % 40}.py"}}  # fmt: skip
            put("assistant", [{"type": "text", "text": text[:400]}])
            put("assistant", [call])
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
            put("user", [{**result, "is_error": number % 9 == 0}])
        last = {"type": "tool_use", "id": "last", "name": "Bash", "input": {"command": "make deploy"}}
        put("assistant", [last])


class World:
    """A home with hooks, a project and a run that was cut off."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.python = folder, python
        self.home, self.project = folder / "home", folder / "project"
        self.project.mkdir(parents=True)
        self.data = DataFolder(self.home / "segue")
        self.data.make()
        hook_file.put(self.data)
        slug = "".join(c if c.isalnum() else "-" for c in str(self.project))
        self.path = self.home / ".claude" / "projects" / slug / "before.jsonl"
        transcript(self.path, self.project, BYTES)
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        self.count = 0

    def command(self, event: str, mode: str) -> list[str]:
        return [self.python, "-I", "-S", str(hook_file.file_of(self.data)), "claude-code", event, mode]

    def payload(self, native: str, **more: object) -> bytes:
        return json.dumps({"session_id": native, "cwd": str(self.project), **more}).encode()

    def hook(self, event: str, mode: str, native: str = "", **more: object) -> tuple[float, bytes]:
        """(seconds, what it said)."""
        self.count += 1
        payload = self.payload(native or f"run-{self.count}", **more)
        began = time.perf_counter()
        done = subprocess.run(
            self.command(event, mode), input=payload, capture_output=True, env=self.environment, check=True
        )
        return time.perf_counter() - began, done.stdout

    def start(self) -> float:
        """The start of a run, at which there is nothing to say."""
        return self.hook("SessionStart", "speak", source="startup")[0]

    def told(self) -> float:
        """The first prompt of a run, which is told where the last one stopped."""
        seconds, output = self.hook("UserPromptSubmit", "look", prompt="go on")
        assert b"make deploy" in output, output
        shutil.rmtree(self.data.path / "hook" / "unwritten", ignore_errors=True)  # an agent would write it
        return seconds

    def stop(self) -> float:
        fields = {"transcript_path": str(self.path), "last_assistant_message": f"Looked at it {self.count}."}
        return self.hook("Stop", "speak", "before", **fields)[0]

    def line(self) -> float:
        """A status line while the store stays as it is."""
        about = {"context_window_size": 200_000, "used_percentage": 42}
        seconds, output = self.hook(
            "StatusLine", "speak", "now", context_window=about, cost={"total_cost_usd": 1.0},
        )  # fmt: skip
        assert b"42 %" in output and b"make tokens work" in output, output
        return seconds

    def kept_line(self) -> float:
        """The second of two lines: what was written before the first is kept by then."""
        self.line()
        return self.line()

    def changed_line(self) -> float:
        """The same after something was written."""
        os.utime(self.data.path / "segue.db")
        return self.line()

    def plan(self) -> None:
        """A session with an item under way."""
        for words in (("start", "Tokens", "--item", "make tokens work"), ("begin", "make tokens work")):
            subprocess.run(
                [self.python, "-m", "segue", *words], check=True, cwd=self.project, stdout=subprocess.DEVNULL,
                env={**os.environ, **self.environment, "SEGUE_HOME": str(self.data.path)},
            )  # fmt: skip

    def learn(self) -> None:
        """Habits of a few runs, and a map of the code where its extra is there, with a change to tell of."""
        for number in range(6):
            transcript(self.path.with_name(f"earlier-{number}.jsonl"), self.project, 60_000, number)
        (self.project / "shop.py").write_text("def total():\n    return 1\n")
        git = ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
        has_map = find_spec("tree_sitter") is not None
        commands = [
            ["git", "init", "-q"], ["git", "add", "-A"], [*git, "commit", "-qm", "A shop"],
            [self.python, "-m", "segue", "sync"], *([[self.python, "-m", "segue", "map"]] if has_map else []),
        ]  # fmt: skip
        environment = {**os.environ, **self.environment, "SEGUE_HOME": str(self.data.path)}
        for words in commands:
            subprocess.run(words, check=True, cwd=self.project, stdout=subprocess.DEVNULL, env=environment)
        shown = subprocess.run(
            [self.python, "-m", "segue", "habits", "--json"], check=True, cwd=self.project, env=environment,
            capture_output=True,
        )  # fmt: skip
        assert json.loads(shown.stdout)["runs"] > 1, shown.stdout
        (self.project / "shop.py").write_text("def total():\n    return 2\n")
        if has_map:
            subprocess.run(
                commands[-1], check=True, cwd=self.project, stdout=subprocess.DEVNULL, env=environment
            )

    def end(self) -> float:
        """The end of a run of 60 KB that went on since it was looked at last."""
        path = self.path.with_name("ending.jsonl")
        transcript(path, self.project, 60_000, 60 + self.count)
        return self.hook("SessionEnd", "speak", "ending", transcript_path=str(path), reason="exit")[0]

    def forget(self) -> None:
        """As if no hook had run before: no store, no digest, no archive."""
        for name in ("segue.db", "segue.db-wal", "segue.db-shm"):
            (self.data.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.data.path / "archive", ignore_errors=True)


def bare(python: str, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([python, "-c", "pass"], input=b"", capture_output=True, env=environment, check=True)
    return time.perf_counter() - began


def at_once(commands: list[list[str]], payloads: list[bytes], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    running = []
    for command, payload in zip(commands, payloads, strict=True):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.close()
        running.append(process)
    for process in running:
        assert process.wait() == 0
    return time.perf_counter() - began


def p95_ms(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)] * 1000


def measured(world: World, planned: World, known: World, rounds: int) -> dict[str, list[float]]:
    """Seconds of each kind, interleaved."""
    work = {
        "python -c pass": lambda: bare(world.python, world.environment),
        "recording hook": lambda: world.hook("SessionEnd", "record")[0],
        "start": world.start,
        "first prompt, 4 MB, digest kept": world.told,
        "first prompt, 4 MB, habits and map": known.told,
        "stop, 4 MB, nothing new": world.stop,
        "end, 60 KB, habits learnt": known.end,
        "status line, kept": planned.kept_line,
        "status line, store changed": planned.changed_line,
    }
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for call in work.values():
        call()
    world.stop()
    known.stop()
    for _ in range(rounds):
        for name in random.sample(sorted(work), len(work)):
            seconds[name].append(work[name]())
    return seconds


def cold(world: World, rounds: int) -> list[float]:
    seconds = []
    for _ in range(rounds):
        world.forget()
        seconds.append(world.told())
    return seconds


def while_locked(world: World) -> tuple[float, float]:
    """(median of a first prompt with a free store, median while it is locked for five seconds)."""
    world.stop()
    free = [world.told() for _ in range(7)]
    done = threading.Event()
    ready = threading.Event()

    def hold() -> None:
        db = apsw.Connection(str(world.data.path / "segue.db"))
        db.execute("BEGIN EXCLUSIVE")
        ready.set()
        done.wait(5.0)
        db.execute("ROLLBACK")
        db.close()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    held = [world.told() for _ in range(7)]
    done.set()
    thread.join()
    return median_ms(free) / 1000, median_ms(held) / 1000


def main() -> None:
    must_be_compiled()
    print(machine())
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), sys.executable)
        planned = World(Path(folder) / "planned", sys.executable)
        planned.plan()
        known = World(Path(folder) / "known", sys.executable)
        known.learn()
        seconds = measured(world, planned, known, rounds)
        seconds["first prompt, 4 MB, cold"] = cold(world, max(5, rounds // 3))
        reference = median_ms(seconds["python -c pass"])
        limits = {"recording hook": "1.0", "first prompt, 4 MB, digest kept": "12",
                  "first prompt, 4 MB, habits and map": "12", "first prompt, 4 MB, cold": "25",
                  "status line, kept": "3"}  # fmt: skip
        rows = [
            (name, f"{median_ms(times):.1f}", f"{p95_ms(times):.1f}", f"{median_ms(times) / reference:.2f}",
             f"{p95_ms(times) / p95_ms(seconds['python -c pass']):.2f}", limits.get(name, ""))
            for name, times in seconds.items()
        ]  # fmt: skip
        head = ("hook", "p50 ms", "p95 ms", "p50 of python -c pass", "p95 of its p95", "limit")
        table("Hooks, one after the other", head, rows)
        hooks = [world.command("SessionEnd", "record")] * AT_ONCE
        plain = [[world.python, "-c", "pass"]] * AT_ONCE
        both: dict[str, list[float]] = {"bare": [], "recording": []}
        for _ in range(5):
            both["bare"].append(at_once(plain, [b""] * AT_ONCE, world.environment))
            payloads = [world.payload(f"at-once-{n}") for n in range(AT_ONCE)]
            both["recording"].append(at_once(hooks, payloads, world.environment))
        ratio = median_ms(both["recording"]) / median_ms(both["bare"])
        rows = [(name, f"{median_ms(times):.0f}") for name, times in both.items()] + [
            ("ratio", f"{ratio:.2f}")
        ]
        table(f"{AT_ONCE} at once, until all are done", ("what", "ms"), rows)
        free, held = while_locked(world)
        rows = [("free", f"{free * 1000:.0f}"), ("locked for 5 s", f"{held * 1000:.0f}"),
                ("waited", f"{max(0.0, held - free) * 1000:.0f}")]  # fmt: skip
        table("A first prompt while the store is locked (limit: 300 ms of waiting)", ("store", "ms"), rows)


if __name__ == "__main__":
    main()
