"""Every agent's reader passes the suite that we ship."""

from __future__ import annotations

import pytest

from segue.agents import agent
from segue.core.runs.steps import Settled, Title
from segue.testing import ReaderSuite
from segue.testing.transcripts import maker


class Scaled(ReaderSuite):
    """A tenth of the fuzzing, all of it in a soak."""

    @pytest.fixture(autouse=True)
    def _scaled(self, kill_count: int) -> None:
        self.scale = min(1.0, max(0.05, kill_count / 100))


class TestClaudeCode(Scaled):
    agent = agent("claude-code")
    maker = maker("claude-code")


class TestCodex(Scaled):
    agent = agent("codex")
    maker = maker("codex")
    cache_writes = False
    unsaid = frozenset({Title})
    acts = frozenset({"run", "edit", "create"})  # it reads with a shell
    typed = frozenset({"queued"})  # a command is not written down, and a refusal has no words


class TestOpenCode(Scaled):
    agent = agent("opencode")
    maker = maker("opencode")
    unsaid = frozenset({Settled})  # only sub-agents go on in the background, no commands


class TestGeminiCli(Scaled):
    agent = agent("gemini-cli")
    maker = maker("gemini-cli")
    cache_writes = False
    typed = frozenset({"queued", "command"})  # only a plan is rejected with words
    pending = False  # a call is written when it has ended


class TestCopilotCli(Scaled):
    agent = agent("copilot-cli")
    maker = maker("copilot-cli")


class TestCline(Scaled):
    agent = agent("cline")
    maker = maker("cline")
    unsaid = frozenset({Title, Settled})  # a command that goes on has no id but its command line
    typed = frozenset({"command", "refusal"})


class TestRoo(Scaled):
    agent = agent("roo")
    maker = maker("roo")
    unsaid = frozenset({Title, Settled})  # a command that goes on has no id but its command line
    typed = frozenset({"command", "refusal"})
    ids = False
