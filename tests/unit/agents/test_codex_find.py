"""Where Codex keeps its rollouts, which are the project's, and how they stand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.unit.agents.codex_records import CODEX, NATIVE, STORY, assistant, event, line

from segue.agents.base import UNKNOWN_LEAD, SearchScope
from segue.testing.transcripts import placed


def looked(home: Path, **more: Any) -> SearchScope:
    return SearchScope(env={}, home=home, roots=(Path("/src/shop"),), **more)


def rollout(home: Path, day: str, id: str, cwd: str, **fields: Any) -> Path:
    path = home / ".codex" / "sessions" / day / f"rollout-{day.replace('/', '-')}T00-00-00-{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(line("session_meta", {"id": id, "cwd": cwd, **fields}) + b"\n")
    return path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rollouts that were opened."""
    seen: list[str] = []
    plain_open = os.open

    def counting(path: Any, *arguments: Any, **options: Any) -> Any:
        if str(path).endswith(".jsonl"):
            seen.append(str(path))
        return plain_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", counting)
    return seen


def test_a_placed_rollout_is_found_and_recognised(tmp_path):
    path = placed("codex", STORY, home=tmp_path, native=NATIVE)
    [found] = CODEX.find(looked(tmp_path))
    assert (found.path, found.native, found.cwd, found.size) == (
        str(path),
        NATIVE,
        "/src/shop",
        path.stat().st_size,
    )
    assert CODEX.recognises(path.read_bytes()[:65536], path.name)
    assert CODEX.retention(looked(tmp_path)) is None


def test_only_the_projects_rollouts_are_found_newest_first(tmp_path):
    for index, (day, cwd) in enumerate(
        [("2026/01/02", "/src/shop"), ("2026/11/15", "/src/shop/api"), ("2026/11/16", "/x")]
    ):
        os.utime(rollout(tmp_path, day, f"r-{index}", cwd), (index, index))
    rollout(tmp_path, "2026/11/17", "r-9", "/src/shopping")
    assert [found.native for found in CODEX.find(looked(tmp_path))] == ["r-1", "r-0"]


def test_codex_home_and_the_archive_are_looked_into(tmp_path):
    path = rollout(tmp_path, "2026/01/02", "r-1", "/src/shop")
    archive = tmp_path / ".codex" / "archived_sessions"
    archive.mkdir()
    path.rename(archive / path.name)
    where = SearchScope(env={"CODEX_HOME": str(tmp_path / ".codex")}, home=tmp_path / "elsewhere", roots=())
    assert [found.native for found in CODEX.find(where)] == ["r-1"]
    assert list(CODEX.find(SearchScope(env={}, home=tmp_path / "elsewhere", roots=()))) == []


def test_a_first_line_longer_than_is_read_still_names_its_project(tmp_path):
    rollout(tmp_path, "2026/01/02", "r-1", "/src/shop", base_instructions={"text": "x" * 100_000})
    [found] = CODEX.find(looked(tmp_path))
    assert (found.cwd, found.native) == ("/src/shop", "r-1")


def test_a_sub_agents_rollout_names_the_run_that_sent_it(tmp_path):
    rollout(tmp_path, "2026/01/02", "r-1", "/src/shop", parent_thread_id="p-1")
    rollout(
        tmp_path,
        "2026/01/01",
        "r-0",
        "/src/shop",
        source={"subagent": {"thread_spawn": {"parent_thread_id": "p-0"}}},
    )
    assert {found.native: found.parent for found in CODEX.find(looked(tmp_path))} == {
        "r-1": "p-1",
        "r-0": "p-0",
    }


