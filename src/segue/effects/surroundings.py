"""What a project needs around it: tools on the PATH, an interpreter, dependencies as its lock files say.

Taking it down starts no process; looking whether it still holds asks the interpreter itself, in time.
What cannot be told is not claimed: a package that only some platforms need is not missing.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ..core.base.values import Value
from ..core.resume import lock_files as core

LOCKS = (
    "uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "package-lock.json",
    "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock",
    "mix.lock",
)  # fmt: skip
MENDS = {
    "uv.lock": "uv sync", "poetry.lock": "poetry install", "pdm.lock": "pdm install",
    "Pipfile.lock": "pipenv sync", "requirements.txt": "python -m pip install -r requirements.txt",
    "package-lock.json": "npm install", "yarn.lock": "yarn install", "pnpm-lock.yaml": "pnpm install",
    "bun.lock": "bun install", "Cargo.lock": "cargo fetch", "go.sum": "go mod download",
    "Gemfile.lock": "bundle install", "composer.lock": "composer install", "mix.lock": "mix deps.get",
}  # fmt: skip
HASH_CHARS = 12
ENVIRONMENTS = (".venv", "venv", "env")
LOCK_BYTES_MAX = 20_000_000
_PYTHON = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt")
_NODE = ("package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock")


class Sync(Value):
    """Whether what is installed is what a lock file says."""

    lock: str
    ok: bool
    says: str
    mend: str = ""


def tools(names: Iterable[str], path: str | None = None) -> list[str]:
    """Those of these programs that can be found now."""
    from shutil import which  # it brings every kind of archive with it

    return [name for name in dict.fromkeys(names) if which(name, path=path)]


def locks(root: Path) -> dict[str, str]:
    """The lock files at the top of a project, and what their content is known by."""
    found: dict[str, str] = {}
    for name in LOCKS:
        with suppress(OSError):
            found[name] = hashlib.sha256((root / name).read_bytes()).hexdigest()[:HASH_CHARS]
    return found


# -- the interpreter -------------------------------------------------------------------------------


def environment_folder(root: Path, environment: Mapping[str, str]) -> Path | None:
    """The virtual environment of a project; None if it has none."""
    given = environment.get("VIRTUAL_ENV", "")
    places = [*(root / name for name in ENVIRONMENTS), *([Path(given)] if given else [])]
    return next((place for place in places if (place / "pyvenv.cfg").is_file()), None)


def interpreter(root: Path, environment: Mapping[str, str]) -> str:
    """The Python of the project as ``path version``; empty if the project has none of its own."""
    place = environment_folder(root, environment)
    if place is None:
        return ""
    shown = place.relative_to(root) if place.is_relative_to(root) else place
    return f"{shown} {_version(place)}"


def _version(place: Path) -> str:
    try:
        lines = (place / "pyvenv.cfg").read_text(errors="replace").splitlines()
    except OSError:
        return "?"
    facts = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    version = facts.get("version") or facts.get("version_info", "")
    return ".".join(version.split(".")[:3]) or "?"


def python_of(place: Path) -> Path:
    """The program of a virtual environment."""
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def asked_version(place: Path, seconds: float) -> str:
    """What the interpreter itself says that it is; empty if it does not run."""
    command = [
        str(python_of(place)),
        "-I",
        "-S",
        "-c",
        "import sys; print('%d.%d.%d' % sys.version_info[:3])",
    ]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# -- dependencies ----------------------------------------------------------------------------------


def dependencies(root: Path, environment: Mapping[str, str]) -> list[Sync]:
    """Of each lock file whose tool installs into the project, whether it is in sync."""
    found = []
    for name in LOCKS:
        text = _text(root / name)
        if text is None:
            continue
        one = None
        if name in _PYTHON:
            one = _python(root, name, text, environment)
        elif name in _NODE:
            one = _node(root, name, text)
        if one is not None:
            found.append(one)
    return found


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > LOCK_BYTES_MAX:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _python(root: Path, name: str, text: str, environment: Mapping[str, str]) -> Sync | None:
    place = environment_folder(root, environment)
    wanted = core.packages(name, text)
    if not wanted:
        return None
    if place is None:
        inside = name == "uv.lock"  # the only one that installs into the project by itself
        return Sync(name, False, "there is no .venv", MENDS[name]) if inside else None
    installed = _installed(place)
    needed = (
        core.certain(text) if name == "requirements.txt" else _direct(text) if name == "uv.lock" else set()
    )
    return _compared(name, wanted, installed, needed)


def _compared(name: str, wanted: core.Packages, installed: Mapping[str, str], needed: Iterable[str]) -> Sync:
    other = [
        f"{one} {installed[one]} instead of {' or '.join(versions)}"
        for one, versions in wanted.items()
        if one in installed and installed[one] not in versions
    ]
    missing = [f"{one} is missing" for one in sorted(needed) if one in wanted and one not in installed]
    wrong = [*missing, *other]
    if not wrong:
        return Sync(name, True, "in sync")
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return Sync(name, False, ", ".join(wrong[:3]) + more, MENDS[name])


def _installed(place: Path) -> dict[str, str]:
    """The distributions of a virtual environment, by the names of their folders."""
    found: dict[str, str] = {}
    for packages in (*place.glob("lib/python*/site-packages"), *place.glob("Lib/site-packages")):
        with suppress(OSError):
            for entry in os.scandir(packages):
                match = re.fullmatch(r"(.+?)-([^-]+)\.dist-info", entry.name)
                if match:
                    found[core.plain_name(match[1])] = match[2]
    return found


def _direct(text: str) -> set[str]:
    """What a uv.lock says that the project itself needs everywhere."""
    for block in text.split("[[package]]")[1:]:
        if re.search(r'^source = \{ (?:virtual|editable) = "\." \}', block, re.MULTILINE):
            listed = re.search(r"^dependencies = \[(.*?)^\]", block, re.MULTILINE | re.DOTALL)
            rows = re.findall(r'\{ name = "([^"]+)"([^\n]*)\}', listed[1]) if listed else []
            return {core.plain_name(name) for name, rest in rows if "marker" not in rest}
    return set()


def _node(root: Path, name: str, text: str) -> Sync | None:
    modules = root / "node_modules"
    if not modules.is_dir():
        return Sync(name, False, "there is no node_modules", MENDS[name])
    try:
        if name == "package-lock.json" and (kept := _text(modules / ".package-lock.json")) is not None:
            needed, there = core.npm_needed(text), core.npm_needed(kept)
            installed = {key: versions[0] for key, versions in there.items()}
            return _compared(name, needed, installed, needed)
        if name == "pnpm-lock.yaml" and (kept := _text(modules / ".pnpm" / "lock.yaml")) is not None:
            same = core.packages(name, kept) == core.packages(name, text)
            return Sync(
                name,
                same,
                "in sync" if same else "another lock file was installed",
                "" if same else MENDS[name],
            )
        return _node_direct(root, name, text)
    except (msgspec.MsgspecError, AttributeError, TypeError):
        return None


def _node_direct(root: Path, name: str, text: str) -> Sync | None:
    """By what the project itself asks for."""
    told = _text(root / "package.json")
    asked = msgspec.json.decode(told) if told else {}
    names = {**asked.get("dependencies", {}), **asked.get("devDependencies", {})}
    installed: dict[str, str] = {}
    for one in names:
        body = _text(root / "node_modules" / one / "package.json")
        if body is not None:
            installed[one] = str(msgspec.json.decode(body).get("version", ""))
    return _compared(name, core.packages(name, text), installed, names) if names else None
