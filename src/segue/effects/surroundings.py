"""What a project needs around it: tools on the PATH, an interpreter, dependencies as its lock files say.

Taking it down starts no process; looking whether it still holds asks the interpreter itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

LOCKS = (
    "uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "requirements.txt", "package-lock.json",
    "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock",
    "mix.lock",
)  # fmt: skip
HASH_CHARS = 12
ENVIRONMENTS = (".venv", "venv", "env")


def tools(names: Iterable[str], path: str | None = None) -> list[str]:
    """Those of these programs that can be found now."""
    return [name for name in dict.fromkeys(names) if shutil.which(name, path=path)]


def locks(root: Path) -> dict[str, str]:
    """The lock files at the top of a project, and what their content is known by."""
    found: dict[str, str] = {}
    for name in LOCKS:
        try:
            found[name] = hashlib.sha256((root / name).read_bytes()).hexdigest()[:HASH_CHARS]
        except OSError:
            continue
    return found


def interpreter(root: Path, environment: Mapping[str, str]) -> str:
    """The Python of the project as ``path version``; empty if the project has none of its own."""
    given = environment.get("VIRTUAL_ENV", "")
    places = [*(root / name for name in ENVIRONMENTS), *([Path(given)] if given else [])]
    for place in places:
        version = _version(place)
        if version:
            inside = place.is_relative_to(root)
            return f"{place.relative_to(root) if inside else place} {version}"
    return ""


def _version(place: Path) -> str:
    try:
        lines = (place / "pyvenv.cfg").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    told = dict(line.partition("=")[::2] for line in lines if "=" in line)
    facts = {key.strip(): value.strip() for key, value in told.items()}
    version = facts.get("version") or facts.get("version_info", "")
    return ".".join(version.split(".")[:3]) or "?"


def python_of(place: Path) -> Path:
    """The program of a virtual environment."""
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
