"""Where a Postgres store is: a libpq address with two parameters of ours, and a form that may be shown.

``postgresql://user:secret@host,standby:5432/database?namespace=web&pool=8``: ``namespace`` is the wall inside
of which everything of this store lies, ``pool`` how many connections a process opens at most; all the rest is
libpq's (several hosts, ``sslmode``, ``service``). A password is never shown: not in texts, not by ``repr``,
and what the driver says goes through ``masked`` first. Nothing here imports the driver.
"""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.parse import parse_qsl, quote, unquote, urlencode

from ...errors import BadSettings

SCHEMES = ("postgresql://", "postgres://")
NAMESPACE = "default"
POOL_MAX = 10
_PORT = "5432"
NAMESPACE_CHARS_MAX = 128
_HINT = "postgresql://user@host:5432/database?namespace=NAME"
_SECRET_PARAMETERS = ("password", "sslpassword", "oauth_client_secret")


def is_postgres(where: str) -> bool:
    """Whether a setting names a Postgres store."""
    return where.startswith(SCHEMES)


class Address:
    """A store's address, taken apart."""

    def __init__(self, where: str) -> None:
        if not is_postgres(where):
            raise BadSettings("this is not the address of a Postgres store", hint=_HINT)
        base, _, query = where.partition("?")
        scheme, _, rest = base.partition("://")
        self.namespace, self.pool_max = NAMESPACE, POOL_MAX
        kept: list[tuple[str, str]] = []
        secrets: list[str] = []
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name == "namespace":
                self.namespace = _namespace(value)
            elif name == "pool":
                self.pool_max = _pool(value)
            else:
                kept.append((name, value))
                secrets += [value] if name in _SECRET_PARAMETERS else []
        account, at, place = rest.rpartition("@")
        user, colon, password = account.partition(":")
        secrets += [password, unquote(password)] if colon else []
        forms = {form for one in secrets for form in (one, quote(one, safe="")) if form}
        self._secrets = sorted(forms, key=len, reverse=True)
        self.libpq = f"{scheme}://{rest}" + _query(kept)
        """For the driver alone: it holds the password."""
        named = {name for name, _ in kept}
        self.places = () if named & {"host", "hostaddr", "port"} else _places(place.partition("/")[0])
        """Host and port of each host."""
        self.says_which = "target_session_attrs" in named
        """Whether it says itself which of several hosts is meant."""
        shown = [(name, value) for name, value in kept if name not in _SECRET_PARAMETERS]
        if self.namespace != NAMESPACE:
            shown.append(("namespace", self.namespace))
        self.shown = f"postgresql://{user}{at}{place}{_query(shown)}"
        """The address without any secret; the name of the store."""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def masked(self, text: str) -> str:
        """A text of the driver or the server, in a line and without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return " ".join(text.split())


def shown(where: str) -> str:
    """An address as it may be shown: any other kind of store as it is."""
    if not is_postgres(where):
        return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:***@", where)
    with suppress(BadSettings):
        return Address(where).shown
    return "postgresql://"


def _places(hosts: str) -> tuple[tuple[str, str], ...]:
    found = []
    for one in hosts.split(","):
        host, colon, port = one.rpartition(":")
        if not colon or port.endswith("]"):
            host, port = one, ""
        found.append((unquote(host).strip("[]"), port or _PORT))
    return tuple(found)


def _query(pairs: list[tuple[str, str]]) -> str:
    return f"?{urlencode(pairs, quote_via=quote, safe='')}" if pairs else ""


def _namespace(value: str) -> str:
    if not value or len(value) > NAMESPACE_CHARS_MAX or not value.isprintable():
        hint = "for example ?namespace=web"
        raise BadSettings("a namespace is a printable name of at most 128 characters", hint=hint)
    return value


def _pool(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= 1000:
        raise BadSettings("a pool has between 1 and 1000 connections", hint="for example ?pool=8")
    return int(value)
