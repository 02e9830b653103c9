"""start, resume, switch, pause, complete, abandon, handoff."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.errors import ConflictError, SessionOver


def test_start_names_the_session_after_date_type_project_and_number(cli: Cli) -> None:
    out = cli("start", "Find the leak", "--type", "research", "--project", "Shop").out
    assert re.search(r"started: \d{4}-\d\d-\d\d-research-shop-001\n", out)
    assert "-002" in cli("start", "Another", "--type", "research", "--project", "Shop").out


def test_start_gives_saved_with_the_status_as_json(cli: Cli) -> None:
    value = cli("start", "Find the leak", "--id", "leak", "--item", "reproduce", "--json").value
    assert value == {
        "session": "leak",
        "version": 3,
        "events": 3,
        "warnings": [],
        "new": [],
        "replaced_goal": "",
        "status": "active",
        "left_active": "",
    }


def test_start_with_the_id_of_a_session_takes_it_up_and_says_that_its_goal_stays(started: Cli) -> None:
    ran = started("start", "Something else", "--id", "jwt")
    assert "continued, active: jwt" in ran.out
    assert "keeps its goal: Refactor authentication to JWT" in ran.err
    assert started("start", "--id", "jwt", "--json").value["events"] == 0
    assert len(started("list", "--json").value) == 1


def test_start_with_the_id_of_a_session_that_is_over_is_refused_with_a_hint(started: Cli) -> None:
    started("complete")
    for words in (("Something else",), (), ("Refactor authentication to JWT",)):
        err = started("start", *words, "--id", "jwt", "--item", "one more", code=65).err
        assert "session jwt is completed" in err and "segue undo --session jwt" in err
    assert started("status", "jwt", "--json").value["next"] == ["analyse codebase", "token validation"]
    with Segue() as seg:
        with pytest.raises(SessionOver):
            seg.start("Something else", id="jwt")
        assert seg.start("Refactor authentication to JWT", id="jwt").state.status == "completed"


def test_start_with_the_id_of_another_projects_session_is_refused_with_a_hint(
    started: Cli, tmp_path: Path
) -> None:
    (tmp_path / "bank").mkdir()
    elsewhere = ("-C", str(tmp_path / "bank"))
    err = started(*elsewhere, "start", "Goal B", "--id", "jwt", code=66).err
    assert "session jwt belongs to another project: shop" in err and "segue switch jwt" in err
    assert "no session is current" in started(*elsewhere, "status").err
    started(*elsewhere, "start", "--id", "jwt", "--json", code=66)
    with Segue(folder=tmp_path / "bank") as seg, pytest.raises(ConflictError):
        seg.start("Goal B", id="jwt")
    started(*elsewhere, "switch", "jwt")
    assert started("status", "--json").value["goal"] == "Refactor authentication to JWT"
    started("start", "By project", "--id", "rocket", "--project", "rocket")
    assert "continued, active: rocket" in started("start", "--id", "rocket").out


def test_a_store_that_is_not_there_is_refused_instead_of_made(started: Cli, tmp_path: Path) -> None:
    folder, file = tmp_path / "no" / "folder", tmp_path / "stores"
    file.mkdir()
    for words in (("list",), ("status",), ("note", "x"), ("start", "g"), ("recall", "x")):
        err = started("--store", f"sqlite://{folder}/x.db", *words, code=64).err
        assert f"there is no folder {folder}" in err
        assert f"mkdir -p {folder}" in err and "segue start" not in err, "the hint leads on"
    assert not folder.parent.exists()
    for words in (("list",), ("note", "x"), ("memories", "list"), ("brief",)):
        assert (
            f"there is no store at {file}/x.db"
            in started("--store", f"sqlite://{file}/x.db", *words, code=64).err
        )
    assert list(file.iterdir()) == []
    started("--store", f"sqlite://{file}/x.db", "start", "g", "--id", "new")
    assert started("--store", f"sqlite://{file}/x.db", "list", "--ids").out == "new\n"


def test_start_reads_the_goal_from_stdin_for_a_dash(cli: Cli) -> None:
    cli("start", "-", "--id", "a", stdin="Größe ändern\n".encode())
    assert cli("status", "--json").value["goal"] == "Größe ändern"


def test_start_puts_organization_and_project_where_list_finds_them(cli: Cli) -> None:
    cli("start", "g", "--id", "a", "--org", "acme", "--project", "till")
    cli("start", "g", "--id", "b")
    assert [c["id"] for c in cli("list", "--org", "acme", "--json").value] == ["a"]
    assert [c["id"] for c in cli("list", "--project", "till", "--json").value] == ["a"]


def test_pause_and_resume_change_the_status_and_show_it(started: Cli) -> None:
    assert "paused: jwt" in started("pause", "--reason", "lunch").out
    assert "lunch" in started("status").out
    assert started("pause").out.startswith("nothing changed")
    out = started("resume").out
    assert out.startswith("resumed: jwt\n")
    assert "auth middleware" in out
    assert started("resume", "--json").value["status"] == "active"


def test_resume_of_a_completed_session_says_so_and_starts_nothing(started: Cli) -> None:
    started("complete", "jwt")
    before = started("status", "--json").value["version"]
    ran = started("resume")
    assert "was completed" in ran.out and "it was left as it is" in ran.out
    value = started("resume", "--json").value
    assert (value["status"], value["events"], value["version"]) == ("completed", 0, before)


def test_resume_with_an_id_makes_it_the_current_session(started: Cli) -> None:
    started("start", "Other", "--id", "other")
    started("resume", "jwt")
    assert started("status", "--json").value["id"] == "jwt"


def test_switch_pauses_the_current_session_and_takes_the_other(started: Cli) -> None:
    started("start", "Other", "--id", "other")
    value = started("switch", "jwt", "--json").value
    assert (value["session"], value["status"], value["paused"]) == ("jwt", "active", "other")
    assert started("status", "other", "--json").value["status"] == "paused"
    assert "paused: jwt" in started("switch", "other").out


def test_switch_to_a_session_that_is_over_leaves_the_current_one_alone(started: Cli) -> None:
    started("complete")
    started("start", "Other", "--id", "other")
    assert "it was left as it is" in started("switch", "jwt", code=65).out
    assert started("status", "--json").value["id"] == "other"
    assert started("status", "--json").value["status"] == "active"


def test_switch_without_an_id_is_a_usage_error(started: Cli) -> None:
    assert "missing: ID" in started("switch", code=64).err


def test_complete_says_what_is_left_open_and_that_nothing_was_proven(started: Cli) -> None:
    out = started("complete", "--summary", "good enough").out
    assert "3 items are left open: auth middleware, analyse codebase, token validation" in out
    assert "No features: nothing was proven.\n" in out
    assert started("status", "--json").value["summary"] == "good enough"


def test_complete_as_json_lists_what_is_left_open(started: Cli) -> None:
    value = started("complete", "--json").value
    assert value["proven"] is False
    assert value["left_open"] == ["auth middleware", "analyse codebase", "token validation"]


def test_abandon_keeps_its_reason(started: Cli) -> None:
    assert "abandoned: Refactor" in started("abandon", "--reason", "the customer left").out
    assert started("show", "--json").value["end_reason"] == "the customer left"
    assert "the customer left" in started("show").out


def test_handoff_names_the_agent_and_keeps_the_note(started: Cli) -> None:
    assert "handed to codex" in started("handoff", "--to", "codex", "--note", "tests are red").out
    value = started("show", "jwt", "--json").value
    assert value["handed_to"] == "codex"
    assert value["handed"][0]["note"] == "tests are red"
    started("handoff", code=64)


@pytest.mark.parametrize("option", ["--folder", "-C"])
def test_the_current_session_belongs_to_the_folder(started: Cli, tmp_path: Path, option: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "no session is current" in started(option, str(elsewhere), "status").err
    started("start", "Elsewhere", "--id", "there", option, str(elsewhere))
    assert started("status", "--json").value["id"] == "jwt"
    assert started("status", "--json", option, str(elsewhere)).value["id"] == "there"


def test_segue_session_chooses_the_session_and_an_id_wins_over_it(
    started: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    started("start", "Other", "--id", "other")
    monkeypatch.setenv("SEGUE_SESSION", "jwt")
    assert started("status", "--json").value["id"] == "jwt"
    assert started("status", "other", "--json").value["id"] == "other"
    assert started("status", "-s", "other", "--json").value["id"] == "other"


def test_home_and_actor_are_taken_before_and_after_the_command(cli: Cli, tmp_path: Path) -> None:
    home = str(tmp_path / "other-home")
    cli("--home", home, "--actor", "codex", "start", "g", "--id", "a")
    cli("list", "--home", home)
    assert {e["actor"] for e in cli("log", "a", "--json", f"--home={home}").value} == {"codex"}
    assert cli("list", "--json").value == []


def test_a_new_session_says_that_the_one_before_stays_active(started: Cli) -> None:
    ran = started("start", "another", "--id", "other")
    assert "jwt stays active; `segue switch jwt` returns to it" in ran.out
    started("pause")
    value = started("start", "third", "--id", "third", "--json").value
    assert value["left_active"] == ""
    assert started("start", "fourth", "--json").value["left_active"] == "third"


def test_texts_of_any_length_leave_the_rest_in_sight(started: Cli) -> None:
    long = "word " * 40_000
    assert len(started("note", "-", stdin=long.encode()).out) < 3_000
    for words in (("status",), ("log",), ("list",)):
        told = started(*words).out
        assert len(told) < 6_000 and (words == ("list",) or "--json shows them" in told)
    assert started("status", "--json").value["last_action"] == long.strip()
    assert len(started("undo").out) < 3_000


def test_over_sessions_give_every_field_that_is_documented(started: Cli) -> None:
    started("complete")
    value = started("resume", "--json").value
    assert {"brief", "since", "working", "timeout", "restoration"} <= set(value)
    value = started("switch", "jwt", "--json", code=65).value
    assert {"paused", "from", "to", "since", "restoration"} <= set(value)
    assert "is completed" in started("continue", "jwt", code=65).err


def test_a_session_that_is_active_already_is_not_said_to_be_resumed(started: Cli) -> None:
    started("pause", "--reason", "waiting for review")
    assert "(waiting for review)" in started("resume").out
    started("note", "one")
    started("undo")
    told = started("resume").out
    assert "already active" in told and "waiting for review" not in told.partition("since you left")[2]


def test_what_happened_in_the_session_meanwhile_is_told_in_words(started: Cli) -> None:
    started("pause")
    started("learn", "a finding")
    started("undo")
    told = started("since").out
    assert "learnt: a finding (user)" in told and "went back (user)" in told and "session.rewound" not in told


def test_what_was_so_already_is_said_to_be(started: Cli, project: Path) -> None:
    started("export", "-o", "x.json")
    assert "it is already here" in started("import", "x.json").out
    assert started("import", "x.json", "--json").value["changed"] is False
    told = started("import", "x.json", "--as", "copy").out
    assert "imported: copy" in told and "segue switch copy" in told
    started("complete")
    started("export", "-o", "y.json")
    assert "segue show done" in started("import", "y.json", "--as", "done").out
    id = started("remember", "the sky is blue", "--json").value["id"]
    assert "forgotten: " in started("forget", id).out
    assert "had been forgotten already" in started("forget", id).out


def test_rules_that_cannot_be_written_are_said_to_be_missing(started: Cli) -> None:
    assert "no rules were written" in started("handoff", "--to", "anyone", "--rules").err
