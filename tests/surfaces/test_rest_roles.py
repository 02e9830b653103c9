"""Every route × every role × own and foreign project: who gets in, and that nothing of others is told.

The table of rows is held against the server's own description: a new route without a row fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import apsw
import pytest
from tests.support.rest import done
from tests.support.server import SegueServer

from segue.core.server.access import ROLES
from segue.services.runs.run import key_of
from segue.surfaces.http.app import operations

SECRET = "quetzal"
"""A word that stands in everything of the project `own`, and may be told to nobody of another."""


class Row(NamedTuple):
    """A request; what is in braces is filled in with names of what is in the project `own`."""

    method: str
    path: str
    body: Any = None
    foreign: int = 404
    """What a key of another project is told: 404, or 200 with nothing of ours in it."""
    for_operators: bool = False
    """Whether it takes a key of all projects."""


S, A = "/v1/sessions/{session}", "/memories/ace"
ROWS = [
    Row("GET", "/metrics", foreign=200),
    Row("GET", "/v1/keys", foreign=200),
    Row("POST", "/v1/keys", {"role": "reader"}, foreign=201),
    Row("DELETE", "/v1/keys/{key}"),
    Row("POST", "/v1/keys/{key}/rotate", {}),
    Row("GET", "/v1/audit", foreign=200),
    Row("GET", "/v1/quotas", foreign=200),
    Row("PUT", "/v1/quotas/own", {"events": 5}, foreign=403, for_operators=True),
    Row("POST", "/v1/store/journal/head", foreign=400),
    Row("GET", "/v1/sessions", foreign=200),
    Row("POST", "/v1/sessions", {"goal": "g"}, foreign=201),
    Row("POST", "/v1/sessions/import", {"content": "{}"}, foreign=400),
    Row("GET", S),
    Row("GET", f"{S}/state"),
    Row("GET", f"{S}/log"),
    Row("GET", f"{S}/checkpoints"),
    Row("GET", f"{S}/export"),
    Row("POST", f"{S}/commands", {"commands": [{"command": "Note", "text": "n"}]}),
    Row("POST", f"{S}/checkpoints", {"note": "n"}),
    Row("POST", f"{S}/pause", {}),
    Row("POST", f"{S}/resume"),
    Row("POST", f"{S}/complete", {}),
    Row("POST", f"{S}/abandon", {}),
    Row("POST", f"{S}/rewind", {"name": "here"}),
    Row("POST", f"{S}/undo"),
    Row("GET", f"{S}/events"),
    Row("POST", f"{S}/events", {"events": [{"kind": "note.taken", "body": {"text": "n"}}], "expect": 1}),
    Row("GET", f"{S}/events/follow"),
    Row("GET", f"{S}/brief"),
    Row("GET", f"{S}/restoration"),
    Row("GET", "/v1/runs", foreign=200),
    Row("GET", "/v1/runs/{run}"),
    Row("GET", "/v1/runs/{run}/digest"),
    Row("PUT", "/v1/runs/{run}", {"id": "r1", "agent": "codex"}, foreign=200),
    Row("DELETE", "/v1/runs/{run}", foreign=200),
    Row("GET", f"{S}/features"),
    Row("POST", f"{S}/features", {"id": "n", "description": "d"}),
    Row("GET", f"{S}/features/{{feature}}"),
    Row("PATCH", f"{S}/features/{{feature}}", {"category": "c"}),
    Row("DELETE", f"{S}/features/{{feature}}"),
    Row("GET", f"{S}/features/{{feature}}/evidence"),
    Row("POST", f"{S}/features/{{feature}}/begin", {}),
    Row("POST", f"{S}/features/{{feature}}/block", {"reason": "r"}),
    Row("POST", f"{S}/features/{{feature}}/fail", {"reason": "r"}),
    Row("POST", f"{S}/features/{{feature}}/attest", {"note": "n", "by": "ana"}),
    Row("POST", f"{S}/features/{{feature}}/update", {"status": "testing"}),
    Row("GET", f"{S}/audit"),
    Row("GET", f"{S}/ledger"),
    Row("POST", f"{S}/ledger", {"action": "add", "kind": "rule", "text": "r"}),
    Row("POST", "/v1/memories", {"content": "m"}, foreign=201),
    Row("POST", "/v1/memories/batch", {"memories": [{"content": "m"}]}, foreign=201),
    Row("POST", "/v1/memories/query", {"query": SECRET, "top_k": 1000}, foreign=200),
    Row("POST", "/v1/memories/cross-agent", {"requesting_agent": "codex", "query": "*"}, foreign=200),
    Row("POST", "/v1/memories/playbook", {"query": SECRET}, foreign=200),
    Row("POST", "/v1/memories/reflection", {"content": "c"}, foreign=201),
    Row("POST", "/v1/memories/delta", {"operations": [{"type": "deprecate", "memory_id": "{memory}"}]}),
    Row("POST", "/v1/memories/prune", {"session": "{session}"}),
    Row("GET", "/v1/memories/audit", foreign=200),
    Row("GET", "/v1/memories/export", foreign=200),
    Row("POST", "/v1/memories/import", {"content": ""}, foreign=400),
    Row("GET", "/v1/memories/{memory}"),
    Row("PATCH", "/v1/memories/{memory}", {"metadata": {"a": 1}}),
    Row("DELETE", "/v1/memories/{memory}"),
    Row("POST", "/v1/memories/{memory}/vote", {"vote": "helpful"}),
    Row("POST", f"{S}/handoffs", {"to": "codex"}),
    Row("GET", "/v1/handoffs", foreign=200),
    Row("GET", "/v1/handoffs/{offer}"),
    Row("POST", "/v1/handoffs/{offer}/accept", {}),
    Row("POST", "/v1/handoffs/{offer}/decline", {}),
    Row("POST", "/v1/handoffs/{offer}/withdraw", {}),
    Row("GET", "/v1/handovers", foreign=200),
    Row("GET", "/v1/handovers/{tree}"),
    Row("GET", f"{S}/hold"),
    Row("POST", f"{S}/hold", {"share": True}),
    Row("POST", f"{S}/hold/renew", {"run": "r", "fence": 1}),
    Row("POST", f"{S}/hold/release", {"run": "r", "fence": 1}),
    Row("GET", f"{S}/agents"),
    Row("GET", f"{S}/agents/{{agent}}"),
    Row("PUT", f"{S}/agents/{{agent}}", {"value": SECRET}),
    Row("DELETE", f"{S}/agents/{{agent}}"),
    Row("GET", f"{S}/budget"),
    Row("PUT", f"{S}/budget", {"cost": 1}),
    Row("POST", f"{S}/spend", {"tokens": 1}),
    Row("GET", "/v1/spend", foreign=200),
    Row("GET", "/v1/usage", foreign=200),
    Row("GET", "/v1/habits", foreign=200),
    Row("PATCH", "/v1/habits", {"off": "all"}, foreign=200),
    Row("GET", "/v1/stats", foreign=200),
    Row("GET", f"/v1/search?q={SECRET}", foreign=200),
    Row("POST", f"{A}/session", {"session_id": "new"}, foreign=200),
    Row("GET", f"{A}/session/{{session}}"),
    Row("PATCH", f"{A}/session/{{session}}", {"last_action": "n"}),
    Row("POST", f"{A}/feature", {"feature_id": "new", "description": "d"}, foreign=200),
    Row("GET", f"{A}/feature/{{feature}}?session_id={{session}}"),
    Row("PATCH", f"{A}/feature/{{feature}}?session_id={{session}}", {"status": "testing"}),
    Row("GET", f"{A}/features", foreign=200),
    Row("POST", "/memories/add", {"content": "m"}, foreign=200),
    Row("POST", "/memories/add_batch", {"items": [{"content": "m"}]}, foreign=200),
    Row("POST", "/memories/query", {"query": SECRET, "top_k": 1000}, foreign=200),
    Row("POST", "/memories/hybrid_query", {"query": SECRET}, foreign=200),
    Row("POST", "/memories/query_cross_agent", {"requesting_agent_id": "c", "query": "*"}, foreign=200),
    Row("GET", "/memories/{memory}"),
    Row("PATCH", "/memories/{memory}", {"metadata": {"a": 1}}),
    Row("DELETE", "/memories/{memory}"),
    Row("POST", f"{A}/vote/{{memory}}", {"vote": "helpful", "voter_agent_id": "c"}),
    Row("POST", f"{A}/delta", {"operations": [{"type": "add", "content": "m"}]}, foreign=200),
    Row("POST", f"{A}/reflection", {"content": "c", "agent_id": "c"}, foreign=200),
    Row("POST", f"{A}/playbook", {"query": SECRET, "agent_id": "c"}, foreign=200),
    Row("POST", f"{A}/playbook/agent", {"query": SECRET, "agent_id": "c"}, foreign=200),
    Row("POST", "/memories/handoff", {"source_agent_id": "a", "target_agent_id": "b"}, foreign=200),
    Row("POST", "/context/load", {"agent_id": "planner", "query": "*"}, foreign=200),
    Row("POST", "/memories/decay/archive", {"dry_run": True}, foreign=200),
    Row("POST", f"{A}/curate", {}, foreign=200),
    Row("POST", f"{A}/consolidate", {}, foreign=200),
    Row("POST", "/memories/export", {}, foreign=200),
    Row("GET", f"{A}/dashboard/stats", foreign=200),
    Row("GET", f"{A}/dashboard/sessions", foreign=200),
    Row("POST", f"{A}/run", {"run_id": "new"}, foreign=200),
    Row("GET", f"{A}/run/{{run}}"),
    Row("POST", f"{A}/run/{{run}}/complete", {"success": True}),
    Row("POST", "/interaction-events", {"session_id": "s", "content": "c"}, foreign=201),
    Row("POST", "/interaction-events/search", {"query": SECRET}, foreign=200),
    Row("GET", "/interaction-events/session/{agent}", foreign=200),
    Row("GET", "/interaction-events/agent/{agent}", foreign=200),
    Row("GET", "/interaction-events/{interaction}"),
]
OPEN = {"/", "/health", "/ready", "/openapi.json"}


def declared() -> dict[tuple[str, str], str]:
    """(method, path) to the role that each route needs, of every route of the application."""
    found: dict[tuple[str, str], str] = {}
    for one in operations():
        found[one.method, _shape(one.path)] = one.role
    return found


def _shape(path: str) -> str:
    """A path with every name in braces alike."""
    path = path.partition("?")[0].replace("/store/journal/head", "/store/{}/{}")
    parts = path.replace("/quotas/own", "/quotas/{}").split("/")
    return "/".join("{}" if part.startswith("{") else part for part in parts)


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    there = {key for key in declared() if key[1] not in OPEN}
    rows = [(row.method, _shape(row.path)) for row in ROWS]
    assert set(rows) == there
    assert len(rows) == len(set(rows))


class World(NamedTuple):
    server: SegueServer
    keys: dict[str, str]
    names: dict[str, str]

    def ask(self, row: Row, token: str) -> tuple[int, Any]:
        path = row.path.format(**self.names)
        body = (
            json.loads(json.dumps(row.body).replace("{memory}", self.names["memory"]))
            if row.body
            else row.body
        )
        if row.path.endswith("/prune"):
            body = {"session": self.names["session"]}
        if row.path.endswith("/follow"):
            return self._first(path, token)
        status, told, _ = self.server.ask(row.method, path, body, token=token)
        return status, told

    def _first(self, path: str, token: str) -> tuple[int, Any]:
        """The status of a stream, and what it says first."""
        import http.client

        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        told = answer.read(200) if answer.status == 200 else json.loads(answer.read())
        connection.close()
        return answer.status, told


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with SegueServer(tmp_path_factory.mktemp("server"), options=["--rate", "0"]) as server:
        keys = {f"{role} {project}": server.key(role=role, project=project)
                for role in ROLES for project in ("own", "foreign")}  # fmt: skip
        yield World(server, keys, {})


def filled(world: World) -> World:
    """The project `own` with one of everything, anew for each row: rows may end what they name."""
    ask, key = world.server.ask, world.keys["admin own"]
    number = len(world.server.ask("GET", "/v1/sessions?limit=1000", token=key)[1]["sessions"])
    id = f"{SECRET}-{number}"
    done(ask("POST", "/v1/sessions", {"goal": SECRET, "id": id, "items": [SECRET]}, token=key), 201)
    mark = [{"command": "Mark", "name": "here"}, {"command": "Done", "item": SECRET}]
    done(ask("POST", f"/v1/sessions/{id}/commands", {"commands": mark}, token=key))
    feature = {"id": "f", "description": SECRET, "steps": [SECRET]}
    done(ask("POST", f"/v1/sessions/{id}/features", feature, token=key), 201)
    memory = done(
        ask("POST", "/v1/memories", {"content": f"{SECRET} {number}", "scope": "global"}, token=key), 201
    )
    offer = done(ask("POST", f"/v1/sessions/{id}/handoffs", {"to": "anyone", "note": SECRET}, token=key), 201)
    done(ask("PUT", f"/v1/sessions/{id}/agents/planner", {"value": SECRET}, token=key))
    run = key_of("codex", "r1", "")
    digest = {"steps": 1, "title": SECRET}
    told = {"id": "r1", "agent": "codex", "goal": SECRET, "session": id, "digest": digest}
    done(ask("PUT", f"/v1/runs/{run}", told, token=key))
    done(ask("POST", f"{A}/run", {"run_id": run}, token=key))
    said = {"session_id": id, "content": SECRET, "agent_id": "planner"}
    interaction = done(ask("POST", "/interaction-events", said, token=key), 201)
    made = done(ask("POST", "/v1/keys", {"role": "reader", "name": SECRET}, token=key), 201)
    names = {
        "session": id, "feature": "f", "memory": memory["id"], "offer": offer["offer"]["id"], "run": run,
        "agent": "planner", "key": made["id"], "tree": "0" * 16, "interaction": interaction["event_id"],
    }  # fmt: skip
    return World(world.server, world.keys, names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_who_may_use_a_route_and_what_others_are_told(world: World, row: Row) -> None:
    need = declared()[row.method, _shape(row.path)]
    here = filled(world)
    for token in ("", "nonsense", "sgk_" + "0" * 12 + "_" + "a" * 43):
        status, told = here.ask(row, token)
        assert (status, told["code"]) == (401, "not_known")
    for role in ROLES:
        low = ROLES.index(role) < ROLES.index(need)
        status, told = here.ask(row, here.keys[f"{role} foreign"])
        if low:
            assert (status, told["code"]) == (403, "not_allowed"), (role, told)
        else:
            assert status == row.foreign, (role, told)
        if status < 400:
            assert SECRET not in json.dumps(told, default=str), role
    for role in ROLES:
        status, told = here.ask(row, here.keys[f"{role} own"])
        if ROLES.index(role) < ROLES.index(need) or row.for_operators:
            assert (status, told["code"]) == (403, "not_allowed"), (role, told)
            assert SECRET not in json.dumps(told)
        else:
            assert status not in (401, 403) and status < 500, (role, told)
            good = (
                (200, 201, 204, 409)
                if row.foreign == 404 and row.path != "/v1/handovers/{tree}"
                else (row.foreign,)
            )
            assert status in good or role != need, (role, status, told)


def test_a_header_cannot_lead_into_another_project(world: World) -> None:
    status, told, _ = world.server.ask(
        "GET", "/v1/sessions", token=world.keys["admin foreign"], Segue_Project="own"
    )
    assert (status, told["code"]) == (403, "not_allowed")


def test_a_key_of_an_agent_reads_and_writes_as_that_agent_alone(world: World) -> None:
    server = world.server
    ana, bo = (server.key(role="writer", project="agents", agent=name) for name in ("ana", "bo"))
    private = {"content": f"{SECRET} of ana", "scope": "agent-private"}
    made = done(server.ask("POST", "/v1/memories", private, token=ana), 201)
    assert done(server.ask("GET", f"/v1/memories/{made['id']}", token=ana))["memory"]["agent"] == "ana"
    assert server.ask("GET", f"/v1/memories/{made['id']}", token=bo)[0] == 404
    for path, body in (
        ("/v1/memories/query", {"query": "*", "agent": "ana"}),
        ("/v1/memories/cross-agent", {"query": "*", "requesting_agent": "ana"}),
        ("/v1/memories/playbook", {"query": "*", "agent": "ana"}),
        ("/v1/memories", {"content": "x", "agent": "ana"}),
    ):
        assert server.ask("POST", path, body, token=bo)[0] == 403, path
    assert server.ask("GET", f"/v1/memories/{made['id']}?agent=ana", token=bo)[0] == 403
    assert server.ask("GET", "/v1/sessions", token=bo, Segue_Actor="ana")[0] == 403
    assert done(server.ask("POST", "/v1/memories/query", {"query": "*"}, token=bo))["memories"] == []


def stored(world: World) -> dict[str, list[tuple[Any, ...]]]:
    """What the server's stores say, table by table; not who asked for what, which is recorded always."""
    found = {}
    for path in world.server.home.rglob("segue.db"):
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                if not any(word in str(name) for word in ("audit", "fts", "vec")):
                    found[f"{path} {name}"] = db.execute(f"SELECT * FROM {name}").fetchall()
    return found


def test_no_route_writes_while_the_server_is_paused(world: World) -> None:
    here = filled(world)
    pause = min(world.server.home.rglob("segue.db"), key=lambda path: len(path.parts)).parent / "PAUSE"
    before = stored(here)
    pause.touch()
    try:
        for row in ROWS:
            status, told = here.ask(row, here.keys["admin own"])
            assert status < 500 and stored(here) == before, (row, status, told)
            if row.method in ("PATCH", "DELETE"):
                assert (status, told["code"]) == (409, "paused"), row
    finally:
        pause.unlink()
    assert here.ask(Row("POST", "/v1/sessions", {"goal": "g"}), here.keys["writer own"])[0] == 201
