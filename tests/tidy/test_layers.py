"""Imports go one way: between rooms, between the folders of core and services, and never in a circle.

The rooms and what each may import stand in ``MAY``, the order of folders in ``FOLDERS``; a new one needs a
line there. Imports inside functions and under TYPE_CHECKING count like any other.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "segue"

LOW = {"errors", "core", "_failpoints", "_files", "_locks"}
MIDDLE = {"stores", "agents", "effects"}
MAY: dict[str, set[str]] = {
    "errors": {"_installed"},
    "_installed": set(),
    "_failpoints": set(),
    "_folders": set(),
    "_files": set(),
    "_locks": set(),
    "_value_kinds": set(),
    "_checked_calls": {"errors", "_value_kinds"},
    "core": {"errors", "_failpoints"},
    "stores": LOW,
    "agents": LOW,
    "effects": LOW,
    "settings": {"errors", "core", "_folders", "_files"},
    "services": LOW | MIDDLE | {"settings", "_checked_calls"},
    "api": LOW | MIDDLE | {"settings", "services", "_checked_calls"},
    "handover": LOW | MIDDLE | {"settings", "services", "api", "_folders", "_checked_calls"},
    "surfaces": {
        "errors",
        "core",
        "settings",
        "services",
        "api",
        "handover",
        "segue",
        "_files",
        "_checked_calls",
    },
    "integrations": LOW | {"agents", "effects", "settings", "services", "api"},
    "segue": {"errors", "core", "services", "api"},  # the package's own __init__.py
    "testing": LOW | MIDDLE | {"settings", "services", "api", "handover", "surfaces", "segue"},
}
FOLDERS = {
    "core": "base language journal features ledger sessions memories graphs usage runs lessons habits stats"
    " documents search codemap brief resume models supervision handover server",
    "services": "sessions workspace features memories graphs runs ledger lessons habits usage search"
    " brief codemap"
    " resume stats overview models handoff hooks supervision upkeep server",
}
"""A folder may import those that stand before it."""
SURFACES = ("segue.aegis", "segue.__main__", "segue.handover.cli", "segue.handover.adapters")
SURFACES_MAY = {"cli": {"hook", "http", "mcp"}, "http": {"mcp"}, "mcp": set[str](), "hook": set[str]()}
"""Which surface may import which other; all may import ``render``."""
CORE_NEVER = set(
    "asyncio fcntl getpass glob http logging os pathlib platform random secrets select shutil signal "
    "socket sqlite3 ssl subprocess tempfile threading time urllib".split()
)
CORE_OUTSIDE = (set(sys.stdlib_module_names) | {"msgspec"}) - CORE_NEVER
LEAVES = ("segue.effects.clock",)
"""What every room above core may import."""
ON_TOP = ("segue.core.event_kinds", "segue.core.event_words")
"""Modules of core that stand above its folders."""


def room_of(module: str) -> str:
    if any(f"{module}.".startswith(f"{surface}.") for surface in SURFACES):
        return "surfaces"
    return module.split(".")[1] if "." in module else "segue"


def imports(tree: ast.Module, package: list[str]) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of every import; ``package`` is where relative ones start."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else []
                stem = ".".join([*base, *([module] if module else [])])
                yield from ((node.lineno, f"{stem}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


@cache
def modules(package: Path) -> dict[str, Path]:
    """Every module by its dotted name; a package by that of its folder."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = ["segue", *path.relative_to(package).with_suffix("").parts]
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


@cache
def imported(package: Path) -> dict[str, list[tuple[int, str]]]:
    """What each module imports, with the line."""
    found = {}
    for name, path in modules(package).items():
        parts = name.split(".")
        below = parts if path.stem == "__init__" else parts[:-1]
        found[name] = list(imports(ast.parse(path.read_text()), below))
    return found


def folder_of(module: str) -> tuple[str, str]:
    """(room, folder) of a module inside a room whose folders are ordered; ("", "") elsewhere."""
    parts = module.split(".")
    if (len(parts) > 3 and parts[1] in FOLDERS) or (len(parts) == 3 and parts[1] in FOLDERS):
        return parts[1], parts[2]
    return "", ""


