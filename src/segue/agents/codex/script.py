"""Code mode: the tool calls that can be read from a script without running it.

The model writes JavaScript that calls ``tools.<name>(…)``. An argument that is a literal can be read. A call
with a computed argument is left out here; Codex records its outcome afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...core.base.lazy import regex

_CALL = regex(r"tools\.([A-Za-z_]\w*)\s*\(\s*")
_NAMED = regex(r"(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*(?=[\"'`{\[])")
_ENDED = regex(r"[;,)\]}]|\w|\Z")
_PRINTED = regex(r"(?:`|\\n|\n)([^`\\\n${}]{1,40})\$\{\w+\.(session_id|exit_code)\}")
_TEXT = regex(r"\btext\(")
_LOOP = regex(r"\bfor\s*\(|\.forEach\(")
_SPACE = regex(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.S)
_PLAIN = {'"': regex(r'[^"\\]*'), "'": regex(r"[^'\\]*"), "`": regex(r"[^`\\$]*")}
_HALF = regex("[\ud800-\udfff]")
_NUMBER = regex(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NAME = regex(r"[A-Za-z_$][\w$]*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}

SCRIPT_CHARS_MAX = 200_000
_CALLS_MAX = 64
_DEPTH_MAX = 12


class _Unreadable(Exception):
    """The text is not a literal."""


def readable_calls(script: str) -> list[tuple[str, Any]]:
    """The tool and the argument of each call whose argument is a literal or a constant with one."""
    script = script[:SCRIPT_CHARS_MAX]
    named: dict[str, Any] = {}
    for match in _beginning(_NAMED, script):
        try:
            named[match[1]] = _Literal(script, match.end(), named).whole()
        except _Unreadable:
            named.pop(match[1], None)
    calls: list[tuple[str, Any]] = []
    for match in _beginning(_CALL, script):
        try:
            calls.append((match[1], _Literal(script, match.end(), named).whole()))
        except _Unreadable:
            pass
    return calls[:_CALLS_MAX]


def words_before_numbers(script: str) -> list[str]:
    """What a script prints before the number of a process and before an exit status, as in
    ``text(`exit=${r.exit_code}`)``; empty where it prints none of its own."""
    found = {match[2]: match[1] for match in _PRINTED.finditer(script[:SCRIPT_CHARS_MAX])}
    return [found.get("session_id", ""), found.get("exit_code", "")]


def prints_each(script: str) -> bool:
    """Whether a script prints the outcomes of its calls one by one, with one statement in a loop."""
    return len(_TEXT.findall(script)) == 1 and _LOOP.search(script) is not None


def _beginning(pattern: re.Pattern[str], script: str) -> Iterator[re.Match[str]]:
    """The matches at the beginning of a word; checking that in the pattern itself would be far slower."""
    for match in pattern.finditer(script):
        before = script[match.start() - 1 : match.start()]
        if not (before.isalnum() or before == "_"):
            yield match


def _joined_surrogates(text: str) -> str:
    """The text with the two halves of a surrogate pair joined; scripts escape them separately."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Literal:
    """Reads one literal at a position in a script."""

    def __init__(self, script: str, at: int, named: dict[str, Any]) -> None:
        self.script, self.at, self.named = script, at, named

    def whole(self) -> Any:
        """The value, if nothing is done to it: ``"a" + b`` is computed."""
        value = self.value()
        self._skip()
        if not _ENDED.match(self.script, self.at):
            raise _Unreadable
        return value

    def value(self, depth: int = 0) -> Any:
        self._skip()
        here = self._peek()
        if depth > _DEPTH_MAX:
            raise _Unreadable
        if here and here in "\"'`":
            return self._string(here)
        if here == "{":
            return self._object(depth)
        if here == "[":
            return self._array(depth)
        return self._word()

    def _peek(self) -> str:
        return self.script[self.at : self.at + 1]

    def _skip(self) -> None:
        here = self._peek()
        if here.isspace() or here == "/":
            match = _SPACE.match(self.script, self.at)
            self.at = match.end() if match else self.at

    def _take(self, wanted: str) -> bool:
        self._skip()
        if self._peek() != wanted:
            return False
        self.at += 1
        return True

    def _word(self) -> Any:
        if number := _NUMBER.match(self.script, self.at):
            self.at = number.end()
            return float(number[0]) if set(number[0]) & set(".eE") else int(number[0][:18])
        name = _NAME.match(self.script, self.at)
        if name is None:
            raise _Unreadable
        self.at = name.end()
        if name[0] in _WORDS:
            return _WORDS[name[0]]
        if name[0] in self.named and self._peek() not in (".", "(", "["):
            return self.named[name[0]]
        raise _Unreadable

    def _string(self, quote: str) -> str:
        self.at += 1
        parts: list[str] = []
        plain = _PLAIN[quote].match
        while True:
            match = plain(self.script, self.at)
            assert match is not None
            parts.append(match[0])
            self.at = match.end()
            here = self._peek()
            self.at += 1
            if here == quote:
                return _joined_surrogates("".join(parts)) if len(parts) > 1 else parts[0]
            if here == "\\":
                parts.append(self._escape())
            elif here == "$" and self._peek() != "{":
                parts.append(here)
            else:  # the end of the script, or a computed part
                raise _Unreadable

    def _escape(self) -> str:
        mark = self._peek()
        self.at += 1
        if mark in ("u", "x"):
            width = 4 if mark == "u" else 2
            digits = self.script[self.at : self.at + width]
            self.at += width
            try:
                return chr(int(digits, 16))
            except ValueError:
                raise _Unreadable from None
        return _ESCAPES.get(mark, mark)

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        fields: dict[str, Any] = {}
        while not self._take("}"):
            key = self._key()
            if self._take(":"):
                fields[key] = self.value(depth + 1)
            elif key in self.named:
                fields[key] = self.named[key]
            else:
                raise _Unreadable
            if not self._take(",") and self._peek() != "}":
                raise _Unreadable
        return fields

    def _key(self) -> str:
        self._skip()
        here = self._peek()
        if here and here in "\"'":
            return self._string(here)
        name = _NAME.match(self.script, self.at)
        if name is None:
            raise _Unreadable
        self.at = name.end()
        return name[0]

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        while not self._take("]"):
            items.append(self.value(depth + 1))
            if not self._take(",") and self._peek() != "]":
                raise _Unreadable
        return items
