"""What a project needs around it: tools on the PATH, an interpreter, and dependencies as in its lock files.

Recording them starts no process; checking them runs the interpreter itself, with a time limit. Nothing is
reported that is not certain: a package that only some platforms need does not count as missing.
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

from .._files import read_bytes, read_text
from ..core.base.values import Value
from ..core.resume import lock_files as core

INSTALL_COMMANDS = {
    "uv.lock": "uv sync", "poetry.lock": "poetry install", "pdm.lock": "pdm install",
    "Pipfile.lock": "pipenv sync", "requirements.txt": "python -m pip install -r requirements.txt",
    "package-lock.json": "npm install", "yarn.lock": "yarn install", "pnpm-lock.yaml": "pnpm install",
    "bun.lock": "bun install", "Cargo.lock": "cargo fetch", "go.sum": "go mod download",
    "Gemfile.lock": "bundle install", "composer.lock": "composer install", "mix.lock": "mix deps.get",
}  # fmt: skip
LOCKS = tuple(INSTALL_COMMANDS)
HASH_CHARS = 12
ENVIRONMENTS = (".venv", "venv", "env")
LOCK_BYTES_MAX = 20_000_000
_PYTHON = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt")
_NODE = ("package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock")


class DependencyState(Value):
    """Whether the installed packages are those of a lock file."""

    lock: str
    ok: bool
    detail: str
    install_command: str = ""


def tools(names: Iterable[str], path: str | None = None) -> list[str]:
    """Those of these programs that are on the PATH."""
    from shutil import which  # imported here because it imports every archive format

    return [name for name in dict.fromkeys(names) if which(name, path=path)]


def locks(root: Path) -> dict[str, str]:
    """The hashes of the lock files in the root of a project, by name."""
    hashes: dict[str, str] = {}
    for name in LOCKS:
        with suppress(OSError):
            hashes[name] = hashlib.sha256(read_bytes(root / name)).hexdigest()[:HASH_CHARS]
    return hashes


def environment_folder(root: Path, environment: Mapping[str, str]) -> Path | None:
    """The virtual environment of a project; None if it has none."""
    active = environment.get("VIRTUAL_ENV", "")
    folders = [*(root / name for name in ENVIRONMENTS), *([Path(active)] if active else [])]
    return next((folder for folder in folders if (folder / "pyvenv.cfg").is_file()), None)


def interpreter(root: Path, environment: Mapping[str, str]) -> str:
    """The project's own Python as ``path version``; empty if it has none."""
    folder = environment_folder(root, environment)
    if folder is None:
        return ""
    path = folder.relative_to(root) if folder.is_relative_to(root) else folder
    return f"{path} {_version(folder)}"


def _version(folder: Path) -> str:
    try:
        lines = read_text(folder / "pyvenv.cfg", errors="replace").splitlines()
    except OSError:
        return "?"
    facts = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    version = facts.get("version") or facts.get("version_info", "")
    return ".".join(version.split(".")[:3]) or "?"


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def asked_version(root: Path, folder: Path, seconds: float) -> str:
    """The version of a virtual environment's interpreter; empty if it does not run.

    It is asked itself if it lies outside of the project, as those do that a virtual environment links to. A
    program that came with the project is not run: what the environment says of itself counts."""
    program = python_of(folder).resolve()
    if program.is_relative_to(root.resolve()) or not program.name.startswith("python"):
        version = _version(folder)
        return version if version != "?" and os.access(program, os.X_OK) else ""
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    command = [str(program), "-I", "-S", "-c", code]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def dependencies(root: Path, environment: Mapping[str, str]) -> list[DependencyState]:
    """The state of the dependencies of each lock file whose tool installs into the project."""
    states = []
    for name in LOCKS:
        text = _text(root / name)
        if text is None:
            continue
        if name in _PYTHON:
            states.append(_python(root, name, text, environment))
        elif name in _NODE:
            states.append(_node(root, name, text))
    return [state for state in states if state is not None]


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > LOCK_BYTES_MAX:
            return None
        return read_text(path, encoding="utf-8", errors="replace")
    except OSError:
        return None


