"""What happens while a page is open: changes by others, a server that dies and comes back, two users."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.browser.conftest import OpenPage
from tests.support.browser import violations
from tests.support.pages import PagesProcess
from tests.support.rest import begun, done
from tests.support.server import SegueServer
from tests.support.workplace import SHOP_SESSION, Workplace, site_run

from segue.core.runs.steps import Call, Prompt, Result, Say, Start, Step

SESSION = f"/ui/session/{SHOP_SESSION}"
LOST = "The server does not answer"


def mark(page: Any) -> None:
    """Leave something behind that a reload would take away."""
    page.evaluate("window.notReloaded = true")


def was_not_reloaded(page: Any) -> bool:
    return bool(page.evaluate("window.notReloaded === true"))


def sign_in(page: Any, server: SegueServer, key: str) -> None:
    page.goto(f"{server.url}/ui/session/team")
    page.locator("#key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="goal of team").wait_for()


def test_now_shows_what_others_do_without_a_reload(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace
) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui")
    mark(page)
    ui.segue("ask", "May the old cookies go?")
    page.get_by_role("link", name="May the old cookies go?").wait_for()
    steps = [*site_run(time.time() - 20, place.site)[:2], Prompt(time.time() - 10, "Index the docs at night"),
             Call(time.time() - 5, "n1", "bash", "run", text="make index", command="make index")]  # fmt: skip
    place.place("opencode", steps, "ses_night", place.site)
    page.get_by_role("link", name="Index the docs at night").wait_for()
    assert page.get_by_text("make index").is_visible() and was_not_reloaded(page)


def test_a_session_shows_what_others_do_and_takes_nothing_away(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    mark(page)
    page.get_by_label("Note").press_sequentially("half a sen")
    page.locator(".feature summary").last.click()
    page.get_by_label("Why", exact=True).fill("because of this")
    page.get_by_label("Note").focus()
    page.keyboard.press("ArrowLeft")
    ui.segue("ask", "A first question?")
    page.get_by_role("region", name="Open questions").get_by_text("A first question?").wait_for()
    ui.segue("feature", "add", "new", "Something new works", "--check", "true")
    page.locator(".feature", has_text="Something new works").wait_for()
    assert page.get_by_label("Note").input_value() == "half a sen"
    assert page.get_by_label("Why", exact=True).input_value() == "because of this"
    assert page.evaluate("[document.activeElement.id, document.activeElement.selectionStart]") == ["note", 9]
    assert page.locator(".feature", has_text="An expired token").get_attribute("open") is not None
    assert page.locator(".feature[open]").count() == 1 and was_not_reloaded(page)


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_a_run_is_followed_while_it_goes_on(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace, agent: str
) -> None:
    at, native = time.time() - 30, f"{'ses' if agent == 'opencode' else '9f0c2a54'}-follow-{agent}"
    steps: list[Step] = [
        Start(at, "start", native=native, cwd=str(place.site)), Prompt(at, "Count to a hundred"),
        *(Say(at + 1, f"Number {number} is counted.") for number in range(40)),
        Call(at + 2, "x1", "bash", "run", text="seq 100", command="seq 100"),
    ]  # fmt: skip
    key = place.place(agent, steps, native, place.site)
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/run/{key}")
    mark(page)
    assert page.get_by_text("at work").count() <= 1 and page.locator(".step.prompt").count() == 1
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    steps += [Result(at + 3, "x1", ok=True, exit=0, text="one two three"), Say(at + 4, "It is counted now.")]
    place.place(agent, steps, native, place.site)
    page.get_by_text("It is counted now.").wait_for()
    page.wait_for_function("() => innerHeight + scrollY >= document.documentElement.scrollHeight - 40")
    assert was_not_reloaded(page) and page.locator(".step.output", has_text="one two three").count() == 1
    page.evaluate("scrollTo(0, 0)")
    place.place(agent, [*steps, Say(at + 5, "Shall I go on?")], native, place.site)
    page.locator(".step", has_text="Shall I go on?").wait_for(state="attached")
    assert page.evaluate("scrollY") == 0, "who reads the beginning stays there"


def test_an_answer_that_is_being_typed_stays_with_its_question(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    for number in (1, 2, 3):
        ui.segue("ask", f"Which of the {number}?")
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    questions = page.get_by_role("region", name="Open questions").get_by_role("listitem")
    questions.filter(has_text="Which of the 3?").get_by_label("Answer").fill("the third")
    ui.segue("answer", "Which of the 1?", "the first")
    questions.filter(has_text="Which of the 1?").wait_for(state="detached")
    assert questions.filter(has_text="Which of the 3?").get_by_label("Answer").input_value() == "the third"
    assert questions.filter(has_text="Which of the 2?").get_by_label("Answer").input_value() == ""


def test_a_page_that_is_hidden_keeps_no_connection_and_catches_up(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies)
    page.add_init_script(
        "window.open_streams = 0; const Real = EventSource; window.EventSource = class extends Real {"
        " constructor(at) { super(at); open_streams += 1; } close() { super.close(); open_streams -= 1; } };"
        " window.EventSource.CLOSED = 2; let hidden = false;"
        " Object.defineProperty(document, 'hidden', { get: () => hidden });"
        " window.hide = (is) => { hidden = is; document.dispatchEvent(new Event('visibilitychange')); };"
    )
    page.goto(f"{ui.origin}{SESSION}")
    page.wait_for_function("() => window.open_streams === 1")
    page.evaluate("window.hide(true)")
    assert page.evaluate("window.open_streams") == 0
    ui.segue("note", "while nobody looked")
    page.evaluate("window.hide(false)")
    page.locator(".timeline").get_by_text("while nobody looked").wait_for()


def test_a_server_that_was_killed_comes_back_and_the_page_goes_on_by_itself(
    open_page: OpenPage, server: SegueServer, watch: Any
) -> None:
    watch.allowed = ("ERR_", "Failed to load", "NetworkError", "/ui/live")
    begun(server, "team", "one", "two")
    page = open_page()
    sign_in(page, server, server.token)
    mark(page)
    assert page.get_by_text(LOST).is_hidden()
    server.kill()
    page.get_by_text(LOST).wait_for()
    page.get_by_label("Note").fill("typed while it was away")
    server.start()
    page.get_by_text(LOST).wait_for(state="hidden")
    done(
        server.ask(
            "POST", "/v1/sessions/team/commands", {"commands": [{"command": "Note", "text": "it is back"}]}
        )
    )
    page.locator(".timeline").get_by_text("it is back").wait_for()
    assert was_not_reloaded(page)
    page.get_by_role("button", name="Add the note").click()
    page.get_by_text("The note is saved").wait_for()
    assert page.locator(".timeline").get_by_text("typed while it was away").is_visible()


def test_pages_of_a_command_that_ended_say_that_it_does_not_answer(
    open_page: OpenPage, place: Workplace, watch: Any
) -> None:
    watch.allowed = ("ERR_", "Failed to load")
    with PagesProcess(place.home, place.shop) as ui:
        page = open_page()
        page.goto(ui.link)
        page.get_by_role("heading", name="At work").wait_for()
        assert not page.get_by_text(LOST).is_visible()
    page.get_by_text(LOST).wait_for()
    assert page.get_by_role("heading", name="At work").is_visible(), "what was there is still to be read"


def test_two_users_at_once_see_each_others_changes_and_each_may_do_what_their_role_allows(
    open_page: OpenPage, server: SegueServer, watch: Any
) -> None:
    watch.allowed = ("403",)
    begun(server, "team", "one", "two")
    writer, reader = open_page(), open_page()
    sign_in(writer, server, server.key(role="writer", project="default"))
    sign_in(reader, server, server.key(role="reader", project="default"))
    mark(reader)
    assert reader.locator("main form").count() == 0 and writer.locator("main form").count() > 2
    assert reader.get_by_text("reader", exact=True).is_visible()
    writer.get_by_label("Decision", exact=True).fill("we use HS256")
    writer.get_by_role("button", name="Decide").click()
    writer.get_by_text("The decision is saved").wait_for()
    reader.get_by_role("region", name="Decisions").get_by_text("we use HS256").wait_for()
    assert was_not_reloaded(reader)
    forged = reader.evaluate(
        "fetch('/ui/session/team/pause', { method: 'POST', body: new URLSearchParams({"
        " token: document.querySelector('input[name=token]').value }) }).then(answer => answer.status)"
    )
    assert forged == 403 and done(server.ask("GET", "/v1/sessions/team"))["status"] == "active"


def test_a_key_is_asked_for_and_a_wrong_one_refused(
    open_page: OpenPage, server: SegueServer, watch: Any, judge: str
) -> None:
    watch.allowed = ("401",)
    begun(server, "team", "one")
    for scheme in ("light", "dark"):
        page = open_page(color_scheme=scheme)
        page.goto(f"{server.url}/ui/session/team")
        page.locator("#key").fill("sgk_000000000000_" + "x" * 43)
        page.get_by_role("button", name="Sign in").click()
        assert "does not know it" in page.get_by_role("alert").inner_text()
        assert violations(page) == []
        sign_in(page, server, server.token)
        for path in (
            "/ui",
            "/ui/sessions",
            "/ui/search?q=one",
            "/ui/memory",
            "/ui/health",
            "/ui/figures",
            "/ui/figures?by=agent",
            "/ui/session/team",
        ):
            page.goto(f"{server.url}{path}")
            assert violations(page) == [], path
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in").wait_for()
