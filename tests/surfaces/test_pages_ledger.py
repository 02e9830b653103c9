"""What was said, on the page of a session: shown to readers, corrected by writers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.page_parts import PageParts, faults_in
from tests.support.pages import Client, PagesProcess, entered
from tests.support.rest import begun, done
from tests.support.server import SegueServer
from tests.support.workplace import SHOP_SESSION, Workplace, made
from tests.surfaces.test_pages import SESSION, signed_in


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return made(tmp_path_factory.mktemp("workplace"))


@pytest.fixture(scope="module")
def client(place: Workplace) -> Iterator[Client]:
    with PagesProcess(place.home, place.shop) as running:
        yield entered(running)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SegueServer]:
    with SegueServer(tmp_path / "server", options=["--rate", "0"]) as running:
        yield running


def test_what_was_said_is_on_the_page_of_a_session_and_is_corrected_there(
    client: Client, place: Workplace
) -> None:
    page = PageParts(client.get(SESSION).text)
    assert "What was said" in page.text and "They must expire." in page.text
    assert faults_in(client.get(SESSION).text) == []
    with place.open() as segue:
        [item] = [
            one for one in segue.session(SHOP_SESSION).ledger.entries() if one.text == "refuse expired ones"
        ]
    buttons = [one.get("value") for one in page.of("button") if one.get("name") == "what"]
    assert {"done", "drop"} <= set(buttons)
    for what, state in (("done", "done"), ("reopen", "open"), ("drop", "withdrawn"), ("reopen", "open")):
        answer = client.fill_in(SESSION, f"{SESSION}/ledger", entry=item.id, what=what)
        assert answer.status == 303, answer.text
        with place.open() as segue:
            after = {one.id: one for one in segue.session(SHOP_SESSION).ledger.entries(all=True)}[item.id]
        assert (after.state, after.corrected) == (state, "user")
    assert "The ledger is corrected." in client.get(f"{SESSION}?said=corrected").text
    for fields, status in (
        ({"what": "burn", "entry": item.id}, 400),
        ({"what": "done", "entry": "zzzz"}, 404),
    ):
        assert client.fill_in(SESSION, f"{SESSION}/ledger", **fields).status == status


def test_a_ledger_on_a_server_is_read_by_readers_and_corrected_by_writers(server: SegueServer) -> None:
    begun(server, "ruled")
    rule = {"action": "add", "kind": "rule", "text": "Never <push> to main."}
    [entry] = done(server.ask("POST", "/v1/sessions/ruled/ledger", rule))["entries"]
    reader = signed_in(server, server.key(role="reader", project="default"))
    page = reader.get("/ui/session/ruled").text
    assert "Never &lt;push&gt; to main." in page and 'name="what"' not in page
    writer = signed_in(server, server.key(role="writer", project="default"))
    answer = writer.fill_in("/ui/session/ruled", "/ui/session/ruled/ledger", entry=entry["id"], what="drop")
    assert answer.status == 303, answer.text
    assert "1 settled" in writer.get("/ui/session/ruled").text
