"""segue usage: the same figures on the command line, in the library and over HTTP."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.rest import done, serving
from tests.support.runs import HOUR, opened
from tests.surfaces.conftest import Cli

from segue.core.runs.steps import End, Model, Prompt, Say, Start, Step, Usage
from segue.surfaces.cli.views.usage import small_bar, tokens_words, usage_lines
from segue.surfaces.render import Style, models_words, plain
from segue.testing.transcripts import placed

MODELS = {
    "claude-code": "claude-opus-4-6", "codex": "gpt-5.4", "opencode": "anthropic/claude-sonnet-4.6",
    "gemini-cli": "gemini-3-flash-preview",
}  # fmt: skip
COSTS = {"claude-code": 0.1525, "codex": 0.0905, "opencode": 0.0915, "gemini-cli": 0.0181}
"""A thousand tokens that were sent, ten thousand from the cache and 5,700 from the model, at list prices."""


def tell(home: Path, project: Path, agent: str, model: str, *, days: float = 0.0) -> None:
    at = time.time() - HOUR - days * 86_400
    used = Usage(at + 2, f"{agent}-1", 11_000, 5_700, input=1_000, cache_read=10_000)
    steps: list[Step] = [
        Start(at, "start", f"{agent}-run", str(project)), Model(at, model),
        Prompt(at, "Mend the login, please"), Say(at + 1, "It is mended."), used, End(at + 3),
    ]  # fmt: skip
    path = placed(agent, steps, home=home, native=f"{agent}-run", cwd=str(project))
    if path.suffix != ".db":
        os.utime(path, (at + 3, at + 3))


@pytest.fixture
def runs(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of each of four agents."""
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for agent, model in MODELS.items():
        tell(home, project, agent, model)


def rows(cli: Cli, *words: str) -> dict[str, Any]:
    return {row["name"]: row for row in cli("usage", *words, "--json").value["rows"]}


def test_tokens_and_list_prices_of_four_agents_are_added_up(cli: Cli, runs: None) -> None:
    found = rows(cli, "--by", "agent")
    assert {
        name: (row["input"], row["cache_read"], row["output"]) for name, row in found.items()
    } == dict.fromkeys(MODELS, (1_000, 10_000, 5_700))
    assert {name: row["cost"] for name, row in found.items()} == pytest.approx(COSTS)
    report = cli("usage", "--json").value
    assert report["total"]["cost"] == pytest.approx(sum(COSTS.values())) and report["total"]["cost_known"]
    assert report["total"]["tokens"] == 4 * 16_700 == report["week"]["tokens"]


def test_the_library_and_the_command_give_the_same(cli: Cli, runs: None, home: Path, project: Path) -> None:
    for by in ("day", "run", "model", "project", "agent", "session"):
        printed = cli("usage", "--by", by, "--json").value
        assert printed == plain(opened(home, project).usage(by=by))
        assert printed["rows"], by


