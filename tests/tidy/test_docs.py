"""Documents are held true: generated pages, links, paths, examples and recordings are checked.

Python blocks of a page run as one program, in a project and a data folder of their own; a block
under ``<!-- not run: why -->`` does not. Recordings are run by ``docs_recordings``.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tidy.docs_briefs import PAGE, briefs, shown, with_briefs
from tests.tidy.docs_recordings import alike, play, recorded, steps
from tests.tidy.docs_reference import FOLDER, PACKAGE, PAGES, RETURNED, error_classes, found, public_methods
from tests.tidy.test_repository import ROOT, files

import segue
from segue import settings
from segue.core import event_kinds
from segue.surfaces.cli.table import TABLE

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"(<!-- not run: [^>]+-->\n+)?^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATH = re.compile(r"`([\w.][\w./*-]*)`")


def documents() -> list[Path]:
    return [path for path in files() if path.suffix == ".md"]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pages(pattern: re.Pattern[str]) -> list[str]:
    """The documents in which something occurs."""
    return [name_of(p) for p in documents() if pattern.search(p.read_text(encoding="utf-8"))]


# -- generated pages -------------------------------------------------------------------------------


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_committed_reference_is_what_the_code_gives(page: str) -> None:
    assert (FOLDER / page).read_text(encoding="utf-8") == PAGES[page](), "run `make docs`"


def test_the_guide_shows_the_briefs_that_the_code_gives() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_briefs(page) == page, "run `make docs`"


def test_the_guide_shows_ten_briefs_of_a_believable_length() -> None:
    made = briefs()
    assert shown(PAGE.read_text(encoding="utf-8")) == list(made) and len(made) == 10
    assert all(800 <= len(brief.encode()) <= 2_048 for brief in made.values())


def test_every_public_name_is_in_the_library_reference() -> None:
    page = text_of("docs/reference/library.md")
    names = [*segue.__all__, *segue.testing.__all__]
    assert not [name for name in names if f"`{name}" not in page and f"# {name}\n" not in page]


def test_every_error_is_in_the_reference_of_errors() -> None:
    page = text_of("docs/reference/errors.md")
    assert not [k.__name__ for k in error_classes() if f"| `{k.__name__}`" not in page]


def test_every_setting_and_variable_is_in_the_reference_of_settings() -> None:
    page = text_of("docs/reference/settings.md")
    assert not [s.name for s in settings.DECLARED if f"| `{s.name}` |" not in page]
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    variables = set(re.findall(r"\bSEGUE_[A-Z_]+\b", source))
    assert not [name for name in sorted(variables) if f"`{name}`" not in page]


def test_every_command_is_in_the_reference_of_commands() -> None:
    page = text_of("docs/reference/cli.md")
    assert not [name for name in TABLE if f"### segue {name}\n" not in page]


def test_every_kind_of_event_is_in_the_reference_of_events() -> None:
    page = text_of("docs/reference/events.md")
    assert not [kind for kind in event_kinds.BODIES if f"| `{kind}` |" not in page]


def test_every_public_method_has_an_example_in_the_guide_to_the_library() -> None:
    code = "".join(match[2] for match in PYTHON.finditer(text_of("docs/guides/library.md")) if not match[1])
    kinds = [segue.Segue, segue.Session, *(found(path) for path in RETURNED)]
    missing = [
        f"{kind.__name__}.{node.name}"
        for kind in kinds
        for node in public_methods(kind)
        if node.name not in ("__init__", "keep_unsaved", "now_saved")
        and not re.search(rf"\.{node.name}\b", code)
    ]
    assert not missing


# -- links and paths -------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links(path: Path) -> list[str]:
    dead = []
    for link in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        wrong = anchor and target.suffix == ".md" and target.exists() and anchor not in anchors(target)
        if wrong or not target.exists():
            dead.append(link)
    return dead


def test_no_relative_link_of_a_document_is_dead() -> None:
    dead = [f"{name_of(path)}: {link}" for path in documents() for link in dead_links(path)]
    assert not dead, "\n".join(dead)


def test_a_dead_link_and_a_dead_anchor_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A head\n[a](gone.md) [b](page.md#a-head) [c](#nowhere) [d](https://example.org)\n")
    assert dead_links(page) == ["gone.md", "#nowhere"]


def gone_paths(page: str) -> list[str]:
    """Paths in backticks that are not there. A folder's name holds for the rest of its line, in a heading
    for all that is below it."""
    gone: list[str] = []
    above: list[Path] = []
    for line in FENCE.sub("", page).splitlines():
        if line.startswith("#"):
            above = [ROOT / name for name in PATH.findall(line)]
        bases = [ROOT, PACKAGE, *above]
        for name in PATH.findall(line):
            if not name.endswith(("/", ".py", ".md", ".toml")):
                continue
            there = [base / name for base in bases if (base / name).exists()]
            bases += [path for path in there if path.is_dir()]
            gone += [] if there else [name]
    return gone


@pytest.mark.parametrize("page", ["AGENTS.md", "CONTRIBUTING.md", "docs/internals.md"])
def test_every_path_that_a_map_names_exists(page: str) -> None:
    assert not (gone := gone_paths(text_of(page))), "\n".join(gone)


def test_a_path_that_is_gone_is_noticed() -> None:
    page = "`src/segue/core/journal/`: `event.py`, `nowhere.py`\n`event.py` `src/segue/gone/` `make test`\n"
    assert gone_paths(page) == ["nowhere.py", "event.py", "src/segue/gone/"]
    below = "### In `src/segue/core/journal/`\n- `event.py`\n- `nowhere.py`\n### Elsewhere\n- `event.py`\n"
    assert gone_paths(below) == ["nowhere.py", "event.py"]


def test_every_module_of_a_flow_exists() -> None:
    flows = text_of("AGENTS.md").partition("## Five flows")[2].partition("## Where to add")[0]
    named = set(re.findall(r"(?<![\w/])[\w*]+(?:/[\w*]+)+\.py", flows))
    shortened = ("cli/", "http/", "mcp/")  # of a surface
    lost = [
        name
        for name in sorted(named)
        if not list(PACKAGE.glob(f"surfaces/{name}" if name.startswith(shortened) else name))
    ]
    assert len(named) > 15 and lost == []


def test_the_map_names_every_folder_of_the_package() -> None:
    page = text_of("AGENTS.md")
    folders = {path.parent.name for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE}
    agents = {path.parent.name for path in (PACKAGE / "agents").rglob("__init__.py")}
    assert [name for name in sorted(folders - agents) if name not in page] == []


def test_every_folder_of_the_package_says_what_lives_there() -> None:
    short = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("__init__.py")
        if len(ast.get_docstring(ast.parse(path.read_text())) or "") < 30
    ]
    assert short == []


# -- examples and recordings -----------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(PYTHON))
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    blocks = [match[2] for match in PYTHON.finditer(text_of(page)) if not match[1]]
    project = tmp_path / "shop"
    project.mkdir()
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=project, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", pages(re.compile("<!-- recorded -->")))
def test_a_recording_is_what_the_commands_say(page: str) -> None:
    written = recorded(text_of(page))
    said = play([step.command for step in written])
    for step, now in zip(written, said, strict=True):
        assert alike(step.said) == alike(now), f"$ {step.command}\n{now}"


def test_a_recording_is_taken_apart_into_commands_and_what_they_said() -> None:
    got = list(steps("$ one \\\n    more\nsaid\n\nso\n$ two\n"))
    assert [(s.command, s.said) for s in got] == [("one \\\n    more", "said\n\nso"), ("two", "")]


def test_the_readme_gives_the_two_commands_for_people_in_a_hurry() -> None:
    page = text_of("README.md")
    assert "make demo" in page and "make test" in page


def test_every_page_is_in_the_site() -> None:
    named = set(re.findall(r"^ +- ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert named == {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
