"""The truth check reads scripts of Codex and teams of Claude Code by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench.resume.truth import claude_code, codex
from bench.resume.truth.code_mode import script_calls
from bench.resume.truth.words import is_folder


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        ('const r = await tools.a({cmd:"x\\ny", n: -1}); text(r)', [("a", {"cmd": "x\ny", "n": -1})]),
        ("const p = `q`; tools.a(p); tools.b({p})", [("a", "q"), ("b", {"p": "q"})]),
        ("const p = 'q' + 'r'; tools.a(p + \"s\")", [("a", "qrs")]),
        ("const p = \"tools.a('x')\"; // tools.b('y')\ntools.c(`${p}`)", []),
        ("xs.filter(x => /'|\"/.test(x)); tools.a('x')", [("a", "x")]),
    ],
)
def test_calls_that_are_written_out_in_a_script_are_known(script: str, calls: list[tuple[str, Any]]) -> None:
    assert script_calls(script) == calls


def rollout(*payloads: dict[str, Any]) -> list[str]:
    return [json.dumps({"type": "response_item", "payload": payload}) for payload in payloads]


def script(source: str, id: str) -> dict[str, Any]:
    return {"type": "custom_tool_call", "name": "exec", "call_id": id, "input": source}


def printed(said: str, id: str) -> dict[str, Any]:
    blocks = [{"text": "Script completed\nWall time 1 seconds\nOutput:\n"}, {"text": said}]
    return {"type": "custom_tool_call_output", "call_id": id, "output": blocks}


def test_what_scripts_start_and_poll_is_known_with_its_end() -> None:
    begun = rollout(
        script("text(JSON.stringify(await tools.exec_command({cmd:'make'})))", "c1"),
        printed('{"chunk_id":"1","session_id":7,"output":"half"}', "c1"),
    )
    polled = rollout(
        script("text(JSON.stringify(await tools.write_stdin({session_id:7,chars:''})))", "c2"),
        printed('{"chunk_id":"2","exit_code":2,"output":"boom"}', "c2"),
    )
    half = codex.read(begun)
    assert half.started == {"7": 1} and half.calls[0].result is not None and half.calls[0].result.runs == "7"
    whole = codex.read([*begun, *polled])
    assert whole.ended == {"7": 3} and whole.calls[0].result is not None
    assert (whole.calls[0].result.exit, whole.calls[0].result.text) == (2, "half\nboom")


def test_a_member_of_a_team_that_has_shut_down_has_ended() -> None:
    spawned = {"type": "tool_result", "tool_use_id": "t1", "content": "Spawned.\nagent_id: tester@shop"}
    left = json.dumps({"type": "teammate_terminated", "message": "tester has shut down."})
    contents: list[tuple[str, Any]] = [
        ("assistant", [{"type": "tool_use", "id": "t1", "name": "Agent", "input": {}}]),
        ("user", [spawned]),
        ("user", f'<teammate-message teammate_id="system">\n{left}\n</teammate-message>'),
    ]
    told = claude_code.read(
        [json.dumps({"type": kind, "message": {"content": one}}) for kind, one in contents]
    )
    assert told.started == {"tester@shop": 1} and told.ended == {"tester@shop": 2}


def test_a_folder_may_be_told_without_its_middle() -> None:
    folder = "c:/apps(1)/ShadowExtra/shop"
    assert is_folder("c:/apps(1)/Sha…tra/shop", folder) and is_folder("~/ShadowExtra/shop", folder)
    assert not is_folder("c:/apps(1)/Sha…tra/cart", folder) and not is_folder("~/cart/shop", folder)
