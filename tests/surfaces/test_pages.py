"""The pages without a browser: who is let in, what a form may do, and that whatever stands in a transcript is
shown as text."""

from __future__ import annotations

import http.client
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest
from tests.support.certificates import certificate
from tests.support.page_parts import PageParts, faults_in
from tests.support.pages import FORM, Answered, Client, PagesProcess, entered
from tests.support.rest import begun, done
from tests.support.server import SegueServer
from tests.support.workplace import FIRST_RUN, SHOP_SESSION, SITE_RUN, Workplace, made

from segue import Segue
from segue.core.runs.steps import Prompt, Say, Start, Step
from segue.services.overview.now import now
from segue.surfaces.http.app import operations
from segue.surfaces.http.web.page import DECLARED, FIELD_CHARS_MAX, FORM_BYTES_MAX
from segue.surfaces.http.web.render import HEADERS

SESSION = f"/ui/session/{SHOP_SESSION}"
NOTE = f"{SESSION}/note"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return made(tmp_path_factory.mktemp("workplace"))


@pytest.fixture(scope="module")
def ui(place: Workplace) -> Iterator[PagesProcess]:
    with PagesProcess(place.home, place.shop) as running:
        yield running


@pytest.fixture(scope="module")
def client(ui: PagesProcess) -> Client:
    return entered(ui)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with SegueServer(tmp_path_factory.mktemp("server"), options=["--rate", "0"]) as running:
        begun(running, "team", "one", "two")
        yield running


def signed_in(server: SegueServer, key: str, project: str = "") -> Client:
    client = Client(server.port)
    answer = client.post("/ui/sign-in", {"key": key, "project": project})
    assert (answer.status, answer.headers.get("location")) == (303, "/ui"), answer.text
    return client


def pages_of(place: Workplace) -> list[str]:
    """Every page that a made machine has."""
    claude, opencode = place.key("claude-code", FIRST_RUN), place.key("opencode", SITE_RUN)
    return [
        "/ui", "/ui/sessions", "/ui/runs", "/ui/runs?agent=opencode&sides=1",
        SESSION, f"{SESSION}?before=5", f"/ui/run/{claude}", f"/ui/run/{opencode}",
        f"/ui/run/{claude}?only=failed", f"/ui/run/{claude}?step=3", "/ui/search", "/ui/search?q=token",
        "/ui/memory", "/ui/memory?q=tests", "/ui/memory?gone=1", "/ui/health", "/ui/figures",
        "/ui/figures?by=agent&days=7", "/ui/figures?by=model&days=90", "/ui/figures?by=project",
    ]  # fmt: skip


def test_every_declared_page_is_looked_at_here(place: Workplace) -> None:
    looked_at = {urlsplit(path).path for path in [*pages_of(place), f"{SESSION}/export"]}
    shapes = {path.replace(SHOP_SESSION, "{id}") for path in looked_at if "/run/" not in path}
    shapes |= {"/ui/run/{key}", "/ui/run/{key}/export"}
    assert {one.path for one in DECLARED if one.method == "GET"} == shapes


def test_every_page_opens_and_has_only_what_pages_are_made_of(client: Client, place: Workplace) -> None:
    for path in pages_of(place):
        answer = client.get(path)
        assert answer.status == 200, (path, answer.text[:500])
        assert faults_in(answer.text) == [], path


def test_an_offer_that_nobody_took_is_waiting_until_it_is_withdrawn(tmp_path: Path) -> None:
    with Segue(home=tmp_path / "segue", folder=tmp_path) as segue:
        segue.start("Move the login", id="login")
        assert now(segue.workspace).waiting == []
        segue.handoff("login", "codex", "please <review>")
        segue.handoff("login", "anyone")
        told = [(one.what, one.text, one.session) for one in now(segue.workspace).waiting]
        assert told == [("offer", "to anyone: Move the login", "login"),
                        ("offer", "to Codex: please <review>", "login")]  # fmt: skip
        with PagesProcess(tmp_path, tmp_path) as ui:
            page = entered(ui).get("/ui").text
            assert "offered, not taken yet" in page and "to Codex: please &lt;review&gt;" in page
            assert "Nothing is waiting for you." not in page and faults_in(page) == []
        segue.handoffs.accept(by="codex")
        assert now(segue.workspace).waiting == []