def _python(root: Path, name: str, text: str, environment: Mapping[str, str]) -> DependencyState | None:
    folder = environment_folder(root, environment)
    wanted = core.packages(name, text)
    if not wanted or (folder is None and name != "uv.lock"):
        return None  # only uv installs into the project by itself
    if folder is None:
        return DependencyState(name, False, "there is no .venv", INSTALL_COMMANDS[name])
    installed = _installed(folder)
    certain = {"requirements.txt": core.certain, "uv.lock": _direct}.get(name)
    return _compared(name, wanted, installed, certain(text) if certain else ())


def _compared(
    name: str, wanted: core.Packages, installed: Mapping[str, str], needed: Iterable[str]
) -> DependencyState:
    other = [
        f"{package} {installed[package]} instead of {' or '.join(versions)}"
        for package, versions in wanted.items()
        if package in installed and installed[package] not in versions
    ]
    missing = sorted(package for package in needed if package in wanted and package not in installed)
    wrong = [*(f"{package} is missing" for package in missing), *other]
    if not wrong:
        return DependencyState(name, True, "in sync")
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return DependencyState(name, False, ", ".join(wrong[:3]) + more, INSTALL_COMMANDS[name])


def _installed(folder: Path) -> dict[str, str]:
    """The versions of the packages in a virtual environment, from the names of their folders."""
    versions: dict[str, str] = {}
    for packages in (*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")):
        with suppress(OSError):
            for entry in os.scandir(packages):
                match = re.fullmatch(r"(.+?)-([^-]+)\.dist-info", entry.name)
                if match:
                    versions[core.plain_name(match[1])] = match[2]
    return versions


def _direct(text: str) -> set[str]:
    """The packages that the project itself needs on every platform, according to its uv.lock."""
    for block in text.split("[[package]]")[1:]:
        if re.search(r'^source = \{ (?:virtual|editable) = "\." \}', block, re.MULTILINE):
            listed = re.search(r"^dependencies = \[(.*?)^\]", block, re.MULTILINE | re.DOTALL)
            rows = re.findall(r'\{ name = "([^"]+)"([^\n]*)\}', listed[1]) if listed else []
            return {core.plain_name(name) for name, rest in rows if "marker" not in rest}
    return set()


def _node(root: Path, name: str, text: str) -> DependencyState | None:
    modules = root / "node_modules"
    if not modules.is_dir():
        return DependencyState(name, False, "there is no node_modules", INSTALL_COMMANDS[name])
    try:
        if name == "package-lock.json" and (lock := _text(modules / ".package-lock.json")) is not None:
            needed = core.npm_needed(text)
            installed = {package: versions[0] for package, versions in core.npm_needed(lock).items()}
            return _compared(name, needed, installed, needed)
        if name == "pnpm-lock.yaml" and (lock := _text(modules / ".pnpm" / "lock.yaml")) is not None:
            if core.packages(name, lock) == core.packages(name, text):
                return DependencyState(name, True, "in sync")
            return DependencyState(name, False, "another lock file was installed", INSTALL_COMMANDS[name])
        return _node_direct(root, name, text)
    except (msgspec.MsgspecError, AttributeError, TypeError):
        return None


def _node_direct(root: Path, name: str, text: str) -> DependencyState | None:
    """The state by the direct dependencies in package.json alone."""
    package_json = _text(root / "package.json")
    wanted = msgspec.json.decode(package_json) if package_json else {}
    names = {**wanted.get("dependencies", {}), **wanted.get("devDependencies", {})}
    installed: dict[str, str] = {}
    for package in names:
        body = _text(root / "node_modules" / package / "package.json")
        if body is not None:
            installed[package] = str(msgspec.json.decode(body).get("version", ""))
    return _compared(name, core.packages(name, text), installed, names) if names else None
