"""The pages in a real browser. Without one, these tests are skipped, and it is said aloud."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.browser import axe, opened_browser
from tests.support.pages import PagesProcess, entered
from tests.support.programs import CannotInstall
from tests.support.server import SegueServer
from tests.support.workplace import SHOP_SESSION, Workplace, made

OpenPage = Callable[..., Any]
WAIT_MS = 30_000
"""How long to wait for something on a machine that is busy with other things."""
LONG_SESSION, LONG_WORD = "long", "Donaudampfschifffahrt" * 12


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.timeout(300))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = [one for one in terminalreporter.stats.get("skipped", ()) if "tests/browser" in str(one.nodeid)]
    if skipped:
        terminalreporter.write_sep("!", "THE PAGES WERE NOT TESTED IN A BROWSER", red=True, bold=True)
        terminalreporter.write_line(f"{len(skipped)} tests were skipped: chromium and npm are needed.")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    try:
        with opened_browser() as running:
            yield running
    except CannotInstall as fault:
        pytest.skip(f"NOT TESTED in a browser: {fault}")


@pytest.fixture(scope="session")
def judge(browser: Any) -> str:
    """axe-core."""
    try:
        return axe()
    except CannotInstall as fault:
        pytest.skip(f"NOT TESTED with axe-core: {fault}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A machine with work on it, a session with many events, and long words."""
    place = made(tmp_path_factory.mktemp("workplace"))
    with place.open(place.site) as segue:
        session = segue.start(f"A goal with a long word {LONG_WORD}", id=LONG_SESSION)
        for number in range(230):
            session.note(f"note number {number} {LONG_WORD if number == 229 else ''}")
        for number in range(60):
            segue.start(f"Another task {number}", id=f"task-{number}")
        segue.remember(f"A long word: {LONG_WORD}", session=LONG_SESSION)
        segue.make_current(LONG_SESSION)
    with place.open() as segue:
        segue.make_current(SHOP_SESSION)
    return place


@pytest.fixture(scope="module")
def ui(browser: Any, place: Workplace) -> Iterator[PagesProcess]:
    with PagesProcess(place.home, place.shop) as running:
        yield running


@pytest.fixture(scope="module")
def cookies(ui: PagesProcess) -> list[dict[str, str]]:
    """What a browser has that has followed the link."""
    client = entered(ui)
    return [
        {"name": name, "value": value, "url": f"{ui.origin}/ui"} for name, value in client.cookies.items()
    ]


class Watch:
    """What a browser complained about, and what it asked of others."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.allowed: tuple[str, ...] = ()
        """Parts of complaints that a test brings about."""

    def over(self, page: Any) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda fault: self._complaint(str(fault)))
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._complaint(message.text)

    def _complaint(self, text: str) -> None:
        if not any(part in text for part in self.allowed):
            self.complaints.append(text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.elsewhere.append(request.url)


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Fails a test in which the browser complained, for example of the Content-Security-Policy, or asked
    another host."""
    watched = Watch()
    yield watched
    assert watched.complaints == [] and watched.elsewhere == []


@pytest.fixture
def open_page(browser: Any, watch: Watch) -> Iterator[OpenPage]:
    """A page in a context of its own: ``open_page(cookies, color_scheme="dark", width=390)``."""
    contexts = []

    def opened(cookies: list[dict[str, str]] | None = None, *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        context.set_default_timeout(WAIT_MS)
        context.add_cookies(cookies or [])
        page = context.new_page()
        watch.over(page)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def server(browser: Any, tmp_path: Path) -> Iterator[SegueServer]:
    with SegueServer(tmp_path / "server", options=["--rate", "0"]) as running:
        yield running
