"""The unmodified SDK of Aegis Memory works against a Segue server: all of its contract, both clients.

Each is held to what it means, not only to a status. Every test has a project of its own.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.aegis import client_of, server as server
from tests.support.server import SegueServer

_numbers = itertools.count()
Key = Callable[..., str]


@pytest.fixture
def key(server: SegueServer) -> Key:
    """``key(role=…)``: a key of the test's own project."""
    project = f"p{next(_numbers)}"
    return lambda **wish: server.key(**{"role": "writer", "project": project, **wish})


@pytest.fixture(params=["sync", "async"])
def client(server: SegueServer, key: Key, request: pytest.FixtureRequest) -> Iterator[Any]:
    made = client_of(server, key(), request.param)
    yield made
    made.close()


@pytest.fixture
def another(server: SegueServer, key: Key) -> Iterator[Any]:
    """A second client, on connections of its own, with another key of the project."""
    made = client_of(server, key())
    yield made
    made.close()


def refused(status: int, call: Callable[[], Any]) -> Any:
    """The problem that a call is refused with."""
    import httpx

    with pytest.raises(httpx.HTTPStatusError) as caught:
        call()
    assert caught.value.response.status_code == status, caught.value.response.text
    body = caught.value.response.json()
    assert isinstance(body["detail"], str) and body["detail"]
    return body


# -- sessions --------------------------------------------------------------------------------------


def test_a_session_is_created_looked_at_and_the_same_when_created_again(client: Any) -> None:
    made = client.create_session("auth", agent_id="coder", user_id="ann")
    assert (made.session_id, made.status, made.completed_items, made.total_items) == ("auth", "active", [], 0)
    assert datetime.now(UTC) - made.updated_at < timedelta(minutes=5)
    client.mark_complete("auth", "model")
    again = client.create_session("auth", agent_id="coder", user_id="ann")
    assert again == client.get_session("auth") and again.completed_items == ["model"]
    client.mark_complete("auth", "middleware")
    assert client.get_session("auth").completed_items == ["model", "middleware"]


def test_an_update_adds_what_is_done_and_replaces_what_is_next(client: Any) -> None:
    client.create_session("s")
    client.update_session(
        "s", completed_items=["b"], in_progress_item="c", next_items=["d", "e"], summary="half",
        blocked_items=[{"item": "x", "reason": "no schema"}], last_action="wrote b", total_items=9,
    )  # fmt: skip
    now = client.update_session("s", completed_items=["a", "b"], next_items=["e", "f"])
    assert now.completed_items == ["b", "a"] and now.next_items == ["e", "f"]
    assert (now.in_progress_item, now.summary, now.completed_count) == ("c", "half", 2)
    assert now.blocked_items == [{"item": "x", "reason": "no schema"}]
    assert now.total_items == 9 and now.progress_percent == pytest.approx(100 * 2 / 9, abs=0.01)
    assert client.update_session("s", blocked_items=[]).blocked_items == []
    assert client.set_in_progress("s", "e").in_progress_item == "e"
    assert client.mark_complete("s", "e").completed_items == ["b", "a", "e"]
    assert client.get_session("s").in_progress_item is None


def test_a_status_is_one_that_there_is(client: Any) -> None:
    client.create_session("s")
    for status in ("paused", "active", "in_progress"):
        assert client.update_session("s", status=status).status == status
    refused(422, lambda: client.update_session("s", status="bananas", completed_items=["a"]))
    assert client.get_session("s").completed_items == []
    assert client.update_session("s", status="failed").status == "failed"
    refused(409, lambda: client.mark_complete("s", "too late"))


def test_long_texts_are_kept_and_percentages_are_true(client: Any) -> None:
    client.create_session("s")
    long = "x" * 5_000
    assert client.set_in_progress("s", long).in_progress_item == long
    now = client.update_session("s", completed_items=["a", "b", "c"], total_items=1)
    assert now.progress_percent <= 100


