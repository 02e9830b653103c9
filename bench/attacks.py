"""What attacks without a key cost the others: times of `/health` and memory, before and meanwhile.

`make bench-attacks`. The server is a process of its own on loopback. Others ask for `/health`, each time on a
connection of its own, first undisturbed, then while a stranger sends requests without an end, one after the
other, or holds connections that say nothing. The attacker runs beside it on the same cores.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import machine, table
from tests.support import attacks
from tests.support.server import SegueServer


def measured(server: SegueServer, under: AbstractContextManager[Any], count: int) -> list[str]:
    """p50 and p99 of `/health` in milliseconds, and the memory, while something goes on."""
    before = attacks.resident_mb(server)
    with under:
        took = attacks.health_seconds(server, count)
        after = attacks.resident_mb(server)
    p50, p99 = attacks.percentile(took, 0.5) * 1000, attacks.percentile(took, 0.99) * 1000
    return [f"{p50:.2f}", f"{p99:.2f}", f"{before:.0f}", f"{after:.0f}"]


def attack_once(server: SegueServer, kind: str, total: int, told: dict[str, str]) -> None:
    attack = attacks.endless(kind, total)
    attack(server)
    status = attacks.status_of(attack.answer) or "reset"
    told[kind] = f"{attack.sent / 1e6:.1f} of {total / 1e6:.0f} MB taken, {status}"


def main() -> int:
    wish = argparse.ArgumentParser(description=__doc__)
    wish.add_argument("--count", type=int, default=2_000, help="requests for each row")
    wish.add_argument("--megabytes", type=int, default=100)
    wish.add_argument("--connections", type=int, default=1_200)
    args = wish.parse_args()
    rows, told = [], dict[str, str]()
    with tempfile.TemporaryDirectory() as home, SegueServer(Path(home), options=["--log", "none"]) as server:
        attacks.health_seconds(server, 200)  # warm
        rows.append(["nothing", *measured(server, nullcontext(), args.count), ""])
        for kind in attacks.KINDS:
            act = partial(attack_once, server, kind, args.megabytes * 1_000_000, told)
            rows.append(
                [kind, *measured(server, attacks.again_and_again(act), args.count), told.get(kind, "")]
            )
        idle = attacks.idle(server, args.connections)
        rows.append([f"{args.connections} idle", *measured(server, idle, args.count), ""])
        rows.append(["nothing", *measured(server, nullcontext(), args.count), ""])
    print(f"{machine()}\n")
    table(
        "Attacks without a key",
        ["meanwhile", "p50 ms", "p99 ms", "MB before", "MB after", "the last one"],
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
