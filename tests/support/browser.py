"""A real Chromium, driven by Playwright, and axe-core, which judges whether everybody can use a page.

The browser is the system's (Debian's `chromium`, or any that is on the path); axe-core is installed by npm
into the folder where the end-to-end tests keep their programs. What is missing is said.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.programs import CannotInstall, npm_install

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CACHE = Path(os.environ.get("SEGUE_E2E_CACHE") or Path.home() / ".cache" / "segue-e2e")
AXE = "axe-core@4.14.0"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """The path of the browser. Raises CannotInstall."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise CannotInstall("there is no chromium on PATH")


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """A browser without a window. Raises CannotInstall."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise CannotInstall("the package playwright is not installed: `make test-browser` does it") from None
    with sync_playwright() as playwright:
        sandbox = [] if os.getuid() else ["--no-sandbox"]  # root has none
        browser = playwright.chromium.launch(executable_path=path, args=sandbox)
        yield browser
        browser.close()


@cache
def axe() -> str:
    """The script of axe-core. Raises CannotInstall."""
    folder = CACHE / AXE.replace("@", "-")
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not script.exists():
                npm_install(folder, AXE)
    return script.read_text()


def violations(page: Any) -> list[str]:
    """What axe-core finds wrong on a page: the rule, and the elements."""
    page.evaluate(axe())
    found: list[tuple[str, list[str]]] = page.evaluate(
        "axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))]))"
    )
    return [f"{rule}: {nodes}" for rule, nodes in found]
