"""Reads YAML from untrusted sources as plain values (no code, no dates, no bombs), and writes it.

Only null, booleans, numbers, text, lists and mappings with text keys come out. Dates and clock times stay
text, as do numbers with leading zeros. Size, depth and expansion by aliases are limited, and a duplicate key
is refused. What is written is read back the same by readers of YAML 1.1 and of YAML 1.2.
"""

from __future__ import annotations

import io
import math
import time
import warnings
from contextlib import suppress
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.representer import SafeRepresenter
from ruamel.yaml.resolver import BaseResolver, implicit_resolvers

from ...core.base.lazy import regex
from ...errors import BadImport

BYTES_MAX = 16 * 1024 * 1024
DEPTH_MAX = 32
NODES_MAX = 100_000
"""The most values in a document; what an alias refers to counts each time."""
WORD_BYTES_MAX = 1_000_000
"""The most bytes without a space between them. No text of a session is so long, and reading takes time."""
SECONDS_MAX = 30.0
"""Of work: whoever wrote the document must not be able to keep this machine busy."""

_TAG = "tag:yaml.org,2002:"
_IMPLICIT: tuple[tuple[str, str, str], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+][0-9]+)", "-+0123456789"),
)


class _Composer(Composer):
    """Counts what it composes, and stops before it is too much."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self._level = 0
        self._nodes = 0
        self._weights: dict[int, int] = {}
        self._until = time.process_time() + SECONDS_MAX

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._level += 1
        if self._level > DEPTH_MAX:
            raise _bad(f"it is more than {DEPTH_MAX} levels deep")
        is_alias = self.parser.check_event(AliasEvent)
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
            raise _bad(f"it has more than {NODES_MAX:,} values; an export as JSON may have more")
        if time.process_time() > self._until:
            raise _bad(f"that takes more than {SECONDS_MAX:g} seconds; an export as JSON is read faster")
        self._level -= 1
        return node


class _Rules(BaseResolver):
    """The same rules whatever version of YAML a document names."""

    def __init__(self, version: Any = None, loader: Any = None, loadumper: Any = None) -> None:
        super().__init__(loader or loadumper)

    @property
    def processing_version(self) -> tuple[int, int]:
        return 1, 2


class _Reading(_Rules):
    """What an unquoted text is when it is read."""


class _Representer(SafeRepresenter):
    """Writes numbers so that readers of YAML 1.1 know them: 1.0e-06, because they take 1e-06 for text."""

    def represent_float(self, data: Any) -> ScalarNode:
        node = super().represent_float(data)
        if "." not in node.value:
            node.value = node.value.replace("e", ".0e", 1)
        return node


_Representer.add_representer(float, _Representer.represent_float)


class _Writing(_Rules):
    """What some reader may take an unquoted text for; it is then written in quotes."""


for _name, _pattern, _first in _IMPLICIT:
    _letters = ["" if letter == "\0" else letter for letter in _first]
    _Reading.add_implicit_resolver_base(_TAG + _name, regex(f"(?:{_pattern})\\Z"), _letters)
for _versions, _tag, _form, _letters in implicit_resolvers:
    _Writing.add_implicit_resolver_base(_tag, _form, _letters)


def read_yaml(data: bytes) -> Any:
    """The one document in these bytes. Raises BadImport, which says what is wrong with it."""
    if len(data) > BYTES_MAX:
        raise _bad(f"it has {len(data):,} bytes, and the limit is {BYTES_MAX:,}")
    if max(map(len, data.split()), default=0) > WORD_BYTES_MAX:
        raise _bad(f"it has more than {WORD_BYTES_MAX:,} bytes without a space")
    reader = YAML(typ="safe", pure=True)
    reader.Composer, reader.Resolver = _Composer, _Reading
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = reader.compose(data.decode("utf-8-sig"))
    except UnicodeDecodeError as fault:
        raise _bad(f"it is not UTF-8: {fault}") from fault
    except YAMLError as fault:
        raise _bad(" ".join(str(fault).split())) from fault
    return None if node is None else _value(node)


def write_yaml(value: Any) -> str:
    """A value as YAML, mappings in their order."""
    writer = YAML(typ="safe", pure=True)
    writer.Resolver, writer.Representer = _Writing, _Representer
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    writer.width, writer.allow_unicode = 100, True
    text = io.StringIO()
    writer.dump(value, text)
    return text.getvalue()


def _bad(reason: str) -> BadImport:
    return BadImport(f"this YAML cannot be read: {reason}", hint="see docs/formats.md")


def _value(node: Any) -> Any:
    kind = str(node.tag).removeprefix(_TAG)
    if isinstance(node, SequenceNode) and kind == "seq":
        return [_value(inner) for inner in node.value]
    if isinstance(node, MappingNode) and kind == "map":
        return _mapping(node)
    if isinstance(node, ScalarNode):
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
