"""The description of every route, as OpenAPI: made from the routes themselves, so that it cannot lag behind.

Each route says what it takes, what it answers and what can go wrong; nothing else is ever answered. A test
asks a real server in all the ways that this description allows, and in some that it does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import Parameter as Signed
from typing import Any, get_type_hints

from .... import __version__
from . import problems
from .route import Taking
from .routing import JSON, Answer, Route
from .schemas import Schema, Shapes, sample

_PATH = r"\{(\w+)\}"
_NAME = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
_ABOUT = """Sessions that survive: the operations of the library, over HTTP.

Every request but for `/`, `/health`, `/ready` and this description needs a key (`Authorization: Bearer …`). A
key belongs to a project, or to all; then `Segue-Project` says which. It has a role: `reader`, `writer` or
`admin`. What went wrong is told as problem details (RFC 9457): `code` is stable, `hint` is a safe next step.

A write with an `Idempotency-Key` takes effect once, however often it is sent. Whatever is acknowledged is
durable. Answers to GET have an `ETag`; bodies may be sent and are given with gzip."""
_HEADERS: dict[str, tuple[str, str]] = {
    "Project": ("Segue-Project", "The project, if the key is of all of them."),
    "Actor": ("Segue-Actor", "Who acts, if the key is not bound to an agent; `user` without it."),
    "Run": ("Segue-Run", "The run in which it is done."),
    "Repository": (
        "Segue-Repository",
        "The key of the project as working trees know it (`project` in `segue list --json`): sessions are "
        "begun for it, and memories of that scope are seen. Without it: the project's name on the server.",
    ),
    "Repeat": ("Idempotency-Key", "1 to 255 printable characters: the request takes effect once."),
}
_TEXTS = {
    200: "It is so.", 201: "It is there now.", 202: "It is taken; see the answer.", 204: "Done.",
    304: "It is what `If-None-Match` names.",
}  # fmt: skip


class Description:
    """The document, made route by route."""

    def __init__(self) -> None:
        self.shapes = Shapes()
        self.paths: dict[str, dict[str, Any]] = {}
        self.codes: set[int] = set()
        self._taken: set[str] = set()
        self._problem = self.shapes.of(problems.Problem)
        self.shapes.named["Problem"]["required"] = ["type", "title", "status", "detail", "code"]

    def add(self, route: Route) -> None:
        """Describe a route."""
        self.paths.setdefault(route.path, {})[route.method.lower()] = self._operation(route)

    def _operation(self, route: Route) -> dict[str, Any]:
        function, about = route.function, route.about
        takes, returns = Taking(function), get_type_hints(function, include_extras=True).get("return")
        told = " ".join((function.__doc__ or "").split())
        found: dict[str, Any] = {
            "operationId": self._name(function.__name__, about.tags), "tags": list(about.tags),
            "summary": re.split(r"(?<=[.;:?])\s", told, maxsplit=1)[0].rstrip(".;:"),
            "description": told.replace("``", "`"),
            "parameters": self._parameters(takes, route.path, route.method, bool(about.need)),
            "responses": self._responses(route, returns),
        }  # fmt: skip
        if not about.need:
            found["security"] = []
        if takes.body is not None:
            found["requestBody"] = self._body(takes.body, about.body)
        return found

    def _name(self, name: str, tags: Sequence[str]) -> str:
        """A name that no other operation has."""
        if name in self._taken:
            name = f"{next(iter(tags), 'other')}_{name}"
        self._taken.add(name)
        return name

    def _body(self, kind: Any, example: Any) -> dict[str, Any]:
        schema = self.shapes.of(kind, inward=True)
        shown = sample(schema, self.shapes.named) if example is None else example
        named = self.shapes.named.get(str(schema.get("$ref", "")).rpartition("/")[2], {"required": ["all"]})
        return {
            "required": bool(named.get("required")),
            "content": {JSON: {"schema": schema, "example": shown}},
        }

    def _parameters(self, takes: Taking, path: str, method: str, key: bool) -> list[Schema]:
        inside = re.findall(_PATH, path)
        found = []
        for name, (hint, default) in takes.named.items():
            schema = self.shapes.of(hint, inward=True)
            about = schema.pop("description", "")
            if name in inside:
                schema |= {"minLength": 1, "maxLength": 128, "pattern": _NAME}
            elif default not in (Signed.empty, None):
                schema["default"] = default
            needed = name in inside or default is Signed.empty
            place = "path" if name in inside else "query"
            entry = {"name": name, "in": place, "required": needed, "schema": schema}
            found.append(entry | ({"description": about} if about else {}))
        headers = ["Project", "Actor", "Run", "Repository"] if key else []
        if key and method != "GET":
            headers.append("Repeat")
        return found + [{"$ref": f"#/components/parameters/{name}"} for name in headers]

    def _responses(self, route: Route, kind: Any) -> dict[str, Any]:
        about, status, media = route.about, route.about.status, route.about.media_type
        plain = media == JSON
        schema: Schema = self.shapes.of(kind) if plain and not _is_response(kind) else {"type": "string"}
        if _is_response(kind) and plain:
            schema = {"type": "object"}
        example = about.answer
        shown = sample(schema, self.shapes.named) if example is None and plain else example
        told = {"schema": schema} if shown is None else {"schema": schema, "example": shown}
        content = {media.partition(";")[0]: told} if status != 204 else {}
        for other in about.also:
            content[other] = {"schema": {} if other.endswith(("json", "yaml")) else {"type": "string"}}
        found: dict[str, Any] = {str(status): {"description": _TEXTS[status]}}
        if content:
            found[str(status)]["content"] = content
        if route.method == "GET" and about.need and route.path.startswith("/v1/"):
            found[str(status)]["headers"] = {"ETag": {"schema": {"type": "string"}}}
            found["304"] = {"description": _TEXTS[304]}
        for code in about.errors:
            self.codes.add(code)
            found[str(code)] = {"$ref": f"#/components/responses/Problem{code}"}
        return found

    def _refused(self, code: int) -> dict[str, Any]:
        example = problems.body_of(code, "what was wrong, in a sentence", hint="a safe next step")
        return {
            "description": problems.about(code),
            "content": {problems.TYPE: {"schema": self._problem, "example": example}},
        }

    def document(self, routes: Sequence[Route]) -> dict[str, Any]:
        """All of it, but for what is not to be shown."""
        for route in routes:
            if route.about.shown:
                self.add(route)
        return {
            "openapi": "3.1.0",
            "info": {"title": "Segue", "version": __version__, "description": _ABOUT},
            "security": [{"key": []}],
            "paths": dict(sorted(self.paths.items())),
            "components": {
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
                "parameters": {name: _header(*told) for name, told in _HEADERS.items()},
                "responses": {f"Problem{code}": self._refused(code) for code in sorted(self.codes)},
                "schemas": dict(sorted(self.shapes.named.items())),
            },
        }


def _is_response(kind: Any) -> bool:
    return kind is Answer


def _header(name: str, about: str) -> Schema:
    schema: Schema = {"type": "string", "maxLength": 64, "pattern": f"^({_NAME[1:-1]})?$"}
    match name:
        case "Idempotency-Key":
            schema |= {"minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
        case "Segue-Run":
            schema["maxLength"] = 128
        case "Segue-Actor":
            schema = {"type": "string", "maxLength": 256}
        case "Segue-Repository":
            schema = {"type": "string", "maxLength": 512}
    return {"name": name, "in": "header", "required": False, "description": about, "schema": schema}
