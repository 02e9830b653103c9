"""Readers on any bytes: no record makes one raise, and pieces give what the whole gives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given, strategies as st
from tests.support.briefs import known
from tests.support.examples import examples

from segue.agents import agent
from segue.agents.base import decode_line
from segue.agents.common import repaired_json, seconds
from segue.core.runs.brief_text import split_brief
from segue.core.runs.steps import Step
from segue.effects.files.growing_file import chunks
from segue.services.brief.brief import render_brief as brief
from segue.testing.transcripts import MAKERS

WORDS = st.sampled_from(
    "type payload message content role user assistant text tool_use tool_result id name input data "
    "event_msg response_item session_meta user.message parts info messages $set sessionId cwd timestamp "
    "ts say ask task command api ui [segue] <task> </task> <hook_context> attachment system subtype "
    "usage tokens".split()
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=12)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=24,
)
RECORDS = st.dictionaries(WORDS, VALUES, min_size=1, max_size=8)
_steps = msgspec.json.Decoder(list[Step])


def read(name: str, data: bytes) -> list[Step]:
    one = agent(name)
    reader = one.reader()
    records = [line for line in data.split(b"\n") if line] if one.form == "lines" else [data]
    return [step for record in records for step in reader.read(record)]


@examples(60)
@given(st.lists(RECORDS, min_size=1, max_size=4), st.booleans())
def test_any_json_is_read_without_a_fault(records, one_document):
    lines = [json.dumps(records)] if one_document else [json.dumps(one) for one in records]
    for name in MAKERS:
        steps = read(name, "\n".join(lines).encode())
        assert _steps.decode(msgspec.json.encode(steps)) == steps
        assert len(brief(known(steps, agent=name), budget=256).encode()) <= 256


@given(st.binary(max_size=200))
def test_what_is_mended_is_utf_8_and_mending_it_again_changes_nothing(data):
    once = repaired_json(data)
    once.decode()
    assert repaired_json(once) == once or once.startswith(b"\xef\xbb\xbf")


class Record(msgspec.Struct):
    a: str = ""
    b: Any = None


DECODER = msgspec.json.Decoder(Record)
OBJECTS = st.fixed_dictionaries({"a": st.text(max_size=8), "b": VALUES})


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from(["", " ", ",", "\r"]))
def test_whole_records_on_one_line_are_all_found(objects, between):
    line = between.join(json.dumps(one) for one in objects).encode()
    found, bad = decode_line(line, DECODER, 0)
    texts = [json.loads(repaired_json(json.dumps(one["a"]).encode())) for one in objects]
    assert ([one.a for one in found], bad) == (texts, 0)


@given(OBJECTS, OBJECTS, st.data())
def test_of_a_torn_record_nothing_is_taken_for_a_record(torn, whole, data):
    line = json.dumps(torn).encode()
    cut = line[: data.draw(st.integers(1, len(line) - 1))]
    assert decode_line(cut, DECODER, 0) == ([], 1)
    found, bad = decode_line(cut + b"}" + json.dumps(whole).encode(), DECODER, 0)
    assert bad <= 1 and len(found) <= 2


@given(st.binary(max_size=400), st.integers(1, 40))
def test_blocks_of_any_size_are_the_file(tmp_path_factory, body, size):
    path = tmp_path_factory.mktemp("t") / "t"
    path.write_bytes(body)
    for start in {0, *(at + 1 for at, byte in enumerate(body) if byte == 10)}:
        blocks = list(chunks(path, start, size=size))
        assert b"".join(block for block, _ in blocks) == body[start:]
        for block, offset in blocks[:-1]:
            assert block.endswith(b"\n") and body[:offset].endswith(block)


@given(st.one_of(LEAVES, st.datetimes().map(str), st.lists(LEAVES)))
def test_a_time_is_a_time_of_ours_or_none(stamp):
    assert 0 <= seconds(stamp) < 253_402_300_800


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_words_around_a_brief_are_kept(before, after):
    middle = "[segue] Where the last run stopped.\nGOAL: x\n[/segue]"
    for text in (f"{before}\n{middle}\n{after}", f"{before}{after}"):
        ours, rest = split_brief(text)
        if not ours:
            assert rest == text
        elif "[segue]" not in before and "[/segue]" not in after:
            assert rest.split() == f"{before}\n{after}".split()
