"""Changes after which the code does the same, by module, text of the line, and change; with the reason."""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str, str], str] = {}
