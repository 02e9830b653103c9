"""What real agents wait for, with and without Segue: until their first request, and at each later call.

Claude Code and Codex of npm run against a scripted model on loopback that answers at once. Each way of
installing has a home of its own; the ways take turns in random order. Every run has one before it, so that
every start has a brief to make.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.common import table
from tests.support.programs import CannotInstall, installed, npm
from tests.support.rig import Rig
from tests.support.scripted import Run, Say, Script

AGENTS = ("claude-code", "codex")
CALLS = 10
WORK = Script(
    "work", [*([Run(f"echo step-{number}")] for number in range(CALLS)), [Say("All of it is there.")]]
)
WAYS = {
    "without Segue": None,
    "hooks": ["--no-mcp"],
    "hooks and MCP": [],
}
LIMITS = {"hooks": 18, "hooks and MCP": 28}


def cache() -> Path:
    return Path(os.environ.get("SEGUE_E2E_CACHE") or Path.home() / ".cache" / "segue-e2e")


def prepared(folder: Path, agent: str, words: list[str] | None) -> Rig:
    """A user's machine with Segue installed for the agent as these words say."""
    rig = Rig(folder, [agent], [WORK], cache=cache())
    rig.__enter__()
    if words is not None:
        trust = ["--trust-hooks"] if agent == "codex" else []
        done = rig.segue("init", "--agent", agent, "--yes", *trust, *words)
        assert done.code == 0, done
    return rig


def waited(rig: Rig, agent: str) -> tuple[float, float]:
    """Seconds until the first request, and from it to the last."""
    before = len(rig.model.requests)
    began = time.time()
    done = rig.run(agent, "SCRIPT:work do the ten steps")
    asked = [one.at for one in rig.model.requests[before:] if one.protocol and not one.is_aside]
    assert done.code == 0 and len(asked) > CALLS, done
    return asked[0] - began, asked[CALLS] - asked[0]


def measure(rounds: int) -> None:
    """Print how much Segue adds, as ratios to a bare Python of the same rounds."""
    try:
        npm()
    except CannotInstall as fault:
        print(f"\nNOT MEASURED with real agents: {fault}")
        return
    bare: list[float] = []
    rows = []
    for agent in AGENTS:
        installed(agent, cache())
        with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
            rigs = {}
            for number, (way, words) in enumerate(WAYS.items()):
                rigs[way] = prepared(Path(name) / str(number), agent, words)
                stack.callback(rigs[way].__exit__)
            for rig in rigs.values():
                waited(rig, agent)
            first: dict[str, list[float]] = {way: [] for way in WAYS}
            rest: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(rounds):
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", "pass"], check=True)
                bare.append(time.perf_counter() - start)
                for way in random.sample(sorted(rigs), len(rigs)):
                    until, after = waited(rigs[way], agent)
                    first[way].append(until)
                    rest[way].append(after)
            python = statistics.median(bare)
            for way in WAYS:
                adds = statistics.median(first[way]) - statistics.median(first["without Segue"])
                each = (statistics.median(rest[way]) - statistics.median(rest["without Segue"])) / CALLS
                rows.append(
                    (
                        agent, way, f"{statistics.median(first[way]) * 1000:.0f}",
                        f"{adds * 1000:+.0f}", f"{adds / python:.1f}", LIMITS.get(way, ""),
                        f"{each * 1000:+.1f}", f"{each / python:.2f}",
                    )
                )  # fmt: skip
    head = (
        "agent",
        "way",
        "ms to the first request",
        "added",
        "of python -c pass",
        "limit",
        "added a call",
        "of it",
    )
    table("Real agents against a model that answers at once", head, rows)
