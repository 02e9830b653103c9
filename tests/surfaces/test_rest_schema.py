"""A real server is asked in all the ways that its description allows, and in many that it does not.

No answer is a 5xx, and none has a status, a type or a shape that is not described.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.rest import done
from tests.support.server import SegueServer

from segue.services.runs.run import key_of
from segue.surfaces.http.app import operations
from segue.surfaces.http.server.openapi import document

ROOT = Path(__file__).parents[2]
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method"
)
KILLS = int(os.environ.get("SEGUE_KILLS", "0"))
PARTS = {
    "aegis": ["aegis"],
    "sessions": ["operations", "keys", "sessions", "commands", "checkpoints", "events", "briefs"],
    "the rest": [
        "runs",
        "search",
        "usage",
        "features",
        "memories",
        "handoffs",
        "handovers",
        "holds",
        "agents",
        "budget",
        "habits",
        "stats",
        "ledger",
    ],
}


def filled(server: SegueServer) -> dict[str, list[str]]:
    """One of everything, a few times; the names of what is there."""
    run = key_of("codex", "r1", "")
    known: dict[str, list[str]] = {
        "id": [], "memory": [], "offer": [], "key": [run], "feature": ["f", "g"], "agent": ["planner"],
    }  # fmt: skip
    for number in range(8):
        id = f"s{number}"
        done(server.ask("POST", "/v1/sessions", {"goal": "g", "id": id, "items": ["a", "b"]}), 201)
        for feature in ({"id": "f", "checks": [{"command": ["true"]}]}, {"id": "g", "steps": ["x"]}):
            wish = {"description": "d", **feature}
            done(server.ask("POST", f"/v1/sessions/{id}/features", wish), 201)
        done(server.ask("PUT", f"/v1/sessions/{id}/agents/planner", {"value": {"a": [1]}}))
        memory = done(server.ask("POST", "/v1/memories", {"content": f"memory {number}"}), 201)
        offer = done(server.ask("POST", f"/v1/sessions/{id}/handoffs", {"to": "codex"}), 201)
        known["id"].append(id)
        known["memory"].append(memory["id"])
        known["offer"].append(offer["offer"]["id"])
    digest = {"steps": 1, "title": "t"}
    told = {"id": "r1", "agent": "codex", "session": "s1", "digest": digest}
    done(server.ask("PUT", f"/v1/runs/{run}", told))
    return known


def fuzzed(server: SegueServer, tags: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Let schemathesis ask; its outcome."""
    key = server.key(role="admin", project="default")
    phases = "examples,coverage,fuzzing,stateful" if KILLS else "examples,coverage"
    words = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--seed", "1",
        "--header", f"Authorization: Bearer {key}", "--exclude-path-regex", "follow$", "--checks", CHECKS,
        "--phases", phases, "--max-examples", str(max(5, min(KILLS, 50))), "--no-color",
        "--output-truncate", "true",
    ]  # fmt: skip
    for tag in tags:
        words += ["--include-tag", tag]
    variables = {
        **os.environ, "REST_KNOWN": json.dumps(filled(server)), "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.support.schemathesis_hooks", "HOME": str(folder),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis"),  # its tables of characters take seconds
    }  # fmt: skip
    return subprocess.run(words, env=variables, cwd=folder, capture_output=True, text=True)


@pytest.mark.timeout(3_600 if KILLS else 400)
@pytest.mark.parametrize("part", PARTS)
def test_no_answer_is_a_fault_or_other_than_described(part: str, tmp_path: Path) -> None:
    with SegueServer(tmp_path / "server", options=["--rate", "0"]) as server:
        ran = fuzzed(server, PARTS[part], tmp_path)
        faults = [line for line in server.log.read_text().splitlines() if '"event":"fault"' in line]
    assert not faults, faults[:3]
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "generated" in ran.stdout


def test_every_route_is_described_with_examples_and_all_its_statuses() -> None:
    described = document(operations())
    tags = {tag for part in PARTS.values() for tag in part}
    names = [one["operationId"] for there in described["paths"].values() for one in there.values()]
    assert len(names) == len(set(names))
    assert not [name for name in described["components"]["schemas"] if "." in name], "two types of one name"
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            where = f"{method} {path}"
            assert one["summary"] and one["description"] and one["tags"], where
            assert set(one["tags"]) <= tags, f"{where}: of which part is it?"
            good = next(answer for code, answer in one["responses"].items() if code.startswith("2"))
            assert all("example" in kind for kind in list(good.get("content", {}).values())[:1]), where
            if "requestBody" in one:
                assert one["requestBody"]["content"]["application/json"]["example"] is not None, where
            if path.startswith("/v1/") and "aegis" not in one["tags"]:
                usual = {"400", "401", "403", "413", "429", "500", "503"}
                assert usual <= set(one["responses"]), where
                assert method == "get" or {"409", "422"} <= set(one["responses"]), where


def test_examples_of_bodies_are_what_the_routes_take() -> None:
    import msgspec

    wrong, looked = [], 0
    for operation in operations():
        kind, example = operation.arguments.body, operation.body
        if kind is not None and example is not None:
            looked += 1
            try:
                msgspec.convert(example, kind)
            except msgspec.ValidationError as fault:
                wrong.append(f"{operation.path}: {fault}")
    assert not wrong and looked > 30
