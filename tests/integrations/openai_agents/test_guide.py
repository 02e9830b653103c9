"""The guide to the OpenAI Agents SDK runs."""

from __future__ import annotations

from pathlib import Path

from tests.integrations.guides import guide, run_guide

from segue.integrations.openai_agents import TESTED


def test_the_guide_runs_from_its_first_line_and_names_the_version_that_was_tested(tmp_path: Path) -> None:
    said = run_guide("openai-agents", tmp_path, OPENAI_AGENTS_DISABLE_TRACING="1")
    assert "Rain in Bonn." in said and "Take an umbrella." in said
    assert f"version {TESTED}" in guide("openai-agents")
