"""Settings as they may be shown, without keys and passwords."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ...settings import Origin
from .open_store import shown

SECRET = ("api_key", "embedder_key")


def shown_settings(origins: Iterable[Origin]) -> list[Origin]:
    """Every setting. Of a secret it only says that it is set; a store's address is shown without its
    password."""
    return [_shown(one) for one in origins]


def _shown(origin: Origin) -> Origin:
    if origin.name in SECRET and origin.value:
        return replace(origin, value="(set)")
    if origin.name == "store" and "@" in str(origin.value):
        return replace(origin, value=shown(origin.value))
    return origin
