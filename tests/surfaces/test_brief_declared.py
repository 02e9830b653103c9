"""What people and agents told Segue stands in `segue brief`, each kind of it, beside what the run did."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import work
from tests.support.told_runs import ToldRun
from tests.surfaces.conftest import Cli

from segue.core.runs.steps import Call, Change, Plan, PlanItem, Prompt, Result, Start, Step
from segue.testing.transcripts import placed

GOAL = "Refactor authentication to JWT"


@pytest.fixture
def repository(project: Path) -> Repository:
    made = Repository(project)
    (project / "auth.py").write_text("ok\n")
    return made


@pytest.fixture
def jwt(cli: Cli, repository: Repository) -> Cli:
    """A session with items."""
    cli("start", GOAL, "--id", "jwt", "--item", "user model", "--item", "token validation", "--item", "docs")
    return cli


def line(brief: str, label: str) -> str:
    found = [one for one in brief.split("\n") if one.startswith(label)]
    return found[0] if found else ""


def long_run(home: Path, project: Path, *extra: Step) -> None:
    """A run that fills its part of the brief."""
    at = time.time() + 1
    steps: list[Step] = [
        Start(at, "start", "run-1", str(project), "main"),
        Prompt(at, "Make the login of the shop use JWT tokens, in the web and in the command line"),
        *extra,
    ]
    for n in range(16):
        new = f"def validate_{n}(token):\n    return decode(token, secret=settings.jwt_secret, part={n})"
        change = Change(f"src/part{n}.py", "edit", "pass", new)
        steps += [
            Call(at + n, f"c{n}", "Edit", "edit", paths=(change.path,), changes=(change,)),
            Result(at + n, f"c{n}", True, None, "done"),
        ]
    steps += [
        Call(at + 20, "t", "Bash", "run", "pytest -q", "pytest -q"),
        Result(at + 21, "t", False, 1, "E   AssertionError: the token has expired\n1 failed in 0.3s"),
    ]
    placed("claude-code", steps, home=home, native="run-1", cwd=str(project))


DECLARATIONS = {
    "an open question": (["ask", "How long do tokens live?"], "QUESTIONS: How long do tokens live?"),
    "a decision": (["decide", "HS256", "--why", "one issuer"], "DECIDED: HS256 (one issuer)"),
    "a finding": (["learn", "The admin page reads the old cookie"], "LEARNT: The admin page reads"),
    "the focus": (["checkpoint", "--focus", "auth.py:40"], "FOCUS: auth.py:40"),
    "a thread": (["checkpoint", "--thread", "refresh tokens"], "THREADS: refresh tokens"),
    "a blocked item": (["block", "docs", "--reason", "no template"], "BLOCKED: docs (no template)"),
    "an error": (["checkpoint", "--error", "The sandbox rejects the key"], "FAILING: The sandbox rejects"),
    "a budget that is nearly spent": (
        ["budget", "--limit", "5", "--spent", "4.5"], "NOTICE: 90 % of the budget is spent: 4.5 of 5 USD",
    ),
    "a feature that nothing proves yet": (
        ["feature", "add", "login", "Users log in", "--check", f"{sys.executable} -c pass"],
        "UNPROVEN: login (not started",
    ),
    "a memory that bears on it": (
        ["remember", "Authentication by JWT: to refactor it, set JWT_SECRET first"],
        "REMEMBERED: Authentication by JWT",
    ),
    "a pause": (["pause", "--reason", "waiting for the keys"], "NOTICE: the session is paused"),
}  # fmt: skip


@pytest.mark.parametrize("what", DECLARATIONS)
def test_what_was_declared_stands_in_the_brief(jwt: Cli, what: str) -> None:
    words, wanted = DECLARATIONS[what]
    jwt(*words)
    assert wanted in jwt("brief").out


def test_what_was_learnt_is_not_told_as_remembered_again(jwt: Cli) -> None:
    jwt("learn", "To refactor the authentication, begin with the middleware")
    assert jwt("brief").out.count("begin with the middleware") == 1


def test_what_was_settled_is_told_no_more(jwt: Cli) -> None:
    jwt("ask", "How long do tokens live?")
    jwt("answer", "How long do tokens live?", "15 minutes")
    jwt("checkpoint", "--thread", "refresh tokens=done", "--error", "boom")
    jwt("checkpoint", "--solved", "boom", "a new key")
    jwt("block", "docs", "--reason", "no template")
    jwt("unblock", "docs")
    brief = jwt("brief").out
    for label in ("QUESTIONS", "THREADS", "FAILING", "BLOCKED", "NOTICE"):
        assert label not in brief, label


def test_all_of_it_fits_beside_a_run_that_fills_its_part(jwt: Cli, home: Path, project: Path) -> None:
    long_run(home, project)
    for words, _ in DECLARATIONS.values():
        if words[0] != "pause":
            jwt(*words)
    brief = jwt("brief").out
    assert len(brief.encode()) <= 2_049, "with the line end of the command"
    labels = ("NOTICE", "DECIDED", "UNPROVEN", "QUESTIONS", "FOCUS", "THREADS", "LEARNT", "REMEMBERED")
    shown = [one.partition(":")[0] for one in brief.split("\n") if one.startswith(labels)]
    assert shown == list(labels), "the most important first"
    for wanted in (
        "GOAL: Refactor",
        "in the web and in the command line",
        "$ pytest -q → FAILED",
        "BLOCKED: docs",
    ):
        assert wanted in brief, wanted
    assert brief.count("- edited src/part") >= 3


def test_declared_items_and_the_agents_own_are_one_list_in_which_nothing_stands_twice(
    jwt: Cli, home: Path, project: Path
) -> None:
    own = (
        PlanItem("Read auth.py", "done"), PlanItem("Token validation", "active"),
        PlanItem("Write the docs"), PlanItem("Test the expiry of tokens"),
    )  # fmt: skip
    long_run(home, project, Plan(0, own))
    jwt("done", "user model")
    listed = line(jwt("brief").out, "OPEN")
    assert (
        listed == "OPEN (2 of 6 done): now token validation; docs; Write the docs; Test the expiry of tokens"
    )


def test_an_item_that_the_agent_ticked_off_is_open_until_it_is_reported(
    jwt: Cli, home: Path, project: Path
) -> None:
    long_run(home, project, Plan(0, (PlanItem("docs", "done"), PlanItem("Test the expiry"))))
    assert "docs (ticked off by the agent, not reported as done)" in line(jwt("brief").out, "OPEN")
    jwt("done", "docs")
    assert "docs" not in line(jwt("brief").out, "OPEN")


def test_an_item_that_was_dropped_does_not_come_back_from_the_agents_list(
    jwt: Cli, home: Path, project: Path
) -> None:
    long_run(home, project, Plan(0, (PlanItem("docs"), PlanItem("Test the expiry"))))
    jwt("drop", "docs")
    assert line(jwt("brief").out, "OPEN").endswith("user model; token validation; Test the expiry")


def test_an_interrupted_handover_is_told_until_it_is_finished(jwt: Cli, repository: Repository) -> None:
    repository.commit("first")
    merging = repository.folder / ".git" / "MERGE_HEAD"
    merging.write_text("0" * 40)
    jwt("handover", "run", "--note", "JWT works", code=75)
    brief = jwt("brief").out
    assert (
        "NOTICE: a handover was interrupted before" in brief and "`segue handover run` continues it" in brief
    )
    merging.unlink()
    jwt("handover", "run")
    assert "a handover was interrupted" not in jwt("brief").out


def test_a_stale_proof_is_unproven_and_not_called_failing(jwt: Cli, project: Path) -> None:
    check = f"{sys.executable} -c pass"
    jwt("feature", "add", "login", "Users log in", "--check", check, "--covers", "auth.py")
    jwt("verify")
    assert "UNPROVEN" not in jwt("brief").out
    (project / "auth.py").write_text("changed\n")
    brief = jwt("brief").out
    assert "UNPROVEN: login (stale: covered files changed" in brief and "FAILING" not in brief


def test_the_goal_that_somebody_declared_comes_before_what_a_run_was_asked(
    jwt: Cli, home: Path, project: Path
) -> None:
    placed("codex", work(cwd=str(project)), home=home, native="run-1", cwd=str(project))
    brief = jwt("brief").out
    assert f"GOAL: {GOAL}" in brief and "Make the login use tokens, please" in brief


def test_a_goal_that_nobody_declared_is_only_the_request_of_a_run(
    cli: Cli, home: Path, project: Path
) -> None:
    steps = work(cwd=str(project))
    placed("codex", steps, home=home, native="run-1", cwd=str(project))
    cli("sync")
    assert "GOAL:" not in cli("brief").out
    cli("checkpoint", "--goal", "Ship the login")
    assert "GOAL: Ship the login" in cli("brief").out


def test_a_session_that_an_older_version_began_with_go_on_is_not_told_as_the_task(
    cli: Cli, home: Path, project: Path
) -> None:
    cli("--actor", "segue", "start", "go on", "--id", "old")
    assert "go on" not in cli("brief", "old").out.partition("[/segue]")[0]


def test_a_brief_says_that_its_session_was_completed(cli: Cli, home: Path, project: Path) -> None:
    cli("start", "Make the login work")
    run = ToldRun(str(project), native="0a1b2c3d-1", at=time.time()).asked("Make the login work")
    run.edited("auth.py").over().placed(home)
    cli("sync", "--session", cli("status", "--json").value["id"])
    assert "was completed" not in cli("brief").out
    cli("complete", "--summary", "JWT everywhere")
    assert "the session was completed: JWT everywhere" in cli("brief").out


def test_the_brief_that_is_explained_is_the_one_that_is_shown(
    jwt: Cli, repository: Repository, home: Path, project: Path
) -> None:
    jwt("feature", "add", "login", "Users can log in", "--check", "false")
    jwt("decide", "one table for rows and history")
    long_run(home, project)
    shown = jwt("brief").out.rstrip("\n").split("\n")
    explained = [line["text"] for line in jwt("brief", "--explain", "--json").value["lines"]]
    assert "\n".join(explained).split("\n")[1:-1] == shown[1:-1]
    assert any(line.startswith("DECIDED: ") for line in explained)
