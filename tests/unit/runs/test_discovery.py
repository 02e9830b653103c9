"""Which runs there are, which one is the newest, and that it is never the one that asks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.runs import environment, opened, place

from segue import UsageError
from segue.agents.base import Found
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, End, Interrupt, Prompt, Result, Say, Step
from segue.effects.git import repository as git
from segue.effects.processes.identity import ancestors, is_alive, open_files, start_of
from segue.errors import TranscriptUnreadable, UnknownRun
from segue.services.brief.project_brief import workspace_to_look
from segue.services.runs.discovery import RunFinder
from segue.services.runs.observed import runs_of
from segue.services.runs.read_transcript import final
from segue.services.runs.run import ending, goal_of, left_of
from segue.services.runs.select import find_run, newest_other_run
from segue.testing.transcripts import MAKERS

AGENTS = sorted(MAKERS)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def finder(home: Path, project: Path, **more: str) -> RunFinder:
    return RunFinder(project, environment(home, **more))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_of_each_agent_is_found_and_read(agent: str, home: Path, project: Path) -> None:
    place(home, project, agent, native="0a1b2c3d")
    found = newest_other_run(finder(home, project))
    assert found.agent == agent
    reading = finder(home, project).reading(found)
    assert reading.digest.first_prompt is not None
    assert goal_of(reading.digest) == "Make the login use tokens, please"


def test_the_newest_run_is_the_answer_whichever_agent_made_it(home: Path, project: Path) -> None:
    for place_, agent in enumerate(AGENTS):
        place(home, project, agent, native=f"run-{agent}", old=5000.0 - 500 * place_)
    assert newest_other_run(finder(home, project)).agent == AGENTS[-1]
    found = list(finder(home, project).found())
    assert [one.agent for one in found] == list(reversed(AGENTS))
    assert [one.agent for one in finder(home, project).found("codex")] == ["codex"]


def test_runs_of_other_projects_are_not_found_here(home: Path, project: Path, tmp_path: Path) -> None:
    place(home, tmp_path / "elsewhere", "codex")
    with pytest.raises(UnknownRun):
        newest_other_run(finder(home, project))
    everywhere = RunFinder(project, environment(home), everywhere=True)
    assert newest_other_run(everywhere).cwd == str(tmp_path / "elsewhere")


def test_runs_in_another_worktree_of_the_repository_are_the_projects(home: Path, tmp_path: Path) -> None:
    main, side = tmp_path / "main", tmp_path / "side"
    main.mkdir()
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(side)],
    ):
        subprocess.run(["git", "-C", str(main), *words], check=True, capture_output=True)
    for folder in (main, side):
        repository = git.find(folder)
        assert repository is not None and set(git.worktrees(repository)) == {main, side}
    place(home, side, "codex")
    assert newest_other_run(finder(home, main)).cwd == str(side)


def test_an_id_is_given_whole_by_its_beginning_or_with_its_agent(home: Path, project: Path) -> None:
    place(home, project, "codex", native="aaaa-1111")
    place(home, project, "claude-code", native="aaaa-2222")
    place(home, project, "copilot-cli", native="aaaa-2222")
    look = finder(home, project)
    assert find_run(look, "aaaa-1").native == "aaaa-1111"
    assert find_run(look, "copilot-cli/aaaa").agent == "copilot-cli"
    assert find_run(look, find_run(look, "aaaa-1").path).agent == "codex"
    with pytest.raises(UsageError, match="3 runs") as several:
        find_run(look, "aaaa")
    assert "claude-code/aaaa-2222" in several.value.hint
    with pytest.raises(UnknownRun):
        find_run(look, "bbbb")
    with pytest.raises(UsageError):
        find_run(look, "")


def test_an_agent_whose_discovery_fails_costs_only_its_own_runs(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(where: object) -> object:
        raise RuntimeError("a bug of a third party")

    monkeypatch.setattr("segue.agents.codex.AGENT.find", fail, raising=False)
    place(home, project, "claude-code")
    look = finder(home, project)
    assert newest_other_run(look).agent == "claude-code"
    assert "a bug of a third party" in look.faults[0].message


# -- the run that asks


@pytest.mark.parametrize(
    ("agent", "variable"), [("claude-code", "CLAUDE_CODE_SESSION_ID"), ("gemini-cli", "GEMINI_SESSION_ID")]
)
def test_the_run_that_the_environment_names_is_not_the_answer(
    agent: str, variable: str, home: Path, project: Path
) -> None:
    place(home, project, "codex", native="older", old=9000)
    place(home, project, agent, native="0asking0", old=1)
    assert newest_other_run(finder(home, project)).native == "0asking0"
    assert newest_other_run(finder(home, project, **{variable: "0asking0"})).native == "older"


def test_a_run_whose_process_is_among_our_ancestors_is_not_the_answer(home: Path, project: Path) -> None:
    look = finder(home, project)
    found = Found("codex", "/nowhere", "x", time.time(), 10, str(project), pid=os.getppid())
    assert look.is_caller(found)
    assert not look.is_caller(Found("codex", "/nowhere", "x", 0.0, 10, str(project), pid=2**22 + 1))


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: only Linux tells which files are open")
def test_a_run_whose_transcript_an_ancestor_has_open_is_not_the_answer(home: Path, project: Path) -> None:
    place(home, project, "codex", native="older", old=9000)
    path = place(home, project, "codex", native="asking", old=1)
    script = (
        "import subprocess, sys\n"
        f"file = open({str(path)!r}, 'ab')\n"
        "inner = '''from pathlib import Path\nfrom segue.services.runs.discovery import RunFinder\n"
        "from segue.services.runs.select import newest_other_run\n"
        f"print(newest_other_run(RunFinder(Path({str(project)!r}), {environment(home)!r})).native)'''\n"
        "print(subprocess.run([sys.executable, '-c', inner], capture_output=True, text=True).stdout)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "older"


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "copilot-cli", "cline"])
def test_a_run_whose_last_command_runs_segue_is_not_the_answer(agent: str, home: Path, project: Path) -> None:
    from segue.testing.transcripts import placed

    place(home, project, "codex", native="older", old=9000)
    t = time.time()
    asking: list[Step] = [
        Prompt(t, "What was done here before?"),
        Call(t, "c1", "Bash", "run", text="cd x && segue brief", command="cd x && segue brief"),
    ]
    placed(agent, asking, home=home, native="0asking0", cwd=str(project))
    assert newest_other_run(finder(home, project)).native == "older"
    answered = [*asking, Result(t, "c1", ok=True, exit=0, text="…"), Say(t, "I see.")]
    placed(agent, answered, home=home, native="0asking0", cwd=str(project))
    assert newest_other_run(finder(home, project)).native == "0asking0"


def test_processes_and_their_ancestors_are_told() -> None:
    assert ancestors(os.getpid())[:2] == (os.getpid(), os.getppid())
    assert is_alive(os.getpid()) and not is_alive(0) and not is_alive(2**22 + 1)
    if sys.platform == "linux":
        ticks = start_of(os.getpid()).partition(":")[2]
        assert is_alive(os.getpid(), ticks) and not is_alive(os.getpid(), "1")
        with open(__file__) as file:
            assert os.path.realpath(file.name) in {os.path.realpath(p) for p in open_files(os.getpid())}


# -- how it ended


def test_how_a_run_ended_comes_from_its_last_steps_and_its_age() -> None:
    prompt, said = Prompt(1.0, "do it"), Say(2.0, "done")
    call = Call(2.0, "c", "Bash", "run", command="make")
    assert left_of(fold([prompt, call])) == "middle"
    assert left_of(fold([prompt])) == "middle"
    assert left_of(fold([prompt, said])) == "turn"
    assert left_of(fold([prompt, call, Interrupt(3.0)])) == "interrupted"
    assert left_of(fold([prompt, call, Interrupt(3.0), prompt, said])) == "turn"
    assert left_of(fold([prompt, said, End(3.0, "exit")])) == "ended"
    assert left_of(fold([prompt, End(3.0, "error", "overloaded")])) == "crashed"
    table = {
        ("middle", "", 10.0): "recent", ("middle", "", 1000.0): "crashed", ("middle", "alive", 1e6): "alive",
        ("turn", "", 10.0): "waiting", ("turn", "", 1e6): "ended", ("turn", "ended", 10.0): "ended",
        ("turn", "crashed", 10.0): "crashed", ("interrupted", "", 1e6): "interrupted",
    }  # fmt: skip
    for (left, sign, age), expected in table.items():
        assert ending(left, sign, age) == expected  # type: ignore[arg-type]


def test_the_goal_is_the_first_prompt_that_says_something() -> None:
    steps = [
        Prompt(1.0, "hi"),
        Prompt(2.0, "Move the   cart\nto Redis"),
        Prompt(3.0, "and then the tests too"),
    ]
    assert goal_of(fold(steps)) == "Move the cart to Redis"
    assert goal_of(fold([Prompt(1.0, "go")])) == "go"
    assert goal_of(fold([])) == ""
    assert len(goal_of(fold([Prompt(1.0, "word " * 200)]))) <= 160


# -- what only we still have


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_whose_transcript_was_deleted_is_found_and_read_from_the_archive(
    agent: str, home: Path, project: Path
) -> None:
    path = place(home, project, agent, native="0a1b2c3d")
    with opened(home, project) as seg:
        look = runs_of(seg.workspace).finder()
        before = final(look.reading(find_run(look, "0a1b")), look_agent(agent))
        seg.sync()
    if agent in ("cline", "roo"):
        shutil.rmtree(path.parent)
    else:
        path.unlink()
    look = runs_of(opened(home, project).workspace).finder()
    found = find_run(look, "0a1b")
    assert final(look.reading(found), look_agent(agent)).prompts == before.prompts
    assert look.runs is not None
    look.runs.drop([look.key(found)])  # and without its digest: from the copy alone
    again = look.reading(found)
    assert final(again, look_agent(agent)).plan == before.plan
    assert [type(step).__name__ for step in look.steps(found)].count("Prompt") == 1


def look_agent(name: str):
    from segue.agents import agent

    return agent(name)


def test_a_run_that_is_gone_without_a_copy_says_so(home: Path, project: Path) -> None:
    path = place(home, project, "codex", native="0a1b2c3d")
    look = finder(home, project)
    found = newest_other_run(look)
    path.unlink()
    with pytest.raises(TranscriptUnreadable, match="gone"):
        look.reading(found)
    with pytest.raises(TranscriptUnreadable, match="gone"):
        list(look.steps(found))


def test_looking_without_a_store_makes_none(home: Path, project: Path) -> None:
    place(home, project, "codex")
    look = runs_of(workspace_to_look(project, environment(home))).finder()
    look.reading(newest_other_run(look))
    assert not (home / "segue").exists()
