"""JSON Schemas of our types, as they come in and as they go out; msgspec makes them.

A request may leave out fields with a default and may not contain unknown ones; msgspec describes that itself.
A response is as `--json` prints it: every field is there by its name, including those with a default and
those of types that are stored as arrays, but without internal fields. For msgspec to describe that, the
schema of a response type is made from a copy of it with exactly those fields.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

import msgspec

from ...render import HIDDEN

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{name}"


class SchemaCollection:
    """Collects schemas of types, which are requested one by one and made together; their names must be
    different."""

    def __init__(self, reference: str = REFERENCE) -> None:
        """``reference`` is where a schema finds the struct of a name."""
        self._reference = reference
        self._types: list[Any] = []
        self._schemas: list[Schema] = []
        self._shown: dict[type, type[msgspec.Struct]] = {}

    def incoming(self, kind: Any) -> Schema:
        """The schema of a type in a request; it is filled in by ``components``."""
        self._types.append(kind)
        self._schemas.append({})
        return self._schemas[-1]

    def outgoing(self, kind: Any) -> Schema:
        """The schema of a type in a response; it is filled in by ``components``."""
        if isinstance(kind, UnionType):  # unions of structs without tags, which msgspec does not accept
            return {"anyOf": [self.outgoing(one) for one in get_args(kind)]}
        return self.incoming(self._as_shown(kind))

    def components(self) -> dict[str, Schema]:
        """The schemas of all structs by name; fills in those that were requested."""
        made, named = msgspec.json.schema_components(self._types, ref_template=self._reference)
        for schema, found in zip(self._schemas, made, strict=True):
            schema.update(found)
        for schema in named.values():
            if "description" in schema:
                schema["description"] = " ".join(schema["description"].split())
        return dict(sorted(named.items()))

    def _as_shown(self, kind: Any) -> Any:
        """A type with every struct in it replaced by its copy."""
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if kind not in self._shown:
                self._shown[kind] = self._copy(kind)
            return self._shown[kind]
        if kind is Path:
            return str
        inner = get_args(kind)
        if not inner:
            return kind
        if isinstance(kind, UnionType):
            return reduce(or_, map(self._as_shown, inner))
        if get_origin(kind) is Annotated:
            return Annotated[self._as_shown(inner[0]), *inner[1:]]
        return get_origin(kind)[tuple(map(self._as_shown, inner))]

    def _copy(self, kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
        hidden = HIDDEN.get(kind.__name__, "")
        fields: Any = [
            (field.name, self._as_shown(field.type), msgspec.field(name=field.encode_name))
            for field in msgspec.structs.fields(kind)
            if field.name != hidden
        ]
        module = f"{kind.__module__}.response"  # or it would have the same name as the original
        return msgspec.defstruct(
            kind.__name__, fields, module=module, namespace={"__doc__": kind.__dict__.get("__doc__")}
        )


def sample(schema: Schema, named: dict[str, Schema], depth: int = 0) -> Any:
    """A value that fits a schema, for where no better example was given."""
    if "$ref" in schema:
        return sample(named[schema["$ref"].rpartition("/")[2]], named, depth + 1)
    if schema.get("default"):
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], named, depth)
    kind = schema.get("type", "object")
    if kind == "object":
        return {key: sample(one, named, depth + 1) for key, one in schema.get("properties", {}).items()}
    if kind == "array":
        if "prefixItems" in schema:
            return [sample(one, named, depth + 1) for one in schema["prefixItems"]]
        least = max(schema.get("minItems", 0), 1 if depth < 3 else 0)
        return [sample(schema.get("items", {}), named, depth + 1) for _ in range(least)]
    return {"string": "…", "integer": schema.get("minimum", 0), "number": 0.0, "boolean": False}.get(kind)
