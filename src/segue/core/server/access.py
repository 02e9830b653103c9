"""Who may do what on a server: keys, their roles, and the project that each is bound to.

A key is a random token, shown once. Only its hash is stored, so that nobody who reads the tables can use it;
its id, which is not secret, is the first part of the token and appears in logs and the audit. A project is a
store of its own: the store that a key is given decides what it can reach, and its role what it may do there.
A key that is bound to an agent acts as that agent only.
"""

from __future__ import annotations

import hashlib
import hmac

from ...errors import BadName, NotAllowed, NotKnown, UsageError
from ..base.lazy import regex
from ..base.values import Value

ROLES = ("reader", "writer", "admin")
"""Each may do what those before it may."""
ALL_PROJECTS = "*"
DEFAULT_PROJECT = "default"
PREFIX = "sgk"
_SECRET = regex(r"(sgk_[0-9a-f]{12})_[A-Za-z0-9_-]+")
_TOKEN = regex(r"sgk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_PROJECT = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_EXPIRES = regex(r"([0-9]{1,6})([smhdw]?)")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "": 86_400}
EXPIRES_SECONDS_MAX = 86_400 * 3_652


def is_key(text: str) -> bool:
    """Whether a text has the shape of a key that a Segue server makes."""
    return bool(_TOKEN.fullmatch(text))


class KeyRecord(Value):
    """A key as it is kept."""

    id: str
    hash: str
    role: str
    project: str
    agent: str = ""
    """The only agent that it may act as; empty for any."""
    name: str = ""
    created: str = ""
    created_by: str = ""
    expires: str = ""
    """Until when it is valid; empty for ever."""
    revoked: str = ""
    """When it was revoked."""

    def state(self, now: str) -> str:
        """``live``, ``expired`` or ``revoked``."""
        if self.revoked and self.revoked <= now:
            return "revoked"
        return "expired" if self.expires and self.expires <= now else "live"


class Access(Value):
    """What a request may do: the key behind it, and where."""

    key: str
    role: str
    project: str
    agent: str = ""

    def demand(self, need: str) -> None:
        """Raise NotAllowed unless the role is at least this one."""
        if ROLES.index(self.role) < ROLES.index(need):
            raise NotAllowed(
                f"this key has the role {self.role}, but this needs {need}",
                hint="ask an admin of the server for a key of that role",
            )

    def act_as(self, agent: str) -> str:
        """The agent that a request acts as; NotAllowed if the key is another agent's."""
        if self.agent and agent and agent != self.agent:
            raise NotAllowed(
                f"this key is bound to the agent {self.agent}",
                hint=f"act as {self.agent}, or use another key",
            )
        return self.agent or agent


class AuditLine(Value):
    """Something that was done, or refused, with a key."""

    at: str
    key: str
    project: str
    act: str
    """Method and path, or what was done to a key."""
    status: int = 0
    about: str = ""


class KeptResponse(Value):
    """The response to a request, for when the same request comes again."""

    id: str
    request: str
    """The hash of the request."""
    status: int
    type: str
    body: bytes
    at: str


def token_of(id: str, secret: str) -> str:
    """The token of a key, as its owner keeps it."""
    return f"{PREFIX}_{id}_{secret}"


def without_secrets(text: str) -> str:
    """A text as it may be logged: tokens are cut to their ids."""
    return _SECRET.sub(r"\1_***", text)


def id_in(token: str) -> str:
    """The id in a token. Raises NotKnown if it does not look like a token."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        raise NotKnown(
            "no key was given, or this server does not know it", hint="give one with SEGUE_API_KEY"
        )
    return found[1]


def hashed(token: str) -> str:
    """What is kept of a token. It is 256 random bits, which nobody guesses: one plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def granted(record: KeyRecord | None, token: str, project: str, now: str) -> Access:
    """What a token gives access to in a project, by default its own. Raises NotKnown or NotAllowed."""
    same = hmac.compare_digest(record.hash if record else hashed(""), hashed(token))
    if record is None or not same:
        raise NotKnown(
            "no key was given, or this server does not know it", hint="give one with SEGUE_API_KEY"
        )
    state = record.state(now)
    if state != "live":
        raise NotKnown(f"this key is {state}", hint="ask an admin of the server for a new one")
    if record.project == ALL_PROJECTS:
        return Access(record.id, record.role, clean_project(project or DEFAULT_PROJECT), record.agent)
    if project and project != record.project:
        raise NotAllowed(
            f"this key does not belong to project {project[:64]!r}", hint="leave Segue-Project out"
        )
    return Access(record.id, record.role, record.project, record.agent)


def clean_project(name: str) -> str:
    """The name, if it is valid as a project's; it becomes part of paths and of keys in tables. Raises
    BadName."""
    if not _PROJECT.fullmatch(name):
        raise BadName(
            f"a project cannot be called {name[:64]!r}",
            hint="use letters, digits, dots, dashes and underscores, at most 64 characters",
        )
    return name


def clean_role(role: str) -> str:
    """The role, if it exists. Raises UsageError."""
    if role not in ROLES:
        raise UsageError(f"unknown role: {role[:40]!r}", hint="one of " + ", ".join(ROLES))
    return role


def seconds_of(text: str) -> int:
    """The seconds of ``90d``, ``12h``, ``30m``; a bare number is days."""
    found = _EXPIRES.fullmatch(text.strip())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= EXPIRES_SECONDS_MAX:
        raise UsageError(f"a key cannot be valid for {text[:40]!r}", hint="for example 90d or 12h")
    return seconds


class Bucket(Value):
    """How many requests a key has left, as of a moment on a steady clock."""

    left: float
    at: float


def draw(bucket: Bucket | None, now: float, *, rate: float, burst: float) -> tuple[Bucket, float]:
    """Count one more request: the bucket after it, and in how many seconds to try again (0 if it may go
    on)."""
    left = burst if bucket is None else min(burst, bucket.left + (now - bucket.at) * rate)
    if left >= 1:
        return Bucket(left - 1, now), 0.0
    return Bucket(left, now), (1 - left) / rate
