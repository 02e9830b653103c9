"""Handover steps declared in ``segue.toml``; an unknown key is refused, with the most similar known one.

    [handover]
    memory_dir = "memory"
    tag = "general"

    [[handover.step]]
    kind = "collect"

    [[handover.step]]
    name = "publish"
    kind = "git"
    push = true

A project's file is used if it is trusted, else the user's own; without either, the four default steps run.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ..core.base.text import clean_name
from ..core.base.values import Value
from ..errors import BadSettings

Shape = Mapping[str, tuple[type, Any]]
"""Keys with their type and default; a key whose default is None is required, unless it is in ``OPTIONAL``."""

COMMON: Shape = {
    "name": (str, ""),
    "kind": (str, None),
    "idempotent": (bool, None),
    "timeout_seconds": (float, None),
    "retries": (int, 0),
    "backoff_seconds": (float, 1.0),
}
KINDS: dict[str, Shape] = {
    "collect": {},
    "note": {"text": (str, ""), "tag": (str, "")},
    "state": {"text": (str, "")},
    "compact": {"months": (int, 1), "keep": (bool, False)},
    "command": {"command": (list, None), "folder": (str, "")},
    "git": {
        "paths": (list, []),
        "message": (str, "handover: {goal}"),
        "push": (bool, False),
        "remote": (str, "origin"),
        "branch": (str, ""),
        "hooks": (bool, True),
        "sign": (bool, None),
    },
    "webhook": {"url": (str, None), "text": (str, "")},
    "score": {},
}
OPTIONAL = ("sign", "idempotent", "timeout_seconds")
ONCE = ("command", "webhook")
"""Kinds that must not run twice unless a step says that it is idempotent."""
TIMEOUT_SECONDS = {"command": 600.0, "git": 300.0, "webhook": 15.0}
PLACEHOLDERS = ("goal", "session", "note", "tag", "date", "branch", "commit", "project", "done", "run")
TOP: Shape = {"memory_dir": (str, "memory"), "tag": (str, "general"), "step": (list, [])}
DEFAULT: tuple[dict[str, Any], ...] = (
    {"kind": "collect"},
    {"kind": "note"},
    {"kind": "state"},
    {"kind": "git"},
)


class DeclaredStep(Value):
    """A declared step with all its values."""

    name: str
    kind: str
    options: dict[str, Any]
    idempotent: bool = True
    timeout_seconds: float = 0.0
    retries: int = 0
    backoff_seconds: float = 1.0


class Workflow(Value):
    """The steps of a handover in a project."""

    memory_dir: str
    tag: str
    steps: tuple[DeclaredStep, ...]
    source: str = ""
    """The file that declares it; empty for the default."""


def workflow(table: Mapping[str, Any], source: str = "") -> Workflow:
    """The workflow that a table describes; BadSettings, with the position, if it is wrong."""
    where = f"{source}: [handover]"
    values = _values(table, TOP, where)
    steps = [_declared(step, f"{where} step {n}") for n, step in enumerate(values["step"] or DEFAULT, 1)]
    names = [step.name for step in steps]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise BadSettings(
            f"{where}: two steps are called `{duplicate}`", hint="give one of them another `name`"
        )
    folder = _inside(values["memory_dir"], where, "memory_dir")
    return Workflow(folder, values["tag"], tuple(steps), source)


def _declared(step: Any, where: str) -> DeclaredStep:
    if not isinstance(step, Mapping):
        raise BadSettings(f"{where} is not a table", hint="write each step as [[handover.step]]")
    kind = step.get("kind")
    if kind not in KINDS:
        known = "one of " + ", ".join(KINDS)
        raise BadSettings(f"{where}: unknown kind `{kind}`", hint=_near(str(kind), KINDS) or known)
    values = _values(step, {**COMMON, **KINDS[kind]}, where)
    name = clean_name(values["name"] or kind, what="step's name")
    options = {key: values[key] for key in KINDS[kind]}
    _check_options(kind, options, where)
    idempotent, timeout_seconds = values["idempotent"], values["timeout_seconds"]
    return DeclaredStep(
        name, kind, options,
        idempotent=kind not in ONCE if idempotent is None else idempotent,
        timeout_seconds=TIMEOUT_SECONDS.get(kind, 0.0) if timeout_seconds is None else timeout_seconds,
        retries=values["retries"], backoff_seconds=values["backoff_seconds"],
    )  # fmt: skip


def _values(table: Mapping[str, Any], shape: Shape, where: str) -> dict[str, Any]:
    for key in table:
        if key not in shape:
            known = "known keys: " + ", ".join(shape)
            raise BadSettings(f"{where}: unknown key `{key}`", hint=_near(key, shape) or known)
    values: dict[str, Any] = {}
    for key, (kind, default) in shape.items():
        value = table.get(key, default)
        if value is None and key not in OPTIONAL:
            raise BadSettings(f"{where}: `{key}` is missing", hint=f"it is of type {kind.__name__}")
        if kind is float and type(value) is int:
            value = float(value)
        if value is not None and type(value) is not kind:
            raise BadSettings(
                f"{where}: `{key}` must be of type {kind.__name__}, not {type(value).__name__}",
                hint="see the guide to handovers",
            )
        if isinstance(value, int | float) and value < 0:
            raise BadSettings(f"{where}: `{key}` is negative", hint="use 0 or more")
        values[key] = value
    return values


def _check_options(kind: str, options: dict[str, Any], where: str) -> None:
    for key in ("command", "paths"):
        words = options.get(key, ())
        if any(type(word) is not str for word in words) or (
            key == "command" and key in options and not words
        ):
            raise BadSettings(
                f"{where}: `{key}` must be a list of words", hint='for example ["make", "docs"]'
            )
    for path in options.get("paths", ()):
        _inside(path, where, "paths")
    if options.get("folder"):
        _inside(options["folder"], where, "folder")
    for key in ("text", "message"):
        for name in re.findall(r"\{(\w+)\}", options.get(key, "")):
            if name not in PLACEHOLDERS:
                known = "known placeholders: " + ", ".join(PLACEHOLDERS)
                raise BadSettings(
                    f"{where}: `{key}` has the unknown placeholder {{{name}}}",
                    hint=_near(name, PLACEHOLDERS) or known,
                )
    if kind == "webhook":
        check_url(options["url"], where)


def check_url(url: str, where: str) -> None:
    """Raise BadSettings unless a URL is https, or http to this machine, and contains no credentials."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as fault:
        raise BadSettings(f"{where}: {fault}", hint="use a URL that begins with https://") from fault
    here = host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host)
    if not host or parts.username or parts.password:
        raise BadSettings(
            f"{where}: the URL has no host, or contains credentials", hint="use a host and a path only"
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and here):
        raise BadSettings(f"{where}: a webhook needs https, or a host on this machine", hint="use https://")


def _inside(path: str, where: str, key: str) -> str:
    """The path, if it is relative and stays within the project; else BadSettings."""
    parts = path.replace("\\", "/").split("/")
    if not path or path.startswith(("/", "~")) or ".." in parts or ":" in parts[0] or "\0" in path:
        raise BadSettings(
            f"{where}: `{key}` must stay within the project: {path!r}", hint="use a relative path"
        )
    return path


def _near(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean `{near[0]}`?" if near else ""


def filled(template: str, facts: Mapping[str, Any]) -> str:
    """A template with facts in place of its placeholders."""
    return re.sub(r"\{(\w+)\}", lambda match: str(facts.get(match[1], "")), template)