# -- who is let in -----------------------------------------------------------------------------


def test_the_link_works_once(place: Workplace) -> None:
    with PagesProcess(place.home, place.shop) as ui:
        client = entered(ui)
        assert client.get("/ui").status == 200
        parts = urlsplit(ui.link)
        again = Client(ui.port).get(f"{parts.path}?{parts.query}")
        assert again.status == 401 and "used already" in again.text
        assert client.get("/ui").status == 200


def test_whoever_only_asks_about_the_link_does_not_use_it_up(place: Workplace) -> None:
    with PagesProcess(place.home, place.shop) as ui:
        parts = urlsplit(ui.link)
        link = f"{parts.path}?{parts.query}"
        for method in ("HEAD", "POST", "OPTIONS"):
            assert Client(ui.port).send(method, link).status == 405
        assert Client(ui.port).get(f"{link}x").status == 401
        assert entered(ui).get("/ui").status == 200


def test_without_the_cookie_nothing_is_shown(ui: PagesProcess, place: Workplace) -> None:
    stranger = Client(ui.port)
    for path in [*pages_of(place), f"{SESSION}/export", "/ui/live"]:
        answer = stranger.get(path)
        assert answer.status == 401 and "login" not in answer.text, path
    stranger.cookies = {f"segue_ui_{ui.port}": "x" * 43}
    assert stranger.get("/ui").status == 401
    assert stranger.post(NOTE, {"text": "n", "token": "0" * 64}).status == 401


def test_two_of_them_do_not_take_each_others_cookies(place: Workplace) -> None:
    with PagesProcess(place.home, place.shop) as one, PagesProcess(place.home, place.site) as other:
        browser = entered(one)
        browser.port = other.port
        parts = urlsplit(other.link)
        assert browser.get(f"{parts.path}?{parts.query}").status == 303
        assert browser.get("/ui").status == 200
        browser.port = one.port
        assert browser.get("/ui").status == 200


def test_another_host_is_refused(ui: PagesProcess, client: Client) -> None:
    for host in ("evil.example", f"evil.example:{ui.port}", "", f"127.0.0.1.evil.example:{ui.port}"):
        answer = client.get("/ui", host=host or " ")
        assert answer.status in (400, 421), host
        assert "login" not in answer.text
    assert client.get("/ui", host=f"localhost:{ui.port}").status == 200


def test_a_link_that_was_followed_from_another_site_is_loaded_once_more(ui: PagesProcess) -> None:
    stranger = Client(ui.port)
    answer = stranger.get("/ui/search?q=a%20b&in=%22", sec_fetch_site="cross-site")
    [meta] = [one for one in PageParts(answer.text).of("meta") if one.get("http-equiv")]
    assert meta["content"] == "0; url=/ui/search?q=a%20b&in=%22"
    assert faults_in(answer.text) == []
    assert stranger.get("/ui", sec_fetch_site="same-origin").status == 401


def test_it_listens_on_loopback_only_and_ends_with_the_command(place: Workplace) -> None:
    ui = PagesProcess(place.home, place.shop).start()
    try:
        listening = subprocess.run(["ss", "-ltnH"], capture_output=True, text=True).stdout
        assert f"127.0.0.1:{ui.port} " in listening and f"0.0.0.0:{ui.port} " not in listening
    except FileNotFoundError:
        pass  # without ss
    finally:
        assert ui.stop(signal.SIGINT) in (0, 130)
    with pytest.raises(OSError):
        Client(ui.port).get("/ui")


# -- forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"}, {"sec_fetch_site": "none"}, {"content_type": "text/plain"},
        {"content_type": "application/json"}, {"content_type": ""},
    ],
    ids=str,
)  # fmt: skip
def test_a_form_from_elsewhere_is_refused(client: Client, headers: dict[str, str]) -> None:
    answer = client.post(NOTE, {"text": "from elsewhere", "token": client.token(SESSION)}, **headers)
    assert answer.status in (400, 403), answer.text
    assert "from elsewhere" not in client.get(SESSION).text


