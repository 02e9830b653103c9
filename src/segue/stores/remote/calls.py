"""A method of a port as a request: arguments out, an answer of the right type in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ...errors import StoreUnavailable
from . import wire
from .client import Client

T = TypeVar("T")


class Calls:
    """Typed requests of one client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def ask(self, name: str, asked: Any, kind: Any) -> Any:
        """The answer of a method that may be called twice."""
        return self._read(self.client.call(name, wire.encode(asked)), kind)

    def write(self, name: str, asked: Any, kind: Any, settle: Callable[[], T | None]) -> Any:
        """The answer of a method that must not happen twice: see ``Client.call``."""
        found = self.client.call(name, wire.encode(asked), lambda: _boxed(settle()))
        if isinstance(found, tuple):
            return found[0]
        try:
            return self._read(found, kind)
        except StoreUnavailable as fault:
            fault.doubt = True  # whatever it was that answered may have done it
            raise

    def _read(self, answer: Any, kind: Any) -> Any:
        try:
            return wire.decode(answer, kind)
        except msgspec.MsgspecError as fault:
            raise StoreUnavailable(
                f"{self.client.address.shown} answers in a way that this Segue does not understand: {fault}",
                hint="are both of the same version?",
            ) from None


def _boxed(found: T | None) -> tuple[T] | None:
    """A result that cannot be mistaken for bytes of an answer."""
    return None if found is None else (found,)
