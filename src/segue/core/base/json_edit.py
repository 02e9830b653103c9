"""Edit a JSON file as text, so that everything else in it keeps its bytes, its comments and its order.

Comments and trailing commas are accepted, as agents accept them. A change inserts one stretch of text at one
position; removing exactly that stretch restores the original file byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from .lazy import regex
from .values import Value

_SKIP = regex(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = regex(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = regex(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_INDENT = regex(r"\n([ \t]+)\S")
_DEPTH_MAX = 200


class NotJson(ValueError):
    """The text cannot be parsed, or has something else where the change would go."""


class Node(Value):
    """A parsed value and its position in the text."""

    start: int
    end: int
    value: Any
    members: dict[str, Node] = {}
    keys: dict[str, int] = {}
    """Where the key of each member begins."""
    elements: tuple[Node, ...] = ()
    trailing: bool = False
    """Whether a comma follows the last member or element."""
    last: int = 0
    """The position after the last member, element or comma; after the opening bracket if there is none."""


def decoded(text: str) -> Any:
    """The value of a whole text. Raises NotJson."""
    return parse(text, None).value


Path = Sequence[str | int]
"""The names of members, and the places of elements, on the way to a value."""


def parse(text: str, path: Path | None = ()) -> Node:
    """Parse a whole text. Positions are known of the values on the way along a path, and of what is directly
    inside them; with None only of the whole. An empty text counts as an empty object; raises NotJson if it is
    not JSON."""
    at = _skip(text, 0)
    if at == len(text):
        return Node(0, 0, {})
    node = _value(text, at, 0, path)
    if _skip(text, node.end) != len(text):
        raise NotJson(f"unexpected text after the value, at character {node.end}")
    return node


def _skip(text: str, at: int) -> int:
    match = _SKIP.match(text, at)
    return match.end() if match else at


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_plain_json = json.JSONDecoder(parse_constant=_no_constant)


def _value(text: str, at: int, depth: int, path: Path | None) -> Node:
    if depth > _DEPTH_MAX:
        raise NotJson("nested too deeply")
    if path is None:  # nobody asks for positions: most values have no comments, and are decoded quickly
        with suppress(ValueError, RecursionError):
            value, end = _plain_json.raw_decode(text, at)
            return Node(at, end, value)
    if text[at : at + 1] == "{":
        return _object(text, at, depth, path)
    if text[at : at + 1] == "[":
        return _array(text, at, depth, path)
    match = _STRING.match(text, at) or _PLAIN.match(text, at)
    if match is None:
        raise NotJson(f"expected a value at character {at}")
    try:
        return Node(at, match.end(), json.loads(match[0]))
    except ValueError as fault:
        raise NotJson(str(fault)) from fault


def _object(text: str, start: int, depth: int, path: Path | None) -> Node:
    members: dict[str, Node] = {}
    keys: dict[str, int] = {}
    at, last, trailing = _skip(text, start + 1), start + 1, False
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        if key is None or (members and not trailing):
            raise NotJson(f"expected a key at character {at}")
        colon = _skip(text, key.end())
        if text[colon : colon + 1] != ":":
            raise NotJson(f"expected a colon at character {colon}")
        try:
            name = json.loads(key[0])
        except ValueError as fault:
            raise NotJson(str(fault)) from fault
        keys[name] = at
        rest = path[1:] if path and name == path[0] else None
        members[name] = _value(text, _skip(text, colon + 1), depth + 1, rest)
        last = members[name].end
        at, last, trailing = _comma(text, last)
    value = {name: node.value for name, node in members.items()}
    return Node(start, at + 1, value, members, keys, (), trailing, last)


def _array(text: str, start: int, depth: int, path: Path | None) -> Node:
    elements: list[Node] = []
    at, last, trailing = _skip(text, start + 1), start + 1, False
    while text[at : at + 1] != "]":
        if elements and not trailing:
            raise NotJson(f"expected a comma at character {at}")
        rest = path[1:] if path and len(elements) == path[0] else None
        elements.append(_value(text, at, depth + 1, rest))
        at, last, trailing = _comma(text, elements[-1].end)
    return Node(start, at + 1, [node.value for node in elements], {}, {}, tuple(elements), trailing, last)


def _comma(text: str, end: int) -> tuple[int, int, bool]:
    """The next position to parse at, the end of the value or its comma, and whether there is a comma."""
    at = _skip(text, end)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1), at + 1, True
    return at, end, False


class Insertion(Value):
    """A stretch of text to insert at a position."""

    at: int
    text: str

    def applied(self, text: str) -> str:
        return text[: self.at] + self.text + text[self.at :]


def insertion(text: str, path: Sequence[str], value: Any, *, element: bool = False) -> Insertion:
    """The insertion that sets a path that does not exist yet or, with ``element``, appends to the list there.

    Missing parents are created. Raises NotJson if the path exists, or if a value on the way is not an object
    (for ``element``: if the value there is not a list).
    """
    root = parse(text, path)
    unit = _indent_unit(text)
    if not text.strip("\ufeff \t\r\n") and root.end == 0:
        whole = json.dumps(_nested(path, value, element), indent=unit, ensure_ascii=False)
        return Insertion(len(text), f"{whole}\n")
    node, depth = root, 0
    for name in path:
        if name not in node.members:
            break
        node, depth = node.members[name], depth + 1
    rest = list(path[depth:])
    if rest:
        if not isinstance(node.value, dict):
            raise NotJson(f"{'.'.join(path[:depth]) or 'the file'} is not an object")
        key = f"{json.dumps(rest[0], ensure_ascii=False)}: "
        return _append_to(text, node, depth, key, _nested(rest[1:], value, element), unit)
    if not element or not isinstance(node.value, list):
        raise NotJson(
            f"{'.'.join(path)} exists already" if not element else f"{'.'.join(path)} is not a list"
        )
    return _append_to(text, node, depth, "", value, unit)


def _nested(path: Sequence[str], value: Any, element: bool) -> Any:
    """The value, or a list of it, inside an object for each name."""
    nested: Any = [value] if element else value
    for name in reversed(path):
        nested = {name: nested}
    return nested


def _indent_unit(text: str) -> str:
    match = _INDENT.search(text)
    return match[1][:8] if match else "  "


def _append_to(text: str, node: Node, depth: int, key: str, value: Any, unit: str) -> Insertion:
    newline = "\r\n" if "\r\n" in text else "\n"
    pad = newline + unit * (depth + 1)
    entry = key + json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", pad)
    empty = not node.members and not node.elements
    comma = "" if empty or node.trailing else ","
    tail = "," if node.trailing else ""
    closing = newline + unit * depth if empty and "\n" not in text[node.last : node.end - 1] else ""
    return Insertion(node.last, f"{comma}{pad}{entry}{tail}{closing}")


def removal(text: str, path: Path, element: int | None = None) -> str:
    """The text without the member at a path or, with ``element``, without that element of the list there."""
    root = parse(text, path)
    parent = root
    for name in path if element is not None else path[:-1]:
        parent = parent.elements[name] if isinstance(name, int) else parent.members[name]
    if element is not None:
        ends = [node.end for node in parent.elements]
        starts = [node.start for node in parent.elements]
        index = element
    else:
        names = list(parent.members)
        index = names.index(str(path[-1]))
        ends = [parent.members[name].end for name in names]
        starts = [parent.keys[name] for name in names]
    end = ends[index]
    after = _skip(text, end)
    if text[after : after + 1] == ",":
        begin = ends[index - 1] if index else parent.start + 1
        previous = _skip(text, begin)
        if index and text[previous : previous + 1] == ",":
            begin = previous + 1
        return text[:begin] + text[after + 1 :]
    if index:
        return text[: ends[index - 1]] + text[end:]
    if after == parent.end - 1:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    return text[: starts[index]] + text[end:]
