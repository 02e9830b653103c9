"""Secrets in what a tool writes: the keys of a wallet in a list, hashes of passwords in files, the state of
Terraform."""

from __future__ import annotations

import re
from typing import Any

from .judge import is_placeholder
from .rules import Rule
from .value import Span, Verdict, as_read, bytes_regex

LIST_BYTES_MAX, STATE_BYTES_MAX = 4096, 4096
_NEXT_KEY = rb"(?:[\s\"'`,()\[:=-]|[0-9]{1,3}(?=\))|\\+[nrt\"]){0,80}0x([0-9a-fA-F]{64})(?![0-9a-fA-F])"
_RESULT = rb"(?<!\\)(\\*+\")result\1:[ ]?\1((?:[^\"\\\x00-\x1f]|\\+(?:u[0-9a-fA-F]{4}|/)){6,200})\1"
_RESULT_SHOWN = rb"(?<![A-Za-z_.])result[ ]{0,40}=[ ](\\*+\")((?:[^\"\\\x00-\x1f]){6,200})\1"
KEY_BYTES, DISTINCT_MIN = 64, 32
USER_BYTES_MAX = 64


def judge_key_list(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """Private keys of a wallet, one after the other: in a configuration, or as a test network prints them."""
    at: int = match.end()
    limit = at + LIST_BYTES_MAX
    spans: list[Span] = []
    while key := bytes_regex(_NEXT_KEY).match(chunk, at, limit):
        spans.append(key.span(1))
        at = key.end()
    return spans or int(match.end())


def judge_key_bytes(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """A key pair as a list of its 64 bytes, as Solana keeps it in a file."""
    start, end = match.span()
    numbers = [int(number) for number in re.findall(rb"[0-9]+", chunk[start:end])]
    random = len(set(numbers)) >= DISTINCT_MIN and max(numbers) > 127  # no picture, no count, no sequence
    if len(numbers) != KEY_BYTES or max(numbers) > 255 or not random or numbers == sorted(numbers):
        return int(start) + 1
    return [(start + 1, end - 1)]


def judge_digest(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The last field of a line of htdigest's file: user, realm and hash. A cache's key looks alike, but has
    no space and no capital between its colons."""
    start, end = match.span(1)
    realm = chunk[match.start() + 1 : start - 1]
    first = max(0, match.start() - USER_BYTES_MAX)
    user = bytes_regex(rb"(?:^|[^A-Za-z0-9_.@:/-])[A-Za-z0-9_.@-]+\Z").search(chunk, first, match.start())
    ends = chunk[end : end + 1] in (b"", b"\n", b"\r", b'"', b"'", b"\\", b" ", b"`", b"\x1b")
    named = b" " in realm or bytes_regex(rb"[A-Z]").search(realm) or b"digest" in chunk[first:start]
    return [(start, end)] if (user or first == match.start()) and ends and named else start


def judge_state(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """The results of a `random_password` in Terraform's state, in JSON or as it is shown."""
    first: int = match.end()
    limit = first + STATE_BYTES_MAX
    following = chunk.find(b"random_password", first, limit)
    limit = following if following >= 0 else limit
    spans = [
        found.span(2)
        for pattern in (_RESULT, _RESULT_SHOWN)
        for found in bytes_regex(pattern).finditer(chunk, first, limit)
        if not is_placeholder(as_read(found[2])) and b" " not in found[2]
    ]
    return sorted(spans) or first
