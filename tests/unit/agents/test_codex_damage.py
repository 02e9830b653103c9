"""Codex's rollouts cut, glued, torn and spoilt: damage costs only itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.unit.agents.codex_records import (
    CODEX,
    NATIVE,
    STORY,
    assistant,
    done,
    event,
    function,
    item,
    line,
    meta,
    output,
    script,
    steps,
    texts,
    user,
)

from segue.core.runs.steps import Call, Model, Prompt, Result, Say, Start, Step
from segue.testing.transcripts import written


def test_a_file_without_envelopes_is_read_too():
    found = steps(
        b'{"id":"n-1","timestamp":"2023-11-14T22:13:20.000Z","instructions":null,"git":{"branch":"tax"}}',
        b'{"record_type":"state"}',
        b'{"type":"message","role":"user","content":[{"type":"input_text","text":"Add tax"}]}',
        b'{"type":"function_call","name":"shell","arguments":"{\\"command\\":[\\"ls\\"]}","call_id":"c1"}',
        b'{"type":"function_call_output","call_id":"c1","output":"{\\"output\\":\\"a\\",\\"metadata\\":{\\"exit_code\\":0}}"}'
        b'{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}',
    )
    assert [type(step) for step in found] == [Start, Prompt, Call, Result, Say]
    assert isinstance(found[0], Start) and (found[0].native, found[0].branch) == ("n-1", "tax")


def test_a_story_that_was_written_is_read_as_it_was_told():
    story = written("codex", STORY, native=NATIVE, cwd="/src/shop")
    found = steps(*story.splitlines())
    moved = [step for step in found if not isinstance(step, Model)]
    assert moved == [step for step in STORY if not isinstance(step, Model)]
    assert [step.name for step in found if isinstance(step, Model)] == ["gpt-5.5"]


def test_every_prefix_of_a_rollout_gives_a_prefix_of_its_steps():
    records = written("codex", STORY).splitlines()
    whole = steps(*records)
    for cut in range(len(records)):
        assert steps(*records[:cut]) == whole[: len(steps(*records[:cut]))]


@given(st.lists(st.integers(0, 80), max_size=6))
def test_a_rollout_read_in_any_pieces_gives_the_same_steps(cuts):
    records = written("codex", STORY).splitlines()
    found: list[Step] = []
    kept: Any = None
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(records)], strict=True):
        reader = CODEX.reader(kept)
        for record in records[start:end]:
            found.extend(reader.read(record))
        kept = json.loads(json.dumps(reader.keep()))
    assert found == steps(*records)


def test_what_is_remembered_does_not_grow_with_the_transcript():
    reader = CODEX.reader()
    for index in range(3000):
        reader.read(assistant(f"said {index}"))
        reader.read(function("exec_command", {"cmd": f"run {index}"}, f"c{index}"))
        reader.read(output(f"Process running with session ID {index}\nOutput:\n", f"c{index}"))
        reader.read(script(f"tools.exec_command({{cmd: 'x {index}'}})", f"s{index}"))
    assert len(json.dumps(reader.keep())) < 50_000


def test_two_records_on_one_line_are_both_read():
    assert texts(steps(user("one") + assistant("two")), Prompt) == ["one"]
    assert texts(steps(user("one") + assistant("two")), Say) == ["two"]


def test_a_torn_last_line_costs_only_itself():
    reader = CODEX.reader()
    assert list(reader.read(meta()))
    torn = line("compacted", {"message": "x", "replacement_history": [json.loads(user("copied"))["payload"]]})
    for cut in range(1, len(torn)):
        assert list(reader.read(torn[:cut])) == []
    assert reader.malformed


def test_a_byte_order_mark_and_bytes_that_are_no_text_cost_nothing():
    assert texts(steps(b"\xef\xbb\xbf" + user("Add tax")), Prompt) == ["Add tax"]
    assert texts(steps(user("Add t?x").replace(b"?", b"\xff")), Prompt) == ["Add t\ufffdx"]
    assert steps(b"", b"   ", b"null", b"[]", b"7", b'"x"', b"\xff\xfe", b"{" * 5000) == []


ODD: list[Any] = [None, 0, -1.5, True, "x", "", [], [None, 1, "x", {}], {}, {"a": {"b": []}}, "\\", [["x"]]]


def every_record() -> list[bytes]:
    records = written("codex", STORY).splitlines()
    records += [
        script("tools.exec_command({cmd: 'x'})"),
        done("McpToolCall", id="m", server="s", tool="t", result={}),
    ]
    records += [event("exec_command_end", call_id="e", command=["ls"]), event("user_message", message="m")]
    records += [event("patch_apply_end", call_id="p", changes={"a": {"add": {"content": "c"}}}, success=True)]
    records += [
        item("web_search_call", id="w", action={"query": "q"}),
        event("collab_waiting_end", statuses={"a": {}}),
    ]
    return [
        *records,
        item("local_shell_call", id="l", action={"command": ["ls"]}),
        item("agent_message", author="a"),
    ]


def spoilt(value: Any, odd: Any) -> list[Any]:
    """The value with each of its inner values in turn replaced by something odd."""
    if isinstance(value, dict):
        return [odd, *({**value, key: one} for key in value for one in spoilt(value[key], odd))]
    if isinstance(value, list):
        return [
            odd,
            *(
                [*value[:at], one, *value[at + 1 :]]
                for at in range(len(value))
                for one in spoilt(value[at], odd)
            ),
        ]
    return [odd]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_wrong_types_in_any_field_never_raise(odd):
    reader = CODEX.reader()
    for record in every_record():
        for wrong in spoilt(json.loads(record), odd):
            for step in reader.read(json.dumps(wrong).encode()):
                assert isinstance(step.at, float)
            json.dumps(reader.keep())


@given(st.binary(max_size=200))
def test_any_bytes_are_told_skipped_or_counted_as_malformed(record):
    reader = CODEX.reader()
    told = list(reader.read(record))
    empty = not record.decode("utf-8", "replace").lstrip("\ufeff").strip(" \t\r\n\x00")
    assert empty or record.lstrip().startswith(b"//") or len(told) + reader.skipped + reader.malformed > 0


@pytest.mark.parametrize("kept", [None, 3, "x", [], {"open": 3}, {"native": "n", "unknown": 1}])
def test_a_memory_that_cannot_be_used_is_begun_anew(kept):
    assert texts(list(CODEX.reader(kept).read(user("Add tax"))), Prompt) == ["Add tax"]
