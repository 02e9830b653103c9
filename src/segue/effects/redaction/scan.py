r"""Finds what may be a secret, and masks what is one.

RE2 finds in one pass, in linear time, where the match of a rule may begin (`heads.py`). At each such position
the few rules that can begin there are tried, and a check for that kind of rule decides which bytes to mask.
No check returns a span that covers a quote or half an escape of the JSON around it.

The time is in proportion to the length, whatever the text: neither a search, nor a match, nor a check looks
further than a fixed number of bytes, unless all that it looked at is masked or passed over afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from .assignment import judge_assigned
from .commands import judge_piped
from .contexts import (
    judge_command,
    judge_cookies,
    judge_given_password,
    judge_jwk,
    judge_kubernetes,
    judge_pgpass,
    judge_seed,
)
from .disguises import BrokenMatch, broken_match, continuation, judge_encoded, judge_hex
from .dumps import judge_digest, judge_key_bytes, judge_key_list, judge_state
from .heads import HEAD_BYTES_MAX, rules_for, search_for_heads
from .judge import is_no_secret_name, is_placeholder, is_secret, is_stand_in, is_wordy, key_of_what, regex
from .key_blocks import (
    PEM_BYTES_MAX,
    decoded,
    judge_der,
    judge_encoded_pem,
    judge_pem,
    judge_pem_end,
    judge_putty,
)
from .rules import CLEAR_STAND_IN, MEMBER, STAND_IN, Rule
from .unseen import UNSEEN_BYTES, UNSEEN_STRIDE, Found, may_hide, seen_through, united
from .value import (
    BEFORE_BYTES_MAX,
    JUDGED_LENGTH_MAX,
    VALUE_LENGTH_MAX,
    Span,
    Verdict,
    after_escapes,
    as_read,
    bytes_regex,
    compiled,
    extent_of,
    harmless_verdict,
    reach,
    whole_value,
)

MASK = "[redacted:{}]"
PASSES_MAX = 8
CALL_LENGTH_MAX = 300
"""How far before its option the name of a program may stand, in characters."""
AROUND_BYTES_MAX = 2 * JUDGED_LENGTH_MAX + BEFORE_BYTES_MAX
PREFIX_BYTES_MAX = 72
"""How long what must precede a pattern may be."""
REMEMBERED_MAX = 1024
STRIDE_BYTES, STRIDES = 8192, 16
"""How far a search goes at once: at least so far, and so many times as far as the last head was. Each begins
behind a head, and what begins like a head and goes on to the end of the text would let each of them look at
all of it."""
MATCH_BYTES_MAX = 2048
_REACHES = {"shape": 8192, "encoded": 8192, "encoded_pem": 8192, "hex": 8192, "spoken": 512}
"""How much of a match is looked at, by its check; the rest of a longer token is masked with it."""
_REST_OF_TOKEN = rb"[A-Za-z0-9._~+/=-]*+"
REPEATED_BYTES = 4096
REACH_BYTES_MAX = PEM_BYTES_MAX + VALUE_LENGTH_MAX
"""How far before a mask a match may begin that the mask changes."""


@cache
def _encoder() -> Callable[[str], str]:
    """Python's JSON string encoder alone; the whole package is imported only when something is masked."""
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json import dumps as encode_basestring_ascii
    return encode_basestring_ascii


def mask_text(text: str) -> str:
    """The text with its secrets masked; the same object if there is none."""
    line = _encoder()(text).encode()
    masked = mask_chunk(line)
    if masked is line:
        return text
    import json

    clean: str = json.loads(masked)
    return clean


def places(text: str) -> list[tuple[int, str]]:
    """The line number and the kind of everything that would be masked."""
    import json

    line = _encoder()(text).encode()
    secrets = []
    done, number = 1, 1
    for start, _, kind in spans(line, [(0, len(line))])[0]:
        before: str = json.loads(b'"' + line[done:start] + b'"')
        done, number = max(done, start), number + before.count("\n")
        secrets.append((number, kind))
    return secrets


def mask_chunk(chunk: bytes) -> bytes:
    """The chunk with its secrets masked; the same object if there is none.

    It scans until nothing more is found, because a mask can expose what was part of a longer word before."""
    regions = [(0, len(chunk))]
    for _ in range(PASSES_MAX):
        secrets, hides = spans(chunk, regions)
        if not secrets:
            break
        chunk, regions = _mask(chunk, secrets)
        if hides:
            regions = [(0, len(chunk))]
    return chunk


