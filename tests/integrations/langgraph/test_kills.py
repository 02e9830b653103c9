"""Processes that die, and processes that work on one thread at the same time."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.integrations.langgraph.conftest import Place
from tests.support.children import ends_with_us

from segue.integrations.langgraph import SegueSaver

REPOSITORY = Path(__file__).parents[3]


def worker(place: Place, *words: str) -> subprocess.Popen[str]:
    environment = place.environment() | {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'src'}"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integrations.langgraph.worker", *words], stdout=subprocess.PIPE,
        text=True, env=environment, cwd=place.folder, preexec_fn=ends_with_us(),
    )  # fmt: skip


def lines_of(process: subprocess.Popen[str]) -> list[list[str]]:
    """What was acknowledged, once it has ended; a line that was cut off was not."""
    with process:
        assert process.stdout is not None
        text = process.stdout.read()
    return [line.split() for line in text.rpartition("\n")[0].splitlines()]


def proven(place: Place, told: list[list[str]]) -> None:
    """Everything that was acknowledged is there, and is what was put."""
    saver = SegueSaver(place.segue())
    where: Any = {"configurable": {"thread_id": "shared", "checkpoint_ns": ""}}
    found = {one.checkpoint["id"]: one for one in saver.list(where)}
    for kind, id, *item in told:
        if kind == "put":
            assert found[id].checkpoint["channel_values"]["items"][-1].split(" word")[0] == " ".join(item)
            assert found[id].checkpoint["channel_values"]["by"] == item[0]
        else:
            assert [write[2] for write in found[id].pending_writes or []] == [[id]]


def test_two_processes_on_one_thread_never_mix(place: Place) -> None:
    workers = [worker(place, "puts", name, "40") for name in ("ada", "bob")]
    told = [line for process in workers for line in lines_of(process)]
    assert len(told) == 160 and [process.returncode for process in workers] == [0, 0]
    proven(place, told)


def test_nothing_acknowledged_is_lost_when_processes_are_killed(place: Place, kill_count: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw, told = random.Random(seed), list[list[str]]()
    for number in range(max(3, kill_count // 3)):
        process = worker(place, "puts", f"w{number}", "100000")
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(draw.random() * 0.4)
        process.kill()
        told += [first.split(), *lines_of(process)]
    proven(place, told)


def test_a_graph_that_is_killed_in_the_middle_goes_on(place: Place) -> None:
    (place.folder / "wait").touch()
    process = worker(place, "graph")
    assert process.stdout is not None
    begun = [process.stdout.readline(), process.stdout.readline()]
    process.kill()
    lines_of(process)
    (place.folder / "wait").unlink()
    after = lines_of(worker(place, "graph"))
    assert begun == ["begun read\n", "begun build\n"]
    assert after == [["begun", "build"], ["begun", "test"], ["['read',", "'build',", "'test']"]]


def test_a_thread_of_many_checkpoints_is_found_without_reading_them_all(local: Place) -> None:
    segue = local.segue()
    made = lines_of(worker(local, "puts", "a", "150"))
    reads: list[int] = []
    read = segue.workspace.store.read

    def counting(stream: str, **how: Any) -> Any:
        events = read(stream, **how)
        reads.append(len(events))
        return events

    segue.workspace.store.read = counting  # type: ignore[method-assign]
    where: Any = {"configurable": {"thread_id": "shared", "checkpoint_ns": "", "checkpoint_id": made[20][1]}}
    assert SegueSaver(segue).get_tuple(where) is not None
    assert sum(reads) < 80
