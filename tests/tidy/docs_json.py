"""Writes docs/reference/json, a JSON Schema for what each command prints: ``python -m tests.tidy.docs_json``.

A schema is made from the shape that its command declares. Every field is always there, so each one is
required; fields may be added, so unknown ones are allowed. ``closed`` gives a schema that allows none.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin

from segue.surfaces.cli import shapes
from segue.surfaces.cli.command import CliCommand, find
from segue.surfaces.cli.table import LOOKING, LOOKING_ALONE, TABLE
from segue.surfaces.http.server.schemas import Schema, SchemaCollection

TARGET = Path("docs") / "reference" / "json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFINITIONS = "#/$defs/{name}"
NO_SHAPE = """\
`segue {name}` declares no shape. Add the type of what it prints with --json to its declaration in
src/segue/surfaces/cli/commands/{module}.py, as in shape="list[Card]" or, if an action or an option
changes it, shape={{"list": "list[Card]", "--ids": "list[str]"}}. The names in it are those that the module
imports, also for the type checker alone, or that src/segue/surfaces/cli/shapes.py has. Then run `make docs`,
and add a line to STORY in tests/support/command_samples.py."""
BESIDE: dict[str, tuple[str, str, str]] = {
    "segue": ("segue", "`segue` alone: where the work in this folder stands", "Overview"),
    "version": ("segue --version", "the version", "Version"),
    "error": ("an error", "what a command prints that fails, beside its exit code", "CommandError"),
}
"""What is printed beside the commands of the table: the file, its title, what it is, its shape."""


def shapes_of(name: str) -> dict[str, Any]:
    """The types that a command prints, by the action or option that it needs; empty for none."""
    command = find(name)
    assert command.shape, NO_SHAPE.format(name=name, module=TABLE[name][0])
    declared = command.shape if isinstance(command.shape, Mapping) else {"": command.shape}
    names = {**vars(shapes), **_imported(_module(command)), **vars(_module(command))}
    return {variant: eval(shape, names) for variant, shape in declared.items()}


def _module(command: CliCommand) -> ModuleType:
    return sys.modules[f"segue.surfaces.cli.commands.{TABLE[command.name][0]}"]


def _imported(module: ModuleType) -> dict[str, Any]:
    """What a module imports for the type checker alone."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text())):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in (one for one in node.body if isinstance(one, ast.ImportFrom)):
                source = importlib.import_module("." * line.level + (line.module or ""), module.__package__)
                found |= {one.asname or one.name: getattr(source, one.name) for one in line.names}
    return found


def schema_of(name: str) -> Schema:
    """The schema of what a command prints."""
    variants = {f"segue {name} {variant}".strip(): kind for variant, kind in shapes_of(name).items()}
    return _document(
        f"segue {name} --json",
        find(name).json,
        variants,
        or_null=name in {*(one.split()[0] for one in LOOKING), *LOOKING_ALONE},
    )


def schema_beside(name: str) -> Schema:
    """The schema of what is printed beside the commands of the table."""
    title, about, shape = BESIDE[name]
    return _document(title, about, {title: getattr(shapes, shape)}, or_null=False)


def _document(title: str, about: str, variants: dict[str, Any], *, or_null: bool) -> Schema:
    made = SchemaCollection(DEFINITIONS)
    found = {name: _schema(made, kind) for name, kind in variants.items()}
    named = {name: _tidy(schema) for name, schema in made.components().items()}  # fills in what was found
    found |= {"nothing yet": {"type": "null"}} if or_null else {}
    head: Schema = {"$schema": DIALECT, "title": title, "description": about}
    body = {"anyOf": [{"title": name, **schema} for name, schema in found.items()]}
    if len(found) == 1:
        (body,) = found.values()
    return {**head, **body, **head, **({"$defs": named} if named else {})}


def _schema(made: SchemaCollection, kind: Any) -> Schema:
    """The schema of a type; unions of structs may be in an array."""
    if kind is shapes.NoJson:
        return {"description": "It prints no JSON of its own.", "not": {}}
    if kind is shapes.Manifest:
        return made.incoming(kind)  # a small budget leaves out what is empty
    if get_origin(kind) is list:
        return {"type": "array", "items": _schema(made, get_args(kind)[0])}
    if isinstance(kind, type(int | str)):
        return {"anyOf": [_schema(made, one) for one in get_args(kind)]}
    return made.outgoing(kind)


def _tidy(schema: Schema) -> Schema:
    """Without the title of a definition, which is its name."""
    return {key: value for key, value in schema.items() if key != "title"}


def closed(schema: Any) -> Any:
    """The same schema, in which no object may have a field that is not described."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    is_object = made.get("type") == "object" and "properties" in made
    return {**made, "additionalProperties": False} if is_object else made


def documents() -> dict[str, str]:
    """Every file of the folder."""
    made = {name: schema_of(name) for name in TABLE} | {name: schema_beside(name) for name in BESIDE}
    return {
        f"{name}.json": json.dumps(one, indent=2, ensure_ascii=False) + "\n" for name, one in made.items()
    }


def main() -> None:
    """Write the files into the checkout that this file is in, and remove those of commands that are gone."""
    folder = Path(__file__).parents[2] / TARGET
    folder.mkdir(parents=True, exist_ok=True)
    made = documents()
    for path in folder.glob("*.json"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"wrote {TARGET}: {len(made)} schemas")


if __name__ == "__main__":
    main()