def _mask(chunk: bytes, secrets: list[Found]) -> tuple[bytes, list[Span]]:
    """The masked chunk, and the regions to scan again; nothing changed outside of them."""
    pieces: list[bytes] = []
    regions: list[Span] = []
    done = length = 0
    for start, end, kind in secrets:
        mask = MASK.format(kind).encode()
        pieces += (chunk[done:start], mask)
        length += start - done
        first, last = max(0, length - REACH_BYTES_MAX), length + len(mask) + BEFORE_BYTES_MAX
        if regions and first <= regions[-1][1]:
            first = regions.pop()[0]
        regions.append((first, last))
        length += len(mask)
        done = end
    return b"".join((*pieces, chunk[done:])), regions


def spans(chunk: bytes, regions: list[Span]) -> tuple[list[Found], bool]:
    """Everything to mask that begins in one of the regions, from left to right; whether it has signs that a
    reader does not see, so that it was also looked at without them."""
    unseen: list[int] = []
    found = list(_in_regions(chunk, regions, unseen))
    if not unseen:
        return found, False
    return united(found, list(seen_through(chunk, unseen, _in_regions))), True


def _in_regions(chunk: bytes, regions: list[Span], unseen: list[int] | None = None) -> Iterator[Found]:
    masked_until = 0
    for first, last in regions:
        for span in _spans(chunk, max(first, masked_until), last, unseen):
            masked_until = span[1]
            yield span


def _spans(chunk: bytes, position: int, last: int, unseen: list[int] | None) -> Iterator[Found]:
    """What begins from ``position`` on; ``unseen`` gets the positions of signs that are not seen."""
    search = search_for_heads(unseen=unseen is not None)
    seen_harmless: set[bytes] = set()
    masked_until, stop = position, last
    last_repeated, stride = 0, STRIDES * STRIDE_BYTES
    while True:
        until = min(stop, position + stride)
        start = search(chunk, position, until + HEAD_BYTES_MAX)
        if start < 0 or start >= until:
            if until < stop:
                position, stride = until, 2 * stride
                continue
            if stop >= last:
                break
            position, stop, search = max(position, stop), last, search_for_heads(unseen=True)
            continue
        stride = max(STRIDE_BYTES, STRIDES * (start - position))
        if unseen is not None and chunk[start] in UNSEEN_BYTES:
            position = start + 1
            if may_hide(chunk, start):  # those behind it need not be noted
                unseen.append(start)
                stop, search = min(last, start + UNSEEN_STRIDE), search_for_heads(unseen=False)
            continue
        if start - position < BEFORE_BYTES_MAX < position and _around(chunk, start) in seen_harmless:
            position = _past_repetition(chunk, last_repeated, start) if last_repeated else start + 1
            last_repeated = start
            continue
        position, last_repeated = start + 1, 0
        if not (hit := _first_match(chunk, start)):
            continue
        rule, match = hit
        verdict = _CHECKS[rule.check](chunk, match, rule)
        if isinstance(verdict, int):
            position = max(position, verdict)
        elif verdict is None:
            if start > BEFORE_BYTES_MAX and len(seen_harmless) < REMEMBERED_MAX:
                seen_harmless.add(_around(chunk, start))
        elif left := [span for span in verdict if span[0] >= masked_until]:
            if left[-1][1] == start + _reach_of(rule):
                left[-1] = (left[-1][0], _end_of_token(chunk, left[-1][1]))
            yield from ((begin, end, rule.kind) for begin, end in left)
            masked_until = position = left[-1][1]


def _reach_of(rule: Rule) -> int:
    return _REACHES.get(rule.check, MATCH_BYTES_MAX)


def _end_of_token(chunk: bytes, end: int) -> int:
    rest = bytes_regex(_REST_OF_TOKEN).match(chunk, end)
    return rest.end() if rest else end


def _around(chunk: bytes, start: int) -> bytes:
    return chunk[start - BEFORE_BYTES_MAX : start + AROUND_BYTES_MAX]


def _past_repetition(chunk: bytes, last: int, start: int) -> int:
    """Where to continue after two harmless matches in a row: past everything that only repeats them."""
    period, end = start - last, start
    while chunk[end : end + REPEATED_BYTES] == chunk[end - period : end - period + REPEATED_BYTES] != b"":
        end += REPEATED_BYTES
    return max(start + 1, end - AROUND_BYTES_MAX - period)


# Finding: where a match may begin, and the first rule in the table that matches there.


