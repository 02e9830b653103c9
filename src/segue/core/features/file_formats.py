"""The files in which people already keep features: read and written, as values.

Pure. Whatever a file says about passing is a claim of whoever wrote it and is read as one. A file that
does not have its shape is refused whole, with the place where it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ...errors import BadImport
from ..base.lazy import regex
from ..base.values import Value
from .model import Feature
from .verdict import Verdict

FILE_BYTES_MAX = 64_000_000
_NODE = regex(r"(?:^|\s)([\w./\\-]+\.py)((?:::[^\s\[\]]+(?:\[[^\n]*\])?)*)", re.M)


class Listed(Value):
    """A feature as a file lists it."""

    description: str
    category: str = ""
    steps: tuple[str, ...] = ()
    passes: bool = False
    id: str = ""
    checks: tuple[str, ...] = ()


class Case(Value):
    """A test case of a report."""

    name: str
    group: str = ""
    file: str = ""
    ok: bool = True
    skipped: bool = False
    message: str = ""


def recognised(name: str, body: bytes) -> str:
    """Which kind of file this is, by its content and then by its name; empty if none of ours."""
    start = body.lstrip()[:200]
    if start.startswith(b"<"):
        return "junit" if b"<testsuite" in body[:4000] else ""
    if start.startswith((b"[", b"{")):
        return "feature_list"
    if b".py::" in body or any(line.endswith(b".py") and b" " not in line for line in start.splitlines()):
        return "pytest"
    return "progress" if name.endswith((".txt", ".md")) else ""


def _bad(what: str, hint: str = "see docs/guides/features.md") -> BadImport:
    return BadImport(what, hint=hint)


def _text(body: bytes) -> str:
    if len(body) > FILE_BYTES_MAX:
        raise _bad(f"the file has {len(body):,} bytes; the limit is {FILE_BYTES_MAX:,}")
    return body.decode("utf-8-sig", "replace")


# -- in ----------------------------------------------------------------------------------------


def read_feature_list(body: bytes) -> list[Listed]:
    """``[{category, description, steps, passes}]``, or an object that has it as ``features``."""
    try:
        value = msgspec.json.decode(_text(body))
    except (msgspec.DecodeError, RecursionError) as fault:
        raise _bad(f"this is not JSON: {fault}") from fault
    rows = value.get("features") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise _bad("this is not a list of features")
    return [_listed(row, place) for place, row in enumerate(rows, 1)]


def _listed(row: Any, place: int) -> Listed:
    if not isinstance(row, dict) or not isinstance(row.get("description"), str) or not row["description"]:
        raise _bad(f"entry {place} has no description")
    steps: Any = row.get("steps", row.get("test_steps", []))
    checks: Any = row.get("checks", [row["check"]] if "check" in row else [])
    for name, found in (("steps", steps), ("checks", checks)):
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise _bad(f"entry {place}: {name} are not a list of texts")
    id, category = row.get("id", row.get("feature_id", "")), row.get("category", "")
    texts = [str(one) if one is not None else "" for one in (category, id)]
    claims = row.get("passes") is True or row.get("status") in ("passing", "complete", "completed")
    kept = tuple(one for one in steps if one.strip())
    return Listed(row["description"], texts[0], kept, claims, texts[1], tuple(checks))


def read_node_ids(body: bytes) -> dict[str, list[str]]:
    """Files to the names of their tests, as ``pytest --collect-only -q`` prints them."""
    found: dict[str, list[str]] = {}
    for file, rest in _NODE.findall(_text(body)):
        names = found.setdefault(file.replace("\\", "/"), [])
        name = rest.lstrip(":").replace("::", " ")
        if name and name not in names:
            names.append(name)
    if not found:
        raise _bad("there are no pytest node ids in this", hint="pytest --collect-only -q prints them")
    return found


def read_junit(body: bytes) -> list[Case]:
    """The test cases of a JUnit XML report."""
    from xml.etree import ElementTree

    _text(body)
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise _bad("the report declares entities: it is not read")
    try:
        root = ElementTree.fromstring(body)
    except (ElementTree.ParseError, ValueError, LookupError) as fault:
        raise _bad(f"this is not XML: {fault}") from fault
    found = []
    for case in root.iter("testcase"):
        faults = [child for child in case if child.tag in ("failure", "error")]
        told = next((child.get("message") or (child.text or "").strip() for child in faults), "")
        found.append(
            Case(
                case.get("name", ""), case.get("classname", ""), case.get("file", ""), not faults,
                any(child.tag == "skipped" for child in case), " ".join(told.split())[:300],
            )
        )  # fmt: skip
    if not found:
        raise _bad("the report has no test cases")
    return found


def file_of(case: Case) -> str:
    """The file that a test case is in, as far as pytest's report tells."""
    if case.file:
        return case.file.replace("\\", "/")
    parts = [part for part in case.group.split(".") if part]
    while len(parts) > 1 and parts[-1][:1].isupper():
        parts.pop()
    return "/".join(parts) + ".py" if parts else ""