@pytest.mark.parametrize("token", ["", "0" * 64, "é", "{}0"])
def test_a_form_with_another_token_is_refused(client: Client, token: str) -> None:
    answer = client.post(NOTE, {"text": "another token", "token": token.format(client.token(SESSION))})
    assert answer.status == 403
    assert "another token" not in client.get(SESSION).text


def test_a_form_of_the_page_is_taken(client: Client, ui: PagesProcess) -> None:
    token = client.token(SESSION)
    own = {"origin": ui.origin, "sec_fetch_site": "same-origin"}
    answer = client.post(NOTE, {"text": "a note by a form", "token": token}, **own)
    assert answer.status == 303 and answer.headers["location"] == f"{SESSION}?said=noted"
    page = client.get(answer.headers["location"]).text
    assert "a note by a form" in page and "The note is saved" in page


def test_an_action_by_get_does_nothing(client: Client) -> None:
    for action in ("pause", "resume", "note", "decide", "answer", "verify"):
        assert client.get(f"{SESSION}/{action}").status == 405
    assert client.get("/ui/memory/prune").status == 405


def test_a_link_cannot_put_words_on_a_page(client: Client) -> None:
    assert "evil.example" not in client.get("/ui?said=Go+to+evil.example").text


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("note", {}), ("note", {"text": "  "}), ("decide", {"why": "w"}), ("answer", {"question": "no such"}),
        ("note", {"text": "x" * (FIELD_CHARS_MAX + 1)}),
        ("note", {"text": "a\0b"}), ("note", {"text": "x" * (FORM_BYTES_MAX + 1)}),
    ],
)  # fmt: skip
def test_a_form_that_is_not_filled_in_gets_a_page_that_says_so(
    client: Client, action: str, fields: dict[str, str]
) -> None:
    answer = client.fill_in(SESSION, f"{SESSION}/{action}", **fields)
    assert 400 <= answer.status < 500 and "That did not work" in answer.text, answer.status


def test_a_form_that_is_no_text_is_refused(client: Client) -> None:
    form = "application/x-www-form-urlencoded"
    for body in (b"\xff\xfe", b"text=%ff", b"&".join(b"a=%d" % n for n in range(200))):
        assert client.send("POST", NOTE, body, content_type=form).status == 400


# -- every response ----------------------------------------------------------------------------


def every_kind(client: Client) -> Iterator[tuple[str, Answered]]:
    """A response of every kind."""
    wanted = {
        "page": ("GET", "/ui"), "unknown session": ("GET", "/ui/session/nope"),
        "nothing": ("GET", "/ui/nope"),
        "deep nothing": ("GET", "/ui/a/b/c/d"),
        "file": ("GET", "/ui/static/style.css"),
        "no file": ("GET", "/ui/static/nope.js"), "export": ("GET", f"{SESSION}/export"),
        "export to read": ("GET", f"{SESSION}/export?format=html"),
        "method": ("DELETE", "/ui"), "method of a file": ("POST", "/ui/static/style.css"),
        "refused form": ("POST", NOTE), "head": ("HEAD", "/ui"),
    }  # fmt: skip
    for name, (method, path) in wanted.items():
        yield name, client.send(method, path)


def test_every_response_has_the_headers_that_protect_it(
    client: Client, ui: PagesProcess, server: SegueServer
) -> None:
    known = signed_in(server, server.token)
    answers = [*every_kind(client), ("root", client.get("/")), ("stranger", Client(ui.port).get("/ui"))]
    answers += [("link", Client(ui.port).get("/ui/enter")), ("host", client.get("/ui", host="evil.example"))]
    answers += [(f"server: {name}", answer) for name, answer in every_kind(known)]
    answers += [
        ("server: stranger", Client(server.port).get("/ui")),
        ("server: sign-in", Client(server.port).get("/ui/sign-in")),
        ("server: wrong key", Client(server.port).post("/ui/sign-in", {"key": "nope"})),
        ("server: signed in", Client(server.port).post("/ui/sign-in", {"key": server.token})),
        ("server: signed out", known.post("/ui/sign-out", {})),
    ]
    for name, answer in answers:
        missing = {
            header: answer.headers.get(header)
            for header, value in HEADERS.items()
            if answer.headers.get(header) != value and header != "cache-control"
        }
        assert not missing, (name, answer.status, missing)
        assert answer.headers["cache-control"] == (
            "no-store" if name.split(": ")[-1] != "file" else "public, max-age=3600"
        )


