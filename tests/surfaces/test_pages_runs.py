"""The pages about runs: what one did while it goes on, what all of them used, and what can be taken along."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.page_parts import HOSTILE, MARKUP, PageParts, faults_in
from tests.support.pages import Client, PagesProcess, entered
from tests.support.server import SegueServer
from tests.support.workplace import (
    FIRST_RUN,
    SHOP_SESSION,
    SITE_RUN,
    Workplace,
    made,
    past_run,
    site_run,
    with_past,
)

from segue import Segue
from segue.core.runs.steps import End, Model, Prompt, Say, Start, Step, Usage
from segue.surfaces.http.web.render import unmarked

WAYS = ("", "agent", "model", "project")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A machine with work of the last weeks on it."""
    place = made(tmp_path_factory.mktemp("workplace"))
    with_past(place)
    return place


@pytest.fixture(scope="module")
def ui(place: Workplace) -> Iterator[PagesProcess]:
    with PagesProcess(place.home, place.shop) as running:
        yield running


@pytest.fixture(scope="module")
def client(ui: PagesProcess) -> Client:
    return entered(ui)


def figures(client: Client, query: str = "") -> str:
    """The page with figures, once they are known."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        page = client.get(f"/ui/figures{query}")
        assert page.status == 200 and faults_in(page.text) == []
        if "Reading what all agents used" not in page.text:
            return page.text
    raise AssertionError("the figures were never read")


def table(page: str, heading: str) -> dict[str, list[str]]:
    """The rows of the table behind a heading, by their first cells."""
    found = re.search(rf'<h2 id="{heading}">.*?</section>', page, re.DOTALL)
    assert found is not None, heading
    cells = r'<tr><th scope="row">(.*?)</th>(.*?)</tr>'
    return {
        html.unescape(name): [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", rest)]
        for name, rest in re.findall(cells, found[0], re.DOTALL)
    }


def curves(page: str) -> dict[str, dict[str, object]]:
    """What the script is told to draw, by the units."""
    told = [json.loads(one["data-curve"]) for one in PageParts(page).of("div") if "data-curve" in one]
    return {f"{one['unit']} {one['series'][0]['label']}": one for one in told}


# -- figures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["agent", "model", "project"])
def test_the_page_says_what_the_command_says(client: Client, ui: PagesProcess, by: str) -> None:
    told = json.loads(ui.segue("usage", "--all", "--by", by, "--since", "30d", "--json"))
    rows = table(figures(client, f"?by={by}"), "groups")
    assert len(rows) >= len(told["rows"]) > 1
    words = {f"${row['cost']:,.2f}" + (" and more" if not row["cost_known"] else "") for row in told["rows"]}
    priced = {row for row in words if not row.startswith("$0.00")}
    assert priced <= {cells[0] for cells in rows.values()}
    assert rows["all"][0] == f"${told['total']['cost']:,.2f} and more"
    assert rows["all"][2] == f"{told['total']['fullness']:.0%}".replace("%", " %")


def test_every_curve_has_a_table_with_the_same_days(client: Client) -> None:
    for by in WAYS:
        page = figures(client, f"?by={by}")
        for heading, name in (("cost", "dollars"), ("tokens", "tokens"), ("windows", "percent")):
            days = table(page, heading)
            [curve] = [one for unit, one in curves(page).items() if unit.startswith(f"{name} ")]
            series = curve["series"]
            assert isinstance(series, list) and all(len(one["values"]) == 30 for one in series)
            drawn = sum(any(one["values"][at] for one in series) for at in range(30))
            assert drawn <= len(days) and drawn > 10, (by, heading)
        assert list(table(page, "checks")) == [time.strftime("%Y-%m-%d", time.gmtime())]


def test_it_says_what_of_the_cost_is_known_and_what_is_estimated(client: Client) -> None:
    page = figures(client)
    assert "estimated from tokens at list prices as of 20" in page
    assert "No price is known for openrouter/qwen/qwen3-coder-unknown" in page and "and more" in page


def test_what_an_agent_says_that_it_cost_is_told_apart(tmp_path: Path) -> None:
    place, now = Workplace(tmp_path), time.time()
    for number, cost in enumerate((1.5, 0.0)):
        steps: list[Step] = [
            Start(now - 90, "start", native=f"ses_{number}", cwd=str(place.shop)), Model(now - 90, "gpt-5"),
            Prompt(now - 90, "Mend it"), Say(now - 80, "Done."),
            Usage(now - 80, f"u{number}", 9_000, 100_000, cost=cost, input=9_000), End(now - 70),
        ]  # fmt: skip
        place.place("opencode", steps, f"ses_{number}", place.shop)
    with PagesProcess(place.home, place.shop) as ui:
        page = figures(entered(ui), "?days=7")
    assert "Of the cost, $1.50 was reported by agents; the rest is estimated" in page


def test_the_span_is_chosen_and_nothing_that_is_older_counts(client: Client) -> None:
    tokens = {}
    for days in (7, 30, 90):
        page = figures(client, f"?days={days}")
        tokens[days] = len(table(page, "tokens"))
        assert f"{days} days</a>" in page and len(re.findall('aria-current="true"', page)) == 2
    assert tokens[7] < tokens[30] == tokens[90]


def test_a_year_and_all_days_can_be_chosen_and_no_number_of_days_is_changed_silently(
    client: Client, place: Workplace
) -> None:
    page = figures(client)
    assert ">a year</a>" in page and 'days=all"' in page
    assert "3,650 days</a>" in (page := figures(client, "?days=3650")) and "--since 3650d" in page
    assert "--since all" in figures(client, "?days=all")
    drawn = {days: len(one["days"]) for days in ("100", "all") for one in [  # type: ignore[arg-type]
        next(iter(curves(figures(client, f"?days={days}")).values()))]}  # fmt: skip
    assert drawn["100"] <= 100 and drawn["all"] >= 90
    assert client.get("/ui/figures?days=99999").status == 400


def test_without_runs_the_page_says_so(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    with PagesProcess(place.home, place.shop) as ui:
        page = figures(entered(ui), "?days=7")
    assert "Nothing happened in the last 7 days" in page and "Show all days" in page


def test_hostile_names_of_models_and_projects_are_shown_as_text(tmp_path: Path) -> None:
    place, now = Workplace(tmp_path), time.time()
    place.site = tmp_path / '"><img src=x onerror=alert(1)>'
    place.site.mkdir()
    for agent, native in (("claude-code", FIRST_RUN), ("opencode", "ses_hostile")):
        steps: list[Step] = [
            Start(now - 90, "start", native=native, cwd=str(place.site)), Model(now - 90, f"{HOSTILE} model"),
            Prompt(now - 90, "Mend it"), Usage(now - 80, native, 9_000, 100, input=9_000),
            Say(now - 80, "Done."), End(now - 70),
        ]  # fmt: skip
        place.place(agent, steps, native, place.site)
    with PagesProcess(place.home, place.shop) as ui:
        client = entered(ui)
        for by in WAYS:
            page = figures(client, f"?by={by}")
            assert not any(markup in page for markup in MARKUP if "<" in markup or '"' in markup), by
            assert "\x1b" not in page and "\u202e" not in page


def test_a_server_shows_the_figures_of_the_project_of_the_key(tmp_path: Path) -> None:
    place, now = Workplace(tmp_path), time.time()
    with SegueServer(tmp_path / "server", options=["--rate", "0"]) as server:
        client, other = Client(server.port), Client(server.port)
        client.post("/ui/sign-in", {"key": server.token})
        other.post("/ui/sign-in", {"key": server.token, "project": "other"})
        assert "Nothing happened" in figures(client)
        for number, agent in enumerate(("claude-code", "opencode")):
            native = f"{number}f0c2a54-0a5e-4d7c-9c1e-6a1d2b3c4d5e"
            place.place(
                agent, past_run(now - 200, native, place.shop, "gpt-5", 200_000, 3), native, place.shop
            )
        remote = {"SEGUE_STORE": server.url, "SEGUE_API_KEY": server.token}
        with Segue(folder=place.shop, environment=place.environment | remote) as segue:
            segue.sync()
            session = segue.start("Log in", id="login")
            session.features.add("login", "A login works", checks=["true"])
            session.features.verify(trust=True)
        page = figures(client, "?by=agent")
        assert {*table(page, "groups")} == {"Claude Code", "OpenCode", "by hand", "all"}
        assert table(page, "groups")["by hand"][-2:] == ["1", "–"]
        assert "Nothing happened" in figures(other)


# -- one run -----------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
@pytest.mark.parametrize("synced", [True, False], ids=["synced", "never synced"])
def test_a_run_that_goes_on_is_shown_as_it_is_now(tmp_path: Path, agent: str, synced: bool) -> None:
    place, at = Workplace(tmp_path), time.time() - 20
    native = SITE_RUN if agent == "opencode" else FIRST_RUN
    steps = [*site_run(at, place.site)[:5]]
    steps[0] = Start(at, "start", native=native, cwd=str(place.site))
    key = place.place(agent, steps, native, place.site)
    with place.open(place.site) as segue:
        if synced:
            segue.start("quick search", id="quick")
            segue.sync(session="quick")
    with PagesProcess(place.home, place.shop) as ui:
        client = entered(ui)
        page = client.get(f"/ui/run/{key}").text
        assert "search: 4130 ms" in page and "data-live" in page and "data-tail" in page
        place.place(agent, [*steps, Say(at + 12, "The index is built again each time.")], native, place.site)
        assert "The index is built again each time." in client.get(f"/ui/run/{key}").text
        assert "data-live" not in client.get(f"/ui/run/{key}?step=2").text


def test_a_run_that_is_over_is_not_followed(client: Client, place: Workplace) -> None:
    native = next(
        native for native, path in place.paths.items() if "000" in native and ".claude" in str(path)
    )
    old = place.key("claude-code", native)
    page = client.get(f"/ui/run/{old}").text
    assert "data-live" not in page and "It is done, and the tests pass." in page


def test_what_ran_in_the_last_day_is_told_with_what_it_said_and_changed(client: Client) -> None:
    page = client.get("/ui").text
    waiting = page.partition('<h2 id="waiting">')[2].partition("</section>")[0]
    lately = waiting + page.partition('<h2 id="lately">')[2].partition("</section>")[0]
    assert "Move the shop&#39;s login from cookies to signed tokens" in lately
    assert "5 calls, 1 file changed" in lately and "All tests of the login pass with a leeway" in lately
    assert "The search page of the docs takes four seconds" in lately and "OpenCode" in lately
    assert "Go on with the login" not in lately, "it is at work"


# -- taking along ------------------------------------------------------------------------------


@pytest.mark.parametrize(("agent", "native"), [("claude-code", FIRST_RUN), ("opencode", SITE_RUN)])
def test_a_run_is_taken_along_as_a_file_to_read(
    client: Client, place: Workplace, ui: PagesProcess, agent: str, native: str
) -> None:
    at = f"/ui/run/{place.key(agent, native)}"
    folder = place.site if agent == "opencode" else place.shop
    page = client.get(at).text
    for form, ending, kind in (("html", "html", "text/html"), ("markdown", "md", "text/markdown")):
        assert f"{at}/export?format={form}" in page
        answer = client.get(f"{at}/export?format={form}")
        assert answer.status == 200 and answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{native}.{ending}"
        told = ui.segue("export", native, "--format", form, folder=folder)
        assert answer.text.rpartition("Written by Segue")[0] == told.rpartition("Written by Segue")[0]


def test_a_session_is_taken_along_in_every_format(client: Client, ui: PagesProcess) -> None:
    at = f"/ui/session/{SHOP_SESSION}"
    page = client.get(at).text
    for form, ending, words in (
        ("html", "html", "<h1>"), ("markdown", "md", "# Move the shop"), ("json", "json", '"events"'),
        ("yaml", "yaml", "next_actions"),
    ):  # fmt: skip
        assert f"{at}/export?format={form}" in page
        answer = client.get(f"{at}/export?format={form}")
        assert answer.status == 200 and words in answer.text, form
        assert answer.headers["content-disposition"].endswith(f"{SHOP_SESSION}.{ending}")


def test_a_server_has_no_transcript_to_take_along(tmp_path: Path) -> None:
    with SegueServer(tmp_path / "server", options=["--rate", "0"]) as server:
        client = Client(server.port)
        client.post("/ui/sign-in", {"key": server.token})
        answer = client.get("/ui/run/0123456789abcdef0123/export")
        assert answer.status == 400 and "on the machine where the agent ran" in answer.text


# -- all runs of this machine ------------------------------------------------------------------


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workplace, Client]]:
    """The pages in a folder without sessions, on a machine where agents worked in folders that are gone."""
    place, now = Workplace(tmp_path_factory.mktemp("elsewhere")), time.time()
    for number in range(70):
        cwd, at = Path(f"/gone/{'bakery' if number % 2 else 'mill'}"), now - 5 * 86_400 * (1 + number)
        agent, native = ("codex", "claude-code")[number % 2], f"{number:08}-aaaa-4bbb-8ccc-dddddddddddd"
        steps: list[Step] = [
            Start(at, "start", native=native, cwd=str(cwd)), Model(at, "gpt-5.4"),
            Prompt(at, f"**Bake** loaf {number} for [the fair](docs/fair.md), please"),
            Say(at + 1, "## Done\nThe **loaf** is baked."),
            Usage(at + 2, f"u{number}", 9_000, 1_000, input=9_000), End(at + 3),
        ]  # fmt: skip
        place.place(agent, steps, native, cwd)
    with PagesProcess(place.home, place.shop) as running:
        yield place, entered(running)


def test_all_runs_of_the_machine_are_listed_newest_first_a_page_at_a_time(
    elsewhere: tuple[Workplace, Client],
) -> None:
    _, client = elsewhere
    shown, page = [], ""
    for number in (1, 2):
        page = client.get(f"/ui/runs?page={number}").text
        assert faults_in(page) == [] and "70 runs of agents on this machine" in page
        shown += re.findall(r">Bake loaf (\d+) for the fair, please</a>", page)
        assert ("Older</a>" in page, "Newer</a>" in page) == (number == 1, number == 2)
    assert [int(one) for one in shown] == list(range(70))
    assert "bakery" in page and "mill" in page and "Codex" in page
    only = client.get("/ui/runs?agent=codex").text
    assert "35 runs of agents" in only and "loaf 1 " not in only


def test_without_sessions_the_first_page_leads_to_the_runs_of_the_machine(
    elsewhere: tuple[Workplace, Client],
) -> None:
    _, client = elsewhere
    page = client.get("/ui").text
    assert '<a href="/ui/runs">All 70 runs of agents on this machine</a>' in page
    assert "Bake loaf 0 for the fair, please" in page and "segue sync --all" not in page
    assert '<a href="/ui/runs">past runs</a>' in client.get("/ui/sessions").text


def test_the_first_page_reads_no_transcript_again(elsewhere: tuple[Workplace, Client]) -> None:
    _, client = elsewhere
    client.get("/ui")
    began = time.monotonic()
    for _ in range(5):
        client.get("/ui")
    assert (time.monotonic() - began) / 5 < 1.0


@pytest.mark.parametrize("number", [0, 69])
def test_a_run_that_was_never_synced_has_a_page_with_what_it_was_about_and_cost(
    elsewhere: tuple[Workplace, Client], number: int
) -> None:
    place, client = elsewhere
    native = f"{number:08}-aaaa-4bbb-8ccc-dddddddddddd"
    agent = ("codex", "claude-code")[number % 2]
    page = client.get(f"/ui/run/{place.key(agent, native)}").text
    assert f"<h1>Bake loaf {number} for the fair, please</h1>" in page and faults_in(page) == []
    assert "gpt-5.4" in page and "ended" in page and "$0.04 at list prices" in page
    assert "**" not in page and "## Done" not in page
    head = page.partition("<h1>")[2].partition("<form")[0]
    assert head.count(native) == 1, "the id stands there once"


def test_a_run_is_told_once_on_the_first_page(client: Client) -> None:
    page = client.get("/ui").text
    links = re.findall(r'href="(/ui/run/[0-9a-f]+)"', page)
    assert len(links) == len(set(links)) > 2


def test_marks_of_markdown_are_left_out_and_code_stays() -> None:
    assert unmarked("**a b** and __c__: [d](e.md) # f") == "a b and c: d # f"
    assert unmarked("# Title\n2 ** 3 ** 4, a__b__c, `**x**`") == "Title\n2 ** 3 ** 4, a__b__c, `**x**`"
    assert unmarked("```\n**x**\n# y\n```\n**z**") == "```\n**x**\n# y\n```\nz"
    began = time.monotonic()
    assert unmarked("**a " * 20_000) == "**a " * 20_000
    assert time.monotonic() - began < 2
