"""Sessions over HTTP, against a real server: the same operations, the same JSON as the commands."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.rest import STORES, begun, done, printed, serving
from tests.support.server import SegueServer

from segue.core.sessions import commands as do
from segue.surfaces.http.routes.commands import COMMANDS, ELSEWHERE

OF_THIS_MACHINE = ("notices", "as_of", "pending")
"""What a command says of the machine that it runs on, beside the session."""


@pytest.fixture(scope="module", params=STORES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with serving(request.param, tmp_path_factory.mktemp("server")) as running:
        yield running


def say(server: SegueServer, id: str, *commands: dict[str, Any], **more: Any) -> Any:
    return done(server.ask("POST", f"/v1/sessions/{id}/commands", {"commands": commands, **more}))


def test_what_a_session_is_told_is_what_the_command_prints(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "same", "one", "two", "three")
    saved = say(
        server, "same", {"command": "Done", "item": "one"}, {"command": "Begin", "item": "two"},
        {"command": "Block", "item": "three", "reason": "waits"},
        {"command": "Decide", "text": "a", "why": "b"},
        {"command": "Ask", "text": "who?"}, {"command": "Learn", "text": "it is so"},
        {"command": "Fail", "error": "boom"}, {"command": "Thread", "topic": "t"},
        {"command": "Mark", "name": "here", "note": "n"},
        {"command": "Focus", "file": "a.py", "position": "4"},
        {"command": "NoteAgent", "agent": "planner", "values": {"mode": "review"}},
    )  # fmt: skip
    assert set(saved) == {"session", "version", "events", "warnings", "new", "replaced_goal"}
    assert saved["events"] == 11
    told = done(server.ask("GET", "/v1/sessions/same"))
    shown = printed(server, tmp_path, "status", "same")
    assert {name: shown.pop(name) for name in OF_THIS_MACHINE} == {"notices": [], "as_of": "", "pending": 0}
    assert told == shown and list(told) == list(shown)
    log = done(server.ask("GET", "/v1/sessions/same/log?limit=1000"))["events"]
    assert log == printed(server, tmp_path, "log", "same")
    marks = done(server.ask("GET", "/v1/sessions/same/checkpoints"))["checkpoints"]
    assert marks == printed(server, tmp_path, "checkpoints", "same")
    assert done(server.ask("GET", "/v1/sessions/same/export")) == printed(server, tmp_path, "export", "same")


def test_what_a_command_prints_of_a_write_is_what_a_route_answers(
    server: SegueServer, tmp_path: Path
) -> None:
    begun(server, "rest", "one", "two")
    printed(
        server, tmp_path, "start", "goal of rest", "--item=one", "--item=two", "--id=cli", "--project=default"
    )
    mine, theirs = (
        say(server, "rest", {"command": "Done", "item": "one"}),
        printed(server, tmp_path, "done", "one", "-s", "cli"),
    )
    assert {**mine, "session": ""} == {**theirs, "session": ""}
    for route, body, words in (
        ("undo", None, ("undo", "-s", "cli")),
        ("pause", {"reason": "r"}, ("pause", "cli", "--reason", "r")),
        ("abandon", {"reason": "r"}, ("abandon", "cli", "--reason", "r")),
    ):
        mine = done(server.ask("POST", f"/v1/sessions/rest/{route}", body))
        theirs = printed(server, tmp_path, *words)
        assert list(mine) == list(theirs), route
        changing = ("session", "session_id", "at", "resume_command", "manifest", "summary")
        assert [v for k, v in mine.items() if k not in changing] == [
            v for k, v in theirs.items() if k not in changing
        ], route


def test_a_completion_tells_what_was_left_open(server: SegueServer, tmp_path: Path) -> None:
    begun(server, "ends", "one")
    printed(server, tmp_path, "start", "g", "--item=one", "--id=ends-cli")
    mine = done(server.ask("POST", "/v1/sessions/ends/complete", {"summary": "s"}))
    theirs = printed(server, tmp_path, "complete", "ends-cli", "--summary", "s")
    assert mine["left_open"] == ["one"] and {**mine, "session": ""} == {**theirs, "session": ""}
    status, body, _ = server.ask(
        "POST", "/v1/sessions/ends/commands", {"commands": [{"command": "Add", "item": "x"}]}
    )
    assert (status, body["code"]) == (409, "session_over")


def test_to_create_the_same_session_twice_is_to_create_it_once(server: SegueServer) -> None:
    wish = {"goal": "twice", "id": "twice", "items": ["a"]}
    first, again = server.ask("POST", "/v1/sessions", wish), server.ask("POST", "/v1/sessions", wish)
    assert (first[0], again[0]) == (201, 201)
    assert again[1] == {**first[1], "events": 0}


def test_every_kind_of_command_has_a_place() -> None:
    from segue.core.sessions import budget
    from segue.core.sessions.command import Command

    def all_of(kind: type[Command]) -> set[type[Command]]:
        return {kind for one in kind.__subclasses__() for kind in ({one} | all_of(one))}

    there = {kind for kind in all_of(Command) if kind.__module__ in (do.__name__, budget.__name__)}
    assert there == {*COMMANDS, *ELSEWHERE}


def test_commands_are_all_or_none_and_a_stale_version_is_told(server: SegueServer) -> None:
    begun(server, "atom", "a", "b")
    before = done(server.ask("GET", "/v1/sessions/atom"))["version"]
    wrong = [{"command": "Done", "item": "a"}, {"command": "Begin", "item": "#9"}]
    assert server.ask("POST", "/v1/sessions/atom/commands", {"commands": wrong})[0] == 400
    assert done(server.ask("GET", "/v1/sessions/atom"))["version"] == before
    say(server, "atom", {"command": "Focus", "file": "a.py"})
    late = {"commands": [{"command": "Focus", "file": "b.py"}], "since": before}
    status, body, _ = server.ask("POST", "/v1/sessions/atom/commands", late)
    assert (status, body["code"]) == (409, "stale_version")
    merged = {"commands": [{"command": "Done", "item": "a"}], "since": before}
    assert server.ask("POST", "/v1/sessions/atom/commands", merged)[0] == 200


def test_a_misspelt_item_is_refused_with_the_candidates_wherever_it_is_named(server: SegueServer) -> None:
    begun(server, "misspelt", "user model", "grammar")
    where, command = "/v1/sessions/misspelt", {"command": "Done", "item": "grammer"}
    event = {"kind": "item.done", "body": {"text": "grammer"}}
    meant = [{"number": 2, "item": "grammar", "status": "next"}]
    for path, body in (
        (f"{where}/commands", {"commands": [command]}), (f"{where}/checkpoints", {"done": ["grammer"]}),
        (f"{where}/events", {"events": [event], "expect": 4}),
    ):  # fmt: skip
        status, refused, _ = server.ask("POST", path, body)
        assert (status, refused["code"]) == (409, "misspelt_item")
        assert refused["item"] == "grammer" and refused["candidates"] == meant
    saved = say(server, "misspelt", {**command, "new": True})
    assert saved["new"] == ["grammer"] and saved["events"] == 1
    assert done(server.ask("POST", f"{where}/checkpoints", {"begin": ["gramar"], "new": True}))["new"]


def test_a_field_or_a_command_that_is_not_known_is_refused(server: SegueServer) -> None:
    begun(server, "known")
    for wrong in (
        [{"command": "Done", "item": "a", "extra": 1}], [{"command": "Nothing"}], [{"item": "a"}], [],
        [{"command": "Complete"}], [{"command": "Done"}],
    ):  # fmt: skip
        status, body, _ = server.ask("POST", "/v1/sessions/known/commands", {"commands": wrong})
        assert (status, body["code"]) == (400, "usage"), wrong


def test_rewind_goes_back_and_an_unknown_checkpoint_is_404(server: SegueServer) -> None:
    begun(server, "back", "a", "b")
    say(server, "back", {"command": "Mark", "name": "start"})
    say(server, "back", {"command": "Done", "item": "a"})
    assert server.ask("POST", "/v1/sessions/back/rewind", {"name": "other"})[0] == 404
    done(server.ask("POST", "/v1/sessions/back/rewind", {"name": "start"}))
    assert done(server.ask("GET", "/v1/sessions/back"))["done"] == []


def test_a_page_misses_nothing_and_gives_nothing_twice_while_others_write(server: SegueServer) -> None:
    key = server.key(role="writer", project="paged")
    names = [f"p{number:02d}" for number in range(23)]
    for name in names:
        done(server.ask("POST", "/v1/sessions", {"goal": "g", "id": name}, token=key), 201)
    seen: list[str] = []
    cursor = ""
    while True:
        page = done(server.ask("GET", f"/v1/sessions?limit=5&cursor={cursor}", token=key))
        seen += [card["id"] for card in page["sessions"]]
        touched = names[len(seen) % len(names)]
        done(
            server.ask(
                "POST", f"/v1/sessions/{touched}/commands", {"commands": [{"command": "Note", "text": "x"}]},
                token=key,
            )
        )  # fmt: skip
        done(server.ask("POST", "/v1/sessions", {"goal": "g", "id": f"new{len(seen)}"}, token=key), 201)
        cursor = page["next"]
        if not cursor:
            break
    assert sorted(seen) == names
    assert server.ask("GET", "/v1/sessions?cursor=nonsense!", token=key)[0] == 400


def test_an_export_comes_in_elsewhere_and_a_second_time_adds_nothing(server: SegueServer) -> None:
    import json

    begun(server, "moves", "a")
    content = json.dumps(done(server.ask("GET", "/v1/sessions/moves/export")))
    key = server.key(role="writer", project="other")
    for _ in range(2):
        made = done(server.ask("POST", "/v1/sessions/import", {"content": content}, token=key), 201)
        assert made["session"] == "moves"
    assert done(server.ask("GET", "/v1/sessions/moves", token=key))["next"] == ["a"]
    assert server.ask("POST", "/v1/sessions/import", {"content": "{}"}, token=key)[0] == 400


def test_an_export_to_read_is_a_page_that_has_nothing_to_do_with_the_server(server: SegueServer) -> None:
    begun(server, "read-me", "<script>alert(1)</script>")
    status, page, headers = server.ask("GET", "/v1/sessions/read-me/export?format=html")
    assert status == 200 and headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert b"&lt;script&gt;alert(1)&lt;/script&gt;" in page and b"<script" not in page
    status, text, headers = server.ask("GET", "/v1/sessions/read-me/export?format=markdown")
    assert status == 200 and headers["content-type"] == "text/markdown; charset=utf-8"
    assert b"## Plan" in text and b"\\<script\\>" in text
    assert server.ask("GET", "/v1/sessions/read-me/export?format=pdf")[0] == 400


def test_a_pause_touches_no_process_of_the_servers_machine(server: SegueServer) -> None:
    import subprocess
    import sys

    from segue.effects.processes.identity import host_name, start_of

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        begun(server, "kills")
        facts = {"active": True, "pid": child.pid, "pid_start": start_of(child.pid), "host": host_name()}
        say(server, "kills", {"command": "NoteAgent", "agent": "x", "values": facts})
        assert done(server.ask("POST", "/v1/sessions/kills/pause", {}))["agents"] == {}
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_what_was_acknowledged_is_read_on_another_connection(server: SegueServer) -> None:
    begun(server, "fresh")
    for number in range(100):
        saved = say(server, "fresh", {"command": "Note", "text": f"note {number}"})
        told = done(server.ask("GET", "/v1/sessions/fresh"))
        assert (told["version"], told["last_action"]) == (saved["version"], f"note {number}")


def test_four_clients_finish_a_hundred_items_and_none_is_lost(server: SegueServer) -> None:
    begun(server, "crowd", *(f"item {number}" for number in range(100)))
    faults: list[Any] = []

    def work(first: int) -> None:
        for number in range(first, 100, 4):
            status, body, _ = server.ask(
                "POST", "/v1/sessions/crowd/commands",
                {"commands": [{"command": "Done", "item": f"item {number}"}]}, Segue_Actor=f"agent{first}",
            )  # fmt: skip
            if status != 200:
                faults.append(body)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert len(done(server.ask("GET", "/v1/sessions/crowd"))["done"]) == 100
