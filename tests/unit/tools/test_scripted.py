"""The scripted model: places in scripts, four protocols, faults, stalls, and what it was sent."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.scripted import (
    Edit,
    Fault,
    Mcp,
    Raw,
    Run,
    Say,
    Script,
    ScriptedModel,
    Stall,
    Think,
    Todos,
    Used,
    Write,
)
from tests.support.scripted.dialects import DIALECTS, rendered
from tests.support.scripted.place import Spot, marked
from tests.support.scripted.steps import Delegate, Read, Step
from tests.support.scripted.wires import Message

WORK = Script(
    "work",
    [
        [Think("Well."), Say("First."), Run("ls")],
        [Fault(429, "slow down", times=2, retry_after_seconds=1), Write("a.txt", "1\n"), Used(150_000)],
        [Say("That is all.")],
    ],
)
TOOLS = ["Bash", "Write", "exec_command", "bash", "write", "run_shell_command", "write_file"]


def _anthropic(turns: int, prompt: str = "SCRIPT:work please") -> tuple[str, dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for n in range(turns):
        result = {"type": "tool_result", "tool_use_id": str(n), "content": "result SCRIPT:other"}
        messages += [{"role": "assistant", "content": "x"}, {"role": "user", "content": [result]}]
    tools = [{"name": name} for name in TOOLS]
    return "/v1/messages?beta=true", {"model": "m", "messages": messages, "tools": tools}


def _responses(turns: int, prompt: str = "SCRIPT:work please") -> tuple[str, dict[str, Any]]:
    given: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": [{"text": prompt}]}]
    for n in range(turns):
        given.append({"type": "reasoning", "summary": []})
        given.append({"type": "function_call", "call_id": str(n), "name": "exec_command", "arguments": "{}"})
        given.append({"type": "function_call_output", "call_id": str(n), "output": "result"})
    return "/v1/responses", {"model": "m", "input": given, "tools": [{"name": name} for name in TOOLS]}


def _chat(turns: int, prompt: str = "SCRIPT:work please") -> tuple[str, dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": prompt},
    ]
    for _ in range(turns):
        messages += [{"role": "assistant", "content": "x"}, {"role": "tool", "content": "result"}]
    tools = [{"function": {"name": name}} for name in TOOLS]
    return "/v1/chat/completions", {"model": "m", "messages": messages, "tools": tools}


def _gemini(turns: int, prompt: str = "SCRIPT:work please") -> tuple[str, dict[str, Any]]:
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": prompt}]}]
    for _ in range(turns):
        call, result = (
            {"functionCall": {"name": "x"}},
            {"functionResponse": {"response": {"output": "result"}}},
        )
        contents += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    tools = [{"functionDeclarations": [{"name": name} for name in TOOLS]}]
    return "/v1beta/models/m:generateContent", {"contents": contents, "tools": tools}


PROTOCOLS = {"anthropic": _anthropic, "responses": _responses, "chat": _chat, "gemini": _gemini}


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ScriptedModel]:
    with ScriptedModel([WORK], folder="/src/shop", log=tmp_path / "log") as made:
        yield made


def _ask(model: ScriptedModel, path: str, body: dict[str, Any]) -> tuple[int, str]:
    request = urllib.request.Request(
        model.url + path,
        json.dumps(body).encode(),
        {"content-type": "application/json", "x-api-key": "secret"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as fault:
        with fault:
            return fault.code, fault.read().decode()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_turn_is_counted_in_what_is_sent(model: ScriptedModel, protocol: str) -> None:
    for turn in (0, 2, 0):
        status, said = _ask(model, *PROTOCOLS[protocol](turn))
        assert (status, "First." in said, "That is all." in said) == (200, turn == 0, turn == 2)
    assert [(one.script, one.turn, one.protocol) for one in model.turns()] == [
        ("work", turn, protocol) for turn in (0, 2, 0)
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_fault_is_served_as_often_as_it_says(model: ScriptedModel, protocol: str) -> None:
    path, body = PROTOCOLS[protocol](1)
    answers = [_ask(model, path, body) for _ in range(3)]
    assert [status for status, _ in answers] == [429, 429, 200]
    assert "slow down" in answers[0][1] and "a.txt" in answers[2][1]
    told = json.loads(answers[2][1])
    used = {
        "anthropic": lambda: sum(v for k, v in told["usage"].items() if k.endswith("input_tokens")),
        "responses": lambda: told["usage"]["input_tokens"],
        "chat": lambda: told["usage"]["prompt_tokens"],
        "gemini": lambda: told["usageMetadata"]["promptTokenCount"],
    }[protocol]()
    assert used == 150_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_says_the_same_as_a_whole_answer(model: ScriptedModel, protocol: str) -> None:
    path, body = PROTOCOLS[protocol](0)
    streamed = _ask(model, path.replace(":gen", ":streamGen"), {**body, "stream": True})[1]
    events = [line[6:] for line in streamed.splitlines() if line.startswith("data: ")]
    assert events and all(json.loads(event) for event in events if event != "[DONE]")
    text = "".join(_deltas(events))
    assert "First." in text and "ls" in text


def _deltas(events: list[str]) -> Iterator[str]:
    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from strings(one)

    for event in events:
        if event != "[DONE]":
            yield from strings(json.loads(event))


def test_what_was_sent_is_found_by_place_and_keys_are_not_kept(model: ScriptedModel) -> None:
    _ask(model, *_anthropic(1))
    found = model.sent("result SCRIPT:other")
    assert [(one.request, one.where) for one in found] == [(1, "messages/2/content/0/content")]
    assert not model.sent("result SCRIPT:other", after=1)
    assert "secret" not in str(model.requests[0].headers)
    assert model.log is not None and "result" in (model.log / "0001-anthropic.json").read_text()


def test_a_stall_is_silent_until_the_model_is_closed() -> None:
    script = Script("stall", [[Say("It takes long."), Stall(600)]])
    answers: list[Any] = []
    with ScriptedModel([script]) as model:
        path, body = _chat(0, "SCRIPT:stall")
        asking = threading.Thread(target=lambda: answers.append(_ask(model, path, {**body, "stream": True})))
        asking.start()
        model.wait_for_turn("stall", 0, 20)
        asking.join(0.3)
        assert asking.is_alive() and not answers
    asking.join(20)
    assert not asking.is_alive()


def test_each_process_takes_the_next_script_of_the_queue() -> None:
    ask = """
