"""Which run is meant: the same answer for every agent, and for everybody who asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.runs import opened, place

from segue.agents import agent as agent_of
from segue.agents.base import Found
from segue.errors import UnknownRun
from segue.services.runs.observed import runs_of
from segue.services.runs.select import (
    can_be_meant,
    earlier_runs,
    newest_other_run,
    newest_run,
    run_of_transcript,
    runs_meant,
)
from segue.testing.transcripts import MAKERS

AGENTS = sorted(MAKERS)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_only_run_of_a_project_is_the_newest_whichever_agent_made_it(agent: str, tmp_path: Path) -> None:
    place(tmp_path, tmp_path / "shop", agent, native="0a1b2c3d")
    finder = runs_of(opened(tmp_path, tmp_path / "shop").workspace).finder()
    found = newest_run(finder)
    assert found is not None and (found.agent, found.native) == (agent, "0a1b2c3d")
    assert newest_other_run(finder) == found
    assert newest_run(finder, agent=agent) == found and newest_run(finder, session="some session") == found


@pytest.mark.parametrize("agent", AGENTS)
def test_of_two_runs_the_one_that_was_written_last_is_meant(agent: str, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    place(tmp_path, project, agent, native="1older11", old=9000)
    place(tmp_path, project, agent, native="2newer22", old=60)
    finder = runs_of(opened(tmp_path, project).workspace).finder()
    newest = newest_run(finder)
    assert newest is not None and newest.native == "2newer22"
    assert [one.native for one in earlier_runs(finder, newest)] == ["1older11"]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_transcript_and_an_id_name_one_run_also_where_conversations_share_a_file(
    agent: str, tmp_path: Path
) -> None:
    project = tmp_path / "shop"
    first = place(tmp_path, project, agent, native="1older11", old=9000)
    second = place(tmp_path, project, agent, native="2newer22", old=60)
    finder = runs_of(opened(tmp_path, project).workspace).finder()
    paths = {one.native: one.path for one in finder.found()}
    assert (paths["1older11"] == paths["2newer22"]) == (first == second)
    for native in ("1older11", "2newer22"):
        meant = run_of_transcript(finder, paths[native], agent=agent, run=native)
        assert meant is not None and meant.native == native
    assert run_of_transcript(finder, paths["1older11"], agent=agent, run="3nobody3") is None
    assert run_of_transcript(finder, "/nowhere") is None


def test_two_conversations_of_opencode_lie_in_one_database_and_without_an_id_the_newer_is_meant(
    tmp_path: Path,
) -> None:
    project = tmp_path / "shop"
    place(tmp_path, project, "opencode", native="1older11", old=9000)
    database = place(tmp_path, project, "opencode", native="2newer22", old=60)
    finder = runs_of(opened(tmp_path, project).workspace).finder()
    meant = run_of_transcript(finder, str(database))
    assert meant is not None and meant.native == "2newer22"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_sub_agent_is_never_meant_and_an_empty_transcript_only_where_lines_are_counted(agent: str) -> None:
    assert can_be_meant(Found(agent, "/t", "x", 1.0, 10))
    assert not can_be_meant(Found(agent, "/t", "x", 1.0, 10, parent="lead"))
    assert can_be_meant(Found(agent, "/t", "x", 1.0, 0)) == (agent_of(agent).form != "lines")


def test_runs_of_another_session_are_left_out_and_those_of_none_are_not(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    seg = opened(tmp_path, project)
    place(tmp_path, project, "codex", native="1mine111", old=9000)
    mine = seg.start("the one", id="mine")
    seg.sync(session=mine.id)
    place(tmp_path, project, "codex", native="2other22", old=60)
    other = seg.start("the other", id="other")
    seg.sync(session=other.id)
    place(tmp_path, project, "codex", native="3nobody3", old=5)
    finder = runs_of(seg.workspace).finder()
    assert [one.native for one in runs_meant(finder, session="mine")] == ["3nobody3", "1mine111"]
    assert [one.native for one in runs_meant(finder)] == ["3nobody3", "2other22", "1mine111"]


def test_where_no_run_is_left_that_is_said(tmp_path: Path) -> None:
    finder = runs_of(opened(tmp_path, tmp_path / "shop").workspace).finder()
    assert newest_run(finder) is None
    with pytest.raises(UnknownRun, match="no agent has worked in this project"):
        newest_other_run(finder)
