"""The base of our frozen types.

``frozen=True`` is inherited at run time; the metaclass tells type checkers so too.
"""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenMeta(msgspec.StructMeta):
    """What makes a class one of our values."""


class Value(msgspec.Struct, frozen=True, metaclass=FrozenMeta):
    """An immutable value with named, typed fields."""
