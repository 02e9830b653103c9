"""A small model that really runs: SmolLM2-135M in a process of its own, on a free port of loopback."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-model" / "bin" / "python"
NAME = "custom/smollm2-135m"
WINDOW = 2_048
READY_SECONDS = 120.0


class SmallModel:
    """``with SmallModel() as model: …model.url…``"""

    def __init__(self, python: Path = PYTHON) -> None:
        self.python = python
        self.url = ""
        self.ready_seconds = 0.0

    def __enter__(self) -> SmallModel:
        if not self.python.is_file():
            raise FileNotFoundError(f"{self.python} is missing: run `make model-venv`")
        start = time.perf_counter()
        self._process = subprocess.Popen(
            [str(self.python), str(Path(__file__).with_name("serve.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line.startswith("http"):
            self.__exit__()
            raise RuntimeError(f"the model did not start: {line or 'no word'}; try serve.py by hand")
        self.url = f"{line}/v1"
        self.ready_seconds = time.perf_counter() - start
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    with SmallModel() as small:
        print(small.url, f"ready in {small.ready_seconds:.1f} s", file=sys.stderr)
        input()
