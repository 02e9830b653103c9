"""What a supervised run begins with: its session, its checks, its plan, its agents and their words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.scripted_agents import CLAUDE

from segue import Segue
from segue.core.base.values import seconds_of
from segue.core.runs.brief_text import split_brief
from segue.core.runs.steps import Prompt, Say, Start, Step
from segue.core.sessions import commands as do
from segue.effects.processes.launch import LeftoverProcess
from segue.errors import NotInstalled, SessionOver, UsageError
from segue.services.supervision import begin, launchers, prompts, record
from segue.services.supervision.record import Supervision
from segue.testing.transcripts import placed

NOON = seconds_of("2026-11-15T12:00:00Z")


@pytest.fixture
def segue(seg: Segue) -> Segue:
    """With a session that a supervisor left in the middle."""
    record.save(seg.start("Make good.txt", id="work"), Supervision(CLAUDE))
    return seg


# -- which session ----------------------------------------------------------------------------------


def test_the_same_goal_goes_on_in_the_session_in_which_it_was_cut_off(segue: Segue) -> None:
    assert begin.session_for(segue.workspace, " Make\n good.txt").id == "work"


def test_another_goal_gets_a_session_of_its_own(segue: Segue) -> None:
    made = begin.session_for(segue.workspace, "Make bad.txt")
    assert made.id != "work" and made.state.goal == "Make bad.txt"


def test_a_goal_whose_work_ended_begins_anew(segue: Segue) -> None:
    record.save(segue.session("work"), Supervision(CLAUDE, outcome="gave up"))
    assert begin.session_for(segue.workspace, "Make good.txt").id != "work"


def test_a_session_that_nobody_supervised_is_not_taken(seg: Segue) -> None:
    seg.start("Make good.txt", id="mine")
    assert begin.session_for(seg.workspace, "Make good.txt").id != "mine"


def test_without_a_current_session_a_new_one_is_begun(seg: Segue) -> None:
    assert begin.session_for(seg.workspace, "Make good.txt").state.goal == "Make good.txt"


def test_a_session_can_be_named_with_its_own_goal_or_none(segue: Segue) -> None:
    session = segue.session("work")
    begin.check_goal(session, "")
    begin.check_goal(session, "Make  good.txt")
    with pytest.raises(UsageError, match="another goal"):
        begin.check_goal(session, "Make bad.txt")


def test_a_session_that_is_over_is_refused_and_one_that_is_paused_goes_on(segue: Segue) -> None:
    session = segue.session("work")
    session.pause("lunch")
    begin.refuse_if_over(session, "hint")
    begin.resume_if_paused(session)
    assert session.state.status == "active"
    version = session.state.version
    begin.resume_if_paused(session)
    assert session.state.version == version
    session.complete()
    with pytest.raises(SessionOver, match="work is completed"):
        begin.refuse_if_over(session, "hint")
    session.undo()
    session.abandon()
    with pytest.raises(SessionOver, match="work is abandoned"):
        begin.refuse_if_over(session, "hint")


# -- what proves it, and the plan -------------------------------------------------------------------


def test_each_check_that_is_new_becomes_a_feature_with_a_number_that_is_free(segue: Segue) -> None:
    session = segue.session("work")
    begin.declare_checks(session, begin.checks_of(["test -f good.txt", "make lint"]))
    features = session.state.features
    assert {id: feature.description for id, feature in features.items()} == {
        "check-1": "test -f good.txt passes", "check-2": "make lint passes",
    }  # fmt: skip
    version = session.state.version
    begin.declare_checks(session, begin.checks_of(["make lint", "test -f good.txt"]))
    assert session.state.version == version, "they are there already"
    begin.declare_checks(session, begin.checks_of(["make docs"]))
    assert list(session.state.features) == ["check-1", "check-2", "check-3"]
    assert session.state.features["check-3"].checks[0].text == "make docs"


def test_items_are_planned_in_a_session_that_is_at_work(segue: Segue) -> None:
    session = segue.session("work")
    begin.add_items(session, ["one", "two"])
    begin.add_items(session, [])
    assert [item.text for item in session.state.items] == ["one", "two"]
    session.pause()
    begin.add_items(session, ["three"])
    assert len(session.state.items) == 2


# -- which agents -----------------------------------------------------------------------------------


@pytest.fixture
def programs(seg: Segue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setitem(seg.workspace.environment, "PATH", str(folder))
    yield folder


def install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)


def test_agents_are_named_by_their_names_or_their_programs_each_once(seg: Segue, programs: Path) -> None:
    install(programs, "claude", "codex")
    chosen = launchers.chosen(seg.workspace, ["codex", "claude", "claude-code"])
    assert chosen == ("codex", "claude-code")


def test_an_agent_that_is_not_installed_or_cannot_be_launched_is_refused(seg: Segue, programs: Path) -> None:
    install(programs, "claude")
    with pytest.raises(NotInstalled, match="codex is not on PATH"):
        launchers.chosen(seg.workspace, ["claude", "codex"])
    with pytest.raises(UsageError, match="roo cannot be launched"):
        launchers.chosen(seg.workspace, ["claude", "roo"])


def test_without_a_wish_it_is_the_agent_that_worked_here_last(seg: Segue, programs: Path, home: Path) -> None:
    install(programs, "claude", "codex")
    assert launchers.chosen(seg.workspace, []) == ("claude-code",), "nobody did: the first that is there"
    folder = str(seg.workspace.working_tree.root)
    steps: list[Step] = [Start(NOON, "start", native="n", cwd=folder), Prompt(NOON, "hi"), Say(NOON, "hello")]
    placed("codex", steps, home=home, native="n", cwd=folder)
    assert launchers.chosen(seg.workspace, []) == ("codex",)
    (programs / "codex").unlink()
    assert launchers.chosen(seg.workspace, []) == ("claude-code",), "it is not installed any more"


def test_without_any_agent_there_is_nobody_to_launch(seg: Segue, programs: Path) -> None:
    with pytest.raises(NotInstalled, match="no agent is on PATH"):
        launchers.chosen(seg.workspace, [])


# -- what agents are told ---------------------------------------------------------------------------


def test_the_first_is_told_the_goal_the_plan_and_what_must_be_proven(segue: Segue) -> None:
    session = segue.session("work")
    alone = f"Make good.txt\n\n[segue] {prompts.ALONE}.\n[/segue]"
    assert prompts.first_prompt(segue.workspace, session) == alone
    session.add(*(f"item {number}" for number in range(prompts.ITEMS_MAX + 1)))
    session.features.add("f", "it is there", checks=["test -f good.txt", "true"])
    session.features.add("g", "it looks good")
    lines = prompts.first_prompt(segue.workspace, session).split("\n")
    assert lines[:4] == ["Make good.txt", "", "[segue] Plan:", "- item 0"]
    assert sum(line.startswith("- item") for line in lines) == prompts.ITEMS_MAX
    assert lines[-6:] == [
        prompts.MARKING, "It is done when this is proven:", "- it is there (test -f good.txt; true)",
        "- it looks good", prompts.PROOF, "[/segue]",
    ]  # fmt: skip


def test_where_something_was_done_before_the_first_is_told_where_the_work_stands(segue: Segue) -> None:
    session = segue.session("work")
    session.done("the easy part")
    told = prompts.first_prompt(segue.workspace, session)
    assert told.startswith("[segue] Where the work stands") and told.endswith("\n\nMake good.txt")
    assert split_brief(told)[1] == "Make good.txt", "only the goal is the user's"


def test_one_that_goes_on_is_told_why_and_what_still_runs(segue: Segue) -> None:
    left = [LeftoverProcess(number, f"npm run {number} {'x' * 200}") for number in range(1, 8)]
    session = segue.session("work")
    told = prompts.resume_prompt(session, "crashed", left)
    assert told.startswith("[segue] Go on with the work; your process was started again (crashed).")
    assert "pid 5: npm run 5" in told and "pid 6" not in told and "x" * 160 not in told
    words = f"Go on with the work; your process was started again (it had stopped).\n{prompts.ALONE}."
    assert prompts.resume_prompt(session, "", []) == f"[segue] {words}\n[/segue]"
    unproven = prompts.resume_prompt(session, "not proven: x fails", [])
    assert "You stopped, but it is not proven: x fails" in unproven
    assert split_brief(unproven)[1] == "", "none of it is the user's"


def test_a_fresh_one_is_told_where_the_work_stands_and_why_it_is_there(segue: Segue) -> None:
    session = segue.session("work")
    session.apply(do.Decide("use HS256"))
    told = prompts.next_prompt(segue.workspace, session, "", [LeftoverProcess(7, "npm run dev")])
    assert "use HS256" in told and "Why there is a new run: the last one stopped." in told
    assert "pid 7: npm run dev" in told
    assert split_brief(told)[1] == "", "none of it is the user's"


# -- checks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "make && make test",
        "pytest -q | tail -1",
        "test -f *.txt",
        "CI=1 make",
        "test -n $HOME",
        "(cd a; make)",
    ],
)
def test_a_check_that_needs_a_shell_is_run_by_one_and_named_as_it_was_typed(command: str) -> None:
    [check] = begin.checks_of([command])
    assert check.shell and check.text == command


def test_a_check_that_needs_no_shell_gets_none() -> None:
    [check] = begin.checks_of([" pytest -q 'a b' "])
    assert not check.shell and check.command == ("pytest", "-q", "a b")


@pytest.mark.parametrize("command", ["echo 'x && true", "echo 'x", "", " "])
def test_a_check_that_cannot_be_read_is_refused(command: str) -> None:
    with pytest.raises(UsageError):
        begin.checks_of([command])
