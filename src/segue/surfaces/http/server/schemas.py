"""JSON Schemas of our types, as they come in and as they go out.

What comes in may leave out what has a default, and may not hold what is not known. What goes out is as
`--json` prints it: every field is there by its name, also those of types that are stored as arrays, and
without the fields that serve us alone.
"""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args

import msgspec
from msgspec import inspect as mi

from ...render import HIDDEN

Schema = dict[str, Any]
_BOUNDS = {
    "ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum",
    "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern", "multiple_of": "multipleOf",
}  # fmt: skip


class Shapes:
    """Schemas of types, with those of structs kept apart under their names."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}
        self._names: dict[tuple[type, bool], str] = {}

    def of(self, kind: Any, *, inward: bool = False) -> Schema:
        """The schema of a type."""
        if isinstance(kind, UnionType):
            return {"anyOf": [self.of(one, inward=inward) for one in get_args(kind)]}
        return self._of(mi.type_info(kind), inward)

    def _of(self, info: Any, inward: bool) -> Schema:
        match info:
            case mi.Metadata():
                found = self._of(info.type, inward)
                return found | dict(info.extra_json_schema or {})
            case mi.StructType():
                return self._struct(info, inward)
            case mi.UnionType():
                return self._union(info, inward)
            case mi.LiteralType():
                return {"enum": list(info.values)}
            case mi.DictType():
                inner = self._of(info.value_type, inward)
                return {"type": "object", **({"additionalProperties": inner} if inner else {})}
            case mi.TupleType():
                items = [self._of(one, inward) for one in info.item_types]
                size = len(items)
                same = items[0] if all(one == items[0] for one in items) else {"anyOf": items}
                return {"type": "array", "items": same, "minItems": size, "maxItems": size}
            case mi.ListType() | mi.VarTupleType() | mi.SetType() | mi.FrozenSetType():
                bounds = {"min_length": "minItems", "max_length": "maxItems"}
                return {
                    "type": "array", "items": self._of(info.item_type, inward), **_bounds(info, bounds),
                }  # fmt: skip
            case mi.NoneType():
                return {"type": "null"}
            case mi.BoolType():
                return {"type": "boolean"}
            case mi.IntType():
                return {"type": "integer", **_bounds(info)}
            case mi.FloatType():
                return {"type": "number", **_bounds(info)}
            case mi.StrType():
                return {"type": "string", **_bounds(info)}
            case mi.BytesType():
                return {"type": "string"}
        return {}

    def _union(self, info: mi.UnionType, inward: bool) -> Schema:
        found = [self._of(one, inward) for one in info.types]
        structs = [one for one in info.types if isinstance(one, mi.StructType) and one.tag_field]
        if len(structs) == len(found):
            mapping = {str(one.tag): self._struct(one, inward)["$ref"] for one in structs}
            return {
                "oneOf": found,
                "discriminator": {"propertyName": structs[0].tag_field, "mapping": mapping},
            }
        return {"anyOf": found}

    def _struct(self, info: mi.StructType, inward: bool) -> Schema:
        key = (info.cls, inward)
        if key not in self._names:
            name = self._name(info.cls)
            self._names[key] = name
            self.named[name] = {}  # so that it may refer to itself
            self.named[name] = self._object(info, inward)
        return {"$ref": f"#/components/schemas/{self._names[key]}"}

    def _name(self, kind: type) -> str:
        wanted, number = kind.__name__.lstrip("_"), 1
        while wanted in self.named:
            number += 1
            wanted = f"{kind.__name__.lstrip('_')}{number}"
        return wanted

    def _object(self, info: mi.StructType, inward: bool) -> Schema:
        hidden = "" if inward else HIDDEN.get(info.cls.__name__, "")
        fields = [field for field in info.fields if field.name != hidden]
        shown = {field.encode_name: self._field(field, inward) for field in fields}
        required = [field.encode_name for field in fields if field.required or not inward]
        if inward and info.tag_field:
            shown = {info.tag_field: {"const": info.tag}, **shown}
            required = [info.tag_field, *required]
        found: Schema = {"type": "object", "properties": shown}
        if required:
            found["required"] = required
        if inward and info.forbid_unknown_fields:
            found["additionalProperties"] = False
        about = _about(info.cls)
        return found | ({"description": about} if about else {})

    def _field(self, field: mi.Field, inward: bool) -> Schema:
        found = self._of(field.type, inward)
        plain = isinstance(field.default, str | int | float | bool)
        return found | ({"default": field.default} if inward and plain and "$ref" not in found else {})


def _bounds(info: Any, names: dict[str, str] = _BOUNDS) -> Schema:
    found = {told: getattr(info, own, None) for own, told in names.items()}
    return {told: value for told, value in found.items() if value is not None}


def _about(kind: type) -> str:
    """What a type says of itself, if it does."""
    own = kind.__dict__.get("__doc__") or ""
    return "" if own.startswith(f"{kind.__name__}(") else " ".join(own.split())


def sample(schema: Schema, named: dict[str, Schema], depth: int = 0) -> Any:
    """A value of this shape, for where no better example was given."""
    if "$ref" in schema:
        return sample(named[schema["$ref"].rpartition("/")[2]], named, depth + 1)
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if "enum" in schema:
        return schema["enum"][0]
    for name in ("oneOf", "anyOf"):
        if name in schema:
            return sample(schema[name][0], named, depth)
    kind = schema.get("type", "object")
    if kind == "object":
        return {key: sample(one, named, depth + 1) for key, one in schema.get("properties", {}).items()}
    if kind == "array":
        least = max(schema.get("minItems", 0), 1 if depth < 3 else 0)
        return [sample(schema["items"], named, depth + 1) for _ in range(least)]
    return {"string": "…", "integer": schema.get("minimum", 0), "number": 0.0, "boolean": False}.get(kind)


def encodable(value: Any) -> Any:
    """A value as plain data."""
    return msgspec.to_builtins(value)
