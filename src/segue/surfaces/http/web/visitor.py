"""Who looks at a page, and who lets them in."""

from __future__ import annotations

import hmac
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any, Protocol

from starlette.requests import Request

from ....api.segue import Segue
from ....core.server.access import ROLES
from ....core.usage.figures import Observed


class Visitor(Protocol):
    """Somebody who looks."""

    @property
    def name(self) -> str:
        """What to call whoever looks."""
        ...

    @property
    def role(self) -> str: ...

    @property
    def secret(self) -> str:
        """What only this visitor's browser has, from which the token of forms is made."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether this is the machine on which agents work."""
        ...

    def segue(self, folder: str = "") -> AbstractContextManager[Segue]:
        """The store, seen from the working tree in a folder where the visitor is on its machine."""
        ...

    def stamp(self, session: str = "") -> str:
        """What differs once something has changed: in a session, or anywhere."""
        ...

    def health(self) -> list[Any] | None:
        """What the doctor finds; None while it is still looking."""
        ...

    def observed(self) -> Observed | None:
        """What figures are made of; None while transcripts are still being read."""
        ...


class Door(Protocol):
    """Lets visitors in."""

    async def visitor(self, request: Request) -> Visitor:
        """Whoever sends a request. Raises NotKnown."""
        ...


def stamp_of(*parts: object) -> str:
    """A short text that differs if any of these do."""
    return sha256(repr(parts).encode()).hexdigest()[:16]


def form_token(visitor: Visitor) -> str:
    """The token that forms of a visitor carry, so that no other site can send them."""
    return hmac.new(visitor.secret.encode(), b"segue form", sha256).hexdigest()


def may(visitor: Visitor, role: str) -> bool:
    """Whether a visitor has at least this role."""
    return ROLES.index(visitor.role) >= ROLES.index(role)
