"""Which rules of other tools have no counterpart among Segue's.

Values that a rule's expression allows are made up and put where such values stand. A rule has a counterpart
*by its shape* if Segue masks them alone, and *after a name* if it masks them behind a name such as
`VENDOR_API_KEY` or `VENDOR_TOKEN`. The lists of rules are read from files of the other tools' repositories;
nothing of them is kept or run.
"""

from __future__ import annotations

import ast
import random
import re
import string
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from re import _constants as kinds, _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from segue.effects.redaction.redact import redact

SEEDS = range(3)
LONG = 24
"""How often something is repeated that may be repeated without an end."""
LETTERS = string.ascii_letters + string.digits
NAMES = ("{}_API_KEY={}", '{}_TOKEN = "{}"', "{}_SECRET={}")
_POSIX = {"[:alnum:]": "a-zA-Z0-9", "[:alpha:]": "a-zA-Z", "[:digit:]": "0-9", "[:xdigit:]": "0-9a-fA-F"}


class Pattern(NamedTuple):
    """An expression of a rule, and whether it asks for the vendor's name before the value."""

    text: str
    named: bool


class TheirRule(NamedTuple):
    name: str
    vendor: str
    patterns: tuple[Pattern, ...]


# The lists.


def of_gitleaks(file: Path) -> Iterator[TheirRule]:
    for rule in tomllib.loads(file.read_text())["rules"]:
        if "regex" in rule:
            vendor = re.split(r"[._ -]", rule.get("keywords", [rule["id"]])[0])[0] or rule["id"].split("-")[0]
            yield TheirRule(rule["id"], vendor, (Pattern(rule["regex"], ":{1,3}=" in rule["regex"]),))


def of_detect_secrets(plugins: Path) -> Iterator[TheirRule]:
    """By plugin; those that look for random text or for names have no expression."""
    for file in sorted(plugins.glob("*.py")):
        tree = ast.parse(file.read_text())
        for detector in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            names: dict[str, str] = {}
            for node in [*tree.body, *detector.body]:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    folded = _folded(node.value, names)
                    if folded is not None:
                        names[node.targets[0].id] = folded
            calls = (node for node in ast.walk(detector) if isinstance(node, ast.Call) and node.args)
            texts = [_folded(call.args[0], names) for call in calls if _called(call) == "compile"]
            named = "build_assignment_regex" in ast.dump(detector)
            found = tuple(Pattern(text, named) for text in texts if text)
            if named and not found:
                found = (Pattern(names.get("secret", "[a-z0-9]{40}"), True),)
            if found:
                yield TheirRule(file.stem, file.stem.split("_")[0], found)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _folded(node: ast.AST, names: dict[str, str]) -> str | None:
    """The text of an expression of constants."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.FormattedValue):
        return _folded(node.value, names)
    if isinstance(node, ast.JoinedStr):
        return _joined([_folded(part, names) for part in node.values])
    if isinstance(node, ast.BinOp):
        return _joined([_folded(node.left, names), _folded(node.right, names)])
    return None


def _joined(parts: list[str | None]) -> str | None:
    return None if None in parts else "".join(part for part in parts if part)


_COMPILED = re.compile(r"MustCompile\((.*)\)")
_OF_NAMES = re.compile(r"PrefixRegex\(\[\]string\{[^}]*\}\)")
_BUILT = re.compile(r'BuildRegex(?:JWT)?\((?:common\.)?(\w+), "([^"]*)", "?(\d+)')
_TEXT = re.compile(r"`([^`]*)`")


def of_trufflehog(detectors: Path) -> Iterator[TheirRule]:
    """By detector: it has a counterpart if one of its expressions has."""
    for folder in sorted(path for path in detectors.iterdir() if path.is_dir()):
        files = [file for file in sorted(folder.rglob("*.go")) if not file.name.endswith("_test.go")]
        calls = [call for file in files for call in _COMPILED.findall(file.read_text())]
        patterns = []
        for call in calls:
            rest = _OF_NAMES.sub("", call)
            text = "".join(_TEXT.findall(rest))
            if built := _BUILT.search(rest):
                chars = {"HexPattern": "0-9a-f"}.get(built[1], "a-zA-Z0-9")
                text = f"([{chars}{re.escape(built[2])}]{{{built[3]}}})"
            if text:
                patterns.append(Pattern(text, rest != call))
        if patterns:
            yield TheirRule(folder.name, folder.name, tuple(patterns))


# Making up a value.


def in_python(pattern: str) -> str:
    """The expression as Python's parser reads it; case does not matter here."""
    for name, chars in _POSIX.items():
        pattern = pattern.replace(name, chars)
    pattern = re.sub(r"\(\?[imsU]+\)", "", pattern)
    pattern = re.sub(r"\(\?[imsU]*-[imsU]+:", "(?:", pattern)
    return pattern.replace(r"\z", r"\Z")


