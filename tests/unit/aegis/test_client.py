"""The client of the recipe: whose features it attests, what it takes for an update, where it stores, and what
it still finds in a damaged store."""

from __future__ import annotations

import shutil
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from segue.aegis import AegisClient, CorruptedStateError, _server, reconstruct_state_from_memories
from segue.api.segue import Segue
from segue.errors import BadValue, UnknownFeature, UnverifiedFeatures, UsageError


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "shop").mkdir()
    return {"home": tmp_path / "home", "folder": tmp_path / "shop"}


@pytest.fixture
def aegis(place: dict[str, Any]) -> Iterator[AegisClient]:
    with AegisClient(**place) as client:
        yield client


def with_feature(aegis: AegisClient, *sessions: str) -> None:
    for session in sessions:
        aegis.progress.update(session, summary=session, completed=["all"])
        aegis.features.create("signin", session, "Sign in", ["works"])


def open_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return int(taken.getsockname()[1])


# -- features ----------------------------------------------------------------------------------


def test_a_feature_that_two_sessions_have_is_not_attested_without_its_session(aegis: AegisClient) -> None:
    with_feature(aegis, "two-a", "two-b")
    for attest in (aegis.features.mark_complete, aegis.features.mark_failed):
        with pytest.raises(UsageError, match="two-a, two-b"):
            attest("signin", "coder")
    with pytest.raises(UsageError, match="2 sessions"):
        aegis.features.update("signin", status="complete", passes=True, verified_by="coder")
    with pytest.raises(UsageError, match="2 sessions"):
        aegis.features.get("signin")
    aegis.features.mark_complete("signin", "coder", session_id="two-a")
    aegis.progress.update("two-a", status="completed")
    with pytest.raises(UnverifiedFeatures):
        aegis.progress.update("two-b", status="completed")


@pytest.mark.parametrize("named", ["get", "list", "update"])
def test_a_client_attests_in_the_session_that_it_works_on(place: dict[str, Any], named: str) -> None:
    with AegisClient(**place) as first:
        with_feature(first, "mine", "other")
    with AegisClient(**place) as again:
        if named == "get":
            again.progress.get("mine")
        elif named == "list":
            again.features.list(session_id="mine")
        else:
            again.progress.update("mine", last_action="went on")
        again.features.mark_complete("signin", "coder")
        assert again.features.list("mine")["passing"] == 1
        assert again.features.list("other")["passing"] == 0


def test_a_feature_of_a_session_that_the_client_does_not_work_on_is_not_found(aegis: AegisClient) -> None:
    with_feature(aegis, "other")
    with AegisClient(store=aegis.segue) as second:
        second.progress.update("mine", summary="another thing")
        assert second.features.get("signin") is None
        with pytest.raises(UnknownFeature, match="mine"):
            second.features.mark_complete("signin", "coder")


def test_a_new_client_finds_the_only_feature_of_an_id(place: dict[str, Any]) -> None:
    with AegisClient(**place) as first:
        with_feature(first, "mine")
    with AegisClient(**place) as again:
        assert again.features.mark_complete("signin", "coder").passes


# -- progress ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "update",
    [
        {"blocked": [{"reason": "x"}]}, {"blocked": ["x"]}, {"blocked": "x"}, {"blocked": 3},
        {"blocked": [{"item": "x", "reason": 3}]}, {"blocked": [{"item": " "}]}, {"blocked": {"item": "x"}},
        {"next_items": [None]}, {"next_items": [3]}, {"next_items": "abc"}, {"next_items": 3},
        {"completed": [None]}, {"completed": ["a", ""]}, {"completed": {1: 2}}, {"in_progress": 3},
        {"summary": ["x"]}, {"last_action": 3},
    ],
)  # fmt: skip
def test_an_update_of_wrong_values_is_a_usage_error_and_changes_nothing(
    aegis: AegisClient, update: dict[str, Any]
) -> None:
    aegis.progress.update("s", summary="g", in_progress="a")
    before = aegis.segue.session("s").state.version
    with pytest.raises(UsageError):
        aegis.progress.update("s", **update)
    with pytest.raises(UsageError):
        aegis.progress.update("new", **update)
    assert aegis.segue.session("s").state.version == before
    assert aegis.progress.get("new") is None


def test_the_plan_has_the_order_in_which_the_recipe_gives_it(aegis: AegisClient) -> None:
    aegis.progress.update(
        "s", summary="Starting: Move to JWT", completed=["z"], in_progress="a", next_items=["b", "c"]
    )
    state = aegis.segue.session("s").state
    assert [item.text for item in state.items] == ["z", "a", "b", "c"]
    assert state.goal == "Move to JWT"


def test_progress_of_all_sessions_is_listed(aegis: AegisClient) -> None:
    aegis.progress.update("one", summary="1", status="in_progress", in_progress="a")
    aegis.progress.update("two", summary="2", status="completed")
    assert [one.session_id for one in aegis.progress.list()] == ["two", "one"]
    assert [one.in_progress_item for one in aegis.progress.list("active")] == ["a"]
    assert [one.session_id for one in aegis.progress.list(status="completed")] == ["two"]
    with pytest.raises(UsageError):
        aegis.progress.list("bananas")


# -- where it stores ---------------------------------------------------------------------------


def test_the_recipes_own_address_and_key_mean_the_store_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("SEGUE_HOME", str(tmp_path / "home"))
    address = f"http://localhost:{open_port()}"
    with pytest.warns(UserWarning, match="nothing answers at"):
        client = AegisClient(api_key="your-key", base_url=address)
    with client:
        client.progress.update(session_id="s", summary="g", in_progress="a")
    with Segue(home=tmp_path / "home", folder=tmp_path / "shop") as segue:
        assert segue.session("s").status().active == ["a"]