def test_the_policy_allows_nothing_from_elsewhere_and_no_script_in_a_page() -> None:
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert "frame-ancestors 'none'" in policy and "form-action 'self'" in policy


def test_a_head_request_gets_the_headers_and_no_page(client: Client) -> None:
    answer = client.send("HEAD", "/ui")
    assert answer.status == 200 and answer.body == b"" and int(answer.headers["content-length"]) > 500


def test_unknown_methods_are_refused_with_the_known_ones(client: Client) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        answer = client.send(method, SESSION)
        assert answer.status == 405 and answer.headers["allow"] == "GET", method
    assert client.send("PUT", NOTE).headers["allow"] == "POST"


LONG = "x" * 5_000


@pytest.mark.parametrize(
    "path",
    [
        "/ui/sessions?page=nine", "/ui/sessions?page=-1", "/ui/sessions?page=9999999999999",
        "/ui/sessions?page=%C2%B2", "/ui/sessions?status=asleep", "/ui/session/nope", "/ui/session/%00",
        "/ui/session/..%2F..%2Fetc", "/ui/session/%FF", "/ui/session/%3Cb%3E", f"/ui/session/{LONG}",
        f"{SESSION}?before=x", f"{SESSION}?first=1e3", f"{SESSION}/export?format=exe", f"{SESSION}/nothing",
        "/ui/run/nope", "/ui/run/%00", f"/ui/run/{LONG}", "/ui/search?q=a&in=everywhere",
        "/ui/search?q=a&agent=nobody", "/ui/search?q=a&since=whenever",
        "/ui/search?q=%ff", "/ui/search?q=%00a", "/ui/search?" + "&".join(f"a{n}=1" for n in range(200)),
        "/ui/memory?type=none", "/ui/memory?page=x", "/ui/figures?by=nobody", "/ui/figures?days=x",
        "/ui/figures?days=0", "/ui/figures?days=999999999", "/ui/runs?page=x", "/ui/runs?agent=nobody",
        "/ui/run/nope/export", "/ui/run/nope/export?format=exe",
        "/ui/static/..%2Fpages.py", "/ui/static/%00", "/ui//x",
    ],
)  # fmt: skip
def test_a_wrong_address_gets_a_page_that_says_so(client: Client, server: SegueServer, path: str) -> None:
    known = signed_in(server, server.token)
    for asked, at in ((client, path), (known, path.replace(SHOP_SESSION, "team"))):
        answer = asked.get(at)
        assert 400 <= answer.status < 500, (at, answer.status)
        assert answer.headers["content-type"].startswith("text/"), answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/ui/sessions?page=1000", "/ui/sessions?project=nope", f"{SESSION}?before=999999999",
        f"{SESSION}?first=999999999", f"/ui/search?q={quote('x' * 3000)}", "/ui/search?q=%F0%9F%92%A9",
        "/ui/search?q=a&project=nope", "/ui/memory?page=1000", f"/ui/memory?q={'y' * 3000}", "/ui?q=1&q=2",
        "/ui/figures?days=all", "/ui/figures?by=&days=", "/ui/runs?page=999999999", "/ui/runs?sides=&agent=",
        "/ui/search?q=(((%22a%22%20NEAR%20*", "/ui/search?q=%22", "/ui/search?q=-", "/ui/memory?q=%22%22%22",
    ],
)  # fmt: skip
def test_an_odd_address_gets_a_page(client: Client, server: SegueServer, path: str) -> None:
    known = signed_in(server, server.token)
    assert client.get(path).status == 200
    assert known.get(path.replace(SHOP_SESSION, "team")).status == 200


def test_any_step_of_a_run_can_be_asked_for(client: Client, place: Workplace) -> None:
    for key in (place.key("claude-code", FIRST_RUN), place.key("opencode", SITE_RUN)):
        for query in (
            "step=1",
            "step=9",
            "step=999999",
            "before=1",
            "before=2",
            "after=999999",
            "after=1",
            "step=",
        ):
            answer = client.get(f"/ui/run/{key}?{query}")
            assert answer.status == 200, query
            steps = [
                int(one["id"][5:])
                for one in PageParts(answer.text).of("li")
                if one.get("id", "").startswith("step-")
            ]
            assert steps == sorted(set(steps)), query


