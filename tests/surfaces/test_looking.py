"""status, show, list, log, resumable."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core import event_kinds as ev
from segue.core.event_words import WORDS
from segue.services.workspace.on_off import is_off
from segue.stores.base import Append


def test_status_shows_every_section(started: Cli) -> None:
    started(
        "checkpoint",
        "--block",
        "oauth=waiting for credentials",
        "--decide",
        "HS256",
        "--why",
        "one issuer",
        "--ask",
        "Who owns OAuth?",
        "--thread",
        "design=stuck",
        "--error",
        "KeyError: sub",
        "--learn",
        "tokens expire",
        "--note",
        "edited a.py",
        "--focus",
        "a.py:45",
        "--name",
        "mark",
    )
    started("handoff", "--to", "codex")
    started("pause", "--reason", "lunch")
    lines = started("status").out.splitlines()
    assert lines[0] == "Refactor authentication to JWT"
    assert lines[1] == "jwt · paused · ███░░░░░░░░░░░░░ 20% · 1/5 done · just now"
    found = {line[:13].strip(): line[13:] for line in lines[3:] if line[:13].strip()}
    assert found == {
        "Done": "✓ user model",
        "Under way": "▶ #3 auth middleware",
        "Next": "○ #1 analyse codebase",
        "Blocked": "■ #5 oauth: waiting for credentials",
        "Decisions": "• HS256 (why: one issuer)",
        "Questions": "? #1 Who owns OAuth?",
        "Threads": "~ design (stuck, just now)",
        "Errors": "! KeyError: sub",
        "Findings": "• tokens expire",
        "Last action": "handed to codex",
        "Focus": "a.py:45",
        "Checkpoints": "mark",
        "Handed to": "codex",
        "Paused": "just now: lunch",
    }


def test_status_of_a_session_without_items_says_how_to_plan(cli: Cli) -> None:
    cli("start", "g", "--id", "a")
    out = cli("status").out
    assert "nothing yet: `segue add ITEM` adds to the plan" in out


def test_status_shows_the_last_few_and_counts_the_rest_while_show_has_all(started: Cli) -> None:
    items = [f"item {n}" for n in range(20)]
    started("done", *items)
    out = started("status").out
    assert "item 19  (+17 more)" in out
    assert "item 3\n" not in out
    assert all(f"✓ {item}\n" in started("show").out for item in items)


def test_status_as_json_has_the_fields_of_session_status_with_named_rows(started: Cli) -> None:
    from segue import SessionStatus

    started("decide", "HS256", "--why", "one issuer")
    value = started("status", "--json").value
    assert set(value) == {*SessionStatus.__struct_fields__, "as_of", "pending", "notices"}
    assert value["decisions"][0]["text"] == "HS256"
    assert value["progress"] == {"done": 1, "total": 4, "percent": 25}


def test_show_tells_what_status_leaves_out(started: Cli) -> None:
    started("checkpoint", "--answer", "Who?", "me", "--solved", "KeyError", "added sub", "--drop", "SAML")
    out = started("show", "jwt").out
    for text in ("Who?: me", "KeyError: added sub", "SAML", "Version", "Created", "Project"):
        assert text in out
    value = started("show", "--json").value
    assert value["answered"][0]["answer"] == "me"
    assert value["solved"][0]["solution"] == "added sub"


def test_show_of_an_id_that_no_session_has_says_so(started: Cli) -> None:
    ran = started("show", "run-1234", code=64)
    assert "there is no session 'run-1234'" in ran.err
    assert "segue list --all" in ran.err


def test_status_warns_of_versions_that_could_not_be_recovered(started: Cli) -> None:
    with Segue() as segue:
        version = segue.session("jwt").state.version
        gap = ev.draft(ev.Gap(12, 14, "unreadable"), at="2026-11-15T00:00:00.000000Z", actor="recover")
        segue.workspace.store.append(Append("session/jwt", version, [gap]))
    assert "versions 12-14 could not be recovered" in started("status").out
    assert "versions 12-14 could not be recovered: unreadable" in started("log").out


def test_status_and_hold_name_the_living_holder_and_writes_warn(started: Cli) -> None:
    with Segue() as segue, segue.session("jwt").hold(holder="codex", run="run-7"):
        assert "held by codex (run-7)" in started("status").out
        assert "codex (run-7, pid" in started("hold").out
        ran = started("note", "x")
        assert "segue: warning: codex (run-7, pid" in ran.err
        assert "has held this session since" in ran.err
        assert "has held this session since" in started("note", "y", "--json").value["warnings"][0]
        assert "session jwt has been held by codex" in started("hold", "--", "true", code=66).err
    assert started("note", "z").err == ""


def test_list_is_an_aligned_table_that_marks_the_current_session(started: Cli) -> None:
    started("start", "Other work", "--id", "a-much-longer-id")
    head, first, second = started("list").out.splitlines()
    assert head.split() == ["session", "status", "done", "active", "goal", "[under", "way]"]
    assert first.startswith("*  a-much-longer-id")
    assert second.startswith("   jwt ")
    assert first.index("Other") == second.index("Refactor") == head.index("goal")
    assert second.endswith("[auth middleware]")


def test_list_filters_and_gives_cards_as_json(started: Cli, tmp_path: object) -> None:
    started("start", "Other", "--id", "other")
    started("pause")
    assert [c["id"] for c in started("list", "--status", "paused", "--json").value] == ["other"]
    assert [c["id"] for c in started("list", "--status", "active", "--json").value] == ["jwt"]
    assert started("list", "-C", str(tmp_path), "--json").value == []
    assert len(started("list", "--all", "-C", str(tmp_path), "--json").value) == 2
    assert started("list", "--ids").out == "other\njwt\n"
    started("list", "--status", "sleeping", code=64)


def test_list_without_sessions_says_how_to_begin(cli: Cli) -> None:
    assert "segue start" in cli("list").out
    assert cli("list", "--json").value == []
    assert cli("list", "--ids").out == ""


def test_resumable_has_paused_and_left_sessions_and_no_ended_ones(started: Cli) -> None:
    started("start", "Over", "--id", "over")
    started("complete")
    assert [c["id"] for c in started("resumable", "--json").value] == ["jwt"]
    assert "jwt" in started("resumable").out
    started("complete", "jwt")
    assert "nothing to resume" in started("resumable").out


def test_log_tells_the_journal_in_words_and_takes_limit_and_after(started: Cli) -> None:
    lines = started("log").out.splitlines()
    assert len(lines) == 9
    assert lines[1].split(maxsplit=3)[2:] == ["user", "session started: Refactor authentication to JWT"]
    assert lines[-1].endswith("begun: auth middleware")
    assert [e["version"] for e in started("log", "--limit", "2", "--json").value] == [7, 8]
    assert [e["version"] for e in started("log", "--after", "6", "--json").value] == [7, 8]
    assert started("log", "--after", "6", "--limit", "1", "--json").value[0]["body"] == {
        "quiet": True,
        "text": "auth middleware",
    }


def test_every_kind_of_event_of_a_session_has_words() -> None:
    elsewhere = {ev.TreeBound, ev.TreeCurrent, ev.Trusted, ev.HoldTaken, ev.HoldRenewed, ev.HoldReleased}
    elsewhere |= {ev.CheckTrusted}
    streams = (
        "handover.",
        "handoff.",
        "run.",
        "brief.",
        "stop.",
        "spend.",
        "pending.brought",
        "conversation.",
        "request.",
    )  # of their own
    elsewhere |= {body for kind, body in ev.BODIES.items() if kind.startswith(streams)}
    assert set(ev.BODIES.values()) - elsewhere == set(WORDS)


def test_log_shows_a_kind_that_is_not_known_as_such(started: Cli) -> None:
    with Segue() as segue:
        version = segue.session("jwt").state.version
        draft = ev.Draft("future.kind", b'{"x":1}', "2026-11-15T00:00:00.000000Z", "user")
        segue.workspace.store.append(Append("session/jwt", version, [draft]))
    assert "future.kind (unknown to this version of Segue)" in started("log").out
    event = started("log", "--json").value[-1]
    assert (event["known"], event["body"]) == (False, {"x": 1})


def test_log_marks_an_erased_event(started: Cli) -> None:
    started("note", "the password is swordfish")
    started("scrub", "swordfish", "--yes")
    assert "swordfish" not in started("log").out
    assert "[partly erased]" in started("log").out
    assert [e["version"] for e in started("log", "--json").value if e["erased"]] == [9]


def test_resumable_goes_by_organization_and_project(started: Cli) -> None:
    started("start", "g", "--id", "rocket", "--org", "acme", "--project", "rocket")
    for id in ("jwt", "rocket"):
        started("pause", id)
    ids = [
        [card["id"] for card in started("resumable", *words, "--json").value]
        for words in (("--org", "acme"), ("--project", "rocket"), ("--org", "personal"), ("--org", "none"))
    ]
    assert ids == [["rocket"], ["rocket"], ["jwt"], []]


@pytest.mark.parametrize("command", ["status", "show", "log", "list", "hold", "checkpoints", "resumable"])
def test_looking_writes_nothing(started: Cli, command: str) -> None:
    with Segue() as segue:
        before = msgspec.json.encode(segue.workspace.store.streams())
    started(command)
    with Segue() as segue:
        assert msgspec.json.encode(segue.workspace.store.streams()) == before


@pytest.mark.parametrize("way", ["../shop", "deep/..", "link", "link/deep", "."])
def test_a_folder_is_the_same_by_whichever_way_it_is_named(started: Cli, project: Path, way: str) -> None:
    (project / "deep").mkdir()
    (project / "link").symlink_to(project)
    assert started("-C", way, "status", "--json").value["id"] == "jwt"
    assert Segue(folder=project / way).session().id == "jwt"
    started("off")
    assert is_off(Segue().workspace.home, project / way)
