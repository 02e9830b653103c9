"""The briefs in the guide are real: this makes them of the runs in ``guide.txt`` and puts them into the
page.

A block ``text`` under the line ``<!-- brief: NAME -->`` holds the brief of the case with this name.
``test_docs.py`` compares; ``python -m tests.tidy.docs_briefs`` writes the page anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.brief_examples import examples

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "brief.md"
RUNS = ROOT / "tests" / "unit" / "brief" / "examples" / "guide.txt"
BLOCK = re.compile(r"(<!-- brief: (?P<name>[^>]+?) -->\n+```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def briefs() -> dict[str, str]:
    """The briefs of the runs, by name."""
    return {case.name: case.brief() for case in examples(RUNS)}


def shown(page: str) -> list[str]:
    """The names of the briefs that a page shows, in its order."""
    return [match["name"] for match in BLOCK.finditer(page)]


def with_briefs(page: str) -> str:
    """The page with the briefs as they are now."""
    found = briefs()
    return BLOCK.sub(lambda match: f"{match[1]}{found[match['name']]}\n", page)


if __name__ == "__main__":
    PAGE.write_text(with_briefs(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
