"""Runs that died before their agents wrote the prompt, or anything: what the user asked for is not lost.

A hook was told the prompt, so that the next run hears of it, and the run after that one, which says only
"continue". Once the agent has written a transcript, only that counts.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest
from tests.support.chains import HOOKS, Chain, ChainRun
from tests.support.runs import SECRET

from segue.core.runs.steps import Prompt
from segue.services.hooks.spool_drain import drain
from segue.services.runs.unwritten_runs import UnwrittenRun
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.on_off import switch

TASK = "Move the shop's login to signed tokens"


@pytest.fixture
def chain(home: Path, tmp_path: Path) -> Chain:
    return Chain(home, tmp_path / "shop")


def asked(run: ChainRun, text: str, **more: object) -> ChainRun:
    """The user types, a hook is told, and nothing else happens."""
    told = {"prompt": text, "text": text, "userPromptSubmit": {"prompt": text}}
    run.call(run.hooks.prompt, **told, **more)
    return run


def noted(chain: Chain) -> list[Path]:
    folder = chain.data / "hook" / "unwritten"
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("writes", [False, True], ids=["no transcript", "no prompt in it"])
@pytest.mark.parametrize("agent", HOOKS)
def test_what_was_asked_of_a_run_that_died_at_once_is_told_to_those_after_it(
    chain: Chain, agent: str, writes: bool
) -> None:
    first = asked(chain.begin(agent, writes=writes), TASK)
    second = chain.begin(agent)
    assert TASK in second.brief
    second.prompt("continue").edits("src/login.py").stop()
    third = chain.begin("opencode")
    assert TASK in third.brief and "src/login.py" in third.brief
    third.prompt("continue").edits("src/token.py").stop()
    assert TASK in chain.begin("codex").brief and chain.log() == ""
    with chain.open() as segue:
        for _ in range(2):
            assert [card.goal for card in segue.list()] == [TASK]
            runs = {run.id: run for run in segue.runs()}
            assert {first.native, second.native, third.native} <= {*runs}
            assert runs[first.native].goal == TASK
            segue.sync()
        assert len({run.session for run in segue.runs() if run.goal}) == 1


@pytest.mark.parametrize("agent", HOOKS)
def test_runs_that_all_die_before_they_write_lose_nothing(chain: Chain, agent: str) -> None:
    asked(chain.begin(agent, writes=False), TASK)
    for _ in range(3):
        run = chain.begin(agent, writes=False)
        assert TASK in run.brief
        asked(run, "continue")
    with chain.open() as segue:
        drain(segue.workspace)
        segue.sync()
        assert [card.goal for card in segue.list()] == [TASK]
        assert len(segue.runs()) == 4 and not any(run.written or run.present for run in segue.runs())


@pytest.mark.parametrize("agent", HOOKS)
def test_a_transcript_that_is_written_later_takes_the_place_of_what_hooks_saw(
    chain: Chain, agent: str
) -> None:
    run = asked(chain.begin(agent, writes=False), TASK)
    with chain.open() as segue:
        drain(segue.workspace)
        segue.sync()
        assert [(one.id, one.written) for one in segue.runs()] == [(run.native, False)]
    run.writes = True
    run.add(Prompt(0, TASK)).edits("src/login.py").stop()
    with chain.open() as segue:
        segue.sync()
        assert noted(chain) == []
        for _ in range(2):
            assert [(one.id, one.written, one.calls) for one in segue.runs()] == [(run.native, True, 1)]
            assert [card.goal for card in segue.list()] == [TASK]
            segue.sync()
    brief = chain.begin(agent).brief
    assert brief.count(TASK) == 1 and "src/login.py" in brief


@pytest.mark.parametrize("agent", ["gemini-cli", "codex"])
def test_a_transcript_that_its_agent_deletes_since_it_has_no_answer_takes_nothing_along(
    chain: Chain, agent: str
) -> None:
    run = asked(chain.begin(agent, writes=False), TASK)
    assert TASK in chain.begin(agent, writes=False).brief
    run.writes = True
    run.add(Prompt(0, TASK))
    with chain.open() as segue:
        segue.sync()
    assert TASK in chain.begin(agent, writes=False).brief
    assert run.path is not None
    run.path.unlink()
    assert TASK in chain.begin(agent, writes=False).brief
    with chain.open() as segue:
        segue.sync()
        assert [one.id for one in segue.runs()] == [run.native]


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_a_prompt_of_a_sub_agent_is_no_run(chain: Chain, agent: str) -> None:
    asked(chain.begin(agent, writes=False), TASK, agent_id="a-1", parent_id="s-1")
    assert chain.begin(agent).brief == "" and noted(chain) == []


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_where_segue_is_off_nothing_is_remembered(chain: Chain, agent: str) -> None:
    run = chain.begin(agent, writes=False)
    switch(DataFolder(chain.data), chain.project, on=False)
    asked(run, TASK)
    with chain.open() as segue:
        drain(segue.workspace)
    switch(DataFolder(chain.data), chain.project, on=True)
    assert chain.begin(agent).brief == "" and noted(chain) == []


@pytest.mark.parametrize("agent", HOOKS)
def test_a_secret_in_a_prompt_that_only_a_hook_saw_is_masked(chain: Chain, agent: str) -> None:
    asked(chain.begin(agent, writes=False), f"{TASK} with {SECRET}")
    brief = chain.begin(agent).brief
    assert TASK in brief and SECRET not in brief
    with chain.open() as segue:
        segue.sync()
        assert SECRET not in segue.list()[0].goal
    for path in (chain.home / "segue").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_run_whose_process_lives_is_at_work_and_not_taken_up(chain: Chain) -> None:
    asked(chain.begin("opencode", writes=False), TASK, pid=os.getpid())
    brief = chain.begin("opencode").brief
    assert TASK in brief and "is at work here now" in brief and "USER" not in brief


def test_what_is_too_old_to_be_continued_is_forgotten(chain: Chain) -> None:
    asked(chain.begin("opencode", writes=False), TASK)
    [file] = noted(chain)
    run = msgspec.json.decode(file.read_bytes(), type=UnwrittenRun)
    old = msgspec.structs.replace(run, at=time.time() - 400 * 86_400)
    file.write_bytes(msgspec.json.encode(old))
    assert chain.begin("opencode").brief == ""
    asked(chain.begin("claude-code", writes=False), "Draw the menu anew")
    assert "Draw the menu anew" in chain.begin("codex").brief
    assert file not in noted(chain)


def test_a_run_of_another_project_is_not_told(chain: Chain, tmp_path: Path) -> None:
    other = tmp_path / "bakery"
    other.mkdir()
    asked(chain.begin("claude-code", writes=False), TASK)
    assert chain.begin("claude-code", folder=other).brief == ""
    assert TASK in chain.begin("claude-code").brief
