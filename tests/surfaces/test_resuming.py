"""`segue resume` and `segue switch`: the brief, what changed, and the context for a budget."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core.base.token_estimate import estimate
from segue.stores.sqlite import SqliteStore


def git(project: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(project), *words], check=True, capture_output=True)


@pytest.fixture
def work(started: Cli, project: Path) -> Cli:
    """A session in a repository with notes, a change and a decision."""
    (project / "src").mkdir()
    (project / "src" / "money.py").write_text("def to_cents(x):\n    return round(x * 100)\n")
    (project / "src" / "parser.py").write_text(
        "from src.money import to_cents\n\n\ndef parse(x):\n    return x\n"
    )
    (project / "docs" / "adr").mkdir(parents=True)
    (project / "docs" / "adr" / "adr-004.md").write_text("# Keep cents\nNever floats.\n")
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    (project / "src" / "parser.py").write_text(
        "from src.money import to_cents\n\n\ndef parse(x):\n    return to_cents(x)\n"
    )
    started("decide", "cents as integers", "--why", "floats lost one")
    started("checkpoint", "--focus", "src/parser.py:5")
    return started


def test_resume_shows_the_brief_and_what_changed(work: Cli) -> None:
    out = work("resume").out
    assert out.startswith("already active: jwt\n\n[segue] Where the work stands")
    assert out.index("[/segue]") < out.index("since you left")


def test_resume_with_a_budget_has_the_work_under_way_notes_and_decisions(work: Cli) -> None:
    found = work("resume", "--budget", "minimal", "--note", "adr-004", "--json").value["restoration"]
    text = found["text"]
    assert "  | +    return to_cents(x)" in text
    assert "  | Never floats." in text
    assert "  cents as integers (because floats lost one)" in text
    assert "src/money.py, which src/parser.py refers to" in text
    assert "  | def to_cents(x):" in text
    assert (found["level"], found["budget_total"]) == ("minimal", 5_000)
    assert found["tokens_used"] == estimate(text) <= 5_000
    assert found["budget_remaining"] == 5_000 - found["tokens_used"]
    assert found["notes_restored"] == ["adr-004"]


def test_what_changed_in_the_meantime_is_said_to_be_seen_and_by_no_agent(work: Cli, project: Path) -> None:
    work("pause")
    (project / "src" / "later.py").write_text("LATE = True\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    text = work("resume", "--budget", "balanced", "--json").value["restoration"]["text"]
    part = text.partition("SINCE YOU LEFT:\n")[2]
    assert part.startswith("  what changed in the meantime (seen by Segue)\n  | ")
    assert "src/later.py" in part


def test_explain_says_what_was_loaded_and_that_a_note_is_missing(work: Cli) -> None:
    out = work("resume", "--budget", "balanced", "--note", "adr-999", "--explain").out
    assert "of 25,000 tokens" in out
    assert "skipped" in out and "note/adr-999 (missing: no such note)" in out
    assert "loaded" in out and "change/src/parser.py (essential)" in out


def test_a_budget_that_is_too_small_changes_nothing(work: Cli) -> None:
    work("pause")
    assert "at least 300 tokens" in work("resume", "--budget", "299", code=64).err
    assert "unknown budget: 'huge'" in work("resume", "--budget", "huge", code=64).err
    assert work("status", "--json").value["status"] == "paused"


def test_switch_names_from_and_to_and_restores_balanced(work: Cli) -> None:
    work("start", "Other", "--id", "other")
    value = work("switch", "jwt", "--json").value
    assert (value["from"], value["to"], value["restoration"]["level"]) == ("other", "jwt", "balanced")
    out = work("switch", "other").out
    assert "from: jwt\nto: other\n" in out
    assert "restored balanced:" in out


def test_what_was_loaded_is_noted_with_the_session_as_references(work: Cli) -> None:
    work("resume", "--budget", "minimal", "--note", "adr-004")
    state = work("export", "--format", "json").out
    assert "adr-004" in state and "docs/adr/adr-004.md" in state
    assert "Never floats" not in state
    again = work("resume", "--budget", "minimal", "--json").value["restoration"]
    assert "adr-004" in again["notes_restored"]


def test_copy_puts_the_context_on_the_clipboard(
    work: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = tmp_path / "board"
    tool = tmp_path / "bin" / "wl-copy"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat > {board}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    if any((Path(folder) / "pbcopy").exists() for folder in os.environ["PATH"].split(os.pathsep)):
        pytest.skip("NOT TESTED: this machine has a clipboard of its own")
    assert "copied to the clipboard with wl-copy" in work("resume", "--budget", "minimal", "--copy").out
    assert board.read_text().startswith("[segue]")


def test_a_pause_file_lets_nobody_resume_but_the_library_still_tells(work: Cli, project: Path) -> None:
    (project / "PAUSE").touch()
    before = work("log", "--json").value
    assert work("resume", "--budget", "minimal", "--json", code=65).value["error"]["code"] == "paused"
    assert work("log", "--json").value == before
    with Segue() as seg:
        assert seg.restore(budget="minimal").text.startswith("[segue]")


def test_a_project_names_folders_of_notes_only_inside_itself(
    work: Cli, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "s.md").write_text("# S\nkeep out\n")
    (project / "wiki").mkdir()
    (project / "wiki" / "w.md").write_text("# W\nwelcome words\n")
    (project / "segue.toml").write_text('notes = "wiki, ../secrets"\n')
    work("trust", "--yes")
    found = work("resume", "--budget", "minimal", "--note", "w", "--note", "s", "--json").value["restoration"]
    assert "welcome words" in found["text"]
    assert "keep out" not in found["text"]


def test_resume_and_switch_show_the_focus_and_the_open_threads(work: Cli) -> None:
    work("checkpoint", "--thread", "rounding=in_progress", "--thread", "old=done")
    for out in (work("brief").out, work("resume", "--budget", "minimal").out):
        assert "FOCUS: src/parser.py:5" in out and "THREADS: rounding" in out
    out = work("resume").out
    assert "focus: src/parser.py:5" in out and "thread: rounding" in out and "thread: old" not in out
    work("start", "Other", "--id", "other")
    value = work("switch", "jwt", "--json").value["working"]
    assert value["focus"]["file"] == "src/parser.py"
    assert [one["topic"] for one in value["threads"]] == ["rounding"]
    work("switch", "other")
    out = work("switch", "jwt", "--explain").out
    assert "thread: rounding" in out and "change/src/parser.py (essential)" in out


def test_switch_warns_of_a_session_that_a_living_run_holds(work: Cli) -> None:
    work("start", "Other", "--id", "other")
    with Segue(actor="codex").session("jwt").hold(run="run-9"):
        assert "codex (run-9, " in work("switch", "jwt").err
    work("switch", "other")
    assert "run-9" not in work("switch", "jwt").err


def test_a_heading_that_a_note_does_not_have_is_no_line_that_is_gone(started: Cli, project: Path) -> None:
    (project / "context-library").mkdir(exist_ok=True)
    (project / "context-library" / "pricing.md").write_text("---\nid: n-100\n---\n## Tiers\nThree.\n")
    with Segue() as segue:
        segue.session("jwt").focus(note_id="n-100", position="section-3")
    said = started("resume").out
    assert "context-library/pricing.md:section-3, but no heading there has this name" in said
    assert "that line is gone" not in said


def test_status_tells_of_a_pause_that_waits(
    started: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_BUSY_TIMEOUT_MS", "50")
    locked = SqliteStore(home / "segue" / "segue.db")
    locked.database.connection().execute("BEGIN IMMEDIATE")
    assert "pending" in started("pause", "--reason", "lunch").out
    found = started("status", "--json").value
    assert found["status"] == "active" and found["notices"][0].startswith("a pause of ")
    assert "will be merged once the store can be written" in started("status").out
    locked.database.connection().execute("ROLLBACK")
    locked.close()
    after = started("status", "--json").value
    assert after["status"] == "paused" and after["notices"] == []
