"""`segue handoff` as it is typed: offer, accept, decline, withdraw, list, and a file for another machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli


def test_an_offer_names_its_id_its_end_and_how_to_start_the_agent(started: Cli) -> None:
    out = started("handoff", "--to", "codex", "--note", "tests are red").out
    assert "handed to codex: jwt" in out and re.search(r"offer h[0-9a-f]{10}, until 20", out)
    assert 'start it with: codex "$(cat ' in out
    value = started("handoff", "--to", "claude", "--json").value
    assert (
        value["offer"]["to"] == "claude-code" and value["session"] == "jwt" and Path(value["file"]).is_file()
    )


def test_an_agent_that_is_not_on_this_machine_is_offered_it_and_that_is_said(
    started: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "codex was not found on PATH here; it may be on another machine"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    codex = tmp_path / "codex"
    codex.write_text("#!/bin/sh\n")
    codex.chmod(0o755)
    assert said not in started("handoff", "--to", "codex").out
    codex.unlink()
    lines = started("handoff", "--to", "codex").out.splitlines()
    assert lines[-1] == said and lines[-2].startswith("start it with: codex ")
    assert started("handoff", "--to", "codex", "--json").value["missing"] == "codex"
    assert "PATH" not in started("handoff", "--to", "anyone").out


def test_an_agent_takes_what_was_offered_to_it_and_nobody_takes_it_twice(started: Cli) -> None:
    started("handoff", "--to", "codex", "--note", "tests are red")
    started("handoff", "--accept", "--actor", "gemini-cli", code=64)
    out = started("handoff", "--accept", "--actor", "codex").out
    assert "accepted by codex: jwt" in out and "note: tests are red" in out
    started("handoff", "jwt", "--accept", "--actor", "codex", code=66)
    assert "taken over by codex" in started("status").out
    assert started("handoff", "--list", "--json").value[0]["status"] == "taken"


def test_an_undo_of_a_taking_says_that_it_stays_taken(started: Cli) -> None:
    started("handoff", "--to", "codex", "--note", "tests are red")
    offer = started("handoff", "--accept", "--actor", "codex", "--json").value["offer"]["id"]
    out = started("undo").out
    assert "undone: note: taken over by codex: tests are red" in out
    assert f"not undone: codex took offer {offer}; `segue handoff --to NAME` makes a new one" in out
    started("note", "on my own")
    assert "stays" not in started("undo").out


def test_declining_and_withdrawing_are_visible_with_their_reasons(started: Cli) -> None:
    started("handoff", "--to", "codex")
    started("handoff", "--decline", "--actor", "codex", "--reason", "no time")
    started("handoff", "--to", "codex")
    started("handoff", "jwt", "--withdraw", "--reason", "mine again")
    out = started("handoff", "--list").out
    assert "declined by codex" in out and "(no time)" in out and "withdrawn" in out and "(mine again)" in out
    assert started("handoff", "jwt", "--list", "--json").value[1]["reason"] == "no time"


@pytest.mark.parametrize(
    ("settled", "told"),
    [
        (("--withdraw",), "the offer to codex was withdrawn"),
        (("--decline", "--actor", "codex"), "the offer to codex was declined"),
        ((), "the offer to codex expired"),
    ],
)
def test_an_offer_that_nobody_can_take_any_more_is_told_nowhere_as_one(
    started: Cli, settled: tuple[str, ...], told: str
) -> None:
    hours = ("--hours", "72" if settled else "1e-7")
    started("handoff", "--to", "codex", "--note", "please review", *hours)
    if settled:
        assert "handed to codex: please review" in started("brief").out
        assert started("recall", "please review").out.count("please review") == 1
        started("handoff", *settled)
    for command in (("brief",), (), ("status",), ("show",)):
        assert "handed to codex" not in started(*command).out
    status = started("status", "--json").value
    assert (status["handed_to"], status["last_action"]) == ("", told)
    assert started("recall", "please review", "--json").value == []


def test_the_note_of_an_offer_made_again_can_be_recalled_and_outlives_the_offer_that_is_taken(
    started: Cli,
) -> None:
    offer = ("handoff", "--to", "codex", "--note", "please review")
    started(*offer, "--hours", "1e-7")
    started(*offer)
    assert len(started("recall", "please review", "--json").value) == 1
    started("handoff", "--to", "gemini", "--note", "please translate")
    started("handoff", "--accept", "--actor", "codex")
    notes = started("recall", "please", "--json").value
    assert [(one["content"][:13], one.get("expires", "")) for one in notes] == [("please review", "")]
    assert started("status", "--json").value["handed_to"] == "codex"


def test_what_was_handed_over_stays_settled_when_the_session_goes_back(started: Cli) -> None:
    started("handoff", "--to", "codex", "--note", "please review")
    started("checkpoint", "--name", "offered")
    started("handoff", "--withdraw")
    started("note", "on my own")
    started("rewind", "offered")
    assert "handed to codex" not in started("brief").out + started("status").out


@pytest.mark.parametrize(
    "words", [("--accept", "--decline"), ("--to", "x", "--list"), (), ("--to", "../x"), ("--accept",)]
)
def test_two_wishes_at_once_or_none_that_can_be_met_are_64_and_offer_nothing(
    started: Cli, words: tuple[str, ...]
) -> None:
    before = started("log", "--json").value
    assert started("handoff", *words, "--json", code=64).value["error"]["hint"]
    assert started("handoff", "--list", "--json").value == []
    assert started("log", "--json").value == before


def test_a_bundle_goes_to_another_machine_and_is_taken_there(started: Cli, tmp_path: Path) -> None:
    file = str(tmp_path / "work.segue")
    packed = started("handoff", "--to-file", file, "--to", "codex", "--note", "go on", "--json").value
    assert Path(file).stat().st_mode & 0o077 == 0
    there = ("--home", str(tmp_path / "elsewhere"))
    out = started("import", file, *there).out
    assert packed["sha256"] in out and f"--accept {packed['offer']}" in out
    assert "note: go on" in started("handoff", "--accept", packed["offer"], "--actor", "codex", *there).out
    assert "user model" in started("status", *there).out
    body = bytearray(Path(file).read_bytes())
    body[len(body) // 2] ^= 0xFF
    Path(file).write_bytes(body)
    started("import", file, "--home", str(tmp_path / "third"), code=64)


def test_what_was_shared_with_the_taker_by_name_goes_along(started: Cli) -> None:
    as_a = ("--actor", "agent-a")
    started(*as_a, "remember", "look at b.py", "--scope", "agent-shared", "--share", "codex")
    started(*as_a, "remember", "for nobody else", "--scope", "agent-private")
    file = started(*as_a, "handoff", "--to", "codex", "--json").value["file"]
    told = Path(file).read_text()
    assert "look at b.py" in told and "for nobody else" not in told
