"""What proving costs: staleness against `git status`, `segue verify` against the bare commands.

`make bench-features`. Both sides of a ratio are measured in turn. Limits: 2x for 500 features over 50,000
files, 1.3x for 20 checks of 100 ms with 100 covered files each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.common import machine, median_ms, must_be_compiled, table, timed

from segue import Segue

FOLDERS, FILES, ROUNDS = 500, 100, 9
GLOBS = ("src/d{}/**", "src/d{}/*.py", "src/d{}/**/*.py", "src/d{}")


def git(root: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=b", "-c", "user.email=b@example.org", *words]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)


def tree(root: Path, folders: int, files: int) -> None:
    for number in range(folders):
        folder = root / "src" / f"d{number}"
        folder.mkdir(parents=True)
        for place in range(files):
            (folder / f"f{place}.py").write_text(f"value = {number * files + place}\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")
    time.sleep(2.1)  # an index that is not fresh: git need not read files again
    git(root, "status")


def staleness(home: Path, root: Path, name: str, globs: tuple[str, ...], dirty: int) -> list[tuple[str, ...]]:
    """Rows for a tree as it was proven, and with some files changed."""
    rows = []
    with Segue(home=home, folder=root) as segue:
        session = segue.start(name)
        features = session.features
        for number in range(FOLDERS):
            glob = globs[number % len(globs)].format(number) if globs else ""
            features.add(f"f{number}", "d", checks=["true"], covers=[glob] if glob else [])
        features.verify(jobs=4)
        state = session.state
        for changed in (0, dirty):
            for number in range(changed):
                (root / "src" / f"d{number}" / "f0.py").write_text("changed\n")
            looks, status = [], []
            for _ in range(ROUNDS):
                looks.append(timed(lambda: features.verdicts(state)))
                status.append(timed(lambda: git(root, "status")))
            stale = sum(verdict.status == "stale" for verdict in features.verdicts(state))
            ours, theirs = median_ms(looks), median_ms(status)
            rows.append(
                (name, str(changed), str(stale), f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}")
            )
    git(root, "checkout", "-q", "--", "src")
    return rows


def verifying(folder: Path, jobs: int) -> tuple[str, ...]:
    root = folder / f"checks{jobs}"
    root.mkdir()
    tree(root, 20, 100)
    segue = str(Path(sys.executable).with_name("segue"))
    environment = {**os.environ, "SEGUE_HOME": str(folder / f"home{jobs}")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(*command: str) -> None:
        subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)

    run(segue, "start", "prove")
    for number in range(20):
        run(
            segue,
            "feature",
            "add",
            f"f{number}",
            "d",
            "--check",
            "sleep 0.1",
            "--covers",
            f"src/d{number}/**",
        )
    ours, bare = [], []
    script = f"for n in $(seq 20); do echo 0.1; done | xargs -n1 -P{jobs} sleep"
    for _ in range(ROUNDS):
        bare.append(timed(lambda: run("/bin/sh", "-c", script)))
        ours.append(timed(lambda: run(segue, "verify", "--all", "--jobs", str(jobs))))
    ratio = median_ms(ours) / median_ms(bare)
    return str(jobs), f"{median_ms(ours):.0f}", f"{median_ms(bare):.0f}", f"{ratio:.2f}"


def main() -> None:
    must_be_compiled()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = folder / "tree"
        tree(root, FOLDERS, FILES)
        rows = staleness(folder / "home", root, "folders, by globs", GLOBS, 50)
        rows += staleness(folder / "home", root, "the whole tree", (), 1)
        head = ("500 features that cover", "changed files", "stale", "verdicts ms", "git status ms", "ratio")
        table("Staleness over 50,000 files (limit 2.0)", head, rows)
        rows = [verifying(folder, jobs) for jobs in (1, 2)]
        head = ("jobs", "segue verify ms", "bare ms", "ratio")
        table("20 checks of 100 ms, 100 covered files each (limit 1.3)", head, rows)


if __name__ == "__main__":
    main()