# -- sizes -------------------------------------------------------------------------------------


def test_a_page_of_a_long_run_costs_about_what_one_of_a_short_run_costs(tmp_path: Path) -> None:
    place, seconds, sizes = Workplace(tmp_path), {}, {}
    for count, native in (
        (200, "0a0c2a54-0a5e-4d7c-9c1e-6a1d2b3c4d5e"),
        (20_000, "0b0c2a54-0a5e-4d7c-9c1e-6a1d2b3c4d5e"),
    ):
        steps: list[Step] = [
            Start(1.0, "start", native=native, cwd=str(place.shop)),
            Prompt(1.0, f"count to {count}"),
        ]
        steps += [Say(float(n), f"now I am at {n} of {count}") for n in range(2, count)]
        place.place("claude-code", steps, native, place.shop, old=9_000)
    with place.open() as segue:
        segue.start("count", id="count")
        segue.sync(session="count")
    with PagesProcess(place.home, place.shop) as ui:
        client = entered(ui)
        for native in place.paths:
            path, taken = f"/ui/run/{place.key('claude-code', native)}", []
            sizes[native] = len(client.get(path).body)
            for _ in range(7):
                began = time.perf_counter()
                answer = client.get(path)
                taken.append(time.perf_counter() - began)
                assert answer.status == 200 and "of 200" in answer.text
            seconds[native] = sorted(taken)[3]
    short, long = seconds
    print(f"a page of 200 steps in {seconds[short]:.3f} s, of 20,000 in {seconds[long]:.3f} s")
    assert seconds[long] < 10 * seconds[short] and sizes[long] < 2 * sizes[short]


