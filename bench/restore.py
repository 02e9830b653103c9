"""What `segue resume --budget balanced` costs, against a Python that does nothing.

`make bench-restore`. A project with 200 runs, 5,000 notes and 10,000 memories, and one with a tenth of each.
Limits: 20x `python -c pass` with full text, 60x with the embedding model (if it is installed), and 1.3x the
project with a tenth. Launches are interleaved; the clean, byte-compiled environment is the business of the
Makefile.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.common import machine, must_be_compiled, table
from tests.support.long_story import story

from segue.effects.vectors import minilm
from segue.testing.transcripts import written

ROUNDS = 9
WHOLE = {"runs": 200, "notes": 5_000, "memories": 10_000}
SEGUE = str(Path(sys.executable).with_name("segue"))
LIBRARY = """
import json, sys
from segue import Segue
from segue.effects.vectors.embedder import choose
with Segue(folder=sys.argv[1], environment=json.loads(sys.argv[2]), embedder=choose(sys.argv[3])) as seg:
    texts = json.load(open(sys.argv[4]))
    for at in range(0, len(texts), 500):
        seg.memories.remember_many([{"content": text} for text in texts[at : at + 500]])
"""
THINGS = (
    "invoice parser", "login page", "token refresh", "cart total", "search index", "mail queue", "audit log",
    "price rounding", "session store", "export job", "rate limit", "retry policy",
)  # fmt: skip
DOINGS = ("fails when", "must wait for", "was slow because of", "is tested with", "depends on", "replaces")


class World:
    """A project with so much of everything, and a session in it."""

    def __init__(self, folder: Path, share: float, embedder: str) -> None:
        self.home, self.project = folder / "home", folder / "shop"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "SEGUE_HOME": str(folder / "data"),
            "SEGUE_EMBEDDER": embedder, "GIT_CONFIG_GLOBAL": os.devnull,
        }  # fmt: skip
        self.random = random.Random(7)
        self._repository()
        self._notes(int(WHOLE["notes"] * share))
        self._runs(int(WHOLE["runs"] * share))
        self._memories(int(WHOLE["memories"] * share), folder / "texts.json", embedder)
        self.run(SEGUE, "start", "Rework the invoice parser so that amounts are kept in cents", "--id", "inv")
        self.run(SEGUE, "sync")

    def run(self, *command: str) -> float:
        start = time.perf_counter()
        subprocess.run(
            command, cwd=self.project, env=self.environment, check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return time.perf_counter() - start

    def said(self) -> str:
        pick = self.random.choice
        return f"{pick(THINGS)} {pick(DOINGS)} {pick(THINGS)} ({self.random.randrange(10**6)})"

    def _repository(self) -> None:
        self.run("git", "init", "-q", ".")
        (self.project / "parser.py").write_text("def parse(text):\n    return float(text)\n")
        self.run("git", "add", "-A")
        author = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
        self.run("git", *author, "commit", "-qm", "one")
        (self.project / "parser.py").write_text("def parse(text):\n    return round(100 * float(text))\n")
        exclude = self.project / ".git" / "info" / "exclude"
        exclude.write_text("context-library/\n")

    def _notes(self, count: int) -> None:
        for number in range(count):
            folder = self.project / "context-library" / f"{number % 50:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            body = "\n".join(f"- {self.said()}" for _ in range(20))
            (folder / f"note-{number:05d}.md").write_text(f"# About the {self.said()}\n\n{body}\n")
        index = self.project / "context-library" / "00-INDEX.md"
        index.write_text("# Index\n\n" + "\n".join(f"- {self.said()}" for _ in range(40)))

    def _runs(self, count: int) -> None:
        for number in range(count):
            folder = self.home / ".codex" / "sessions" / "2026" / "11" / f"{1 + number % 14:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            native = f"{number:08x}-1111-7222-9333-444455556666"
            path = folder / f"rollout-2026-11-{1 + number % 14:02d}T00-00-00-{native}.jsonl"
            steps = story(number, calls=120)
            path.write_bytes(written("codex", steps, native=native, cwd=str(self.project)))

    def _memories(self, count: int, path: Path, embedder: str) -> None:
        import json

        path.write_text(json.dumps([self.said() for _ in range(count)]))
        environment = json.dumps(self.environment)
        self.run(sys.executable, "-c", LIBRARY, str(self.project), environment, embedder, str(path))


def measured(folder: Path, embedder: str) -> tuple[float, float, float]:
    """Milliseconds of nothing, of the tenth and of the whole."""
    tenth, whole = World(folder / "tenth", 0.1, embedder), World(folder / "whole", 1.0, embedder)
    command = (SEGUE, "resume", "inv", "--budget", "balanced")
    for world in (tenth, whole):
        world.run(*command)  # the first makes the index of notes
    works = (
        lambda: whole.run(sys.executable, "-c", "pass"), lambda: tenth.run(*command),
        lambda: whole.run(*command),
    )  # fmt: skip
    taken: list[list[float]] = [[], [], []]
    for _ in range(ROUNDS):
        for seconds, work in zip(taken, works, strict=True):
            seconds.append(work())
    bare, small, large = (statistics.median(seconds) * 1000 for seconds in taken)
    return bare, small, large


def main() -> None:
    must_be_compiled()
    print(machine())
    rows = []
    kinds = [("full text", "hash", "20x")]
    if minilm.installed():
        kinds.append(("the embedding model", "minilm", "60x"))
    else:
        print("note: the extra `semantic` is not installed, so the row with the embedding model is left out")
    for name, embedder, limit in kinds:
        with tempfile.TemporaryDirectory() as folder:
            bare, small, large = measured(Path(folder), embedder)
        rows.append((
            f"resume --budget balanced, {name}", f"{large:.0f} ms", f"{bare:.0f} ms",
            f"{large / bare:.1f}x", limit, f"{small:.0f} ms", f"{large / small:.2f}", "1.3",
        ))  # fmt: skip
    head = (
        "what",
        "200 runs, 5,000 notes, 10,000 memories",
        "python -c pass",
        "ratio",
        "limit",
        "a tenth of each",
        "against it",
        "limit",
    )
    table("Restoring", head, rows)


if __name__ == "__main__":
    main()