class _Writer:
    """Writes a text that an expression matches, and remembers its groups."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.groups: dict[int, str] = {}

    def text(self, parts: Any) -> str:
        return "".join(self._part(kind, given) for kind, given in parts)

    def _part(self, kind: Any, given: Any) -> str:
        if kind is kinds.LITERAL:
            return chr(given)
        if kind in (kinds.IN, kinds.ANY, kinds.NOT_LITERAL):
            return self.rng.choice(_allowed(kind, given))
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            least, most, inner = given
            count = LONG if least and most is kinds.MAXREPEAT and _is_wide(inner) else least
            return "".join(self.text(inner) for _ in range(count))
        if kind is kinds.SUBPATTERN:
            self.groups[given[0] or 0] = text = self.text(given[3])
            return text
        if kind is kinds.BRANCH:
            return self.text(self.rng.choice(given[1]))
        if kind is kinds.ATOMIC_GROUP:
            return self.text(given)
        return self.groups.get(given, "") if kind is kinds.GROUPREF else ""


def _allowed(kind: Any, given: Any) -> str:
    if kind is kinds.ANY:
        return LETTERS
    expression = re.compile("[^" + re.escape(chr(given)) + "]") if kind is kinds.NOT_LITERAL else None
    chars = (
        [char for char in map(chr, range(32, 127)) if expression.match(char)] if expression else _of(given)
    )
    return "".join(char for char in chars if char in LETTERS) or "".join(chars) or "a"


def _of(items: Any) -> list[str]:
    chars = {char for char in map(chr, range(32, 127)) if any(_is_in(char, *item) for item in items)}
    return sorted(set(map(chr, range(32, 127))) - chars if items[0][0] is kinds.NEGATE else chars)


def _is_in(char: str, kind: Any, given: Any) -> bool:
    if kind is kinds.LITERAL:
        return bool(ord(char) == given)
    if kind is kinds.RANGE:
        return bool(given[0] <= ord(char) <= given[1])
    classes = {kinds.CATEGORY_DIGIT: r"\d", kinds.CATEGORY_WORD: r"\w", kinds.CATEGORY_SPACE: r"\s"}
    return kind is kinds.CATEGORY and bool(re.match(classes.get(given, "(?!)"), char))


def _is_wide(inner: Any) -> bool:
    kind, given = inner[0]
    return (
        len(inner) == 1
        and kind in (kinds.IN, kinds.ANY, kinds.NOT_LITERAL)
        and len(_allowed(kind, given)) > 9
    )


def made_up(pattern: Pattern, seed: int) -> tuple[str, str]:
    """A text that the expression matches, and the secret in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = parser.parse(in_python(pattern.text))
    text = secret = ""
    for attempt in range(20):
        writer = _Writer(1000 * seed + attempt)
        text = writer.text(parts)
        secret = next((group for number, group in sorted(writer.groups.items()) if number and group), text)
        if any(char.isdigit() for char in secret):
            break
    return text, secret


# Asking Segue.


def _masks(text: str, secret: str) -> bool:
    masked = redact(text)
    return not any(part in masked for part in (secret, secret[:12], secret[-12:]))


def counterpart(rule: TheirRule) -> str:
    """``shape``, ``name``, or nothing."""
    found = ""
    for pattern in rule.patterns:
        try:
            values = [made_up(pattern, seed) for seed in SEEDS]
        except (re.error, RecursionError, OverflowError):
            continue
        if all(_masks(f"use {text if not pattern.named else secret} now", secret) for text, secret in values):
            return "shape"
        vendor = re.sub(r"\W", "_", rule.vendor).upper()
        if any(all(_masks(name.format(vendor, secret), secret) for _, secret in values) for name in NAMES):
            found = "name"
    return found


def row(tool: str, rules: list[TheirRule]) -> tuple[list[str], list[str]]:
    """A row of the table, and the names of the rules without a counterpart."""
    kinds_of = {rule.name: counterpart(rule) for rule in rules}
    counts = [sum(kind == wanted for kind in kinds_of.values()) for wanted in ("shape", "name", "")]
    return [tool, str(len(rules)), *map(str, counts)], [name for name, kind in kinds_of.items() if not kind]
