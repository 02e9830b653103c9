"""Processes that die, and processes that work on one thread at the same time."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.integrations.chain_of_kills import Chain, noted
from tests.integrations.forked_program import ForkedProgram
from tests.integrations.places import Place
from tests.support.children import ends_with_us

from segue import Segue
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


def kept_of(folder: Path, name: str) -> tuple[set[int], set[str]]:
    """The numbers whose results are in the store, and what is there of checkpoints and writes."""
    where: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
    with Segue(home=folder / "segue", folder=folder) as segue:
        found = list(SegueSaver(segue).list(where))
    there = {f"checkpoint {one.checkpoint['id']}" for one in found}
    there |= {
        f"writes {one.checkpoint['id']}/{task}" for one in found for task, _, _ in one.pending_writes or ()
    }
    numbers: set[int] = set()
    if found:
        numbers |= set(found[0].checkpoint["channel_values"].get("paid", ()))
        numbers |= {
            n for _, channel, value in found[0].pending_writes or () if channel == "paid" for n in value
        }
    return numbers, there


@pytest.mark.timeout(1200)
def test_kills_lose_nothing_and_no_payment_is_made_again_whose_result_was_kept(
    tmp_path: Path, kill_count: int
) -> None:
    def lost(name: str) -> list[str]:
        there = kept_of(tmp_path, name)[1]
        lines = (line.partition(" ") for line in noted(tmp_path / "acknowledged"))
        return [what for conversation, _, what in lines if conversation == name and what not in there]

    program = ForkedProgram("tests.integrations.langgraph.program", tmp_path, "", {})
    try:
        chain = Chain(program, tmp_path, seed=23)
        chain.go(max(3, kill_count // 4), lambda name: kept_of(tmp_path, name)[0], lost)
    finally:
        program.close()
    print(f"{chain.kills} kills in {chain.conversations} conversations")
    assert (chain.failed, chain.lost, chain.paid_again, chain.invented) == ([], [], [], [])
    assert chain.kills >= max(3, kill_count // 4)
    assert chain.unpaid == []
