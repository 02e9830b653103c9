"""The tour with curl is run: each command of the guide against a real server, and what it said is compared.

``python -m tests.surfaces.test_rest_guide`` puts what the commands say now into the page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.support.server import SegueServer

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "rest.md"
BLOCK = r"(<!-- run -->\n```console\n)(.*?)(```)"
VARIES = (
    (r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", "DATE"),
    (r"\bm[0-9a-f]{12}\b", "MEMORY"),
    (r'"request":"[0-9a-f]{16}"', "REQUEST"),
    (r" +", " "),
)


def blocks(text: str) -> list[list[str]]:
    """The commands of each block."""
    found = [match[2] for match in re.finditer(BLOCK, text, re.DOTALL)]
    return [[line[2:] for line in one.splitlines() if line.startswith("$ ")] for one in found]


def said(text: str) -> list[str]:
    """The page's blocks as they are when their commands are run now."""
    told: list[str] = []
    with SegueServer(tempfile.mkdtemp(prefix="segue-guide-"), options=["--rate", "0"]) as server:
        key = server.key(role="writer", project="web")
        variables = {**os.environ, "URL": server.url, "KEY": key}
        for commands in blocks(text):
            lines = []
            for command in commands:
                ran = subprocess.run(
                    ["sh", "-c", command], env=variables, capture_output=True, text=True, timeout=60
                )
                lines += [f"$ {command}", *ran.stdout.rstrip("\n").splitlines()]
            told.append("\n".join(lines) + "\n")
    shutil.rmtree(server.home, ignore_errors=True)
    return told


def _alike(text: str) -> str:
    for pattern, word in VARIES:
        text = re.sub(pattern, word, text)
    return text


@pytest.mark.skipif(shutil.which("curl") is None, reason="NOT TESTED: the tour of the REST API needs curl")
def test_the_tour_says_what_the_server_answers() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = [match[2] for match in re.finditer(BLOCK, text, re.DOTALL)]
    now = said(text)
    assert len(shown) == len(now) > 5
    for before, after in zip(shown, now, strict=True):
        assert _alike(before) == _alike(after)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    fresh = iter(said(text))
    PAGE.write_text(
        re.sub(BLOCK, lambda m: m[1] + next(fresh) + m[3], text, flags=re.DOTALL), encoding="utf-8"
    )
