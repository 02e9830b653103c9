"""Schemas say what may be left out of what comes in, and that all of what goes out is there."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from segue.core.sessions.state import Item
from segue.surfaces.http.server.schemas import SchemaCollection, sample
from segue.surfaces.render import HIDDEN, plain


class Part(msgspec.Struct, array_like=True):
    """A part that is stored as an array."""

    name: str
    size: Annotated[int, Meta(ge=1)] = 1


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    """Something
    of parts."""

    parts: list[Part]
    names: dict[str, Part] = {}
    pair: tuple[Part, str] | None = None
    title: str = msgspec.field(default="t", name="heading")


class Other(msgspec.Struct):
    why: str


def made(direction: str, kind: Any) -> tuple[Any, dict[str, Any]]:
    collection = SchemaCollection()
    schema = getattr(collection, direction)(kind)
    return schema, collection.components()


def test_what_comes_in_may_leave_out_what_has_a_default_and_holds_nothing_unknown() -> None:
    schema, named = made("incoming", Whole)
    assert schema == {"$ref": "#/components/schemas/Whole"}
    whole = named["Whole"]
    assert (whole["required"], whole["additionalProperties"]) == (["parts"], False)
    assert whole["properties"]["heading"] == {"type": "string", "default": "t"}
    assert named["Part"]["type"] == "array" and whole["description"] == "Something of parts."


def test_what_goes_out_has_every_field_by_its_name_also_where_it_is_stored_as_an_array() -> None:
    schema, named = made("outgoing", Whole)
    assert named["Whole"]["required"] == ["parts", "names", "pair", "heading"]
    assert named["Part"]["properties"] == {
        "name": {"type": "string"},
        "size": {"type": "integer", "minimum": 1},
    }
    assert (named["Part"]["type"], named["Part"]["required"]) == ("object", ["name", "size"])
    assert "additionalProperties" not in named["Whole"], "a later version may say more"
    example = sample(schema, named)
    part = {"name": "…", "size": 1}
    assert example == {"parts": [part], "names": {}, "pair": [part, "…"], "heading": "…"}


def test_a_type_that_comes_in_and_goes_out_is_described_twice_under_names_of_their_own() -> None:
    collection = SchemaCollection()
    schemas = collection.incoming(Part), collection.outgoing(Part)
    named = collection.components()
    kinds = [named[schema["$ref"].rpartition("/")[2]]["type"] for schema in schemas]
    assert kinds == ["array", "object"]


def test_fields_that_serve_us_alone_are_not_described() -> None:
    _, named = made("outgoing", Item)
    assert HIDDEN["Item"] not in named["Item"]["properties"]
    assert set(named["Item"]["properties"]) == set(plain(Item("a", "next")))


def test_one_of_several_is_described_as_such() -> None:
    schema, _ = made("outgoing", Other | Part)
    assert [one["$ref"].rpartition("/")[2] for one in schema["anyOf"]] == ["Other", "Part"]
