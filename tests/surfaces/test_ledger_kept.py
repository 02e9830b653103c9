"""The ledger goes wherever its session goes: exports, archives, other stores; and a scrub reaches it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.said_runs import LATER, RULE, place_first, place_steps, said_run
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core.sessions.session_yaml import left_out

MARK = "Zwiebelkuchen"


@pytest.fixture
def said(cli: Cli, home: Path, project: Path) -> Cli:
    """A run was synced in which a lot was said, and some of it was corrected."""
    place_first(home, project)
    cli("sync")
    [rule] = cli("ledger", "--kind", "rule", "--json").value
    cli("ledger", "drop", rule["handle"], "--why", f"it moved to {MARK}")
    cli("ledger", "add", "rule", f"Never mention {MARK}.")
    return cli


def ledger(cli: Cli, session: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = cli("ledger", session, "--all", "--json").value
    return entries


def without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def session_of(cli: Cli) -> str:
    return str(cli("list", "--ids", "--json").value[0])


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_an_export_carries_the_ledger(said: Cli, project: Path, form: str) -> None:
    session, file = session_of(said), project / f"session.{form}"
    said("export", session, "--format", form, "-o", str(file))
    said("import", str(file), "--as", "copy")
    assert ledger(said, "copy") == ledger(said, session) != []
    with Segue(folder=project) as segue:
        original, copy = segue.session(session).state, segue.session("copy").state
        assert (copy.said, copy.heard) == (original.said, original.heard)
        assert "the ledger" not in left_out(original)
    again = project / f"again.{form}"
    said("export", "copy", "--format", form, "-o", str(again))
    if form == "yaml":
        assert again.read_text().replace("copy", session) == without_comments(file.read_text())
        said("import", str(file), "--as", "copy")  # the same once more adds nothing


def test_a_session_in_which_nothing_was_said_has_no_ledger_in_its_document(started: Cli) -> None:
    assert "ledger" not in started("export", "jwt", "--format", "yaml").out


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("{id: abcd, kind: poem, text: x}", "as an export writes it"), ("{kind: rule}", "as an export"),
        ("{id: '../x', kind: rule, text: x}", "ids"),
    ],
)  # fmt: skip
def test_a_document_with_a_wrong_ledger_is_refused(
    started: Cli, project: Path, entry: str, told: str
) -> None:
    text = started("export", "jwt", "--format", "yaml").out
    ledger = f"  ledger:\n    entries:\n    - {entry}\n"
    (project / "x.yaml").write_text(without_comments(text) + ledger)
    ran = started("import", str(project / "x.yaml"), "--as", "wrong", code=64)
    assert "session.ledger" in ran.err and told in ran.err


def test_an_archived_session_comes_back_with_its_ledger(said: Cli) -> None:
    session = session_of(said)
    before = ledger(said, session)
    said("complete", session, "--force", "enough")
    said("cleanup", "--days", "0")
    said("cleanup", "--restore", session)
    assert ledger(said, session) == before


def test_a_rebuild_proves_the_ledger(said: Cli, project: Path) -> None:
    session = session_of(said)
    said("rebuild")
    assert said("rebuild", "--check", "--json").value["different"] == []
    with Segue(folder=project) as segue:
        events = segue.session(session).log()
        state = segue.workspace.repository.state_at(session, len(events))
        assert state.said == segue.session(session).state.said and len(state.said) > 5


def test_a_migrated_store_has_the_ledger(said: Cli, tmp_path: Path) -> None:
    session = session_of(said)
    before = ledger(said, session)
    said("migrate", "--to", f"sqlite:///{tmp_path}/copy.db")
    moved = said("--store", f"sqlite:///{tmp_path}/copy.db", "ledger", session, "--all", "--json").value
    assert moved == before


def test_a_scrub_reaches_entries_corrections_and_what_still_waits(
    said: Cli, home: Path, project: Path
) -> None:
    secret = f"Use the {MARK} of the team for all tests of this button, always."
    place_steps(home, project, said_run(time.time() - 300, "run-2", str(project), secret), "run-2", old=200)
    said("sync")
    session = session_of(said)
    assert any(MARK in entry["text"] for entry in ledger(said, session))
    said("scrub", MARK, "--yes")
    found = ledger(said, session)
    assert not any(MARK in str(entry) for entry in found)
    assert any("[scrubbed]" in entry["text"] for entry in found)
    assert any("[scrubbed]" in entry["why"] for entry in found)
    said("sync")
    assert ledger(said, session) == found, "reading transcripts brings nothing back"
    for path in (home / "segue").rglob("*"):
        assert not path.is_file() or MARK.encode() not in path.read_bytes(), path
    assert said("rebuild", "--check", "--json").value["different"] == []


def test_the_log_and_what_changed_since_tell_it_shortly(said: Cli, home: Path, project: Path) -> None:
    out = said("log").out
    assert "said: 1 request, 1 rule, 1 permission, 1 choice" in out
    assert f"is withdrawn, because: it moved to {MARK}" in out
    assert f"rule added to the ledger: Never mention {MARK}." in out
    said("prepare")
    session = session_of(said)
    said("ledger", "add", "rule", "Answer in French.", "-s", session)
    since = said("since", "--json").value["events"]
    assert [(one["id"], one["text"]) for one in since] == [
        ("ledger.kept", "rule added to the ledger: Answer in French.")
    ]
    assert "said: rule added to the ledger: Answer in French. (user)" in said("since").out


def test_what_was_said_before_the_work_was_left_is_no_change(said: Cli, home: Path, project: Path) -> None:
    steps = said_run(time.time() - 300, "run-2", str(project), LATER)
    place_steps(home, project, steps, "run-2", old=200)
    said("prepare")
    said("sync")
    assert RULE not in said("since").out
    assert [one for one in said("since", "--json").value["events"] if one["id"] == "ledger.kept"] == []
