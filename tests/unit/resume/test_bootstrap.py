"""Starting from a manifest: what is said, what is found to differ, and that it ends in time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.git import Repository
from tests.support.runs import SECRET, opened, place

from segue import Boot, Segue, UsageError
from segue.core.base.values import seconds_of
from segue.services.brief.project_brief import brief_of_session
from segue.services.workspace.own_files import MANIFEST_HERE

AGENTFLOW: dict[str, Any] = {
    "session_metadata": {
        "project": "checkout", "phase": "implementation", "timestamp": "2026-11-14T18:00:00Z",
        "context_usage_before": "0.83",
    },
    "completed_tasks": ["Design the API", {"task": "Write the model"}],
    "pending_tasks": [
        {"task": "Write the routes", "priority": "high", "status": "in_progress", "context": "half done"},
        {"task": "Write the docs", "priority": "LOW"}, "Measure it",
    ],
    "active_state": {"current_work": "Write the routes", "last_file_modified": "api/routes.py"},
    "critical_context": {"key_decisions": ["HS256"], "next_steps": ["Run the tests"]},
    "memory_pointers": {"git_branch": "main", "modified_files": "api/routes.py"},
    "bootstrap_instructions": ["1. Read PROJECT_STATE.md"],
    "something_of_theirs": {"x": 1},
}  # fmt: skip


@pytest.fixture
def seg(home: Path, repo: Repository) -> Segue:
    return opened(home, repo.folder, PATH=os.environ["PATH"])


def found(boot: Boot, name: str) -> tuple[bool | None, str, str]:
    [one] = [one for one in boot.findings if one.name == name]
    return one.ok, one.says, one.mend


def started(seg: Segue) -> None:
    session = seg.start("Use tokens", items=["model", "routes", "docs"], id="jwt")
    session.checkpoint(done=["model"], begin=["routes"])


def test_it_says_project_phase_environment_counts_and_the_next_action(seg: Segue, repo: Repository) -> None:
    started(seg)
    seg.prepare(reason="before exit")
    boot = seg.bootstrap()
    assert (boot.project, boot.session, boot.goal) == ("shop", "jwt", "Use tokens")
    assert (boot.phase, boot.done, boot.pending) == ("active, 1 of 3 done", 1, 2)
    assert boot.next_action == "Continue: routes"
    assert boot.environment == f"main @ {repo.head()[:9]}"
    assert boot.ready and boot.differs == 0 and boot.reason == "before exit"
    assert 0 < boot.seconds < 30
    assert found(boot, "folder")[0] is found(boot, "branch")[0] is found(boot, "head")[0] is True


def test_a_file_of_agentflow_is_read_with_all_that_it_says(seg: Segue, repo: Repository) -> None:
    (repo.folder / MANIFEST_HERE).write_text(json.dumps(AGENTFLOW))
    boot = seg.bootstrap()
    assert (boot.project, boot.phase) == ("checkout", "implementation")
    assert (boot.done, boot.pending) == (2, 3)
    assert boot.next_action == "Continue: Write the routes"
    assert boot.instructions == ("1. Read PROJECT_STATE.md",)
    assert boot.source == str(repo.folder / MANIFEST_HERE)
    assert found(boot, "branch")[0] is True


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"x": 1}', "\x00\xff", '"text"'])
def test_a_file_that_is_no_manifest_is_passed_over_and_refused_if_it_was_named(
    body: str, seg: Segue, repo: Repository
) -> None:
    (repo.folder / MANIFEST_HERE).write_text(body)
    boot = seg.bootstrap()
    assert boot.source == "" and boot.project == "shop"
    with pytest.raises(UsageError):
        seg.bootstrap(path=repo.folder / MANIFEST_HERE)


@pytest.mark.parametrize(
    "broken",
    [
        {"pending_tasks": "all of it"}, {"completed_tasks": {"a": 1}}, {"session_metadata": []},
        {"active_state": None}, {"prepared": "yes"}, {"prepared": {"locks": 3, "tools": "make"}},
    ],
)  # fmt: skip
def test_parts_of_the_wrong_kind_count_as_not_said(
    broken: dict[str, Any], seg: Segue, repo: Repository
) -> None:
    (repo.folder / MANIFEST_HERE).write_text(json.dumps({**AGENTFLOW, **broken}))
    assert seg.bootstrap().source == str(repo.folder / MANIFEST_HERE)


def test_without_a_manifest_it_is_put_together_from_the_run(home: Path, repo: Repository) -> None:
    place(home, repo.folder, "codex")
    with opened(home, repo.folder) as seg:
        boot = seg.bootstrap()
    assert boot.source == "" and "tokens" in boot.goal and boot.next_action == "Continue: write it"
    assert not (home / "segue" / "manifests").exists()


def test_work_that_went_on_after_the_manifest_is_not_forgotten(home: Path, repo: Repository) -> None:
    with opened(home, repo.folder) as seg:
        path = Path(seg.prepare().path)
        os.utime(path, (time.time() - 9_000,) * 2)
        place(home, repo.folder, "codex")
        assert "tokens" in seg.bootstrap().goal
        os.utime(path)
        assert seg.bootstrap().source == str(path)


def test_another_branch_is_told_with_the_command_that_goes_back(seg: Segue, repo: Repository) -> None:
    repo.git("switch", "-qc", "feature/x")
    seg.prepare()
    repo.git("switch", "-q", "main")
    boot = seg.bootstrap()
    assert found(boot, "branch") == (False, "main, but it was feature/x", "`git switch feature/x`")
    assert not boot.ready
    repo.git("branch", "-qD", "feature/x")
    assert found(seg.bootstrap(), "branch")[1] == "main; feature/x is gone"


def test_a_branch_whose_name_is_no_plain_word_never_becomes_a_command(seg: Segue, repo: Repository) -> None:
    repo.git("branch", "x;touch${IFS}owned")
    manifest = {**AGENTFLOW, "memory_pointers": {"git_branch": "x;touch${IFS}owned"}}
    (repo.folder / MANIFEST_HERE).write_text(json.dumps(manifest))
    assert found(seg.bootstrap(), "branch")[2] == "switch back to it"


def test_the_head_went_on_was_rewritten_or_is_not_here(seg: Segue, repo: Repository) -> None:
    repo.commit("second", {"a.py": "b\n"})
    seg.prepare()
    repo.commit("third", {"a.py": "c\n"})
    ok, says, _ = found(seg.bootstrap(), "head")
    assert ok is True and "1 commit after" in says
    repo.git("reset", "-q", "--hard", "HEAD~2")
    assert found(seg.bootstrap(), "head")[0] is False
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert "is not in this repository" in found(seg.bootstrap(), "head")[1]


def test_uncommitted_changes_that_are_gone_differ(seg: Segue, repo: Repository) -> None:
    repo.write({"a.py": "mine\n"})
    seg.prepare()
    assert found(seg.bootstrap(), "changes")[0] is True
    repo.git("checkout", "-q", "--", "a.py")
    ok, says, _ = found(seg.bootstrap(), "changes")
    assert ok is False and "a.py" in says


def test_a_tool_that_is_not_on_the_path_any_more_differs(
    home: Path, repo: Repository, tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "frobnicate").write_text("#!/bin/sh\n")
    (tools / "frobnicate").chmod(0o755)
    with opened(home, repo.folder, PATH=f"{tools}:{os.environ['PATH']}") as seg:
        session = seg.start("Use tokens", id="jwt")
        session.features.add("f", "f", checks=["frobnicate"])
        seg.prepare()
        assert found(seg.bootstrap(checks=False), "tools")[:2] == (True, "frobnicate")
        (tools / "frobnicate").unlink()
        assert found(seg.bootstrap(checks=False), "tools")[:2] == (False, "not on the PATH: frobnicate")


def test_the_interpreter_is_asked_itself(seg: Segue, repo: Repository) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(repo.folder / ".venv")], check=True)
    seg.prepare()
    version = ".".join(map(str, sys.version_info[:3]))
    ok, says, _ = found(seg.bootstrap(), "interpreter")
    assert ok is True and says.startswith(f"Python {version}")
    python = repo.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/removed/python3")
    assert found(seg.bootstrap(), "interpreter")[0] is False


def test_dependencies_out_of_sync_are_named_with_the_command_that_installs_them(
    seg: Segue, repo: Repository
) -> None:
    repo.write({"requirements.txt": "attrs==2.0\nidna==3.1 ; python_version < '3'\n"})
    packages = repo.folder / ".venv" / "lib" / "python3.11" / "site-packages"
    (packages / "attrs-2.0.dist-info").mkdir(parents=True)
    (repo.folder / ".venv" / "pyvenv.cfg").write_text("version = 3.11.7\n")
    seg.prepare()
    assert found(seg.bootstrap(), "dependencies")[:2] == (True, "requirements.txt in sync")
    repo.write({"requirements.txt": "attrs==2.1\nFoo_Bar==1\n"})
    ok, says, mend = found(seg.bootstrap(), "dependencies")
    assert ok is False and mend == "`python -m pip install -r requirements.txt`"
    assert "foo-bar is missing" in says and "attrs 2.0 instead of 2.1" in says
    assert "changed since: requirements.txt" in says


def test_node_modules_are_compared_with_the_lock_file(seg: Segue, repo: Repository) -> None:
    def lock(version: str) -> str:
        optional = {"version": "9", "optional": True}
        rows = {"": {}, "node_modules/a": {"version": version}, "node_modules/b": optional}
        return json.dumps({"packages": rows})

    repo.write({"package-lock.json": lock("1.0.0")})
    assert found(seg.bootstrap(), "dependencies")[1] == "package-lock.json: there is no node_modules"
    repo.write(
        {
            "node_modules/.package-lock.json": json.dumps(
                {"packages": {"node_modules/a": {"version": "1.0.0"}}}
            )
        }
    )
    assert found(seg.bootstrap(), "dependencies")[0] is True
    repo.write({"package-lock.json": lock("1.2.0")})
    assert found(seg.bootstrap(), "dependencies")[2] == "`npm install`"


def test_checks_that_passed_then_are_run_and_leave_no_evidence(seg: Segue, repo: Repository) -> None:
    session = seg.start("Use tokens", id="jwt")
    session.features.add("fine", "f", checks=["true"])
    session.features.add("broken", "f", checks=["test ! -e BAD"])
    session.features.add("never", "f", checks=["false"])
    session.features.verify()
    seg.prepare()
    version = session.state.version
    assert found(seg.bootstrap(), "checks")[:2] == (True, "2 still passing")
    repo.write({"BAD": ""})
    boot = seg.bootstrap()
    ok, says, mend = found(boot, "checks")
    assert ok is False and "broken fails now" in says and mend == "`segue verify --feature broken`"
    assert "1 still passing" in says
    assert session.state.version == version
    assert {one.name for one in seg.bootstrap(checks=False).findings}.isdisjoint({"checks"})


def test_it_ends_in_time_with_a_check_that_does_not(seg: Segue, repo: Repository) -> None:
    session = seg.start("Use tokens", id="jwt")
    session.features.add("slow", "f", checks=["sh -c 'test ! -e SLOW || sleep 60'"])
    assert session.features.verify().ok
    repo.write({"SLOW": ""})
    begun = time.monotonic()
    boot = seg.bootstrap(seconds=4)
    assert time.monotonic() - begun < 20
    ok, says, _ = found(boot, "checks")
    assert ok is None and ("not run in time: slow" in says or "the time is up" in says)
    assert not boot.ready, "it passed at once before"


def test_it_ends_in_time_when_something_hangs(
    seg: Segue, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from segue.effects import surroundings

    def hang(*_: object) -> None:
        time.sleep(20)

    monkeypatch.setattr(surroundings, "dependencies", hang)
    begun = time.monotonic()
    boot = seg.bootstrap(seconds=3)
    assert time.monotonic() - begun < 15
    assert found(boot, "folder")[0] is True or found(boot, "folder")[0] is None
    assert found(boot, "checks")[1] == "not checked: the time is up" and not boot.ready


@pytest.mark.parametrize("seconds", [0, -1, 31, float("nan")])
def test_a_time_out_of_bounds_is_refused(seconds: float, seg: Segue) -> None:
    with pytest.raises(UsageError):
        seg.bootstrap(seconds=seconds)


def test_secrets_and_control_sequences_of_a_file_are_not_shown(seg: Segue, repo: Repository) -> None:
    manifest = {**AGENTFLOW, "bootstrap_instructions": [f"use \x1b[31m{SECRET}"], "active_state": {}}
    (repo.folder / MANIFEST_HERE).write_text(json.dumps(manifest))
    boot = seg.bootstrap()
    assert SECRET not in boot.instructions[0]
    assert "use" in boot.instructions[0] and "\x1b" not in boot.instructions[0]


def test_nothing_is_written_but_how_long_it_took(seg: Segue, repo: Repository, home: Path) -> None:
    started(seg)
    seg.prepare()
    version = len(list(seg.session("jwt").log()))

    def stamps() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}

    before = stamps()
    seg.bootstrap()
    changed = {path.name for path, at in stamps().items() if before.get(path) != at}
    assert (
        changed <= {"segue.db", "segue.db-wal", "segue.db-shm"}
        and len(list(seg.session("jwt").log())) == version
    )


def test_edits_since_are_told_of_left_files_and_of_others(seg: Segue, repo: Repository) -> None:
    repo.write({"a.py": "mine\n"})
    seg.prepare()
    repo.write({"new.py": "x\n"})
    ok, says, mend = found(seg.bootstrap(), "changes")
    assert (ok, says) == (False, "1 file left uncommitted; edited since: new.py") and "segue since" in mend
    repo.write({"a.py": "theirs\n"})
    assert "edited since: a.py, new.py" in found(seg.bootstrap(), "changes")[1]


def test_the_file_that_prepare_writes_is_no_edit(seg: Segue, repo: Repository) -> None:
    seg.prepare(here=True)
    assert seg.bootstrap().ready


def test_a_file_that_was_named_is_told_as_it_is_though_a_session_is_here(
    seg: Segue, repo: Repository
) -> None:
    started(seg)
    (repo.folder / "theirs.json").write_text(json.dumps(AGENTFLOW))
    boot = seg.bootstrap(path=repo.folder / "theirs.json")
    assert (boot.project, boot.phase, boot.done, boot.pending) == ("checkout", "implementation", 2, 3)
    assert boot.next_action == "Continue: Write the routes" and boot.session == ""
    own = seg.prepare(here=True).path
    assert seg.bootstrap(path=Path(own)).session == "jwt"


def test_an_interrupted_handover_differs_and_says_how_it_goes_on(seg: Segue, repo: Repository) -> None:
    checkpoint = {"status": "in_progress", "steps": {"note": "done", "publish": "pending"}}
    (repo.folder / ".agent-handover").mkdir()
    (repo.folder / ".agent-handover" / "checkpoint.json").write_text(json.dumps(checkpoint))
    seg.prepare()
    boot = seg.bootstrap()
    assert found(boot, "handover") == (
        False,
        "interrupted before publish",
        "finish it with the program that began it",
    )
    assert not boot.ready
    assert "a handover was interrupted before publish" in brief_of_session(seg.workspace, seg.start("Go").id)


def test_a_state_file_that_is_gone_differs(seg: Segue, repo: Repository) -> None:
    repo.commit("state", {"PROJECT_STATE.md": "Phase: Beta\n"})
    seg.prepare()
    assert found(seg.bootstrap(), "state file")[:2] == (True, "PROJECT_STATE.md")
    repo.git("rm", "-q", "PROJECT_STATE.md")
    repo.git("commit", "-qm", "gone")
    assert found(seg.bootstrap(), "state file")[:2] == (False, "PROJECT_STATE.md does not exist")


def test_the_age_of_a_manifest_is_its_own_and_not_that_of_the_run(home: Path, repo: Repository) -> None:
    place(home, repo.folder, "codex", old=7_200)
    with opened(home, repo.folder) as seg:
        seg.prepare()
        assert time.time() - seconds_of(seg.bootstrap().prepared) < 600


def test_a_file_of_another_project_that_nobody_named_is_not_mixed_with_the_session(
    seg: Segue, repo: Repository
) -> None:
    started(seg)
    theirs = repo.folder / MANIFEST_HERE
    theirs.write_text(json.dumps(AGENTFLOW))
    boot = seg.bootstrap()
    assert (boot.session, boot.goal, boot.source) == ("jwt", seg.session("jwt").state.goal, "")
    assert boot.project != "checkout" and "Write the routes" not in boot.next_action
    assert "is about checkout, so it was ignored" in boot.instructions[0]
    assert f"segue bootstrap {theirs}" in boot.instructions[0]
    own = json.loads(json.dumps(AGENTFLOW).replace("checkout", repo.folder.name))
    theirs.write_text(json.dumps(own))
    assert seg.bootstrap().source == str(theirs), "one of this project counts as before"