def test_a_server_gives_the_same_as_the_command_on_its_store(
    cli: Cli, runs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("", tmp_path / "server") as server:
        monkeypatch.setenv("SEGUE_STORE", server.url)
        monkeypatch.setenv("SEGUE_API_KEY", server.token)
        for by in ("model", "agent", "run", "session", "day"):
            printed = cli("usage", "--by", by, "--json").value
            assert done(server.ask("GET", f"/v1/usage?by={by}")) == printed
            assert printed["total"]["tokens"] == 4 * 16_700
            assert by in ("day", "session") or len(printed["rows"]) == len(MODELS)
        assert [row["name"] for row in done(server.ask("GET", "/v1/usage?by=agent&agent=codex"))["rows"]] == [
            "codex"
        ]
        assert server.ask("GET", "/v1/usage?by=mood")[0] == 400
        assert server.ask("GET", "/v1/usage?since=soon")[0] == 400


def test_a_digest_that_was_sent_alone_counts_on_the_server(tmp_path: Path) -> None:
    from segue.core.runs.digest import fold
    from segue.services.runs.run import key_of

    used = Usage(time.time(), "a", 11_000, 5_700, input=1_000, cache_read=10_000, model="gpt-5.4")
    digest = json.loads(msgspec.json.encode(fold([used])))
    key = key_of("opencode", "r-1", "/x")
    with serving("", tmp_path / "server") as server:
        told = {"id": "r-1", "agent": "opencode", "path": "/x", "goal": "g"}
        done(server.ask("PUT", f"/v1/runs/{key}", {**told, "digest": digest}))
        before = done(server.ask("GET", "/v1/usage?by=model"))
        assert [(row["name"], row["cost"]) for row in before["rows"]] == [("gpt-5.4", pytest.approx(0.0905))]
        done(server.ask("PUT", f"/v1/runs/{key}", {**told, "goal": "new"}))
        assert done(server.ask("GET", "/v1/usage?by=model")) == before, "what it used stays with its digest"


def test_people_get_today_the_week_a_table_with_bars_and_what_is_left_out(
    cli: Cli, runs: None, home: Path, project: Path
) -> None:
    tell(home, project, "cline", "mystery-1", days=3)
    out = cli("usage", "--by", "model").out
    first, _, head, *body = out.splitlines()
    assert first.startswith("today: ") and "7 days: $0.35 + ?, 83.5k tokens" in first
    assert head.split() == [
        "model",
        "cost",
        "tokens",
        "input",
        "cached",
        "written",
        "output",
        "runs",
        "responses",
        "window",
        "at",
        "most",
    ]
    assert body[0].startswith("claude-opus-4-6") and "██████████" in body[0] and "$0.15" in body[0]
    assert any(line.startswith("mystery-1") and " ? " in line for line in body)
    assert any(line.startswith("total") and "$0.35 + ?" in line for line in body)
    assert "list prices as of " in out and "no price is known for mystery-1" in out and "\x1b" not in out


def test_a_price_that_was_set_is_used(cli: Cli, runs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGUE_PRICES", "gpt-5=0/100")
    assert rows(cli, "--by", "agent")["codex"]["cost"] == pytest.approx(0.57)
    monkeypatch.setenv("SEGUE_PRICES", "gpt-5")
    assert "is not a price" in cli("usage", code=64).err


def test_projects_agents_and_days_are_chosen(cli: Cli, runs: None, home: Path, tmp_path: Path) -> None:
    tell(home, tmp_path / "bakery", "copilot-cli", "gpt-5.4", days=10)
    assert [row["about"] for row in rows(cli, "--by", "project").values()] == ["shop"]
    assert {row["about"] for row in rows(cli, "--by", "project", "--all").values()} == {"shop", "bakery"}
    assert [*rows(cli, "--by", "agent", "--agent", "gemini")] == ["gemini-cli"]
    assert [*rows(cli, "--by", "agent", "--all", "--until", "7d", "--since", "all")] == ["copilot-cli"]
    assert "copilot-cli" not in rows(cli, "--by", "agent", "--all", "--since", "7d")
    cli("usage", "--since", "soon", code=64)
    cli("usage", "--by", "mood", code=64)
    cli("usage", "--agent", "nobody", code=64)


def test_where_there_is_nothing_the_command_says_so_and_makes_no_store(cli: Cli, home: Path) -> None:
    assert cli("usage").out.startswith("no tokens were counted since ")
    assert cli("usage", "--json").value["rows"] == []
    assert not (home / "segue" / "store.db").exists()


def test_a_name_in_a_transcript_says_nothing_to_a_terminal(cli: Cli, home: Path, project: Path) -> None:
    tell(home, project, "codex", "walrus\x1b[2J\u202e-1")
    out = cli("usage", "--by", "model").out
    assert "walrus" in out and "\x1b" not in out and "\u202e" not in out


def test_a_stream_that_shows_no_blocks_gets_plain_bars(
    cli: Cli, runs: None, home: Path, project: Path
) -> None:
    found = opened(home, project).usage(by="model")
    text = "\n".join(usage_lines(found, Style(unicode=False), everywhere=False))
    assert text.isascii() and "##########" in text
    assert [small_bar(share, Style()) for share in (0, 0.001, 0.5, 0.55, 2)] == [
        "", "▏", "█████", "█████▌", "██████████",
    ]  # fmt: skip
    assert [tokens_words(n) for n in (0, 999, 1_000, 12_345, 123_456, 4_500_000)] == [
        "0", "999", "1.0k", "12.3k", "123k", "4.5M",
    ]  # fmt: skip


def test_where_nothing_was_used_lately_it_is_said_when_something_was(
    cli: Cli, home: Path, tmp_path: Path
) -> None:
    assert cli("usage", "--all").out.startswith("no tokens were counted since 20")
    assert "the last were" not in cli("usage", "--all").out
    tell(home, tmp_path / "bakery", "codex", "gpt-5.4", days=200)
    last = time.strftime("%Y-%m-%d", time.gmtime(time.time() - HOUR - 200 * 86_400 + 2))
    assert f"; the last were on {last}: `--since all` counts them" in cli("usage", "--all").out
    assert cli("usage", "--all", "--json").value["last"] == last
    assert "16.7k tokens" not in cli("usage", "--all").out
    assert "16.7k" in cli("usage", "--all", "--since", "all").out


def test_runs_of_other_projects_are_shown_with_their_prompts_and_ids_that_differ(
    cli: Cli, home: Path, tmp_path: Path
) -> None:
    for native in ("agent-a2-first", "agent-a2-second"):
        at = time.time() - HOUR
        steps: list[Step] = [
            Start(at, "start", native, str(tmp_path / "bakery")), Model(at, "gpt-5.4"),
            Prompt(at, f"Bake {native} well"), Say(at + 1, "It is baked."),
            Usage(at + 2, native, 11_000, 10, input=1_000), End(at + 3),
        ]  # fmt: skip
        placed("codex", steps, home=home, native=native, cwd=str(tmp_path / "bakery"))
    for _ in range(2):  # read, and remembered
        lines = cli("usage", "--by", "run", "--all").out.splitlines()
        told = [line for line in lines if line.startswith("agent-a2")]
        assert len({line.split()[0] for line in told}) == 2
        assert {line.partition("Bake ")[2] for line in told} == {
            "agent-a2-first well",
            "agent-a2-second well",
        }
        cli("start", "work")


def test_models_without_a_price_are_named_in_a_sentence() -> None:
    assert models_words(["aide-gpt-5"]) == "aide-gpt-5"
    assert models_words(["", "aide-gpt-5"]) == "aide-gpt-5 and models that are not named"
    assert models_words([f"m{n}" for n in range(9)]) == "m0, m1, m2, m3, m4 and 4 more"
