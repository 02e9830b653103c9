"""The base of all bodies of events: frozen, written without fields that have their default."""

from __future__ import annotations

from typing import ClassVar

from ..base.values import Value


class Body(Value, omit_defaults=True, gc=False):
    """Base of all bodies."""

    KIND: ClassVar[str] = ""
    FORMAT: ClassVar[int] = 1
