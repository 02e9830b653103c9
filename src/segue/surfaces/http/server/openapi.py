"""The description of every route, as OpenAPI: made from the routes themselves, so that it is never out of
date.

Each route declares its input, its responses and its errors; no other response is ever sent. A test sends a
real server requests of every kind that this description allows, and some that it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from inspect import Parameter
from typing import Any

from msgspec import to_builtins
from starlette.responses import Response

from .... import __version__
from . import problems
from .parameters import SAVED
from .route import JSON, Operation
from .schemas import Schema, SchemaCollection, sample

_NAME = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
_ABOUT = """Segue over HTTP: the operations of the library.

Every request except `/`, `/health`, `/ready` and this description needs a key (`Authorization: Bearer …`).
A key belongs to one project or to all; in that case `Segue-Project` says which one is meant. It has a role:
`reader`, `writer` or `admin`. Errors are problem details (RFC 9457): `code` is stable, `hint` is a safe next
step.

A write with an `Idempotency-Key` takes effect once, however often it is sent. Whatever is acknowledged is
durable. Responses to GET have an `ETag`; the bodies of requests and responses may be compressed with gzip."""
_TEXTS = {
    200: "Success.", 201: "Created.", 202: "Accepted; see the response.", 204: "Done.",
    304: "Unchanged since the `ETag` in `If-None-Match`.",
}  # fmt: skip


def _header(name: str, about: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name, "in": "header", "required": False, "description": about,
        "schema": {"type": "string", **schema},
    }  # fmt: skip


_HEADERS = {
    "Project": _header(
        "Segue-Project", "The project, if the key belongs to all projects.",
        maxLength=64, pattern=f"^({_NAME[1:-1]})?$",
    ),
    "Actor": _header(
        "Segue-Actor", "Who acts, if the key is not bound to an agent; by default `user`.", maxLength=256
    ),
    "Run": _header(
        "Segue-Run", "The id of the run that sends the request.", maxLength=128, pattern=f"^({_NAME[1:-1]})?$"
    ),
    "Repository": _header(
        "Segue-Repository",
        "The key of the project as working trees know it (`project` in `segue list --json`): new sessions "
        "belong to it, and memories of its scope are visible. By default the project's name on the server.",
        maxLength=512,
    ),
    "Repeat": _header(
        "Idempotency-Key", "1 to 255 printable characters: the request takes effect once.",
        minLength=1, maxLength=255, pattern="^[!-~]+$",
    ),
}  # fmt: skip


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The description of all public operations."""
    return _Description([one for one in operations if one.described]).document()


class _Description:
    """The document while it is made. All schemas are made first, because examples may be made from them."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations
        self._schemas = SchemaCollection()
        self._problem = self._schemas.outgoing(problems.Problem)
        self._bodies = {
            one: self._schemas.incoming(one.arguments.body) for one in operations if one.arguments.body
        }
        self._parameters = {
            (one, name): self._schemas.incoming(hint)
            for one in operations
            for name, (hint, _) in one.arguments.parameters.items()
        }
        self._responses = {one: self._response_schema(one) for one in operations}
        self._named = self._schemas.components()
        self._names: set[str] = set()

    def _response_schema(self, operation: Operation) -> Schema:
        if operation.media_type != JSON:
            return {"type": "string"}
        return (
            {"type": "object"} if operation.returns is Response else self._schemas.outgoing(operation.returns)
        )

    def document(self) -> dict[str, Any]:
        paths: dict[str, dict[str, Any]] = {}
        for one in self._operations:
            paths.setdefault(one.path, {})[one.method.lower()] = self._operation(one)
        codes = sorted({code for one in self._operations for code in one.refusals})
        return {
            "openapi": "3.1.0",
            "info": {"title": "Segue", "version": __version__, "description": _ABOUT},
            "security": [{"key": []}],
            "paths": dict(sorted(paths.items())),
            "components": {
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
                "parameters": _HEADERS,
                "responses": {f"Problem{code}": self._refusal(code) for code in codes},
                "schemas": self._named,
            },
        }

    def _operation(self, operation: Operation) -> dict[str, Any]:
        about = " ".join((operation.function.__doc__ or "").split())
        found: dict[str, Any] = {
            "operationId": self._unique_name(operation), "tags": [operation.tag],
            "summary": re.split(r"(?<=[.;:?])\s", about, maxsplit=1)[0].rstrip(".;:"),
            "description": about.replace("``", "`"),
            "parameters": self._parameters_of(operation),
            "responses": self._responses_of(operation),
        }  # fmt: skip
        if not operation.role:
            found["security"] = []
        if operation in self._bodies:
            found["requestBody"] = self._request_body(self._bodies[operation], operation.body)
        return found

    def _unique_name(self, operation: Operation) -> str:
        name = operation.function.__name__
        if name in self._names:
            name = f"{operation.tag}_{name}"
        self._names.add(name)
        return name

    def _request_body(self, schema: Schema, example: Any) -> dict[str, Any]:
        shown = sample(schema, self._named) if example is None else example
        struct = self._named.get(str(schema.get("$ref", "")).rpartition("/")[2])
        needed = bool(struct["required"]) if struct else True
        return {"required": needed, "content": {JSON: {"schema": schema, "example": shown}}}

    def _parameters_of(self, operation: Operation) -> list[Schema]:
        in_path = re.findall(r"\{(\w+)\}", operation.path)
        found = []
        for name, (_, default) in operation.arguments.parameters.items():
            schema = dict(self._parameters[operation, name])
            about = schema.pop("description", "")
            if name in in_path:
                schema |= {"minLength": 1, "maxLength": 128, "pattern": _NAME}
            elif default not in (Parameter.empty, None):
                schema["default"] = default
            entry = {
                "name": name, "in": "path" if name in in_path else "query",
                "required": name in in_path or default is Parameter.empty, "schema": schema,
            }  # fmt: skip
            found.append(entry | ({"description": about} if about else {}))
        headers = ["Project", "Actor", "Run", "Repository"] if operation.role else []
        if operation.role and operation.method != "GET":
            headers.append("Repeat")
        return found + [{"$ref": f"#/components/parameters/{name}"} for name in headers]

    def _responses_of(self, operation: Operation) -> dict[str, Any]:
        good: dict[str, Any] = {"description": _TEXTS[operation.status]}
        found: dict[str, Any] = {str(operation.status): good}
        if operation.status != 204:
            good["content"] = self._content(operation)
        if operation.method == "GET" and operation.role and operation.path.startswith("/v1/"):
            good["headers"] = {"ETag": {"schema": {"type": "string"}}}
            found["304"] = {"description": _TEXTS[304]}
        for code in operation.refusals:
            found[str(code)] = {"$ref": f"#/components/responses/Problem{code}"}
        return found

    def _content(self, operation: Operation) -> dict[str, Any]:
        schema, example = self._responses[operation], operation.response
        if example is None and operation.media_type == JSON:
            example = SAVED if operation.saves else sample(schema, self._named)
        shown = {"schema": schema} if example is None else {"schema": schema, "example": example}
        content = {operation.media_type.partition(";")[0]: shown}
        for other in operation.also:
            content[other] = {"schema": {} if other.endswith(("json", "yaml")) else {"type": "string"}}
        return content

    def _refusal(self, code: int) -> dict[str, Any]:
        example = problems.problem(code, "what went wrong, in a sentence", hint="a safe next step")
        return {
            "description": problems.meaning(code),
            "content": {problems.MEDIA_TYPE: {"schema": self._problem, "example": to_builtins(example)}},
        }
