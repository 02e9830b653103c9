"""What every file of the repository keeps to: it stands on its own, and stays readable."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES_MAX = 650
LINES_MIN = 30
SMALL = {
    "__main__.py": "what `python -m segue` runs",
    "_failpoints.py": "imported by every durable write, so it imports nothing",
    "_folders.py": "imported by the hook before anything else, so it imports nothing",
    "core/event_kinds.py": "joins the events of all capabilities",
    "core/language/relation.py": "a type alone, so that the ledger loads no words",
    "core/search/kinds.py": "names alone, so that the list of MCP's tools needs no reader of runs",
    "core/base/json_prefix.py": "keeps Python's json off the path of a hook",
    "stores/forks.py": "one guard for three stores",
    "effects/processes/end_group.py": "the one place that knows groups of processes",
    "handover/adapters/_agents_md.py": "the name by which agent-handover's own tests import it",
    "api/features.py": "the façade of one capability",
    "api/ledger.py": "the façade of one capability",
    "surfaces/cli/views/since.py": "the view of one capability",
    "surfaces/cli/views/memories.py": "the view of one capability",
}
"""Modules of fewer lines, and why each is one by itself. Those of a command or a route need no reason."""
FOLDER_MAX = 20
MANY = ("surfaces/cli/commands", "surfaces/http/routes")

# Absolute or upward paths that exist only where somebody happens to work. Put together from
# pieces, so that this file does not hold them.
OUTSIDE = re.compile(
    "|".join(
        [
            r"(?<![\w.~})>-])/" + r"work(?![\w-])",
            r"\.\./" + r"shared(?![\w-])",
            r"(?<![\w.~})>-])/root" + r"/",
            r"/opt/" + r"(?:pypi|wheels)",
        ]
    )
)


def files() -> list[Path]:
    """All files that are tracked, or would be if they were added."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("NOT TESTED: this is no git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = sorted({ROOT / name for name in listing.split("\0") if name})
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def outside_mentions(text: str) -> list[int]:
    """The lines that mention a path outside of the repository."""
    return [n for n, line in enumerate(text.splitlines(), 1) if OUTSIDE.search(line)]


def test_no_file_mentions_a_path_outside_of_the_repository() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files()
        for line in outside_mentions(path.read_text(errors="replace"))
    ]
    assert not found, "\n".join(found)


def test_an_outside_path_is_noticed_and_a_lookalike_is_not() -> None:
    work, shared = "/" + "work", "../" + "shared"
    assert outside_mentions(f"fine\nsee {work}/main\n`{work}`\n[x]({shared}/X.md)") == [2, 3, 4]
    assert outside_mentions(f"https://example.org{work}/ src{work}s /{work[1:]}space {{tmp}}{work}") == []


def test_a_file_is_executable_exactly_if_it_says_what_runs_it() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in files()
        if path.read_bytes().startswith(b"#!") != bool(path.stat().st_mode & 0o100)
    ]
    assert not wrong, "\n".join(wrong)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


def test_every_module_of_the_package_opens_with_a_docstring() -> None:
    modules = sorted((ROOT / "src").rglob("*.py"))
    bare = [str(m.relative_to(ROOT)) for m in modules if not ast.get_docstring(ast.parse(m.read_text()))]
    assert not bare, "\n".join(bare)


def test_no_source_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in files() if path.suffix == ".py"}
    long = [f"{path.relative_to(ROOT)}: {n} lines" for path, n in lengths.items() if n > LINES_MAX]
    assert not long, "\n".join(long)


def test_no_module_is_tiny_without_a_reason() -> None:
    package = ROOT / "src" / "segue"
    tiny = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.name != "__init__.py" and len(path.read_text().splitlines()) < LINES_MIN
    }
    without = {name for name in tiny if not name.startswith(MANY)} - set(SMALL)
    assert not without, f"join them with what they serve: {sorted(without)}"
    assert not set(SMALL) - tiny, f"they have grown: {sorted(set(SMALL) - tiny)}"


def test_no_folder_holds_more_modules_than_a_reader_can_hold() -> None:
    package = ROOT / "src" / "segue"
    for folder in (path for path in package.rglob("*") if path.is_dir()):
        name = str(folder.relative_to(package))
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert name in MANY or len(modules) <= FOLDER_MAX, f"{name} holds {len(modules)} modules"


def needed(extra: str) -> set[str]:
    """The packages of an extra, with those of the extras that it names."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]
    found: set[str] = set()
    for line in wanted:
        name, inner = re.match(r"([\w.-]+)(?:\[([\w-]+)\])?", line).groups()  # type: ignore[union-attr]
        if name == "segue":
            found |= needed(inner)
        elif not (sys.platform == "win32" and "sys_platform" in line):
            found.add(name)
    return found


@pytest.mark.parametrize("package", sorted(needed("dev")))
def test_what_the_tests_need_is_installed_so_that_none_is_skipped_for_it(package: str) -> None:
    assert importlib.metadata.version(package)


def skips(path: Path) -> list[tuple[int, str]]:
    """(line, reason) of every skip in a file of tests; "" where none is said in words."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = next((one.value for one in node.keywords if one.arg == "reason"), None)
            told = node.args[0] if node.func.attr == "skip" and node.args else named
            if node.func.attr in ("skip", "skipif", "importorskip", "xfail"):
                text = told.values[0] if isinstance(told, ast.JoinedStr) else told
                found.append((node.lineno, str(text.value) if isinstance(text, ast.Constant) else ""))
    return found


def test_every_skip_says_loudly_what_was_not_tested() -> None:
    places = [(path, *skip) for path in sorted((ROOT / "tests").rglob("*.py")) for skip in skips(path)]
    quiet = [f"{path.name}:{line}: {why!r}" for path, line, why in places if not why.startswith("NOT TESTED")]
    assert len(places) > 20 and not quiet, "\n".join(quiet)
