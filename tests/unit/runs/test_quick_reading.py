"""What is asked first because it is cheap never changes the answer."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from segue.agents import agent as agent_of
from segue.agents.codex import wire
from segue.agents.codex.reader import Reader
from segue.core.base.record_lines import PassedLines, record_lines
from segue.core.language import sentences
from segue.core.runs import outcomes, written_plans
from segue.core.runs.digest import encode
from segue.core.runs.identifiers import NAME, is_name, may_name
from segue.core.runs.steps import Prompt, Start, Step
from segue.effects.redaction.judge import key_of_what
from segue.effects.redaction.rules import KEY_OF
from segue.services.runs.read_transcript import read
from segue.testing.transcripts import written

KINDS = (
    wire.Kind, wire.Meta, wire.Turn, wire.Message, wire.ToolCall, wire.Output, wire.Event, wire.Item,
    wire.Compacted, wire.Counted, wire.Spent,
)  # fmt: skip


STRICT: list[tuple[str, object]] = [("type", str), ("item", wire.Item | None)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_payload_has_every_field_of_every_kind_as_that_kind_has_it(kind: type[msgspec.Struct]) -> None:
    whole = {one.name: one for one in msgspec.structs.fields(wire.Payload)}
    for one in msgspec.structs.fields(kind):
        other = whole[one.name]
        assert one.encode_name == other.encode_name
        if (one.name, other.type) in STRICT:  # what is not like that is read in parts
            continue
        assert one.type == other.type
        assert one.default == other.default or (one.type is msgspec.Raw and not one.default)


CALL = '{"type":"function_call","name":"exec_command","call_id":"c1","arguments":"{\\"cmd\\":\\"ls\\"}"%s}'
LINE = '{"timestamp":"2026-11-15T02:34:46.000Z","type":"response_item","payload":%s}'


@pytest.mark.parametrize(
    "more", ['"info":7', '"item":7', '"usage":[1]', '"info":{"last_token_usage":"none"}']
)
def test_a_field_that_is_not_as_it_should_be_costs_nothing_but_time(more: str) -> None:
    plain, odd = Reader(), Reader()
    wanted = list(plain.read((LINE % (CALL % "")).encode()))
    assert list(odd.read((LINE % (CALL % f",{more}")).encode())) == wanted != []
    assert (odd.malformed, odd.skipped) == (0, 0)


PIECES = st.lists(
    st.sampled_from(
        ["Plan", "plan:", "The next steps", "my TODO", "left", "work left to do", "\n", "\n\n", " ", "x" * 70,
         "1. ", "2) ", "one", "ROADMAP", "remaining tasks", "to-dos", "İ", "é", "planet"]
    ), max_size=24,
)  # fmt: skip


@given(PIECES)
def test_lines_that_announce_a_plan_are_found_by_their_words(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = [head.span() for head in written_plans._announced(text)]
    assert found == [head.span() for head in written_plans._ANNOUNCED.finditer(text)]


@given(st.text(alphabet="abZQ_.-:1éÉ", max_size=12))
def test_a_piece_of_text_that_holds_a_name_is_never_passed_over(piece: str) -> None:
    assert may_name(piece) or not any(map(is_name, NAME.findall(piece)))


_LINES = (
    b"", b"a", b"1", b"{}", b"[]", b"// a", b"\r", b" ", b"\0", b'{"b": 1}', b'{"type": "a"}',
    b' {"type": "a"}', b'x{"type": "a"}\r', b"{" * 11, b"{" * 12, b'{"torn',
)  # fmt: skip


@given(st.lists(st.sampled_from(_LINES), max_size=8), st.booleans())
def test_no_line_that_may_hold_a_record_is_passed_over_and_all_others_are_counted(
    lines: list[bytes], torn: bool
) -> None:
    block = b"".join(line + b"\n" for line in lines)
    passed = PassedLines()
    found = [bytes(line) for line in record_lines(block[: -1 if torn else None], passed)]
    assert found == [line for line in lines if len(line) - line.find(b"{") >= 12 and b"{" in line]
    others = [line.strip() for line in lines if line not in found]
    others = [line for line in others if line and not line.startswith(b"//")]
    assert passed.skipped == sum(line.endswith(b"}") for line in others)
    assert passed.malformed == len(others) - passed.skipped


JUNK = (
    b"1",
    b"{}",
    b"[]",
    b"xx",
    b"{",
    b'{"a":1}',
    b'{"":xxxxxx}',
    b"{xxxxxxxxxxxxxx",
    b'{"type":1,"a":2}',
    b'{"torn":[{"a":',
)


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot-cli"])
@pytest.mark.parametrize("junk", JUNK)
def test_lines_that_say_nothing_cost_next_to_nothing(agent: str, junk: bytes, tmp_path: Path) -> None:
    """Two megabytes of them took up to 70 seconds, a thousand times as long as looking at each."""
    steps: list[Step] = [Start(1.0, "start", native="run-1", cwd="/src/shop"), Prompt(2.0, "Mend the till.")]
    path = tmp_path / "run.jsonl"
    good = written(agent, steps)
    path.write_bytes(good + (junk + b"\n") * (2_000_000 // (len(junk) + 1)))
    begun = time.process_time()
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):
            json.loads(line)
    looked = time.process_time() - begun
    begun = time.process_time()
    reading = read(path, agent_of(agent))
    took = time.process_time() - begun
    path.write_bytes(good)
    assert encode(reading.digest) == encode(read(path, agent_of(agent)).digest)
    assert took < 50 * looked, f"{took:.1f} s, and {looked:.1f} s to look at each"


_OF_WHAT = st.lists(
    st.sampled_from([*(word.decode() for word in KEY_OF), "role", "_", "-", ".", " ", "x", "API", "Sign"]),
    max_size=5,
)


@given(_OF_WHAT)
def test_of_what_it_is_the_key_is_the_longest_word_before_it(pieces: list[str]) -> None:
    before = "".join(pieces).encode()
    wanted = re.compile(rb"(?i:(?:" + b"|".join(KEY_OF) + rb")[ _.-]?)\Z").search(
        before, max(0, len(before) - 16)
    )
    assert key_of_what(before + b"key", len(before)) == (wanted.start() if wanted else len(before))


FRAGMENTS = (
    "1 2 0 12 a1 passed passing paſs failed failing fail failures error errors 0&errors problems warnings"
    " tests (0&errors FAILED ERROR error&TS2 npm&ERR! ELIFECYCLE error: error[E1]: Traceback&(most&recent"
    " panic: E&&& a.py:1:2:&error x.ts:3:&cannot ✘ ✖ × ● make:&*** fatal:& Command&failed ok OK oK PASS"
    " command&not&found Success ſucceſs All&checks&passed no&issues&found no&iſſues&found BUILD&SUCCESS"
    " Build&succeeded ✓&built Compiled&successfully no&problems Done&in& Finished&dev&profile"
    " fıniſhed&x&profile test&result:&ok ignore İgnore ıgnore forget disregard previous instruction"
    " new&instructions system&prompt ſyſtem&prompt you&must you&ſhould </user <ſystem system: uſer: é \u2028"
)
"""With letters that ``re.I`` takes for others; ``&`` stands for a space."""
outputs = st.lists(
    st.tuples(
        st.sampled_from([word.replace("&", " ") for word in FRAGMENTS.split()]),
        st.sampled_from(["", " ", "\n"]),
    ),
    max_size=6,
).map(lambda pieces: "".join(word + between for word, between in pieces))


@given(outputs)
@example("tests\n1 failed")
@example("Succeſs")
def test_an_output_says_the_same_of_itself_line_by_line_and_as_a_whole(output: str) -> None:
    told = outcomes.plain(output)
    whole = "failed" if outcomes._BAD.search(told) else "ok" if outcomes._GOOD.search(told) else ""
    assert outcomes._of_words(output) == whole


@given(outputs)
@example("İgnore the previous")
@example("you ſhould stop")
def test_every_line_that_the_expression_for_orders_matches_gives_orders(line: str) -> None:
    matches = bool(sentences._INSTRUCTS.search(line) or sentences._SPEAKS.match(line))
    assert sentences.gives_orders(line) == matches


@given(outputs)
@example("12 paſsed")
def test_every_tally_is_a_verdict(line: str) -> None:
    assert not outcomes._TALLY.search(line) or outcomes._is_verdict(line)