def test_what_is_missing_is_404_and_what_cannot_be_is_422(client: Any) -> None:
    missing = (
        lambda: client.get_session("nobody"), lambda: client.update_session("nobody", summary="x"),
        lambda: client.get_feature("nothing"), lambda: client.get("m000000000000"),
    )  # fmt: skip
    cannot = (
        lambda: client.create_session("a/b"), lambda: client.create_session("x" * 200),
        lambda: client.query("", agent_id="a"), lambda: client.query("x", top_k=100_000),
        lambda: client.add("text", scope="everywhere"),
    )  # fmt: skip
    assert [refused(404, call)["status"] for call in missing] == [404] * 4
    assert [refused(422, call)["status"] for call in cannot] == [422] * 5


# -- features --------------------------------------------------------------------------------------


def test_a_feature_passes_only_on_somebodys_word_or_by_its_checks(client: Any) -> None:
    client.create_session("s")
    made = client.create_feature("jwt", "Log in", session_id="s", category="auth", test_steps=["accepted"])
    assert (made.status, made.passes, made.category) == ("not_started", False, "auth")
    assert client.create_feature("jwt", "Another text", session_id="s") == made
    claimed = client.update_feature("jwt", status="complete", passes=True, implemented_by="coder")
    assert not claimed.passes and claimed.status == "testing" and claimed.implemented_by == "coder"
    refused(409, lambda: client.update_session("s", status="completed"))
    told = client.mark_feature_complete("jwt", "ann", notes="tried it by hand")
    assert told.passes and told.status == "complete" and told.verified_by == "ann"
    assert client.get_feature("jwt") == told
    failed = client.mark_feature_failed("jwt", "an expired token is accepted")
    assert (failed.status, failed.passes) == ("failed", False)
    refused(409, lambda: client.update_session("s", status="completed"))
    client.mark_feature_complete("jwt", "ann")
    assert client.update_session("s", status="completed").status == "completed"


def test_a_word_without_a_name_or_against_itself_does_not_pass(client: Any) -> None:
    client.create_feature("f", "without a session")
    assert not client.mark_feature_complete("f", "").passes
    refused(422, lambda: client.update_feature("f", status="failed", passes=True))
    refused(422, lambda: client.update_feature("f", status="bananas"))
    assert client.update_feature("f", verified_by="ann").passes


def test_features_are_listed_by_session_status_and_namespace_with_true_counts(client: Any) -> None:
    client.create_session("s")
    client.create_feature("a", "A", session_id="s")
    client.create_feature("b", "B", session_id="s")
    client.create_feature("c", "C")
    client.create_feature("c", "another wall", namespace="other")
    client.mark_feature_complete("a", "ann")
    client.mark_feature_failed("b", "why")
    mine = client.list_features(session_id="s")
    assert [one.feature_id for one in mine.features] == ["a", "b"]
    assert (mine.total, mine.passing, mine.failing, mine.in_progress) == (2, 1, 1, 0)
    assert [one.feature_id for one in client.list_features(status="failed").features] == ["b"]
    assert client.list_features().total == 3
    assert client.get_feature("c", "other").description == "another wall"
    assert client.list_features(namespace="other").features[0].description == "another wall"
    client.update_feature("c", namespace="other", status="in_progress")
    assert (
        client.list_features(namespace="other").in_progress == 1 and client.list_features().in_progress == 0
    )


# -- memories --------------------------------------------------------------------------------------


def test_a_memory_is_kept_once_found_changed_and_deleted(client: Any) -> None:
    added = client.add(
        "HS256 because there is one issuer only", agent_id="coder", metadata={"topic": "auth"},
        derived_from_agents=["planner"], coordination_metadata={"step": 3},
    )  # fmt: skip
    assert added.deduped_from is None and added.inferred_scope == "global"
    again = client.add("HS256 because there is one issuer only", agent_id="coder")
    assert again.id == added.id == again.deduped_from
    found = client.query("which algorithm for one issuer", agent_id="coder")[0]
    assert (found.id, found.agent_id, found.metadata) == (added.id, "coder", {"topic": "auth"})
    assert found.score > 0 and found.derived_from_agents == ["planner"]
    assert found.coordination_metadata == {"step": 3}
    changed = client.update_memory(added.id, content="RS256: two issuers", metadata={"by": "ann"})
    assert changed.content == "RS256: two issuers" and changed.metadata == {"topic": "auth", "by": "ann"}
    assert client.get(added.id) == changed
    assert client.delete(added.id) is True
    refused(404, lambda: client.get(added.id))
    assert client.delete(added.id) is False
    assert client.query("RS256 two issuers", agent_id="coder") == []


