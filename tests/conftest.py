"""No test sees the developer's home, settings or git identity, and none sees another test's.

Variables of Segue and git are removed and the folders that programs write to are moved, once for the whole
session (for fixtures with a wide scope) and once more for each test. Memories are found by pieces of words;
tests of the model that knows meanings ask for it. The number of kills in crash tests is read before that: ask
for the fixture ``kill_count``. So is the folder with real transcripts, if there is one: ask for ``corpus``.

What a test draws, it draws alike in each run, so that a change is judged by nothing but itself; a soak draws
anew.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.support import examples

from segue.agents import agent_variables
from segue.effects.vectors import minilm

pytest_plugins = ["tests.support.running"]

KILL_COUNT = int(os.environ.get("SEGUE_KILLS", "10"))
CORPUS = os.environ.get("SEGUE_CORPUS", "")

GIT_CONFIG = """\
[user]
    name = Test
    email = test@example.org
[init]
    defaultBranch = main
[commit]
    gpgSign = false
[safe]
    directory = *
"""

examples.use()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if not examples.IS_SOAK:
        random.seed(item.nodeid)


def isolate(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Point everything that looks for a home at this folder."""
    for name in list(os.environ):
        if name.startswith(("SEGUE_", "GIT_")) or name in agent_variables():
            patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("SEGUE_HOME", str(home / "segue"))
    for kind in ("data", "config", "cache", "state"):
        patch.setenv(f"XDG_{kind.upper()}_HOME", str(home / kind))
    runtime = home / "runtime"
    runtime.mkdir(mode=0o700)
    patch.setenv("XDG_RUNTIME_DIR", str(runtime))
    git_config = home / "gitconfig"
    git_config.write_text(GIT_CONFIG)
    patch.setenv("GIT_CONFIG_GLOBAL", str(git_config))
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.setenv("SEGUE_EMBEDDER", "static")


@pytest.fixture(scope="session", autouse=True)
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[Path]]:
    """New folders for homes, in a folder of their own: pytest looks through all of its for the next name."""
    base = tmp_path_factory.mktemp("homes", numbered=False)
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, base)
        patch.setattr(minilm, "installed", lambda: False)
        yield (base / str(number) for number in count())


@pytest.fixture(autouse=True)
def home(_homes: Iterator[Path]) -> Iterator[Path]:
    """The home of this one test. ``$SEGUE_HOME`` is in it, and does not exist yet."""
    folder = next(_homes)
    folder.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, folder)
        yield folder


@pytest.fixture(scope="session")
def kill_count() -> int:
    """How often a crash test kills: ``SEGUE_KILLS``, or a few."""
    return KILL_COUNT


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real transcripts that ``SEGUE_CORPUS`` names; without it the test is skipped."""
    if not CORPUS:
        pytest.skip("NOT TESTED on real transcripts: SEGUE_CORPUS names no folder")
    return Path(CORPUS)
