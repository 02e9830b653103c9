"""Where Claude Code's transcripts lie, whose they are, and how few files are opened to know it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from segue.agents.base import UNKNOWN_LEAD, SearchScope
from segue.agents.claude_code import AGENT, discover
from segue.core.runs.steps import Prompt, Start
from segue.testing.transcripts import placed

AT = 1_700_000_000.0


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The transcripts that were opened."""
    seen: list[str] = []
    before = discover.beginning_of

    def counted(path: Path) -> bytes:
        seen.append(path.name)
        return before(path)

    monkeypatch.setattr(discover, "beginning_of", counted)
    return seen


def where(home: Path, *roots: str, **more: Any) -> SearchScope:
    return SearchScope(env=more.pop("env", {}), home=home, roots=tuple(map(Path, roots)), **more)


def put(home: Path, native: str, cwd: str, age: int = 0, **start: str) -> Path:
    path = placed(
        "claude-code", [Start(AT, "start", **start), Prompt(AT, "x")], home=home, native=native, cwd=cwd
    )
    os.utime(path, (AT - age, AT - age))
    return path


def found(at: SearchScope) -> list[str]:
    return [one.native for one in AGENT.find(at)]


def test_the_projects_own_folder_is_found_newest_first_and_only_what_is_asked_for_is_opened(tmp_path, opened):
    put(tmp_path, "old", "/src/shop", 60)
    put(tmp_path, "new", "/src/shop")
    for number in range(50):
        put(tmp_path, f"other-{number}", f"/src/elsewhere-{number}")
    assert next(AGENT.find(where(tmp_path, "/src/shop"))).native == "new"
    assert opened == ["new.jsonl"]
    assert found(where(tmp_path, "/src/shop")) == ["new", "old"]
    assert opened == ["new.jsonl", "new.jsonl", "old.jsonl"]


def test_work_in_a_folder_of_the_project_is_its_work_and_a_neighbours_is_not(tmp_path, opened):
    put(tmp_path, "inside", "/src/shop/web")
    put(tmp_path, "neighbour", "/src/shop-two", 5)
    assert found(where(tmp_path, "/src/shop")) == ["inside"]
    assert sorted(opened) == ["inside.jsonl", "neighbour.jsonl"]


def test_what_is_known_to_be_another_projects_is_not_opened_again(tmp_path, opened):
    inside, neighbour = put(tmp_path, "inside", "/src/shop/web"), put(tmp_path, "neighbour", "/src/shop-two")
    known = {str(inside): "/src/shop/web", str(neighbour): "/src/shop-two"}
    assert found(where(tmp_path, "/src/shop", known=known)) == ["inside"]
    assert opened == ["inside.jsonl"]


def test_no_more_files_are_opened_than_allowed(tmp_path, opened):
    for number in range(30):
        put(tmp_path, f"n{number}", "/src/shop-two", number)
    put(tmp_path, "own", "/src/shop", 100)
    assert found(where(tmp_path, "/src/shop", heads_max=10)) == ["own"]
    assert len(opened) == 10 + 1, "and the one that is found"


def test_every_working_tree_of_the_project_counts_and_no_roots_mean_all(tmp_path):
    put(tmp_path, "main", "/src/shop", 1)
    put(tmp_path, "tree", "/trees/tax", 2)
    put(tmp_path, "other", "/elsewhere", 3)
    assert found(where(tmp_path, "/src/shop", "/trees/tax")) == ["main", "tree"]
    assert found(where(tmp_path)) == ["main", "tree", "other"]


def test_the_agents_own_variable_moves_its_folder(tmp_path):
    path = put(tmp_path, "moved", "/src/shop")
    (tmp_path / ".claude").rename(tmp_path / "settings-of-mine")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "settings-of-mine")}
    assert not path.exists() and found(where(tmp_path, "/src/shop")) == []
    assert found(where(tmp_path, "/src/shop", env=env)) == ["moved"]


def test_sub_agents_are_found_under_the_run_that_sent_them(tmp_path):
    put(tmp_path, "s1", "/src/shop")
    put(tmp_path, "a7", "/src/shop", 5, parent="s1")
    beside = put(tmp_path, "s1", "/src/shop", 9)
    beside.rename(beside.with_name("agent-old.jsonl"))
    put(tmp_path, "s1", "/src/shop")
    (beside.with_name("agent-empty.jsonl")).touch()
    parents = {one.native: one.parent for one in AGENT.find(where(tmp_path, "/src/shop"))}
    assert parents == {"s1": "", "agent-a7": "s1", "agent-old": "s1", "agent-empty": UNKNOWN_LEAD}


