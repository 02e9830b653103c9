"""Arguments that are read the same way by several commands."""

from __future__ import annotations

from typing import Any

from ...errors import UsageError


def facts(pairs: list[str]) -> dict[str, Any]:
    """The facts of ``--meta KEY=VALUE``; a value that is JSON is taken as that, all else as text."""
    import msgspec

    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{pair[:60]!r} is not KEY=VALUE", hint="for example --meta area=auth")
        try:
            found[key] = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found[key] = text
    return found