def test_a_batch_is_kept_in_order_and_more_than_a_hundred_are_found(client: Any) -> None:
    for start in (0, 100):
        items = [{"content": f"finding {start + n}", "agent_id": "coder"} for n in range(100)]
        assert len({one.id for one in client.add_batch(items)}) == 100
    assert len(client.query("*", agent_id="coder", top_k=1000)) == 200
    assert len(client.query("finding", agent_id="coder", top_k=150)) == 150


def test_what_is_private_stays_so_and_what_is_shared_is_found_across_agents(client: Any) -> None:
    private = client.add("the key rotates at noon", agent_id="a", scope="agent-private")
    shared = client.add("the key file is in vault seven", agent_id="a", scope="agent-shared",
                        shared_with_agents=["b"])  # fmt: skip
    everyone = client.add("the key has four parts", agent_id="c", scope="global")
    ids = lambda found: {one.id for one in found}  # noqa: E731
    assert ids(client.query("key", agent_id="a")) == {private.id, shared.id, everyone.id}
    assert ids(client.query("key", agent_id="b")) == {shared.id, everyone.id}
    assert ids(client.query_cross_agent("key", "b", target_agent_ids=["a"])) == {shared.id}
    assert ids(client.query_cross_agent("key", "d")) == {everyone.id}
    assert client.query("key", agent_id="a", namespace="other") == []
    assert client.get(private.id).scope == "agent-private"


def test_a_delta_stores_patches_and_reasons_and_says_what_did_not_go(client: Any, key: Key) -> None:
    first = client.add_delta("use tabs", memory_type="strategy", agent_id="coder", metadata={"a": 1})
    result = client.apply_delta(
        [
            {"type": "update", "memory_id": first, "metadata_patch": {"b": 2}},
            {"type": "add", "content": "use spaces", "agent_id": "coder", "memory_type": "strategy"},
            {"type": "deprecate", "memory_id": "m000000000000"},
        ]
    )
    assert [one.success for one in result.results] == [True, True, False]
    assert result.results[2].error
    assert client.get(first).metadata == {"a": 1, "b": 2}
    second = result.results[1].memory_id
    assert client.deprecate(first, agent_id="coder", superseded_by=second, reason="the linter says so")
    assert not client.deprecate("m000000000000")
    assert [one.id for one in client.query("use", agent_id="coder")] == [second]


def test_a_deprecated_memory_says_why(server: SegueServer, key: Key) -> None:
    token = key()
    client = client_of(server, token)
    first = client.add("use tabs", agent_id="coder").id
    client.deprecate(first, reason="the linter says so", superseded_by="m1")
    _, told, _ = server.ask("GET", f"/memories/{first}", token=token)
    assert told["is_deprecated"] and told["deprecation_reason"] == "the linter says so"
    assert told["superseded_by"] == "m1"
    client.close()


def test_votes_and_reflections_make_a_playbook(client: Any) -> None:
    good = client.add_reflection(
        "Run migrations before the tests", "coder", error_pattern="no such table", scope="global",
        correct_approach="make migrate", applicable_contexts=["tests"], metadata={"n": 1},
    )  # fmt: skip
    bad = client.add_delta("Skip the migrations in tests", memory_type="strategy", agent_id="coder")
    voted = client.vote(good, "helpful", "coder", context="it worked", task_id="t1")
    assert (voted.bullet_helpful, voted.bullet_harmful, voted.effectiveness_score) == (1, 0, 0.5)
    assert client.vote(good, "helpful", "coder").bullet_helpful == 1, "one vote a voter"
    assert client.vote(bad, "harmful", "coder").effectiveness_score == -0.5
    refused(422, lambda: client.vote(good, "bananas", "coder"))
    found = client.query_playbook("migrations before tests", "coder")
    assert [one.id for one in found.entries] == [good, bad] and found.query_time_ms >= 0
    assert found.entries[0].error_pattern == "no such table"
    only = client.query_playbook("migrations", "coder", min_effectiveness=0.0).entries
    assert [one.id for one in only] == [good]
    own = client.get_playbook_for_agent("coder", query="migrations", task_type="tests").entries
    assert good in [one.id for one in own]


