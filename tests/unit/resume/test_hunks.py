"""What is uncommitted, and what a file refers to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from segue.effects.git.hunks import HunkQuery
from segue.effects.related import outline, references


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
    return tmp_path


def test_a_change_comes_with_the_function_around_it(tree: Path) -> None:
    (tree / "a.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 22\n")
    (found,) = HunkQuery(tree, seconds=10).changes().files
    assert found.path == "a.py"
    assert "-    return 2\n+    return 22" in found.text
    assert " def two():" in found.text


def test_a_new_file_is_given_by_its_beginning_and_a_binary_one_is_not(tree: Path) -> None:
    (tree / "größe neu.py").write_text("size = 1\n")
    (tree / "image.png").write_bytes(b"\x89PNG\0\0")
    (found,) = HunkQuery(tree, seconds=10).changes().files
    assert (found.path, found.text, found.new) == ("größe neu.py", "size = 1\n", True)


def test_without_time_or_without_git_nothing_is_told(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert HunkQuery(tmp_path_factory.mktemp("bare"), seconds=10).changes().files == ()
    slow = tmp_path_factory.mktemp("bin") / "git"
    slow.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent))
    found = HunkQuery(tree, seconds=0.05).changes()
    assert found.cut and found.files == ()


def test_nothing_that_a_repository_names_is_run(tree: Path) -> None:
    subprocess.run(["git", "-C", str(tree), "config", "diff.external", "touch ran"], check=True)
    (tree / ".gitattributes").write_text("*.py diff=evil\n")
    subprocess.run(["git", "-C", str(tree), "config", "diff.evil.textconv", "touch ran; cat"], check=True)
    (tree / "a.py").write_text("def one():\n    return 3\n")
    HunkQuery(tree, seconds=10).changes()
    assert not (tree / "ran").exists()


def test_a_file_refers_to_what_it_imports_in_the_project(tmp_path: Path) -> None:
    (tmp_path / "src" / "shop").mkdir(parents=True)
    (tmp_path / "src" / "shop" / "money.py").write_text("RATE = 1\n\n\ndef to_cents(x):\n    return x\n")
    (tmp_path / "src" / "shop" / "parse.py").write_text(
        "import os\nfrom .money import to_cents\nfrom . import tax\n"
    )
    (tmp_path / "src" / "shop" / "tax.py").write_text("class Tax:\n    pass\n")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "cart.ts").write_text("export function total(): number {\n  return 1\n}\n")
    (tmp_path / "web" / "app.ts").write_text("import { total } from './cart'\nimport x from 'react'\n")
    assert list(references(tmp_path, "src/shop/parse.py")) == ["src/shop/money.py", "src/shop/tax.py"]
    assert list(references(tmp_path, "web/app.ts")) == ["web/cart.ts"]
    assert list(references(tmp_path, "gone.py")) == []
    assert outline(tmp_path, "src/shop/money.py") == "def to_cents(x):"
    assert outline(tmp_path, "web/cart.ts") == "export function total(): number {"
