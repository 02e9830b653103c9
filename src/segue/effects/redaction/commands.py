"""Passwords that a command is given on its standard input: ``echo … | sudo -S``, ``docker login
--password-stdin <<< …``."""

from __future__ import annotations

from typing import Any

from .judge import is_placeholder, is_secret, is_stand_in
from .rules import Rule
from .value import Verdict, as_read, bytes_regex

PIPED_BYTES_MAX = 400
_WORD = rb"((?:[^\x00-\x20\x7f\"'\\|;&$`(){}<>]|\\+/){4,200})"
_ECHOED = (
    rb"(?:echo|printf)(?:[ \t]+-[neE]{1,3})?[ \t]+(?:\\*[\"']?%s(?:\\+n)?\\*[\"']?[ \t]+)?(?:\\*[\"'])?"
    + _WORD + rb"(?:\\+n)?(?:\\*[\"'])?[ \t]*\|[^|;&]{0,160}\Z"
)  # fmt: skip
_HERE = rb"[^|;&<\n]{0,160}<<<[ \t]*(?:\\*[\"'])?" + _WORD


def judge_piped(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """What is echoed into a program that reads a password, or handed to it as a string."""
    start, end = match.span()
    first = max(0, start - PIPED_BYTES_MAX)
    given = bytes_regex(_ECHOED).search(chunk, first, start) or bytes_regex(_HERE).match(
        chunk, end, end + PIPED_BYTES_MAX
    )
    if given is None:
        return int(end)
    begin, stop = given.span(1)
    if match.group().lower() == b"chpasswd":  # a user and a colon before the password
        begin = chunk.find(b":", begin, stop) + 1 or begin
    value = as_read(chunk[begin:stop])
    secret = is_secret("password", value, quoted=True, bare_code=False, weak=False, alone=True)
    return [(begin, stop)] if secret and not is_stand_in(value) and not is_placeholder(value) else int(end)
