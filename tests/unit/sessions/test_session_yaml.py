"""The session YAML: what goes in comes out, and what cannot be one is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from segue import Segue, Session
from segue.effects.files.safe_yaml import read_yaml
from segue.errors import BadImport, ConflictError, TextTooLong
from segue.services.handoff.export import export_session, import_session
from segue.stores.memory.store import VolatileStore

FULL = """\
session:
  id: 2026-01-15-strategic-launch-001
  version: "1.0"
  organization: personal
  project: app-launch
  type: strategic
  lifecycle:
    created: 2026-01-15T10:30:00Z
    started: 2026-01-15T10:31:00Z
    paused: 2026-01-15T12:58:00+02:00
    pause_reason: lunch
    resumed: null
    ended: null
    duration_active_minutes: 147
  context:
    essential: {org_index_hash: 0a1b, project_index_hash: 77, decisions_loaded: 3, playbooks_loaded: 1}
    recent:
      notes_created_count: 2
      notes_updated_count: 5
      conversations_count: 1
      commits_count: 0
      cutoff_date: 2026-01-08
    expanded:
      loaded_note_ids: [n-3, n-1, n-2]
      total_tokens_loaded: 45000
    cache: {search_cache_size: 12, embedding_cache_size: 0}
  working_state:
    current_focus: {note_id: n-3, note_title: Pricing, position: 45}
    open_threads:
      - {topic: Pricing model, status: in_progress, last_activity: 2026-01-15T12:50:00Z, notes: [n-3, n-1]}
      - {topic: Launch date, status: paused, last_activity: 2026-01-15T11:00:00Z, notes: []}
    uncommitted_changes:
      - {file: notes/n-3.md, type: modified}
      - {file: notes/n-9.md, type: created}
  agents:
    maintenance: {active: true, mode: background, pid: 4711, last_run: 2026-01-15T12:00:00Z}
    research: {active: false, working_memory_path: .memory/r.json, suggestions_pending: 2, last_topic: churn}
  metrics:
    notes_created: 2
    notes_updated: 5
    decisions_made: 3
    questions_asked: 8
    searches_performed: 13
    suggestions_accepted: 4
    estimated_cost: 0.37
  resumption:
    recommended_context: [n-3, n-2]
    open_questions: ["What do the others charge?", "Who signs it off?"]
    next_actions: [Commit uncommitted changes, "Continue: Pricing model", Call the printer]
