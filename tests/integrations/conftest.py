"""The tests of a framework are skipped, with a word, where it is not installed: `make test-integrations` has
all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.integrations.places import PLACES, Place
from tests.integrations.shown import Shown

FRAMEWORKS = {
    "langgraph": ("langgraph", "LangGraph"),
    "openai_agents": ("agents", "the OpenAI Agents SDK"),
    "pydantic_ai": ("pydantic_ai", "Pydantic AI"),
    "claude_agent": ("claude_agent_sdk", "the Claude Agent SDK"),
}


class NotInstalled(pytest.Module):
    """A module whose framework is missing."""

    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip(f"NOT TESTED: {self.missing} is not installed", allow_module_level=True)

    missing = ""


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    package, title = FRAMEWORKS.get(module_path.parent.name, ("", ""))
    if not package or find_spec(package) is not None:
        return None
    module: NotInstalled = NotInstalled.from_parent(parent, path=module_path)
    module.missing = title
    return module


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as opened:
        yield Place(request.param, tmp_path, opened)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as opened:
        yield Place("file", tmp_path, opened)


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Shown]:
    machine = Shown(tmp_path)
    yield machine
    machine.close()
