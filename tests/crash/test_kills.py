"""Killed at any moment, again and again, on one store: nothing acknowledged is ever lost."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from tests.support.crash.proof import Proof, child, open_segue, wait_until_longer

SEED = 20260102


def test_random_kills_lose_nothing_and_damage_does_not_add_up(tmp_path: Path, kill_count: int) -> None:
    print(f"seed {SEED}, {kill_count} kills")
    rng = random.Random(SEED)
    proof = Proof(tmp_path)
    acknowledged = length = 0
    for number in range(kill_count):
        process = child("forever", tmp_path, f"child{number}", rng.randrange(2**32))
        wait_until_longer(tmp_path / "lines", length)
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        _, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, err
        proof()
        assert len(proof.lines.acknowledged) >= acknowledged
        acknowledged = len(proof.lines.acknowledged)
        length = (tmp_path / "lines").stat().st_size
    with open_segue(tmp_path) as seg:
        for card in seg.list(everywhere=True):
            session = seg.session(card.id)
            session.resume()
            session.note("gone on")
    proof()
    print(f"{acknowledged} acknowledged writes, {len(proof.lines.tried)} tried, none lost")
    assert acknowledged > kill_count


def test_two_processes_killed_at_random_beside_each_other_lose_nothing(
    tmp_path: Path, kill_count: int
) -> None:
    rng = random.Random(SEED + 1)
    proof = Proof(tmp_path)
    running = [child("forever", tmp_path, f"first{n}", rng.randrange(2**32)) for n in range(2)]
    wait_until_longer(tmp_path / "lines", 0)
    for number in range(max(3, kill_count // 5)):
        time.sleep(rng.uniform(0.1, 0.4))
        running[0].kill()
        _, err = running[0].communicate()
        assert running[0].returncode == -signal.SIGKILL, err
        running = [running[1], child("forever", tmp_path, f"next{number}", rng.randrange(2**32))]
    for process in running:
        process.kill()
        process.communicate()
    proof()
    assert len(proof.lines.acknowledged) > 20
