"""What tests of supervisors share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.scripted_agents import Clock, World

from segue import Segue
from segue.effects.processes import launch as processes
from segue.services.supervision import follow, supervisor


@pytest.fixture
def world(home: Path, repo: Repository, seg: Segue, monkeypatch: pytest.MonkeyPatch) -> World:
    clock = Clock()
    made = World(seg, home, repo.folder, clock)
    for module in (supervisor, follow):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(processes, "spawn", made.spawn)
    monkeypatch.setattr(processes, "leftover_processes", lambda mark: made.left)
    monkeypatch.setattr(processes, "kill", made.killed.append)
    seg.start("Make good.txt", id="work")
    return made
