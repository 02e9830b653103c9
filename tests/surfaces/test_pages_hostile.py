"""A hostile transcript: whatever stands in what agents, people and files say, a page shows it as text."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.support.page_parts import CODES, HOSTILE, LONE, MARKUP, TURNED, PageParts, faults_in
from tests.support.pages import Client, PagesProcess, entered
from tests.support.rest import begun, done
from tests.support.server import SegueServer
from tests.support.workplace import Workplace, made

from segue.core.runs.steps import Call, Change, End, Model, Plan, PlanItem, Prompt, Result, Say, Start, Step

HOSTILE_RUN = "3f0c2a54-0a5e-4d7c-9c1e-6a1d2b3c4d5e"


def hostile_steps(at: float, native: str, folder: Path) -> list[Step]:
    line = "<b>long</b>" * 190_000
    return [
        Start(at, "start", native=native, cwd=str(folder), branch='main"><script>alert(9)</script>'),
        Model(at, "<img src=x onerror=alert(10)>"),
        Prompt(at, f"{HOSTILE} please"),
        Say(at + 1, f"{HOSTILE} said"),
        Plan(at + 1, (PlanItem(f"{HOSTILE} active", "active"), PlanItem("<b>done</b>", "done"))),
        Call(at + 2, "h1", "Bash", "run", text=f"echo {HOSTILE}", command=f"echo {HOSTILE}"),
        Result(at + 3, "h1", ok=False, exit=1, text=f"{HOSTILE}\n{line}"),
        Call(at + 4, "h2", "Edit", "edit", paths=("<svg onload=alert(1)>.py",),
             changes=(Change(str(folder / '"><svg onload=alert(1)>.py'), "edit", MARKUP[0], HOSTILE),)),
        Result(at + 5, "h2", ok=True, text=f"{HOSTILE} updated"),
        Prompt(at + 6, f"{MARKUP[2]} again"),
        Say(at + 7, f"{TURNED} {CODES} {MARKUP[1]}"),
        End(at + 8),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A machine on which everything that can be named has a hostile name."""
    root = tmp_path_factory.mktemp("hostile")
    place = made(root)
    place.site = root / '"><img src=x onerror=alert(1)>'
    place.site.mkdir()
    now = time.time()
    with place.open(place.site) as segue:
        session = segue.start(f"{HOSTILE} goal", items=[f"{HOSTILE} item", "<i>next</i>"], id="hostile")
        session.begin(f"{HOSTILE} item")
        session.block("<i>next</i>", f"{HOSTILE} reason")
        session.note(f"{HOSTILE} note")
        session.decide(f"{HOSTILE} decision", f"{HOSTILE} why")
        session.ask(f"{HOSTILE} question")
        session.learn(f"{HOSTILE} lesson")
        session.error(f"{HOSTILE} error")
        session.features.add("tag", f"{HOSTILE} feature", checks=["echo '<script>alert(1)</script>'"])
        session.pause(f"{HOSTILE} pause")
        segue.remember(f"{HOSTILE} memory", metadata={"<b>": "<i>"})
    for agent, native in (
        ("claude-code", HOSTILE_RUN),
        ("opencode", "ses_hostile"),
    ):
        steps = hostile_steps(now - 50, native, place.site)
        place.place(agent, steps, native, place.site)
    path = next(place.home.glob(".claude/projects/*/3f0c2a54*.jsonl"))
    said = {"role": "assistant", "content": [{"type": "text", "text": "half \ud800 of <b>a</b> pair"}]}
    record = {"type": "assistant", "uuid": "u", "timestamp": "2026-01-01T00:00:00Z", "message": said}
    path.write_bytes(path.read_bytes() + json.dumps(record).encode() + b"\n")
    with place.open(place.site) as segue:
        segue.sync(session="hostile")
    return place


def hostile_pages(place: Workplace) -> list[str]:
    keys = [place.key("claude-code", HOSTILE_RUN), place.key("opencode", "ses_hostile")]
    asked = quote(f"{MARKUP[0]} alert {MARKUP[3]}")
    return [
        "/ui", "/ui/sessions", f"/ui/sessions?project={quote(MARKUP[2])}", "/ui/session/hostile",
        *(f"/ui/run/{key}{more}" for key in keys for more in ("", "?step=6", "?only=failed", "?only=file")),
        f"/ui/search?q={asked}&since=2000d&project={quote(MARKUP[3])}", f"/ui/search?q={asked}",
        "/ui/memory",
        f"/ui/memory?q={asked}", "/ui/health", f"/ui/run/{quote(MARKUP[2], safe='')}",
        f"/ui/session/{quote(MARKUP[5], safe='')}", f"/ui/search?q=a&agent={asked}",
        f"/ui/sessions?page={asked}",
    ]  # fmt: skip


def test_a_hostile_transcript_is_shown_as_text_on_every_page(hostile: Workplace) -> None:
    with PagesProcess(hostile.home, hostile.site) as ui:
        client = entered(ui)
        shown = {path: client.get(path) for path in hostile_pages(hostile)}
        for path, answer in shown.items():
            assert answer.status < 500, path
            assert faults_in(answer.text) == [], path
            assert len(answer.body) < 1_000_000, f"{path} has {len(answer.body):,} bytes"
        for path in ("/ui", "/ui/session/hostile", "/ui/memory"):
            assert MARKUP[0] in PageParts(shown[path].text).text, f"{path} does not show it at all"
        runs = [answer for path, answer in shown.items() if path.endswith("?step=6")]
        assert len(runs) == 2
        for answer in runs:
            text = PageParts(answer.text).text
            assert all(one in text for one in MARKUP) and "red " in text and "characters in all" in text
        exported = client.get("/ui/session/hostile/export")
        assert exported.headers["content-disposition"].startswith("attachment")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SegueServer]:
    with SegueServer(tmp_path / "server", options=["--rate", "0"]) as running:
        yield running


def test_a_hostile_session_is_shown_as_text_on_a_server(server: SegueServer) -> None:
    begun(server, "hostile", HOSTILE)
    route = "/v1/sessions/hostile/commands"
    words = [{"command": "Note", "text": HOSTILE}, {"command": "Decide", "text": HOSTILE, "why": LONE}]
    server.ask("POST", route, {"commands": words})
    done(server.ask("POST", "/v1/memories", {"content": f"{HOSTILE} memory"}), 201)
    client = Client(server.port)
    assert client.post("/ui/sign-in", {"key": server.token}).status == 303
    for path in (
        "/ui",
        "/ui/sessions",
        "/ui/session/hostile",
        "/ui/memory",
        f"/ui/search?q={quote(MARKUP[0])}",
    ):
        answer = client.get(path)
        assert answer.status == 200 and faults_in(answer.text) == [], path


def test_a_lone_half_of_a_character_is_shown_as_a_sign_for_it(hostile: Workplace) -> None:
    with PagesProcess(hostile.home, hostile.site) as ui:
        key = hostile.key("claude-code", HOSTILE_RUN)
        page = entered(ui).get(f"/ui/run/{key}").text
        assert "half \ufffd of" in page or "half ? of" in page
