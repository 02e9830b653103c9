"""Reads YAML from untrusted sources as plain values: no code, no dates, no bombs.

Only null, booleans, numbers, text, lists and mappings with text keys come out. Dates and clock times stay
text, as do numbers with leading zeros. Size, depth and expansion by aliases are limited, and a duplicate key
is refused.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Any

import yaml

from ...core.base.lazy import regex
from ...errors import BadImport

BYTES_MAX = 16 * 1024 * 1024
DEPTH_MAX = 32
NODES_MAX = 1_000_000
"""The most values in a document; what an alias refers to counts each time."""

_TAG = "tag:yaml.org,2002:"
_IMPLICIT: tuple[tuple[str, str, str], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+]?[0-9]+)?", "-+0123456789"),
)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._nodes = 0
        self._weights: dict[int, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise _bad(f"it is more than {DEPTH_MAX} levels deep")
        is_alias = self.check_event(yaml.AliasEvent)
        before = self._nodes
        node = super().compose_node(parent, index)
        if is_alias:
            weight = self._weights.get(id(node))
            if weight is None:
                raise _bad("an alias refers to something that contains it")
            self._nodes += weight
        else:
            self._nodes += 1
            self._weights[id(node)] = self._nodes - before
        if self._nodes > NODES_MAX:
            raise _bad(f"it has more than {NODES_MAX:,} values")
        self._depth -= 1
        return node


for _name, _pattern, _first in _IMPLICIT:
    for _letter in _first:
        _rule = (_TAG + _name, regex(f"(?:{_pattern})\\Z"))
        _Loader.yaml_implicit_resolvers.setdefault("" if _letter == "\0" else _letter, []).append(_rule)


def read_yaml(data: bytes) -> Any:
    """The one document in these bytes. Raises BadImport, which says what is wrong with it."""
    if len(data) > BYTES_MAX:
        raise _bad(f"it has {len(data):,} bytes, and the limit is {BYTES_MAX:,}")
    try:
        node = _Loader(data.decode("utf-8-sig")).get_single_node()
    except UnicodeDecodeError as fault:
        raise _bad(f"it is not UTF-8: {fault}") from fault
    except yaml.YAMLError as fault:
        raise _bad(" ".join(str(fault).split())) from fault
    return None if node is None else _value(node)


def _bad(reason: str) -> BadImport:
    return BadImport(f"this YAML cannot be read: {reason}", hint="see docs/formats.md")


def _value(node: Any) -> Any:
    kind = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        return [_value(inner) for inner in node.value]
    if isinstance(node, yaml.MappingNode) and kind == "map":
        return _mapping(node)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, kind)
    raise _bad(f"{_where(node)}: {node.tag} is not allowed")


def _mapping(node: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key_node, inner in node.value:
        name = _value(key_node)
        if not isinstance(name, str) or name == "<<":
            raise _bad(f"{_where(key_node)}: a key must be a text, and merge keys are not allowed")
        if name in values:
            raise _bad(f"{_where(key_node)}: the key {name!r} occurs twice")
        values[name] = _value(inner)
    return values


def _scalar(node: Any, kind: str) -> Any:
    with suppress(ValueError, KeyError):
        if kind == "str":
            return str(node.value)
        if kind == "null":
            return None
        if kind == "bool":
            return {"true": True, "false": False}[node.value.lower()]
        if kind == "int" and -(2**63) <= (number := int(node.value)) < 2**64:
            return number
        if kind == "float" and math.isfinite(value := float(node.value)):
            return value
    raise _bad(f"{_where(node)}: {node.value[:40]!r} is not allowed as {node.tag}")


def _where(node: Any) -> str:
    return f"line {node.start_mark.line + 1}"