"""
ID = "2026-01-15-strategic-launch-001"


@pytest.fixture
def seg(tmp_path: Path) -> Segue:
    return Segue(VolatileStore(), home=tmp_path / "home", folder=tmp_path)


def minimal(**more: Any) -> dict[str, Any]:
    life = {"created": "2026-01-15T10:30:00Z"}
    return {"session": {"id": "a", "organization": "o", "type": "focus", "lifecycle": life, **more}}


def dumped(document: dict[str, Any]) -> bytes:
    return yaml.safe_dump(document).encode()


def exported(seg: Segue, id: str) -> Any:
    return read_yaml(export_session(seg.workspace, id, "yaml"))


def test_a_document_comes_back_as_it_was(seg: Segue) -> None:
    import_session(seg.workspace, FULL.encode())
    assert exported(seg, ID) == read_yaml(FULL.encode())


def test_a_document_becomes_a_session(seg: Segue) -> None:
    state = import_session(seg.workspace, FULL.encode()).state
    assert (state.status, state.pause_reason, state.goal) == ("paused", "lunch", "Pricing")
    assert state.paused == "2026-01-15T10:58:00.000000Z"
    assert state.active_seconds == 147 * 60
    assert state.updated == "2026-01-15T12:50:00.000000Z"
    assert state.threads["Pricing model"].last_activity == "2026-01-15T12:50:00.000000Z"
    assert state.agents["maintenance"].pid == 4711
    assert state.metrics.questions_asked == 8
    assert state.context.cutoff_date == "2026-01-08"


def test_what_only_the_hints_tell_becomes_questions_and_items(seg: Segue) -> None:
    status = Session.of(import_session(seg.workspace, FULL.encode())).status()
    assert [q.text for q in status.questions] == ["What do the others charge?", "Who signs it off?"]
    assert (status.next, status.active) == (["Call the printer"], [])
    assert status.hints.recommended_notes == ["n-2", "n-3", "n-1"]


def test_a_session_of_ours_comes_back_through_yaml_as_the_same_document(seg: Segue) -> None:
    s = seg.start("Refactor auth", items=["model", "routes", "tests"], id="ours")
    s.checkpoint(done="model", begin="routes", ask=["why?", "Why? "], thread=["b", "a"], focus="a.py:3")
    s.see_changes([("a.py", "modified")])
    s.note_agent("coder", mode="edit", active=True)
    s.load_notes(["n2", "n1", "n1"], tokens=77)
    s.pause("night")
    first = exported(seg, "ours")
    import_session(seg.workspace, export_session(seg.workspace, "ours", "yaml"), as_id="again")
    again = exported(seg, "again")
    assert again["session"].pop("id") == "again"
    assert first["session"].pop("id") == "ours"
    assert again == first


def test_work_after_an_import_shows_in_the_next_export_and_the_rest_stays(seg: Segue) -> None:
    session = Session.of(import_session(seg.workspace, FULL.encode()))
    session.resume()
    session.thread("Launch date", "in_progress")
    document, before = exported(seg, ID)["session"], read_yaml(FULL.encode())["session"]
    assert document["lifecycle"]["paused"] is None
    assert document["lifecycle"]["created"] == before["lifecycle"]["created"]
    assert {t["status"] for t in document["working_state"]["open_threads"]} == {"in_progress"}
    assert document["agents"] == before["agents"]
    assert document["context"] == before["context"]


def test_keys_that_are_not_known_are_kept(seg: Segue) -> None:
    document = minimal(mood="calm", context={"weather": {"sun": True}}, agents={"a": {"tools": [1, None]}})
    import_session(seg.workspace, dumped(document))
    assert exported(seg, "a") == document


def test_an_import_that_was_done_adds_nothing_and_another_document_is_refused(seg: Segue) -> None:
    version = import_session(seg.workspace, FULL.encode()).state.version
    assert import_session(seg.workspace, FULL.encode()).state.version == version
    with pytest.raises(ConflictError):
        import_session(seg.workspace, FULL.replace("147", "148").encode())


@pytest.mark.parametrize(
    ("life", "status"),
    [
        ({"started": "2026-01-01", "paused": "2026-01-02", "ended": "2026-01-03"}, "completed"),
        ({"started": "2026-01-01", "paused": "2026-01-02", "resumed": "2026-01-03"}, "paused"),
        ({"created": "2026-01-01", "started": "2026-01-01"}, "active"),
        ({"created": "2026-01-01", "started": None}, "created"),
        ({"duration_active_minutes": 1.0 / 3}, "created"),
    ],
)  # fmt: skip
def test_the_status_is_ended_paused_active_or_created_in_that_order(
    seg: Segue, life: dict[str, Any], status: str
) -> None:
    document = minimal(lifecycle=life)
    assert import_session(seg.workspace, dumped(document)).state.status == status
    assert exported(seg, "a") == document


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({}, "id, organization, type, lifecycle missing"),
        ({"session": {"id": "a", "type": "focus"}}, "organization, lifecycle missing"),
        (minimal(lifecycle=None), "lifecycle missing"),
        (minimal(type="strategy"), "unknown session type: strategy"),
        (minimal(version="2.0"), "session.version is 2.0"),
        (minimal(id="../up"), "cannot be used as the session id"),
        (minimal(agents={"no way": {}}), "cannot be used as the agent's name"),
        (minimal(lifecycle={"created": "yesterday"}), "session.lifecycle.created must be a time"),
        (minimal(lifecycle=["created"]), "session.lifecycle must be a mapping"),
        (minimal(metrics={"notes_created": "two"}), "session.metrics.notes_created must be an integer"),
        (minimal(metrics={"notes_created": True}), "session.metrics.notes_created must be an integer"),
        (minimal(metrics={"notes_created": -3}), "session.metrics.notes_created must be 0 or more"),
        (minimal(metrics={"estimated_cost": -0.5}), "session.metrics.estimated_cost must be 0 or more"),
        (minimal(agents={"a": {"pid": -5}}), "session.agents.a.pid must be 0 or more"),
        (minimal(agents={"a": {"active": "yes"}}), "session.agents.a.active must be true or false"),
        (minimal(resumption={"next_actions": "x"}), "session.resumption.next_actions must be a list"),
        (minimal(resumption={"recommended_context": [{}]}), r"recommended_context\[0\] must be a text"),
        (
            minimal(working_state={"uncommitted_changes": [{"file": "a", "type": "moved"}]}),
            r"uncommitted_changes\[0\].type must be one of created, modified, deleted",
        ),
    ],
)
def test_a_document_that_is_no_session_is_refused_by_name(
    seg: Segue, document: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BadImport, match=reason):
        import_session(seg.workspace, dumped(document), "yaml")
    assert seg.workspace.store.streams("session/") == []


def test_texts_pass_the_door_on_their_way_in(seg: Segue) -> None:
    token = "ghp_" + "a1" * 20
    document = minimal(
        working_state={"current_focus": {"note_title": f"\x1b[31mred {token}", "note_id": "🎈"}}
    )
    focus = import_session(seg.workspace, dumped(document)).state.focus
    assert (focus.note_id, focus.note_title) == ("🎈", "red [redacted:github-token]")
    with pytest.raises(TextTooLong):
        import_session(seg.workspace, dumped(minimal(id="b", organization="o" * 300_000)))


BOMB = b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + i, 98 + i, b", ".join([b"*%c" % (97 + i)] * 10)) for i in range(8)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "more than 100,000 values"),
        (b"a: &a [*a]", "refers to something that contains it"),
        (b"[" * 40 + b"]" * 40, "more than 32 levels deep"),
        (b" " * (16 * 1024 * 1024 + 1), "the limit is 16,777,216"),
        (b"a: 1\nb: 2\na: 3", "line 3: the key 'a' occurs twice"),
        (b"1: a", "a key must be a text"),
        (b"<<: {a: 1}", "merge keys are not allowed"),
        (b"!!python/object/apply:os.system ['true']", "not allowed"),
        (b"a: !!binary aGk=", "not allowed as tag:yaml.org,2002:binary"),
        (b"a: !!timestamp 2026-01-01", "not allowed as"),
        (b"a: !!float .inf", "not allowed as"),
        (b"a: 99999999999999999999", "not allowed as"),
        (b"a: b\n---\nc: d", "expected a single document"),
        (b"a: [", "expected"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a: \x07", "not allowed"),
    ],
)
def test_yaml_that_is_dangerous_or_broken_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(BadImport, match=reason):
        read_yaml(text)


def test_dates_clock_times_and_numbers_with_leading_zeros_stay_text() -> None:
    text = b"[2026-01-15, 2026-01-15 10:30:00, 10:30:15, 0017, 1_000, 12e5, yes, 7, -7, 1.50, true, ~, null]"
    assert read_yaml(text) == [
        "2026-01-15", "2026-01-15 10:30:00", "10:30:15", "0017", "1_000", "12e5", "yes",
        7, -7, 1.5, True, None, None,
    ]  # fmt: skip


def test_an_alias_within_the_limits_is_a_copy() -> None:
    value = read_yaml(b"a: &a [1, {b: 2}]\nc: *a")
    assert value == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}
    assert value["a"] is not value["c"]


def test_the_example_in_the_documentation_comes_back_as_it_stands(seg: Segue) -> None:
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    example = text.partition("```yaml\n")[2].partition("```")[0].encode()
    session = Session.of(import_session(seg.workspace, example))
    assert exported(seg, session.id) == read_yaml(example)
    assert session.status().next == ["Call the printer"]


def imported(seg: Segue, **more: Any) -> Session:
    return Session.of(import_session(seg.workspace, dumped(minimal(**more))))


@pytest.mark.parametrize(
    ("life", "first"),
    [
        ({"created": "2026-01-03", "started": "2026-01-02"}, "2026-01-03"),
        ({"started": "2026-01-02", "paused": "2026-01-04"}, "2026-01-02"),
        ({"paused": "2026-01-04", "ended": "2026-01-05"}, "2026-01-05"),
    ],
)
def test_a_session_begins_when_it_was_created_else_started_else_at_its_last_time(
    seg: Segue, life: dict[str, str], first: str
) -> None:
    assert imported(seg, lifecycle=life).log()[0].at.startswith(first)


def test_a_document_without_any_time_is_of_the_moment_of_its_import(seg: Segue) -> None:
    session = imported(seg, lifecycle={"duration_active_minutes": 1})
    assert datetime.now(UTC) - datetime.fromisoformat(session.log()[0].at) < timedelta(minutes=5)


def test_a_thread_may_be_the_last_thing_that_happened(seg: Segue) -> None:
    threads = [{"topic": "t", "status": "done", "last_activity": "2026-02-01T00:00:00Z"}, {"topic": "u"}]
    state = imported(seg, working_state={"open_threads": threads}).state
    assert state.updated.startswith("2026-02-01")
    assert state.threads["u"].last_activity.startswith("2026-02-01"), "one without a time of its own"


@pytest.mark.parametrize(
    ("state", "goal"),
    [
        ({"current_focus": {"note_title": "Pricing"}, "open_threads": [{"topic": "t"}]}, "Pricing"),
        ({"current_focus": {"note_title": " "}, "open_threads": [{"topic": ""}, {"topic": "t"}]}, "t"),
        ({}, "a"),
    ],
)
def test_the_goal_is_the_title_in_focus_else_the_first_thread_else_the_id(
    seg: Segue, state: dict[str, Any], goal: str
) -> None:
    assert imported(seg, working_state=state).state.goal == goal


def test_a_project_is_named_by_the_end_of_its_address(seg: Segue) -> None:
    assert imported(seg, project="https://x.org/My Shop/").state.project_name == "my-shop"
    assert imported(seg, id="b").state.project_name == ""


@pytest.mark.parametrize(
    ("focus", "note"), [({"note_id": "n-1"}, "n-1"), ({"file": "a.py"}, "a.py"), ({"note_title": "t"}, None)]
)
def test_what_a_session_of_ours_is_about_is_a_note_or_a_file(
    seg: Segue, focus: dict[str, str], note: str | None
) -> None:
    seg.start("g", id="ours").focus(**focus)
    assert exported(seg, "ours")["session"]["working_state"]["current_focus"] == {
        "note_id": note, "note_title": focus.get("note_title"), "position": None,
    }  # fmt: skip


@pytest.mark.parametrize("part", ["note_id", "note_title", "position"])
def test_a_focus_of_one_part_is_a_focus(seg: Segue, part: str) -> None:
    state = imported(seg, working_state={"current_focus": {part: "x"}}).state
    assert getattr(state.focus, part) == "x"


@pytest.mark.parametrize(
    ("actions", "begun", "planned"),
    [
        (["Continue: routes"], ["routes"], []),
        (["Continue: topic"], [], []),
        (["Continue: closed"], ["closed"], []),
        (["Begin: tests"], [], ["tests"]),
        (["Call the printer"], [], ["Call the printer"]),
        (["Continue: ", "Begin: ", " "], [], ["Continue: "]),
        (["Commit uncommitted changes"], [], ["Commit uncommitted changes"]),
    ],
)
def test_next_actions_become_items_unless_a_thread_or_a_change_stands_for_them(
    seg: Segue, actions: list[str], begun: list[str], planned: list[str]
) -> None:
    threads = [{"topic": "topic", "status": "in_progress"}, {"topic": "closed", "status": "done"}]
    session = imported(seg, working_state={"open_threads": threads}, resumption={"next_actions": actions})
    status = session.status()
    assert (status.active, [text.strip() for text in status.next]) == (
        begun,
        [text.strip() for text in planned],
    )
    assert status.last_action == ""


def test_changes_agents_context_and_counts_of_a_document_are_those_of_the_session(seg: Segue) -> None:
    state = import_session(seg.workspace, FULL.encode()).state
    assert state.changes == (("notes/n-3.md", "modified"), ("notes/n-9.md", "created"))
    assert (state.focus.note_id, state.focus.note_title, state.focus.position) == ("n-3", "Pricing", "45")
    assert (state.context.total_tokens_loaded, state.context.decisions_loaded) == (45_000, 3)
    assert (state.metrics.estimated_cost, state.metrics.searches_performed) == (0.37, 13)
    assert {name: agent.active for name, agent in state.agents.items()} == {
        "maintenance": True, "research": False,
    }  # fmt: skip
    assert state.threads["Pricing model"].notes == ("n-3", "n-1")


def test_changes_of_files_stand_for_the_action_to_commit_them(seg: Segue) -> None:
    changes = {"uncommitted_changes": [{"file": "a", "type": "created"}]}
    resumption = {"next_actions": ["Commit uncommitted changes"]}
    assert imported(seg, working_state=changes, resumption=resumption).status().next == []


def test_questions_that_are_the_same_are_asked_once_and_empty_ones_never(seg: Segue) -> None:
    session = imported(
        seg, resumption={"open_questions": ["why?", "Why? ", " "]}, metrics={"questions_asked": 5}
    )
    assert len(session.status().questions) == 1 and session.state.metrics.questions_asked == 5
    other = imported(seg, id="b", resumption={"open_questions": ["why?"]})
    assert other.state.metrics.questions_asked == 0, "the document counts none"


def test_notes_are_loaded_once_and_those_that_are_recommended_twice(seg: Segue) -> None:
    context = {"expanded": {"loaded_note_ids": ["n-1", "n-2", "n-1"]}}
    state = imported(seg, context=context, resumption={"recommended_context": ["n-2", "n-9"]}).state
    assert {name: use.count for name, use in state.notes.items()} == {"n-1": 1, "n-2": 2}


@pytest.mark.parametrize(
    ("minutes", "seconds"), [(2, 120.0), (0.5, 30.0), (1 / 3, 20.0), (0, 0.0), (None, 0.0)]
)
def test_minutes_are_whole_where_they_are_and_come_back_as_they_were(
    seg: Segue, minutes: float | None, seconds: float
) -> None:
    life = {"created": "2026-01-15T10:30:00Z", "duration_active_minutes": minutes}
    assert imported(seg, lifecycle=life).state.active_seconds == pytest.approx(seconds)
    [found] = [exported(seg, "a")["session"]["lifecycle"]["duration_active_minutes"]]
    assert found == minutes and type(found) is type(minutes)


@pytest.mark.parametrize("minutes", [1e301, -1e301, True, "many"])
def test_minutes_that_are_no_number_are_refused(seg: Segue, minutes: Any) -> None:
    life = {"created": "2026-01-15T10:30:00Z", "duration_active_minutes": minutes}
    with pytest.raises(BadImport, match="must be a number"):
        imported(seg, lifecycle=life)


@pytest.mark.parametrize(("kind", "hint"), [("strategy", "did you mean strategic?"), ("zzz", "use one of ")])
def test_a_type_that_is_not_known_is_answered_with_the_nearest_or_all(
    seg: Segue, kind: str, hint: str
) -> None:
    with pytest.raises(BadImport) as raised:
        imported(seg, type=kind)
    assert raised.value.hint.startswith(hint)


def test_a_time_without_a_zone_is_of_utc_and_an_impossible_one_is_refused(seg: Segue) -> None:
    state = imported(seg, lifecycle={"created": "2026-01-15T10:30:00", "started": "2026-01-15"}).state
    assert (state.created, state.started) == ("2026-01-15T10:30:00.000000Z", "2026-01-15T00:00:00.000000Z")
    with pytest.raises(BadImport, match="must be a time"):
        imported(seg, id="b", lifecycle={"created": "0001-01-01T00:00:00+14:00"})
