"""What tests of sessions share."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.api.segue import Segue
from segue.stores.memory.store import VolatileStore


@pytest.fixture
def journal() -> VolatileStore:
    return VolatileStore()


@pytest.fixture
def two(journal: VolatileStore, tmp_path: Path) -> tuple[Segue, Segue]:
    """Two programs on one store, each with caches of its own."""
    first, second = (Segue(journal, home=tmp_path / "home", folder=tmp_path, actor=a) for a in ("a", "b"))
    first.start("shared", id="s", items=["one", "two"])
    return first, second
