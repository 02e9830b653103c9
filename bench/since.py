"""What the delta costs: `segue since` against `git status` plus `git log`.

`make bench-since`. A tree of 50,000 files, 1,000 commits on. Both sides are whole processes and are measured
in turn. Limit: 3x. Prepare and bootstrap stand beside it; what they keep is put back, so that every delta has
all the commits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.common import machine, median_ms, must_be_compiled, table, timed

FOLDERS, FILES, COMMITS, ROUNDS = 500, 100, 1000, 9
NAMES = ("Ann", "Bob", "Cem", "Dana", "Eli")


def git(root: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=b", "-c", "user.email=b@example.org", *words]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)


def tree(root: Path) -> None:
    for number in range(FOLDERS):
        folder = root / "src" / f"d{number}"
        folder.mkdir(parents=True)
        for place in range(FILES):
            (folder / f"f{place}.py").write_text(f"value = {number * FILES + place}\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")


def commits(root: Path, count: int) -> None:
    """So many commits, each of three changed files and now and then a new one."""
    lines = []
    for number in range(count):
        name = NAMES[number % len(NAMES)]
        lines.append("commit refs/heads/main")
        lines.append(f"committer {name} <{name.lower()}@example.org> {int(time.time())} +0000")
        message = f"change number {number}"
        lines.append(f"data {len(message)}\n{message}")
        if number == 0:
            lines.append("from refs/heads/main^0")
        for place in range(3):
            path = f"src/d{(number * 7 + place) % FOLDERS}/f{number % FILES}.py"
            body = f"value = {number}.{place}\n"
            lines.append(f"M 100644 inline {path}\ndata {len(body)}\n{body}")
        if number % 10 == 0:
            lines.append(f"M 100644 inline new/n{number}.py\ndata 2\nx\n")
    stream = ("\n".join(lines) + "\n").encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=stream, check=True)
    git(root, "reset", "-q", "--hard")
    time.sleep(2.1)  # an index that is not fresh: git need not read files again
    git(root, "status")


def main() -> None:
    must_be_compiled()
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder) / "shop", Path(folder) / "home"
        root.mkdir()
        tree(root)
        environment = {**os.environ, "SEGUE_HOME": str(home), "HOME": folder}
        os.environ.update(environment)

        def segue(*words: str) -> None:
            subprocess.run(
                [sys.executable, "-m", "segue", *words], cwd=root, env=environment, check=False,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip

        for number in range(5):
            (root / "src" / f"d{number}" / "f99.py").write_text("mine\n")
        segue("start", "measure", "--id", "m")
        segue("prepare")
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
        ).stdout.strip()
        shutil.copytree(home / "scenes", left := Path(folder) / "left")
        git(root, "stash", "-q")
        commits(root, COMMITS)
        git(root, "stash", "pop", "-q")
        output = subprocess.run(
            [sys.executable, "-m", "segue", "since", "--json"], cwd=root, env=environment, check=True,
            capture_output=True,
        )  # fmt: skip
        delta = json.loads(output.stdout)
        assert delta["commit_count"] == COMMITS and len(delta["uncommitted"]) == 5, delta["unknown"]
        rows, kinds = [], ("since", "prepare", "bootstrap --no-checks")
        taken: dict[str, list[float]] = {name: [] for name in ("git", *kinds)}
        for _ in range(ROUNDS):
            taken["git"].append(timed(lambda: (git(root, "status"), git(root, "log", f"{head}..HEAD"))))
            for name in kinds:
                shutil.copytree(left, home / "scenes", dirs_exist_ok=True)
                taken[name].append(timed(lambda name=name: segue(*name.split())))
        base = median_ms(taken["git"])
        for name, limit in zip(kinds, ("3.0", "", ""), strict=True):
            mine = median_ms(taken[name])
            rows.append((f"segue {name}", f"{mine:.0f}", f"{base:.0f}", f"{mine / base:.2f}", limit))
        print(machine())
        title = f"{FOLDERS * FILES:,} files, {COMMITS:,} commits since, {ROUNDS} rounds"
        table(title, ("command", "ms", "git status + git log ms", "ratio", "limit"), rows)


if __name__ == "__main__":
    main()