def member_line(**fields: Any) -> str:
    about = {"parentUuid": None, "isSidechain": False, **fields, "type": "user", "cwd": "/src/shop"}
    return json.dumps({**about, "message": {"role": "user", "content": "Write the tests"}}) + "\n"


@pytest.mark.parametrize(
    ("lines", "config", "lead"),
    [
        (member_line(teamName="Shop.Team", agentName="tester"), "lead-1", "lead-1"),
        (member_line(teamName="Shop.Team", agentName="tester"), "", UNKNOWN_LEAD),
        (member_line(teamName="Shop.Team", agentName="tester")[:90], "lead-1", "lead-1"),
        (
            '{"type":"permission-mode"}\n' + member_line(teamName="other", agentName="x"),
            "lead-1",
            UNKNOWN_LEAD,
        ),
        (member_line(teamName="Shop.Team", agentName="team-lead"), "lead-1", ""),
        (member_line(teamName="Shop.Team"), "lead-1", ""),
        ('{"type":"agent-name","agentName":"renamed by the user"}\n' + member_line(), "lead-1", ""),
        (member_line(toolUseResult={"teamName": "Shop.Team", "agentName": "tester"}), "lead-1", ""),
        (member_line(teamName=7, agentName=["x"]), "lead-1", ""),
    ],
    ids=["named", "team is gone", "cut off", "another team", "lead", "no member", "renamed", "nested", "odd"],
)
def test_a_member_of_a_team_belongs_to_its_lead(tmp_path, lines, config, lead):
    path = put(tmp_path, "member", "/src/shop")
    path.write_text(lines)
    if config:
        team = tmp_path / ".claude" / "teams" / "shop-team"
        team.mkdir(parents=True)
        (team / "config.json").write_text(json.dumps({"name": "Shop.Team", "leadSessionId": config}))
    [one] = AGENT.find(where(tmp_path, "/src/shop"))
    assert one.parent == lead
    [same] = AGENT.transcripts_at(path, where(tmp_path, "/src/shop"))
    assert same.parent == lead


def test_a_registry_entry_tells_a_living_run_from_a_killed_one(tmp_path):
    for native in ("alive", "killed", "ended"):
        put(tmp_path, native, "/src/shop")
    sessions = tmp_path / ".claude" / "sessions"
    sessions.mkdir()
    for pid, native in ((7, "alive"), (8, "killed"), (9, "alive")):
        body = {"pid": pid, "sessionId": native, "procStart": str(pid)}
        (sessions / f"{pid}.json").write_text(json.dumps(body))
    (sessions / "torn.json").write_text('{"pid": ')
    (sessions / "odd.json").write_text("[]")
    at = where(tmp_path, "/src/shop", is_alive=lambda pid, started: pid == 7 and started == "7")
    signs = {one.native: (one.sign, one.pid) for one in AGENT.find(at)}
    assert signs == {"alive": ("alive", 7), "killed": ("crashed", 8), "ended": ("ended", 0)}


@pytest.mark.parametrize(
    ("settings", "days"),
    [(None, 30), ('{"cleanupPeriodDays": 90}', 90), ('{"cleanupPeriodDays": 99999}', None), ("{}", 30),
     ("torn", 30), ("[]", 30), ('{"cleanupPeriodDays": "x"}', 30), ('{"cleanupPeriodDays": true}', 30)],
)  # fmt: skip
def test_how_long_transcripts_are_kept(tmp_path, settings, days):
    (tmp_path / ".claude").mkdir()
    if settings is not None:
        (tmp_path / ".claude" / "settings.json").write_text(settings)
    assert AGENT.retention(where(tmp_path, "/src/shop")) == days


def test_a_folder_that_is_not_there_or_no_folder_gives_nothing(tmp_path):
    assert found(where(tmp_path, "/src/shop")) == []
    (tmp_path / ".claude").write_text("no folder")
    assert found(where(tmp_path, "/src/shop")) == []
    assert AGENT.retention(where(tmp_path, "/src/shop")) == 30
