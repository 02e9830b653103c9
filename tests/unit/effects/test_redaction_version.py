"""The version of the rules that mask secrets changes with them."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

from segue.effects import redaction

VERSION_OF = {1: "1efe7d1b2452c5fe", 2: "6acec70f3e2e4af9"}
"""The code of the rules by their version, without comments and docstrings. After a change that masks more or
less, raise ``RULES_VERSION`` and add a line; after one that does not, only put the new hash here."""


def code_of(folder: Path) -> str:
    code = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            text = path.read_text(encoding="utf-8")
            lines, words = text.splitlines(), _lines_of_words(text)
            kept = (line.strip() for number, line in enumerate(lines, 1) if number not in words)
            code.update("\n".join(line for line in kept if line and not line.startswith("#")).encode())
    return code.hexdigest()[:16]


def _lines_of_words(text: str) -> set[int]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def test_the_version_is_raised_when_the_rules_change():
    now = code_of(Path(redaction.__file__).parent)
    assert VERSION_OF[redaction.RULES_VERSION] == now, "the rules were changed: see VERSION_OF"


def test_comments_and_docstrings_do_not_count(tmp_path):
    (tmp_path / "rules.py").write_text('"""Words."""\nX = 1\n"""Of X."""\n')
    before = code_of(tmp_path)
    (tmp_path / "rules.py").write_text("# other words\nX = 1\n")
    assert code_of(tmp_path) == before
    (tmp_path / "rules.py").write_text("X = 2\n")
    assert code_of(tmp_path) != before
