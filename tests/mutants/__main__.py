"""Draws changes, makes each in a copy of the package, runs the tests that can see it, and tells what came."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from tests.mutants.changes import Change, changes
from tests.mutants.equivalent import EQUIVALENT

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "segue"
TESTS = ("tests/unit", "tests/properties")
MODULES = (
    "core/memories/ranking.py", "core/brief/*.py", "core/runs/tree.py", "core/runs/outcomes.py",
    "core/runs/command_lines.py", "core/runs/*_effects.py", "core/supervision/*.py",
    "services/supervision/*.py", "core/sessions/*.py", "services/sessions/*.py",
)  # fmt: skip
TEST_SECONDS_MAX = 30
"""A test that takes longer with a change in force has noticed it: it hangs."""


class Mutant(NamedTuple):
    """A change of a module, and what became of it."""

    module: str
    change: Change
    text: str
    """The line that is changed."""

    @property
    def equivalent(self) -> str:
        return EQUIVALENT.get((self.module, self.text, str(self.change)), "")


class Record(NamedTuple):
    """What a test executes."""

    test: str
    seconds: float
    lines: dict[str, list[int]]


def drawn(patterns: list[str], seed: int, count: int) -> list[Mutant]:
    """So many changes of these modules, in the order of the text."""
    found = []
    for path in sorted({path for pattern in patterns for path in PACKAGE.glob(pattern)}):
        source = path.read_bytes()
        lines = source.decode().splitlines()
        module = str(path.relative_to(PACKAGE))
        found += [Mutant(module, change, lines[change.line - 1].strip()) for change in changes(source)]
    chosen = sorted(random.Random(seed).sample(range(len(found)), min(count, len(found))))
    return [found[place] for place in chosen]


def recorded(modules: set[str], tests: list[str], jobs: int, folder: Path) -> None:
    """Run the tests once, and record which lines of the modules each of them executes."""
    variables = {
        "MUTANTS_MODULES": ":".join(str(PACKAGE / module) for module in modules),
        "MUTANTS_LINES": str(folder / "lines"),
        "SEGUE_EXAMPLES": "0.1",
    }
    command = [sys.executable, "-m", "tests.support.run_tests", "-n", str(jobs), "-p", "tests.mutants.lines"]
    subprocess.run(
        [*command, *tests], cwd=ROOT, env={**os.environ, **variables}, stdout=sys.stderr, check=False
    )


def records_in(folder: Path) -> Iterator[Record]:
    """What was recorded of the tests that passed."""
    for path in sorted(folder.glob("lines.*")):
        for line in path.read_text().splitlines():
            found = json.loads(line)
            if not found["failed"]:
                lines = {str(Path(path).relative_to(PACKAGE)): rows for path, rows in found["lines"].items()}
                yield Record(found["test"], found["seconds"], lines)


class Chooser:
    """Which tests can see a change, those that are nearest to it and quickest first."""

    def __init__(self, records: list[Record]) -> None:
        self._seconds = {record.test: record.seconds for record in records}
        self._by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
        for record in records:
            for module, rows in record.lines.items():
                for row in rows:
                    self._by_line[module, row].add(record.test)

    def __call__(self, mutant: Mutant, seconds: float) -> list[str]:
        """Tests that take at most so long together."""
        chosen: list[str] = []
        for test in sorted(self._seeing(mutant), key=lambda test: self._order(mutant, test)):
            seconds -= self._seconds[test]
            if seconds < 0 and chosen:
                break
            chosen.append(test)
        return chosen

    def _seeing(self, mutant: Mutant) -> set[str]:
        module, change = mutant.module, mutant.change
        tests = self._executing(module, change.statement) | self._by_line[module, change.line]
        if not tests:  # an import executes it
            tests = set().union(*(self._executing(*use) for use in _uses(mutant)))
        return tests or {test for (name, _), some in self._by_line.items() if name == module for test in some}

    def _executing(self, module: str, rows: range) -> set[str]:
        return set().union(*(self._by_line[module, row] for row in rows))

    def _order(self, mutant: Mutant, test: str) -> tuple[bool, bool, float]:
        stem, folder = Path(mutant.module).stem, Path(mutant.module).parent.name
        own = f"test_{stem}" in test
        return (not own, f"/{folder}/" not in test and "properties" not in test, self._seconds[test])


def _uses(mutant: Mutant) -> Iterator[tuple[str, range]]:
    """Where the names that the change assigns are used, in any module that was recorded."""
    if not mutant.change.names:
        return
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, mutant.change.names))})\b")
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text()
        if pattern.search(source):
            for number, line in enumerate(source.splitlines(), 1):
                if pattern.search(line):
                    yield str(path.relative_to(PACKAGE)), range(number, number + 1)


class Outcome(NamedTuple):
    """What became of a change."""

    mutant: Mutant
    caught: bool
    how: str
    tests: int
    seconds: float


class Laboratory:
    """Copies of the package, one for each that works, in which a module at a time is changed."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._free: Queue[Path] = Queue()
        for number in range(jobs):
            copy = folder / f"copy{number}"
            shutil.copytree(PACKAGE, copy / "segue", ignore=shutil.ignore_patterns("__pycache__"))
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(copy)], check=True)
            self._free.put(copy)

    def __call__(self, mutant: Mutant, tests: list[str], limit_seconds: float) -> Outcome:
        """Make the change, run the tests until one fails, and take it back."""
        if not tests:
            return Outcome(mutant, False, "no test executes it", 0, 0.0)
        copy = self._free.get()
        path = copy / "segue" / mutant.module
        source = path.read_bytes()
        for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            old.unlink()
        began = time.monotonic()
        try:
            path.write_bytes(mutant.change.applied(source))
            caught, how = self._run(copy, tests, limit_seconds)
        finally:
            path.write_bytes(source)
            self._free.put(copy)
        return Outcome(mutant, caught, how, len(tests), time.monotonic() - began)

    def _run(self, copy: Path, tests: list[str], limit_seconds: float) -> tuple[bool, str]:
        chosen = copy / "tests.txt"
        chosen.write_text("\n".join(tests))
        command = [
            sys.executable, "-m", "tests.support.run_tests", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
            "--timeout", str(TEST_SECONDS_MAX), "--hypothesis-seed", "0", f"@{chosen}",
        ]  # fmt: skip
        variables = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=limit_seconds
            )
        except subprocess.TimeoutExpired:
            return True, f"hangs for {limit_seconds:.0f} s"
        if done.returncode == 0:
            return False, ""
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return True, failed[1].removeprefix("tests/") if failed else done.stdout[-200:] + done.stderr[-200:]