def test_a_key_that_no_segue_server_made_is_not_sent_to_a_server_on_this_machine() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert _server(address, "your-key") == (address, "")
    assert _server("https://segue.example", "your-key") == ("https://segue.example", "your-key")


def test_a_key_of_a_segue_server_means_that_server_also_while_it_is_away(tmp_path: Path) -> None:
    address, key = f"http://localhost:{open_port()}", "sgk_0123456789ab_" + "x" * 43
    with AegisClient(key, address, home=tmp_path / "home", folder=tmp_path) as client:
        assert client.segue.workspace.home.shared_store == address


# -- memories and damage -----------------------------------------------------------------------


def recipe_session(aegis: AegisClient) -> None:
    """A session as the recipe writes it: the plan stands in the text of its first memory."""
    aegis.progress.update("s", summary="Starting: Log in", in_progress="a", next_items=["b"])
    aegis.add(
        'Session goal: Log in\nSubtasks: ["a", "b"]\n'
        'Success criteria: [{"id": "jwt", "description": "JWT", "test_steps": ["works"]}]',
        agent_id="coder", scope="agent-private", metadata={"session_id": "s", "type": "session_init"},
    )  # fmt: skip
    aegis.add(
        "Task 'a' result: done", agent_id="coder", scope="agent-private", memory_type="task_result",
        metadata={"session_id": "s", "task": "a", "task_index": 0},
    )  # fmt: skip


def test_a_query_and_a_delta_without_an_agent_are_the_sessions_agents(place: dict[str, Any]) -> None:
    with AegisClient(**place) as client:
        recipe_session(client)
    with AegisClient(**place) as again:
        found = again.query("*", filter_metadata={"session_id": "s"}, top_k=1000)
        assert len(found) == 2
        for one in found[1:]:
            again.delta([{"type": "deprecate", "memory_id": one.id, "deprecation_reason": "summarised"}])
        assert len(again.query("*", filter_metadata={"session_id": "s"})) == 1
        again.add("mine", agent_id="other", scope="agent-private", metadata={"session_id": "s"})
        assert again.query("*", filter_metadata={"session_id": "s"}) == [], "two agents: neither is meant"


def wreck(home: Path, how: str) -> None:
    database = home / "segue.db"
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if how == "journal":
            db.execute("UPDATE events SET body = x'00'")
            db.commit()
    if how == "header":
        with database.open("r+b") as file:
            file.write(b"\0" * 100)


def as_repository(folder: Path) -> None:
    """In a repository the store is not asked where the project begins."""
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


@pytest.mark.parametrize("how", ["header", "journal"])
def test_a_damaged_session_is_reconstructed_from_its_memories(place: dict[str, Any], how: str) -> None:
    with AegisClient(**place) as client:
        recipe_session(client)
    wreck(place["home"], how)
    if how == "header":  # a folder without git: the store is asked for it
        with pytest.raises(CorruptedStateError):
            AegisClient(**place)
        as_repository(place["folder"])
    client = AegisClient(**place)
    with pytest.raises(CorruptedStateError):
        client.progress.get("s")
    memories = client.query(query="session progress", filter_metadata={"session_id": "s"})
    state = reconstruct_state_from_memories(memories)
    assert (state.status, state.summary, state.completed, state["next"]) == (
        "reconstructed", "Log in", ["a"], ["b"],
    )  # fmt: skip
    assert client.query("progress", "thief", filter_metadata={"session_id": "s"}) == []
    with pytest.raises(CorruptedStateError):
        client.features.list("s")


def test_recover_in_the_library_brings_a_session_of_the_recipe_back_with_its_plan(
    place: dict[str, Any],
) -> None:
    with AegisClient(**place) as client:
        recipe_session(client)
    database = place["home"] / "segue.db"
    with closing(sqlite3.connect(database)) as db:
        for table in ("events", "streams", "snapshots"):
            db.execute(f"DELETE FROM {table}")
        db.commit()
    shutil.rmtree(place["home"] / "backups")
    as_repository(place["folder"])
    with AegisClient(**place) as client:
        done = client.recover("s")
        assert done.changed and done.progress is not None
        assert done.progress.completed_items == ["a"] and done.progress.next_items == ["b"]
        assert client.segue.session("s").state.goal == "Log in"
        assert client.features.list("s").total == 1
    assert Segue.recover(home=place["home"], folder=place["folder"], dry_run=True).sessions == 1


@pytest.mark.parametrize("timeout", [30, 30.0, 0.5])
def test_a_timeout_is_how_long_a_call_waits(place: dict[str, Any], timeout: float) -> None:
    with AegisClient("", "", timeout, **place) as client, AegisClient(timeout=timeout, **place) as other:
        client.progress.update("s", summary="Log in", next_items=["a"])
        found = other.progress.get("s")
        assert found is not None and found.summary == "Log in"
        assert client.segue.workspace.settings.number("busy_timeout_ms") == timeout * 1000
        assert client.recover("s").progress is not None


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e300, "soon"])
def test_a_timeout_that_is_none_is_refused(place: dict[str, Any], timeout: Any) -> None:
    with pytest.raises(BadValue):
        AegisClient(timeout=timeout, **place)


def test_a_failure_that_the_recipe_wrote_without_its_task_is_among_those_that_failed() -> None:
    failure = {"memory_type": "task_failure", "content": "Task 'port' failed: timeout", "metadata": {}}
    told = reconstruct_state_from_memories([failure])
    assert told.next == ["port"] and told.failed == ["port: Task 'port' failed: timeout"]