def test_a_handoff_holds_what_the_other_may_read_and_nothing_dead(client: Any) -> None:
    client.create_session("auth", agent_id="a")
    client.update_session(
        "auth", completed_items=["model"], in_progress_item="middleware", next_items=["docs"],
        blocked_items=[{"item": "deploy", "reason": "no server"}], summary="JWT",
    )  # fmt: skip
    client.add("a secret of a", agent_id="a", scope="agent-private")
    fact = client.add("there is one issuer", agent_id="a", scope="global").id
    dead = client.add("there are two issuers", agent_id="a", scope="global").id
    client.deprecate(dead, reason="wrong")
    baton = client.handoff("a", "b", task_context="issuers")
    assert (baton.key_facts, baton.memory_ids) == (["there is one issuer"], [fact])
    assert baton.active_tasks == ["middleware", "docs"] and baton.blocked_on == ["deploy: no server"]
    assert "JWT" in baton.summary and baton.target_agent_id == "b"


# -- what it does beyond that ----------------------------------------------------------------------


def test_runs_are_tracked_once_and_leave_votes_and_reflections(client: Any) -> None:
    used = client.add("make migrate first", agent_id="coder").id
    begun = client.start_run("r1", "coder", task_type="tests", memory_ids_used=[used])
    assert (begun.status, begun.success) == ("running", None)
    assert client.start_run("r1", "coder").started_at == begun.started_at
    ended = client.complete_run("r1", success=False, logs={"error": "no such table"})
    assert (ended.status, ended.success, len(ended.reflection_ids)) == ("failed", False, 1)
    assert client.complete_run("r1", success=True) == client.get_run("r1") == ended
    assert client.get(used).bullet_harmful == 1
    assert "no such table" in client.get(ended.reflection_ids[0]).content
    refused(404, lambda: client.get_run("r2"))


def test_interactions_are_kept_each_time_and_chained(client: Any) -> None:
    first = client.record_interaction("s", "ok", agent_id="a", tool_calls=[{"name": "ls"}])
    second = client.record_interaction("s", "ok", agent_id="b", parent_event_id=first.event_id)
    assert first.event_id != second.event_id
    told = client.get_session_interactions("s")
    assert [one.event_id for one in told.events] == [first.event_id, second.event_id] and told.count == 2
    assert told.events[0].tool_calls == [{"name": "ls"}] and told.events[0].content == "ok"
    assert [one.event_id for one in client.get_agent_interactions("b").events] == [second.event_id]
    chain = client.get_interaction_chain(second.event_id)
    assert [one.event_id for one in chain.chain] == [first.event_id, second.event_id]
    client.record_interaction("s", "the parser fails on nested quotes", agent_id="a")
    assert client.search_interactions("nested quotes").results[0].event.content.startswith("the parser")
    assert client.query("nested quotes", agent_id="a") == [], "they are no lessons"


def test_context_upkeep_and_export(client: Any, tmp_path: Any) -> None:
    client.create_session("auth", agent_id="a")
    client.set_in_progress("auth", "middleware")
    best = client.add("always run make migrate", agent_id="a").id
    client.vote(best, "helpful", "a")
    context = client.load_context("a", query="migrate", token_budget=500)
    assert [one["kind"] for one in context["items"]] == ["session", "memory"]
    assert "middleware" in context["items"][0]["content"] and context["tokens_used"] <= 500
    assert client.curate().promoted[0].id == best
    assert client.prune(dry_run=True)["archived"] == 0
    assert client.export_json(str(tmp_path / "out.json"))["total_exported"] == 1
    if hasattr(client, "_runner"):
        return  # the asynchronous client has no more than that
    assert client.hybrid_query("migrate", agent_id="a")["results"][0]["id"] == best
    assert client.consolidate_memories()["dry_run"] is True


