"""One run has one id and one row, whichever way it is seen: by a hook, by discovery, by its path, by a tool
of MCP, or under a supervisor."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.chains import HOOKS, Chain, ChainRun
from tests.support.runs import environment, opened, place, work

from segue import Segue
from segue.agents import agent as agent_of
from segue.core.runs.steps import Prompt, Say, Start, Step
from segue.services.runs import assign_session
from segue.services.runs.caller import find_caller
from segue.services.runs.cursor import FileStamp
from segue.services.runs.observed import runs_of
from segue.services.runs.run import Run, key_of, row_of
from segue.services.runs.sync import sync
from segue.services.supervision.prompts import first_prompt, next_prompt, resume_prompt
from segue.services.workspace.begin_session import begin_session
from segue.services.workspace.open_session import find_session
from segue.surfaces.mcp.calls import Calls
from segue.testing.transcripts import MAKERS, placed, written

AGENTS = sorted(MAKERS)
GOAL = "Make the login use tokens, please"
PLAIN = ("claude-code", "codex", "gemini-cli", "copilot-cli")
"""Agents whose transcript is one file that can be copied alone, and names its conversation inside."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def by_hook(home: Path, project: Path, agent: str, path: Path) -> None:
    if agent not in HOOKS:
        return
    chain = Chain(home, project)
    run = ChainRun(chain, agent, "0a1b2c3d", project, time.time())
    run.path = path
    run.call(HOOKS[agent].prompt, prompt="and on", text="and on", userPromptSubmit={"prompt": "and on"})
    run.call(HOOKS[agent].stop, last_assistant_message="That is it.")


def by_discovery(home: Path, project: Path, agent: str, path: Path) -> None:
    with opened(home, project) as seg:
        seg.sync()


def by_path(home: Path, project: Path, agent: str, path: Path) -> None:
    with opened(home, project) as seg:
        seg.sync(paths=[path])


def by_folder(home: Path, project: Path, agent: str, path: Path) -> None:
    with opened(home, project) as seg:
        seg.sync(paths=[path.parent])


def by_mcp(home: Path, project: Path, agent: str, path: Path) -> None:
    variables = getattr(agent_of(agent), "traits").conversation_variables  # noqa: B009
    named = {variables[0]: "0a1b2c3d"} if variables else {}
    calls = Calls(project, environment(home, **named))
    calls.call("plan", {"goal": GOAL, "add": ["one", "two"]})
    calls.call("checkpoint", {"note": "half of it"})


def by_supervisor(home: Path, project: Path, agent: str, path: Path) -> None:
    with opened(home, project) as seg:
        begin_session(seg.workspace, GOAL, id="supervised")
        sync(seg.workspace, shares=True, paths=[path], session="supervised")


WAYS: tuple[Callable[[Path, Path, str, Path], None], ...] = (
    by_hook, by_path, by_folder, by_mcp, by_discovery, by_supervisor,
)  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("first", WAYS, ids=lambda way: way.__name__)
def test_a_run_that_is_seen_in_every_way_is_one_row_under_the_agents_own_id(
    first: Callable[[Path, Path, str, Path], None], agent: str, home: Path, project: Path
) -> None:
    path = place(home, project, agent, native="0a1b2c3d", old=20)
    for way in (first, *WAYS):
        way(home, project, agent, path)
        with opened(home, project) as seg:
            rows = [(row.native, row.path) for row in runs_of(seg.workspace).runs.rows()]
            assert rows in ([], [("0a1b2c3d", str(path))]), way.__name__
            assert [run.id for run in seg.runs()] == ["0a1b2c3d"], way.__name__


