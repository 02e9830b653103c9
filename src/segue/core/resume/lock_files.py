"""Lock files: which package in which version, and what changed between two of them.

Read with as little as tells name and version: a lock file may be large, and its details are its tool's
business. What cannot be read gives no packages; it is never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from ..base.lazy import regex
from ..base.values import Value

Packages = dict[str, tuple[str, ...]]
"""Name to versions, sorted; some tools install several."""

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
    """A package that is another one now."""

    name: str
    before: str
    """Empty: it is new."""
    after: str
    """Empty: it is gone."""


def plain_name(name: str) -> str:
    """A Python package's name, as all spellings of it come to."""
    return re.sub(r"[-_.]+", "-", name).lower()


def packages(file: str, text: str) -> Packages:
    """The packages of a lock file, by its name."""
    read = _READERS.get(file.rpartition("/")[2])
    if read is None and re.fullmatch(r"requirements[\w.-]*\.txt", file.rpartition("/")[2]):
        read = _requirements
    if read is None:
        return {}
    try:
        pairs = list(read(text))
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError, KeyError):
        return {}
    found: dict[str, set[str]] = {}
    for name, version in pairs:
        found.setdefault(name, set()).add(version)
    return {name: tuple(sorted(versions)) for name, versions in sorted(found.items())}


def is_lock(path: str) -> bool:
    """Whether a file is one that we can read."""
    name = path.rpartition("/")[2]
    return name in _READERS or re.fullmatch(r"requirements[\w.-]*\.txt", name) is not None


def bumps(then: Mapping[str, tuple[str, ...]], now: Mapping[str, tuple[str, ...]]) -> list[Bump]:
    """What changed, by name."""
    return [
        Bump(name, ", ".join(then.get(name, ())), ", ".join(now.get(name, ())))
        for name in sorted(then.keys() | now.keys())
        if then.get(name, ()) != now.get(name, ())
    ]


Pairs = Iterable[tuple[str, str]]


def _requirements(text: str) -> Pairs:
    return [(plain_name(name), version) for name, version, _ in _REQUIREMENT.findall(text)]


def certain(text: str) -> set[str]:
    """The packages of a requirements file that every platform installs."""
    return {plain_name(name) for name, _, marker in _REQUIREMENT.findall(text) if not marker}


def _npm(text: str) -> Pairs:
    whole = msgspec.json.decode(text)
    rows = whole.get("packages")
    if rows is None:
        return [(name, str(one.get("version", ""))) for name, one in whole.get("dependencies", {}).items()]
    found = ((key.rpartition("node_modules/")[2], one) for key, one in rows.items() if key)
    return [(name, str(one.get("version", ""))) for name, one in found if not one.get("link")]


def npm_needed(text: str) -> Packages:
    """What ``npm`` installs on every platform."""
    whole: dict[str, Any] = msgspec.json.decode(text)
    rows = whole.get("packages", {})
    needed = {
        key: one for key, one in rows.items() if key and not one.get("optional") and not one.get("link")
    }
    return {key: (str(one.get("version", "")),) for key, one in needed.items()}


def _pipfile(text: str) -> Pairs:
    whole = msgspec.json.decode(text)
    groups = [whole.get("default", {}), whole.get("develop", {})]
    return [
        (plain_name(name), str(one.get("version", "")).removeprefix("=="))
        for group in groups
        for name, one in group.items()
    ]


def _composer(text: str) -> Pairs:
    whole = msgspec.json.decode(text)
    rows = [*whole.get("packages", ()), *whole.get("packages-dev", ())]
    return [(one["name"], str(one["version"])) for one in rows]


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