def _first_match(chunk: bytes, start: int) -> tuple[Rule, Any] | None:
    head = chunk[start : start + 24].lower()
    within = None
    broken: tuple[Rule, Any] | None = None
    for literals, rule in rules_for(head[:3]):
        if not head.startswith(literals):
            continue
        if rule.check == "shape" and not rule.before:
            within = _within_word(chunk, start) if within is None else within
            if within:
                continue
        elif rule.check == "assigned" and head.startswith(b"key") and not _is_telling_key(chunk, start, head):
            continue
        if match := compiled(rule.pattern).match(chunk, start, start + _reach_of(rule)):
            return rule, match
        if rule.check == "shape" and not rule.before and broken is None and len(literals[0]) > 2:
            pieces = broken_match(chunk, start, len(literals[0]), compiled(rule.pattern))
            broken = (rule, pieces) if pieces else None
    return broken


def _is_telling_key(chunk: bytes, start: int, head: bytes) -> bool:
    """Whether it is the key to something, and not the key of a map."""
    if head.startswith((b"keybase", b"key_base", b"key-base")):
        return True
    return start > 0 and key_of_what(chunk, start) < start


# Judging: each check returns a verdict on a match.

_ESCAPE_BEFORE = (
    rb"(?:\\(?:[nrtbf]|u[0-9a-fA-F]{4})|%[0-9a-fA-F]{2}|"
    rb"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,12}[A-Za-z])\Z"
)
"""What ends in a letter or digit without being part of a word: escapes, and terminal colours."""
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_BLOB_BEFORE = rb"[A-Za-z0-9+/_-]{40}\Z"
_BLOB = rb"[A-Za-z0-9+/_-]*"


def _within_word(chunk: bytes, start: int) -> bool:
    if not start or chunk[start - 1] not in _WORD:
        return False
    before = chunk[max(0, start - 24) : start]
    if b"\\" not in before and b"%" not in before and b"\x1b" not in before:
        return True
    return not bytes_regex(_ESCAPE_BEFORE).search(before)