@pytest.mark.parametrize(
    ("fields", "parent"),
    [
        ({"source": {"subagent": "review"}}, UNKNOWN_LEAD),
        ({"source": {"subagent": {"other": "guardian"}}, "thread_source": "subagent"}, UNKNOWN_LEAD),
        ({"source": "vscode", "thread_source": "subagent"}, UNKNOWN_LEAD),
        ({"source": "cli", "thread_source": "user"}, ""),
        ({"source": "exec"}, ""),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("is_cut_off", [False, True])
def test_a_sub_agent_that_does_not_name_its_lead_is_a_sub_agent_all_the_same(
    tmp_path, fields, parent, is_cut_off
):
    path = rollout(tmp_path, "2026/01/02", "r-1", "/src/shop", **fields, instructions="x" * 100)
    if is_cut_off:
        path.write_bytes(path.read_bytes()[:-50])
    [found] = CODEX.find(looked(tmp_path))
    assert (found.native, found.parent) == ("r-1", parent)


def test_among_many_foreign_rollouts_few_are_opened(tmp_path, opened):
    rollout(tmp_path, "2026/12/31", "mine", "/src/shop")
    for index in range(600):
        rollout(tmp_path, f"2026/{index % 12 + 1:02}/{index % 28 + 1:02}", f"r-{index:04}", "/x")
    assert [found.native for found in CODEX.find(looked(tmp_path, heads_max=40))] == ["mine"]
    assert len(opened) == 40
    del opened[:]
    next(iter(CODEX.find(looked(tmp_path))))
    assert len(opened) < 5


def test_what_is_known_need_not_be_opened(tmp_path, opened):
    foreign = [rollout(tmp_path, "2026/12/30", f"r-{index}", "/x") for index in range(50)]
    old = rollout(tmp_path, "2025/01/01", "mine", "/src/shop")
    known = {str(path): "/x" for path in foreign} | {str(old): "/src/shop"}
    assert [found.native for found in CODEX.find(looked(tmp_path, heads_max=1, known=known))] == ["mine"]
    assert set(opened) == {str(old)}


def indexed(home: Path, *rows: tuple[str, str]) -> None:
    database = apsw.Connection(str(home / ".codex" / "state_5.sqlite"))
    database.execute("CREATE TABLE threads (id TEXT, rollout_path TEXT, cwd TEXT, updated_at INTEGER)")
    database.executemany("INSERT INTO threads VALUES ('', ?, ?, 1)", rows)
    database.close()


def test_codexs_own_index_leads_to_an_old_rollout_that_was_resumed(tmp_path, opened):
    old = rollout(tmp_path, "2025/01/01", "mine", "/src/shop")
    foreign = [rollout(tmp_path, "2026/12/30", f"r-{index}", "/x") for index in range(50)]
    indexed(
        tmp_path, (str(old), "/src/shop"), *((str(path), "/x") for path in foreign), ("/gone", "/src/shop")
    )
    assert [found.native for found in CODEX.find(looked(tmp_path, heads_max=1))] == ["mine"]
    assert set(opened) == {str(old)}


def test_an_index_that_lies_or_is_no_database_does_no_harm(tmp_path):
    path = rollout(tmp_path, "2026/01/02", "r-1", "/x")
    indexed(tmp_path, (str(path), "/src/shop"))
    (tmp_path / ".codex" / "state_6.sqlite").write_bytes(b"no database")
    assert list(CODEX.find(looked(tmp_path))) == []


@pytest.mark.parametrize(
    ("records", "lock", "sign"),
    [
        ([event("task_started"), event("task_complete")], "none", "ended"),
        ([event("task_started")], "none", "crashed"),
        ([event("task_started")], "left", "crashed"),
        ([event("task_started"), event("turn_aborted")], "left", "ended"),
        ([event("task_started")], "held", "alive"),
        ([event("task_started")], "no folder", ""),
        ([event("task_started"), *[assistant("x" * 1000)] * 80], "left", "crashed"),
    ],
)
def test_a_rollout_says_whether_its_run_lives_crashed_or_ended(tmp_path, records, lock, sign):
    fcntl = pytest.importorskip("fcntl", reason="NOT TESTED: locks are of POSIX")
    path = rollout(tmp_path, "2026/01/02", "r-1", "/src/shop")
    path.write_bytes(path.read_bytes() + b"\n".join(records) + b"\n")
    locks = tmp_path / ".codex" / "thread-writer-locks"
    if lock != "no folder":
        locks.mkdir()
    if lock in ("left", "held"):
        with (locks / "r-1.lock").open("wb") as file:
            if lock == "held":
                fcntl.flock(file, fcntl.LOCK_EX)
            assert [found.sign for found in CODEX.find(looked(tmp_path))] == [sign]
    else:
        assert [found.sign for found in CODEX.find(looked(tmp_path))] == [sign]


@pytest.mark.parametrize(
    ("head", "name", "is_codex"),
    [
        (b'{"timestamp":"","type":"session_meta","payload":{', "any.jsonl", True),
        (b'{"id":"n"}\n{"record_type":"state"}\n', "any.jsonl", True),
        (b'{"type":"user","message":{"content":"\\"type\\":\\"session_meta\\""}}', "any.jsonl", False),
        (b"", f"rollout-2026-11-15T00-43-39-{NATIVE}.jsonl", False),
        (b'{"timestamp":"","type":"session_meta"', "notes.txt", False),
    ],
)
def test_a_rollout_is_recognised_by_its_head(head, name, is_codex):
    assert CODEX.recognises(head, name) is is_codex
