r"""Find what may be a secret, and mask what is one.

RE2 finds in one pass, in time linear in the length, where the match of a rule may begin: by a small
automaton, for every process builds it anew. There the few rules that begin so are tried, and a check per kind
of rule says which bytes to mask. No check returns a span with a quote or half an escape of the JSON around
it, and none looks further than a fixed number of bytes before it has decided.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from .judge import (
    is_no_secret_name,
    is_placeholder,
    is_secret,
    is_stand_in,
    is_weak,
    is_wordy,
    key_of_what,
    regex,
)
from .rules import MEMBER, RULES, RUN, STAND_IN, Rule, V

MASK = "[redacted:{}]"
PEM_BYTES_MAX = 16 * 1024
VALUE_LENGTH_MAX = 4096
JUDGED_LENGTH_MAX = 512
"""What a value is judged by, in characters: a text is judged alike with its escapes and without. A rejected
match costs no more than this, however long it is."""
PASSES_MAX = 8
BEFORE_BYTES_MAX = 96
ESCAPE_BYTES_MAX = 64
CALL_LENGTH_MAX = 300
"""How far before its option the name of a program may stand."""
AROUND_BYTES_MAX = 2 * JUDGED_LENGTH_MAX + BEFORE_BYTES_MAX
REMEMBERED_MAX = 1024
REPEATED_BYTES = 4096
HEAD_BYTES_MAX = 1024
REACH_BYTES_MAX = PEM_BYTES_MAX + VALUE_LENGTH_MAX
"""How far before a mask something may begin that reads otherwise because of it."""

Span = tuple[int, int]
Verdict = list[Span] | int | None
"""What to mask, or where to look on; none, if whatever has the same bytes around it is no secret either."""


@cache
def _encoder() -> Callable[[str], str]:
    """Python's own form of a text in JSON; the rest of its package is loaded where something is masked."""
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json import dumps as encode_basestring_ascii
    return encode_basestring_ascii


def mask_text(text: str) -> str:
    line = _encoder()(text).encode()
    masked = mask_chunk(line)
    if masked is line:
        return text
    import json

    clean: str = json.loads(masked)
    return clean


def places(text: str) -> list[tuple[int, str]]:
    """(line, kind) of what would be masked."""
    import json

    line = _encoder()(text).encode()
    found = []
    for start, _, kind in spans(line, [(0, len(line))]):
        before: str = json.loads(line[:start] + b'"')
        found.append((before.count("\n") + 1, kind))
    return found


def mask_chunk(chunk: bytes) -> bytes:
    """Until nothing more is found: a mask can uncover what was a part of a longer word before."""
    regions = [(0, len(chunk))]
    for _ in range(PASSES_MAX):
        found = list(spans(chunk, regions))
        if not found:
            break
        chunk, regions = _mask(chunk, found)
    return chunk


def _mask(chunk: bytes, found: list[tuple[int, int, str]]) -> tuple[bytes, list[Span]]:
    """What is left, and where to look again: the rest reads as before."""
    pieces: list[bytes] = []
    regions: list[Span] = []
    done = length = 0
    for start, end, kind in found:
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


def spans(chunk: bytes, regions: list[Span]) -> Iterator[tuple[int, int, str]]:
    """What is to be masked and begins in one of the regions, from left to right."""
    done = 0
    for first, last in regions:
        for found in _spans(chunk, max(first, done), last):
            done = found[1]
            yield found


def _spans(chunk: bytes, at: int, last: int) -> Iterator[tuple[int, int, str]]:
    search, begins = _begins()
    harmless: set[bytes] = set()
    done = at
    repeated = 0
    while head := search(chunk, at, last + HEAD_BYTES_MAX):
        start = head.start()
        if start >= last:
            break
        if start - at < BEFORE_BYTES_MAX < at and _around(chunk, start) in harmless:
            at = _same_again(chunk, repeated, start) if repeated else start + 1
            repeated = start
            continue
        at, repeated = start + 1, 0
        if not (hit := _first(chunk, start, begins)):
            continue
        rule, match = hit
        verdict = _CHECKS[rule.check](chunk, match, rule)
        if isinstance(verdict, int):
            at = max(at, verdict)
        elif verdict is None:
            if start > BEFORE_BYTES_MAX and len(harmless) < REMEMBERED_MAX:
                harmless.add(_around(chunk, start))
        elif verdict[0][0] >= done:
            yield from ((begin, end, rule.kind) for begin, end in verdict)
            done = at = verdict[-1][1]


