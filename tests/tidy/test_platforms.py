"""What differs between platforms is kept in few modules, so that it can be tried by simulation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "segue"
HOME_OF: dict[str, dict[str, str]] = {
    "locks": {"_locks.py": "locks on files", "effects/files/atomic.py": "the full sync of macOS"},
    "file modes": {"effects/files/atomic.py": "modes of files"},
    "paths": {
        "_folders.py": "the data folder", "settings.py": "the user's settings",
        "effects/surroundings.py": "where an environment has its interpreter",
        "agents/cline/install.py": "the folder of documents, as Linux names it",
    },
    "the store": {
        "stores/sqlite/database.py": "the full sync of macOS",
        "stores/sqlite/file_system.py": "how mounts are listed",
        "effects/files/database_file.py": "the full sync of macOS",
    },
    "processes": {
        "effects/processes/check_runner.py": "checks, which leave no process behind",
        "effects/processes/checks.py": "refuses where there is no such runner",
        "effects/processes/end_group.py": "ends a group",
        "effects/processes/identity.py": "who a process is",
        "effects/processes/launch.py": "agents",
        "services/runs/sync_workers.py": "readers beside this one, where processes can be forked",
        "surfaces/cli/commands/run.py": "refuses on Windows",
        "surfaces/cli/commands/ui.py": "opens a browser",
        "surfaces/cli/screen.py": "stops itself as the terminal asks",
        "services/resume/emergency.py": "whose the folder is",
        "services/workspace/data_folder.py": "a name for the user",
    },
    "signals": {
        "effects/processes/check_runner.py": "of checks", "effects/processes/end_group.py": "kills",
        "effects/processes/identity.py": "stops a process that is surely the one",
        "effects/processes/launch.py": "of agents", "services/resume/emergency.py": "saves before the end",
        "services/resume/interruptions.py": "names of signals",
        "surfaces/cli/commands/hold.py": "passes them on",
        "surfaces/cli/commands/run.py": "of the supervisor", "surfaces/cli/screen.py": "of a terminal",
        "surfaces/hook/entry.py": "the time limit", "surfaces/http/server/process.py": "of the server",
    },
}  # fmt: skip
MODULES = {"fcntl": "locks", "msvcrt": "locks", "signal": "signals", "pwd": "paths"}
CALLS = {
    "os.chmod": ("file modes",), "os.fchmod": ("file modes",), "os.umask": ("file modes",),
    "os.fork": ("processes",), "os.kill": ("processes",), "os.killpg": ("processes",),
    "os.getuid": ("processes",), "os.geteuid": ("processes",), "os.setsid": ("processes",),
    "os.waitpid": ("processes",), "os.name": ("processes", "paths", "file modes"),
    "sys.platform": ("processes", "paths", "the store", "locks"),
}  # fmt: skip
"""What is used of modules that every platform has, and where it may be."""
APART = ("testing", "integrations")
"""Shipped for tests, or for programs of others."""


def used(tree: ast.AST) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """(line, what, which homes it may have) of everything that differs between platforms."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""] if not node.level else []
            yield from ((node.lineno, name, (MODULES[name],)) for name in names if name in MODULES)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if name in CALLS:
                yield node.lineno, name, CALLS[name]


def strays(tree: ast.AST, module: str) -> list[str]:
    return [
        f"line {line}: {what}" for line, what, homes in used(tree)
        if not any(module in HOME_OF[home] for home in homes)
    ]  # fmt: skip


def test_the_check_sees_what_differs() -> None:
    code = "import fcntl\nfrom signal import SIGTERM\nos.chmod(path, 0o600)\nif os.name == 'nt': os.fork()\n"
    assert len(strays(ast.parse(code), "core/base/text.py")) == 5
    assert strays(ast.parse("import fcntl"), "_locks.py") == []


@pytest.mark.parametrize("home", HOME_OF)
def test_a_module_that_is_named_uses_what_it_is_named_for(home: str) -> None:
    for module in HOME_OF[home]:
        tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
        assert any(home in homes for _, _, homes in used(tree)), f"{module} needs no line under {home!r}"


def test_what_differs_between_platforms_stays_in_its_modules() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        if module.split("/")[0] not in APART:
            found += [
                f"{module}, {one}" for one in strays(ast.parse(path.read_text(encoding="utf-8")), module)
            ]
    assert not found, "\n".join(found)
