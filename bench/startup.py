"""What a command costs before and while it does anything, against `python -c pass`.

`make bench-startup`. Launches are interleaved in random order; the clean, byte-compiled
environment is the Makefile's business. Limits: `segue status` 8x.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.common import machine, median_ms, must_be_compiled, table, timed

ROUNDS = 30


def main() -> None:
    must_be_compiled()
    print(machine())
    python = sys.executable
    segue = str(Path(python).with_name("segue"))
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        environment = {**os.environ, "SEGUE_HOME": str(Path(folder) / "home"), "HOME": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def run(*command: str) -> None:
            subprocess.run(command, cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL)

        run(segue, "start", "Refactor authentication to JWT", "--item", "user model", "--item", "middleware")
        for number in range(40):
            run(segue, "checkpoint", "--done", f"step {number}", "--decide", f"choice {number}")
        commands = {
            "python -c pass": (python, "-c", "pass"),
            "segue --version": (segue, "--version"),
            "segue": (segue,),
            "segue status": (segue, "status"),
            "segue status --json": (segue, "status", "--json"),
            "segue list": (segue, "list"),
            "segue note": (segue, "note", "edited middleware.py"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for command in commands.values():
            run(*command)
        for _ in range(ROUNDS):
            for name in random.sample(sorted(commands), len(commands)):
                seconds[name].append(timed(lambda n=name: run(*commands[n])))
        bare = median_ms(seconds["python -c pass"])
        rows = [
            (name, f"{median_ms(times):.1f}", f"{median_ms(times) / bare:.2f}")
            for name, times in seconds.items()
        ]
        table(
            "Launching a command (limit for `segue status`: 8)", ("command", "ms", "of python -c pass"), rows
        )


if __name__ == "__main__":
    main()
