"""What goes wrong: exit codes, words, hints and the error object."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.long_story import story
from tests.support.other_user import as_anybody, linux
from tests.surfaces.conftest import Cli

from segue import __version__, errors
from segue.surfaces.cli.main import main
from segue.testing.transcripts import written

DESTRUCTIVE = re.compile(r"\brm\b|--yes|--force|delete|segue (abandon|scrub|drop|cleanup(?! --restore))\b")
EXAMPLES: list[errors.SegueError] = [
    errors.SegueError("m"),
    errors.UsageError("m", hint="h"),
    errors.UnknownSession("m"),
    errors.UnknownCheckpoint("m"),
    errors.UnknownAgent("m"),
    errors.UnknownRun("m"),
    errors.UnknownFeature("m"),
    errors.UnknownEntry("m"),
    errors.UnknownMemory("m"),
    errors.BudgetTooSmall("m"),
    errors.BadValue("m"),
    errors.BadName("m"),
    errors.TextTooLong("m"),
    errors.BadSettings("m"),
    errors.BadImport("m"),
    errors.RefusedError("m"),
    errors.SessionOver("m"),
    errors.NothingToUndo("m"),
    errors.FeatureExists("m"),
    errors.UnverifiedFeatures("m"),
    errors.Paused("m"),
    errors.ConflictError("m"),
    errors.StaleVersion("s", 1, 2),
    errors.SessionHeld("s", "by", "since", "until"),
    errors.StoreError("m"),
    errors.StoreBusy("m"),
    errors.StoreUnavailable("m"),
    errors.StoreFull("m"),
    errors.SchemaTooNew("m"),
    errors.DamagedError("source", "where", "reason"),
    errors.UnexpectedError("m"),
    errors.AccessError("m"),
    errors.NotKnown("m"),
    errors.NotAllowed("m"),
    errors.RateLimited("m"),
    errors.UnknownKey("m"),
    errors.Misdirected("m"),
    errors.KeyReused("m"),
    errors.AlreadyDone("once/x"),
    errors.HistoryWentBack("session/x", 5, 3),
    errors.AgentError("m"),
    errors.TranscriptUnreadable("m", hint="h"),
    errors.UnknownHandoff("m"),
    errors.NoModel("m"),
    errors.MisspeltItem("m"),
    errors.OtherWorkflow("m"),
    errors.NotTrusted("m"),
    errors.StepUncertain("m"),
    errors.OverBudget("m"),
    errors.OverQuota.of("web", "events", 10, 10),
    errors.HandoffSettled("m"),
    errors.HandoverPending("step", "reason"),
    errors.NotInstalled("m"),
    errors.ModelFailed("m"),
    errors.NotWritable("m"),
]


def test_the_examples_are_of_every_class() -> None:
    classes = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    assert {type(fault) for fault in EXAMPLES} == {k for k in classes if issubclass(k, errors.SegueError)}


@pytest.mark.parametrize("fault", EXAMPLES, ids=lambda fault: type(fault).__name__)
def test_every_class_of_error_has_its_exit_code_its_words_and_its_object(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, fault: errors.SegueError
) -> None:
    def fail(context: object) -> int:
        raise fault

    monkeypatch.setattr("segue.surfaces.cli.context.CommandContext.session", fail)
    ran = cli("status", code=fault.exit_code)
    assert ran.out == ""
    assert ran.err.splitlines() == [f"segue: {fault}", *([f"  hint: {fault.hint}"] if fault.hint else [])]
    assert not DESTRUCTIVE.search(ran.err)
    ran = cli("status", "--json", code=fault.exit_code)
    assert ran.err.startswith(f"segue: {fault}\n")
    assert ran.value["error"] == {
        "code": fault.code,
        "message": fault.message,
        "hint": fault.hint,
        "retryable": fault.retryable,
        **fault.facts(),
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["statuss"], "did you mean `segue status`?"),
        (["xyzzy"], "`segue help --all` lists them all"),
        (["--frobnicate"], "unknown option: --frobnicate"),
        (["status", "--frobnicate"], "unknown: --frobnicate"),
        (["status", "--js"], "unknown: --js"),
        (["status", "a", "b"], "unknown: b"),
        (["status", "a", "-s", "b"], "two different sessions are named"),
        (["status", ""], "the session's id is empty"),
        (["start"], "a session needs a goal"),
        (["start", ""], "a session needs a goal"),
        (["start", "  \n "], "a session needs a goal"),
        (["start", "g", "--type", "party"], "--type"),
        (["done"], "missing: ITEM"),
        (["handover"], "run|check|status|score|compact"),
        (["memories", "juggle"], "list"),
        (["key"], "missing: create|list|"),
        (["log", "--limit", "-1"], "--limit and --after cannot be negative"),
        (["log", "--limit", "many"], "--limit: 'many' is not a whole number"),
        (["status", "--home"], "--home needs a value"),
        (["-C", "no-such-folder", "status"], "is not a folder"),
        (["help", "xyzzy"], "unknown command"),
    ],
)
def test_a_bad_command_line_exits_64_with_a_hint(cli: Cli, words: list[str], told: str) -> None:
    ran = cli(*words, code=64)
    assert told in ran.err or told in ran.out
    assert ran.err.startswith("segue: ")


def test_the_object_of_a_bad_command_line_is_on_stdout(cli: Cli) -> None:
    assert cli("statsu", "--json", code=64).value["error"]["code"] == "usage"


def test_no_session_here_says_how_to_begin(cli: Cli) -> None:
    ran = cli("status")
    assert "no session is current in this working tree" in ran.err
    assert "segue start" in ran.err


def test_a_session_that_is_over_takes_no_work(started: Cli) -> None:
    started("complete")
    assert "session_over" in started("done", "x", "--json", code=65).out


def test_nothing_to_undo_is_refused(cli: Cli) -> None:
    cli("start", "g", "--id", "a")
    assert "can be undone" in cli("undo", code=65).err


def test_an_unknown_checkpoint_names_those_that_exist(started: Cli) -> None:
    started("checkpoint", "--name", "before")
    assert "checkpoints: before" in started("rewind", "after", code=64).err


@pytest.mark.parametrize("place", ["project", "home"])
def test_a_pause_file_refuses_every_write_and_lets_reads_work(
    started: Cli, project: Path, home: Path, place: str
) -> None:
    (project / "segue.toml").write_text('type = "review"\n')
    pause = (project if place == "project" else home / "segue") / "PAUSE"
    pause.touch()
    before = started("log", "--json").value
    writes = [
        ["start", "g"],
        ["start", "--id", "jwt"],
        ["resume"],
        ["switch", "jwt"],
        ["pause"],
        ["complete"],
        ["abandon"],
        ["handoff", "--to", "x"],
        ["checkpoint", "--note", "x"],
        ["done", "x"],
        ["begin", "x"],
        ["add", "x"],
        ["block", "x"],
        ["unblock", "x"],
        ["drop", "x"],
        ["note", "x"],
        ["decide", "x"],
        ["ask", "x"],
        ["answer", "x", "y"],
        ["learn", "x"],
        ["agent", "note", "x", "--mode", "y"],
        ["agent", "save", "x"],
        ["hold", "--", "true"],
        ["backup"],
        ["trust", "--yes"],
        ["rebuild"],
        ["undo"],
        ["recover"],
        ["cleanup"],
        ["scrub", "password", "--yes"],
    ]
    for words in writes:
        ran = started(*words, code=65, stdin=b"{}")
        assert f"{pause} exists" in ran.err, words
    reads = ("status", "show", "list", "log", "resumable", "checkpoints", "hold", "config", "export")
    for command in reads:
        started(command)
    started("rebuild", "--check")
    assert started("log", "--json").value == before


def test_a_fault_that_nobody_foresaw_exits_70_in_a_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(context: object) -> int:
        raise ZeroDivisionError("by \x1b[31mzero")

    monkeypatch.setattr("segue.surfaces.cli.context.CommandContext.session", fail)
    ran = cli("status", code=70)
    assert ran.err.startswith("segue: unexpected error: ZeroDivisionError: by zero\n")
    assert "Traceback" not in ran.err
    assert cli("status", "--json", code=70).value["error"]["code"] == "unforeseen"
    monkeypatch.setenv("SEGUE_DEBUG", "1")
    assert "Traceback" in cli("status", code=70).err


def test_ctrl_c_exits_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(context: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("segue.surfaces.cli.context.CommandContext.session", interrupt)
    assert cli("status", code=130).err == "segue: interrupted\n"
    error = cli("status", "--json", code=130).value["error"]
    assert (error["code"], error["retryable"]) == ("interrupted", True)


def test_json_is_given_also_where_no_command_was(cli: Cli) -> None:
    for words in (["--version", "--json"], ["--json", "-V"]):
        assert cli(*words).value == {"version": __version__}


def test_a_command_never_ends_the_calling_program(cli: Cli) -> None:
    assert main(["--help"]) == 0
    assert main(["status", "--help"]) == 0
    assert main(["--version"]) == 0


# -- the machine says no -----------------------------------------------------------------------


@linux
@pytest.mark.parametrize(
    "words",
    [
        ("prepare", "--here"),
        ("handoff", "--to", "codex", "--rules"),
        ("init", "--plugin", "x"),
        ("export", "-o", "x.json"),
        ("handoff", "--to-file", "x.segue"),
    ],
)
def test_a_project_that_may_not_be_written_is_no_fault_and_nothing_is_half_done(
    started: Cli, project: Path, words: tuple[str, ...]
) -> None:
    before = started("log", "--json").value
    project.chmod(0o500)
    try:
        ran = as_anybody(*words)
    finally:
        project.chmod(0o700)
    assert ran.returncode == 77, ran
    assert "hint: check" in ran.stderr
    assert list(project.iterdir()) == []
    if words[0] != "handoff" or "--rules" in words:
        assert started("log", "--json").value == before
    assert started("handoff", "--list", "--json").value == [] or "--to-file" in words


@linux
def test_an_offer_is_taken_also_where_its_rules_cannot_be_taken_out(started: Cli, project: Path) -> None:
    started("handoff", "--to", "codex", "--rules")
    project.chmod(0o500)
    try:
        ran = as_anybody("handoff", "--accept", "--actor", "codex")
    finally:
        project.chmod(0o700)
    assert ran.returncode == 0, ran


@linux
def test_a_store_that_may_not_be_read_is_said_to_be_so(started: Cli, home: Path) -> None:
    (home / "segue" / "segue.db").chmod(0)
    assert as_anybody("status").returncode == 77


@linux
def test_a_folder_that_may_not_be_looked_into_is_named_and_the_others_are_read(
    cli: Cli, project: Path
) -> None:
    (project / "old" / "mine").mkdir(parents=True)
    (project / "old" / "mine" / "rollout.jsonl").write_bytes(written("codex", story(1, calls=20)))
    (project / "old" / "theirs").mkdir(mode=0)
    ran = as_anybody("sync", "old")
    (project / "old" / "theirs").chmod(0o700)
    assert ran.returncode == 0 and "1 run read" in ran.stdout and "1 unreadable" in ran.stdout
    assert "theirs: Permission denied" in ran.stderr


def test_a_folder_that_is_gone_is_said_to_be_gone(cli: Cli, project: Path) -> None:
    project.rmdir()
    error = cli("status", "--json", code=64).value["error"]
    assert "no longer exists" in error["message"] and "-C" in error["hint"]


def test_where_there_is_no_standard_input_that_is_said(started: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "segue", "note", "-"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert closed.returncode == 64 and "no standard input" in closed.stderr


def test_a_data_folder_that_is_a_file_is_found_by_the_doctor(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "file").touch()
    monkeypatch.setenv("SEGUE_HOME", str(project / "file"))
    assert "SEGUE_HOME" in cli("start", "x", code=74).err
    assert "is a file, not a folder" in cli("doctor", code=70).out


def test_the_doctor_says_where_there_is_no_git(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "git: " not in cli("doctor").out
    monkeypatch.setenv("PATH", "/nowhere")
    assert "warn     git: it is not on PATH" in cli("doctor").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("handover", "check", "--checkpoint", "folder"), 64),
        (("handover", "status", "--checkpoint", "folder"), 64),
        (("init", "--plugin", "file"), 64),
        (("init", "--plugin", "/dev/full"), 64),
        (("export", "-o", "folder"), 64),
        (("export", "-o", "file/x"), 64),
        (("import", "folder"), 64),
        (("import", "file/x"), 64),
        (("feature", "import", "folder"), 64),
        (("brief", "folder"), 69),
    ],
)
def test_a_path_that_cannot_be_is_no_fault(
    started: Cli, project: Path, home: Path, words: tuple[str, ...], code: int
) -> None:
    (project / "folder").mkdir()
    (project / "file").touch()
    ran = started(*words, code=code)
    assert "  hint: " in ran.err and "should not have happened" not in ran.err
    assert not (home / "segue" / "hook").exists(), "nothing is half done"


@linux
def test_a_device_without_room_is_a_full_one(started: Cli) -> None:
    assert "free some space" in started("export", "-o", "/dev/full", code=74).err


def test_an_error_of_the_machine_that_nobody_foresaw_is_still_said_in_words(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(context: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("segue.surfaces.cli.context.CommandContext.session", fail)
    assert cli("status", "--json", code=74).value["error"]["code"] == "store"
