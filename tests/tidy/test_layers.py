"""Imports go one way: errors ← core ← stores, agents, effects ← services, handover ← surfaces.

The rooms and what each may import stand in ``MAY``; a new file or folder at the top of the
package needs a line there. Imports inside functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "segue"

LOW = {"errors", "core", "_failpoints"}
MIDDLE = {"stores", "agents", "effects"}
MAY: dict[str, set[str]] = {
    "errors": set(),
    "_failpoints": set(),
    "_folders": set(),
    "core": {"errors", "_failpoints"},
    "stores": LOW,
    "agents": LOW,
    "effects": LOW,
    "settings": {"errors", "core", "_folders"},
    "services": LOW | MIDDLE | {"settings", "api"},
    "api": LOW | MIDDLE | {"settings", "services"},
    "handover": LOW | MIDDLE | {"settings", "services", "api", "_folders"},
    "surfaces": {"errors", "core", "settings", "services", "api", "handover", "segue"},
    "segue": {"errors", "core", "services", "api"},  # the package's own __init__.py
    "testing": LOW | MIDDLE | {"settings", "services", "api", "handover", "surfaces", "segue"},
}
SURFACES = ("segue.aegis", "segue.__main__", "segue.handover.cli", "segue.handover.adapters")
CORE_NEVER = set(
    "asyncio fcntl getpass glob http logging os pathlib platform random secrets select shutil signal "
    "socket sqlite3 ssl subprocess tempfile threading time urllib".split()
)
CORE_OUTSIDE = (set(sys.stdlib_module_names) | {"msgspec"}) - CORE_NEVER


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


def violations(package: Path) -> list[str]:
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = ["segue", *path.relative_to(package).with_suffix("").parts]
        room = room_of(".".join(parts).removesuffix(".__init__"))
        if room not in MAY:
            found.append(f"{path}:1: {room} is not a room; give it a line in MAY")
            continue
        for line, name in imports(ast.parse(path.read_text()), parts[:-1]):
            if name.split(".")[0] == "segue":
                target = room_of(name) if room_of(name) in MAY else "segue"
                if target != room and target not in MAY[room]:
                    found.append(f"{path}:{line}: {room} may not import {target} ({name})")
            elif room == "core" and name.split(".")[0] not in CORE_OUTSIDE:
                found.append(f"{path}:{line}: core is pure and may not import {name}")
    return found


def test_every_import_of_the_package_goes_down() -> None:
    assert not (found := violations(PACKAGE)), "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("errors.py", "from segue.core import events", "errors may not import core"),
        ("core/events.py", "from ..stores import base", "core may not import stores"),
        ("core/events.py", "from segue.settings import Settings", "core may not import settings"),
        ("core/events.py", "import os.path", "core is pure"),
        ("core/events.py", "from time import time", "core is pure"),
        ("core/events.py", "import yaml", "core is pure"),
        ("core/deep/er.py", "from ...services import sessions", "core may not import services"),
        ("core/events.py", "from segue import Segue", "core may not import segue"),
        ("stores/sqlite/journal.py", "from segue.effects.git import head", "stores may not import effects"),
        ("stores/base.py", "from segue.settings import Settings", "stores may not import settings"),
        ("agents/codex/reader.py", "from segue import stores", "agents may not import stores"),
        ("effects/git.py", "from .. import agents", "effects may not import agents"),
        ("settings.py", "from .services import sessions", "settings may not import services"),
        ("services/segue.py", "def f():\n    import segue.surfaces.cli", "services may not import surfaces"),
        ("services/segue.py", "from ..handover.cli import main", "services may not import surfaces"),
        ("surfaces/mcp.py", "import segue.stores.sqlite", "surfaces may not import stores"),
        ("surfaces/cli/__init__.py", "from ...effects import git", "surfaces may not import effects"),
        ("aegis.py", "from segue.agents import base", "surfaces may not import agents"),
        ("handover/cli.py", "from segue.stores import base", "surfaces may not import stores"),
        ("__init__.py", "from .stores import base", "segue may not import stores"),
        ("surfaces/x.py", "import importlib\nimportlib.import_module('segue.stores')", "import stores"),
        ("services/x.py", "import segue.testing", "services may not import testing"),
        ("helpers.py", "", "helpers is not a room"),
    ],
)
def test_a_planted_bad_import_is_named_with_file_and_line(
    tmp_path: Path, file: str, source: str, message: str
) -> None:
    planted = tmp_path / file
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(source)
    [found] = violations(tmp_path)
    assert message in found
    assert found.startswith(f"{planted}:{max(1, len(source.splitlines()))}: ")


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("core/events.py", "import hashlib, msgspec\nfrom ..errors import UsageError\nfrom . import canon"),
        ("core/__init__.py", "from .events import Event\nfrom .. import errors"),
        (
            "stores/sqlite/__init__.py",
            "import apsw\nfrom ..base import Journal\nfrom ..._failpoints import trip",
        ),
        ("services/segue.py", "from ..stores import sqlite\nfrom ..settings import Settings"),
        ("handover/engine.py", "from ..services import sessions"),
        ("surfaces/cli/start.py", "from segue import Segue\nfrom ..render import table"),
        ("aegis.py", "from .surfaces import http"),
        ("testing/stores.py", "from segue.stores.base import Journal"),
        ("__init__.py", "def __getattr__(name):\n    from .services.segue import Segue"),
    ],
)
def test_an_import_that_goes_down_is_left_alone(tmp_path: Path, file: str, source: str) -> None:
    planted = tmp_path / file
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(source)
    assert violations(tmp_path) == []
