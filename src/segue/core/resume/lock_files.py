"""Lock files: the versions of packages in them, and the differences between two of them.

Only names and versions are read, because lock files may be large and their details matter only to their
tools. A file that cannot be parsed has no packages; that is never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from ..base.lazy import regex
from ..base.values import Value

Packages = dict[str, tuple[str, ...]]
"""The sorted versions of each package; some tools install several."""

_TOML = regex(r'\[\[package\]\]\s*\nname = "([^"\n]+)"\s*\nversion = "([^"\n]+)"')
_REQUIREMENT = regex(r"^\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*===?\s*([^\s;#\\]+)(\s*;)?", re.MULTILINE)
_YARN = regex(
    r'^"?((?:@[^@/\s"]+/)?[^@\s"]+)@[^\n]*:\n(?: [^\n]*\n)*?  version:? "?([^"\s]+)"?', re.MULTILINE
)
_PNPM = regex(r"^  '?/?((?:@[^@/\s']+/)?[^@\s'/(]+)[@/](\d[^\s:'(]*)[^\n]*:", re.MULTILINE)
_BUN = regex(r'^\s*"[^"]+": \["((?:@[^@/"]+/)?[^@"]+)@(\d[^"]*)"', re.MULTILINE)
_GO = regex(r"^(\S+) (v\S+?)(/go\.mod)? h1:", re.MULTILINE)
_GEM = regex(r"^    ([\w.-]+) \(([^)\s]+)\)$", re.MULTILINE)
_MIX = regex(r'^\s*"([^"]+)": \{:\w+, :\w+, "([^"]+)"', re.MULTILINE)


class Bump(Value, array_like=True, gc=False):
    """A package that has another version, is new, or is gone."""

    name: str
    before: str
    """Empty if it is new."""
    after: str
    """Empty if it is gone."""


def plain_name(name: str) -> str:
    """The normalised name of a Python package."""
    return re.sub(r"[-_.]+", "-", name).lower()


def packages(file: str, text: str) -> Packages:
    """The packages in a lock file, whose format is known by the file's name."""
    read = _reader_of(file)
    if read is None:
        return {}
    try:
        pairs = list(read(text))
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError, KeyError):
        return {}
    versions_of: dict[str, set[str]] = {}
    for name, version in pairs:
        versions_of.setdefault(name, set()).add(version)
    return {name: tuple(sorted(versions)) for name, versions in sorted(versions_of.items())}


def is_lock(path: str) -> bool:
    """Whether a file is a lock file whose format is known."""
    return _reader_of(path) is not None


def _reader_of(path: str) -> Callable[[str], Pairs] | None:
    name = path.rpartition("/")[2]
    named = re.fullmatch(r"requirements[\w.-]*\.txt", name)
    return _requirements if named else _READERS.get(name)


def bumps(then: Mapping[str, tuple[str, ...]], now: Mapping[str, tuple[str, ...]]) -> list[Bump]:
    """The packages that differ, sorted by name."""
    return [
        Bump(name, ", ".join(then.get(name, ())), ", ".join(now.get(name, ())))
        for name in sorted(then.keys() | now.keys())
        if then.get(name, ()) != now.get(name, ())
    ]


Pairs = Iterable[tuple[str, str]]


def _requirements(text: str) -> Pairs:
    return [(plain_name(name), version) for name, version, _ in _REQUIREMENT.findall(text)]


def certain(text: str) -> set[str]:
    """The packages of a requirements file that are installed on every platform."""
    return {plain_name(name) for name, _, marker in _REQUIREMENT.findall(text) if not marker}


def _npm(text: str) -> Pairs:
    document = msgspec.json.decode(text)
    rows = document.get("packages")
    if rows is None:
        return [(name, str(row.get("version", ""))) for name, row in document.get("dependencies", {}).items()]
    named = ((key.rpartition("node_modules/")[2], row) for key, row in rows.items() if key)
    return [(name, str(row.get("version", ""))) for name, row in named if not row.get("link")]


def npm_needed(text: str) -> Packages:
    """The packages that ``npm`` installs on every platform."""
    document: dict[str, Any] = msgspec.json.decode(text)
    return {
        key: (str(row.get("version", "")),)
        for key, row in document.get("packages", {}).items()
        if key and not row.get("optional") and not row.get("link")
    }


def _pipfile(text: str) -> Pairs:
    document = msgspec.json.decode(text)
    groups = [document.get("default", {}), document.get("develop", {})]
    return [
        (plain_name(name), str(row.get("version", "")).removeprefix("=="))
        for group in groups
        for name, row in group.items()
    ]


def _composer(text: str) -> Pairs:
    document = msgspec.json.decode(text)
    rows = [*document.get("packages", ()), *document.get("packages-dev", ())]
    return [(row["name"], str(row["version"])) for row in rows]


def _python(text: str) -> Pairs:
    return [(plain_name(name), version) for name, version in _TOML.findall(text)]


_READERS: dict[str, Callable[[str], Pairs]] = {
    "uv.lock": _python,
    "poetry.lock": _python,
    "pdm.lock": _python,
    "Cargo.lock": _TOML.findall,
    "package-lock.json": _npm,
    "npm-shrinkwrap.json": _npm,
    "yarn.lock": _YARN.findall,
    "pnpm-lock.yaml": _PNPM.findall,
    "bun.lock": _BUN.findall,
    "go.sum": lambda text: [(name, version) for name, version, mod in _GO.findall(text) if not mod],
    "Gemfile.lock": _GEM.findall,
    "composer.lock": _composer,
    "Pipfile.lock": _pipfile,
    "mix.lock": _MIX.findall,
}
