"""Real agents against a scripted model. They are installed once by npm into a folder that is kept:
``$SEGUE_E2E_CACHE``, else ``~/.cache/segue-e2e``. Without npm these tests are skipped, and it is said aloud.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.killed_agents.tally import table
from tests.support.programs import PROGRAMS, CannotInstall, installed, npm
from tests.support.rig import Rig

CACHE = Path(os.environ.get("SEGUE_E2E_CACHE") or Path.home() / ".cache" / "segue-e2e")
AGENTS = tuple(PROGRAMS)

MakeRig = Callable[..., Rig]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "e2e":
            item.add_marker(pytest.mark.timeout(900))  # the first test of an agent installs it


def pytest_terminal_summary(terminalreporter: Any) -> None:
    killed = [
        value
        for kind in ("passed", "failed")
        for one in terminalreporter.stats.get(kind, ())
        for name, value in getattr(one, "user_properties", ())
        if name == "killed agents"
    ]
    if killed:
        terminalreporter.write_sep("=", "agents that were killed")
        for line in table((agent, counts) for agent, *counts in sorted(killed)):
            terminalreporter.write_line(line)
    skipped = [one for one in terminalreporter.stats.get("skipped", ()) if "e2e" in str(one.nodeid)]
    if skipped:
        terminalreporter.write_sep("!", "END-TO-END TESTS DID NOT RUN", red=True, bold=True)
        terminalreporter.write_line(
            f"{len(skipped)} tests with real agents were skipped: npm and node 20 or newer are needed. "
            "Nothing of what they prove is proven here."
        )


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[MakeRig]:
    """Make a rig: ``rig("codex", scripts=[…])``, or of several agents; it is closed after the test."""
    with ExitStack() as stack:

        def make(*agents: str, scripts: Any = (), **more: Any) -> Rig:
            try:
                npm()
            except CannotInstall as fault:
                pytest.skip(f"NOT TESTED with real agents: {fault}")
            for agent in agents:
                installed(agent, CACHE)
            return stack.enter_context(Rig(tmp_path / "rig", agents, scripts, cache=CACHE, **more))

        yield make
