"""Reading and writing the file formats in which people already keep features and test results.

Whatever a file says about passing is read as a claim of whoever wrote it. A malformed file is refused as a
whole with BadImport, which says what is wrong where.
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
    """A feature as an imported file lists it."""

    description: str
    category: str = ""
    steps: tuple[str, ...] = ()
    passes: bool = False
    id: str = ""
    checks: tuple[str, ...] = ()


class Case(Value):
    """A test case of a JUnit report."""

    name: str
    group: str = ""
    file: str = ""
    ok: bool = True
    skipped: bool = False
    message: str = ""


def recognised(name: str, body: bytes) -> str:
    """The format of a file, by its content and then by its name; empty if it is none that can be imported."""
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
    """The features of a JSON list of ``{category, description, steps, passes}``, or of an object with it as
    ``features``."""
    try:
        value = msgspec.json.decode(_text(body))
    except (msgspec.DecodeError, RecursionError) as fault:
        raise _bad(f"the file is not JSON: {fault}") from fault
    rows = value.get("features") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise _bad("the file has no list of features")
    return [_listed(row, number) for number, row in enumerate(rows, 1)]


def _listed(row: Any, number: int) -> Listed:
    if not isinstance(row, dict) or not isinstance(row.get("description"), str) or not row["description"]:
        raise _bad(f"entry {number} has no description")
    steps: Any = row.get("steps", row.get("test_steps", []))
    checks: Any = row.get("checks", [row["check"]] if "check" in row else [])
    for name, texts in (("steps", steps), ("checks", checks)):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise _bad(f"entry {number}: {name} must be a list of texts")
    values = (row.get("category", ""), row.get("id", row.get("feature_id", "")))
    category, id = (str(value) if value is not None else "" for value in values)
    passes = row.get("passes") is True or row.get("status") in ("passing", "complete", "completed")
    steps = tuple(step for step in steps if step.strip())
    return Listed(row["description"], category, steps, passes, id, tuple(checks))


def read_node_ids(body: bytes) -> dict[str, list[str]]:
    """The names of the tests in each file, from what ``pytest --collect-only -q`` prints."""
    tests: dict[str, list[str]] = {}
    for file, rest in _NODE.findall(_text(body)):
        names = tests.setdefault(file.replace("\\", "/"), [])
        name = rest.lstrip(":").replace("::", " ")
        if name and name not in names:
            names.append(name)
    if not tests:
        raise _bad("the file has no pytest node ids", hint="`pytest --collect-only -q` prints them")
    return tests


def read_junit(body: bytes) -> list[Case]:
    """The test cases of a JUnit XML report."""
    from xml.etree import ElementTree

    _text(body)
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise _bad("the report declares XML entities, which are not read for safety")
    try:
        root = ElementTree.fromstring(body)
    except (ElementTree.ParseError, ValueError, LookupError) as fault:
        raise _bad(f"the file is not XML: {fault}") from fault
    cases = []
    for case in root.iter("testcase"):
        faults = [child for child in case if child.tag in ("failure", "error")]
        message = next((child.get("message") or (child.text or "").strip() for child in faults), "")
        cases.append(
            Case(
                case.get("name", ""), case.get("classname", ""), case.get("file", ""), not faults,
                any(child.tag == "skipped" for child in case), " ".join(message.split())[:300],
            )
        )  # fmt: skip
    if not cases:
        raise _bad("the report has no test cases")
    return cases


def file_of(case: Case) -> str:
    """The file of a test case, as reported or derived from pytest's class name; may be empty."""
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
    """A JSON feature list in which ``passes`` says what is proven now."""
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
    """The test files and node ids that the checks name, one a line."""
    words = [word for feature, _ in pairs for check in feature.checks for word in check.text.split()]
    node_ids = dict.fromkeys(word for word in words if re.fullmatch(r"[\w./-]+\.py(?:::\S+)?", word))
    return "".join(f"{node_id}\n" for node_id in node_ids).encode()


def write_junit(pairs: Sequence[Pair], name: str) -> bytes:
    """A JUnit report with a test case for each feature; one that is not proven counts as skipped."""
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
            message = f"{verdict.status}: {verdict.reason}"
            lines.append(f"{head}><{kind} message={quoteattr(message)}/></testcase>")
    return ("\n".join([*lines, "</testsuite></testsuites>"]) + "\n").encode()


def write_progress(goal: str, done: Sequence[str], todo: Sequence[str], pairs: Iterable[Pair]) -> bytes:
    """A progress file: what is done, what is next, and the verdict on each feature."""
    lines = [goal, ""]
    for title, rows in (("Done", done), ("Next", todo)):
        lines += [f"{title}:", *(f"- {row}" for row in rows), ""] if rows else []
    verdicts = [
        f"- {feature.id}: {verdict.status}" + (f" ({verdict.reason})" if verdict.reason else "")
        for feature, verdict in pairs
    ]
    lines += ["Features:", *verdicts, ""] if verdicts else []
    return "\n".join(lines).encode()