def test_lists_show_a_page_at_a_time_and_every_session_is_on_one(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    with place.open() as segue:
        for number in range(120):
            segue.start(f"task {number}", id=f"task-{number}")
    with PagesProcess(place.home, place.shop) as ui:
        client = entered(ui)
        links: list[str] = []
        for number in (1, 2, 3):
            page = PageParts(client.get(f"/ui/sessions?page={number}").text)
            links += [one["href"] for one in page.of("a") if one["href"].startswith("/ui/session/")]
        assert len(links) == 120 and set(links) == {f"/ui/session/task-{number}" for number in range(120)}
        now = PageParts(client.get("/ui").text)
        assert sum(one["href"].startswith("/ui/session/") for one in now.of("a")) <= 20
        assert "All 120 sessions" in now.text


def test_a_list_follows_what_other_processes_write_and_erase(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    with PagesProcess(place.home, place.shop) as ui:
        client = entered(ui)
        ui.segue("start", "Look for the quetzal", "--id", "bird")
        assert "quetzal" in client.get("/ui/sessions").text
        ui.segue("start", "Feed the cat", "--id", "cat")
        page = client.get("/ui/sessions").text
        assert "quetzal" in page and "Feed the cat" in page
        ui.segue("scrub", "quetzal", "--yes")
        assert "quetzal" not in client.get("/ui/sessions").text + client.get("/ui").text
        ui.segue("pause", "-s", "cat")
        states = [
            one["class"]
            for one in PageParts(client.get("/ui/sessions").text).of("span")
            if "state" in one.get("class", "")
        ]
        assert states == ["state paused", "state active"]


# -- the same on a server ----------------------------------------------------------------------

SAME = {
    "pause": "POST /v1/sessions/{id}/pause",
    "resume": "POST /v1/sessions/{id}/resume",
    "note": "POST /v1/sessions/{id}/commands",
    "decide": "POST /v1/sessions/{id}/commands",
    "answer": "POST /v1/sessions/{id}/commands",
    "correct": "POST /v1/sessions/{id}/ledger",
    "verify": "POST /v1/sessions/{id}/events",
    "vote": "POST /v1/memories/{memory}/vote",
    "prune_memories": "POST /v1/memories/prune",
    "show_now": "GET /v1/sessions",
    "show_sessions": "GET /v1/sessions",
    "show_runs": "GET /v1/runs",
    "show_session": "GET /v1/sessions/{id}",
    "export_session": "GET /v1/sessions/{id}/export",
    "show_run": "GET /v1/runs/{key}",
    "export_run": "GET /v1/runs/{key}",
    "show_figures": "GET /v1/usage",
    "show_search": "GET /v1/search",
    "show_memory": "POST /v1/memories/query",
    "show_health": "GET /v1/sessions",
}
"""The operation of the API that does what a page or an action does."""


def test_each_page_and_action_asks_for_the_role_that_the_api_asks_for() -> None:
    roles = {f"{one.method} {one.path}": one.role for one in operations()}
    for one in DECLARED:
        assert one.role == roles[SAME[one.function.__name__]], one.path


def test_a_reader_sees_no_forms_and_is_refused_when_he_forges_one(server: SegueServer) -> None:
    reader = signed_in(server, server.key(role="reader", project="default"))
    page = PageParts(reader.get("/ui/session/team").text)
    assert [one.get("action") for one in page.of("form")] == ["/ui/search", "/ui/sign-out"]
    token = reader.token("/ui/session/team")
    for one in DECLARED:
        if one.method == "POST":
            path = one.path.replace("{id}", "team")
            answer = reader.post(path, {"token": token, "text": "t", "session": "team", "vote": "helpful"})
            assert answer.status == 403 and "needs writer" in answer.text, path
    assert done(server.ask("GET", "/v1/sessions/team"))["status"] == "active"


def test_a_writer_acts_and_it_is_in_the_audit(server: SegueServer) -> None:
    begun(server, "acted", "one")
    key = server.key(role="writer", project="default")
    writer = signed_in(server, key)
    answer = writer.fill_in("/ui/session/acted", "/ui/session/acted/pause", reason="lunch")
    assert answer.status == 303, answer.text
    assert done(server.ask("GET", "/v1/sessions/acted"))["status"] == "paused"
    deadline, lines = time.monotonic() + 20, []
    while time.monotonic() < deadline:
        lines = done(server.ask("GET", "/v1/audit"))["lines"]
        if any("/ui/session/acted/pause" in str(line) for line in lines):
            break
        time.sleep(0.2)
    else:
        raise AssertionError(lines)


def test_checks_do_not_run_on_a_server(server: SegueServer) -> None:
    writer = signed_in(server, server.token)
    answer = writer.fill_in("/ui/session/team", "/ui/session/team/verify")
    assert answer.status == 400 and "where the working tree is" in answer.text


def test_a_wrong_key_is_refused(server: SegueServer) -> None:
    client = Client(server.port)
    for key in ("", "nope", "sgk_000000000000_" + "x" * 43, server.token[:-1] + "x", "é"):
        answer = client.post("/ui/sign-in", {"key": key})
        assert answer.status in (401, 403) and not client.cookies, key
        assert key not in answer.text or not key
    assert client.get("/ui").headers["location"] == "/ui/sign-in"


def test_a_sign_in_from_elsewhere_is_refused(server: SegueServer) -> None:
    client = Client(server.port)
    for headers in ({"origin": "https://evil.example"}, {"sec_fetch_site": "cross-site"}):
        assert client.post("/ui/sign-in", {"key": server.token}, **headers).status == 403
    assert not client.cookies
    known = signed_in(server, server.token)
    assert known.post("/ui/sign-out", {}, origin="https://evil.example").status == 403
    assert known.get("/ui").status == 200


def test_the_page_that_was_wanted_comes_after_the_sign_in(server: SegueServer) -> None:
    client = Client(server.port)
    answer = client.get("/ui/search?q=one&in=")
    at = answer.headers["location"]
    assert at == "/ui/sign-in?next=%2Fui%2Fsearch%3Fq%3Done%26in%3D"
    [field] = [one for one in PageParts(client.get(at).text).of("input") if one["name"] == "next"]
    answer = client.post("/ui/sign-in", {"key": server.token, "next": field["value"]})
    assert answer.headers["location"] == "/ui/search?q=one&in="
    for elsewhere in ("https://evil.example", "//evil.example/ui", "/uix", "/ui\r\nx: y", "/ui/../v1/keys#é"):
        answer = client.post("/ui/sign-in", {"key": server.token, "next": elsewhere})
        assert answer.status == 303 and answer.headers["location"] in (
            "/ui",
            elsewhere if elsewhere.startswith("/ui/") else "/ui",
        )


def test_signing_out_forgets_the_key(server: SegueServer) -> None:
    client = signed_in(server, server.token)
    assert client.post("/ui/sign-out", {}).headers["location"] == "/ui/sign-in"
    assert not client.cookies and client.get("/ui").status == 303
    assert client.get("/ui/sign-out").headers["location"] == "/ui/sign-in"


def test_a_revoked_key_is_out_at_once(server: SegueServer) -> None:
    made_key = done(server.ask("POST", "/v1/keys", {"role": "writer", "project": "default"}), 201)
    client = signed_in(server, made_key["key"])
    assert client.get("/ui").status == 200
    token = client.token("/ui/session/team")
    done(server.ask("DELETE", f"/v1/keys/{made_key['id']}"))
    assert client.get("/ui").headers["location"] == "/ui/sign-in"
    assert client.post("/ui/session/team/note", {"token": token, "text": "late"}).status == 303
    assert "late" not in str(server.ask("GET", "/v1/sessions/team/log")[1])


def test_a_key_of_several_projects_chooses_its_project(server: SegueServer) -> None:
    done(
        server.ask("POST", "/v1/sessions", {"goal": "of the other", "id": "other"}, segue_project="other"),
        201,
    )
    client = signed_in(server, server.token, "other")
    page = client.get("/ui/sessions").text
    assert "of the other" in page and "goal of team" not in page and "in other" in page
    assert client.get("/ui/session/team").status == 404
    own = Client(server.port)
    key = server.key(role="reader", project="default")
    answer = own.post("/ui/sign-in", {"key": key, "project": "other"})
    assert answer.status == 403 and not own.cookies


def test_cookies_can_be_read_by_no_script_and_sent_by_no_other_site(
    place: Workplace, server: SegueServer
) -> None:
    with PagesProcess(place.home, place.shop) as ui:
        parts = urlsplit(ui.link)
        given = Client(ui.port).get(f"{parts.path}?{parts.query}").headers["set-cookie"]
    answer = Client(server.port).post("/ui/sign-in", {"key": server.token})
    for cookie in (given, answer.headers["set-cookie"]):
        assert "httponly" in cookie.lower() and "samesite=strict" in cookie.lower()
        assert "path=/ui" in cookie.lower() and "secure" not in cookie.lower()


def test_cookies_are_sent_by_https_only_where_the_browser_came_by_it(tmp_path: Path) -> None:
    secured = tmp_path / "server.pem"
    options = [
        "--tls-cert",
        str(certificate(tmp_path)),
        "--tls-key",
        str(secured),
        "--allow-host",
        "segue.example",
    ]
    with SegueServer(tmp_path / "home", options=options) as server:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=30, context=ssl._create_unverified_context()
        )
        body, form = urlencode({"key": server.token}), {"content-type": FORM}
        connection.request("POST", "/ui/sign-in", body, form)
        answer = connection.getresponse()
        assert answer.status == 303 and answer.headers.get_all("set-cookie")
        assert all("; secure" in one.lower() for one in answer.headers.get_all("set-cookie") or ())
        connection.close()
    with SegueServer(tmp_path / "other", options=["--allow-host", "segue.example"]) as server:
        behind_a_proxy = {"origin": "https://segue.example", "host": "segue.example"}
        proxied = Client(server.port).post("/ui/sign-in", {"key": server.token}, **behind_a_proxy)
        assert proxied.status == 303 and "; secure" in proxied.headers["set-cookie"].lower()


def test_without_the_extra_it_says_how_to_get_it(place: Workplace) -> None:
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'jinja2' else find(name, *rest)\n"
        "from segue.surfaces.cli.main import main; sys.exit(main(['ui']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=place.environment, cwd=place.shop, capture_output=True, text=True
    )
    assert ran.returncode == 69 and "[server]" in ran.stderr, ran.stderr
