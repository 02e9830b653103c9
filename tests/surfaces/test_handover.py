"""`segue handover` as it is typed: run, check, status, compact."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue.core.runs.steps import Call, Prompt, Say, Start, Step
from segue.handover.checkpoint import Checkpoint
from segue.handover.quick import check as quick_check
from segue.testing.transcripts import placed


@pytest.fixture
def repository(project: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


def interrupt(repository: Path) -> Path:
    merging = repository / ".git" / "MERGE_HEAD"
    merging.write_text("0" * 40)
    return merging


def test_run_says_what_each_step_left_and_check_gives_the_three_codes(started: Cli, repository: Path) -> None:
    assert started("handover", "check").out == ""
    merging = interrupt(repository)
    err = started("handover", "run", "--note", "JWT works", code=75).err
    assert "step git is pending: a merge is under way" in err and "segue handover run" in err
    assert started("handover", "check", code=1).out == ""
    assert "[!] git  a merge is under way" in started("handover", "status").out
    merging.unlink()
    ran = started("handover", "run")
    assert "resumed and finished" in ran.out and "[x] git" in ran.out
    started("handover", "check", code=2)
    assert "completed just now" in started("handover", "status").out


def test_run_gives_a_ran_as_json_and_reads_a_note_from_stdin(started: Cli, repository: Path) -> None:
    value = started("handover", "run", "--note", "-", "--json", stdin=b"from stdin\n").value
    assert value["executed"] == ["collect", "note", "state", "git"] and value["session"] == "jwt"
    assert "from stdin" in (repository / value["outputs"]["note"]["path"]).read_text()


def test_check_gives_json_on_both_ways(started: Cli, repository: Path) -> None:
    interrupt(repository)
    started("handover", "run", "--note", "n", code=75)
    quick = started("handover", "check", "--json", code=1).value
    slow = started("handover", "check", "--json", "--session", "jwt", code=1).value
    assert quick["code"] == slow["code"] == 1 and quick["status"] == slow["status"] == "in_progress"


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
        "segue", "segue._files", "segue._folders", "segue.handover", "segue.handover.quick",
        "segue.handover.record",
        "segue.surfaces", "segue.surfaces.cli", "segue.surfaces.cli.main", "segue.surfaces.cli.table",
    ]  # fmt: skip


def test_the_quick_way_gives_up_when_in_doubt(tmp_path: Path) -> None:
    for words in (["--unknown"], ["-C"], ["-C", str(tmp_path / "gone")], ["--checkpoint", "--json"]):
        assert quick_check(words, {"SEGUE_HOME": str(tmp_path)}) is None
    assert quick_check(["-C", str(tmp_path)], {"SEGUE_HOME": str(tmp_path)}) == (
        0,
        {"status": "none", "steps": {}},
    )


def test_pause_refuses_a_run_and_check_still_answers(started: Cli, repository: Path) -> None:
    (repository / "PAUSE").touch()
    started("handover", "run", "--note", "n", code=65)
    started("handover", "check", code=0)
    assert not (repository / "memory").exists()


def test_an_uncertain_step_is_asked_about_with_the_words_to_answer(started: Cli, repository: Path) -> None:
    (repository / "segue.toml").write_text(
        '[[handover.step]]\nkind = "command"\nname = "deploy"\ncommand = ["sh", "-c", "test -e ok"]\n'
    )
    started("trust", "--yes")
    started("handover", "run", code=75)
    err = started("handover", "run", code=65).err
    assert "--done deploy" in err and "--again deploy" in err
    (repository / "ok").touch()
    assert "[x] deploy" in started("handover", "run", "--again", "deploy").out


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