def _around(chunk: bytes, start: int) -> bytes:
    return chunk[start - BEFORE_BYTES_MAX : start + AROUND_BYTES_MAX]


def _same_again(chunk: bytes, last: int, start: int) -> int:
    """Where to look on after two harmless places with none between: past what only repeats them."""
    period, end = start - last, start
    while chunk[end : end + REPEATED_BYTES] == chunk[end - period : end - period + REPEATED_BYTES] != b"":
        end += REPEATED_BYTES
    return max(start + 1, end - AROUND_BYTES_MAX - period)


# Finding: where a match may begin, and the first rule in the table that matches there.

Begins = dict[bytes, list[tuple[tuple[bytes, ...], Rule]]]


@cache
def _begins() -> tuple[Callable[[bytes, int, int], Any], Begins]:
    """How to search for heads, and the rules by their first byte."""
    by_byte: Begins = {}
    literals: set[str] = set()
    for rule in RULES:
        starts = rule.literals.split()
        literals.update(() if rule.head else starts)
        for first in {start[0] for start in starts}:
            own = tuple(start.encode() for start in starts if start[0] == first)
            by_byte.setdefault(first.encode(), []).append((own, rule))
    heads = sorted({rule.head for rule in RULES if rule.head})
    some = "|".join(re.escape(literal) for literal in sorted(literals))  # sorted: RE2 joins what they share
    anywhere = _compiled(f"(?i:(?:{some}){RUN}|{'|'.join(heads)})", captures=False)
    return anywhere.search, by_byte


def _first(chunk: bytes, start: int, begins: Begins) -> tuple[Rule, Any] | None:
    head = chunk[start : start + 24].lower()
    within = None
    for literals, rule in begins.get(head[:1], ()):
        if not head.startswith(literals):
            continue
        if rule.check == "shape" and not rule.before:
            within = _within_word(chunk, start) if within is None else within
            if within:
                continue
        elif rule.check == "assigned" and head.startswith(b"key") and not _is_telling_key(chunk, start, head):
            continue
        if match := _compiled(rule.pattern).match(chunk, start):
            return rule, match
    return None


def _is_telling_key(chunk: bytes, start: int, head: bytes) -> bool:
    """Whether it is the key of something, and not one of a map."""
    if head.startswith((b"keybase", b"key_base", b"key-base")):
        return True
    return start > 0 and key_of_what(chunk, start) < start


