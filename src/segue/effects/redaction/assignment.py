"""Values that are assigned to a telling name: ``DB_PASSWORD=…``, ``"api_key": "…"``.

Such a value is masked unless one of the exemptions in the two tables applies. Each exemption has an example
that is left unmasked for this reason alone, and a test checks that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from .disguises import line_continued
from .judge import is_no_secret_name, is_secret, is_weak, key_of_what
from .rules import Rule
from .value import (
    BEFORE_BYTES_MAX,
    JUDGED_LENGTH_MAX,
    Extent,
    Verdict,
    as_read,
    bytes_regex,
    extent_of,
    harmless_verdict,
    whole_value,
)

_OTHER_JOINTS = rb"\xef\xbc[\x9a\x9d]|\\+u[fF]{2}1[aAdD]|%3[aAdD]"
"""An equals sign or a colon in full width, or encoded for a URL."""
_LINES_BEGIN = rb"([:=])(?:\s|\\+[nrt])*+(?:[|>][-+0-9 ]*|(?:\\*+\"){3}|'{3})(?:\s|\\+[nrt])*+\Z"
_DEFINES = rb"(?i)(?:define|setenv|putenv|set_?default|set_?property)\s?\(\s?\\*[\"'][A-Za-z0-9_.-]*\Z"
_KEY_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$@-"
_ENDS = (b"", b" ", b"\t", b"\r", b"\n", b"\\", b'"', b".", b"!", b"?")
"""What may follow a value that stands alone; in code, something else follows."""


class Assignment:
    """A match of the rule: a telling name, a joint such as ``=`` or ``": "``, and a value."""

    def __init__(self, chunk: bytes, match: Any) -> None:
        start, end = match.span(1)
        if chunk[end - 3 : end].lower() == b"key":
            start = min(start, key_of_what(chunk, end - 3))
        self.chunk = chunk
        self.start: int = start
        self.name = chunk[start:end].decode("latin-1")
        """The telling part of the name: `PASSWORD` of `DB_PASSWORD`."""
        joint_start, joint_end = match.span(2)
        quote_start, quote_end = match.span(3)
        self.joint = _plain_joint(chunk[joint_start:joint_end])
        self.quote = chunk[quote_start:quote_end] if quote_start >= 0 else b""
        """The quote before the value, with its backslashes; empty if there is none."""
        self._value_start: int = quote_end if self.quote else joint_end

    @cached_property
    def value(self) -> Extent:
        return extent_of(self.chunk, self.quote, self._value_start)

    @cached_property
    def key(self) -> str:
        """The whole name, with what stands before its telling part."""
        return _key_of(self.chunk, self.start) + self.name

    @property
    def operator(self) -> bytes:
        return self.joint.strip()[-1:]

    def before(self, length: int) -> bytes:
        return self.chunk[max(0, self.start - length) : self.start]

    def after(self, length: int) -> bytes:
        return self.chunk[self.value.end : self.value.end + length]

    # What the name and the joint tell.

    def starts_in_escape(self) -> bool:
        before = self.before(BEFORE_BYTES_MAX)
        return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1 and self.name[0] in "bfnrtu"

    def crosses_strings(self) -> bool:
        quotes = bytes_regex(rb"\\*[\"'`]").findall(self.joint)
        if not self.quote:
            return bool(quotes)
        return any(quote[-1:] == self.quote[-1:] and quote != self.quote for quote in quotes)

    def is_part_of_arn(self) -> bool:
        return self.joint == b":" == self.before(1)

    def is_kind_of_mask(self) -> bool:
        return self.joint[:1] == b"]" and b"[redacted:" in self.before(32)

    def is_next_argument(self) -> bool:
        """``getenv("API_KEY", "…")``: the second may be the value of the first, or unrelated to it."""
        return self.joint.lstrip(b"\\")[1:2] == b"," and b"value" not in self.joint.lower()

    def is_definition(self) -> bool:
        """``define("DB_PASSWORD", "…")``: the second argument is the value of the first."""
        return bool(bytes_regex(_DEFINES).search(self.before(BEFORE_BYTES_MAX)))

    def is_for_environment(self) -> bool:
        """``DB_PASSWORD=…``, as in a shell or a file of variables."""
        spaced = self.operator == b":" or (self.operator == b"=" and self.joint[-1:] in b" \t\n")
        return self.name.isupper() and b"=" in self.joint and not spaced

    # What the value and its surroundings tell.

    def is_pattern(self) -> bool:
        """``file_pat`` and ``IPV4_PAT = r"…"``, unlike ``GH_PAT``."""
        if self.name[-3:].lower() != "pat":
            return False
        value = self.chunk[self.value.start : self.value.end]
        return not (self.name.isupper() and bytes_regex(rb"[A-Za-z0-9_-]{20,}").fullmatch(value))

    def is_path_in_code(self) -> bool:
        begin = self.chunk[self.value.start : self.value.start + 2]
        return not self.value.quoted and self.joint[-1:] == b":" and bool(re.match(rb":[A-Za-z_]", begin))

    def is_cut_short(self) -> bool:
        return not self.value.quoted and self.after(3) == b"..."

    def is_expression(self) -> bool:
        return not self.value.quoted and self.after(1) in (b"(", b"[", b"{", b"<")

    def is_alone(self) -> bool:
        """``password: …`` with nothing of code behind it."""
        joined = self.operator == b":" or (self.joint[-1:] == b"=" and not self.joint[:1].isspace())
        return not self.value.quoted and joined and self.after(1) in _ENDS

    def names_no_secret(self) -> bool:
        return is_no_secret_name(self.key)

    def is_no_secret(self) -> bool:
        start, end, quoted = self.value
        shouted = not quoted and self.is_for_environment()
        return not is_secret(
            self.name, as_read(self.chunk[start:end]), key=self.key, quoted=quoted, shouted=shouted,
            bare_code=not quoted and not shouted,
            weak=(self.is_next_argument() and not self.is_definition()) or is_weak(self.name),
            alone=self.is_alone(),
        )  # fmt: skip


class Exemption(NamedTuple):
    """Why something that reads like the value of a telling name is left as it is."""

    applies: Callable[[Assignment], bool]
    reason: str
    example: bytes
    """Left as it is for this reason alone."""


NO_ASSIGNMENTS = (
    Exemption(Assignment.starts_in_escape, "its first letter is that of an escape", rb'"a\token=abc12345"'),
    Exemption(Assignment.crosses_strings, "a number, or a string of another depth", b'{"password":87654321}'),
    Exemption(Assignment.is_part_of_arn, "the name within an ARN", b"arn:aws:ssm:eu:1:secret:db-AbCd3f"),
    Exemption(Assignment.is_kind_of_mask, "the kind of a mask", b"[redacted:npm-token]=abc12345"),
)
"""Decided by the name and the joint alone."""
NO_SECRETS = (
    Exemption(Assignment.is_pattern, "a pattern", b"file_pat=x7Qm2Lk9Zr4Tb8Wn1"),
    Exemption(Assignment.is_path_in_code, "a path in code", b"token::x2Parser9"),
    Exemption(Assignment.is_cut_short, "only the beginning is shown", b"token=abc12345..."),
    Exemption(Assignment.is_expression, "a call, an index, a template, or a mask", b"token=make2token(8)"),
    Exemption(Assignment.names_no_secret, "a telling word with another meaning", b"page_token=abc12345"),
    Exemption(Assignment.is_no_secret, "a word, a placeholder or code", b"password: required"),
)
"""Decided by the value as well."""


def judge_assigned(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start: int = match.start()
    if match.end() > start + JUDGED_LENGTH_MAX:
        return start + 1
    assignment = Assignment(chunk, match)
    for exemption in NO_ASSIGNMENTS:
        if exemption.applies(assignment):
            return None
    for exemption in NO_SECRETS:
        if exemption.applies(assignment):
            return harmless_verdict(assignment.start, assignment.quote, assignment.value)
    value = whole_value(chunk, assignment.value)
    rest = None if assignment.value.quoted else line_continued(chunk, value[-1][1])
    return [*value, rest] if rest else value


def _plain_joint(joint: bytes) -> bytes:
    """The joint in plain ASCII, without the sign of a block or of a text of many lines."""
    if not joint.isascii() or b"%" in joint or b"\\u" in joint:
        joint = bytes_regex(_OTHER_JOINTS).sub(
            lambda sign: b"=" if sign[0][-1:] in b"\x9ddD" else b":", joint
        )
    if b"|" in joint or b">" in joint or joint.count(b'"') > 2 or b"'''" in joint:
        joint = bytes_regex(_LINES_BEGIN).sub(rb"\1 ", joint)
    return joint


def _key_of(chunk: bytes, start: int) -> str:
    """The part of a name that precedes its telling part: `DB_` of `DB_PASSWORD`."""
    window = chunk[max(0, start - 60) : start]
    rest = window.rstrip(_KEY_CHARS)
    before = window[len(rest) :].decode("ascii")
    if not rest.endswith(b"\\"):
        return before
    return re.sub(r"\A(?:u[0-9a-fA-F]{4}|.)", "", before)  # without the end of an escape
