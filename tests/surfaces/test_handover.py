"""`segue handover` as it is typed: run, check, status, compact."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue.core.handover.record import fresh
from segue.core.runs.steps import Call, Prompt, Say, Start, Step
from segue.handover import cli as agent_handover
from segue.handover.checkpoint import Checkpoint
from segue.handover.quick import check as quick_check
from segue.surfaces.mcp.calls import Calls
from segue.testing.transcripts import placed


@pytest.fixture
def repository(project: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


BEFORE_GIT = """
[[handover.step]]
kind = "note"
[[handover.step]]
kind = "command"
command = ["test", "-e", "ready"]
[[handover.step]]
kind = "git"
"""


def interrupt(repository: Path) -> Path:
    merging = repository / ".git" / "MERGE_HEAD"
    merging.write_text("0" * 40)
    return merging


def test_run_says_what_each_step_left_and_check_gives_the_three_codes(started: Cli, repository: Path) -> None:
    assert started("handover", "check").out == ""
    merging = interrupt(repository)
    err = started("handover", "run", "--note", "JWT works", code=75).err
    assert "step git is pending: a merge is in progress" in err and "segue handover run" in err
    assert started("handover", "check", code=1).out == ""
    assert "[!] git  a merge is in progress" in started("handover", "status").out
    merging.unlink()
    ran = started("handover", "run")
    assert "resumed and finished" in ran.out and "[x] git" in ran.out
    started("handover", "check", code=2)
    assert "completed just now" in started("handover", "status").out


def committed(repository: Path) -> str:
    told = subprocess.run(["git", "log", "--oneline"], cwd=repository, capture_output=True, text=True)
    return told.stdout


def test_run_says_in_words_what_it_committed_and_how_to_undo_that(started: Cli, repository: Path) -> None:
    out = started("handover", "run", "--note", "n").out
    [told] = re.findall(r"\[x\] git  committed 2 files \((\w{10})\); undo it with `git revert (\w+)`", out)
    assert told[0] == told[1] and told[0].startswith(committed(repository).split()[0])


def test_a_handover_without_a_commit_leaves_its_notes_uncommitted(started: Cli, repository: Path) -> None:
    out = started("handover", "run", "--note", "JWT works", "--no-commit").out
    assert "[-] git  nothing was committed, as you asked" in out and not committed(repository)
    assert "JWT works" in (repository / "memory" / "layer2" / "current-state.md").read_text()
    started("handover", "check", code=2)
    assert "committed 2 files" in started("handover", "run", "--note", "and now").out


@pytest.mark.parametrize(("first", "then"), [(["--no-commit"], []), ([], ["--no-commit"])])
def test_an_interrupted_handover_commits_nothing_if_it_was_asked_not_to_before_or_after(
    started: Cli, repository: Path, first: list[str], then: list[str]
) -> None:
    (repository / "segue.toml").write_text(BEFORE_GIT)
    started("trust", "--yes")
    started("handover", "run", "--note", "n", *first, code=75)
    (repository / "ready").touch()
    assert "[-] git  nothing was committed" in started("handover", "run", "--note", "n", *then).out
    assert not committed(repository)
    [notes] = (repository / "memory").glob("layer1/*/*.md")
    assert notes.read_text().count("<!-- note ") == 1


def test_run_gives_a_ran_as_json_and_reads_a_note_from_stdin(started: Cli, repository: Path) -> None:
    value = started("handover", "run", "--note", "-", "--json", stdin=b"from stdin\n").value
    assert value["executed"] == ["collect", "note", "state", "git"] and value["session"] == "jwt"
    assert "from stdin" in (repository / value["outputs"]["note"]["path"]).read_text()


def test_check_gives_json_on_both_ways(started: Cli, repository: Path) -> None:
    interrupt(repository)
    started("handover", "run", "--note", "n", code=75)
    quick = started("handover", "check", "--json", code=1).value
    slow = started("handover", "check", "--json", "--session", "jwt", code=1).value
    assert quick == slow and quick["code"] == 1 and quick["status"] == "in_progress"
    assert quick["steps"] == started("handover", "status", "--json").value["steps"]


def test_check_of_a_damaged_checkpoint_asks_the_journal_and_says_so(
    started: Cli, repository: Path, home: Path
) -> None:
    interrupt(repository)
    started("handover", "run", "--note", "n", code=75)
    [path] = (home / "segue" / "handover").glob("*.json")
    for damage in (b"", b"{}", b"null", b"\xff\xfe"):
        path.write_bytes(damage)
        assert "rebuilt from the journal" in started("handover", "check", code=1).err
        assert started("handover", "check", code=1).err == ""


def test_check_from_a_folder_below_and_with_options_before_it_finds_the_same(
    started: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(repository)
    started("handover", "run", "--note", "n", code=75)
    (repository / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(repository / "deep" / "er")
    started("handover", "check", code=1)
    monkeypatch.chdir("/")
    started("-C", str(repository / "deep"), "handover", "check", code=1)
    started("handover", "check", "--folder", str(repository), code=1)
    started("handover", "check", code=0)


def test_check_without_git_finds_the_checkpoint_of_a_folder_above(
    started: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started("handover", "run", "--note", "n")
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    started("handover", "check", code=2)


def test_check_reads_a_checkpoint_of_agent_handover(cli: Cli, project: Path) -> None:
    theirs = Checkpoint(project / ".agent-handover" / "checkpoint.json")
    theirs.start(["a", "b"])
    cli("handover", "check", code=1)
    theirs.mark_done("a")
    theirs.mark_done("b")
    theirs.complete()
    cli("handover", "check", code=2)
    other = Checkpoint(project / "other.json")
    other.start(["x"])
    cli("handover", "check", "--checkpoint", "other.json", code=1)
    assert "[ ] x" in cli("handover", "status", "--checkpoint", "other.json").out
    (project / "other.json").write_text("null")
    assert "damaged" in cli("handover", "check", "--checkpoint", "other.json", code=1).err


@pytest.mark.parametrize(
    "words",
    [
        ("chekc",),
        ("check", "--nope"),
        ("check", "--home"),
        ("check", "extra"),
        (),
        ("run", "--checkpoint", "x"),
    ],
)
def test_a_bad_command_line_is_64_and_never_1_or_2(words: tuple[str, ...], cli: Cli) -> None:
    cli("handover", *words, code=64)


def test_check_in_a_folder_that_is_not_there_is_64(cli: Cli) -> None:
    cli("-C", "/no/such/folder", "handover", "check", code=64)


def test_check_imports_nothing_heavy(project: Path) -> None:
    code = (
        "import sys; from segue.surfaces.cli.main import main; assert main(['handover', 'check']) == 0;"
        "heavy = ('segue', 'msgspec', 'apsw', 'argparse', 'pathlib');"
        "print(*sorted(name for name in sys.modules if name.startswith(heavy)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == [
        "segue", "segue._files", "segue._folders", "segue.core", "segue.core.handover",
        "segue.core.handover.record",
        "segue.effects", "segue.effects.files", "segue.effects.files.checkpoint_file", "segue.handover",
        "segue.handover.quick", "segue.surfaces", "segue.surfaces.cli", "segue.surfaces.cli.main",
        "segue.surfaces.cli.table",
    ]  # fmt: skip


def test_the_quick_way_gives_up_when_in_doubt(tmp_path: Path) -> None:
    for words in (["--unknown"], ["-C"], ["-C", str(tmp_path / "gone")], ["--checkpoint", "--json"]):
        assert quick_check(words, {"SEGUE_HOME": str(tmp_path)}) is None
    assert quick_check(["-C", str(tmp_path)], {"SEGUE_HOME": str(tmp_path)}) == (0, fresh())
    theirs = tmp_path / ".agent-handover" / "checkpoint.json"
    theirs.parent.mkdir()
    os.mkfifo(theirs)
    assert quick_check(["-C", str(tmp_path)], {"SEGUE_HOME": str(tmp_path)}) is None
    theirs.unlink()
    theirs.write_text('{"status": "in_prog')
    assert quick_check(["-C", str(tmp_path)], {"SEGUE_HOME": str(tmp_path)}) is None


def test_pause_refuses_a_run_and_check_still_answers(started: Cli, repository: Path) -> None:
    (repository / "PAUSE").touch()
    started("handover", "run", "--note", "n", code=65)
    started("handover", "check", code=0)
    assert not (repository / "memory").exists()


def declare(repository: Path, started: Cli, text: str) -> None:
    (repository / "segue.toml").write_text(text)
    started("trust", "--yes")


def command_step(*command: str, more: str = "", name: str = "deploy") -> str:
    return f'[[handover.step]]\nkind = "command"\nname = "{name}"\ncommand = {json.dumps(command)}\n{more}\n'


def test_a_command_that_failed_is_tried_again_as_the_hint_says(started: Cli, repository: Path) -> None:
    declare(repository, started, command_step("sh", "-c", "test -e ok"))
    err = started("handover", "run", code=75).err
    assert "`segue handover run` continues" in err and "--done deploy" in err
    assert "[!] deploy  sh exited with 1" in started("handover", "status").out
    again = started("handover", "run", code=75).err
    assert "sh exited with 1" in again and "died" not in again
    (repository / "ok").touch()
    assert "[x] deploy" in started("handover", "run").out


def test_a_step_that_did_not_end_in_time_is_asked_about_with_the_words_to_answer(
    started: Cli, repository: Path
) -> None:
    wait = ("sh", "-c", "test -e ok || sleep 60")
    declare(repository, started, command_step(*wait, more="timeout_seconds = 0.2"))
    first = started("handover", "run", code=75).err
    assert "--done deploy" in first and "--again deploy" in first
    err = started("handover", "run", code=65).err
    assert "sh took longer than 0.2 seconds" in err and "died" not in err
    assert "--done deploy" in err and "--again deploy" in err
    assert "[?] deploy  sh took longer" in started("handover", "status").out
    (repository / "ok").touch()
    assert "[x] deploy" in started("handover", "run", "--again", "deploy").out


def test_a_misspelt_step_is_mended_and_gone_on_with(started: Cli, repository: Path) -> None:
    after = '[[handover.step]]\nkind = "note"\n'
    for number, idempotent in enumerate(("idempotent = true", "")):
        declare(repository, started, command_step("mkae", "docs", more=idempotent) + after)
        note = f"attempt number {number}"
        err = started("handover", "run", "--note", note, code=75).err
        assert "mkae cannot be run" in err and "`segue trust`" in err
        declare(repository, started, command_step("true", more=idempotent) + after)
        value = started("handover", "run", "--note", note, "--json").value
        assert value["executed"] == ["deploy", "note"] and value["resumed"]
        assert (repository / value["outputs"]["note"]["path"]).read_text().count(note) == 1
        started("handover", "check", code=2)


def test_a_step_that_was_done_by_hand_or_renamed_does_not_block_the_rest(
    started: Cli, repository: Path
) -> None:
    after = '[[handover.step]]\nkind = "note"\n'
    declare(repository, started, command_step("false") + after)
    started("handover", "run", "--note", "first", code=75)
    assert "note" in started("handover", "run", "--done", "note", code=64).err  # it was not tried yet
    assert started("handover", "run", "--done", "deploy", "--json").value["executed"] == ["note"]
    declare(repository, started, command_step("false", name="dcos") + after)
    started("handover", "run", "--note", "second", code=75)
    declare(repository, started, command_step("true", name="docs") + after)
    err = started("handover", "run", code=65).err
    assert "dcos" in err and "`segue handover run --done dcos`" in err and "--anew" in err
    assert started("handover", "run", "--done", "dcos", "--json").value["executed"] == ["docs", "note"]
    started("handover", "check", code=2)


def test_an_untrusted_file_stops_the_run_and_nothing_else_runs_in_its_place(
    started: Cli, repository: Path
) -> None:
    (repository / "segue.toml").write_text(command_step("touch", "pwned"))
    err = started("handover", "run", "--note", "n", code=65).err
    assert "not trusted" in err and "`segue trust`" in err
    started("trust", "--yes")
    started("handover", "run", "--note", "n")
    assert (repository / "pwned").exists() and not (repository / "memory").exists()
    (repository / "segue.toml").write_text(command_step("touch", "changed"))
    assert (
        started("handover", "run", "--note", "n", "--json", code=65).value["error"]["code"] == "not_trusted"
    )
    started("handover", "compact", code=65)
    (repository / "segue.toml").write_text("[handover\n")
    started("handover", "run", "--note", "n", code=65)
    (repository / "segue.toml").write_text('project = "shop"\n')
    assert "[x] note" in started("handover", "run", "--note", "n").out
    assert not (repository / "changed").exists()


def test_a_step_that_ended_while_pause_appeared_is_recorded_and_nothing_after_it(
    started: Cli, repository: Path
) -> None:
    after = command_step("touch", "later", name="later")
    declare(repository, started, command_step("touch", "PAUSE") + after)
    assert "PAUSE exists" in started("handover", "run", code=65).err
    assert "[x] deploy" in started("handover", "status").out and not (repository / "later").exists()
    (repository / "PAUSE").unlink()
    assert started("handover", "run", "--json").value["executed"] == ["later"]


def test_a_step_that_had_nothing_to_do_is_not_shown_as_done(started: Cli, project: Path) -> None:
    out = started("handover", "run", "--note", "n").out
    assert "[-] git  this is not a git repository" in out and "[x] note" in out
    assert "[-] git  this is not a git repository" in started("handover", "status").out


# -- beside agent-handover -------------------------------------------------------------------------


def test_an_interrupted_agent_handover_is_one_truth_for_check_status_and_run(
    started: Cli, repository: Path
) -> None:
    started("handover", "run", "--note", "ours is done")
    for agent in ("codex", "opencode"):
        words = ["run", "--agent", agent, "--note", "theirs"]
        assert agent_handover.main(words) == 69  # there is no remote to push to
        started("handover", "check", code=1)
        slow = started("handover", "check", "--json", "--session", "jwt", code=1).value
        assert slow["steps"] == {"session_note": "done", "current_state": "done", "publish": "failed"}
        assert Calls().call("recovery", {"action": "check"}).value == slow
        status = started("handover", "status").out
        assert "agent-handover" in status and "[!] publish" in status
        err = started("handover", "run", "--note", "n", code=65).err
        assert "interrupted before publish" in err and "agent-handover run" in err
        for told in (started("brief").out, started("status").out, started("bootstrap", code=1).out):
            assert "interrupted before publish" in told
        assert agent_handover.main(["run", "--agent", agent, "--no-push"]) == 0
        started("handover", "check", code=2)
        assert "interrupted" not in started("status").out
    started("handover", "run", "--note", "n")


@pytest.mark.parametrize("paused", [False, True])
def test_a_damaged_checkpoint_of_agent_handover_is_read_from_its_copy_by_all_and_changed_by_none(
    started: Cli, repository: Path, paused: bool
) -> None:
    theirs = Checkpoint(repository / ".agent-handover" / "checkpoint.json")
    theirs.start(["a", "b"])
    theirs.path.write_text('{"status": "in_prog')
    if paused:
        (repository / "PAUSE").touch()
    for options in ((), ("--checkpoint", ".agent-handover/checkpoint.json")):
        ran = started("handover", "check", *options, code=1)
        assert "is damaged: its copy was used" in ran.err
        assert "[ ] a" in started("handover", "status", *options).out
    assert "interrupted before a, b" in started("brief").out
    assert theirs.path.read_text() == '{"status": "in_prog'


def test_anew_sets_an_interrupted_agent_handover_aside_for_both_programs(
    started: Cli, repository: Path
) -> None:
    theirs = Checkpoint(repository / ".agent-handover" / "checkpoint.json")
    theirs.start(["a", "b"])
    assert "is now in" in started("handover", "run", "--anew", "--note", "n").err
    started("handover", "check", code=2)
    assert agent_handover.main(["check"]) == 0
    [aside] = theirs.path.parent.glob("checkpoint.json.left-*")
    assert Checkpoint(aside).pending_steps() == ["a", "b"]


def test_an_interrupted_handover_of_ours_is_not_hidden_by_one_of_agent_handover(
    started: Cli, repository: Path
) -> None:
    theirs = Checkpoint(repository / ".agent-handover" / "checkpoint.json")
    theirs.start(["a"])
    theirs.mark_done("a")
    theirs.complete()
    merging = interrupt(repository)
    started("handover", "run", "--note", "n", code=75)
    started("handover", "check", code=1)
    assert "[!] git" in started("handover", "status").out
    merging.unlink()
    assert started("handover", "run", "--json").value["executed"] == ["git"]
    started("handover", "check", code=2)


def test_a_mistake_in_the_declaration_is_named_with_the_nearest(started: Cli, repository: Path) -> None:
    (repository / "segue.toml").write_text('[[handover.step]]\nkind = "git"\nmesage = "x"\n')
    err = started("trust", "--yes", code=64).err
    assert "unknown key `mesage`" in err and "did you mean `message`?" in err


def test_compact_says_what_went_where(started: Cli, repository: Path) -> None:
    old = repository / "memory" / "layer1" / "2020-01"
    old.mkdir(parents=True)
    (old / "general-2020-01-02.md").write_text("the old note\n- decided: tabs\n")
    assert "would be moved" in started("handover", "compact", "--dry-run").out
    assert "the notes are kept" in started("handover", "compact", "--keep").out
    value = started("handover", "compact", "--json").value
    assert value["removed"] == 1 and not old.exists()
    assert "no notes are old enough" in started("handover", "compact").out
    assert "decided: tabs" in (repository / "memory" / "layer3" / "2020-01-general-archive.md").read_text()


def test_a_scrub_reaches_the_checkpoint(started: Cli, repository: Path, home: Path) -> None:
    started("handover", "run", "--note", "the word is xyzzy-plugh")
    started("scrub", "xyzzy-plugh", "--yes")
    [path] = (home / "segue" / "handover").glob("*.json")
    assert "xyzzy-plugh" not in path.read_text() and json.loads(path.read_bytes())["status"] == "completed"
    started("handover", "check", code=2)


def test_score_says_what_the_run_after_a_handover_made_of_it_with_reasons_and_a_trend(
    started: Cli, repository: Path, home: Path
) -> None:
    assert "nothing to score" in started("handover", "score").out
    for number in (1, 2):
        started("handover", "run", "--note", f"note {number}")
        at = time.time() + 0.02
        steps: list[Step] = [
            Start(at, "start", native=f"run-{number}", cwd=str(repository)),
            Prompt(at, "go on with it"),
            Say(at + 0.01, "The auth middleware comes next, then token validation."),
            Call(at + 0.02, "c1", "shell", "run", text="make", command="make test"),
        ]
        placed("codex", steps, home=home, native=f"run-{number}", cwd=str(repository))
        time.sleep(0.1)
    out = started("handover", "score").out
    assert "of 100, by codex/run-2" in out and "facts were used" in out and "trend of 2 handovers: " in out
    value = started("handover", "score", "--json").value
    assert [one["by"] for one in value["scores"]] == ["codex/run-1", "codex/run-2"]
    assert value["kinds"]["item"]["used"] >= 2


def test_an_answer_that_nobody_asked_for_begins_no_handover(started: Cli) -> None:
    assert "no step is uncertain" in started("handover", "run", "--done", "nosuchstep", code=64).err
    assert started("handover", "status", "--json").value["status"] == "none"
    started("handover", "run", "--note", "n")
    told = started("handover", "run", "--again", "nosuchstep", code=64).err
    steps = started("handover", "status", "--json").value["steps"]
    assert all(name in told for name in steps)
