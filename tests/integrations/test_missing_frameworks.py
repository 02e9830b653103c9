"""Whoever imports an integration without its framework is told what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys
for name in ("agents", "pydantic_ai", "claude_agent_sdk", "langgraph"):
    sys.modules[name] = None
import segue.integrations.{module}
"""


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("langgraph", "langgraph"),
        ("openai_agents", "openai-agents"),
        ("pydantic_ai", "pydantic-ai"),
        ("claude_agent", "claude-agent"),
    ],
)
def test_a_missing_framework_is_named_with_the_extra_that_brings_it(module: str, extra: str) -> None:
    script = BLOCKED.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert f"install it with pip install 'segue[{extra}]'" in done.stderr
