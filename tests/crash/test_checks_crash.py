"""Checks under stress, and Segue killed while it runs them: nothing survives, nothing is proven wrongly.

The sizes are a tenth of those of `make soak`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.support.crash.proof import WORK, open_segue, wait_for

from segue.api.segue import Segue
from segue.core.features.checks import Check
from segue.effects.processes.checks import Runner
from segue.testing import spawn
from segue.testing.stores import verify_chain

FULL_KILLS = 200

SWARM = """
import os, signal, sys, time
for number in range(int(sys.argv[2])):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        if number % 2:
            os.setsid()
        with open(sys.argv[1], "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(600)
while len(open(sys.argv[1]).read().split()) < int(sys.argv[2]):
    time.sleep(0.01)
time.sleep(float(sys.argv[3]))
"""


@pytest.fixture
def share(kill_count: int) -> float:
    """A tenth in `make test`, all of it in `make soak`."""
    return max(0.1, min(1.0, kill_count / FULL_KILLS))


def living(pids: Path) -> list[int]:
    found = []
    for pid in pids.read_text().split():
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(int(pid))
    return found


@pytest.mark.parametrize("how", ["passes", "hangs", "closed"])
def test_fifty_children_that_ignore_term_and_leave_their_session_do_not_survive(
    tmp_path: Path, how: str
) -> None:
    (tmp_path / "swarm.py").write_text(SWARM)
    pids = tmp_path / "pids"
    pids.touch()
    seconds, limit = ("0", 600.0) if how == "passes" else ("600", 6.0 if how == "hangs" else 600.0)
    check = Check((sys.executable, "swarm.py", str(pids), "50", seconds), limit_seconds=limit)
    with Runner(grace_seconds=0.2) as runner:
        environment = {"PATH": os.defpath}
        runner.start("1", check, root=tmp_path, environment=environment, out=tmp_path / "out", bytes_max=1000)
        if how == "closed":
            deadline = time.monotonic() + 60
            while len(pids.read_text().split()) < 50:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        else:
            [outcome] = runner.wait(90)
            assert outcome.timed_out == (how == "hangs") and outcome.left >= 50
    assert len(pids.read_text().split()) == 50
    assert living(pids) == []


def test_a_gigabyte_of_output_takes_little_room_and_is_counted(tmp_path: Path, share: float) -> None:
    size = int(1_000_000_000 * share)
    (tmp_path / "flood.py").write_text(
        "import sys\nleft = int(sys.argv[1])\nblock = (b'line of output ' * 70 + b'\\n') * 1000\n"
        "while left > 0:\n    left -= sys.stdout.buffer.write(block[:left])\n"
    )
    with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
        features = seg.start("flood").features
        features.add("f", "d", checks=[f"{sys.executable} flood.py {size}"], covers=["flood.py"])
        assert features.verify().ok
        [ran] = [body for event, body in features.history("f") if event.kind == "check.ran"]
        assert (ran.output_bytes, ran.cut) == (size, True)  # type: ignore[attr-defined]
        kept = features.outputs.read(ran.output)  # type: ignore[attr-defined]
        assert kept is not None and len(kept) < 5_000_000 and b"bytes left out" in kept
    taken = sum(file.stat().st_size for file in (tmp_path / "home" / "evidence").rglob("*") if file.is_file())
    assert taken < 3_000_000


def test_two_hundred_features_of_three_checks_with_two_jobs(tmp_path: Path, share: float) -> None:
    count = int(200 * share)
    (tmp_path / "src").mkdir()
    for number in range(count):
        (tmp_path / "src" / f"f{number}").write_text(f"{number}\n")
    with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
        session = seg.start("many")
        features = session.features
        for number in range(count):
            file = f"src/f{number}"
            checks = [f"test -f {file}", f"grep -q {number} {file}", f"test {number} -ne 3"]
            features.add(f"f{number}", "d", checks=checks, covers=[file])
        done = features.verify(jobs=2)
        assert done.ran == 3 * count and done.counts.passing == count - 1
        assert [one.id for one in done.verdicts if not one.passes] == ["f3"]
        (tmp_path / "src" / "f5").write_text("5 changed\n")
        assert {one.id for one in features.verdicts() if one.status == "stale"} == {"f5"}
        again = features.verify(jobs=2)
        assert again.ran == 3 + 1, "the stale one, and the check that failed"
        verify_chain(session.log())
        assert features.audit().ok


def test_segue_killed_while_a_check_runs_leaves_the_feature_unproven_and_nothing_running(
    tmp_path: Path,
) -> None:
    process = spawn("verify.after_record", WORK, "verify_slow", str(tmp_path), "child", count=99)
    pid = int(wait_for(tmp_path / "shop" / "pid"))
    process.kill()
    process.communicate(timeout=30)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with open_segue(tmp_path) as seg:
        features = seg.session("s").features
        [verdict] = features.verdicts()
        assert verdict.status == "testing" and not features.gate().ok
        assert features.outputs.sweep() == 1, "the raw output of the dead process"


@pytest.mark.parametrize("failpoint", ["verify.after_begin", "verify.before_record", "verify.after_record"])
@pytest.mark.parametrize("passing", [1, 2, 3])
def test_a_kill_around_the_evidence_proves_nothing_that_was_not_recorded(
    failpoint: str, passing: int, tmp_path: Path
) -> None:
    process = spawn(failpoint, WORK, "verifying", str(tmp_path), "child", count=passing)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    with Segue(home=tmp_path, folder=tmp_path / "shop") as seg:
        session = seg.session("s")
        verify_chain(session.log())
        for verdict in session.features.verdicts():
            kinds = [event.kind for event, _ in session.features.history(verdict.id)]
            whole = kinds.count("check.ran") == kinds.count("checks.begun") > 0
            assert verdict.passes == whole, (verdict, kinds)
        assert session.features.verify().ok
        assert session.features.audit().ok
        session.complete()