def read_progress(body: bytes) -> list[str]:
    """The paragraphs of a progress file."""
    parts = re.split(r"\n\s*\n", _text(body).replace("\r\n", "\n"))
    return [part.strip() for part in parts if part.strip()]


# -- out ---------------------------------------------------------------------------------------

Pair = tuple[Feature, Verdict]


def write_feature_list(pairs: Iterable[Pair]) -> bytes:
    """The list; ``passes`` is what is proven now."""
    rows = [
        {
            "id": feature.id, "category": feature.category, "description": feature.description,
            "steps": list(feature.steps), "passes": verdict.passes,
        }
        for feature, verdict in pairs
    ]  # fmt: skip
    body: bytes = msgspec.json.format(msgspec.json.encode(rows), indent=2)
    return body + b"\n"


def write_node_ids(pairs: Iterable[Pair]) -> bytes:
    """The test files and node ids that checks name."""
    words = [word for feature, _ in pairs for check in feature.checks for word in check.text.split()]
    found = dict.fromkeys(word for word in words if re.fullmatch(r"[\w./-]+\.py(?:::\S+)?", word))
    return "".join(f"{word}\n" for word in found).encode()


def write_junit(pairs: Sequence[Pair], name: str) -> bytes:
    """A test case for each feature: passed, failed, or not proven as skipped."""
    from xml.sax.saxutils import quoteattr

    failed = sum(verdict.status == "failing" for _, verdict in pairs)
    skipped = sum(not verdict.passes and verdict.status != "failing" for _, verdict in pairs)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites><testsuite name={quoteattr(name)} tests="{len(pairs)}" failures="{failed}" '
        f'skipped="{skipped}" errors="0">',
    ]
    for feature, verdict in pairs:
        head = f"<testcase classname={quoteattr(feature.category or 'features')} name={quoteattr(feature.id)}"
        if verdict.passes:
            lines.append(head + "/>")
        else:
            kind = "failure" if verdict.status == "failing" else "skipped"
            told = f"{verdict.status}: {verdict.reason}"
            lines.append(f"{head}><{kind} message={quoteattr(told)}/></testcase>")
    return ("\n".join([*lines, "</testsuite></testsuites>"]) + "\n").encode()


def write_progress(goal: str, done: Sequence[str], todo: Sequence[str], pairs: Iterable[Pair]) -> bytes:
    """What is done, what is next, and what is proven, as paragraphs."""
    lines = [goal, ""]
    for title, rows in (("Done", done), ("Next", todo)):
        lines += [f"{title}:", *(f"- {row}" for row in rows), ""] if rows else []
    told = [
        f"- {feature.id}: {verdict.status}" + (f" ({verdict.reason})" if verdict.reason else "")
        for feature, verdict in pairs
    ]
    lines += ["Features:", *told, ""] if told else []
    return "\n".join(lines).encode()
