"""The guide to Pydantic AI runs."""

from __future__ import annotations

from pathlib import Path

from tests.integrations.guides import guide, run_guide

from segue.integrations.pydantic_ai import TESTED


def test_the_guide_runs_from_its_first_line_and_names_the_version_that_was_tested(tmp_path: Path) -> None:
    said = run_guide("pydantic-ai", tmp_path)
    assert "Pay the bill." in said and "The bill is paid." in said
    assert f"version {TESTED}" in guide("pydantic-ai")
