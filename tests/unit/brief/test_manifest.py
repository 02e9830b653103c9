"""The recovery manifest: the contract of its keys, its numbers and its budget."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.support.briefs import known
from tests.support.long_story import facts as story_facts, story

from segue import Segue
from segue.core.brief.facts import BriefFacts, PlanLine, facts
from segue.core.brief.manifest import Preparation, level, manifest, prepared, read, schema, tokens
from segue.core.runs.digest import fold
from segue.core.runs.model import Failure
from segue.core.sessions.state import SessionState
from segue.errors import BudgetTooSmall

CONTRACT: dict[str, Any] = {
    "session_metadata": {"project", "phase", "timestamp", "context_usage_before"},
    "completed_tasks": list,
    "pending_tasks": list,
    "active_state": {"current_work", "last_file_modified", "last_command_run", "environment_status"},
    "critical_context": {"key_decisions", "important_findings", "blockers", "next_steps"},
    "memory_pointers": {"project_state_file", "session_logs", "modified_files", "git_branch"},
    "bootstrap_instructions": list,
    "context_compression_metrics": {"original_tokens", "compressed_tokens", "compression_ratio"},
}
KINDS: dict[str, Any] = {"string": str, "array": list, "object": dict, "integer": int, "number": (int, float)}


def problems(value: Any, rule: dict[str, Any], whole: dict[str, Any], at: str = "") -> list[str]:
    """Where a value is not as a JSON Schema says; as much of the standard as ours uses."""
    if "$ref" in rule:
        return problems(value, whole["$defs"][rule["$ref"].rsplit("/", 1)[-1]], whole, at)
    if "enum" in rule:
        return [] if value in rule["enum"] else [f"{at}: {value!r} is none of {rule['enum']}"]
    if not isinstance(value, KINDS[rule["type"]]):
        return [f"{at}: {value!r} is no {rule['type']}"]
    found = [f"{at}: {key} is missing" for key in rule.get("required", []) if key not in value]
    if rule["type"] == "object":
        for key, one in value.items():
            known = rule["properties"].get(key)
            found += problems(one, known, whole, f"{at}/{key}") if known else [f"{at}: {key} is unknown"]
    if rule["type"] == "array":
        found += [
            bad for n, one in enumerate(value) for bad in problems(one, rule["items"], whole, f"{at}/{n}")
        ]
    return found


def sheet(shown: BriefFacts, budget: int = 2_048, more: str = "segue show run-1") -> dict[str, Any]:
    text = manifest(shown, budget, more)
    assert len(text) <= budget
    found: dict[str, Any] = json.loads(text)
    assert problems(found, schema(), schema()) == []
    return found


@pytest.mark.parametrize("seed", range(15))
def test_every_key_of_the_contract_is_there_at_two_kilobytes(seed: int) -> None:
    found = sheet(known(story(seed, calls=40 + 20 * seed)[: -seed - 1], agent="codex"))
    assert list(found) == list(CONTRACT)
    for key, inner in CONTRACT.items():
        assert isinstance(found[key], list) if inner is list else inner <= set(found[key])
    for row in found["pending_tasks"]:
        assert set(row) == {"task", "priority", "status", "context"}


def test_an_empty_picture_has_every_key_too() -> None:
    assert list(sheet(BriefFacts())) == list(CONTRACT)


@pytest.mark.parametrize("budget", [256, 300, 512, 700, 1_000, 1_199, 1_200, 1_500, 2_048, 8_192])
def test_at_any_budget_it_is_valid_and_has_what_a_run_needs_most(budget: int) -> None:
    shown = BriefFacts(
        goal="Rework the parser " * 20, failing=[Failure("pytest tests", "expected 3 rows " * 20, 1)],
        plan=[PlanLine("Write the routes " * 20, "active"), PlanLine("Describe it " * 20, "next")],
    )  # fmt: skip
    found = sheet(shown, budget)
    assert found["session_metadata"]["goal"].startswith("Rework the")
    assert found["active_state"]["current_work"].startswith("Write the")
    assert found["critical_context"]["next_steps"][0].startswith("Describe it")
    assert found["critical_context"]["blockers"][0].startswith("pytest tests")


def test_superseded_facts_stay_out() -> None:
    for seed in range(25):
        digest = fold(story(seed, calls=150))
        found = sheet(facts([digest]))
        done = {item[0] for item in digest.plan if item[1] == "done"}
        shown = [row["task"] for row in found["pending_tasks"]] + found["critical_context"]["next_steps"]
        assert not [text for text in shown if any(over.startswith(text.rstrip("…")) for over in done)]
        if not digest.failures:
            assert found["critical_context"]["blockers"] == []


def test_what_would_not_fit_stands_behind_the_command_that_the_bootstrap_names() -> None:
    steps = sheet(known(story(1)), more="segue show run-1 --timeline")["bootstrap_instructions"]
    assert [step.split(".")[0] for step in steps] == [str(n + 1) for n in range(len(steps))]
    assert steps[-1].endswith("For more: segue show run-1 --timeline")


def test_the_numbers_are_real_and_a_long_session_is_compressed_to_under_one_percent() -> None:
    digest = fold(story(2, calls=200))
    digest.chars = 800_000  # 200,000 tokens
    text = manifest(facts([digest]))
    metrics = json.loads(text)["context_compression_metrics"]
    assert metrics["original_tokens"] == 200_000
    assert abs(metrics["compressed_tokens"] - tokens(text.decode())) <= 12
    assert metrics["compression_ratio"] == pytest.approx(1 - tokens(text.decode()) / 200_000, abs=1e-3)
    assert metrics["compression_ratio"] > 0.99


def test_a_manifest_takes_under_500_tokens_at_the_usual_budget() -> None:
    for seed in range(20):
        assert tokens(manifest(known(story(seed, calls=100))).decode()) < 500


def test_a_budget_that_is_too_small_is_refused() -> None:
    with pytest.raises(BudgetTooSmall):
        manifest(BriefFacts(), 255)


# -- declared facts


def declared(segue: Segue, seed: int) -> SessionState:
    """A session as a program would declare it."""
    chance = random.Random(seed)
    about = story_facts(seed)
    items = [*about.items, *(f"Look after {name} once more" for name in about.names[: chance.randint(0, 3)])]
    session = segue.start(about.goal)
    session.checkpoint(add=items)
    finished = chance.randint(0, len(items) - 2)
    for text in items[:finished]:
        session.done(text)
    session.begin(items[finished])
    if chance.random() < 0.5:
        session.block(items[-1], f"waits for the owner of {about.names[0]}")
    for name in about.names[: chance.randint(0, 4)]:
        session.decide(f"Keep {name} as it is", why="the mobile client calls it")
    return session.state


def wanted(state: SessionState) -> list[str]:
    rows = [state.items[at].text for at in (*state.active, *state.next, *state.blocked)]
    return [state.goal, *rows, *(one.text for one in state.decisions)]


def test_nearly_all_declared_facts_are_in_the_manifest_or_behind_its_pointer(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    here = missed = 0
    total = 0
    with Segue(home=tmp_path / "home", folder=tmp_path / "shop") as segue:
        for seed in range(200):
            state = declared(segue, seed)
            more = f"segue show {state.id}"
            text = manifest(facts(session=state), 2_048, more).decode()
            assert len(text.encode()) <= 2_048
            behind = wanted(segue.session(state.id).state) if more in text else []
            for fact in wanted(state):
                total += 1
                here += fact in text
                missed += fact not in text and fact not in behind
    assert missed <= 0.05 * total
    assert here >= 0.9 * total, f"{here} of {total} facts are in the manifest itself"


# -- as people write it


def test_a_manifest_that_somebody_wrote_by_hand_is_read_as_far_as_it_can_be() -> None:
    found = read(json.dumps({
        "session_metadata": {"project": "shop", "goal": 7, "context_usage_before": "0.5"},
        "completed_tasks": ["parse", 3, {"task": "round"}, {"number": 1}, None, ""],
        "pending_tasks": [
            "write the guide", {"description": "tell Ann", "priority": "high", "status": "BLOCKED"},
            {"task": "later", "priority": "someday", "status": "maybe", "context": "waits"},
            {"priority": "LOW"},
        ],
        "active_state": "none",
        "critical_context": {"blockers": ["a", {"what": "b"}, 4, []], "next_steps": "one"},
        "bootstrap_instructions": "read the guide",
        "prepared": {"reason": "full", "tools": ["git", 3]},
    }).encode())  # fmt: skip
    assert found is not None
    assert (found.session_metadata.project, found.session_metadata.context_usage_before) == ("shop", 0.5)
    assert found.completed_tasks == ["parse", "3", "round"]
    rows = [(row.task, row.priority, row.status, row.context) for row in found.pending_tasks]
    assert rows == [
        ("write the guide", "MEDIUM", "pending", ""), ("tell Ann", "HIGH", "blocked", ""),
        ("later", "MEDIUM", "pending", "waits"),
    ]  # fmt: skip
    assert found.active_state.current_work == "" and found.bootstrap_instructions == []
    assert found.critical_context.blockers == ["a", "b", "4"] and found.critical_context.next_steps == []
    assert isinstance(found.prepared, Preparation) and found.prepared.tools == ["git", "3"]


@pytest.mark.parametrize("body", [b"", b"[1]", b'"text"', b'{"other": 1}', b"\xff", b"{"])
def test_what_is_no_manifest_is_not_read(body: bytes) -> None:
    assert read(body) is None


def test_of_texts_that_do_not_fit_those_that_need_less_leave_the_rest_to_the_others() -> None:
    assert level([10, 10, 10], 90) == 90
    assert level([10, 100, 100], 90) == 40
    assert level([10, 40, 40], 90) == 40
    assert level([100, 100, 100], 90) == 30
    assert level([], 90) == 90


def test_what_was_found_at_the_preparation_gives_way_to_the_work() -> None:
    known = BriefFacts(goal=f"Rework the parser {'word ' * 200}")
    tools, checks = [f"tool-{number}" for number in range(9)], [f"check-{number}" for number in range(9)]
    about = Preparation(
        reason=f"because {'of it ' * 20}", session="s1", folder="/srv/shop", tools=tools, checks=checks
    )

    def kept(budget: int, **more: Any) -> Any:
        body = prepared(known, structs.replace(about, **more), budget)
        assert len(body) <= budget
        return json.loads(body).get("prepared")

    locks = {f"lock-{number}": "x" * 40 for number in range(40)}
    assert kept(2_048)["tools"] == tools
    few = kept(4_096, locks=locks)
    assert (few["tools"], few["checks"], "locks" in few) == (tools[:3], checks[:2], False)
    least = kept(700, locks=locks)
    assert set(least) == {"reason", "session", "folder"} and len(least["reason"]) <= 40
    assert kept(300) is None
