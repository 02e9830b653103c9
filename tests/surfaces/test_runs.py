"""segue runs, sync and show of a run."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest
from tests.support.hooks import Agent
from tests.support.runs import DAY, SECRET, place
from tests.support.told_runs import ToldRun
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core.runs.steps import Call, End, Prompt, Result, Say, Start, Step
from segue.services.supervision.prompts import first_prompt
from segue.surfaces.cli.views.runs import step_lines
from segue.surfaces.render import Style
from segue.testing.transcripts import placed

AGENTS = ("claude-code", "codex", "copilot-cli")


@pytest.fixture
def agents(home: Path, project: Path) -> list[Path]:
    """A run of each of three agents, the last one the newest and cut off in the middle."""
    return [
        place(
            home, project, agent, native=f"{n}a1b2c3d-{agent}", old=(3 - n) * DAY, ends=n < 2, secret=SECRET
        )
        for n, agent in enumerate(AGENTS)
    ]


def test_runs_lists_every_run_of_the_project_and_makes_no_store(
    cli: Cli, agents: list[Path], home: Path
) -> None:
    lines = cli("runs").out.splitlines()
    assert lines[0].split() == ["run", "agent", "active", "ended", "window", "about"]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["2a1b2c3d", "copilot-cli"], ["1a1b2c3d", "codex"], ["0a1b2c3d", "claude-code"],
    ]  # fmt: skip
    assert "crashed" in lines[1] and "ago" in lines[1]
    assert all(line.endswith("Make the login use tokens, please") for line in lines[1:])
    assert not (home / "segue").exists()


def test_runs_are_listed_and_shown_beside_a_damaged_store(cli: Cli, agents: list[Path], home: Path) -> None:
    cli("start", "work", "--id", "work")
    (home / "segue" / "segue.db").write_bytes(b"this is no database" * 1000)
    assert "copilot-cli" in cli("runs").out
    ran = cli("show", "1a1b2c3d")
    assert "of codex" in ran.out and "using the agents' files instead" in ran.err
    assert cli("show", "1a1b2c3d", "--timeline").out
    assert "the store is damaged" in cli("show", "work", code=70).err


def test_runs_are_chosen_by_agent_and_number(cli: Cli, agents: list[Path]) -> None:
    assert [run["agent"] for run in cli("runs", "--agent", "codex", "--json").value] == ["codex"]
    assert [run["agent"] for run in cli("runs", "--limit", "1", "--json").value] == ["copilot-cli"]
    assert len(cli("runs", "--limit", "0", "--json").value) == 3
    cli("runs", "--agent", "nobody", code=64)


def test_where_no_agent_worked_that_is_said(cli: Cli, tmp_path: Path, home: Path) -> None:
    assert "no runs here" in cli("runs").out
    assert cli("runs", "--json").value == []
    place(home, tmp_path / "elsewhere", native="far")
    assert "no runs here" in cli("runs").out and "far" in cli("runs", "--all").out


def test_sync_says_what_it_did_and_what_agents_will_delete(cli: Cli, agents: list[Path]) -> None:
    ran = cli("sync")
    assert ran.out.startswith("3 runs read (3 new, ") and "0 unchanged, 0 unreadable" in ran.out
    assert "claude-code deletes its transcripts after 30 days; Segue has copies" in ran.err
    again = cli("sync", "--json")
    value = again.value
    assert "deletes" not in again.err and value["first"] == []
    assert (value["read"], value["new"], value["unchanged"], value["unreadable"]) == (0, 0, 3, [])
    assert value["retention"] == {"claude-code": 30} and value["archive_bytes"] > 0


def test_the_doctor_says_every_time_what_agents_will_delete(
    cli: Cli, agents: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("sync")
    assert "ok       transcripts: claude-code deletes its transcripts after 30 days" in cli("doctor").out
    monkeypatch.setenv("SEGUE_ARCHIVE_BYTES_MAX", "0")
    assert "warn     transcripts: claude-code" in cli("doctor").out


def test_sync_takes_a_path_and_names_what_it_cannot_read(
    cli: Cli, agents: list[Path], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nothing of the kind")
    ran = cli("sync", str(agents[1]), str(bad))
    assert "1 run read (1 new" in ran.out and "1 unreadable" in ran.out
    assert "it was not written by an agent that Segue knows" in ran.err
    cli("sync", "--agent", "nobody", code=64)


def test_show_tells_a_run_from_a_session(cli: Cli, agents: list[Path]) -> None:
    cli("start", "Rewrite the login", "--id", "login")
    assert cli("show", "login").out.startswith("Rewrite the login")
    out = cli("show", "1a1b").out
    assert out.startswith("Make the login use tokens, please\n")
    assert "1a1b2c3d-codex of codex" in out and "none; `segue sync` assigns runs to sessions" in out
    cli("sync")
    assert "a copy is in the archive" in cli("show", "1a1b").out
    value = cli("show", "codex/1a1b", "--json").value
    assert (value["id"], value["ended"], value["context"]) == ("1a1b2c3d-codex", "ended", 50_000)
    ran = cli("show", "nothing-of-this-name", code=64)
    assert "there is no session" in ran.err


def test_show_of_an_ambiguous_beginning_names_the_runs(cli: Cli, home: Path, project: Path) -> None:
    for n in range(2):
        place(home, project, native=f"same-{n}")
    ran = cli("show", "same", code=64)
    assert "codex/same-0" in ran.err and "codex/same-1" in ran.err


def test_a_timeline_shows_the_steps_masked_from_transcript_or_copy(cli: Cli, agents: list[Path]) -> None:
    lines = cli("show", "1a1b", "--timeline").out.splitlines()
    assert any(line.split()[2:4] == ["prompt", "Make"] for line in lines if len(line.split()) > 3)
    assert any("failed" in line and "AssertionError" in line for line in lines)
    assert SECRET not in "\n".join(lines)
    cli("sync")
    for path in agents:
        shutil.rmtree(path.parent) if path.parent.name.startswith("2a1b") else path.unlink()
    assert cli("show", "1a1b", "--timeline").out.splitlines() == lines
    newest = cli("show", "1a1b", "--timeline", "--limit", "1", "--json").value
    assert [step["kind"] for step in newest] == ["end"]
    assert "(gone)" in cli("show", "2a1b").out
    assert len(cli("runs", "--json").value) == 3


def test_a_step_whose_time_is_not_known_is_shown_without_one() -> None:
    plain = Style()
    steps: list[tuple[int, Step]] = [(1, Prompt(1_700_000_000.0, "Fix it")), (2, End(0.0, "exit"))]
    day, prompt, end = step_lines(steps, plain)
    assert re.fullmatch(r"#1  \d\d:\d\d:\d\d  prompt    Fix it", prompt) and day.startswith("2023-11-1")
    assert end.split() == ["#2", "end", "exit"] and end.index("end") == prompt.index("prompt")
    assert step_lines(steps[1:], plain) == [end]


def test_a_session_that_nobody_started_says_how_it_began_and_where_to_look(
    cli: Cli, agents: list[Path]
) -> None:
    cli("sync")
    told = cli("status").out
    assert "Began        with this request to " in told and "Last action" not in told
    assert told.endswith("declared: `segue brief` tells what was done last and what is open\n")
    assert " began with this request\n" in cli("log").out
    cli("add", "one thing")
    assert "no items or features" not in cli("status").out


def test_a_timeline_without_an_id_is_of_the_newest_run(cli: Cli, agents: list[Path]) -> None:
    last = cli("show", "--timeline").out.splitlines()[-1]
    assert last.endswith("make deploy")


def test_a_timeline_of_a_session_is_its_journal(started: Cli) -> None:
    assert started("show", "jwt", "--timeline").out == started("log", "jwt").out
    assert started("show", "--timeline").out == started("log", "jwt").out, "no runs here"


def test_doctor_tells_the_size_of_the_archive_and_what_is_wrong_with_it(
    cli: Cli, agents: list[Path], home: Path
) -> None:
    assert "archive: no transcripts are kept yet" in cli("doctor").out
    cli("sync")
    assert "archive: 3 transcripts in 0.0 MB, of at most 1,000 MB" in cli("doctor").out
    (home / "segue" / "archive" / "transcripts.db").write_bytes(b"broken" * 1000)
    ran = cli("doctor", code=70)
    assert "archive" in ran.out and "segue sync" in ran.out


def test_doctor_tells_of_runs_that_nothing_is_left_of(
    cli: Cli, agents: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("sync")
    agents[1].unlink()
    assert "only the digest is left" not in cli("doctor").out
    monkeypatch.setenv("SEGUE_ARCHIVE_BYTES_MAX", "1")
    for card in cli("list", "--json").value:
        cli("complete", card["id"])
    cli("sync")
    assert "only the digest is left of 1 run" in cli("doctor").out
    assert cli("show", "1a1b", "--json").value["present"] is False


def test_scrub_erases_from_runs_and_names_the_agents_own_files(cli: Cli, agents: list[Path]) -> None:
    cli("sync")
    ran = cli("scrub", "use tokens", "--yes")
    assert "3 runs" in ran.out and f"it remains in {agents[1]}, which belongs to an agent" in ran.out
    assert "use tokens" not in cli("show", "1a1b").out


def test_a_sync_of_a_path_that_cannot_be_read_exits_69_and_names_it(cli: Cli, project: Path) -> None:
    assert "gone.jsonl" in cli("sync", "gone.jsonl", code=69).err


# -- runs of other projects --------------------------------------------------------------------


@pytest.fixture
def far(home: Path, tmp_path: Path, project: Path) -> Path:
    """Runs of two projects whose folders are not on this machine: 7a… in one, 7b… and 8c… in the other."""
    place(home, tmp_path / "gone", "claude-code", native="7a1b2c3d-far", old=3 * DAY)
    place(home, tmp_path / "lost", "codex", native="7b1b2c3d-far", old=2 * DAY)
    return place(home, tmp_path / "lost", native="8c1b2c3d-far", old=DAY, prompt="Draw the map, please")


@pytest.mark.parametrize(
    "command", [("show",), ("show", "--timeline"), ("brief",), ("pressure",), ("export",)]
)
def test_a_run_of_any_project_is_found_by_the_beginning_of_its_id(
    cli: Cli, far: Path, command: tuple[str, ...]
) -> None:
    assert cli(*command, "8c1b").out
    assert "2 runs begin with '7'" in (several := cli(*command, "7", code=64)).err
    assert "claude-code/7a1b2c3d-far" in several.err and "codex/7b1b2c3d-far" in several.err
    assert "segue runs --all" in cli(*command, "9d", code=64).err


def test_a_run_of_another_project_is_not_continued_here_and_where_to_is_said(
    cli: Cli, far: Path, tmp_path: Path
) -> None:
    assert "which is gone" in (gone := cli("continue", "8c1b", code=64)).err
    assert "segue brief 8c1b2c3d-far" in gone.err
    (tmp_path / "lost").mkdir()
    assert f"segue --folder {tmp_path / 'lost'} continue 8c1b2c3d-far" in cli("continue", "8c1b", code=64).err


def test_a_run_here_is_meant_before_one_elsewhere(cli: Cli, far: Path, home: Path, project: Path) -> None:
    place(home, project, native="8c999999-here", old=DAY)
    assert "8c999999-here" in cli("show", "8c").out


@pytest.fixture
def restored(far: Path, home: Path, tmp_path: Path) -> list[str]:
    """Thirty runs of another project whose files were all copied at the same time; the ids, newest first."""
    ids = [f"{n:02}f0e1d2-old" for n in range(30)]
    paths = [
        place(
            home, tmp_path / "gone", ("claude-code", "codex")[n % 2], native=id, old=(n * 37 % 30 + 4) * DAY
        )
        for n, id in enumerate(ids)
    ]
    now = time.time()
    for path in (*paths, *home.rglob("*7a1b2c3d*"), *home.rglob("*7b1b2c3d*"), far):
        os.utime(path, (now, now))
    ages = {id: n * 37 % 30 + 4 for n, id in enumerate(ids)}
    return ["8c1b2c3d-far", "7b1b2c3d-far", "7a1b2c3d-far", *sorted(ids, key=lambda id: ages[id])]


def test_the_newest_runs_are_those_with_the_newest_records_whatever_the_times_of_their_files(
    cli: Cli, restored: list[str]
) -> None:
    for _ in range(2):  # read for the first time, and remembered
        assert [run["id"] for run in cli("runs", "--all", "--json").value] == restored[:20]
        lines = cli("runs", "--all").out.splitlines()
        assert [line.split()[0] for line in lines[1:21]] == [id[:8] for id in restored[:20]]
        assert lines[-1] == "20 of 33; --limit 0 shows all"
        cli("start", "work")  # from now on there is a data folder
    assert [run["id"] for run in cli("runs", "--all", "--limit", "0", "--json").value] == restored
    assert "shows all" not in cli("runs", "--all", "--limit", "0").out


def test_the_runs_of_all_projects_are_listed_with_their_projects(cli: Cli, far: Path) -> None:
    lines = cli("runs", "--all").out.splitlines()
    assert lines[0].split()[:3] == ["run", "agent", "project"]
    assert [line.split()[2] for line in lines[1:]] == ["lost", "lost", "gone"]


def test_a_transcript_that_was_listed_is_not_read_again(
    cli: Cli, restored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("start", "work")
    before = cli("runs", "--all", "--limit", "0", "--json").value
    monkeypatch.setattr("segue.services.runs.discovery.RunFinder.reading", None)
    assert cli("runs", "--all", "--limit", "0", "--json").value == before


def test_what_is_remembered_of_a_run_is_erased_with_a_text(cli: Cli, far: Path, home: Path) -> None:
    cli("start", "work")
    cli("runs", "--all")
    remembered = home / "segue" / "runs.msgpack"
    assert b"Draw the map" in remembered.read_bytes()
    cli("scrub", "Draw the map, please", "--yes")
    assert not remembered.exists()


def test_files_beside_transcripts_in_which_nothing_happened_are_no_runs(
    cli: Cli, far: Path, home: Path
) -> None:
    aside = (
        b'{"type":"file-history-snapshot","messageId":"m1","snapshot":{"timestamp":"2026-11-01T10:00:00Z"}}\n'
    )
    folder = home / ".claude" / "projects" / "-elsewhere"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checkpoints.jsonl").write_bytes(aside)
    (folder / "history.jsonl").write_bytes(b'{"display":"/help","timestamp":1762000000000}\n')
    rollout = next(home.rglob("rollout-*7b1b2c3d*"))
    rollout.with_name("rollout-2026-11-01T10-00-00-history.jsonl").write_bytes(
        b'{"ts":1762000000,"text":"hi"}\n'
    )
    ids = ["8c1b2c3d-far", "7b1b2c3d-far", "7a1b2c3d-far"]
    assert [run["id"] for run in cli("runs", "--all", "--json").value] == ids
    assert len(cli("runs", "--all").out.splitlines()) == 4


def test_sync_of_all_projects_says_how_many_runs_of_others_can_be_searched(
    cli: Cli, far: Path, home: Path, project: Path
) -> None:
    assert "3 runs of other projects can be searched" in cli("sync", "--all").out
    place(home, project, native="0a000000-here")
    assert cli("sync", "--all", "--json").value["searchable"] == 3
    assert "other projects" not in cli("sync").out


def test_where_no_agent_left_a_run_no_window_is_said_to_be_full(cli: Cli, far: Path) -> None:
    said = "no runs here; `segue runs --all` lists those of every project\n"
    assert cli("pressure").out == said


def test_in_a_folder_of_which_nothing_is_known_it_is_said_what_lies_elsewhere(cli: Cli, far: Path) -> None:
    assert "3 runs of 2 agents on this machine: `segue runs --all`" in cli().out
    assert cli("--json").value["elsewhere"] == {"runs": 3, "agents": 2}


def test_where_no_agent_ever_worked_nothing_is_said_of_elsewhere(cli: Cli) -> None:
    assert "on this machine:" not in cli().out and cli("--json").value["elsewhere"] is None


def test_all_commands_say_the_same_of_when_a_run_was_last_active(cli: Cli, home: Path, project: Path) -> None:
    path = place(home, project, native="0a000000-here", old=11 * 3600.0 + 60)
    later = time.time() - 10 * 3600.0 - 60
    os.utime(path, (later, later))  # the file was touched an hour later
    assert "11 h ago" in cli("runs").out and "11 h ago" in cli().out
    cli("sync")
    assert "11 h ago" in cli("runs").out and "11 h ago" in cli().out and "11 h ago" in cli("show", "0a").out


def test_the_last_run_is_no_other_run_since_it_was_left(cli: Cli, home: Path, project: Path) -> None:
    path = place(home, project, native="0a000000-here", old=11 * 3600.0)
    os.utime(path)  # copied since
    assert "0a000000" not in cli("since").out
    place(home, project, native="0b000000-other", old=10 * 3600.0)
    os.utime(path)
    assert cli("since", "--json").value["runs"] == [], "the other one is the last, by its own times"


def test_a_step_is_shown_shortened_with_its_command_unless_all_of_it_is_wanted(
    cli: Cli, home: Path, project: Path
) -> None:
    at = time.time() - 3600
    long = "\n".join(f"line {n}" for n in range(150))
    steps: list[Step] = [
        Start(at, "start", native="0c000000-long", cwd=str(project)), Prompt(at, "Test it"),
        Call(at + 1, "c1", "Bash", "run", command="pytest -q t.py", note="Run the tests"),
        Result(at + 2, "c1", ok=True, text=long), Say(at + 3, "They pass."), End(at + 3),
    ]  # fmt: skip
    placed("claude-code", steps, home=home, native="0c000000-long", cwd=str(project))
    told = cli("show", "0c", "--timeline", "--json").value
    call = next(n for n, step in enumerate(told, 1) if step["kind"] == "call")
    shown = cli("show", f"0c#{call}", "-C", "2").out
    assert "Run the tests" in shown and "$ pytest -q t.py" in shown
    assert "line 7\n" in shown and "line 8\n" not in shown and "… 142 more lines (--full)" in shown
    of_result = cli("show", f"0c#{call + 1}").out
    assert "line 29\n" in of_result and "… 120 more lines (--full)" in of_result
    assert "line 149\n" in cli("show", f"0c#{call + 1}", "--full").out


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_what_a_run_was_told_is_shown_whole(cli: Cli, home: Path, project: Path, name: str) -> None:
    run = ToldRun(str(project), native="0a1b2c3d-1", at=time.time() - 4_000).asked("Make the login work")
    run.edited("auth.py").placed(home, name)
    brief = Agent(home, project, name).start(native="0a1b2c3d-2")
    ToldRun(str(project), native="0a1b2c3d-2", at=time.time() - 60).asked("go on").placed(home, name)
    [told] = cli("show", "0a1b2c3d-2", "--told", "--json").value
    assert told["text"].startswith("(segue) Where the last run stopped")
    assert all(line in brief for line in told["text"].splitlines()[1:-1])
    shown = cli("show", "0a1b2c3d-2", "--told").out
    assert all(line.strip() in shown for line in told["text"].splitlines()[1:-1])
    assert "told this run nothing" in cli("show", "0a1b2c3d-1", "--told").out


@pytest.mark.parametrize("agent", AGENTS)
def test_what_segue_started_a_run_with_is_shown_as_told(
    started: Cli, home: Path, project: Path, agent: str
) -> None:
    with Segue(home=home / "segue", folder=project) as segue:
        prompt = first_prompt(segue.workspace, segue.session("jwt"))
    at = time.time() - 60
    start = Start(at, "start", "0a1b2c3d-9", str(project))
    steps: list[Step] = [start, Prompt(at, prompt), Say(at + 1, "I go on.")]
    placed(agent, steps, home=home, native="0a1b2c3d-9", cwd=str(project))
    assert "given" in started("show", "0a1b2c3d-9", "--timeline").out
    [told] = started("show", "0a1b2c3d-9", "--told", "--json").value
    assert told["kind"] == "prompt" and "Go on with this work where it stopped." in told["text"]
    assert "  Go on with this work where it stopped." in started("show", "0a1b2c3d-9", "--told").out


def test_a_timeline_numbers_the_steps_as_show_takes_them(cli: Cli, agents: list[Path]) -> None:
    first = cli("show", "1a1b", "--timeline").out.splitlines()[1].split()
    assert first[0].lstrip("#").isdigit()
    assert first[2] in cli("show", f"1a1b{first[0]}").out


@pytest.mark.parametrize("what", ["jwt", "5b05c7aa#3"])
def test_only_a_run_was_told_something(started: Cli, what: str) -> None:
    assert "--told is about a run" in started("show", what, "--told", code=64).err