@cache
def _bytes_regex(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


@cache
def _compiled(pattern: str, *, captures: bool = True) -> Any:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes as they are: any line can be looked at
    options.max_mem = 64 << 20
    options.never_capture = not captures
    return re2.compile(pattern.encode(), options)


# Judging: each check returns the span to mask, or where to look on.

_ESCAPE_BEFORE = (
    rb"(?:\\(?:[nrtbf]|u[0-9a-fA-F]{4})|%[0-9a-fA-F]{2}|"
    rb"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,12}[A-Za-z])\Z"
)
"""What ends in a letter or digit and is no part of a word: escapes, and the colours of a terminal."""
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_BLOB_BEFORE = rb"[A-Za-z0-9+/_-]{40}\Z"
_BLOB = rb"[A-Za-z0-9+/_-]*"
_ANY_ESCAPE = rb"\\+(?:u[0-9a-fA-F]{4}|.)"
_ESCAPES = rb"\\+(?:u([0-9a-fA-F]{4})|/)"
_CHARACTER = (
    rb"(?:[\x00-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|"
    rb"\\+u[dD][89abAB][0-9a-fA-F]{2}\\+u[dD][c-fC-F][0-9a-fA-F]{2}|" + _ANY_ESCAPE + rb"|[\x80-\xff\\])"
)
"""As it is written: in one byte or several, or as an escape of any depth."""


def _plain_bytes(window: bytes) -> bool:
    """Whether each of them is a character."""
    return window.isascii() and b"\\" not in window


def _reach(chunk: bytes, start: int, count: int) -> int:
    """Where so many characters end, or the chunk does."""
    if _plain_bytes(chunk[start : start + count + 1]):
        return start + count
    found = _bytes_regex(_CHARACTER + rb"{0,%d}" % count).match(chunk, start)
    return found.end() if found else start


def _after_escapes(chunk: bytes, first: int, end: int) -> int:
    """Where what is written without an escape begins, from ``first`` on: half an escape is no text."""
    for escape in _bytes_regex(_ANY_ESCAPE).finditer(chunk, max(0, first - 6), end):
        first = max(first, escape.end())
    return first


def _within_word(chunk: bytes, start: int) -> bool:
    if not start or chunk[start - 1] not in _WORD:
        return False
    before = chunk[max(0, start - 24) : start]
    if b"\\" not in before and b"%" not in before and b"\x1b" not in before:
        return True
    return not _bytes_regex(_ESCAPE_BEFORE).search(before)


def _shape(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start: int
    start, end = match.span()
    if chunk[start - 1 : start] == b"\\" and start:
        return start + 1  # its first letter is that of an escape
    if rule.before:
        first = _after_escapes(chunk, max(0, start - 32), start)
        found = _bytes_regex(rule.before.encode() + rb"\Z").search(chunk, first, start)
        return [(found.start(), end)] if found else start + 1
    if _bytes_regex(_BLOB_BEFORE).search(chunk, _after_escapes(chunk, max(0, start - 40), start), start):
        return _bytes_regex(_BLOB).match(chunk, start).end()  # type: ignore[union-attr]
    secret = chunk[start:end].decode("latin-1")
    if regex(STAND_IN).search(secret):
        return int(end)
    if rule.kind in ("openai-key", "llm-key") and is_wordy(secret):
        return int(end)
    return [(start, end)]


_PEM_END = rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_PARTS = rb"\\+(?:u[0-9a-fA-F]{4}|.)|([A-Za-z0-9+/]*[A-Z][A-Za-z0-9+/=]{15,})"
_NEW_LINE = rb"(?:[ \t]|\\+[rt])*(?:\r?\n|\\+n)(?:[ \t]|\\+[rt])*"
_PEM_LINES = rb"(?:" + _NEW_LINE + rb"(?:[A-Za-z0-9+/=]+|[A-Za-z-]+: [A-Za-z0-9,. -]+)(?![^\s\"'\\]))+"


def _pem(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    """To its end; where strings end in between, what of a key is in each; without an end, its lines."""
    start, head = match.span()
    limit = head + PEM_BYTES_MAX
    end = _bytes_regex(_PEM_END).search(chunk, head, limit)
    if end and chunk.find(b"-----BEGIN", head, end.start()) < 0:
        body = chunk[head : end.start()]
        if b'"' not in body:
            return [(start, end.end())] if re.match(rb"[^\"'`,)]*[A-Za-z0-9+/]{3}", body) else end.end()
        parts = [m.span() for m in _bytes_regex(_PEM_PARTS).finditer(chunk, head, end.start()) if m[1]]
        return parts or head
    lines = _bytes_regex(_PEM_LINES).match(chunk, head, limit)
    return [(start, lines.end())] if lines else int(head)


def _userinfo(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    user, colon, password = _plain(chunk[start:end]).partition(":")
    if colon:
        common = re.fullmatch(r"(?i)p(?:ass|w|wd|assw(?:or)?d)?|secret|token|user(?:name)?|\d{1,5}", password)
        held = not (common or is_placeholder(password) or (len(user) > 1 and is_placeholder(user)))
    else:
        held = not regex(STAND_IN).search(user) and not is_wordy(user)
    return [(start, end)] if held else int(end)


_FROM_URLSAFE = bytes.maketrans(b"-_", b"+/")


def _basic(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    coded = chunk[start:end].rstrip(b"=")
    try:
        plain = a2b_base64(coded.translate(_FROM_URLSAFE) + b"=" * (-len(coded) % 4))
    except ValueError:
        return int(start)
    _, colon, password = plain.partition(b":")
    held = colon and len(password) > 2 and plain.isascii() and plain.decode("ascii").isprintable()
    return [(start, end)] if held else int(start)


def _spoken(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    value = chunk[start:end].decode("latin-1")
    if (
        regex(STAND_IN).search(value)
        or (regex(MEMBER).match(value) and not any(c.isdigit() for c in value))
        or is_wordy(value)
    ):
        return int(start)
    return [(start, end)]


def _curl(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    value = _plain(chunk[start:end])
    asked = _is_called(chunk, start)
    user, _, password = value.partition(":")
    words = is_stand_in(password) or (is_wordy(password) and not re.search(r"\d", password))
    if not asked or is_placeholder(value) or (password.isdigit() and user.isdigit()) or words:
        return int(start)
    return [(start, end)]


def _is_called(chunk: bytes, start: int) -> bool:
    """Whether a program that takes a user and a password stands not far before."""
    first = max(0, start - 6 * CALL_LENGTH_MAX)
    at = max(chunk.rfind(name, first, start) for name in (b"curl", b"wget", b"http"))
    return at >= 0 and _reach(chunk, at, CALL_LENGTH_MAX) >= start


_OPTION_BEFORE = rb"(?:--[A-Za-z-]*[A-Za-z]|-)\Z"


def _option(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    quote = match.group(1) or b""
    start, end, quoted = _extent(chunk, quote, match.start(2))
    value = _plain(chunk[start:end])
    name = "password"
    if match.group().startswith(b"-"):
        before = _bytes_regex(_OPTION_BEFORE).search(chunk, max(0, match.start() - 26), match.start())
        if not before:
            return int(match.start()) + 1
        name = (before.group() + re.match(rb"[A-Za-z_.-]+", match.group()).group()).decode("ascii")  # type: ignore[union-attr]
    weak = name == "--key"
    if (
        value.startswith("-")
        or is_no_secret_name(name)
        or not is_secret(name, value, quoted=quoted, bare_code=False, weak=weak)
    ):
        return _harmless(match.start(), end, quote, quoted)
    return _whole(chunk, start, end, quoted)


def _netrc(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    password = _plain(chunk[start:end])
    told = is_placeholder(password) or (password.isalpha() and len(password) < 8)
    return int(start) if told else [(start, end)]


def _element(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start, end = match.span(1)
    name = chunk[match.start() : start - 1].decode("latin-1")
    held = is_secret(name, _plain(chunk[start:end]), quoted=True, bare_code=False, weak=False)
    return [(start, end)] if held else int(start)


_KEY_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$@-"


_ENDS = (b"", b" ", b"\t", b"\r", b"\n", b"\\", b'"', b".", b"!", b"?")
"""What may follow a value that stands alone: in code something else follows it."""


def _assigned(chunk: bytes, match: Any, rule: Rule) -> Verdict:
    start: int = match.start()
    if match.end() > start + JUDGED_LENGTH_MAX:
        return start + 1
    name, between, quote = match.group(1).decode("latin-1"), match.group(2), match.group(3) or b""
    if name[-3:].lower() == "key":
        end_of_what = start + len(name) - 3
        of = key_of_what(chunk, end_of_what)
        start = of if of < end_of_what else start
        name = chunk[start : match.end(1)].decode("latin-1")
    before = chunk[max(0, start - BEFORE_BYTES_MAX) : start]
    if (len(before) - len(before.rstrip(b"\\"))) % 2 and name[0] in "bfnrtu":
        return None  # its first letter is that of an escape
    key_quotes = re.findall(rb"\\*[\"'`]", between)
    if (key_quotes and not quote) or any(q[-1:] == quote[-1:] and q != quote for q in key_quotes):
        return None  # a number or a word of the JSON, or quotes of another depth
    if between == b":" == chunk[start - 1 : start]:
        return None  # the name in an ARN
    if between[:1] == b"]" and b"[redacted:" in chunk[max(0, start - 32) : start]:
        return None  # the kind of a mask
    begin, end, quoted = _extent(chunk, quote, match.end(3) if quote else match.end(2))
    harmless = _harmless(start, end, quote, quoted)
    path = between[-1:] == b":" and re.match(rb":[A-Za-z_]", chunk[begin : begin + 2])
    if not quoted and (path or chunk[end : end + 3] == b"..."):
        return harmless  # a path in code, or left out
    if chunk[end : end + 1] in (b"(", b"[", b"{", b"<") and not quoted:
        return harmless  # a call, an index, a template, or a mask
    key = _key_of(chunk, start) + name
    argument = between.lstrip(b"\\")[1:2] == b"," and b"value" not in between.lower()
    spaced = (between[-1:] in b" \t\n" and between.strip()[-1:] == b"=") or between.strip()[-1:] == b":"
    bare_code = not quoted and not (name.isupper() and b"=" in between and not spaced)
    joined = between.strip()[-1:] == b":" or (between[-1:] == b"=" and not between[:1].isspace())
    alone = not quoted and joined and chunk[end : end + 1] in _ENDS
    weak = argument or is_weak(name)
    if is_no_secret_name(key):
        return harmless
    if not is_secret(
        name, _plain(chunk[begin:end]), key=key, quoted=quoted, bare_code=bare_code, weak=weak, alone=alone,
        shouted=not quoted and not bare_code,
    ):  # fmt: skip
        return harmless
    return _whole(chunk, begin, end, quoted)


def _key_of(chunk: bytes, start: int) -> str:
    """What stands before the telling part of a name."""
    window = chunk[max(0, start - 60) : start]
    rest = window.rstrip(_KEY_CHARS)
    before = window[len(rest) :].decode("ascii")
    if not rest.endswith(b"\\"):
        return before
    return re.sub(r"\A(?:u[0-9a-fA-F]{4}|.)", "", before)  # without what an escape ends in


def _extent(chunk: bytes, quote: bytes, start: int) -> tuple[int, int, bool]:
    """Where a value begins and ends, and whether it is in quotes.

    JSON in JSON has more backslashes: a quote of depth n has n ones at the end of their number in binary.
    A quote of less depth ends a string around the value, so the value was cut off.
    """
    if quote and (end := _end_in_quotes(chunk, quote, start)) >= 0:
        return start, end, True
    bare = _compiled(f"{V}*").match(chunk, start, start + JUDGED_LENGTH_MAX).group()
    if len(bare) > JUDGED_LENGTH_MAX - ESCAPE_BYTES_MAX:
        bare = _compiled(f"{V}*").match(chunk, start, _reach(chunk, start, JUDGED_LENGTH_MAX)).group()
    return start, start + len(bare.rstrip(b".:?!")), False


def _end_in_quotes(chunk: bytes, quote: bytes, start: int) -> int:
    """Where the value ends, before its closing quote; -1, if it has none within reach."""
    limit = start + VALUE_LENGTH_MAX
    end = _closed_by(chunk, quote, start, limit)
    if end == limit:  # what looks like the limit in bytes may be less in characters
        limit = _reach(chunk, start, VALUE_LENGTH_MAX)
        end = _closed_by(chunk, quote, start, limit)
    return -1 if end == limit else end


def _closed_by(chunk: bytes, quote: bytes, start: int, limit: int) -> int:
    """The same up to a limit, which is given where nothing is decided before it."""
    if quote[-1:] == b'"':
        depth = _depth(len(quote) - 1)
        for end in _bytes_regex(rb"(\\*)\"|[\r\n]").finditer(chunk, start, limit):
            found = -1 if end[1] is None else _depth(len(end[1]))
            if found == depth:
                return end.end() - (1 << depth)
            if found < depth:
                return -1
        return limit
    rest = rb"(?:[^\x00-\x1f\"\\" + re.escape(quote[-1:]) + rb"]|\\+u[0-9a-fA-F]{4}|\\+/)*"
    body = _bytes_regex(rest).match(chunk, start, limit)
    at = body.end() if body else start
    if chunk[at : at + 1] == quote[-1:]:
        return at
    return limit if at > limit - ESCAPE_BYTES_MAX else -1


def _harmless(start: int, end: int, quote: bytes, quoted: bool) -> Verdict:
    """Remembered, unless it was decided by something too far away."""
    far = (quote and not quoted) or end > start + 2 * JUDGED_LENGTH_MAX
    return start + 1 if far else None


def _whole(chunk: bytes, start: int, end: int, quoted: bool) -> Verdict:
    """The span of a value that was judged by its beginning."""
    if not quoted and end - start > JUDGED_LENGTH_MAX - ESCAPE_BYTES_MAX:
        end = start + len(_compiled(f"{V}*").match(chunk, start).group().rstrip(b".:?!"))
    return [(start, end)]


def _depth(backslashes: int) -> int:
    return (~backslashes & (backslashes + 1)).bit_length() - 1


def _plain(value: bytes) -> str:
    """A value as a reader sees it, as far as it is judged."""
    value = value[: _reach(value, 0, JUDGED_LENGTH_MAX)]
    if b"\\" in value:
        value = _bytes_regex(_ESCAPES).sub(
            lambda m: chr(int(m[1], 16)).encode("utf-8", "surrogatepass") if m[1] else b"/", value
        )
    try:
        text = value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_CHECKS: dict[str, Callable[[bytes, Any, Rule], Verdict]] = {
    "shape": _shape,
    "pem": _pem,
    "userinfo": _userinfo,
    "basic": _basic,
    "spoken": _spoken,
    "curl": _curl,
    "option": _option,
    "netrc": _netrc,
    "element": _element,
    "assigned": _assigned,
}