@pytest.mark.parametrize("agent", PLAIN)
def test_the_id_of_a_file_that_somebody_renamed_is_the_one_inside(
    agent: str, home: Path, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "logs" / "last week.jsonl"
    path.parent.mkdir()
    path.write_bytes(written(agent, work(native="0a1b2c3d", cwd=str(project)), native="0a1b2c3d"))
    with opened(home, project) as seg:
        seg.sync(paths=[path])
        assert [run.id for run in seg.runs()] == ["0a1b2c3d"]


@pytest.mark.parametrize("agent", PLAIN)
def test_a_copy_of_a_transcript_that_its_agent_still_has_is_no_other_run(
    agent: str, home: Path, project: Path, tmp_path: Path
) -> None:
    path = place(home, project, agent, native="0a1b2c3d")
    copy = tmp_path / f"copy{path.suffix}"
    shutil.copy2(path, copy)
    with opened(home, project) as seg:
        seg.sync(paths=[copy])
        assert [(run.id, run.path) for run in seg.runs()] == [("0a1b2c3d", str(path))]


def test_a_database_that_is_named_gives_its_conversations_and_one_without_any_says_so(
    home: Path, project: Path, tmp_path: Path
) -> None:
    place(home, project, "opencode", native="ses_one")
    path = place(home, project, "opencode", native="ses_two")
    other = tmp_path / "other" / "opencode.db"
    other.parent.mkdir()
    shutil.copy2(place(tmp_path / "else", tmp_path / "elsewhere", "opencode"), other)
    with opened(home, project) as seg:
        seg.sync(paths=[path])
        assert {run.id for run in seg.runs()} == {"ses_one", "ses_two"}
        done = seg.sync(paths=[other])
        assert [one.reason for one in done.unreadable] == ["it has no conversation of this project"]


@pytest.mark.parametrize("seen_by", ["hook", "sync"])
def test_a_task_of_cline_is_one_run_whichever_of_its_documents_is_there_first(
    seen_by: str, home: Path, project: Path
) -> None:
    path = place(home, project, "cline", native="0a1b2c3d", old=20)
    model = path.read_bytes()
    path.unlink()  # Cline shows the task before it asks the model
    session = ""
    for _ in range(2):
        if seen_by == "hook":
            by_hook(home, project, "cline", path)
        else:
            by_discovery(home, project, "cline", path)
        with opened(home, project) as seg:
            assert [run.id for run in seg.runs()] == ["0a1b2c3d"]
            assert len(runs_of(seg.workspace).runs.rows()) == 1
            session = seg.runs()[0].session
        path.write_bytes(model)
    with opened(home, project) as seg:
        assert [run.path for run in seg.runs()] == [str(path)] and seg.runs()[0].session == session
        seg.sync(paths=[path.with_name("ui_messages.json")])
        assert [run.path for run in seg.runs()] == [str(path)]


def test_a_rollout_that_codex_moved_to_its_archive_is_the_same_run(home: Path, project: Path) -> None:
    path = place(home, project, "codex", native="0a1b2c3d")
    with opened(home, project) as seg:
        seg.sync()
        before = seg.runs()[0].session
        moved = home / ".codex" / "archived_sessions" / path.name
        moved.parent.mkdir()
        path.rename(moved)
        seg.sync()
        assert [(run.id, run.path, run.session) for run in seg.runs()] == [("0a1b2c3d", str(moved), before)]
        assert len(runs_of(seg.workspace).runs.rows()) == 1


# -- stores that hold such a run already


def plant(seg: Segue, agent: str, native: str, path: Path, project: Path, session: str = "") -> str:
    """A row as an early version stored it, under the name of the file."""
    key = key_of(agent, native, str(path))
    run = Run(
        native, agent, key, project=str(project), session=session, path=str(path), cwd=str(project),
        began="2026-11-15T00:43:39.000000Z", last="2026-11-15T00:44:39.000000Z", ended="alive", goal=GOAL,
    )  # fmt: skip
    runs_of(seg.workspace).runs.put([row_of(run, FileStamp(), b"")])
    return key


@pytest.mark.parametrize("agent", ["codex", "opencode", "gemini-cli", "claude-code", "copilot-cli"])
def test_a_row_under_the_name_of_the_file_is_hidden_and_goes_when_the_run_is_read(
    agent: str, home: Path, project: Path
) -> None:
    path = place(home, project, agent, native="0a1b2c3d")
    with opened(home, project) as seg:
        plant(seg, agent, path.stem, path, project)
        assert [run.id for run in seg.runs()] == ["0a1b2c3d"]
        assert seg.run(path.stem).id == "0a1b2c3d"  # the old id still means the run
        seg.sync()
        assert [row.native for row in runs_of(seg.workspace).runs.rows()] == ["0a1b2c3d"]


@pytest.mark.parametrize(("agent", "stem"), [("codex", ""), ("opencode", "opencode")])
@pytest.mark.parametrize("known_before", [False, True])
def test_what_was_written_into_the_session_of_such_a_row_is_the_runs(
    known_before: bool, agent: str, stem: str, home: Path, project: Path
) -> None:
    path = place(home, project, agent, native="0a1b2c3d")
    with opened(home, project) as seg:
        if known_before:
            seg.sync()
        begin_session(seg.workspace, GOAL, items=["one", "two"], id="ghost")
        plant(seg, agent, stem or path.stem, path, project, "ghost")
        seg.sync()
        assert [run.session for run in seg.runs()] == ["ghost"]
        left = [card.status for card in seg.list() if card.id != "ghost"]
        assert left in ([], ["abandoned"])


@pytest.mark.parametrize("agent", ["codex", "opencode"])
def test_a_session_that_segue_began_for_such_a_row_alone_is_closed(
    agent: str, home: Path, project: Path
) -> None:
    path = place(home, project, agent, native="0a1b2c3d")
    with opened(home, project) as seg:
        seg.sync()
        [real] = seg.runs()
        native = "opencode" if agent == "opencode" else path.stem
        run = Run(
            native, agent, "feedbeef", project=str(project), path=str(path), cwd=str(project), goal=GOAL
        )
        assigner = assign_session.SessionAssigner(seg.workspace, [project], [])
        ghost = assigner._new(run, "Something that nobody asked for")
        assigner.commit()
        plant(seg, agent, native, path, project, ghost)
        seg.sync()
        assert [(run.id, run.session) for run in seg.runs()] == [("0a1b2c3d", real.session)]
        assert {card.id: card.status for card in seg.list()}[ghost] == "abandoned"


def test_a_row_of_a_conversation_that_its_agent_deleted_stays(home: Path, project: Path) -> None:
    place(home, project, "opencode", native="ses_one")
    path = place(home, project, "opencode", native="ses_two")
    with opened(home, project) as seg:
        plant(seg, "opencode", "ses_gone", path, project)
        plant(seg, "codex", "0dead", home / ".codex" / "rollout-2026-11-15T00-43-39-0dead.jsonl", project)
        seg.sync()
        assert {run.id for run in seg.runs()} == {"ses_one", "ses_two", "ses_gone", "0dead"}


# -- Segue's own words


@pytest.mark.parametrize("agent", ["codex", "claude-code", "opencode", "gemini-cli", "cline"])
@pytest.mark.parametrize("which", ["next", "resume", "unproven"])
def test_no_session_is_begun_for_a_prompt_of_segues_own(
    which: str, agent: str, home: Path, project: Path
) -> None:
    with opened(home, project) as seg:
        begin_session(seg.workspace, GOAL, items=["one"], id="auth")
        session = find_session(seg.workspace, "auth")
        prompt = {
            "next": lambda: next_prompt(seg.workspace, session, "the last one crashed", ()),
            "resume": lambda: resume_prompt(session, "it had crashed", ()),
            "unproven": lambda: resume_prompt(session, "not proven: check-1 failed", ()),
        }[which]()
        seg.session("auth").complete(force="it is over")
        steps: list[Step] = [
            Start(1.0, "start", "0a1b2c3d", str(project)),
            Prompt(2.0, prompt),
            Say(3.0, "I look at it."),
        ]
        placed(agent, steps, home=home, native="0a1b2c3d", cwd=str(project))
        seg.sync()
        [run] = seg.runs()
        goals = [card.goal for card in seg.list() if card.id != "auth"]
        assert not run.goal.startswith(("Go on with", "You stopped", "Nobody watches"))
        assert all(goal == GOAL for goal in goals)


def test_the_goal_of_a_launched_run_is_the_users_part_of_its_prompt(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        begin_session(seg.workspace, GOAL, items=["one", "two"], id="auth")
        session = find_session(seg.workspace, "auth")
        steps: list[Step] = [
            Start(1.0, "start", "0a1b2c3d", str(project)),
            Prompt(2.0, first_prompt(seg.workspace, session)),
        ]
        placed("codex", steps, home=home, native="0a1b2c3d", cwd=str(project))
        assert [run.goal for run in seg.runs()] == [GOAL]


@pytest.mark.parametrize("agent", ["codex", "opencode", "claude-code"])
def test_a_hook_of_a_supervised_run_leaves_it_in_the_session_of_its_supervisor(
    agent: str, home: Path, project: Path
) -> None:
    with opened(home, project) as seg:
        begin_session(seg.workspace, "Something else that is current", id="other")
        begin_session(seg.workspace, GOAL, id="auth")
    chain = Chain(home, project)
    chain.env |= {"SEGUE_SUPERVISED": "1", "SEGUE_SESSION": "auth"}
    run = chain.begin(agent)
    run.prompt("Go on with this work where it stopped. Why there is a new run: none.\nNobody watches: do it.")
    run.stop()
    with opened(home, project) as seg:
        assert [run.session for run in seg.runs()] == ["auth"]
        assert {card.id for card in seg.list()} == {"other", "auth"}


def test_a_named_session_takes_a_run_from_one_that_nobody_declared(home: Path, project: Path) -> None:
    path = place(home, project, "codex", native="0a1b2c3d")
    with opened(home, project) as seg:
        seg.sync()
        begin_session(seg.workspace, GOAL, id="auth")
        with path.open("ab") as file:
            file.write(b"\n")
        seg.sync(paths=[path], session="auth")
        assert [run.session for run in seg.runs()] == ["auth"]


# -- what is known of its process


@pytest.mark.parametrize("agent", ["gemini-cli", "opencode", "cline"])
def test_a_run_that_was_written_a_moment_ago_is_not_called_alive_unless_its_process_is_known(
    agent: str, home: Path, project: Path
) -> None:
    place(home, project, agent, native="0a1b2c3d", old=20, ends=False)
    with opened(home, project) as seg:
        [run] = seg.runs()
        assert run.ended in ("recent", "crashed")


@pytest.mark.parametrize("agent", ["gemini-cli", "opencode"])
def test_a_run_whose_process_a_hook_saw_ends_with_that_process(
    agent: str, home: Path, project: Path, sleeping: Callable[[], int]
) -> None:
    path = place(home, project, agent, native="0a1b2c3d", old=5, ends=False)
    pid = sleeping()
    with opened(home, project) as seg:
        found = next(iter(runs_of(seg.workspace).finder().found(agent)))
        sync(seg.workspace, found=[replace(found, sign="alive", pid=pid)])
        assert seg.runs()[0].ended == "alive"
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        assert seg.runs()[0].ended == "crashed"
        seg.sync()
        assert seg.runs()[0].ended == "crashed"
    assert path.exists()


@pytest.fixture
def sleeping() -> Callable[[], int]:
    """Starts processes that only sleep."""

    def start() -> int:
        return os.posix_spawn("/bin/sleep", ["sleep", "60"], {})

    return start


def test_a_conversation_that_ended_stays_ended_when_another_one_writes_to_the_same_database(
    home: Path, project: Path
) -> None:
    place(home, project, "opencode", native="ses_one", old=60)
    with opened(home, project) as seg:
        [found] = runs_of(seg.workspace).finder().found("opencode")
        sync(seg.workspace, found=[replace(found, sign="ended")])
        assert seg.run("ses_one").ended == "ended"
        place(home, project, "opencode", native="ses_two", old=5, ends=False)
        assert {run.id: run.ended for run in seg.runs()}["ses_one"] == "ended"
        seg.sync()
        assert seg.run("ses_one").ended == "ended"


def test_claude_code_registers_its_processes_and_a_run_of_none_of_them_is_over(
    home: Path, project: Path
) -> None:
    place(home, project, "claude-code", native="0a1b2c3d", old=5, ends=False)
    with opened(home, project) as seg:
        assert seg.runs()[0].ended == "recent"
        registry = home / ".claude" / "sessions"
        registry.mkdir()
        assert seg.runs()[0].ended == "crashed"
        other = {"pid": os.getpid(), "sessionId": "another", "cwd": str(project)}
        (registry / "1.json").write_text(json.dumps(other))
        assert seg.runs()[0].ended == "recent"  # that process may have begun it since it registered


def test_a_stored_run_that_is_found_no_more_is_not_alive_for_ever(home: Path, project: Path) -> None:
    path = place(home, project, "codex", native="0a1b2c3d", old=20, ends=False)
    with opened(home, project) as seg:
        plant(seg, "codex", "0dead", path.with_name("gone.jsonl"), project)
        assert {run.id: run.ended for run in seg.runs()}["0dead"] != "alive"
        assert seg.run("0dead").ended != "alive"


def test_the_caller_of_a_tool_is_the_run_that_discovery_lists(home: Path, project: Path) -> None:
    place(home, project, "codex", native="0a1b2c3d", old=5)
    with opened(home, project, CODEX_THREAD_ID="0a1b2c3d") as seg:
        caller = find_caller(seg.workspace)
        assert (caller.agent, caller.run) == ("codex", "0a1b2c3d")
        assert [row.native for row in runs_of(seg.workspace).runs.rows()] == ["0a1b2c3d"]
