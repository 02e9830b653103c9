"""A serializer that builds nothing but values: what others wrote to a store runs no code here.

LangGraph's own one imports whatever a stored value names, and calls it. This one builds the types that
LangGraph knows to be safe, and classes of data (dataclasses, pydantic models, enumerations, named tuples)
that this program has imported itself. Everything else comes back as the plain data it was made from, and
LangGraph's logger warns of it once.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
import threading
from collections.abc import Iterable
from enum import Enum
from typing import Any

from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic.v1 import BaseModel as BaseModel1

_Key = tuple[str, ...]
_DATA = (Enum, BaseModel, BaseModel1, SecretStr, SecretBytes)


class ValuesSerializer(JsonPlusSerializer):
    """LangGraph's serializer, which builds nothing but values."""

    def __init__(self, allowed: Iterable[_Key] = ()) -> None:
        super().__init__(allowed_msgpack_modules=tuple(allowed) or None)
        self._reader = JsonPlusSerializer(allowed_msgpack_modules=tuple(allowed) or None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value. Classes of this program are allowed when they are met for the first time."""
        while True:
            reader, _refused.keys = self._reader, set()
            value = reader.loads_typed(data)
            own = {key for key in _refused.keys if is_data_of_program(*key)}
            if not own:
                return value
            self._reader = reader.with_msgpack_allowlist(own)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[_Key | type]) -> ValuesSerializer:
        """This serializer, which builds these types as well."""
        keys = (one if isinstance(one, tuple) else (one.__module__, one.__name__) for one in extra_allowlist)
        return ValuesSerializer({*(self._allowed_msgpack_modules or ()), *keys})


def is_data_of_program(module: str, name: str) -> bool:
    """Whether that is a class of data which this program has imported. Nothing is imported to find out."""
    found = getattr(sys.modules.get(module), name, None)
    if not isinstance(found, type) or (found.__module__, found.__name__) != (module, name):
        return False
    is_named_tuple = issubclass(found, tuple) and hasattr(found, "_fields")
    return is_named_tuple or dataclasses.is_dataclass(found) or issubclass(found, _DATA)


class _Refused(threading.local):
    """What the serializer of LangGraph refused in this thread since it was emptied."""

    def __init__(self) -> None:
        self.keys: set[tuple[str, str]] = set()


_refused = _Refused()


def _note_refusal(event: SerdeEvent) -> None:
    if event["kind"] == "msgpack_blocked":
        _refused.keys.add((event["module"], event["name"]))


def _is_refused(record: logging.LogRecord) -> bool:
    """Whether a warning of LangGraph holds: what is allowed in the next moment is none of its business."""
    if not str(record.msg).startswith("Blocked deserialization of %s.%s") or not isinstance(
        record.args, tuple
    ):
        return True
    module, name, *_ = map(str, record.args)
    return not is_data_of_program(module, name)


register_serde_event_listener(_note_refusal)
logging.getLogger(JsonPlusSerializer.__module__).addFilter(_is_refused)