def upwards(module: str, name: str) -> bool:
    """Whether an import goes to a folder that stands behind the module's own."""
    (room, own), (there, other) = folder_of(module), folder_of(name)
    order = FOLDERS.get(room, "").split()
    if room != there or own not in order or module in ON_TOP:
        return False
    return other not in order or order.index(other) > order.index(own)


def sideways(module: str, name: str) -> bool:
    """Whether one surface imports another that it may not."""
    mine, other = module.split("."), name.split(".")
    if mine[1:2] != ["surfaces"] or other[1:2] != ["surfaces"] or len(mine) < 3 or len(other) < 3:
        return False
    pair = mine[2], other[2]
    return pair[0] != pair[1] and pair[1] != "render" and pair[1] not in SURFACES_MAY.get(pair[0], set())


def violations(package: Path) -> list[str]:
    found = []
    for module, names in imported(package).items():
        path, room = modules(package)[module], room_of(module)
        if room not in MAY:
            found.append(f"{path}:1: {room} is not a room; give it a line in MAY")
            continue
        _, folder = folder_of(module)
        if folder and folder not in FOLDERS[room].split() and module not in ON_TOP:
            found.append(f"{path}:1: {room}/{folder} has no place in the order; give it one in FOLDERS")
        for line, name in names:
            if name.split(".")[0] == "segue":
                target = room_of(name) if room_of(name) in MAY else "segue"
                if name.startswith(LEAVES) and room not in ("core", "errors"):
                    continue
                if target != room and target not in MAY[room]:
                    found.append(f"{path}:{line}: {room} may not import {target} ({name})")
                elif upwards(module, name):
                    found.append(f"{path}:{line}: {folder} may not import {folder_of(name)[1]} ({name})")
                elif sideways(module, name):
                    found.append(f"{path}:{line}: one surface may not import another ({name})")
            elif room == "core" and name.split(".")[0] not in CORE_OUTSIDE:
                found.append(f"{path}:{line}: core is pure and may not import {name}")
    return found


def graph(package: Path) -> dict[str, set[str]]:
    """Which module needs which, both of ours."""
    known = modules(package)

    def home(name: str) -> str:
        return name if name in known else name.rpartition(".")[0]

    return {
        module: {home(name) for _, name in names if home(name) in known} - {module}
        for module, names in imported(package).items()
    }