def told(outcome: Outcome) -> str:
    """A row of the table."""
    mutant = outcome.mutant
    verdict = "caught" if outcome.caught else "same" if mutant.equivalent else "SURVIVED"
    how = outcome.how if outcome.caught else mutant.equivalent or f"{outcome.tests} tests"
    where = f"{mutant.module}:{mutant.change.line}"
    return f"{verdict:9}{where:45}{mutant.change.kind:11} {mutant.change!s:50} {how[:90]}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make mutants ARGS=…", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="of the drawing")
    parser.add_argument("--count", type=int, default=60, help="how many changes (60)")
    parser.add_argument("--modules", nargs="+", default=list(MODULES), help="patterns, from src/segue")
    parser.add_argument(
        "--tests", nargs="+", default=list(TESTS), help="which tests (tests/unit, tests/properties)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests at most for a change (60)")
    parser.add_argument("--lines", type=Path, help="keep what tests execute in this folder, and use it again")
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    wish = parser.parse_args(arguments)
    mutants = drawn(wish.modules, wish.seed, wish.count)
    print(f"seed {wish.seed}: {len(mutants)} changes", flush=True)
    if wish.list:
        for mutant in mutants:
            change = mutant.change
            print(f"{mutant.module}:{change.line:<5} {change.kind:11} {change}    {mutant.text}")
        return 0
    with tempfile.TemporaryDirectory(prefix="segue-mutants-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        lines = wish.lines or folder
        if not any(lines.glob("lines.*")):
            lines.mkdir(parents=True, exist_ok=True)
            every = {str(path.relative_to(PACKAGE)) for one in wish.modules for path in PACKAGE.glob(one)}
            recorded(every, wish.tests, wish.jobs, lines)
        choose, laboratory = Chooser(list(records_in(lines))), Laboratory(folder, wish.jobs)

        def tried(mutant: Mutant) -> Outcome:
            outcome = laboratory(mutant, choose(mutant, wish.seconds), 4 * wish.seconds + 60)
            print(told(outcome), flush=True)
            return outcome

        with ThreadPoolExecutor(wish.jobs) as pool:
            outcomes = list(pool.map(tried, mutants))
    same = [outcome for outcome in outcomes if not outcome.caught and outcome.mutant.equivalent]
    caught = [outcome for outcome in outcomes if outcome.caught]
    survived = len(outcomes) - len(caught) - len(same)
    sums = f"{len(caught)} of {len(outcomes)} caught, {len(same)} do the same, {survived} survived"
    print(f"seed {wish.seed}: {sums}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
