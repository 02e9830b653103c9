"""What a brief is made of is the same for everybody who asks, whichever agent did the work."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.git import Repository
from tests.support.runs import environment, opened, place

from segue import Segue
from segue.services.brief.project_brief import brief_here, workspace_to_look
from segue.services.resume import restore
from segue.services.workspace import open_workspace
from segue.services.workspace.open_store import open_store
from segue.testing.transcripts import MAKERS

AGENTS = sorted(MAKERS)
GOAL = "Make the login use tokens, please"
PACKAGE = Path(open_workspace.__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    Repository(folder).commit("first")
    return folder


def seg_with_a_run(agent: str, home: Path, project: Path) -> Segue:
    place(home, project, agent, native="0a1b2c3d", ends=False)
    return opened(home, project)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_brief_the_manifest_the_restoration_the_offer_and_the_report_tell_of_the_run(
    agent: str, tmp_path: Path, project: Path
) -> None:
    seg = seg_with_a_run(agent, tmp_path, project)
    assert GOAL in brief_here(seg.workspace)
    prepared = seg.prepare()
    assert prepared.run == "0a1b2c3d"
    assert GOAL in Path(prepared.path).read_text()
    assert GOAL in seg.restore(budget="minimal").text
    assert restore.RestorationSources(seg.workspace, None, quotes=False).runs.run == "0a1b2c3d"
    assert [one.id for one in seg.since(start="2h").runs] == ["0a1b2c3d"]
    session = seg.start("Ship it", id="ship")
    assert GOAL in Path(seg.handoff(session.id, "codex").file).read_text()


@pytest.mark.parametrize("agent", AGENTS)
def test_since_counts_from_the_last_run_where_nothing_else_was_kept(
    agent: str, tmp_path: Path, project: Path
) -> None:
    seg = seg_with_a_run(agent, tmp_path, project)
    assert "transcript of the last run" in seg.since().derived


@pytest.mark.parametrize("agent", AGENTS)
def test_a_manifest_of_a_transcript_tells_of_the_conversation_that_is_named(
    agent: str, tmp_path: Path, project: Path
) -> None:
    place(tmp_path, project, agent, native="1older11", prompt="Paint the shed green", old=9000)
    place(tmp_path, project, agent, native="2newer22", prompt="Count the apples", old=60)
    seg = opened(tmp_path, project)
    for native, goal in (("1older11", "Paint the shed green"), ("2newer22", "Count the apples")):
        path = next(run.path for run in seg.runs() if run.id == native)
        prepared = seg.prepare(transcript=path, agent=agent, run=native)
        told = json.loads(Path(prepared.path).read_text())
        assert prepared.run == native and goal in json.dumps(told)


def test_a_brief_opens_the_store_once(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seg = seg_with_a_run("codex", tmp_path, project)
    seg.start("Ship it", items=["pack"], id="ship")
    seg.sync()
    seg.close()
    opens: list[str] = []

    def counted(*where: Any, **more: Any) -> Any:
        opens.append("store")
        return open_store(*where, **more)

    monkeypatch.setattr(open_workspace, "open_store", counted)
    with workspace_to_look(project, environment(tmp_path)) as workspace:
        assert GOAL in brief_here(workspace)
    assert len(opens) == 1


def test_nobody_else_puts_the_facts_of_a_brief_together() -> None:
    """``services/brief/runs_summary.py`` calls ``core.brief.facts``, and what is shipped for tests does."""
    callers = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("brief.facts"):
                names = {alias.name for alias in node.names}
                callers += [path.relative_to(PACKAGE).as_posix()] if "facts" in names else []
    assert sorted(callers) == ["services/brief/runs_summary.py", "testing/readers.py"]