import json, sys, urllib.request as web
for turn in range(2):
    messages = [{"role": "user", "content": "go on"}] + [{"role": "assistant", "content": "x"}] * turn
    body = {"model": "m", "messages": messages, "tools": [{"function": {"name": "bash"}}]}
    with web.urlopen(sys.argv[1] + "/v1/chat/completions", json.dumps(body).encode()) as answer:
        print(json.load(answer)["choices"][0]["message"]["content"])
"""
    scripts = [Script(name, [[Say(f"{name} one")], [Say(f"{name} two")]]) for name in ("a", "b")]
    with ScriptedModel(scripts, queue=["a", "b"]) as model:
        said = [subprocess.check_output([sys.executable, "-c", ask, model.url], text=True) for _ in range(2)]
        assert said == ["a one\na two\n", "b one\nb two\n"]
        assert len({one.pid for one in model.requests}) == 2


def test_one_that_died_with_its_request_on_the_way_takes_nothing_from_the_next() -> None:
    path, body = _anthropic(1, "go on")
    with ScriptedModel([Script("next", [[Say("It is me.")]])], queue=["next"]) as model:
        assert model.take(path, {}, body, ("127.0.0.1", 1)).script == "", "nobody has that port"
        assert "It is me." in _ask(model, path, body)[1]


@pytest.mark.parametrize(
    ("messages", "spot"),
    [
        ([Message("user", "hello")], Spot()),
        ([Message("user", "SCRIPT:a go")], Spot("a", 0)),
        ([Message("user", "SCRIPT:a go"), Message("model", "x"), Message("model", "y")], Spot("a", 1)),
        ([Message("user", "SCRIPT:a"), Message("model", "x"), Message("user", "SCRIPT:b")], Spot("b", 0)),
        ([Message("user", "<hook_context>SCRIPT:old</hook_context> SCRIPT:a")], Spot("a", 0)),
        ([Message("user", "SCRIPT:a"), Message("system", "SCRIPT:old")], Spot("a", 0)),
        ([Message("user", "SCRIPT:a"), Message("tool", "SCRIPT:old")], Spot("a", 0)),
        ([Message("user", "so far"), Message("model", "go on with SCRIPT:a@4")], Spot("a", 4)),
        ([Message("user", "go on with SCRIPT:a@4"), Message("model", "x")], Spot("a", 5)),
        ([Message("user", "SCRIPT:a"), Message("model", "I follow SCRIPT:b")], Spot("a", 1)),
    ],
)
def test_a_script_begins_where_a_prompt_or_a_summary_names_it(messages: list[Message], spot: Spot) -> None:
    assert marked(messages) == spot


STEPS: list[Step] = [
    Todos((("One", "pending"), ("Two", "pending"))), Write("a", "1\n"), Edit("a", "1", "2"), Read("a"),
    Run("ls"), Mcp("resume"), Delegate("a part"), Raw("anything", {"x": 1}),
]  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_every_step_has_a_form_in_every_dialect(dialect: str, step: Step) -> None:
    assert all(part.kind in ("tool", "custom") and part.name for part in rendered(dialect, [step], (), "/w"))
    assert rendered(dialect, [step], (), "/w")


def test_code_mode_calls_the_same_tools_from_javascript() -> None:
    (part,) = rendered("codex", [Mcp("resume", {"a": 1})], ["functions.exec"], "/w")
    assert (part.kind, part.space, part.name) == ("custom", "functions", "exec")
    assert 'tools.mcp__segue__resume({"a": 1})' in part.text


def test_waiting_for_what_does_not_come_says_what_came(model: ScriptedModel) -> None:
    _ask(model, *_anthropic(0))
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="1:anthropic work@0"):
        model.wait_for_turn("work", 2, 0.2)
    assert time.monotonic() - began < 20
