"""`segue model`, `segue spend`, `segue plan` and `--with-model`, as people and programs see them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.models import DECIDED, Replay, openai, refused
from tests.support.runs import place
from tests.surfaces.conftest import Cli


def answer(*claims: object) -> object:
    return {"claims": list(claims)}


def test_a_model_is_set_shown_tested_and_unset(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no model is set" in cli("model", "show").out
    with Replay(openai({"ok": True})) as server:
        monkeypatch.setenv("MY_KEY", "k-very-secret")
        more = ("--price", "0.15/0.60", "--key-env", "MY_KEY", "--cap-per-day", "0.50")
        said = cli("model", "set", "custom/small", "--url", server.url, *more).out
        assert "custom/small" in said and "MY_KEY: there" in said and "$0.5000 a day" in said
        assert "k-very-secret" not in said
        value = cli("model", "show", "--json").value
        assert value["caps"] == {"call": 0.05, "session": 0.25, "day": 0.5}
        assert value["models"][0]["price"] == {"input": 0.15, "output": 0.6}
        assert "answered in" in cli("model", "test").out
        assert server.seen[0].headers["authorization"] == "Bearer k-very-secret"
        cli("model", "set", "ollama/qwen3:4b", "--add")
        names = [row["name"] for row in cli("model", "show", "--json").value["models"]]
        assert names == ["ollama/qwen3:4b", "custom/small"], "free ones come first"
        cli("model", "unset", "custom/small")
        assert [row["name"] for row in cli("model", "show", "--json").value["models"]] == ["ollama/qwen3:4b"]
        cli("model", "unset")
    assert cli("model", "show", "--json").value["on"] is False
    assert cli("spend", "--json").value["purposes"][0]["name"] == "test"


def test_an_unknown_price_is_said_and_a_model_that_does_not_answer_fails_the_test(cli: Cli) -> None:
    with Replay(refused(401, "bad key")) as server:
        said = cli("model", "set", "custom/x", "--url", server.url).out
        assert "not known" in said and "counts as the highest" in said
        cli("model", "set", "custom/x", "--url", server.url, "--price", "0")
        ran = cli("model", "test", code=69)
    assert "401" in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("model", "set"), "which model?"),
        (("model", "set", "nobody/x"), "is not the name of a model"),
        (("model", "set", "custom/x", "--url", "http://example.org/v1"), "neither https nor"),
        (("model", "set", "ollama/x", "--price", "cheap"), "is not a price"),
        (("model", "set", "ollama/x", "--cap-per-day", "-1"), "a cap of"),
        (("prepare", "--with-model"), "no model is set"),
        (("plan",), "which task?"),
        (("plan", "x", "--with-model"), "no model is set"),
        (("plan", "x", "--accept", "y"), "--accept takes a plan"),
        (("plan", "--accept", "missing.yaml"), "missing.yaml"),
        (("spend", "--days", "0"), "0 days"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words: tuple[str, ...], said: str, cli: Cli) -> None:
    assert said in cli(*words, code=64).err


def test_prepare_with_a_model_shows_claims_time_tokens_and_cost(cli: Cli, home: Path, project: Path) -> None:
    place(home, project)
    claims = answer(DECIDED, {**DECIDED, "evidence": ["s99"]})
    with Replay(openai(claims)) as server:
        cli("model", "set", "custom/small", "--url", server.url, "--price", "0.15/0.60")
        shown = cli("prepare", "--dry-run").out
        assert server.seen == [] and "nothing was sent" in shown and "POST http://127.0.0.1" in shown
        ran = cli("prepare", "--with-model")
        assert server.seen[0].body.decode() in shown
        assert "claims kept: 1; dropped: 1 (1 evidence not in the transcript)" in ran.out
        assert "decision: Decided to use HS256 because there is one issuer [agent, s4]" in ran.out
        assert "900 + 80 tokens, $0.000183" in ran.out
        value = cli("prepare", "--with-model", "--json").value
    assert value["cost"] == pytest.approx(0.000183) and value["claims"][0]["evidence"] == ["s4"]
    assert value["dropped"] == {"evidence not in the transcript": 1} and value["fell_back"] == ""
    spent = cli("spend").out
    assert "brief" in spent and "custom/small" in spent and "left" in spent
    assert "INFERRED" in cli("brief", "--max-bytes", "6000").out or "HS256" in cli("brief").out


def test_prepare_says_when_it_did_without(cli: Cli, home: Path, project: Path) -> None:
    place(home, project)
    with Replay(refused(402, "no credit")) as server:
        cli("model", "set", "custom/small", "--url", server.url, "--price", "0.15/0.60")
        ran = cli("prepare", "--with-model")
    assert "prepared without a model: custom/small: it answered 402: no credit" in ran.err
    assert Path(ran.out.split("prepared: ")[1].split("\n")[0]).is_file()


def test_a_plan_is_written_edited_and_accepted(cli: Cli, project: Path) -> None:
    Repository(project).commit("first", {"Makefile": "test:\n\ttrue\n", "src/a.py": "1\n"})
    feature = {"description": "it works", "steps": [], "checks": ["make test"], "covers": ["src/*"]}
    plan = {"items": ["one", "two things", "x"], "risks": [], "features": [feature]}
    with Replay(openai(plan)) as server:
        cli("model", "set", "custom/small", "--url", server.url, "--price", "0.15/0.60")
        shown = cli("plan", "Do it", "--dry-run").out
        ran = cli("plan", "Do it", "--with-model", "--out", "plan.yaml")
        assert "edit it, then run segue plan --accept plan.yaml" in ran.out
        assert "removed: 1 length" in ran.err
        assert cli("list", "--json").value == []
        assert server.seen[0].body.decode() in shown and len(server.seen) == 1
    text = (project / "plan.yaml").read_text().replace("two things", "three things")
    (project / "plan.yaml").write_text(text)
    done = cli("plan", "--accept", "plan.yaml", "--json").value
    assert done["items"] == 2 and done["features"] == ["it-works"]
    status = cli("status", "--json").value
    assert "three things" in status["next"]
    assert cli("verify", "--json").value is not None


def test_a_plan_on_standard_output_declares_nothing(cli: Cli) -> None:
    said = cli("plan", "Use tokens").out
    assert said.startswith("# A proposed plan") and "goal: Use tokens" in said
    assert cli("list", "--json").value == []
    assert cli("plan", "--accept", "-", stdin=said.encode(), code=0).out.startswith("declared in session")


def test_completing_with_a_model_keeps_a_summary_that_says_so(cli: Cli) -> None:
    cli("start", "Auth")
    cli("decide", "Use HS256 for one issuer")
    claim = {"kind": "decision", "text": "Use HS256 for one issuer", "evidence": ["d1"]}
    with Replay(openai(answer(claim))) as server:
        cli("model", "set", "custom/small", "--url", server.url, "--price", "0")
        cli("complete", "--with-model")
    assert (
        "By a model: Use HS256 for one issuer [user]." in cli("show", "--json").out + cli("log", "--json").out
    )


def test_lessons_and_pruned_memories_by_a_model(cli: Cli, home: Path, project: Path) -> None:
    place(home, project)
    with Replay(openai(answer(DECIDED))) as server:
        cli("model", "set", "custom/small", "--url", server.url, "--price", "0")
        kept = cli("remember", "--from-run", "", "--with-model", "--json").value
        assert any(one["memory"]["content"] == DECIDED["text"] for one in kept)
        cli("start", "Auth", "--id", "auth")
        cli("remember", "alembic runs first", "--scope", "session", "-s", "auth")
        done = cli("memories", "prune", "-s", "auth", "--keep", "0", "--with-model", "--json").value
    assert done["summarised"] == 1


def test_ctrl_c_cancels_the_asking_and_the_manifest_without_it_is_there(
    home: Path, project: Path, cli: Cli
) -> None:
    place(home, project)
    with Replay(openai({})._replace(wait_seconds=60)) as server:
        cli("model", "set", "custom/small", "--url", server.url, "--price", "0.15/0.60")
        process = subprocess.Popen(
            [sys.executable, "-m", "segue", "prepare", "--with-model"],
            cwd=project, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not server.seen and time.monotonic() < deadline:
            time.sleep(0.05)
        assert server.seen, process.communicate(timeout=5)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    manifests = list((home / "segue" / "manifests").rglob("latest.json"))
    assert len(manifests) == 1 and json.loads(manifests[0].read_bytes())["session_metadata"]
    (entry,) = cli("spend", "--json").value["entries"]
    assert entry["outcome"] == "cancelled" and entry["cost"] == entry["ceiling"] > 0
