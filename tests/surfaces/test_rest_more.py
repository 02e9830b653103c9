"""Features, memories, runs, briefs, handoffs, holds, agents and budgets over HTTP: what commands print, and
nothing of the server's own disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.rest import STORES, begun, done, printed, serving
from tests.support.server import SegueServer

from segue.services.runs.run import key_of

DIGEST = {"steps": 4, "calls": 2, "title": "refactor of the login", "cwd": "/home/ana/shop", "model": "m-1"}


@pytest.fixture(scope="module", params=STORES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with serving(request.param, tmp_path_factory.mktemp("server")) as running:
        yield running


def post(server: SegueServer, path: str, body: Any = None, status: int = 200, **headers: str) -> Any:
    return done(server.ask("POST", path, body, **headers), status)


# -- features --------------------------------------------------------------------------------------


def test_features_are_told_as_the_command_prints_them(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "feats")
    check = {"command": ["pytest", "-q"], "limit_seconds": 60}
    wish = {"id": "f", "description": "it works", "checks": [check], "covers": ["src/**"]}
    mine = post(server, "/v1/sessions/feats/features", wish, 201)
    words = ("feature", "add", "g", "it works", "--check=pytest -q", "--limit=60", "--covers=src/**")
    theirs = printed(server, tmp_path, *words, "-s", "feats")
    assert list(mine) == list(theirs) and {**mine["feature"], "id": ""} == {**theirs["feature"], "id": ""}
    post(server, "/v1/sessions/feats/features", {"id": "h", "description": "d", "steps": ["looked at"]}, 201)
    assert done(server.ask("GET", "/v1/sessions/feats/features")) == printed(
        server, tmp_path, "feature", "list", "-s", "feats"
    )
    assert done(server.ask("GET", "/v1/sessions/feats/features/f")) == printed(
        server, tmp_path, "feature", "show", "f", "-s", "feats"
    )
    other = server.ask("POST", "/v1/sessions/feats/features", {**wish, "covers": []})
    assert (other[0], other[1]["code"]) == (409, "feature_exists")


def test_an_attestation_counts_on_the_server_and_is_stale_in_a_working_tree(
    server: SegueServer, tmp_path: Path
) -> None:
    begun(server, "word")
    post(server, "/v1/sessions/word/features", {"id": "h", "description": "d", "steps": ["looked at"]}, 201)
    refused = server.ask("POST", "/v1/sessions/word/complete", {})
    assert (refused[0], refused[1]["code"]) == (409, "unverified_features")
    told = post(server, "/v1/sessions/word/features/h/attest", {"note": "seen", "by": "ana"})
    assert told["feature"]["status"] == "passing" and told["feature"]["attested"]
    (tmp_path / "a.txt").write_text("a")
    there = printed(server, tmp_path, "feature", "list", "-s", "word")["features"]
    assert [one["status"] for one in there] == ["stale"]
    assert post(server, "/v1/sessions/word/complete", {})["proven"] is True


def test_what_a_client_proved_is_not_known_to_hold_here(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "proof")
    (tmp_path / "a.txt").write_text("a")
    printed(server, tmp_path, "feature", "add", "f", "d", "--check=true", "--covers=a.txt", "-s", "proof")
    assert printed(server, tmp_path, "verify", "-s", "proof")["ok"]
    [told] = done(server.ask("GET", "/v1/sessions/proof/features"))["features"]
    assert told["status"] == "stale" and "cannot be seen here" in told["reason"]
    evidence = done(server.ask("GET", "/v1/sessions/proof/features/f/evidence?trust=run"))["evidence"]
    assert [one["exit_code"] for one in evidence] == [0]
    assert server.ask("POST", "/v1/sessions/proof/complete", {})[0] == 409
    assert printed(server, tmp_path, "complete", "proof")["proven"] is True


# -- memories --------------------------------------------------------------------------------------


def test_what_a_working_tree_keeps_for_its_project_is_seen_by_who_names_its_repository(
    server: SegueServer, tmp_path: Path
) -> None:
    printed(server, tmp_path, "remember", "okapi needs a fence", "--scope=project")
    printed(server, tmp_path, "start", "fences", "--id", "okapi")
    listed = printed(server, tmp_path, "list", "--all")
    key = next(card["project"] for card in listed if card["id"] == "okapi")
    wish = {"query": "okapi fence"}
    assert post(server, "/v1/memories/query", wish)["memories"] == []
    found = post(server, "/v1/memories/query", wish, Segue_Repository=key)["memories"]
    assert [one["content"] for one in found] == ["okapi needs a fence"]
    post(server, "/v1/sessions", {"goal": "more", "id": "okapi-2"}, 201, Segue_Repository=key)
    cards = done(server.ask("GET", "/v1/sessions"))["sessions"]
    assert next(card["project"] for card in cards if card["id"] == "okapi-2") == key
    assert post(server, "/v1/memories/query", wish, Segue_Repository="elsewhere")["memories"] == []


def test_memories_are_found_as_the_command_finds_them(server: SegueServer, tmp_path: Path) -> None:
    kept = post(server, "/v1/memories", {"content": "gradle needs a daemon", "scope": "global"}, 201)
    again = post(server, "/v1/memories", {"content": "gradle needs a daemon", "scope": "global"}, 201)
    assert again == {**kept, "known": True}
    mine = post(server, "/v1/memories/query", {"query": "gradle daemon", "top_k": 1})["memories"]
    theirs = printed(server, tmp_path, "recall", "gradle daemon", "--limit", "1")
    changing = ("recalled", "recalled_at", "score")
    assert [{k: v for k, v in one.items() if k not in changing} for one in mine] == [
        {k: v for k, v in one.items() if k not in changing} for one in theirs
    ]
    post(server, f"/v1/memories/{kept['id']}/vote", {"vote": "helpful"})
    changed = done(server.ask("PATCH", f"/v1/memories/{kept['id']}", {"metadata": {"tool": "gradle"}}))
    assert (changed["metadata"], changed["helpful"]) == ({"tool": "gradle"}, 1)
    narrow = {"query": "*", "metadata": {"tool": "gradle"}, "top_k": 1000}
    assert [one["id"] for one in post(server, "/v1/memories/query", narrow)["memories"]] == [kept["id"]]
    assert server.ask("POST", "/v1/memories/query", {"query": "*", "top_k": 1001})[0] == 400
    gone = {"operations": [{"type": "deprecate", "memory_id": kept["id"], "deprecation_reason": "old"}]}
    assert post(server, "/v1/memories/delta", gone) == {"ids": [kept["id"]]}
    assert post(server, "/v1/memories/query", narrow)["memories"] == []
    assert done(server.ask("DELETE", f"/v1/memories/{kept['id']}?reason=wrong"))["forgotten"]
    shown = done(server.ask("GET", f"/v1/memories/{kept['id']}"))
    assert shown["memory"]["content"] == "" and [t["act"] for t in shown["trail"]][:2] == [
        "forget",
        "deprecate",
    ]


def test_what_a_session_learns_is_a_memory_and_a_playbook_tells_it(
    server: SegueServer,
) -> None:
    begun(server, "learns")
    post(
        server,
        "/v1/sessions/learns/commands",
        {"commands": [{"command": "Learn", "text": "zebra needs oats"}]},
    )
    assert post(server, "/v1/memories/query", {"query": "zebra"})["memories"][0]["type"] == "learnt"
    wish = {"content": "restart the zebra first", "error_pattern": "zebra hangs"}
    made = post(server, "/v1/memories/reflection", wish, 201)
    found = post(server, "/v1/memories/playbook", {"query": "the zebra hangs"})["memories"]
    assert [one["id"] for one in found] == [made["id"]]


def test_a_prune_says_what_would_go_and_then_what_went(server: SegueServer) -> None:
    begun(server, "pruned")
    for name in ("login", "logout"):
        body = {"content": f"changed {name}.py", "session": "pruned", "scope": "global"}
        post(server, "/v1/memories", body, 201)
    wish = {"session": "pruned", "keep": 0}
    looked = post(server, "/v1/memories/prune", {**wish, "dry_run": True})
    assert looked["dry_run"] and len(looked["gone"]) == 2 and not looked["summary"]
    listed = {"query": "*", "sessions": ["pruned"], "top_k": 10}
    assert len(post(server, "/v1/memories/query", listed)["memories"]) == 2
    after = post(server, "/v1/memories/prune", wish)
    assert after["gone"] == looked["gone"] and after["summaries"] == looked["summaries"]
    [told] = post(server, "/v1/memories/query", listed)["memories"]
    assert "logout.py" in told["content"] and "login.py" in told["content"]


# -- runs and briefs -------------------------------------------------------------------------------


def test_a_run_is_kept_as_it_was_sent_and_told_of_its_session_alone(
    server: SegueServer,
) -> None:
    begun(server, "runs", "one")
    begun(server, "other", "one")
    key = key_of("codex", "r-1", "/home/ana/x.jsonl")
    told = {
        "id": "r-1", "agent": "codex", "path": "/home/ana/x.jsonl", "session": "runs", "goal": "mend login",
        "began": "2026-11-15T09:00:00.000000Z", "last": "2026-11-15T10:00:00.000000Z", "digest": DIGEST,
    }  # fmt: skip
    kept = done(server.ask("PUT", f"/v1/runs/{key}", told))
    assert kept["digest"] and kept["run"]["goal"] == "mend login"
    assert done(server.ask("GET", f"/v1/runs/{key}"))["run"] == kept["run"]
    assert DIGEST.items() <= done(server.ask("GET", f"/v1/runs/{key}/digest")).items()
    again = {name: value for name, value in told.items() if name != "digest"}
    assert done(server.ask("PUT", f"/v1/runs/{key}", {**again, "goal": "new"}))["digest"], "it stays"
    listed = done(server.ask("GET", "/v1/runs?session=runs"))["runs"]
    assert [one["key"] for one in listed] == [key]
    assert server.ask("PUT", "/v1/runs/wrong", told)[0] == 400
    assert (
        server.ask("PUT", f"/v1/runs/{key_of('none', 'r-1', '')}", {"id": "r-1", "agent": "none"})[0] == 404
    )
    assert "m-1" not in str(server.ask("GET", "/v1/sessions/other/brief?max_bytes=4000")[1])
    assert done(server.ask("DELETE", f"/v1/runs/{key}"))["dropped"]
    assert server.ask("GET", f"/v1/runs/{key}")[0] == 404


def test_no_path_that_was_sent_is_ever_opened(server: SegueServer) -> None:
    secret = server.home / "rollout-secret.jsonl"
    secret.write_text(json.dumps({"type": "message", "text": "do not tell xylophone"}) + "\n")
    begun(server, "paths", "one")
    key = key_of("codex", "r-2", str(secret))
    files = {str(secret): {"edits": 1, "edited": 1}}
    told = {"id": "r-2", "agent": "codex", "path": str(secret), "cwd": str(server.home), "session": "paths"}
    sent = server.ask("PUT", f"/v1/runs/{key}", {**told, "digest": {**DIGEST, "cwd": str(server.home)}})
    assert sent[0] == 200, sent
    server.ask("PUT", f"/v1/runs/{key}", {**told, "digest": {**DIGEST, "files": files}})
    post(server, "/v1/sessions/paths/commands", {"commands": [{"command": "Focus", "file": str(secret)}]})
    for path in ("brief?max_bytes=20000", "brief?format=json", "restoration?budget=full", "restoration"):
        status, body, _ = server.ask("GET", f"/v1/sessions/paths/{path}")
        assert status == 200 and "xylophone" not in str(body), path


def test_a_brief_keeps_to_its_bytes_in_every_form(server: SegueServer) -> None:
    begun(server, "short", *(f"a rather long item number {number}" for number in range(60)))
    for form in ("text", "json", "markdown"):
        for most in (256, 700, 3_000):
            status, body, _ = server.ask("GET", f"/v1/sessions/short/brief?format={form}&max_bytes={most}")
            size = len(body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode())
            assert status == 200 and (form == "json" or size <= most), (form, most, size)
    assert server.ask("GET", "/v1/sessions/short/brief?max_bytes=255")[0] == 400
    restored = done(server.ask("GET", "/v1/sessions/short/restoration?budget=2000"))
    assert restored["tokens_used"] <= 2000
    why = {one["item"]: one["reason"] for one in restored["log"] if one["status"] == "skipped"}
    assert why["notes"] == why["changes"] == "a server has no working tree"


# -- passing on, holds, agents, budgets ------------------------------------------------------------


def test_an_offer_is_taken_by_one(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "offer", "one")
    made = post(server, "/v1/sessions/offer/handoffs", {"to": "codex", "note": "tests are left"}, 201)
    offer = made["offer"]["id"]
    assert "tests are left" in made["restoration"] and str(server.home) not in json.dumps(made)
    listed = done(server.ask("GET", "/v1/handoffs?session=offer"))["offers"]
    assert listed == [
        one for one in printed(server, tmp_path, "handoff", "--list", "--all") if one["id"] == offer
    ]
    taken = post(server, f"/v1/handoffs/{offer}/accept", {"by": "codex"})
    assert (taken["offer"]["status"], taken["offer"]["taker"]) == ("taken", "codex")
    for act in ("accept", "decline", "withdraw"):
        assert server.ask("POST", f"/v1/handoffs/{offer}/{act}", {})[1]["code"] == "handoff_settled"


def test_a_hold_fences_off_whoever_lost_it(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "held")
    held = post(server, "/v1/sessions/held/hold", {"run": "r1", "host": "laptop"}, 201)
    shown = done(server.ask("GET", "/v1/sessions/held/hold"))
    assert shown == printed(server, tmp_path, "hold", "held")
    assert server.ask("POST", "/v1/sessions/held/hold", {"run": "r2"})[1]["code"] == "session_held"
    note = {"commands": [{"command": "Note", "text": "n"}], "fence": held["fence"]}
    post(server, "/v1/sessions/held/commands", note, Segue_Run="r1")
    post(server, "/v1/sessions/held/hold/renew", {"run": "r1", "fence": held["fence"]})
    post(server, "/v1/sessions/held/hold/release", {"run": "r1", "fence": held["fence"]})
    post(server, "/v1/sessions/held/hold", {"run": "r2"}, 201)
    lost = server.ask("POST", "/v1/sessions/held/commands", note, Segue_Run="r1")
    assert (lost[0], lost[1]["code"]) == (409, "session_held")
    old = {"run": "r1", "fence": held["fence"]}
    assert server.ask("POST", "/v1/sessions/held/hold/renew", old)[1]["code"] == "session_held"


def test_states_of_agents_survive_and_a_stale_one_is_told(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "states")
    value = {"queue": list(range(500)), "text": "ü" * 2_000, "deep": {"a": [None, True, 1.5]}}
    done(server.ask("PUT", "/v1/sessions/states/agents/planner", {"value": value}, Segue_Actor="a"))
    loaded = done(server.ask("GET", "/v1/sessions/states/agents/planner", Segue_Actor="b"))
    assert loaded["value"] == value == printed(server, tmp_path, "agent", "load", "planner", "-s", "states")
    since = {"since": loaded["version"]}
    done(server.ask("PUT", "/v1/sessions/states/agents/planner", {"value": 1, **since}, Segue_Actor="b"))
    late = server.ask("PUT", "/v1/sessions/states/agents/planner", {"value": 2, **since}, Segue_Actor="a")
    assert (late[0], late[1]["code"]) == (409, "stale_version")
    done(server.ask("PUT", "/v1/sessions/states/agents/planner", {"value": 3}, Segue_Actor="a"))
    assert done(server.ask("GET", "/v1/sessions/states/agents/planner"))["value"] == 3
    done(server.ask("DELETE", "/v1/sessions/states/agents/planner"))
    assert server.ask("GET", "/v1/sessions/states/agents/planner")[0] == 404


def test_at_a_limit_a_session_is_paused_and_says_so(server: SegueServer) -> None:
    begun(server, "costly")
    done(server.ask("PUT", "/v1/sessions/costly/budget", {"cost": 1.0}))
    assert post(server, "/v1/sessions/costly/spend", {"cost": 0.4})["exceeded"] is False
    assert post(server, "/v1/sessions/costly/spend", {"cost": 0.7})["status"] == "paused"
    assert done(server.ask("GET", "/v1/sessions/costly/budget"))["exceeded"] is True


def test_a_get_that_is_still_so_is_304(server: SegueServer) -> None:
    begun(server, "tags", "one")
    for path in (
        "",
        "/state",
        "/log",
        "/events",
        "/features",
        "/agents",
        "/hold",
        "/budget",
        "/export",
        "/brief",
    ):
        status, _, headers = server.ask("GET", f"/v1/sessions/tags{path}")
        assert status == 200 and headers["etag"], path
        again = server.ask("GET", f"/v1/sessions/tags{path}", If_None_Match=headers["etag"])
        assert again[:2] == (304, None), path


# -- the ledger --------------------------------------------------------------------------------------


def test_the_ledger_is_told_and_corrected_as_the_command_does(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "said")
    path = "/v1/sessions/said/ledger"
    mine = post(server, path, {"action": "add", "kind": "rule", "text": "Never push to main."})
    theirs = printed(server, tmp_path, "ledger", "add", "rule", "Answer in French.", "-s", "said")
    assert list(mine) == list(theirs) and list(mine["entries"][0]) == list(theirs["entries"][0])
    told = done(server.ask("GET", path))["entries"]
    assert told == printed(server, tmp_path, "ledger", "said") and len(told) == 2
    dropped = post(server, path, {"action": "drop", "ids": [told[0]["handle"]], "why": "the bot pushes"})
    assert dropped["entries"][0]["why"] == "the bot pushes"
    assert [one["text"] for one in done(server.ask("GET", path))["entries"]] == ["Answer in French."]
    shown = done(server.ask("GET", f"{path}?all=true&kind=rule"))["entries"]
    assert [one["state"] for one in shown] == ["withdrawn", "open"]
    assert done(server.ask("GET", f"{path}?kind=request"))["entries"] == []
    for wish in ({"action": "reopen"}, {"action": "edit", "text": "Never push."}):
        assert post(server, path, {**wish, "ids": [told[0]["id"]]})["events"] == 1
    item = post(server, path, {"action": "add", "kind": "item", "text": "tell them"})["entries"][0]["id"]
    assert post(server, path, {"action": "done", "ids": [item]})["entries"][0]["state"] == "done"


@pytest.mark.parametrize(
    ("wish", "status", "code"),
    [
        ({"action": "done", "ids": ["zzzz"]}, 404, "unknown_entry"), ({"action": "done"}, 400, "usage"),
        ({"action": "add", "text": "x"}, 400, "usage"), ({"action": "edit", "text": "x"}, 400, "usage"),
        ({"action": "add", "kind": "list", "text": "x"}, 400, "usage"), ({"action": "burn"}, 400, "usage"),
        ({"action": "add", "kind": "rule", "text": " "}, 400, "usage"),
    ],
)  # fmt: skip
def test_what_cannot_be_corrected_is_refused(
    server: SegueServer, wish: dict[str, Any], status: int, code: str
) -> None:
    begun(server, "refused")
    answer = server.ask("POST", "/v1/sessions/refused/ledger", wish)
    assert (answer[0], answer[1]["code"]) == (status, code)
