"""Where a Segue server is: ``https://host[:port][/prefix]``, and a form of it that may be shown.

A key never stands in an address: one that holds a name or a password is refused, without repeating it. Plain
HTTP goes to this machine only, unless ``?insecure=1`` says that the way there is safe; ``?project=NAME`` is
for keys of all projects.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, urlsplit

from ...core.base.lazy import regex
from ...errors import BadSettings

SCHEMES = ("https://", "http://")
HINT = "https://segue.example, or http://127.0.0.1:8765 for a server on this machine"
_PORTS = {"https": 443, "http": 80}
_HOST = regex(r"[A-Za-z0-9._:\[\]-]+")


def is_remote(where: str) -> bool:
    """Whether a setting names a Segue server."""
    return where.lower().startswith(SCHEMES)


def is_loopback(host: str) -> bool:
    """Whether a host can only be this machine."""
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))


class Address:
    """A server's address, taken apart."""

    def __init__(self, where: str) -> None:
        if not is_remote(where):
            raise BadSettings("this is not the address of a Segue server", hint=HINT)
        try:
            parts = urlsplit(where)
            self.host, port = parts.hostname or "", parts.port
        except ValueError:
            raise BadSettings("the server's address is not valid", hint=HINT) from None
        if "@" in parts.netloc:
            hint = "give the key with SEGUE_API_KEY"
            raise BadSettings(
                "the address of a Segue server must not contain a name or a password", hint=hint
            )
        if not self.host or not _HOST.fullmatch(self.host) or parts.fragment:
            raise BadSettings("the server's address is not valid", hint=HINT)
        self.tls = parts.scheme == "https"
        self.port = port or _PORTS[parts.scheme]
        self.prefix = quote(parts.path.rstrip("/"), safe="/%")
        self.project = ""
        self._read(parts.query)
        self.loopback = is_loopback(self.host)
        if not self.tls and not self.loopback and not self._insecure:
            hint = "use https://, or ?insecure=1 on a network of your own"
            raise BadSettings(f"http://{self.host} would send the key and all texts unencrypted", hint=hint)
        host = f"[{self.host}]" if ":" in self.host else self.host
        standard = self.port == _PORTS[parts.scheme]
        self.base = f"{parts.scheme}://{host}{'' if standard else f':{self.port}'}{self.prefix}"
        self.shown = self.base + (f"?project={quote(self.project, safe='')}" if self.project else "")
        """The name of the store; it never held a secret."""

    def _read(self, query: str) -> None:
        self._insecure = False
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name == "insecure":
                self._insecure = value in ("1", "true", "yes")
            elif name == "project":
                self.project = value
            else:
                told = "the address of a Segue server takes only the parameters project and insecure"
                raise BadSettings(told, hint="give the key with SEGUE_API_KEY")
        if self.project and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", self.project):
            raise BadSettings("a project's name may have letters, digits, dots and dashes", hint=HINT)

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def shown(where: str) -> str:
    """An address as it may be shown; of one that cannot be used, the part before its parameters, masked."""
    try:
        return Address(where).shown
    except BadSettings:
        plain = re.sub(r"(://[^/@:]*):[^/]*@", r"\1:***@", where.partition("?")[0])
        return plain if ":***@" in plain else re.sub(r"://[^/]*@", "://***@", plain)
