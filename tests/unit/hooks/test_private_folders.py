"""What hooks leave on a machine is for its user only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from segue.agents.hooks import HookEvent
from segue.services.hooks import hook_file
from segue.services.hooks.once import is_first
from segue.services.workspace.data_folder import DataFolder


@pytest.fixture(autouse=True)
def usual_mask() -> None:
    os.umask(0o022)


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*")) if path.is_dir()}


def test_the_folder_of_hooks_is_private_however_it_came_to_be(tmp_path: Path) -> None:
    is_first(tmp_path, HookEvent("claude-code", "start", "", "", ""), "start", b"{}")
    assert (tmp_path / "hook" / "once").is_dir() and modes(tmp_path / "hook") == {0o700}


def test_one_that_an_earlier_version_made_is_private_after_the_next_init(tmp_path: Path) -> None:
    (tmp_path / "hook").mkdir(mode=0o755)
    hook_file.put(DataFolder(tmp_path))
    assert modes(tmp_path / "hook") == {0o700}
