"""The reference of the REST API, from the description that the server itself gives."""

from __future__ import annotations

import json
from typing import Any

TITLES = {
    "sessions": "Sessions", "commands": "Commands and lifecycle",
    "checkpoints": "Checkpoints", "events": "Events",
    "runs": "Runs and digests", "search": "Search", "usage": "Usage", "habits": "Habits",
    "stats": "How well Segue works", "briefs": "Briefs and restorations",
    "features": "Features and evidence", "ledger": "What was said",
    "memories": "Memories", "handoffs": "Handoffs", "handovers": "Handovers", "holds": "Holds",
    "agents": "States of agents", "budget": "Budget and spend", "keys": "Keys", "operations": "Operations",
}  # fmt: skip
ELSEWHERE = ("aegis",)
"""Groups that have a page of their own."""


def described() -> dict[str, Any]:
    """The description of every route."""
    from segue.surfaces.http.app import operations
    from segue.surfaces.http.server.openapi import document

    return document(operations())


def rest_page(notice: str) -> str:
    """docs/reference/rest.md."""
    document = described()
    groups: dict[str, list[str]] = {name: [] for name in TITLES}
    for path, operations in document["paths"].items():
        for method, one in operations.items():
            tag = one["tags"][0]
            if tag not in ELSEWHERE:
                groups[tag].append(_operation(document, path, method, one))
    parts = [
        notice,
        "# REST API\n",
        "Every route, as `GET /openapi.json` of a server describes it; the "
        "[guide](../guides/rest.md) is a tour.\nWhat a route answers is what the command prints with "
        "`--json`. Errors are problem details: see [errors](errors.md).\n",
        _everywhere(document),
    ]
    for name, title in TITLES.items():
        parts += [f"## {title}\n", *groups[name]]
    return "\n".join(parts)


def _everywhere(document: dict[str, Any]) -> str:
    headers = document["components"]["parameters"].values()
    rows = [f"| `{one['name']}` | {one['description']} |" for one in headers]
    problems = document["components"]["responses"]
    codes = [f"| {name.removeprefix('Problem')} | {one['description']} |" for name, one in problems.items()]
    lines = [
        "| header | |", "|---|---|",
        "| `Authorization` | `Bearer` and a key; every route under `/v1` needs one. |", *rows,
        "| `If-None-Match` | The `ETag` of an answer to GET: 304 while it is still so. |",
        "| `Content-Encoding: gzip` | A body that is packed. |", "",
        "| status | what went wrong |", "|---|---|", *codes, "",
    ]  # fmt: skip
    return "\n".join(lines)


def _operation(document: dict[str, Any], path: str, method: str, one: dict[str, Any]) -> str:
    lines = [f"### {method.upper()} {path}\n", f"{one['description']}\n"]
    asked = [given for given in one["parameters"] if given.get("in") == "query"]
    if asked:
        lines += ["| query | |", "|---|---|", *(f"| `{q['name']}` | {_about(q)} |" for q in asked), ""]
    if "requestBody" in one:
        content = one["requestBody"]["content"]["application/json"]
        lines += _fields(document, content["schema"])
        lines += ["Body, for example:\n", _json(content["example"])]
    code, good = next((c, a) for c, a in one["responses"].items() if c.startswith("2"))
    kinds = ", ".join(f"`{kind}`" for kind in good.get("content", {}))
    others = [c for c in one["responses"] if not c.startswith("2")]
    lines.append(f"Answers {code}{f' with {kinds}' if kinds else ''}, or {', '.join(others)}.")
    first: dict[str, Any] = next(iter(good.get("content", {}).values()), {})
    shown = first.get("example")
    if isinstance(shown, dict | list) and shown:
        lines += ["For example:\n", _json(shown)]
    return "\n".join([*lines, ""])


def _about(given: dict[str, Any]) -> str:
    schema = given["schema"]
    told = [str(given.get("description", "")).rstrip(".")]
    if "enum" in schema:
        told.append("one of " + ", ".join(f"`{word}`" for word in schema["enum"] if word))
    least, most = schema.get("minimum"), schema.get("maximum")
    if most is not None and most < 2**53:
        told.append(f"{least or 0:,} to {most:,}")
    if schema.get("default") not in (None, ""):
        told.append(f"`{schema['default']}` if it is left out")
    return "; ".join(filter(None, told)).replace("|", "\\|")


def _fields(document: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """The fields of a body in a line, those that must be given first."""
    shown = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
    needed = shown.get("required", [])
    names = [*needed, *(name for name in shown.get("properties", {}) if name not in needed)]
    told = [f"`{name}`{' (needed)' if name in needed else ''}" for name in names]
    return [f"Takes {', '.join(told)}.\n"] if told else []


def _json(value: Any) -> str:
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```\n"
