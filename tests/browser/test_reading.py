"""Looking at every page: in light and dark, on a narrow screen, with the keyboard, without JavaScript."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.conftest import LONG_SESSION, OpenPage
from tests.support.browser import violations
from tests.support.pages import PagesProcess
from tests.support.workplace import FIRST_RUN, SHOP_SESSION, SITE_RUN, SITE_SESSION, Workplace

SESSION = f"/ui/session/{SHOP_SESSION}"
HEADINGS = {
    "/ui": "Now", "/ui/sessions": "Sessions", "/ui/search": "Search", "/ui/search?q=token": "Search",
    "/ui/runs": "Runs", "/ui/runs?sides=1": "Runs",
    "/ui/memory": "Memory", "/ui/memory?gone=1": "Memory", "/ui/health": "Health",
    "/ui/figures": "Figures", "/ui/figures?by=agent": "Figures", "/ui/figures?by=model&days=90": "Figures",
    "/ui/figures?by=project&days=7": "Figures",
    SESSION: "Move the shop's login to signed tokens with an expiry",
    f"/ui/session/{SITE_SESSION}": "Make the search page of the docs quick",
    f"/ui/session/{LONG_SESSION}": "A goal with a long word",
    f"/ui/session/{LONG_SESSION}?before=50": "A goal with a long word",
}  # fmt: skip


def headings(place: Workplace) -> dict[str, str]:
    """Every page with the beginning of its heading."""
    claude, opencode = place.key("claude-code", FIRST_RUN), place.key("opencode", SITE_RUN)
    return {
        **HEADINGS, f"/ui/run/{claude}": "Move the shop's login from cookies",
        f"/ui/run/{claude}?only=failed": "Move",
        f"/ui/run/{claude}?step=13": "Move", f"/ui/run/{opencode}": "The search page of the docs takes",
    }  # fmt: skip


def test_every_page_is_shown_with_its_heading(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace
) -> None:
    page = open_page(cookies)
    for path, heading in headings(place).items():
        page.goto(f"{ui.origin}{path}")
        assert page.locator("h1").inner_text().startswith(heading), path
        assert page.title().endswith("· Segue")
        assert page.locator("nav[aria-label=Pages] a").all_inner_texts()[:3] == ["Now", "Runs", "Sessions"]


def test_every_page_that_is_named_above_opens(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui")
    for name in page.locator("nav[aria-label=Pages] a").all_inner_texts():
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
        assert page.locator("h1").inner_text() == name
        assert page.locator("nav a[aria-current=page]").inner_text() == name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everybody_can_use_every_page(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace, judge: str, scheme: str, width: int
) -> None:
    page = open_page(cookies, color_scheme=scheme, width=width)
    for path in headings(place):
        page.goto(f"{ui.origin}{path}")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert violations(page) == [], f"{path} in {scheme}, {width} pixels wide"


def test_pages_about_faults_and_strangers_can_be_used_by_everybody(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, judge: str, watch: Any
) -> None:
    watch.allowed = ("404", "401", "400")
    for page in (open_page(cookies), open_page()):
        for path in ("/ui/session/nope", "/ui/nope", "/ui/sessions?page=x", "/ui/search?q=a&since=whenever"):
            page.goto(f"{ui.origin}{path}")
            assert violations(page) == [], path


def test_nothing_is_wider_than_a_narrow_screen(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace
) -> None:
    page = open_page(cookies, width=390)
    for path in headings(place):
        page.goto(f"{ui.origin}{path}")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, f"{path} is {wide} pixels too wide"


def test_everything_is_reached_with_the_keyboard_and_the_focus_is_seen(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies)
    for path in (SESSION, "/ui/memory", "/ui/search?q=token"):
        page.goto(f"{ui.origin}{path}")
        page.evaluate("document.activeElement.blur()")
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]"
            ".filter(one => one.type !== 'hidden' && !one.disabled && one.checkVisibility())"
            ".map((one, at) => { one.dataset.at = at; return at; })"
        )
        reached: dict[int, str] = {}
        for _ in range(2 * len(wanted) + 10):
            page.keyboard.press("Tab")
            at, outline = page.evaluate(
                "(() => { const one = document.activeElement; const how = getComputedStyle(one);"
                " return [one.dataset.at ?? -1, how.outlineStyle + ' ' + how.outlineWidth]; })()"
            )
            if int(at) in reached:
                break
            if int(at) >= 0:
                reached[int(at)] = outline
        assert sorted(reached) == wanted, path
        assert set(reached.values()) == {"solid 3px"}, path


def test_the_first_stop_leads_to_the_content(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/sessions")
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    assert skip.evaluate("one => one === document.activeElement")
    assert page.locator(".skip").bounding_box()["x"] >= 0, "the link is not seen while it has the focus"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_everything_can_be_read_without_javascript(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace
) -> None:
    page = open_page(cookies, java_script_enabled=False)
    for path, heading in headings(place).items():
        page.goto(f"{ui.origin}{path}")
        assert page.locator("h1").inner_text().startswith(heading), path
    page.goto(f"{ui.origin}/ui/sessions")
    page.get_by_role("link", name="Older").click()
    assert "2 of 2" in page.locator("main").inner_text()
    page.goto(f"{ui.origin}/ui/session/{LONG_SESSION}")
    assert page.locator(".timeline li").first.inner_text().find("note number 229") > 0
    page.get_by_role("link", name="Older").click()
    assert page.get_by_text("note number 120 ").count() == 1
    page.get_by_role("searchbox", name="Search everything").fill("leeway")
    page.keyboard.press("Enter")
    assert page.locator("mark").first.inner_text().lower() == "leeway"
    page.locator(".hits .where a").first.click()
    assert "leeway" in page.locator("li.step.here").first.inner_text()
    page.goto(f"{ui.origin}{SESSION}")
    page.get_by_label("Note").fill("a note without JavaScript")
    page.get_by_role("button", name="Add the note").click()
    assert page.get_by_text("The note is saved").count() == 1
    assert page.locator(".timeline").get_by_text("a note without JavaScript").count() == 1
    assert page.get_by_role("button", name="Copy the brief").count() == 0


def test_older_events_come_below_the_others_and_stay_there(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace
) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/session/{LONG_SESSION}")
    page.get_by_role("link", name="Older").click()
    page.locator("#event-100").wait_for()
    page.get_by_role("link", name="Older").click()
    page.locator("#event-1").wait_for()
    versions = page.locator(".timeline li").evaluate_all("all => all.map(one => one.id)")
    count = len(versions)
    assert versions == [f"event-{number}" for number in range(count, 0, -1)]
    ui.segue("note", "something new", folder=place.site)
    page.locator(f"#event-{count + 1}").wait_for()
    versions = page.locator(".timeline li").evaluate_all("all => all.map(one => one.id)")
    assert versions == [f"event-{number}" for number in range(count + 1, 0, -1)]


def test_a_source_of_the_brief_is_one_click_away(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace
) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    source = page.locator("#brief .line", has_text="wrote middleware.py").locator("a").first
    step = source.inner_text().removeprefix("#")
    source.click()
    here = page.locator(".step.here").first
    assert here.get_attribute("id") == f"step-{step}" and "middleware.py" in here.inner_text()


def test_a_search_answers_while_somebody_types(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/search")
    field = page.get_by_label("Search for")
    field.press_sequentially('"', delay=20)
    page.get_by_text("Type a word to search for").wait_for()
    field.press_sequentially("five seconds", delay=20)
    page.locator("mark").first.wait_for()
    assert field.input_value() == '"five seconds' and field.evaluate("one => one === document.activeElement")
    assert "q=%22five" in page.url
    page.get_by_label("Agent").select_option("opencode")
    page.get_by_text("Nothing found").wait_for()


@pytest.fixture
def other_site(ui: PagesProcess) -> Iterator[str]:
    """A page of another site that links to the pages."""
    link = f"{ui.origin}/ui/session/{SHOP_SESSION}"

    class Linking(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            form = f'<form method="post" action="{link}/pause"><button>x</button></form>'
            body = f'<a href="{link}">a session</a>{form}'
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Linking) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://localhost:{serving.server_port}/"
        serving.shutdown()


def test_a_link_on_another_site_leads_to_the_page_and_a_form_there_does_nothing(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, other_site: str, watch: Any
) -> None:
    watch.allowed = ("401", "403", "favicon")
    page = open_page(cookies)
    page.goto(other_site)
    page.get_by_role("link").click()
    page.get_by_role("heading", name="Move the shop's login").wait_for()
    page.goto(other_site)
    page.get_by_role("button").click()
    page.get_by_role("heading", name="That did not work").wait_for()
    assert "paused" not in ui.segue("status", SHOP_SESSION)
    watch.elsewhere = [one for one in watch.elsewhere if "localhost" not in one]


def test_the_printed_link_opens_the_pages(open_page: OpenPage, place: Workplace, browser: Any) -> None:
    with PagesProcess(place.home, place.shop) as ui:
        page = open_page()
        page.goto(ui.link)
        page.get_by_role("heading", name="At work").wait_for()
        assert page.url == f"{ui.origin}/ui" and page.evaluate("document.cookie") == ""
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_curves_are_drawn_and_their_numbers_are_shown_under_the_mouse(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, scheme: str
) -> None:
    page = open_page(cookies, color_scheme=scheme)
    for query in ("", "?by=agent", "?by=model&days=90", "?by=project&days=7"):
        page.goto(f"{ui.origin}/ui/figures{query}")
        page.locator(".curve canvas").first.wait_for()
        curves = page.locator("[data-curve]").count()
        assert page.locator(".curve canvas").count() == curves >= 3, query
        colours = page.locator(".curve canvas").first.evaluate(
            "one => new Set(new Uint32Array(one.getContext('2d')"
            ".getImageData(0, 0, one.width, one.height).data.buffer)).size"
        )
        assert colours > 5, "nothing is drawn"
    box = page.locator(".curve .u-over").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 20)
    legend = page.locator(".curve").first.locator(".u-legend").inner_text()
    assert "$" in legend and "-" in legend


def test_curves_fit_a_window_that_becomes_narrow(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/figures")
    page.locator(".curve canvas").first.wait_for()
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("() => document.querySelector('.curve .uplot').clientWidth < 390")
    assert page.locator(".curve canvas").count() == page.locator("[data-curve]").count()
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0


def test_curves_are_as_wide_as_a_phone_and_follow_their_place(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies, width=390)
    page.goto(f"{ui.origin}/ui/figures")
    page.wait_for_selector(".curve canvas")
    fits = """() => [...document.querySelectorAll(".curve")].every((one) => {
        const width = one.querySelector(".uplot").getBoundingClientRect().width;
        return width === one.clientWidth && one.getBoundingClientRect().right <= innerWidth;
    })"""
    page.wait_for_function(fits)
    page.evaluate('document.querySelector("main").style.paddingRight = "80px"')  # as by a scroll bar
    page.wait_for_function(fits)
    assert page.evaluate(fits)


def test_figures_are_read_in_tables_without_javascript(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies, java_script_enabled=False)
    page.goto(f"{ui.origin}/ui/figures?by=agent")
    while page.get_by_text("Reading what all agents used").count():
        page.get_by_role("link", name="Check again").click()
    rows = page.get_by_role("region", name="Totals by agent").get_by_role("row")
    assert "Claude Code" in rows.nth(1).inner_text() and rows.count() > 2
    page.locator("summary", has_text="Tokens").click()
    assert page.get_by_role("region", name="Tokens, day by day").get_by_role("row").count() > 1
    page.get_by_role("link", name="7 days").click()
    page.get_by_role("link", name="project", exact=True).click()
    assert page.url.endswith("/ui/figures?days=7&by=project")
