"""`segue export --format markdown|html`: one file that people read, whatever a transcript holds."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.support.chains import Chain
from tests.support.runs import HOUR, SECRET, place
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core.documents.model import LINE_CHARS_MAX
from segue.core.runs.steps import Call, Change, Prompt, Result, Say, Start, Step, Thought, Usage
from segue.testing.transcripts import placed

AGENTS = ("claude-code", "opencode", "codex")
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> </pre></details><h1>x</h1> "
    "![i](http://evil.example/i.png) [l](javascript:alert(1)) `tick` **bold** \x1b[31mred\x1b]0;t\x07 &amp;"
)
HELD = {
    "html", "head", "meta", "title", "style", "body", "main", "footer", "h1", "h2", "h3", "h4", "p", "dl",
    "dt", "dd", "ul", "li", "span", "small", "div", "section", "pre", "details", "summary",
}  # fmt: skip


@pytest.fixture(autouse=True)
def usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents keep their files where they usually do, under the home folder."""
    monkeypatch.delenv("XDG_DATA_HOME")


class Page(HTMLParser):
    """What a browser would take a page for."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def hostile_steps(cwd: str, native: str) -> list[Step]:
    t = time.time() - HOUR
    return [
        Start(t, "start", native=native, cwd=cwd),
        Prompt(t, f"Mend the login. {HOSTILE}"),
        Thought(t + 1, "it may be the pool"),
        Say(t + 1, f"I look at it.\n{HOSTILE}"),
        Call(t + 2, "c1", "Bash", "run", text="pytest -q", command="pytest -q"),
        Result(t + 3, "c1", ok=False, exit=1, text=f"{HOSTILE}\n{'x' * 2_000_000}\nlast line {SECRET}"),
        Call(
            t + 4, "c2", "Edit", "edit", text="login.py", paths=("login.py",),
            changes=(Change("login.py", "edit", "a = 1", "a = 2 </script>"),),
        ),
        Result(t + 5, "c2", ok=True, text="ok"),
        Call(t + 6, "c3", "Bash", "run", text="make deploy", command="make deploy"),
        Usage(t + 7, "u1", context=50_000, output=10, window=200_000),
    ]  # fmt: skip


@pytest.fixture(params=AGENTS)
def hostile(request: pytest.FixtureRequest, home: Path, project: Path) -> str:
    """The id of a run whose texts try everything."""
    native = "5b05c7aa-hostile"
    steps = hostile_steps(str(project), native)
    placed(str(request.param), steps, home=home, native=native, cwd=str(project))
    return native


def test_a_hostile_run_as_html_is_text_and_nothing_else(cli: Cli, hostile: str) -> None:
    body = cli("export", hostile[:8], "--format", "html").out
    page = Page(body)
    assert page.tags <= HELD and not page.open
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "tabindex"}
    assert "<script>alert(1)</script>" in page.text and "onerror=alert(1)" in page.text
    assert "default-src 'none'" in body and "prefers-color-scheme: dark" in body
    assert "\x1b" not in body and "\x07" not in body
    assert SECRET not in body and len(body) < 100_000
    assert max(map(len, page.text.split("\n"))) < LINE_CHARS_MAX + 200


def test_a_hostile_run_as_markdown_is_text_and_nothing_else(cli: Cli, hostile: str) -> None:
    body = cli("export", hostile[:8], "--format", "markdown").out
    outside = re.sub(r"(?ms)^(`{3,})text$.*?^\1$", "", body)
    unescaped = re.sub(r"\\.", "", outside)
    assert re.findall(r"<(?!/?(?:details|summary)>)[a-z/!]", unescaped) == []
    assert "![" not in unescaped and "](" not in unescaped and "**" not in unescaped
    assert "\x1b" not in body and SECRET not in body and len(body) < 100_000
    assert unescaped.count("<details>") == unescaped.count("</details>") > 1


def test_a_run_is_a_conversation_with_outcomes_and_what_it_changed(cli: Cli, hostile: str) -> None:
    text = Page(cli("export", hostile, "--format", "html").out).text
    order = ["Mend the login", "What it changed", "login.py", "You", "I look at it", "pytest -q",
             "failed", "Output:", "- a = 1", "+ a = 2", "make deploy: no result"]  # fmt: skip
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    assert "characters left out" in text and "last line" in text, "the end of an output stays"
    assert "in the window" not in text


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_a_session_says_all_that_is_known_of_it(cli: Cli, home: Path, project: Path, agent: str) -> None:
    chain = Chain(home, project)
    chain.begin(agent).prompt("Move the shop's login to signed tokens").edits("a.py").stop()
    cli(
        "checkpoint", "--done", "user model", "--begin", "middleware", "--decide", "HS256", "--why",
        "one issuer", "--ask", "Who owns OAuth?", "--learn", "tokens expire", "--error", "KeyError: sub",
        "--block", "oauth=no credentials", "--thread", "design=stuck",
    )  # fmt: skip
    cli("answer", "Who owns OAuth?", "the platform team")
    cli("feature", "add", "login", "signing in works", "--check", "false")
    cli("verify", code=1)
    for format in ("html", "markdown"):
        body = cli("export", "--format", format).out
        text = Page(body).text if format == "html" else body.replace("\\", "")
        for said in (
            "Move the shop's login to signed tokens", "user model", "middleware", "HS256",
            "because: one issuer", "Who owns OAuth?", "answer: the platform team", "tokens expire",
            "KeyError: sub", "because: no credentials", "login: signing in works", "check failed", "design",
            agent, "Timeline", "decided: HS256", "[segue] ",
        ):  # fmt: skip
            assert said in text, (format, said)


def test_the_name_of_the_file_says_the_format_and_the_old_formats_stay(started: Cli, project: Path) -> None:
    for name, begins in (
        ("a.md", b"# Refactor"), ("b.html", b"<!doctype html>"), ("c.HTM", b"<!doctype html>"),
        ("d.yaml", b"session:"), ("e.json", b'{"checksum"'), ("f", b'{"checksum"'),
    ):  # fmt: skip
        started("export", "-o", name)
        content = (project / name).read_bytes()
        assert begins in content[:400] or content.startswith(begins)
    assert started("export", "--format", "html", "-o", "x.md", "--json").value["format"] == "html"
    assert (project / "a.md").stat().st_mode & 0o077 == 0


def test_a_run_cannot_be_exported_for_import(cli: Cli, home: Path, project: Path) -> None:
    place(home, project, "codex", native="5b05c7aa-1")
    assert "a run cannot be exported as json" in cli("export", "5b05", "--format", "json", code=64).err
    assert cli("export", "5b05").out.startswith("# Make the login use tokens, please")
    ran = cli("export", "5b05", "-o", "run.html", "--json").value
    assert (ran["run"], ran["format"]) == ("5b05c7aa-1", "html")
    assert "there is no session" in cli("export", "nothing", "--format", "html", code=64).err


def test_the_library_gives_the_same_and_says_which_formats_there_are(started: Cli) -> None:
    with Segue() as segue:
        body = segue.export("jwt", "html").decode()
        with pytest.raises(Exception, match="unknown format: pdf"):
            segue.export("jwt", "pdf")

    def without_time(text: str) -> str:
        return re.sub(r"Written by Segue, .*? UTC", "", text)

    assert without_time(body) == without_time(started("export", "--format", "html").out)


def test_a_long_run_is_written_within_reason(cli: Cli, home: Path, project: Path) -> None:
    t = time.time() - HOUR
    steps: list[Step] = [Start(t, "start", native="long-1", cwd=str(project)), Prompt(t, "Do a lot")]
    for number in range(15_000):
        steps += [
            Call(t + number, f"c{number}", "Bash", "run", command=f"step {number}", text=f"step {number}"),
            Result(t + number, f"c{number}", ok=True, text="y" * 3_000),
        ]
    placed("codex", steps, home=home, native="long-1", cwd=str(project))
    body = cli("export", "long-1", "--format", "html").out
    assert "earlier steps are left out" in body and "step 14999" in body
    assert len(body) < 16_000_000
