"""A small project with a commit, for tests that need a real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import opened

from segue import Segue


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    repository.commit("first", {"a.py": "a\n"})
    return repository


@pytest.fixture
def seg(home: Path, repo: Repository) -> Segue:
    return opened(home, repo.folder)
