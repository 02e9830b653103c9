"""The guide to the Claude Agent SDK runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integrations.claude_agent.program import environment
from tests.integrations.guides import guide, run_guide
from tests.support.scripted import Say, Script, ScriptedModel, Write

from segue.integrations.claude_agent import TESTED


@pytest.mark.timeout(180)
def test_the_guide_runs_from_its_first_line_and_names_the_version_that_was_tested(tmp_path: Path) -> None:
    scripts = [
        Script("first", [[Write("calc.py", "print(1 + 1)\n")], [Say("The calculator is written.")]]),
        Script("second", [[Say("Nothing is left.")]]),
    ]
    with ScriptedModel(scripts, folder=tmp_path / "shop", queue=["first", "second"]) as model:
        said = run_guide("claude-agent", tmp_path, **environment(Path(os.environ["HOME"]), model.url))
        assert said == "The calculator is written.\nNothing is left.\n"
        assert any("Write a calculator in calc.py." in sent.text for sent in model.sent("[segue]"))
    assert f"version {TESTED}" in " ".join(guide("claude-agent").split())
