"""Codex's code mode: the only tool is ``exec``, whose input is JavaScript that calls ``tools.<name>(…)``.

A call is known from a script if its argument is written out there. One whose argument is computed is told by
nothing but the record of its end, if there is one; a script of which no call is known counts as one call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<number>(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<mark>=>|===|!==|==|!=|\.\.\.|\?\.|\?\?|&&|\|\||.)",
    re.S,
)
_PATTERN = re.compile(r"/(?!\*)(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_BEFORE_PATTERN = frozenset("(,=:[!&|?{};") | {"=>", "&&", "||", "??", "return", ""}
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r?\n|.)", re.S)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}


class Computed(Exception):
    """A value that only running the script would give."""


@dataclass(slots=True)
class Token:
    """A piece of a script: a ``string`` with its value, a ``number``, a ``name``, a ``mark``, or a
    ``template`` that has something computed in it."""

    kind: str
    text: str


def script_calls(script: str) -> list[tuple[str, Any]]:
    """The tools that a script calls with arguments that are written out in it, in their order."""
    tokens = _tokens(script)
    known: dict[str, Any] = {}
    found: list[tuple[str, Any]] = []
    for at, token in enumerate(tokens):
        if token.text in ("const", "let", "var") and token.kind == "name" and _has(tokens, at + 2, "="):
            try:
                known[tokens[at + 1].text] = _Values(tokens, at + 3, known).whole()
            except Computed:
                known.pop(tokens[at + 1].text, None)
        elif token.text == "tools" and token.kind == "name" and _has(tokens, at + 1, "."):
            before = tokens[at - 1].text if at else ""
            if before not in (".", "?.") and _has(tokens, at + 3, "("):
                try:
                    found.append((tokens[at + 2].text, _argument(tokens, at + 4, known)))
                except Computed:
                    continue
    return found


def _has(tokens: list[Token], at: int, mark: str) -> bool:
    return at < len(tokens) and tokens[at].kind == "mark" and tokens[at].text == mark


def _argument(tokens: list[Token], at: int, known: dict[str, Any]) -> Any:
    if _has(tokens, at, ")"):
        raise Computed
    return _Values(tokens, at, known).whole()


def _tokens(script: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(script):
        if script[at] == "`":
            text, at = _template(script, at)
            found.append(Token("template", "") if text is None else Token("string", text))
            continue
        last = found[-1].text if found and found[-1].kind in ("mark", "name") else "" if not found else "x"
        if script[at] == "/" and last in _BEFORE_PATTERN and (pattern := _PATTERN.match(script, at)):
            found.append(Token("pattern", pattern[0]))
            at = pattern.end()
            continue
        match = _TOKEN.match(script, at)
        if match is None:
            break
        at = match.end()
        kind = match.lastgroup or "mark"
        if kind == "string":
            found.append(Token(kind, _unescaped(match[0][1:-1])))
        elif kind != "space":
            found.append(Token(kind, match[0]))
    return found


def _template(script: str, start: int) -> tuple[str | None, int]:
    """The text of a template, or None if something in it is computed; and where it ends."""
    at, depth, computed = start + 1, 0, False
    while at < len(script):
        char = script[at]
        if char == "\\":
            at += 1
        elif char == "`" and depth == 0:
            break
        elif char == "`":
            at = _template(script, at)[1] - 1
        elif script.startswith("${", at):
            computed, depth, at = True, depth + 1, at + 1
        elif char == "{" and depth:
            depth += 1
        elif char == "}" and depth:
            depth -= 1
        at += 1
    return (None if computed or at >= len(script) else _unescaped(script[start + 1 : at])), at + 1


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "ux" and len(code) > 1:
            return chr(int(code[1:].strip("{}"), 16))
        return _PLAIN.get(code, code)

    text = _ESCAPE.sub(plain, text)
    # a character outside the first plane is written as two halves
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Values:
    """Reads the value that begins at a token."""

    def __init__(self, tokens: list[Token], at: int, known: dict[str, Any]) -> None:
        self.tokens, self.at, self.known = tokens, at, known

    def whole(self) -> Any:
        """A value with which an expression ends; texts may be put together with plus signs."""
        value = self._value()
        while _has(self.tokens, self.at, "+") and isinstance(value, str):
            self.at += 1
            other = self._value()
            if not isinstance(other, str):
                raise Computed
            value += other
        if self.at < len(self.tokens) and not self._ends():
            raise Computed
        return value

    def _ends(self) -> bool:
        token = self.tokens[self.at]
        return token.text in (",", ";", ")", "]", "}") or token.kind == "name"

    def _value(self) -> Any:
        if self.at >= len(self.tokens):
            raise Computed
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "string":
            return token.text
        if token.kind == "number":
            return float(token.text) if re.search(r"[.eE]", token.text) else int(token.text.replace("_", ""))
        if token.kind == "name" and token.text in _WORDS:
            return _WORDS[token.text]
        if token.kind == "name" and token.text in self.known:
            return self.known[token.text]
        if token.text == "-" and self.at < len(self.tokens) and self.tokens[self.at].kind == "number":
            return -self._value()
        if token.kind == "mark" and token.text == "{":
            return self._object()
        if token.kind == "mark" and token.text == "[":
            return self._list()
        raise Computed

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not _has(self.tokens, self.at, "}"):
            if self.at + 1 >= len(self.tokens) or self.tokens[self.at].kind not in ("name", "string"):
                raise Computed
            key = self.tokens[self.at].text
            if _has(self.tokens, self.at + 1, ":"):
                self.at += 2
                found[key] = self.whole()
            elif key in self.known and self.tokens[self.at + 1].text in (",", "}"):
                self.at += 1
                found[key] = self.known[key]
            else:
                raise Computed
            self._next("}")
        self.at += 1
        return found

    def _list(self) -> list[Any]:
        found: list[Any] = []
        while not _has(self.tokens, self.at, "]"):
            found.append(self.whole())
            self._next("]")
        self.at += 1
        return found

    def _next(self, end: str) -> None:
        if _has(self.tokens, self.at, ","):
            self.at += 1
        elif not _has(self.tokens, self.at, end):
            raise Computed
