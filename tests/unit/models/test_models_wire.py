"""Models over HTTP: each provider's form, time limits, busy servers, keys that stay where they belong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from tests.support.models import Replay, Reply, anthropic, openai, refused

from segue.core.models.prompt import ModelQuestion, claims_schema
from segue.effects.models import ANSWER_BYTES_MAX, ModelEndpoint, ModelFault, ask, check_url, request_of
from segue.errors import BadSettings

KEY = "sk-test-0123456789abcdef0123456789abcdef"
QUESTION = ModelQuestion("brief", "Name decisions.", "data", claims_schema(["s1", "s2"]), 200)


def endpoint(server: Replay, wire: str = "openai", *, strict: bool = False) -> ModelEndpoint:
    return ModelEndpoint(server.url, "m-1", wire, strict)


def test_the_form_of_chat_completions_is_sent_and_read() -> None:
    with Replay(openai({"claims": []}, given=123, made=45)) as server:
        found = ask(endpoint(server), QUESTION, key=KEY)
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    sent = seen.value
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]
    assert sent["max_tokens"] == 200 and sent["temperature"] == 0
    form = sent["response_format"]["json_schema"]
    assert form["strict"] is True and form["schema"] == QUESTION.schema
    assert (json.loads(found.text), found.input, found.output, found.counted) == (
        {"claims": []},
        123,
        45,
        True,
    )


def test_an_endpoint_that_refuses_lengths_and_old_names_is_spared_both() -> None:
    with Replay(openai({"claims": []})) as server:
        ask(endpoint(server, strict=True), QUESTION)
    sent = server.seen[0].value
    assert sent["max_completion_tokens"] == 200
    assert "max_tokens" not in sent and "temperature" not in sent
    assert "maxLength" not in json.dumps(sent) and '"additionalProperties": false' in json.dumps(sent)


def test_the_form_of_messages_is_sent_and_read() -> None:
    with Replay(anthropic({"claims": [{"kind": "decision"}]}, given=77, made=9)) as server:
        found = ask(endpoint(server, "anthropic"), QUESTION, key=KEY)
    (seen,) = server.seen
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == KEY and "authorization" not in seen.headers
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert seen.value["tool_choice"] == {"type": "tool", "name": "answer"}
    assert seen.value["tools"][0]["input_schema"] == QUESTION.schema
    assert seen.value["system"] == "Name decisions."
    assert (json.loads(found.text), found.input, found.output) == ({"claims": [{"kind": "decision"}]}, 77, 9)


def test_the_price_that_a_router_names_is_taken_from_its_answer() -> None:
    with Replay(openai({"claims": []}, cost=0.00042)) as server:
        assert ask(endpoint(server), QUESTION).cost == 0.00042


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_an_endpoint_without_schemas_is_asked_again_with_the_schema_in_words(wire: str) -> None:
    good = openai('Here: {"claims": []}') if wire == "openai" else anthropic({"claims": []})
    with Replay(refused(400, "response_format is not supported"), good) as server:
        assert "claims" in ask(endpoint(server, wire), QUESTION).text
    first, second = server.seen
    assert "response_format" in first.value or "tools" in first.value
    assert "response_format" not in second.value and "tools" not in second.value
    system = second.value.get("system") or second.value["messages"][0]["content"]
    assert "JSON Schema" in system and '"claims"' in system


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "3"}, 3.0, 3.0),
        ({"retry_after_ms": "250"}, 0.25, 0.25),
        ({"Retry-After": "date"}, 3.0, 6.1),
        ({}, 1.0, 1.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_busy_server_is_asked_again_when_it_says(
    status: int, headers: dict[str, str], least: float, most: float
) -> None:
    given = {
        name: formatdate(time.time() + 5, usegmt=True) if value == "date" else value
        for name, value in headers.items()
    }
    slept: list[float] = []
    with Replay(refused(status, **given), openai({"claims": []})) as server:
        ask(endpoint(server), QUESTION, sleep=slept.append)
    assert len(server.seen) == 2
    assert len(slept) == 1 and least - 0.01 <= slept[0] <= most


def test_without_a_word_from_the_server_pauses_double_and_end() -> None:
    slept: list[float] = []
    with Replay(refused(500, "boom")) as server, pytest.raises(ModelFault, match="500: boom"):
        ask(endpoint(server), QUESTION, sleep=slept.append)
    assert slept == [1.0, 2.0, 4.0] and len(server.seen) == 4


def test_a_server_that_is_busy_for_longer_than_there_is_time_is_given_up_at_once() -> None:
    slept: list[float] = []
    with (
        Replay(refused(429, Retry_After="3600")) as server,
        pytest.raises(ModelFault, match="busy for another 3600 s"),
    ):
        ask(endpoint(server), QUESTION, seconds=5, sleep=slept.append)
    assert slept == [] and len(server.seen) == 1


SLOW: list[tuple[str, Callable[[], Reply]]] = [
    ("silent", lambda: openai({})._replace(wait_seconds=60)),
    ("trickling", lambda: Reply(b"x" * 500, trickle_seconds=0.2)),
    (
        "trickling and closing",
        lambda: Reply(b"x" * 500, headers={"Connection": "close"}, trickle_seconds=0.2),
    ),
]


@pytest.mark.parametrize("reply", [make for _, make in SLOW], ids=[name for name, _ in SLOW])
def test_a_call_ends_when_its_time_is_over_whatever_the_server_does(reply: Callable[[], Reply]) -> None:
    start = time.monotonic()
    with Replay(reply()) as server, pytest.raises(ModelFault, match="no answer in") as fault:
        ask(endpoint(server), QUESTION, seconds=0.6)
    assert fault.value.sent
    assert time.monotonic() - start < 30  # the server would wait for 60


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    with Replay(Reply(b" " * (ANSWER_BYTES_MAX + 10))) as server, pytest.raises(ModelFault, match="bytes"):
        ask(endpoint(server), QUESTION)


@pytest.mark.parametrize("status", [401, 403, 301, 302, 451])
def test_a_refusal_or_a_redirect_ends_it_and_no_key_is_in_the_words(status: int) -> None:
    reply = refused(status, f"bad key {KEY}", Location="http://127.0.0.1:1/elsewhere")
    with Replay(reply) as server, pytest.raises(ModelFault) as fault:
        ask(endpoint(server), QUESTION, key=KEY)
    assert len(server.seen) == 1 and not fault.value.sent
    assert str(status) in str(fault.value) and KEY not in str(fault.value)


def test_a_server_that_is_not_there_cost_nothing() -> None:
    with Replay(openai({})) as server:
        gone = endpoint(server)
    with pytest.raises(ModelFault, match="cannot be reached") as fault:
        ask(gone, QUESTION)
    assert not fault.value.sent


@pytest.mark.parametrize(
    "raw", [b"", b"null", b"[]", b"{", b"\xff\xfe", b'{"choices": 3}', b'{"choices": [{"message": null}]}',
            b'{"choices": [{"message": {"content": 5}}], "usage": {"prompt_tokens": "many"}}',
            b'{"choices": [null], "usage": [1]}', b"[" * 100_000],
)  # fmt: skip
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_whatever_comes_back_is_an_answer_or_none(raw: bytes, wire: str) -> None:
    with Replay(Reply(raw)) as server:
        found = ask(endpoint(server, wire), QUESTION)
    assert found.text == "" and not found.counted


@pytest.mark.parametrize(
    "url", ["http://example.org/v1", "http://10.0.0.5/v1", "ftp://127.0.0.1/v1", "https:///v1", "file:///etc",
            "http://127.0.0.1.example.org/v1", "https://user:pw@example.org/v1", ""],
)  # fmt: skip
def test_only_https_or_this_machine_is_spoken_to(url: str) -> None:
    with pytest.raises(BadSettings):
        check_url(url)
    with pytest.raises(BadSettings):
        request_of(ModelEndpoint(url, "m"), QUESTION)


@pytest.mark.parametrize("url", ["https://example.org/v1", "http://127.0.0.1:8/v1", "http://[::1]:8/v1",
                                 "http://localhost/v1"])  # fmt: skip
def test_https_and_loopback_are(url: str) -> None:
    check_url(url)


def test_the_answer_of_text_blocks_is_read_too() -> None:
    told: dict[str, Any] = {
        "content": [{"type": "text", "text": '{"claims": []}'}],
        "stop_reason": "max_tokens",
    }
    with Replay(Reply(json.dumps(told).encode())) as server:
        found = ask(endpoint(server, "anthropic"), QUESTION)
    assert found.cut and json.loads(found.text) == {"claims": []}
