"""`make screenshots`: pictures of the main pages for README and docs, from a made store, light and dark."""

from __future__ import annotations

import sys
import tempfile
from base64 import b64decode
from pathlib import Path
from typing import Any

from tests.support.browser import opened_browser
from tests.support.pages import PagesProcess, entered
from tests.support.workplace import FIRST_RUN, SHOP_SESSION, Workplace, made, with_past

WIDTH, HEIGHT = 1200, 760
QUALITY = 75


def pages_of(place: Workplace) -> dict[str, str]:
    """The main pages, by the names of their pictures."""
    run = place.key("claude-code", FIRST_RUN)
    return {
        "now": "/ui", "session": f"/ui/session/{SHOP_SESSION}", "run": f"/ui/run/{run}",
        "search": "/ui/search?q=expired+tokens", "figures": "/ui/figures?by=agent",
    }  # fmt: skip


def main(folder: Path) -> None:
    """Make every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as root, opened_browser() as browser:
        place = made(Path(root))
        with_past(place)
        with PagesProcess(place.home, place.shop) as ui:
            cookies = [
                {"name": name, "value": value, "url": f"{ui.origin}/ui"}
                for name, value in entered(ui).cookies.items()
            ]
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce"
                )
                context.add_cookies(cookies)
                for name, path in pages_of(place).items():
                    file = folder / f"{name}-{scheme}.webp"
                    _picture(context, f"{ui.origin}{path}", file)
                    print(f"{file}: {file.stat().st_size / 1000:.0f} kB")
                context.close()


def _picture(context: Any, address: str, file: Path) -> None:
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(
        "() => !document.querySelector('[hx-trigger^=load]')"
    )  # nothing is still being read
    page.evaluate("document.activeElement.blur()")
    wanted = {"format": "webp", "quality": QUALITY}
    taken = context.new_cdp_session(page).send("Page.captureScreenshot", wanted)
    file.write_bytes(b64decode(taken["data"]))
    page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