def test_the_dashboard_counts(server: SegueServer, key: Key) -> None:
    token = key()
    client = client_of(server, token)
    client.create_session("auth", agent_id="a")
    client.mark_complete("auth", "model")
    client.add("a fact", agent_id="a")
    client.create_feature("f", "F", session_id="auth")
    _, stats, _ = server.ask("GET", "/memories/ace/dashboard/stats?namespace=default", token=token)
    assert (stats["total_memories"], stats["active_sessions"], stats["features"]["total"]) == (1, 1, 1)
    _, told, _ = server.ask("GET", "/memories/ace/dashboard/sessions?namespace=default&limit=5", token=token)
    [one] = told["sessions"]
    assert (one["session_id"], one["agent_id"], one["completed_count"]) == ("auth", "a", 1)
    client.close()


# -- many at once ----------------------------------------------------------------------------------


def test_four_clients_of_twenty_five_completions_each_keep_a_hundred_in_order(
    server: SegueServer, key: Key
) -> None:
    clients = [client_of(server, key()) for _ in range(4)]
    clients[0].create_session("many")
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for place in range(25):
                clients[number].mark_complete("many", f"{number}-{place}")
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = clients[0].get_session("many").completed_items
    assert not faults and len(done) == len(set(done)) == 100
    for number in range(4):
        mine = [item for item in done if item.startswith(f"{number}-")]
        assert mine == [f"{number}-{place}" for place in range(25)]
    for client in clients:
        client.close()


def test_what_was_acknowledged_is_read_on_another_connection(
    client: Any, another: Any, kill_count: int
) -> None:
    stale = 0
    client.create_session("s")
    for number in range(5 * kill_count):
        client.create_session(f"s{number}")
        client.mark_complete("s", f"item {number}")
        stale += another.get_session(f"s{number}").session_id != f"s{number}"
        stale += another.get_session("s").completed_items[-1] != f"item {number}"
    assert stale == 0


# -- keys ------------------------------------------------------------------------------------------


def test_a_wrong_key_is_401_whatever_is_asked(server: SegueServer) -> None:
    wrong = client_of(server, "dev-key")
    calls = (
        lambda: wrong.get_session("s"), lambda: wrong.add("x"), lambda: wrong.query("x"),
        lambda: wrong.create_feature("f", "F"), lambda: wrong.record_interaction("s", "x"),
    )  # fmt: skip
    assert [refused(401, call)["code"] for call in calls] == ["not_known"] * 5
    wrong.close()


def test_ids_are_a_projects_own(server: SegueServer) -> None:
    one, other = (client_of(server, server.key(role="writer", project=name)) for name in ("mine", "yours"))
    one.create_session("same")
    one.mark_complete("same", "mine")
    other.create_session("same")
    memory = one.add("only here", agent_id="a").id
    assert other.get_session("same").completed_items == []
    refused(404, lambda: other.get(memory))
    assert other.delete(memory) is False and one.get(memory).content == "only here"
    one.close(), other.close()


def test_a_key_of_an_agent_speaks_for_that_agent_only(server: SegueServer, key: Key) -> None:
    free, bound = client_of(server, key()), client_of(server, key(agent="coder"))
    secret = free.add("known to the planner", agent_id="planner", scope="agent-private").id
    own = bound.add("known to the coder", scope="agent-private").id
    assert bound.get(own).agent_id == "coder"
    refused(404, lambda: bound.get(secret))
    refused(403, lambda: bound.query("known", agent_id="planner"))
    refused(403, lambda: bound.handoff("planner", "coder"))
    refused(403, lambda: bound.vote(own, "helpful", "planner"))
    free.close(), bound.close()


def test_a_reader_looks_and_changes_nothing(server: SegueServer, key: Key) -> None:
    writer, reader = client_of(server, key()), client_of(server, key(role="reader"))
    writer.create_session("s")
    fact = writer.add("a fact", agent_id="a").id
    assert reader.get_session("s").session_id == "s" and reader.query("fact", agent_id="a")[0].id == fact
    for call in (
        lambda: reader.mark_complete("s", "x"), lambda: reader.add("x"), lambda: reader.create_session("t"),
        lambda: reader.vote(fact, "helpful", "a"), lambda: reader.apply_delta([{"type": "add"}]),
    ):  # fmt: skip
        refused(403, call)
    assert reader.delete(fact) is False and writer.get(fact).content == "a fact"
    writer.close(), reader.close()
