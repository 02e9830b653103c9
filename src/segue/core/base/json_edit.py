"""Changing a JSON file as text: what is not ours keeps its bytes, its comments and its order.

Comments and trailing commas are taken, as agents take them. A change inserts one stretch of text at one
place, so that taking exactly that stretch away again gives the file of before, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .lazy import regex
from .values import Value

_SKIP = regex(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = regex(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = regex(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_INDENT = regex(r"\n([ \t]+)\S")
_DEPTH_MAX = 200


class NotJson(ValueError):
    """The text cannot be understood, so it is not touched."""


class Node(Value):
    """A value in a text, and where it stands."""

    start: int
    end: int
    value: Any
    members: dict[str, Node] = {}
    keys: dict[str, int] = {}
    """Where each member's key begins."""
    elements: tuple[Node, ...] = ()
    trailing: bool = False
    """Whether a comma stands behind the last of its members or elements."""
    last: int = 0
    """Behind the last member, element or comma; behind the bracket if there is none."""


def parse(text: str) -> Node:
    """The value of a text; an empty one is an empty object. NotJson if it is none."""
    at = _skip(text, 0)
    if at == len(text):
        return Node(0, 0, {})
    node = _value(text, at, 0)
    if _skip(text, node.end) != len(text):
        raise NotJson(f"something stands behind the value, at character {node.end}")
    return node


def _skip(text: str, at: int) -> int:
    found = _SKIP.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEPTH_MAX:
        raise NotJson("it is nested too deeply")
    if text[at : at + 1] == "{":
        return _object(text, at, depth)
    if text[at : at + 1] == "[":
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _PLAIN.match(text, at)
    if found is None:
        raise NotJson(f"no value at character {at}")
    try:
        return Node(at, found.end(), json.loads(found[0]))
    except ValueError as fault:
        raise NotJson(str(fault)) from fault


def _object(text: str, start: int, depth: int) -> Node:
    members: dict[str, Node] = {}
    keys: dict[str, int] = {}
    at, last, trailing = _skip(text, start + 1), start + 1, False
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        if key is None or (members and not trailing):
            raise NotJson(f"no name of a member at character {at}")
        colon = _skip(text, key.end())
        if text[colon : colon + 1] != ":":
            raise NotJson(f"no colon at character {colon}")
        try:
            name = json.loads(key[0])
        except ValueError as fault:
            raise NotJson(str(fault)) from fault
        keys[name] = at
        members[name] = _value(text, _skip(text, colon + 1), depth + 1)
        last = members[name].end
        at, last, trailing = _comma(text, last)
    value = {name: node.value for name, node in members.items()}
    return Node(start, at + 1, value, members, keys, (), trailing, last)


def _array(text: str, start: int, depth: int) -> Node:
    elements: list[Node] = []
    at, last, trailing = _skip(text, start + 1), start + 1, False
    while text[at : at + 1] != "]":
        if elements and not trailing:
            raise NotJson(f"no comma at character {at}")
        elements.append(_value(text, at, depth + 1))
        at, last, trailing = _comma(text, elements[-1].end)
    return Node(start, at + 1, [one.value for one in elements], {}, {}, tuple(elements), trailing, last)


def _comma(text: str, end: int) -> tuple[int, int, bool]:
    """(where it goes on, behind the value or its comma, whether there is a comma)."""
    at = _skip(text, end)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1), at + 1, True
    return at, end, False


class Insertion(Value):
    """A stretch of text that goes in at one place."""

    at: int
    text: str

    def applied(self, text: str) -> str:
        """The text with it."""
        return text[: self.at] + self.text + text[self.at :]


def insertion(text: str, path: Sequence[str], value: Any, *, element: bool = False) -> Insertion:
    """What puts a value at a path that does not exist yet; with ``element`` as the last of the list there.

    NotJson if something stands in the way: a value where an object or a list should be."""
    root = parse(text)
    unit = _unit(text)
    if not text.strip("\ufeff \t\r\n") and root.end == 0:
        whole: Any = [value] if element else value
        for name in reversed(path):
            whole = {name: whole}
        return Insertion(len(text), json.dumps(whole, indent=unit, ensure_ascii=False) + "\n")
    node, depth = root, 0
    for name in path:
        if name not in node.members:
            break
        node, depth = node.members[name], depth + 1
    rest = list(path[depth:])
    if rest:
        if not isinstance(node.value, dict):
            raise NotJson(f"{'.'.join(path[:depth]) or 'the file'} is no object")
        whole = [value] if element else value
        for name in reversed(rest[1:]):
            whole = {name: whole}
        return _inside(text, node, depth, f"{json.dumps(rest[0], ensure_ascii=False)}: ", whole, unit)
    if not element or not isinstance(node.value, list):
        raise NotJson(f"{'.'.join(path)} is there already" if not element else f"{'.'.join(path)} is no list")
    return _inside(text, node, depth, "", value, unit)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1][:8] if found else "  "


def _inside(text: str, node: Node, depth: int, key: str, value: Any, unit: str) -> Insertion:
    """A member or an element behind the last one of a container."""
    newline = "\r\n" if "\r\n" in text else "\n"
    pad = newline + unit * (depth + 1)
    told = key + json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", pad)
    empty = not node.members and not node.elements
    comma = "" if empty or node.trailing else ","
    tail = "," if node.trailing else ""
    closing = newline + unit * depth if empty and "\n" not in text[node.last : node.end - 1] else ""
    return Insertion(node.last, f"{comma}{pad}{told}{tail}{closing}")


def removal(text: str, path: Sequence[str], place: int | None = None) -> str:
    """The text without the member at a path, or without one element of the list there."""
    root = parse(text)
    parent = root
    for name in path if place is not None else path[:-1]:
        parent = parent.members[name]
    if place is not None:
        ends = [one.end for one in parent.elements]
        starts = [one.start for one in parent.elements]
        index = place
    else:
        names = list(parent.members)
        index = names.index(path[-1])
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
