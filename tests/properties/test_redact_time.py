"""Masking takes time in proportion to the length of a text, whatever is repeated in it."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import pytest
from hypothesis import example, given, note, strategies as st
from tests.support import made_up_secrets as secrets
from tests.support.examples import examples

from segue.effects.redaction.redact import redact_bytes, secrets_in
from segue.effects.redaction.rules import RULES

EXPONENT_MAX = 1.2
LENGTH, TIMES_LONGER = 16_000, 4
SECONDS_MIN = 0.002
"""What takes less is not told from the cost of a call."""

LITERALS = list(dict.fromkeys(literal for rule in RULES for literal in rule.literals.split()))
SHAPES = [made.text[:300] for made in (*secrets.bare(3), *secrets.told(3))]
FILLERS = (
    "a A 0 a1 f - _ . / \\ \\\\ \" ' ` \n \t \r\n = : ; , $ % + ~ @ { } ( ) [ ] < > | & \\n \\/ \\u0061 \x00 "
    "\x1b[0m \x1b] \x1b]8;; \\u001b] \u200b \xad é 日 😀 \U000e0041 \x9b ＝ %3D %20 a.b. abc12345 abcdefghij "
    "Zk3JQ0m9xw1r6TtUu5Vv hunter2x x=y; a:b -a --a legal winner MII eyJ AKIA -----BEGIN data: value "
    "PRIVATE\x20KEY-----"
).split(" ")
PIECES = (
    st.sampled_from(LITERALS)
    | st.sampled_from(LITERALS).map(str.upper)
    | st.sampled_from([*FILLERS, " "])
    | st.builds(str.__mul__, st.sampled_from([*FILLERS, " "]), st.sampled_from((2, 8, 40, 300)))
    | st.builds(lambda text, first, length: text[first % len(text) :][:length], st.sampled_from(SHAPES),
                st.sampled_from((0, 0, 0, 7, 20)), st.integers(1, 300))
)  # fmt: skip
UNITS = st.lists(PIECES, min_size=1, max_size=4).map("".join)


class Text(NamedTuple):
    """A text of any length: a beginning once, then two units again and again, then an end."""

    begin: str
    unit: str
    other: str
    end: str
    way: str = "repeated"

    def of(self, length: int) -> str:
        if self.way == "numbered":  # so that no two are alike
            period = len(self.unit) + len(self.other) + 6
            body = "".join(f"{self.unit}{7919 * n}{self.other}" for n in range(length // period))
        elif self.way == "halves":
            body = self.unit * (length // 2 // len(self.unit)) + self.other * (length // 2 // len(self.other))
        else:
            body = (self.unit + self.other) * (length // len(self.unit + self.other))
        return self.begin + body + self.end


TEXTS = st.builds(
    Text, st.just("") | UNITS, UNITS, UNITS, st.just("") | UNITS,
    st.sampled_from(("repeated", "repeated", "numbered", "halves")),
)  # fmt: skip


def repeated(unit: str) -> Text:
    return Text("", unit, unit, "")


def seconds(text: str, tries: int) -> float:
    """The least time of the processor of some tries."""
    chunk, taken = text.encode("utf-8", "replace"), []
    for _ in range(tries):
        start = time.process_time()
        redact_bytes(chunk)
        taken.append(time.process_time() - start)
    return max(min(taken), SECONDS_MIN)


def exponent(text: Text, length: int, tries: int) -> float:
    """With which power of the length the time grows."""
    short, long = seconds(text.of(length), tries), seconds(text.of(length * TIMES_LONGER), tries)
    return math.log(long / short, TIMES_LONGER)


def assert_linear(text: Text) -> None:
    if exponent(text, LENGTH, 1) <= EXPONENT_MAX:
        return
    grows = [exponent(text, length, 4) for length in (LENGTH, 2 * LENGTH)]  # noise does not come twice
    note(f"exponents {grows}")
    assert min(grows) <= EXPONENT_MAX, f"{text} takes more than linear time: exponents {grows}"


redact_bytes(b"password: hunter2")  # patterns are compiled at first use


@pytest.mark.timeout(300)
@examples(60)
@given(TEXTS)
@example(repeated("$argon2id$v=19$"))
@example(repeated("machine a login b password "))
@example(Text("", "machine h", ".test login b password x\n", "", "numbered"))
@example(repeated("\x00docker login -p -us1"))
@example(repeated("-eyJaaaaaaaaaa"))
@example(repeated("bearer+authentication"))
@example(repeated("x=cookie:a=b;"))
@example(repeated("seed: "))
@example(Text("\x00", "\\", "\\", ""))
@example(Text('password="', "\\", "\\", '"'))
@example(Text("", "\\" * 500, "mnemonic ", ""))
@example(Text("", '{"kty":"RSA"', "\\" * 8000, ""))
@example(Text("", "kind: Secret", "\\" * 8000, ""))
@example(Text("login ", "docker ", "\x00-us1 a", ""))
def test_the_time_grows_with_the_length_whatever_is_repeated(text: Text) -> None:
    assert_linear(text)


def test_the_time_to_name_the_lines_of_many_secrets_grows_with_their_number() -> None:
    def seconds_for(count: int) -> float:
        text, taken = "password: hunter2\n" * count, []
        for _ in range(3):
            start = time.process_time()
            assert secrets_in(text)[-1] == (count, "assigned")
            taken.append(time.process_time() - start)
        return min(taken)

    assert math.log(seconds_for(2000) / seconds_for(500), 4) < EXPONENT_MAX
