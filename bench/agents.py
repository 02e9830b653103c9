"""What an agent waits for: the start of `segue mcp`, its list of tools, and a relaunch by `segue run`.

`make bench-agents`. Starts are interleaved in random order and told as ratios to `python -c pass` of the same
round. A relaunch is measured with a stand-in for an agent that is killed: from its death, as the system tells
it, to the start of the next one. Real agents are started where npm can install them.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.common import machine, median_ms, must_be_compiled, table, timed
from bench.real_agents import measure as measure_real_agents

ROUNDS = 20
RELAUNCHES = 20
REAL_ROUNDS = 9
ASKED = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
SDK = """
import anyio, sys
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
async def run():
    async with stdio_server() as (reading, writing):
        server = Server("bare")
        await server.run(reading, writing, server.create_initialization_options())
anyio.run(run)
"""
STAND_IN = """#!/bin/sh
date +%s.%N >> "$STANDIN/starts"
n=$(wc -l < "$STANDIN/starts")
if [ "$n" -gt {most} ]; then exit 0; fi
sleep 0.3
date +%s.%N >> "$STANDIN/deaths"
kill -9 $$
"""


def handshake(
    command: list[str], folder: Path, environment: dict[str, str], *more: dict[str, object]
) -> float:
    """Seconds until the last of these requests is answered."""
    requests = [{"method": "initialize", "params": ASKED}, *more]
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin and server.stdout
        for number, request in enumerate(requests):
            line = json.dumps({"jsonrpc": "2.0", "id": number, **request})
            server.stdin.write(line.encode() + b"\n")
            server.stdin.flush()
            server.stdout.readline()
        took = time.perf_counter() - start
        server.stdin.close()
    return took


def tokens_at_most(text: str) -> int:
    """No tokenizer makes more of it: four letters, a digit or a sign are at least one token."""
    pieces = re.findall(r"[A-Za-z]+|[^A-Za-z\s]+", text)
    return sum(-(-len(piece) // 4) if piece[0].isalpha() else len(piece) for piece in pieces)


def relaunches(folder: Path, environment: dict[str, str]) -> list[float]:
    """Seconds from a death to the next start, of a supervised stand-in."""
    bin_ = folder / "bin"
    bin_.mkdir()
    stand_in = bin_ / "claude"
    stand_in.write_text(STAND_IN.replace("{most}", str(RELAUNCHES)))
    stand_in.chmod(0o755)
    run_environment = {**environment, "STANDIN": str(folder), "PATH": f"{bin_}:{environment['PATH']}"}
    words = [sys.executable, "-m", "segue", "run", "Go on", "--agent", "claude", "--max-runs", "0"]
    while True:  # it is given up after three runs without progress; the next supervisor begins anew
        subprocess.run(
            words, cwd=folder / "project", env=run_environment, stdout=subprocess.DEVNULL, check=False
        )
        starts = [float(line) for line in (folder / "starts").read_text().split()]
        if len(starts) > RELAUNCHES:
            break
    deaths = [float(line) for line in (folder / "deaths").read_text().split()]
    gaps = [start - death for death, start in zip(deaths, starts[1:], strict=False)]
    return [gap for number, gap in enumerate(gaps, 1) if number % 3]  # between two supervisors there is none


def main() -> None:
    must_be_compiled()
    print(machine())
    python, segue = sys.executable, str(Path(sys.executable).with_name("segue"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "project").mkdir()
        environment = {**os.environ, "SEGUE_HOME": str(folder / "home"), "HOME": name}
        call = {"method": "tools/call", "params": {"name": "plan", "arguments": {}}}
        tools = {"method": "tools/list"}
        project = folder / "project"
        subprocess.run(
            [segue, "start", "Measure"], cwd=project, env=environment, check=True, capture_output=True
        )
        ways = {
            "python -c pass": lambda: timed(lambda: subprocess.run([python, "-c", "pass"], env=environment)),
            "the SDK alone: initialize": lambda: handshake([python, "-c", SDK], project, environment),
            "segue mcp: initialize": lambda: handshake([segue, "mcp"], project, environment),
            "segue mcp: initialize, tools/list": lambda: handshake(
                [segue, "mcp"], project, environment, tools
            ),
            "segue mcp: initialize, a tool": lambda: handshake([segue, "mcp"], project, environment, call),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for measure in ways.values():
            measure()
        for _ in range(ROUNDS):
            for way in random.sample(sorted(ways), len(ways)):
                seconds[way].append(ways[way]())
        bare = median_ms(seconds["python -c pass"])
        rows = [(way, f"{median_ms(t):.0f}", f"{median_ms(t) / bare:.1f}") for way, t in seconds.items()]
        table("From the start of a server to its answer", ("what", "ms", "of python -c pass"), rows)
        gaps = relaunches(folder, environment)
        worst = max(gaps) * 1000
        summary = f"{median_ms(gaps):.0f} ms in the middle, {worst:.0f} at worst, of {len(gaps)}"
        print(f"\nFrom an agent's death to the start of the next: {summary}")
    from segue.surfaces.mcp.tools import listed

    text = json.dumps(listed(), separators=(",", ":"))
    print(f"\nThe list of tools: {len(text)} bytes, at most {tokens_at_most(text)} tokens (limit: 2,000)")
    measure_real_agents(REAL_ROUNDS)


if __name__ == "__main__":
    main()
