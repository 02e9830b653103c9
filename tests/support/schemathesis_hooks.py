"""What schemathesis is told of a server: names of what is there, so that it does more than miss it."""

from __future__ import annotations

import json
import os
from typing import Any

import schemathesis

KNOWN: dict[str, list[str]] = json.loads(os.environ.get("REST_KNOWN", "{}"))


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Three of four names in paths become names of what is there."""
    if not path_parameters:
        return path_parameters
    found = dict(path_parameters)
    for name, value in path_parameters.items():
        number = sum(map(ord, str(value)))
        if KNOWN.get(name) and number % 4:
            found[name] = KNOWN[name][number % len(KNOWN[name])]
    return found


@schemathesis.hook
def map_headers(context: Any, headers: dict[str, Any] | None) -> dict[str, Any] | None:
    """The key is of one project: naming others would only be refused."""
    return {name: value for name, value in (headers or {}).items() if name.lower() != "segue-project"}