def circles(needs: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Sets of modules that need each other, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(one: str) -> None:
        number[one] = low[one] = len(number)
        path.append(one)
        for other in needs[one]:
            if other not in number:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in path:
                low[one] = min(low[one], number[other])
        if low[one] == number[one]:
            group = path[path.index(one) :]
            del path[path.index(one) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for one in needs:
        if one not in number:
            visit(one)
    return found


def test_every_import_of_the_package_goes_down() -> None:
    assert not (found := violations(PACKAGE)), "\n".join(found)


def test_no_two_modules_need_each_other() -> None:
    found = circles(graph(PACKAGE))
    assert not found, "\n".join(" ⇄ ".join(group) for group in found)


def plant(folder: Path, files: Mapping[str, str]) -> None:
    for file, source in files.items():
        planted = folder / file
        planted.parent.mkdir(parents=True, exist_ok=True)
        planted.write_text(source)


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("errors.py", "from segue.core.base import text", "errors may not import core"),
        ("core/base/text.py", "from ...stores import base", "core may not import stores"),
        ("core/base/text.py", "from segue.settings import Settings", "core may not import settings"),
        ("core/base/text.py", "import os.path", "core is pure"),
        ("core/base/text.py", "from time import time", "core is pure"),
        ("core/base/text.py", "import yaml", "core is pure"),
        ("core/base/text.py", "from ..sessions import state", "base may not import sessions"),
        ("core/runs/digest.py", "def f():\n    from ..brief.facts import x", "runs may not import brief"),
        ("core/attic/x.py", "", "core/attic has no place in the order"),
        ("core/base/text.py", "from segue import Segue", "core may not import segue"),
        ("stores/sqlite/journal.py", "from segue.effects.notes import x", "stores may not import effects"),
        ("stores/base.py", "from segue.settings import Settings", "stores may not import settings"),
        ("agents/codex/reader.py", "from segue import stores", "agents may not import stores"),
        ("effects/clock.py", "from .. import agents", "effects may not import agents"),
        ("settings.py", "from .services.sessions import holds", "settings may not import services"),
        ("services/runs/x.py", "def f():\n    import segue.surfaces.cli", "services may not import surfaces"),
        ("services/runs/x.py", "from ...api.segue import Segue", "services may not import api"),
        ("services/runs/x.py", "from ..brief import gather", "runs may not import brief"),
        ("services/runs/x.py", "from ...handover.cli import main", "services may not import surfaces"),
        ("surfaces/mcp/x.py", "import segue.stores.sqlite", "surfaces may not import stores"),
        ("surfaces/mcp/x.py", "from ..cli.main import run", "one surface may not import another"),
        ("surfaces/http/x.py", "from ..cli import table", "one surface may not import another"),
        ("surfaces/cli/__init__.py", "from ...effects import git", "surfaces may not import effects"),
        ("aegis.py", "from segue.agents import base", "surfaces may not import agents"),
        ("handover/cli.py", "from segue.stores import base", "surfaces may not import stores"),
        ("__init__.py", "from .stores import base", "segue may not import stores"),
        ("surfaces/x.py", "import importlib\nimportlib.import_module('segue.stores')", "import stores"),
        ("services/runs/x.py", "import segue.testing", "services may not import testing"),
        ("helpers.py", "", "helpers is not a room"),
    ],
)
def test_a_planted_bad_import_is_named_with_file_and_line(
    tmp_path: Path, file: str, source: str, message: str
) -> None:
    plant(tmp_path, {file: source})
    [found] = violations(tmp_path)
    assert message in found
    assert found.startswith(f"{tmp_path / file}:{max(1, len(source.splitlines()))}: ")


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "core/sessions/state.py",
            "import hashlib, msgspec\nfrom ...errors import UsageError\nfrom ..base import text",
        ),
        ("core/event_kinds.py", "from .handover.events import x\nfrom .journal import event"),
        (
            "stores/sqlite/__init__.py",
            "import apsw\nfrom ..base import Store\nfrom ..._failpoints import trip",
        ),
        ("services/brief/x.py", "from ...stores import sqlite\nfrom ..runs import select"),
        ("api/segue.py", "from ..services.brief import gather"),
        ("handover/engine.py", "from ..services.sessions import holds"),
        ("surfaces/cli/start.py", "from segue import Segue\nfrom ..render import table"),
        ("surfaces/http/x.py", "from ..mcp import tools"),
        ("aegis.py", "from .surfaces import http"),
        ("testing/stores.py", "from segue.stores.base import Journal"),
        ("__init__.py", "def __getattr__(name):\n    from .api.segue import Segue"),
    ],
)
def test_an_import_that_goes_down_is_left_alone(tmp_path: Path, file: str, source: str) -> None:
    plant(tmp_path, {file: source})
    assert violations(tmp_path) == []


def test_planted_circles_are_found_whatever_their_size_and_however_they_are_imported(tmp_path: Path) -> None:
    lazily = "def f() -> None:\n    from .{} import x\n"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .{} import x\n"
    plant(tmp_path, {f"core/runs/{name}.py": "" for name in "abcdef"})
    plant(tmp_path, {"core/runs/a.py": lazily.format("b"), "core/runs/b.py": "from .a import x\n"})
    plant(tmp_path, {"core/runs/c.py": typed.format("d"), "core/runs/d.py": "from . import e\n"})
    plant(tmp_path, {"core/runs/e.py": lazily.format("c"), "core/runs/f.py": "from .e import x\n"})
    assert [[name[-1] for name in group] for group in circles(graph(tmp_path))] == [
        ["a", "b"],
        ["c", "d", "e"],
    ]
