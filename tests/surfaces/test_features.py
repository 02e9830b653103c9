"""`segue feature`, `segue verify` and what `complete` and `status` make of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.effects.files.compression import decompress

OK = f"{sys.executable} -c pass"


@pytest.fixture
def jwt(started: Cli, project: Path) -> Cli:
    """A feature with a check that passes while `auth.py` says so."""
    (project / "auth.py").write_text("ok\n")
    (project / "check.py").write_text(
        "import sys\nif 'ok' not in open('auth.py').read():\n    sys.exit('FAILED test_expired_token - no')\n"
    )
    started(
        "feature", "add", "jwt", "Users log in", "--step", "valid", "--step", "expired", "--check",
        f"{sys.executable} check.py", "--covers", "auth.py",
    )  # fmt: skip
    return started


def test_verify_proves_and_says_so_and_a_change_makes_it_stale(jwt: Cli, project: Path) -> None:
    assert "not_started" in jwt("feature", "list").out
    ran = jwt("verify")
    assert "jwt      passing  just now  Users log in" in ran.out and "1 of 1 proven; 1 check run" in ran.out
    assert "0 checks run" in jwt("verify").out, "what is proven is not run again"
    assert "1 check run" in jwt("verify", "--all").out
    (project / "auth.py").write_text("ok, changed\n")
    assert "jwt stale: covered files changed since it was proven" in jwt("status").out
    assert "1 stale" in jwt("complete", code=65).err or "1 feature stale" in jwt("complete", code=65).err
    (project / "check.py").write_text("")
    (project / "auth.py").write_text("ok\n")
    assert jwt("feature", "list", "--json").value["stale"] == 1, "the file that the check runs counts too"


def test_complete_is_refused_with_the_first_failing_line(jwt: Cli, project: Path) -> None:
    (project / "auth.py").write_text("bad\n")
    assert jwt("verify", code=1).out.splitlines()[1].endswith("FAILED test_expired_token - no")
    ran = jwt("complete", "--json", code=65)
    error = ran.value["error"]
    assert error["code"] == "unverified_features" and error["counts"]["failing"] == 1
    assert error["features"] == [
        {"id": "jwt", "status": "failing", "reason": "FAILED test_expired_token - no"}
    ]
    assert "jwt failing: FAILED test_expired_token - no" in ran.err
    assert jwt("status", "--json").value["status"] == "active"


def test_force_needs_a_reason_and_is_recorded(jwt: Cli) -> None:
    jwt("complete", "--force", " ", code=64)
    ran = jwt("complete", "--force", "demo at noon")
    assert "forced, although not everything is proven:" in ran.out and "jwt not_started" in ran.out
    assert "completed (forced, 1 not proven: demo at noon)" in jwt("log").out


def test_a_proven_session_completes_and_tells_what_changed_on_the_way(jwt: Cli) -> None:
    jwt("feature", "add", "other", "to go", "--check", OK)
    jwt("feature", "remove", "other", "--reason", "not needed")
    jwt("feature", "change", "jwt", "--drop-step", "#2", "--reason", "simpler")
    jwt("verify")
    ran = jwt("complete")
    assert "the feature is proven" in ran.out
    assert "changed on the way: other: removed, by user (not needed)" in ran.out
    assert "changed on the way: jwt: step removed: expired, by user (simpler)" in ran.out


def test_without_features_complete_says_that_nothing_was_proven(started: Cli) -> None:
    ran = started("complete", "--json")
    assert ran.value["proven"] is False and ran.value["unproven"] == []


def test_one_feature_is_shown_with_its_evidence_and_output(jwt: Cli, project: Path) -> None:
    jwt("verify")
    shown = jwt("feature", "show", "jwt").out
    assert (
        "1. valid" in shown and "Evidence" in shown and "exit 0 in " in shown and "requested by user" in shown
    )
    (project / "auth.py").write_text("password = 'hunter2hunter2'\n")
    jwt("feature", "add", "leak", "x", "--check", "cat auth.py", "--covers", "auth.py")
    jwt("verify", code=1)
    assert "hunter2" not in jwt("feature", "show", "leak", "--output").out
    value = jwt("feature", "show", "leak", "--json").value
    assert value["verdict"]["status"] == "passing"
    [ran] = [one for one in value["evidence"] if one["kind"] == "check.ran"]
    assert ran["exit_code"] == 0 and ran["covered"] == ran["after"] and ran["files"] == 1
    assert "hunter2" not in json.dumps(value)


def test_a_step_without_a_check_is_attested_with_a_name_and_a_note(started: Cli) -> None:
    started("feature", "add", "look", "it looks good")
    started("feature", "attest", "look", code=64)
    assert "is passing" in started("feature", "attest", "look", "--note", "seen", "--by", "ana").out
    assert "attested by ana" in started("feature", "list").out
    assert "the feature is proven, 1 of them by attestation" in started("complete").out


def test_an_agent_that_attests_in_another_name_is_named_too(started: Cli) -> None:
    started("feature", "add", "look", "it looks good")
    started("--actor", "bot", "feature", "attest", "look", "--note", "seen", "--by", "ana")
    assert "attested by ana, reported by bot" in started("feature", "list").out
    assert "attested  it looks good: seen, by ana, reported by bot" in started("feature", "show", "look").out
    assert started("feature", "list", "--json").value["features"][0]["verified_by"] == "ana, reported by bot"


def test_every_evidence_says_how_far_it_is_trusted(started: Cli, project: Path) -> None:
    (project / "test_a.py").write_text("def test_one(): pass\n")
    report = '<testsuite><testcase classname="test_a" name="test_one" file="test_a.py"/></testsuite>'
    (project / "junit.xml").write_text(report)
    started("feature", "add", "a", "a works", "--check", f"{OK} test_a.py", "--covers", "test_a.py")
    started("verify")
    started("feature", "import", "junit.xml")
    shown = started("feature", "show", "a").out
    assert "run       exit 0 in" in shown and "reported  1 passed, 0 failed in junit.xml" in shown
    rows = started("feature", "show", "a", "--json").value["evidence"]
    trusts = {row["kind"]: row["trust"] for row in rows}
    assert trusts["check.ran"] == "run" and trusts["check.reported"] == "reported"
    assert len(rows[-1]["digest"]) == 64, "the report is known by its hash"


def test_attesting_can_be_forbidden(started: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    started("feature", "add", "look", "it looks good")
    started("feature", "attest", "look", "--note", "seen")
    monkeypatch.setenv("SEGUE_ATTEST", "false")
    started("feature", "attest", "look", "--note", "seen", code=65)
    assert "attesting is off" in started("complete", code=65).err


def test_a_check_of_an_agent_or_a_file_runs_only_when_it_was_accepted(
    started: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    started("feature", "add", "mine", "an agent's", "--check", "touch ran")
    monkeypatch.delenv("CLAUDECODE")
    ran = started("verify", code=1)
    assert "it came from claude-code and was not accepted: touch ran" in ran.err
    assert not (project / "ran").exists()
    started("verify", "--trust", code=1)
    assert (project / "ran").exists(), "it ran; that it changed the tree is why it proves nothing"
    (project / "list.json").write_text(json.dumps([{"description": "b", "checks": ["touch other"]}]))
    started("feature", "import", "list.json")
    assert "came from list.json" in started("verify", "--feature", "b", code=1).err
    assert not (project / "other").exists()


def test_an_agent_cannot_accept_its_own_check_on_what_a_person_set(
    started: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started("feature", "add", "design", "it is right", "--step", "looked at")
    monkeypatch.setenv("CLAUDECODE", "1")
    started("feature", "remove", "design", code=65)
    started("feature", "change", "design", "--drop-step", "#1", code=65)
    started("feature", "change", "design", "--check", "true")
    assert "was not accepted" in started("verify", "--trust", code=1).err
    started("feature", "add", "own", "x", "--check", "true", "--covers", "nothing")
    assert "own" in started("verify", "--trust", code=1).out
    assert started("feature", "list", "--json").value["passing"] == 1, "its own, and only that"


def test_what_needs_a_shell_must_say_so(started: Cli) -> None:
    assert "&& needs a shell" in started("feature", "add", "f", "d", "--check", "true && false", code=64).err
    started(
        "feature", "add", "f", "d", "--check", "true && exit 3", "--shell", "--exit", "3", "--covers", "x"
    )
    started("verify")


def test_a_pattern_a_folder_and_a_variable_belong_to_a_check(started: Cli, project: Path) -> None:
    (project / "sub").mkdir()
    started(
        "feature", "add", "f", "d", "--check", "pwd; echo $MODE", "--shell", "--in", "sub", "--env",
        "MODE=x1", "--pattern", "sub\nx1", "--covers", "sub",
    )  # fmt: skip
    started("verify")
    started("feature", "add", "g", "d", "--check", "echo no", "--pattern", "yes", "--covers", "sub")
    assert "its output does not match /yes/" in started("verify", code=1).out
    started("feature", "add", "h", "d", "--check", "x", "--in", "../..", code=64)
    started("feature", "add", "h", "d", "--check", "x", "--pattern", "(", code=64)
    started("feature", "add", "h", "d", "--check", "x", "--proves", "7", code=64)


def test_a_secret_in_a_command_is_refused(started: Cli) -> None:
    command = "curl -u bot:ghp_" + "x9Kq2LmZ7Rv4TnB8Yw3CfHs6JdPa1GeUo5Qi https://example.org"
    assert "secret" in started("feature", "add", "f", "d", "--check", command, code=64).err


def test_a_coloured_secret_in_the_output_of_a_check_is_masked(
    started: Cli, project: Path, home: Path
) -> None:
    (project / "show.py").write_text(
        "print('password: \\x1b[33mhunter2hunter9\\x1b[0m'); raise SystemExit(1)\n"
    )
    started("feature", "add", "f", "d", "--check", f"{sys.executable} show.py", "--covers", "show.py")
    assert "hunter2hunter9" not in started("verify", code=1).out
    [output] = (home / "segue" / "evidence").glob("??/*.zst")
    text = decompress(output.read_bytes())
    assert b"hunter2hunter9" not in text and b"[redacted:" in text


def test_the_audit_proves_the_chain_and_knows_an_old_head(jwt: Cli, project: Path, home: Path) -> None:
    jwt("verify")
    head = jwt("verify", "--audit", "--json").value["head"]
    jwt("note", "later")
    assert "the chain of events is intact" in jwt("verify", "--audit", "--head", head).out
    assert "a different history" in jwt("verify", "--audit", "--head", "ab" * 32, code=1).out
    jwt("feature", "add", "say", "x", "--check", "echo said", "--covers", "auth.py")
    jwt("verify")
    [output] = (home / "segue" / "evidence").glob("??/*.zst")
    output.write_bytes(b"something else")
    assert "its output was changed" in jwt("verify", "--audit", code=1).out
    output.unlink()
    assert jwt("verify", "--audit", "--json").value["outputs"] == {"gone": 1}


def test_a_scrub_reaches_outputs_and_the_audit_says_so(started: Cli, home: Path) -> None:
    started("feature", "add", "say", "x", "--check", "echo unspeakable", "--covers", "nothing")
    started("verify")
    started("scrub", "unspeakable", "--yes")
    assert started("verify", "--audit", "--json").value["outputs"] in ({"scrubbed": 1}, {})
    for file in (home / "segue").rglob("*"):
        assert not file.is_file() or b"unspeakable" not in file.read_bytes()


def test_files_that_people_have_come_in_as_claims_and_go_out_again(started: Cli, project: Path) -> None:
    rows = [
        {"category": "functional", "description": "New chat button", "steps": ["click"], "passes": True},
        {"category": "style", "description": "Blue", "steps": [], "passes": False},
    ]
    (project / "feature_list.json").write_text(json.dumps(rows))
    ran = started("feature", "import", "feature_list.json")
    assert "2 features added" in ran.out and "1 passing according to the file" in ran.out
    assert "0 features added, 2 known already" in started("feature", "import", "feature_list.json").out
    found = started("feature", "list", "--json").value
    assert (found["total"], found["passing"]) == (2, 0)
    out = json.loads(started("feature", "export").out)
    assert [row["passes"] for row in out] == [False, False]
    assert [(r["category"], r["description"], r["steps"]) for r in out] == [
        (r["category"], r["description"], r["steps"]) for r in rows
    ]
    (project / "claude-progress.txt").write_text("Did one.\n\nThen two.\n")
    assert "2 notes taken" in started("feature", "import", "claude-progress.txt").out
    assert "0 notes taken" in started("feature", "import", "claude-progress.txt").out
    assert started("status", "--json").value["last_action"] == "Then two."


def test_node_ids_become_features_and_a_report_is_no_proof(started: Cli, project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_a.py").write_text("def test_x():\n    pass\n")
    (project / "ids.txt").write_text("tests/test_a.py::test_x\ntests/test_a.py::test_y[1]\n\n2 tests\n")
    started("feature", "import", "ids.txt")
    shown = started("feature", "show", "tests-test-a", "--json").value
    assert shown["steps"] == ["test_x", "test_y[1]"] and shown["checks"][0]["source"] == "ids.txt"
    xml = '<testsuite><testcase classname="tests.test_a" name="test_x">{}</testcase></testsuite>'
    (project / "good.xml").write_text(xml.format(""))
    assert "proves nothing" in started("feature", "import", "good.xml").out
    assert started("feature", "list", "--json").value["passing"] == 0
    (project / "bad.xml").write_text(xml.format('<failure message="boom"/>'))
    started("feature", "import", "bad.xml")
    assert "test_x: boom" in started("feature", "list").out
    assert started("feature", "export", "--format", "pytest").out == "tests/test_a.py\n"
    assert (
        '<failure message="failing: test_x: boom"/>' in started("feature", "export", "--format", "junit").out
    )
    (project / "bomb.xml").write_text('<!DOCTYPE x [<!ENTITY a "a">]><testsuite/>')
    assert "entities" in started("feature", "import", "bomb.xml", "--format", "junit", code=64).err


def test_undo_takes_back_the_last_command_that_was_not_about_features(jwt: Cli) -> None:
    jwt("note", "written")
    jwt("verify")
    assert "undone: note: written" in jwt("undo").out
    assert jwt("feature", "list", "--json").value["passing"] == 1


def test_the_brief_says_what_fails_and_what_is_stale(jwt: Cli, project: Path) -> None:
    jwt("verify")
    assert "jwt" not in jwt("brief", "jwt").out.partition("FAILING")[2]
    (project / "auth.py").write_text("ok but other\n")
    ran = jwt("brief", "jwt").out
    assert "segue verify --feature jwt" in ran and "stale" in ran
    blockers = json.loads(jwt("brief", "jwt", "--json").out)["critical_context"]["blockers"]
    assert any("stale" in one for one in blockers)


def test_ctrl_c_ends_what_runs_and_leaves_the_feature_unproven(jwt: Cli, project: Path, home: Path) -> None:
    jwt("verify")
    jwt("feature", "add", "slow", "x", "--check", f"{sys.executable} slow.py", "--covers", "nothing")
    (project / "slow.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(99)\n"
    )
    command = [sys.executable, "-m", "segue", "verify", "--all", "--jobs", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid, deadline = project / "pid", time.monotonic() + 30
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted" in err
    assert not os.path.exists(f"/proc/{pid.read_text()}")
    assert not list((home / "segue" / "evidence" / "running").glob("*"))
    found = {one["id"]: one["status"] for one in jwt("feature", "list", "--json").value["features"]}
    assert found["slow"] == "testing"
    assert "1 check run" in jwt("verify", "--feature", "jwt", "--all").out


def test_the_recipes_words_hold_for_programs(project: Path) -> None:
    with Segue() as seg:
        session = seg.start("goal")
        features = session.features
        features.create("login", "Users log in", ["type", "click"], status="in_progress")
        listed = features.list()
        assert (listed["total"], listed["passing"], listed["failing"], listed["in_progress"]) == (1, 0, 0, 1)
        assert not listed["features"][0].passes and listed["features"][0].id == "login"
        assert features.update("login", status="complete", passes=True).status == "testing"
        assert features.mark_failed("login", "seen").events and features.list("failed")["failing"] == 1
        assert features.update("login", status="in_progress").status == "in_progress"
        assert features.mark_complete("login", "ana").passes
        assert features.list("complete").features[0].verified_by == "ana"
        session.complete()
