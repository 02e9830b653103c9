"""Every action, as somebody does it: with a mouse, on a page of `segue ui`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.browser.conftest import LONG_SESSION, OpenPage
from tests.support.pages import PagesProcess
from tests.support.workplace import FIRST_RUN, SHOP_SESSION, SITE_RUN, SITE_SESSION, Workplace

SESSION = f"/ui/session/{SHOP_SESSION}"


def status(ui: PagesProcess, session: str = SHOP_SESSION) -> Any:
    return json.loads(ui.segue("status", "--json", session))


def test_a_session_is_paused_and_goes_on(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/session/{SITE_SESSION}")
    page.get_by_label("Why pause?").fill("lunch")
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("The session is paused.").wait_for()
    assert (
        page.get_by_role("paragraph").filter(has_text="paused: lunch").is_visible()
        and status(ui, SITE_SESSION)["status"] == "paused"
    )
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("The session is active again.").wait_for()
    assert page.get_by_role("button", name="Pause").is_visible()
    assert "resumed" in ui.segue("log", "--session", SITE_SESSION)


def test_a_note_and_a_decision_are_recorded(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    page.get_by_label("Note").fill("the clock of the runner is late")
    page.get_by_role("button", name="Add the note").click()
    page.get_by_text("The note is saved").wait_for()
    page.get_by_label("Decision", exact=True).fill("leeway of five seconds")
    page.get_by_label("Why", exact=True).fill("the clock is late")
    page.get_by_role("button", name="Decide").click()
    page.get_by_text("The decision is saved").wait_for()
    assert page.get_by_role("region", name="Decisions").get_by_text("leeway of five seconds").is_visible()
    told = ui.segue("log")
    assert "the clock of the runner is late" in told and "leeway of five seconds" in told


def test_an_empty_note_is_not_sent(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    page.get_by_role("button", name="Add the note").click()
    assert page.url == f"{ui.origin}{SESSION}" and page.get_by_label("Note").evaluate(
        "one => one.validity.valueMissing"
    )


def test_an_open_question_is_answered(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    ui.segue("ask", "Which <b>issuer</b> signs?")
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    item = page.get_by_role("listitem").filter(has_text="Which <b>issuer</b> signs?").first
    item.get_by_label("Answer").fill("the shop's own")
    item.get_by_role("button", name="Answer").click()
    page.get_by_text("The answer is saved").wait_for()
    assert page.get_by_role("region", name="Open questions").get_by_text("Which <b>").count() == 0
    assert "the shop's own" in ui.segue("log")


def test_an_entry_of_the_ledger_is_dropped_and_opened_again(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    said = page.get_by_role("region", name="What was said")
    said.get_by_role("button", name="Drop: test it with a late clock").click()
    page.get_by_text("The ledger is corrected.").wait_for()
    assert "test it with a late clock" not in ui.segue("ledger", "--kind", "item")
    said.get_by_role("button", name="Reopen: test it with a late clock").click()
    page.get_by_text("The ledger is corrected.").wait_for()
    assert "test it with a late clock" in ui.segue("ledger", "--kind", "item")


def test_checks_run_and_the_page_shows_what_they_prove(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    page.get_by_role("button", name="Run its checks").click()
    page.get_by_text("The checks are running").wait_for()
    page.locator(".feature", has_text="A login gives").locator(".state.passing").wait_for()
    page.locator(".feature", has_text="An expired token").locator(".state.failing").wait_for()
    feature = page.locator(".feature", has_text="A login gives")
    feature.locator("summary").click()
    assert "ran true: exit 0" in feature.inner_text()
    button = page.get_by_role("button", name="Run its checks")
    button.wait_for()
    page.wait_for_function("() => !document.querySelector('form[action$=verify] button').disabled")


def test_the_brief_is_copied(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    for without in ("", "Object.defineProperty(navigator, 'clipboard', { value: undefined });"):
        page = open_page(cookies, permissions=["clipboard-read", "clipboard-write"])
        reading = page.context.new_page()
        if without:  # as on a server without TLS
            page.add_init_script(without)
        page.goto(f"{ui.origin}{SESSION}")
        page.get_by_role("button", name="Copy the brief").click()
        page.get_by_role("button", name="Copied").wait_for()
        shown = page.locator("#brief").evaluate(
            "one => [...one.querySelectorAll('.line')].map(line => line.firstChild.textContent).join('\\n')"
        )
        reading.goto(f"{ui.origin}/ui/health")
        reading.bring_to_front()
        copied = reading.evaluate("navigator.clipboard.readText()")
        assert copied == shown and copied.startswith("[segue]") and "GOAL: Move the shop's login" in copied


def test_a_session_is_exported(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, tmp_path: Path, place: Workplace
) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}{SESSION}")
    for form, words in (("json", "JSON, all of it"), ("yaml", "YAML")):
        with page.expect_download() as downloading:
            page.get_by_role("link", name=words, exact=True).click()
        file = tmp_path / downloading.value.suggested_filename
        downloading.value.save_as(file)
        assert file.name == f"{SHOP_SESSION}.{form}"
        ui.segue("import", str(file), "--as", f"again-{form}")
    assert status(ui, "again-json")["goal"] == status(ui)["goal"]


def test_sessions_and_runs_are_exported_to_read(
    open_page: OpenPage, cookies: Any, ui: PagesProcess, tmp_path: Path, place: Workplace
) -> None:
    page, reading = open_page(cookies), open_page()
    runs = {native: f"/ui/run/{place.key(agent, native)}" for agent, native in
            (("claude-code", FIRST_RUN), ("opencode", SITE_RUN))}  # fmt: skip
    for id, path in {SHOP_SESSION: SESSION, **runs}.items():
        page.goto(f"{ui.origin}{path}")
        title = page.locator("h1").inner_text()
        with page.expect_download() as downloading:
            page.get_by_role("link", name="HTML, to read").click()
        file = tmp_path / downloading.value.suggested_filename
        downloading.value.save_as(file)
        assert file.name == f"{id}.html"
        reading.set_content(file.read_text())
        assert reading.locator("h1").inner_text() == title


def test_memories_are_voted_on(open_page: OpenPage, cookies: Any, ui: PagesProcess) -> None:
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/memory?q=DB_URL")
    memory = page.get_by_role("listitem").filter(has_text="Integration tests need DB_URL")
    assert "0 helpful" in memory.inner_text()
    memory.get_by_role("button", name="helped").click()
    page.get_by_text("The vote is counted").wait_for()
    memory = page.get_by_role("listitem").filter(has_text="Integration tests need DB_URL")
    assert "1 helpful" in memory.inner_text() and "q=DB_URL" in page.url
    memory.get_by_role("button", name="harmed").click()
    page.get_by_role("listitem").filter(has_text="1 harmful").wait_for()


def test_looking_at_memories_does_not_count_as_recalling_them(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies)
    for _ in range(2):
        page.goto(f"{ui.origin}/ui/memory?q=migrations")
        page.locator("p.words", has_text="Run the migrations").wait_for()
    assert "recalled" not in page.get_by_role("listitem").filter(has_text="Run the migrations").inner_text()


def test_memories_are_pruned_once_what_would_happen_was_seen_and_confirmed(
    open_page: OpenPage, cookies: Any, ui: PagesProcess
) -> None:
    page = open_page(cookies)

    def prune() -> None:
        page.goto(f"{ui.origin}/ui/memory")
        page.get_by_label("Session", exact=True).fill(SHOP_SESSION)
        page.get_by_label("Keep the newest").fill("2")
        page.get_by_role("button", name="Show what would happen").click()
        page.get_by_role("heading", name="Prune memories").wait_for()

    prune()
    assert page.get_by_text("would be replaced by").is_visible()
    page.get_by_role("link", name="Cancel").click()
    assert page.locator("p.words", has_text="Integration tests need DB_URL").is_visible()
    prune()
    page.get_by_role("button", name="Prune", exact=True).click()
    page.get_by_text("The memories are summarised").wait_for()
    assert (
        page.locator("p.words", has_text="Integration tests need DB_URL")
        .filter(has_not_text="Lesson")
        .count()
        == 0
    )
    page.get_by_label("replaced ones").check()
    page.get_by_role("button", name="Show").first.click()
    page.locator("p.words", has_text="Integration tests need DB_URL").first.wait_for()


def test_memories_are_paged(open_page: OpenPage, cookies: Any, ui: PagesProcess, place: Workplace) -> None:
    with place.open() as segue:
        segue.memories.remember_many(
            [{"content": f"numbered lesson {n}", "session": LONG_SESSION} for n in range(120)]
        )
    page = open_page(cookies)
    page.goto(f"{ui.origin}/ui/memory")
    seen: set[str] = set()
    for number in (1, 2, 3):
        assert page.get_by_text(f"page {number}", exact=True).is_visible()
        seen |= {text for text in page.locator("p.words").all_inner_texts() if text.startswith("numbered")}
        if number < 3:
            page.get_by_role("link", name="More", exact=True).click()
            page.get_by_text(f"page {number + 1}", exact=True).wait_for()
    assert len(seen) == 120