def _shape(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start: int
    if isinstance(match, BrokenMatch):
        return list(match.pieces)
    start, end = match.span()
    if chunk[start - 1 : start] == b"\\" and start:
        return start + 1  # its first letter belongs to an escape
    if rule.before:
        first = after_escapes(chunk, max(0, start - PREFIX_BYTES_MAX), start)
        prefix = bytes_regex(rule.before.encode() + rb"\Z").search(chunk, first, start)
        if not prefix or (rule.kind == "discord-token" and not _is_random(chunk, prefix.start(), end)):
            return start + 1
        return [(prefix.start(), end)]
    if bytes_regex(_BLOB_BEFORE).search(chunk, after_escapes(chunk, max(0, start - 40), start), start):
        return bytes_regex(_BLOB).match(chunk, start).end()  # type: ignore[union-attr]
    secret = chunk[start:end].decode("latin-1")
    if regex(CLEAR_STAND_IN if rule.kind == "github-token" else STAND_IN).search(secret):
        return int(end)
    if rule.kind in ("openai-key", "llm-key") and is_wordy(secret):
        return int(end)
    return _with_rest(chunk, start, end)


def _is_random(chunk: bytes, start: int, end: int) -> bool:
    """Whether it is a word of its own without meaning, and not a path of names."""
    return not _within_word(chunk, start) and not is_wordy(chunk[start:end].decode("latin-1"))


def _with_rest(chunk: bytes, start: int, end: int) -> Verdict:
    """The span of a token, and of what the end of a line has broken off."""
    rest = continuation(chunk, start, end)
    return [(start, end), rest] if rest else [(start, end)]


def _userinfo(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    user, colon, password = as_read(chunk[start:end]).partition(":")
    if colon:
        common = re.fullmatch(r"(?i)p(?:ass|w|wd|assw(?:or)?d)?|secret|token|user(?:name)?|\d{1,5}", password)
        is_credential = not (common or is_placeholder(password) or (len(user) > 1 and is_placeholder(user)))
    else:
        is_credential = not regex(STAND_IN).search(user) and not is_wordy(user)
    return [(start, end)] if is_credential else int(end)


def _basic(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    text = decoded(chunk[start:end])
    _, colon, password = text.partition(b":")
    is_credential = colon and len(password) > 2 and text.isascii() and text.decode("ascii").isprintable()
    return [(start, end)] if is_credential else int(start)


def _spoken(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    value = chunk[start:end].decode("latin-1")
    if (
        regex(STAND_IN).search(value)
        or (regex(MEMBER).match(value) and not any(c.isdigit() for c in value))
        or is_wordy(value)
    ):
        return None
    return _with_rest(chunk, start, end)


def _curl(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    value = as_read(chunk[start:end])
    is_request = _is_request(chunk, start)
    user, _, password = value.partition(":")
    words = is_stand_in(password) or (is_wordy(password) and not re.search(r"\d", password))
    if not is_request or is_placeholder(value) or (password.isdigit() and user.isdigit()) or words:
        return int(start)
    return [(start, end)]


def _is_request(chunk: bytes, start: int) -> bool:
    """Whether a program that takes a user and a password stands shortly before."""
    first = max(0, start - 6 * CALL_LENGTH_MAX)
    at = max(chunk.rfind(name, first, start) for name in (b"curl", b"wget", b"http"))
    return at >= 0 and reach(chunk, at, CALL_LENGTH_MAX) >= start


_OPTION_BEFORE = rb"(?:--[A-Za-z-]*[A-Za-z]|-)\Z"


def _option(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    quote = match.group(1) or b""
    extent = extent_of(chunk, quote, match.start(2))
    value = as_read(chunk[extent.start : extent.end])
    name = "password"
    if match.group().startswith(b"-"):
        before = bytes_regex(_OPTION_BEFORE).search(chunk, max(0, match.start() - 26), match.start())
        if not before:
            return int(match.start()) + 1
        name = (before.group() + re.match(rb"[A-Za-z_.-]+", match.group()).group()).decode("ascii")  # type: ignore[union-attr]
    weak = name == "--key"
    if (
        value.startswith("-")
        or re.fullmatch(r"[\d.]+:[\d:.]+(?:/(?:tc|ud)p)?", value)  # ports
        or is_no_secret_name(name)
        or not is_secret(name, value, quoted=extent.quoted, bare_code=False, weak=weak)
    ):
        return harmless_verdict(match.start(), quote, extent)
    return whole_value(chunk, extent)


def _openssl(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """``-passin pass:…`` and, of Windows, ``/pass:…``"""
    before = bytes_regex(rb"(?:-pass(?:in|out)?(?:[ \t=]|\\+[nrt]){1,2}\\*[\"']?|[ \t]/)\Z").search(
        chunk, max(0, match.start() - 24), match.start()
    )
    return _option(chunk, match, rule) if before else int(match.start()) + 1


def _netrc(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    password = as_read(chunk[start:end])
    harmless = is_placeholder(password) or (password.isalpha() and len(password) < 8)
    return int(start) if harmless else [(start, end)]


def _pass(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """``pass = …``: in quotes, or a long one without meaning, because tests pass too."""
    if _within_word(chunk, match.start()):
        return int(match.start()) + 1
    value = chunk[match.end() - 20 : match.end()].decode("latin-1")
    if not match.group(3) and not (
        re.search(r"\d", value) and re.search(r"[A-Z]", value) and not is_wordy(value)
    ):
        return int(match.start()) + 1
    return judge_assigned(chunk, match, rule)


def _element(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    name = chunk[match.start() : start - 1].decode("latin-1")
    secret = is_secret(name, as_read(chunk[start:end]), quoted=True, bare_code=False, weak=False)
    return [(start, end)] if secret else int(start)


def _found(text: bytes) -> Iterator[Found]:
    return _spans(text, 0, len(text), None)


_CHECKS: dict[str, Callable[[bytes, Any, Rule], Verdict]] = {
    "shape": _shape,
    "pem": judge_pem,
    "pem_end": judge_pem_end,
    "der": judge_der,
    "encoded_pem": judge_encoded_pem,
    "encoded": lambda chunk, match, rule: judge_encoded(chunk, match, _found),
    "hex": lambda chunk, match, rule: judge_hex(chunk, match, _found),
    "putty": judge_putty,
    "jwk": judge_jwk,
    "kubernetes": judge_kubernetes,
    "oracle": judge_given_password,
    "openssl": _openssl,
    "cookie": judge_cookies,
    "command": judge_command,
    "pgpass": judge_pgpass,
    "seed": judge_seed,
    "userinfo": _userinfo,
    "basic": _basic,
    "spoken": _spoken,
    "curl": _curl,
    "option": _option,
    "netrc": _netrc,
    "element": _element,
    "assigned": judge_assigned,
    "pass": _pass,
    "piped": judge_piped,
    "key_list": judge_key_list,
    "key_bytes": judge_key_bytes,
    "digest": judge_digest,
    "state": judge_state,
}
